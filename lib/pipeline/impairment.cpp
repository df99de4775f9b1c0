// Losing and holding back are two draws of one seeded sequence for every packet, taken whether or not the first one
// decided, so that the second packet's fate does not depend on the first one's and a changed percentage does not shift
// all that follows.
#include "pipeline/impairment.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "port/port.hpp"

namespace millrace::pipeline {
namespace {

constexpr std::uint32_t largest_line = 1u << 20;

// The part of 2^32 that a percentage is: a draw of 32 bits below it is a hit.
std::uint64_t threshold(double percent) noexcept {
  return static_cast<std::uint64_t>(std::clamp(percent, 0.0, 100.0) / 100.0 * 4294967296.0);
}

}  // namespace

impairment::line::line(std::uint32_t slots)
    : slots_(std::make_unique<waiting[]>(std::bit_ceil(slots))), mask_(std::bit_ceil(slots) - 1) {}

base::outcome impairment::check(const impairment_settings& settings) {
  const auto is_percent = [](double value) { return value >= 0 && value <= 100; };
  if (!is_percent(settings.loss_percent) || !is_percent(settings.reorder_percent))
    return base::failure{"loss and reordering are percentages, 0 to 100", "", true};
  if (settings.most_held == 0 || settings.most_held > largest_line)
    return base::failure{"a wire that holds " + std::to_string(settings.most_held) + " packets cannot be",
                         "1 to " + std::to_string(largest_line), true};
  return base::done{};
}

impairment::impairment(const impairment_settings& settings)
    : delay_ns_(settings.delay_ns),
      hold_back_ns_(settings.hold_back_ns),
      random_(settings.seed),
      lose_below_(threshold(settings.loss_percent)),
      hold_below_(threshold(settings.reorder_percent)),
      most_held_(settings.most_held),
      late_(settings.most_held),
      held_back_(settings.most_held) {}

// splitmix64: Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (2014).
std::uint32_t impairment::next_random() noexcept {
  std::uint64_t z = random_ += 0x9E37'79B9'7F4A'7C15;
  z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
  z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
}

void impairment::take(buf::burst& from, std::uint64_t now, lcore_counters& counters) noexcept {
  MILLRACE_ASSERT(from.size() <= room());
  std::uint64_t lost = 0;
  std::uint64_t held_back = 0;
  const unsigned arrived = from.size();
  for (unsigned i = 0; i < arrived; ++i) {
    const bool lose = next_random() < lose_below_;
    const bool hold = next_random() < hold_below_;
    const std::uint64_t number = arrivals_++;
    if (lose) {
      from.drop(i, stats::drop_reason::impaired, counters.drops);
      ++lost;
    } else if (hold) {
      held_back_.push({from.take(i), now + delay_ns_ + hold_back_ns_, number});
      ++held_back;
    } else {
      late_.push({from.take(i), now + delay_ns_, number});
    }
  }
  from.compact();
  counters.add(count::rx_pkts, lost);
  figures_.taken.add(arrived);
  figures_.lost.add(lost);
  figures_.held_back.add(held_back);
}

unsigned impairment::give(buf::burst& into, std::uint16_t most, std::uint64_t now) noexcept {
  unsigned given = 0;
  std::uint64_t overtaken = 0;
  while (given < most && into.room() != 0) {
    const bool late = !late_.empty() && late_.front().due_ns <= now;
    const bool back = !held_back_.empty() && held_back_.front().due_ns <= now;
    if (!late && !back) break;
    bool take_back = back;
    if (late && back) {
      const waiting& a = late_.front();
      const waiting& b = held_back_.front();
      take_back = b.due_ns < a.due_ns || (b.due_ns == a.due_ns && b.number < a.number);
    }
    waiting next = take_back ? held_back_.pop() : late_.pop();
    overtaken += take_back && next.number + 1 < newest_passed_ ? 1 : 0;
    newest_passed_ = std::max(newest_passed_, next.number + 1);
    (void)into.push(std::move(next.one));
    ++given;
  }
  figures_.passed.add(given);
  figures_.overtaken.add(overtaken);
  return given;
}

unsigned impairment::receive(std::uint16_t port, std::uint16_t queue, buf::burst& into, std::uint16_t most,
                             std::uint64_t now, lcore_counters& counters) noexcept {
  const std::uint32_t free = room();
  if (free == 0) [[unlikely]]
    figures_.full.add(1);
  else if (port::rx_burst(port, queue, arriving_,
                          static_cast<std::uint16_t>(std::min<std::uint32_t>({free, most, buf::burst::capacity}))) != 0)
    take(arriving_, now, counters);
  return give(into, most, now);
}

void impairment::abandon(lcore_counters& counters) noexcept {
  const std::uint32_t left = waiting_pkts();
  while (!late_.empty()) (void)late_.pop();
  while (!held_back_.empty()) (void)held_back_.pop();
  counters.add(count::rx_pkts, left);
  counters.drops.add(stats::drop_reason::shutdown, left);
  figures_.abandoned.add(left);
}

}  // namespace millrace::pipeline

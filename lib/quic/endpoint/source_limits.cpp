// A slot counts what its source has used, not what it has left: so a slot of zeros is a full budget, a source that was
// quiet long enough looks like one that never came, and to forget such a slot loses nothing.
#include "quic/endpoint/source_limits.hpp"

#include <algorithm>
#include <bit>

#include "quic/recovery/types.hpp"

namespace millrace::quic::endpoint {
namespace {

constexpr std::uint32_t one_event = 65536;

[[nodiscard]] std::uint32_t refilled(std::uint32_t used, const rate& limit, std::uint64_t elapsed_ms) noexcept {
  const std::uint64_t back = recovery::multiply_divide(elapsed_ms * one_event, limit.per_second, 1000);
  return back >= used ? 0 : used - static_cast<std::uint32_t>(back);
}

[[nodiscard]] bool take_one(std::uint32_t& used, const rate& limit) noexcept {
  if (limit.per_second == 0) return true;
  const std::uint64_t full = std::uint64_t{std::clamp(limit.burst, 1u, 65535u)} * one_event;
  if (std::uint64_t{used} + one_event > full) return false;
  used += one_event;
  return true;
}

// An IPv6 host has at least a /64 to itself; to count addresses one by one would count nothing.
[[nodiscard]] base::byte_view prefix_of(const base::ip_address& source) noexcept {
  return source.bytes().first(source.family == base::ip_family::v6 ? 8 : source.bytes().size());
}

}  // namespace

source_limits::bucket::bucket(const rate& limit) noexcept
    : ns_per_event(limit.per_second == 0 ? 0 : std::max<std::uint64_t>(recovery::second / limit.per_second, 1)),
      full_ns(ns_per_event * std::max(limit.burst, 1u)),
      credit_ns(full_ns) {}

bool source_limits::bucket::take(std::uint64_t now_ns) noexcept {
  if (ns_per_event == 0) return true;
  if (now_ns > last_ns) {
    credit_ns = std::min(full_ns, credit_ns + std::min(now_ns - last_ns, full_ns));
    last_ns = now_ns;
  }
  if (credit_ns < ns_per_event) return false;
  credit_ns -= ns_per_event;
  return true;
}

source_limits::source_limits(std::span<slot> slots, const crypto::siphash_key& key,
                             const source_limits_config& config) noexcept
    : slots_(slots.first(slots.size() < ways ? 0 : std::bit_floor(slots.size()))),
      config_(config),
      key_(key),
      handshakes_(config.all_handshakes),
      replies_{bucket(config.all_version_negotiations), bucket(config.all_retries),
               bucket(config.all_stateless_resets)} {}

void source_limits::refill(slot& s) const noexcept {
  const std::uint32_t elapsed_ms = static_cast<std::uint32_t>(now_ms_) - s.at_ms;
  s.unproven = refilled(s.unproven, config_.source_unproven, elapsed_ms);
  s.handshakes = refilled(s.handshakes, config_.source_handshakes, elapsed_ms);
  s.at_ms = static_cast<std::uint32_t>(now_ms_);
}

// nullptr: no table.
source_limits::slot* source_limits::slot_of(const base::ip_address& source, std::uint64_t now_ns) noexcept {
  if (slots_.empty()) return nullptr;
  now_ms_ = std::max(now_ms_, now_ns / recovery::ms);
  std::array<std::uint8_t, 9> named{static_cast<std::uint8_t>(source.family)};
  const base::byte_view prefix = prefix_of(source);
  std::copy(prefix.begin(), prefix.end(), named.begin() + 1);
  const std::uint64_t hash = crypto::siphash_2_4(key_, named);
  const std::uint32_t tag = static_cast<std::uint32_t>(hash >> 32) | 1;
  const std::span<slot> set = slots_.subspan((hash * ways) & (slots_.size() - 1), ways);
  slot* least = nullptr;
  for (slot& s : set) {
    if (s.tag == tag) {
      refill(s);
      return &s;
    }
    if (s.tag != 0) refill(s);
    const auto used = [](const slot& of) { return std::uint64_t{of.unproven} + of.handshakes; };
    if (least == nullptr || used(s) < used(*least)) least = &s;
  }
  if (least->tag != 0 && (least->unproven != 0 || least->handshakes != 0)) ++counters_.evicted;
  *least = {tag, static_cast<std::uint32_t>(now_ms_), 0, 0};
  return least;
}

admission source_limits::accept_within_all(std::uint64_t now_ns) noexcept {
  if (!handshakes_.take(now_ns)) {
    ++counters_.over_all;
    return admission::drop;
  }
  ++counters_.accepted;
  return is_full() ? admission::replace : admission::accept;
}

admission source_limits::admit_proven(const base::ip_address& source, std::uint64_t now_ns) noexcept {
  slot* s = slot_of(source, now_ns);
  if (s != nullptr && !take_one(s->handshakes, config_.source_handshakes)) {
    ++counters_.over_source;
    return admission::drop;
  }
  return accept_within_all(now_ns);
}

admission source_limits::admit(const base::ip_address& source, bool validated, std::uint64_t now_ns) noexcept {
  if (validated) return admit_proven(source, now_ns);
  const bool may_retry = config_.retry != retry_mode::never;
  if (config_.retry == retry_mode::always || (may_retry && (pressed_ || is_full()))) {
    ++counters_.retried;
    return admission::retry;
  }
  slot* s = slot_of(source, now_ns);
  if (s == nullptr || take_one(s->unproven, config_.source_unproven)) return accept_within_all(now_ns);
  ++(may_retry ? counters_.retried : counters_.over_source);
  return may_retry ? admission::retry : admission::drop;
}

bool source_limits::allow_reply(reply_kind kind, const base::ip_address& source, std::uint64_t now_ns) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  slot* s = kind == reply_kind::retry ? nullptr : slot_of(source, now_ns);
  const bool allowed = (s == nullptr || take_one(s->unproven, config_.source_unproven)) && replies_[index].take(now_ns);
  ++(allowed ? counters_.replies : counters_.replies_refused)[index];
  return allowed;
}

void source_limits::on_nobody_gives_way() noexcept {
  --counters_.accepted;
  ++counters_.over_half_open;
}

void source_limits::on_half_open() noexcept {
  ++half_open_;
  if (half_open_ >= config_.retry_above) pressed_ = true;
}

void source_limits::on_half_open_done() noexcept {
  if (half_open_ != 0) --half_open_;
  if (half_open_ < config_.accept_below) pressed_ = false;
}

}  // namespace millrace::quic::endpoint

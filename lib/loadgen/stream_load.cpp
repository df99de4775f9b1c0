#include "loadgen/stream_load.hpp"

#include <algorithm>

#include "pipeline/service_loop.hpp"
#include "rpc/client.hpp"

namespace millrace::loadgen {
namespace {

using base::failure;

constexpr std::uint64_t knock_ns = 100'000'000;
constexpr unsigned spare_room = 32;  // of the output: left for what the host says by itself
constexpr std::uint8_t request_flags =
    srmp::wire::make_flags(srmp::wire::frame_kind::request, srmp::wire::data_kind::packet);

std::vector<std::uint8_t> call_of(const std::string& method, std::uint64_t bytes, std::uint32_t item) {
  const std::string arguments = "{\"bytes\":" + std::to_string(bytes) + ",\"item\":" + std::to_string(item) + "}";
  std::vector<std::uint8_t> payload(
      rpc::wire::encoded_size(method.size(), rpc::wire::form::plain, true, arguments.size()));
  payload.resize(rpc::wire::emit(payload, method, base::as_bytes(std::string_view(arguments))));
  return payload;
}

failure unusable(std::string what) { return {std::move(what), "", true}; }

}  // namespace

base::outcome check(const stream_settings& s) {
  if (s.target.address.family == base::ip_family::none || s.target.port == 0)
    return unusable("the target needs an address and a port");
  if (s.connections == 0 || s.first_port == 0 || s.first_port + s.connections - 1u > UINT16_MAX)
    return unusable("there are not as many local ports from " + std::to_string(s.first_port) + " on as connections");
  if (s.window == 0 || s.window > max_stream_window)
    return unusable("streams in flight of a connection are 1 to " + std::to_string(max_stream_window));
  if (s.connections * std::uint32_t{s.window} > UINT16_MAX) return unusable("more than 65535 streams in flight");
  if (s.item == 0 || s.item > stream_pattern::max_item)
    return unusable("an item is 1 to " + std::to_string(stream_pattern::max_item) + " bytes");
  if (s.bytes == 0 || (s.bytes + s.item - 1) / s.item > max_stream_items)
    return unusable("a stream is 1 to " + std::to_string(max_stream_items) + " items");
  if (s.stall_ns == 0) return unusable("a stream of no patience cannot be");
  if (s.method.size() > rpc::wire::max_name_size || !rpc::wire::is_callable(s.method))
    return unusable("a method's name is 1 to 127 characters of ASCII, not '" + s.method + "'");
  return base::done{};
}

stream_figures& stream_figures::operator+=(const stream_figures& more) noexcept {
  answered = answered || more.answered;
  begun += more.begun;
  whole += more.whole;
  holed += more.holed;
  cut += more.cut;
  failed += more.failed;
  items += more.items;
  bytes += more.bytes;
  missing += more.missing;
  reordered += more.reordered;
  wrong += more.wrong;
  unmatched += more.unmatched;
  malformed += more.malformed;
  refused += more.refused;
  in_flight += more.in_flight;
  if (more.first_ns != 0) first_ns = first_ns == 0 ? more.first_ns : std::min(first_ns, more.first_ns);
  last_ns = std::max(last_ns, more.last_ns);
  return *this;
}

base::result<std::unique_ptr<stream_load>> stream_load::make(const stream_settings& settings) {
  if (auto sound = check(settings); !sound) return sound.error();
  return std::make_unique<stream_load>(passkey{}, settings);
}

stream_load::stream_load(passkey, const stream_settings& settings)
    : settings_(settings),
      items_of_one_(static_cast<std::uint32_t>((settings.bytes + settings.item - 1) / settings.item)),
      call_(call_of(settings.method, settings.bytes, settings.item)),
      knock_(call_of(settings.method, 0, settings.item)),
      numbers_(settings.connections),
      streams_(std::size_t{settings.connections} * settings.window),
      free_(streams_.size()) {
  const std::size_t words = (items_of_one_ + 63) / 64;
  seen_.resize(words * streams_.size());
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    streams_[i].connection = static_cast<std::uint16_t>(i % settings.connections);
    streams_[i].seen = seen_.data() + i * words;
    free_[free_count_++] = static_cast<std::uint16_t>(streams_.size() - 1 - i);
  }
  flow_.remote = settings.target;
}

base::outcome stream_load::open_on(pipeline::service_loop& loop) {
  for (std::uint16_t i = 0; i < settings_.connections; ++i)
    if (auto opened = loop.open(static_cast<std::uint16_t>(settings_.first_port + i), *this); !opened) return opened;
  return base::done{};
}

bool stream_load::send(pipeline::udp_output& out, std::uint16_t connection, std::uint8_t seq,
                       base::byte_view payload) noexcept {
  flow_.local.port = static_cast<std::uint16_t>(settings_.first_port + connection);
  const base::byte_span room = out.open();
  const std::size_t size = room.empty() ? 0 : srmp::wire::emit_frame(room, request_flags, seq, payload);
  if (size != 0 && out.close(flow_, size) != net::tx_what::dropped) return true;
  count_.refused.add(1);
  return false;
}

void stream_load::knock(pipeline::udp_output& out, std::uint64_t now) noexcept {
  if (patience_until_ns_ == 0) patience_until_ns_ = now + settings_.patience_ns;
  const net::local_address* const ours = out.host().source_for(flow_.remote.address);
  if (ours != nullptr && now >= next_knock_ns_) {
    flow_.local.address = ours->ip;
    next_knock_ns_ = now + knock_ns;
    (void)send(out, 0, 0, knock_);
  }
  if (now >= patience_until_ns_) enter(phases::finished);
}

bool stream_load::begin_stream(pipeline::udp_output& out, std::uint16_t which, std::uint64_t now) noexcept {
  stream& s = streams_[which];
  numbering& c = numbers_[s.connection];
  // Numbers go round, so that a frame that comes late meets a number that nobody has.
  std::uint8_t seq = c.next_seq;
  while (c.stream_of[seq] != 0) ++seq;
  if (!send(out, s.connection, seq, call_)) return false;
  c.next_seq = static_cast<std::uint8_t>(seq + 1);
  c.stream_of[seq] = static_cast<std::uint16_t>(which + 1);
  std::fill_n(s.seen, (items_of_one_ + 63) / 64, 0);
  s.seq = seq;
  s.active = true;
  s.ended = false;
  s.begun_ns = s.heard_ns = now;
  s.got = s.reached = 0;
  ++begun_;
  ++in_flight_;
  count_.begun.add(1);
  count_.in_flight.set(in_flight_);
  return true;
}

void stream_load::begin_streams(pipeline::udp_output& out, std::uint64_t now) noexcept {
  while (free_count_ != 0 && may_begin(now) && !out.is_blocked() && out.room() > spare_room) {
    if (!begin_stream(out, free_[free_count_ - 1], now)) return;
    --free_count_;
  }
}

void stream_load::on_item(stream& s, base::byte_view item) noexcept {
  const stream_pattern::place at = pattern_.read_item(item);
  const std::uint64_t index = at.offset / settings_.item;
  const std::uint64_t expected =
      index < items_of_one_ ? std::min<std::uint64_t>(settings_.item, settings_.bytes - index * settings_.item) : 0;
  if (!at.sound || at.offset % settings_.item != 0 || at.count != expected ||
      (s.seen[index / 64] >> (index % 64) & 1) != 0) {
    count_.wrong.add(1);
    return;
  }
  s.seen[index / 64] |= std::uint64_t{1} << (index % 64);
  s.got += at.count;
  if (at.offset < s.reached) count_.reordered.add(1);
  s.reached = std::max(s.reached, at.offset + at.count);
  count_.items.add(1);
  count_.bytes.add(at.count);
}

// The stream is over, as well as it went.
void stream_load::close(stream& s, std::uint64_t now, bool failed) noexcept {
  const std::uint64_t lacks = settings_.bytes - s.got;
  if (failed) {
    count_.failed.add(1);
  } else if (!s.ended) {
    count_.cut.add(1);
  } else if (lacks != 0) {
    count_.holed.add(1);
  } else {
    count_.whole.add(1);
    latency_.record(now - s.begun_ns);
  }
  count_.missing.add(lacks);
  count_.last_ns.set(now);  // waiting for what did not come was part of it
  numbers_[s.connection].stream_of[s.seq] = 0;
  s.active = false;
  free_[free_count_++] = static_cast<std::uint16_t>(&s - streams_.data());
  --in_flight_;
  count_.in_flight.set(in_flight_);
}

void stream_load::on_frame(std::uint16_t connection, const srmp::wire::frame& f, std::uint64_t now) noexcept {
  const rpc::reply reply = srmp::wire::is_reply(f.header) ? rpc::reply_of(f) : rpc::reply{};
  if (reply.outcome == rpc::reply_outcome::malformed) {
    count_.malformed.add(1);
    return;
  }
  if (phase() == phases::knocking) {
    enter(phases::running);
    count_.answered.set(1);
    count_.first_ns.set(now);
    count_.last_ns.set(now);
    if (settings_.duration_ns != 0) end_ns_ = now + settings_.duration_ns;
    return;
  }
  const std::uint16_t of = numbers_[connection].stream_of[f.header.seq];
  if (of == 0) {
    count_.unmatched.add(1);
    return;
  }
  stream& s = streams_[of - 1u];
  s.heard_ns = now;
  count_.last_ns.set(now);
  if (reply.outcome == rpc::reply_outcome::error) return close(s, now, true);
  if (reply.has_data)
    on_item(s, reply.data);
  else
    s.ended = true;
  if (s.ended && s.got == settings_.bytes) close(s, now);
}

void stream_load::on_datagrams(std::span<const pipeline::udp_arrival> arrivals, pipeline::service_turn& turn) noexcept {
  for (const pipeline::udp_arrival& one : arrivals) {
    const auto which = static_cast<std::uint16_t>(one.udp.local.port - settings_.first_port);
    if (which >= settings_.connections || one.udp.remote != settings_.target) {
      count_.unmatched.add(1);
      continue;
    }
    srmp::wire::datagram_frames frames(one.udp.payload);
    for (srmp::wire::frame f; frames.next(f) == base::progress::done;) on_frame(which, f, turn.now_ns);
    if (!frames.at_end()) count_.malformed.add(1);
  }
  pump(turn);
}

void stream_load::sweep(std::uint64_t now) noexcept {
  next_sweep_ns_ =
      now + std::clamp<std::uint64_t>(std::min(settings_.linger_ns, settings_.stall_ns) / 4, 10'000, 100'000'000);
  if (in_flight_ == 0) return;
  for (stream& s : streams_) {
    const std::uint64_t patience = s.ended ? settings_.linger_ns : settings_.stall_ns;
    if (s.active && now - s.heard_ns >= patience) close(s, now);
  }
}

void stream_load::pump(pipeline::service_turn& turn) noexcept {
  const std::uint64_t now = turn.now_ns;
  pipeline::udp_output& out = *turn.outputs[0];
  if (phase() == phases::knocking) knock(out, now);
  if (now >= next_sweep_ns_) sweep(now);
  if (phase() == phases::running) {
    begin_streams(out, now);
    if (!may_begin(now)) enter(phases::draining);
  }
  if (phase() == phases::draining && in_flight_ == 0) enter(phases::finished);
  switch (phase()) {
    case phases::knocking:
      due_ns_ = std::min(now + 1'000'000, next_knock_ns_);
      break;
    case phases::running:
      due_ns_ = free_count_ != 0 ? now : std::min(next_sweep_ns_, end_ns_);
      break;
    case phases::draining:
      due_ns_ = next_sweep_ns_;
      break;
    case phases::finished:
      due_ns_ = pipeline::never_ns;
      break;
  }
}

void stream_load::on_stop(pipeline::service_turn& turn) noexcept {
  if (phase() == phases::knocking) enter(phases::finished);
  if (phase() == phases::running) enter(phases::draining);
  pump(turn);
}

stream_figures stream_load::figures() const noexcept {
  return {.answered = count_.answered.get() != 0,
          .begun = count_.begun.get(),
          .whole = count_.whole.get(),
          .holed = count_.holed.get(),
          .cut = count_.cut.get(),
          .failed = count_.failed.get(),
          .items = count_.items.get(),
          .bytes = count_.bytes.get(),
          .missing = count_.missing.get(),
          .reordered = count_.reordered.get(),
          .wrong = count_.wrong.get(),
          .unmatched = count_.unmatched.get(),
          .malformed = count_.malformed.get(),
          .refused = count_.refused.get(),
          .in_flight = count_.in_flight.get(),
          .first_ns = count_.first_ns.get(),
          .last_ns = count_.last_ns.get()};
}

}  // namespace millrace::loadgen

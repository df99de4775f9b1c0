// Two things can happen below a session while it works. A write() may find no memory and end the exchange, on_end()
// included: x_ is then null, and whatever loops here looks. And a handler may close, pause or send from its call: those
// only set what the loop looks at next, because is_inside_ is set.
#include "ws/session.hpp"

#include <algorithm>

#include "ws/endpoint.hpp"

namespace millrace::ws {

using buf::flow;
using wire::close_code;
using wire::event_kind;
using wire::opcode;

namespace {

constexpr std::uint16_t no_code = 1005;    // RFC 6455 7.1.5
constexpr std::uint16_t try_later = 1013;  // the registry of RFC 6455 11.7

// What was taken off an exchange is the taker's alone, whoever else holds other bytes of the packet
// (http::exchange::take): it may be unmasked where it lies.
base::byte_span changeable(const buf::slice& taken) noexcept {
  return {const_cast<std::uint8_t*>(taken.bytes().data()), taken.size()};
}

constexpr event event_of(close_code code) noexcept {
  switch (code) {
    case close_code::invalid_payload:
      return event::failed_text;
    case close_code::too_big:
      return event::failed_too_big;
    default:
      return event::failed_protocol;
  }
}

wire::receive_limits limits_of(const settings& s) noexcept {
  return {wire::read_rules(wire::role::server, s.policy, s.frame_bytes), s.message_bytes};
}

}  // namespace

session::session(endpoint& of, http::exchange& x) noexcept
    : of_(of), x_(&x), in_(limits_of(of.settings_)), gathered_({.pause_bytes = 0, .pause_segments = 0}, x.blocks()) {}

session::~session() = default;

session::turn::~turn() {
  if (!is_outer_) return;
  of_.flush();
  of_.is_inside_ = false;
  if (of_.x_ == nullptr) of_.of_.sessions_.give(&of_);
}

// --- calls of the exchange ---

void session::begin() noexcept {
  const turn t(*this);
  if (!x_->begin({http::wire::status_code::ok, {}}) || x_ == nullptr) return;
  was_told_ = false;
  of_.count_.add(event::sessions);
  of_.to_.on_open(*this);
}

void session::on_body() noexcept {
  const turn t(*this);
  pump();
}

void session::on_body_end() noexcept {
  const turn t(*this);
  is_input_over_ = true;
  pump();
}

void session::on_writable() noexcept {
  const turn t(*this);
  is_paused_ = false;
  if (state_ == state::open) of_.to_.on_writable(*this);
  pump();
}

void session::on_end() noexcept {
  const turn t(*this);
  state_ = state::closed;
  tell({});
  drop_input();
  forget_gathered();
  out_ = {};
  x_ = nullptr;
}

void session::resume() noexcept {
  const turn t(*this);
  if (std::exchange(is_held_, false) && t.is_outer()) pump();
}

// --- in ---

void session::drop_input() noexcept {
  held_.reset();
  at_ = 0;
}

void session::pump() noexcept {
  while (x_ != nullptr) {
    if (state_ == state::closed) {
      drop_input();
      if (x_->front().empty()) return;
      x_->consume(x_->front().size());
      continue;
    }
    if (state_ == state::open && (is_paused_ || is_held_)) return;
    if (at_ == held_.size()) {
      drop_input();
      if (is_input_over_) return end_input();
      if (x_->front().empty()) return;
      held_ = x_->take();
      if (held_.empty()) return;
    }
    step();
  }
}

// The peer's bytes end without its Close. RFC 9220 3: a FIN is the end of a TCP connection, a reset its RST.
void session::end_input() noexcept {
  const bool was_open = std::exchange(state_, state::closed) == state::open;
  forget_gathered();
  flush();
  if (was_open && x_ != nullptr) x_->finish({});
  tell({});
}

// One event of what is held.
void session::step() noexcept {
  base::byte_span left = changeable(held_).subspan(at_);
  const wire::event e = in_.next(left);
  at_ = held_.size() - left.size();
  switch (e.kind) {
    case event_kind::need_more:
      return;
    case event_kind::data:
      return on_data(e);
    case event_kind::ping:
      // RFC 6455 5.5.2; none behind our own Close.
      if (state_ == state::open && send_control(opcode::pong, e.bytes)) of_.count_.add(event::pings);
      return;
    case event_kind::pong:
      of_.count_.add(event::pongs);
      if (state_ == state::open) of_.to_.on_pong(*this, e.bytes);
      return;
    case event_kind::close:
      return on_peer_close(e.close);
    case event_kind::failed:
      of_.count_.add(event_of(e.failure));
      return fail(e.failure);
  }
}

void session::on_data(const wire::event& e) noexcept {
  if (state_ != state::open) return;  // we said Close: nobody wants it any more
  if (e.begins && e.ends) {
    buf::chain whole;
    if (!e.bytes.empty()) {
      const auto from = static_cast<std::size_t>(e.bytes.data() - held_.bytes().data());
      whole = buf::chain(held_.part(from, e.bytes.size()));
      if (whole.empty()) return give_up();
    }
    return deliver(e.op, std::move(whole));
  }
  if (!e.bytes.empty() && !gather(e.bytes)) return;
  if (!e.ends) return;
  buf::chain whole;
  if (kept_ != 0 && !gathered_.take(gathered_.size(), whole)) return give_up();
  gathered_.rest();
  forget_gathered();
  deliver(e.op, std::move(whole));
}

// A piece of a message that is not whole. False: the session has ended.
bool session::gather(base::byte_view piece) noexcept {
  if (piece.size() > of_.settings_.gathered_bytes - std::min(of_.gathered_, of_.settings_.gathered_bytes)) {
    of_.count_.add(event::failed_gathered);
    fail(static_cast<close_code>(try_later));
    return false;
  }
  flow said = flow::exhausted;
  if (piece.size() < of_.settings_.gather_copied_bytes) {
    said = gathered_.write(piece);
  } else {
    const auto from = static_cast<std::size_t>(piece.data() - held_.bytes().data());
    if (buf::slice part = held_.part(from, piece.size()); !part.empty())
      said = gathered_.append(buf::chain(std::move(part)));
  }
  if (said == flow::exhausted) {
    give_up();
    return false;
  }
  kept_ += piece.size();
  of_.gathered_ += piece.size();
  return true;
}

void session::forget_gathered() noexcept {
  of_.gathered_ -= std::exchange(kept_, 0);
  static_cast<void>(gathered_.consume(gathered_.size()));
}

void session::deliver(opcode op, buf::chain&& whole) noexcept {
  const bool is_text = op == opcode::text;
  of_.count_.add(is_text ? event::texts : event::binaries);
  of_.to_.on_message(*this, is_text ? message_kind::text : message_kind::binary, std::move(whole));
}

// --- ends ---

void session::on_peer_close(const wire::close_body& said) noexcept {
  // RFC 6455 5.5.1: answered with its own code, unless we said it first.
  const bool is_answered = state_ == state::closing || send_close(said.code, {});
  state_ = state::closed;
  forget_gathered();
  if (!is_answered) return;  // for want of memory; told
  of_.count_.add(event::closed);
  tell({said.code == 0 ? no_code : said.code, base::as_text(said.reason), true});
}

// RFC 6455 7.1.7: says why, and reads nothing more.
void session::fail(close_code code) noexcept {
  if (state_ == state::open) static_cast<void>(send_close(static_cast<std::uint16_t>(code), {}));
  state_ = state::closed;
  forget_gathered();
  drop_input();
  if (x_ != nullptr) x_->refuse_body();
  tell({static_cast<std::uint16_t>(code), {}, false});
}

void session::tell(const closing& how) noexcept {
  if (std::exchange(was_told_, true)) return;
  if (how.code == closing{}.code) of_.count_.add(event::cut);
  of_.to_.on_close(*this, how);
}

void session::close(std::uint16_t code, std::string_view reason) noexcept {
  const turn t(*this);
  if (!is_open() || !send_close(code, base::as_bytes(reason))) return;
  state_ = state::closing;
  forget_gathered();
  if (t.is_outer()) pump();  // what waits here because of a pause may have the peer's Close in it
}

// No memory for what has to be sent, or kept.
void session::give_up() noexcept {
  of_.count_.add(event::no_memory);
  state_ = state::closed;
  if (x_ != nullptr) x_->abort();
}

// --- out ---

flow session::flow_now() const noexcept {
  if (!is_open()) return flow::closed;
  return is_paused_ ? flow::paused : flow::open;
}

void session::write(buf::chain&& part) noexcept {
  const flow said = x_->write(std::move(part));
  if (x_ == nullptr || said != flow::paused) return;
  if (!std::exchange(is_paused_, true)) of_.count_.add(event::paused);
}

void session::flush() noexcept {
  if (x_ == nullptr || out_.length() == 0) return;
  write(buf::chain(std::move(out_)));
}

// RFC 6455 5.1: a server's frames are not masked.
// Room behind the frames that wait to be sent; empty: the session has ended for want of memory.
base::byte_span session::room_for(std::size_t bytes) noexcept {
  if (const base::byte_span behind = out_.append(static_cast<std::uint16_t>(bytes)); !behind.empty()) return behind;
  flush();
  if (x_ == nullptr) return {};
  out_ = buf::packet(x_->blocks().alloc());
  const base::byte_span fresh = out_.append(static_cast<std::uint16_t>(bytes));
  if (fresh.empty()) give_up();
  return fresh;
}

flow session::send(message_kind kind, buf::chain&& payload) noexcept {
  const turn t(*this);
  buf::chain mine = std::move(payload);
  if (!is_open()) return flow::closed;
  const wire::frame_header header{
      .payload_size = mine.size(), .op = kind == message_kind::text ? opcode::text : opcode::binary, .fin = true};
  const std::size_t front = wire::header_size_for(mine.size(), false);
  const bool is_small = mine.size() <= of_.settings_.copied_bytes && front + mine.size() <= x_->blocks().data_room();
  if (const base::byte_span before = is_small ? base::byte_span{} : mine.prepend_in_place(front); !before.empty()) {
    wire::emit_header(before.data(), header);
    flush();
    if (x_ != nullptr) write(std::move(mine));
  } else {
    const base::byte_span room = room_for(is_small ? front + mine.size() : front);
    if (room.empty()) return flow::closed;
    wire::emit_header(room.data(), header);
    if (is_small) {
      mine.copy_out(0, room.subspan(front));
    } else {
      buf::chain whole(std::move(out_));
      static_cast<void>(whole.append(std::move(mine)));  // behind a block of our own: cannot fail
      write(std::move(whole));
    }
  }
  of_.count_.add(event::sent);
  if (t.is_outer()) flush();
  return flow_now();
}

flow session::send(message_kind kind, base::byte_view payload) noexcept {
  const turn t(*this);
  if (!is_open()) return flow::closed;
  buf::chain copied;
  if (!payload.empty() && !copied.append_copy(payload, x_->blocks())) {
    give_up();
    return flow::closed;
  }
  static_cast<void>(send(kind, std::move(copied)));
  if (t.is_outer()) flush();
  return flow_now();
}

bool session::send_control(opcode op, base::byte_view payload) noexcept {
  const base::byte_span room = room_for(2 + payload.size());
  if (room.empty()) return false;
  return wire::emit_control(room, op, payload) != 0;
}

flow session::ping(base::byte_view payload) noexcept {
  const turn t(*this);
  if (!is_open()) return flow::closed;
  send_control(opcode::ping, payload.first(std::min(payload.size(), wire::max_control_payload)));
  if (t.is_outer()) flush();
  return flow_now();
}

// The last that we send. False: no memory, the session has ended.
bool session::send_close(std::uint16_t code, base::byte_view reason) noexcept {
  std::array<std::uint8_t, wire::max_control_frame> frame;
  std::size_t size = wire::emit_close(frame, code, reason);
  if (size == 0) size = wire::emit_close(frame, code, {});
  if (size == 0) size = wire::emit_close(frame, 0, {});
  const base::byte_span room = room_for(size);
  if (room.empty()) return false;
  std::copy_n(frame.begin(), size, room.begin());
  flush();
  if (x_ != nullptr) x_->finish({});  // RFC 6455 7.1.1: the server's side ends first
  return x_ != nullptr;
}

}  // namespace millrace::ws

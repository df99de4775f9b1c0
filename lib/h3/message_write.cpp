// The sending half of a message. A head is encoded where it is sent from: HEADERS with a length of fixed size in front,
// which is filled in behind.
#include "h3/message.hpp"

#include "http/wire/field.hpp"

namespace millrace::h3 {

using wire::error;
using wire::frame_type;

namespace {

constexpr std::size_t head_front = 1 + 4;  // the type and a length of four bytes
constexpr std::size_t data_front = wire::max_frame_header_size;

void put_head_front(std::uint8_t* at, std::size_t section) noexcept {
  at[0] = static_cast<std::uint8_t>(frame_type::headers);
  base::store_be32(at + 1, static_cast<std::uint32_t>(section) | 0x8000'0000u);
}

}  // namespace

// Pseudo-header fields stand in front: one in a response, up to five in a request (RFC 9114 4.3, RFC 9220 3).
bool message::may_send(std::span<const qpack::field> fields) noexcept {
  std::size_t pseudo_left = head_kind() == section_kind::request ? 1 : 5;
  std::uint64_t size = 0;
  bool is_good = true;
  for (const qpack::field& f : fields) {
    size += f.name.size() + f.value.size() + 32;  // RFC 9114 4.2.2
    if (pseudo_left != 0 && f.name.starts_with(':')) {
      --pseudo_left;
      is_good &= http::wire::is_field_value(f.value);
    } else {
      pseudo_left = 0;
      is_good &= http::wire::is_sendable_field(f.name, f.value);
    }
  }
  is_refused_ = !is_good || size > link_.peer_settings().max_field_section_size;
  if (is_refused_) count().add(is_good ? event::fields_too_large : event::fields_invalid);
  return !is_refused_;
}

void message::count_unsent() noexcept {
  if (!is_refused_) count().add(event::no_memory);
}

bool message::write_head(std::span<const qpack::field> fields, std::optional<std::uint64_t> data,
                         const buf::chain* copied) noexcept {
  if (!may_send(fields)) return false;
  const std::size_t most = qpack::encoder::max_section_size(fields);
  const std::size_t body = copied == nullptr ? 0 : copied->size();
  const std::size_t needed = head_front + most + data_front + body;
  buf::pipe& pipe = out_.pipe();
  base::byte_span room = needed <= link_.of().blocks().data_room() ? pipe.get_span(needed) : base::byte_span{};
  const bool in_place = room.size() >= needed;
  if (!in_place) {
    room = link_.of().scratch();
    if (room.size() < needed) return false;
  }
  const std::size_t section = link_.encode(id(), fields, room.subspan(head_front, most));
  if (section == 0) return false;
  put_head_front(room.data(), section);
  std::size_t size = head_front + section;
  if (data) size += wire::emit(room.data() + size, wire::header_of(frame_type::data, *data));
  if (body != 0) size += copied->copy_out(0, room.subspan(size, body));
  if (in_place) {
    if (!pipe.advance(size)) return false;
    pipe.commit();
    return true;
  }
  return pipe.write(room.first(size)) != buf::flow::exhausted;
}

bool message::write_message(std::span<const qpack::field> fields, http::body&& body) noexcept {
  quic::conn::connection& c = connection();
  if (auto* const whole = std::get_if<buf::chain>(&body); whole != nullptr && !whole->empty()) {
    const bool is_small = whole->size() <= limits().inline_bytes;
    if (!write_head(fields, whole->size(), is_small ? whole : nullptr)) return false;
    if (is_small)
      whole->clear();
    else if (out_.pipe().append(std::move(*whole)) == buf::flow::exhausted)
      return false;
    static_cast<void>(out_.chain().submit(c, s_));
    end_sending();
    return true;
  }
  if (auto* const range = std::get_if<http::content_range>(&body); range != nullptr && range->size != 0) {
    if (!write_head(fields, range->size, nullptr)) return false;
    static_cast<void>(out_.chain().submit(c, s_));
    out_.set_content(*range, s_.send.written());
    static_cast<void>(c.write(s_, range->size));
    end_sending();
    return true;
  }
  if (!write_head(fields, std::nullopt, nullptr)) return false;
  static_cast<void>(out_.chain().submit(c, s_));
  if (auto* const pulled = std::get_if<http::pulled_body>(&body)) {
    out_.set_pulled(*pulled, limits().unacked_bytes, limits().pull_bytes);
    is_finished_ = true;  // FIN comes with the source's end
    c.pull(s_);
    return true;
  }
  end_sending();
  return true;
}

buf::flow message::write(buf::chain&& part) noexcept {
  if (is_failed_ || is_finished_ || link_.is_dead()) {
    part.clear();
    return buf::flow::closed;
  }
  if (discards_ || part.empty()) {
    part.clear();
    return buf::flow::open;
  }
  std::array<std::uint8_t, wire::max_frame_header_size> front;
  const wire::frame_header h = wire::header_of(frame_type::data, part.size());
  const std::size_t n = wire::emit(front.data(), h);
  buf::flow state;
  if (const base::byte_span before = part.prepend_in_place(n); !before.empty()) {
    std::memcpy(before.data(), front.data(), n);
    state = out_.pipe().append(std::move(part));
  } else {
    state = out_.pipe().write(base::byte_view(front).first(n));
    if (state != buf::flow::exhausted) state = out_.pipe().append(std::move(part));
  }
  if (state == buf::flow::exhausted) {
    count().add(event::no_memory);
    part.clear();
    fail(error::internal_error, ending::aborted);
    return buf::flow::closed;
  }
  quic::conn::connection& c = connection();
  static_cast<void>(out_.chain().submit(c, s_));
  link_.of().touch(*this);
  // A reader without credit is told so before a mark is full.
  const bool is_stuck = s_.send.is_blocked() && s_.send.written() - s_.send.sent() >= limits().write.resume_bytes / 4;
  is_paused_ = state != buf::flow::open || is_stuck;
  return is_paused_ ? buf::flow::paused : buf::flow::open;
}

void message::finish(std::span<const http::field> trailers) noexcept {
  if (is_failed_ || is_finished_ || link_.is_dead()) return;
  if (!trailers.empty() && !discards_) {
    std::array<qpack::field, 64> fields;
    std::size_t n = 0;
    for (const http::field& f : trailers)
      if (n < fields.size()) fields[n++] = {f.name, f.value, false};
    const bool has_pseudo = fields[0].name.starts_with(':');  // RFC 9114 4.3: never in trailers
    if (has_pseudo) {
      is_refused_ = true;
      count().add(event::fields_invalid);
    }
    if (has_pseudo || !write_head(std::span(fields).first(n), std::nullopt, nullptr)) {
      count_unsent();
      fail(error::internal_error, ending::aborted);
      return;
    }
    static_cast<void>(out_.chain().submit(connection(), s_));
  }
  end_sending();
}

void message::end_sending() noexcept {
  is_finished_ = true;
  connection().finish(s_);
  link_.of().touch(*this);
}

void message::go_on() noexcept {
  if (is_failed_ || link_.is_dead() || !out_.may_go_on()) return;
  connection().pull(s_);
  link_.of().touch(*this);
}

// While a packet is built: nothing of the connection's may be called.
void message::on_trouble(message_source::trouble t) noexcept {
  if (t == message_source::trouble::failed) link_.of().look_soon(*this);
  if (t == message_source::trouble::no_memory) link_.of().look_later(*this);
}

void message::on_writable() noexcept {
  if (is_failed_ || link_.is_dead()) return;
  if (out_.is_pulling() && out_.why() == message_source::trouble::unacked && out_.may_go_on()) connection().pull(s_);
  if (!is_paused_ || !out_.chain().is_open()) return;
  if (s_.send.is_blocked() && s_.send.written() - s_.send.sent() >= limits().write.resume_bytes / 4) return;
  is_paused_ = false;
  on_room();
}

void message::fail(error code, ending why) noexcept {
  if (std::exchange(is_failed_, true)) return;
  leave_blocked();
  give_staged();
  step_ = step::over;
  is_body_over_ = true;
  quic::conn::connection& c = connection();
  c.stop(s_, wire::number(code));
  c.reset(s_, wire::number(code));
  link_.of().touch(*this);
  link_.of().touch(*this);
  tell_end(why);
  if (why == ending::malformed) link_.on_broken();
}

void message::tell_end(ending why) noexcept {
  if (std::exchange(was_told_, true)) return;
  if (why == ending::complete) count().add(event::completed);
  on_end(why);
}

}  // namespace millrace::h3

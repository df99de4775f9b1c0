#include "h3/link.hpp"

#include "h3/message.hpp"

namespace millrace::h3 {

using quic::conn::live_stream;
using wire::error;
using wire::frame_type;

namespace {

// Of the QPACK streams of one connection: beyond, nothing is inserted, or acknowledged later.
constexpr std::size_t most_waiting_instructions = 16 << 10;
constexpr buf::pipe_limits no_marks{.pause_bytes = 0, .resume_bytes = 0, .pause_segments = 0};

constexpr event event_of(error e) noexcept {
  switch (e) {
    case error::qpack_encoder_stream_error:
      return event::fault_encoder_stream;
    case error::qpack_decoder_stream_error:
      return event::fault_decoder_stream;
    case error::settings_error:
      return event::fault_settings;
    case error::missing_settings:
      return event::fault_missing_settings;
    case error::frame_unexpected:
      return event::fault_frame_unexpected;
    case error::id_error:
      return event::fault_id;
    case error::excessive_load:
      return event::fault_excessive_load;
    default:
      return event::fault_frame;
  }
}

}  // namespace

void link::open_streams() noexcept {
  open(control_out_, wire::stream_type::control);
  open(encoder_out_, wire::stream_type::qpack_encoder);
  open(decoder_out_, wire::stream_type::qpack_decoder);
}

void link::open(outgoing& o, wire::stream_type type) noexcept {
  if (o.was_opened || is_dead_) return;
  std::array<std::uint8_t, 1 + wire::max_settings_frame_size> front;
  std::size_t size = base::encode_varint(front.data(), static_cast<std::uint64_t>(type));
  if (type == wire::stream_type::control) {  // RFC 9114 7.2.4: SETTINGS come first
    const settings& s = of_.limits();
    wire::settings_values v;
    v.qpack_max_table_capacity = s.qpack_table_bytes;
    v.qpack_blocked_streams = s.qpack_blocked_streams;
    v.max_field_section_size = s.field_section_bytes;
    v.enable_connect_protocol = of_.is_server() && s.extended_connect;  // RFC 9220 3
    size += wire::emit_settings(base::byte_span(front).subspan(size), v);
  }
  if (o.bytes.pipe().get_span(size).empty()) return;  // no memory: with the next event
  live_stream* s = c_.open(quic::stream::direction::unidirectional, c_.now_ns());
  if (s == nullptr) return;
  o.was_opened = true;
  o.stream = s;
  s->source = &o.bytes;
  c_.prioritize(*s, 0, true);
  o.bytes.pipe().write(base::byte_view(front).first(size));
  submit(o);
}

void link::submit(outgoing& o) noexcept {
  if (o.stream != nullptr) static_cast<void>(o.bytes.submit(c_, *o.stream));
}

void link::fault(error code, event why) noexcept {
  if (is_dead_) return;
  is_dead_ = true;
  of_.count().add(why);
  c_.close(wire::number(code), c_.now_ns());
  of_.touch(c_);
}

void link::on_broken() noexcept {
  if (!resets_.take(of_.limits().resets, c_.now_ns())) fault(error::excessive_load, event::resets_too_many);
}

// --- the peer's unidirectional streams ---

void link::on_readable(live_stream& s) noexcept {
  if (is_dead_) return;
  const bool is_critical = &s == control_in_.stream || &s == encoder_in_.stream || &s == decoder_in_.stream;
  if (!is_critical && !s.recv.is_reset()) {
    // A type that lies in two packets is left where it is until it is whole.
    std::array<std::uint8_t, base::max_varint_size> front;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(front.size(), s.recv.readable()));
    s.recv.copy_out(base::byte_span(front).first(size));
    std::uint64_t type = 0;
    const std::size_t used = base::decode_varint(base::byte_view(front).first(size), type);
    if (used == 0) return;
    c_.consume(s, used);
    take(s, type);
    if (is_dead_) return;
  }
  if (&s == control_in_.stream) on_control(s);
  if (&s == encoder_in_.stream) on_encoder_stream(s);
  if (&s == decoder_in_.stream) on_decoder_stream(s);
  if (is_dead_) return;
  const bool is_one = &s == control_in_.stream || &s == encoder_in_.stream || &s == decoder_in_.stream;
  if (is_one && (s.recv.is_reset() || s.recv.is_at_end()))  // RFC 9114 6.2.1, RFC 9204 4.2
    fault(error::closed_critical_stream, event::fault_critical_stream);
  else if (s.recv.is_reset())
    c_.reset_read(s);
}

void link::take(live_stream& s, std::uint64_t type) noexcept {
  incoming* place = nullptr;
  switch (type) {
    case static_cast<std::uint64_t>(wire::stream_type::control):
      place = &control_in_;
      break;
    case static_cast<std::uint64_t>(wire::stream_type::qpack_encoder):
      place = &encoder_in_;
      break;
    case static_cast<std::uint64_t>(wire::stream_type::qpack_decoder):
      place = &decoder_in_;
      break;
    case static_cast<std::uint64_t>(wire::stream_type::push):  // RFC 9114 6.2.2, 4.6: we never allow one
      return fault(of_.is_server() ? error::stream_creation_error : error::id_error, event::fault_stream_creation);
    default:  // RFC 9114 6.2: no error
      of_.count().add(event::streams_ignored);
      c_.stop(s, wire::number(error::stream_creation_error));
      return;
  }
  if (std::exchange(place->was_taken, true))  // RFC 9114 6.2.1, RFC 9204 4.2: one of each
    return fault(error::stream_creation_error, event::fault_stream_creation);
  place->stream = &s;
}

void link::on_stream_closed(live_stream& s) noexcept {
  for (incoming* i : {&control_in_, &encoder_in_, &decoder_in_})
    if (i->stream == &s) i->stream = nullptr;
  for (outgoing* o : {&control_out_, &encoder_out_, &decoder_out_})
    if (o->stream == &s) o->stream = nullptr;
}

void link::on_control(live_stream& s) noexcept {
  for (base::byte_view here = s.recv.front(); !here.empty() && !is_dead_; here = s.recv.front()) {
    if (in_frame_) {
      if (!take_payload(s, here)) return;
      continue;
    }
    wire::frame_header h;
    base::byte_view left = here;
    const base::progress p = frame_.next(left, h);
    c_.consume(s, here.size() - left.size());
    if (p != base::progress::done) continue;
    if (!begin_frame(h)) return;
  }
}

bool link::begin_frame(const wire::frame_header& h) noexcept {
  const wire::verdict v = wire::judge(place_, of_.is_server(), h.type);
  if (v != wire::verdict::take && v != wire::verdict::skip) {
    fault(wire::error_of(v), event_of(wire::error_of(v)));
    return false;
  }
  in_frame_ = true;
  frame_left_ = h.length;
  frame_type_ = v == wire::verdict::skip ? nothing : h.type;
  if (v == wire::verdict::skip) of_.count().add(event::frames_skipped);
  const bool is_priority =
      v == wire::verdict::take && h.type >= static_cast<std::uint64_t>(frame_type::priority_update_request);
  if (is_priority && h.length > most_priority_bytes) {
    of_.count().add(event::priority_updates_dropped);
    frame_type_ = nothing;
  }
  if (h.length != 0) return true;
  in_frame_ = false;
  if (frame_type_ == static_cast<std::uint64_t>(frame_type::settings)) {
    place_ = wire::frame_place::control;
    return true;
  }
  if (frame_type_ == nothing) return true;
  fault(error::frame_error, event::fault_frame);  // RFC 9114 7.1: a number should be there
  return false;
}

// The frame's payload, as far as it is here. False: more has to come, or the connection closes.
bool link::take_payload(live_stream& s, base::byte_view here) noexcept {
  here = here.first(static_cast<std::size_t>(std::min<std::uint64_t>(here.size(), frame_left_)));
  if (frame_type_ == static_cast<std::uint64_t>(frame_type::priority_update_request) ||
      frame_type_ == static_cast<std::uint64_t>(frame_type::priority_update_push)) {
    if (s.recv.readable() < frame_left_) return false;
    std::array<std::uint8_t, most_priority_bytes> whole;
    const base::byte_span payload = base::byte_span(whole).first(static_cast<std::size_t>(frame_left_));
    s.recv.copy_out(payload);
    c_.consume(s, frame_left_);
    in_frame_ = false;
    on_priority_update(payload);
    return !is_dead_;
  }
  frame_left_ -= here.size();
  const bool is_end = frame_left_ == 0;
  in_frame_ = !is_end;
  if (frame_type_ == static_cast<std::uint64_t>(frame_type::settings)) {
    error e = settings_in_.take(here, peer_);
    if (e == error::no_error && is_end) e = settings_in_.end();
    c_.consume(s, here.size());
    if (e != error::no_error) {
      fault(e, event_of(e));
    } else if (is_end) {
      place_ = wire::frame_place::control;
      // RFC 9204 3.2.3
      if (!encoder_.set_peer_settings(peer_.qpack_max_table_capacity, peer_.qpack_blocked_streams))
        fault(error::settings_error, event::fault_settings);
    }
    return !is_dead_;
  }
  if (frame_type_ != nothing) {  // one number, and nothing behind it
    std::uint64_t value = 0;
    base::byte_view left = here;
    const base::progress p = number_.next(left, value);
    const bool is_whole = p == base::progress::done;
    if (is_whole != is_end || (is_whole && !left.empty())) {  // RFC 9114 7.1
      fault(error::frame_error, event::fault_frame);
      return false;
    }
    c_.consume(s, here.size());
    if (is_whole) on_number(value);
    return !is_dead_;
  }
  c_.consume(s, here.size());
  return true;
}

void link::on_number(std::uint64_t value) noexcept {
  switch (frame_type_) {
    case static_cast<std::uint64_t>(frame_type::goaway):
      return on_goaway(value);
    case static_cast<std::uint64_t>(frame_type::max_push_id):  // RFC 9114 7.2.7: never smaller
      if (max_push_id_ != nothing && value < max_push_id_) return fault(error::id_error, event::fault_id);
      max_push_id_ = value;
      return;
    case static_cast<std::uint64_t>(frame_type::cancel_push):
      // RFC 9114 7.2.3: a push that was never promised (server) or allowed (client), as we have none.
      return fault(error::id_error, event::fault_id);
    default:
      return;
  }
}

void link::on_goaway(std::uint64_t id) noexcept {
  of_.count().add(event::goaways);
  // RFC 9114 5.2, 7.2.6: never larger than before; to a client it names one of its own bidirectional streams.
  if ((peer_goaway_ != nothing && id > peer_goaway_) || (!of_.is_server() && id % 4 != 0))
    return fault(error::id_error, event::fault_id);
  peer_goaway_ = id;
  if (of_.is_server()) return;  // push identifiers: we have none
  for (message* m = messages; m != nullptr; m = m->next_) {
    if (m->id() >= id) of_.look_soon(*m);  // what is behind it was not and will not be looked at
  }
  close_when_done();
}

void link::on_priority_update(base::byte_view payload) noexcept {
  std::uint64_t id = 0;
  const std::size_t used = base::decode_varint(payload, id);
  if (used == 0) return fault(error::frame_error, event::fault_frame);
  if (frame_type_ == static_cast<std::uint64_t>(frame_type::priority_update_push))
    return fault(error::id_error, event::fault_id);  // RFC 9218 7.2: no push was promised
  if (id % 4 != 0 || id / 4 >= quic::stream::max_streams) return fault(error::id_error, event::fault_id);
  const wire::priority p = wire::parse_priority(base::as_text(payload.subspan(used)));
  if (live_stream* s = c_.find_stream(id); s != nullptr && s->user != nullptr) {
    of_.count().add(event::priority_updates);
    c_.prioritize(*s, p.urgency, p.incremental);
    return;
  }
  if (id < next_request_) {
    of_.count().add(event::priority_updates_dropped);
    return;
  }
  // RFC 9218 7.2: beyond what the peer may open is an error.
  if (id / 4 >= c_.requests_allowed()) return fault(error::id_error, event::fault_id);
  early_priority* place = nullptr;
  for (early_priority& e : priorities_)
    if (e.stream == id || (place == nullptr && e.stream == nothing)) place = &e;
  if (place == nullptr) {  // the oldest gives way
    of_.count().add(event::priority_updates_dropped);
    place = &priorities_[next_priority_++ % priorities_.size()];
  }
  of_.count().add(event::priority_updates);
  *place = {id, p};
}

bool link::take_priority(std::uint64_t id, wire::priority& out) noexcept {
  for (early_priority& e : priorities_) {
    if (e.stream != id) continue;
    out = e.value;
    e.stream = nothing;
    return true;
  }
  return false;
}

// --- the end ---

bool link::may_begin(std::uint64_t id) noexcept {
  next_request_ = std::max(next_request_, id + 4);
  return our_goaway_ == nothing || id < our_goaway_;
}

void link::send_goaway(std::uint64_t id) noexcept {
  if (is_dead_ || control_out_.stream == nullptr || (our_goaway_ != nothing && id >= our_goaway_)) return;
  std::array<std::uint8_t, wire::max_frame_header_size + base::max_varint_size> frame;
  std::size_t size = wire::emit(frame.data(), wire::header_of(frame_type::goaway, base::varint_size(id)));
  size += base::encode_varint(frame.data() + size, id);
  if (control_out_.bytes.pipe().write(base::byte_view(frame).first(size)) == buf::flow::exhausted) return;
  our_goaway_ = id;
  submit(control_out_);
  of_.touch(c_);
}

void link::close_when_done() noexcept {
  wants_close_ = true;
  on_message_gone();
}

void link::on_message_gone() noexcept {
  if (!wants_close_ || message_count != 0 || is_dead_) return;
  is_dead_ = true;
  c_.close(wire::number(error::no_error), c_.now_ns());
  of_.touch(c_);
}

// --- QPACK ---

namespace {

qpack::decoder_settings decoder_settings_of(const settings& s) noexcept {
  return {.max_table_capacity = s.qpack_table_bytes,
          .max_blocked_streams = s.qpack_blocked_streams,
          .max_field_section_bytes = s.field_section_bytes};
}

qpack::encoder_settings encoder_settings_of(const settings& s, std::uint64_t seed) noexcept {
  return {.max_table_capacity = s.qpack_encoder_table_bytes, .hash_seed = seed};
}

std::size_t decoder_bytes(const settings& s) noexcept { return qpack::decoder::storage_size(decoder_settings_of(s)); }

class judge_sink final : public qpack::field_sink {
  section_reader& to_;

 public:
  section_errc why = section_errc::ok;
  explicit judge_sink(section_reader& to) noexcept : to_(to) {}
  qpack::sink_answer on_field(const qpack::field& f) noexcept override {
    why = to_.on_field(f.name, f.value);
    return why == section_errc::ok ? qpack::sink_answer::go_on : qpack::sink_answer::stop;
  }
};

}  // namespace

std::size_t link::table_bytes(const settings& s) noexcept {
  return decoder_bytes(s) + qpack::encoder::storage_size(encoder_settings_of(s, 0));
}

link::link(carrier& of, quic::conn::connection& c, std::span<std::byte> tables) noexcept
    : of_(of),
      c_(c),
      tables_(tables),
      decoder_(decoder_settings_of(of.limits()), tables.first(decoder_bytes(of.limits())),
               {reinterpret_cast<char*>(of.scratch().data()), of.scratch().size()}),
      encoder_(encoder_settings_of(of.limits(), of.seed()), tables.subspan(decoder_bytes(of.limits()))),
      control_out_{quic::conn::chain_source(of.blocks(), no_marks)},
      encoder_out_{quic::conn::chain_source(of.blocks(), no_marks)},
      decoder_out_{quic::conn::chain_source(of.blocks(), no_marks)} {}

link::~link() = default;

link::decoded link::decode(std::uint64_t id, base::byte_view section, section_reader& to, section_errc& why,
                           std::uint64_t& required) noexcept {
  judge_sink sink(to);
  qpack::section_result got = decoder_.decode(id, section, sink);
  if (got.outcome == qpack::section_outcome::busy) {
    send_acknowledgements();
    got = decoder_.decode(id, section, sink);
  }
  switch (got.outcome) {
    case qpack::section_outcome::done:
      return decoded::done;
    case qpack::section_outcome::blocked:
      required = got.required_insert_count;
      return decoded::blocked;
    case qpack::section_outcome::busy:  // no memory for what we have to say first
      why = section_errc::no_memory;
      return decoded::refused;
    case qpack::section_outcome::too_large:
      why = section_errc::too_large;
      return decoded::refused;
    case qpack::section_outcome::stopped:
      why = sink.why;
      return decoded::refused;
    case qpack::section_outcome::malformed:
      break;
  }
  return decoded::malformed;
}

void link::cancel(std::uint64_t id) noexcept {
  if (decoder_.cancel(id)) return;
  send_acknowledgements();
  static_cast<void>(decoder_.cancel(id));  // no memory: the peer keeps an entry longer than it must
}

std::size_t link::encode(std::uint64_t id, std::span<const qpack::field> fields, base::byte_span out) noexcept {
  base::byte_span instructions;
  if (encoder_out_.stream != nullptr && has_peer_settings() && peer_.qpack_max_table_capacity != 0 &&
      encoder_out_.bytes.waiting_bytes() < most_waiting_instructions)
    instructions = encoder_out_.bytes.pipe().get_span();
  const qpack::encoded got = encoder_.encode(id, fields, out, instructions);
  if (got.instructions != 0) {
    static_cast<void>(encoder_out_.bytes.pipe().advance(got.instructions));
    encoder_out_.bytes.pipe().commit();
    submit(encoder_out_);
  }
  return got.is_written ? got.section : 0;
}

void link::send_acknowledgements() noexcept {
  while (decoder_.has_decoder_stream() && decoder_out_.stream != nullptr && !is_dead_ &&
         decoder_out_.bytes.waiting_bytes() < most_waiting_instructions) {
    const base::byte_span room = decoder_out_.bytes.pipe().get_span(qpack::max_integer_size);
    const std::size_t size = room.empty() ? 0 : decoder_.poll_decoder_stream(room);
    if (size == 0) return;
    static_cast<void>(decoder_out_.bytes.pipe().advance(size));
    decoder_out_.bytes.pipe().commit();
    submit(decoder_out_);
  }
}

void link::on_encoder_stream(live_stream& s) noexcept {
  for (base::byte_view here = s.recv.front(); !here.empty(); here = s.recv.front()) {
    const qpack::error e = decoder_.on_encoder_stream(here);
    c_.consume(s, here.size());
    if (e != qpack::error::none) return fault(error::qpack_encoder_stream_error, event::fault_encoder_stream);
  }
  release_blocked();
}

// Few, by the limit: looked through anew after each.
void link::release_blocked() noexcept {
  for (message* m = blocked; m != nullptr && !is_dead_;) {
    if (!decoder_.is_ready(m->blocked_until_)) {
      m = m->blocked_next_;
      continue;
    }
    m->on_unblocked();
    m = blocked;
  }
}

void link::on_decoder_stream(live_stream& s) noexcept {
  for (base::byte_view here = s.recv.front(); !here.empty(); here = s.recv.front()) {
    const qpack::error e = encoder_.on_decoder_stream(here);
    c_.consume(s, here.size());
    if (e != qpack::error::none) return fault(error::qpack_decoder_stream_error, event::fault_decoder_stream);
  }
}

}  // namespace millrace::h3

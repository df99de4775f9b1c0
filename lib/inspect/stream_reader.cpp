// Pieces wait in a list that ascends by offset and may overlap: what they repeat is skipped when their turn comes. Data
// fills up the last piece that does not begin behind it when it goes on where that ends, and else begins a piece behind
// it; the list is as long as pieces_per_stream allows.

#include "inspect/stream_reader.hpp"

#include <algorithm>

namespace millrace::inspect {
namespace {

using base::byte_view;

// RFC 9000 2.1: the two low bits of a stream's number.
constexpr unsigned kind_of(std::uint64_t id) noexcept { return static_cast<unsigned>(id & 3); }
constexpr bool is_unidirectional(std::uint64_t id) noexcept { return (id & 2) != 0; }
constexpr peer opener_of(std::uint64_t id) noexcept { return (id & 1) == 0 ? peer::client : peer::server; }

h3_stream_kind stream_kind_of(std::uint64_t type) noexcept {
  switch (type) {
    case h3_stream_control:
      return h3_stream_kind::control;
    case h3_stream_push:
      return h3_stream_kind::push;
    case h3_stream_qpack_encoder:
      return h3_stream_kind::qpack_encoder;
    case h3_stream_qpack_decoder:
      return h3_stream_kind::qpack_decoder;
    default:
      return is_h3_reserved(type) ? h3_stream_kind::reserved : h3_stream_kind::other;
  }
}

h3_frame_kind frame_kind_of(std::uint64_t type) noexcept {
  switch (type) {
    case h3_frame_data:
      return h3_frame_kind::data;
    case h3_frame_headers:
      return h3_frame_kind::headers;
    case h3_frame_cancel_push:
      return h3_frame_kind::cancel_push;
    case h3_frame_settings:
      return h3_frame_kind::settings;
    case h3_frame_push_promise:
      return h3_frame_kind::push_promise;
    case h3_frame_goaway:
      return h3_frame_kind::goaway;
    case h3_frame_max_push_id:
      return h3_frame_kind::max_push_id;
    case h3_frame_priority_update_request:
    case h3_frame_priority_update_push:
      return h3_frame_kind::priority_update;
    default:
      return is_h3_reserved(type) ? h3_frame_kind::reserved : h3_frame_kind::other;
  }
}

}  // namespace

struct stream_reader::h3_sink {
  side_facts& side;
  stream_facts* listed;  // nullptr: the stream is none of those told one by one
  stream_side* listed_side;

  void on_stream_type(std::uint64_t type) noexcept {
    side.h3_streams.add(stream_kind_of(type));
    if (listed == nullptr) return;
    listed->type = type;
    listed->has_type = true;
  }
  void on_frame(std::uint64_t type, std::uint64_t length) noexcept {
    const h3_frame_kind kind = frame_kind_of(type);
    side.h3_frames.add(kind);
    side.h3_frame_bytes.add(kind, length);
    if (listed_side == nullptr) return;
    if (kind == h3_frame_kind::data) {
      ++listed_side->data_frames;
      listed_side->data_bytes += length;
    } else {
      ++(kind == h3_frame_kind::headers ? listed_side->headers_frames : listed_side->other_frames);
    }
  }
};

stream_reader::stream_reader(carver& memory, const limits& l, std::uint64_t seed) noexcept : seed_(seed) {
  if (l.max_decrypted == 0) return;
  const std::uint32_t streams = std::min(l.max_streams, max_records);
  records_ = memory.take<record>(streams);
  index_ = hash_index(memory, streams);
  pieces_ = memory.take<piece>(std::min(l.stream_pieces, max_records));
  per_session_ = l.streams_per_connection;
  pieces_per_stream_ = l.pieces_per_stream;
}

std::uint32_t stream_reader::hash(std::uint32_t number, std::uint64_t id) const noexcept {
  return static_cast<std::uint32_t>(
      base::hash_mix(base::hash_mix(id ^ seed_, 0x9E37'79B9'7F4A'7C15) ^ number, 0xD1B5'4A32'D192'ED03));
}

stream_reader::record* stream_reader::find(std::uint32_t number, std::uint64_t id) noexcept {
  if (records_.empty()) return nullptr;
  const std::uint32_t i = index_.find(
      hash(number, id), [&](std::uint32_t n) { return records_[n].id == id && records_[n].session == number; });
  return i == nil ? nullptr : &records_[i];
}

void stream_reader::link(session& s, record& r) noexcept {
  const auto number_and_1 = static_cast<std::uint32_t>(&r - records_.data()) + 1;
  r.newer_and_1 = 0;
  r.older_and_1 = s.first_stream_and_1;
  (s.first_stream_and_1 == 0 ? s.last_stream_and_1 : records_[s.first_stream_and_1 - 1].newer_and_1) = number_and_1;
  s.first_stream_and_1 = number_and_1;
}

void stream_reader::unlink(session& s, record& r) noexcept {
  (r.newer_and_1 == 0 ? s.first_stream_and_1 : records_[r.newer_and_1 - 1].older_and_1) = r.older_and_1;
  (r.older_and_1 == 0 ? s.last_stream_and_1 : records_[r.older_and_1 - 1].newer_and_1) = r.newer_and_1;
}

void stream_reader::touch(session& s, record& r) noexcept {
  if (r.newer_and_1 == 0) return;
  unlink(s, r);
  link(s, r);
}

void stream_reader::forget(session& s, record& r) noexcept {
  s.forgotten[kind_of(r.id)].add(r.id >> 2);
  for (half& h : r.side) drop_pieces(h);
  unlink(s, r);
  --s.stream_count;
  const auto number = static_cast<std::uint32_t>(&r - records_.data());
  index_.erase(r.hash, number);
  r.older_and_1 = free_record_and_1_;
  free_record_and_1_ = number + 1;
  --records_in_use_;
}

// nullptr: nothing is free, or it was let go before and is only repeated.
stream_reader::record* stream_reader::make(session& s, std::uint32_t number, std::uint64_t id, bool is_h3) noexcept {
  session_facts& f = s.facts;
  std::uint64_t& seen = f.streams[kind_of(id)];
  seen = std::max(seen, (id >> 2) + 1);
  if (s.forgotten[kind_of(id)].has(id >> 2)) return nullptr;
  const bool none_free = free_record_and_1_ == 0 && untouched_records_ == records_.size();
  if (s.stream_count >= per_session_ || none_free) {
    f.limits.add(session_limit::streams);
    if (s.last_stream_and_1 == 0) return nullptr;
    forget(s, records_[s.last_stream_and_1 - 1]);
  }
  std::uint32_t i = 0;
  if (free_record_and_1_ != 0) {
    i = free_record_and_1_ - 1;
    free_record_and_1_ = records_[i].older_and_1;
  } else {
    i = untouched_records_++;
  }
  record& r = records_[i];
  r = {};
  r.id = id;
  r.session = number;
  r.is_h3 = is_h3;
  for (half& h : r.side) h.scan.begin(is_unidirectional(id));
  if (f.streams_listed < max_streams_listed) {
    f.stream[f.streams_listed] = {};
    f.stream[f.streams_listed].id = id;
    r.listed_and_1 = ++f.streams_listed;
  } else {
    f.more_streams = true;
  }
  r.hash = hash(number, id);
  index_.insert(r.hash, i);
  link(s, r);
  ++s.stream_count;
  ++records_in_use_;
  return &r;
}

std::uint32_t stream_reader::take_piece() noexcept {
  if (free_piece_and_1_ == 0 && untouched_pieces_ == pieces_.size()) return nil;
  ++pieces_in_use_;
  if (free_piece_and_1_ == 0) return untouched_pieces_++;
  const std::uint32_t i = free_piece_and_1_ - 1;
  free_piece_and_1_ = pieces_[i].next_and_1;
  return i;
}

void stream_reader::give_piece(std::uint32_t number) noexcept {
  pieces_[number].next_and_1 = free_piece_and_1_;
  free_piece_and_1_ = number + 1;
  --pieces_in_use_;
}

void stream_reader::drop_pieces(half& h) noexcept {
  while (h.first_piece_and_1 != 0) {
    const std::uint32_t i = h.first_piece_and_1 - 1;
    h.first_piece_and_1 = pieces_[i].next_and_1;
    give_piece(i);
  }
  h.last_piece_and_1 = 0;
  h.pieces = 0;
}

// What came before its turn. False: there is no room for all of it.
bool stream_reader::store(half& h, std::uint64_t offset, byte_view data) noexcept {
  std::uint32_t before = 0;  // the piece, and 1, that this data stands behind
  std::uint32_t* link = &h.first_piece_and_1;
  // Behind a packet that is late the others come in order: at the end of the list.
  if (h.last_piece_and_1 != 0 && pieces_[h.last_piece_and_1 - 1].offset <= offset) {
    before = h.last_piece_and_1;
    link = &pieces_[before - 1].next_and_1;
  }
  const auto advance = [&](std::size_t bytes) {
    offset += bytes;
    data = data.subspan(bytes);
  };
  while (!data.empty()) {
    while (*link != 0 && pieces_[*link - 1].offset <= offset) {
      before = *link;
      link = &pieces_[before - 1].next_and_1;
    }
    if (before != 0) {
      piece& p = pieces_[before - 1];
      const std::uint64_t end = p.offset + p.size;
      if (end > offset) {  // a repetition
        advance(static_cast<std::size_t>(std::min<std::uint64_t>(end - offset, data.size())));
        continue;
      }
      if (end == offset && p.size < stream_piece_bytes) {
        const std::size_t take = std::min(data.size(), stream_piece_bytes - p.size);
        std::memcpy(p.bytes.data() + p.size, data.data(), take);
        p.size += static_cast<std::uint32_t>(take);
        advance(take);
        continue;
      }
    }
    const std::uint32_t i = h.pieces < pieces_per_stream_ ? take_piece() : nil;
    if (i == nil) return false;
    const std::size_t take = std::min(data.size(), stream_piece_bytes);
    piece& p = pieces_[i];
    p.offset = offset;
    p.size = static_cast<std::uint32_t>(take);
    p.next_and_1 = *link;
    std::memcpy(p.bytes.data(), data.data(), take);
    *link = i + 1;
    if (p.next_and_1 == 0) h.last_piece_and_1 = i + 1;
    ++h.pieces;
    advance(take);
  }
  return true;
}

stream_side* stream_reader::listed(session& s, record& r, peer from) noexcept {
  return r.listed_and_1 == 0 ? nullptr : &s.facts.stream[r.listed_and_1 - 1].side[static_cast<std::size_t>(from)];
}

// The next bytes of a direction.
void stream_reader::read(session& s, record& r, peer from, byte_view data) noexcept {
  half& h = r.side[static_cast<std::size_t>(from)];
  h.next += data.size();
  side_facts& side = s.facts.of(from);
  side.stream_bytes += data.size();
  stream_side* const shown = listed(s, r, from);
  if (shown != nullptr) shown->bytes += data.size();
  if (!r.is_h3) return;
  h3_sink sink{side, r.listed_and_1 == 0 ? nullptr : &s.facts.stream[r.listed_and_1 - 1], shown};
  h.scan.feed(data, sink);
}

void stream_reader::read_pieces(session& s, record& r, peer from) noexcept {
  half& h = r.side[static_cast<std::size_t>(from)];
  while (h.first_piece_and_1 != 0) {
    const std::uint32_t i = h.first_piece_and_1 - 1;
    const piece& p = pieces_[i];
    if (p.offset > h.next) return;
    const std::uint64_t known = h.next - p.offset;
    if (known < p.size) read(s, r, from, byte_view(p.bytes).first(p.size).subspan(static_cast<std::size_t>(known)));
    h.first_piece_and_1 = p.next_and_1;
    if (h.first_piece_and_1 == 0) h.last_piece_and_1 = 0;
    --h.pieces;
    give_piece(i);
  }
}

void stream_reader::end_if_over(session& s, record& r, peer from) noexcept {
  half& h = r.side[static_cast<std::size_t>(from)];
  if (!h.ended && h.final_size_and_1 != 0 && h.next >= h.final_size_and_1 - 1) {
    h.ended = true;
    if (stream_side* const shown = listed(s, r, from); shown != nullptr) shown->ended = true;
  }
  const half& other = r.side[1 - static_cast<std::size_t>(from)];
  if (h.ended && (other.ended || is_unidirectional(r.id))) forget(s, r);
}

void stream_reader::on_stream(session& s, std::uint32_t number, peer from, const quic::wire::stream_frame& f,
                              bool is_h3) noexcept {
  if (is_unidirectional(f.stream_id) && opener_of(f.stream_id) != from) return;  // RFC 9000 19.8: no such direction
  record* r = find(number, f.stream_id);
  if (r == nullptr) r = make(s, number, f.stream_id, is_h3);
  if (r == nullptr) return;
  touch(s, *r);
  half& h = r->side[static_cast<std::size_t>(from)];
  if (stream_side* const shown = listed(s, *r, from); shown != nullptr) shown->used = true;
  const std::uint64_t end = f.offset + f.data.size();  // below 2^62: parse() saw to it
  if (f.fin && h.final_size_and_1 == 0) h.final_size_and_1 = end + 1;
  if (h.given_up || h.ended) return;
  if (f.offset > h.next) {
    if (store(h, f.offset, f.data)) return;
    s.facts.limits.add(session_limit::stream_pieces);
    h.given_up = true;
    return drop_pieces(h);
  }
  const std::uint64_t known = h.next - f.offset;
  if (known < f.data.size()) {
    read(s, *r, from, f.data.subspan(static_cast<std::size_t>(known)));
    read_pieces(s, *r, from);
  }
  end_if_over(s, *r, from);
}

void stream_reader::on_reset(session& s, std::uint32_t number, peer from, const quic::wire::reset_stream_frame& f,
                             bool is_h3) noexcept {
  if (is_unidirectional(f.stream_id) && opener_of(f.stream_id) != from) return;
  record* r = find(number, f.stream_id);
  if (r == nullptr) r = make(s, number, f.stream_id, is_h3);
  if (r == nullptr) return;
  half& h = r->side[static_cast<std::size_t>(from)];
  h.ended = true;
  drop_pieces(h);
  if (stream_side* const shown = listed(s, *r, from); shown != nullptr) shown->used = shown->reset = true;
  end_if_over(s, *r, from);
}

void stream_reader::release(session& s) noexcept {
  while (s.first_stream_and_1 != 0) forget(s, records_[s.first_stream_and_1 - 1]);
}

}  // namespace millrace::inspect

// inspect/stream_reader.hpp - the streams of decrypted connections: their bytes in order, and what HTTP/3 frames they
// hold.
//
// Shape    on_stream() takes the data of one STREAM frame; what is next in its direction is read at once, what came too
//          early waits in pieces. A stream whose directions have all ended is let go; so is the one touched least
//          recently when its connection has as many as are followed, or nothing is left for a new one.
//          A stream that was let go and is repeated is recognised by its number and not read again.
// Units    bytes of the stream, from 0.
// Owner    records and pieces are the reader's; a session holds a list: release() before it goes.
// Limits   limits::max_streams, streams_per_connection, stream_pieces, pieces_per_stream. A direction that would need
//          more pieces is given up: its bytes are no longer read.
// Errors   counted in the session's facts, under its limits.
// Threads  one. Heap  none. Source  RFC 9000 2.1 2.2 3. Tests  test/inspect/stream_reader_test.cpp
#pragma once

#include "inspect/h3_scanner.hpp"
#include "inspect/session.hpp"
#include "quic/wire/frame_reset_stream.hpp"
#include "quic/wire/frame_stream.hpp"

namespace millrace::inspect {

class stream_reader {
  struct piece {
    std::uint64_t offset;
    std::uint32_t size;
    std::uint32_t next_and_1;  // of the same direction, ascending; or of the free list
    std::array<std::uint8_t, stream_piece_bytes> bytes;
  };
  struct half {  // one direction
    std::uint64_t next;
    std::uint64_t final_size_and_1;  // 0: not known
    h3_scanner scan;
    std::uint32_t first_piece_and_1;
    std::uint32_t last_piece_and_1;
    std::uint32_t pieces;
    bool ended;     // all bytes were read, or it was reset
    bool given_up;  // its bytes are no longer read
  };
  struct record {
    std::uint64_t id;
    std::uint32_t session;
    std::uint32_t hash;
    std::uint32_t newer_and_1;  // neighbours in its session's list; of a free record, `older` is the next free one
    std::uint32_t older_and_1;
    std::uint32_t listed_and_1;  // in session_facts::stream
    bool is_h3;
    std::array<half, 2> side;  // by peer
  };
  struct h3_sink;

  std::span<record> records_;
  std::span<piece> pieces_;
  hash_index index_;
  std::uint64_t seed_ = 0;
  std::uint32_t free_record_and_1_ = 0;
  std::uint32_t untouched_records_ = 0;
  std::uint32_t records_in_use_ = 0;
  std::uint32_t free_piece_and_1_ = 0;
  std::uint32_t untouched_pieces_ = 0;
  std::uint32_t pieces_in_use_ = 0;
  std::uint32_t per_session_ = 0;
  std::uint32_t pieces_per_stream_ = 0;

  [[nodiscard]] std::uint32_t hash(std::uint32_t session, std::uint64_t id) const noexcept;
  [[nodiscard]] record* find(std::uint32_t number, std::uint64_t id) noexcept;
  [[nodiscard]] record* make(session& s, std::uint32_t number, std::uint64_t id, bool is_h3) noexcept;
  void forget(session& s, record& r) noexcept;
  void drop_pieces(half& h) noexcept;
  void link(session& s, record& r) noexcept;
  void unlink(session& s, record& r) noexcept;
  void touch(session& s, record& r) noexcept;

  void read(session& s, record& r, peer from, base::byte_view data) noexcept;
  [[nodiscard]] bool store(half& h, std::uint64_t offset, base::byte_view data) noexcept;
  [[nodiscard]] std::uint32_t take_piece() noexcept;
  void give_piece(std::uint32_t number) noexcept;
  void read_pieces(session& s, record& r, peer from) noexcept;
  void end_if_over(session& s, record& r, peer from) noexcept;
  [[nodiscard]] stream_side* listed(session& s, record& r, peer from) noexcept;

 public:
  stream_reader() noexcept = default;
  stream_reader(carver& memory, const limits& l, std::uint64_t seed) noexcept;

  // `number`: of the session in its pool. `is_h3`: the connection speaks HTTP/3; asked when a stream begins.
  void on_stream(session& s, std::uint32_t number, peer from, const quic::wire::stream_frame& f, bool is_h3) noexcept;
  void on_reset(session& s, std::uint32_t number, peer from, const quic::wire::reset_stream_frame& f,
                bool is_h3) noexcept;
  void release(session& s) noexcept;
  // Clears all plaintext: the last call.
  void wipe() noexcept {
    crypto::wipe({reinterpret_cast<std::uint8_t*>(pieces_.data()), untouched_pieces_ * sizeof(piece)});
  }

  [[nodiscard]] std::uint32_t streams_in_use() const noexcept { return records_in_use_; }
  [[nodiscard]] std::uint32_t pieces_in_use() const noexcept { return pieces_in_use_; }
  [[nodiscard]] std::uint32_t streams_high_water() const noexcept { return untouched_records_; }
  [[nodiscard]] std::uint32_t streams_capacity() const noexcept { return static_cast<std::uint32_t>(records_.size()); }
  [[nodiscard]] std::uint32_t pieces_high_water() const noexcept { return untouched_pieces_; }
  [[nodiscard]] std::uint32_t pieces_capacity() const noexcept { return static_cast<std::uint32_t>(pieces_.size()); }
};

}  // namespace millrace::inspect

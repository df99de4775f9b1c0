// quic/conn/send_source.hpp - where the bytes of a sending stream lie until they are acknowledged.
//
// Shape    a stream names its bytes by offset; whoever produces them keeps them readable from the first byte that is
//          not acknowledged to the last that was written (stream::send_stream::write), so that what is lost is read
//          again and nothing is copied for retransmission. borrow() is asked for each packet; the AEAD reads the bytes
//          from there.
// Owner    the source: it outlives its stream's sending part, and frees what released() names.
// Rules    one indirect call a packet, some 2 ns; the alternative would be one connection type a kind of source.
// Tests    test/quic/sim/transfer_test.cpp
#pragma once

#include <span>

#include "base/bytes.hpp"

namespace millrace::quic::conn {

inline constexpr std::size_t most_source_parts = 16;  // of one packet's data: 64 KiB blocks never need more than two

enum class pull_state : std::uint8_t {
  more,   // ask again
  later,  // when connection::pull() was called again
  end,    // the stream ends behind these bytes
};
struct pulled {
  std::uint64_t bytes = 0;  // that can be borrowed from now on, behind those before; 0 is not `more`
  pull_state state = pull_state::later;
};

class send_source {
 public:
  send_source() noexcept = default;
  send_source(const send_source&) = delete;
  send_source& operator=(const send_source&) = delete;
  virtual ~send_source() = default;

  // Views of [offset, offset + size), in order, at most most_source_parts of them; how many. They live until the packet
  // is sealed: one packet may borrow twice, what was lost and what is new, so a second call leaves the views of the
  // first alone. Fewer bytes than asked is a bug.
  [[nodiscard]] virtual unsigned borrow(std::uint64_t offset, std::size_t size,
                                        std::span<base::byte_view, most_source_parts> parts) noexcept = 0;
  // For streams that pull (connection::pull): makes bytes, `most` if it can, as many fit the credit; called while a
  // packet is written, when there is room for them. It may call nothing of the connection's.
  [[nodiscard]] virtual pulled pull(std::uint64_t /*most*/) noexcept { return {}; }
  // Every byte below is acknowledged, or will never be asked for again (UINT64_MAX: the stream was reset).
  virtual void released(std::uint64_t below) noexcept = 0;
};

}  // namespace millrace::quic::conn

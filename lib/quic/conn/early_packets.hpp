// quic/conn/early_packets.hpp - packets that came before the keys they are read with.
//
// Shape    hold() keeps a packet as it came, unread; take() hands out the oldest that is ready by now. A path that
//          reorders, or loses the first datagram of a flight, would otherwise cost the rest of the flight, and the peer
//          a probe time-out, because what cannot be read is not acknowledged.
// Owner    each holds a reference to the packet it came in. clear() before the object goes, because the lcore's count
//          is kept outside.
// Limits   `most` of a connection, `most_unproven` while the peer's address is not proven, and `most_of_all` over all
//          connections of the lcore (RFC 9000 5.2.2 and RFC 9001 5.7 want a limit): nobody pins buffers by sending
//          junk.
// Threads  one lcore.
// Source   RFC 9000 5.2.2 13.2.1, RFC 9001 4.1.4 5.7.
// Tests    test/quic/conn/early_packets_test.cpp, test/quic/sim/early_packets_test.cpp
#pragma once

#include <array>
#include <utility>

#include "buf/slice.hpp"
#include "quic/conn/connection_host.hpp"
#include "quic/wire/header.hpp"

namespace millrace::quic::conn {

class early_packets {
 public:
  static constexpr std::size_t most = 8;
  static constexpr std::size_t most_unproven = 2;
  static constexpr std::uint32_t most_of_all = 256;

  struct held_packet {
    buf::slice whole;  // a reference, for `bytes`
    base::byte_span bytes{};
    path::path_address address{};
    std::uint16_t interface = 0;
    wire::ecn_mark ecn = wire::ecn_mark::not_ect;
    wire::packet_type type = wire::packet_type::one_rtt;
  };

 private:
  std::array<held_packet, most> packets_;
  std::size_t count_ = 0;

 public:
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

  // `packet` lies in d.whole, which is one segment: of a chain the link has another owner, and none can be made here.
  // False: it is not so, or a limit is met, and nothing is kept.
  [[nodiscard]] bool hold(std::uint32_t& of_all, const datagram_in& d, base::byte_span packet, wire::packet_type type,
                          bool is_proven) noexcept {
    if (count_ >= (is_proven ? most : most_unproven) || of_all >= most_of_all || d.whole->segments() != 1) return false;
    held_packet fresh{.whole = buf::slice::of(*d.whole, packet),
                      .bytes = packet,
                      .address = d.address,
                      .interface = d.interface,
                      .ecn = d.ecn,
                      .type = type};
    if (fresh.whole.empty()) return false;
    packets_[count_++] = std::move(fresh);
    ++of_all;
    return true;
  }

  // The oldest for whose type `is_ready` answers true; false: there is none.
  template <class IsReady>
  [[nodiscard]] bool take(std::uint32_t& of_all, IsReady&& is_ready, held_packet& out) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (!is_ready(packets_[i].type)) continue;
      out = std::move(packets_[i]);
      for (; i + 1 < count_; ++i) packets_[i] = std::move(packets_[i + 1]);
      --count_;
      --of_all;
      return true;
    }
    return false;
  }

  void clear(std::uint32_t& of_all) noexcept {
    of_all -= static_cast<std::uint32_t>(count_);
    for (; count_ != 0; --count_) packets_[count_ - 1].whole.reset();
  }
};

}  // namespace millrace::quic::conn

// loadgen/frame_generator.hpp - whole Ethernet frames of many flows, for `fwd`, tests and benchmarks: frame i, on
// demand.
//
// Shape    plan(i) says what frame i is, fill(i, room) writes it. Both are functions of the options and i alone: any
//          frame can be made alone, again, or on another lcore. Frame i belongs to flow i % flows. A flow lives for
//          steps_per_flow frames, then begins again, so frames repeat after cycle_frames(): that many are all there
//          are, and the first K of them (staggered order) are a fair sample. Copy them into mbufs as templates.
//
//   step      quic                    srmp            udp     tcp
//   0         client Initial          request(s)      query   SYN
//   1         server Handshake        reply/replies   answer  SYN ACK
//   2         client Handshake        request(s)      query   ACK
//   3 .. 13   1-RTT, ends in turn     and so on       ...     data, ends in turn
//   14, 15    1-RTT                                           FIN ACK, FIN ACK
//
//          Initials are real: sealed with the keys of their connection ID over a ClientHello that names
//          server_name(flow). Handshake and 1-RTT packets hold pseudo-random bytes where ciphertext would be. SRMP
//          frames (one to three a datagram) carry calls of "Echo" and fill their datagram exactly. Plain UDP is text
//          that no classifier takes for QUIC, on the discard port, as is TCP. All checksums are right.
// Sizes    with frame_size every frame has exactly that size; TCP segments then carry payload even on SYN, and QUIC is
//          1-RTT alone below smallest_frame_with_initials. Without it: Initials and Handshakes of 1200-byte datagrams,
//          small requests, full segments, whatever the packet usually is, never above 1514.
// Owner    the generator borrows the engine. Threads  one; make one each, they agree.
// Errors   make: options that cannot be, as check() says. fill: 0 when the room is too small, and nothing is promised
//          about its bytes then.
// Tests    test/loadgen/frame_generator_test.cpp, test/loadgen/tshark_test.py   Bench  bench/loadgen/frame_bench.cpp
#pragma once

#include "crypto/engine.hpp"
#include "loadgen/flow.hpp"
#include "loadgen/traffic.hpp"

namespace millrace::loadgen {

enum class packet_role : std::uint8_t {
  quic_initial,
  quic_handshake,
  quic_one_rtt,
  srmp,
  udp,
  tcp_syn,
  tcp_syn_ack,
  tcp_ack,
  tcp_data,
  tcp_fin,
};

struct frame_plan {
  std::uint32_t flow = 0;
  std::uint32_t step = 0;  // 0 .. steps_per_flow - 1
  traffic_kind kind{};
  packet_role role{};
  bool from_client = false;
  base::ip_family family{};
  std::uint32_t payload_size = 0;  // behind the UDP or TCP header
  std::uint32_t frame_size = 0;
};

class frame_generator {
  frame_options options_;
  traffic_kinds kinds_;
  crypto::engine* engine_;

  frame_generator(const frame_options& options, crypto::engine& engine);
  [[nodiscard]] frame_plan plan(const flow& f, std::uint32_t step) const noexcept;
  [[nodiscard]] net::wire::frame_spec spec(const flow& f, const frame_plan& p) const noexcept;
  [[nodiscard]] bool fill_payload(const flow& f, const frame_plan& p, base::byte_span out) noexcept;
  void number_segment(const flow& f, const frame_plan& p, net::wire::tcp_header& out) const noexcept;

 public:
  static constexpr std::uint32_t steps_per_flow = 16;

  [[nodiscard]] static base::result<frame_generator> make(const frame_options& options, crypto::engine& engine);

  [[nodiscard]] const frame_options& options() const noexcept { return options_; }
  [[nodiscard]] std::uint64_t cycle_frames() const noexcept { return std::uint64_t{options_.flows} * steps_per_flow; }
  // Room that every frame fits in.
  [[nodiscard]] std::uint32_t largest_frame() const noexcept;

  [[nodiscard]] frame_plan plan(std::uint64_t index) const noexcept;
  [[nodiscard]] flow flow_of(std::uint32_t number) const noexcept { return make_flow(options_, kinds_, number); }

  // Writes frame `index` at the front of `room`; answers its size, or 0.
  [[nodiscard]] std::size_t fill(std::uint64_t index, base::byte_span room) noexcept;
};

}  // namespace millrace::loadgen

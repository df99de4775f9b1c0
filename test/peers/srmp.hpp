// test/peers/srmp.hpp - SRMP and its remoting payload, written from the protocol's sheet and sharing nothing with
// millrace.
//
// Shape    frame: flags, seq, length (16 bits, little-endian), payload; length FFFF announces one of 31 bits behind it.
//          flags & C0: 00 request, 40 one-way, 80 reply, C0 error reply; the other bits are the kind of data.
//          call: name, then, if there are arguments, their length in 32 bits and they; an error has a code before them.
// Errors   srmp_reader throws std::runtime_error at a length that none can have; a malformed call is not answered.
#pragma once

#include <optional>

#include "udp.hpp"

namespace millrace::peers {

inline constexpr std::uint8_t srmp_request = 0x00, srmp_one_way = 0x40, srmp_reply = 0x80, srmp_error = 0xC0;
inline constexpr std::uint8_t srmp_binary = 1;
inline constexpr std::size_t most_srmp_payload = 16 << 20;

struct srmp_frame {
  std::uint8_t flags = 0;
  std::uint8_t seq = 0;
  bytes payload;
  [[nodiscard]] std::uint8_t what() const { return flags & 0xC0; }
};

[[nodiscard]] bytes emit_srmp(std::uint8_t flags, std::uint8_t seq, byte_view payload);

class srmp_reader {
  bytes held_;
  std::size_t at_ = 0;

 public:
  void add(byte_view data);
  [[nodiscard]] std::optional<srmp_frame> next();
  [[nodiscard]] bool is_between_frames() const { return at_ == held_.size(); }
};

struct rpc {
  std::string name;
  std::int32_t code = 0;  // of an error
  std::optional<bytes> data;
};

[[nodiscard]] bytes emit_rpc(const rpc& call, bool is_error);
[[nodiscard]] std::optional<rpc> parse_rpc(byte_view payload, bool is_error);

// What a server says to a frame: Echo gives the arguments back, Api/All names what there is, others are unknown (404).
// Empty: no answer.
[[nodiscard]] bytes answer_srmp(const srmp_frame& frame);

}  // namespace millrace::peers

// pipeline/srmp_sink.hpp - where the replies of an SRMP service go: packets of the interface that a request came in by.
//
// Shape    the aimed_sink of an srmp::datagram_service. begin() at each burst, heard() for each datagram of a caller;
//          the service calls the rest. A conversation's cookie is the number of the interface.
// Rules    UDP proves no sender's address, so a server that answers more than it is asked can be aimed at others. What
//          goes to one caller in one burst beyond `factor` times what came from it is paid from one bucket of bytes for
//          all; when that is empty, the datagram is not sent, and counted. A rate of 0 is no limit.
// Units    bytes of UDP payload.
// Owner    the sink has the room of one large datagram; packets are the output's.
// Threads  one lcore. Tests  test/pipeline/srmp_service_test.cpp
#pragma once

#include "net/token_bucket.hpp"
#include "pipeline/udp_service.hpp"
#include "srmp/datagram_service.hpp"

namespace millrace::pipeline {

struct amplification_limits {
  std::uint32_t factor = 3;                             // RFC 9000 8 allows a server as much before it knows an address
  net::rate_limit bytes{8 * 1024 * 1024, 1024 * 1024};  // a second, beyond that; and at once
};

struct sink_counters {
  stats::counter datagrams;  // handed to the output
  stats::counter bytes;      // of them
  stats::counter withheld;   // datagrams that the limit held back
  stats::counter not_sent;   // datagrams that the host dropped; its reason is among the drops
};

class srmp_sink {
  static constexpr std::size_t longest = 65507;  // RFC 768, 791: of a datagram's payload over IPv4

  std::span<udp_output* const> outputs_;
  std::uint64_t now_ns_ = 0;
  udp_output* out_ = nullptr;
  net::udp_flow flow_;
  std::uint32_t factor_;
  std::uint64_t allowed_ = 0;  // bytes to this caller before the bucket pays
  bool large_ = false;         // what is open is large_room_
  net::token_bucket bucket_;
  sink_counters count_;
  std::array<std::uint8_t, longest> large_room_;

 public:
  explicit srmp_sink(const amplification_limits& limits) noexcept
      : factor_(limits.bytes.per_second == 0 ? 0 : limits.factor), bucket_(limits.bytes) {}

  void begin(const service_turn& turn) noexcept {
    outputs_ = turn.outputs;
    now_ns_ = turn.now_ns;
  }
  // Before the service is given a datagram of `bytes`, after aim() when the caller is another one.
  void heard(std::size_t bytes) noexcept { allowed_ += std::uint64_t{factor_} * bytes; }

  void aim(const srmp::conversation& between) noexcept {
    out_ = outputs_[between.cookie];
    flow_.local = between.local;
    flow_.remote = between.remote;
    allowed_ = 0;
  }
  [[nodiscard]] base::byte_span open() noexcept {
    large_ = false;
    return out_->open();
  }
  [[nodiscard]] base::byte_span open_large(std::size_t size) noexcept {
    large_ = true;
    return size <= large_room_.size() ? base::byte_span(large_room_) : base::byte_span{};
  }
  void close(std::size_t size) noexcept {
    if (size == 0) return;
    if (factor_ != 0) {
      if (size <= allowed_) [[likely]] {
        allowed_ -= size;
      } else {
        if (!bucket_.take(now_ns_, size - allowed_)) {
          count_.withheld.add(1);
          return;  // what is open stays open, for the next
        }
        allowed_ = 0;
      }
    }
    const net::tx_what went =
        large_ ? out_->send(flow_, base::byte_view(large_room_).first(size)) : out_->close(flow_, size);
    if (went == net::tx_what::dropped) {
      count_.not_sent.add(1);
      return;
    }
    count_.datagrams.add(1);
    count_.bytes.add(size);
  }

  [[nodiscard]] const sink_counters& counters() const noexcept { return count_; }
};

}  // namespace millrace::pipeline

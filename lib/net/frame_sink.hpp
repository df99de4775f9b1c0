// net/frame_sink.hpp - where a host puts the frames that it makes itself: answers, questions, fragments.
//
// Shape    take() answers room for one frame; taken means that it will be sent, once the caller of the host flushes.
//          UDP that can go at once never passes here: its headers are written into the caller's own packet.
// Owner    the sink; room is to be filled before the next call, and before the host's call returns.
// Errors   take(): an empty span when there is no packet or it is too small; the host then counts and goes on.
// Threads  one lcore. Tests  test/net/packet_sink_test.cpp
#pragma once

#include "base/bytes.hpp"

namespace millrace::net {

class frame_sink {
 public:
  frame_sink() noexcept = default;
  frame_sink(const frame_sink&) = delete;
  frame_sink& operator=(const frame_sink&) = delete;

  // Exactly `bytes` of room, undefined content, or an empty span.
  [[nodiscard]] virtual base::byte_span take(std::size_t bytes) noexcept = 0;

 protected:
  ~frame_sink() = default;
};

}  // namespace millrace::net

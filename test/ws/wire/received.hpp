// test/ws/wire/received.hpp - what a receiver made of a stream, as text lines that do not depend on how it was cut.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ws/wire/receiver.hpp"

namespace millrace::ws::test_support {

// "text Hello", "binary ...", "ping x", "pong", "close 1000 why", "failed 1002".
struct received {
  std::vector<std::string> lines;
  std::string message;  // as far as it has come
  bool finished = false;

  void take(wire::receiver& from, base::byte_span in) {
    while (!finished) {
      const wire::event e = from.next(in);
      const std::string bytes(base::as_text(e.bytes));
      switch (e.kind) {
        case wire::event_kind::need_more:
          return;
        case wire::event_kind::data:
          if (e.begins != message.empty()) lines.push_back("begins wrongly");
          if (e.begins) message = e.op == wire::opcode::text ? "text " : "binary ";
          message += bytes;
          if (e.ends) lines.push_back(std::exchange(message, {}));
          break;
        case wire::event_kind::ping:
          lines.push_back("ping " + bytes);
          break;
        case wire::event_kind::pong:
          lines.push_back("pong " + bytes);
          break;
        case wire::event_kind::close:
          lines.push_back("close " + std::to_string(e.close.code) + " " + std::string(base::as_text(e.close.reason)));
          break;
        case wire::event_kind::failed:
          lines.push_back("failed " + std::to_string(static_cast<int>(e.failure)));
          finished = true;
          break;
      }
    }
  }
};

}  // namespace millrace::ws::test_support

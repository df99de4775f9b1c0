// Any bytes as the packets of a WebSocket client, with a carrier that pauses, breaks and ends when it likes, and a
// handler that closes and pauses: what is delivered is what a receiver reads from the whole, what is sent are legal
// frames, a session that was opened is closed once, and nothing is left.
//
// Input    byte 0: what the handler does, and the limits. Then operations: a byte whose low three bits choose what
//          (packet, frame, client takes, client stops taking, resume, close, end, break), a packet has a length in
//          front.
#include <cstdlib>

#include "ws/carrier.hpp"
#include "ws/endpoint.hpp"
#include "ws/wire/received.hpp"

namespace {

using namespace millrace;

void require(bool holds) {
  if (!holds) std::abort();
}

class echoing final : public ws::message_handler {
 public:
  std::vector<std::string> messages;
  ws::session* at = nullptr;
  unsigned opened = 0, closed = 0;
  bool pauses = false;
  unsigned closes_after = 0;  // 0: never

  void on_open(ws::session& s) noexcept override {
    at = &s;
    ++opened;
  }
  void on_message(ws::session& s, ws::message_kind kind, buf::chain&& whole) noexcept override {
    require(at == &s && s.is_open());
    test::byte_list all(whole.size());
    require(whole.copy_out(0, all) == all.size());
    messages.push_back((kind == ws::message_kind::text ? "text " : "binary ") + std::string(base::as_text(all)));
    if (pauses) s.pause();
    static_cast<void>(s.send(kind, std::move(whole)));
    if (closes_after != 0 && messages.size() == closes_after) s.close(3000, "enough");
  }
  void on_close(ws::session& s, const ws::closing&) noexcept override {
    require(at == &s && !s.is_open());
    at = nullptr;
    ++closed;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 4096) return 0;
  base::byte_view left(data, size);
  const auto byte = [&]() -> std::uint8_t {
    if (left.empty()) return 0;
    const std::uint8_t b = left[0];
    left = left.subspan(1);
    return b;
  };
  const std::uint8_t how = byte();
  test::plain_pool blocks((how & 8) != 0 ? 6 : 512, 2048);
  echoing handler;
  handler.pauses = (how & 1) != 0;
  handler.closes_after = (how >> 1) & 3;
  ws::settings s;
  s.sessions = 1;
  s.frame_bytes = s.message_bytes = 3000;
  s.copied_bytes = (how & 16) != 0 ? 10 : 1024;
  s.gather_copied_bytes = (how & 32) != 0 ? 10 : 4096;
  s.policy = (how & 64) != 0 ? ws::wire::masking::accept_unmasked : ws::wire::masking::strict;
  if ((how & 128) != 0) s.gathered_bytes = 1000;
  test::byte_list said;
  {
    auto of = std::move(ws::endpoint::make(s, handler).value());
    {
      test::ws_carrier x(blocks);
      x.open(*of);
      while (!left.empty() && !x.ended && !x.refused) {
        const std::uint8_t op = byte();
        test::byte_list packet;
        switch (op % 8) {
          case 0:
          case 1: {
            const std::size_t n = std::min<std::size_t>(byte() + std::size_t{1}, left.size());
            packet.assign(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(n));
            left = left.subspan(n);
            break;
          }
          case 2:
            packet = test::ws_frame(byte(), std::string(byte() * (op >> 6), static_cast<char>('a' + op % 16)));
            break;
          case 3:
            x.writable();
            continue;
          case 4:
            x.takes = false;
            continue;
          case 5:
            if (handler.at != nullptr) handler.at->resume();
            continue;
          case 6:
            if (handler.at != nullptr && op >> 3 == 0) handler.at->close();
            continue;
          default:
            if (op >> 3 == 0) x.send_end();
            if (op >> 3 == 1) x.breaks = true;
            if (op >> 3 == 2) x.end();
            continue;
        }
        if (packet.empty() || x.ended || x.is_body_over()) continue;
        buf::packet p{blocks.alloc()};
        if (!p) break;
        p = {};
        said.insert(said.end(), packet.begin(), packet.end());
        x.send(packet);
      }
      ws::wire::receiver client(
          {ws::wire::read_rules(ws::wire::role::client, ws::wire::masking::strict, 1 << 20), 1 << 20});
      ws::test_support::received got;
      got.take(client, x.out);
      for (const std::string& line : got.lines) require(!line.starts_with("failed") && !line.starts_with("begins"));
    }
    require(of->open_sessions() == 0 && of->is_whole() && of->gathered_bytes() == 0);
  }
  require(handler.opened == 1 && handler.closed == 1 && handler.at == nullptr);
  require(blocks.in_use() == 0);
  ws::wire::receiver whole({ws::wire::read_rules(ws::wire::role::server, s.policy, s.frame_bytes), s.message_bytes});
  ws::test_support::received reference;
  reference.take(whole, said);
  std::erase_if(reference.lines,
                [](const std::string& l) { return !l.starts_with("text ") && !l.starts_with("binary "); });
  require(handler.messages.size() <= reference.lines.size());
  for (std::size_t i = 0; i < handler.messages.size(); ++i) require(handler.messages[i] == reference.lines[i]);
  return 0;
}

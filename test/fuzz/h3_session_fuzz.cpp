// A client that says whatever the input says, on request streams and on unidirectional ones, in any pieces, and ends,
// resets or stops them: the server may close the connection, and holds nothing when it is over.
//
// Input    operations: a byte whose low bits choose what (say, end, reset, stop, new stream, wait) and whose high bits
//          choose the stream; said bytes have a length in front. A few heads and frames stand for a byte each, so that
//          the input gets beyond QPACK.
#include "h3/pair.hpp"

namespace {

using namespace millrace;
using test::bytes;
using test::operator+;

struct input {
  base::byte_view left;
  std::uint8_t byte() {
    if (left.empty()) return 0;
    const std::uint8_t b = left[0];
    left = left.subspan(1);
    return b;
  }
  bytes take(std::size_t n) {
    n = std::min(n, left.size());
    bytes out(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(n));
    left = left.subspan(n);
    return out;
  }
};

bytes said(input& in) {
  const std::uint8_t what = in.byte();
  switch (what % 8) {
    case 0:
      return test::head(test::get("/unknown/5000"));
    case 1:
      return test::head(test::post("/echo"));
    case 2:
      return test::data(in.take(what >> 3));
    case 3:
      return test::frame(in.byte(), in.take(what >> 3));
    case 4:
      return test::varint(what >> 3);
    case 5:
      return test::head({{"a", "b"}});
    default:
      return in.take(what >> 2);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::unique_ptr<test::h3_pair> pair;  // made anew now and then: a connection is made for each input
  static unsigned inputs = 0;
  if (size < 2 || size > 512) return 0;
  testing::GTEST_FLAG(break_on_failure) = true;
  if (pair == nullptr || ++inputs % 128 == 0) {
    test::h3_options o;
    o.settings.progress_ns = o.settings.head_ns = 5 * test::second;
    o.says_settings = false;
    pair.reset();
    pair = std::make_unique<test::h3_pair>(o);
  } else {
    pair->client_app.established = false;
    pair->connect();
  }
  test::h3_pair& p = *pair;
  input in{{data, size}};
  if ((in.byte() & 1) != 0)
    p.say(p.open(quic::stream::direction::unidirectional), test::varint(0) + test::frame(4, {}));
  std::vector<test::scripted*> streams;
  for (unsigned i = 0; i < 64 && !in.left.empty() && !p.client_app.closed; ++i) {
    const std::uint8_t op = in.byte();
    if (streams.empty() || op % 8 == 0) {
      if (streams.size() < 12)
        streams.push_back(
            &p.open((op & 8) != 0 ? quic::stream::direction::unidirectional : quic::stream::direction::bidirectional));
      continue;
    }
    test::scripted& x = *streams[(op >> 3) % streams.size()];
    if (x.stream == nullptr) continue;
    switch (op % 8) {
      case 1:
        p.say(x, {}, true);
        break;
      case 2:
        p.connection->reset(*x.stream, in.byte());
        break;
      case 3:
        p.connection->stop(*x.stream, in.byte());
        break;
      case 4:
        p.net.wait(in.byte() * 10 * test::ms);
        continue;
      default:
        if (!x.stream->send.is_reset()) p.say(x, said(in));
        break;
    }
    p.net.client->endpoint->touch(*p.connection);
    p.net.wait(test::ms);
  }
  if (!p.client_app.closed) {
    p.connection->close(number(h3::wire::error::no_error), p.net.now_ns);
    p.net.client->endpoint->touch(*p.connection);
  }
  const bool rests = p.net.run([&] { return p.net.server->endpoint->connections() == 0; }, 60 * test::second);
  if (!rests || p.app->open_exchanges() != 0 || p.app->open_links() != 0 || p.app->fields().in_use() != 0 ||
      p.blocks.in_use() != 0 || test::pulled_blocks().in_use() != 0)
    std::abort();
  for (const auto& r : p.handler.requests)
    if (!r.ended) std::abort();
  p.handler.requests.clear();
  p.net.run([&] { return p.client_app.closed && p.net.client->endpoint->connections() == 0; }, 60 * test::second);
  p.client_app.streams.clear();
  p.client_app.from_peer.clear();
  p.client_app.closed = false;
  return 0;
}

// test/pipeline/srmp_sim.hpp - SRMP over QUIC between two endpoints in virtual time: the server is srmp_streams, the
// client a script of bytes on streams.
#pragma once

#include "pipeline/scripted_pair.hpp"
#include "pipeline/srmp_streams.hpp"
#include "rpc/builtin.hpp"
#include "rpc/service.hpp"

namespace millrace::test {

inline bytes srmp_frame(std::uint8_t flags, std::uint8_t seq, base::byte_view payload) {
  bytes out(srmp::wire::frame_size_for(static_cast<std::uint32_t>(payload.size())));
  EXPECT_EQ(srmp::wire::emit_frame(out, flags, seq, payload), out.size());
  return out;
}
// Payload bytes that tell their place.
inline bytes srmp_payload(std::size_t size, unsigned of = 0) {
  bytes out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(i * 7 + (i >> 8) * 13 + of);
  return out;
}

struct srmp_options {
  sim_options sim;
  pipeline::srmp_stream_settings settings;
  std::size_t blocks = 4096;  // of 2 KB, for replies
};

template <class Handler>
class srmp_pair : public scripted_pair {
 public:
  std::unique_ptr<pipeline::srmp_streams<Handler>> server_app;

  srmp_pair(Handler& handler, const srmp_options& o = {}) : scripted_pair("srmp", o.sim, o.blocks) {
    auto made = pipeline::srmp_streams<Handler>::make(handler, o.settings, blocks);
    EXPECT_TRUE(made) << made.error().what;
    server_app = std::move(made.value());
    auto served = server_app->serve_on(*net.server->endpoint);
    EXPECT_TRUE(served) << served.error().what;
    connect();
  }
  ~srmp_pair() { end(); }
  // Everything was said, acknowledged, and given back.
  bool rests() {
    return net.run([&] { return server_app->open_sessions() == 0 && blocks.in_use() == 0; }, 5 * second);
  }
  const pipeline::srmp_stream_counters& count() const { return server_app->streams(); }
  const srmp::server_counters& served() const { return server_app->counters(); }
};

}  // namespace millrace::test

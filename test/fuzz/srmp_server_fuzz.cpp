// Any bytes as a datagram to an echo server and to a client with requests in flight: replies are whole frames, fit
// their datagrams, are as many as the requests, and no more bytes than came.
//
// Input    byte 0: bits 0-1 the peer's generation, bits 2-7 the size of datagrams sent (16 bytes each); the rest: the
//          datagram.
#include <array>
#include <cstdlib>

#include "srmp/datagram_client.hpp"
#include "srmp/datagram_server.hpp"

namespace {

using namespace millrace;

void require(bool holds) {
  if (!holds) std::abort();
}

struct checking_sink {
  std::array<std::uint8_t, 64 * 16> room{};
  std::size_t size = 0;
  std::size_t frames = 0;
  std::size_t bytes = 0;

  base::byte_span open() noexcept { return {room.data(), size}; }
  void close(std::size_t used) noexcept {
    require(used <= size);
    if (used == 0) return;
    const auto seen = srmp::wire::classify_datagram(base::byte_view(room).first(used));
    require(seen.kind == srmp::wire::datagram_kind::exact);
    frames += seen.frames;
    bytes += used;
  }
};

struct counting_listener {
  std::size_t calls = 0;
  bool on_reply(const srmp::pending_request& asked, const srmp::wire::frame& f) noexcept {
    require(asked.seq == f.header.seq);
    return ++calls % 2 == 0;
  }
  void on_push(const srmp::wire::frame&) noexcept { ++calls; }
  void on_goodbye() noexcept { ++calls; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  srmp::compatibility peer;
  if ((data[0] & 1) != 0) peer = srmp::compatibility::first_generation();
  peer.empty_datagram_closes = (data[0] & 2) != 0;
  checking_sink sink;
  sink.size = std::size_t{data[0]} >> 2 << 4;
  const base::byte_view in(data + 1, size - 1);

  srmp::server_counters count;
  std::array<std::uint8_t, 64 * 16> spill;
  {
    srmp::frame_batch out(sink, peer.one_frame_a_datagram ? 0 : sink.size, spill);
    srmp::echo_handler echo;
    const srmp::datagram_end end = serve_datagram(in, echo, out, peer, count);
    require((end == srmp::datagram_end::truncated) == (count.truncated.get() == 1));
    require((end == srmp::datagram_end::malformed) == (count.malformed.get() == 1));
  }
  require(sink.frames == count.replies.get());
  require(count.requests.get() ==
          count.replies.get() + count.reply_too_large.get() + count.reply_no_buffer.get() + count.unanswered.get());
  require(sink.bytes <= in.size());

  const base::endpoint from{};
  srmp::datagram_client client(from, peer);
  sink.size = 64;
  {
    srmp::frame_batch out(sink, 64, spill);
    for (std::uint64_t i = 0; i < 300; ++i)
      require(static_cast<bool>(client.request(out, {.cookie = i, .deadline = i}, 0,
                                               [](base::byte_span) { return std::size_t{0}; })) == (i < 256));
  }
  counting_listener listener;
  client.on_datagram(from, in, listener);
  require(client.in_flight() <= 256);
  client.expire(UINT64_MAX, [](const srmp::pending_request&) {});
  require(client.in_flight() == 0);
  return 0;
}

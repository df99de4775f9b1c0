// Any bytes as a datagram of calls to a service with its own methods and some that stream, fail and answer too much:
// replies are whole frames with payloads that read, and every request is answered, counted, or both.
//
// Input    byte 0: bits 0-4 how many datagrams may be sent, bit 5 whether the caller is logged in, bit 6 the peer's
//          generation; the rest: the datagram.
#include <array>
#include <cstdlib>
#include <string>

#include "rpc/builtin.hpp"
#include "rpc/client.hpp"
#include "rpc/service.hpp"

namespace {

using namespace millrace;

void require(bool holds) {
  if (!holds) std::abort();
}

struct checking_sink {
  std::array<std::uint8_t, 512> room{};
  unsigned left = 0;
  std::size_t frames = 0;

  base::byte_span open() noexcept {
    if (left == 0) return {};
    --left;
    return room;
  }
  void close(std::size_t used) noexcept {
    require(used <= room.size());
    srmp::wire::datagram_frames in(base::byte_view(room).first(used));
    for (srmp::wire::frame f; in.next(f) == base::progress::done; ++frames) {
      require(srmp::wire::is_reply(f.header));
      const rpc::reply got = rpc::reply_of(f);
      require(got.outcome != rpc::reply_outcome::malformed && got.name.size() <= rpc::wire::max_name_size);
      require((got.outcome == rpc::reply_outcome::error) == (f.header.kind() == srmp::wire::frame_kind::error_reply));
    }
    require(in.at_end());
  }
};

void stream(void*, rpc::call& c) noexcept {
  while (c.item(c.arguments())) {
  }
}
void fail(void*, rpc::call& c) noexcept {
  c.fail(static_cast<std::int32_t>(c.arguments().size()), base::as_text(c.arguments()));
}
void copy(void*, rpc::call& c) noexcept { c.copy(c.arguments()); }
void json(void*, rpc::call& c) noexcept {
  struct counting final : json::handler {
    int values = 0;
    bool on_string(std::string_view) noexcept override { return ++values != 0; }
  } events;
  const auto got = c.read(events);
  c.json([&](json::writer& out) {
    out.begin_object();
    out.member("ok", static_cast<bool>(got));
    out.member("text", base::as_text(c.arguments()));
    out.member("values", events.values);
    out.end_object();
  });
}

struct server {
  std::unique_ptr<rpc::method_table> table = rpc::method_table::make();
  rpc::server_facts about;
  std::unique_ptr<rpc::service> rpc;
  bool logged_in = false;

  server() {
    require(rpc::add_builtins(*table, about) == rpc::add_errc::ok);
    table->add("s", stream, nullptr);
    table->add("f", fail, nullptr, {.max_result = 0});
    table->add("c", copy, nullptr, {.max_result = 16});
    table->add("j", json, nullptr);
    table->add("l", copy, nullptr, {.result_within_arguments = true, .needs_login = true});
    table->add("Any/*", copy, nullptr);
    rpc = rpc::service::make(*table, {.max_json_bytes = 1024, .max_json_depth = 8, .max_items = 20});
    rpc->set_authorize([](void* self, const rpc::call&) noexcept { return static_cast<server*>(self)->logged_in; },
                       this);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static server s;
  s.logged_in = (data[0] & 32) != 0;
  const auto peer = (data[0] & 64) != 0 ? srmp::compatibility::first_generation() : srmp::compatibility{};
  checking_sink sink;
  sink.left = data[0] & 31;
  srmp::server_counters count;
  std::array<std::uint8_t, 512> spill;
  const std::uint64_t items_before = s.rpc->counters().items.get();
  const std::uint64_t cut_before = s.rpc->counters().streams_cut.get();
  {
    srmp::frame_batch out(sink, peer.one_frame_a_datagram ? 0 : spill.size(), spill);
    s.rpc->begin({});
    serve_datagram(base::byte_view(data + 1, size - 1), *s.rpc, out, peer, count);
  }
  const std::uint64_t items = s.rpc->counters().items.get() - items_before;
  const std::uint64_t replies = count.replies.get() + count.error_replies.get();
  require(sink.frames == replies);
  const std::uint64_t cut = s.rpc->counters().streams_cut.get() - cut_before;
  const std::uint64_t lost = count.unanswered.get() + count.reply_no_buffer.get() + count.reply_too_large.get() + cut;
  require(count.requests.get() <= replies - items + lost);
  return 0;
}

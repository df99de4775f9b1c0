#include "rpc/service.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "mem/heap_counter.hpp"
#include "rpc/builtin.hpp"
#include "rpc/client.hpp"
#include "rpc/vectors.hpp"
#include "srmp/datagram_sink.hpp"
#include "support/hostile.hpp"

namespace millrace::rpc {
namespace {

namespace vectors = test_vectors;
using srmp::test_support::kept_datagrams;
using vectors::from_hex;
using datagrams = std::vector<std::vector<std::uint8_t>>;

const base::endpoint remote{base::ip_address::parse("198.18.0.9").value(), 40'000};
const base::endpoint local{base::ip_address::parse("198.18.0.1").value(), 5500};

class adder final : public json::handler {
  std::string_view key_;

 public:
  std::int64_t sum = 0;
  bool on_key(std::string_view name) noexcept override {
    key_ = name == "x" || name == "y" ? "counted" : "";
    return true;
  }
  bool on_integer(std::int64_t v) noexcept override {
    if (!key_.empty()) sum += v;
    return true;
  }
};

struct methods_of_the_sheet {
  int notified = 0;
  std::string last_name;

  void add(call& c) noexcept {
    adder events;
    if (!c.read(events)) return c.fail(400, "not JSON");
    c.text(std::to_string(events.sum));
  }
  void reset(call&) noexcept {}
  void div(call& c) noexcept { c.fail(500, "boom"); }
  void sec(call& c) noexcept { c.text("secret"); }
  void rc4(call& c) noexcept { c.copy(c.arguments()); }
  void notify(call& c) noexcept {
    notified += c.is_one_way();
    EXPECT_TRUE(!c.is_one_way() || c.room().empty());
    c.text("heard");
  }
  void stream(call& c) noexcept {
    if (c.item(base::as_bytes("0"))) (void)c.item(base::as_bytes("1"));
  }
  void endless(call& c) noexcept {
    while (c.item(base::as_bytes("more"))) {
    }
  }
  void cut(call& c) noexcept {
    (void)c.item(base::as_bytes("0"));
    c.fail(503, "gone");
  }
  void last_item(call& c) noexcept {
    (void)c.item(base::as_bytes("0"));
    c.text("1");
  }
  void huge(call& c) noexcept { c.text(std::string(5000, 'h')); }
  void endless_json(call& c) noexcept {
    c.json([](json::writer& out) {
      out.begin_array();
      for (int i = 0; i < 10'000; ++i) out.value(i);
      out.end_array();
    });
  }
  void broken_json(call& c) noexcept {
    c.json([](json::writer& out) { out.begin_object(); });
  }
  void success_as_error(call& c) noexcept { c.fail(200, "not really"); }
  void named(call& c) noexcept {
    last_name = c.name();
    c.text(c.name().substr(0, 20));
  }
};

struct server {
  methods_of_the_sheet own;
  std::unique_ptr<method_table> table = method_table::make();
  server_facts about{.name = "millrace", .version = "0.1.0"};
  std::unique_ptr<service> rpc;
  kept_datagrams sink{1472};
  std::array<std::uint8_t, 1472> spill;
  srmp::server_counters count;
  srmp::compatibility peer;
  bool logged_in = false;

  explicit server(const service_limits& limits = {}) {
    EXPECT_EQ(add_builtins(*table, about), add_errc::ok);
    using m = methods_of_the_sheet;
    EXPECT_EQ(table->add<&m::add>("My/Add", own, {.max_result = 20}), add_errc::ok);
    EXPECT_EQ(table->add<&m::reset>("My/Reset", own), add_errc::ok);
    EXPECT_EQ(table->add<&m::div>("My/Div", own, {.max_result = 0}), add_errc::ok);
    EXPECT_EQ(table->add<&m::sec>("My/Sec", own, {.needs_login = true}), add_errc::ok);
    EXPECT_EQ(table->add<&m::rc4>("My/RC4", own, {.result_within_arguments = true}), add_errc::ok);
    EXPECT_EQ(table->add<&m::notify>("Notify", own), add_errc::ok);
    EXPECT_EQ(table->add<&m::stream>("S/R", own), add_errc::ok);
    EXPECT_EQ(table->add<&m::endless>("S/Endless", own), add_errc::ok);
    EXPECT_EQ(table->add<&m::cut>("S/Cut", own), add_errc::ok);
    EXPECT_EQ(table->add<&m::last_item>("S/Last", own), add_errc::ok);
    EXPECT_EQ(table->add<&m::huge>("Huge", own), add_errc::ok);
    EXPECT_EQ(table->add<&m::endless_json>("HugeJson", own, {.max_result = 100}), add_errc::ok);
    EXPECT_EQ(table->add<&m::broken_json>("BrokenJson", own), add_errc::ok);
    EXPECT_EQ(table->add<&m::success_as_error>("Odd", own), add_errc::ok);
    EXPECT_EQ(table->add<&m::named>("Any/*", own), add_errc::ok);
    EXPECT_EQ(table->add<&m::rc4>("A/B", own), add_errc::ok);
    rpc = service::make(*table, limits);
    rpc->set_authorize([](void* self, const call&) noexcept { return static_cast<server*>(self)->logged_in; }, this);
  }

  datagrams serve(base::byte_view in) {
    sink.sent.clear();
    srmp::frame_batch batch(sink, 1472, spill);
    rpc->begin({.remote = remote, .local = local});
    srmp::serve_datagram(in, *rpc, batch, peer, count);
    batch.flush();
    return sink.sent;
  }
  datagrams serve(const char* hex) { return serve(from_hex(hex)); }

  // A call by name; the replies of all frames as "=data", "!code data" or "." for success without data.
  std::string ask(std::string_view name, std::string_view arguments = {}) {
    std::vector<std::uint8_t> in(1472);
    const std::size_t size = wire::emit(base::byte_span(in).subspan(4), name, base::as_bytes(arguments));
    EXPECT_NE(size, 0u);
    srmp::wire::emit_header(in.data(), 1, 9, static_cast<std::uint32_t>(size));
    in.resize(4 + size);
    std::string out;
    for (const auto& datagram : serve(in)) {
      srmp::wire::datagram_frames frames(datagram);
      for (srmp::wire::frame f; frames.next(f) == base::progress::done;) {
        EXPECT_EQ(f.header.seq, 9);
        const reply got = reply_of(f);
        EXPECT_NE(got.outcome, reply_outcome::malformed);
        EXPECT_EQ(got.name, name);
        if (got.outcome == reply_outcome::error)
          out += "!" + std::to_string(got.code) + " ";
        else
          out += got.has_data ? "=" : ".";
        out += base::as_text(got.data);
      }
    }
    return out;
  }
};

TEST(rpc_service, answers_the_calls_of_the_sheet) {
  server s;
  EXPECT_EQ(s.serve(vectors::r3), datagrams{from_hex(vectors::r4)});
  EXPECT_EQ(s.serve("01 01 09 00 08 4D 79 2F 52 65 73 65 74"), datagrams{from_hex(vectors::r5)});
  EXPECT_EQ(s.serve("01 01 08 00 07 4E 6F 2F 53 75 63 68"), datagrams{from_hex(vectors::r6)});
  EXPECT_EQ(s.serve("01 01 07 00 06 4D 79 2F 44 69 76"), datagrams{from_hex(vectors::r7)});
  EXPECT_EQ(s.serve("01 01 07 00 06 4D 79 2F 53 65 63"), datagrams{from_hex(vectors::r8)});
  std::vector<std::uint8_t> r10 = from_hex(vectors::r10);
  const datagrams echoed = s.serve(r10);
  r10[0] = 0x81;
  EXPECT_EQ(echoed, datagrams{r10});
  s.logged_in = true;
  EXPECT_EQ(s.ask("My/Sec"), "=secret");
  EXPECT_EQ(s.rpc->counters().unauthorized.get(), 1u);
  EXPECT_EQ(s.rpc->counters().unknown.get(), 1u);
  EXPECT_EQ(s.rpc->counters().failed.get(), 1u);
}

TEST(rpc_service, streams_as_the_reference_does) {  // R11
  server s;
  std::vector<std::uint8_t> expected;
  for (const char* frame : vectors::r11) {
    const auto bytes = from_hex(frame);
    expected.insert(expected.end(), bytes.begin(), bytes.end());
  }
  EXPECT_EQ(s.serve("01 01 04 00 03 53 2F 52"), datagrams{expected});
  EXPECT_EQ(s.rpc->counters().items.get(), 2u);
  EXPECT_EQ(s.ask("S/Cut"), "=0!503 gone");
  EXPECT_EQ(s.ask("S/Last"), "=0=1.");
}

TEST(rpc_service, ends_streams_that_are_too_long_or_find_no_buffer) {
  server s({.max_items = 3});
  EXPECT_EQ(s.ask("S/Endless"), "=more=more=more!500 the stream is too long");
  server t;
  t.sink.buffers = 2;
  t.ask("S/Endless");
  EXPECT_EQ(t.sink.sent.size(), 2u);
  EXPECT_EQ(t.rpc->counters().streams_cut.get(), 1u);
  EXPECT_EQ(t.count.reply_no_buffer.get(), 1u) << "the item that found none";
}

TEST(rpc_service, answers_no_push_and_no_one_way_call) {  // R9
  server s;
  EXPECT_EQ(s.serve(vectors::r9), datagrams{});
  EXPECT_EQ(s.own.notified, 1);
  EXPECT_EQ(s.serve("41 01 08 00 07 4E 6F 2F 53 75 63 68"), datagrams{});
  EXPECT_EQ(s.serve("41 01 07 00 06 4D 79 2F 53 65 63"), datagrams{});
  EXPECT_EQ(s.serve("41 01 04 00 03 53 2F 52"), datagrams{});
  EXPECT_EQ(s.rpc->counters().one_ways.get(), 2u);
  EXPECT_EQ(s.rpc->counters().unknown.get(), 1u);
  EXPECT_EQ(s.rpc->counters().unauthorized.get(), 1u);
}

TEST(rpc_service, gives_no_reply_to_what_it_cannot_read) {  // R12-R17
  server s;
  for (const char* bad : {vectors::r12, vectors::r13, vectors::r14, vectors::r15, vectors::r16, vectors::r17_stray})
    EXPECT_EQ(s.serve(bad), datagrams{}) << bad;
  EXPECT_EQ(s.rpc->counters().malformed.get(), 6u);
  EXPECT_EQ(s.serve(vectors::r17_not_ascii), datagrams{});
  EXPECT_EQ(s.rpc->counters().bad_names.get(), 1u);
  EXPECT_EQ(s.count.unanswered.get(), 7u);
  EXPECT_EQ(s.serve(vectors::r17_negative), datagrams{from_hex("81 03 08 00 03 41 2F 42 00 00 00 00")});
}

TEST(rpc_service, takes_text_that_looks_like_http_for_arguments) {  // R18
  server s;
  std::vector<std::uint8_t> expected = from_hex(vectors::r18);
  const datagrams got = s.serve(expected);
  expected[0] = 0x81;
  EXPECT_EQ(got, datagrams{expected});
}

TEST(rpc_service, ignores_what_follows_the_data) {  // R20
  server s;
  EXPECT_EQ(s.serve(vectors::r20), datagrams{from_hex("81 09 0A 00 03 41 2F 42 02 00 00 00 7B 7D")});
}

TEST(rpc_service, goes_on_after_a_bad_call_of_the_same_datagram) {
  server s;
  EXPECT_EQ(s.serve("01 01 00 00 01 02 07 00 06 4D 79 2F 44 69 76 01 03 05 00 04 45 63 68 6F"),
            datagrams{from_hex("C1 02 13 00 06 4D 79 2F 44 69 76 F4 01 00 00 04 00 00 00 62 6F 6F 6D "
                               "81 03 05 00 04 45 63 68 6F")});
}

TEST(rpc_service, tells_who_it_is) {  // R2
  server s;
  const datagrams got = s.serve(vectors::r2);
  ASSERT_EQ(got.size(), 1u);
  srmp::wire::datagram_frames frames(got[0]);
  srmp::wire::frame f;
  ASSERT_EQ(frames.next(f), base::progress::done);
  const reply answer = reply_of(f);
  EXPECT_EQ(answer.name, "api/info");
  EXPECT_EQ(
      base::as_text(answer.data),
      R"({"Name":"millrace","FileVersion":"0.1.0","Local":"198.18.0.1:5500","Remote":"198.18.0.9:40000","State":"abcd"})");
  EXPECT_EQ(
      s.ask("Api/Info", R"({"deep":{"state":"no"},"Token":7,"STATE":[1],"state":true,"State":"late"})").substr(96),
      R"("Token":7,"State":true})");
  EXPECT_EQ(s.ask("Api/Info", "just text").substr(96), R"("State":"just text"})");
  EXPECT_EQ(s.ask("Api/Info", "{\"state\":"), "!500 the arguments are not JSON");
}

TEST(rpc_service, lists_its_methods) {  // R1
  server s;
  const std::string all = s.ask("api/all");
  EXPECT_TRUE(all.starts_with(
      R"~(=["Object Api/Info(String state)","String[] Api/All()","Object Echo(Object value)","My/Add",)~"))
      << all;
  EXPECT_TRUE(all.ends_with(R"("A/B"])")) << all;
  EXPECT_EQ(s.serve(vectors::r1).size(), 1u);
}

TEST(rpc_service, echoes_json_and_bytes) {
  server s;
  EXPECT_EQ(s.ask("Echo", R"({"text":"hi"})"), R"(={"text":"hi"})");
  EXPECT_EQ(s.ask("ECHO"), ".");
  const std::string large(1472 - 4 - 1 - 4 - 4, 'e');  // fills a datagram to the last byte
  EXPECT_EQ(s.ask("Echo", large), "=" + large);
}

TEST(rpc_service, turns_results_that_cannot_be_into_errors) {
  server s;
  EXPECT_EQ(s.ask("Huge"), "!500 the result is too large");
  EXPECT_EQ(s.ask("HugeJson"), "!500 the result is too large");
  EXPECT_EQ(s.ask("BrokenJson"), "!500 the result cannot be written as JSON");
  EXPECT_EQ(s.ask("Odd"), "!500 not really");
  EXPECT_EQ(s.ask("My/Add", "{\"x\""), "!400 not JSON");
}

TEST(rpc_service, answers_long_names_with_what_older_peers_can_read) {
  server s;
  const auto call_of = [](const std::string& name) {
    std::vector<std::uint8_t> in(4 + 2 + name.size());
    srmp::wire::emit_header(in.data(), 1, 1, static_cast<std::uint32_t>(2 + name.size()));
    in[4] = static_cast<std::uint8_t>(0x80 | (name.size() & 0x7F));
    in[5] = static_cast<std::uint8_t>(name.size() >> 7);
    std::copy(name.begin(), name.end(), in.begin() + 6);
    return in;
  };
  for (const bool known : {true, false}) {
    const std::string name = std::string(known ? "Any/" : "No/") + std::string(600, 'n');
    const datagrams got = s.serve(call_of(name));
    ASSERT_EQ(got.size(), 1u);
    srmp::wire::datagram_frames frames(got[0]);
    srmp::wire::frame f;
    ASSERT_EQ(frames.next(f), base::progress::done);
    EXPECT_EQ(reply_of(f).name, name.substr(0, 127));
    EXPECT_EQ(reply_of(f).code, known ? 0 : 404);
  }
  EXPECT_EQ(s.own.last_name.size(), 604u) << "the method sees all of it";
}

TEST(rpc_service, runs_no_method_whose_reply_cannot_be_sent) {
  server s;
  s.sink.buffers = 0;
  EXPECT_EQ(s.ask("Any/x"), "");
  EXPECT_TRUE(s.own.last_name.empty());
  EXPECT_EQ(s.count.reply_no_buffer.get(), 1u);
}

TEST(rpc_service, batches_replies_of_many_calls) {
  server s;
  std::vector<std::uint8_t> in;
  for (int i = 0; i < 50; ++i) {
    const auto one = from_hex(vectors::r3);
    in.insert(in.end(), one.begin(), one.end());
  }
  const datagrams got = s.serve(in);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(srmp::wire::classify_datagram(got[0]).frames, 50u);
  EXPECT_EQ(s.rpc->counters().calls.get(), 50u);
}

TEST(rpc_service, pushes) {  // R9
  server s;
  srmp::wire::sequence_counter numbers;
  {
    srmp::frame_batch batch(s.sink, 1472, s.spill);
    EXPECT_TRUE(push(batch, numbers, "Notify", base::as_bytes(R"({"Id":1})")));
    EXPECT_FALSE(push(batch, numbers, "", {}));
    EXPECT_FALSE(push(batch, numbers, "Notify", std::vector<std::uint8_t>(1500)));
  }
  EXPECT_EQ(s.sink.sent, datagrams{from_hex(vectors::r9)});
}

struct fixed_sink {
  std::array<std::uint8_t, 1472> room;
  std::size_t sent = 0;
  base::byte_span open() noexcept { return room; }
  void close(std::size_t size) noexcept { sent += size; }
};

TEST(rpc_service, calls_no_heap) {
  if (!mem::heap_counter_present()) GTEST_SKIP() << "this build's sanitizer brings its own heap";
  server s;
  fixed_sink sink;
  std::vector<std::vector<std::uint8_t>> calls;
  for (const char* text :
       {vectors::r1, vectors::r2, vectors::r3, vectors::r9, vectors::r10, vectors::r12, vectors::r18,
        "01 01 08 00 07 4E 6F 2F 53 75 63 68", "01 01 04 00 03 53 2F 52", "01 01 07 00 06 4D 79 2F 44 69 76"})
    calls.push_back(from_hex(text));
  mem::heap_tally tally;
  {
    mem::heap_watch watch(tally);
    srmp::frame_batch batch(sink, 1472, s.spill);
    for (int round = 0; round < 100; ++round)
      for (const auto& one : calls) {
        s.rpc->begin({.remote = remote, .local = local});
        srmp::serve_datagram(one, *s.rpc, batch, s.peer, s.count);
      }
  }
  EXPECT_EQ(tally.calls.get(), 0u);
  EXPECT_GT(sink.sent, 10'000u);
}

TEST(rpc_service, survives_every_truncation_and_every_changed_byte) {
  server s;
  for (const char* text : {vectors::r2, vectors::r3, vectors::r10, vectors::r20}) {
    const auto check = [&](base::byte_view in) {
      for (const auto& datagram : s.serve(in))
        EXPECT_EQ(srmp::wire::classify_datagram(datagram).kind, srmp::wire::datagram_kind::exact);
    };
    test::for_every_truncation(from_hex(text), check);
    test::for_every_byte_change(from_hex(text), check, 7);
  }
}

}  // namespace
}  // namespace millrace::rpc

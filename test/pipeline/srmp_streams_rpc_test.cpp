// The vectors of the SRMP and remoting sheets over a QUIC stream: the same answers as over UDP.
#include <string>

#include "pipeline/srmp_sim.hpp"

namespace millrace::test {
namespace {

bytes hex(std::string_view text) {
  bytes out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    while (text[i] == ' ') ++i;
    out.push_back(static_cast<std::uint8_t>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

void add(void*, rpc::call& c) noexcept { c.text("3"); }
void reset(void*, rpc::call&) noexcept {}
void div(void*, rpc::call& c) noexcept { c.fail(500, "boom"); }
void two(void*, rpc::call& c) noexcept {
  if (!c.item(base::as_bytes(std::string_view("0"))) || !c.item(base::as_bytes(std::string_view("1")))) return;
}
void many(void*, rpc::call& c) noexcept {
  const bytes item(1024, 'x');
  for (unsigned i = 0; i < 1000; ++i)
    if (!c.item(item)) return;
}
struct notes {
  unsigned notified = 0;
  static void notify(void* self, rpc::call&) noexcept { ++static_cast<notes*>(self)->notified; }
};

struct rpc_server {
  std::unique_ptr<rpc::method_table> table = rpc::method_table::make();
  rpc::server_facts about;
  notes seen;
  std::unique_ptr<rpc::service> service;
  rpc_server() {
    EXPECT_EQ(rpc::add_builtins(*table, about), rpc::add_errc::ok);
    table->add("My/Add", add, nullptr);
    table->add("My/Reset", reset, nullptr);
    table->add("My/Div", div, nullptr);
    table->add("My/RC4", rpc::echo, nullptr);
    table->add("S/R", two, nullptr);
    table->add("S/Many", many, nullptr);
    table->add("A/B", rpc::echo, nullptr);
    table->add("Notify", notes::notify, &seen);
    service = rpc::service::make(*table);
  }
};

TEST(srmp_streams_rpc, answers_the_vectors_as_over_udp) {
  rpc_server server;
  srmp_pair<rpc::service> p(*server.service);
  struct {
    const char* name;
    const char* ask;
    const char* answer;
  } const vectors[] = {
      {"R3", "01 01 18 00 06 4D 79 2F 41 64 64 0D 00 00 00 7B 22 78 22 3A 31 2C 22 79 22 3A 32 7D",
       "81 01 0C 00 06 4D 79 2F 41 64 64 01 00 00 00 33"},
      {"R5", "01 01 09 00 08 4D 79 2F 52 65 73 65 74", "81 01 09 00 08 4D 79 2F 52 65 73 65 74"},
      {"R6", "01 01 08 00 07 4E 6F 2F 53 75 63 68",
       "C1 01 37 00 07 4E 6F 2F 53 75 63 68 94 01 00 00 27 00 00 00 E6 97 A0 E6 B3 95 E6 89 BE E5 88 B0 E5 90 8D E4 B8 "
       "BA "
       "5B 4E 6F 2F 53 75 63 68 5D E7 9A 84 E6 9C 8D E5 8A A1 EF BC 81"},
      {"R7", "01 01 07 00 06 4D 79 2F 44 69 76",
       "C1 01 13 00 06 4D 79 2F 44 69 76 F4 01 00 00 04 00 00 00 62 6F 6F 6D"},
      {"R10", "01 01 0F 00 06 4D 79 2F 52 43 34 04 00 00 00 00 01 02 03",
       "81 01 0F 00 06 4D 79 2F 52 43 34 04 00 00 00 00 01 02 03"},
      {"R11", "01 01 04 00 03 53 2F 52",
       "81 01 09 00 03 53 2F 52 01 00 00 00 30 81 01 09 00 03 53 2F 52 01 00 00 00 31 81 01 04 00 03 53 2F 52"},
      {"R17", "01 03 08 00 03 41 2F 42 FF FF FF FF", "81 03 04 00 03 41 2F 42"},
      {"R20", "01 09 0F 00 03 41 2F 42 02 00 00 00 7B 7D 01 00 00 00 5A", "81 09 0A 00 03 41 2F 42 02 00 00 00 7B 7D"},
      // A long form of a short length is read, and never written (S13).
      {"S13", "01 01 FF FF 09 00 00 00 08 4D 79 2F 52 65 73 65 74", "81 01 09 00 08 4D 79 2F 52 65 73 65 74"},
  };
  scripted& x = p.open();
  bytes expected;
  for (const auto& v : vectors) {
    expected = expected + hex(v.answer);
    EXPECT_TRUE(p.ask(x, hex(v.ask), expected.size())) << v.name;
    EXPECT_TRUE(x.got == expected) << v.name;
  }
}

TEST(srmp_streams_rpc, keeps_silent_where_it_must_and_the_connection_goes_on) {
  rpc_server server;
  srmp_pair<rpc::service> p(*server.service);
  scripted& x = p.open();
  bytes all;
  for (const char* ask :
       {"01 01 00 00", "01 05 01 00 00", "01 07 04 00 09 41 2F 42", "01 06 06 00 80 80 80 80 80 01",
        "01 02 0A 00 03 41 2F 42 09 00 00 00 78 79", "01 04 07 00 03 41 2F 42 01 00 00", "01 08 05 00 04 C3 A9 2F 42",
        "81 01 02 00 4F 4B", "41 01 13 00 06 4E 6F 74 69 66 79 08 00 00 00 7B 22 49 64 22 3A 31 7D"})
    all = all + hex(ask);
  const bytes last = hex("01 0A 04 00 03 41 2F 42");
  EXPECT_TRUE(p.ask(x, all + last, 8, true));
  EXPECT_EQ(x.got, hex("81 0A 04 00 03 41 2F 42"));
  EXPECT_EQ(p.served().unanswered.get(), 7u);
  EXPECT_EQ(p.served().stray_replies.get(), 1u);
  EXPECT_EQ(server.seen.notified, 1u);
  EXPECT_TRUE(p.rests());
}

// R18: HTTP inside a call stays a call; R1 and R2 are answered by the methods every server has.
TEST(srmp_streams_rpc, has_the_methods_every_server_has) {
  rpc_server server;
  srmp_pair<rpc::service> p(*server.service);
  scripted& x = p.open();
  p.say(x, hex("01 01 08 00 07 61 70 69 2F 61 6C 6C"));
  EXPECT_TRUE(p.net.run([&] { return x.got.size() > 12; }));
  EXPECT_NE(std::string(x.got.begin(), x.got.end()).find("My/RC4"), std::string::npos);
  scripted& y = p.open();
  p.say(
      y,
      hex("01 01 2B 00 08 61 70 69 2F 69 6E 66 6F 1E 00 00 00 7B 22 73 74 61 74 65 22 3A 22 61 62 63 64 22 2C 22 73 74 "
          "61 74 65 32 22 3A 31 32 33 34 7D"));
  EXPECT_TRUE(p.net.run([&] { return y.got.size() > 12; }));
  EXPECT_NE(std::string(y.got.begin(), y.got.end()).find("abcd"), std::string::npos);
}

TEST(srmp_streams_rpc, refuses_a_call_that_is_too_large_and_goes_on) {
  rpc_server server;
  srmp_pair<rpc::service> p(*server.service);
  scripted& x = p.open();
  bytes call(1 + 3 + 4 + 200'000);
  call[0] = 3;
  std::copy_n("A/B", 3, call.begin() + 1);
  base::store_le32(call.data() + 4, 200'000);
  const bytes next = hex("01 0A 04 00 03 41 2F 42");
  p.say(x, srmp_frame(0x01, 5, call) + next);
  EXPECT_TRUE(p.net.run([&] { return x.got.size() > 40; }));
  EXPECT_EQ(x.got[0], 0xC1);
  EXPECT_EQ(x.got[1], 5);
  EXPECT_TRUE(p.net.run([&] { return std::equal(next.begin() + 1, next.end(), x.got.end() - 7); }));
  EXPECT_EQ(p.count().large_dropped.get(), 1u);
}

TEST(srmp_streams_rpc, streams_items_to_their_end_with_loss) {
  rpc_server server;
  srmp_pair<rpc::service> p(*server.service);
  p.net.up.loss = p.net.down.loss = 0.02;
  scripted& x = p.open();
  const std::size_t item = 4 + 1 + 6 + 4 + 1024;
  EXPECT_TRUE(p.ask(x, hex("01 01 07 00 06 53 2F 4D 61 6E 79"), 1000 * item + 11, true));
  EXPECT_TRUE(p.net.run([&] { return x.over; }));
  EXPECT_TRUE(p.rests());
}

}  // namespace
}  // namespace millrace::test

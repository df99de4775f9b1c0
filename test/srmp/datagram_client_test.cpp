#include "srmp/datagram_client.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>

#include "srmp/datagram_server.hpp"
#include "srmp/datagram_sink.hpp"
#include "srmp/from_hex.hpp"

namespace millrace::srmp {
namespace {

using test_support::from_hex;
using test_support::kept_datagrams;

const base::endpoint peer{base::ip_address::parse("198.18.0.1").value(), 5500};

struct listener {
  std::vector<std::string> replies;
  std::vector<std::string> pushes;
  int goodbyes = 0;
  bool keep = false;  // answers that more will come

  bool on_reply(const pending_request& asked, const wire::frame& f) noexcept {
    replies.push_back(std::to_string(asked.cookie) + (f.header.kind() == wire::frame_kind::error_reply ? "!" : "=") +
                      std::string(base::as_text(f.payload)));
    return !keep;
  }
  void on_push(const wire::frame& f) noexcept { pushes.emplace_back(base::as_text(f.payload)); }
  void on_goodbye() noexcept { ++goodbyes; }
};

struct conversation {
  kept_datagrams sink{256};
  std::array<std::uint8_t, 256> spill;
  datagram_client client;
  listener heard;

  explicit conversation(const compatibility& rules = {}) : client(peer, rules) {}

  request_result ask(std::uint64_t cookie, std::string_view text, std::uint64_t deadline = UINT64_MAX,
                     std::uint8_t seq = 0) {
    frame_batch out(sink, 0, spill);
    return client.request(out, {.cookie = cookie, .deadline = deadline, .seq = seq}, text.size(),
                          [&](base::byte_span room) {
                            std::ranges::copy(base::as_bytes(text), room.begin());
                            return text.size();
                          });
  }
  void hear(const char* text) {
    const std::vector<std::uint8_t> in = from_hex(text);
    client.on_datagram(peer, in, heard);
  }
};

using texts = std::vector<std::string>;

TEST(srmp_client, numbers_requests_from_one_and_matches_replies_in_any_order) {
  conversation c;
  EXPECT_EQ(c.ask(100, "Open").seq, 1);
  EXPECT_EQ(c.ask(200, "b").seq, 2);
  EXPECT_EQ(c.sink.sent[0], from_hex("01 01 04 00 4F 70 65 6E"));
  c.hear("81 02 01 00 42 C1 01 01 00 78");
  EXPECT_EQ(c.heard.replies, (texts{"200=B", "100!x"}));
  EXPECT_EQ(c.client.in_flight(), 0u);
  EXPECT_EQ(c.client.counters().error_replies.get(), 1u);
}

TEST(srmp_client, matches_whatever_kind_a_reply_says_it_is) {
  conversation c;
  ASSERT_TRUE(c.ask(1, "Open"));
  c.hear("80 01 02 00 4F 4B");  // text answer of a v11 codec server
  EXPECT_EQ(c.heard.replies, texts{"1=OK"});
}

TEST(srmp_client, refuses_the_257th_request_and_uses_zero_as_a_number) {
  conversation c;
  std::vector<int> seen;
  for (int i = 1; i <= 256; ++i) seen.push_back(c.ask(static_cast<std::uint64_t>(i), "x").seq);
  EXPECT_EQ(seen[254], 255);
  EXPECT_EQ(seen[255], 0);
  const request_result more = c.ask(257, "x");
  EXPECT_EQ(more.code, request_errc::full);
  EXPECT_EQ(c.client.counters().refused_full.get(), 1u);
  EXPECT_EQ(c.sink.sent.size(), 256u);
  c.hear("81 07 01 00 79");
  EXPECT_EQ(c.ask(258, "x").seq, 7) << "the only number that is free";
  c.hear("81 07 01 00 7A 81 00 01 00 7A");
  EXPECT_EQ(c.heard.replies, (texts{"7=y", "258=z", "256=z"}));
}

TEST(srmp_client, leaves_out_numbers_that_still_wait) {
  conversation c;
  ASSERT_EQ(c.ask(1, "slow").seq, 1);
  for (int i = 0; i < 255; ++i) {
    const request_result sent = c.ask(2, "x");
    ASSERT_TRUE(sent);
    const std::uint8_t reply[] = {0x81, sent.seq, 0, 0};
    c.client.on_datagram(peer, reply, c.heard);
  }
  EXPECT_EQ(c.ask(3, "x").seq, 2) << "1 still waits";
}

TEST(srmp_client, answers_the_newest_of_a_number_first_when_callers_number) {
  conversation c(compatibility::first_generation());
  EXPECT_EQ(c.ask(1, "old", UINT64_MAX, 9).seq, 9);
  EXPECT_EQ(c.ask(2, "new", UINT64_MAX, 9).seq, 9);
  EXPECT_EQ(c.ask(3, "unnumbered").seq, 1);
  c.hear("81 09 00 00 81 09 00 00 81 09 00 00");
  EXPECT_EQ(c.heard.replies, (texts{"2=", "1="}));
  EXPECT_EQ(c.client.counters().unmatched.get(), 1u);
  conversation strict;
  EXPECT_EQ(strict.ask(1, "x", UINT64_MAX, 9).seq, 1) << "without the switch the client numbers";
}

TEST(srmp_client, counts_replies_nobody_waits_for) {
  conversation c;
  ASSERT_TRUE(c.ask(1, "x"));
  c.hear("81 02 00 00");
  c.hear("81 01 00 00 81 01 00 00");
  EXPECT_EQ(c.heard.replies, texts{"1="});
  EXPECT_EQ(c.client.counters().unmatched.get(), 2u);
}

TEST(srmp_client, takes_replies_from_the_address_it_asked_only) {
  conversation c;
  ASSERT_TRUE(c.ask(1, "x"));
  const std::vector<std::uint8_t> reply = from_hex("81 01 00 00");
  base::endpoint other = peer;
  other.port = 5501;
  c.client.on_datagram(other, reply, c.heard);
  EXPECT_TRUE(c.heard.replies.empty());
  EXPECT_EQ(c.client.counters().strangers.get(), 1u);
  EXPECT_EQ(c.client.in_flight(), 1u);
}

TEST(srmp_client, gives_up_at_the_deadline_and_not_before) {
  conversation c;
  ASSERT_TRUE(c.ask(1, "x", 100));
  ASSERT_TRUE(c.ask(2, "x", 50));
  ASSERT_TRUE(c.ask(3, "x"));
  std::vector<std::uint64_t> gone;
  const auto note = [&](const pending_request& one) { gone.push_back(one.cookie); };
  EXPECT_EQ(c.client.next_deadline(), 50u);
  c.client.expire(49, note);
  EXPECT_TRUE(gone.empty());
  c.client.expire(50, note);
  EXPECT_EQ(gone, std::vector<std::uint64_t>{2});
  c.client.expire(10, note);  // back
  EXPECT_EQ(c.client.next_deadline(), 100u);
  c.client.expire(UINT64_MAX, note);
  EXPECT_EQ(gone, (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(c.client.counters().timed_out.get(), 2u);
  EXPECT_EQ(c.client.in_flight(), 1u) << "one waits for ever";
  c.hear("81 02 00 00");
  EXPECT_EQ(c.client.counters().unmatched.get(), 1u) << "too late";
}

TEST(srmp_client, waits_for_nothing_that_was_not_sent) {
  conversation c;
  EXPECT_EQ(c.ask(1, std::string(300, 'x')).code, request_errc::too_large);
  c.sink.buffers = 0;
  EXPECT_EQ(c.ask(1, "x").code, request_errc::no_buffer);
  EXPECT_EQ(c.client.in_flight(), 0u);
  EXPECT_EQ(c.client.counters().not_sent.get(), 2u);
}

TEST(srmp_client, hears_pushes_goodbyes_and_nothing_else) {
  conversation c;
  c.hear("41 01 02 00 68 69 01 01 00 00");
  EXPECT_EQ(c.heard.pushes, texts{"hi"});
  EXPECT_EQ(c.client.counters().unexpected.get(), 1u);
  c.hear("");
  EXPECT_EQ(c.heard.goodbyes, 1);
  ASSERT_TRUE(c.ask(1, "x"));
  c.hear("81 01 01 00 41 81 02");
  c.hear("81 01 FF FF FF FF FF FF");
  EXPECT_EQ(c.heard.replies, texts{"1=A"});
  EXPECT_EQ(c.client.counters().truncated.get(), 1u);
  EXPECT_EQ(c.client.counters().malformed.get(), 1u);
}

TEST(srmp_client, keeps_a_request_that_is_answered_in_several_frames) {
  conversation c;
  c.heard.keep = true;
  ASSERT_TRUE(c.ask(5, "stream"));
  c.hear("81 01 01 00 30 81 01 01 00 31");
  EXPECT_EQ(c.client.in_flight(), 1u);
  c.heard.keep = false;
  c.hear("81 01 00 00");
  EXPECT_EQ(c.heard.replies, (texts{"5=0", "5=1", "5="}));
  EXPECT_EQ(c.client.in_flight(), 0u);
}

TEST(srmp_client, sends_one_way_messages_and_says_goodbye) {
  conversation c(compatibility::first_generation());
  frame_batch out(c.sink, 0, c.spill);
  const auto write = [](base::byte_span room) {
    room[0] = 'n';
    return std::size_t{1};
  };
  ASSERT_TRUE(c.client.one_way(out, 3, 1, write));
  EXPECT_EQ(c.sink.sent[0], from_hex("43 01 01 00 6E"));
  ASSERT_TRUE(c.ask(1, "x"));
  ASSERT_TRUE(c.ask(2, "x"));
  std::vector<std::uint64_t> gone;
  EXPECT_TRUE(c.client.close([&](const pending_request& one) { gone.push_back(one.cookie); }));
  EXPECT_EQ(gone, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(c.client.in_flight(), 0u);
}

TEST(srmp_client, and_server_agree_over_thousands_of_messages) {
  conversation c;
  echo_handler handler;
  server_counters count;
  kept_datagrams back(256);
  std::array<std::uint8_t, 256> spill;
  std::uint64_t sent = 0;
  for (int round = 0; round < 200; ++round) {
    c.sink.sent.clear();
    {
      frame_batch out(c.sink, 256, c.spill);
      for (std::size_t i = 0; i < 1 + static_cast<std::size_t>(round); ++i) {
        const std::string text = std::to_string(sent);
        const auto terms = request_terms{.cookie = sent++};
        ASSERT_TRUE(c.client.request(out, terms, text.size(), [&](base::byte_span room) {
          std::ranges::copy(base::as_bytes(text), room.begin());
          return text.size();
        }));
      }
    }
    back.sent.clear();
    {
      frame_batch out(back, 256, spill);
      for (const auto& datagram : c.sink.sent) serve_datagram(datagram, handler, out, {}, count);
    }
    std::reverse(back.sent.begin(), back.sent.end());
    for (const auto& datagram : back.sent) c.client.on_datagram(peer, datagram, c.heard);
    ASSERT_EQ(c.client.in_flight(), 0u);
  }
  ASSERT_EQ(c.heard.replies.size(), sent);
  std::vector<std::string> expected;
  for (std::uint64_t i = 0; i < sent; ++i) expected.push_back(std::to_string(i) + "=" + std::to_string(i));
  std::sort(expected.begin(), expected.end());
  std::sort(c.heard.replies.begin(), c.heard.replies.end());
  EXPECT_EQ(c.heard.replies, expected);
}

}  // namespace
}  // namespace millrace::srmp

// What was sent, acknowledged and lost, by cases and against a model that keeps everything.
#include <gtest/gtest.h>

#include "quic/recovery/ack_frames.hpp"
#include "quic/recovery/sent_model.hpp"
#include "support/seeded.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic;
using namespace millrace::quic::recovery;
using ranges = std::vector<wire::packet_range>;

struct witness {
  std::vector<std::uint64_t> acked_numbers;
  std::vector<std::uint64_t> lost_numbers;
  std::vector<std::uint64_t> spurious_numbers;
  std::vector<sent_token> tokens;
  void acked(const sent_report& r) {
    acked_numbers.push_back(r.number);
    tokens.insert(tokens.end(), r.tokens.begin(), r.tokens.end());
  }
  void lost(const sent_report& r) {
    lost_numbers.push_back(r.number);
    tokens.insert(tokens.end(), r.tokens.begin(), r.tokens.end());
  }
  void spurious(const sent_report& r) {
    spurious_numbers.push_back(r.number);
    EXPECT_TRUE(r.tokens.empty());
  }
};

struct sent_packets_of_one_space : testing::Test {
  sent_pool pool{64};
  sent_packets sent{pool};
  witness seen;

  void send(std::uint64_t number, std::uint64_t at_ns = 0, std::vector<sent_token> tokens = {}) {
    ASSERT_TRUE(sent.reserve(static_cast<unsigned>(tokens.size())));
    sent_packet p;
    p.sent_ns = at_ns;
    p.bytes = 1200;
    p.eliciting = true;
    sent.on_sent(number, p, tokens);
  }
  ack_fault ack(const ranges& r) {
    const test::made_ack frame(r);
    return sent.on_ack(frame.frame.largest, wire::ack_range_reader(frame.frame), seen);
  }
  void detect(std::uint64_t now_ns, std::uint64_t delay_ns = 1000) {
    sent.detect_lost({.now_ns = now_ns, .delay_ns = delay_ns, .remember_ns = 1'000'000}, seen);
  }
};

TEST_F(sent_packets_of_one_space, reports_each_acknowledged_packet_once_with_its_tokens) {
  send(0, 0, {{.kind = 1, .value = 10}, {.kind = 2, .value = 20}});
  send(1, 0, {{.kind = 3, .value = 30}});
  send(2);
  EXPECT_EQ(ack({{0, 1}}), ack_fault::none);
  EXPECT_EQ(seen.acked_numbers, (std::vector<std::uint64_t>{0, 1}));
  ASSERT_EQ(seen.tokens.size(), 3u);
  EXPECT_EQ(seen.tokens[1].value, 20u);
  EXPECT_EQ(seen.tokens[2].kind, 3u);
  EXPECT_EQ(ack({{0, 1}}), ack_fault::none);
  EXPECT_EQ(seen.acked_numbers.size(), 2u);
  EXPECT_EQ(sent.outstanding(), 1u);
  EXPECT_EQ(sent.largest_acked(), 1u);
}

TEST_F(sent_packets_of_one_space, holds_no_memory_when_nothing_is_outstanding) {
  for (std::uint64_t n = 0; n < 500; ++n) send(n);
  EXPECT_EQ(pool.lent(), (500u + packets_per_block - 1) / packets_per_block);
  EXPECT_EQ(ack({{0, 499}}), ack_fault::none);
  EXPECT_EQ(pool.lent(), 0u);
  send(500);
  EXPECT_EQ(pool.lent(), 1u);
}

TEST_F(sent_packets_of_one_space, one_packet_that_stays_pins_one_block) {
  for (std::uint64_t n = 0; n < 1000; ++n) send(n);
  EXPECT_EQ(ack({{0, 99}, {101, 998}}), ack_fault::none);
  EXPECT_EQ(sent.outstanding(), 2u);
  EXPECT_LE(pool.lent(), 2u);
  EXPECT_EQ(ack({{0, 999}}), ack_fault::none);
  EXPECT_EQ(pool.lent(), 0u);
}

TEST_F(sent_packets_of_one_space, refuses_the_acknowledgement_of_what_was_never_sent) {
  EXPECT_EQ(ack({{0, 0}}), ack_fault::never_sent);
  send(0);
  EXPECT_EQ(ack({{0, 1}}), ack_fault::never_sent);
  EXPECT_TRUE(seen.acked_numbers.empty());
  sent.on_sent_unkept(1);
  EXPECT_EQ(ack({{0, 1}}), ack_fault::none);
}

TEST_F(sent_packets_of_one_space, refuses_the_acknowledgement_of_a_number_left_out) {
  for (std::uint64_t n = 0; n < 10; ++n) send(n);
  sent.on_skipped(10);
  for (std::uint64_t n = 11; n < 20; ++n) send(n);
  EXPECT_EQ(ack({{11, 19}, {0, 9}}), ack_fault::none);  // honest
  EXPECT_EQ(sent.outstanding(), 0u);
  send(20);
  EXPECT_EQ(ack({{20, 20}, {10, 19}}), ack_fault::skipped);  // also when the packets around it are long gone
}

TEST_F(sent_packets_of_one_space, keeps_nothing_of_packets_that_elicit_no_ack) {
  for (std::uint64_t n = 0; n < 100'000; ++n) sent.on_sent_unkept(n);
  EXPECT_EQ(pool.lent(), 0u);
  EXPECT_EQ(ack({{99'999, 99'999}}), ack_fault::none);
  EXPECT_EQ(sent.kept(), 0u);
}

TEST_F(sent_packets_of_one_space, finds_numbers_among_gaps) {
  std::uint64_t number = 0;
  std::vector<std::uint64_t> kept;
  for (int i = 0; i < 300; ++i) {
    number += 1 + static_cast<std::uint64_t>(i % 4);  // between them, packets that are not kept
    send(number);
    kept.push_back(number);
  }
  for (std::size_t i = 0; i < kept.size(); i += 2) ASSERT_EQ(ack({{kept[i], kept[i]}}), ack_fault::none);
  EXPECT_EQ(seen.acked_numbers.size(), 150u);
  ASSERT_EQ(ack({{1, number}}), ack_fault::none);
  EXPECT_EQ(seen.acked_numbers.size(), 300u);
}

// RFC 9002 6.1.1
TEST_F(sent_packets_of_one_space, loses_by_packet_threshold) {
  for (std::uint64_t n = 0; n < 5; ++n) send(n, 100);
  ASSERT_EQ(ack({{3, 3}}), ack_fault::none);
  detect(200);
  EXPECT_EQ(seen.lost_numbers, (std::vector<std::uint64_t>{0}));  // 1 and 2 are fewer than three below
  ASSERT_EQ(ack({{3, 4}}), ack_fault::none);
  detect(200);
  EXPECT_EQ(seen.lost_numbers, (std::vector<std::uint64_t>{0, 1}));
}

// RFC 9002 6.1.2
TEST_F(sent_packets_of_one_space, loses_by_time_and_says_when_it_will_know) {
  send(0, 100);
  send(1, 150);
  send(2, 5000);
  ASSERT_EQ(ack({{2, 2}}), ack_fault::none);
  detect(1099);
  EXPECT_TRUE(seen.lost_numbers.empty());
  EXPECT_EQ(sent.loss_ns(), 1100u);
  detect(1100);
  EXPECT_EQ(seen.lost_numbers, (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(sent.loss_ns(), 1150u);
  detect(1150);
  EXPECT_EQ(sent.loss_ns(), never_ns);
}

TEST_F(sent_packets_of_one_space, never_loses_what_is_above_the_largest_acknowledged) {
  for (std::uint64_t n = 0; n < 100; ++n) send(n, 0);
  detect(1'000'000'000);
  EXPECT_EQ(sent.lost(), 0u);
  ASSERT_EQ(ack({{0, 0}}), ack_fault::none);
  detect(1'000'000'000);
  EXPECT_EQ(sent.lost(), 0u);
}

TEST_F(sent_packets_of_one_space, notes_a_loss_that_was_none) {
  for (std::uint64_t n = 0; n < 10; ++n) send(n, 0, {{.kind = 9, .value = n}});
  ASSERT_EQ(ack({{4, 4}}), ack_fault::none);
  detect(10);
  EXPECT_EQ(seen.lost_numbers, (std::vector<std::uint64_t>{0, 1}));
  seen.tokens.clear();
  ASSERT_EQ(ack({{0, 4}}), ack_fault::none);
  EXPECT_EQ(seen.spurious_numbers, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(sent.spurious(), 2u);
  EXPECT_EQ(sent.lost(), 2u);
  EXPECT_EQ(seen.tokens.size(), 2u);  // of 2 and 3; those of 0 and 1 were reported lost
}

TEST_F(sent_packets_of_one_space, forgets_lost_packets_after_a_while) {
  for (std::uint64_t n = 0; n < 100; ++n) send(n, 0);
  ASSERT_EQ(ack({{80, 80}}), ack_fault::none);
  detect(10);
  EXPECT_EQ(sent.lost(), 78u);  // 78 and 79 are too near
  EXPECT_EQ(pool.lent(), 4u);
  detect(11 + 1'000'000, 10'000'000);
  EXPECT_EQ(pool.lent(), 2u);
  ASSERT_EQ(ack({{0, 5}, {80, 80}}), ack_fault::none);
  EXPECT_EQ(sent.spurious(), 0u);
}

TEST_F(sent_packets_of_one_space, discards_and_loses_all) {
  for (std::uint64_t n = 0; n < 40; ++n) send(n, 0, {{.kind = 1, .value = n}});
  ASSERT_EQ(ack({{0, 9}}), ack_fault::none);
  EXPECT_EQ(sent.discard(), 30u * 1200u);
  EXPECT_EQ(sent.dropped(), 30u);
  EXPECT_EQ(pool.lent(), 0u);
  EXPECT_FALSE(sent.has_eliciting());
  send(40, 0, {{.kind = 7, .value = 40}});
  seen.tokens.clear();
  sent.lose_all(seen);
  ASSERT_EQ(seen.tokens.size(), 1u);
  EXPECT_EQ(seen.tokens[0].kind, 7u);
  EXPECT_EQ(sent.kept(), sent.acknowledged() + sent.lost() + sent.dropped() + sent.outstanding());
}

TEST_F(sent_packets_of_one_space, refuses_to_keep_more_than_its_blocks) {
  sent_packets few(pool, 2);
  std::uint64_t n = 0;
  while (few.reserve(1)) few.on_sent(n++, {.bytes = 1, .eliciting = true}, std::vector<sent_token>(1));
  EXPECT_EQ(n, 2 * packets_per_block);
  const test::made_ack first({{0, 27}});
  ASSERT_EQ(few.on_ack(27, wire::ack_range_reader(first.frame), seen), ack_fault::none);
  EXPECT_TRUE(few.reserve(1));
}

TEST_F(sent_packets_of_one_space, survives_a_pool_that_has_run_out) {
  sent_pool small(3);
  sent_packets a(small), b(small);
  std::uint64_t n = 0;
  while (a.reserve(max_tokens_per_packet)) a.on_sent(n++, {.bytes = 1, .eliciting = true}, {});
  EXPECT_FALSE(b.reserve(0));
  EXPECT_EQ(small.refused(), 2u);
  EXPECT_EQ(a.discard(), n);
  EXPECT_TRUE(b.reserve(0));
}

TEST_F(sent_packets_of_one_space, gives_all_blocks_back_when_it_dies) {
  {
    sent_packets gone(pool);
    for (std::uint64_t n = 0; n < 100; ++n) {
      ASSERT_TRUE(gone.reserve(0));
      gone.on_sent(n, {.bytes = 1, .eliciting = true}, {});
    }
    EXPECT_NE(pool.lent(), 0u);
  }
  EXPECT_EQ(pool.lent(), 0u);
}

TEST_F(sent_packets_of_one_space, a_block_whose_tokens_are_used_up_is_followed_by_another) {
  const std::vector<sent_token> many(max_tokens_per_packet);
  for (std::uint64_t n = 0; n < 10; ++n) send(n, 0, many);
  EXPECT_EQ(pool.lent(), 10u);
  ASSERT_EQ(ack({{0, 9}}), ack_fault::none);
  EXPECT_EQ(seen.tokens.size(), 320u);
}

TEST_F(sent_packets_of_one_space, acts_on_a_bounded_number_of_ranges) {
  ranges every_other;
  for (std::uint64_t n = 0; n < 1000; ++n) send(n);
  for (std::uint64_t n = 0; n < 1000; n += 2) every_other.push_back({n, n});
  EXPECT_EQ(ack(every_other), ack_fault::none);
  EXPECT_EQ(seen.acked_numbers.size(), wire::max_acted_ack_ranges);
  EXPECT_EQ(*std::ranges::min_element(seen.acked_numbers), 998 - 2 * (wire::max_acted_ack_ranges - 1));
}

TEST(sent_packets, agrees_with_a_model_over_random_histories) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    test::seeded random(seed);
    test::sent_model model(1 + random.below(40));
    for (int step = 0; step < 400 && model.ok(); ++step)
      model.step([&](std::uint64_t below) { return random.below(below); });
    model.finish();
    ASSERT_TRUE(model.ok()) << model.what();
  }
}

}  // namespace

#include "srmp/wire/exchange.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"

namespace millrace::srmp::wire {
namespace {

TEST(srmp_exchange, counts_from_one_and_passes_zero_on_its_way_round) {
  sequence_counter counter;
  for (unsigned i = 1; i <= 255; ++i) EXPECT_EQ(counter.next(), i);
  EXPECT_EQ(counter.next(), 0);
  EXPECT_EQ(counter.next(), 1);
}

TEST(srmp_exchange, numbers_only_what_the_caller_left_at_zero) {
  sequence_counter counter;
  EXPECT_EQ(counter.assign(0), 1);
  EXPECT_EQ(counter.assign(42), 42);
  EXPECT_EQ(counter.assign(0), 2);
}

TEST(srmp_exchange, gives_each_of_the_requests_that_may_be_in_flight_its_own_number) {
  sequence_counter counter;
  std::vector<bool> used(max_in_flight, false);
  for (std::size_t i = 0; i < max_in_flight; ++i) {
    const std::uint8_t seq = counter.next();
    EXPECT_FALSE(used[seq]);
    used[seq] = true;
  }
}

TEST(srmp_exchange, a_reply_keeps_the_data_kind_and_sets_its_bit) {
  const auto flags = [](std::uint8_t request, bool is_error) { return reply_to({request, 9, 4, 0}, is_error); };
  EXPECT_EQ(flags(0x01, false), 0x81);  // S2
  EXPECT_EQ(flags(0x01, true), 0xC1);   // S4
  EXPECT_EQ(flags(0x3F, false), 0xBF);  // S6
  EXPECT_EQ(flags(0x3F, true), 0xFF);
  EXPECT_EQ(flags(0x43, false), 0x83);  // of a one-way message: possible, and expects_reply() says it is not wanted
}

TEST(srmp_exchange, a_reply_is_not_answered) {
  EXPECT_FALSE(reply_to({0x81, 1, 4, 0}, false).has_value());
  EXPECT_FALSE(reply_to({0xC1, 1, 4, 0}, true).has_value());
}

TEST(srmp_exchange, only_a_request_expects_a_reply) {
  EXPECT_TRUE(expects_reply({0x01, 1, 4, 0}));
  EXPECT_FALSE(expects_reply({0x41, 1, 4, 0}));
  EXPECT_FALSE(expects_reply({0x81, 1, 4, 0}));
  EXPECT_FALSE(expects_reply({0xC1, 1, 4, 0}));
}

TEST(srmp_exchange, a_reply_answers_the_request_of_its_number) {
  EXPECT_TRUE(answers({0x80, 7, 4, 0}, 7)) << "a server may answer with its own data kind";
  EXPECT_TRUE(answers({0xC1, 7, 4, 0}, 7));
  EXPECT_FALSE(answers({0x81, 8, 4, 0}, 7));
  EXPECT_FALSE(answers({0x01, 7, 4, 0}, 7));
}

}  // namespace
}  // namespace millrace::srmp::wire

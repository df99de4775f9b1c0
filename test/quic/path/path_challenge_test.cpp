#include "quic/path/path_challenge.hpp"

#include <gtest/gtest.h>

#include "quic/path/path_responses.hpp"

namespace millrace::quic::path {
namespace {

using answer = path_challenge::answer;
using recovery::ms;
using recovery::never_ns;

wire::path_data data_of(std::uint8_t n) { return {n, 1, 2, 3, 4, 5, 6, 7}; }

TEST(path_challenge, rests_until_it_is_started) {
  path_challenge c;
  EXPECT_EQ(c.state(), validation_state::idle);
  EXPECT_FALSE(c.wants_challenge(UINT64_MAX));
  EXPECT_EQ(c.deadline_ns(), never_ns);
  EXPECT_FALSE(c.on_timeout(UINT64_MAX));
  c.on_sent(data_of(1), true, 0);  // nobody asked for it
  EXPECT_EQ(c.on_response(data_of(1), 0), answer::unknown);
}

TEST(path_challenge, is_sent_at_once_and_each_pto_and_given_up_after_three) {  // RFC 9000 8.2.1, 8.2.4
  path_challenge c;
  c.start(1000 * ms, 100 * ms);
  EXPECT_EQ(c.state(), validation_state::validating);
  for (std::uint8_t i = 0; i < 3; ++i) {
    const std::uint64_t now = (1000u + 100u * i) * ms;
    EXPECT_EQ(c.deadline_ns(), now);
    EXPECT_FALSE(c.wants_challenge(now - 1));
    EXPECT_TRUE(c.wants_challenge(now));
    c.on_sent(data_of(i), true, now);
    EXPECT_FALSE(c.wants_challenge(now));
    EXPECT_FALSE(c.on_timeout(now + 100 * ms - 1));
  }
  EXPECT_EQ(c.deadline_ns(), 1300 * ms);
  EXPECT_FALSE(c.on_timeout(1300 * ms - 1));
  EXPECT_TRUE(c.on_timeout(1300 * ms));
  EXPECT_FALSE(c.on_timeout(1300 * ms));
  EXPECT_EQ(c.state(), validation_state::failed);
  EXPECT_EQ(c.challenges(), 3u);
  EXPECT_EQ(c.deadline_ns(), never_ns);
  EXPECT_EQ(c.on_response(data_of(0), 1301 * ms), answer::unknown);  // too late
}

TEST(path_challenge, is_met_by_the_answer_to_any_of_the_last_three) {  // RFC 9000 8.2.3
  for (std::uint8_t which = 0; which < 3; ++which) {
    path_challenge c;
    c.start(0, ms);
    for (std::uint8_t i = 0; i < 3; ++i) c.on_sent(data_of(i), true, 0);
    EXPECT_EQ(c.on_response(data_of(9), 0), answer::unknown);
    EXPECT_EQ(c.on_response(data_of(which), 0), answer::validated);
    EXPECT_EQ(c.state(), validation_state::validated);
    EXPECT_EQ(c.deadline_ns(), never_ns);
    EXPECT_FALSE(c.on_timeout(UINT64_MAX));
    EXPECT_EQ(c.unknown_responses(), 1u);
  }
}

TEST(path_challenge, forgets_all_but_the_last_three) {
  path_challenge c;
  c.start(0, ms);
  for (std::uint8_t i = 0; i < 4; ++i) c.on_sent(data_of(i), true, 0);
  EXPECT_EQ(c.on_response(data_of(0), 0), answer::unknown);
  EXPECT_EQ(c.on_response(data_of(1), 0), answer::validated);
}

TEST(path_challenge, is_not_met_by_almost_the_same_bytes) {
  path_challenge c;
  c.start(0, ms);
  const wire::path_data sent = data_of(1);
  c.on_sent(sent, true, 0);
  for (std::size_t bit = 0; bit < 64; ++bit) {
    wire::path_data near = sent;
    near[bit / 8] = static_cast<std::uint8_t>(near[bit / 8] ^ 1u << (bit % 8));
    EXPECT_EQ(c.on_response(near, 0), answer::unknown);
  }
  EXPECT_EQ(c.unknown_responses(), 64u);
  EXPECT_EQ(c.state(), validation_state::validating);
}

TEST(path_challenge, counts_an_answer_that_comes_twice_as_unknown) {
  path_challenge c;
  c.start(0, ms);
  c.on_sent(data_of(1), true, 0);
  EXPECT_EQ(c.on_response(data_of(1), 0), answer::validated);
  EXPECT_EQ(c.on_response(data_of(1), 0), answer::unknown);
  EXPECT_EQ(c.state(), validation_state::validated);
}

TEST(path_challenge, asks_once_more_when_the_first_was_not_1200_bytes) {  // RFC 9000 8.2.1
  path_challenge c;
  c.start(0, 100 * ms);
  c.on_sent(data_of(1), false, 0);
  EXPECT_EQ(c.on_response(data_of(1), 50 * ms), answer::address_only);
  EXPECT_EQ(c.state(), validation_state::address_only);
  EXPECT_TRUE(c.wants_challenge(50 * ms));
  c.on_sent(data_of(2), true, 50 * ms);
  EXPECT_EQ(c.deadline_ns(), 150 * ms);
  EXPECT_EQ(c.on_response(data_of(2), 90 * ms), answer::validated);
}

TEST(path_challenge, fails_when_the_address_answers_and_1200_bytes_do_not_pass) {  // RFC 9000 8.2.1
  path_challenge c;
  c.start(0, 100 * ms);
  c.on_sent(data_of(1), false, 0);
  c.on_sent(data_of(2), false, 0);
  ASSERT_EQ(c.on_response(data_of(1), 50 * ms), answer::address_only);
  c.on_sent(data_of(3), true, 50 * ms);
  EXPECT_EQ(c.on_response(data_of(2), 60 * ms), answer::address_only);  // no news, and no more time
  EXPECT_FALSE(c.on_timeout(350 * ms - 1));
  EXPECT_TRUE(c.on_timeout(350 * ms));
  EXPECT_EQ(c.state(), validation_state::failed);
}

TEST(path_challenge, begins_anew_when_started_again) {
  path_challenge c;
  c.start(0, 100 * ms);
  c.on_sent(data_of(1), true, 0);
  c.start(50 * ms, 100 * ms);
  EXPECT_TRUE(c.wants_challenge(50 * ms));
  EXPECT_EQ(c.on_response(data_of(1), 60 * ms), answer::unknown);
  EXPECT_EQ(c.challenges(), 0u);
  c.stop();
  EXPECT_EQ(c.state(), validation_state::idle);
  EXPECT_EQ(c.deadline_ns(), never_ns);
}

TEST(path_challenge, has_a_deadline_that_does_not_wrap) {
  path_challenge c;
  c.start(UINT64_MAX - 5, UINT64_MAX / 2);
  c.on_sent(data_of(1), true, UINT64_MAX - 5);
  EXPECT_EQ(c.deadline_ns(), never_ns);
}

TEST(padded_probe_size, is_1200_bytes_where_that_is_allowed) {  // RFC 9000 8.2.1, 8.2.2
  EXPECT_EQ(padded_probe_size(UINT64_MAX), 1200u);
  EXPECT_EQ(padded_probe_size(1200), 1200u);
  EXPECT_EQ(padded_probe_size(1199), 0u);
  EXPECT_EQ(padded_probe_size(0), 0u);
}

TEST(path_responses, answer_each_challenge_once_newest_first) {  // RFC 9000 8.2.2
  path_responses r;
  EXPECT_TRUE(r.is_empty());
  EXPECT_EQ(r.take(), std::nullopt);
  for (std::uint8_t i = 0; i < 3; ++i) r.on_challenge({data_of(i)});
  for (std::uint8_t i = 3; i-- != 0;) {
    const auto frame = r.take();
    ASSERT_TRUE(frame.has_value());
    EXPECT_EQ(frame->data, data_of(i));
  }
  EXPECT_TRUE(r.is_empty());
  EXPECT_EQ(r.dropped(), 0u);
}

TEST(path_responses, keep_the_newest_four_of_a_flood) {  // CVE-2023-6193
  path_responses r;
  for (unsigned i = 0; i < 1000; ++i)
    r.on_challenge({{static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8)}});
  EXPECT_EQ(r.dropped(), 1000 - max_path_responses);
  for (unsigned i = 1000; i-- != 1000 - max_path_responses;) {
    const auto frame = r.take();
    ASSERT_TRUE(frame.has_value());
    EXPECT_EQ(frame->data[0], static_cast<std::uint8_t>(i));
  }
  EXPECT_TRUE(r.is_empty());
}

TEST(path_responses, answer_a_repeated_challenge_once) {
  path_responses r;
  r.on_challenge({data_of(1)});
  r.on_challenge({data_of(2)});
  r.on_challenge({data_of(1)});
  EXPECT_EQ(r.dropped(), 0u);
  EXPECT_EQ(r.take()->data, data_of(1));
  EXPECT_EQ(r.take()->data, data_of(2));
  EXPECT_TRUE(r.is_empty());
}

}  // namespace
}  // namespace millrace::quic::path

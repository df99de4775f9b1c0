// Delivery rate samples against times and bytes worked out by hand.
#include <gtest/gtest.h>

#include "quic/recovery/delivery.hpp"

namespace {

using namespace millrace::quic::recovery;

sent_packet sent(delivery& d, std::uint64_t at_ns, std::uint64_t in_flight, std::uint16_t bytes = 1000) {
  sent_packet p;
  p.sent_ns = at_ns;
  p.bytes = bytes;
  d.on_sent(p, in_flight);
  return p;
}

TEST(delivery, measures_what_arrived_between_a_packets_stamp_and_its_acknowledgement) {
  delivery d;
  const auto a = sent(d, 0, 0);
  const auto b = sent(d, 10, 1000);
  d.on_acked(a, 1000);
  rate_sample s = d.take_sample(0);
  EXPECT_EQ(s.delivered_bytes, 1000u);
  EXPECT_EQ(s.interval_ns, 1000u);
  const auto c = sent(d, 1000, 1000);
  d.on_acked(b, 1010);
  static_cast<void>(d.take_sample(0));
  d.on_acked(c, 2000);
  s = d.take_sample(0);
  EXPECT_EQ(s.prior_bytes, 1000u);
  EXPECT_EQ(s.delivered_bytes, 2000u);  // b and c, since the stamp of c
  EXPECT_EQ(s.interval_ns, 1000u);
  EXPECT_EQ(s.bytes_per_second(), 2'000'000'000u);
}

TEST(delivery, takes_the_time_of_sending_where_acknowledgements_came_at_once) {
  delivery d;
  std::vector<sent_packet> packets;
  for (std::uint64_t i = 0; i < 10; ++i) packets.push_back(sent(d, 1000 * i, 1000 * i));
  for (const auto& p : packets) d.on_acked(p, 9500);
  const rate_sample s = d.take_sample(0);
  EXPECT_EQ(s.delivered_bytes, 10'000u);
  EXPECT_EQ(s.interval_ns, 9500u);  // sending took 9000
}

TEST(delivery, has_no_sample_shorter_than_a_round_trip) {
  delivery d;
  const auto a = sent(d, 0, 0);
  d.on_acked(a, 50);
  EXPECT_FALSE(d.take_sample(100).is_valid());
  EXPECT_EQ(d.take_sample(0).bytes_per_second(), 0u);  // and none without a packet
}

TEST(delivery, marks_what_leaves_until_the_application_catches_up) {
  delivery d;
  const auto a = sent(d, 0, 0);
  EXPECT_FALSE(a.app_limited);
  d.on_app_limited(1000);
  const auto b = sent(d, 10, 1000);
  EXPECT_TRUE(b.app_limited);
  d.on_acked(a, 100);
  static_cast<void>(d.take_sample(0));
  EXPECT_TRUE(d.is_app_limited());  // what was in flight then is delivered, but nothing since
  d.on_acked(b, 110);
  EXPECT_TRUE(d.take_sample(0).app_limited);
  EXPECT_FALSE(d.is_app_limited());
  EXPECT_FALSE(sent(d, 120, 0).app_limited);
}

TEST(delivery, begins_anew_after_silence) {
  delivery d;
  d.on_acked(sent(d, 0, 0), 100);
  static_cast<void>(d.take_sample(0));
  d.on_acked(sent(d, 1'000'000, 0), 1'000'100);
  EXPECT_EQ(d.take_sample(0).interval_ns, 100u);
}

}  // namespace

// RFC 9002 7.6: which losses are persistent congestion.
#include <gtest/gtest.h>

#include "quic/recovery/persistence.hpp"

namespace {

using namespace millrace::quic::recovery;

struct losses {
  persistence run{100, 1000};
  std::uint64_t sequence = 0;
  void lose(std::uint64_t sent_ns, bool eliciting = true) {
    sent_packet p;
    p.sent_ns = sent_ns;
    p.eliciting = eliciting;
    run.on_lost({sequence, sequence, p, {}});
    ++sequence;
  }
  void get_through() { ++sequence; }
};

TEST(persistence, is_found_when_two_losses_span_the_duration) {
  losses l;
  l.lose(200);
  l.lose(700);
  l.lose(1199);
  EXPECT_FALSE(l.run.is_persistent());
  l.lose(1200);
  EXPECT_TRUE(l.run.is_persistent());
}

TEST(persistence, is_not_found_when_one_between_got_through) {
  losses l;
  l.lose(200);
  l.get_through();
  l.lose(1300);
  l.lose(2200);
  EXPECT_FALSE(l.run.is_persistent());
  l.lose(2300);
  EXPECT_TRUE(l.run.is_persistent());  // since 1300
}

TEST(persistence, does_not_count_packets_sent_before_the_first_sample) {
  losses l;
  l.lose(50);
  l.lose(100);
  l.lose(1099);
  EXPECT_FALSE(l.run.is_persistent());
}

TEST(persistence, begins_and_ends_with_packets_that_elicit_an_ack) {
  losses l;
  l.lose(200, false);
  l.lose(300);
  l.lose(1290);
  l.lose(1400, false);
  EXPECT_FALSE(l.run.is_persistent());
  l.lose(1300);
  EXPECT_TRUE(l.run.is_persistent());
}

}  // namespace

// RFC 9000 13.4.2 and A.4, transition by transition.
#include <gtest/gtest.h>

#include "quic/recovery/ecn.hpp"

namespace {

using namespace millrace::quic;
using namespace millrace::quic::recovery;

ecn tested(int packets = 10) {
  ecn e;
  for (int i = 0; i < packets; ++i) e.on_sent(packet_space::application, 1000, 1000);
  return e;
}
ecn::ack of(std::uint64_t marked, const wire::ecn_counts* counts) {
  return {.advances = true, .marked = marked, .marked_here = marked, .counts = counts};
}

TEST(ecn, marks_ten_packets_and_waits) {
  ecn e = tested(9);
  EXPECT_TRUE(e.should_mark());
  e.on_sent(packet_space::application, 1000, 1000);
  EXPECT_EQ(e.state(), ecn_state::unknown);
  EXPECT_FALSE(e.should_mark());
}

TEST(ecn, waits_after_three_probe_timeouts_too) {
  ecn e = tested(1);
  e.on_sent(packet_space::application, 1000 + 3000, 1000);
  EXPECT_EQ(e.state(), ecn_state::unknown);
}

TEST(ecn, is_capable_once_counts_agree) {
  ecn e = tested();
  const wire::ecn_counts counts{.ect0 = 4};
  EXPECT_FALSE(e.on_ack(of(4, &counts)));
  EXPECT_EQ(e.state(), ecn_state::capable);
  EXPECT_TRUE(e.should_mark());
}

TEST(ecn, reports_congestion_when_the_ce_count_grows) {
  ecn e = tested();
  const wire::ecn_counts first{.ect0 = 3, .ce = 1};
  EXPECT_TRUE(e.on_ack(of(4, &first)));
  EXPECT_FALSE(e.on_ack(of(0, &first)));
  const wire::ecn_counts second{.ect0 = 3, .ce = 2};
  EXPECT_TRUE(e.on_ack(of(1, &second)));
  EXPECT_EQ(e.state(), ecn_state::capable);
}

TEST(ecn, fails_where_an_ack_of_marked_packets_has_no_counts) {
  ecn e = tested();
  EXPECT_FALSE(e.on_ack(of(2, nullptr)));
  EXPECT_EQ(e.state(), ecn_state::failed);
  EXPECT_FALSE(e.should_mark());
}

TEST(ecn, fails_where_marks_were_removed_rewritten_or_made_up) {
  const wire::ecn_counts few{.ect0 = 1};
  const wire::ecn_counts many{.ect0 = 9, .ce = 2};
  const wire::ecn_counts other{.ect0 = 4, .ect1 = 1};
  for (const auto* counts : {&few, &many, &other}) {
    ecn e = tested();
    EXPECT_FALSE(e.on_ack(of(4, counts)));
    EXPECT_EQ(e.state(), ecn_state::failed);
  }
}

TEST(ecn, fails_where_counts_go_down) {
  ecn e = tested();
  const wire::ecn_counts high{.ect0 = 4}, low{.ect0 = 3};
  EXPECT_FALSE(e.on_ack(of(4, &high)));
  EXPECT_FALSE(e.on_ack(of(0, &low)));
  EXPECT_EQ(e.state(), ecn_state::failed);
}

TEST(ecn, ignores_counts_of_an_ack_that_came_late) {
  ecn e = tested();
  const wire::ecn_counts high{.ect0 = 4}, low{.ect0 = 1};
  EXPECT_FALSE(e.on_ack(of(4, &high)));
  ecn::ack late = of(1, &low);
  late.advances = false;
  EXPECT_FALSE(e.on_ack(late));
  EXPECT_EQ(e.state(), ecn_state::capable);
}

TEST(ecn, does_not_fail_by_an_ack_without_counts_that_came_late) {
  ecn e = tested();
  ecn::ack late = of(1, nullptr);
  late.advances = false;
  EXPECT_FALSE(e.on_ack(late));
  EXPECT_EQ(e.state(), ecn_state::unknown);
}

TEST(ecn, a_path_is_not_proven_by_packets_of_the_one_before) {
  ecn e = tested();
  e.restart();
  const wire::ecn_counts counts{.ect0 = 4};
  ecn::ack old = of(4, &counts);
  old.marked_here = 0;
  EXPECT_FALSE(e.on_ack(old));
  EXPECT_EQ(e.state(), ecn_state::testing);
}

TEST(ecn, fails_where_every_marked_packet_is_lost) {
  ecn e = tested();
  e.on_lost(9);
  EXPECT_EQ(e.state(), ecn_state::unknown);
  e.on_lost(1);
  EXPECT_EQ(e.state(), ecn_state::failed);
}

TEST(ecn, tests_another_path_anew_unless_off) {
  ecn e = tested();
  e.on_lost(10);
  e.restart();
  EXPECT_EQ(e.state(), ecn_state::testing);
  ecn off(false);
  off.restart();
  EXPECT_EQ(off.state(), ecn_state::off);
  EXPECT_FALSE(off.on_ack(of(0, nullptr)));
}

}  // namespace

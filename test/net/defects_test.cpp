#include "net/defects.hpp"

#include <gtest/gtest.h>

#include <set>

#include "net/wire/frames.hpp"

namespace millrace::net {
namespace {

using stats::drop_reason;
using wire::test::byte_list;
using wire::test::from_hex;
using wire::test::join;

drop_reason reason_of(const byte_list& frame) { return to_drop_reason(wire::test::read_ethernet(frame)); }

TEST(defects, have_a_reason_of_their_own_each) {
  std::set<drop_reason> seen;
  for (int i = 0; i <= static_cast<int>(wire::defect::tcp_bad_offset); ++i) {
    const auto why = static_cast<wire::defect>(i);
    EXPECT_NE(to_string(why), "unknown") << i;
    EXPECT_TRUE(seen.insert(to_drop_reason(why)).second) << to_string(why);
  }
  EXPECT_EQ(to_drop_reason(wire::defect::none), drop_reason::none);
  EXPECT_EQ(to_string(static_cast<wire::defect>(static_cast<int>(wire::defect::tcp_bad_offset) + 1)), "unknown");
}

TEST(defects, name_whole_frames_that_nobody_wants) {
  const byte_list link = from_hex("020000000002 020000000001");
  const byte_list ipv4 = from_hex("4500 001c 0000 0000 40 01 0000 0a000001 0a000002 0800 0000 0001 0001");
  EXPECT_EQ(reason_of(join({link, from_hex("0806 0001080006040001")})), drop_reason::arp);
  EXPECT_EQ(reason_of(join({link, from_hex("8863 1109 0000 0000")})), drop_reason::l2_unknown_ethertype);
  EXPECT_EQ(reason_of(join({link, from_hex("88cc 0207")})), drop_reason::l2_unknown_ethertype);
  EXPECT_EQ(reason_of(join({link, from_hex("0800"), ipv4})), drop_reason::icmp);
  byte_list later = ipv4;
  later[7] = 1;
  EXPECT_EQ(reason_of(join({link, from_hex("0800"), later})), drop_reason::ip_fragment);
  byte_list igmp = ipv4;
  igmp[9] = 2;
  EXPECT_EQ(reason_of(join({link, from_hex("0800"), igmp})), drop_reason::ip_unknown_protocol);
  EXPECT_EQ(reason_of(join({link, from_hex("86dd 60000000 0000 3b 40"), byte_list(32)})),
            drop_reason::ip_unknown_protocol);
  EXPECT_EQ(reason_of(join({link, from_hex("0800 4500")})), drop_reason::ip_truncated);
}

TEST(defects, leave_the_judgement_of_udp_and_tcp_to_their_stage) {
  const byte_list link = from_hex("020000000002 020000000001 0800");
  EXPECT_EQ(reason_of(join({link, from_hex("4500 001c 0000 0000 40 11 0000 0a000001 0a000002 0035 0036 0008 0000")})),
            drop_reason::none);
}

TEST(defects, see_arp_inside_a_tunnel_as_arp) {
  const byte_list outer = from_hex("020000000002 020000000001 0800 4500 003a 0000 0000 40 11 0000 0a000001 0a000002");
  const byte_list vxlan =
      from_hex("c000 12b5 0026 0000 0800 0000 0000 0100 ffffffffffff 020000000001 0806 0001080006040001");
  EXPECT_EQ(reason_of(join({outer, vxlan})), drop_reason::arp);
}

TEST(defects, tell_a_cut_capture_from_a_damaged_one) {
  EXPECT_EQ(to_drop_reason(wire::capture_fault::none), drop_reason::none);
  EXPECT_EQ(to_drop_reason(wire::capture_fault::truncated), drop_reason::capture_truncated_file);
  EXPECT_EQ(to_drop_reason(wire::capture_fault::unknown_interface), drop_reason::capture_malformed);
  for (int i = 1; i <= static_cast<int>(wire::capture_fault::too_many_interfaces); ++i)
    EXPECT_NE(to_drop_reason(static_cast<wire::capture_fault>(i)), drop_reason::none) << i;
}

}  // namespace
}  // namespace millrace::net

#include "quic/wire/ack_ranges.hpp"

#include <gtest/gtest.h>

#include <set>

#include "support/bytes.hpp"
#include "support/seeded.hpp"

namespace millrace::quic::wire {
namespace {

using enum arrival;

template <std::size_t Capacity>
std::string text(const ack_ranges<Capacity>& set) {
  std::string out;
  for (const packet_range& range : set.ranges()) {
    out += out.empty() ? "" : " ";
    out += std::to_string(range.smallest);
    if (range.largest != range.smallest) out.append("-").append(std::to_string(range.largest));
  }
  return out;
}

template <std::size_t Capacity = default_ack_ranges>
ack_ranges<Capacity> of(std::initializer_list<std::uint64_t> numbers) {
  ack_ranges<Capacity> set;
  for (const std::uint64_t number : numbers) EXPECT_EQ(set.add(number), fresh) << number;
  return set;
}

TEST(ack_ranges, is_one_range_while_packets_come_in_order) {
  ack_ranges<> set;
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.largest(), no_packet_number);
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(set.add(i), fresh);
  EXPECT_EQ(text(set), "0-999");
  EXPECT_EQ(set.largest(), 999u);
}

TEST(ack_ranges, joins_what_a_late_packet_closes) {
  EXPECT_EQ(text(of({5, 3, 1})), "5 3 1");
  EXPECT_EQ(text(of({5, 3, 4})), "3-5");
  EXPECT_EQ(text(of({5, 3, 1, 2})), "5 1-3");
  EXPECT_EQ(text(of({5, 3, 1, 2, 4})), "1-5");
  EXPECT_EQ(text(of({1, 9, 2})), "9 1-2");
  EXPECT_EQ(text(of({9, 1, 8})), "8-9 1");
  EXPECT_EQ(text(of({1, 0})), "0-1");
  EXPECT_EQ(text(of({0, 2, 1})), "0-2");
}

TEST(ack_ranges, tells_duplicates_wherever_they_lie) {  // RFC 9000 12.3
  ack_ranges<> set = of({1, 2, 3, 7, 11});
  for (const std::uint64_t number : {1u, 2u, 3u, 7u, 11u}) EXPECT_EQ(set.add(number), duplicate) << number;
  EXPECT_EQ(text(set), "11 7 1-3");
}

TEST(ack_ranges, drops_the_oldest_range_and_never_takes_a_packet_from_there_again) {  // RFC 9000 13.2.3
  ack_ranges<3> set = of<3>({2, 4, 6});
  EXPECT_EQ(set.add(8), fresh);
  EXPECT_EQ(text(set), "8 6 4");
  EXPECT_EQ(set.floor(), 3u);
  EXPECT_EQ(set.dropped_ranges(), 1u);
  for (const std::uint64_t number : {0u, 1u, 2u}) EXPECT_EQ(set.add(number), too_old) << number;
  EXPECT_EQ(set.add(3), fresh) << "between what is forgotten and what is known nothing has come";
  EXPECT_EQ(text(set), "8 6 3-4");
}

TEST(ack_ranges, counts_a_packet_below_a_full_set_as_lost) {
  ack_ranges<2> set = of<2>({10, 8});
  EXPECT_EQ(set.add(3, ecn_mark::ce), too_old);
  EXPECT_EQ(text(set), "10 8");
  EXPECT_EQ(set.add(3), too_old);
  EXPECT_EQ(set.ecn().ce, 0u);
}

TEST(ack_ranges, keeps_its_range_when_it_may_keep_only_one) {
  ack_ranges<1> set = of<1>({5, 6});
  EXPECT_EQ(set.add(9), fresh);
  EXPECT_EQ(text(set), "9");
  EXPECT_EQ(set.add(7), too_old) << "above what was forgotten, but there is no room to remember it";
  EXPECT_EQ(set.add(8), fresh);
  EXPECT_EQ(text(set), "8-9");
}

TEST(ack_ranges, forgets_what_the_peer_knows_to_be_acknowledged) {  // RFC 9000 13.2.4
  ack_ranges<> set = of({1, 2, 3, 7, 8, 11});
  set.forget_below(8);
  EXPECT_EQ(text(set), "11 8");
  EXPECT_EQ(set.add(7), too_old);
  set.forget_below(2);
  EXPECT_EQ(set.floor(), 8u) << "never backwards";
  set.forget_below(12);
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.add(11), too_old);
  EXPECT_EQ(set.add(12), fresh);
  EXPECT_EQ(text(set), "12");
}

TEST(ack_ranges, stays_within_the_numbers_there_are) {  // RFC 9000 12.3
  ack_ranges<> set;
  EXPECT_EQ(set.add(max_packet_number), fresh);
  EXPECT_EQ(set.add(max_packet_number + 1), too_old);
  EXPECT_EQ(set.add(no_packet_number), too_old);
  EXPECT_EQ(set.add(0), fresh);
  EXPECT_EQ(set.ranges().size(), 2u);
}

test::byte_list frame_of(const ack_to_send& ack) {
  test::byte_list room(encoded_size(ack));
  base::byte_writer out(room);
  EXPECT_TRUE(emit(out, ack));
  EXPECT_EQ(out.room(), 0u);
  return room;
}

TEST(ack_ranges, writes_the_published_frame) {
  ack_ranges<> set;
  for (std::uint64_t i = 88; i <= 91; ++i) EXPECT_EQ(set.add(i), fresh);
  for (std::uint64_t i = 95; i <= 100; ++i) EXPECT_EQ(set.add(i), fresh);
  EXPECT_EQ(test::to_hex(frame_of(set.to_send(10))), "0240640a01050203");
}

TEST(ack_ranges, tells_ecn_marks_once_it_has_seen_one_and_each_packet_once) {  // RFC 9000 13.4.1
  ack_ranges<> set;
  EXPECT_EQ(set.add(0), fresh);
  EXPECT_EQ(frame_of(set.to_send(0))[0], frame_ack);
  EXPECT_EQ(set.add(1, ecn_mark::ect0), fresh);
  EXPECT_EQ(set.add(2, ecn_mark::ect0), fresh);
  EXPECT_EQ(set.add(3, ecn_mark::ect1), fresh);
  EXPECT_EQ(set.add(4, ecn_mark::ce), fresh);
  EXPECT_EQ(set.add(4, ecn_mark::ce), duplicate);
  EXPECT_EQ(test::to_hex(frame_of(set.to_send(0))),
            "0304000004"
            "020101");
}

// Against a set that keeps everything.
TEST(ack_ranges, agrees_with_a_set_of_numbers_in_any_order) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    test::seeded random(seed);
    ack_ranges<8> set;
    std::set<std::uint64_t> model;
    std::uint64_t base = 0;
    for (int i = 0; i < 400; ++i) {
      if (random.below(4) != 0) base += 1 + random.below(3) / 2;
      const std::uint64_t number = base - std::min<std::uint64_t>(base, random.below(24));
      if (random.below(100) == 0) set.forget_below(number);
      const std::uint64_t floor = set.floor();
      const arrival got = set.add(number);
      ASSERT_EQ(got == duplicate, number >= floor && model.contains(number));
      if (got == fresh) model.insert(number);
      model.erase(model.begin(), model.lower_bound(set.floor()));
      ASSERT_LE(set.ranges().size(), 8u);
      // Every number above the floor that was taken, and no other, lies in a range; ranges are apart.
      std::set<std::uint64_t> kept;
      for (std::size_t r = 0; r < set.ranges().size(); ++r) {
        const packet_range range = set.ranges()[r];
        if (r != 0) {
          ASSERT_LT(range.largest + 1, set.ranges()[r - 1].smallest);
        }
        for (std::uint64_t n = range.smallest; n <= range.largest; ++n) kept.insert(n);
      }
      ASSERT_EQ(kept, model);
      ASSERT_TRUE(got != fresh || set.contains(number));
      ASSERT_FALSE(set.contains(set.largest() + 1));
    }
  }
}

TEST(ack_ranges, writes_as_many_of_the_newest_ranges_as_fit) {  // RFC 9000 13.2.3
  std::vector<packet_range> ranges;
  for (std::uint64_t i = 200; i != 0; --i) ranges.push_back({300 * i, 300 * i + i});
  const ecn_counts ecn{1, 20000, 3};
  EXPECT_EQ(fitting_ranges({}, 100), 0u) << "nothing has come";
  for (const ecn_counts* counts : {static_cast<const ecn_counts*>(nullptr), &ecn}) {
    const ack_to_send all{.ranges = ranges, .delay = 70, .ecn = counts};
    for (std::size_t room = 0; room < encoded_size(all) + 3; ++room) {
      const std::size_t count = fitting_ranges(all, room);
      ack_to_send some = all;
      if (count != 0) {
        some.ranges = all.ranges.first(count);
        ASSERT_LE(encoded_size(some), room);
      }
      if (count < ranges.size()) {
        some.ranges = all.ranges.first(count + 1);
        ASSERT_GT(encoded_size(some), room);
      }
    }
  }
}

}  // namespace
}  // namespace millrace::quic::wire

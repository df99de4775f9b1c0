#include "quic/path/local_cids.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "quic/path/ids.hpp"
#include "support/seeded.hpp"

namespace millrace::quic::path {
namespace {

using test::cid_of;
using test::reset_token_of;
using wire::transport_error;

// IDs numbered as they are issued, until no more are wanted.
std::size_t fill(local_cids& ids) {
  std::size_t count = 0;
  for (; ids.wants_more(); ++count) {
    const std::uint64_t next = ids.serving().empty() ? 100 + count : ids.serving().back().sequence + 1;
    const std::optional<std::uint64_t> sequence = ids.issue(cid_of(next), reset_token_of(next));
    EXPECT_EQ(sequence, next);
  }
  return count;
}

local_cids made(std::uint64_t peer_limit) {
  local_cids ids(cid_of(0));
  ids.set_peer_limit(peer_limit);
  return ids;
}

std::vector<std::uint64_t> send_all(local_cids& ids) {
  std::vector<std::uint64_t> out;
  while (const auto frame = ids.to_send()) {
    out.push_back(frame->sequence);
    ids.on_sent(frame->sequence);
  }
  return out;
}

TEST(local_cids, issues_nothing_before_the_peers_limit_is_known) {
  local_cids ids(cid_of(0));
  EXPECT_FALSE(ids.wants_more());
  EXPECT_EQ(ids.issue(cid_of(1), reset_token_of(1)), std::nullopt);
  EXPECT_EQ(ids.serving().size(), 1u);
  EXPECT_EQ(ids.sequence_of(cid_of(0).view()), 0u);
}

TEST(local_cids, issues_up_to_the_smaller_limit_the_handshakes_included) {  // RFC 9000 5.1.1
  for (std::uint64_t limit = 2; limit < 12; ++limit) {
    local_cids ids = made(limit);
    EXPECT_EQ(fill(ids), std::min<std::uint64_t>(limit, 4) - 1) << limit;
    EXPECT_FALSE(ids.wants_more());
    EXPECT_EQ(ids.counters().issued, ids.active() - 1);
  }
  local_cids huge = made(UINT64_MAX);
  EXPECT_EQ(fill(huge), 3u);
}

TEST(local_cids, never_issues_more_than_half_its_places) {
  local_cids ids(cid_of(0), {.most_active = 100});
  ids.set_peer_limit(100);
  fill(ids);
  EXPECT_EQ(ids.active(), max_local_cids / 2);
}

TEST(local_cids, gives_the_preferred_address_number_1) {  // RFC 9000 5.1.1
  local_cids ids = made(4);
  EXPECT_TRUE(ids.add_preferred(cid_of(50), reset_token_of(50)));
  EXPECT_FALSE(ids.add_preferred(cid_of(51), reset_token_of(51)));
  EXPECT_EQ(ids.to_send(), std::nullopt);  // it travels in the transport parameters
  EXPECT_EQ(fill(ids), 2u);
  EXPECT_EQ(send_all(ids), (std::vector<std::uint64_t>{2, 3}));
  local_cids late = made(4);
  fill(late);
  EXPECT_FALSE(late.add_preferred(cid_of(50), reset_token_of(50)));
  local_cids none{connection_id{}};
  EXPECT_FALSE(none.add_preferred(cid_of(50), reset_token_of(50)));
}

TEST(local_cids, sends_each_id_once_and_again_when_lost) {  // RFC 9000 13.3
  local_cids ids = made(4);
  fill(ids);
  const auto first = ids.to_send();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->sequence, 1u);
  EXPECT_EQ(first->retire_prior_to, 0u);
  EXPECT_TRUE(cid_of(1).is(first->cid));
  EXPECT_TRUE(
      std::equal(first->stateless_reset_token.begin(), first->stateless_reset_token.end(), reset_token_of(1).begin()));
  EXPECT_EQ(send_all(ids), (std::vector<std::uint64_t>{1, 2, 3}));
  ids.on_lost(2);
  EXPECT_EQ(send_all(ids), (std::vector<std::uint64_t>{2}));
  ids.on_acked(1);
  ids.on_lost(1);  // a copy of it was acknowledged
  ids.on_lost(99);
  ids.on_acked(99);
  ids.on_lost(0);  // not by frame
  EXPECT_EQ(send_all(ids), (std::vector<std::uint64_t>{}));
  ids.on_lost(3);
  ids.on_acked(3);  // and then it had arrived after all
  EXPECT_EQ(ids.to_send(), std::nullopt);
}

TEST(local_cids, unmaps_what_is_retired_and_wants_another) {  // RFC 9000 5.1.2, 19.16
  local_cids ids = made(3);
  fill(ids);
  send_all(ids);
  const local_cids::retired r = ids.on_retire(1, cid_of(0).view());
  EXPECT_EQ(r.error, transport_error::no_error);
  EXPECT_TRUE(r.unmap);
  EXPECT_EQ(r.cid, cid_of(1));
  EXPECT_EQ(ids.sequence_of(cid_of(1).view()), std::nullopt);
  EXPECT_TRUE(ids.wants_more());
  EXPECT_EQ(ids.issue(cid_of(3), reset_token_of(3)), 3u);
  EXPECT_FALSE(ids.wants_more());
}

TEST(local_cids, takes_a_repeated_retirement_as_done) {
  local_cids ids = made(3);
  fill(ids);
  send_all(ids);
  ASSERT_TRUE(ids.on_retire(1, cid_of(0).view()).unmap);
  const local_cids::retired again = ids.on_retire(1, cid_of(0).view());
  EXPECT_EQ(again.error, transport_error::no_error);
  EXPECT_FALSE(again.unmap);
  EXPECT_EQ(ids.counters().retired, 1u);
  EXPECT_EQ(ids.counters().retired_again, 1u);
}

TEST(local_cids, refuses_to_retire_what_was_never_issued) {  // RFC 9000 19.16
  local_cids ids = made(3);
  fill(ids);
  send_all(ids);
  for (const std::uint64_t sequence : {std::uint64_t{3}, std::uint64_t{4}, base::varint_max, UINT64_MAX}) {
    const local_cids::retired r = ids.on_retire(sequence, cid_of(0).view());
    EXPECT_EQ(r.error, transport_error::protocol_violation);
    EXPECT_FALSE(r.unmap);
  }
  EXPECT_EQ(ids.counters().refused, 4u);
  EXPECT_EQ(ids.serving().size(), 3u);
}

TEST(local_cids, refuses_to_retire_what_was_not_sent_yet) {  // RFC 9000 19.16
  local_cids ids = made(3);
  fill(ids);
  ids.on_sent(1);
  EXPECT_EQ(ids.on_retire(2, cid_of(0).view()).error, transport_error::protocol_violation);
  ids.on_lost(1);  // it may have arrived all the same
  EXPECT_TRUE(ids.on_retire(1, cid_of(0).view()).unmap);
  local_cids preferred = made(3);
  ASSERT_TRUE(preferred.add_preferred(cid_of(50), reset_token_of(50)));
  EXPECT_TRUE(preferred.on_retire(1, cid_of(0).view()).unmap);  // sent with the transport parameters
}

TEST(local_cids, refuses_to_retire_the_id_of_the_packet_itself) {  // RFC 9000 19.16
  local_cids ids = made(3);
  fill(ids);
  send_all(ids);
  EXPECT_EQ(ids.on_retire(2, cid_of(2).view()).error, transport_error::protocol_violation);
  EXPECT_EQ(ids.on_retire(0, cid_of(0).view()).error, transport_error::protocol_violation);
  EXPECT_EQ(ids.on_retire(0, cid_of(2).view()).error, transport_error::no_error);
}

TEST(local_cids, of_no_bytes_are_neither_issued_nor_retired) {  // RFC 9000 19.15, 19.16
  local_cids ids{connection_id{}};
  ids.set_peer_limit(8);
  EXPECT_FALSE(ids.wants_more());
  EXPECT_EQ(ids.issue(cid_of(1), reset_token_of(1)), std::nullopt);
  EXPECT_FALSE(ids.rotate());
  EXPECT_EQ(ids.on_retire(0, cid_of(9).view()).error, transport_error::protocol_violation);
}

TEST(local_cids, refuses_to_issue_an_id_of_no_bytes) {
  local_cids ids = made(3);
  EXPECT_EQ(ids.issue({}, reset_token_of(1)), std::nullopt);
}

TEST(local_cids, are_all_replaced_by_a_rotation) {  // RFC 9000 5.1.2
  local_cids ids = made(4);
  fill(ids);
  EXPECT_EQ(send_all(ids), (std::vector<std::uint64_t>{1, 2, 3}));
  ASSERT_TRUE(ids.rotate());
  EXPECT_EQ(ids.retire_prior_to(), 4u);
  EXPECT_EQ(ids.active(), 0u);
  EXPECT_FALSE(ids.rotate());  // the peer has not answered this one
  EXPECT_EQ(fill(ids), 4u);
  EXPECT_EQ(ids.serving().size(), max_local_cids);  // the old ones serve on
  EXPECT_FALSE(ids.rotate());
  const auto frame = ids.to_send();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->sequence, 4u);
  EXPECT_EQ(frame->retire_prior_to, 4u);
  for (std::uint64_t old = 0; old < 4; ++old) {
    EXPECT_FALSE(ids.rotate());
    EXPECT_TRUE(ids.on_retire(old, cid_of(5).view()).unmap);
  }
  EXPECT_FALSE(ids.wants_more());
  EXPECT_TRUE(ids.rotate());
}

TEST(local_cids, say_no_more_than_their_own_number_when_an_old_frame_is_sent_again) {  // RFC 9000 19.15
  local_cids ids = made(4);
  fill(ids);
  send_all(ids);
  ASSERT_TRUE(ids.rotate());
  fill(ids);
  send_all(ids);
  ids.on_lost(2);
  const auto frame = ids.to_send();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->sequence, 2u);
  EXPECT_EQ(frame->retire_prior_to, 2u);
}

TEST(local_cids, do_not_grow_however_often_the_peer_retires) {
  local_cids ids = made(4);
  for (std::uint64_t round = 0; round < 10'000; ++round) {
    fill(ids);
    send_all(ids);
    ASSERT_LE(ids.serving().size(), 4u);
    const std::uint64_t oldest = ids.serving().front().sequence;
    ASSERT_TRUE(ids.on_retire(oldest, ids.serving().back().cid.view()).unmap);
  }
  EXPECT_EQ(ids.counters().retired, 10'000u);
}

TEST(local_cids, keep_every_promise_in_any_order_of_events) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::seeded random(seed);
    const std::uint64_t limit = 2 + random.below(6);
    local_cids ids = made(limit);
    std::set<std::uint64_t> mapped{0};
    std::set<std::uint64_t> told;  // frames that the peer has seen, or may have
    std::uint64_t next = 1;
    std::uint64_t largest_told = 0;
    for (int i = 0; i < 400; ++i) {
      switch (random.below(6)) {
        case 0:
          if (ids.wants_more()) {
            ASSERT_EQ(ids.issue(cid_of(next), reset_token_of(next)), next) << seed;
            mapped.insert(next++);
          }
          break;
        case 1:
          if (const auto frame = ids.to_send()) {
            ASSERT_LE(frame->retire_prior_to, frame->sequence);
            ASSERT_TRUE(mapped.contains(frame->sequence)) << seed;
            ids.on_sent(frame->sequence);
            told.insert(frame->sequence);
            largest_told = std::max(largest_told, frame->sequence);
          }
          break;
        case 2:
          if (!told.empty()) ids.on_lost(*told.begin());
          break;
        case 3:
          if (!told.empty()) ids.on_acked(*told.rbegin());
          break;
        case 4: {
          const std::uint64_t sequence = random.below(next + 2);
          const auto by = *mapped.rbegin();
          const local_cids::retired r = ids.on_retire(sequence, cid_of(by).view());
          ASSERT_EQ(r.error == transport_error::no_error, sequence <= largest_told && sequence != by) << seed;
          ASSERT_EQ(r.unmap, r.error == transport_error::no_error && mapped.contains(sequence)) << seed;
          if (r.unmap) mapped.erase(sequence);
          break;
        }
        default:
          static_cast<void>(ids.rotate());
      }
      ASSERT_EQ(ids.serving().size(), mapped.size()) << seed;
      ASSERT_LE(ids.active(), std::min<std::uint64_t>(limit, 4)) << seed;
      for (const std::uint64_t sequence : mapped) ASSERT_EQ(ids.sequence_of(cid_of(sequence).view()), sequence);
    }
  }
}

}  // namespace
}  // namespace millrace::quic::path

#include "quic/path/remote_cids.hpp"

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

// A NEW_CONNECTION_ID frame whose views live as long as it does.
struct given {
  connection_id cid;
  wire::stateless_reset_token_value token;
  std::uint64_t sequence;
  std::uint64_t retire_prior_to;
  explicit given(std::uint64_t number, std::uint64_t retire = 0)
      : cid(cid_of(number)), token(reset_token_of(number)), sequence(number), retire_prior_to(retire) {}
  [[nodiscard]] wire::new_connection_id_frame frame() const { return {sequence, retire_prior_to, cid.view(), token}; }
};

remote_cids::received give(remote_cids& ids, std::uint64_t number, std::uint64_t retire = 0) {
  const given g(number, retire);
  return ids.on_new_connection_id(g.frame());
}
transport_error error_of(remote_cids& ids, std::uint64_t number, std::uint64_t retire = 0) {
  return give(ids, number, retire).error;
}

remote_cids of_server(std::uint64_t limit = 4) { return remote_cids::for_server(cid_of(0), {.active_limit = limit}); }

std::vector<std::uint64_t> send_retirements(remote_cids& ids) {
  std::vector<std::uint64_t> out;
  while (const auto sequence = ids.retire_to_send()) {
    out.push_back(*sequence);
    ids.on_retire_sent(*sequence);
  }
  return out;
}

using numbers = std::vector<std::uint64_t>;

TEST(remote_cids, of_a_client_begin_random_and_settle_with_the_servers_first_packet) {  // RFC 9000 7.2
  remote_cids ids = remote_cids::for_client(cid_of(77, 18));
  EXPECT_EQ(ids.find(0)->cid, cid_of(77, 18));
  EXPECT_EQ(ids.original(), cid_of(77, 18));
  EXPECT_TRUE(ids.on_peer_scid(cid_of(5).view()));
  EXPECT_EQ(ids.find(0)->cid, cid_of(5));
  EXPECT_EQ(ids.original(), cid_of(77, 18));
  EXPECT_TRUE(ids.on_peer_scid(cid_of(5).view()));
  EXPECT_FALSE(ids.on_peer_scid(cid_of(6).view()));  // to be dropped
  EXPECT_FALSE(ids.on_peer_scid({}));
  EXPECT_EQ(ids.find(0)->cid, cid_of(5));
}

TEST(remote_cids, of_a_client_follow_one_retry) {  // RFC 9000 17.2.5.1, 17.2.5.2
  remote_cids ids = remote_cids::for_client(cid_of(77));
  EXPECT_FALSE(ids.on_retry(cid_of(77).view()));  // the ID we had chosen
  EXPECT_TRUE(ids.on_retry(cid_of(1).view()));
  EXPECT_EQ(ids.find(0)->cid, cid_of(1));
  EXPECT_FALSE(ids.on_retry(cid_of(2).view()));
  EXPECT_TRUE(ids.on_peer_scid(cid_of(3).view()));
  EXPECT_EQ(ids.find(0)->cid, cid_of(3));
  EXPECT_FALSE(ids.on_retry(cid_of(4).view()));
  EXPECT_EQ(ids.find(0)->cid, cid_of(3));
}

TEST(remote_cids, of_a_client_take_no_retry_behind_a_packet_of_the_server) {  // RFC 9000 17.2.5.2
  remote_cids ids = remote_cids::for_client(cid_of(77));
  EXPECT_TRUE(ids.on_peer_scid(cid_of(3).view()));
  EXPECT_FALSE(ids.on_retry(cid_of(1).view()));
}

TEST(remote_cids, of_a_client_are_not_issued_before_the_server_has_one) {
  remote_cids ids = remote_cids::for_client(cid_of(77));
  EXPECT_EQ(error_of(ids, 1), transport_error::protocol_violation);
}

TEST(remote_cids, refuse_ids_that_no_header_could_carry) {
  const std::vector<std::uint8_t> longer(21);
  remote_cids ids = remote_cids::for_client(cid_of(77));
  EXPECT_FALSE(ids.on_peer_scid(longer));
  EXPECT_FALSE(ids.on_retry(longer));
}

TEST(remote_cids, are_taken_lowest_first_and_each_by_one_path) {
  remote_cids ids = of_server();
  EXPECT_EQ(ids.take(), std::nullopt);  // number 0 is in use from the start
  EXPECT_EQ(ids.counters().none_unused, 1u);
  EXPECT_EQ(error_of(ids, 2), transport_error::no_error);
  EXPECT_EQ(error_of(ids, 1), transport_error::no_error);
  EXPECT_EQ(ids.unused(), 2u);
  EXPECT_EQ(ids.take(), 1u);
  EXPECT_EQ(ids.take(), 2u);
  EXPECT_EQ(ids.take(), std::nullopt);
  EXPECT_EQ(ids.find(1)->cid, cid_of(1));
  EXPECT_EQ(ids.find(2)->token, reset_token_of(2));
}

TEST(remote_cids, are_retired_with_their_last_use) {  // RFC 9000 5.1.2
  remote_cids ids = of_server();
  ASSERT_EQ(error_of(ids, 1), transport_error::no_error);
  EXPECT_FALSE(ids.share(1));  // nobody uses it yet: take() it
  ASSERT_EQ(ids.take(), 1u);
  EXPECT_TRUE(ids.share(1));
  ids.release(1);
  EXPECT_NE(ids.find(1), nullptr);
  EXPECT_EQ(ids.retire_to_send(), std::nullopt);
  ids.release(1);
  EXPECT_EQ(ids.find(1), nullptr);
  EXPECT_EQ(ids.retire_to_send(), 1u);
  EXPECT_FALSE(ids.share(1));
  ids.release(1);
  ids.release(99);
  EXPECT_EQ(ids.retirements(), 1u);
  EXPECT_EQ(ids.counters().retired, 1u);
}

TEST(remote_cids, send_retirements_until_they_are_acknowledged) {  // RFC 9000 13.3
  remote_cids ids = of_server();
  ASSERT_EQ(error_of(ids, 1), transport_error::no_error);
  ASSERT_EQ(error_of(ids, 2, 2), transport_error::no_error);
  EXPECT_EQ(ids.retirements(), 2u);
  numbers sent = send_retirements(ids);
  std::sort(sent.begin(), sent.end());
  EXPECT_EQ(sent, (numbers{0, 1}));
  ids.on_retire_lost(1);
  EXPECT_EQ(send_retirements(ids), (numbers{1}));
  ids.on_retire_acked(1);
  ids.on_retire_lost(1);
  ids.on_retire_acked(99);
  EXPECT_EQ(ids.retire_to_send(), std::nullopt);
  EXPECT_EQ(ids.retirements(), 1u);
  ids.on_retire_acked(0);
  EXPECT_EQ(ids.retirements(), 0u);
}

TEST(remote_cids, take_a_repeated_frame_as_said) {  // RFC 9000 19.15
  remote_cids ids = of_server(2);
  EXPECT_EQ(error_of(ids, 1), transport_error::no_error);
  EXPECT_EQ(error_of(ids, 1), transport_error::no_error);  // and not one too many
  EXPECT_EQ(ids.counters().repeated, 1u);
  EXPECT_EQ(ids.counters().received, 1u);
  ASSERT_EQ(ids.take(), 1u);
  EXPECT_EQ(error_of(ids, 1), transport_error::no_error);
  EXPECT_EQ(ids.find(1)->uses, 1);
  ids.release(1);
  EXPECT_EQ(error_of(ids, 1), transport_error::no_error);  // retired already: it does not come back
  EXPECT_EQ(ids.find(1), nullptr);
  EXPECT_EQ(ids.retirements(), 1u);
  ids.on_retire_acked(1);
  EXPECT_EQ(error_of(ids, 1), transport_error::no_error);  // nor when all is said
  EXPECT_EQ(ids.find(1), nullptr);
  EXPECT_EQ(ids.take(), std::nullopt);
}

TEST(remote_cids, refuse_one_number_for_two_ids) {  // RFC 9000 19.15
  remote_cids ids = of_server();
  ASSERT_EQ(error_of(ids, 1), transport_error::no_error);
  given other(2);
  other.sequence = 1;
  other.token = reset_token_of(1);
  EXPECT_EQ(ids.on_new_connection_id(other.frame()).error, transport_error::protocol_violation);
  EXPECT_EQ(ids.counters().refused, 1u);
}

TEST(remote_cids, refuse_one_id_under_two_numbers) {  // RFC 9000 19.15
  remote_cids ids = of_server();
  ASSERT_EQ(error_of(ids, 1), transport_error::no_error);
  given other(1);
  other.sequence = 2;
  other.token = reset_token_of(2);
  EXPECT_EQ(ids.on_new_connection_id(other.frame()).error, transport_error::protocol_violation);
  given handshake(0);
  handshake.sequence = 2;
  EXPECT_EQ(ids.on_new_connection_id(handshake.frame()).error, transport_error::protocol_violation);
}

TEST(remote_cids, refuse_another_token_for_an_id_and_one_token_for_two) {  // RFC 9000 19.15, 10.3
  remote_cids ids = of_server();
  ASSERT_EQ(error_of(ids, 1), transport_error::no_error);
  given other(1);
  other.token = reset_token_of(9);
  EXPECT_EQ(ids.on_new_connection_id(other.frame()).error, transport_error::protocol_violation);
  given second(2);
  second.token = reset_token_of(1);
  EXPECT_EQ(ids.on_new_connection_id(second.frame()).error, transport_error::protocol_violation);
}

TEST(remote_cids, refuse_malformed_frames) {  // RFC 9000 19.15
  const given good(3);
  const std::vector<std::uint8_t> longer(21);
  wire::new_connection_id_frame f = good.frame();
  f.retire_prior_to = 4;
  remote_cids ids = of_server();
  EXPECT_EQ(ids.on_new_connection_id(f).error, transport_error::frame_encoding_error);
  f = good.frame();
  f.cid = {};
  EXPECT_EQ(ids.on_new_connection_id(f).error, transport_error::frame_encoding_error);
  f.cid = longer;
  EXPECT_EQ(ids.on_new_connection_id(f).error, transport_error::frame_encoding_error);
  f = good.frame();
  f.stateless_reset_token = f.stateless_reset_token.first(15);
  EXPECT_EQ(ids.on_new_connection_id(f).error, transport_error::frame_encoding_error);
  EXPECT_EQ(ids.counters().refused, 4u);
  EXPECT_EQ(ids.unused(), 0u);
}

TEST(remote_cids, refuse_more_than_was_declared) {  // RFC 9000 5.1.1
  for (std::uint64_t limit = 2; limit <= max_remote_cids; ++limit) {
    remote_cids ids = of_server(limit);
    for (std::uint64_t i = 1; i < limit; ++i) ASSERT_EQ(error_of(ids, i), transport_error::no_error);
    EXPECT_EQ(error_of(ids, limit), transport_error::connection_id_limit_error) << limit;
  }
}

TEST(remote_cids, may_exceed_the_limit_in_a_frame_that_retires_the_excess) {  // RFC 9000 5.1.1
  remote_cids ids = of_server(2);
  ASSERT_EQ(error_of(ids, 1), transport_error::no_error);
  const remote_cids::received r = give(ids, 2, 1);
  EXPECT_EQ(r.error, transport_error::no_error);
  EXPECT_TRUE(r.replace);  // number 0 was in use
  EXPECT_EQ(ids.find(0), nullptr);
  EXPECT_EQ(ids.take(), 1u);
  EXPECT_EQ(send_retirements(ids), (numbers{0}));
}

TEST(remote_cids, say_when_an_id_in_use_was_taken_back_and_only_then) {
  remote_cids ids = of_server();
  ASSERT_EQ(error_of(ids, 1), transport_error::no_error);
  ASSERT_EQ(ids.take(), 1u);
  ids.release(0);
  ASSERT_EQ(error_of(ids, 2), transport_error::no_error);
  EXPECT_FALSE(give(ids, 3, 1).replace);
  EXPECT_TRUE(give(ids, 4, 3).replace);
  EXPECT_FALSE(give(ids, 4, 3).replace);
  EXPECT_EQ(ids.take(), 3u);
}

TEST(remote_cids, never_let_retire_prior_to_go_back) {  // RFC 9000 19.15
  remote_cids ids = of_server();
  ASSERT_EQ(error_of(ids, 5, 5), transport_error::no_error);
  ASSERT_EQ(error_of(ids, 6, 1), transport_error::no_error);
  EXPECT_NE(ids.find(5), nullptr);
  EXPECT_EQ(error_of(ids, 3), transport_error::no_error);  // late, and still below 5
  EXPECT_EQ(ids.find(3), nullptr);
}

TEST(remote_cids, retire_at_once_what_comes_behind_its_retirement) {  // RFC 9000 19.15
  remote_cids ids = of_server();
  ASSERT_EQ(error_of(ids, 4, 4), transport_error::no_error);
  EXPECT_EQ(send_retirements(ids), (numbers{0}));
  EXPECT_EQ(error_of(ids, 2), transport_error::no_error);
  EXPECT_EQ(ids.find(2), nullptr);
  EXPECT_EQ(send_retirements(ids), (numbers{2}));
  EXPECT_EQ(ids.counters().retired_on_come, 1u);
  EXPECT_EQ(error_of(ids, 2), transport_error::no_error);  // a repeated one is not answered again
  EXPECT_EQ(ids.retire_to_send(), std::nullopt);
}

TEST(remote_cids, come_in_any_order) {
  numbers order{1, 2, 3};
  do {
    remote_cids ids = of_server();
    for (const std::uint64_t n : order) EXPECT_EQ(error_of(ids, n), transport_error::no_error);
    EXPECT_EQ(ids.take(), 1u);
    EXPECT_EQ(ids.take(), 2u);
    EXPECT_EQ(ids.take(), 3u);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(remote_cids, of_a_peer_without_ids_stay_one_for_ever) {  // RFC 9000 19.15
  remote_cids ids = remote_cids::for_server({});
  EXPECT_TRUE(ids.is_zero_length());
  EXPECT_EQ(error_of(ids, 1), transport_error::protocol_violation);
  EXPECT_EQ(ids.take(), 0u);  // the second use
  EXPECT_EQ(ids.take(), 0u);
  ids.release(0);
  ids.release(0);
  ids.release(0);
  EXPECT_NE(ids.find(0), nullptr);
  EXPECT_EQ(ids.retire_to_send(), std::nullopt);
  remote_cids client = remote_cids::for_client(cid_of(77));
  EXPECT_FALSE(client.is_zero_length());
  EXPECT_TRUE(client.on_peer_scid({}));
  EXPECT_TRUE(client.is_zero_length());
  EXPECT_EQ(error_of(client, 1), transport_error::protocol_violation);
  EXPECT_EQ(client.on_preferred_address(cid_of(1).view(), reset_token_of(1)),
            transport_error::transport_parameter_error);
}

TEST(remote_cids, of_a_preferred_address_have_number_1) {  // RFC 9000 5.1.1, 18.2
  remote_cids ids = remote_cids::for_client(cid_of(77), {.active_limit = 2});
  ASSERT_TRUE(ids.on_peer_scid(cid_of(0).view()));
  EXPECT_EQ(ids.on_preferred_address({}, reset_token_of(1)), transport_error::transport_parameter_error);
  EXPECT_EQ(ids.on_preferred_address(cid_of(1).view(), {}), transport_error::transport_parameter_error);
  EXPECT_EQ(ids.on_preferred_address(cid_of(1).view(), reset_token_of(1)), transport_error::no_error);
  given other(5);
  other.sequence = 1;
  EXPECT_EQ(ids.on_new_connection_id(other.frame()).error, transport_error::protocol_violation);
  EXPECT_EQ(error_of(ids, 1), transport_error::no_error);                   // the same once more
  EXPECT_EQ(error_of(ids, 2), transport_error::connection_id_limit_error);  // it counts
  EXPECT_EQ(ids.take(), 1u);
}

TEST(remote_cids, lend_the_tokens_of_ids_in_use_only) {  // RFC 9000 10.3.1
  remote_cids ids = remote_cids::for_client(cid_of(77));
  ASSERT_TRUE(ids.on_peer_scid(cid_of(0).view()));
  EXPECT_EQ(ids.tokens_in_use().size(), 0u);  // a token that was not given is none
  ids.set_reset_token(base::byte_view(reset_token_of(0)).first(15));
  EXPECT_EQ(ids.tokens_in_use().size(), 0u);
  ids.set_reset_token(reset_token_of(0));
  ASSERT_EQ(ids.tokens_in_use().size(), 1u);
  EXPECT_EQ(ids.tokens_in_use()[0], reset_token_of(0));
  ASSERT_EQ(error_of(ids, 1), transport_error::no_error);
  EXPECT_EQ(ids.tokens_in_use().size(), 1u);
  ASSERT_EQ(ids.take(), 1u);
  EXPECT_EQ(ids.tokens_in_use().size(), 2u);
  ids.release(0);
  ASSERT_EQ(ids.tokens_in_use().size(), 1u);
  EXPECT_EQ(ids.tokens_in_use()[0], reset_token_of(1));
  ids.set_reset_token(reset_token_of(9));  // number 0 is gone
  EXPECT_EQ(ids.tokens_in_use().size(), 1u);
}

TEST(remote_cids, bound_what_is_retired_and_not_acknowledged) {  // RFC 9000 5.1.2, CVE-2024-22189
  remote_cids ids = of_server(2);
  std::uint64_t number = 1;
  transport_error error = transport_error::no_error;
  for (; number < 1000; ++number) {
    error = error_of(ids, number, number);
    if (error != transport_error::no_error) break;
    send_retirements(ids);
  }
  EXPECT_EQ(error, transport_error::connection_id_limit_error);
  EXPECT_EQ(number, 2 * retirements_per_cid + 1);
  EXPECT_FALSE(ids.is_within_limits());
  EXPECT_EQ(ids.retirements(), 2 * retirements_per_cid);
}

TEST(remote_cids, may_change_for_ever_when_retirements_are_acknowledged) {
  remote_cids ids = of_server(2);
  for (std::uint64_t number = 1; number < 10'000; ++number) {
    const remote_cids::received r = give(ids, number, number);
    ASSERT_EQ(r.error, transport_error::no_error);
    ASSERT_TRUE(r.replace);
    ASSERT_EQ(ids.take(), number);
    for (const std::uint64_t retired : send_retirements(ids)) ids.on_retire_acked(retired);
    ASSERT_EQ(ids.retirements(), 0u);
  }
}

TEST(remote_cids, do_not_count_to_numbers_far_away) {  // CVE-2025-7054
  remote_cids ids = of_server();
  EXPECT_EQ(error_of(ids, base::varint_max - 1, base::varint_max - 1), transport_error::no_error);
  EXPECT_EQ(error_of(ids, base::varint_max, base::varint_max), transport_error::no_error);
  EXPECT_EQ(ids.take(), base::varint_max);
  EXPECT_EQ(error_of(ids, 1), transport_error::no_error);
  EXPECT_EQ(ids.counters().retired_on_come, 1u);
}

TEST(remote_cids, decline_a_number_too_old_to_be_remembered) {
  remote_cids ids = of_server();
  ASSERT_EQ(error_of(ids, 100), transport_error::no_error);
  ASSERT_EQ(error_of(ids, 36), transport_error::no_error);  // 64 below: remembered
  EXPECT_NE(ids.find(36), nullptr);
  EXPECT_EQ(error_of(ids, 35), transport_error::no_error);
  EXPECT_EQ(ids.find(35), nullptr);
  EXPECT_EQ(send_retirements(ids), (numbers{35}));
}

TEST(remote_cids, remember_what_came_across_every_distance) {
  for (std::uint64_t jump = 1; jump < 130; ++jump) {
    remote_cids ids = of_server(8);
    ASSERT_EQ(error_of(ids, 5), transport_error::no_error);
    ASSERT_EQ(ids.take(), 5u);
    ids.release(5);
    send_retirements(ids);
    ids.on_retire_acked(5);
    ASSERT_EQ(error_of(ids, 5 + jump), transport_error::no_error);
    ASSERT_EQ(error_of(ids, 5), transport_error::no_error);
    ASSERT_EQ(ids.find(5), nullptr) << jump;
    ASSERT_EQ(send_retirements(ids), jump <= 64 ? numbers{} : numbers{5}) << jump;
  }
}

// Against a model that keeps every number: a conforming peer is never refused, and what is usable is what it has left.
TEST(remote_cids, agree_with_a_model_of_a_conforming_peer) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    test::seeded random(seed);
    const std::uint64_t limit = 2 + random.below(max_remote_cids - 1);
    remote_cids ids = of_server(limit);
    std::set<std::uint64_t> usable{0};  // came, not retired
    std::set<std::uint64_t> used{0};
    std::map<std::uint64_t, std::uint64_t> frames;  // issued, by number: retire prior to
    std::uint64_t next = 1;
    std::uint64_t retire = 0;
    std::set<std::uint64_t> arrived{0};
    for (int i = 0; i < 500; ++i) {
      switch (random.below(5)) {
        case 0: {  // the peer issues, within the limit as it sees it: all that is issued and not known retired
          std::uint64_t active = 0;
          for (std::uint64_t n = retire; n < next; ++n)
            if (!arrived.contains(n) || usable.contains(n)) ++active;
          if (active >= limit) {
            if (random.below(3) != 0 || ids.retirements() > limit) break;
            retire = next;
          }
          frames[next] = retire;
          ++next;
          break;
        }
        case 1: {  // a frame arrives, perhaps again
          if (frames.empty()) break;
          auto it = frames.begin();
          std::advance(it, static_cast<std::ptrdiff_t>(random.below(frames.size())));
          const std::uint64_t n = it->first;
          if (n + 60 < next) break;
          const remote_cids::received r = give(ids, n, it->second);
          ASSERT_EQ(r.error, transport_error::no_error) << seed << ' ' << n;
          bool replace = false;
          for (auto u = usable.begin(); u != usable.end();) {
            if (*u >= it->second) {
              ++u;
              continue;
            }
            replace |= used.erase(*u) != 0;
            u = usable.erase(u);
          }
          ASSERT_EQ(r.replace, replace) << seed;
          std::uint64_t highest = 0;
          for (const std::uint64_t a : arrived)
            if (frames.contains(a)) highest = std::max(highest, frames[a]);
          highest = std::max(highest, it->second);
          if (arrived.insert(n).second && n >= highest) usable.insert(n);
          break;
        }
        case 2:
          if (const auto n = ids.take()) {
            ASSERT_TRUE(usable.contains(*n) && !used.contains(*n)) << seed;
            used.insert(*n);
          } else {
            ASSERT_EQ(usable.size(), used.size()) << seed;
          }
          break;
        case 3:
          if (used.size() > 1) {
            const std::uint64_t n = *used.begin();
            ids.release(n);
            used.erase(n);
            usable.erase(n);
          }
          break;
        default:
          for (const std::uint64_t n : send_retirements(ids)) {
            ASSERT_FALSE(usable.contains(n));
            ids.on_retire_acked(n);
          }
      }
      for (const std::uint64_t n : usable) ASSERT_NE(ids.find(n), nullptr) << seed << ' ' << n;
      ASSERT_EQ(ids.unused(), usable.size() - used.size()) << seed;
      ASSERT_TRUE(ids.is_within_limits()) << seed;
    }
  }
}

}  // namespace
}  // namespace millrace::quic::path

#include "inspect/cid_index.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace millrace::inspect {
namespace {

struct index_under_test {
  limits l;
  std::vector<std::byte> memory;
  cid_index cids;
  explicit index_under_test(std::uint32_t flows = 16, std::uint32_t per_connection = 8) {
    l.max_flows = flows;
    l.cids_per_connection = per_connection;
    carver measure;
    (void)cid_index(measure, l, 0);
    memory.resize(measure.bytes());
    carver carve{std::span(memory)};
    cids = cid_index(carve, l, 1);
  }
  std::vector<std::uint32_t> holders(base::byte_view id) const {
    std::vector<std::uint32_t> out;
    cids.for_each(id, [&](const cid_index::entry& e) {
      out.push_back(e.connection);
      return false;
    });
    return out;
  }
};

std::vector<std::uint8_t> id(std::size_t size, std::uint8_t fill) { return std::vector<std::uint8_t>(size, fill); }

TEST(cid_index, finds_the_connection_that_holds_an_id) {
  index_under_test t;
  cid_list list;
  ASSERT_TRUE(t.cids.add(5, list, cid_owner::server, id(8, 1)));
  EXPECT_EQ(t.holders(id(8, 1)), (std::vector<std::uint32_t>{5}));
  EXPECT_TRUE(t.holders(id(8, 2)).empty());
  EXPECT_TRUE(t.holders(id(7, 1)).empty()) << "a prefix is another ID";
}

TEST(cid_index, refuses_empty_and_oversized_ids) {
  index_under_test t;
  cid_list list;
  EXPECT_FALSE(t.cids.add(0, list, cid_owner::client, {}));
  EXPECT_FALSE(t.cids.add(0, list, cid_owner::client, id(21, 1)));
  EXPECT_TRUE(t.cids.add(0, list, cid_owner::client, id(20, 1)));
  EXPECT_FALSE(t.cids.for_each({}, [](const auto&) { return true; }));
  EXPECT_FALSE(t.cids.for_each(id(255, 1), [](const auto&) { return true; }));
}

TEST(cid_index, enters_an_id_of_a_connection_once) {
  index_under_test t;
  cid_list list;
  EXPECT_TRUE(t.cids.add(1, list, cid_owner::server, id(4, 9)));
  EXPECT_TRUE(t.cids.add(1, list, cid_owner::server, id(4, 9)));
  EXPECT_EQ(list.count, 1u);
  EXPECT_EQ(t.cids.in_use(), 1u);
}

TEST(cid_index, holds_a_connection_to_its_share) {
  index_under_test t(16, 2);
  cid_list list;
  EXPECT_TRUE(t.cids.add(1, list, cid_owner::server, id(8, 1)));
  EXPECT_TRUE(t.cids.add(1, list, cid_owner::server, id(8, 2)));
  EXPECT_FALSE(t.cids.add(1, list, cid_owner::server, id(8, 3)));
  EXPECT_EQ(list.count, 2u);
}

TEST(cid_index, keeps_no_more_than_a_few_connections_with_one_id) {
  index_under_test t;
  std::vector<cid_list> lists(max_same_cid + 1);
  for (std::uint32_t n = 0; n < max_same_cid; ++n) EXPECT_TRUE(t.cids.add(n, lists[n], cid_owner::server, id(8, 1)));
  EXPECT_FALSE(t.cids.add(max_same_cid, lists[max_same_cid], cid_owner::server, id(8, 1)));
  EXPECT_EQ(t.holders(id(8, 1)).size(), max_same_cid);
}

TEST(cid_index, forgets_all_ids_of_a_connection_and_their_lengths) {
  index_under_test t;
  cid_list one;
  cid_list other;
  ASSERT_TRUE(t.cids.add(1, one, cid_owner::client, id(3, 1)));
  ASSERT_TRUE(t.cids.add(1, one, cid_owner::server, id(8, 1)));
  ASSERT_TRUE(t.cids.add(2, other, cid_owner::server, id(8, 2)));
  EXPECT_EQ(t.cids.lengths(), 1u << 3 | 1u << 8);
  t.cids.remove_all(one);
  EXPECT_EQ(one.count, 0u);
  EXPECT_EQ(t.cids.lengths(), 1u << 8);
  EXPECT_TRUE(t.holders(id(3, 1)).empty());
  EXPECT_EQ(t.holders(id(8, 2)), (std::vector<std::uint32_t>{2}));
  t.cids.remove_all(other);
  EXPECT_EQ(t.cids.lengths(), 0u);
  EXPECT_EQ(t.cids.in_use(), 0u);
}

TEST(cid_index, says_so_when_all_entries_are_taken_and_reuses_them) {
  index_under_test t(1);  // three entries
  cid_list list;
  for (std::uint8_t n = 0; n < 3; ++n) ASSERT_TRUE(t.cids.add(0, list, cid_owner::server, id(8, n)));
  cid_list late;
  EXPECT_FALSE(t.cids.add(1, late, cid_owner::server, id(8, 100)));
  t.cids.remove_all(list);
  EXPECT_TRUE(t.cids.add(1, late, cid_owner::server, id(8, 100)));
}

}  // namespace
}  // namespace millrace::inspect

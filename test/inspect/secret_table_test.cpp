#include "inspect/secret_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace millrace::inspect {
namespace {

using tls::wire::key_log_line;
using tls::wire::traffic_label;

key_log_line line(std::uint8_t handshake, traffic_label label, std::uint8_t value, std::uint8_t size = 32) {
  key_log_line out;
  out.label = label;
  out.random.fill(handshake);
  out.secret_size = size;
  std::fill_n(out.secret.begin(), size, value);
  return out;
}

struct bed {
  std::vector<std::byte> memory;
  secret_table table;

  explicit bed(std::uint32_t handshakes) {
    limits l;
    l.max_secrets = handshakes;
    carver measure;
    (void)secret_table(measure, l, 1);
    memory.resize(measure.bytes() + 64);
    auto* at = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
    carver carve({at, measure.bytes()});
    table = secret_table(carve, l, 1);
    EXPECT_FALSE(carve.is_short());
  }
  const handshake_secrets* find(std::uint8_t handshake) const {
    const std::vector<std::uint8_t> random(32, handshake);
    return table.find(random);
  }
};

TEST(secret_table, finds_secrets_by_random_and_label) {
  bed b(4);
  EXPECT_EQ(b.find(1), nullptr);
  EXPECT_EQ(b.table.add(line(1, traffic_label::client_handshake, 0xA1)), secret_table::added::ok);
  EXPECT_EQ(b.table.add(line(1, traffic_label::server_application, 0xA2, 48)), secret_table::added::ok);
  EXPECT_EQ(b.table.add(line(2, traffic_label::client_early, 0xB1)), secret_table::added::ok);
  ASSERT_NE(b.find(1), nullptr);
  EXPECT_EQ(b.find(1)->view(traffic_label::client_handshake).size(), 32u);
  EXPECT_EQ(b.find(1)->view(traffic_label::client_handshake)[31], 0xA1);
  EXPECT_EQ(b.find(1)->view(traffic_label::server_application).size(), 48u);
  EXPECT_TRUE(b.find(1)->view(traffic_label::client_early).empty());
  EXPECT_EQ(b.find(2)->view(traffic_label::client_early)[0], 0xB1);
  EXPECT_EQ(b.find(3), nullptr);
  EXPECT_EQ(b.table.in_use(), 2u);
}

TEST(secret_table, later_line_of_a_secret_stays) {
  bed b(4);
  EXPECT_EQ(b.table.add(line(1, traffic_label::client_handshake, 1, 48)), secret_table::added::ok);
  EXPECT_EQ(b.table.add(line(1, traffic_label::client_handshake, 2)), secret_table::added::repeated);
  const base::byte_view kept = b.find(1)->view(traffic_label::client_handshake);
  EXPECT_EQ(kept.size(), 32u);
  EXPECT_EQ(kept[0], 2);
}

TEST(secret_table, refuses_new_handshakes_when_full_and_completes_those_it_has) {
  bed b(3);
  for (std::uint8_t n = 0; n < 3; ++n)
    EXPECT_EQ(b.table.add(line(n, traffic_label::client_handshake, n)), secret_table::added::ok);
  EXPECT_EQ(b.table.add(line(9, traffic_label::client_handshake, 9)), secret_table::added::no_room);
  EXPECT_EQ(b.table.add(line(2, traffic_label::client_application, 9)), secret_table::added::ok);
  EXPECT_EQ(b.table.in_use(), 3u);
  EXPECT_EQ(b.find(9), nullptr);
}

TEST(secret_table, of_no_size_takes_and_finds_nothing) {
  bed b(0);
  EXPECT_EQ(b.table.add(line(1, traffic_label::client_handshake, 1)), secret_table::added::no_room);
  EXPECT_EQ(b.find(1), nullptr);
  EXPECT_EQ(b.table.generation(), 0u);
  secret_table none;
  EXPECT_EQ(none.add(line(1, traffic_label::client_handshake, 1)), secret_table::added::no_room);
}

TEST(secret_table, generation_changes_with_every_secret) {
  bed b(4);
  EXPECT_EQ(b.table.generation(), 0u);
  for (std::uint8_t n = 0; n < 4; ++n) {
    const std::uint32_t before = b.table.generation();
    (void)b.table.add(line(n, traffic_label::client_handshake, n));
    EXPECT_NE(b.table.generation(), before);
    EXPECT_NE(b.table.generation(), 0u);
  }
}

TEST(secret_table, wipe_clears_every_secret) {
  bed b(4);
  (void)b.table.add(line(1, traffic_label::client_handshake, 0xEE));
  const auto count = [&] { return std::count(b.memory.begin(), b.memory.end(), std::byte{0xEE}); };
  EXPECT_EQ(count(), 32);
  b.table.wipe();
  EXPECT_EQ(count(), 0);
  EXPECT_EQ(b.find(1), nullptr);
}

}  // namespace
}  // namespace millrace::inspect

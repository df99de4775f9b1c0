#include "crypto/engine.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "crypto/engines.hpp"

using namespace millrace;

TEST(engine, names_the_architecture_it_chose) {
  const std::optional<crypto::engine> engine = crypto::engine::make();
  ASSERT_TRUE(engine.has_value());
  const std::set<std::string_view> known = {"noaesni", "sse", "avx", "avx2", "avx512"};
  EXPECT_TRUE(known.contains(engine->architecture())) << engine->architecture();
}

TEST(engine, keeps_working_after_a_move) {
  std::optional<crypto::engine> made = crypto::engine::make();
  ASSERT_TRUE(made.has_value());
  crypto::engine moved = std::move(*made);
  crypto::sha256_digest out{};
  moved.hmac_sha256(base::as_bytes("Jefe"), base::as_bytes("what do ya want for nothing?"), out);
  EXPECT_EQ(test::to_hex(out), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(engine, several_live_side_by_side) {
  std::optional<crypto::engine> a = crypto::engine::make();
  std::optional<crypto::engine> b = crypto::engine::make({.sha_ni = false});
  ASSERT_TRUE(a.has_value() && b.has_value());
  crypto::sha256_digest from_a{};
  crypto::sha256_digest from_b{};
  a->hmac_sha256(base::as_bytes("key"), base::as_bytes("message"), from_a);
  b->hmac_sha256(base::as_bytes("key"), base::as_bytes("message"), from_b);
  EXPECT_EQ(from_a, from_b);
}

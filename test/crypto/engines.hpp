// test/crypto/engines.hpp - every test of this room runs on the engine the CPU gives and on the one without SHA
// instructions, so that both paths are held against libcrypto.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hex.hpp"
#include "crypto/engine.hpp"

namespace millrace::test {

inline void on_every_engine(const std::function<void(crypto::engine&)>& check) {
  for (const bool sha_ni : {true, false}) {
    SCOPED_TRACE(sha_ni ? "with SHA instructions, where there are any" : "without SHA instructions");
    std::optional<crypto::engine> engine = crypto::engine::make({.sha_ni = sha_ni});
    ASSERT_TRUE(engine.has_value());
    check(*engine);
  }
}

inline std::vector<std::uint8_t> from_hex(std::string_view text) {
  std::vector<std::uint8_t> out(text.size() / 2);
  std::size_t size = 0;
  EXPECT_TRUE(base::parse_hex(text, out, size)) << text;
  return out;
}

inline std::string to_hex(base::byte_view in) {
  std::string out(in.size() * 2, '0');
  EXPECT_EQ(base::write_hex(in, out), out.size());
  return out;
}

}  // namespace millrace::test

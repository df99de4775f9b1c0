// test/crypto/engines.hpp - every test of this room runs on the engine the CPU gives and on the one without SHA
// instructions, so that both paths are held against libcrypto.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "crypto/engine.hpp"
#include "support/bytes.hpp"

namespace millrace::test {

inline void on_every_engine(const std::function<void(crypto::engine&)>& check) {
  for (const bool sha_ni : {true, false}) {
    SCOPED_TRACE(sha_ni ? "with SHA instructions, where there are any" : "without SHA instructions");
    std::optional<crypto::engine> engine = crypto::engine::make({.sha_ni = sha_ni});
    ASSERT_TRUE(engine.has_value());
    check(*engine);
  }
}

}  // namespace millrace::test

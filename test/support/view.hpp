// test/support/view.hpp - questions about views that tests and fuzzers share (no gtest in here).
#pragma once

#include "base/bytes.hpp"

namespace millrace::test {

// True when `part` lies inside `whole` (an empty part lies anywhere).
[[nodiscard]] inline bool lies_in(base::byte_view part, base::byte_view whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace millrace::test

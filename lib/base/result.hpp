// base/result.hpp - a value, or why there is none; for set-up and control code, which may use the heap.
//
// Shape    failure says what was asked and went wrong, and what the operator can type; the data path answers
//          enums instead.
// Owner    result owns either. Errors  value() on a failure is our own bug and asserts.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/assert.hpp"

namespace millrace::base {

struct failure {
  std::string what;       // one line: what was asked, what exists
  std::string hint;       // one line: what to type; empty when there is nothing to type
  bool unusable = false;  // arguments or configuration (exit status 2), not the run (exit status 1)
};

template <class T>
class [[nodiscard]] result {
  std::variant<T, failure> either_;

 public:
  result(T value) : either_(std::in_place_index<0>, std::move(value)) {}
  result(failure why) : either_(std::in_place_index<1>, std::move(why)) {}
  [[nodiscard]] explicit operator bool() const noexcept { return either_.index() == 0; }
  [[nodiscard]] T& value() noexcept {
    MILLRACE_ASSERT(either_.index() == 0);
    return *std::get_if<0>(&either_);
  }
  [[nodiscard]] const T& value() const noexcept {
    MILLRACE_ASSERT(either_.index() == 0);
    return *std::get_if<0>(&either_);
  }
  [[nodiscard]] const failure& error() const noexcept {
    MILLRACE_ASSERT(either_.index() == 1);
    return *std::get_if<1>(&either_);
  }
};

// Success without a value.
struct done {};
using outcome = result<done>;

}  // namespace millrace::base

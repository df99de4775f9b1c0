// env/eal_report.hpp - what EAL wrote while it started, reduced to what an operator needs.
//
// Shape    pure functions on text. Lines that frighten and mean nothing (no 1 GiB pages, "Detected CPU lcores") go;
//          lines said twice stay once; a known cause gets the words to type.
// Tests    test/env/eal_report_test.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace millrace::env {

// Lines worth showing, in order, without "EAL: " in front of EAL's own.
[[nodiscard]] std::vector<std::string> meaningful_lines(std::string_view text);

// `error` is rte_errno's value.
[[nodiscard]] base::failure explain_eal_failure(std::string_view text, int error);

}  // namespace millrace::env

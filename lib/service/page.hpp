// service/page.hpp - the status page, as it is sent: made from page/index.html when the program is built.
//
// Tests  test/service/builtin_test.cpp
#pragma once

#include <string_view>

namespace millrace::service {

extern const std::string_view page_text;
// Content-Security-Policy: nothing but the page's own style and script, by their hashes, and /stats.
extern const std::string_view page_policy;

}  // namespace millrace::service

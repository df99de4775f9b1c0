// http/wire/content_type.hpp - the media type of a file by its name's ending.
//
// Errors   application/octet-stream for endings that are not known, as browsers then save and do not guess.
// Source   RFC 9110 8.3, RFC 9239 (text/javascript), the registry of media types. Tests
//          test/http/wire/content_type_test.cpp
#pragma once

#include <string_view>

namespace millrace::http::wire {

// `path` may be a whole path; case does not matter.
[[nodiscard]] std::string_view content_type_of(std::string_view path) noexcept;

}  // namespace millrace::http::wire

// http/wire/content_coding.hpp - which stored form of a file a client wants: plain, gzip, br or zstd.
//
// Shape    choose() weighs an Accept-Encoding field against the forms there are. Nothing is compressed here.
// Errors   a member of the list that cannot be read is passed over.
// Source   RFC 9110 8.4 12.4.2 12.5.3, RFC 7932, RFC 8878. Tests  test/http/wire/content_coding_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::http::wire {

enum class content_coding : std::uint8_t { identity, gzip, br, zstd };
inline constexpr std::size_t content_coding_count = 4;
inline constexpr std::array<std::string_view, content_coding_count> content_coding_names = {"identity", "gzip", "br",
                                                                                            "zstd"};
// What stands behind the file's name.
inline constexpr std::array<std::string_view, content_coding_count> content_coding_endings = {"", ".gz", ".br", ".zst"};

// Which forms exist, by content_coding.
using stored_codings = std::array<bool, content_coding_count>;

// The one of largest weight; among equals the one listed last in content_coding, which is the smallest as a rule.
// Without the field (nothing): identity. Nothing when all that exist are refused (`identity;q=0`): 406, or identity
// against the client's wish.
[[nodiscard]] std::optional<content_coding> choose(std::optional<std::string_view> accept_encoding,
                                                   const stored_codings& stored) noexcept;

// RFC 9110 12.4.2: "0.5" as 500; nothing for what is no weight.
[[nodiscard]] std::optional<unsigned> parse_weight(std::string_view text) noexcept;

}  // namespace millrace::http::wire

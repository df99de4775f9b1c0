// env/text_file.hpp - small files of /proc, /sys and drivers-config, read whole; directories, listed.
//
// Owner    answers are copies. Limits  a file is read up to a cap: what is longer is refused, not cut.
// Errors   nullopt when the file cannot be read whole; an unreadable directory is an empty list.
// Threads  any; control code only, it uses the heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::env {

inline constexpr std::size_t text_file_cap_bytes = 1 << 20;

[[nodiscard]] std::optional<std::string> read_text(const std::string& path,
                                                   std::size_t cap_bytes = text_file_cap_bytes);
// The first line without surrounding blanks; empty when there is no such file.
[[nodiscard]] std::string read_line(const std::string& path);
// A whole decimal or 0x-hexadecimal number; nullopt on anything else.
[[nodiscard]] std::optional<std::uint64_t> read_number(const std::string& path);
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view text) noexcept;

// Names, sorted, without "." and "..".
[[nodiscard]] std::vector<std::string> list_dir(const std::string& path);
[[nodiscard]] bool is_regular_file(const std::string& path);
[[nodiscard]] bool is_directory(const std::string& path);
[[nodiscard]] bool exists(const std::string& path);
// The last component of what a symbolic link points to; empty when it is none.
[[nodiscard]] std::string link_name(const std::string& path);

[[nodiscard]] std::string_view trim(std::string_view text) noexcept;
// Pieces between `separator`s, empty ones included; an empty text is no piece.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

// Makes `list` one item longer: "a, b" and "c" are "a, b, c".
void add_item(std::string& list, std::string_view item, std::string_view separator = ", ");

}  // namespace millrace::env

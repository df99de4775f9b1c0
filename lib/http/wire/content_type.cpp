#include "http/wire/content_type.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "http/wire/field.hpp"

namespace millrace::http::wire {
namespace {

using row = std::pair<std::string_view, std::string_view>;
// In order of the ending.
constexpr std::array rows = {
    row{"avif", "image/avif"},
    row{"bin", "application/octet-stream"},
    row{"bmp", "image/bmp"},
    row{"css", "text/css; charset=utf-8"},
    row{"csv", "text/csv; charset=utf-8"},
    row{"eot", "application/vnd.ms-fontobject"},
    row{"gif", "image/gif"},
    row{"htm", "text/html; charset=utf-8"},
    row{"html", "text/html; charset=utf-8"},
    row{"ico", "image/vnd.microsoft.icon"},
    row{"jpeg", "image/jpeg"},
    row{"jpg", "image/jpeg"},
    row{"js", "text/javascript; charset=utf-8"},
    row{"json", "application/json"},
    row{"map", "application/json"},
    row{"md", "text/markdown; charset=utf-8"},
    row{"mjs", "text/javascript; charset=utf-8"},
    row{"mp3", "audio/mpeg"},
    row{"mp4", "video/mp4"},
    row{"ogg", "audio/ogg"},
    row{"otf", "font/otf"},
    row{"pdf", "application/pdf"},
    row{"png", "image/png"},
    row{"svg", "image/svg+xml"},
    row{"ttf", "font/ttf"},
    row{"txt", "text/plain; charset=utf-8"},
    row{"wasm", "application/wasm"},
    row{"wav", "audio/wav"},
    row{"webm", "video/webm"},
    row{"webmanifest", "application/manifest+json"},
    row{"webp", "image/webp"},
    row{"woff", "font/woff"},
    row{"woff2", "font/woff2"},
    row{"xml", "application/xml"},
    row{"zip", "application/zip"},
};
static_assert(std::is_sorted(rows.begin(), rows.end()));

constexpr std::size_t ending_max = 11;

}  // namespace

std::string_view content_type_of(std::string_view path) noexcept {
  constexpr std::string_view unknown = "application/octet-stream";
  const std::size_t dot = path.find_last_of("./");
  if (dot == std::string_view::npos || path[dot] != '.' || path.size() - dot - 1 > ending_max) return unknown;
  std::array<char, ending_max> lower{};
  const std::string_view ending = path.substr(dot + 1);
  for (std::size_t i = 0; i < std::min(ending.size(), ending_max); ++i) lower[i] = to_lower(ending[i]);
  const std::string_view key(lower.data(), ending.size());
  const auto at =
      std::lower_bound(rows.begin(), rows.end(), key, [](const row& r, std::string_view k) { return r.first < k; });
  return at != rows.end() && at->first == key ? at->second : unknown;
}

}  // namespace millrace::http::wire

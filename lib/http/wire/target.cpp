// The path is read once. Decoded bytes are written behind one another into scratch; at each slash the segment just
// ended is looked at, and "." and ".." take back what they name. So the work is the path's size, whatever it says.
#include "http/wire/target.hpp"

#include <algorithm>
#include <array>

namespace millrace::http::wire {
namespace {

enum : std::uint8_t { plain, slash, percent, dot, bad };

constexpr std::array<std::uint8_t, 256> kinds = [] {
  std::array<std::uint8_t, 256> out{};
  for (unsigned c = 0; c < 256; ++c) out[c] = c <= 0x20 || c == 0x7f || c == '#' || c == '\\' ? bad : plain;
  out['/'] = slash;
  out['%'] = percent;
  out['.'] = dot;
  return out;
}();

[[nodiscard]] std::uint8_t kind_of(char c) noexcept { return kinds[static_cast<std::uint8_t>(c)]; }

[[nodiscard]] int hex_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// How many bytes from the front can stay as they are: up to the first escape, bad character, double slash, or dot
// behind a slash.
[[nodiscard]] std::size_t normal_prefix(std::string_view path) noexcept {
  bool behind_slash = false;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::uint8_t kind = kind_of(path[i]);
    if (kind == percent || kind == bad || (behind_slash && (kind == slash || kind == dot))) return i;
    behind_slash = kind == slash;
  }
  return path.size();
}

class normalizer {
  std::span<char> out_;
  std::size_t size_ = 0;
  std::size_t segment_ = 0;  // where the last one begins, behind its slash

 public:
  explicit normalizer(std::span<char> out) noexcept : out_(out) {}

  [[nodiscard]] path_errc add(char c) noexcept {
    const std::uint8_t kind = kind_of(c);
    if (kind == bad) return path_errc::bad_character;
    if (kind == slash) {
      if (const path_errc code = end_segment(); code != path_errc::ok) return code;
      if (size_ != 0 && out_[size_ - 1] == '/') return path_errc::ok;
    }
    if (size_ == out_.size()) return path_errc::too_long;
    out_[size_++] = c;
    if (kind == slash) segment_ = size_;
    return path_errc::ok;
  }
  // A space or a percent sign that was written as an escape stands for itself.
  [[nodiscard]] path_errc add_decoded(char c) noexcept {
    if (c == '/' || c == '.') return add(c);
    if (static_cast<std::uint8_t>(c) < 0x20 || c == 0x7f || c == '\\') return path_errc::bad_character;
    if (size_ == out_.size()) return path_errc::too_long;
    out_[size_++] = c;
    return path_errc::ok;
  }
  // Answers as add(). "a/." is "a/", "a/b/.." is "a/".
  [[nodiscard]] path_errc end_segment() noexcept {
    const std::string_view last(out_.data() + segment_, size_ - segment_);
    if (last == ".") {
      size_ = segment_;
    } else if (last == "..") {
      if (segment_ <= 1) return path_errc::above_root;
      std::size_t parent = segment_ - 1;  // at the slash in front
      while (out_[parent - 1] != '/') --parent;
      size_ = segment_ = parent;
    }
    return path_errc::ok;
  }
  [[nodiscard]] std::string_view path() const noexcept { return {out_.data(), size_}; }
};

}  // namespace

split_path split_target(std::string_view target) noexcept {
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return {target, {}, false};
  return {target.substr(0, mark), target.substr(mark + 1), true};
}

normal_path normalize_path(std::string_view path, std::span<char> scratch) noexcept {
  if (!path.starts_with('/')) return {path_errc::not_absolute};
  if (normal_prefix(path) == path.size()) return {path_errc::ok, path};
  normalizer out(scratch);
  path_errc code = path_errc::ok;
  for (std::size_t i = 0; i < path.size() && code == path_errc::ok; ++i) {
    if (path[i] != '%') {
      code = out.add(path[i]);
      continue;
    }
    const int high = i + 2 < path.size() ? hex_of(path[i + 1]) : -1;
    const int low = i + 2 < path.size() ? hex_of(path[i + 2]) : -1;
    if (high < 0 || low < 0) return {path_errc::bad_escape};
    code = out.add_decoded(static_cast<char>(high * 16 + low));
    i += 2;
  }
  if (code == path_errc::ok) code = out.end_segment();
  if (code != path_errc::ok) return {code};
  return {path_errc::ok, out.path()};
}

bool next_query_part(std::string_view& query, query_part& out) noexcept {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(end < query.size() ? end + 1 : end);
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    out.name = part.substr(0, equals);
    out.value = equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1);
    return true;
  }
  return false;
}

}  // namespace millrace::http::wire

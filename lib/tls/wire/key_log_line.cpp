#include "tls/wire/key_log_line.hpp"

#include <algorithm>

#include "base/hex.hpp"

namespace millrace::tls::wire {
namespace {

constexpr std::array<std::string_view, traffic_label_count> labels = {
    "CLIENT_EARLY_TRAFFIC_SECRET", "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET",
    "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"};

constexpr bool is_label_character(char c) noexcept {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The text up to the next blank, which is taken too.
std::string_view take_word(std::string_view& text) noexcept {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

template <std::size_t Size>
bool read_bytes(std::string_view hex, std::array<std::uint8_t, Size>& out, std::size_t& size) noexcept {
  return base::parse_hex(hex, out, size);
}

}  // namespace

std::string_view to_string(traffic_label label) noexcept {
  const auto i = static_cast<std::size_t>(label);
  return i < labels.size() ? labels[i] : "unknown";
}

key_log_kind parse_key_log_line(std::string_view text, key_log_line& out) noexcept {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (text.empty() || text.front() == '#') return key_log_kind::blank;
  if (text.size() > max_key_log_line_bytes) return key_log_kind::malformed;
  std::string_view label = take_word(text);
  if (label.empty() || text.empty() || !std::ranges::all_of(label, is_label_character)) return key_log_kind::malformed;
  if (label == "CLIENT_RANDOM" || label == "RSA") return key_log_kind::client_random;
  constexpr std::string_view old_prefix = "QUIC_";
  if (label.starts_with(old_prefix)) label.remove_prefix(old_prefix.size());
  const auto* const found = std::ranges::find(labels, label);
  if (found == labels.end()) return key_log_kind::other;

  key_log_line line;
  std::size_t size = 0;
  line.label = static_cast<traffic_label>(found - labels.begin());
  if (!read_bytes(take_word(text), line.random, size) || size != client_random_bytes) return key_log_kind::malformed;
  if (!read_bytes(text, line.secret, size) || (size != 32 && size != 48)) return key_log_kind::malformed;
  line.secret_size = static_cast<std::uint8_t>(size);
  out = line;
  return key_log_kind::secret;
}

}  // namespace millrace::tls::wire

#include "tls/ja4.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/hex.hpp"
#include "tls/wire/extension_type.hpp"

namespace millrace::tls {
namespace {

constexpr std::size_t part_size = 12;  // characters kept of each hash
constexpr std::string_view empty_part = "000000000000";
constexpr std::string_view hex_digits = "0123456789abcdef";

// "002f,0035,009c": the text that is hashed. Five characters a value, so capacities bound it.
constexpr std::size_t value_size = 5;
constexpr std::size_t list_text_max =
    value_size * std::max(wire::max_cipher_suites, wire::max_extensions + wire::max_signature_algorithms);

class list_text {
  std::array<char, list_text_max> text_;
  std::size_t size_ = 0;

 public:
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] base::byte_view bytes() const noexcept { return base::as_bytes({text_.data(), size_}); }

  // Each value behind `separator`, except where nothing stands before it.
  void append(std::span<const std::uint16_t> values, char separator) noexcept {
    for (const std::uint16_t value : values) {
      if (size_ != 0) text_[size_++] = separator;
      for (int shift = 12; shift >= 0; shift -= 4) text_[size_++] = hex_digits[(value >> shift) & 15];
      separator = ',';
    }
  }
};

std::string_view version_text(std::uint16_t version) noexcept {
  switch (version) {
    case 0x0304:
      return "13";
    case 0x0303:
      return "12";
    case 0x0302:
      return "11";
    case 0x0301:
      return "10";
    case 0x0300:
      return "s3";
    case 0x0002:
      return "s2";
    case 0xfeff:
      return "d1";
    case 0xfefd:
      return "d2";
    case 0xfefc:
      return "d3";
    default:
      return "00";
  }
}

std::uint16_t offered_version(const wire::client_hello& hello) noexcept {
  std::uint16_t highest = 0;
  for (const std::uint16_t version : hello.supported_versions) {
    if (!wire::is_grease(version)) highest = std::max(highest, version);
  }
  return highest != 0 ? highest : hello.legacy_version;
}

bool is_alphanumeric(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

std::array<char, 2> alpn_text(const wire::client_hello& hello) noexcept {
  if (hello.alpn.empty() || hello.alpn[0].empty()) return {'0', '0'};
  const char first = hello.alpn[0].front();
  const char last = hello.alpn[0].back();
  if (is_alphanumeric(first) && is_alphanumeric(last)) return {first, last};
  return {hex_digits[static_cast<std::uint8_t>(first) >> 4], hex_digits[static_cast<std::uint8_t>(last) & 15]};
}

std::array<char, 2> count_text(std::size_t count) noexcept {
  count = std::min<std::size_t>(count, 99);
  return {static_cast<char>('0' + count / 10), static_cast<char>('0' + count % 10)};
}

// `values` less GREASE into `kept`; answers those kept.
std::span<std::uint16_t> without_grease(std::span<const std::uint16_t> values, std::span<std::uint16_t> kept) noexcept {
  const auto end = std::copy_if(values.begin(), values.end(), kept.begin(),
                                [](std::uint16_t value) { return !wire::is_grease(value); });
  return kept.first(static_cast<std::size_t>(end - kept.begin()));
}

char* write(char* at, std::string_view text) noexcept { return std::copy(text.begin(), text.end(), at); }
char* write(char* at, std::array<char, 2> text) noexcept { return std::copy(text.begin(), text.end(), at); }

char* write_hash(char* at, crypto::engine& engine, const list_text& list) noexcept {
  if (list.empty()) return write(at, empty_part);
  crypto::sha256_digest digest;
  engine.sha256(list.bytes(), digest);
  return at + base::write_hex(base::byte_view(digest).first(part_size / 2), {at, part_size});
}

}  // namespace

void ja4(crypto::engine& engine, const wire::client_hello& hello, ja4_transport over,
         std::array<char, ja4_size>& out) noexcept {
  std::array<std::uint16_t, wire::max_cipher_suites> cipher_room;
  std::array<std::uint16_t, wire::max_extensions> extension_room;
  std::array<std::uint16_t, wire::max_signature_algorithms> algorithm_room;
  const std::span ciphers = without_grease(hello.cipher_suites.view(), cipher_room);
  std::span extensions = without_grease(hello.extensions.view(), extension_room);
  const std::span algorithms = without_grease(hello.signature_algorithms.view(), algorithm_room);
  std::ranges::sort(ciphers);
  std::ranges::sort(extensions);

  char* at = out.data();
  *at++ = over == ja4_transport::quic ? 'q' : 't';
  at = write(at, version_text(offered_version(hello)));
  *at++ = std::ranges::binary_search(extensions, wire::ext_server_name) ? 'd' : 'i';
  at = write(at, count_text(ciphers.size()));
  at = write(at, count_text(extensions.size()));
  at = write(at, alpn_text(hello));

  list_text cipher_list;
  cipher_list.append(ciphers, ',');
  *at++ = '_';
  at = write_hash(at, engine, cipher_list);

  // Counted above, but not hashed: the same program shall look the same whatever it connects to.
  const auto left_out = std::ranges::remove_if(
      extensions, [](std::uint16_t type) { return type == wire::ext_server_name || type == wire::ext_alpn; });
  extensions = extensions.first(extensions.size() - left_out.size());
  list_text extension_list;
  extension_list.append(extensions, ',');
  if (!extension_list.empty()) extension_list.append(algorithms, '_');
  *at++ = '_';
  write_hash(at, engine, extension_list);
}

}  // namespace millrace::tls

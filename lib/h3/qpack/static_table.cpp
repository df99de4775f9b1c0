// Two perfect hashes, of names and of fields, over a few features of a text: its size, first, last and one or two inner
// characters. The multipliers were found by trying; the compiler checks below that no two entries meet. A look-up is
// then one multiplication and one comparison of texts.
#include "h3/qpack/static_table.hpp"

#include <array>

namespace millrace::h3::qpack {

namespace {

// clang-format off
constexpr std::array<static_field, static_table_size> table = {{  // RFC 9204 appendix A
    {":authority", ""},                                       // 0
    {":path", "/"},
    {"age", "0"},
    {"content-disposition", ""},
    {"content-length", "0"},
    {"cookie", ""},                                           // 5
    {"date", ""},
    {"etag", ""},
    {"if-modified-since", ""},
    {"if-none-match", ""},
    {"last-modified", ""},                                    // 10
    {"link", ""},
    {"location", ""},
    {"referer", ""},
    {"set-cookie", ""},
    {":method", "CONNECT"},                                   // 15
    {":method", "DELETE"},
    {":method", "GET"},
    {":method", "HEAD"},
    {":method", "OPTIONS"},
    {":method", "POST"},                                      // 20
    {":method", "PUT"},
    {":scheme", "http"},
    {":scheme", "https"},
    {":status", "103"},
    {":status", "200"},                                       // 25
    {":status", "304"},
    {":status", "404"},
    {":status", "503"},
    {"accept", "*/*"},
    {"accept", "application/dns-message"},                    // 30
    {"accept-encoding", "gzip, deflate, br"},
    {"accept-ranges", "bytes"},
    {"access-control-allow-headers", "cache-control"},
    {"access-control-allow-headers", "content-type"},
    {"access-control-allow-origin", "*"},                     // 35
    {"cache-control", "max-age=0"},
    {"cache-control", "max-age=2592000"},
    {"cache-control", "max-age=604800"},
    {"cache-control", "no-cache"},
    {"cache-control", "no-store"},                            // 40
    {"cache-control", "public, max-age=31536000"},
    {"content-encoding", "br"},
    {"content-encoding", "gzip"},
    {"content-type", "application/dns-message"},
    {"content-type", "application/javascript"},               // 45
    {"content-type", "application/json"},
    {"content-type", "application/x-www-form-urlencoded"},
    {"content-type", "image/gif"},
    {"content-type", "image/jpeg"},
    {"content-type", "image/png"},                            // 50
    {"content-type", "text/css"},
    {"content-type", "text/html; charset=utf-8"},
    {"content-type", "text/plain"},
    {"content-type", "text/plain;charset=utf-8"},
    {"range", "bytes=0-"},                                    // 55
    {"strict-transport-security", "max-age=31536000"},
    {"strict-transport-security", "max-age=31536000; includesubdomains"},
    {"strict-transport-security", "max-age=31536000; includesubdomains; preload"},
    {"vary", "accept-encoding"},
    {"vary", "origin"},                                       // 60
    {"x-content-type-options", "nosniff"},
    {"x-xss-protection", "1; mode=block"},
    {":status", "100"},
    {":status", "204"},
    {":status", "206"},                                       // 65
    {":status", "302"},
    {":status", "400"},
    {":status", "403"},
    {":status", "421"},
    {":status", "425"},                                       // 70
    {":status", "500"},
    {"accept-language", ""},
    {"access-control-allow-credentials", "FALSE"},
    {"access-control-allow-credentials", "TRUE"},
    {"access-control-allow-headers", "*"},                    // 75
    {"access-control-allow-methods", "get"},
    {"access-control-allow-methods", "get, post, options"},
    {"access-control-allow-methods", "options"},
    {"access-control-expose-headers", "content-length"},
    {"access-control-request-headers", "content-type"},       // 80
    {"access-control-request-method", "get"},
    {"access-control-request-method", "post"},
    {"alt-svc", "clear"},
    {"authorization", ""},
    {"content-security-policy", "script-src 'none'; object-src 'none'; base-uri 'none'"},  // 85
    {"early-data", "1"},
    {"expect-ct", ""},
    {"forwarded", ""},
    {"if-range", ""},
    {"origin", ""},                                           // 90
    {"purpose", "prefetch"},
    {"server", ""},
    {"timing-allow-origin", "*"},
    {"upgrade-insecure-requests", "1"},
    {"user-agent", ""},                                       // 95
    {"x-forwarded-for", ""},
    {"x-frame-options", "deny"},
    {"x-frame-options", "sameorigin"},
}};
// clang-format on

constexpr unsigned name_hash_bits = 8;
constexpr unsigned field_hash_bits = 9;

constexpr std::uint32_t byte_at(std::string_view text, std::size_t i) noexcept {
  return static_cast<unsigned char>(text[i]);
}

constexpr std::uint32_t hash_name(std::string_view name) noexcept {
  if (name.empty()) return 0;
  const std::size_t size = name.size();
  const std::uint32_t features = (static_cast<std::uint32_t>(size) & 0xFF) | (byte_at(name, 0) << 8) |
                                 (byte_at(name, (size * 3) >> 2) << 16) | (byte_at(name, size - 1) << 24);
  return (features * 0x1012'F037U) >> (32 - name_hash_bits);
}

constexpr std::uint32_t hash_field(std::uint8_t name, std::string_view value) noexcept {
  std::uint32_t features = 0;
  if (!value.empty()) {
    const std::size_t size = value.size();
    features = (static_cast<std::uint32_t>(size) + (byte_at(value, size >> 2) << 4)) ^ (byte_at(value, 0) << 8) ^
               (byte_at(value, size >> 1) << 16) ^ (byte_at(value, size - 1) << 24);
  }
  return ((features + name * 0x9E37'79B1U) * 0xE6B5'A3C7U) >> (32 - field_hash_bits);
}

struct hash_tables {
  std::array<std::uint8_t, std::size_t{1} << name_hash_bits> names{};
  std::array<std::uint8_t, std::size_t{1} << field_hash_bits> fields{};
  bool is_perfect = true;
};

consteval hash_tables make_hash_tables() {
  hash_tables t{};
  t.names.fill(no_static);
  t.fields.fill(no_static);
  for (std::uint8_t i = 0; i < static_table_size; ++i) {
    std::uint8_t& name = t.names[hash_name(table[i].name)];
    if (name == no_static) name = i;
    if (table[name].name != table[i].name) t.is_perfect = false;
    std::uint8_t& field = t.fields[hash_field(name, table[i].value)];
    if (field != no_static) t.is_perfect = false;
    field = i;
  }
  return t;
}

constexpr hash_tables hashes = make_hash_tables();
static_assert(hashes.is_perfect, "two entries of the static table share a slot: look for other multipliers");

}  // namespace

const static_field& static_at(std::size_t index) noexcept { return table[index]; }

static_match find_static(std::string_view name, std::string_view value) noexcept {
  static_match match;
  const std::uint8_t by_name = hashes.names[hash_name(name)];
  if (by_name == no_static || table[by_name].name != name) return match;
  match.name = by_name;
  const std::uint8_t by_field = hashes.fields[hash_field(by_name, value)];
  // A slot may belong to a field of another name: its name's first entry tells.
  if (by_field != no_static && table[by_field].value == value && table[by_field].name == name) {
    match.field = by_field;
  }
  return match;
}

}  // namespace millrace::h3::qpack

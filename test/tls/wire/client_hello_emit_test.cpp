#include "tls/wire/client_hello_emit.hpp"

#include <gtest/gtest.h>

#include <random>

#include "support/bytes.hpp"
#include "tls/wire/client_hello.hpp"

namespace millrace::tls::wire {
namespace {

using test::byte_list;
using test::from_hex;
using test::to_hex;

const byte_list random_32(32, 0xA5);
const byte_list share_32(32, 0x5A);
const std::uint16_t suites[] = {0x1301, 0x1302, 0x1303};
const std::uint16_t signatures[] = {0x0403, 0x0804};
const std::string_view protocols[] = {"h3", "hq-interop"};
const byte_list parameters = from_hex("01020304");

client_hello_values full() {
  return {.random = random_32,
          .session_id = {},
          .cipher_suites = suites,
          .sni = "www.example.com",
          .alpn = protocols,
          .versions = {},
          .signatures = signatures,
          .x25519_share = share_32,
          .transport_parameters = parameters,
          .more = {}};
}

byte_list emitted(const client_hello_values& v) {
  byte_list room(encoded_size(v));
  base::byte_writer out(room);
  if (!emit(out, v)) {
    EXPECT_EQ(out.size(), 0u);
    return {};
  }
  EXPECT_EQ(out.room(), 0u);
  return room;
}

TEST(client_hello_emit, writes_what_the_parser_reads) {
  const byte_list message = emitted(full());
  client_hello h;
  ASSERT_TRUE(parse_client_hello(message, h));
  EXPECT_EQ(h.legacy_version, legacy_hello_version);
  EXPECT_EQ(to_hex(h.random), to_hex(random_32));
  EXPECT_TRUE(h.session_id.empty());
  EXPECT_EQ(h.sni, "www.example.com");
  EXPECT_EQ(std::vector(h.alpn.begin(), h.alpn.end()), (std::vector<std::string_view>{"h3", "hq-interop"}));
  EXPECT_EQ(std::vector(h.cipher_suites.begin(), h.cipher_suites.end()),
            (std::vector<std::uint16_t>{0x1301, 0x1302, 0x1303}));
  EXPECT_EQ(std::vector(h.supported_versions.begin(), h.supported_versions.end()),
            (std::vector<std::uint16_t>{0x0304}));
  EXPECT_EQ(std::vector(h.signature_algorithms.begin(), h.signature_algorithms.end()),
            (std::vector<std::uint16_t>{0x0403, 0x0804}));
  EXPECT_EQ(to_hex(h.transport_parameters), "01020304");
  EXPECT_EQ(std::vector(h.extensions.begin(), h.extensions.end()),
            (std::vector<std::uint16_t>{0, 10, 13, 16, 43, 45, 51, 0x39}));
  bool is_hello = false;
  EXPECT_EQ(handshake_message_size(message, is_hello), message.size());
  EXPECT_TRUE(is_hello);
}

TEST(client_hello_emit, writes_the_key_share_as_rfc_8446_has_it) {  // 4.2.8: list, group, length, bytes
  const std::string hex = to_hex(emitted(full()));
  EXPECT_NE(hex.find("00330026"
                     "0024"
                     "001d"
                     "0020" +
                     to_hex(share_32)),
            std::string::npos);
  EXPECT_NE(hex.find("000a0004"
                     "0002"
                     "001d"),
            std::string::npos);
  EXPECT_NE(hex.find("002d0002"
                     "01"
                     "01"),
            std::string::npos);
}

TEST(client_hello_emit, leaves_out_what_is_not_given) {
  client_hello_values v;
  v.random = random_32;
  v.cipher_suites = suites;
  client_hello h;
  ASSERT_TRUE(parse_client_hello(test::keep(emitted(v)), h));
  EXPECT_FALSE(h.has_sni);
  EXPECT_FALSE(h.has_transport_parameters);
  EXPECT_TRUE(h.alpn.empty());
  EXPECT_EQ(std::vector(h.extensions.begin(), h.extensions.end()), (std::vector<std::uint16_t>{43, 45}));
}

TEST(client_hello_emit, writes_the_drafts_number_and_further_extensions_when_asked) {
  client_hello_values v = full();
  v.transport_parameters_type = ext_quic_transport_parameters_draft;
  const std::uint16_t versions[] = {0x2a2a, 0x0304};
  v.versions = versions;
  v.more = test::keep(from_hex("4a4a 0001 00"));
  client_hello h;
  ASSERT_TRUE(parse_client_hello(test::keep(emitted(v)), h));
  EXPECT_EQ(to_hex(h.transport_parameters), "01020304");
  EXPECT_EQ(h.extensions[7], ext_quic_transport_parameters_draft);
  EXPECT_EQ(h.extensions[8], 0x4a4a);
  EXPECT_EQ(h.supported_versions.size(), 2u);
}

TEST(client_hello_emit, refuses_what_tls_cannot_carry) {
  const std::string_view empty_name[] = {""};
  const std::string long_text(256, 'a');
  const std::string_view long_name[] = {long_text};
  const std::vector<std::uint16_t> many(128, 0x0304);
  const std::string long_host(70000, 'a');
  const auto refused = [](auto change) {
    client_hello_values v = full();
    change(v);
    return emitted(v).empty();
  };
  EXPECT_FALSE(refused([](client_hello_values&) {}));
  EXPECT_TRUE(refused([&](auto& v) { v.random = base::byte_view(random_32).first(31); }));
  EXPECT_TRUE(refused([&](auto& v) { v.session_id = test::keep(byte_list(33)); }));
  EXPECT_TRUE(refused([&](auto& v) { v.cipher_suites = {}; }));
  EXPECT_TRUE(refused([&](auto& v) { v.alpn = empty_name; }));
  EXPECT_TRUE(refused([&](auto& v) { v.alpn = long_name; }));
  EXPECT_TRUE(refused([&](auto& v) { v.versions = many; }));
  EXPECT_TRUE(refused([&](auto& v) { v.x25519_share = base::byte_view(share_32).first(31); }));
  EXPECT_TRUE(refused([&](auto& v) { v.sni = long_host; }));
}

TEST(client_hello_emit, writes_nothing_where_there_is_no_room) {
  const client_hello_values v = full();
  for (std::size_t size = 0; size < encoded_size(v); ++size) {
    byte_list room(size, 0xEE);
    base::byte_writer out(room);
    EXPECT_FALSE(emit(out, v));
    EXPECT_EQ(room, byte_list(size, 0xEE));
  }
}

TEST(client_hello_emit, keeps_its_size_exact_for_any_values) {
  std::mt19937 random(8446);
  const std::string text(255, 'x');
  for (int round = 0; round < 2000; ++round) {
    client_hello_values v = full();
    const byte_list session(random() % 33, 7);
    v.session_id = session;
    v.sni = std::string_view(text).substr(0, random() % 256);
    const std::string_view names[] = {std::string_view(text).substr(0, 1 + random() % 255), "h3"};
    v.alpn = std::span(names).first(random() % 3);
    const byte_list body(random() % 600, 9);
    v.transport_parameters = body;
    const byte_list message = emitted(v);
    client_hello h;
    ASSERT_TRUE(parse_client_hello(message, h));
    ASSERT_EQ(h.sni, v.sni);
    ASSERT_EQ(h.alpn.size(), v.alpn.size());
    ASSERT_EQ(h.transport_parameters.size(), body.size());
    ASSERT_EQ(h.session_id.size(), session.size());
  }
}

TEST(grease, is_a_pair_of_equal_bytes_that_end_in_a) {  // RFC 8701
  for (unsigned i = 0; i < 16; ++i) EXPECT_TRUE(is_grease(static_cast<std::uint16_t>((i << 4 | 10) * 0x101)));
  for (const std::uint16_t v : std::vector<std::uint16_t>{0x1a2a, 0x0304, 0x0a0b, 0x1301}) EXPECT_FALSE(is_grease(v));
}

}  // namespace
}  // namespace millrace::tls::wire

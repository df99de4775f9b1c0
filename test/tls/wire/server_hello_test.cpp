#include "tls/wire/server_hello.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/hostile.hpp"

namespace millrace::tls::wire {
namespace {

using base::parse_errc;
using test::byte_list;
using test::from_hex;

byte_list joined(std::initializer_list<byte_list> parts) {
  byte_list out;
  for (const byte_list& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}
byte_list size16(std::size_t size) { return {static_cast<std::uint8_t>(size >> 8), static_cast<std::uint8_t>(size)}; }
byte_list message(std::uint8_t type, const byte_list& body) { return joined({{type, 0}, size16(body.size()), body}); }
byte_list with_extensions(const byte_list& body, const byte_list& extensions) {
  return joined({body, size16(extensions.size()), extensions});
}
const byte_list versions = {0, 43, 0, 2, 3, 4};

byte_list server_hello_body(const byte_list& random) {
  return joined({{3, 3}, random, {0, 0x13, 0x02, 0}});  // session ID, suite, compression
}
byte_list plain_hello() {
  return message(
      2, with_extensions(server_hello_body(byte_list(32, 0x77)), {0, 51, 0, 4, 0, 29, 0, 0, 0, 43, 0, 2, 3, 4}));
}

TEST(server_hello, tells_suite_version_and_random) {
  const byte_list good = plain_hello();
  server_hello h;
  ASSERT_TRUE(parse_server_hello(good, h));
  EXPECT_EQ(h.cipher_suite, 0x1302);
  EXPECT_EQ(h.selected_version, 0x0304);
  EXPECT_FALSE(h.is_retry_request);
  ASSERT_EQ(h.random.size(), 32u);
  EXPECT_EQ(h.random[31], 0x77);
}

TEST(server_hello, knows_a_retry_request_by_its_random) {
  const byte_list random = from_hex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c");
  server_hello h;
  ASSERT_TRUE(parse_server_hello(message(2, with_extensions(server_hello_body(random), versions)), h));
  EXPECT_TRUE(h.is_retry_request);
}

TEST(server_hello, refuses_what_cannot_be) {
  const byte_list random(32, 1);
  const auto code = [](const byte_list& m) {
    server_hello h;
    return parse_server_hello(m, h).code;
  };
  const byte_list twice = joined({versions, versions});
  EXPECT_EQ(code(message(2, with_extensions(server_hello_body(random), twice))), parse_errc::duplicate);
  EXPECT_EQ(code(message(2, with_extensions(server_hello_body(random), {0, 43, 0, 1, 3}))), parse_errc::bad_length);
  EXPECT_EQ(code(message(2, with_extensions(server_hello_body(random), {0, 43, 0, 9, 3, 4}))), parse_errc::bad_length);
  EXPECT_EQ(code(message(2, server_hello_body(random))), parse_errc::bad_length);
  EXPECT_EQ(code(message(1, with_extensions(server_hello_body(random), versions))), parse_errc::bad_value);
  const byte_list longer = joined({with_extensions(server_hello_body(random), versions), {0}});
  EXPECT_EQ(code(message(2, longer)), parse_errc::trailing_bytes);
  EXPECT_EQ(code(joined({plain_hello(), {0}})), parse_errc::trailing_bytes);
}

const byte_list chosen_extensions = {0, 16, 0, 5, 0, 3, 2, 'h', '3', 0, 57, 0, 3, 1, 1, 9, 0, 42, 0, 0, 0, 10, 0, 1, 7};

TEST(encrypted_extensions, tells_protocol_parameters_and_early_data) {
  const byte_list good = message(8, with_extensions({}, chosen_extensions));
  encrypted_extensions e;
  ASSERT_TRUE(parse_encrypted_extensions(good, e));
  EXPECT_EQ(e.alpn, "h3");
  EXPECT_TRUE(e.has_alpn && e.has_transport_parameters && e.has_early_data);
  EXPECT_EQ(e.transport_parameters.size(), 3u);
  encrypted_extensions nothing;
  ASSERT_TRUE(parse_encrypted_extensions(message(8, with_extensions({}, {})), nothing));
  EXPECT_FALSE(nothing.has_alpn || nothing.has_transport_parameters || nothing.has_early_data);
}

TEST(encrypted_extensions, takes_the_drafts_number_of_transport_parameters) {
  encrypted_extensions e;
  ASSERT_TRUE(parse_encrypted_extensions(message(8, with_extensions({}, {0xFF, 0xA5, 0, 1, 9})), e));
  EXPECT_TRUE(e.has_transport_parameters);
}

TEST(encrypted_extensions, refuses_what_cannot_be) {
  const auto code = [](const byte_list& extensions) {
    encrypted_extensions e;
    return parse_encrypted_extensions(message(8, with_extensions({}, extensions)), e).code;
  };
  EXPECT_EQ(code({0, 16, 0, 2, 0, 0}), parse_errc::bad_length);
  EXPECT_EQ(code({0, 16, 0, 3, 0, 1, 0}), parse_errc::bad_value);
  EXPECT_EQ(code({0, 16, 0, 6, 0, 4, 1, 'a', 1, 'b'}), parse_errc::bad_value);
  EXPECT_EQ(code({0, 16, 0, 4, 0, 2, 3, 'h'}), parse_errc::bad_length);
  EXPECT_EQ(code({0, 16, 0, 4, 0, 2, 1, 'h', 0, 16, 0, 4, 0, 2, 1, 'h'}), parse_errc::duplicate);
  EXPECT_EQ(code({0, 57, 0, 0, 0, 57, 0, 0}), parse_errc::duplicate);
  EXPECT_EQ(code({0, 42, 0, 1, 0}), parse_errc::bad_length);
  EXPECT_EQ(code({0, 42, 0}), parse_errc::bad_length);
}

// Whatever is cut off or changed: an answer, and nothing written unless it is a good one.
TEST(server_hello, survives_every_truncation_and_every_change_of_a_byte) {
  for (const byte_list& good : {plain_hello(), message(8, with_extensions({}, chosen_extensions))}) {
    const auto judge = [](base::byte_view in) {
      server_hello h;
      encrypted_extensions e;
      if (!parse_server_hello(in, h)) {
        ASSERT_TRUE(h.random.empty() && h.cipher_suite == 0);
      }
      if (!parse_encrypted_extensions(in, e)) {
        ASSERT_TRUE(e.alpn.empty() && !e.has_transport_parameters);
      }
    };
    test::for_every_truncation(good, [&](base::byte_view cut) {
      server_hello h;
      encrypted_extensions e;
      ASSERT_FALSE(parse_server_hello(cut, h));
      ASSERT_FALSE(parse_encrypted_extensions(cut, e));
      judge(cut);
    });
    test::for_every_byte_change(good, judge);
  }
}

}  // namespace
}  // namespace millrace::tls::wire

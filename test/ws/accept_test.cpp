#include "ws/accept.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"

namespace millrace::ws {
namespace {

crypto::engine make_engine() {
  auto made = crypto::engine::make();
  EXPECT_TRUE(made.has_value());
  return std::move(*made);
}

TEST(ws_accept, proves_what_the_rfc_proves) {  // W1, RFC 6455 1.3
  crypto::engine engine = make_engine();
  const auto got = accept_of(engine, "dGhlIHNhbXBsZSBub25jZQ==");
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(std::string_view(got->data(), got->size()), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(ws_accept, takes_sixteen_bytes_of_base64_and_nothing_else) {
  crypto::engine engine = make_engine();
  for (const char* key : {"", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQ===", "dGhlIHNhbXBsZSBub25jZR==",
                          "dGhlIHNhbXBsZSBub25jZQ= ", "dGhlIHNhbXBsZSBub25jZQAA", "dGhlIHNhbXBsZSBub25j"})
    EXPECT_FALSE(accept_of(engine, key).has_value()) << key;
}

TEST(ws_accept, makes_the_keys_it_takes) {
  const std::array<std::uint8_t, wire::key_bytes> nonce = {'t', 'h', 'e', ' ', 's', 'a', 'm', 'p',
                                                           'l', 'e', ' ', 'n', 'o', 'n', 'c', 'e'};
  const wire::key_text key = wire::make_key(nonce);
  EXPECT_EQ(std::string_view(key.data(), key.size()), "dGhlIHNhbXBsZSBub25jZQ==");
  EXPECT_TRUE(wire::is_key({key.data(), key.size()}));
}

}  // namespace
}  // namespace millrace::ws

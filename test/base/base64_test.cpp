#include "base/base64.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/seeded.hpp"

namespace millrace::base {
namespace {

std::string encoded(byte_view in) {
  std::string out(base64_size(in.size()), '?');
  EXPECT_EQ(encode_base64(in, out.data()), out.size());
  return out;
}

bool decodes(std::string_view text) {
  std::uint8_t room[64];
  std::size_t size = 0;
  return decode_base64(text, room, size);
}

TEST(base64, encodes_the_vectors_of_rfc_4648) {  // RFC 4648 10
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, text] : vectors) EXPECT_EQ(encoded(as_bytes(plain)), text);
  EXPECT_EQ(encoded(test::from_hex("FB FF BF")), "+/+/");
}

TEST(base64, reads_back_what_it_writes) {
  test::seeded random(64);
  for (std::size_t size = 0; size < 200; ++size) {
    const auto bytes = random.bytes(size);
    std::vector<std::uint8_t> back(size);
    std::size_t got = 0;
    ASSERT_TRUE(decode_base64(encoded(bytes), back, got)) << size;
    EXPECT_EQ(got, size);
    EXPECT_EQ(back, bytes);
    if (size > 0) {
      EXPECT_FALSE(decode_base64(encoded(bytes), byte_span(back).first(size - 1), got)) << "no room";
    }
  }
}

TEST(base64, refuses_what_it_would_not_write) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "Z===", "Zg==Zg==", "Zm9v\n", "Zm-v", "Zm_v", "=Zg=", "Zm 9"})
    EXPECT_FALSE(decodes(text)) << text;
}

}  // namespace
}  // namespace millrace::base

#include "tls/wire/key_log_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/bytes.hpp"
#include "support/hostile.hpp"

namespace millrace::tls::wire {
namespace {

std::string digits(std::size_t bytes, char c = 'a') { return std::string(2 * bytes, c); }
std::string line(std::string_view label, std::size_t random = 32, std::size_t secret = 32) {
  return std::string(label) + " " + digits(random, '5') + " " + digits(secret);
}
key_log_kind parse(std::string_view text) {
  key_log_line out;
  return parse_key_log_line(text, out);
}

TEST(key_log_line, reads_the_five_labels_that_protect_packets) {
  for (std::size_t i = 0; i < traffic_label_count; ++i) {
    const auto label = static_cast<traffic_label>(i);
    key_log_line out;
    ASSERT_EQ(parse_key_log_line(line(to_string(label), 32, i % 2 == 0 ? 32 : 48), out), key_log_kind::secret);
    EXPECT_EQ(out.label, label);
    EXPECT_EQ(out.secret_size, i % 2 == 0 ? 32 : 48);
    EXPECT_TRUE(std::ranges::all_of(out.random, [](std::uint8_t b) { return b == 0x55; }));
    EXPECT_EQ(out.secret[0], 0xAA);
    EXPECT_EQ(out.secret[out.secret_size - 1], 0xAA);
    EXPECT_TRUE(std::all_of(out.secret.begin() + out.secret_size, out.secret.end(), [](auto b) { return b == 0; }));
  }
}

TEST(key_log_line, takes_labels_of_older_stacks_upper_case_digits_and_ends_of_lines) {
  EXPECT_EQ(parse(line("QUIC_CLIENT_TRAFFIC_SECRET_0")), key_log_kind::secret);
  EXPECT_EQ(parse(line("CLIENT_TRAFFIC_SECRET_0") + "\r"), key_log_kind::secret);
  EXPECT_EQ(parse(line("CLIENT_TRAFFIC_SECRET_0") + " \t\r"), key_log_kind::secret);
  EXPECT_EQ(parse("SERVER_TRAFFIC_SECRET_0 " + digits(32, 'F') + " " + digits(48, 'B')), key_log_kind::secret);
}

TEST(key_log_line, tells_apart_what_it_does_not_take) {
  EXPECT_EQ(parse(""), key_log_kind::blank);
  EXPECT_EQ(parse("\r"), key_log_kind::blank);
  EXPECT_EQ(parse("# by a tool"), key_log_kind::blank);
  EXPECT_EQ(parse("CLIENT_RANDOM " + digits(32) + " " + digits(48)), key_log_kind::client_random);
  EXPECT_EQ(parse("RSA " + digits(8) + " " + digits(48)), key_log_kind::client_random);
  EXPECT_EQ(parse(line("EXPORTER_SECRET")), key_log_kind::other);
  EXPECT_EQ(parse(line("CLIENT_TRAFFIC_SECRET_1")), key_log_kind::other);
  EXPECT_EQ(parse(line("ECH_SECRET")), key_log_kind::other);
}

TEST(key_log_line, refuses_what_cannot_be) {
  const std::string label = "CLIENT_TRAFFIC_SECRET_0";
  for (const std::string& text : {label,
                                  label + " ",
                                  label + " " + digits(32),
                                  label + " " + digits(32) + " ",
                                  line(label, 31),
                                  line(label, 33),
                                  line(label, 32, 31),
                                  line(label, 32, 33),
                                  line(label, 32, 47),
                                  line(label, 32, 49),
                                  line(label, 32, 0),
                                  line(label, 0),
                                  std::string(" ") + line(label),
                                  label + "  " + digits(32) + " " + digits(32),
                                  label + " " + digits(32) + "  " + digits(32),
                                  label + " " + digits(32) + " " + digits(32) + " x",
                                  label + " " + digits(32) + " " + digits(31) + "ag",
                                  label + "\t" + digits(32) + "\t" + digits(32),
                                  std::string("client_traffic_secret_0 ") + digits(32) + " " + digits(32),
                                  std::string(513, 'A'),
                                  std::string("\x80\xff binary"),
                                  line(label) + std::string(1, '\0')}) {
    EXPECT_EQ(parse(text), key_log_kind::malformed) << text;
  }
}

TEST(key_log_line, survives_every_truncation_and_every_change_of_a_byte) {
  const std::string good = line("SERVER_HANDSHAKE_TRAFFIC_SECRET", 32, 48);
  std::size_t secrets = 0;
  test::for_every_truncation(base::as_bytes(good), [&](base::byte_view cut) {
    secrets += parse(base::as_text(cut)) == key_log_kind::secret ? 1 : 0;
  });
  EXPECT_EQ(secrets, 1u);  // cut to 32 bytes of secret
  key_log_line untouched;
  untouched.secret_size = 7;
  test::for_every_byte_change(base::as_bytes(good), [&](base::byte_view changed) {
    key_log_line out = untouched;
    const key_log_kind kind = parse_key_log_line(base::as_text(changed), out);
    ASSERT_EQ(out.secret_size == 7, kind != key_log_kind::secret);
  });
}

}  // namespace
}  // namespace millrace::tls::wire

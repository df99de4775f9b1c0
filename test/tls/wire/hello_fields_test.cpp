#include "tls/wire/hello_fields.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/byte_writer.hpp"
#include "support/hostile.hpp"
#include "tls/message_edit.hpp"
#include "tls/wire/client_hello_emit.hpp"

using namespace millrace;
using tls::wire::hello_fields;

namespace {

using bytes = std::vector<std::uint8_t>;

const bytes share(32, 0x5a);
const bytes random_bytes(32, 0x11);
const bytes parameters = {4, 1, 7};

bytes make_hello(base::byte_view more = {}) {
  const std::array<std::uint16_t, 2> suites = {0x1301, 0x1302};
  const std::array<std::string_view, 2> alpn = {"h3", "hq-interop"};
  tls::wire::client_hello_values v;
  v.random = random_bytes;
  v.cipher_suites = suites;
  v.sni = "example.test";
  v.alpn = alpn;
  v.x25519_share = share;
  v.transport_parameters = parameters;
  v.more = more;
  bytes out(tls::wire::encoded_size(v));
  base::byte_writer writer(out);
  EXPECT_TRUE(tls::wire::emit(writer, v));
  return out;
}

base::parse_errc scan(base::byte_view message) {
  hello_fields f;
  return tls::wire::scan_client_hello(message, f).code;
}

bytes make_ticket(const bytes& extensions) {
  bytes out = {4, 0, 0, 0, 0, 0, 0x54, 0x60, 1, 2, 3, 4, 2, 9, 9, 0, 3, 7, 7, 7, 0, 0};
  base::store_be16(out.data() + 20, static_cast<std::uint16_t>(extensions.size()));
  for (const std::uint8_t byte : extensions) out.push_back(byte);
  test::set_message_size(out);
  return out;
}

}  // namespace

TEST(hello_fields, finds_what_a_server_must_know) {
  const bytes early = {0, 42, 0, 0};
  const bytes hello = make_hello(early);
  hello_fields f;
  ASSERT_TRUE(tls::wire::scan_client_hello(hello, f));
  EXPECT_EQ(f.sni, "example.test");
  EXPECT_TRUE(f.has_alpn);
  EXPECT_TRUE(f.has_early_data);
  EXPECT_FALSE(f.has_pre_shared_key);
  EXPECT_TRUE(f.offers_tls_1_3);
  EXPECT_TRUE(f.session_id.empty());
  EXPECT_EQ(bytes(f.transport_parameters.begin(), f.transport_parameters.end()), parameters);
}

TEST(hello_fields, has_no_capacity_a_legal_hello_exceeds) {
  bytes many;
  for (std::uint16_t type = 0x4000; type < 0x4400; ++type) {
    many.insert(many.end(), {static_cast<std::uint8_t>(type >> 8), static_cast<std::uint8_t>(type & 0xff), 0, 0});
  }
  EXPECT_EQ(scan(make_hello(many)), base::parse_errc::ok);
}

TEST(hello_fields, refuses_every_truncation_and_reads_nothing_behind_it) {
  test::for_every_truncation(make_hello(), [](base::byte_view cut) { EXPECT_NE(scan(cut), base::parse_errc::ok); });
}

TEST(hello_fields, survives_every_one_byte_change) {
  test::for_every_byte_change(make_hello(), [](base::byte_view changed) {
    hello_fields f;
    if (!tls::wire::scan_client_hello(changed, f)) return;
    EXPECT_LE(f.alpn.size() + f.transport_parameters.size() + f.sni.size(), changed.size());
  });
}

TEST(hello_fields, refuses_extensions_that_come_twice) {
  for (const unsigned number : {0u, 10u, 16u, 42u, 41u, 43u, 51u, 0x39u}) {
    const auto type = static_cast<std::uint16_t>(number);
    bytes hello = make_hello(bytes{0, 42, 0, 0, 0, 41, 0, 0});
    const std::size_t at = test::find_extension(hello, type);
    ASSERT_NE(at, hello.size()) << type;
    const std::size_t end = at + 4 + base::load_be16(hello.data() + at + 2);
    const bytes again(hello.begin() + static_cast<std::ptrdiff_t>(at),
                      hello.begin() + static_cast<std::ptrdiff_t>(end));
    test::splice(hello, hello.size(), hello.size(), again);
    EXPECT_EQ(scan(hello), base::parse_errc::duplicate) << type;
  }
}

TEST(hello_fields, takes_a_name_that_is_no_host_name_for_none) {
  bytes hello = make_hello();
  const std::size_t at = test::find_extension(hello, 0);
  hello[at + 9] = ' ';
  hello_fields f;
  ASSERT_TRUE(tls::wire::scan_client_hello(hello, f));
  EXPECT_TRUE(f.sni.empty());
}

TEST(hello_fields, chooses_by_the_servers_preference) {
  const bytes names = {2, 'h', '3', 4, 's', 'r', 'm', 'p'};
  const std::array<std::string_view, 3> ours = {"srmp", "h3", "x"};
  EXPECT_EQ(tls::wire::choose_protocol(names, ours), 0u);
  const std::array<std::string_view, 2> others = {"h", "h33"};
  EXPECT_EQ(tls::wire::choose_protocol(names, others), std::nullopt);
  EXPECT_EQ(tls::wire::choose_protocol({}, ours), std::nullopt);
  EXPECT_TRUE(tls::wire::is_protocol_list(names));
  EXPECT_FALSE(tls::wire::is_protocol_list(base::byte_view(names).first(7)));
  EXPECT_FALSE(tls::wire::is_protocol_list({}));
  EXPECT_FALSE(tls::wire::is_protocol_list(bytes{0}));
}

TEST(hello_fields, knows_whether_a_retry_is_needed) {
  hello_fields f;
  const bytes groups = {0, 0x1d, 0, 0x17};
  const bytes shares = {0, 0x1d, 0, 1, 9};
  f.groups = groups;
  f.key_shares = shares;
  const std::array<std::uint16_t, 2> first = {0x1d, 0x17};
  const std::array<std::uint16_t, 2> second = {0x17, 0x1d};
  const std::array<std::uint16_t, 1> other = {0x18};
  EXPECT_TRUE(tls::wire::has_preferred_share(f, first));
  EXPECT_FALSE(tls::wire::has_preferred_share(f, second));
  EXPECT_FALSE(tls::wire::has_preferred_share(f, other));
}

TEST(hello_fields, tells_a_request_for_another_hello_from_a_server_hello) {
  std::vector<std::uint8_t> retry = {2, 0, 0, 0x28, 3, 3};
  const std::array<std::uint8_t, 32> random = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
                                               0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
                                               0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};
  retry.insert(retry.end(), random.begin(), random.end());
  retry.insert(retry.end(), {0, 0x13, 1, 0, 0, 0});
  EXPECT_TRUE(tls::wire::is_hello_retry_request(retry));
  for (std::size_t size = 0; size < 38; ++size) EXPECT_FALSE(tls::wire::is_hello_retry_request({retry.data(), size}));
  for (std::size_t at = 6; at < 38; ++at) {
    retry[at] ^= 1;
    EXPECT_FALSE(tls::wire::is_hello_retry_request(retry)) << at;
    retry[at] ^= 1;
  }
  retry[0] = 1;
  EXPECT_FALSE(tls::wire::is_hello_retry_request(retry));
}

TEST(new_session_ticket, tells_lifetime_and_early_data) {
  tls::wire::new_session_ticket t;
  ASSERT_TRUE(tls::wire::parse_new_session_ticket(make_ticket({0, 42, 0, 4, 0xff, 0xff, 0xff, 0xff}), t));
  EXPECT_EQ(t.lifetime_s, 0x5460u);
  EXPECT_TRUE(t.has_early_data);
  EXPECT_EQ(t.max_early_data_size, 0xffffffffu);
  ASSERT_TRUE(tls::wire::parse_new_session_ticket(make_ticket({0x1a, 0x1a, 0, 0}), t));
  EXPECT_FALSE(t.has_early_data);
}

TEST(new_session_ticket, refuses_what_is_none) {
  tls::wire::new_session_ticket t;
  EXPECT_FALSE(tls::wire::parse_new_session_ticket(make_ticket({0, 42, 0, 3, 1, 2, 3}), t));
  EXPECT_FALSE(tls::wire::parse_new_session_ticket(make_ticket({0, 42, 0, 4, 1, 2, 3, 4, 0, 42, 0, 4, 1, 2, 3, 4}), t));
  const bytes good = make_ticket({0, 42, 0, 4, 1, 2, 3, 4});
  test::for_every_truncation(good,
                             [&](base::byte_view cut) { EXPECT_FALSE(tls::wire::parse_new_session_ticket(cut, t)); });
  test::for_every_byte_change(
      good, [&](base::byte_view changed) { static_cast<void>(tls::wire::parse_new_session_ticket(changed, t)); });
}

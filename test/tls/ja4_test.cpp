#include "tls/ja4.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/bytes.hpp"
#include "support/libcrypto.hpp"

using namespace millrace;
using tls::ja4_transport;

namespace {

tls::wire::client_hello make_hello(const std::vector<std::uint16_t>& ciphers,
                                   const std::vector<std::uint16_t>& extensions,
                                   const std::vector<std::uint16_t>& algorithms,
                                   const std::vector<std::uint16_t>& versions,
                                   const std::vector<std::string_view>& alpn) {
  tls::wire::client_hello hello;
  hello.legacy_version = 0x0303;
  for (const auto v : ciphers) EXPECT_TRUE(hello.cipher_suites.push_back(v));
  for (const auto v : extensions) EXPECT_TRUE(hello.extensions.push_back(v));
  for (const auto v : algorithms) EXPECT_TRUE(hello.signature_algorithms.push_back(v));
  for (const auto v : versions) EXPECT_TRUE(hello.supported_versions.push_back(v));
  for (const auto v : alpn) EXPECT_TRUE(hello.alpn.push_back(v));
  return hello;
}

std::string fingerprint(const tls::wire::client_hello& hello, ja4_transport over = ja4_transport::tcp) {
  std::optional<crypto::engine> engine = crypto::engine::make();
  EXPECT_TRUE(engine.has_value());
  std::array<char, tls::ja4_size> out{};
  tls::ja4(*engine, hello, over, out);
  return {out.data(), out.size()};
}

std::string alpn_part(const std::vector<std::string_view>& alpn) {
  return fingerprint(make_hello({0x1301}, {0x10}, {}, {0x0304}, alpn)).substr(8, 2);
}

// The example the method's description works through.
const std::vector<std::uint16_t> published_ciphers = {0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9,
                                                      0xcca8, 0xc013, 0xc014, 0x009c, 0x009d, 0x002f, 0x0035};
const std::vector<std::uint16_t> published_extensions = {0x001b, 0x0000, 0x0033, 0x0010, 0x4469, 0x0017,
                                                         0x002d, 0x000d, 0x0005, 0x0023, 0x0012, 0x002b,
                                                         0xff01, 0x000b, 0x000a, 0x0015};
const std::vector<std::uint16_t> published_algorithms = {0x0403, 0x0804, 0x0401, 0x0503,
                                                         0x0805, 0x0501, 0x0806, 0x0601};

std::string listed(std::vector<std::uint16_t> values) {
  std::string out;
  for (const auto v : values) {
    char text[8];
    std::snprintf(text, sizeof text, "%s%04x", out.empty() ? "" : ",", v);
    out += text;
  }
  return out;
}

}  // namespace

TEST(ja4, gives_the_published_example) {
  EXPECT_EQ(fingerprint(make_hello(published_ciphers, published_extensions, published_algorithms, {0x0304, 0x0303},
                                   {"h2", "http/1.1"})),
            "t13d1516h2_8daaf6152771_e5627efa2ab1");
}

TEST(ja4, gives_the_published_hash_without_signature_algorithms) {
  EXPECT_EQ(fingerprint(make_hello(published_ciphers, published_extensions, {}, {0x0304}, {"h2"})),
            "t13d1516h2_8daaf6152771_6d807ffa2a79");
}

TEST(ja4, ignores_grease_everywhere_and_nothing_that_only_looks_like_it) {
  auto ciphers = published_ciphers;
  auto extensions = published_extensions;
  auto algorithms = published_algorithms;
  ciphers.insert(ciphers.begin(), 0xdada);
  extensions.insert(extensions.begin() + 3, 0x4a4a);
  extensions.push_back(0x0a0a);
  algorithms.insert(algorithms.begin() + 2, 0xfafa);
  EXPECT_EQ(fingerprint(make_hello(ciphers, extensions, algorithms, {0xeaea, 0x0304, 0x0303}, {"h2"})),
            "t13d1516h2_8daaf6152771_e5627efa2ab1");
  ciphers.push_back(0x0a1a);
  EXPECT_EQ(fingerprint(make_hello(ciphers, extensions, algorithms, {0x0304}, {"h2"})).substr(0, 8), "t13d1616");
}

TEST(ja4, names_transport_version_and_destination) {
  const auto start = [](std::uint16_t legacy, const std::vector<std::uint16_t>& versions,
                        const std::vector<std::uint16_t>& extensions, ja4_transport over) {
    auto hello = make_hello({}, extensions, {}, versions, {});
    hello.legacy_version = legacy;
    return fingerprint(hello, over).substr(0, 4);
  };
  EXPECT_EQ(start(0x0303, {0x0304}, {0}, ja4_transport::quic), "q13d");
  EXPECT_EQ(start(0x0303, {0x0302, 0x0304, 0x0303}, {0x2b}, ja4_transport::tcp), "t13i");
  EXPECT_EQ(start(0x0303, {}, {}, ja4_transport::tcp), "t12i");
  EXPECT_EQ(start(0x0302, {}, {}, ja4_transport::tcp), "t11i");
  EXPECT_EQ(start(0x0301, {}, {}, ja4_transport::tcp), "t10i");
  EXPECT_EQ(start(0x0300, {}, {}, ja4_transport::tcp), "ts3i");
  EXPECT_EQ(start(0x0002, {}, {}, ja4_transport::tcp), "ts2i");
  EXPECT_EQ(start(0xfeff, {}, {}, ja4_transport::tcp), "td1i");
  EXPECT_EQ(start(0xfefd, {}, {}, ja4_transport::tcp), "td2i");
  EXPECT_EQ(start(0xfefc, {}, {}, ja4_transport::tcp), "td3i");
  EXPECT_EQ(start(0x0303, {0x0304, 0xfb1a}, {}, ja4_transport::quic), "q00i") << "the largest, known or not";
  EXPECT_EQ(start(0x0303, {0x7a7a}, {}, ja4_transport::tcp), "t12i") << "GREASE alone says nothing";
}

TEST(ja4, caps_counts_at_99) {
  std::vector<std::uint16_t> ciphers;
  for (std::uint16_t i = 0; i < tls::wire::max_cipher_suites; ++i)
    ciphers.push_back(static_cast<std::uint16_t>(0xc000 + i));
  std::vector<std::uint16_t> extensions;
  for (std::uint16_t i = 0; i < tls::wire::max_extensions; ++i)
    extensions.push_back(static_cast<std::uint16_t>(1000 - i));
  EXPECT_EQ(fingerprint(make_hello(ciphers, extensions, {}, {}, {})).substr(4, 4), "9964");
  EXPECT_EQ(fingerprint(make_hello({1, 2, 3}, {}, {}, {}, {})).substr(4, 4), "0300");
}

TEST(ja4, takes_the_first_protocol_by_its_first_and_last_character) {
  EXPECT_EQ(alpn_part({}), "00");
  EXPECT_EQ(alpn_part({""}), "00");
  EXPECT_EQ(alpn_part({"h3", "h2"}), "h3");
  EXPECT_EQ(alpn_part({"http/1.1"}), "h1");
  EXPECT_EQ(alpn_part({"h3-29"}), "h9");
  EXPECT_EQ(alpn_part({"x"}), "xx");
  EXPECT_EQ(alpn_part({"\xab"}), "ab");
  EXPECT_EQ(alpn_part({"\xab\xcd"}), "ad");
  EXPECT_EQ(alpn_part({"0\xab"}), "3b");
  EXPECT_EQ(alpn_part({"01\xab\xcd"}), "3d");
  EXPECT_EQ(alpn_part({"0\xab\xcd"
                       "1"}),
            "01");
  EXPECT_EQ(alpn_part({" "}), "20");
  EXPECT_EQ(alpn_part({"a "}), "60");
}

TEST(ja4, writes_zeros_for_empty_lists) {
  EXPECT_EQ(fingerprint(make_hello({}, {}, {}, {}, {})), "t12i000000_000000000000_000000000000");
  EXPECT_EQ(fingerprint(make_hello({0x2a2a}, {0x3a3a}, {}, {}, {})), "t12i000000_000000000000_000000000000");
  // SNI and ALPN are counted but not hashed.
  EXPECT_EQ(fingerprint(make_hello({}, {0x10, 0}, {}, {}, {"h2"})), "t12d0002h2_000000000000_000000000000");
}

TEST(ja4, hashes_what_libcrypto_hashes_for_lists_of_every_size) {
  std::mt19937 random(4);
  for (std::size_t size = 1; size <= tls::wire::max_extensions; ++size) {
    std::vector<std::uint16_t> values;
    for (std::size_t i = 0; i < size; ++i) values.push_back(static_cast<std::uint16_t>(0x0100 + random() % 0x0800));
    std::vector<std::uint16_t> sorted = values;
    std::ranges::sort(sorted);
    // None of these is GREASE, SNI or ALPN: 0x0a0a lies above.
    const std::string ciphers = listed(sorted);
    const std::string extensions = listed(sorted) + '_' + listed(values);
    const std::string result = fingerprint(make_hello(values, values, values, {}, {}));
    EXPECT_EQ(result.substr(11, 12), test::to_hex(test::libcrypto::sha256(base::as_bytes(ciphers))).substr(0, 12));
    EXPECT_EQ(result.substr(24, 12), test::to_hex(test::libcrypto::sha256(base::as_bytes(extensions))).substr(0, 12));
  }
}

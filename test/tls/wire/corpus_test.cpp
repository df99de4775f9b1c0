// ClientHellos of real clients, in clear, and the broken ones that other people's fuzzers keep.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/corpus_vectors.hpp"
#include "support/hostile.hpp"
#include "tls/wire/client_hello.hpp"
#include "tls/wire/extension_type.hpp"

namespace millrace::tls::wire {
namespace {

using base::byte_view;
using test::byte_list;
using test::corpus;
using test::read_file;

TEST(tls_corpus, reads_the_hello_of_chrome_124) {
  MILLRACE_NEEDS_CORPUS();
  const byte_list message = read_file(corpus() / "datagram/clienthellod-QUIC_ClientHello_Chrome_124.bin");
  bool is_hello = false;
  ASSERT_EQ(handshake_message_size(message, is_hello), message.size());
  EXPECT_TRUE(is_hello);
  client_hello h;
  ASSERT_TRUE(parse_client_hello(message, h));
  EXPECT_EQ(h.sni, "encrypted-tbn0.gstatic.com");
  EXPECT_EQ(std::vector(h.alpn.begin(), h.alpn.end()), (std::vector<std::string_view>{"h3"}));
  EXPECT_EQ(std::vector(h.cipher_suites.begin(), h.cipher_suites.end()),
            (std::vector<std::uint16_t>{0x1301, 0x1302, 0x1303}));
  EXPECT_EQ(std::ranges::count(h.supported_versions, tls_1_3), 1);
  EXPECT_TRUE(h.session_id.empty());  // RFC 9001 8.4
  EXPECT_TRUE(h.has_transport_parameters);
  EXPECT_FALSE(h.transport_parameters.empty());
  EXPECT_FALSE(h.signature_algorithms.empty());
}

TEST(tls_corpus, survives_that_hello_cut_everywhere_and_with_any_byte_changed) {
  MILLRACE_NEEDS_CORPUS();
  const byte_list message = read_file(corpus() / "datagram/clienthellod-QUIC_ClientHello_Chrome_124.bin");
  test::for_every_truncation(message, [](byte_view in) {
    client_hello h;
    EXPECT_EQ(parse_client_hello(in, h).code, base::parse_errc::truncated);
  });
  test::for_every_byte_change(
      message,
      [](byte_view in) {
        client_hello h;
        EXPECT_LE(parse_client_hello(in, h).at, in.size());
      },
      5);
}

TEST(tls_corpus, reads_the_hello_of_a_documented_handshake) {
  MILLRACE_NEEDS_CORPUS();
  client_hello h;
  ASSERT_TRUE(parse_client_hello(test::keep(read_file(corpus() / "datagram/illustrated-quic/crypto_clienthello")), h));
  EXPECT_EQ(h.sni, "example.ulfheim.net");
  EXPECT_TRUE(h.has_transport_parameters);
}

TEST(tls_corpus, reads_the_hello_of_rfc_9001_appendix_a) {
  MILLRACE_NEEDS_CORPUS();
  const auto vectors = test::json_document(corpus() / "vectors/rfc9001-appendix-a.json");
  const byte_list frame = test::hex_member(vectors["client_initial"], "crypto_frame");
  client_hello h;
  ASSERT_TRUE(parse_client_hello(byte_view(frame).subspan(4), h));  // type, offset 0, a length of 2 bytes
  EXPECT_EQ(h.sni, "example.com");
  EXPECT_TRUE(h.has_transport_parameters);
}

TEST(tls_corpus, survives_the_seeds_of_another_stacks_sni_finder) {
  MILLRACE_NEEDS_CORPUS();
  test::guard_page guard;
  for (const auto& [name, content] : test::files_of(corpus() / "fuzz/neqo/find_sni")) {
    const byte_view in = guard.place(content);
    client_hello h;
    const base::parse_status status = parse_client_hello(in, h);
    EXPECT_LE(status.at, in.size()) << name;
    if (status && h.has_sni) {
      EXPECT_TRUE(test::lies_in(base::as_bytes(h.sni), in)) << name;
    }
  }
}

}  // namespace
}  // namespace millrace::tls::wire

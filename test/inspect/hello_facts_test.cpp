#include "inspect/hello_facts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace::inspect {
namespace {

std::vector<std::string> names(const hello_facts& f) {
  std::vector<std::string> out;
  f.for_each_alpn([&](std::string_view name) { out.emplace_back(name); });
  return out;
}

TEST(hello_facts, keeps_names_and_lists) {
  tls::wire::client_hello hello;
  hello.has_sni = true;
  hello.sni = "example.org";
  (void)hello.alpn.push_back("h3");
  (void)hello.alpn.push_back("hq-interop");
  (void)hello.cipher_suites.push_back(0x1301);
  (void)hello.supported_versions.push_back(0x0304);
  hello_facts f;
  f.assign(hello);
  EXPECT_TRUE(f.known);
  EXPECT_EQ(f.sni(), "example.org");
  EXPECT_EQ(names(f), (std::vector<std::string>{"h3", "hq-interop"}));
  EXPECT_EQ(f.cipher_count, 1u);
  EXPECT_EQ(f.ciphers[0], 0x1301u);
  EXPECT_EQ(f.tls_versions[0], 0x0304u);
  EXPECT_FALSE(f.sni_cut || f.alpn_cut || f.ciphers_cut);
}

TEST(hello_facts, adds_what_a_second_hello_offers_and_keeps_the_first) {
  tls::wire::client_hello first;
  (void)first.alpn.push_back("h3-28");
  tls::wire::client_hello second;
  (void)second.alpn.push_back("h3-27");
  (void)second.alpn.push_back("h3-28");
  hello_facts f;
  f.assign(first);
  f.assign(second);
  EXPECT_EQ(names(f), (std::vector<std::string>{"h3-28", "h3-27"}));
}

TEST(hello_facts, says_what_it_had_to_cut) {
  const std::string long_name(300, 'a');
  tls::wire::client_hello hello;
  hello.has_sni = true;
  hello.sni = long_name;
  std::vector<std::string> offered;
  for (int i = 0; i < 32; ++i) offered.push_back("name-" + std::to_string(i));
  for (const std::string& name : offered) (void)hello.alpn.push_back(name);
  for (std::uint16_t i = 0; i < 100; ++i) (void)hello.cipher_suites.push_back(i);
  hello_facts f;
  f.assign(hello);
  EXPECT_EQ(f.sni(), long_name.substr(0, max_sni_kept));
  EXPECT_TRUE(f.sni_cut);
  EXPECT_EQ(names(f).size(), max_alpn_kept);
  EXPECT_TRUE(f.alpn_cut);
  EXPECT_EQ(f.cipher_count, max_ciphers_kept);
  EXPECT_TRUE(f.ciphers_cut);
  hello_facts g;
  g.add_alpn(std::string(max_alpn_bytes_kept, 'x'));
  g.add_alpn("y");
  EXPECT_EQ(names(g).size(), 1u);
  EXPECT_TRUE(g.alpn_cut);
}

}  // namespace
}  // namespace millrace::inspect

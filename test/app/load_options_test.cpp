#include "app/load_options.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace millrace::app {
namespace {

base::ip_address address(std::string_view text) { return base::ip_address::parse(text).value(); }

TEST(load_target, reads_address_port_and_method) {
  const auto plain = parse_load_target("srmp+udp://198.18.0.1:5501");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain.value().where, (base::endpoint{address("198.18.0.1"), 5501}));
  EXPECT_EQ(plain.value().method, "");
  const auto call = parse_load_target("srmp+udp://[2001:db8::1]:7000/Api/All");
  ASSERT_TRUE(call);
  EXPECT_EQ(call.value().where, (base::endpoint{address("2001:db8::1"), 7000}));
  EXPECT_EQ(call.value().method, "Api/All");
  EXPECT_EQ(parse_load_target("srmp+udp://198.18.0.1/").value().where.port, 5500) << "the default";
  EXPECT_EQ(parse_load_target("srmp+udp://[::1]").value().where.port, 5500);
}

TEST(load_target, keeps_a_path_of_hq_whole) {
  const auto body = parse_load_target("hq://198.18.0.1:4433/bytes/10000000");
  ASSERT_TRUE(body);
  EXPECT_EQ(body.value().scheme, load_scheme::hq);
  EXPECT_EQ(body.value().where, (base::endpoint{address("198.18.0.1"), 4433}));
  EXPECT_EQ(body.value().path, "/bytes/10000000");
  const auto odd = parse_load_target("hq://[2001:db8::1]/a//b?c=[d]:9#e");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd.value().where, (base::endpoint{address("2001:db8::1"), 443})) << "the default";
  EXPECT_EQ(odd.value().path, "/a//b?c=[d]:9#e");
  EXPECT_EQ(parse_load_target("hq://198.18.0.1").value().path, "/");
  EXPECT_FALSE(parse_load_target("hq://198.18.0.1:0/x"));
  EXPECT_FALSE(parse_load_target("hq:///x"));
}

TEST(load_target, reads_srmp_over_quic) {
  const auto call = parse_load_target("srmp+quic://[2001:db8::1]:4433/Api/All");
  ASSERT_TRUE(call);
  EXPECT_EQ(call.value().scheme, load_scheme::srmp_quic);
  EXPECT_EQ(call.value().where, (base::endpoint{address("2001:db8::1"), 4433}));
  EXPECT_EQ(call.value().method, "Api/All");
  EXPECT_EQ(call.value().path, "");
  const auto plain = parse_load_target("srmp+quic://198.18.0.1");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain.value().where.port, 443) << "QUIC's, not SRMP's";
  EXPECT_EQ(plain.value().method, "");
}

TEST(load_target, refuses_what_is_none) {
  for (const char* text :
       {"", "198.18.0.1:5500", "srmp+udp://", "srmp+udp://:5500", "srmp+udp://localhost:5500", "srmp+udp://1.2.3:5500",
        "srmp+udp://198.18.0.1:", "srmp+udp://198.18.0.1:0", "srmp+udp://198.18.0.1:65536", "srmp+udp://198.18.0.1:5x",
        "srmp+udp://2001:db8::1:5500", "srmp+udp://[2001:db8::1:5500", "srmp+udp://[198.18.0.1]:5500",
        "srmp+udp://[2001:db8::1]5500", "ftp://198.18.0.1"}) {
    const auto refused = parse_load_target(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_TRUE(refused.error().unusable);
    EXPECT_NE(refused.error().what.find(text), std::string::npos) << "names the argument";
  }
}

TEST(load_target, says_which_schemes_come_later) {
  for (const std::string scheme : {"srmp+tcp", "http", "ws"}) {
    const auto refused = parse_load_target(scheme + "://198.18.0.1:80/");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().what.find("not there yet"), std::string::npos) << refused.error().what;
  }
}

// What is refused, and the word that the message holds. parse_load_options() prints it.
int status_of(std::vector<std::string> words, load_options& out) {
  invocation call;
  call.role_args = std::move(words);
  return parse_load_options(call, out).value_or(exit_done);
}

TEST(load_options, settle_by_the_target) {
  load_options v4;
  ASSERT_EQ(status_of({"srmp+udp://198.18.0.1"}, v4), exit_done);
  EXPECT_EQ(v4.asked.ask, loadgen::load_ask::echo);
  EXPECT_EQ(v4.asked.size, 28u);
  EXPECT_EQ(v4.asked.duration_ns, 5'000'000'000u);
  ASSERT_EQ(v4.host.addresses.size(), 1u);
  EXPECT_EQ(v4.host.addresses[0].address, address("198.18.0.2"));
  EXPECT_EQ(v4.host.addresses[0].prefix_length, 24);
  load_options v6;
  ASSERT_EQ(
      status_of({"--target", "srmp+udp://[2001:db8:18::1]/Echo", "--gateway", "2001:db8:18::9", "--requests", "10k"},
                v6),
      exit_done);
  EXPECT_EQ(v6.asked.ask, loadgen::load_ask::rpc_echo);
  EXPECT_EQ(v6.asked.requests, 10'000u);
  EXPECT_EQ(v6.asked.duration_ns, 0u) << "so many requests take as long as they take";
  EXPECT_EQ(v6.host.addresses[0].address, address("2001:db8:18::2"));
  ASSERT_EQ(v6.host.routes.size(), 1u);
  EXPECT_EQ(v6.host.routes[0].gateway, address("2001:db8:18::9"));
  load_options call;
  ASSERT_EQ(status_of({"srmp+udp://198.18.0.1/Api/All", "--duration", "2"}, call), exit_done);
  EXPECT_EQ(call.asked.ask, loadgen::load_ask::rpc_call);
  EXPECT_EQ(call.asked.method, "Api/All");
  load_options one_way;
  ASSERT_EQ(status_of({"srmp+udp://198.18.0.1", "--one-way", "--size", "1K", "--rate", "2M"}, one_way), exit_done);
  EXPECT_EQ(one_way.asked.ask, loadgen::load_ask::one_way);
  EXPECT_EQ(one_way.asked.size, 1024u);
  EXPECT_EQ(one_way.asked.rate, 2'000'000u);
}

TEST(load_options, of_hq_settle_by_path_and_mtu) {
  load_options plain;
  ASSERT_EQ(status_of({"hq://198.18.0.1/bytes/1000"}, plain), exit_done);
  const loadgen::fetch_settings& s = plain.quic.asked;
  EXPECT_EQ(plain.scheme, load_scheme::hq);
  EXPECT_EQ(s.target, (base::endpoint{address("198.18.0.1"), 443}));
  EXPECT_EQ(s.source, address("198.18.0.2"));
  EXPECT_EQ(s.connections, 1u);
  EXPECT_EQ(s.window, 1u);
  EXPECT_EQ(s.expected_bytes, 1000u);
  EXPECT_TRUE(s.checks_pattern);
  EXPECT_EQ(s.duration_ns, 5'000'000'000u);
  EXPECT_EQ(s.patience_ns, 5'000'000'000u);
  EXPECT_EQ(s.endpoint.transport.max_datagram_bytes, 1472u);
  EXPECT_EQ(s.server_name, "198.18.0.1");
  EXPECT_EQ(plain.quic.offered.suites.size(), 3u);
  EXPECT_FALSE(s.resumes || s.early_data);

  load_options full;
  ASSERT_EQ(status_of({"hq://[2001:db8:18::1]/index.html",
                       "--connections",
                       "4",
                       "--streams",
                       "300",
                       "--requests",
                       "1k",
                       "--requests-each",
                       "10",
                       "--early-data",
                       "--ciphers",
                       "chacha20,aes128",
                       "--quic-version",
                       "v2",
                       "--key-update",
                       "1M",
                       "--pin",
                       "abc",
                       "--server-name",
                       "www.test",
                       "--keylog",
                       "keys",
                       "--congestion",
                       "bbr",
                       "--migrate-every",
                       "0.5",
                       "--mtu",
                       "9000"},
                      full),
            exit_done);
  const loadgen::fetch_settings& f = full.quic.asked;
  EXPECT_EQ(f.connections, 4u);
  EXPECT_EQ(f.window, 300u);
  EXPECT_EQ(f.requests, 1000u);
  EXPECT_EQ(f.requests_each, 10u);
  EXPECT_EQ(f.duration_ns, 0u);
  EXPECT_TRUE(f.resumes && f.early_data) << "0-RTT needs a ticket";
  EXPECT_EQ(f.expected_bytes, 0u);
  EXPECT_FALSE(f.checks_pattern);
  EXPECT_EQ(f.version, quic::wire::version_2);
  EXPECT_EQ(f.update_keys_every, 1u << 20);
  EXPECT_EQ(f.migrate_every_ns, 500'000'000u);
  EXPECT_EQ(f.endpoint.transport.max_datagram_bytes, 9000 - 48);
  EXPECT_EQ(f.endpoint.transport.congestion, quic::recovery::congestion_kind::bbr);
  EXPECT_EQ(f.server_name, "www.test");
  EXPECT_EQ(full.quic.pin, "abc");
  EXPECT_EQ(full.quic.keylog, "keys");
  ASSERT_EQ(full.quic.offered.suites.size(), 2u);
  EXPECT_EQ(full.quic.offered.suites[0], tls::cipher_suite::chacha20_poly1305_sha256) << "ours first";
  load_options draft;
  ASSERT_EQ(status_of({"hq://198.18.0.1/x", "--quic-version", "0xff00001d", "--max-datagram", "1200"}, draft),
            exit_done);
  EXPECT_EQ(draft.quic.asked.version, 0xff00'001du);
  EXPECT_EQ(draft.quic.asked.endpoint.transport.max_datagram_bytes, 1200u);
}

TEST(load_options, of_srmp_over_quic_settle_as_srmp_and_as_quic) {
  load_options plain;
  ASSERT_EQ(status_of({"srmp+quic://198.18.0.1"}, plain), exit_done);
  const loadgen::srmp_quic_settings& s = plain.quic.messages;
  EXPECT_EQ(s.load.target, (base::endpoint{address("198.18.0.1"), 443}));
  EXPECT_EQ(s.load.source, address("198.18.0.2"));
  EXPECT_EQ(s.load.connections, 1u);
  EXPECT_EQ(s.streams, 1u);
  EXPECT_EQ(s.load.window, 32u);
  EXPECT_EQ(s.load.ask, loadgen::load_ask::echo);
  EXPECT_EQ(s.load.size, 28u);
  EXPECT_EQ(s.server_name, "198.18.0.1");
  EXPECT_EQ(s.endpoint.transport.max_datagram_bytes, 1472u);
  load_options full;
  ASSERT_EQ(status_of({"srmp+quic://[2001:db8:18::1]:4433/Echo",
                       "--connections",
                       "3",
                       "--streams",
                       "300",
                       "--window",
                       "7",
                       "--size",
                       "100",
                       "--rate",
                       "1k",
                       "--requests",
                       "50",
                       "--quic-version",
                       "v2",
                       "--pin",
                       "abc",
                       "--server-name",
                       "a.test",
                       "--congestion",
                       "bbr",
                       "--ciphers",
                       "chacha20",
                       "--max-datagram",
                       "1300",
                       "--timeout",
                       "3"},
                      full),
            exit_done);
  const loadgen::srmp_quic_settings& f = full.quic.messages;
  EXPECT_EQ(f.load.connections, 3u);
  EXPECT_EQ(f.streams, 300u);
  EXPECT_EQ(f.load.window, 7u);
  EXPECT_EQ(f.load.ask, loadgen::load_ask::rpc_echo);
  EXPECT_EQ(f.load.size, 100u);
  EXPECT_EQ(f.load.rate, 1000u);
  EXPECT_EQ(f.load.requests, 50u);
  EXPECT_EQ(f.load.duration_ns, 0u);
  EXPECT_EQ(f.load.timeout_ns, 3'000'000'000u);
  EXPECT_EQ(f.version, quic::wire::version_2);
  EXPECT_EQ(f.server_name, "a.test");
  EXPECT_EQ(f.endpoint.transport.max_datagram_bytes, 1300u);
  EXPECT_EQ(f.endpoint.transport.congestion, quic::recovery::congestion_kind::bbr);
  EXPECT_EQ(full.quic.pin, "abc");
  ASSERT_EQ(full.quic.offered.suites.size(), 1u);
}

TEST(load_options, of_h3_may_have_a_body) {
  load_options plain;
  ASSERT_EQ(status_of({"h3://198.18.0.1/json"}, plain), exit_done);
  EXPECT_EQ(plain.quic.asked.body, "");
  load_options sized;
  ASSERT_EQ(status_of({"h3://198.18.0.1/echo", "--data-size", "3K"}, sized), exit_done);
  EXPECT_EQ(sized.quic.asked.body.size(), 3072u);
  EXPECT_EQ(sized.quic.asked.body.substr(0, 28), "abcdefghijklmnopqrstuvwxyzab");
  EXPECT_EQ(sized.quic.asked.body_type, "application/octet-stream");
  const std::string name = testing::TempDir() + "load_options_body";
  std::ofstream(name, std::ios::binary) << std::string("a\0b", 3);
  load_options read;
  ASSERT_EQ(status_of({"h3://198.18.0.1/echo", "--data", name}, read), exit_done);
  EXPECT_EQ(read.quic.asked.body, std::string("a\0b", 3));
  std::filesystem::remove(name);
}

TEST(load_options, refuse_what_cannot_be) {
  const std::string over_quic = "srmp+quic://198.18.0.1";
  const std::string target = "srmp+udp://198.18.0.1";
  const std::string hq = "hq://198.18.0.1/bytes/1000";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"http://198.18.0.1/"},
                                             {target, "--address", "198.18.0.2"},
                                             {target, "--address", "198.18.0.0/24"},
                                             {target, "--address", "198.18.0.2/33"},
                                             {target, "--address", "2001:db8::2/64"},
                                             {target, "--gateway", "10.0.0.1"},
                                             {target, "--gateway", "2001:db8::1"},
                                             {target, "--connections", "0"},
                                             {target, "--streams", "256"},
                                             {target, "--size", "65001"},
                                             {target, "--timeout", "0"},
                                             {target, "--local-port", "65530", "--connections", "10"},
                                             {target + "/Echo", "--size", "10"},
                                             {target + "/Echo", "--one-way"},
                                             {target, "--nonsense"},
                                             {target, "--resume"},
                                             {target, "--ciphers", "aes128"},
                                             {target, "--keylog", "keys"},
                                             {target, "--data-size", "10"},
                                             {over_quic, "--data", "file"},
                                             {hq, "--data-size", "10"},
                                             {"h3://198.18.0.1/echo", "--data", "/nonexistent"},
                                             {"h3://198.18.0.1/echo", "--data", "/"},
                                             {"h3://198.18.0.1/echo", "--data-size", "2G"},
                                             {"h3://198.18.0.1/echo", "--data-size", "1", "--data", "/etc/passwd"},
                                             {hq, "--rate", "1k"},
                                             {hq, "--size", "10"},
                                             {hq, "--fill"},
                                             {hq, "--one-way"},
                                             {hq, "--timeout", "2"},
                                             {hq, "--first-generation"},
                                             {hq, "--ca", "file", "--pin", "x"},
                                             {hq, "--pin", "x", "--insecure"},
                                             {hq, "--ciphers", "des"},
                                             {hq, "--ciphers", "aes128,"},
                                             {hq, "--ciphers", "aes128,aes128"},
                                             {hq, "--quic-version", "v3"},
                                             {hq, "--quic-version", "0x1"},
                                             {hq, "--quic-version", "0x1a2a3a4a"},
                                             {hq, "--congestion", "reno"},
                                             {hq, "--max-datagram", "1199"},
                                             {hq, "--max-datagram", "1473"},
                                             {hq, "--mtu", "1200"},
                                             {hq, "--streams", "4097"},
                                             {hq, "--streams", "1000", "--connections", "1000"},
                                             {hq, "--local-port", "65533", "--migrate-every", "1"},
                                             {target, "--window", "3"},
                                             {hq, "--window", "3"},
                                             {over_quic, "--window", "256"},
                                             {over_quic, "--streams", "1025"},
                                             {over_quic, "--streams", "1000", "--connections", "100"},
                                             {over_quic, "--fill"},
                                             {over_quic, "--requests-each", "1"},
                                             {over_quic, "--resume"},
                                             {over_quic, "--early-data"},
                                             {over_quic, "--key-update", "1000"},
                                             {over_quic, "--migrate-every", "1"},
                                             {over_quic, "--size", "65001"},
                                             {over_quic, "--mtu", "1200"},
                                             {over_quic + "/Echo", "--one-way"},
                                             {"hq://198.18.0.1/a b"}}) {
    load_options out;
    EXPECT_EQ(status_of(words, out), exit_unusable) << (words.empty() ? "no target" : words.back());
  }
}

}  // namespace
}  // namespace millrace::app

#include "inspect/json_object.hpp"

#include <gtest/gtest.h>

#include "inspect/analysis.hpp"
#include "inspect/quic_packets.hpp"
#include "inspect/table.hpp"

namespace millrace::inspect::test {
namespace {

std::string line_of(const auto& object, std::string_view capture = {}) {
  std::string text;
  json::string_sink sink(text);
  json::writer out(sink);
  write_object(object, capture, out);
  EXPECT_EQ(out.end_document(), json::write_errc::ok);
  return text;
}

TEST(json_object, says_all_that_was_learned_of_a_connection) {
  analysis a;
  a.now = 1'600'000'000'250'000'000;
  a.to_server(initial(engine(), {}, crypto_frame(0, client_hello({}))));
  const std::string line = line_of(a.only(), "file.pcap");
  for (const std::string_view part :
       {R"("proto":"quic","capture":"file.pcap","src":"10.0.0.1:50000","dst":"192.0.2.1:443","role_known":true)",
        R"("version":"0x00000001","version_name":"v1","versions":["0x00000001"])",
        R"("dcid":"0102030405060708","scid":"090909","sni":"server.test","alpn":["h3"],"ja4":"q13d0205h3_)",
        R"("tls_versions":["0x0304"],"cipher_suites":["0x1301","0x1303"])",
        R"("transport_parameters":{"max_idle_timeout":100})",
        R"("packets":{"initial":1,"zero_rtt":0,"handshake":0,"retry":0,"version_negotiation":0,"one_rtt":0})",
        R"("frames":1,"bytes":1242,"first_ts":1600000000.25,"last_ts":1600000000.25)"})
    EXPECT_NE(line.find(part), std::string::npos) << part << "\n" << line;
}

TEST(json_object, leaves_out_what_is_not_known) {
  analysis a;
  a.to_client(sealed_long(1, 2, byte_list{1}, byte_list{2}));
  const std::string line = line_of(a.only());
  for (const std::string_view key : {R"("capture")", R"("dcid")", R"("scid")", R"("sni")", R"("alpn")", R"("ja4")",
                                     R"("cipher_suites")", R"("moved_to")", R"("cut")"})
    EXPECT_EQ(line.find(key), std::string::npos) << key;
  EXPECT_NE(line.find(R"("role_known":false)"), std::string::npos);
}

TEST(json_object, writes_ipv6_endpoints_in_brackets) {
  analysis a;
  a.client = at("2001:db8::1", 50000);
  a.server = at("2001:db8::2", 443);
  a.to_server(initial(engine(), {}, crypto_frame(0, client_hello({}))));
  EXPECT_NE(line_of(a.only()).find(R"("src":"[2001:db8::1]:50000","dst":"[2001:db8::2]:443")"), std::string::npos);
}

TEST(json_object, says_an_empty_source_id_and_no_oversized_one) {
  connection c{};
  c.has_initial = true;
  EXPECT_NE(line_of(c).find(R"("dcid":"","scid":"")"), std::string::npos);
  c.scid.assign(byte_list(21, 1));
  EXPECT_NE(line_of(c).find(R"("dcid":"")"), std::string::npos);
  EXPECT_EQ(line_of(c).find("scid"), std::string::npos);
}

TEST(json_object, names_flows_by_protocol) {
  flow f{};
  f.key.family = base::ip_family::v4;
  f.kind = flow_kind::srmp;
  f.messages = 3;
  f.packets = 2;
  EXPECT_NE(line_of(f).find(R"("proto":"srmp")"), std::string::npos);
  EXPECT_NE(line_of(f).find(R"("messages":3,"frames":2)"), std::string::npos);
  f.kind = flow_kind::tcp;
  EXPECT_NE(line_of(f).find(R"("proto":"tcp")"), std::string::npos);
  EXPECT_EQ(line_of(f).find("messages"), std::string::npos);
}

TEST(json_object, names_versions) {
  std::array<char, 16> room;
  EXPECT_EQ(version_name(1, room), "v1");
  EXPECT_EQ(version_name(0x6B33'43CF, room), "v2");
  EXPECT_EQ(version_name(0x709A'50C4, room), "v2-draft");
  EXPECT_EQ(version_name(0xFF00'001D, room), "draft-29");
  EXPECT_EQ(version_name(0x5130'3433, room), "Q043");
  EXPECT_EQ(version_name(0x5430'3531, room), "T051");
  EXPECT_EQ(version_name(0xFACE'B001, room), "mvfst");
  EXPECT_EQ(version_name(0x0A1A'2A3A, room), "reserved");
  EXPECT_EQ(version_name(0x1234'5678, room), "");
}

TEST(table, shows_names_that_would_move_the_cursor_as_text) {
  EXPECT_EQ(printable("a\x1b[2Jb\\", 100), "a\\x1b[2Jb\\x5c");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("\xff\xff", 5), "\\xff...");
}

TEST(table, lines_its_columns_up_and_prints_the_heading_once) {
  analysis a;
  a.to_server(initial(engine(), {}, crypto_frame(0, client_hello({}))));
  const connection& c = a.only();
  std::FILE* out = std::tmpfile();
  ASSERT_NE(out, nullptr);
  connection_table table;
  table.print(out);
  EXPECT_EQ(std::ftell(out), 0) << "no rows, no heading";
  table.add(c);
  table.print(out);
  table.add(c);
  table.print(out);
  std::rewind(out);
  std::string text(4096, 0);
  text.resize(std::fread(text.data(), 1, text.size(), out));
  std::fclose(out);
  EXPECT_EQ(text.find("CLIENT"), 0u);
  EXPECT_EQ(text.find("CLIENT", 1), std::string::npos);
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_NE(text.find("server.test"), std::string::npos);
  const std::size_t heading = text.find("SNI");
  const std::size_t line = text.find('\n') + 1;
  EXPECT_EQ(text.substr(line + heading, 11), "server.test");
}

}  // namespace
}  // namespace millrace::inspect::test

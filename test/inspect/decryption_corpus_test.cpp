// The documented connection of "The Illustrated QUIC Connection", datagram by datagram; and captures with blocks of
// secrets, cut and damaged everywhere.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "inspect/analysis.hpp"
#include "inspect/secret_conversation.hpp"
#include "net/wire/capture.hpp"
#include "support/corpus.hpp"
#include "support/hostile.hpp"

namespace millrace::inspect::test {
namespace {

analyzer_options with_keys() {
  analyzer_options options = analysis::small();
  options.caps.max_decrypted = 2;
  options.caps.max_secrets = 4;
  options.caps.handshake_blocks = 16;
  options.caps.max_streams = 8;
  options.caps.stream_pieces = 8;
  return options;
}

void feed(analyzer& a, base::byte_view file, auto after_record) {
  const auto reader = std::make_unique<net::wire::capture_reader>(file);
  for (auto event = reader->next(); event != net::wire::capture_event::end; event = reader->next()) {
    if (event == net::wire::capture_event::secrets) a.add_secrets(reader->secrets());
    if (event != net::wire::capture_event::record) continue;
    const net::wire::capture_record& r = reader->record();
    a.on_packet(r.data, net::wire::from_linktype_number(r.link), r.ts_ns, r.original_length);
    after_record();
  }
}

struct step {  // what one datagram adds
  peer from;
  std::uint64_t initial;
  std::uint64_t handshake;
  std::uint64_t one_rtt;
  std::vector<std::pair<frame_kind, std::uint64_t>> frames;
};

TEST(decryption_corpus, illustrated_connection_is_opened_datagram_by_datagram) {
  MILLRACE_NEEDS_CORPUS();
  using enum frame_kind;
  const std::vector<step> steps = {
      {peer::client, 1, 0, 0, {{crypto, 1}}},                         // ClientHello
      {peer::server, 1, 1, 0, {{ack, 1}, {crypto, 2}}},               // ServerHello; the first half of the flight
      {peer::server, 0, 1, 0, {{crypto, 1}}},                         // the second
      {peer::client, 1, 1, 0, {{ack, 2}}},                            //
      {peer::client, 0, 1, 1, {{ack, 1}, {crypto, 1}, {stream, 1}}},  // Finished, "ping"
      {peer::server, 0, 1, 1, {{ack, 2}, {handshake_done, 1}, {stream, 1}}},  // "pong"
      {peer::client, 0, 0, 1, {{ack, 1}}},                                    //
      {peer::server, 0, 0, 1, {{connection_close, 1}}},                       //
  };
  const auto folder = millrace::test::corpus() / "pcap" / "quic";
  const byte_list keys = millrace::test::read_file(folder / "illustrated-quic-capture.pcap.keys");
  const byte_list file = millrace::test::read_file(folder / "illustrated-quic-capture.pcap");
  analysis a(with_keys());
  a.under_test.add_key_log(base::as_text(keys));
  a.under_test.end_key_log();
  session_facts expected{};
  std::size_t n = 0;
  feed(a.under_test, file, [&] {
    ASSERT_LT(n, steps.size());
    const step& s = steps[n++];
    side_facts& side = expected.of(s.from);
    side.packets.add(packet_level::initial, s.initial);
    side.packets.add(packet_level::handshake, s.handshake);
    side.packets.add(packet_level::one_rtt, s.one_rtt);
    for (const auto& [kind, count] : s.frames) side.frames.add(kind, count);
    const session_facts& got = a.under_test.quic().decryption().sessions().at(0).facts;
    for (const peer who : {peer::client, peer::server}) {
      EXPECT_EQ(got.of(who).packets.of, expected.of(who).packets.of) << "datagram " << n;
      EXPECT_EQ(got.of(who).frames.of, expected.of(who).frames.of) << "datagram " << n;
    }
    EXPECT_EQ(got.unopened.total(), 0u) << "datagram " << n;
  });
  EXPECT_EQ(n, steps.size());
}

// ---- blocks of secrets

void append_le32(byte_list& to, std::uint32_t v) {
  for (unsigned shift = 0; shift < 32; shift += 8) to.push_back(static_cast<std::uint8_t>(v >> shift));
}

void append_block(byte_list& to, std::uint32_t type, byte_list body) {
  body.resize((body.size() + 3) / 4 * 4);
  const auto size = static_cast<std::uint32_t>(body.size() + 12);
  append_le32(to, type);
  append_le32(to, size);
  append(to, body);
  append_le32(to, size);
}

// A pcapng whose secrets open the whole handshake behind them.
byte_list capture_with_secrets() {
  conversation talk(engine());
  byte_list file;
  append_block(file, 0x0A0D'0D0A, millrace::test::from_hex("4d3c2b1a01000000ffffffffffffffff"));
  byte_list secrets;
  const std::string text = talk.key_log();
  append_le32(secrets, net::wire::secrets_tls_key_log);
  append_le32(secrets, static_cast<std::uint32_t>(text.size()));
  append(secrets, base::as_bytes(text));
  append_block(file, 10, secrets);
  append_block(file, 1, millrace::test::from_hex("0100000000000000"));
  talk.handshake_with([&](bool from_client, const byte_list& datagram) {
    const base::endpoint client = at("10.0.0.1", 50000);
    const base::endpoint server = at("192.0.2.1", 443);
    const byte_list frame =
        from_client ? analysis::frame(client, server, datagram) : analysis::frame(server, client, datagram);
    byte_list body;
    for (int n = 0; n < 3; ++n) append_le32(body, 0);  // interface, time
    append_le32(body, static_cast<std::uint32_t>(frame.size()));
    append_le32(body, static_cast<std::uint32_t>(frame.size()));
    append(body, frame);
    append_block(file, 6, body);
  });
  return file;
}

// Bytes from the file's beginning to the end of its secrets.
constexpr std::size_t section_bytes = 28;

TEST(decryption_captures, secrets_in_a_capture_open_what_is_behind_them) {
  analysis a(with_keys());
  feed(a.under_test, capture_with_secrets(), [] {});
  a.under_test.finish();
  ASSERT_TRUE(a.told.sessions.size() == 1 && a.told.sessions[0]);
  EXPECT_EQ(a.told.sessions[0]->opened(), 5u);
  EXPECT_EQ(a.told.sessions[0]->unopened.total(), 0u);
}

TEST(decryption_captures, survive_every_truncation) {
  const byte_list file = capture_with_secrets();
  analysis a(with_keys());
  millrace::test::guard_page guard(file.size() + 1);
  for (std::size_t size = 0; size < file.size(); size += size < 1200 ? 1 : 17) {
    feed(a.under_test, guard.place(base::byte_view(file).first(size)), [] {});
    a.under_test.finish();
    a.expect_conservation();
  }
}

TEST(decryption_captures, survive_every_change_of_a_byte_in_their_secrets) {
  const byte_list good = capture_with_secrets();
  const std::size_t secrets_end = section_bytes + base::load_le32(good.data() + section_bytes + 4);
  millrace::test::guard_page guard(good.size() + 1);
  std::size_t opened_all = 0;
  for (std::size_t i = section_bytes; i < secrets_end; ++i) {
    byte_list file = good;
    file[i] ^= static_cast<std::uint8_t>(1 + i % 255);
    analysis a(with_keys());
    feed(a.under_test, guard.place(file), [] {});
    a.under_test.finish();
    a.expect_conservation();
    for (const auto& s : a.told.sessions) opened_all += s && s->opened() == 5 ? 1 : 0;
  }
  EXPECT_GT(opened_all, 0u);  // where only the secret of 0-RTT was hit
  EXPECT_LT(opened_all, secrets_end - section_bytes);
}

TEST(decryption_captures, packets_cut_and_changed_anywhere_open_nothing_and_end_nothing) {
  conversation talk(engine());
  analysis a(with_keys());
  a.under_test.add_key_log(talk.key_log());
  a.under_test.end_key_log();
  talk.handshake_with([&](bool from_client, const byte_list& datagram) {
    from_client ? a.to_server(datagram) : a.to_client(datagram);
  });
  const byte_list good =
      analysis::frame(a.client, a.server, talk.one_rtt(true, joined({stream_frame(0, 0, byte_list(30, 1)), {0x01}})));
  const std::size_t headers = 42;  // Ethernet, IPv4, UDP
  millrace::test::guard_page guard(good.size() + 1);
  const auto give = [&](base::byte_view frame) {
    a.under_test.on_packet(guard.place(frame), net::wire::link_type::ethernet, a.now,
                           static_cast<std::uint32_t>(good.size()));
  };
  for (std::size_t size = 0; size < good.size(); ++size) give(base::byte_view(good).first(size));
  for (std::size_t i = headers + 1 + talk.spec.server_cid.size(); i < good.size(); ++i) {
    for (unsigned by = 1; by < 256; by += 5) {
      byte_list changed = good;
      changed[i] ^= static_cast<std::uint8_t>(by);
      give(changed);
    }
  }
  const session_facts& facts = a.under_test.quic().decryption().sessions().at(0).facts;
  EXPECT_EQ(facts.of(peer::client).packets.get(packet_level::one_rtt), 0u);
  EXPECT_GT(facts.unopened.get(unopened_kind::auth_failed), 1000u);
  give(good);
  EXPECT_EQ(facts.of(peer::client).packets.get(packet_level::one_rtt), 1u);
  EXPECT_EQ(facts.of(peer::client).stream_bytes, 30u);
  a.expect_conservation();
}

}  // namespace
}  // namespace millrace::inspect::test

// Connections whose secrets are known, packet by packet; and what a stranger, a wrong key log or a limit makes of them.
#include "inspect/decryptor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "inspect/decryption.hpp"

namespace millrace::inspect::test {
namespace {

using stats::drop_reason;

TEST_F(decryption, opens_every_level_in_both_directions_under_every_suite_and_version) {
  for (const auto version : {quic::wire::version_1, quic::wire::version_2, 0xff00'0016u, 0xff00'001du}) {
    for (const cipher_suite suite :
         {cipher_suite::aes_128_gcm_sha256, cipher_suite::aes_256_gcm_sha384, cipher_suite::chacha20_poly1305_sha256}) {
      analysis fresh(small_with_keys());
      conversation talk(engine(), {.version = version, .suite = suite});
      if (version == 0xff00'0016u) {  // parameters as drafts before 27 wrote them
        talk.client.parameters = {0, 0};
        talk.client.parameters_type = 0xFFA5;
      }
      fresh.under_test.add_key_log(talk.key_log());
      talk.handshake_with([&](bool from_client, const byte_list& datagram) {
        from_client ? fresh.to_server(datagram) : fresh.to_client(datagram);
      });
      fresh.to_server(talk.one_rtt(true, stream_frame(0, 0, byte_list{1, 2, 'x', 'y'}, true)));
      fresh.under_test.finish();
      ASSERT_EQ(fresh.told.sessions.size(), 1u);
      ASSERT_TRUE(fresh.told.sessions[0]);
      const session_facts& f = *fresh.told.sessions[0];
      EXPECT_EQ(f.cipher_suite, static_cast<std::uint16_t>(suite));
      EXPECT_EQ(f.of(peer::client).packets.get(packet_level::one_rtt), 1u);
      EXPECT_EQ(f.of(peer::client).stream_bytes, 4u);
      EXPECT_EQ(f.of(peer::client).h3_frames.get(h3_frame_kind::headers), 1u);
      if (version != 0xff00'0016u) expect_whole_handshake(f);
    }
  }
}

TEST_F(decryption, without_secrets_tells_nothing_and_keeps_nothing) {
  conversation talk(engine());
  handshake(talk);
  EXPECT_EQ(seen.connections().size(), 1u);
  EXPECT_FALSE(seen.told.sessions[0]);
  expect_nothing_kept();
  EXPECT_EQ(seen.under_test.count().packets_opened.get(), 0u);
}

TEST_F(decryption, with_secrets_of_others_lets_go_at_the_client_hello) {
  conversation talk(engine());
  std::string others = talk.key_log();
  for (std::size_t at = others.find(" 0001"); at != std::string::npos; at = others.find(" 0001", at))
    others.replace(at, 5, " ff01");
  add_key_log(others);
  handshake(talk);
  EXPECT_EQ(seen.under_test.quic().decryption().sessions().in_use(), 0u);
  EXPECT_EQ(seen.connections().size(), 1u);
  EXPECT_FALSE(seen.told.sessions[0]);
  EXPECT_EQ(seen.under_test.count().sessions.get(), 0u);
}

TEST_F(decryption, follows_key_updates_of_both_sides_and_packets_that_come_late) {
  conversation talk(engine());
  add_key_log(talk.key_log());
  handshake(talk);
  const byte_list ping = {0x01};
  feed(true, talk.one_rtt(true, ping));
  const byte_list late = talk.one_rtt(true, ping);
  talk.update_keys(true);
  feed(true, talk.one_rtt(true, ping));
  feed(true, late);  // sealed before the update, seen behind it
  talk.update_keys(false);
  feed(false, talk.one_rtt(false, ping));
  for (int n = 0; n < 5; ++n) {
    talk.update_keys(true);
    talk.update_keys(false);
    feed(true, talk.one_rtt(true, ping));
    feed(false, talk.one_rtt(false, ping));
  }
  const session_facts& f = facts();
  EXPECT_EQ(f.unopened.total(), 0u);
  EXPECT_EQ(f.of(peer::client).key_updates, 6u);
  EXPECT_EQ(f.of(peer::server).key_updates, 6u);
  EXPECT_EQ(f.of(peer::client).frames.get(frame_kind::ping), 8u);
}

TEST_F(decryption, opens_early_data_before_the_server_has_chosen) {
  for (const cipher_suite suite :
       {cipher_suite::aes_128_gcm_sha256, cipher_suite::aes_256_gcm_sha384, cipher_suite::chacha20_poly1305_sha256}) {
    analysis fresh(small_with_keys());
    conversation talk(engine(), {.suite = suite});
    fresh.under_test.add_key_log(talk.key_log());
    byte_list datagram = talk.initial(true, crypto_frame(0, talk.client_hello_message()));
    append(datagram, talk.early(stream_frame(0, 0, byte_list{1, 1, 'q'})));
    fresh.to_server(datagram);
    fresh.to_server(talk.early(stream_frame(0, 3, byte_list{0, 1, 'd'}, true)));
    fresh.under_test.finish();
    ASSERT_TRUE(fresh.told.sessions.size() == 1 && fresh.told.sessions[0]);
    const session_facts& f = *fresh.told.sessions[0];
    EXPECT_EQ(f.of(peer::client).packets.get(packet_level::zero_rtt), 2u);
    EXPECT_EQ(f.of(peer::client).stream_bytes, 6u);
    EXPECT_EQ(f.of(peer::client).h3_frames.get(h3_frame_kind::data), 1u);
    EXPECT_EQ(f.unopened.total(), 0u);
  }
}

TEST_F(decryption, says_why_a_packet_stays_closed) {
  conversation talk(engine());
  add_key_log(talk.line(traffic_label::client_handshake) + talk.line(traffic_label::server_handshake) +
              talk.line(traffic_label::server_application));
  handshake(talk);
  feed(true, talk.one_rtt(true, byte_list{0x01}));  // no_keys
  byte_list forged = talk.one_rtt(false, byte_list(20, 0x01));
  forged.back() ^= 1;
  feed(false, forged);                                         // auth_failed
  feed(false, short_packet(byte_list{0xc1, 0xc2, 0xc3}, 21));  // too short for a sample behind the ID
  const byte_list cut = talk.one_rtt(false, byte_list(300, 0x01));
  const byte_list frame = analysis::frame(seen.server, seen.client, cut);
  seen.raw(byte_list(frame.begin(), frame.end() - 40), frame.size());  // cut
  feed(false, talk.one_rtt(false, byte_list{0x01}));                   // and on it goes
  const session_facts& f = facts();
  EXPECT_EQ(f.unopened.get(unopened_kind::no_keys), 1u);
  EXPECT_EQ(f.unopened.get(unopened_kind::auth_failed), 1u);
  EXPECT_EQ(f.unopened.get(unopened_kind::malformed), 1u);
  EXPECT_EQ(f.unopened.get(unopened_kind::cut), 1u);
  EXPECT_EQ(f.of(peer::server).packets.get(packet_level::one_rtt), 2u);
  EXPECT_EQ(seen.anomalies(drop_reason::quic_decrypt_failed), 1u);
}

TEST_F(decryption, forged_packets_do_not_keep_true_ones_closed) {
  conversation talk(engine());
  add_key_log(talk.key_log());
  feed(true, talk.initial(true, crypto_frame(0, talk.client_hello_message())));
  const byte_list first = talk.server_first();
  feed(false, first);
  for (int n = 0; n < 40; ++n)
    feed(true, sealed_long(quic::wire::version_1, 2, talk.spec.server_cid, talk.spec.client_cid));
  feed(true, talk.handshake(true, crypto_frame(0, conversation::finished_message())));
  for (int n = 0; n < 40; ++n) feed(false, short_packet(talk.spec.client_cid));
  feed(false, talk.one_rtt(false, byte_list{0x1e}));
  const session_facts& f = facts();
  EXPECT_EQ(f.unopened.get(unopened_kind::auth_failed), 80u);
  EXPECT_EQ(f.of(peer::client).messages.get(handshake_kind::finished), 1u);
  EXPECT_EQ(f.of(peer::server).frames.get(frame_kind::handshake_done), 1u);
}

// A block of secrets in the midst of a capture, and a capture whose ServerHello is missing: the suite is found by
// trying.
TEST_F(decryption, opens_what_comes_behind_late_secrets_whatever_the_suite) {
  for (const cipher_suite suite :
       {cipher_suite::aes_128_gcm_sha256, cipher_suite::aes_256_gcm_sha384, cipher_suite::chacha20_poly1305_sha256}) {
    analysis fresh(small_with_keys());
    conversation talk(engine(), {.suite = suite});
    const auto feed_fresh = [&](bool from_client, const byte_list& datagram) {
      from_client ? fresh.to_server(datagram) : fresh.to_client(datagram);
    };
    talk.handshake_with(feed_fresh);
    const std::string text = talk.key_log();
    fresh.under_test.add_secrets({net::wire::secrets_tls_key_log, base::as_bytes(text)});
    feed_fresh(true, talk.one_rtt(true, byte_list{0x01}));
    feed_fresh(false, talk.one_rtt(false, byte_list{0x01}));
    fresh.under_test.finish();
    ASSERT_TRUE(fresh.told.sessions.size() == 1 && fresh.told.sessions[0]);
    EXPECT_EQ(fresh.told.sessions[0]->opened(), 2u);
    EXPECT_EQ(fresh.told.sessions[0]->cipher_suite, 0u);
    // What went by before is in the account: two Initials, two Handshake packets, one 1-RTT.
    EXPECT_EQ(fresh.told.sessions[0]->unopened.get(unopened_kind::no_keys), 5u);
    EXPECT_EQ(fresh.told.sessions[0]->unopened.total(), 5u);
    EXPECT_EQ(fresh.under_test.count().packets_opened.get(), 2u);
    EXPECT_EQ(fresh.under_test.count().packets_unopened.get(), 5u);
  }
}

TEST_F(decryption, skips_blocks_of_secrets_of_other_kinds) {
  const std::string text = conversation(engine()).key_log();
  seen.under_test.add_secrets({0x57474B4C, base::as_bytes(text)});  // WireGuard
  EXPECT_EQ(seen.under_test.secrets_unread(), 1u);
  EXPECT_FALSE(seen.under_test.quic().decryption().active());
}

TEST_F(decryption, goes_along_to_new_addresses_by_ids_that_were_announced_under_protection) {
  conversation talk(engine());
  add_key_log(talk.key_log());
  handshake(talk);
  const byte_list next_server = millrace::test::from_hex("a1a2a3a4a5a6a7a8a9aaabac");  // of another length
  const byte_list next_client = millrace::test::from_hex("b1b2b3b4b5");
  feed(false, talk.one_rtt(false, new_connection_id_frame(1, next_server)));
  feed(true, talk.one_rtt(true, new_connection_id_frame(1, next_client)));
  const base::endpoint moved = at("10.9.9.9", 6000);
  seen.udp(moved, seen.server, talk.one_rtt(true, byte_list{0x1a, 1, 2, 3, 4, 5, 6, 7, 8}, next_server));
  seen.udp(seen.server, moved, talk.one_rtt(false, byte_list{0x1b, 1, 2, 3, 4, 5, 6, 7, 8}, next_client));
  const session_facts& f = facts();
  EXPECT_EQ(f.unopened.total(), 0u);
  EXPECT_EQ(f.of(peer::client).frames.get(frame_kind::path_challenge), 1u);
  EXPECT_EQ(f.of(peer::server).frames.get(frame_kind::path_response), 1u);
  EXPECT_EQ(seen.told.connections[0].moved_to.size(), 1u);
}

TEST_F(decryption, keeps_the_newest_ids_when_more_are_announced_than_are_kept) {
  conversation talk(engine());
  add_key_log(talk.key_log());
  handshake(talk);
  byte_list last;
  for (std::uint8_t n = 1; n < 30; ++n) {
    last = {n, n, n, n, n, n, n, n};
    feed(false, talk.one_rtt(false, new_connection_id_frame(n, last)));
  }
  seen.udp(at("10.9.9.9", 6000), seen.server, talk.one_rtt(true, byte_list{0x01}, last));
  const session_facts& f = facts();
  EXPECT_EQ(f.of(peer::client).frames.get(frame_kind::ping), 1u);
  EXPECT_EQ(f.limits.get(session_limit::connection_ids), 0u);
}

TEST_F(decryption, follows_a_retry_whether_it_was_seen_or_not) {
  for (const bool shown : {true, false}) {
    analysis fresh(small_with_keys());
    conversation talk(engine());
    fresh.under_test.add_key_log(talk.key_log());
    fresh.to_server(talk.initial(true, crypto_frame(0, talk.client_hello_message())));
    const byte_list retry_cid = millrace::test::from_hex("e1e2e3e4e5e6");
    if (shown)
      fresh.to_client(retry(engine(), quic::wire::version_1, talk.spec.client_cid, retry_cid, talk.first_dcid,
                            base::as_bytes("a token")));
    talk.first_dcid = retry_cid;
    initial_spec second;
    second.dcid = retry_cid;
    second.scid = talk.spec.client_cid;
    second.token = {'a'};
    second.packet_number = 1;
    fresh.to_server(inspect::test::initial(engine(), second, crypto_frame(0, talk.client_hello_message())));
    fresh.to_client(talk.server_first());
    fresh.under_test.finish();
    ASSERT_TRUE(fresh.told.sessions.size() == 1 && fresh.told.sessions[0]) << shown;
    const session_facts& f = *fresh.told.sessions[0];
    EXPECT_EQ(f.unopened.total(), 0u) << shown;
    EXPECT_EQ(f.of(peer::client).packets.get(packet_level::initial), 2u);
    EXPECT_EQ(f.of(peer::client).messages.get(handshake_kind::client_hello), 1u);
    EXPECT_EQ(f.alpn(), "h3");
  }
}

TEST_F(decryption, tells_how_a_connection_ended) {
  conversation talk(engine());
  add_key_log(talk.key_log());
  handshake(talk);
  const std::string reason = std::string(150, 'r');
  byte_list close = {0x1d, 0x41, 0x02};
  append_varint(close, reason.size());
  append(close, base::as_bytes(reason));
  feed(true, talk.one_rtt(true, close));
  feed(false, talk.one_rtt(false, byte_list{0x1c, 0x0a, 0x08, 2, 'n', 'o'}));
  feed(false, talk.one_rtt(false, byte_list{0x1c, 0x00, 0x00, 0}));  // the first counts
  const session_facts& f = facts();
  const close_facts& c = f.of(peer::client).close;
  EXPECT_TRUE(c.seen && c.from_application && c.reason_cut);
  EXPECT_EQ(c.code, 0x102u);
  EXPECT_EQ(c.text(), reason.substr(0, max_reason_kept));
  const close_facts& s = f.of(peer::server).close;
  EXPECT_TRUE(s.seen && !s.from_application && !s.reason_cut);
  EXPECT_EQ(s.code, 0x0au);
  EXPECT_EQ(s.frame_type, 8u);
  EXPECT_EQ(s.text(), "no");
}

TEST_F(decryption, steps_over_extensions_it_knows_and_counts_what_it_cannot_read) {
  conversation talk(engine());
  add_key_log(talk.key_log());
  handshake(talk);
  feed(true, talk.one_rtt(true, byte_list{0x42, 0xf5, 0x05, 0x40, 0xaf, 1, 2, 3, 0, 0x40, 0xac, 0x01}));
  feed(true, talk.one_rtt(true, byte_list{0x01, 0x40, 0xee, 0x01}));        // an unknown type
  feed(true, talk.one_rtt(true, byte_list{0x01, 0x01, 0x01, 0x42, 0xf5}));  // cut off
  feed(true, talk.one_rtt(true, byte_list{0x1e, 0x01, 0x01, 0x01}));        // a server's frame
  const session_facts& f = facts();
  EXPECT_EQ(f.of(peer::client).frames.get(frame_kind::extension), 3u);
  EXPECT_EQ(f.of(peer::client).frames.get(frame_kind::ping), 5u);
  EXPECT_EQ(f.bad_frames, 3u);
  EXPECT_EQ(seen.anomalies(drop_reason::quic_bad_frame), 3u);
}

TEST_F(decryption, least_recent_connection_gives_way_and_the_rest_goes_on) {
  std::vector<conversation> talks;
  for (std::uint8_t n = 0; n < 6; ++n) {  // max_decrypted is 4
    talks.emplace_back(engine());
    talks.back().first_dcid = byte_list(8, static_cast<std::uint8_t>(0x10 + n));
    talks.back().spec.server_cid = byte_list(8, static_cast<std::uint8_t>(0x20 + n));
  }
  add_key_log(talks[0].key_log());  // all have the same random
  for (std::uint8_t n = 0; n < 6; ++n) {
    const base::endpoint client = at("10.0.1." + std::to_string(n + 1), 5000);
    talks[n].handshake_with([&](bool from_client, const byte_list& datagram) {
      from_client ? seen.udp(client, seen.server, datagram) : seen.udp(seen.server, client, datagram);
    });
    seen.now += analysis::second;
  }
  EXPECT_EQ(seen.under_test.quic().decryption().sessions().in_use(), 4u);
  seen.under_test.finish();
  EXPECT_EQ(seen.under_test.count().sessions_evicted.get(), 2u);
  std::size_t told = 0;
  for (const auto& s : seen.told.sessions) told += s.has_value() ? 1 : 0;
  EXPECT_EQ(seen.told.sessions.size(), 6u);
  EXPECT_EQ(told, 4u);
  for (std::size_t n = 0; n < 6; ++n)
    EXPECT_EQ(seen.told.connections[n].decryption_evicted, !seen.told.sessions[n].has_value()) << n;
  expect_nothing_kept();
}

TEST_F(decryption, crypto_beyond_what_is_kept_is_counted_and_the_packet_read_on) {
  conversation talk(engine());
  add_key_log(talk.key_log());
  handshake(talk);
  feed(false, talk.one_rtt(false, joined({crypto_frame(1'000'000, byte_list(10, 1)), {0x01}})));
  const session_facts& f = facts();
  EXPECT_EQ(f.limits.get(session_limit::handshake_bytes), 1u);
  EXPECT_EQ(f.of(peer::server).frames.get(frame_kind::ping), 1u);
}

TEST_F(decryption, version_negotiation_begins_the_account_anew) {
  conversation first(engine(), {.version = 0xff00'001d});
  conversation second(engine());
  second.first_dcid = millrace::test::from_hex("7172737475767778");
  add_key_log(second.key_log());
  feed(true, first.initial(true, crypto_frame(0, first.client_hello_message())));
  feed(false, version_negotiation(first.spec.client_cid, first.first_dcid, {quic::wire::version_1}));
  handshake(second);
  session_facts f = facts();
  EXPECT_EQ(std::exchange(f.unopened.of[static_cast<std::size_t>(unopened_kind::earlier_attempt)], 0), 1u);
  expect_whole_handshake(f);
  EXPECT_EQ(seen.under_test.count().packets_opened.get(), f.opened());
}

// Secrets, keys and plaintext do not outlive the analyzer in memory that others may get.
TEST(decryption_memory, is_cleared_at_the_end) {
  const analyzer_options options = small_with_keys();
  std::vector<std::byte> memory(analyzer::bytes_needed(options.caps) + 64);
  auto* aligned = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
  const std::span<std::byte> block(aligned, memory.size() - 64);
  const auto holds = [&](const byte_list& needle) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(block.data());
    return std::search(begin, begin + block.size(), needle.begin(), needle.end()) != begin + block.size();
  };
  conversation talk(engine());
  const byte_list secret = talk.secret_of(traffic_label::client_application);
  byte_list text(200, 0);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::uint8_t>(i * 7 + 3);
  recorder told;
  {
    analyzer a(block, options, engine(), told);
    a.add_key_log(talk.key_log());
    const auto feed = [&](bool from_client, const byte_list& datagram) {
      const base::endpoint client = at("10.0.0.1", 50000);
      const base::endpoint server = at("192.0.2.1", 443);
      const byte_list frame =
          from_client ? analysis::frame(client, server, datagram) : analysis::frame(server, client, datagram);
      a.on_packet(frame, net::wire::link_type::ethernet, 1, static_cast<std::uint32_t>(frame.size()));
    };
    talk.handshake_with(feed);
    feed(true, talk.one_rtt(true, stream_frame(0, 0, text)));
    EXPECT_TRUE(holds(secret));
    EXPECT_TRUE(holds(text));
  }
  EXPECT_FALSE(holds(secret));
  EXPECT_FALSE(holds(text));
}

}  // namespace
}  // namespace millrace::inspect::test

// What anyone can send without a secret, or with a wrong one, beside a connection that is decrypted.
#include <gtest/gtest.h>

#include "inspect/decryption.hpp"
#include "inspect/decryptor.hpp"

namespace millrace::inspect::test {
namespace {

// A stranger who can forge addresses begins connections of his own on the 5-tuple of one whose client has an ID of no
// bytes: nothing but its keys tells which packets are its.
TEST_F(decryption, connections_forged_on_the_same_ports_take_no_packet_away) {
  for (const int before : {1, 2, 3, 4}) {  // the step in front of which he does
    analysis fresh(small_with_keys());
    conversation talk(engine(), {.client_cid = {}});
    fresh.under_test.add_key_log(talk.key_log());
    int step = 0;
    const auto forge = [&] {
      if (step++ != before) return;
      for (std::uint8_t n = 0; n < 3; ++n) {
        conversation forged(engine(), {.client_cid = {}});
        forged.first_dcid = byte_list(8, static_cast<std::uint8_t>(0xE0 + n));
        byte_list hello = forged.client_hello_message();
        hello[10] ^= 0x77;  // of its random
        fresh.to_server(forged.initial(true, crypto_frame(0, hello)));
      }
    };
    talk.handshake_with([&](bool from_client, const byte_list& datagram) {
      forge();
      from_client ? fresh.to_server(datagram) : fresh.to_client(datagram);
    });
    for (int n = 0; n < 5; ++n) {
      forge();
      fresh.to_client(talk.one_rtt(false, byte_list{0x01}));
      fresh.to_server(talk.one_rtt(true, byte_list{0x01}));
    }
    fresh.under_test.finish();
    EXPECT_EQ(fresh.told.sessions.size(), 4u);
    ASSERT_TRUE(fresh.told.sessions[0]) << before;
    const session_facts& f = *fresh.told.sessions[0];
    expect_whole_handshake_but_1_rtt(f);
    EXPECT_EQ(f.of(peer::server).packets.get(packet_level::one_rtt), 6u) << before;
    EXPECT_EQ(f.of(peer::client).packets.get(packet_level::one_rtt), 5u) << before;
    EXPECT_EQ(f.of(peer::server).frames.get(frame_kind::ping), 5u) << before;  // each once
    EXPECT_EQ(fresh.told.connections[0].packets.protected_ones(), f.opened()) << before;
  }
}

TEST_F(decryption, server_hello_that_anyone_can_forge_does_not_choose_the_suite) {
  for (const cipher_suite lie : {cipher_suite::aes_256_gcm_sha384, cipher_suite::chacha20_poly1305_sha256}) {
    analysis fresh(small_with_keys());
    conversation talk(engine());
    conversation liar(engine(), {.suite = lie});
    fresh.under_test.add_key_log(talk.key_log());
    fresh.to_server(talk.initial(true, crypto_frame(0, talk.client_hello_message())));
    fresh.to_client(liar.initial(false, crypto_frame(0, liar.server_hello_message())));
    fresh.to_client(talk.server_first());
    fresh.to_server(talk.handshake(true, crypto_frame(0, conversation::finished_message())));
    fresh.to_client(talk.one_rtt(false, byte_list{0x1e}));
    fresh.under_test.finish();
    ASSERT_TRUE(fresh.told.sessions.size() == 1 && fresh.told.sessions[0]);
    const session_facts& f = *fresh.told.sessions[0];
    EXPECT_EQ(f.unopened.total(), 0u);
    EXPECT_EQ(f.of(peer::server).frames.get(frame_kind::handshake_done), 1u);
    EXPECT_EQ(f.cipher_suite, static_cast<std::uint16_t>(talk.spec.suite));
    EXPECT_EQ(f.crypto_conflicts, 2u);  // the second ServerHello, and what opened
  }
}

TEST_F(decryption, close_that_anyone_can_forge_gives_way_to_a_true_one) {
  const byte_list forged = {0x1c, 0x0a, 0x00, 2, 'n', 'o'};
  conversation talk(engine());
  add_key_log(talk.key_log());
  conversation liar(engine());
  feed(true, talk.initial(true, crypto_frame(0, talk.client_hello_message())));
  feed(false, liar.initial(false, forged));
  feed(false, talk.server_first());
  feed(true, talk.handshake(true, crypto_frame(0, conversation::finished_message())));
  feed(true, liar.initial(true, forged));  // behind better packets it says nothing
  feed(false, talk.one_rtt(false, byte_list{0x1d, 0x07, 3, 'b', 'y', 'e'}));
  const session_facts& f = facts();
  EXPECT_EQ(f.of(peer::server).close.text(), "bye");
  EXPECT_EQ(f.of(peer::server).close.code, 7u);
  EXPECT_TRUE(f.of(peer::server).close.from_application);
  EXPECT_FALSE(f.of(peer::client).close.seen);
  EXPECT_EQ(f.of(peer::server).frames.get(frame_kind::connection_close), 2u);
}

TEST_F(decryption, secrets_that_open_nothing_are_told_apart) {
  conversation talk(engine());
  conversation other(engine(), {.suite = cipher_suite::aes_256_gcm_sha384});  // secrets of 48 bytes
  add_key_log(other.key_log());
  handshake(talk);
  const session_facts& f = facts();
  EXPECT_EQ(f.opened(), 2u);
  EXPECT_EQ(f.unopened.get(unopened_kind::secret_size), 3u);
  EXPECT_EQ(f.unopened.total(), 3u);
  const counters& c = seen.under_test.count();
  EXPECT_EQ(c.sessions.get(), 0u);
  EXPECT_EQ(c.sessions_closed.get(), 1u);
  EXPECT_EQ(c.packets_opened.get(), 2u);
  EXPECT_EQ(c.packets_opened_initial.get(), 2u);
  EXPECT_EQ(c.packets_unopened.get(), 3u);
}

// RFC 8879 4.
TEST_F(decryption, compressed_certificate_has_a_name) {
  conversation talk(engine());
  add_key_log(talk.key_log());
  feed(true, talk.initial(true, crypto_frame(0, talk.client_hello_message())));
  feed(false, talk.initial(false, crypto_frame(0, talk.server_hello_message())));
  feed(false, talk.handshake(false, crypto_frame(0, conversation::message(25, byte_list(60, 1)))));
  EXPECT_EQ(facts().of(peer::server).messages.get(handshake_kind::compressed_certificate), 1u);
}

}  // namespace
}  // namespace millrace::inspect::test

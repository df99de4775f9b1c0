// Frames where they may not be, frames that cannot be, packets that cannot be: each ends the connection with the RFC's
// code, is counted, and leaves nothing behind; or is dropped where the RFC says so.
#include "quic/sim/crafted.hpp"

namespace millrace::test {
namespace {

using quic::conn::event;
using quic::wire::transport_error;
using stats::drop_reason;

constexpr std::uint64_t number_of(transport_error e) { return static_cast<std::uint64_t>(e); }

struct attack {
  const char* name;
  frames what;
  transport_error code;
};

frames of(std::initializer_list<std::uint64_t> values) { return frames().numbers(values); }

void expect_all_to_end(victim against, const std::vector<attack>& attacks) {
  for (const attack& a : attacks) {
    hijack h(against);
    ASSERT_TRUE(h.take_over());
    EXPECT_EQ(h.code_after(a.what), number_of(a.code)) << a.name;
    EXPECT_EQ(h.event(event::closed_for_fault), 1u) << a.name;
    EXPECT_TRUE(h.app().closed) << a.name;
    h.settle(5 * second);
    EXPECT_EQ(h.held().streams, 0u) << a.name;
    EXPECT_EQ(h.held().buffers, 0u) << a.name;
  }
}

TEST(quic_attack_frames, that_cannot_be_end_the_connection) {
  const std::uint64_t too_many = (std::uint64_t{1} << 60) + 1;
  const std::uint64_t most = base::varint_max;
  expect_all_to_end(
      victim::server,
      {
          {"an unknown type", of({0x21}), transport_error::frame_encoding_error},
          {"a type that takes eight bytes", of({0x1f1f1f1f1f1f}), transport_error::frame_encoding_error},
          {"PING in two bytes", frames().bytes({0x40, 0x01, 0, 0}), transport_error::protocol_violation},
          {"PING in eight bytes", frames().bytes({0xc0, 0, 0, 0, 0, 0, 0, 1}), transport_error::protocol_violation},
          {"MAX_STREAMS above 2^60", of({0x12, too_many}), transport_error::frame_encoding_error},
          {"MAX_STREAMS above 2^60, one way", of({0x13, too_many}), transport_error::frame_encoding_error},
          {"STREAMS_BLOCKED above 2^60", of({0x16, too_many}), transport_error::frame_encoding_error},
          {"STREAM beyond 2^62", frames().numbers({0x0e, 0, most, 4}).bytes({1, 2, 3, 4}),
           transport_error::frame_encoding_error},
          {"CRYPTO beyond 2^62", frames().numbers({0x06, most, 4}).bytes({1, 2, 3, 4}),
           transport_error::frame_encoding_error},
          {"STREAM cut off", frames().numbers({0x0a, 0, 500}).bytes({1}), transport_error::frame_encoding_error},
          {"ACK cut off", of({0x02, 5, 0}), transport_error::frame_encoding_error},
          {"ACK ranges below zero", of({0x02, 5, 0, 1, 2, 9, 0}), transport_error::frame_encoding_error},
          {"ACK with more ranges than bytes", of({0x02, 5, 0, most, 0}), transport_error::frame_encoding_error},
          {"a connection ID of no bytes", frames().numbers({0x18, 9, 0}).bytes({0}).pad(30),
           transport_error::frame_encoding_error},
          {"a connection ID of 21 bytes", frames().numbers({0x18, 9, 0}).bytes({21}).pad(60),
           transport_error::frame_encoding_error},
          {"Retire Prior To above its own number", frames().numbers({0x18, 9, 10}).bytes({8}).pad(40),
           transport_error::frame_encoding_error},
          {"PATH_CHALLENGE cut off", frames().numbers({0x1a}).bytes({1, 2, 3}), transport_error::frame_encoding_error},
      });
}

TEST(quic_attack_frames, that_only_a_server_may_send_end_the_connection) {
  expect_all_to_end(victim::server, {{"HANDSHAKE_DONE", of({0x1e, 0, 0, 0}), transport_error::protocol_violation},
                                     {"NEW_TOKEN", frames().numbers({0x07, 4}).bytes({1, 2, 3, 4}),
                                      transport_error::protocol_violation}});
}

TEST(quic_attack_frames, that_cannot_be_end_the_connection_of_a_client) {
  expect_all_to_end(victim::client,
                    {{"an unknown type", of({0x21}), transport_error::frame_encoding_error},
                     {"NEW_TOKEN of no bytes", of({0x07, 0}), transport_error::frame_encoding_error},
                     {"NEW_TOKEN cut off", of({0x07, 500}), transport_error::frame_encoding_error},
                     {"STREAM cut off", frames().numbers({0x0a, 1, 500}), transport_error::frame_encoding_error}});
}

TEST(quic_attack_frames, a_datagram_frame_above_what_was_announced_ends_the_connection) {
  for (const std::uint64_t announced : {std::uint64_t{0}, std::uint64_t{100}}) {
    sim_options o;
    o.server.transport.max_datagram_frame_size = announced;
    hijack h(victim::server, o);
    ASSERT_TRUE(h.take_over());
    const byte_vector data(99, 'd');  // with type and length 101 bytes
    EXPECT_EQ(h.code_after(frames().add(quic::wire::datagram_frame{.data = data})),
              number_of(transport_error::protocol_violation));
    EXPECT_EQ(h.event(event::closed_for_fault), 1u);
    EXPECT_EQ(h.event(event::datagram_frames), 0u);
    EXPECT_TRUE(h.app().datagrams.empty());
  }
}

TEST(quic_attack_frames, reserved_bits_in_an_authentic_packet_end_the_connection) {
  for (const std::uint8_t bit : {std::uint8_t{0x08}, std::uint8_t{0x10}}) {
    hijack h(victim::server);
    ASSERT_TRUE(h.take_over());
    h.inject({h.seal({.payload = frames().numbers({1}).pad(20).get(), .flip = bit})});
    EXPECT_EQ(h.said.code, number_of(transport_error::protocol_violation));
    EXPECT_EQ(h.dropped(drop_reason::quic_bad_reserved_bits), 1u);
    EXPECT_EQ(h.event(event::closed_for_fault), 1u);
  }
}

TEST(quic_attack_frames, a_fixed_bit_of_zero_is_dropped_unless_grease_was_offered) {
  for (const bool grease : {false, true}) {
    sim_options o;
    o.server.transport.grease = grease;
    hijack h(victim::server, o);
    ASSERT_TRUE(h.take_over());
    const std::uint64_t before = h.event(event::packets_received);
    for (unsigned i = 0; i < 2; ++i) {  // alone, and in a burst of two
      std::vector<byte_vector> burst;
      for (unsigned n = 0; n <= i; ++n)
        burst.push_back(h.seal({.payload = frames().numbers({1}).pad(20).get(), .flip = 0x40}));
      h.inject(burst);
    }
    h.settle(100 * ms);
    EXPECT_EQ(h.event(event::packets_received) - before, grease ? 3u : 0u);
    EXPECT_EQ(h.dropped(drop_reason::quic_junk), grease ? 0u : 3u);
    EXPECT_FALSE(h.said.code.has_value());
  }
}

TEST(quic_attack_frames, a_packet_without_frames_ends_the_connection) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  h.inject({h.seal({.payload = {}})});
  EXPECT_EQ(h.said.code, number_of(transport_error::protocol_violation));
  EXPECT_EQ(h.dropped(drop_reason::quic_bad_frame), 1u);
}

// RFC 9000 12.4, table 3: types that Initial and Handshake packets do not have. ACK, CRYPTO, PING, PADDING and
// CONNECTION_CLOSE of QUIC are left out.
std::vector<attack> not_before_one_rtt() {
  std::vector<attack> out;
  for (std::uint64_t type = 0x04; type <= 0x1e; ++type)
    if (type != 0x06 && type != 0x1c)
      out.push_back({"a frame of 1-RTT alone", frames().numbers({type}).pad(64), transport_error::protocol_violation});
  out.push_back({"CONNECTION_CLOSE of an application", of({0x1d, 0, 0}), transport_error::protocol_violation});
  out.push_back({"DATAGRAM", frames().numbers({0x31, 4}).pad(8), transport_error::protocol_violation});
  return out;
}

TEST(quic_attack_frames, of_1_rtt_in_an_initial_end_the_handshake) {
  for (const attack& a : not_before_one_rtt()) {
    hijack h(victim::server);
    h.passing = [](const seen_datagram& d) { return d.from_client; };  // the client never hears of it
    ASSERT_NE(h.pair.connect(), nullptr);
    h.settle(50 * ms);
    h.cut();
    EXPECT_EQ(h.code_after(a.what, level::initial), number_of(a.code)) << unsigned{a.what.get()[0]};
    EXPECT_EQ(h.event(event::closed_for_fault), 1u);
    h.settle(5 * second);
    EXPECT_EQ(h.held(), holdings{}) << "a connection that broke a rule is forgotten";
  }
}

TEST(quic_attack_frames, of_1_rtt_in_a_handshake_packet_end_the_handshake) {
  for (const attack& a : not_before_one_rtt()) {
    hijack h(victim::server);
    unsigned from_client = 0;
    h.passing = [&](const seen_datagram& d) { return !d.from_client || ++from_client == 1; };
    ASSERT_NE(h.pair.connect(), nullptr);
    h.settle(50 * ms);  // the client has all of the server's flight, whose answers are lost
    h.cut();
    EXPECT_EQ(h.code_after(a.what, level::handshake), number_of(a.code)) << unsigned{a.what.get()[0]};
    EXPECT_EQ(h.event(event::closed_for_fault), 1u);
  }
}

TEST(quic_attack_frames, of_1_rtt_before_the_handshake_is_complete_are_not_read) {
  hijack h(victim::server);
  unsigned from_client = 0;
  h.passing = [&](const seen_datagram& d) { return !d.from_client || ++from_client == 1; };
  ASSERT_NE(h.pair.connect(), nullptr);
  h.settle(50 * ms);
  h.cut();
  const std::uint64_t before = h.event(event::packets_received);
  const holdings held = h.held();
  for (unsigned i = 0; i < 500; ++i) h.send(frames().stream(0, i * 1000, 1000));
  EXPECT_EQ(h.event(event::packets_received), before);
  EXPECT_EQ(h.event(event::streams_opened), 0u);
  EXPECT_EQ(h.event(event::held_for_keys), quic::conn::early_packets::most_unproven);
  EXPECT_LE(h.held().buffers, held.buffers + quic::conn::early_packets::most_unproven);
  EXPECT_EQ(h.target().endpoint->shared().waiting, quic::conn::early_packets::most_unproven);
  EXPECT_FALSE(h.said.code.has_value());
  h.settle(15 * second);
  EXPECT_EQ(h.held(), holdings{}) << "what waited goes with the handshake";
  EXPECT_EQ(h.target().endpoint->shared().waiting, 0u);
  EXPECT_EQ(h.event(event::held_in_vain), quic::conn::early_packets::most_unproven);
}

TEST(quic_attack_frames, that_end_a_handshake_too_early_end_the_client) {
  false_server h;
  EXPECT_EQ(h.code_after(frames().numbers({0x1e}).pad(8), level::initial),
            number_of(transport_error::protocol_violation));
  EXPECT_FALSE(h.pair.connection->is_confirmed());
  EXPECT_EQ(h.event(event::closed_for_fault), 1u);
}

TEST(quic_attack_frames, of_crypto_far_ahead_or_in_crumbs_end_the_client) {
  {
    false_server h;
    EXPECT_EQ(h.code_after(frames().crypto(1u << 20, 100), level::initial),
              number_of(transport_error::crypto_buffer_exceeded));
    EXPECT_EQ(h.event(event::crypto_too_far), 1u);
  }
  false_server h;
  const holdings before = h.held();
  unsigned sent = 0;
  for (; sent < 1'000 && !h.said.code; ++sent) h.send(frames().crypto(10 + 20 * sent, 10), level::initial);
  EXPECT_EQ(h.said.code, number_of(transport_error::crypto_buffer_exceeded));
  EXPECT_LE(sent, 40u);
  EXPECT_LE(h.held().buffers, before.buffers + 40);
}

// RFC 9000 12.5, 17.2.3.
TEST(quic_attack_frames, that_0_rtt_may_not_have_end_the_connection) {
  const std::vector<attack> attacks = {
      {"ACK", of({0x02, 0, 0, 0, 0}), transport_error::protocol_violation},
      {"CRYPTO", frames().crypto(0, 10), transport_error::protocol_violation},
      {"NEW_TOKEN", frames().numbers({0x07, 4}).pad(8), transport_error::protocol_violation},
      {"PATH_RESPONSE", frames().numbers({0x1b}).pad(9), transport_error::protocol_violation},
      {"RETIRE_CONNECTION_ID", of({0x19, 0, 0}), transport_error::protocol_violation},
      {"HANDSHAKE_DONE", of({0x1e, 0, 0}), transport_error::protocol_violation},
  };
  for (const attack& a : attacks) {
    sim_options o;
    o.early_data = true;
    hijack h(victim::server, o);
    ASSERT_TRUE(h.pair.fetch({100}));
    h.pair.net.wait(3 * second);
    h.pair.connection->close(0, h.pair.net.now_ns);
    h.pair.net.client->endpoint->touch(*h.pair.connection);
    h.pair.net.wait(5 * second);
    ASSERT_EQ(h.held().connections, 0u);
    h.original.clear();
    unsigned from_client = 0;
    h.passing = [&](const seen_datagram& d) { return d.from_client && ++from_client == 1; };
    h.pair.client_app.streams.clear();
    h.pair.client_app.to_ask = {100};
    ASSERT_NE(h.pair.connect(true), nullptr);
    h.settle(50 * ms);
    h.cut();
    ASSERT_EQ(h.held().connections, 1u) << "the hello was taken";
    h.send(a.what, level::early);
    EXPECT_EQ(h.event(event::closed_for_fault), 1u) << a.name;
    h.settle(5 * second);
    EXPECT_EQ(h.held(), holdings{}) << a.name;
  }
}

}  // namespace
}  // namespace millrace::test

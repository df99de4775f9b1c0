// Headers that the other side must not send, and what ours must not hold (RFC 9000 12.2, 17.2).
#include "quic/sim/crafted.hpp"
#include "quic/wire/header.hpp"

namespace millrace::test {
namespace {

using quic::conn::event;
using quic::wire::packet_type;
using stats::drop_reason;

frames ping() { return frames().numbers({1}).pad(1'170); }

// What is in a datagram of long headers, one after the other.
template <class Call>
void each_long_packet(base::byte_view datagram, Call call) {
  quic::wire::packet_header header;
  while (datagram.size() > 20 && (datagram[0] & 0x80) != 0 && quic::wire::parse_packet(datagram, header)) {
    call(header);
    if (header.packet_size == 0 || header.packet_size >= datagram.size()) return;
    datagram = datagram.subspan(header.packet_size);
  }
}

TEST(quic_attack_headers, a_client_reads_no_initial_with_a_token) {
  false_server h;
  h.inject({h.seal({.at = level::initial, .payload = ping().get(), .token = {1, 2, 3}})});
  h.settle(100 * ms);
  EXPECT_EQ(h.said.acks, 0u);
  EXPECT_EQ(h.event(event::initials_refused), 1u);
  EXPECT_EQ(h.dropped(drop_reason::quic_junk), 1u);
  h.inject({h.seal({.at = level::initial, .payload = ping().get()})});
  h.settle(100 * ms);
  EXPECT_GE(h.said.acks, 1u) << "the same without one";
}

TEST(quic_attack_headers, a_server_s_initials_have_no_token) {
  sim_options o;
  o.server.sources.retry = quic::endpoint::retry_mode::always;
  sim_pair p(o);
  unsigned with_token = 0, of_server = 0;
  p.net.passing = [&](seen_datagram& d) {
    each_long_packet(d.bytes, [&](const quic::wire::packet_header& h) {
      if (h.type != packet_type::initial) return;
      if (d.from_client) {
        with_token += h.token.empty() ? 0 : 1;
      } else {
        ++of_server;
        EXPECT_TRUE(h.token.empty());
      }
    });
    return true;
  };
  EXPECT_TRUE(p.fetch({10'000}));
  EXPECT_GE(with_token, 1u) << "there was one to repeat";
  EXPECT_GE(of_server, 1u);
}

TEST(quic_attack_headers, what_cannot_be_opened_does_not_hide_what_follows) {
  false_server h;
  byte_vector broken = h.seal({.at = level::initial, .payload = frames().numbers({1}).pad(500).get()});
  broken.back() ^= 1;
  const byte_vector sound = h.seal({.at = level::initial, .payload = frames().numbers({1}).pad(700).get()});
  broken.insert(broken.end(), sound.begin(), sound.end());
  h.inject({broken});
  h.settle(100 * ms);
  EXPECT_EQ(h.event(event::auth_failed), 1u);
  EXPECT_EQ(h.event(event::packets_received), 1u);
  EXPECT_GE(h.said.acks, 1u);
}

TEST(quic_attack_headers, a_retry_without_a_token_is_none) {
  for (const bool with_token : {false, true}) {
    false_server h;
    byte_vector retry = {0xf0, 0, 0, 0, 1};
    const auto add_id = [&](const byte_vector& id) {
      retry.push_back(static_cast<std::uint8_t>(id.size()));
      retry.insert(retry.end(), id.begin(), id.end());
    };
    add_id(h.client_id);
    add_id(h.server_id);
    if (with_token) retry.insert(retry.end(), {7, 7, 7});
    retry.resize(retry.size() + 16);
    crypto::engine engine = std::move(*crypto::engine::make());
    ASSERT_TRUE(quic::protect::seal_retry(engine, quic::wire::version_1, h.original, retry));
    bool repeated = false;
    h.on_heard = [&](const seen_datagram& d) {
      each_long_packet(d.bytes, [&](const quic::wire::packet_header& header) { repeated |= !header.token.empty(); });
    };
    h.inject({retry});
    h.settle(10 * ms);
    EXPECT_EQ(repeated, with_token);
  }
}

TEST(quic_attack_headers, a_retry_has_an_id_of_its_own_and_comes_once_a_datagram) {
  sim_options o;
  o.server.sources.retry = quic::endpoint::retry_mode::always;
  hijack h(victim::server, o);
  h.cut();
  h.client_id = {1, 2, 3, 4, 5, 6, 7, 8};
  h.original = h.server_id = byte_vector(8, 0x55);
  byte_vector two = h.seal({.at = level::initial, .payload = frames().numbers({1}).pad(500).get()});
  const byte_vector second_one = h.seal({.at = level::initial, .payload = frames().numbers({1}).pad(700).get()});
  two.insert(two.end(), second_one.begin(), second_one.end());
  h.inject({two});
  h.settle(100 * ms);
  unsigned retries = 0;
  for (const seen_datagram& d : h.heard)
    each_long_packet(d.bytes, [&](const quic::wire::packet_header& header) {
      if (header.type != packet_type::retry) return;
      ++retries;
      EXPECT_FALSE(std::ranges::equal(header.scid, byte_vector(8, 0x55)));
      EXPECT_TRUE(std::ranges::equal(header.dcid, h.client_id));
    });
  EXPECT_EQ(retries, 1u);
  EXPECT_EQ(h.event(event::retries), 1u);
}

TEST(quic_attack_headers, a_limit_of_streams_never_sinks) {  // RFC 9000 19.11
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  h.send(frames().numbers({0x12, 40}));
  h.send(frames().numbers({0x12, 1}));
  EXPECT_FALSE(h.said.code);
  unsigned opened = 0;
  while (opened < 1'000 && h.connection()->open(quic::stream::direction::bidirectional, h.pair.net.now_ns) != nullptr)
    ++opened;
  EXPECT_GE(opened, 40u);
}

}  // namespace
}  // namespace millrace::test

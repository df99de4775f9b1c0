// What somebody without keys can send: floods, tokens, junk, other people's addresses. Nothing of it is answered with
// more than came, nothing is kept beyond a fixed number, and all of it is counted.
#include "quic/sim/crafted.hpp"

namespace millrace::test {
namespace {

using quic::conn::event;
using quic::endpoint::retry_mode;
using quic::wire::transport_error;
using stats::drop_reason;

constexpr std::uint64_t number_of(transport_error e) { return static_cast<std::uint64_t>(e); }

// A stranger with a destination ID of its own choice: one a client would choose, or not.
struct stranger : hijack {
  unsigned next = 0;
  explicit stranger(const sim_options& o = {}) : hijack(victim::server, o) {
    cut();
    client_id = {1, 2, 3, 4, 5, 6, 7, 8};
  }
  void choose(std::size_t size = 8) {
    original.assign(size, 0x55);
    for (std::size_t i = 0; i < 4 && i < size; ++i) original[i] = static_cast<std::uint8_t>(next >> (8 * i));
    ++next;
    server_id = original;
  }
  byte_vector initial(const frames& f, byte_vector token = {}) {
    crafted_packet p{.at = level::initial, .payload = f.get(), .dcid = original, .token = std::move(token)};
    p.payload.resize(std::max<std::size_t>(p.payload.size(), 1200));
    return seal(p);
  }
};

frames ping() { return frames().numbers({1}).pad(8); }

sim_options bounded(retry_mode retry) {
  sim_options o;
  o.server.sources.retry = retry;
  o.server.sources.retry_above = 16;
  o.server.sources.accept_below = 8;
  o.server.sources.most_half_open = 32;
  return o;
}

TEST(quic_attack_before_handshake, an_address_that_answers_nothing_gets_three_times_what_it_sent) {
  stranger h;
  h.choose();
  std::uint64_t sent = 0;
  for (unsigned i = 0; i < 5; ++i) {
    const byte_vector datagram = h.initial(ping());
    sent += datagram.size();
    h.inject({datagram});
    h.settle(2 * second);
    EXPECT_LE(h.said.bytes, 3 * sent);
  }
  h.settle(20 * second);
  EXPECT_LE(h.said.bytes, 3 * sent);
  EXPECT_EQ(h.held(), holdings{});
  EXPECT_EQ(h.event(event::handshake_timeout), 1u);
}

TEST(quic_attack_before_handshake, a_flood_of_initials_fills_no_more_than_its_table) {
  stranger h(bounded(retry_mode::never));
  for (unsigned i = 0; i < 3'000; ++i) {
    h.choose();
    h.inject({h.initial(ping())},
             h.from(static_cast<std::uint8_t>(3 + i % 200), static_cast<std::uint16_t>(1'000 + i)));
  }
  EXPECT_LE(h.held().connections, 32u);
  EXPECT_LE(h.held().handshakes, 32u);
  EXPECT_GE(h.event(event::initials_refused), 3'000u - 32u);
  EXPECT_GE(h.target().endpoint->sources().counters().over_half_open, 3'000u - 32u);
  EXPECT_EQ(h.held().buffers, 0u);
  h.settle(15 * second);
  EXPECT_EQ(h.held(), holdings{}) << "and nobody holds a place for long";
}

// Whoever has not answered for a second gives way, so that a full table does not keep others out until its time-out.
TEST(quic_attack_before_handshake, in_a_full_table_the_oldest_gives_way_to_who_comes_in) {
  for (const retry_mode mode : {retry_mode::never, retry_mode::automatic}) {
    stranger h(bounded(mode));
    const unsigned filled = mode == retry_mode::never ? 32 : 16;  // with Retry nobody gets beyond the watermark
    for (unsigned i = 0; i < 100; ++i) {
      h.choose();
      h.inject({h.initial(ping())}, h.from(2, static_cast<std::uint16_t>(1'000 + i)));
    }
    EXPECT_EQ(h.held().connections, filled);
    EXPECT_EQ(h.event(event::half_open_evicted), 0u) << "they are young";
    h.settle(1500 * ms);
    h.is_cut = false;
    EXPECT_TRUE(h.pair.fetch({1'000}, 3 * second));
    EXPECT_EQ(h.event(event::half_open_evicted), mode == retry_mode::never ? 1u : 0u);
    EXPECT_LE(h.held().handshakes, 32u);
  }
}

TEST(quic_attack_before_handshake, above_the_watermark_strangers_get_a_retry_and_nothing_is_kept) {
  stranger h(bounded(retry_mode::automatic));
  for (unsigned i = 0; i < 500; ++i) {
    h.choose();
    h.inject({h.initial(ping())}, h.from(2, static_cast<std::uint16_t>(1'000 + i)));
  }
  EXPECT_EQ(h.held().connections, 16u);
  EXPECT_EQ(h.event(event::retries), 500u - 16u);
  // And while the flood stands, one who answers comes in.
  h.is_cut = false;
  EXPECT_TRUE(h.pair.fetch({1'000}));
  EXPECT_EQ(h.event(event::tokens_accepted), 1u);
}

TEST(quic_attack_before_handshake, an_initial_that_its_own_keys_do_not_open_leaves_nothing) {
  stranger h;
  for (unsigned i = 0; i < 500; ++i) {
    h.choose();
    byte_vector datagram = h.initial(ping());
    datagram[600] ^= 1;
    h.inject({datagram});
    EXPECT_EQ(h.held(), holdings{});
  }
  EXPECT_EQ(h.event(event::auth_failed), 500u);
  EXPECT_EQ(h.dropped(drop_reason::quic_decrypt_failed), 500u);
  EXPECT_EQ(h.said.datagrams, 0u);
}

TEST(quic_attack_before_handshake, initials_below_1200_bytes_are_not_answered) {
  stranger h;
  for (const std::size_t size : {std::size_t{50}, std::size_t{1'000}, std::size_t{1'100}}) {
    h.choose();
    crafted_packet p{.at = level::initial, .payload = ping().pad(size).get()};
    h.inject({h.seal(p)});
  }
  EXPECT_EQ(h.event(event::initials_refused), 3u);
  EXPECT_EQ(h.said.datagrams, 0u);
  EXPECT_EQ(h.held(), holdings{});
}

// CVE-2026-94450: before anything else looks at it, a Retry above all.
TEST(quic_attack_before_handshake, destinations_of_the_wrong_length_are_not_answered) {
  for (const retry_mode mode : {retry_mode::never, retry_mode::always}) {
    stranger h(bounded(mode));
    for (const std::size_t size : {0u, 1u, 7u}) {
      h.choose(size);
      h.inject({h.initial(ping())});
    }
    EXPECT_EQ(h.event(event::initials_refused), 3u);
    h.choose(20);
    byte_vector long_one = h.initial(ping());
    for (const std::uint8_t size : {std::uint8_t{21}, std::uint8_t{255}}) {
      long_one[5] = size;
      h.inject({long_one});
    }
    EXPECT_EQ(h.said.datagrams, 0u);
    EXPECT_EQ(h.event(event::retries), 0u);
    EXPECT_EQ(h.dropped(drop_reason::quic_no_connection), 5u);
    EXPECT_EQ(h.held(), holdings{});
  }
}

TEST(quic_attack_before_handshake, tokens_that_we_never_gave_prove_nothing) {
  stranger h(bounded(retry_mode::always));
  std::mt19937 random(3);
  for (unsigned i = 0; i < 200; ++i) {
    h.choose();
    byte_vector token(1 + random() % 200);
    for (auto& b : token) b = static_cast<std::uint8_t>(random());
    if (i % 2 == 0) token[0] = 1;  // the number of a key that we have
    h.inject({h.initial(ping(), token)});
  }
  EXPECT_EQ(h.event(event::tokens_refused), 200u);
  EXPECT_EQ(h.event(event::tokens_accepted), 0u);
  EXPECT_EQ(h.event(event::retries), 200u) << "as if there were none";
  EXPECT_EQ(h.held(), holdings{});
}

// A Retry's token, one byte changed at a time, from another address, for another ID, too late.
TEST(quic_attack_before_handshake, a_token_that_was_stolen_or_changed_proves_nothing) {
  stranger h(bounded(retry_mode::always));
  h.choose();
  h.inject({h.initial(ping())});
  ASSERT_EQ(h.heard.size(), 1u);
  quic::wire::packet_header retry;
  ASSERT_TRUE(quic::wire::parse_packet(h.heard[0].bytes, retry));
  ASSERT_EQ(retry.type, quic::wire::packet_type::retry);
  const byte_vector token(retry.token.begin(), retry.token.end());
  h.original.assign(retry.scid.begin(), retry.scid.end());
  h.server_id = h.original;
  for (std::size_t i = 0; i < token.size(); ++i) {
    byte_vector changed = token;
    changed[i] ^= 1;
    h.inject({h.initial(ping(), changed)});
  }
  EXPECT_EQ(h.event(event::tokens_refused), token.size());
  EXPECT_EQ(h.held(), holdings{});
  h.said = {};
  h.inject({h.initial(ping(), token)}, h.from(99, 40'000));
  EXPECT_EQ(h.event(event::tokens_refused), token.size() + 1);
  h.pair.net.other_client = sim_address(2, 40'001);
  h.inject({h.initial(ping(), token)}, h.from(2, 40'001));
  EXPECT_EQ(h.said.code, number_of(transport_error::invalid_token)) << "from another port";
  h.said = {};
  h.settle(30 * second);
  h.inject({h.initial(ping(), token)});
  EXPECT_EQ(h.said.code, number_of(transport_error::invalid_token)) << "too late";
  EXPECT_EQ(h.event(event::tokens_accepted), 0u);
  EXPECT_EQ(h.held(), holdings{});
}

// CVE-2026-11352: each datagram is one of the budget, whatever its size, and each is counted.
TEST(quic_attack_before_handshake, junk_and_empty_datagrams_are_counted_one_by_one) {
  stranger h;
  std::mt19937 random(5);
  std::uint64_t count = 0;
  for (unsigned round = 0; round < 50; ++round) {
    std::vector<byte_vector> burst;
    for (unsigned i = 0; i < 32; ++i, ++count) {
      byte_vector junk(i % 4 == 0 ? 0 : random() % 60);
      for (auto& b : junk) b = static_cast<std::uint8_t>(random());
      burst.push_back(junk);
    }
    h.inject(burst);
  }
  EXPECT_EQ(h.target().useless, count);
  EXPECT_EQ(h.target().drops.total(), count);
  EXPECT_EQ(h.held(), holdings{});
}

// CVE-2025-54939.
TEST(quic_attack_before_handshake, packets_behind_the_first_for_other_ids_are_not_kept) {
  stranger h;
  h.choose();
  const crafted_packet small{.at = level::initial, .payload = ping().pad(40).get()};
  byte_vector datagram = h.seal(small);
  for (unsigned i = 0; i < 12; ++i) {
    crafted_packet other = small;
    other.dcid = byte_vector(8, static_cast<std::uint8_t>(i));
    const byte_vector more = h.seal(other);
    datagram.insert(datagram.end(), more.begin(), more.end());
  }
  datagram.resize(std::max<std::size_t>(datagram.size(), 1200));
  h.inject({datagram});
  EXPECT_EQ(h.event(event::other_cid), 1u) << "the first of them ends the datagram";
  EXPECT_EQ(h.event(event::packets_received), 1u);
  EXPECT_EQ(h.held().connections, 1u);
  EXPECT_EQ(h.held().buffers, 0u);
}

TEST(quic_attack_before_handshake, only_four_packets_of_a_datagram_are_looked_at) {
  stranger h;
  h.choose();
  byte_vector datagram;
  for (unsigned i = 0; i < 15; ++i) {
    const byte_vector more = h.seal({.at = level::initial, .payload = ping().pad(40).get()});
    datagram.insert(datagram.end(), more.begin(), more.end());
  }
  datagram.resize(std::max<std::size_t>(datagram.size(), 1200));
  h.inject({datagram});
  EXPECT_EQ(h.event(event::packets_received), 4u);
  EXPECT_EQ(h.event(event::packets_beyond), 1u);
}

// GHSA-9q54-f358-3fqf.
TEST(quic_attack_before_handshake, crypto_far_ahead_or_in_crumbs_ends_the_handshake) {
  for (const bool far : {true, false}) {
    stranger h;
    h.choose();
    frames f;
    if (far) {
      f.crypto(70'000, 100);
    } else {
      for (unsigned i = 0; i < 40; ++i) f.crypto(100 + 2 * i, 1);
    }
    h.inject({h.initial(f)});
    EXPECT_EQ(h.said.code, number_of(transport_error::crypto_buffer_exceeded));
    EXPECT_EQ(h.event(event::crypto_too_far), 1u);
    EXPECT_EQ(h.event(event::closed_for_fault), 1u);
    EXPECT_LE(h.held().buffers, 2u);
    h.settle(10 * second);
    EXPECT_EQ(h.held(), holdings{});
  }
}

// A hello that comes byte by byte holds its place for the time of one handshake, and no longer.
TEST(quic_attack_before_handshake, a_hello_in_drops_is_given_up) {
  stranger h;
  h.choose();
  for (unsigned i = 0; i < 150; ++i) {
    const std::uint8_t byte = i == 0 || i == 2 ? 1 : 0;  // ClientHello, 256 bytes
    frames f;
    f.add(quic::wire::crypto_frame{.offset = i, .data = {&byte, 1}});
    h.inject({h.initial(f)});
    h.settle(100 * ms);
    if (h.held().connections == 0) break;
  }
  EXPECT_EQ(h.held(), holdings{});
  EXPECT_EQ(h.event(event::handshake_timeout), 1u);
  EXPECT_LE(h.pair.net.now_ns - sim_start_ns, 12 * second);
}

TEST(quic_attack_before_handshake, version_negotiation_is_smaller_than_what_it_answers_and_has_a_budget) {
  sim_options o;
  o.server.sources.all_version_negotiations = {10, 10};
  stranger h(o);
  h.choose();
  byte_vector unknown = h.initial(ping());
  unknown[1] = 0x5a;  // of the version
  for (unsigned i = 0; i < 100; ++i) h.inject({unknown});
  EXPECT_EQ(h.event(event::version_negotiations), 10u);
  EXPECT_EQ(h.target().endpoint->sources().counters().replies_refused[0], 90u);
  for (const seen_datagram& d : h.heard) EXPECT_LT(d.bytes.size(), 100u);
  const std::size_t heard = h.heard.size();
  unknown.resize(1199);
  h.settle(10 * second);
  h.inject({unknown});
  EXPECT_EQ(h.heard.size(), heard) << "not to what could not begin a connection";
  // Nor to Version Negotiation itself.
  byte_vector answer = h.heard.at(0).bytes;
  answer.resize(1300);
  h.inject({answer});
  EXPECT_EQ(h.heard.size(), heard);
  EXPECT_EQ(h.held(), holdings{});
}

// RFC 9000 10.3.3, 21.11.
TEST(quic_attack_before_handshake, stateless_resets_shrink_until_nobody_answers) {
  sim_options o;
  o.server.sources.all_stateless_resets = {1'000, 1'000};
  stranger h(o);
  byte_vector packet(60, 0x41);
  unsigned rounds = 0;
  for (std::size_t before = packet.size(); rounds < 100; ++rounds, before = packet.size()) {
    h.heard.clear();
    h.inject({packet});
    if (h.heard.empty()) break;
    packet = h.heard.at(0).bytes;
    ASSERT_LT(packet.size(), before);
  }
  EXPECT_LT(rounds, 40u);
  EXPECT_EQ(h.event(event::stateless_resets), rounds);
  EXPECT_LE(packet.size(), 21u);
}

TEST(quic_attack_before_handshake, stateless_resets_have_a_budget) {
  sim_options o;
  o.server.sources.all_stateless_resets = {20, 20};
  stranger h(o);
  for (unsigned i = 0; i < 500; ++i) h.inject({byte_vector(60, static_cast<std::uint8_t>(0x40 | (i % 64)))});
  EXPECT_EQ(h.event(event::stateless_resets), 20u);
  EXPECT_EQ(h.target().endpoint->sources().counters().replies_refused[2], 480u);
  EXPECT_EQ(h.held(), holdings{});
}

}  // namespace
}  // namespace millrace::test

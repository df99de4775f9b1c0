// Keys that change: two sides that talk, lose, reorder, update and forge.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/endian.hpp"
#include "crypto/wiped.hpp"
#include "mem/heap_counter.hpp"
#include "quic/protect/protected_packets.hpp"
#include "support/hostile.hpp"

using namespace millrace;
using quic::protect::cipher_suite;
using quic::protect::key_use;
using quic::protect::open_errc;
using quic::protect::opened_packet;
using quic::protect::seal_errc;
using quic::protect::seal_request;
using bytes = test::byte_list;
using test::to_hex;

namespace {

constexpr std::size_t cid_size = 8;
constexpr std::uint32_t pn_offset = 1 + cid_size;

struct direction {
  crypto::wiped<quic::protect::send_keys> send;
  crypto::wiped<quic::protect::receive_keys> receive;
  std::uint64_t next_pn = 0;
  std::uint64_t largest = quic::wire::no_packet_number;

  direction(crypto::engine& engine, const quic::protect::key_context& context, const bytes& secret) {
    const auto s = test::secret_of(context.suite, secret);
    EXPECT_TRUE(send->install(engine, context, s));
    EXPECT_TRUE(receive->install(engine, context, s));
  }
  bytes seal(crypto::engine& engine, const bytes& payload) {
    bytes packet(1 + cid_size + 4 + payload.size() + 16);
    packet[0] = 0x43;
    const base::byte_view piece = payload;
    seal_request r{
        .out = packet, .pn_offset = pn_offset, .pn_size = 4, .packet_number = next_pn++, .payload = {&piece, 1}};
    EXPECT_EQ(send->seal(engine, r), seal_errc::ok);
    return packet;
  }
  open_errc open(crypto::engine& engine, bytes& packet, opened_packet& out) {
    const open_errc code = receive->open(engine, packet, pn_offset, largest, out);
    if (code == open_errc::ok && out.packet_number + 1 > largest + 1) largest = out.packet_number;
    return code;
  }
};

const quic::protect::key_context aes{quic::wire::version_1, cipher_suite::aes_128_gcm_sha256};

}  // namespace

TEST(key_update, both_sides_follow_each_other_through_many_phases) {
  crypto::engine engine = test::make_engine();
  test::seeded random(61);
  for (const test::suite_row& suite : test::suites) {
    for (const test::label_row& label : test::label_rows) {
      const quic::protect::key_context context{label.version, suite.ours};
      direction to_server(engine, context, random.bytes(suite.secret_size));
      direction to_client(engine, context, random.bytes(suite.secret_size));
      std::uint32_t phases = 0;
      for (int round = 0; round < 40; ++round) {
        // One of them begins; RFC 9001 6.1: not before something of this phase was acknowledged.
        direction& first = round % 3 == 0 ? to_client : to_server;
        direction& second = round % 3 == 0 ? to_server : to_client;
        if (round % 4 == 3) {
          ASSERT_TRUE(first.send->may_update(first.largest));
          first.send->update(engine);
          ++phases;
          ASSERT_FALSE(first.send->may_update(first.largest));
        }
        const bytes text = random.bytes(50);
        bytes packet = first.seal(engine, text);
        opened_packet opened;
        ASSERT_EQ(first.open(engine, packet, opened), open_errc::ok);
        ASSERT_EQ(to_hex(base::byte_view(packet).subspan(opened.header_size, opened.payload_size)), to_hex(text));
        ASSERT_EQ(opened.key_update, round % 4 == 3);
        // RFC 9001 6.2: the answer is under the new keys.
        if (opened.key_update && second.send->updates() < first.receive->updates()) second.send->update(engine);
        packet = second.seal(engine, text);
        ASSERT_EQ(second.open(engine, packet, opened), open_errc::ok);
        ASSERT_EQ(opened.key_update, round % 4 == 3);
        ASSERT_EQ(first.receive->updates(), phases);
        ASSERT_EQ(second.receive->updates(), phases);
        ASSERT_EQ(first.receive->phase(), phases % 2 != 0);
      }
    }
  }
}

TEST(key_update, agrees_with_the_reference_in_every_phase) {
  crypto::engine engine = test::make_engine();
  test::seeded random(62);
  for (const test::suite_row& suite : test::suites) {
    for (const test::label_row& label : test::label_rows) {
      bytes secret = random.bytes(suite.secret_size);
      direction d(engine, {label.version, suite.ours}, secret);
      const bytes header_key = test::reference_keys_of(suite.theirs, secret, label.prefix).header;
      for (unsigned phase = 0; phase < 5; ++phase) {
        test::reference_keys keys = test::reference_keys_of(suite.theirs, secret, label.prefix);
        keys.header = header_key;  // RFC 9001 6.1: it is not updated
        const bytes text = random.bytes(77);
        bytes header(pn_offset + 4);
        header[0] = static_cast<std::uint8_t>(0x43 | (phase % 2 << 2));
        header[pn_offset + 3] = static_cast<std::uint8_t>(d.next_pn);
        const bytes theirs = test::seal_reference(keys, header, text, 4, d.next_pn);
        ASSERT_EQ(to_hex(d.seal(engine, text)), to_hex(theirs));
        d.send->update(engine);
        secret = test::libcrypto::hkdf_expand_label(secret, std::string(label.prefix) + "ku", suite.secret_size,
                                                    test::reference_hash(suite.theirs));
      }
    }
  }
}

TEST(key_update, packets_of_the_phase_before_open_until_its_keys_are_discarded) {
  crypto::engine engine = test::make_engine();
  test::seeded random(63);
  direction d(engine, aes, random.bytes(32));
  std::vector<bytes> old;
  for (int i = 0; i < 10; ++i) old.push_back(d.seal(engine, random.bytes(40)));
  opened_packet opened;
  ASSERT_EQ(d.open(engine, old[0], opened), open_errc::ok);
  d.send->update(engine);
  std::vector<bytes> young;
  for (int i = 0; i < 10; ++i) young.push_back(d.seal(engine, random.bytes(40)));
  // The update is met late in its phase; numbers below it belong to either phase.
  ASSERT_EQ(d.open(engine, young[7], opened), open_errc::ok);
  EXPECT_TRUE(opened.key_update);
  for (const int i : {3, 9, 1}) {
    ASSERT_EQ(d.open(engine, old[static_cast<std::size_t>(i)], opened), open_errc::ok) << i;
    EXPECT_FALSE(opened.key_update);
  }
  for (const int i : {2, 9, 0, 8}) {
    ASSERT_EQ(d.open(engine, young[static_cast<std::size_t>(i)], opened), open_errc::ok) << i;
    EXPECT_FALSE(opened.key_update);
  }
  EXPECT_EQ(d.receive->updates(), 1u);
  d.receive->discard_previous();
  EXPECT_EQ(d.open(engine, old[5], opened), open_errc::auth_failed);
  EXPECT_EQ(d.receive->updates(), 1u);
  EXPECT_EQ(d.receive->refused(), 1u);
  ASSERT_EQ(d.open(engine, young[4], opened), open_errc::ok);
}

TEST(key_update, forged_key_phases_change_nothing_and_are_counted) {
  crypto::engine engine = test::make_engine();
  test::seeded random(64);
  direction d(engine, aes, random.bytes(32));
  opened_packet opened;
  for (unsigned i = 0; i < 200; ++i) {
    const bytes good = d.seal(engine, random.bytes(30));
    bytes forged = good;
    forged[0] = static_cast<std::uint8_t>(forged[0] ^ 0x04);
    ASSERT_EQ(d.open(engine, forged, opened), open_errc::auth_failed);
    ASSERT_EQ(d.receive->refused(), i + 1);
    bytes packet = good;
    ASSERT_EQ(d.open(engine, packet, opened), open_errc::ok);
    ASSERT_FALSE(opened.key_update);
  }
  EXPECT_EQ(d.receive->updates(), 0u);
}

TEST(key_update, a_packet_in_parts_may_begin_a_phase) {
  crypto::engine engine = test::make_engine();
  test::seeded random(65);
  direction d(engine, aes, random.bytes(32));
  d.send->update(engine);
  const bytes text = random.bytes(300);
  bytes packet = d.seal(engine, text);
  const crypto::text_part parts[] = {{packet.data(), packet.data(), 5},
                                     {packet.data() + 5, packet.data() + 5, packet.size() - 5}};
  opened_packet opened;
  ASSERT_EQ(d.receive->open(engine, parts, pn_offset, d.largest, opened), open_errc::ok);
  EXPECT_TRUE(opened.key_update);
  EXPECT_EQ(to_hex(base::byte_view(packet).subspan(opened.header_size, opened.payload_size)), to_hex(text));
}

TEST(key_update, long_headers_have_no_key_phase) {
  crypto::engine engine = test::make_engine();
  test::seeded random(66);
  const bytes secret = random.bytes(32);
  direction d(engine, aes, secret);
  for (int i = 0; i < 50; ++i) {
    const test::plain_packet plain = test::make_packet(random, true, 100);
    const bytes sealed = test::seal_reference(test::reference_keys_of(test::reference_suite::aes_128, secret, "quic "),
                                              plain.header, plain.payload, plain.pn_size, plain.packet_number);
    bytes packet = sealed;
    opened_packet opened;
    ASSERT_EQ(d.receive->open(engine, packet, plain.pn_offset, test::largest_before(plain.packet_number), opened),
              open_errc::ok);
    ASSERT_FALSE(opened.key_update);
  }
}

TEST(aead_limits, sealing_stops_at_the_confidentiality_limit_and_an_update_goes_on) {
  crypto::engine engine = test::make_engine();
  direction d(engine, aes, bytes(32, 1));
  EXPECT_EQ(d.send->use(), key_use::fine);
  d.send->add_sealed((1u << 22) - 1);
  EXPECT_EQ(d.send->use(), key_use::fine);
  d.seal(engine, bytes(10));
  EXPECT_EQ(d.send->use(), key_use::update_due);
  d.send->add_sealed((1u << 22) - 1);
  d.seal(engine, bytes(10));
  EXPECT_EQ(d.send->sealed(), 1u << 23);
  EXPECT_EQ(d.send->use(), key_use::spent);
  bytes packet(100, 0x40);
  const base::byte_view piece = base::byte_view(packet).first(10);
  seal_request r{.out = packet, .pn_offset = 9, .pn_size = 1, .packet_number = 50, .payload = {&piece, 1}};
  const bytes before = packet;
  EXPECT_EQ(d.send->seal(engine, r), seal_errc::confidentiality_spent);
  EXPECT_EQ(packet, before);
  d.send->update(engine);
  EXPECT_EQ(d.send->use(), key_use::fine);
  EXPECT_EQ(d.send->seal(engine, r), seal_errc::ok);
}

TEST(aead_limits, opening_stops_at_the_integrity_limit_over_all_keys) {
  crypto::engine engine = test::make_engine();
  direction d(engine, {1, cipher_suite::chacha20_poly1305_sha256}, bytes(32, 1));
  const bytes good = d.seal(engine, bytes(10));
  d.receive->add_refused((std::uint64_t{1} << 36) - 1);
  bytes packet = good;
  opened_packet opened;
  EXPECT_EQ(d.open(engine, packet, opened), open_errc::ok);
  packet = good;
  packet.back() ^= 1;
  EXPECT_EQ(d.open(engine, packet, opened), open_errc::auth_failed);
  packet = good;
  EXPECT_EQ(d.open(engine, packet, opened), open_errc::integrity_spent);
}

TEST(send_keys, refuse_a_packet_number_that_does_not_rise) {
  crypto::engine engine = test::make_engine();
  direction d(engine, aes, bytes(32, 1));
  bytes packet(100);
  const bytes text(20);
  const base::byte_view piece = text;
  const auto code = [&](std::uint64_t number) {
    packet[0] = 0x40;
    seal_request r{.out = packet, .pn_offset = 9, .pn_size = 1, .packet_number = number, .payload = {&piece, 1}};
    return d.send->seal(engine, r);
  };
  EXPECT_EQ(code(5), seal_errc::ok);
  EXPECT_EQ(code(5), seal_errc::number_reused);
  EXPECT_EQ(code(4), seal_errc::number_reused);
  EXPECT_EQ(code(6), seal_errc::ok);
  d.send->update(engine);
  EXPECT_EQ(code(6), seal_errc::number_reused) << "RFC 9000 12.3: numbers go on over a key update";
  EXPECT_EQ(code(quic::wire::max_packet_number), seal_errc::ok);
  EXPECT_EQ(code(quic::wire::max_packet_number), seal_errc::number_reused);
  EXPECT_FALSE(direction(engine, aes, bytes(32)).send->may_update(quic::wire::no_packet_number));
}

TEST(burst, of_several_connections_and_suites_is_sealed_and_opened_without_the_heap) {
  crypto::engine engine = test::make_engine();
  test::seeded random(67);
  for (std::size_t count = 0; count <= 70; count += 1 + count / 8) {
    std::vector<std::unique_ptr<direction>> connections;
    for (int i = 0; i < 4; ++i) {
      const test::suite_row& suite = test::suites[i == 3 ? 0 : i];
      connections.push_back(std::make_unique<direction>(engine, quic::protect::key_context{1, suite.ours},
                                                        random.bytes(suite.secret_size)));
    }
    std::vector<bytes> texts(count);
    std::vector<base::byte_view> pieces(count);
    std::vector<bytes> packets(count);
    std::vector<direction*> owner(count);
    std::vector<quic::protect::seal_job> jobs(count);
    std::vector<quic::protect::open_request> requests(count);
    for (std::size_t i = 0; i < count; ++i) {
      owner[i] = connections[count > 20 ? 0 : random.below(4)].get();
      if (count > 20 && i % 17 == 16) owner[i] = connections[3].get();
      texts[i] = random.bytes(4 + random.below(1400));
      pieces[i] = texts[i];
      packets[i] = bytes(pn_offset + 4 + texts[i].size() + 16);
      packets[i][0] = 0x43;
      jobs[i].keys = &*owner[i]->send;
      jobs[i].request = {.out = packets[i],
                         .pn_offset = pn_offset,
                         .pn_size = 4,
                         .packet_number = owner[i]->next_pn++,
                         .payload = {&pieces[i], 1}};
      requests[i] = {
          .keys = &*owner[i]->receive, .largest_pn = &owner[i]->largest, .packet = packets[i], .pn_offset = pn_offset};
    }
    mem::heap_tally tally;
    {
      const mem::heap_watch watch(tally);
      EXPECT_EQ(seal_burst(engine, jobs), count);
      open_burst(engine, requests);
    }
    if (mem::heap_counter_present()) {
      EXPECT_EQ(tally.calls.get(), 0u);
    }
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(jobs[i].request.code, seal_errc::ok) << i;
      ASSERT_EQ(requests[i].code, open_errc::ok) << i;
      const opened_packet& opened = requests[i].opened;
      ASSERT_EQ(opened.packet_number, jobs[i].request.packet_number);
      ASSERT_EQ(to_hex(base::byte_view(packets[i]).subspan(opened.header_size, opened.payload_size)), to_hex(texts[i]));
    }
  }
}

TEST(burst, seals_the_others_when_some_are_refused) {
  crypto::engine engine = test::make_engine();
  test::seeded random(70);
  direction d(engine, {1, test::suites[0].ours}, random.bytes(test::suites[0].secret_size));
  constexpr std::size_t count = 40;
  const bytes text = random.bytes(100);
  const base::byte_view piece(text);
  std::vector<bytes> packets(count);
  std::vector<quic::protect::seal_job> jobs(count);
  const auto refused = [](std::size_t i) { return i % 5 == 3; };
  for (std::size_t i = 0; i < count; ++i) {
    packets[i].resize(pn_offset + 4 + text.size() + 16 - (refused(i) ? 1 : 0));
    packets[i][0] = 0x43;
    jobs[i].keys = &*d.send;
    jobs[i].request = {
        .out = packets[i], .pn_offset = pn_offset, .pn_size = 4, .packet_number = i, .payload = {&piece, 1}};
  }
  EXPECT_EQ(seal_burst(engine, jobs), 32u);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(jobs[i].request.code, refused(i) ? seal_errc::no_room : seal_errc::ok) << i;
    quic::protect::open_request r{
        .keys = &*d.receive, .largest_pn = &d.largest, .packet = packets[i], .pn_offset = pn_offset};
    quic::protect::open_burst(engine, std::span(&r, 1));
    if (refused(i)) continue;
    ASSERT_EQ(r.code, open_errc::ok) << i;
    EXPECT_EQ(to_hex(base::byte_view(packets[i]).subspan(r.opened.header_size, r.opened.payload_size)), to_hex(text));
  }
}

TEST(burst, seals_as_libcrypto_does_and_opens_what_it_sealed) {
  crypto::engine engine = test::make_engine();
  test::seeded random(69);
  constexpr std::size_t count = 45;  // a whole batch, and one that is neither full nor a multiple of eight
  for (const test::suite_row& suite : test::suites) {
    const bytes secret = random.bytes(suite.secret_size);
    const test::reference_keys keys = test::reference_keys_of(suite.theirs, secret, "quic ");
    direction d(engine, {1, suite.ours}, secret);
    std::vector<bytes> texts(count), theirs(count), ours(count);
    std::vector<std::vector<base::byte_view>> pieces(count);
    std::vector<quic::protect::seal_job> jobs(count);
    for (std::size_t i = 0; i < count; ++i) {
      texts[i] = random.bytes(4 + random.below(i % 9 == 0 ? 6000 : 1400));
      pieces[i] = test::pieces_of(random, texts[i], 1 + random.below(4));
      bytes header = random.bytes(pn_offset + 4);
      header[0] = 0x43;
      base::store_be32(header.data() + pn_offset, static_cast<std::uint32_t>(i));
      theirs[i] = test::seal_reference(keys, header, texts[i], 4, i);
      ours[i] = header;
      ours[i].resize(theirs[i].size());
      jobs[i].keys = &*d.send;
      jobs[i].request = {
          .out = ours[i], .pn_offset = pn_offset, .pn_size = 4, .packet_number = i, .payload = pieces[i]};
    }
    EXPECT_EQ(seal_burst(engine, jobs), count);
    std::vector<quic::protect::open_request> requests(count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(jobs[i].request.code, seal_errc::ok);
      ASSERT_EQ(to_hex(ours[i]), to_hex(theirs[i])) << i;
      requests[i] = {.keys = &*d.receive, .largest_pn = &d.largest, .packet = theirs[i], .pn_offset = pn_offset};
    }
    open_burst(engine, requests);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(requests[i].code, open_errc::ok) << i;
      ASSERT_EQ(requests[i].opened.packet_number, i);
      ASSERT_EQ(to_hex(base::byte_view(theirs[i]).subspan(pn_offset + 4, texts[i].size())), to_hex(texts[i]));
    }
  }
}

TEST(burst, refuses_its_bad_packets_and_serves_the_others) {
  crypto::engine engine = test::make_engine();
  test::seeded random(68);
  direction d(engine, aes, random.bytes(32));
  std::vector<bytes> packets;
  for (int i = 0; i < 40; ++i) packets.push_back(d.seal(engine, random.bytes(60)));
  packets[3].resize(28);       // no sample
  packets[9].resize(0);        // nothing
  packets[20].back() ^= 0x80;  // another tag
  std::vector<quic::protect::open_request> requests;
  for (bytes& p : packets) {
    requests.push_back({.keys = &*d.receive, .largest_pn = &d.largest, .packet = p, .pn_offset = pn_offset});
  }
  open_burst(engine, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const open_errc expected = i == 3 || i == 9 ? open_errc::too_short
                               : i == 20        ? open_errc::auth_failed
                                                : open_errc::ok;
    EXPECT_EQ(requests[i].code, expected) << i;
  }
  EXPECT_EQ(d.largest, 39u);
  EXPECT_EQ(d.receive->refused(), 1u);
}

TEST(burst, refuses_every_one_byte_change_and_serves_the_neighbours) {
  crypto::engine engine = test::make_engine();
  test::seeded random(70);
  for (const test::suite_row& suite : test::suites) {
    direction d(engine, {1, suite.ours}, random.bytes(suite.secret_size));
    std::uint64_t forged = 0;
    const bytes text = random.bytes(30);
    const bytes sealed = d.seal(engine, text);
    test::for_every_byte_change(
        sealed,
        [&](base::byte_view changed) {
          std::array<bytes, 3> packets = {d.seal(engine, text), bytes(changed.begin(), changed.end()),
                                          d.seal(engine, text)};
          std::array<quic::protect::open_request, 3> requests;
          for (std::size_t i = 0; i < packets.size(); ++i) {
            requests[i] = {.keys = &*d.receive, .largest_pn = &d.largest, .packet = packets[i], .pn_offset = pn_offset};
          }
          open_burst(engine, requests);
          ASSERT_EQ(requests[0].code, open_errc::ok);
          ASSERT_EQ(requests[1].code, open_errc::auth_failed);
          ASSERT_EQ(requests[2].code, open_errc::ok);
          ASSERT_EQ(d.receive->refused(), ++forged);
        },
        3);
  }
}

// A connection that rests keeps secrets and counts alone, and goes on where it was.
TEST(key_update, what_rests_wakes_as_it_was_in_every_phase) {
  crypto::engine engine = test::make_engine();
  test::seeded random(62);
  for (const test::suite_row& suite : test::suites) {
    for (const test::label_row& label : test::label_rows) {
      direction way(engine, {label.version, suite.ours}, random.bytes(suite.secret_size));
      for (std::uint32_t phase = 0; phase < 5; ++phase) {
        const bytes text = random.bytes(40);
        bytes packet = way.seal(engine, text);
        bytes forged = packet;
        forged.back() ^= 1;
        opened_packet opened;
        ASSERT_EQ(way.open(engine, forged, opened), open_errc::auth_failed);
        ASSERT_EQ(way.open(engine, packet, opened), open_errc::ok);

        crypto::wiped<quic::protect::resting_send_keys> sender;
        crypto::wiped<quic::protect::resting_receive_keys> receiver;
        way.send->rest(*sender);
        way.receive->rest(*receiver);
        const std::uint64_t sealed = way.send->sealed();
        way.send.clear();
        way.receive.clear();
        ASSERT_TRUE(way.send->wake(engine, *sender));
        ASSERT_TRUE(way.receive->wake(engine, *receiver));
        EXPECT_EQ(way.send->updates(), phase);
        EXPECT_EQ(way.receive->updates(), phase);
        EXPECT_EQ(way.send->phase(), phase % 2 == 1);
        EXPECT_EQ(way.receive->phase(), phase % 2 == 1);
        EXPECT_EQ(way.send->sealed(), sealed);
        EXPECT_EQ(way.receive->refused(), phase + 1);

        packet = way.seal(engine, text);
        ASSERT_EQ(way.open(engine, packet, opened), open_errc::ok) << suite.secret_size << ' ' << phase;
        EXPECT_FALSE(opened.key_update);
        // A number of before is refused still.
        --way.next_pn;
        bytes again(1 + cid_size + 4 + text.size() + 16);
        again[0] = 0x43;
        const base::byte_view piece = text;
        seal_request r{
            .out = again, .pn_offset = pn_offset, .pn_size = 4, .packet_number = way.next_pn++, .payload = {&piece, 1}};
        EXPECT_EQ(way.send->seal(engine, r), seal_errc::number_reused);
        way.send->update(engine);
        packet = way.seal(engine, text);
        ASSERT_EQ(way.open(engine, packet, opened), open_errc::ok);
        EXPECT_TRUE(opened.key_update);
      }
    }
  }
}

// What others captured, published or found: every parser of this folder against the shared corpus.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "quic/wire/frame_walker.hpp"
#include "quic/wire/header_emit.hpp"
#include "quic/wire/packet_number.hpp"
#include "quic/wire/transport_parameters.hpp"
#include "support/corpus_vectors.hpp"
#include "support/hostile.hpp"
#include "support/quic_frame_echo.hpp"
#include "support/quic_header_check.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_view;
using test::byte_list;
using test::corpus;
using test::files_of;
using test::hex_member;
using test::json_document;
using test::read_file;
using test::to_hex;

// The packets of a datagram. RFC 9000 12.2: where version or destination changes, or zeros begin that some clients fill
// their datagrams with, it is over.
std::vector<packet_header> packets_of(byte_view datagram) {
  std::vector<packet_header> out;
  while (!datagram.empty()) {
    packet_header h;
    if (!parse_packet(datagram, h)) break;
    if (!out.empty() && !h.fixed_bit) break;
    if (!out.empty() && h.is_long() && (h.version != out[0].version || !std::ranges::equal(h.dcid, out[0].dcid))) break;
    out.push_back(h);
    datagram = datagram.subspan(h.packet_size);
  }
  return out;
}

std::string types_of(byte_view datagram) {
  constexpr std::string_view names[] = {"initial", "0rtt", "handshake", "retry", "vn", "1rtt", "unknown"};
  std::string out;
  for (const packet_header& h : packets_of(datagram)) {
    if (!out.empty()) out += ' ';
    out += names[static_cast<std::size_t>(h.type)];
  }
  return out;
}

TEST(quic_corpus, agrees_with_the_numbers_of_rfc_9000_appendix_a) {
  MILLRACE_NEEDS_CORPUS();
  const auto vectors = json_document(corpus() / "vectors/rfc9000-appendix-a.json");
  for (const auto& v : vectors["varint_decode"].items()) {
    const byte_list bytes = hex_member(v, "hex");
    std::uint64_t value = 0;
    EXPECT_EQ(base::decode_varint(bytes, value), bytes.size());
    EXPECT_EQ(value, v["value"].count());
  }
  for (const auto& v : vectors["packet_number_encode"].items())
    EXPECT_EQ(8 * packet_number_size(v["full_pn"].count(), v["largest_acked"].count()), v["bits"].count());
  for (const auto& v : vectors["packet_number_decode"].items())
    EXPECT_EQ(decode_packet_number(v["largest_pn"].count(), v["truncated_pn"].count(), v["bits"].count() / 8),
              v["full_pn"].count());
}

// The headers of RFC 9001 and RFC 9369 appendix A, protected and not, and their emitted counterparts.
void expect_appendix_a(const std::filesystem::path& file, version_number version) {
  const auto vectors = json_document(file);
  const byte_list dcid = hex_member(vectors, "client_dcid");
  const auto& client = vectors["client_initial"];
  const byte_list packet = hex_member(client, "packet");
  packet_header h;
  ASSERT_TRUE(parse_packet(packet, h));
  EXPECT_EQ(h.type, packet_type::initial);
  EXPECT_EQ(h.version, version);
  EXPECT_EQ(to_hex(h.dcid), to_hex(dcid));
  EXPECT_EQ(h.packet_size, packet.size());
  const byte_list protected_header = hex_member(client, "protected_header");
  EXPECT_EQ(h.pn_offset, protected_header.size() - 4);

  const byte_list header = hex_member(client, "unprotected_header");
  byte_list room(header.size());
  base::byte_writer out(room);
  base::byte_span number;
  ASSERT_TRUE(emit(out, long_header{.version = version, .dcid = dcid, .length = h.length, .pn_size = 4}, number));
  base::store_be32(number.data(), static_cast<std::uint32_t>(client["packet_number"].count()));
  EXPECT_EQ(to_hex(room), to_hex(header));

  const byte_list server = hex_member(vectors["server_initial"], "packet");
  ASSERT_TRUE(parse_packet(server, h));
  EXPECT_EQ(h.type, packet_type::initial);
  EXPECT_TRUE(h.dcid.empty());
  EXPECT_EQ(h.scid.size(), 8u);

  const byte_list retry = hex_member(vectors["retry"], "packet");
  ASSERT_TRUE(parse_packet(retry, h));
  EXPECT_EQ(h.type, packet_type::retry);
  EXPECT_EQ(to_hex(h.token), vectors["retry"]["token"].text());
  EXPECT_EQ(to_hex(h.retry_tag), vectors["retry"]["integrity_tag"].text());

  const byte_list short_packet = hex_member(vectors["chacha20_short_header"], "packet");
  ASSERT_TRUE(parse_packet(short_packet, h));
  EXPECT_EQ(h.type, packet_type::one_rtt);
  EXPECT_EQ(classify(short_packet), datagram_kind::short_form);

  // The server's frames, in clear: an ACK and its hello.
  const byte_list payload = hex_member(vectors["server_initial"], "payload");
  test::frame_echo echo;
  const walk_result walked = walk_frames(payload, packet_type::initial, echo);
  EXPECT_TRUE(walked);
  EXPECT_EQ(walked.frames, 2u);
  EXPECT_EQ(to_hex(echo.written()), to_hex(payload));
}

TEST(quic_corpus, agrees_with_the_packets_of_rfc_9001_appendix_a) {
  MILLRACE_NEEDS_CORPUS();
  expect_appendix_a(corpus() / "vectors/rfc9001-appendix-a.json", version_1);
}

TEST(quic_corpus, agrees_with_the_packets_of_rfc_9369_appendix_a) {
  MILLRACE_NEEDS_CORPUS();
  expect_appendix_a(corpus() / "vectors/rfc9369-appendix-a.json", version_2);
}

TEST(quic_corpus, reads_the_headers_of_captured_datagrams) {
  MILLRACE_NEEDS_CORPUS();
  const std::pair<const char*, const char*> expected[] = {
      {"clienthellod-QUIC_IETF_Chrome_125_PKN1.bin", "initial"},
      {"clienthellod-QUIC_IETF_Chrome_125_PKN2.bin", "initial"},
      {"clienthellod-QUIC_IETF_Firefox_126.bin", "initial"},
      {"firedancer-rfc9001-client-initial-encrypted.bin", "initial"},
      {"quicly-coalesced_packet.bin", "0rtt initial"},
      {"zapret-quic_initial_facebook_com.bin", "initial"},
      {"zapret-quic_initial_rr2---sn-gvnuxaxjvh-o8ge_googlevideo_com.bin", "initial"},
      {"zapret-quic_initial_rutracker_org.bin", "initial"},
      {"zapret-quic_initial_rutracker_org_kyber_1.bin", "initial"},
      {"zapret-quic_initial_rutracker_org_kyber_2.bin", "initial"},
      {"zapret-quic_initial_www_google_com.bin", "initial"},
      {"illustrated-quic/dgram01_c01", "initial"},
      {"illustrated-quic/dgram02_s01", "initial handshake"},
      {"illustrated-quic/dgram03_s02", "handshake"},
      {"illustrated-quic/dgram04_c02", "initial handshake"},
      {"illustrated-quic/dgram05_c03", "handshake 1rtt"},
      {"illustrated-quic/dgram06_s03", "handshake 1rtt"},
  };
  for (const auto& [name, types] : expected) {
    const byte_list datagram = read_file(corpus() / "datagram" / name);
    EXPECT_EQ(types_of(datagram), types) << name;
    EXPECT_EQ(classify(datagram), datagram_kind::long_form) << name;
  }
  for (const char* name :
       {"zapret-quic_short_header.bin", "illustrated-quic/dgram07_c04", "illustrated-quic/dgram08_s04"})
    EXPECT_EQ(classify(read_file(corpus() / "datagram" / name)), datagram_kind::short_form) << name;
}

TEST(quic_corpus, survives_captured_datagrams_cut_everywhere_and_with_any_byte_changed) {
  MILLRACE_NEEDS_CORPUS();
  const byte_list coalesced = read_file(corpus() / "datagram/quicly-coalesced_packet.bin");
  const auto check = [](byte_view in) {
    for (byte_view rest = in; !rest.empty();) {
      packet_header h;
      const base::parse_status status = parse_packet(rest, h);
      const char* broken = test::broken_header_rule(rest, status, h);
      EXPECT_EQ(broken, nullptr) << broken;
      if (!status) break;
      rest = rest.subspan(h.packet_size);
    }
  };
  test::for_every_truncation(coalesced, check);
  test::for_every_byte_change(coalesced, check, 17);
}

TEST(quic_corpus, takes_for_quic_what_three_sniffers_take_for_it) {
  MILLRACE_NEEDS_CORPUS();
  const auto cases = json_document(corpus() / "datagram/sniffer-tests.json");
  for (const auto& c : cases["cases"].items()) {
    const bool is_initial = !c.has("quic_initial") || c["quic_initial"].truth();
    for (const auto& hex : c["datagrams"].items()) {
      const byte_list datagram = test::from_hex(hex.text());
      packet_header h;
      const bool parsed = classify(datagram) == datagram_kind::long_form && parse_packet(datagram, h);
      EXPECT_EQ(parsed && h.type == packet_type::initial, is_initial) << c["name"].text();
    }
  }
}

// One long connection taken apart by its author: packets in clear, frame by frame.
TEST(quic_corpus, walks_the_decrypted_packets_of_a_whole_handshake) {
  MILLRACE_NEEDS_CORPUS();
  const std::filesystem::path folder = corpus() / "datagram/illustrated-quic";
  const std::pair<const char*, packet_type> payloads[] = {
      {"pkt_payload01_cinit0", packet_type::initial},   {"pkt_payload02_sinit0", packet_type::initial},
      {"pkt_payload03_shand0", packet_type::handshake}, {"pkt_payload04_shand1", packet_type::handshake},
      {"pkt_payload05_cinit1", packet_type::initial},   {"pkt_payload06_chand0", packet_type::handshake},
      {"pkt_payload07_chand1", packet_type::handshake}, {"pkt_payload09_shand2", packet_type::handshake}};
  for (const auto& [name, type] : payloads) {
    const byte_list payload = read_file(folder / name);
    test::frame_echo echo;
    EXPECT_TRUE(walk_frames(payload, type, echo)) << name;
    EXPECT_FALSE(echo.broken);
    // This author writes two-byte lengths everywhere, so the canonical form may be shorter, never longer.
    EXPECT_LE(echo.written().size(), payload.size());
    test::frame_echo again;
    EXPECT_TRUE(walk_frames(echo.written(), type, again));
    EXPECT_EQ(to_hex(again.written()), to_hex(echo.written()));
  }
  struct first_crypto : frame_visitor {
    using frame_visitor::on;
    byte_list data;
    bool on(const crypto_frame& f) {
      data.assign(f.data.begin(), f.data.end());
      return true;
    }
  };
  first_crypto hello;
  EXPECT_TRUE(walk_frames(test::keep(read_file(folder / "pkt_payload01_cinit0")), packet_type::initial, hello));
  EXPECT_EQ(hello.data, read_file(folder / "crypto_clienthello"));
}

TEST(quic_corpus, tells_legal_frames_from_illegal_ones_in_one_file_a_frame) {
  MILLRACE_NEEDS_CORPUS();
  const auto expected = [](const std::string& name) {
    if (name == "crypto" || name == "ping" || name == "padding" || name == "connection_close") return frame_fault::none;
    // Both collections keep an ACK that cannot be: one reaches below packet 0, one ends before its first range.
    return name == "ack" ? frame_fault::malformed : frame_fault::not_allowed;
  };
  for (const char* folder : {"fuzz/ngtcp2/decode_frame", "fuzz/coquic/fuzz_frame"})
    for (const auto& [file, payload] : files_of(corpus() / folder)) {
      const walk_result result = walk_frames(payload, packet_type::initial, frame_visitor{});
      EXPECT_EQ(result.fault, expected(file.substr(0, file.find('.')))) << folder << '/' << file;
    }
}

TEST(quic_corpus, reads_the_transport_parameters_that_others_keep) {
  MILLRACE_NEEDS_CORPUS();
  const auto accepts = [](const char* name, sender from) {
    transport_parameters p;
    const byte_list text = read_file(corpus() / "fuzz/coquic/fuzz_transport_parameters" / name);
    const byte_list body = test::from_hex(base::as_text(text));
    return static_cast<bool>(parse(body, from, parameter_encoding::varints, p));
  };
  EXPECT_FALSE(accepts("duplicate.hex", sender::client));
  EXPECT_FALSE(accepts("duplicate.hex", sender::server));
  EXPECT_FALSE(accepts("preferred_address.hex", sender::client));
  EXPECT_TRUE(accepts("preferred_address.hex", sender::server));
  EXPECT_FALSE(accepts("version_information.hex", sender::client));  // its chosen version is not on its list
  EXPECT_TRUE(accepts("version_information.hex", sender::server));
  std::size_t good = 0;
  for (const auto& [name, body] : files_of(corpus() / "fuzz/neqo/tparams")) {
    transport_parameters p;
    if (parse(body, sender::server, parameter_encoding::varints, p)) ++good;
  }
  EXPECT_GT(good, 0u);
}

// Seeds of other people's fuzzers: nothing is expected but that nothing breaks.
TEST(quic_corpus, survives_the_fuzz_seeds_of_six_other_stacks) {
  MILLRACE_NEEDS_CORPUS();
  test::guard_page guard;
  std::size_t seen = 0;
  for (const char* folder :
       {"fuzz/coquic/fuzz_datagram", "fuzz/coquic/fuzz_frame", "fuzz/coquic/fuzz_long_header_packet",
        "fuzz/coquic/fuzz_plaintext_packet", "fuzz/coquic/fuzz_short_header_packet",
        "fuzz/coquic/fuzz_transport_parameters", "fuzz/mercury/quic_init", "fuzz/neqo/client_initial",
        "fuzz/neqo/frame", "fuzz/neqo/packet", "fuzz/neqo/server_initial", "fuzz/neqo/tparams",
        "fuzz/ngtcp2/decode_frame", "fuzz/ngtcp2/read_write_handshake_pkt", "fuzz/ngtcp2/read_write_pkt",
        "fuzz/quiche/packet_recv_client", "fuzz/quiche/packet_recv_server", "fuzz/quicly/corpus"})
    for (const auto& [name, content] : files_of(corpus() / folder)) {
      const byte_view in = guard.place(content);
      ++seen;
      packet_header h;
      const char* broken = test::broken_header_rule(in, parse_packet(in, h), h);
      EXPECT_EQ(broken, nullptr) << folder << '/' << name << ": " << broken;
      (void)classify(in);
      for (const packet_type type : {packet_type::initial, packet_type::handshake}) {
        test::frame_echo echo;
        EXPECT_LE(walk_frames(in, type, echo).status.at, in.size());
        EXPECT_FALSE(echo.broken) << folder << '/' << name;
      }
      for (const sender from : {sender::client, sender::server})
        for (const parameter_encoding encoding : {parameter_encoding::varints, parameter_encoding::sixteen_bits}) {
          transport_parameters p;
          EXPECT_LE(parse(in, from, encoding, p).at, in.size());
        }
    }
  EXPECT_GT(seen, 300u);
}

}  // namespace
}  // namespace millrace::quic::wire

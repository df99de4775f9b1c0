// Real packets: the RFCs' appendices as the corpus has them, and captures of every version with a public salt. A
// capture is searched byte by byte for long headers rather than read as frames: what opens is authentic, so nothing
// found this way can be a mistake, and this test needs no decoder.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/byte_reader.hpp"
#include "quic/protect/initials.hpp"
#include "quic/protect/reference.hpp"
#include "support/corpus.hpp"
#include "support/json_map.hpp"
#include "tls/ja4.hpp"

using namespace millrace;
using quic::protect::open_errc;
using quic::protect::side;
using bytes = test::byte_list;
using test::from_hex;
using test::to_hex;

namespace {

// Opens, reseals and compares "client_initial" or "server_initial" of a vector file.
void check_vector(crypto::engine& engine, const test::json_map& json, const std::string& name,
                  const quic::protect::packet_keys& keys) {
  SCOPED_TRACE(name);
  const bytes packet = from_hex(json[name + ".packet"]);
  const bytes header = from_hex(json[name + ".unprotected_header"]);
  bytes frames = from_hex(json[name + (json.has(name + ".payload") ? ".payload" : ".crypto_frame")]);
  if (json.has(name + ".payload_len")) frames.resize(std::stoul(json[name + ".payload_len"]));

  const test::open_result opened = test::open_packet(engine, keys, packet);
  ASSERT_EQ(opened.code, open_errc::ok);
  EXPECT_EQ(opened.packet_number, std::stoull(json[name + ".packet_number"]));
  EXPECT_EQ(to_hex(opened.frames), to_hex(frames));

  const unsigned pn_size = (header[0] & 3u) + 1;
  bytes sealed = test::join({header, frames, bytes(16)});
  ASSERT_TRUE(quic::protect::seal_initial(engine, keys, sealed, static_cast<std::uint32_t>(header.size() - pn_size),
                                          pn_size, opened.packet_number));
  EXPECT_EQ(to_hex(sealed), to_hex(packet));
}

void check_vectors(const std::string& name) {
  crypto::engine engine = test::make_engine();
  const test::json_map json(test::read_file(test::corpus() / "vectors" / name));
  const auto version = static_cast<quic::wire::version_number>(std::stoul(json["version"], nullptr, 16));
  const bytes dcid = from_hex(json["client_dcid"]);
  const auto client = test::derive(engine, version, dcid, side::client);
  const auto server = test::derive(engine, version, dcid, side::server);
  EXPECT_EQ(to_hex(client.iv), json["client_keys.iv"]);
  EXPECT_EQ(to_hex(server.iv), json["server_keys.iv"]);
  check_vector(engine, json, "client_initial", client);
  check_vector(engine, json, "server_initial", server);
  EXPECT_TRUE(
      quic::protect::verify_retry(engine, version, from_hex(json["retry.odcid"]), from_hex(json["retry.packet"])));
}

struct connection {
  quic::wire::version_number version = 0;
  bytes dcid;
  std::map<std::uint64_t, bytes> crypto;  // by offset
};

struct capture_facts {
  std::map<quic::wire::version_number, unsigned> client_initials;  // opened
  std::map<quic::wire::version_number, unsigned> server_initials;
  unsigned retries = 0;                     // verified
  unsigned retries_refused = 0;             // seen with a key for their version, and not verified
  std::multiset<std::string> fingerprints;  // one a connection whose ClientHello came whole
};

class capture_search {
  crypto::engine engine_ = test::make_engine();
  bytes room_ = bytes(65536);
  std::map<std::string, connection> by_dcid_;  // in hex
  std::map<std::string, connection*> by_client_scid_;

  void keep_crypto(connection& c, base::byte_view frames, bool google) {
    base::byte_reader in(frames);
    std::uint8_t type = 0;
    while (in.u8(type)) {
      if (type == 0 || type == 1) continue;
      std::uint64_t offset = 0;
      std::uint64_t size = 0;
      base::byte_view data;
      // Inside T05x and Q050 packets the frames are still gQUIC's, where CRYPTO is 8.
      if (type != (google ? 8 : 6) || !in.varint(offset) || !in.varint(size) || !in.bytes(size, data)) return;
      c.crypto[offset].assign(data.begin(), data.end());
    }
  }

  bool open(const connection& c, side sender, base::byte_view packet, const quic::wire::packet_header& header,
            quic::protect::opened& opened) {
    const auto keys = test::derive(engine_, c.version, c.dcid, sender);
    return quic::protect::open_initial(engine_, keys, packet, header, ~std::uint64_t{0}, room_, opened) ==
           open_errc::ok;
  }

  void on_initial(base::byte_view packet, const quic::wire::packet_header& header, capture_facts& facts) {
    const bytes dcid(header.dcid.begin(), header.dcid.end());
    quic::protect::opened opened;
    if (open({header.version, dcid, {}}, side::client, packet, header, opened)) {
      ++facts.client_initials[header.version];
      connection& c = by_dcid_[to_hex(dcid)];
      c.version = header.version;
      c.dcid = dcid;
      by_client_scid_[to_hex(header.scid)] = &c;
      keep_crypto(c, opened.payload, header.version >> 16 == 0x5430);
      return;
    }
    const auto client = by_client_scid_.find(to_hex(dcid));
    if (client != by_client_scid_.end() && open(*client->second, side::server, packet, header, opened)) {
      ++facts.server_initials[header.version];
    }
  }

  void on_retry(base::byte_view packet, const quic::wire::packet_header& header, capture_facts& facts) {
    if (!quic::protect::has_retry_key(header.version)) return;
    const auto client = by_client_scid_.find(to_hex(header.dcid));
    if (client == by_client_scid_.end()) return;
    // A Retry runs to the end of its datagram, which this search does not know: every end is tried.
    for (std::size_t size = packet.size(); size > header.scid.size() + 23; --size) {
      if (quic::protect::verify_retry(engine_, header.version, client->second->dcid, packet.first(size))) {
        ++facts.retries;
        return;
      }
    }
    ++facts.retries_refused;
  }

  void fingerprint(const connection& c, capture_facts& facts) {
    bytes stream;
    for (const auto& [offset, data] : c.crypto) {
      if (offset > stream.size()) return;
      if (offset + data.size() <= stream.size()) continue;
      stream.resize(offset);
      stream.insert(stream.end(), data.begin(), data.end());
    }
    bool is_client_hello = false;
    const std::size_t size = tls::wire::handshake_message_size(stream, is_client_hello);
    tls::wire::client_hello hello;
    if (size == 0 || size > stream.size() || !is_client_hello ||
        !tls::wire::parse_client_hello(base::byte_view(stream).first(size), hello)) {
      return;
    }
    std::array<char, tls::ja4_size> text{};
    tls::ja4(engine_, hello, tls::ja4_transport::quic, text);
    facts.fingerprints.insert({text.data(), text.size()});
  }

 public:
  capture_facts run(const std::string& name) {
    capture_facts facts;
    const bytes file = test::read_file(test::corpus() / "pcap" / "quic" / name);
    EXPECT_FALSE(file.empty()) << name;
    const base::byte_view all(file);
    for (std::size_t at = 0; at + 30 < all.size(); ++at) {
      if ((all[at] & 0xc0) != 0xc0 || !quic::protect::has_initial_salt(base::load_be32(all.data() + at + 1))) continue;
      const base::byte_view packet = all.subspan(at, std::min<std::size_t>(all.size() - at, 1500));
      quic::wire::packet_header header;
      if (!quic::wire::parse_packet(packet, header)) continue;
      if (header.type == quic::wire::packet_type::initial) on_initial(packet, header, facts);
      if (header.type == quic::wire::packet_type::retry) on_retry(packet, header, facts);
    }
    for (const auto& [dcid, c] : by_dcid_) fingerprint(c, facts);
    return facts;
  }
};

struct capture_row {
  const char* file;
  quic::wire::version_number version;
  unsigned client_initials;
  unsigned server_initials;
};

// How many there are agrees with the corpus' own expectations, where these count both directions as one.
const capture_row capture_rows[] = {
    {"suricata-ja4-quic.pcap", 0x00000001, 11, 0},
    {"pcapflowlab-quic_example_2.pcap", 0x00000001, 3, 5},
    {"suricata-quic-v2.pcap", 0x6b3343cf, 1, 1},
    {"zeek-quicv2-echo-443.pcap", 0x6b3343cf, 3, 1},
    {"pcap2qlog-multi_stream.pcap", 0xff000016, 1, 1},
    {"ndpi-quic-23.pcap", 0xff000017, 1, 1},
    {"ndpi-quic-28.pcap", 0xff00001b, 1, 2},
    {"ndpi-quic-28.pcap", 0xff00001c, 1, 0},
    {"ndpi-quic-29.pcap", 0xff00001d, 2, 3},
    {"ndpi-doq.pcapng", 0xff000020, 1, 1},
    {"ndpi-quic-mvfst-22.pcap", 0xfaceb001, 1, 2},
    {"mercury-quic-crypto-packets.pcap", 0xfaceb002, 50, 0},
    {"ndpi-quic-mvfst-exp.pcap", 0xfaceb00e, 1, 1},
    {"ndpi-quic_t50.pcap", 0x54303530, 2, 1},
    {"mercury-quic-crypto-packets.pcap", 0x54303531, 14, 0},
    {"ndpi-gquic.pcap", 0x51303530, 1, 0},
};

struct ja4_row {
  const char* file;
  const char* fingerprint;
  unsigned connections;
  const char* source;  // who else computed it
};

const ja4_row ja4_rows[] = {
    {"suricata-ja4-quic.pcap", "q13d0310h3_55b375c5d22e_cd85d2d88918", 11, "Suricata, beside the capture"},
    {"suricata-ja4-tls-quic.pcap", "q13d0310h3_55b375c5d22e_cd85d2d88918", 1, "Suricata, beside the capture"},
    {"ja4-chrome-cloudflare-quic-with-secrets.pcapng", "q13d0310h3_55b375c5d22e_cd85d2d88918", 1, "FoxIO's snapshots"},
    {"ja4-tls3.pcapng", "q13d0310h3_55b375c5d22e_cd85d2d88918", 5, "FoxIO's snapshots"},
    {"ja4-tls3.pcapng", "q13d0311h3_55b375c5d22e_3512bcbbc9ec", 1, "FoxIO's snapshots"},
    // nDPI of that time took the first two characters of ALPN instead of the first and last, and "d" where there is no
    // SNI extension (tshark agrees that there is none); all else is as it says.
    {"ndpi-quic-v2.pcapng", "q13d0310h3_55b375c5d22e_0a3b52e28cea", 1, "nDPI, less its h0 for h3"},
    {"ndpi-quic-23.pcap", "q13d0308h2_55b375c5d22e_23ed935430f2", 1, "nDPI, less its h3 for h3-22"},
    {"ndpi-quic-28.pcap", "q13d0309h8_55b375c5d22e_f68d9329452a", 1, "nDPI, less its h3 for h3-28"},
    {"ndpi-quic-29.pcap", "q13d0512h9_d55e91d5c3b2_cd318bf3b157", 2, "nDPI, less its h3 for h3-29"},
    {"ndpi-doq.pcapng", "q00i0307d0_55b375c5d22e_23ed935430f2", 1, "nDPI, less its d and do for doq-i00"},
    {"ndpi-quic-mvfst-22.pcap", "q00d0109h5_0f2cb44170f4_01b7bde4a3dd", 1, "nDPI, less its h3 for h3-fb-05"},
    {"ndpi-quic-mvfst-exp.pcap", "q00d0108h5_0f2cb44170f4_f4b4187450f5", 1, "nDPI, less its h3 for h3-fb-05"},
    {"ndpi-quic_t50.pcap", "q13d0309h0_55b375c5d22e_f68d9329452a", 1, "nDPI, less its h3 for h3-T050"},
};

struct retry_row {
  const char* file;
  unsigned retries;
};
const retry_row retry_rows[] = {{"ndpi-quic-29.pcap", 1},
                                {"ndpi-quic-forcing-vn-with-data.pcapng", 1},
                                {"suricata-quic-retry.pcap", 2},
                                {"zeek-interop-quicgo-retry.pcap", 1}};

}  // namespace

TEST(initial_corpus, opens_and_seals_the_packets_of_rfc_9001_appendix_a) {
  MILLRACE_NEEDS_CORPUS();
  check_vectors("rfc9001-appendix-a.json");
}

TEST(initial_corpus, opens_and_seals_the_packets_of_rfc_9369_appendix_a) {
  MILLRACE_NEEDS_CORPUS();
  check_vectors("rfc9369-appendix-a.json");
}

TEST(initial_corpus, opens_the_initials_of_every_version_somebody_captured) {
  MILLRACE_NEEDS_CORPUS();
  for (const capture_row& row : capture_rows) {
    SCOPED_TRACE(testing::Message() << row.file << ' ' << std::hex << row.version);
    capture_facts facts = capture_search().run(row.file);
    EXPECT_EQ(facts.client_initials[row.version], row.client_initials);
    EXPECT_EQ(facts.server_initials[row.version], row.server_initials);
  }
}

TEST(initial_corpus, verifies_the_retries_that_were_captured) {
  MILLRACE_NEEDS_CORPUS();
  for (const retry_row& row : retry_rows) {
    const capture_facts facts = capture_search().run(row.file);
    EXPECT_EQ(facts.retries, row.retries) << row.file;
    EXPECT_EQ(facts.retries_refused, 0u) << row.file;
  }
}

TEST(ja4_corpus, gives_the_fingerprints_others_computed) {
  MILLRACE_NEEDS_CORPUS();
  for (const ja4_row& row : ja4_rows) {
    const capture_facts facts = capture_search().run(row.file);
    EXPECT_EQ(facts.fingerprints.count(row.fingerprint), row.connections)
        << row.file << ", by " << row.source
        << "; ours: " << (facts.fingerprints.empty() ? "none" : *facts.fingerprints.begin());
  }
}

// test/inspect/corpus_exceptions.hpp - where inspect and the corpus' expectations differ, each by name, with evidence.
#pragma once

#include <string_view>

namespace millrace::inspect::test {

enum class exception_kind {
  not_a_fact,  // the corpus' own note says that the expectation is a guess, or counts what is no traffic
  differs,     // we stand by what we say
};

struct exception {
  std::string_view file;
  std::string_view fact;
  std::size_t flows;  // of that file in which the fact differs
  exception_kind kind;
  std::string_view reason;
};

inline constexpr exception exceptions[] = {
    // All clients send the reserved version 0x0a0a0a0a (RFC 9000 15): its packet types, keys and frames are undefined.
    // tshark takes it for draft-29. INDEX.md: what counts are 63 flows, the VN answers and their version lists.
    {"ndpi-quic_interop_V.pcapng", "sni", 63, exception_kind::not_a_fact, "a reserved version, opened by guessing"},
    {"ndpi-quic_interop_V.pcapng", "alpn", 63, exception_kind::not_a_fact, "a reserved version, opened by guessing"},
    {"ndpi-quic_interop_V.pcapng", "initial", 63, exception_kind::not_a_fact,
     "a reserved version has no Initial; we count its long headers as unknown_long"},
    {"ndpi-quic_interop_V.pcapng", "vn", 12, exception_kind::not_a_fact,
     "the third VN packet of these flows is quoted in an ICMP error (frame 124 for port 46576): not sent as UDP"},
    {"ndpi-quic-forcing-vn-with-data.pcapng", "initial", 1, exception_kind::not_a_fact,
     "the first packet has the reserved version 0xbabababa: counting it as an Initial is a guess"},

    {"ndpi-gquic.pcap", "sni", 1, exception_kind::differs,
     "Q050 opens with its public salt; nDPI reads www.gstatic.com as we do, tshark shows none"},
    {"mercury-quic-crypto-packets.pcap", "initial", 1, exception_kind::differs,
     "one connection seen before and after NAT64 (IPv6 and IPv4, both ends differ): tshark joins by DCID alone and "
     "counts the IPv4 packet with the IPv6 flow; by address pair they are two"},
    {"arkime-arkime_synthetic.pcap", "initial", 1, exception_kind::differs,
     "two synthetic packets with DCID 0101010101010101 between different hosts: tshark joins them"},
    {"zeek-383379789-decrypt-crash.pcap", "initial", 1, exception_kind::differs,
     "the UDP length of frame 7 (256) is more than its frame holds: dropped as udp_bad_length, tshark reads on"},
};

// Captures in which we see a QUIC connection on an address pair that no expected flow has.
struct stranger {
  std::string_view file;
  std::string_view reason;
};

inline constexpr stranger known_strangers[] = {
    {"arkime-arkime_synthetic.pcap", "10.3.5.100 > 10.3.5.1, which tshark joins with another flow (see above)"},
    {"mercury-quic-crypto-packets.pcap", "10.150.34.25 > 157.240.229.17, the same packet before NAT64 (see above)"},
    {"pcap2qlog-local-ngtcp2-pcap-encrypted.pcap",
     "draft-15, which tshark does not know: INDEX.md asks for version and IDs without decryption"},
    {"pcap2qlog-local-ngtcp2-pcapng-injected.pcapng", "the same traffic"},
};

}  // namespace millrace::inspect::test

// stats/drop_reason.hpp - why a packet, datagram or frame went no further: one list for the whole program.
//
// Shape    one enum; its names are the keys of `drops` in the result JSON, of the telemetry and of the metrics, and
//          its texts are what `--help drops` and docs/ print. New reasons go where their layer stands.
// Rules    one drop = one free = one counter, counted by the stage that decided it. `none` is never counted.
// Source   docs/architecture.md, invariants. Tests  test/stats/drop_reason_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millrace::stats {

// X(name, text)
#define MILLRACE_DROP_REASONS(X)                                                           \
  X(none, "not dropped")                                                                   \
  /* resources */                                                                          \
  X(mempool_empty, "no mbuf was free")                                                     \
  X(tx_ring_full, "the transmit ring refused it after the bounded retries")                \
  X(rx_only, "received in a mode that only receives")                                      \
  X(flow_table_full, "the flow cap was reached and nothing was old enough to evict")       \
  X(reassembly_full, "no reassembly buffer was free")                                      \
  X(shutdown, "still queued when the program stopped")                                     \
  X(impaired, "lost on purpose by the emulated wire")                                      \
  /* capture files */                                                                      \
  X(capture_unknown_link_type, "the capture's link type is not understood")                \
  X(capture_truncated_file, "the capture ends inside a record")                            \
  X(capture_malformed, "a record or block of the capture that cannot be")                  \
  /* link layer */                                                                         \
  X(l2_truncated, "the frame ends inside its link-layer header")                           \
  X(l2_oversized, "the frame is longer than any buffer we accept")                         \
  X(l2_unknown_ethertype, "an ethertype or link protocol we do not look into")             \
  X(l2_bad_length, "an 802.3, PPPoE or cooked length contradicts the frame")               \
  X(l2_too_many_tags, "more VLAN tags or MPLS labels than we follow")                      \
  X(mpls_malformed, "an MPLS stack without a bottom, or ending inside a label")            \
  X(pppoe_malformed, "a PPPoE or PPP header that cannot be")                               \
  X(l2_not_for_us, "a unicast frame for another station")                                  \
  X(l2_wrong_vlan, "a frame of a VLAN that is not the interface's")                        \
  X(l2_bad_source, "a source MAC that is a group's, zero or our own")                      \
  X(arp, "ARP, seen where nobody answers it")                                              \
  X(arp_malformed, "an ARP packet that cannot be, or is not for IPv4 over Ethernet")       \
  X(arp_not_for_us, "ARP between others")                                                  \
  X(arp_spoofed, "ARP that claims our address, or one that its sender cannot have")        \
  X(neighbour_unsolicited, "an answer about a neighbour that nobody asked for")            \
  X(neighbour_fixed, "a claim that contradicts a static neighbour")                        \
  X(neighbour_rate_limited, "more questions about our addresses than we answer")           \
  X(neighbour_cache_full, "the neighbour cache had no room")                               \
  X(neighbour_queue_full, "too many frames wait for a neighbour's address")                \
  X(neighbour_unreachable, "it waited for a neighbour that did not answer")                \
  X(ndp_malformed, "a neighbour discovery message that cannot be")                         \
  X(ndp_hop_limit, "neighbour discovery or MLD from beyond the link")                      \
  X(ndp_not_for_us, "neighbour discovery about addresses that are not ours")               \
  X(ndp_ignored, "router discovery or a redirect, which we do not use")                    \
  /* network layer */                                                                      \
  X(ip_truncated, "the packet ends inside its IP header")                                  \
  X(ip_bad_version, "neither IPv4 nor IPv6 where IP was announced")                        \
  X(ip_bad_header_length, "an IPv4 header length below 20 or beyond the packet")           \
  X(ip_bad_total_length, "an IP length that the frame cannot hold")                        \
  X(ip_bad_options, "IPv4 options with a lying length")                                    \
  X(ip_bad_checksum, "the IPv4 header checksum is wrong")                                  \
  X(ip_bad_extension, "an IPv6 extension header with a lying length, or too many of them") \
  X(ip_fragment, "a fragment, where fragments are not put together")                       \
  X(ip_fragment_malformed, "a fragment whose size or place cannot be")                     \
  X(ip_fragment_duplicate, "a fragment that was there already")                            \
  X(ip_fragment_overlap, "a fragment that overlaps another")                               \
  X(ip_fragment_refused, "a fragment of a datagram that was refused, or is too large")     \
  X(ip_fragment_too_many, "a datagram in more fragments than we keep")                     \
  X(ip_unknown_protocol, "an IP protocol we do not look into")                             \
  X(ip_unknown_option, "an IPv6 option that asks to be refused where it is not known")     \
  X(ip_source_route, "a source route, or a routing header with segments left")             \
  X(ip_martian_source, "a source address that no packet on a wire can have")               \
  X(ip_martian_destination, "a destination that no packet on a wire can have")             \
  X(ip_spoofed_source, "our own address as the source of a packet from the wire")          \
  X(ip_not_for_us, "an IP destination that is not ours")                                   \
  X(ip_broadcast, "a broadcast, or unicast in a broadcast frame, where none is taken")     \
  X(ip_too_big, "larger than its path carries, and not to be fragmented")                  \
  X(no_route, "no route leads to its destination")                                         \
  X(icmp, "ICMP, seen where nobody answers it")                                            \
  X(icmp_malformed, "an ICMP message that cannot be")                                      \
  X(icmp_bad_checksum, "the ICMP checksum is wrong")                                       \
  X(icmp_unwanted, "an ICMP message that nobody here waits for")                           \
  X(icmp_rate_limited, "more ICMP than we answer")                                         \
  /* tunnels */                                                                            \
  X(tunnel_truncated, "the packet ends inside a tunnel header")                            \
  X(tunnel_malformed, "a tunnel header that cannot be")                                    \
  X(tunnel_unsupported, "a tunnel version, flag or payload we do not look into")           \
  X(tunnel_too_deep, "more nested tunnels than we follow")                                 \
  /* transport layer */                                                                    \
  X(udp_truncated, "the packet ends inside its UDP header")                                \
  X(udp_bad_length, "a UDP length below 8 or beyond the packet")                           \
  X(udp_bad_checksum, "the UDP checksum is wrong")                                         \
  X(udp_zero_checksum, "UDP over IPv6 without a checksum")                                 \
  X(tcp_truncated, "the packet ends inside its TCP header")                                \
  X(tcp_bad_offset, "a TCP data offset below 20 or beyond the packet")                     \
  X(tcp_bad_checksum, "the TCP checksum is wrong")                                         \
  X(no_service, "no service listens for it")                                               \
  /* QUIC */                                                                               \
  X(quic_truncated_header, "the datagram ends inside a QUIC header")                       \
  X(quic_cid_too_long, "a connection ID over 20 bytes in a version that limits it")        \
  X(quic_bad_length, "a QUIC length beyond its datagram")                                  \
  X(quic_unknown_version, "a QUIC version whose packets we cannot open")                   \
  X(quic_decrypt_failed, "a packet that its keys do not open")                             \
  X(quic_bad_retry_tag, "a Retry whose integrity tag is wrong")                            \
  X(quic_bad_reserved_bits, "reserved bits set behind header protection")                  \
  X(quic_too_short, "a QUIC packet too short to be protected")                             \
  X(quic_too_many_parts, "a QUIC packet in more pieces than we follow")                    \
  X(quic_integrity_limit, "a QUIC packet of a connection that has met too many forgeries") \
  X(quic_bad_frame, "a frame that cannot be, or not in this packet")                       \
  X(quic_crypto_overlap, "CRYPTO data that contradicts what was sent before")              \
  X(quic_crypto_too_far, "CRYPTO data beyond the bytes we keep for a handshake")           \
  X(quic_no_connection, "a short header that belongs to no known connection")              \
  X(quic_no_keys, "a QUIC packet of a level whose keys are not there, yet or any more")    \
  X(quic_duplicate, "a QUIC packet that was received before, or is too old to tell")       \
  X(quic_junk, "bytes behind the last packet of a datagram")                               \
  X(tls_bad_client_hello, "a ClientHello that cannot be")                                  \
  X(tls_bad_server_hello, "a ServerHello or EncryptedExtensions that cannot be")           \
  X(tls_bad_transport_parameters, "QUIC transport parameters that cannot be")              \
  /* SRMP */                                                                               \
  X(srmp_truncated, "an SRMP frame that its datagram does not hold")                       \
  X(srmp_malformed, "an SRMP length that cannot be")                                       \
  X(srmp_too_large, "an SRMP frame above the configured ceiling")

enum class drop_reason : std::uint8_t {
#define MILLRACE_DROP_ENUM(name, text) name,
  MILLRACE_DROP_REASONS(MILLRACE_DROP_ENUM)
#undef MILLRACE_DROP_ENUM
      count_
};

inline constexpr std::size_t drop_reason_count = static_cast<std::size_t>(drop_reason::count_);

[[nodiscard]] std::string_view to_string(drop_reason reason) noexcept;  // the key, e.g. "quic_decrypt_failed"
[[nodiscard]] std::string_view describe(drop_reason reason) noexcept;   // one sentence for people

}  // namespace millrace::stats

// net/host.hpp - a host on the wire: one interface's addresses, and everything between a frame and a UDP payload.
//
// Shape    sans-IO. receive() takes one frame and the time and answers: deliver this datagram, consumed, or drop it for
//          this reason. send_udp() writes Ethernet, IP and UDP headers in front of a payload. on_time() does what is
//          due. What the host says by itself (ARP, neighbour discovery, ICMP, fragments, frames that waited) goes into
//          the frame_sink that each call is given.
// Loop     for each received packet: receive(), then deliver, free, or burst.drop(i, answer.why, drops). For each
// reply:
//          prepend headers_size() bytes to the payload, send_udp() on them: `ready` is to be transmitted, `kept` and
//          `dropped` are to be freed (dropped counts answer.why). Once a turn: on_time() when due_ns() <= now.
// Units    ns, bytes; ports in host order.
// Owner    the host owns its tables; frames are borrowed for the call. A delivered payload lies in the frame, or, when
//          it was reassembled, in the host until its next receive().
// Balance  every frame given to receive() gets exactly one answer. Of datagrams given to send_udp() those `kept` are
//          later sent through a sink or end in held_drops(); figures() has the sums.
// Limits   host_limits, all of them. Errors  make(): what of the configuration cannot work, or no memory.
// Threads  one lcore a host; several hosts may share an interface (host_config::instances), each with its own queues:
//          what one hears that others may wait for comes out of poll_news() and goes into their on_news().
// Not here ports and queues, TCP, router discovery (RA are ignored), IGMP (no IPv4 group is joined), forwarding.
// Source   docs/rfc: 768 791 792 826 1122 1191 4291 4443 4861 4862 5227 5722 6946 8200 8201.
// Tests    test/net/host_*_test.cpp, test/fuzz/net_host_fuzz.cpp       Bench  bench/net/host_bench.cpp
#pragma once

#include <memory>

#include "base/result.hpp"
#include "buf/burst.hpp"
#include "net/frame_sink.hpp"
#include "net/host_figures.hpp"
#include "net/local_addresses.hpp"
#include "net/neighbour_cache.hpp"
#include "net/path_mtu.hpp"
#include "net/reassembler.hpp"
#include "net/route_table.hpp"
#include "net/token_bucket.hpp"
#include "net/wire/ndp.hpp"

namespace millrace::net {

enum class rx_what : std::uint8_t { deliver, consumed, drop };

struct rx_answer {
  rx_what what = rx_what::consumed;
  stats::drop_reason why = stats::drop_reason::none;  // drop only
};

struct udp_delivery {
  base::endpoint local;   // as called: what the reply comes from
  base::endpoint remote;  // port 0: the sender wants no reply (RFC 768)
  base::byte_view payload;
  std::uint8_t traffic_class = 0;  // DSCP and ECN
  std::uint8_t hop_limit = 0;
  bool reassembled = false;  // the payload lies in the host
  bool broadcast = false;    // local.address is a broadcast address or a group: not one to reply from
};

struct udp_flow {
  base::endpoint local;
  base::endpoint remote;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  bool may_fragment = true;  // false: ip_too_big instead
};

enum class tx_what : std::uint8_t { ready, kept, dropped };

struct tx_answer {
  tx_what what = tx_what::dropped;
  stats::drop_reason why = stats::drop_reason::none;  // dropped only
};

// What another instance may wait for.
struct host_news {
  enum class kind : std::uint8_t { neighbour, path_mtu } what = kind::neighbour;
  neighbour_claim claim{};  // neighbour
  base::ip_address dst{};   // path_mtu
  std::uint32_t mtu = 0;
  std::uint32_t packet_size = 0;
};

class host {
  struct passkey {};  // make() alone constructs

 public:
  [[nodiscard]] static base::result<std::unique_ptr<host>> make(const host_config& config);
  host(passkey, const host_config& config) noexcept;
  host(const host&) = delete;
  host& operator=(const host&) = delete;

  // Duplicate detection and announcements begin. Before it, every frame is ip_not_for_us.
  void start(std::uint64_t now) noexcept;

  // Which UDP ports are taken, on every address of ours. Others are answered with "port unreachable".
  void open_port(std::uint16_t port) noexcept { ports_[port >> 6] |= std::uint64_t{1} << (port & 63); }
  void close_port(std::uint16_t port) noexcept { ports_[port >> 6] &= ~(std::uint64_t{1} << (port & 63)); }
  [[nodiscard]] bool is_open(std::uint16_t port) const noexcept { return (ports_[port >> 6] >> (port & 63) & 1) != 0; }

  // `frame`: all of it, one run (chains are flattened by the caller). `hardware`: what the driver said of checksums.
  [[nodiscard]] rx_answer receive(base::byte_view frame, buf::checksum_verdict hardware, std::uint64_t now,
                                  frame_sink& sink, udp_delivery& out) noexcept;

  // Of a UDP packet of this family: Ethernet, tag, IP and UDP.
  [[nodiscard]] std::size_t headers_size(base::ip_family family) const noexcept {
    return link_size_ + (family == base::ip_family::v4 ? 20u : 40u) + 8u;
  }
  static constexpr std::size_t max_headers_size = 14 + 4 + 40 + 8;
  // `headers`: exactly headers_size() bytes in front of `payload`, which is read and not changed. flow.local.address is
  // one of ours.
  [[nodiscard]] tx_answer send_udp(const udp_flow& flow, base::byte_span headers, const base::segments& payload,
                                   std::uint64_t now, frame_sink& sink) noexcept;
  // The same for a frame in one run: headers_size() bytes of room, then the payload.
  [[nodiscard]] tx_answer send_udp(const udp_flow& flow, base::byte_span frame, std::uint64_t now,
                                   frame_sink& sink) noexcept {
    const std::size_t size = headers_size(flow.local.address.family);
    const base::byte_view payload = frame.subspan(size);
    return send_udp(flow, frame.first(size), base::segments({&payload, 1}), now, sink);
  }

  // Payload that fits one packet to `dst` uncut.
  [[nodiscard]] std::size_t max_udp_payload(const base::ip_address& dst, std::uint64_t now) const noexcept;
  // The address to send from, for who is not answering; nullptr when none fits (yet).
  [[nodiscard]] const local_address* source_for(const base::ip_address& dst) const noexcept {
    return addresses_.source_for(dst);
  }
  // The peer is known to receive what we send: spares a probe (RFC 4861 7.3.1).
  void confirm(const base::ip_address& remote, std::uint64_t now) noexcept;

  void on_time(std::uint64_t now, frame_sink& sink) noexcept;
  [[nodiscard]] std::uint64_t due_ns() const noexcept;

  [[nodiscard]] bool poll_news(host_news& out) noexcept;
  void on_news(const host_news& news, std::uint64_t now, frame_sink& sink) noexcept;

  // Group MACs that the port must let in; answers how many of `out` were written.
  [[nodiscard]] std::size_t group_macs(std::span<wire::mac_address> out) const noexcept;
  [[nodiscard]] const local_addresses& addresses() const noexcept { return addresses_; }
  [[nodiscard]] const host_config& config() const noexcept { return config_; }
  [[nodiscard]] const host_figures& figures() const noexcept { return figures_; }
  // Frames that were `kept` and never went out, by reason.
  [[nodiscard]] stats::drop_counters& held_drops() noexcept { return neighbours_.drops(); }
  [[nodiscard]] std::uint32_t frames_held() const noexcept { return neighbours_.frames_held(); }
  [[nodiscard]] neighbour_cache& neighbours() noexcept { return neighbours_; }
  [[nodiscard]] const reassembler& fragments() const noexcept { return reassembler_; }
  [[nodiscard]] const path_mtus& path_mtu() const noexcept { return path_mtus_; }

 private:
  // One received frame on its way up.
  struct arrival {
    base::byte_view packet;  // from the IP header
    wire::mac_address src_mac;
    bool group = false;  // the frame was for a group
    bool reassembled = false;
    buf::checksum_verdict hardware;
    std::uint64_t now;
    frame_sink& sink;
    udp_delivery& out;
  };
  struct hop {
    const wire::mac_address* mac = nullptr;  // nullptr: not known yet
    neighbour* waiting = nullptr;            // where frames wait then; nullptr too: no way (why)
    stats::drop_reason why = stats::drop_reason::none;
  };
  // A packet of ours that is not UDP on its way out.
  struct outgoing {
    base::ip_address src;
    base::ip_address dst;
    std::uint8_t protocol = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 64;
    bool may_fragment = true;
  };
  struct piece {  // of a packet: all of it, or a fragment
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
    std::uint32_t id = 0;
    bool fragment = false;
    bool more = false;
    bool dont_fragment = false;
  };
  static constexpr std::size_t news_capacity = 64;

  // host.cpp
  rx_answer receive_slowly(base::byte_view frame, arrival& a) noexcept;
  [[nodiscard]] bool receive_plain(base::byte_view frame, buf::checksum_verdict hardware, udp_delivery& out) noexcept;
  void post(const host_news& news, std::uint64_t now) noexcept;
  void solicit(neighbour& n, bool to_all, std::uint64_t now, frame_sink& sink) noexcept;
  void flush(neighbour& n, std::uint64_t now, frame_sink& sink) noexcept;
  void learn(const neighbour_claim& claim, learned what, std::uint64_t now, frame_sink& sink) noexcept;
  void run_addresses(std::uint64_t now, frame_sink& sink) noexcept;
  void expire_fragments(std::uint64_t now, frame_sink& sink) noexcept;

  // host_ip.cpp
  rx_answer receive_ipv4(arrival& a) noexcept;
  rx_answer receive_ipv6(arrival& a) noexcept;
  rx_answer refuse_headers(arrival& a, const wire::ip_datagram& d, const wire::ip_problem& problem) noexcept;
  rx_answer reassemble(arrival& a, const wire::ip_datagram& d) noexcept;
  rx_answer receive_upper(arrival& a, const wire::ip_datagram& d) noexcept;
  rx_answer receive_udp(arrival& a, const wire::ip_datagram& d) noexcept;

  // host_icmp.cpp
  rx_answer receive_icmp(arrival& a, const wire::ip_datagram& d) noexcept;
  rx_answer receive_icmpv6(arrival& a, const wire::ip_datagram& d) noexcept;
  rx_answer answer_echo(arrival& a, const wire::ip_datagram& d, std::uint8_t reply_type) noexcept;
  rx_answer receive_error(arrival& a, const wire::ip_datagram& d, const wire::icmp_header& header) noexcept;
  struct icmp_error {
    std::uint8_t type = 0;
    std::uint8_t code = 0;
    std::uint32_t word = 0;
    bool even_to_multicast = false;
  };
  void send_error(arrival& a, const icmp_error& error) noexcept;

  // host_link.cpp: ARP, neighbour discovery, multicast listeners
  rx_answer receive_arp(base::byte_view body, arrival& a) noexcept;
  rx_answer receive_arp_answer(const neighbour_claim& claim, arrival& a) noexcept;
  rx_answer receive_ndp(arrival& a, const wire::ip_datagram& d) noexcept;
  rx_answer receive_solicitation(arrival& a, const wire::ip_datagram& d, const wire::neighbour_message& m) noexcept;
  rx_answer receive_advertisement(arrival& a, const wire::ip_datagram& d, const wire::neighbour_message& m) noexcept;
  rx_answer receive_listener_query(arrival& a, const wire::ip_datagram& d) noexcept;
  struct arp_send {
    wire::mac_address to{};
    bool reply = false;
    wire::mac_address target_mac{};
    base::ip_address sender{};
    base::ip_address target{};
  };
  bool send_arp(const arp_send& what, frame_sink& sink) noexcept;
  struct ndp_send {
    wire::mac_address to{};
    base::ip_address src{};
    base::ip_address dst{};
    std::uint8_t type = 0;
    wire::neighbour_message message{};
  };
  bool send_ndp(const ndp_send& what, frame_sink& sink) noexcept;
  bool send_listener_report(std::uint8_t record_type, frame_sink& sink) noexcept;
  void probe_address(const local_address& a, frame_sink& sink) noexcept;
  void announce_address(const local_address& a, frame_sink& sink) noexcept;

  // host_send.cpp
  [[nodiscard]] hop find_hop(const base::ip_address& dst, std::uint64_t now) noexcept;
  [[nodiscard]] std::uint32_t packet_limit(const base::ip_address& dst, std::uint64_t now,
                                           bool& dont_fragment) const noexcept;
  std::uint8_t* put_link(std::uint8_t* p, const wire::mac_address& dst, std::uint16_t type) const noexcept;
  tx_answer send_ip(const outgoing& what, const base::segments& payload, std::uint64_t now, frame_sink& sink) noexcept;
  tx_answer send_pieces(const outgoing& what, const base::segments& payload, const hop& to, std::uint32_t limit,
                        frame_sink& sink) noexcept;
  [[nodiscard]] stats::drop_reason emit_piece(const outgoing& what, const base::segments& payload, const piece& part,
                                              const hop& to, frame_sink& sink) noexcept;
  tx_answer send_udp_slowly(const udp_flow& flow, const base::segments& payload, std::uint64_t now,
                            frame_sink& sink) noexcept;
  [[nodiscard]] base::byte_span open_frame(const hop& to, std::size_t bytes, frame_sink& sink) noexcept;

  host_config config_;
  std::uint64_t mac_bits_ = 0;    // as the CPU loads the first eight bytes of a frame for us, 48 of them
  std::uint32_t link_size_ = 14;  // Ethernet, with our tag
  bool started_ = false;
  local_addresses addresses_;
  route_table routes_;
  neighbour_cache neighbours_;
  path_mtus path_mtus_;
  reassembler reassembler_;
  token_bucket error_bucket_;
  token_bucket echo_bucket_;
  token_bucket answer_bucket_;
  token_bucket solicit_bucket_;
  token_bucket news_bucket_;
  std::uint32_t next_id_ = 0;
  std::uint64_t sweep_ns_ = 0;
  std::uint64_t reassembly_seen_evicted_ = 0;
  std::size_t news_first_ = 0;
  std::size_t news_count_ = 0;
  host_figures figures_;
  std::array<std::uint64_t, 1024> ports_{};
  std::array<host_news, news_capacity> news_;
};

}  // namespace millrace::net

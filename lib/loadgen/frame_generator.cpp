// How it works: frame i is step s of flow f, by division alone. The step decides the role of the packet, the role and
// the options its size; then the payload is written where it belongs, behind the room of its headers, and the headers
// in front of it, checksums over what already lies there.
//
// TCP numbers must add up over a flow without anything being kept: the sizes of all earlier steps follow from the
// same rules, so a segment's sequence number is a sum over at most fifteen of them.
#include "loadgen/frame_generator.hpp"

#include <algorithm>

#include "loadgen/payload.hpp"
#include "loadgen/seeded_bytes.hpp"

namespace millrace::loadgen {
namespace {

namespace wire = net::wire;

enum : std::uint64_t { for_size = 16, for_payload = 17, for_sequence = 18, for_stagger = 19 };

constexpr std::uint32_t usual_mtu = 1500;  // what frames of no size asked for stay within

// Options of a SYN where the frame has room for them (RFC 9293 3.7.1, RFC 2018, RFC 7323): MSS 1460 and permission for
// SACK, window scale 7.
constexpr std::array<std::uint8_t, 12> syn_options = {2, 4, 0x05, 0xB4, 1, 1, 4, 2, 1, 3, 3, 7};

constexpr std::uint32_t network_size(base::ip_family family) noexcept {
  return 14 + (family == base::ip_family::v6 ? 40 : 20);
}

constexpr bool is_syn(packet_role role) noexcept {
  return role == packet_role::tcp_syn || role == packet_role::tcp_syn_ack;
}

packet_role role_of(traffic_kind kind, std::uint32_t step, bool initials) noexcept {
  switch (kind) {
    case traffic_kind::quic:
      if (!initials || step > 2) return packet_role::quic_one_rtt;
      return step == 0 ? packet_role::quic_initial : packet_role::quic_handshake;
    case traffic_kind::srmp:
      return packet_role::srmp;
    case traffic_kind::udp:
      return packet_role::udp;
    case traffic_kind::tcp:
      if (step == 0) return packet_role::tcp_syn;
      if (step == 1) return packet_role::tcp_syn_ack;
      if (step == 2) return packet_role::tcp_ack;
      return step < frame_generator::steps_per_flow - 2 ? packet_role::tcp_data : packet_role::tcp_fin;
  }
  return packet_role::udp;
}

// The payload a packet of this role usually has.
std::uint32_t usual_payload(const frame_plan& p, seeded_bytes random) noexcept {
  switch (p.role) {
    case packet_role::quic_initial:
      return 1200;  // RFC 9000 14.1
    case packet_role::quic_handshake:
      return p.from_client ? 90 + random.below(60) : 1200;
    case packet_role::quic_one_rtt:
      return p.from_client ? 29 + random.below(20) : 1250;  // acknowledgements against data
    case packet_role::srmp:
      return 8 + random.below(400);
    case packet_role::udp:
      return p.from_client ? 25 + random.below(50) : 60 + random.below(452);  // the sizes of DNS
    case packet_role::tcp_syn:
    case packet_role::tcp_syn_ack:
    case packet_role::tcp_ack:
    case packet_role::tcp_fin:
      return 0;
    case packet_role::tcp_data:
      return p.from_client ? 40 + random.below(400) : usual_mtu + 14 - network_size(p.family) - 20;
  }
  return 0;
}

std::uint8_t tcp_flags(packet_role role) noexcept {
  switch (role) {
    case packet_role::tcp_syn:
      return wire::tcp_flag::syn;
    case packet_role::tcp_syn_ack:
      return wire::tcp_flag::syn | wire::tcp_flag::ack;
    case packet_role::tcp_data:
      return wire::tcp_flag::psh | wire::tcp_flag::ack;
    case packet_role::tcp_fin:
      return wire::tcp_flag::fin | wire::tcp_flag::ack;
    default:
      return wire::tcp_flag::ack;
  }
}

// Of the transport header; `room`: bytes of the frame behind the IP header, 0 when they follow from the payload.
std::uint32_t transport_size(packet_role role, std::uint32_t room) noexcept {
  const bool tcp = role >= packet_role::tcp_syn;
  if (!tcp) return 8;
  return is_syn(role) && (room == 0 || room >= 20 + syn_options.size()) ? 20 + std::uint32_t{syn_options.size()} : 20;
}

}  // namespace

frame_generator::frame_generator(const frame_options& options, crypto::engine& engine)
    : options_(options), kinds_(options.kinds), engine_(&engine) {
  for (std::size_t i = 0; options.kinds.empty() && i < traffic_kind_count; ++i)
    static_cast<void>(kinds_.push_back(static_cast<traffic_kind>(i)));
}

base::result<frame_generator> frame_generator::make(const frame_options& options, crypto::engine& engine) {
  if (auto possible = check(options); !possible) return possible.error();
  return frame_generator(options, engine);
}

std::uint32_t frame_generator::largest_frame() const noexcept {
  return options_.frame_size != 0 ? options_.frame_size : usual_mtu + 14;
}

frame_plan frame_generator::plan(const flow& f, std::uint32_t step) const noexcept {
  frame_plan p;
  p.flow = f.number;
  p.step = step;
  p.kind = f.kind;
  p.family = f.family;
  p.from_client = step % 2 == 0;
  const std::uint32_t size = options_.frame_size;
  p.role = role_of(f.kind, step, size == 0 || size >= smallest_frame_with_initials);
  const std::uint32_t network = network_size(f.family);
  if (size == 0) {
    seeded_bytes random(options_.seed, for_size, std::uint64_t{f.number} * steps_per_flow + step);
    p.payload_size = usual_payload(p, random);
    p.frame_size = network + transport_size(p.role, 0) + p.payload_size;
    return p;
  }
  p.frame_size = size;
  p.payload_size = size - network - transport_size(p.role, size - network);
  return p;
}

frame_plan frame_generator::plan(std::uint64_t index) const noexcept {
  const auto number = static_cast<std::uint32_t>(index % options_.flows);
  std::uint64_t step = index / options_.flows;
  if (options_.order == frame_order::staggered)
    step += seeded_bytes(options_.seed, for_stagger, number).below(steps_per_flow);
  return plan(flow_of(number), static_cast<std::uint32_t>(step % steps_per_flow));
}

// RFC 9293 3.4: SYN and FIN count as one byte each.
void frame_generator::number_segment(const flow& f, const frame_plan& p, wire::tcp_header& out) const noexcept {
  seeded_bytes random(options_.seed, for_sequence, f.number);
  std::array<std::uint32_t, 2> next = {static_cast<std::uint32_t>(random.next()),
                                       static_cast<std::uint32_t>(random.next())};  // of the client, of the server
  for (std::uint32_t step = 0; step < p.step; ++step) {
    const frame_plan earlier = plan(f, step);
    next[earlier.from_client ? 0 : 1] +=
        earlier.payload_size + (is_syn(earlier.role) || earlier.role == packet_role::tcp_fin ? 1 : 0);
  }
  out.flags = tcp_flags(p.role);
  out.sequence = next[p.from_client ? 0 : 1];
  out.acknowledgment = p.role == packet_role::tcp_syn ? 0 : next[p.from_client ? 1 : 0];
  out.window = is_syn(p.role) ? 64'240 : 502;  // the latter scaled by 128
  if (p.frame_size - p.payload_size > network_size(f.family) + 20) out.options = syn_options;
}

wire::frame_spec frame_generator::spec(const flow& f, const frame_plan& p) const noexcept {
  const base::endpoint& from = p.from_client ? f.client : f.server;
  const base::endpoint& to = p.from_client ? f.server : f.client;
  wire::frame_spec s;
  s.src_mac = p.from_client ? client_mac : server_mac;
  s.dst_mac = p.from_client ? server_mac : client_mac;
  s.src = from.address;
  s.dst = to.address;
  s.src_port = from.port;
  s.dst_port = to.port;
  s.l4 = wire::transport::udp;
  if (f.kind == traffic_kind::tcp) {
    s.l4 = wire::transport::tcp;
    number_segment(f, p, s.tcp);
  }
  return s;
}

bool frame_generator::fill_payload(const flow& f, const frame_plan& p, base::byte_span out) noexcept {
  payload_request r{f, p, options_.seed, options_.domain,
                    seeded_bytes(options_.seed, for_payload, std::uint64_t{f.number} * steps_per_flow + p.step)};
  switch (p.role) {
    case packet_role::quic_initial:
      return fill_quic_initial(*engine_, r, out);
    case packet_role::quic_handshake:
      return fill_quic_handshake(r, out);
    case packet_role::quic_one_rtt:
      return fill_quic_one_rtt(r, out);
    case packet_role::srmp:
      return fill_srmp(r, out);
    default:
      fill_text(r, out);
      return true;
  }
}

std::size_t frame_generator::fill(std::uint64_t index, base::byte_span room) noexcept {
  const frame_plan p = plan(index);
  if (room.size() < p.frame_size) return 0;
  const flow f = flow_of(p.flow);
  const base::byte_span frame = room.first(p.frame_size);
  const base::byte_span payload = frame.last(p.payload_size);
  if (!fill_payload(f, p, payload)) return 0;
  const base::byte_view part = payload;
  const base::segments behind(std::span<const base::byte_view>(&part, 1));
  base::byte_writer out(frame.first(p.frame_size - p.payload_size));
  return emit_frame_headers(spec(f, p), behind, out) && out.room() == 0 ? p.frame_size : 0;
}

}  // namespace millrace::loadgen

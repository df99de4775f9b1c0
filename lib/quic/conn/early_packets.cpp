// A packet is held where it would have been refused for want of keys, and read as if it had come just now. Until then
// nothing of it counts: not its number, not its address, not that the peer is alive. It was counted as taken in when it
// came; what becomes of it is told by events alone.
#include "quic/conn/early_packets.hpp"

#include "quic/conn/arrival.hpp"

namespace millrace::quic::conn {

namespace {

// RFC 9001 5.4.2: what is shorter has no sample, and is no packet.
constexpr std::size_t least_bytes = 1 + path::local_cid_size + 4 + crypto::header_sample_size;

}  // namespace

bool connection::hold(const arrival& a, base::byte_span packet, wire::packet_type type) noexcept {
  // Nothing is to be hoped for when the handshake is over, or is ending.
  if (handshake_ == nullptr || phase_ != phase::handshake || is_closing()) return false;
  // A client gets no 0-RTT, and Initial keys are there from the start.
  if (type == wire::packet_type::initial || (type == wire::packet_type::zero_rtt && !is_server_)) return false;
  if (packet.size() < least_bytes) return false;
  if (!handshake_->waiting.hold(t_.waiting, a.datagram, packet, type, active_path().amount.is_validated()))
    return false;
  t_.events.add(event::held_for_keys);
  return true;
}

void connection::read_held(std::uint64_t now_ns) noexcept {
  const auto has_keys = [this](wire::packet_type type) noexcept {
    if (type == wire::packet_type::one_rtt) return phase_ == phase::established && keys_.can_read();
    return (type == wire::packet_type::handshake ? handshake_->handshake : handshake_->early).can_read;
  };
  early_packets::held_packet held;
  while (handshake_ != nullptr && !is_closing() && handshake_->waiting.take(t_.waiting, has_keys, held)) {
    buf::packet whole{held.whole.release_held()};
    datagram_in d{
        .whole = &whole, .bytes = held.bytes, .address = held.address, .interface = held.interface, .ecn = held.ecn};
    arrival a{.datagram = d, .now_ns = now_ns};
    bool useful = false;
    if (held.type == wire::packet_type::one_rtt)
      useful = open_short(a, d.bytes);
    else
      static_cast<void>(on_long_packet(a, d.bytes, useful));
    if (!useful) trace_drop(a);
  }
  if (handshake_ != nullptr && (phase_ != phase::handshake || is_closing())) give_up_held();
}

void connection::give_up_held() noexcept {
  const std::uint32_t before = t_.waiting;
  handshake_->waiting.clear(t_.waiting);
  t_.events.add(event::held_in_vain, before - t_.waiting);
}

}  // namespace millrace::quic::conn

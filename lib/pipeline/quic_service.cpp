#include "pipeline/quic_service.hpp"

#include <utility>

namespace millrace::pipeline {

namespace {

constexpr std::uint8_t ecn_mask = 0x03;
constexpr std::uint8_t ect0 = 0x02;

}  // namespace

void quic_service::on_datagrams(std::span<const udp_arrival> arrivals, service_turn& turn) noexcept {
  while (!arrivals.empty()) {
    const std::span<const udp_arrival> some = arrivals.first(std::min(arrivals.size(), batch_pkts));
    arrivals = arrivals.subspan(some.size());
    std::array<buf::burst::lent, batch_pkts> lent;
    std::array<buf::packet, batch_pkts> copied;
    std::array<quic::conn::datagram_in, batch_pkts> in;
    std::size_t count = 0;
    for (std::size_t i = 0; i < some.size(); ++i) {
      const udp_arrival& a = some[i];
      quic::conn::datagram_in& d = in[count];
      if (a.packet != udp_arrival::no_packet && turn.received != nullptr) [[likely]] {
        lent[i] = turn.received->lend(a.packet);
        d.whole = &*lent[i];
        // The packet is ours alone until it is freed: a view of it may be written through.
        d.bytes = {const_cast<std::uint8_t*>(a.udp.payload.data()), a.udp.payload.size()};
      } else {
        copied[i] = buf::packet::alloc(*pool_);
        const std::size_t size = a.udp.payload.size();
        d.bytes =
            copied[i] && size <= UINT16_MAX ? copied[i].append(static_cast<std::uint16_t>(size)) : base::byte_span{};
        if (d.bytes.size() != size) {
          turn.refuse(copied[i] ? stats::drop_reason::l2_oversized : stats::drop_reason::mempool_empty);
          continue;
        }
        std::copy(a.udp.payload.begin(), a.udp.payload.end(), d.bytes.begin());
        d.whole = &copied[i];
      }
      d.address = {a.udp.local, a.udp.remote};
      d.interface = a.interface;
      d.ecn = static_cast<quic::wire::ecn_mark>(a.udp.traffic_class & ecn_mask);
      ++count;
    }
    turn.refused += endpoint_->on_datagrams(std::span(in).first(count), turn.now_ns, turn.drops);
  }
  end_drain(turn.now_ns);
  pump(turn);
}

void quic_service::on_time(service_turn& turn) noexcept {
  endpoint_->on_time(turn.now_ns);
  end_drain(turn.now_ns);
  pump(turn);
}

void quic_service::on_stop(service_turn& turn) noexcept {
  if (std::exchange(is_stopping_, true)) return;
  drain_until_ns_ = turn.now_ns;
  if (work_ != nullptr && !work_->is_drained()) {
    work_->drain(turn.now_ns);
    drain_until_ns_ += patience_ns_;
  }
  end_drain(turn.now_ns);
  pump(turn);
}

void quic_service::end_drain(std::uint64_t now_ns) noexcept {
  if (drain_until_ns_ == never_ns || (now_ns < drain_until_ns_ && !work_->is_drained())) return;
  drain_until_ns_ = never_ns;
  endpoint_->close_all(goodbye_code, now_ns);
}

void quic_service::pump(service_turn& turn) noexcept {
  while (endpoint_->wants_poll()) {
    udp_output& out = *turn.outputs[last_interface_];
    if (out.room() == 0) return;
    const base::byte_span room = out.open();
    if (room.empty()) return;
    quic::conn::datagram_out what;
    const std::size_t size = endpoint_->poll(room, turn.now_ns, what);
    if (size == 0) return;
    const net::udp_flow flow{.local = what.address.local,
                             .remote = what.address.remote,
                             .traffic_class = what.ect0 ? ect0 : std::uint8_t{0},
                             .may_fragment = false};
    if (what.interface == last_interface_) [[likely]] {
      out.close(flow, size);
    } else {
      last_interface_ = what.interface;
      turn.outputs[last_interface_]->send(flow, room.first(size));
    }
  }
}

}  // namespace millrace::pipeline

// How a datagram leaves: fresh packets are taken from the pool by the burst (one by one costs ten times as much), their
// payload is written at the place where a packet's data begins, and the headers go into the headroom in front of it.
#include "pipeline/udp_output.hpp"

#include <algorithm>
#include <cstring>

#include "port/port.hpp"

namespace millrace::pipeline {

using stats::drop_reason;

udp_output::~udp_output() {
  buf::free_packet(open_);
  for (unsigned i = 0; i < fresh_count_; ++i) buf::free_packet(fresh_[i]);
}

// Puts a packet into open_. False when there is none, or no place to queue it later.
[[gnu::noinline]] bool udp_output::take_fresh() noexcept {
  if (queue_.size() >= transmit_at_pkts) transmit();
  if (queue_.room() == 0) return false;
  if (fresh_count_ == 0) {
    if (pool_->alloc_bulk_cold(fresh_.data(), refill_pkts)) {
      fresh_count_ = refill_pkts;
      // The last headers and the first bytes of payload of each; what is taken last is fetched first, and used first.
      for (unsigned i = refill_pkts; i-- != 0;)
        __builtin_prefetch(static_cast<char*>(fresh_[i]->buf_addr) + RTE_PKTMBUF_HEADROOM - 1, 1);
    } else {  // near exhaustion there may be some left
      fresh_[0] = pool_->alloc();
      if (fresh_[0] == nullptr) return false;
      fresh_count_ = 1;
    }
  }
  open_ = fresh_[--fresh_count_];
  return true;
}

bool udp_output::enqueue(buf::packet one) noexcept {
  counters_->add(count::originated_pkts, 1);
  if (queue_.push(std::move(one))) [[likely]]
    return true;
  transmit();  // frames of the host took the last places since open()
  if (queue_.push(std::move(one))) return true;
  counters_->drops.add(drop_reason::tx_ring_full);
  return false;
}

// A datagram that never became a packet in the queue is one that was made and dropped.
net::tx_what udp_output::refuse(drop_reason why) noexcept {
  counters_->add(count::originated_pkts, 1);
  counters_->drops.add(why);
  return net::tx_what::dropped;
}

// What the port computes, where it said it can; the host has left the fields as DPDK wants them.
void udp_output::request_checksums(rte_mbuf* m, base::ip_family family, std::size_t headers) const noexcept {
  if (settings_.offload.in_memory) {  // "none": the field is not right, the data are
    m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
    return;
  }
  const bool v4 = family == base::ip_family::v4;
  std::uint64_t flags = v4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6;
  if (v4 && settings_.offload.tx_ipv4) flags |= RTE_MBUF_F_TX_IP_CKSUM;
  if (settings_.offload.tx_udp) flags |= RTE_MBUF_F_TX_UDP_CKSUM;
  constexpr std::size_t udp_size = 8;
  const std::size_t ip_size = v4 ? 20 : 40;
  m->ol_flags |= flags;
  m->l2_len = (headers - ip_size - udp_size) & 0x7F;
  m->l3_len = ip_size & 0x1FF;
}

net::tx_what udp_output::close(const net::udp_flow& flow, std::size_t size) noexcept {
  if (open_ == nullptr || size == 0) return net::tx_what::dropped;
  MILLRACE_ASSERT(size <= max_payload());
  rte_mbuf* const m = open_;
  const base::ip_family family = flow.local.address.family;
  const std::size_t headers = host_->headers_size(family);
  static_assert(net::host::max_headers_size <= RTE_PKTMBUF_HEADROOM);
  m->data_off = static_cast<std::uint16_t>(m->data_off - headers);
  m->data_len = static_cast<std::uint16_t>(headers + size);
  m->pkt_len = m->data_len;
  const base::byte_span frame{static_cast<std::uint8_t*>(m->buf_addr) + m->data_off, headers + size};
  const net::tx_answer answer = host_->send_udp(flow, frame, now_ns_, frames_);
  if (answer.what != net::tx_what::ready) [[unlikely]] {
    // The host copied it or did not want it: the buffer serves the next one.
    m->data_off = static_cast<std::uint16_t>(m->data_off + headers);
    m->data_len = 0;
    m->pkt_len = 0;
    return answer.what == net::tx_what::dropped ? refuse(answer.why) : answer.what;
  }
  open_ = nullptr;
  if (settings_.offload.tx_ipv4 || settings_.offload.tx_udp) request_checksums(m, family, headers);
  return enqueue(buf::packet{m}) ? net::tx_what::ready : net::tx_what::dropped;
}

net::tx_what udp_output::send(const net::udp_flow& flow, base::byte_view payload) noexcept {
  if (payload.size() <= max_payload() && !payload.empty()) {
    const base::byte_span room = open();
    if (room.empty()) return refuse(drop_reason::mempool_empty);
    std::memcpy(room.data(), payload.data(), payload.size());
    return close(flow, payload.size());
  }
  std::array<std::uint8_t, net::host::max_headers_size> headers;
  const base::byte_span front(headers.data(), host_->headers_size(flow.local.address.family));
  const net::tx_answer answer =
      host_->send_udp(flow, front, base::segments({&payload, payload.empty() ? 0u : 1u}), now_ns_, frames_);
  if (answer.what == net::tx_what::kept) return answer.what;
  if (answer.what == net::tx_what::dropped) return refuse(answer.why);
  // Goes uncut, and is empty or longer than a buffer.
  buf::packet one = buf::packet::alloc(*pool_);
  if (!one) return refuse(drop_reason::mempool_empty);
  if (!payload.empty() || !one.append_copy(front)) return refuse(drop_reason::ip_too_big);
  if (settings_.offload.tx_ipv4 || settings_.offload.tx_udp)
    request_checksums(one.raw(), flow.local.address.family, front.size());
  return enqueue(std::move(one)) ? net::tx_what::ready : net::tx_what::dropped;
}

void udp_output::count_frames() noexcept {
  const std::uint64_t made = frames_.originated();
  counters_->add(count::originated_pkts, made - frames_counted_);
  frames_counted_ = made;
}

unsigned udp_output::transmit() noexcept {
  count_frames();
  // Some at a time, as lengths can be read only before a packet is the driver's: of all that wait for a full ring they
  // would be read again and again.
  std::array<std::uint32_t, transmit_pkts> lengths;
  std::uint64_t bytes = 0;
  unsigned sent = 0;
  while (sent < queue_.size()) {
    const unsigned some = std::min(queue_.size() - sent, transmit_pkts);
    for (unsigned i = 0; i < some; ++i) lengths[i] = queue_.length(sent + i);
    const unsigned took = port::tx_some(settings_.port, settings_.queue, queue_, sent, some);
    for (unsigned i = 0; i < took; ++i) bytes += lengths[i];
    sent += took;
    if (took < some) break;
  }
  if (sent == queue_.size())
    queue_.forget_all();
  else if (sent != 0)
    queue_.forget_front(sent);
  counters_->add(count::tx_bytes, bytes);
  counters_->add(count::tx_pkts, sent);
  if (queue_.empty()) [[likely]] {
    refused_since_ns_ = 0;
    return sent;
  }
  counters_->add(count::tx_retries, 1);
  if (sent != 0 || refused_since_ns_ == 0) {
    refused_since_ns_ = now_ns_;
  } else if (now_ns_ - refused_since_ns_ > settings_.patience_ns) {
    queue_.drop_all(drop_reason::tx_ring_full, counters_->drops);
    refused_since_ns_ = 0;
  }
  return sent;
}

void udp_output::abandon() noexcept {
  count_frames();
  queue_.drop_all(drop_reason::shutdown, counters_->drops);
  refused_since_ns_ = 0;
}

}  // namespace millrace::pipeline

#include "inspect/analyzer.hpp"

#include <algorithm>
#include <vector>

#include "net/defects.hpp"
#include "srmp/wire/datagram.hpp"

namespace millrace::inspect {
namespace {

using base::byte_view;
using net::wire::decoded;
using net::wire::transport;
using stats::drop_reason;

constexpr std::uint8_t tcp_syn = 0x02;  // RFC 9293 3.1
constexpr std::uint8_t tcp_ack = 0x10;

}  // namespace

analyzer::analyzer(std::span<std::byte> memory, const analyzer_options& options, crypto::engine& engine,
                   observer& told) noexcept
    : limits_(options.caps), srmp_port_(options.srmp_port), observer_(&told) {
  carver carve(memory);
  flows_ = flow_table(carve, limits_, options.seed);
  quic_ = quic_tracker(carve, limits_, {&engine, &counters_, &told, options.seed});
  MILLRACE_ASSERT(!carve.is_short());
}

std::size_t analyzer::bytes_needed(const limits& caps) noexcept {
  carver measure;
  const flow_table flows(measure, caps, 0);
  const quic_tracker quic(measure, caps, {});
  return measure.bytes();
}

void analyzer::on_packet(byte_view frame, net::wire::link_type link, std::uint64_t time_ns,
                         std::uint32_t original_length) noexcept {
  counters_.packets.add(1);
  counters_.bytes.add(original_length);
  now_ = std::max(now_, time_ns);
  expire();
  decoded& d = decoded_;
  const bool whole =
      link == net::wire::link_type::ethernet ? net::wire::decode_fast(frame, d) : net::wire::decode(frame, link, d);
  if (whole && !d.fragment && d.l4 == transport::udp) return on_udp(d, frame, time_ns, original_length);
  if (whole && !d.fragment && d.l4 == transport::tcp) return on_tcp(d, time_ns, original_length);
  drop(net::to_drop_reason(d));
}

void analyzer::add_secrets(const net::wire::capture_secrets& block) noexcept {
  if (block.type != net::wire::secrets_tls_key_log) {
    ++secrets_unread_;
    return;
  }
  add_key_log(base::as_text(block.data));
  end_key_log();
}

void analyzer::refuse(drop_reason why, std::uint32_t original_length) noexcept {
  counters_.packets.add(1);
  counters_.bytes.add(original_length);
  drop(why);
}

flow* analyzer::flow_of(const decoded& d, std::uint64_t time_ns, bool& from_low) noexcept {
  const directed_key directed = make_flow_key({d.src, d.src_port}, {d.dst, d.dst_port}, d.ip_protocol);
  from_low = directed.from_low;
  const std::uint32_t hash = flows_.hash(directed.key);
  flow* f = flows_.find(directed.key, hash);
  if (f == nullptr) {
    if (flows_.pool().full()) {
      flow* old = flows_.pool().victim(now_, limits_.min_evict_age_ns);
      if (old == nullptr) return nullptr;
      counters_.flows_evicted.add(1);
      report(*old);
      flows_.give(*old);
    }
    f = flows_.take(directed.key, hash, now_);
    f->first_ns = time_ns;
    f->opened_by_low = from_low;
    counters_.flows.add(1);
  }
  (from_low ? f->heard_low : f->heard_high) = true;
  flows_.pool().touch(*f, now_);
  if (f->heard_low && f->heard_high) flows_.pool().prove(*f);
  return f;
}

void analyzer::take(flow& f, std::uint64_t time_ns, std::uint32_t wire) noexcept {
  if (f.packets == 0) f.first_ns = time_ns;
  ++f.packets;
  f.bytes += wire;
  f.last_ns = time_ns;
  counters_.delivered.add(1);
}

void analyzer::on_udp(const decoded& d, byte_view frame, std::uint64_t time_ns, std::uint32_t wire) noexcept {
  bool from_low = false;
  flow* f = flow_of(d, time_ns, from_low);
  if (f == nullptr) return drop(drop_reason::flow_table_full);
  const byte_view payload = frame.subspan(d.payload_offset, d.payload_length);
  // SRMP has no magic and its flags look like QUIC's: where it is configured it is asked first.
  const bool srmp_port = srmp_port_ != 0 && (d.src_port == srmp_port_ || d.dst_port == srmp_port_);
  if (srmp_port && f->connection.empty() && on_srmp(*f, payload, d.payload_truncated)) return take(*f, time_ns, wire);
  const datagram g{.payload = payload,
                   .src = {d.src, d.src_port},
                   .dst = {d.dst, d.dst_port},
                   .now = now_,
                   .time_ns = time_ns,
                   .wire_payload = d.wire_payload_length,
                   .wire_frame = wire};
  switch (quic_.on_datagram(*f, g)) {
    case tracked::taken:
      return counters_.delivered.add(1);
    case tracked::table_full:
      return drop(drop_reason::flow_table_full);
    case tracked::not_quic:
      break;
  }
  take(*f, time_ns, wire);
}

// Whether the datagram is SRMP; on a 5-tuple that is, also whether it cannot be.
bool analyzer::on_srmp(flow& f, byte_view payload, bool truncated) noexcept {
  const srmp::wire::datagram_summary s = srmp::wire::classify_datagram(payload);
  if (s.kind == srmp::wire::datagram_kind::exact) {
    f.kind = flow_kind::srmp;
    f.messages += s.frames;
    return true;
  }
  if (f.kind != flow_kind::srmp) return false;
  if (s.kind == srmp::wire::datagram_kind::truncated && !truncated)
    counters_.anomalies.add(drop_reason::srmp_truncated);
  if (s.kind == srmp::wire::datagram_kind::malformed) counters_.anomalies.add(drop_reason::srmp_malformed);
  return true;
}

void analyzer::on_tcp(const decoded& d, std::uint64_t time_ns, std::uint32_t wire) noexcept {
  bool from_low = false;
  flow* f = flow_of(d, time_ns, from_low);
  if (f == nullptr) return drop(drop_reason::flow_table_full);
  f->kind = flow_kind::tcp;
  if ((d.tcp_flags & tcp_syn) != 0 && !f->opener_known) {
    f->opener_known = true;
    f->opened_by_low = (d.tcp_flags & tcp_ack) == 0 ? from_low : !from_low;
  }
  take(*f, time_ns, wire);
}

void analyzer::report(const flow& f) noexcept {
  if (f.packets != 0) observer_->on_flow(f);
}

void analyzer::expire() noexcept {
  for (std::uint32_t budget = limits_.expire_budget; budget != 0; --budget) {
    flow* f = flows_.pool().expired(now_);
    if (f == nullptr) break;
    counters_.flows_expired.add(1);
    report(*f);
    flows_.give(*f);
  }
  quic_.expire(now_, limits_.expire_budget);
}

void analyzer::finish() {
  quic_.finish_all();
  std::vector<flow*> all;  // at the end of a run: the heap is free to be used
  all.reserve(flows_.pool().in_use());
  flows_.pool().for_each([&](flow& f) { all.push_back(&f); });
  std::ranges::stable_sort(all, {}, [](const flow* f) { return f->first_ns; });
  for (flow* f : all) {
    report(*f);
    flows_.give(*f);
  }
  now_ = 0;
}

}  // namespace millrace::inspect

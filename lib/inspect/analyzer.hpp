// inspect/analyzer.hpp - passive analysis: frames in, finished conversations out.
//
// Shape    on_packet() takes one frame with its link type and time; decodes it, finds its flow, and hands UDP payloads
//          to the QUIC tracker; what has fallen silent is reported as frames come in, the rest by finish().
//          One object a QUIC connection; of all other traffic one object a 5-tuple. QUIC that an ICMP error quotes is
//          not traffic: such a frame is counted under `icmp`.
// Units    time in nanoseconds as the capture (or the receiving loop) tells it; it may run backwards, the tables' own
//          clock then stands still. `original_length`: bytes on the wire, which a capture may have cut.
// Owner    frames are borrowed for the call and never written. All memory is one block, given at the start and at least
//          bytes_needed(); nothing is allocated later (finish() sorts on the heap).
// Limits   limits.hpp. With all flows in use the least recently used one is reported and gives way.
// Errors   every frame is counted once: delivered, or dropped under the reason that stopped it.
// Threads  one. Source  design, Inspect objects. Tests  test/inspect/analyzer_test.cpp, corpus pcap/quic
#pragma once

#include <algorithm>

#include "inspect/quic_tracker.hpp"
#include "net/wire/capture.hpp"
#include "net/wire/decode.hpp"

namespace millrace::inspect {

struct analyzer_options {
  limits caps;
  std::uint16_t srmp_port = 5500;  // UDP datagrams from or to it are SRMP when frames fill them exactly; 0: none
  std::uint64_t seed = 0;          // of the tables' hashes: random, so that nobody can aim at one bucket
};

class analyzer {
  limits limits_;
  std::uint16_t srmp_port_ = 0;
  std::uint64_t now_ = 0;  // the latest time seen
  counters counters_;
  observer* observer_;
  flow_table flows_;
  quic_tracker quic_;
  net::wire::decoded decoded_;
  key_log_feed key_log_;
  std::uint64_t secrets_unread_ = 0;

  void on_udp(const net::wire::decoded& d, base::byte_view frame, std::uint64_t time_ns, std::uint32_t wire) noexcept;
  [[nodiscard]] bool on_srmp(flow& f, base::byte_view payload, bool truncated) noexcept;
  void on_tcp(const net::wire::decoded& d, std::uint64_t time_ns, std::uint32_t wire) noexcept;
  [[nodiscard]] flow* flow_of(const net::wire::decoded& d, std::uint64_t time_ns, bool& from_low) noexcept;
  void take(flow& f, std::uint64_t time_ns, std::uint32_t wire) noexcept;
  void drop(stats::drop_reason why) noexcept { counters_.drops.add(why); }
  void expire() noexcept;
  void report(const flow& f) noexcept;

 public:
  // `memory`: zeroed, bytes_needed(options.caps) or more, and it outlives the analyzer, as engine and observer do.
  analyzer(std::span<std::byte> memory, const analyzer_options& options, crypto::engine& engine,
           observer& told) noexcept;
  analyzer(const analyzer&) = delete;
  analyzer& operator=(const analyzer&) = delete;
  ~analyzer() { quic_.decryption().wipe(); }

  [[nodiscard]] static std::size_t bytes_needed(const limits& caps) noexcept;

  void on_packet(base::byte_view frame, net::wire::link_type link, std::uint64_t time_ns,
                 std::uint32_t original_length) noexcept;
  // Time passes without frames: what has fallen silent is reported.
  void on_time(std::uint64_t time_ns) noexcept {
    now_ = std::max(now_, time_ns);
    expire();
  }
  // Text of a key log, in pieces of any size; end_key_log() behind the last. What was received before it stays closed.
  void add_key_log(std::string_view text) noexcept { key_log_.feed(text, quic_.decryption().secrets()); }
  void end_key_log() noexcept { key_log_.finish(quic_.decryption().secrets()); }
  // A block of secrets in a capture. One of another type than a TLS key log is counted.
  void add_secrets(const net::wire::capture_secrets& block) noexcept;
  // A frame that could not be handed in: counted as received and dropped.
  void refuse(stats::drop_reason why, std::uint32_t original_length) noexcept;
  // Something amiss that is no frame: a capture that ends inside a record.
  void note(stats::drop_reason what) noexcept { counters_.anomalies.add(what); }
  // Reports all that is still open, oldest first. The analyzer may go on afterwards, at any time: the tables' clock
  // begins anew, as the next capture may be older than the last.
  void finish();

  [[nodiscard]] const counters& count() const noexcept { return counters_; }
  [[nodiscard]] const flow_table& flows() const noexcept { return flows_; }
  [[nodiscard]] const quic_tracker& quic() const noexcept { return quic_; }
  [[nodiscard]] const key_log_counts& key_log() const noexcept { return key_log_.counts(); }
  [[nodiscard]] std::uint64_t secrets_unread() const noexcept { return secrets_unread_; }  // blocks of other types
};

}  // namespace millrace::inspect

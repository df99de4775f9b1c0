// app/result_json.hpp - what a role reports at its end: one JSON object, the same shape for every role.
//
// Shape    a role fills run_result and calls write_result(); docs/json.md says what each member means and its unit.
// Absent   an optional that is empty is an absent key: nothing is invented. Empty lists are written empty.
// Heap     this is the control thread's, after the run.
// Errors   write_result: a failure naming the file. A figure that is no finite number is left out.
// Source   docs/json.md, docs/json/result.schema.json. Tests  test/app/result_json_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "app/output_file.hpp"
#include "base/result.hpp"
#include "stats/drop_counters.hpp"
#include "stats/drop_reason.hpp"

namespace millrace::json {
class writer;
}

namespace millrace::app {

// What was built and where it ran; build_info() in app/build_info.hpp fills it.
struct build_facts {
  std::string compiler;
  std::string cpu;
  std::string ipsec_mb_arch;  // what IPsec-MB chose on this CPU: sse, avx, avx2, avx512
  std::string dpdk;           // the version that runs, not the one compiled against
  bool hugepages = false;     // whether the memory of this run lies on hugepages
};

// The parameters of the run, in the order they were added.
class workload_parameters {
 public:
  using value = std::variant<std::string, bool, std::int64_t, std::uint64_t, double, std::vector<std::string>>;

  // Integers, floating point, bool, text and lists of text; a name added again takes the new value, at its old place.
  template <class Value>
  void add(std::string_view name, Value&& v) {
    using plain = std::remove_cvref_t<Value>;
    if constexpr (std::is_same_v<plain, bool>)
      set(name, value(std::in_place_type<bool>, v));
    else if constexpr (std::is_integral_v<plain> && std::is_signed_v<plain>)
      set(name, value(std::in_place_type<std::int64_t>, v));
    else if constexpr (std::is_integral_v<plain>)
      set(name, value(std::in_place_type<std::uint64_t>, v));
    else if constexpr (std::is_floating_point_v<plain>)
      set(name, value(std::in_place_type<double>, v));
    else if constexpr (std::is_convertible_v<Value, std::string_view>)
      set(name, value(std::in_place_type<std::string>, std::string_view(v)));
    else
      set(name, value(std::in_place_type<std::vector<std::string>>, std::forward<Value>(v)));
  }
  [[nodiscard]] const std::vector<std::pair<std::string, value>>& items() const noexcept { return items_; }

 private:
  std::vector<std::pair<std::string, value>> items_;

  void set(std::string_view name, value v);
};

struct traffic_count {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  // of frames, without FCS, preamble and gap
};

struct rate_figures {  // over duration_s; only what applies to the role
  std::optional<double> mpps;
  std::optional<double> gbps;
  std::optional<double> messages_per_s;
  std::optional<double> requests_per_s;
  std::optional<double> goodput_gbps;
  std::optional<double> handshakes_per_s;
};

struct handshake_figures {  // of QUIC connections that a client began
  std::uint64_t begun = 0;
  std::uint64_t completed = 0;
  std::uint64_t resumed = 0;     // of those, by a ticket
  std::uint64_t early_data = 0;  // of those, with 0-RTT accepted
};

struct latency_figures {
  std::uint64_t p50 = 0;
  std::uint64_t p90 = 0;
  std::uint64_t p99 = 0;
  std::uint64_t p999 = 0;
  std::uint64_t max = 0;
};

// design, Loop: rx + originated == tx + delivered + held + dropped. Packets.
struct conservation_count {
  std::uint64_t rx = 0;
  std::uint64_t originated = 0;  // made by this program
  std::uint64_t tx = 0;
  std::uint64_t delivered = 0;  // consumed here, for what they were meant
  std::uint64_t held = 0;       // still owned when the counters were read
  std::uint64_t dropped = 0;    // freed with a reason

  [[nodiscard]] bool holds() const noexcept { return rx + originated == tx + delivered + held + dropped; }
};

struct lcore_figures {
  unsigned id = 0;
  double busy_percent = 0;                 // of the time: bursts that found packets
  double mpps = 0;                         // received
  std::optional<double> cpu_percent = {};  // of the time: the lcore had its CPU; below 100 others had it
};

struct mempool_figures {
  std::string name;
  std::uint64_t size = 0;        // objects
  std::uint64_t in_use = 0;      // at the end
  std::uint64_t high_water = 0;  // the most in use at any time it was looked at
  std::uint64_t refused = 0;     // requests that found it empty
};

struct heap_figures {
  std::uint64_t data_path = 0;  // calls on data-path lcores in the measured window, outside handshakes; must be 0
  std::uint64_t handshake = 0;  // the same inside TLS handshakes, which allocate
};

struct key_log_figures {  // of a role that decrypts what passes by
  std::uint64_t secrets = 0;
  std::uint64_t repeated = 0;  // of them: known before
  std::uint64_t skipped = 0;   // lines of TLS 1.2, and of labels that protect no packet
  std::uint64_t malformed = 0;
  std::uint64_t no_room = 0;  // secrets beyond those that are kept
  std::uint64_t connections_decrypted = 0;
  std::uint64_t connections_closed = 0;   // whose secrets opened nothing
  std::uint64_t connections_evicted = 0;  // whose decryption gave way to others'
  std::uint64_t packets_opened = 0;       // Initials, which need no secrets, included
  std::uint64_t packets_unopened = 0;
};

struct run_result {
  build_facts build;
  std::string role;
  workload_parameters workload;
  double duration_s = 0;  // the measured window
  traffic_count rx;
  traffic_count tx;
  rate_figures rate;
  std::optional<latency_figures> latency_ns;
  std::optional<handshake_figures> handshakes;
  std::optional<key_log_figures> key_log;
  std::vector<std::pair<std::string, std::uint64_t>> errors;    // by kind; zeroes are left out
  std::array<std::uint64_t, stats::drop_reason_count> drops{};  // by reason; zeroes are left out
  conservation_count conservation;
  std::vector<std::pair<std::string, double>> cycles_per_packet;  // by stage, in the order of the pipeline
  std::vector<lcore_figures> lcores;
  std::vector<mempool_figures> mempools;
  std::vector<std::pair<std::string, std::uint64_t>> messages;  // that a server took in, by service; no zeroes written
  std::vector<std::pair<std::string, std::uint64_t>> classes;   // packets by what they are, where a role classifies
  std::optional<heap_figures> heap_calls;                       // absent where a sanitizer's heap hides the calls

  // Adds to the kind's count.
  void add_error(std::string_view kind, std::uint64_t n);
  // Adds one lcore's counters to `drops`.
  void add_drops(const stats::drop_counters& lcore) noexcept;
};

// The object alone, onto a writer that is at the beginning of a document; the caller ends the document.
void write_result(const run_result& result, json::writer& out);

// One line into `to`, which is closed then; nothing when that is nowhere.
base::outcome write_result(const run_result& result, output_file& to);

}  // namespace millrace::app

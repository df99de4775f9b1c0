// app/inspect_report.hpp - where finished conversations go: rows for people, JSON lines, and the totals of the run.
//
// Shape    an observer of the analyzer. The table goes to stdout unless JSON does, or the summary; then stdout holds
// JSON alone, and
//          what people read goes to stderr.
// Heap     counted apart from the data path's: reporting allocates, in a watch of its own.
// Errors   open() names the file. write failures stick and are told by finish().
// Threads  the analyzer's. Tests  test/e2e/inspect_test.py
#pragma once

#include <array>
#include <optional>
#include <string>

#include "app/output_file.hpp"
#include "app/result_json.hpp"
#include "base/result.hpp"
#include "inspect/analyzer.hpp"
#include "inspect/table.hpp"
#include "json/writer.hpp"
#include "mem/heap_counter.hpp"

namespace millrace::app {

struct inspect_totals {
  std::uint64_t quic = 0;
  std::uint64_t with_hello = 0;  // of them, whose ClientHello was read
  std::uint64_t gquic = 0;
  std::array<std::uint64_t, 3> flows{};   // by inspect::flow_kind
  std::array<std::uint64_t, 3> frames{};  // of them
  std::uint64_t quic_frames = 0;          // of QUIC and gQUIC
};

class inspect_report final : public inspect::observer {
  output_file file_;
  std::optional<json::file_sink> sink_;
  std::optional<json::writer> writer_;
  std::string capture_;
  inspect::connection_table table_;
  std::FILE* people_ = stdout;
  inspect_totals totals_;
  mem::heap_tally heap_;
  bool table_wanted_ = true;
  bool broken_ = false;
  int errno_ = 0;  // of the write that broke it
  bool name_shown_ = false;

  void end_line() noexcept;

 public:
  // Where the JSON lines go. `keep_stdout`: it belongs to another output, the summary's.
  void open(output_file to, bool keep_stdout = false);
  // The name that objects carry from here on; empty for ports.
  void set_capture(std::string name) { capture_ = std::move(name); }
  // Prints the rows of this capture, under its name when there are several.
  void end_capture(bool named);

  void on_connection(const inspect::connection& c) override;
  void on_flow(const inspect::flow& f) override;

  // Writes what is still buffered. A failure names the file that could not be written.
  base::outcome finish();

  [[nodiscard]] std::FILE* people() const noexcept { return people_; }
  [[nodiscard]] const inspect_totals& totals() const noexcept { return totals_; }
};

// What the run did, beside the analyzer's counters.
struct inspect_run {
  std::uint64_t captures = 0;
  std::uint64_t direct = 0;  // frames read from a file itself, because libpcap had given it up
  double seconds = 0;
  std::size_t table_bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> faults;  // of capture files, by kind
};

// The summary for people.
void print_summary(std::FILE* out, const inspect::analyzer& a, const inspect_totals& totals, const inspect_run& run);
// The figures that the result object takes from the analyzer.
void fill_result(run_result& result, const inspect::analyzer& a, const inspect_run& run);

}  // namespace millrace::app

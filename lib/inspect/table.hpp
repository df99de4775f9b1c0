// inspect/table.hpp - finished QUIC connections as rows for people.
//
// Shape    add() keeps a row, print() writes those kept in columns as wide as they need. A caller that adds without end
//          prints every now and then; widths only grow. What decryption told of a connection stands below its row.
// Text     names from the wire may hold anything, also what moves a terminal's cursor: what is not printable ASCII is
//          shown as \xNN.
// Heap     yes: this is the control path. Tests  test/inspect/table_test.cpp
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "inspect/connection.hpp"

namespace millrace::inspect {

// `text` with everything but printable ASCII, and the backslash, as \xNN; at most `limit` characters of it, the rest
// as "...".
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit);

class connection_table {
  static constexpr std::size_t columns = 8;
  using row = std::array<std::string, columns>;
  std::vector<row> rows_;
  std::vector<std::string> details_;  // of each row: whole lines, or nothing
  std::array<std::size_t, columns> widths_{};
  bool headed_ = false;

 public:
  connection_table();
  void add(const connection& c);
  // Kept and not yet printed.
  [[nodiscard]] std::size_t rows() const noexcept { return rows_.size() - (headed_ ? 0 : 1); }
  // Writes the heading (the first time) and the rows, and forgets the rows.
  void print(std::FILE* out);
};

}  // namespace millrace::inspect

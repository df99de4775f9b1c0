// quic/conn/path_table.hpp - the state of a connection's paths: one has its place in the connection, as there is one
// nearly always; the others are lent while there are some.
//
// Shape    [i] for the path in slot i of path::migration: 0, or any below size(). reserve() before a second path is
//          made, fit() after one was given up.
// Owner    give_back() before destruction.
// Errors   reserve(): false, no memory: the path cannot be made.
// Source   RFC 9000 9. Tests  test/quic/sim/paths_test.cpp, test/quic/sim/resting_test.cpp
#pragma once

#include <utility>

#include "mem/object_pool.hpp"
#include "quic/conn/connection_parts.hpp"
#include "quic/path/migration.hpp"

namespace millrace::quic::conn {

struct more_paths {
  std::array<path_state, path::max_paths - 1> paths;
};

class path_table {
  path_state first_;
  more_paths* more_ = nullptr;

 public:
  [[nodiscard]] std::size_t size() const noexcept { return more_ == nullptr ? 1 : path::max_paths; }
  [[nodiscard]] path_state& operator[](std::size_t i) noexcept { return i == 0 ? first_ : more_->paths[i - 1]; }
  [[nodiscard]] const path_state& operator[](std::size_t i) const noexcept {
    return i == 0 ? first_ : more_->paths[i - 1];
  }

  [[nodiscard]] bool reserve(mem::object_pool<more_paths>& pool) noexcept {
    if (more_ == nullptr) more_ = pool.get();
    return more_ != nullptr;
  }
  void fit(mem::object_pool<more_paths>& pool, const path::migration& used) noexcept {
    if (more_ == nullptr) return;
    for (std::size_t i = 1; i < path::max_paths; ++i)
      if (used.paths()[i].role != path::path_role::unused) return;
    give_back(pool);
  }
  void give_back(mem::object_pool<more_paths>& pool) noexcept { pool.give(std::exchange(more_, nullptr)); }
};

}  // namespace millrace::quic::conn

// rpc/method_table.hpp - names to methods: found whatever their case, without a copy on the heap.
//
// Shape    add() at set-up, find() per call: the name itself, then "Controller/*" of what stands before its first
//          slash, then "*".
// Limits   max_methods; names of 1..127 characters of ASCII below 0x7F, which all callers can send.
// Owner    the table keeps its own copies of names and signatures; `self` of a method is the caller's and outlives it.
// Errors   make(): nullptr when there is no memory. add(): add_errc, nothing changed.
// Threads  add() before any find(); then any number of readers.
// Source   the remoting sheet, 4. Tests  test/rpc/method_table_test.cpp
#pragma once

#include <memory>

#include "mem/region.hpp"
#include "rpc/call.hpp"

namespace millrace::rpc {

inline constexpr std::size_t default_max_methods = 256;
inline constexpr std::uint32_t any_size = UINT32_MAX;

struct method_options {
  // Bytes of data a result has at most: results that are known to be small share a datagram without being copied.
  std::uint32_t max_result = any_size;
  bool result_within_arguments = false;  // the same, measured in each call's arguments
  bool needs_login = false;              // answered 401 until the service's authorize hook says yes
  std::string_view signature = {};       // what Api/All says; empty: the name. At most 127 characters are kept.
};

struct method {
  method_handler handler;
  void* self;
  std::uint32_t max_result;
  bool result_within_arguments;
  bool needs_login;
  std::uint8_t name_size;
  std::uint8_t signature_size;
  char name[wire::max_name_size + 1];    // as it was added
  char folded[wire::max_name_size + 1];  // lower case, zeros behind it
  char signature_text[128];

  [[nodiscard]] std::string_view name_view() const noexcept { return {name, name_size}; }
  [[nodiscard]] std::string_view signature() const noexcept {
    return signature_size == 0 ? name_view() : std::string_view(signature_text, signature_size);
  }
};

enum class add_errc : std::uint8_t { ok, bad_name, duplicate, full };

class method_table {
  mem::region rows_memory_;
  mem::region slots_memory_;
  std::span<method> rows_;
  std::span<std::uint16_t> slots_;  // row + 1; 0 is empty. Twice as many as rows, a power of two
  std::size_t size_ = 0;
  const method* everything_ = nullptr;  // "*"
  bool has_controllers_ = false;

  method_table() noexcept = default;
  [[nodiscard]] const method* find_exact(std::string_view name) const noexcept;

 public:
  [[nodiscard]] static std::unique_ptr<method_table> make(std::size_t max_methods = default_max_methods);
  method_table(const method_table&) = delete;
  method_table& operator=(const method_table&) = delete;

  add_errc add(std::string_view name, method_handler handler, void* self, const method_options& options = {}) noexcept;

  // table.add<&greeter::hello>("Greeter/Hello", someone): a member void hello(call&) noexcept.
  template <auto Member, class Class>
  add_errc add(std::string_view name, Class& self, const method_options& options = {}) noexcept {
    return add(name, [](void* object, call& c) noexcept { (static_cast<Class*>(object)->*Member)(c); }, &self, options);
  }

  // nullptr when nothing answers to `name`, which is_callable().
  [[nodiscard]] const method* find(std::string_view name) const noexcept;

  [[nodiscard]] std::span<const method> methods() const noexcept { return rows_.first(size_); }
};

}  // namespace millrace::rpc

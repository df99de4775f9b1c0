// test/support/json_tree.hpp - a JSON document as a tree, read by our own reader.
//
// RapidJSON's document.h does not compile under clang 19 (it assigns to a const member), and tests are built with both
// compilers.
//
// Errors   what is not there is a failed test and an empty value, so that one missing member does not end the run.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "json/reader.hpp"

namespace millrace::test {

class json_tree {
 public:
  enum class kind { null, boolean, number, text, array, object };

 private:
  kind kind_ = kind::null;
  bool boolean_ = false;
  std::uint64_t integer_ = 0;
  double number_ = 0;
  std::string text_;
  std::vector<json_tree> items_;
  std::map<std::string, json_tree, std::less<>> members_;

  static const json_tree& nothing() {
    static const json_tree one;
    return one;
  }

  friend class json_tree_builder;

 public:
  [[nodiscard]] static json_tree parse(std::string_view document);

  [[nodiscard]] bool is_null() const { return kind_ == kind::null; }
  [[nodiscard]] bool has(std::string_view name) const { return members_.find(name) != members_.end(); }
  [[nodiscard]] const json_tree& operator[](std::string_view name) const {
    const auto found = members_.find(name);
    if (found != members_.end()) return found->second;
    ADD_FAILURE() << "no member " << name;
    return nothing();
  }
  [[nodiscard]] const std::vector<json_tree>& items() const { return items_; }
  [[nodiscard]] const std::map<std::string, json_tree, std::less<>>& members() const { return members_; }
  [[nodiscard]] const std::string& text() const {
    EXPECT_EQ(kind_, kind::text);
    return text_;
  }
  [[nodiscard]] std::uint64_t count() const {
    EXPECT_EQ(kind_, kind::number);
    return integer_;
  }
  [[nodiscard]] double number() const {
    EXPECT_EQ(kind_, kind::number);
    return number_;
  }
  [[nodiscard]] bool truth() const {
    EXPECT_EQ(kind_, kind::boolean);
    return boolean_;
  }
};

class json_tree_builder final : public json::handler {
  using kind = json_tree::kind;
  json_tree root_;
  std::vector<json_tree*> open_;
  std::string key_;

  json_tree& place() {
    if (open_.empty()) return root_;
    json_tree& in = *open_.back();
    return in.kind_ == kind::array ? in.items_.emplace_back() : in.members_[key_];
  }
  json_tree& put(kind what) {
    json_tree& at = place();
    at.kind_ = what;
    return at;
  }
  void put_number(std::uint64_t integer, double number) {
    json_tree& at = put(kind::number);
    at.integer_ = integer;
    at.number_ = number;
  }
  bool open(kind what) {
    open_.push_back(&put(what));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

 public:
  [[nodiscard]] json_tree take() { return std::move(root_); }

  bool on_null() noexcept override { return put(kind::null).is_null(); }
  bool on_bool(bool v) noexcept override {
    put(kind::boolean).boolean_ = v;
    return true;
  }
  bool on_integer(std::int64_t v) noexcept override {
    put_number(static_cast<std::uint64_t>(v), static_cast<double>(v));
    return true;
  }
  bool on_unsigned(std::uint64_t v) noexcept override {
    put_number(v, static_cast<double>(v));
    return true;
  }
  bool on_double(double v) noexcept override {
    put_number(0, v);
    return true;
  }
  bool on_string(std::string_view v) noexcept override {
    put(kind::text).text_ = v;
    return true;
  }
  bool on_begin_object() noexcept override { return open(kind::object); }
  bool on_key(std::string_view name) noexcept override {
    key_ = name;
    return true;
  }
  bool on_end_object() noexcept override { return close(); }
  bool on_begin_array() noexcept override { return open(kind::array); }
  bool on_end_array() noexcept override { return close(); }
};

inline json_tree json_tree::parse(std::string_view document) {
  json::read_limits limits;
  limits.max_bytes = static_cast<std::uint32_t>(document.size());
  std::vector<std::byte> scratch(json::reader::scratch_size(limits));
  json_tree_builder builder;
  const json::read_result read = json::reader(limits, scratch).read(base::as_bytes(document), builder);
  EXPECT_TRUE(read) << to_string(read.code) << " at " << read.at << " of " << document.substr(0, 80);
  return builder.take();
}

}  // namespace millrace::test

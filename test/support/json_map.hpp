// test/support/json_map.hpp - a JSON document as a flat map, "client_keys.iv" to the text of its value: enough for
// vector files, which are objects of strings and numbers. Arrays are passed over.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "json/reader.hpp"

namespace millrace::test {

class json_map final : json::handler {
  std::map<std::string, std::string> values_;
  std::vector<std::string> path_;
  int arrays_ = 0;

  bool keep(std::string value) {
    std::string name;
    for (const std::string& part : path_) name += (name.empty() ? "" : ".") + part;
    if (arrays_ == 0) values_[name] = std::move(value);
    if (arrays_ == 0 && !path_.empty()) path_.pop_back();
    return true;
  }

 public:
  explicit json_map(base::byte_view text) {
    const json::read_limits limits{.max_bytes = 1 << 20};
    std::vector<std::byte> scratch(json::reader::scratch_size(limits));
    EXPECT_TRUE(static_cast<bool>(json::reader(limits, scratch).read(text, *this)));
  }
  [[nodiscard]] bool has(const std::string& name) const { return values_.contains(name); }
  [[nodiscard]] const std::string& operator[](const std::string& name) const {
    static const std::string absent;
    const auto found = values_.find(name);
    EXPECT_NE(found, values_.end()) << "no value " << name;
    return found == values_.end() ? absent : found->second;
  }

  // The handler's side. A key stays on the path until its value has been read.
  bool on_null() noexcept override { return keep("null"); }
  bool on_bool(bool value) noexcept override { return keep(value ? "true" : "false"); }
  bool on_integer(std::int64_t value) noexcept override { return keep(std::to_string(value)); }
  bool on_unsigned(std::uint64_t value) noexcept override { return keep(std::to_string(value)); }
  bool on_double(double value) noexcept override { return keep(std::to_string(value)); }
  bool on_string(std::string_view value) noexcept override { return keep(std::string(value)); }
  bool on_key(std::string_view key) noexcept override {
    if (arrays_ == 0) path_.emplace_back(key);
    return true;
  }
  bool on_end_object() noexcept override {
    if (arrays_ == 0 && !path_.empty()) path_.pop_back();
    return true;
  }
  bool on_begin_array() noexcept override {
    ++arrays_;
    return true;
  }
  bool on_end_array() noexcept override {
    if (--arrays_ == 0 && !path_.empty()) path_.pop_back();
    return true;
  }
};

}  // namespace millrace::test

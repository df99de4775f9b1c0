// test/peers/report.hpp - one flat JSON object, and how much of the processor went into a process.
#pragma once

#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

namespace millrace::peers {

class json_object {
  std::string text_;

  static std::string quoted(const std::string& from) {
    std::string out = "\"";
    for (const char c : from) {
      if (c == '"' || c == '\\') out += '\\';
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return out + '"';
  }
  json_object& raw(const std::string& key, const std::string& value) {
    text_ += (text_.empty() ? "" : ",") + quoted(key) + ":" + value;
    return *this;
  }

 public:
  json_object& add(const std::string& key, std::uint64_t value) { return raw(key, std::to_string(value)); }
  json_object& add(const std::string& key, bool value) { return raw(key, value ? "true" : "false"); }
  json_object& add(const std::string& key, const std::string& value) { return raw(key, quoted(value)); }
  json_object& add(const std::string& key, double value) {
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), "%.6f", value);
    return raw(key, number.data());
  }
  template <class Value>
  json_object& add(const std::string& key, const std::map<std::string, Value>& values) {
    json_object inner;
    for (const auto& [name, value] : values) inner.add(name, value);
    return raw(key, inner.text());
  }
  [[nodiscard]] std::string text() const { return "{" + text_ + "}"; }
};

// User and system time of this process.
[[nodiscard]] inline double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace millrace::peers

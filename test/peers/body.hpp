// test/peers/body.hpp - what a stream sends: a pattern, a file, or bytes that are added while it goes.
//
// Shape    at(offset) shows bytes from there on; they stay where they are until acked() passes them, because ngtcp2
// keeps
//          pointers and not copies.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <utility>

#include "udp.hpp"

namespace millrace::peers {

class body {
 public:
  body() = default;
  body(const body&) = delete;
  body& operator=(const body&) = delete;
  virtual ~body() = default;
  [[nodiscard]] virtual byte_view at(std::uint64_t offset) const = 0;  // empty: there is nothing there (yet)
  [[nodiscard]] virtual bool ends_at(std::uint64_t offset) const = 0;
  virtual void acked(std::uint64_t offset) { (void)offset; }  // all before `offset` has arrived
};

// Byte i is byte i % 65536 of a block that a linear congruential generator fills: what `/bytes/N` of millrace serves,
// too.
inline constexpr std::size_t pattern_bytes = 65'536;
inline const std::array<std::uint8_t, pattern_bytes>& pattern() {
  static const auto block = [] {
    std::array<std::uint8_t, pattern_bytes> b{};
    std::uint64_t x = 0x6d696c6c72616365;  // "millrace"
    for (auto& byte : b) byte = static_cast<std::uint8_t>((x = x * 6364136223846793005U + 1442695040888963407U) >> 56);
    return b;
  }();
  return block;
}

class pattern_body final : public body {
  std::uint64_t size_;

 public:
  explicit pattern_body(std::uint64_t size) : size_(size) {}
  [[nodiscard]] byte_view at(std::uint64_t offset) const override {
    const auto from = static_cast<std::size_t>(offset % pattern_bytes);
    const std::uint64_t left = offset < size_ ? size_ - offset : 0;
    return byte_view(pattern()).subspan(from,
                                        static_cast<std::size_t>(std::min<std::uint64_t>(left, pattern_bytes - from)));
  }
  [[nodiscard]] bool ends_at(std::uint64_t offset) const override { return offset >= size_; }
};

class file_body final : public body {
  std::shared_ptr<const bytes> content_;

 public:
  explicit file_body(std::shared_ptr<const bytes> content) : content_(std::move(content)) {}
  [[nodiscard]] byte_view at(std::uint64_t offset) const override {
    return offset < content_->size() ? byte_view(*content_).subspan(static_cast<std::size_t>(offset)) : byte_view{};
  }
  [[nodiscard]] bool ends_at(std::uint64_t offset) const override { return offset >= content_->size(); }
};

// Grows by add() until close().
class growing_body final : public body {
  std::deque<bytes> parts_;
  std::uint64_t begin_ = 0;  // offset of the first part
  std::uint64_t end_ = 0;
  bool closed_ = false;

 public:
  void add(bytes part) {
    if (part.empty()) return;
    end_ += part.size();
    parts_.push_back(std::move(part));
  }
  void close() { closed_ = true; }
  [[nodiscard]] bool is_closed() const { return closed_; }
  [[nodiscard]] std::uint64_t size() const { return end_; }
  [[nodiscard]] byte_view at(std::uint64_t offset) const override {
    std::uint64_t begin = begin_;
    for (const bytes& part : parts_) {
      if (offset < begin + part.size()) return byte_view(part).subspan(static_cast<std::size_t>(offset - begin));
      begin += part.size();
    }
    return {};
  }
  [[nodiscard]] bool ends_at(std::uint64_t offset) const override { return closed_ && offset >= end_; }
  void acked(std::uint64_t offset) override {
    while (!parts_.empty() && begin_ + parts_.front().size() <= offset) {
      begin_ += parts_.front().size();
      parts_.pop_front();
    }
  }
};

}  // namespace millrace::peers

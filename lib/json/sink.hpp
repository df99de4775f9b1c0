// json/sink.hpp - where JSON text goes: a fixed buffer, a FILE, or a string that grows.
//
// Shape    a window of free characters that put() fills inline; only a full window costs a virtual call.
// Owner    each borrows what it writes to, which must outlive it; file_sink and string_sink own their window, and hand
//          it on in flush() and at their end.
// Errors   put/write/flush: false once nothing more fits (buffer) or the FILE failed; from then on all is refused.
// Threads  one. Heap  string_sink alone: it is for the control path.
// Tests    test/json/sink_test.cpp
#pragma once

#include <array>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace millrace::json {

class sink {
  bool refused_ = false;

 protected:
  char* at_ = nullptr;   // next free character
  char* end_ = nullptr;  // end of the window

  sink() = default;
  // The window is full: open another of at least one character, or answer false.
  [[nodiscard]] virtual bool make_room() noexcept = 0;
  void open_window(char* begin, std::size_t size) noexcept {
    at_ = begin;
    end_ = begin + size;
  }
  void forgive() noexcept { refused_ = false; }
  bool refuse() noexcept {
    refused_ = true;
    end_ = at_;
    return false;
  }

 public:
  sink(const sink&) = delete;
  sink& operator=(const sink&) = delete;
  virtual ~sink() = default;

  bool put(char c) noexcept {
    if (at_ == end_ && (refused_ || !make_room())) return refuse();
    *at_++ = c;
    return true;
  }
  // What fits of a text that is refused has been written.
  bool write(std::string_view text) noexcept {
    for (;;) {
      const std::size_t take = std::min(text.size(), static_cast<std::size_t>(end_ - at_));
      if (take != 0) std::memcpy(at_, text.data(), take);
      at_ += take;
      text.remove_prefix(take);
      if (text.empty()) return true;
      if (refused_ || !make_room()) return refuse();
    }
  }
  // Hands what was written to where it goes; false when that, or anything before, was refused.
  virtual bool flush() noexcept { return !refused_; }
  [[nodiscard]] bool refused() const noexcept { return refused_; }
};

// Text in memory of the caller.
class buffer_sink final : public sink {
  char* begin_;
  std::size_t capacity_;

  bool make_room() noexcept override { return false; }

 public:
  explicit buffer_sink(std::span<char> room) noexcept : begin_(room.data()), capacity_(room.size()) { reset(); }
  // Begins again at the front of the same memory, a refusal forgotten.
  void reset() noexcept {
    forgive();
    open_window(begin_, capacity_);
  }
  // Lives as long as the buffer, until reset().
  [[nodiscard]] std::string_view text() const noexcept { return {begin_, static_cast<std::size_t>(at_ - begin_)}; }
};

// A file or stream that stays the caller's to close.
class file_sink final : public sink {
  std::FILE* file_;
  std::array<char, 8192> window_;

  bool make_room() noexcept override {
    const auto size = static_cast<std::size_t>(at_ - window_.data());
    const bool written = std::fwrite(window_.data(), 1, size, file_) == size;
    open_window(window_.data(), window_.size());
    return written;
  }

 public:
  explicit file_sink(std::FILE* file) noexcept : file_(file) { open_window(window_.data(), window_.size()); }
  ~file_sink() override { flush(); }  // a caller that must know of a failure has called flush() before
  bool flush() noexcept override {
    if (refused()) return false;
    return (make_room() && std::fflush(file_) == 0) || refuse();
  }
};

// Text appended to a string, complete after flush().
class string_sink final : public sink {
  std::string& out_;
  std::array<char, 512> window_;

  bool make_room() noexcept override {
    out_.append(window_.data(), static_cast<std::size_t>(at_ - window_.data()));
    open_window(window_.data(), window_.size());
    return true;
  }

 public:
  explicit string_sink(std::string& out) noexcept : out_(out) { open_window(window_.data(), window_.size()); }
  ~string_sink() override { flush(); }
  bool flush() noexcept override { return make_room(); }
};

}  // namespace millrace::json

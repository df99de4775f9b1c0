// base/segments.hpp - a payload that lies in several buffers, seen as one run of bytes.
//
// Shape    a span of byte views, in order; empty views are allowed and skipped.
// Units    size() is bytes over all parts.
// Owner    nothing: parts and bytes are borrowed. `buf` makes segments from an mbuf chain.
// Errors   copy_out answers the bytes copied: fewer than asked only at the end.
// Tests    test/base/segments_test.cpp
#pragma once

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"

namespace millrace::base {

class segments {
  std::span<const byte_view> parts_;
  std::size_t size_ = 0;

 public:
  segments() noexcept = default;
  explicit segments(std::span<const byte_view> parts) noexcept : parts_(parts) {
    for (const byte_view part : parts) size_ += part.size();
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const byte_view> parts() const noexcept { return parts_; }

  // The bytes [offset, offset + count) when one part holds them all, else an empty view: the fast path of parsers.
  [[nodiscard]] byte_view contiguous(std::size_t offset, std::size_t count) const noexcept {
    for (const byte_view part : parts_) {
      if (offset < part.size()) return part.size() - offset >= count ? part.subspan(offset, count) : byte_view{};
      offset -= part.size();
    }
    return {};
  }

  // Copies from `offset` on into `out`; answers the bytes copied.
  std::size_t copy_out(std::size_t offset, byte_span out) const noexcept {
    std::size_t done = 0;
    for (const byte_view part : parts_) {
      if (done == out.size()) break;
      if (offset >= part.size()) {
        offset -= part.size();
        continue;
      }
      const std::size_t take = std::min(part.size() - offset, out.size() - done);
      std::memcpy(out.data() + done, part.data() + offset, take);
      done += take;
      offset = 0;
    }
    return done;
  }
};

}  // namespace millrace::base

// tls/byte_store.hpp - a run of bytes on the heap that says "no memory" as a value and is wiped before it is freed.
//
// Shape    for handshakes, which allocate anyway (GnuTLS does): grows by append(), shrinks from the front by drop().
// Owner    the store; views die with the next append, drop, clear or the store.
// Errors   append and assign: false when there is no memory; nothing changes then.
// Threads  none. Tests  test/tls/parts_test.cpp
#pragma once

#include <cstdlib>
#include <cstring>

#include "base/bytes.hpp"

namespace millrace::tls {

class byte_store {
  std::uint8_t* bytes_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;

 public:
  byte_store() noexcept = default;
  byte_store(const byte_store&) = delete;
  byte_store& operator=(const byte_store&) = delete;
  ~byte_store() { clear(); }

  [[nodiscard]] base::byte_view view() const noexcept { return {bytes_, size_}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  // Bytes of heap held.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  [[nodiscard]] bool append(base::byte_view more) noexcept {
    if (more.empty()) return true;
    if (more.size() > max_size - size_ || !reserve(size_ + more.size())) return false;
    std::memcpy(bytes_ + size_, more.data(), more.size());
    size_ += static_cast<std::uint32_t>(more.size());
    return true;
  }
  [[nodiscard]] bool append(std::uint8_t byte) noexcept { return append(base::byte_view(&byte, 1)); }
  [[nodiscard]] bool assign(base::byte_view bytes) noexcept {
    size_ = 0;
    return append(bytes);
  }
  // Forgets the first `count` bytes, at most all.
  void drop(std::size_t count) noexcept {
    if (count >= size_) {
      size_ = 0;
      return;
    }
    std::memmove(bytes_, bytes_ + count, size_ - count);
    size_ -= static_cast<std::uint32_t>(count);
  }
  // Wipes and gives the memory back.
  void clear() noexcept {
    release(bytes_, capacity_);
    bytes_ = nullptr;
    size_ = 0;
    capacity_ = 0;
  }

 private:
  static constexpr std::size_t max_size = std::size_t{1} << 24;  // a handshake message's length has 24 bits

  [[nodiscard]] bool reserve(std::size_t wanted) noexcept {
    if (wanted <= capacity_) return true;
    std::size_t grown = capacity_ < 256 ? 256 : std::size_t{capacity_} * 2;
    if (grown < wanted) grown = wanted;
    // Not realloc: the old block would be freed with its secrets in it.
    auto* larger = static_cast<std::uint8_t*>(std::malloc(grown));
    if (larger == nullptr) return false;
    if (size_ != 0) std::memcpy(larger, bytes_, size_);
    release(bytes_, capacity_);
    bytes_ = larger;
    capacity_ = static_cast<std::uint32_t>(grown);
    return true;
  }
  static void release(std::uint8_t* bytes, std::size_t size) noexcept {
    if (bytes == nullptr) return;
    ::explicit_bzero(bytes, size);
    std::free(bytes);
  }
};

}  // namespace millrace::tls

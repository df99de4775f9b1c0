// h3/field_store.hpp - where the fields of one message's head lie: one block of pooled memory, as large as they need.
//
//   block   | field | field | field | ->      free      <- | text | text | text |
//
// Shape    field_memory is an lcore's blocks in four sizes; a field_store takes the smallest at the first field, and
//          moves to a larger one when it is full. Most requests stay in the first. Names and values are copied: what
//          QPACK hands out dies with its next instruction.
// Units    bytes. A field costs its texts and sizeof(http::field), 32, which is just what RFC 9114 4.2.2 counts: what
// is
//          within the limit of a field section always fits the largest block.
// Owner    the store gives its block back by clear() or on destruction; views and spans die with it. An add() may move
//          everything: views taken before it are void.
// Errors   add(), text(): false or nullptr when no block is free that is large enough; nothing changed.
// Threads  one lcore. Tests  test/h3/field_store_test.cpp
#pragma once

#include <array>
#include <cstring>

#include "http/message.hpp"
#include "mem/pool_listing.hpp"
#include "mem/slot_pool.hpp"

namespace millrace::h3 {

static_assert(sizeof(http::field) == 32, "a field costs what RFC 9114 4.2.2 counts for it");

class field_memory {
 public:
  static constexpr std::size_t classes = 4;
  static constexpr std::array<std::uint32_t, classes - 1> small_bytes{1024, 4096, 16'384};
  static constexpr std::uint32_t slack_bytes = 4096;  // beyond the limit: a path as it came and as it is looked up

 private:
  std::array<mem::slot_pool, classes> pools_;

  explicit field_memory(std::array<mem::slot_pool, classes> pools) noexcept : pools_(std::move(pools)) {}

 public:
  // For so many messages at a time, of which few are large; the largest block takes `section_bytes`.
  [[nodiscard]] static base::result<field_memory> make(std::uint32_t messages, std::uint32_t section_bytes);

  struct block {
    std::byte* at = nullptr;
    std::uint32_t size = 0;
  };
  // At least `bytes`; `at` is nullptr when there is none.
  [[nodiscard]] block get(std::size_t bytes) noexcept {
    for (mem::slot_pool& p : pools_) {
      if (p.slot_bytes() < bytes) continue;
      if (void* at = p.get()) [[likely]]
        return {static_cast<std::byte*>(at), p.slot_bytes()};
    }
    return {};
  }
  void give(const block& b) noexcept {
    for (mem::slot_pool& p : pools_) {
      if (p.slot_bytes() != b.size) continue;
      p.put(b.at);
      return;
    }
  }
  [[nodiscard]] std::uint32_t largest() const noexcept { return pools_.back().slot_bytes(); }
  [[nodiscard]] std::uint32_t in_use() const noexcept;
  [[nodiscard]] std::size_t in_use_bytes() const noexcept;
  void list(mem::pool_listing& to) const noexcept {
    for (const mem::slot_pool& p : pools_) to.add(p);
  }
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  // Of what make() would make, a little above the truth.
  [[nodiscard]] static std::size_t memory_bytes(std::uint32_t messages, std::uint32_t section_bytes) noexcept;
};

class field_store {
  field_memory* from_;
  field_memory::block block_;
  std::uint32_t count_ = 0;
  std::uint32_t text_ = 0;  // where the texts begin

  [[nodiscard]] http::field* array() noexcept { return reinterpret_cast<http::field*>(block_.at); }
  [[nodiscard]] const http::field* array() const noexcept { return reinterpret_cast<const http::field*>(block_.at); }
  [[nodiscard]] std::size_t room() const noexcept { return text_ - count_ * sizeof(http::field); }
  [[nodiscard]] bool grow(std::size_t more) noexcept;
  [[nodiscard]] std::string_view put(std::string_view text) noexcept {
    text_ -= static_cast<std::uint32_t>(text.size());
    char* at = reinterpret_cast<char*>(block_.at) + text_;
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    return {at, text.size()};
  }

 public:
  explicit field_store(field_memory& from) noexcept : from_(&from) {}
  field_store(const field_store&) = delete;
  field_store& operator=(const field_store&) = delete;
  ~field_store() { clear(); }

  [[nodiscard]] bool add(std::string_view name, std::string_view value) noexcept {
    const std::size_t needed = sizeof(http::field) + name.size() + value.size();
    if (room() < needed && !grow(needed)) [[unlikely]]
      return false;
    const std::string_view n = put(name);
    const std::string_view v = put(value);
    ::new (array() + count_) http::field{n, v};
    ++count_;
    return true;
  }
  // Room for a text; undefined content.
  [[nodiscard]] char* text(std::size_t size) noexcept {
    if (room() < size && !grow(size)) return nullptr;
    text_ -= static_cast<std::uint32_t>(size);
    return reinterpret_cast<char*>(block_.at) + text_;
  }
  void keep(std::uint32_t count) noexcept { count_ = count; }  // the first `count` fields
  void clear() noexcept {
    if (block_.at != nullptr) from_->give(block_);
    block_ = {};
    count_ = text_ = 0;
  }

  [[nodiscard]] std::span<http::field> fields() noexcept { return {array(), count_}; }
  [[nodiscard]] std::span<const http::field> fields() const noexcept { return {array(), count_}; }
  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
};

}  // namespace millrace::h3

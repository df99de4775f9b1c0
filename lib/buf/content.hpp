// buf/content.hpp - a file or other fixed bytes, loaded once into 64 KiB blocks and sent from there without a copy.
//
// Shape    blocks of a large_block_pool, filled on the control thread (load_file reads the file there: no system call
//          is ever made while it is being sent); content_source streams a range of it. Many small things lie in one
//          content, one behind the other: whoever fills it so uses room() and took().
// Units    bytes.
// Owner    content holds its blocks; packets made from it hold theirs too, so content may go while packets are out.
//          A source borrows the content.
// Limits   the pool's blocks. One block is in at most 32000 packets at a time (large_block_pool::share), then
// `no_memory`. Errors   load: a failure with what was asked, and no block kept. share(): empty when no mbuf is free or
// the range is empty. Threads  load: control thread. share(): any lcore; the blocks' counts are DPDK's atomic ones.
// Tests    test/buf/content_test.cpp       Bench  bench/buf/stream_bench.cpp
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "buf/pull_source.hpp"

namespace millrace::buf {

class content {
  large_block_pool* blocks_ = nullptr;
  std::vector<large_block> held_;
  std::uint64_t size_bytes_ = 0;

 public:
  content() noexcept = default;
  // Empty, to be filled by room() and took().
  explicit content(large_block_pool& blocks) noexcept : blocks_(&blocks) {}

  [[nodiscard]] static base::result<content> load(large_block_pool& blocks, base::byte_view bytes);
  // The whole file, which must be a regular one and not change meanwhile.
  [[nodiscard]] static base::result<content> load_file(large_block_pool& blocks, const std::string& path);

  [[nodiscard]] std::uint64_t size() const noexcept { return size_bytes_; }
  // The same bytes as share() gives, where they lie; they live as long as the content.
  [[nodiscard]] base::byte_view view(std::uint64_t offset, std::size_t most) const noexcept;
  // The bytes from `offset` on, at most `most` and at most to the end of their block.
  [[nodiscard]] packet share(std::uint64_t offset, std::uint32_t most) const noexcept;

  // --- filling, on the control thread, before anything of it is shared ---
  // Where the next bytes go: the rest of the last block, or a new one; empty when the pool is.
  [[nodiscard]] base::byte_span room();
  // So many of them were written, at most room().size().
  void took(std::size_t bytes) noexcept { size_bytes_ += bytes; }

 private:
  [[nodiscard]] bool add(base::byte_view bytes);
};

class content_source {
  const content* from_;
  std::uint64_t at_;

 public:
  explicit content_source(const content& from, std::uint64_t offset = 0) noexcept : from_(&from), at_(offset) {}
  [[nodiscard]] pull_source source() noexcept {
    return {this, [](void* self, std::uint32_t most, packet& out) noexcept {
              return static_cast<content_source*>(self)->pull(most, out);
            }};
  }

 private:
  [[nodiscard]] pull_status pull(std::uint32_t most, packet& out) noexcept {
    if (at_ >= from_->size()) return pull_status::end;
    packet block = from_->share(at_, most);
    if (!block) return pull_status::no_memory;
    at_ += block.length();
    out = std::move(block);
    return pull_status::block;
  }
};

}  // namespace millrace::buf

// buf/pull_source.hpp - where a streamed body comes from, one block at a time; and one that fills blocks by copying.
//
// Shape    a context and one function: the next block, as a packet of at most `most` bytes (1..65536), or why there is
// none.
//          buf/content.hpp has a source that copies nothing. block_filler makes one of whatever can write bytes into a
//          span; that is the one copy of such a body, into the block that is sent.
// Owner    the context outlives the source. A block is its receiver's.
// Errors   pull_status; end and failed are final, the others may be asked again. A source never waits: what it has not
//          yet (a file fed by the control thread, another stream) is `not_yet`. It makes no system call on the data
//          path.
// Threads  one lcore.
// Tests    test/buf/stream_sender_test.cpp       Bench  bench/buf/stream_bench.cpp
#pragma once

#include "buf/large_block_pool.hpp"

namespace millrace::buf {

enum class pull_status : std::uint8_t { block, end, not_yet, no_memory, failed };

struct pull_source {
  void* context = nullptr;
  pull_status (*pull)(void* context, std::uint32_t most, packet& out) noexcept = nullptr;
};

enum class read_state : std::uint8_t { more, end, not_yet, failed };
struct bytes_read {
  std::size_t count = 0;  // written to the front of the span
  read_state state = read_state::more;
};

class block_filler {
 public:
  using read_call = bytes_read (*)(void* context, base::byte_span into) noexcept;

 private:
  large_block_pool& blocks_;
  void* context_;
  read_call read_;
  large_block filling_;
  std::uint32_t used_ = 0;
  read_state after_ = read_state::more;  // what the last read said about the next

 public:
  // `read` is called with `context` until a block is full or it has no more; 0 bytes and `more` count as `not_yet`.
  block_filler(large_block_pool& blocks, void* context, read_call read) noexcept
      : blocks_(blocks), context_(context), read_(read) {}
  block_filler(const block_filler&) = delete;
  block_filler& operator=(const block_filler&) = delete;

  [[nodiscard]] pull_source source() noexcept {
    return {this, [](void* self, std::uint32_t most, packet& out) noexcept {
              return static_cast<block_filler*>(self)->pull(most, out);
            }};
  }

 private:
  [[nodiscard]] pull_status pull(std::uint32_t most, packet& out) noexcept;
  void fill(std::uint32_t most) noexcept;
};

}  // namespace millrace::buf

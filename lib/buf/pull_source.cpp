#include "buf/pull_source.hpp"

#include <algorithm>

namespace millrace::buf {

// Bounded: each turn writes at least one byte.
void block_filler::fill(std::uint32_t most) noexcept {
  while (used_ < most && after_ == read_state::more) {
    const std::size_t room = most - used_;
    const bytes_read got = read_(context_, filling_.bytes().subspan(used_, room));
    if (got.count > room) {  // it claims to have written beyond the span: nothing it says can be believed
      after_ = read_state::failed;
      return;
    }
    used_ += static_cast<std::uint32_t>(got.count);
    after_ = got.count == 0 && got.state == read_state::more ? read_state::not_yet : got.state;
  }
}

pull_status block_filler::pull(std::uint32_t most, packet& out) noexcept {
  most = std::min(most, large_block_bytes);
  if (used_ == 0) {  // else a full block waits for an mbuf
    if (after_ == read_state::end) return pull_status::end;
    if (after_ == read_state::failed) return pull_status::failed;
    filling_ = blocks_.alloc();
    if (!filling_) return pull_status::no_memory;
    after_ = read_state::more;
    fill(most);
  }
  if (used_ == 0) {
    filling_ = large_block{};
    return after_ == read_state::end      ? pull_status::end
           : after_ == read_state::failed ? pull_status::failed
                                          : pull_status::not_yet;
  }
  packet block = blocks_.send(std::move(filling_), used_);
  if (!block) return pull_status::no_memory;
  used_ = 0;
  out = std::move(block);
  return pull_status::block;
}

}  // namespace millrace::buf

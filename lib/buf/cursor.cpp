#include "buf/cursor.hpp"

#include <cstring>

#include "buf/segment.hpp"

namespace millrace::buf {

void cursor::limit(std::size_t count) noexcept {
  const std::size_t left = remaining();
  if (count >= left) return;
  size_ -= left - count;
  const std::size_t here = std::min(count, static_cast<std::size_t>(end_ - at_));
  end_ = at_ + here;
  beyond_ = count - here;
}

// Segments of a chain are never empty, so one step is enough.
void cursor::next_run() noexcept {
  segment_ = segment_->next;
  std::size_t count = beyond_;  // right for the tail, whose own length is the chain's business
  if (--segments_ == 1) {
    at_ = tail_at_;
  } else {
    at_ = own_begin(segment_);
    count = std::min<std::size_t>(count, segment_->data_len);
  }
  end_ = at_ + count;
  beyond_ -= count;
}

bool cursor::copy(base::byte_span out) noexcept {
  if (out.size() > remaining()) return false;
  std::size_t done = 0;
  while (done < out.size()) {
    const std::size_t take = std::min(out.size() - done, static_cast<std::size_t>(end_ - at_));
    std::memcpy(out.data() + done, at_, take);
    done += take;
    advance_in_run(take);
  }
  return true;
}

bool cursor::skip_across(std::uint64_t count) noexcept {
  if (count > remaining()) return false;
  while (count != 0) {
    const std::size_t take = std::min(static_cast<std::size_t>(count), static_cast<std::size_t>(end_ - at_));
    count -= take;
    advance_in_run(take);
  }
  return true;
}

bool cursor::bytes_across(std::uint64_t count, base::byte_view& out, base::byte_span scratch) noexcept {
  if (count > scratch.size() || !copy(scratch.first(static_cast<std::size_t>(count)))) return false;
  out = scratch.first(static_cast<std::size_t>(count));
  return true;
}

bool cursor::varint_across(std::uint64_t& out) noexcept {
  std::uint8_t first = 0;
  if (!peek(first)) return false;
  std::uint8_t whole[base::max_varint_size];
  const std::size_t size = std::size_t{1} << (first >> 6);
  if (!copy(base::byte_span(whole).first(size))) return false;
  return base::decode_varint(base::byte_view(whole).first(size), out) == size;
}

std::size_t cursor::gather(std::span<base::byte_view> parts) const noexcept {
  cursor ahead = *this;
  std::size_t count = 0;
  while (count < parts.size() && !ahead.empty()) {
    parts[count++] = ahead.run();
    ahead.advance_in_run(ahead.run().size());
  }
  return count;
}

}  // namespace millrace::buf

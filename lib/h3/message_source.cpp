#include "h3/message_source.hpp"

#include "h3/message.hpp"

namespace millrace::h3 {

namespace {

constexpr std::uint64_t least_pulled = 4096;

}  // namespace

using quic::conn::most_source_parts;
using quic::conn::pull_state;
using quic::conn::pulled;

unsigned message_source::borrow(std::uint64_t offset, std::size_t size,
                                std::span<base::byte_view, most_source_parts> parts) noexcept {
  if (offset + size <= content_at_) [[likely]]
    return chain_.borrow(offset, size, parts);
  unsigned count = 0;
  if (offset < content_at_) {
    const auto before = static_cast<std::size_t>(content_at_ - offset);
    count = chain_.borrow(offset, before, parts);
    std::size_t got = 0;
    for (unsigned i = 0; i < count; ++i) got += parts[i].size();
    if (got != before) return count;
    offset += before;
    size -= before;
  }
  const std::uint64_t end = content_at_ + content_size_;
  while (offset < end && size != 0 && count < parts.size()) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(size, end - offset));
    const base::byte_view part = content_->view(content_from_ + (offset - content_at_), most);
    if (part.empty()) return count;
    parts[count++] = part;
    offset += part.size();
    size -= part.size();
  }
  if (offset < end || size == 0 || count == parts.size()) return count;
  // Trailers, in a few blocks at most: they may not need all the places that are left.
  std::array<base::byte_view, most_source_parts> rest;
  const unsigned more = chain_.borrow(offset - content_size_, size, rest);
  for (unsigned i = 0; i < more && count < parts.size(); ++i) parts[count++] = rest[i];
  return count;
}

void message_source::released(std::uint64_t below) noexcept {
  if (below == UINT64_MAX) {
    held_ = {};
    is_pulling_ = false;
    chain_.released(below);
    return;
  }
  if (below > content_at_) below = below >= content_at_ + content_size_ ? below - content_size_ : content_at_;
  chain_.released(below);
}

pulled message_source::wait(trouble why) noexcept {
  trouble_ = why;
  owner_->on_trouble(why);
  return {0, pull_state::later};
}

pulled message_source::pull(std::uint64_t most) noexcept {
  if (!is_pulling_) return {};
  if (chain_.waiting_bytes() >= unacked_) return wait(trouble::unacked);
  if (!held_ && left_ != 0) {
    const bool is_sized = left_ != UINT64_MAX;
    // What its DATA header takes: of a block, up to 64 KiB, of the whole body, or of neither.
    const std::uint64_t header = is_framed_ ? 0 : is_sized ? wire::max_frame_header_size : 1 + 4;
    // A peer that allows a few bytes at a time must not take a block for each of them: one, until it is acknowledged.
    if (most < least_pulled && most - std::min(most, header) < left_ && chain_.waiting_bytes() != 0)
      return wait(trouble::unacked);
    const std::uint64_t want =
        std::min({std::uint64_t{pull_bytes_}, left_, most > 2 * header ? most - header : header});
    buf::packet block;
    switch (from_.pull(from_.context, static_cast<std::uint32_t>(want), block)) {
      case buf::pull_status::block:
        if (block.length() == 0 || block.length() > want) return wait(trouble::failed);
        held_ = std::move(block);
        break;
      case buf::pull_status::end:
        if (is_sized) return wait(trouble::failed);  // less than was promised
        left_ = 0;
        break;
      case buf::pull_status::not_yet:
        return wait(trouble::no_source);
      case buf::pull_status::no_memory:
        return wait(trouble::no_memory);
      case buf::pull_status::failed:
        return wait(trouble::failed);
    }
  }
  if (held_) {
    const std::uint64_t size = held_.length();
    if (!is_framed_) {
      const bool is_sized = left_ != UINT64_MAX;
      std::array<std::uint8_t, wire::max_frame_header_size> front;
      const std::size_t n = wire::emit(front.data(), wire::header_of(wire::frame_type::data, is_sized ? left_ : size));
      if (chain_.pipe().write(base::byte_view(front).first(n)) == buf::flow::exhausted) return wait(trouble::no_memory);
      is_framed_ = is_sized;
    }
    chain_.pipe().append(std::exchange(held_, {}));
    if (left_ != UINT64_MAX) left_ -= size;
  }
  trouble_ = trouble::none;
  const std::uint64_t bytes = chain_.take_new();
  if (left_ != 0) return {bytes, pull_state::more};
  is_pulling_ = false;
  return {bytes, pull_state::end};
}

}  // namespace millrace::h3

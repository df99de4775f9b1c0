// A place stays good while its segment is held: the pipe only adds behind and frees in front, and the last segment may
// grow. Segments are told apart by their number and not by their mbuf, because one mbuf may be two of them. A segment
// is freed with its last byte, so near_ is good while one of its bytes is held.
#include "quic/conn/chain_source.hpp"

namespace millrace::quic::conn {

// The segment that holds `offset`, which is held.
chain_source::place chain_source::find(std::uint64_t offset) const noexcept {
  place at{bytes_.data().first_mbuf(), gone_, base_};
  for (const place* known : {&new_, &again_})
    if (is_good(*known, offset) && known->number > at.number) at = *known;
  for (std::size_t size = bytes_of(at).size(); at.offset + size <= offset; size = bytes_of(at).size())
    at = {at.segment->next, at.number + 1, at.offset + size};
  return at;
}

unsigned chain_source::borrow_far(std::uint64_t offset, std::size_t size,
                                  std::span<base::byte_view, most_source_parts> parts) noexcept {
  if (offset < base_ || size == 0 || offset >= end()) return 0;
  size = static_cast<std::size_t>(std::min<std::uint64_t>(size, end() - offset));
  place at = find(offset);
  unsigned count = 0;
  for (;;) {
    const base::byte_view here = bytes_of(at);
    const auto skip = static_cast<std::size_t>(offset - at.offset);
    const std::size_t n = std::min(size, here.size() - skip);
    parts[count++] = here.subspan(skip, n);
    offset += n;
    size -= n;
    if (size == 0 || count == parts.size()) break;
    at = {at.segment->next, at.number + 1, offset};
  }
  if (new_.segment != nullptr && at.number < new_.number) {
    again_ = at;
    return count;
  }
  new_ = at;
  near_ = bytes_of(at);
  near_offset_ = at.offset;
  return count;
}

void chain_source::released(std::uint64_t below) noexcept {
  if (below == UINT64_MAX) {
    new_ = again_ = {};
    near_ = {};
    bytes_.complete_reader();
    return;
  }
  if (below <= base_) return;
  const std::uint32_t before = bytes_.data().segments();
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(below - base_, bytes_.size()));
  static_cast<void>(bytes_.consume(count));
  base_ += count;
  gone_ += before - bytes_.data().segments();
  if (near_offset_ + near_.size() <= base_) near_ = {};
  // The first segment may begin further in now; a place in it says where.
  for (place* p : {&new_, &again_}) {
    if (p->segment == nullptr) continue;
    if (p->number < gone_ || bytes_.size() == 0)
      *p = {};
    else if (p->number == gone_)
      p->offset = base_;
  }
  bytes_.rest();
}

}  // namespace millrace::quic::conn

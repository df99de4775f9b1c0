// Who may touch what (buf/segment.hpp, rule 2), seen from here. Every segment but the last is linked by this chain, so
// this chain may set its `next`, `data_off` and `data_len` even while slices and cut-off halves hold it too: they keep
// ranges of their own. The last segment is different: after cut() the front half ends in a segment whose link belongs
// to the back half. Before anything can follow it, it must become ours: alone by now, or replaced by an mbuf that
// refers to the same bytes.
#include "buf/chain.hpp"

#include <cstring>

namespace millrace::buf {
namespace {

// An mbuf of `spare` that refers to `range`, which lies in the buffer of `m`; nullptr when there is none.
[[nodiscard]] rte_mbuf* refer_to(rte_mbuf* m, base::byte_view range, const mbuf_source& spare) noexcept {
  // What the new mbuf will be counted in: the external buffer, or the mbuf the bytes lie in.
  const std::uint16_t holders =
      RTE_MBUF_HAS_EXTBUF(m) ? rte_mbuf_ext_refcnt_read(m->shinfo) : rte_mbuf_refcnt_read(rte_mbuf_from_indirect(m));
  if (holders == UINT16_MAX) return nullptr;
  rte_mbuf* view = spare.alloc();
  if (view == nullptr) return nullptr;
  rte_pktmbuf_attach(view, m);
  view->ol_flags &=
      RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;  // what a driver said of the packet is not said of a part
  set_own_range(view, range.data(), range.size());
  view->pkt_len = view->data_len;
  return view;
}

}  // namespace

void chain::settle_tail() noexcept {
  MILLRACE_ASSERT(can_grow());
  owns_link_ = true;
  set_own_range(tail_, tail_at_, tail_len_);
  settled_ = true;
}

bool chain::make_growable(const mbuf_source& spare) noexcept {
  if (head_ == nullptr || owns_link_) return true;
  if (!is_held_once(tail_)) {
    rte_mbuf* view = refer_to(tail_, {tail_at_, tail_len_}, spare);
    if (view == nullptr) return false;
    rte_mbuf** link = &head_;
    for (std::uint32_t i = 1; i < segments_; ++i) link = &(*link)->next;
    *link = view;
    release(std::exchange(tail_, view));
  }
  owns_link_ = true;
  settled_ = false;
  return true;
}

// The packet's own links are right already unless one of its segments is empty.
void chain::take_segments(rte_mbuf* m) noexcept {
  rte_mbuf* last = m;
  std::size_t bytes = 0;
  std::uint32_t count = 0;
  bool has_empty = false;
  for (rte_mbuf* part = m; part != nullptr; part = part->next) {
    has_empty |= part->data_len == 0;
    bytes += part->data_len;
    ++count;
    last = part;
  }
  if (has_empty) {
    take_without_empty(m);
    return;
  }
  m->nb_segs = 1;
  if (head_ == nullptr) {
    head_ = m;
    head_at_ = own_begin(m);
  } else {
    if (!settled_) settle_tail();
    tail_->next = m;
  }
  tail_ = last;
  tail_at_ = own_begin(last);
  tail_len_ = last->data_len;
  bytes_ += bytes;
  segments_ += count;
  owns_link_ = settled_ = true;
}

void chain::take_without_empty(rte_mbuf* m) noexcept {
  bool more = m->nb_segs != 1;
  while (m != nullptr) {
    rte_mbuf* following = more ? unlink_next(m) : nullptr;
    m->nb_segs = 1;
    if (m->data_len == 0)
      release(m);
    else
      append_owned(m, {own_begin(m), m->data_len});
    m = following;
  }
}

bool chain::append(chain&& more, const mbuf_source& spare) noexcept {
  MILLRACE_ASSERT(this != &more);
  if (more.head_ == nullptr) return true;
  if (head_ == nullptr) {
    take_fields(more);
    return true;
  }
  if (!make_growable(spare)) return false;
  if (!settled_) settle_tail();
  if (more.segments_ > 1) set_own_range(more.head_, more.head_at_, more.front().size());
  tail_->next = more.head_;
  tail_ = more.tail_;
  tail_at_ = more.tail_at_;
  tail_len_ = more.tail_len_;
  owns_link_ = more.owns_link_;
  settled_ = more.settled_ && tail_at_ == own_begin(tail_);
  segments_ += more.segments_;
  bytes_ += more.bytes_;
  more.forget();
  return true;
}

bool chain::append_copy(base::byte_view bytes, const mbuf_source& pool) noexcept {
  constexpr unsigned at_once = 32;
  if (pool.data_room() == 0) return bytes.empty();
  chain fresh;
  while (!bytes.empty()) {
    rte_mbuf* room[at_once];
    const std::size_t wanted = (bytes.size() + pool.data_room() - 1) / pool.data_room();
    const auto count = static_cast<unsigned>(std::min<std::size_t>(wanted, at_once));
    if (!pool.alloc_bulk(room, count)) return false;
    for (unsigned i = 0; i < count; ++i) {
      const std::size_t take = std::min<std::size_t>(bytes.size(), pool.data_room());
      room[i]->data_len = static_cast<std::uint16_t>(take);
      room[i]->pkt_len = room[i]->data_len;
      std::memcpy(rte_pktmbuf_mtod(room[i], void*), bytes.data(), take);
      fresh.append_owned(room[i], {own_begin(room[i]), take});
      bytes = bytes.subspan(take);
    }
  }
  return append(std::move(fresh), pool);
}

void chain::prepend(packet&& first) noexcept {
  chain front;
  front.take_packet(first.release());
  const bool joined = front.append(std::move(*this));  // a packet's end can always grow
  MILLRACE_ASSERT(joined);
  static_cast<void>(joined);
  take_fields(front);
}

base::byte_span chain::prepend_in_place(std::size_t count) noexcept {
  if (head_ == nullptr || !is_writable(head_)) return {};
  auto* begin = static_cast<std::uint8_t*>(head_->buf_addr);
  const auto room = static_cast<std::size_t>(head_at_ - begin);
  if (count > room) return {};
  head_at_ -= count;
  bytes_ += count;
  if (segments_ == 1) {
    tail_at_ = head_at_;
    tail_len_ = static_cast<std::uint16_t>(tail_len_ + count);
  }
  return {begin + (room - count), count};
}

bool chain::cut_segments(std::size_t count, chain& out) noexcept {
  if (count > bytes_) return false;
  if (count == 0) {
    out.clear();
    return true;
  }
  rte_mbuf* last = nullptr;  // the last whole segment of the front half
  rte_mbuf* m = head_;       // what stays in the back half
  std::uint32_t passed = 0;
  std::size_t left = count;
  base::byte_view range = front();
  while (left >= range.size()) {
    left -= range.size();
    last = m;
    m = m->next;
    range = range_of(m, ++passed);
  }
  if (left != 0 && !hold(m)) return false;
  out.clear();
  out.head_ = head_;
  out.head_at_ = head_at_;
  out.bytes_ = count;
  if (left == 0) {
    last->next = nullptr;
    out.segments_ = passed;
    out.tail_ = last;
    out.tail_at_ = passed == 1 ? head_at_ : own_begin(last);
    out.tail_len_ = static_cast<std::uint16_t>(own_end(last) - out.tail_at_);
    out.owns_link_ = out.settled_ = true;
  } else {
    out.segments_ = passed + 1;
    out.tail_ = m;
    out.tail_at_ = range.data();
    out.tail_len_ = static_cast<std::uint16_t>(left);
    out.owns_link_ = out.settled_ = false;
  }
  head_ = m;
  head_at_ = range.data();
  segments_ -= passed;
  bytes_ -= count - left;
  step_in_head(left);
  return true;
}

void chain::consume_segments(std::size_t count) noexcept {
  if (count >= bytes_) {
    clear();
    return;
  }
  for (std::size_t here = front().size(); count >= here; here = front().size()) {
    count -= here;
    bytes_ -= here;
    rte_mbuf* following = unlink_next(head_);
    release(head_);
    head_ = following;
    --segments_;
    head_at_ = segments_ == 1 ? tail_at_ : own_begin(head_);
  }
  step_in_head(count);
}

void chain::free_all() noexcept {
  rte_mbuf* m = head_;
  for (std::uint32_t left = segments_; left > 1; --left) {
    rte_mbuf* following = unlink_next(m);
    release(m);
    m = following;
  }
  release(m);
  forget();
}

void chain::truncate(std::size_t count) noexcept {
  if (count >= bytes_) return;
  if (count == 0) {
    clear();
    return;
  }
  rte_mbuf* m = head_;
  std::uint32_t index = 0;
  std::size_t left = count;  // of the segment that becomes the last; at least one byte
  base::byte_view range = front();
  while (left > range.size()) {
    left -= range.size();
    m = m->next;
    range = range_of(m, ++index);
  }
  if (index + 1 != segments_) {
    rte_mbuf* dropped = unlink_next(m);
    for (std::uint32_t i = index + 2; i < segments_; ++i) {
      rte_mbuf* following = unlink_next(dropped);
      release(dropped);
      dropped = following;
    }
    release(dropped);
    owns_link_ = true;
    segments_ = index + 1;
    tail_ = m;
    tail_at_ = range.data();
  }
  tail_len_ = static_cast<std::uint16_t>(left);
  bytes_ = count;
  settled_ = false;
}

bool chain::share(std::size_t offset, std::size_t count, chain& out, const mbuf_source& spare) const noexcept {
  MILLRACE_ASSERT(this != &out);
  if (offset > bytes_ || count > bytes_ - offset) return false;
  chain built;
  rte_mbuf* m = head_;
  for (std::uint32_t i = 0; count != 0; ++i) {
    base::byte_view range = range_of(m, i);
    rte_mbuf* following = i + 1 == segments_ ? nullptr : m->next;
    if (offset < range.size()) {
      range = range.subspan(offset);
      offset = 0;
      if (count <= range.size()) {
        if (!hold(m)) return false;
        if (built.empty())
          built.put_first(m, range.first(count), false);
        else
          built.link_last(m, range.first(count), false);
        break;
      }
      rte_mbuf* view = refer_to(m, range, spare);
      if (view == nullptr) return false;
      built.append_owned(view, range);
      count -= range.size();
    } else {
      offset -= range.size();
    }
    m = following;
  }
  out = std::move(built);
  return true;
}

slice chain::share_slice(std::size_t offset, std::size_t count) const noexcept {
  if (count == 0) return {};
  rte_mbuf* m = head_;
  for (std::uint32_t i = 0; i < segments_; ++i) {
    const base::byte_view range = range_of(m, i);
    if (offset < range.size()) {
      if (count > range.size() - offset) return {};
      return slice::adopt_shared(m, range.subspan(offset, count));
    }
    offset -= range.size();
    m = m->next;
  }
  return {};
}

std::size_t chain::copy_out(std::size_t offset, base::byte_span out) const noexcept {
  if (offset >= bytes_) return 0;
  cursor in = read();
  const std::size_t count = std::min(out.size(), bytes_ - offset);
  return in.skip(offset) && in.copy(out.first(count)) ? count : 0;
}

bool chain::replace_shared(const mbuf_source& spare) noexcept {
  rte_mbuf** link = &head_;
  for (std::uint32_t i = 0; i < segments_; ++i) {
    rte_mbuf* m = *link;
    if (!is_held_once(m)) {
      rte_mbuf* view = refer_to(m, range_of(m, i), spare);
      if (view == nullptr) return false;
      if (i + 1 == segments_) {
        tail_ = view;
        owns_link_ = true;
        settled_ = false;
      } else {
        view->next = unlink_next(m);
      }
      *link = view;
      release(m);
      m = view;
    }
    link = &m->next;
  }
  return true;
}

bool chain::segments_into_packet(packet& out, const mbuf_source& spare) noexcept {
  if (segments_ > UINT16_MAX || bytes_ > UINT32_MAX || !replace_shared(spare)) return false;
  if (head_ == nullptr) {
    out = packet{};
    return true;
  }
  if (segments_ > 1) set_own_range(head_, head_at_, front().size());
  if (!settled_ || segments_ == 1) settle_tail();
  head_->nb_segs = static_cast<std::uint16_t>(segments_);
  head_->pkt_len = static_cast<std::uint32_t>(bytes_);
  out = packet{head_};
  forget();
  return true;
}

}  // namespace millrace::buf

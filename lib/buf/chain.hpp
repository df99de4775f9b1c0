// buf/chain.hpp - an owned run of bytes over mbuf segments: joined, cut anywhere and shared without moving a byte.
//
//   chain            head_at_                                          tail_at_ + tail_len_
//                    v                                                 v
//   bytes      [....|#############] -> [#################] -> [#######|........]
//                    head_                full segments         tail_
//
// Shape    segments linked by their mbufs' own `next`: no node is allocated for them, so taking a packet in cannot
// fail.
//          The first and the last may be used in part. A cut inside a segment leaves it in both halves, held twice;
//          only the back half owns its link (buf/segment.hpp), which is why a cut needs no memory either. One mbuf may
//          lie twice in a chain that was cut and joined in another order: positions are counted, never compared.
// Units    bytes of payload; segments() counts mbufs. No segment is empty.
// Owner    the chain holds one reference to each segment; move-only, frees on destruction. Views, cursors and gathered
//          parts die when the chain changes.
// Cost     append, prepend, cut and consume are O(segments passed), hence O(1) for what lies in the first segment and
//          for whole chains; nothing depends on bytes.
// Errors   false or an empty answer, and nothing changed. Calls that may need an mbuf say so: only to grow behind a
//          last segment that somebody else shares, to share over several segments, and to make a packet of shared ones.
// Threads  one lcore.
// Tests    test/buf/chain_test.cpp, chain_model_test.cpp, fuzz/buf_chain_fuzz.cpp   Bench  bench/buf/chain_bench.cpp
#pragma once

#include "base/segments.hpp"
#include "buf/cursor.hpp"
#include "buf/mbuf_source.hpp"
#include "buf/packet.hpp"
#include "buf/segment.hpp"
#include "buf/slice.hpp"

namespace millrace::buf {

class chain {
  rte_mbuf* head_ = nullptr;
  const std::uint8_t* head_at_ = nullptr;  // equals tail_at_ when there is one segment
  rte_mbuf* tail_ = nullptr;
  const std::uint8_t* tail_at_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t segments_ = 0;
  std::uint16_t tail_len_ = 0;
  bool owns_link_ = false;  // of tail_; its `next` is then null
  bool settled_ = false;    // owns_link_, and tail_ itself names the bytes used: the next segment may follow at once

 public:
  chain() noexcept = default;
  chain(chain&& other) noexcept { take_fields(other); }
  chain& operator=(chain&& other) noexcept {
    if (this != &other) {
      clear();
      take_fields(other);
    }
    return *this;
  }
  explicit chain(packet&& whole) noexcept { take_packet(whole.release()); }
  // One segment that stays shared with whoever else holds it.
  explicit chain(slice&& part) noexcept {
    if (part.empty()) return;
    const base::byte_view bytes = part.bytes();
    put_first(part.release_held(), bytes, false);
  }
  ~chain() { clear(); }

  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  [[nodiscard]] bool empty() const noexcept { return bytes_ == 0; }
  [[nodiscard]] std::uint32_t segments() const noexcept { return segments_; }
  // The bytes of the first segment; empty only when the chain is.
  [[nodiscard]] base::byte_view front() const noexcept {
    if (segments_ <= 1) return {tail_at_, tail_len_};
    return {head_at_, static_cast<std::size_t>(own_end(head_) - head_at_)};
  }
  [[nodiscard]] cursor read() const noexcept { return {front(), bytes_, head_, segments_, tail_at_}; }
  // For who keeps a place in the chain while it grows behind and shrinks in front: the first segment, and the bytes of
  // number `i`, which is `m`. Of all but the last one, the mbuf's `next` follows.
  [[nodiscard]] const rte_mbuf* first_mbuf() const noexcept { return head_; }
  [[nodiscard]] base::byte_view segment(const rte_mbuf* m, std::uint32_t i) const noexcept { return range_of(m, i); }

  // --- joining ---
  // Takes the packet, whatever its shape; empty segments are freed. False, and the packet kept, unless can_grow().
  [[nodiscard]] bool append(packet&& more) noexcept {
    if (!settled_ && !can_grow()) [[unlikely]]
      return false;
    take_packet(more.release());
    return true;
  }
  // True unless somebody else shares the last segment and owns its link (the front half of a cut).
  [[nodiscard]] bool can_grow() const noexcept { return head_ == nullptr || owns_link_ || is_held_once(tail_); }
  // Makes can_grow() true for good, with at most one mbuf of `spare` in the place of a shared last segment.
  [[nodiscard]] bool make_growable(const mbuf_source& spare) noexcept;
  // Takes all of `more` in; false, and both as they were, when this end is shared and `spare` cannot help.
  [[nodiscard]] bool append(chain&& more, const mbuf_source& spare = {}) noexcept;
  // Copies `bytes` into new mbufs of `pool`; false when it has too few.
  [[nodiscard]] bool append_copy(base::byte_view bytes, const mbuf_source& pool) noexcept;
  // In front of everything; empty segments of `first` are freed.
  void prepend(packet&& first) noexcept;
  // `count` writable bytes in front of the first byte, in the same buffer; empty when it is shared or has no room.
  [[nodiscard]] base::byte_span prepend_in_place(std::size_t count) noexcept;

  // --- cutting ---
  // Moves the first `count` bytes into `out`, which loses what it held. False when there are fewer, or when the
  // segment that is cut has 65535 holders already.
  [[nodiscard]] bool cut(std::size_t count, chain& out) noexcept {
    MILLRACE_ASSERT(this != &out);
    if (count == bytes_) {
      out = std::move(*this);
      return true;
    }
    if (count >= front().size() || count == 0) return cut_segments(count, out);
    if (!hold(head_)) return false;
    out.clear();
    out.put_first(head_, {head_at_, count}, false);
    step_in_head(count);
    return true;
  }
  // Frees the first `count` bytes; all when there are fewer.
  void consume(std::size_t count) noexcept {
    if (count < front().size()) [[likely]] {
      step_in_head(count);
      return;
    }
    consume_segments(count);
  }
  // Frees all but the first `count` bytes.
  void truncate(std::size_t count) noexcept;
  void clear() noexcept {
    if (head_ != nullptr) free_all();
  }

  // --- sharing ---
  // [offset, offset + count) as a chain of its own, this one unchanged. One segment needs no memory; n segments need
  // n - 1 mbufs of `spare` (headers only, their buffers stay unused).
  [[nodiscard]] bool share(std::size_t offset, std::size_t count, chain& out, const mbuf_source& spare) const noexcept;
  // The same as a slice: empty when the range is empty, crosses a boundary or does not fit.
  [[nodiscard]] slice share_slice(std::size_t offset, std::size_t count) const noexcept;

  // --- in and out ---
  // Views of all bytes in order, at most parts.size() of them; answers how many. base::segments{parts.first(n)} is
  // complete when its size is size().
  [[nodiscard]] std::size_t gather(std::span<base::byte_view> parts) const noexcept { return read().gather(parts); }
  // The same into an array of the system's iovec (or anything of its shape), for control code.
  template <class Iovec>
  [[nodiscard]] std::size_t gather_iovec(std::span<Iovec> parts) const noexcept {
    std::size_t count = 0;
    for (cursor in = read(); count < parts.size() && !in.empty(); ++count) {
      const base::byte_view run = in.run();
      parts[count].iov_base = const_cast<std::uint8_t*>(run.data());  // iovec has no const form
      parts[count].iov_len = run.size();
      if (!in.skip(run.size())) break;
    }
    return count;
  }
  // Calls each(base::byte_span) for every segment in order, to change bytes in place. False, and no call at all, when
  // somebody else holds one of them.
  template <class Each>
  [[nodiscard]] bool change_in_place(Each each) noexcept {
    const rte_mbuf* m = head_;
    for (std::uint32_t i = 0; i < segments_; ++i, m = i < segments_ ? m->next : m)
      if (!is_writable(m)) return false;
    m = head_;
    for (std::uint32_t i = 0; i < segments_; ++i, m = i < segments_ ? m->next : m) {
      const base::byte_view bytes = range_of(m, i);
      each(base::byte_span(const_cast<std::uint8_t*>(bytes.data()), bytes.size()));
    }
    return true;
  }
  // Copies from `offset` on; answers the bytes copied, fewer than out.size() only at the end.
  std::size_t copy_out(std::size_t offset, base::byte_span out) const noexcept;
  // The chain as a packet a port can send, in `out`; the chain is empty afterwards. A segment somebody else shares is
  // replaced by an mbuf of `spare` that refers to it. False (and all kept) without one, or beyond 65535 segments.
  [[nodiscard]] bool into_packet(packet& out, const mbuf_source& spare) noexcept {
    if (segments_ != 1 || !is_held_once(head_)) return segments_into_packet(out, spare);
    set_own_range(head_, tail_at_, tail_len_);
    head_->pkt_len = tail_len_;
    head_->nb_segs = 1;  // it may have been the head of a packet once, which DPDK leaves in it when it is joined
    out = packet{head_};
    forget();
    return true;
  }

  // --- for buf's own queues: references are handed over, ranges lie in the mbuf's buffer and are not empty ---
  // Only while can_grow(); `m` has one segment and a clear link.
  void append_owned(rte_mbuf* m, base::byte_view bytes) noexcept {
    if (head_ == nullptr) {
      put_first(m, bytes, true);
      return;
    }
    if (!settled_) settle_tail();
    link_last(m, bytes, true);
  }
  // The last segment reaches `count` bytes further; the chain owns its link.
  void grow_tail(std::size_t count) noexcept {
    tail_len_ = static_cast<std::uint16_t>(tail_len_ + count);
    bytes_ += count;
    settled_ = false;
  }
  [[nodiscard]] const rte_mbuf* tail() const noexcept { return tail_; }
  // Somebody else will link behind the last segment.
  void disown_tail_link() noexcept { owns_link_ = settled_ = false; }

 private:
  void put_first(rte_mbuf* m, base::byte_view bytes, bool owns_link) noexcept {
    head_ = tail_ = m;
    head_at_ = tail_at_ = bytes.data();
    bytes_ = bytes.size();
    tail_len_ = static_cast<std::uint16_t>(bytes.size());
    segments_ = 1;
    owns_link_ = owns_link;
    // A first segment's begin is head_at_; only the end must agree.
    settled_ = owns_link && bytes.data() + bytes.size() == own_end(m);
  }
  void link_last(rte_mbuf* m, base::byte_view bytes, bool owns_link) noexcept {
    tail_->next = m;
    tail_ = m;
    tail_at_ = bytes.data();
    tail_len_ = static_cast<std::uint16_t>(bytes.size());
    bytes_ += bytes.size();
    ++segments_;
    owns_link_ = owns_link;
    settled_ = owns_link && bytes.data() == own_begin(m) && bytes.size() == m->data_len;
  }
  void step_in_head(std::size_t count) noexcept {
    head_at_ += count;
    bytes_ -= count;
    if (segments_ == 1) {
      tail_at_ = head_at_;
      tail_len_ = static_cast<std::uint16_t>(tail_len_ - count);
    }
  }
  void take_packet(rte_mbuf* m) noexcept {
    if (m == nullptr) return;
    if (m->nb_segs != 1 || m->data_len == 0) [[unlikely]]
      take_segments(m);
    else
      append_owned(m, {own_begin(m), m->data_len});
  }
  // Field by field, and not as vectors: they were written one by one just now, and a wider load would wait for that.
  void take_fields(chain& other) noexcept {
    const auto fetch = [](auto& field) {
      auto value = field;
      asm("" : "+r"(value));
      return value;
    };
    head_ = fetch(other.head_);
    head_at_ = fetch(other.head_at_);
    tail_ = fetch(other.tail_);
    tail_at_ = fetch(other.tail_at_);
    bytes_ = fetch(other.bytes_);
    segments_ = fetch(other.segments_);
    tail_len_ = fetch(other.tail_len_);
    owns_link_ = other.owns_link_;
    settled_ = other.settled_;
    other.forget();
  }
  void forget() noexcept {
    head_ = tail_ = nullptr;
    head_at_ = tail_at_ = nullptr;
    bytes_ = 0;
    segments_ = 0;
    tail_len_ = 0;
    owns_link_ = settled_ = false;
  }
  // The bytes of segment number `i`, which is `m`.
  [[nodiscard]] base::byte_view range_of(const rte_mbuf* m, std::uint32_t i) const noexcept {
    if (i + 1 == segments_) return {tail_at_, tail_len_};
    const std::uint8_t* begin = i == 0 ? head_at_ : own_begin(m);
    return {begin, static_cast<std::size_t>(own_end(m) - begin)};
  }
  void settle_tail() noexcept;
  void take_segments(rte_mbuf* m) noexcept;
  void take_without_empty(rte_mbuf* m) noexcept;
  void consume_segments(std::size_t count) noexcept;
  void free_all() noexcept;
  [[nodiscard]] bool cut_segments(std::size_t count, chain& out) noexcept;
  [[nodiscard]] bool segments_into_packet(packet& out, const mbuf_source& spare) noexcept;
  [[nodiscard]] bool replace_shared(const mbuf_source& spare) noexcept;
};

static_assert(sizeof(chain) <= 64, "a chain fits one cache line");

}  // namespace millrace::buf

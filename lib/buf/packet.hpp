// buf/packet.hpp - the sole owner of one packet and all its segments.
//
// Shape    a pointer to the first mbuf of a chain. Most packets are one segment; what a driver cuts (jumbo frames,
//          long capture records) is a chain, which first() shows in part and flatten() whole.
// Units    bytes; length() is over all segments.
// Owner    the object: move-only, frees on destruction, harmless when empty. release() hands the mbuf on.
// Errors   alloc(): an empty packet. append(), prepend(): an empty span when there is no room, nothing changed.
// Threads  none of its own; whoever holds it.
// Tests    test/buf/packet_test.cpp
#pragma once

#include <rte_mbuf.h>

#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "buf/segment.hpp"
#include "mem/packet_pool.hpp"

namespace millrace::buf {

// Bytes of the first segment of a packet that somebody owns; the view lives as long as the packet.
[[nodiscard]] inline base::byte_view first_segment(const rte_mbuf* m) noexcept {
  return {static_cast<const std::uint8_t*>(m->buf_addr) + m->data_off, m->data_len};
}

// The whole packet as one run: the first segment itself when there is only one, else a copy in `scratch`. Empty when
// the packet is longer than scratch. The copy is the price of parsers that see one run; chains are rare.
[[nodiscard]] base::byte_view flatten(const rte_mbuf* m, base::byte_span scratch) noexcept;

class packet {
  rte_mbuf* head_ = nullptr;

 public:
  packet() noexcept = default;
  explicit packet(rte_mbuf* owned) noexcept : head_(owned) {}
  packet(packet&& other) noexcept : head_(std::exchange(other.head_, nullptr)) {}
  packet& operator=(packet&& other) noexcept {
    if (this != &other) {
      free_packet(head_);
      head_ = std::exchange(other.head_, nullptr);
    }
    return *this;
  }
  ~packet() { free_packet(head_); }

  [[nodiscard]] static packet alloc(mem::packet_pool& pool) noexcept { return packet{pool.alloc()}; }

  [[nodiscard]] explicit operator bool() const noexcept { return head_ != nullptr; }
  [[nodiscard]] std::uint32_t length() const noexcept { return head_ == nullptr ? 0 : head_->pkt_len; }
  [[nodiscard]] unsigned segments() const noexcept { return head_ == nullptr ? 0 : head_->nb_segs; }

  [[nodiscard]] base::byte_view first() const noexcept {
    return head_ == nullptr ? base::byte_view{} : first_segment(head_);
  }
  // A reference count above one means read-only: whoever writes has checked is_shared().
  [[nodiscard]] base::byte_span writable_first() noexcept {
    if (head_ == nullptr) return {};
    return {static_cast<std::uint8_t*>(head_->buf_addr) + head_->data_off, head_->data_len};
  }
  [[nodiscard]] bool is_shared() const noexcept { return head_ != nullptr && rte_mbuf_refcnt_read(head_) > 1; }

  // `count` more bytes at the end of the last segment; undefined content.
  [[nodiscard]] base::byte_span append(std::uint16_t count) noexcept {
    char* at = head_ == nullptr ? nullptr : rte_pktmbuf_append(head_, count);
    return at == nullptr ? base::byte_span{} : base::byte_span{reinterpret_cast<std::uint8_t*>(at), count};
  }
  // Copies `bytes` to the end; false when the last segment has no room for all of them.
  [[nodiscard]] bool append_copy(base::byte_view bytes) noexcept {
    if (bytes.size() > UINT16_MAX) return false;
    if (bytes.empty()) return head_ != nullptr;
    const base::byte_span room = append(static_cast<std::uint16_t>(bytes.size()));
    if (room.empty()) return false;
    std::memcpy(room.data(), bytes.data(), bytes.size());
    return true;
  }
  // `count` more bytes in front of the first segment.
  [[nodiscard]] base::byte_span prepend(std::uint16_t count) noexcept {
    char* at = head_ == nullptr ? nullptr : rte_pktmbuf_prepend(head_, count);
    return at == nullptr ? base::byte_span{} : base::byte_span{reinterpret_cast<std::uint8_t*>(at), count};
  }
  // Appends all segments of `tail` without copying; false (and `tail` kept) when the chain would be too long.
  [[nodiscard]] bool append_chain(packet& tail) noexcept {
    if (head_ == nullptr || tail.head_ == nullptr || rte_pktmbuf_chain(head_, tail.head_) != 0) return false;
    tail.head_ = nullptr;
    return true;
  }

  [[nodiscard]] rte_mbuf* raw() const noexcept { return head_; }
  [[nodiscard]] rte_mbuf* release() noexcept { return std::exchange(head_, nullptr); }
};

static_assert(sizeof(packet) == sizeof(rte_mbuf*), "a packet travels in a register and lies in arrays like an mbuf");

}  // namespace millrace::buf

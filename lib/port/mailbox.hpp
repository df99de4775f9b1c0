// port/mailbox.hpp - the only way from one lcore to another: a ring of pointers with one reader.
//
// Shape    mailbox<T> is the reader's end and owns the ring; open() hands out senders, one a writing lcore. Both ends
//          move bursts. Of packets, send(burst) and receive(burst) move what a burst owns.
// Writers  single: one sender, the cheap ring; many: any number of senders, which meet in one atomic instruction for
//          each burst.
// Units    letters; a box of N slots (a power of two) holds N - 1.
// Owner    the sender's until put() has taken it, the reader's from take() on. What crosses has one reference: its
//          sender forgets it. Letters still inside at the end of the box go to the `discard` it was made with.
// Errors   make(): a failure, nothing left behind. put() answers how many it took, from the front; what
//          it refused is the caller's still, and counted: a full box is a value.
// Threads  a sender and a box are used by one lcore each; their counters may be read from anywhere. The box outlives
//          its senders.
// Tests    test/port/mailbox_test.cpp       Bench  bench/port/mailbox_bench.cpp
#pragma once

#include <rte_ring.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "buf/burst.hpp"
#include "stats/drop_counters.hpp"

namespace millrace::port {

enum class writers : std::uint8_t { single, many };

// Makes and frees the ring under a mailbox; the name is unique in the process and at most 28 characters.
class mailbox_ring {
  rte_ring* ring_ = nullptr;

 public:
  mailbox_ring() noexcept = default;
  explicit mailbox_ring(rte_ring* owned) noexcept : ring_(owned) {}
  mailbox_ring(mailbox_ring&& other) noexcept : ring_(std::exchange(other.ring_, nullptr)) {}
  mailbox_ring& operator=(mailbox_ring&&) = delete;
  ~mailbox_ring();

  [[nodiscard]] static base::result<mailbox_ring> make(const std::string& name, unsigned slots, writers who,
                                                       int socket);
  [[nodiscard]] rte_ring* get() const noexcept { return ring_; }
};

// Each end has a cache line of its own: the other one reads it only when asked.
struct alignas(64) mailbox_sent {
  stats::counter letters;
  stats::counter refused;  // the box was full
};
struct alignas(64) mailbox_received {
  stats::counter letters;
};

template <class T>
class mailbox_sender {
  rte_ring* ring_ = nullptr;
  writers who_ = writers::single;
  mailbox_sent sent_;

 public:
  mailbox_sender(rte_ring* ring, writers who) noexcept : ring_(ring), who_(who) {}
  mailbox_sender(const mailbox_sender&) = delete;
  mailbox_sender& operator=(const mailbox_sender&) = delete;

  // Answers how many of `letters`, from the front, the box took.
  unsigned put(std::span<T* const> letters) noexcept {
    void* const* raw = reinterpret_cast<void* const*>(letters.data());
    const auto count = static_cast<unsigned>(letters.size());
    // Said here and not by the ring's flags: the choice is made once an inlined call instead of twice inside it.
    const unsigned took = who_ == writers::single ? rte_ring_sp_enqueue_burst(ring_, raw, count, nullptr)
                                                  : rte_ring_mp_enqueue_burst(ring_, raw, count, nullptr);
    sent_.letters.add(took);
    if (took != count) sent_.refused.add(count - took);
    return took;
  }
  [[nodiscard]] bool put(T* letter) noexcept { return put(std::span<T* const>(&letter, 1)) == 1; }

  [[nodiscard]] std::uint64_t letters() const noexcept { return sent_.letters.get(); }
  [[nodiscard]] std::uint64_t refused() const noexcept { return sent_.refused.get(); }
};

template <class T>
class mailbox {
  mailbox_ring ring_;
  writers who_;
  bool opened_ = false;
  void (*discard_)(T*) noexcept;
  mailbox_received received_;

 public:
  // For make(); the ring was made for `who`.
  mailbox(mailbox_ring ring, writers who, void (*discard)(T*) noexcept) noexcept
      : ring_(std::move(ring)), who_(who), discard_(discard) {}
  mailbox(mailbox&& other) noexcept
      : ring_(std::move(other.ring_)), who_(other.who_), opened_(other.opened_), discard_(other.discard_) {}
  mailbox& operator=(mailbox&&) = delete;
  ~mailbox() {
    T* left = nullptr;
    while (ring_.get() != nullptr && take(std::span<T*>(&left, 1)) == 1) discard_(left);
  }

  // `discard` takes what was never read; it must not be null.
  [[nodiscard]] static base::result<mailbox> make(const std::string& name, unsigned slots, writers who,
                                                  void (*discard)(T*) noexcept, int socket = -1) {
    auto ring = mailbox_ring::make(name, slots, who, socket);
    if (!ring) return ring.error();
    return mailbox(std::move(ring.value()), who, discard);
  }

  // Whether another sender may be opened: always for many writers, once for a single one. Construct it in place:
  //   port::mailbox_sender<T> sender = box.open();
  [[nodiscard]] bool may_open() const noexcept { return who_ == writers::many || !opened_; }
  [[nodiscard]] mailbox_sender<T> open() noexcept {
    MILLRACE_ASSERT(may_open());  // a second writer of a single-writer ring loses letters
    opened_ = true;
    return {ring_.get(), who_};
  }

  // Up to letters.size() of the oldest; answers how many.
  unsigned take(std::span<T*> letters) noexcept {
    const unsigned took = rte_ring_sc_dequeue_burst(ring_.get(), reinterpret_cast<void**>(letters.data()),
                                                    static_cast<unsigned>(letters.size()), nullptr);
    received_.letters.add(took);
    return took;
  }

  [[nodiscard]] unsigned waiting() const noexcept { return rte_ring_count(ring_.get()); }
  [[nodiscard]] unsigned capacity() const noexcept { return rte_ring_get_capacity(ring_.get()); }
  [[nodiscard]] std::uint64_t letters() const noexcept { return received_.letters.get(); }
};

using packet_mailbox = mailbox<rte_mbuf>;
using packet_sender = mailbox_sender<rte_mbuf>;

// A box whose unread packets are freed at its end.
[[nodiscard]] base::result<packet_mailbox> make_packet_mailbox(const std::string& name, unsigned slots, writers who,
                                                               int socket = -1);

// Sends the first packets of a burst without holes, as many as the box takes; the others stay in it, moved to the
// front. A packet with a second reference must not cross: the caller has asked is_shared().
inline unsigned send(packet_sender& to, buf::burst& from) noexcept {
  const unsigned took = to.put({from.raw(), from.size()});
  from.forget_front(took);
  return took;
}
// Adds up to `max` packets to a burst; answers how many.
inline unsigned receive(packet_mailbox& from, buf::burst& into, unsigned max) noexcept {
  const unsigned took = from.take({into.raw() + into.size(), max < into.room() ? max : into.room()});
  into.adopt(took);
  return took;
}

}  // namespace millrace::port

// quic/endpoint/source_limits.hpp - what a stranger's packets may cost us: handshakes and answers without state.
//
// Shape    two questions. admit(): an Initial wants a connection: accept it, send a Retry, or drop it. allow_reply(): a
//          Version Negotiation, Retry or stateless reset is about to be sent.
// Budgets  a source (an IPv4 address, an IPv6 /64) has two: `unproven` for what anybody who writes its address can use
//          up (connections without a token, Version Negotiation, resets), `handshakes` for connections with a token. So
//          nobody can lock out another by writing its address: that one gets a Retry, whose budget is of all sources
//          only, and comes back with a token. Over all sources there is one budget a kind.
//          Retry: `always`; `automatic`: while half-open connections are above a watermark (down to a lower one), or
//          when the source has used up its budget, which may be another's doing who writes its address; `never`.
// Table    the caller's memory: sets of four slots of 16 bytes, by SipHash of the prefix under a secret key. A source
//          without a slot takes the one that has most of its budget left, which forgets least.
// Units    events a second with a burst; ns. `now` must not run backwards; if it does, nothing is added.
// Errors   verdicts; each refusal has a counter. Threads  one lcore.
// Source   RFC 9000 8.1.2 10.3.3 21.1 21.3, RFC 9000 6.1. Tests  test/quic/endpoint/source_limits_test.cpp
#pragma once

#include <array>
#include <span>

#include "base/ip_address.hpp"
#include "crypto/siphash.hpp"

namespace millrace::quic::endpoint {

enum class retry_mode : std::uint8_t { never, automatic, always };
enum class reply_kind : std::uint8_t { version_negotiation, retry, stateless_reset };
inline constexpr std::size_t reply_kinds = 3;

struct rate {
  std::uint32_t per_second = 0;  // 0: no limit
  std::uint32_t burst = 1;       // of one source: at most 65535
};

struct source_limits_config {
  rate source_unproven{100, 200};    // of one source; a NAT may hide a few hundred clients
  rate source_handshakes{100, 200};  // of one source, with a token
  rate all_handshakes{0, 1};         // of all sources
  rate all_version_negotiations{1'000, 1'000};
  rate all_retries{100'000, 10'000};  // cheap, and the defence itself
  rate all_stateless_resets{100, 100};
  retry_mode retry = retry_mode::automatic;
  std::uint32_t retry_above = 256;            // half-open connections: Retry from here on
  std::uint32_t accept_below = 128;           // and until there are fewer than this
  std::uint32_t most_half_open = 1024;        // beyond, one that comes in takes the place of the oldest
  std::uint64_t give_way_ns = 1'000'000'000;  // of an age of this: who answers at all has answered by then
};

struct source_counters {
  std::uint64_t accepted = 0;
  std::uint64_t retried = 0;                         // admit() said so
  std::uint64_t over_half_open = 0;                  // dropped: most_half_open, and all of them are young
  std::uint64_t over_source = 0;                     // dropped: one source's handshakes
  std::uint64_t over_all = 0;                        // dropped: all handshakes
  std::array<std::uint64_t, reply_kinds> replies{};  // by reply_kind
  std::array<std::uint64_t, reply_kinds> replies_refused{};
  std::uint64_t evicted = 0;  // slots with budget used, taken from their source
};

// replace: accept it in the place of a half-open connection that had its time, or on_nobody_gives_way().
enum class admission : std::uint8_t { accept, replace, retry, drop };

class source_limits {
 public:
  struct slot {
    std::uint32_t tag;         // of the source; 0: free
    std::uint32_t at_ms;       // when the numbers below were right
    std::uint32_t unproven;    // used, in 1/65536 of an event: 0 is a full budget
    std::uint32_t handshakes;  // the same
  };
  static_assert(sizeof(slot) == 16, "a set of four is a cache line");
  static constexpr std::size_t ways = 4;

 private:
  struct bucket {  // of all sources; one event is `ns_per_event` of credit
    std::uint64_t ns_per_event = 0;
    std::uint64_t full_ns = 0;
    std::uint64_t credit_ns = 0;
    std::uint64_t last_ns = 0;
    bucket() noexcept = default;
    explicit bucket(const rate& limit) noexcept;
    [[nodiscard]] bool take(std::uint64_t now_ns) noexcept;
  };
  std::span<slot> slots_;
  source_limits_config config_;
  source_counters counters_;
  crypto::siphash_key key_;
  bucket handshakes_;
  std::array<bucket, reply_kinds> replies_;
  std::uint64_t now_ms_ = 0;  // the latest there was
  std::uint32_t half_open_ = 0;
  bool pressed_ = false;  // above the watermark, and not yet below the lower one

 public:
  // `slots`: a power of two, at least `ways`, all zero; other sizes are cut to the next lower power of two. With none,
  // sources are not told apart (only the budgets of all apply). `key`: random.
  source_limits(std::span<slot> slots, const crypto::siphash_key& key,
                const source_limits_config& config = {}) noexcept;

  // `validated`: the Initial carries a valid token.
  [[nodiscard]] admission admit(const base::ip_address& source, bool validated, std::uint64_t now_ns) noexcept;
  // Takes from the budgets when it answers true. A Retry that admit() asked for still has to pass here.
  [[nodiscard]] bool allow_reply(reply_kind kind, const base::ip_address& source, std::uint64_t now_ns) noexcept;

  // A connection was made; and its handshake completed, or it is gone: each once.
  void on_half_open() noexcept;
  void on_half_open_done() noexcept;
  void on_nobody_gives_way() noexcept;  // of admission::replace

  [[nodiscard]] std::uint32_t half_open() const noexcept { return half_open_; }
  [[nodiscard]] bool is_pressed() const noexcept { return pressed_; }
  [[nodiscard]] const source_counters& counters() const noexcept { return counters_; }

 private:
  [[nodiscard]] slot* slot_of(const base::ip_address& source, std::uint64_t now_ns) noexcept;
  void refill(slot& s) const noexcept;
  [[nodiscard]] admission admit_proven(const base::ip_address& source, std::uint64_t now_ns) noexcept;
  [[nodiscard]] admission accept_within_all(std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool is_full() const noexcept { return half_open_ >= config_.most_half_open; }
};

}  // namespace millrace::quic::endpoint

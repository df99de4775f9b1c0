// quic/conn/number_space.hpp - what is known of the packets received in one packet number space.
//
// Memory   a few ranges of the application's space lie in the object; for many, a place is lent while they are many.
// Owner    give_back() before destruction. Source   RFC 9000 12.3, 13.2. Tests  test/quic/conn/number_space_test.cpp
#pragma once

#include <utility>

#include "mem/object_pool.hpp"
#include "quic/recovery/ack_policy.hpp"
#include "quic/wire/ack_ranges.hpp"

namespace millrace::quic::conn {

template <std::size_t Ranges, std::size_t Inline = Ranges>
struct number_space {
  wire::ack_ranges<Ranges, Inline> received;
  recovery::ack_policy acks;
  std::uint64_t largest_opened = wire::no_packet_number;

  explicit number_space(const recovery::ack_policy_config& config) noexcept : acks(config) {}

  // RFC 9000 12.3: what came before, or may have come before, is not worked on again.
  [[nodiscard]] bool is_duplicate(std::uint64_t number) const noexcept {
    if (received.largest() == wire::no_packet_number || number > received.largest()) return number < received.floor();
    return number < received.floor() || received.contains(number);
  }
};

inline constexpr std::size_t application_ack_ranges = 32;
inline constexpr std::size_t handshake_ack_ranges = 8;
inline constexpr std::size_t few_ack_ranges = 6;  // that lie in the connection itself
struct many_ranges {                              // of one that has more: lent by its lcore
  std::array<wire::packet_range, application_ack_ranges + 1> ranges;
};
class application_space : public number_space<application_ack_ranges, few_ack_ranges> {
  many_ranges* lent_ = nullptr;

 public:
  using number_space::number_space;
  // After one of them was added or forgotten: room for the next, or what is not used any more goes back. False: more
  // are wanted and the pool is empty; the oldest are forgotten then, and what they named comes again.
  bool fit(mem::object_pool<many_ranges>& pool) noexcept {
    if (received.gives_room()) [[unlikely]]
      give_back(pool);
    if (!received.wants_room()) [[likely]]
      return true;
    lent_ = pool.get();
    if (lent_ != nullptr) received.lend(lent_->ranges);
    return lent_ != nullptr;
  }
  void forget_below(std::uint64_t number, mem::object_pool<many_ranges>& pool) noexcept {
    received.forget_below(number);
    if (received.gives_room()) give_back(pool);
  }
  void give_back(mem::object_pool<many_ranges>& pool) noexcept {
    received.end_loan();
    pool.give(std::exchange(lent_, nullptr));
  }
};
using handshake_space = number_space<handshake_ack_ranges>;

}  // namespace millrace::quic::conn

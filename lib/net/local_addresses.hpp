// net/local_addresses.hpp - the addresses that are ours on one link, and when they are.
//
//   tentative --(nobody objects)--> ours        tentative --(somebody has it)--> duplicate
//
// Shape    a handful of addresses in arrays; find() answers which, the host sends what poll() asks for.
// Units    ns.
// Limits   max_addresses. Errors  add(): false beyond it.
// Threads  one lcore.
// Source   RFC 4862 5.4 (duplicate address detection), RFC 5227 2.3 (announcing), RFC 4291 2.8.
// Tests    test/net/tables_test.cpp
#pragma once

#include "net/host_config.hpp"

namespace millrace::net {

enum class address_state : std::uint8_t { tentative, ours, duplicate };

struct local_address {
  base::ip_address ip;
  base::ip_address group;  // IPv6: its solicited-node group
  std::uint8_t prefix_length = 0;
  address_state state = address_state::tentative;
  std::uint8_t probes = 0;     // still to send
  std::uint8_t announces = 0;  // still to send
  std::uint64_t due_ns = 0;    // then the next of these, or the end of tentative; never: nothing to do
  std::uint64_t defended_ns = 0;
};

enum class address_task : std::uint8_t { none, probe, announce };

class local_addresses {
 public:
  static constexpr std::size_t none = SIZE_MAX;
  static constexpr std::uint64_t never = UINT64_MAX;
  static constexpr std::uint64_t probe_wait_ns = 1'000'000'000;     // RFC 4862 5.4: RETRANS_TIMER
  static constexpr std::uint64_t announce_wait_ns = 2'000'000'000;  // RFC 5227 1.1 ANNOUNCE_INTERVAL
  static constexpr std::uint64_t defend_wait_ns = 10'000'000'000;   // DEFEND_INTERVAL
  static constexpr std::uint8_t announces_at_start = 2;             // ANNOUNCE_NUM

  // Nothing is sent, and nothing ours, before start().
  [[nodiscard]] bool add(const host_address& what) noexcept;
  void start(std::uint8_t dad_transmits, bool announce, std::uint64_t now) noexcept;

  // Any state.
  [[nodiscard]] std::size_t find(const base::ip_address& ip) const noexcept {
    const std::uint64_t low = base::load_le64(ip.octets.data());
    const std::uint64_t high = base::load_le64(ip.octets.data() + 8);
    for (std::size_t i = 0; i < size_; ++i)
      if (keys_[i].low == low && keys_[i].high == high && keys_[i].family == ip.family) return i;
    return none;
  }
  // Found, and neither tentative nor duplicate.
  [[nodiscard]] bool is_ours(const base::ip_address& ip) const noexcept {
    const std::size_t i = find(ip);
    return i != none && items_[i].state == address_state::ours;
  }
  // Limited, or of one of our prefixes.
  [[nodiscard]] bool is_broadcast(const base::ip_address& v4) const noexcept {
    if (v4.family != base::ip_family::v4) return false;
    const std::uint32_t word = base::load_le32(v4.octets.data());
    for (std::size_t i = 0; i < broadcast_count_; ++i)
      if (broadcasts_[i] == word) return true;
    return false;
  }
  [[nodiscard]] bool is_group(const base::ip_address& v6) const noexcept;    // one that we listen to
  [[nodiscard]] bool is_on_link(const base::ip_address& ip) const noexcept;  // in one of our prefixes
  // What to call ourselves towards `dst`: an address of its prefix or scope, else the first; nullptr when there is
  // none.
  [[nodiscard]] const local_address* source_for(const base::ip_address& dst) const noexcept;
  [[nodiscard]] bool is_group_mac(const wire::mac_address& mac) const noexcept;

  void on_duplicate(std::size_t i) noexcept;
  // Somebody uses an address of ours: true when it is to be announced once more (RFC 5227 2.4 b).
  [[nodiscard]] bool defend(std::size_t i, std::uint64_t now) noexcept;

  // The next thing to send, for address `which`; none when nothing is due.
  [[nodiscard]] address_task poll(std::uint64_t now, std::size_t& which) noexcept;
  [[nodiscard]] std::uint64_t due_ns() const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const local_address& operator[](std::size_t i) const noexcept { return items_[i]; }

 private:
  struct key {
    std::uint64_t low;
    std::uint64_t high;
    base::ip_family family;
  };
  std::size_t size_ = 0;
  std::size_t broadcast_count_ = 1;
  std::array<std::uint32_t, max_addresses + 1> broadcasts_{
      0xFFFF'FFFF};  // as the CPU loads them; the limited one first
  std::array<key, max_addresses> keys_{};
  std::array<local_address, max_addresses> items_;
};

}  // namespace millrace::net

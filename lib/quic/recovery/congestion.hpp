// quic/recovery/congestion.hpp - one of the congestion controllers, chosen when a path is made.
//
// Shape    a closed set in one object: no heap, no virtual call; an ACK costs one predicted branch. What they share
//          (the window, whether there is room, the pacing rate) stands here; what differs in their files.
// Units    bytes, ns, bytes per second.
// Source   RFC 9002 7. Tests  test/quic/recovery/congestion_sim_test.cpp
#pragma once

#include <variant>

#include "quic/recovery/bbr.hpp"
#include "quic/recovery/cubic.hpp"
#include "quic/recovery/new_reno.hpp"

namespace millrace::quic::recovery {

enum class congestion_kind : std::uint8_t { cubic, new_reno, bbr };

class congestion {
  std::variant<cubic, new_reno, bbr> controller_;
  congestion_config config_;

  template <class Call>
  static decltype(auto) with(auto& controller, Call&& call) noexcept {
    if (auto* c = std::get_if<cubic>(&controller)) return call(*c);
    if (auto* c = std::get_if<bbr>(&controller)) return call(*c);
    return call(*std::get_if<new_reno>(&controller));
  }

 public:
  congestion(congestion_kind kind, const congestion_config& config) noexcept
      : controller_(cubic(config)), config_(config) {
    if (kind == congestion_kind::new_reno) controller_.emplace<new_reno>(config);
    if (kind == congestion_kind::bbr) controller_.emplace<bbr>(config);
  }
  // RFC 9000 9.4: another path begins anew.
  void restart() noexcept { *this = congestion(kind(), config_); }

  void on_ack(const ack_event& e) noexcept {
    with(controller_, [&](auto& c) { c.on_ack(e); });
  }
  void on_loss(const loss_event& e) noexcept {
    with(controller_, [&](auto& c) { c.on_loss(e); });
  }
  void on_ce(const ce_event& e) noexcept {
    with(controller_, [&](auto& c) { c.on_ce(e); });
  }
  // Every packet that the last reduction was made for came through.
  void on_spurious() noexcept {
    if (auto* c = std::get_if<cubic>(&controller_)) c->on_spurious();
  }
  // The path carries larger (or smaller) datagrams from here on.
  void set_datagram_bytes(std::uint64_t bytes) noexcept {
    config_.datagram_bytes = bytes;
    with(controller_, [&](auto& c) { c.set_datagram_bytes(bytes); });
  }

  [[nodiscard]] congestion_kind kind() const noexcept { return static_cast<congestion_kind>(controller_.index()); }
  [[nodiscard]] std::uint64_t window_bytes() const noexcept {
    return with(controller_, [](const auto& c) { return c.window_bytes(); });
  }
  [[nodiscard]] bool is_slow_start() const noexcept {
    return with(controller_, [](const auto& c) { return c.is_slow_start(); });
  }
  // Packets sent at or before then do not grow the window.
  [[nodiscard]] std::uint64_t recovery_start_ns() const noexcept {
    if (const auto* c = std::get_if<cubic>(&controller_)) return c->recovery_start_ns();
    if (const auto* c = std::get_if<new_reno>(&controller_)) return c->recovery_start_ns();
    return 0;
  }
  [[nodiscard]] std::uint64_t datagram_bytes() const noexcept { return config_.datagram_bytes; }
  // RFC 9002 7.7: 5/4 of a window a round trip, 2 in slow start, where the window doubles meanwhile.
  [[nodiscard]] std::uint64_t pacing_rate(std::uint64_t smoothed_rtt_ns) const noexcept {
    if (const auto* c = std::get_if<bbr>(&controller_); c != nullptr && c->pacing_rate() != 0) return c->pacing_rate();
    const std::uint64_t window = window_bytes();
    const std::uint64_t paced = is_slow_start() ? 2 * window : window + window / 4;
    return multiply_divide(paced, second, smoothed_rtt_ns == 0 ? 1 : smoothed_rtt_ns);
  }
  template <class Controller>
  [[nodiscard]] const Controller* as() const noexcept {
    return std::get_if<Controller>(&controller_);
  }
};

static_assert(static_cast<int>(congestion_kind::cubic) == 0 && static_cast<int>(congestion_kind::new_reno) == 1 &&
                  static_cast<int>(congestion_kind::bbr) == 2,
              "the order of the variant");

}  // namespace millrace::quic::recovery

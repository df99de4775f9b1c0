// quic/protect/receive_keys.hpp - the receiving side of one packet number space whose keys may change: 1-RTT.
//
// Shape    three sets of keys: previous, current, next. The key phase bit and the packet number choose one, before
//          anything is decrypted and with the next keys ready, so that time tells nothing. A packet that opens under
//          the next keys moves all three on and says so: `key_update`; the sender must follow (RFC 9001 6.2). Long
//          headers have no key phase: keys of other spaces may be held here too and then never change.
// Owner    a plain value without heap; whoever owns one holds it in a crypto::wiped<>.
// Limits   RFC 9001 6.6: refused() counts forgeries over all keys; from the AEAD's integrity limit on every packet is
//          refused with integrity_spent.
// Errors   as open.hpp. Threads  one lcore.
// Source   RFC 9001 5.4 6.1 6.2 6.3 6.5 6.6 9.5. Tests  test/quic/protect/key_update_test.cpp
#pragma once

#include "quic/protect/open.hpp"
#include "quic/wire/packet_number.hpp"

namespace millrace::quic::protect {

// What 1-RTT keys are made of again after a rest, with their counts: 136 bytes in place of 4 KiB. Secret.
struct resting_receive_keys {
  traffic_secret first;    // of phase 0: the header key's
  traffic_secret current;  // of this phase
  key_context context;
  std::uint64_t first_of_current = 0;
  std::uint64_t refused = 0;
  std::uint32_t updates = 0;
};

class receive_keys {
  crypto::header_key header_;
  payload_keys current_;
  payload_keys next_;
  payload_keys previous_;
  traffic_secret first_secret_;    // of header_
  traffic_secret current_secret_;  // of current_
  traffic_secret next_secret_;     // of next_
  key_context context_;
  std::uint64_t first_of_current_ = 0;  // the lowest packet number opened under current_
  std::uint64_t refused_ = 0;
  std::uint64_t integrity_limit_ = 0;
  std::uint32_t updates_ = 0;
  bool phase_ = false;
  bool has_previous_ = false;

 public:
  // Keys of phase 0, and the next ones. False as derive_packet_keys(); then nothing can be opened.
  [[nodiscard]] bool install(crypto::engine& engine, const key_context& context, const traffic_secret& secret) noexcept;

  [[nodiscard]] open_errc open(crypto::engine& engine, base::byte_span packet, std::uint32_t pn_offset,
                               std::uint64_t largest_pn, opened_packet& out) noexcept;
  [[nodiscard]] open_errc open(crypto::engine& engine, std::span<const crypto::text_part> parts,
                               std::uint32_t pn_offset, std::uint64_t largest_pn, opened_packet& out) noexcept;

  // Into what takes little room, and back. The phase before is forgotten. False as install().
  void rest(resting_receive_keys& to) const noexcept;
  [[nodiscard]] bool wake(crypto::engine& engine, const resting_receive_keys& from) noexcept;

  // RFC 9001 6.5: when packets of the phase before can no longer arrive, at most three PTO after an update.
  void discard_previous() noexcept;

  // Into the cache, for a packet of so many bytes.
  void fetch_ahead(std::size_t packet_bytes) const noexcept {
    base::fetch_ahead(&header_, sizeof(header_));
    current_.fetch_ahead(packet_bytes);
    base::fetch_ahead(&first_of_current_, 4 * sizeof(first_of_current_));
  }

  [[nodiscard]] bool phase() const noexcept { return phase_; }
  [[nodiscard]] std::uint32_t updates() const noexcept { return updates_; }  // key phases behind us
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }  // packets that failed authentication
  [[nodiscard]] const crypto::header_key& header_key() const noexcept { return header_; }
  // Forgeries that were met under other keys of the same connection count against the same limit.
  void add_refused(std::uint64_t packets) noexcept { refused_ += packets; }

 private:
  friend class open_batch;
  template <class Unmasked>
  open_errc open_unmasked(crypto::engine& engine, const Unmasked& in, std::uint8_t first_byte,
                          opened_packet& out) noexcept;
  void move_on(crypto::engine& engine, std::uint64_t packet_number) noexcept;
};

// Opens many packets, of one connection or of several, header protection side by side. Packets of one connection stand
// in the order they came in: each is numbered by what the ones before it have shown.
struct open_request {
  receive_keys* keys = nullptr;
  std::uint64_t* largest_pn = nullptr;  // in and out: the largest of this space; shared by requests of one connection
  base::byte_span packet;               // in one run; packets in parts take receive_keys::open()
  std::uint32_t pn_offset = 0;
  // Answers.
  open_errc code = open_errc::ok;
  opened_packet opened{};
};
void open_burst(crypto::engine& engine, std::span<open_request> requests) noexcept;

}  // namespace millrace::quic::protect

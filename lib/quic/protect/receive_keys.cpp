#include "quic/protect/receive_keys.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/unset_array.hpp"
#include "crypto/wiped.hpp"
#include "quic/protect/unmasked.hpp"

namespace millrace::quic::protect {

bool receive_keys::install(crypto::engine& engine, const key_context& context, const traffic_secret& secret) noexcept {
  packet_keys first;
  if (!derive_packet_keys(engine, context, secret, first) || !next_secret(engine, context, secret, next_secret_) ||
      !derive_payload_keys(engine, context, next_secret_, next_)) {
    return false;
  }
  header_ = first.header;
  current_ = first;
  crypto::wipe({reinterpret_cast<std::uint8_t*>(&first), sizeof(first)});
  first_secret_ = current_secret_ = secret;
  context_ = context;
  integrity_limit_ = limits_of(aead_of(context.suite)).integrity_pkts;
  first_of_current_ = wire::no_packet_number;
  phase_ = false;
  has_previous_ = false;
  updates_ = 0;
  return true;
}

void receive_keys::rest(resting_receive_keys& to) const noexcept {
  to.first = first_secret_;
  to.current = current_secret_;
  to.context = context_;
  to.first_of_current = first_of_current_;
  to.refused = refused_;
  to.updates = updates_;
}

bool receive_keys::wake(crypto::engine& engine, const resting_receive_keys& from) noexcept {
  if (!install(engine, from.context, from.first)) return false;
  if (from.updates != 0) {
    if (!derive_payload_keys(engine, context_, from.current, current_) ||
        !next_secret(engine, context_, from.current, next_secret_) ||
        !derive_payload_keys(engine, context_, next_secret_, next_)) {
      return false;
    }
    current_secret_ = from.current;
  }
  first_of_current_ = from.first_of_current;
  refused_ = from.refused;
  updates_ = from.updates;
  phase_ = (from.updates & 1) != 0;
  return true;
}

void receive_keys::discard_previous() noexcept {
  has_previous_ = false;
  crypto::wipe({reinterpret_cast<std::uint8_t*>(&previous_), sizeof(previous_)});
}

void receive_keys::move_on(crypto::engine& engine, std::uint64_t packet_number) noexcept {
  previous_ = current_;
  current_ = next_;
  has_previous_ = true;
  phase_ = !phase_;
  first_of_current_ = packet_number;
  ++updates_;
  current_secret_ = next_secret_;
  // Cannot fail: the version and the size of the secret were right when the keys were installed.
  const bool derived = next_secret(engine, context_, next_secret_, next_secret_) &&
                       derive_payload_keys(engine, context_, next_secret_, next_);
  MILLRACE_ASSERT(derived);
  static_cast<void>(derived);
}

template <class Unmasked>
open_errc receive_keys::open_unmasked(crypto::engine& engine, const Unmasked& in, std::uint8_t first_byte,
                                      opened_packet& out) noexcept {
  if (refused_ >= integrity_limit_) return open_errc::integrity_spent;
  // RFC 9001 6.3: one decryption whatever the choice. A packet of the other phase is older when its number is below
  // those of the current one, and else claims to begin the next.
  const bool is_long = (first_byte & long_form_bit) != 0;
  const bool same_phase = is_long || ((first_byte & key_phase_bit) != 0) == phase_;
  const bool older = has_previous_ && in.packet_number < first_of_current_;
  const payload_keys& keys = same_phase ? current_ : older ? previous_ : next_;
  const open_errc code = open_payload(engine, keys, in, out);
  if (code == open_errc::auth_failed) ++refused_;
  if (code != open_errc::ok) return code;
  if (same_phase) {
    first_of_current_ = std::min(first_of_current_, in.packet_number);
  } else if (!older) {
    move_on(engine, in.packet_number);
    out.key_update = true;
  }
  return code;
}

open_errc receive_keys::open(crypto::engine& engine, base::byte_span packet, std::uint32_t pn_offset,
                             std::uint64_t largest_pn, opened_packet& out) noexcept {
  if (!holds_sample(packet.size(), pn_offset)) return open_errc::too_short;
  crypto::header_mask_bytes mask;
  crypto::header_mask(header_, packet.subspan(pn_offset + sample_distance, crypto::header_sample_size), mask);
  unmasked plain;
  remove_mask(packet, pn_offset, mask.data(), largest_pn, plain);
  return open_unmasked(engine, plain, packet[0], out);
}

open_errc receive_keys::open(crypto::engine& engine, std::span<const crypto::text_part> parts, std::uint32_t pn_offset,
                             std::uint64_t largest_pn, opened_packet& out) noexcept {
  unmasked_parts plain;
  const open_errc code = remove_mask(header_, parts, pn_offset, largest_pn, plain);
  return code == open_errc::ok ? open_unmasked(engine, plain, plain.header[0], out) : code;
}

// A friend of receive_keys, so that its steps can be taken apart: all masks first, then packet by packet.
class open_batch {
 public:
  static constexpr std::size_t size_max = 32;

  static void run(crypto::engine& engine, std::span<open_request> requests) noexcept {
    base::unset_array<crypto::header_mask_job, size_max> jobs;
    std::array<open_request*, size_max> masked;
    base::unset_array<cut_number, size_max> numbers;
    std::size_t count = 0;
    for (open_request& request : requests) {
      if (!holds_sample(request.packet.size(), request.pn_offset)) {
        request.code = open_errc::too_short;
        continue;
      }
      jobs[count].key = &request.keys->header_;
      jobs[count].sample = request.packet.data() + request.pn_offset + sample_distance;
      masked[count++] = &request;
    }
    crypto::header_masks(jobs.places().first(count));
    for (std::size_t i = 0; i < count; ++i)
      numbers[i] = unmask_header(masked[i]->packet.data(), masked[i]->pn_offset, jobs[i].mask.data());
    for (std::size_t i = 0; i < count; ++i) {
      open_request& request = *masked[i];
      const unmasked plain{request.packet.data(), request.packet.size(), request.pn_offset + numbers[i].size,
                           wire::decode_packet_number(*request.largest_pn, numbers[i].truncated, numbers[i].size)};
      request.code = request.keys->open_unmasked(engine, plain, request.packet[0], request.opened);
      // no_packet_number is the largest 64-bit value and counts as one below 0.
      if (request.code == open_errc::ok && request.opened.packet_number + 1 > *request.largest_pn + 1) {
        *request.largest_pn = request.opened.packet_number;
      }
    }
  }
};

void open_burst(crypto::engine& engine, std::span<open_request> requests) noexcept {
  while (!requests.empty()) {
    const std::span<open_request> batch = requests.first(std::min(requests.size(), open_batch::size_max));
    requests = requests.subspan(batch.size());
    open_batch::run(engine, batch);
  }
}

}  // namespace millrace::quic::protect

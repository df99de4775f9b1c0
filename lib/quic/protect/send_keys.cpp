#include "quic/protect/send_keys.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "crypto/wiped.hpp"
#include "quic/protect/sealed_payload.hpp"
#include "quic/wire/packet_number.hpp"

namespace millrace::quic::protect {

bool send_keys::install(crypto::engine& engine, const key_context& context, const traffic_secret& secret) noexcept {
  packet_keys first;
  if (!derive_packet_keys(engine, context, secret, first)) return false;
  header_ = first.header;
  current_ = first;
  crypto::wipe({reinterpret_cast<std::uint8_t*>(&first), sizeof(first)});
  first_secret_ = secret_ = secret;
  context_ = context;
  next_pn_ = 0;
  first_of_phase_ = 0;
  sealed_ = 0;
  confidentiality_limit_ = limits_of(aead_of(context.suite)).confidentiality_pkts;
  updates_ = 0;
  phase_ = false;
  return true;
}

void send_keys::rest(resting_send_keys& to) const noexcept {
  to.first = first_secret_;
  to.current = secret_;
  to.context = context_;
  to.next_pn = next_pn_;
  to.first_of_phase = first_of_phase_;
  to.sealed = sealed_;
  to.updates = updates_;
}

bool send_keys::wake(crypto::engine& engine, const resting_send_keys& from) noexcept {
  if (!install(engine, from.context, from.first)) return false;
  if (from.updates != 0 && !derive_payload_keys(engine, context_, from.current, current_)) return false;
  secret_ = from.current;
  next_pn_ = from.next_pn;
  first_of_phase_ = from.first_of_phase;
  sealed_ = from.sealed;
  updates_ = from.updates;
  phase_ = (from.updates & 1) != 0;
  return true;
}

void send_keys::update(crypto::engine& engine) noexcept {
  // Cannot fail: the version and the size of the secret were right when the keys were installed.
  const bool derived =
      next_secret(engine, context_, secret_, secret_) && derive_payload_keys(engine, context_, secret_, current_);
  MILLRACE_ASSERT(derived);
  static_cast<void>(derived);
  first_of_phase_ = next_pn_;
  sealed_ = 0;
  phase_ = !phase_;
  ++updates_;
}

bool send_keys::may_update(std::uint64_t largest_acked) const noexcept {
  return largest_acked != wire::no_packet_number && largest_acked >= first_of_phase_ && sealed_ != 0;
}

key_use send_keys::use() const noexcept {
  if (sealed_ >= confidentiality_limit_) return key_use::spent;
  return sealed_ >= confidentiality_limit_ / 2 ? key_use::update_due : key_use::fine;
}

// Sealing what was placed cannot fail, so the number counts as used here. Inlined, because it is called once a packet.
[[gnu::always_inline]] inline void send_keys::place(seal_request& request, placed_payload& payload) noexcept {
  if (request.packet_number < next_pn_ || sealed_ >= confidentiality_limit_) [[unlikely]] {
    request.code = request.packet_number < next_pn_ ? seal_errc::number_reused : seal_errc::confidentiality_spent;
    return;
  }
  place_payload(current_.iv, request, payload);
  if (request.code != seal_errc::ok) return;
  std::uint8_t& first = request.out[0];
  const bool is_short = (first & long_form_bit) == 0;
  // Written only when it differs: the cipher is about to read it.
  if (is_short && ((first & key_phase_bit) != 0) != phase_) first ^= key_phase_bit;
  next_pn_ = request.packet_number + 1;
  ++sealed_;
}

seal_errc send_keys::seal(crypto::engine& engine, seal_request& request) noexcept {
  placed_payload payload;
  place(request, payload);
  if (request.code != seal_errc::ok) return request.code;
  seal_placed(engine, current_, request, payload);
  crypto::header_mask_bytes mask;
  crypto::header_mask(header_, {sample_of(request), crypto::header_sample_size}, mask);
  add_mask(request, mask.data());
  return request.code;
}

// A friend of send_keys, so that its steps can be taken apart. A packet's header and nonce are written two packets
// before the cipher reads them: it does so by wide loads, which right behind narrow stores would wait for them. Not
// more than two, because each packet drives 2 KiB through the first-level cache; copy and cipher stay together for the
// same reason. The masks come last, side by side.
class seal_batch {
  static constexpr std::size_t ahead = 2;
  static constexpr std::size_t ring_size = 4;  // a power of two above `ahead`

 public:
  static constexpr std::size_t size_max = 32;

  // Answers how many were sealed.
  static std::size_t run(crypto::engine& engine, std::span<seal_job> jobs) noexcept {
    std::array<placed_payload, ring_size> payloads;
    std::array<seal_job*, size_max> placed;
    std::array<crypto::header_mask_job, size_max> masks;
    std::size_t count = 0;  // placed
    std::size_t done = 0;   // of them, encrypted
    const auto encrypt_next = [&] {
      const seal_job& job = *placed[done];
      seal_placed(engine, job.keys->current_, job.request, payloads[done % ring_size]);
      masks[done].key = &job.keys->header_;
      masks[done].sample = sample_of(job.request);
      ++done;
    };
    for (seal_job& job : jobs) {
      job.keys->place(job.request, payloads[count % ring_size]);
      if (job.request.code != seal_errc::ok) continue;
      placed[count++] = &job;
      if (count - done > ahead) encrypt_next();
    }
    while (done != count) encrypt_next();
    crypto::header_masks(std::span(masks).first(count));
    for (std::size_t i = 0; i < count; ++i) add_mask(placed[i]->request, masks[i].mask.data());
    return count;
  }
};

std::size_t seal_burst(crypto::engine& engine, std::span<seal_job> jobs) noexcept {
  std::size_t sealed = 0;
  while (!jobs.empty()) {
    const std::span<seal_job> batch = jobs.first(std::min(jobs.size(), seal_batch::size_max));
    jobs = jobs.subspan(batch.size());
    sealed += seal_batch::run(engine, batch);
  }
  return sealed;
}

}  // namespace millrace::quic::protect

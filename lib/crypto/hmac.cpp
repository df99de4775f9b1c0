// The HMAC itself is IPsec-MB's, as hash bursts on the hashing manager: they complete within the call and run two
// messages side by side on SHA instructions. Three things are ours. The pads of a key are one block each, which
// IPsec-MB would hash in scalar code. Empty messages must never reach it: its job check refuses them, and the unchecked
// call leaves the manager's lanes wrong for every later message. And its jobs count in 16 bits, so longer messages are
// chained block by block.
#include "crypto/hmac.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/endian.hpp"
#include "crypto/hash_jobs.hpp"

namespace millrace::crypto {
namespace {

constexpr std::size_t burst_message_max = 65534;  // IPsec-MB 1.3: what its own job check accepts

void hmac_by_blocks(const engine& e, const hmac_key& key, base::byte_view message, sha256_digest& out) noexcept {
  sha256_words state = key.inner;
  sha256_digest inner;
  sha256_finish(e, state, sha256_block_size, message, inner);
  state = key.outer;
  sha256_finish(e, state, sha256_block_size, inner, out);
}

}  // namespace

engine::hash_jobs* make_hash_jobs() noexcept {
  auto* jobs = new (std::nothrow) engine::hash_jobs{};
  if (jobs == nullptr) return nullptr;
  for (IMB_JOB& job : jobs->slots) {
    job.cipher_mode = IMB_CIPHER_NULL;
    job.hash_alg = IMB_AUTH_HMAC_SHA_256;
    job.chain_order = IMB_ORDER_HASH_CIPHER;
    job.auth_tag_output_len_in_bytes = sha256_size;
  }
  return jobs;
}

void engine::free_jobs::operator()(hash_jobs* jobs) const noexcept { delete jobs; }

void sha256_finish(const engine& e, sha256_words& state, std::uint64_t done_bytes, base::byte_view rest,
                   sha256_digest& out) noexcept {
  const std::uint64_t bits = (done_bytes + rest.size()) * 8;
  const std::size_t whole = rest.size() / sha256_block_size;
  e.sha256_blocks(state, rest.data(), whole);
  const base::byte_view tail = rest.subspan(whole * sha256_block_size);

  // FIPS 180-4 5.1.1: a one bit, zeros, and the length in bits; the length needs a second block from 56 bytes on.
  alignas(16) std::array<std::uint8_t, 2 * sha256_block_size> padded{};
  if (!tail.empty()) std::memcpy(padded.data(), tail.data(), tail.size());
  padded[tail.size()] = 0x80;
  const std::size_t blocks = tail.size() < sha256_block_size - 8 ? 1 : 2;
  base::store_be64(padded.data() + blocks * sha256_block_size - 8, bits);
  e.sha256_blocks(state, padded.data(), blocks);
  for (std::size_t i = 0; i < state.size(); ++i) base::store_be32(out.data() + 4 * i, state[i]);
}

void set_hmac_key(engine& e, base::byte_view key, hmac_key& out) noexcept {
  sha256_digest hashed;
  if (key.size() > sha256_block_size) {
    e.sha256(key, hashed);
    key = hashed;
  }
  alignas(16) std::array<std::uint8_t, sha256_block_size> inner_pad;
  alignas(16) std::array<std::uint8_t, sha256_block_size> outer_pad;
  inner_pad.fill(0x36);
  outer_pad.fill(0x5c);
  for (std::size_t i = 0; i < key.size(); ++i) {
    inner_pad[i] = static_cast<std::uint8_t>(inner_pad[i] ^ key[i]);
    outer_pad[i] = static_cast<std::uint8_t>(outer_pad[i] ^ key[i]);
  }
  out.inner = sha256_initial;
  out.outer = sha256_initial;
  e.sha256_blocks(out.inner, inner_pad.data(), 1);
  e.sha256_blocks(out.outer, outer_pad.data(), 1);
}

void hmac(engine& e, const hmac_key& key, base::byte_view message, sha256_digest& out) noexcept {
  const hmac_request request{message, &out};
  hmac_each(e, key, {&request, 1});
}

void hmac_each(engine& e, const hmac_key& key, std::span<const hmac_request> requests) noexcept {
  while (!requests.empty()) {
    const std::span<const hmac_request> group = requests.first(std::min(requests.size(), hmac_burst_max));
    requests = requests.subspan(group.size());
    std::uint32_t queued = 0;
    for (const hmac_request& request : group) {
      if (request.message.empty() || request.message.size() > burst_message_max) {
        hmac_by_blocks(e, key, request.message, *request.out);
        continue;
      }
      IMB_JOB& job = e.jobs().slots[queued++];
      job.src = request.message.data();
      job.msg_len_to_hash_in_bytes = request.message.size();
      job.u.HMAC._hashed_auth_key_xor_ipad = reinterpret_cast<const std::uint8_t*>(key.inner.data());
      job.u.HMAC._hashed_auth_key_xor_opad = reinterpret_cast<const std::uint8_t*>(key.outer.data());
      job.auth_tag_output = request.out->data();
    }
    if (queued != 0) {
      IMB_SUBMIT_HASH_BURST_NOCHECK(e.hash_manager(), e.jobs().slots.data(), queued, IMB_AUTH_HMAC_SHA_256);
    }
  }
}

}  // namespace millrace::crypto

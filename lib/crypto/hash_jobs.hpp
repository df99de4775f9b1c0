// crypto/hash_jobs.hpp - IPsec-MB job slots for HMAC bursts, filled in once an engine.
//
// Shape    for the .cpp files of this room only: engine.cpp makes them, hmac.cpp submits them. What stays the same
//          from call to call (algorithm, order, tag size) is written at the start, so a burst writes four fields a job.
// Owner    the engine; make_hash_jobs() allocates, at start only, and answers nullptr when it cannot.
#pragma once

#include <array>

#include "crypto/engine.hpp"
#include "crypto/ipsec_mb.hpp"

namespace millrace::crypto {

inline constexpr std::size_t hmac_burst_max = 4;

struct engine::hash_jobs {
  std::array<IMB_JOB, hmac_burst_max> slots;
};

[[nodiscard]] engine::hash_jobs* make_hash_jobs() noexcept;

// Ends a SHA-256: `done_bytes` (a multiple of 64) are in `state` already, `rest` and the padding follow.
void sha256_finish(const engine& e, sha256_words& state, std::uint64_t done_bytes, base::byte_view rest,
                   sha256_digest& out) noexcept;

}  // namespace millrace::crypto

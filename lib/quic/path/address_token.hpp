// quic/path/address_token.hpp - tokens in which a server tells itself what it knows of a client's address.
//
// Shape    key id (1), nonce (12), sealed text, tag (16); AES-128-GCM with the key id authenticated. Inside: kind,
//          version, time of issue, address, and of a Retry the port, the client's first destination ID and the ID that
//          the Retry gave it. seal() makes one, open() judges what an Initial carries:
//
//            absent         no token, or none of ours (another server's, an older key's, forged: these look alike):
//                           the address is not validated, nothing else. RFC 9000 8.1.3: as if there were none.
//            valid          the address is validated
//            the rest       authentic, and not good here. Of a Retry: its client will take no second Retry, so the
//                           connection is refused with INVALID_TOKEN (RFC 9000 8.1.2). Of NEW_TOKEN: as absent.
//
// Time     a clock that all who share a key agree on, in ms, that goes on over restarts: the wall clock.
// Keys     two are held, current and previous; rotate() moves on. Nonces count up from 96 random bits, so that
//          neither lcores that share a key nor a process started again with it can meet the same one.
// Owner    keys, cleared at the end; not copied.
// Limits   max_address_token_size. One token is bounded to one address and a time; that it is used once is
//          spent_tokens' business (RFC 9000 8.1.4), under `opened_token::id`.
// Errors   seal: 0 when there is no key or no room. open never fails: it judges.
// Timing   what can be forged is compared by the AEAD alone; then nothing is secret any more.
// Source   RFC 9000 8.1.1 to 8.1.4, RFC 9369 5. Tests  test/quic/path/address_token_test.cpp
#pragma once

#include "crypto/aead.hpp"
#include "crypto/wiped.hpp"
#include "quic/path/connection_id.hpp"
#include "quic/wire/error_code.hpp"

namespace millrace::quic::path {

enum class token_kind : std::uint8_t { retry = 1, new_token = 2 };

struct address_token_limits {
  std::uint64_t retry_lifetime_ms = 10'000;           // RFC 9000 8.1.4: a short time, Retry tokens come back at once
  std::uint64_t new_token_lifetime_ms = 604'800'000;  // a week
  std::uint64_t clock_skew_ms = 5'000;                // issued later than now by so much is still believed
};

// What a token is about. For seal(): what is to be told. For open(): what the Initial at hand shows.
struct token_subject {
  base::endpoint client;             // the port counts for Retry only: NAT changes it between connections
  wire::version_number version = 0;  // RFC 9369 5: no token serves another version
  std::uint64_t now_ms = 0;
};

struct retry_ids {
  connection_id original;  // destination of the client's first Initial, 8 to 20 bytes
  connection_id retry;     // source of our Retry, and so destination of the client's next Initial
};

enum class token_verdict : std::uint8_t {
  absent,         // zero length
  not_ours,       // unknown key, wrong size or forged
  valid,          //
  expired,        // too old, or from the future
  wrong_address,  // of another client; of a Retry, or of another port
  wrong_version,  //
  wrong_cid,      // of a Retry: the Initial's destination is not the ID that the Retry gave
};

struct opened_token {
  token_verdict verdict = token_verdict::absent;
  token_kind kind = token_kind::new_token;  // of an authentic one; not of absent and not_ours
  retry_ids ids;                            // of a valid Retry token: original_destination_connection_id and so on
  std::uint64_t issued_ms = 0;              // of an authentic one
  std::uint64_t id = 0;                     // of an authentic one: tells it from all others; for spent_tokens
};

[[nodiscard]] constexpr bool validates_address(const opened_token& t) noexcept {
  return t.verdict == token_verdict::valid;
}
// RFC 9000 8.1.2: what the connection attempt is refused with at once; no_error when it may go on.
[[nodiscard]] wire::transport_error refusal_of(const opened_token& t) noexcept;

inline constexpr std::size_t token_key_size = crypto::aes128_key_size;
inline constexpr std::size_t token_text_size = 1 + 4 + 8 + 1 + 16;  // kind, version, time, family, address
inline constexpr std::size_t retry_text_size = 2 + 2 * (1 + wire::max_cid_size);  // port, two IDs with their lengths
inline constexpr std::size_t token_overhead = 1 + crypto::aead_nonce_size + crypto::aead_tag_size;
inline constexpr std::size_t max_address_token_size = token_overhead + token_text_size + retry_text_size;

struct token_counters {
  std::uint64_t sealed = 0;
  std::uint64_t valid = 0;
  std::uint64_t not_ours = 0;
  std::uint64_t expired = 0;
  std::uint64_t wrong_address = 0;
  std::uint64_t wrong_version = 0;
  std::uint64_t wrong_cid = 0;
};

class address_tokens {
  struct sealing_key {
    crypto::aead_key aead;
    std::uint8_t id;
    bool set;
  };
  crypto::wiped<sealing_key> current_;
  crypto::wiped<sealing_key> previous_;
  std::array<std::uint8_t, crypto::aead_nonce_size> next_nonce_{};
  address_token_limits limits_;
  token_counters counters_;

 public:
  using key_view = std::span<const std::uint8_t, token_key_size>;
  using nonce_view = std::span<const std::uint8_t, crypto::aead_nonce_size>;

  // Without a key nothing is sealed and everything is not_ours. `first_nonce`: random (crypto::random_bytes), never
  // from a configuration.
  explicit address_tokens(nonce_view first_nonce, const address_token_limits& limits = {}) noexcept;

  // The current key becomes the previous one, which opens but does not seal; what was previous is cleared. `key_id` is
  // any number that the previous key does not have (its holder tells keys by it; false when they are the same).
  [[nodiscard]] bool rotate(crypto::engine& engine, std::uint8_t key_id, key_view key) noexcept;

  // Writes a token for `about` into `out` and answers its size. At least max_address_token_size bytes of room always
  // suffice. Only addresses of a family can be told.
  [[nodiscard]] std::size_t seal_retry(crypto::engine& engine, const token_subject& about, const retry_ids& ids,
                                       base::byte_span out) noexcept;
  [[nodiscard]] std::size_t seal_new_token(crypto::engine& engine, const token_subject& about,
                                           base::byte_span out) noexcept;

  // `token`: of an Initial whose destination ID is `dcid`.
  [[nodiscard]] opened_token open(crypto::engine& engine, base::byte_view token, const token_subject& seen,
                                  base::byte_view dcid) noexcept;

  [[nodiscard]] const token_counters& counters() const noexcept { return counters_; }

 private:
  std::size_t seal(crypto::engine& engine, base::byte_view text, base::byte_span out) noexcept;
  opened_token judge(base::byte_view text, const token_subject& seen, base::byte_view dcid) const noexcept;
};

}  // namespace millrace::quic::path

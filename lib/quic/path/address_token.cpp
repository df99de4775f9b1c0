// The text: kind 1, version 4, time 8, family 1, address 4 or 16; of a Retry also port 2, and two IDs, each a length
// and its bytes. Only what the AEAD vouches for is read, so a text that does not parse was sealed by another program
// under the same key: it counts as not ours.
//
// What could go wrong. A nonce used twice under one key gives forgeries away: nonces are one 96-bit counter that begins
// at a random value, so two processes (or lcores) under one key meet with a chance of about tokens / 2^95. The clock
// may go back: a token from the future is taken within the skew, then called expired.
#include "quic/path/address_token.hpp"

#include <cstring>

#include "base/byte_reader.hpp"
#include "base/byte_writer.hpp"

namespace millrace::quic::path {
namespace {

struct told {
  token_kind kind{};
  wire::version_number version = 0;
  std::uint64_t issued_ms = 0;
  base::endpoint client;
  retry_ids ids;
};

[[nodiscard]] bool write_common(base::byte_writer& out, token_kind kind, const token_subject& about) noexcept {
  return about.client.address.family != base::ip_family::none && out.u8(static_cast<std::uint8_t>(kind)) &&
         out.u32(about.version) && out.u64(about.now_ms) &&
         out.u8(static_cast<std::uint8_t>(about.client.address.family)) && out.bytes(about.client.address.bytes());
}

[[nodiscard]] bool write_id(base::byte_writer& out, const connection_id& id) noexcept {
  return out.u8(id.size) && out.bytes(id.view());
}

[[nodiscard]] bool read_address(base::byte_reader& in, base::ip_address& out) noexcept {
  std::uint8_t family = 0;
  base::byte_view bytes;
  if (!in.u8(family)) return false;
  if (family == static_cast<std::uint8_t>(base::ip_family::v4)) {
    if (!in.bytes(4, bytes)) return false;
    out = base::ip_address::v4(bytes);
    return true;
  }
  if (family != static_cast<std::uint8_t>(base::ip_family::v6) || !in.bytes(16, bytes)) return false;
  out = base::ip_address::v6(bytes);
  return true;
}

[[nodiscard]] bool read_id(base::byte_reader& in, connection_id& out) noexcept {
  std::uint8_t size = 0;
  base::byte_view bytes;
  if (!in.u8(size) || size > wire::max_cid_size || !in.bytes(size, bytes)) return false;
  out = connection_id::of(bytes);
  return true;
}

[[nodiscard]] bool read_text(base::byte_view text, told& out) noexcept {
  base::byte_reader in(text);
  std::uint8_t kind = 0;
  if (!in.u8(kind) || !in.u32(out.version) || !in.u64(out.issued_ms) || !read_address(in, out.client.address))
    return false;
  out.kind = static_cast<token_kind>(kind);
  if (out.kind == token_kind::retry &&
      !(in.u16(out.client.port) && read_id(in, out.ids.original) && read_id(in, out.ids.retry)))
    return false;
  return (out.kind == token_kind::retry || out.kind == token_kind::new_token) && in.empty();
}

// Adds one to the 96-bit number.
void count_up(std::array<std::uint8_t, crypto::aead_nonce_size>& nonce) noexcept {
  for (std::size_t i = nonce.size(); i-- != 0;)
    if (++nonce[i] != 0) return;
}

}  // namespace

wire::transport_error refusal_of(const opened_token& t) noexcept {
  switch (t.verdict) {
    case token_verdict::absent:
    case token_verdict::not_ours:
    case token_verdict::valid:
      return wire::transport_error::no_error;
    case token_verdict::expired:
    case token_verdict::wrong_address:
    case token_verdict::wrong_version:
    case token_verdict::wrong_cid:
      break;
  }
  // RFC 9000 8.1.2: the client of a Retry takes no other, so it is told at once. 8.1.3: of a NEW_TOKEN it is as if
  // there were no token.
  return t.kind == token_kind::retry ? wire::transport_error::invalid_token : wire::transport_error::no_error;
}

address_tokens::address_tokens(nonce_view first_nonce, const address_token_limits& limits) noexcept : limits_(limits) {
  std::copy(first_nonce.begin(), first_nonce.end(), next_nonce_.begin());
}

bool address_tokens::rotate(crypto::engine& engine, std::uint8_t key_id, key_view key) noexcept {
  if (current_->set && current_->id == key_id) return false;
  *previous_ = *current_;
  crypto::set_aes128_gcm_key(engine, key, current_->aead);
  current_->id = key_id;
  current_->set = true;
  return true;
}

std::size_t address_tokens::seal(crypto::engine& engine, base::byte_view text, base::byte_span out) noexcept {
  if (!current_->set || out.size() < token_overhead + text.size()) return 0;
  out[0] = current_->id;
  std::copy(next_nonce_.begin(), next_nonce_.end(), out.begin() + 1);
  count_up(next_nonce_);
  crypto::seal(engine, current_->aead, out.subspan(1, crypto::aead_nonce_size), out.first(1), text,
               out.data() + 1 + crypto::aead_nonce_size);
  ++counters_.sealed;
  return token_overhead + text.size();
}

std::size_t address_tokens::seal_retry(crypto::engine& engine, const token_subject& about, const retry_ids& ids,
                                       base::byte_span out) noexcept {
  std::array<std::uint8_t, token_text_size + retry_text_size> room;
  base::byte_writer text(room);
  if (!write_common(text, token_kind::retry, about) || !text.u16(about.client.port) || !write_id(text, ids.original) ||
      !write_id(text, ids.retry))
    return 0;
  return seal(engine, text.written(), out);
}

std::size_t address_tokens::seal_new_token(crypto::engine& engine, const token_subject& about,
                                           base::byte_span out) noexcept {
  std::array<std::uint8_t, token_text_size> room;
  base::byte_writer text(room);
  if (!write_common(text, token_kind::new_token, about)) return 0;
  return seal(engine, text.written(), out);
}

opened_token address_tokens::judge(base::byte_view text, const token_subject& seen,
                                   base::byte_view dcid) const noexcept {
  opened_token out;
  out.verdict = token_verdict::not_ours;
  told t;
  if (!read_text(text, t)) return out;
  const bool of_retry = t.kind == token_kind::retry;
  out.kind = t.kind;
  out.issued_ms = t.issued_ms;
  const std::uint64_t lifetime = of_retry ? limits_.retry_lifetime_ms : limits_.new_token_lifetime_ms;
  const bool too_old = seen.now_ms > t.issued_ms && seen.now_ms - t.issued_ms > lifetime;
  const bool too_new = t.issued_ms > seen.now_ms && t.issued_ms - seen.now_ms > limits_.clock_skew_ms;
  if (t.version != seen.version)
    out.verdict = token_verdict::wrong_version;  // RFC 9369 5
  else if (t.client.address != seen.client.address || (of_retry && t.client.port != seen.client.port))
    out.verdict = token_verdict::wrong_address;  // RFC 9000 8.1.4
  else if (too_old || too_new)
    out.verdict = token_verdict::expired;  // RFC 9000 8.1.3
  else if (of_retry && !t.ids.retry.is(dcid))
    out.verdict = token_verdict::wrong_cid;  // RFC 9000 7.2: the client goes on under the ID of the Retry
  else
    out.verdict = token_verdict::valid;
  if (of_retry && out.verdict == token_verdict::valid) out.ids = t.ids;
  return out;
}

opened_token address_tokens::open(crypto::engine& engine, base::byte_view token, const token_subject& seen,
                                  base::byte_view dcid) noexcept {
  opened_token out;
  if (token.empty()) return out;
  out.verdict = token_verdict::not_ours;
  const sealing_key* key = nullptr;
  if (current_->set && current_->id == token[0])
    key = &*current_;
  else if (previous_->set && previous_->id == token[0])
    key = &*previous_;
  if (key != nullptr && token.size() > token_overhead && token.size() <= max_address_token_size) {
    std::array<std::uint8_t, max_address_token_size> text;
    const base::byte_view nonce = token.subspan(1, crypto::aead_nonce_size);
    const base::byte_view sealed = token.subspan(1 + crypto::aead_nonce_size);
    if (crypto::open(engine, key->aead, nonce, token.first(1), sealed, text.data())) {
      out = judge({text.data(), sealed.size() - crypto::aead_tag_size}, seen, dcid);
      // The nonce counts; its low 64 bits and the key tell tokens apart as well as all of it.
      out.id = base::load_be64(nonce.data() + 4) ^ std::uint64_t{token[0]} << 56;
    }
  }
  switch (out.verdict) {
    case token_verdict::absent:
      break;
    case token_verdict::not_ours:
      ++counters_.not_ours;
      break;
    case token_verdict::valid:
      ++counters_.valid;
      break;
    case token_verdict::expired:
      ++counters_.expired;
      break;
    case token_verdict::wrong_address:
      ++counters_.wrong_address;
      break;
    case token_verdict::wrong_version:
      ++counters_.wrong_version;
      break;
    case token_verdict::wrong_cid:
      ++counters_.wrong_cid;
      break;
  }
  return out;
}

}  // namespace millrace::quic::path

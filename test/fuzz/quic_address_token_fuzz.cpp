// Tokens of any bytes, and tokens of ours with bytes changed, into address_tokens.
//
// Input    four bytes (what to do, where to change, by what, lifetime), then the token, or the IDs of one to be sealed.
// Holds    nothing but what was sealed is authentic; what was sealed is valid as long as the address, the version and
// the
//          time are those of the token; nothing is read beyond the token.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "quic/path/address_token.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic::path;

void require(bool holds) {
  if (!holds) std::abort();
}

struct server {
  crypto::engine engine;
  address_tokens tokens;
  server() : engine(std::move(*crypto::engine::make())), tokens(nonce()) {
    const std::array<std::uint8_t, token_key_size> key{7, 7, 7};
    require(tokens.rotate(engine, 3, key));
  }
  static std::span<const std::uint8_t, crypto::aead_nonce_size> nonce() {
    static const std::array<std::uint8_t, crypto::aead_nonce_size> first{1};
    return first;
  }
};

connection_id id_from(base::byte_view& in) {
  if (in.empty()) return {};
  const std::size_t size = std::min<std::size_t>(in[0] % 21, in.size() - 1);
  const connection_id out = connection_id::of(in.subspan(1, size));
  in = in.subspan(1 + size);
  return out;
}

void open_noise(server& s, base::byte_view noise, const token_subject& about) {
  std::vector<std::uint8_t> exact(noise.begin(), noise.end());  // so that the sanitizer sees its end
  if (!exact.empty() && exact[0] % 2 == 0) exact[0] = 3;
  const opened_token t = s.tokens.open(s.engine, exact, about, {});
  require(t.verdict == (exact.empty() ? token_verdict::absent : token_verdict::not_ours));
  require(!validates_address(t) && refusal_of(t) == quic::wire::transport_error::no_error);
}

void seal_and_open(server& s, base::byte_view in, const token_subject& about, std::span<const std::uint8_t, 4> how) {
  const retry_ids ids{id_from(in), id_from(in)};
  const bool of_retry = (how[0] & 2) != 0;
  std::vector<std::uint8_t> token(max_address_token_size);
  token.resize(of_retry ? s.tokens.seal_retry(s.engine, about, ids, token)
                        : s.tokens.seal_new_token(s.engine, about, token));
  require(!token.empty());
  token_subject seen = about;
  seen.now_ms += how[3] * 100u;
  opened_token t = s.tokens.open(s.engine, token, seen, ids.retry.view());
  require(t.verdict == (of_retry && seen.now_ms - about.now_ms > address_token_limits{}.retry_lifetime_ms
                            ? token_verdict::expired
                            : token_verdict::valid));
  require(t.kind == (of_retry ? token_kind::retry : token_kind::new_token) && t.issued_ms == about.now_ms);
  if (t.verdict == token_verdict::valid && of_retry)
    require(t.ids.original == ids.original && t.ids.retry == ids.retry);
  seen.client.address.octets[how[1] % seen.client.address.bytes().size()] ^= 1;
  t = s.tokens.open(s.engine, token, seen, ids.retry.view());
  require(t.verdict == token_verdict::wrong_address);
  if (how[2] == 0) return;
  token[how[1] % token.size()] ^= how[2];
  t = s.tokens.open(s.engine, token, about, ids.retry.view());
  require(t.verdict == token_verdict::not_ours);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static server s;
  if (size < 4) return 0;
  const std::span<const std::uint8_t, 4> how(data, 4);
  const base::byte_view rest(data + 4, size - 4);
  const char* address = (how[0] & 4) != 0 ? "2001:db8::5" : "192.0.2.5";
  const token_subject about{{*base::ip_address::parse(address), 4433}, how[0], 1'000'000};
  if ((how[0] & 1) != 0)
    open_noise(s, rest, about);
  else
    seal_and_open(s, rest, about, how);
  return 0;
}

// Which keys a packet is opened with.
//
// Initial keys come from the version and the ID that the client's current attempt began with; a Retry gives another ID,
// compatible version negotiation another version, and either is noticed by comparing what the keys at hand are for.
//
// All other keys come from secrets. What suite they are for stands in the ServerHello. Where that was not seen (the
// secrets came late, the capture begins in the middle, or a 0-RTT packet comes before it), or it is a forgery, a secret
// of 48 bytes has one suite, and one of 32 bytes two: the one that opens a packet is taken. After limits::failed_opens
// packets that none opened, only the suite of the ServerHello is tried.

#include <algorithm>

#include "inspect/decryptor.hpp"
#include "quic/wire/packet_number.hpp"

namespace millrace::inspect {
namespace {

using base::byte_view;
using quic::protect::cipher_suite;
using quic::protect::key_context;
using quic::protect::open_errc;
using quic::protect::opened_packet;
using tls::wire::traffic_label;
namespace wire = quic::wire;

number_space space_of(packet_level level) noexcept {
  switch (level) {
    case packet_level::initial:
      return number_space::initial;
    case packet_level::handshake:
      return number_space::handshake;
    case packet_level::zero_rtt:
    case packet_level::one_rtt:
    case packet_level::count_:
      break;
  }
  return number_space::application;
}

bool install(crypto::engine& engine, const key_context& context, const quic::protect::traffic_secret& secret,
             fixed_keys& to) noexcept {
  return quic::protect::derive_packet_keys(engine, context, secret, to.keys);
}
bool install(crypto::engine& engine, const key_context& context, const quic::protect::traffic_secret& secret,
             moving_keys& to) noexcept {
  return to.keys.install(engine, context, secret);
}

// Keys of `suite` from the secret, unless they are there already. False: the secret is not of this suite.
template <class Keys>
bool hold(crypto::engine& engine, wire::version_number version, cipher_suite suite, byte_view secret_bytes,
          Keys& keys) noexcept {
  if (keys.suite == static_cast<std::uint16_t>(suite) && keys.version == version) return true;
  crypto::wiped<quic::protect::traffic_secret> secret;
  if (!quic::protect::set_secret(suite, secret_bytes, *secret)) return false;
  keys.suite = 0;
  if (!install(engine, {version, suite}, *secret, keys)) return false;
  keys.suite = static_cast<std::uint16_t>(suite);
  keys.version = version;
  return true;
}

open_errc open_under(crypto::engine& engine, const quic::protect::packet_keys& keys, const crypto::text_part& whole,
                     std::uint32_t pn_offset, std::uint64_t largest, opened_packet& out) noexcept {
  return quic::protect::open_packet(engine, keys, {&whole, 1}, pn_offset, largest, out);
}
open_errc open_under(crypto::engine& engine, quic::protect::receive_keys& keys, const crypto::text_part& whole,
                     std::uint32_t pn_offset, std::uint64_t largest, opened_packet& out) noexcept {
  return keys.open(engine, std::span(&whole, 1), pn_offset, largest, out);
}

}  // namespace

open_errc decryptor::open(const packet_at_hand& p, bool& has_keys, opened_packet& out) noexcept {
  const auto side = static_cast<std::size_t>(p.from);
  const bool by_client = p.from == peer::client;
  open_errc code = open_errc::auth_failed;
  const auto secret = [&](traffic_label label) {
    return p.s.secrets == nullptr ? byte_view{} : p.s.secrets->view(label);
  };
  switch (p.level) {
    case packet_level::initial:
      code = open_initial(p, has_keys, out);
      break;
    case packet_level::zero_rtt:
      if (!by_client) return code;
      code = open_with(p, p.s.keys.early, secret(traffic_label::client_early), has_keys, out);
      break;
    case packet_level::handshake:
      code = open_with(p, p.s.keys.handshake[side],
                       secret(by_client ? traffic_label::client_handshake : traffic_label::server_handshake), has_keys,
                       out);
      break;
    case packet_level::one_rtt:
      code = open_with(p, p.s.keys.one_rtt[side],
                       secret(by_client ? traffic_label::client_application : traffic_label::server_application),
                       has_keys, out);
      break;
    case packet_level::count_:
      break;
  }
  if (code == open_errc::ok) {
    std::uint64_t& largest = p.s.largest_pn_and_1[static_cast<std::size_t>(space_of(p.level))][side];
    largest = std::max(largest, out.packet_number + 1);
  }
  return code;
}

open_errc decryptor::open_initial(const packet_at_hand& p, bool& has_keys, opened_packet& out) noexcept {
  if (!p.c.has_initial) return open_errc::auth_failed;  // nobody knows what its keys come from
  has_keys = true;
  open_errc code = open_initial_by(p, p.c.key_dcid, out);
  if (code != open_errc::auth_failed || p.is_trial || p.from != peer::client || p.c.key_dcid.equals(p.dcid))
    return code;
  // A Retry that was not seen, or has no tag to tell a right one by: the client goes on with the ID it was given.
  cid own;
  own.assign(p.dcid);
  code = open_initial_by(p, own, out);
  if (code == open_errc::ok) p.c.key_dcid = own;
  return code;
}

open_errc decryptor::open_initial_by(const packet_at_hand& p, const cid& key_dcid, opened_packet& out) noexcept {
  const auto side = static_cast<std::size_t>(p.from);
  initial_keys& k = p.s.keys.initial[side];
  if (!k.ready || k.version != p.version || !k.key_dcid.equals(key_dcid.view())) {
    k.ready = quic::protect::derive_initial_keys(
        *engine_, p.version, key_dcid.view(),
        p.from == peer::client ? quic::protect::side::client : quic::protect::side::server, k.keys);
    k.version = p.version;
    k.key_dcid = key_dcid;
  }
  if (!k.ready) return open_errc::auth_failed;
  const crypto::text_part whole{p.bytes.data(), plaintext_.data(), p.bytes.size()};
  const std::uint64_t largest = p.s.largest_pn_and_1[static_cast<std::size_t>(number_space::initial)][side];
  return open_under(*engine_, k.keys, whole, p.pn_offset, largest - 1, out);
}

template <class Keys>
open_errc decryptor::open_with(const packet_at_hand& p, Keys& keys, byte_view secret_bytes, bool& has_keys,
                               opened_packet& out) noexcept {
  if (!keys.ready && secret_bytes.empty()) return open_errc::auth_failed;
  has_keys = true;
  p.s.misfit_secret = false;
  const crypto::text_part whole{p.bytes.data(), plaintext_.data(), p.bytes.size()};
  // 0 - 1 is wire::no_packet_number.
  const std::uint64_t largest =
      p.s.largest_pn_and_1[static_cast<std::size_t>(space_of(p.level))][static_cast<std::size_t>(p.from)] - 1;
  if (keys.ready) return open_under(*engine_, keys.keys, whole, p.pn_offset, largest, out);

  // Anyone can forge a ServerHello: what it says is tried first, and what opens a packet is the suite.
  const auto chosen = quic::protect::find_cipher_suite(p.s.facts.cipher_suite);
  const bool is_early = p.level == packet_level::zero_rtt;  // 0-RTT has the suite of an older handshake
  const bool likely = chosen && !is_early && crypto::hash_size(quic::protect::hash_of(*chosen)) == secret_bytes.size();
  std::array suites = {cipher_suite::aes_128_gcm_sha256, cipher_suite::aes_256_gcm_sha384,
                       cipher_suite::chacha20_poly1305_sha256};
  if (likely) std::swap(suites[0], *std::ranges::find(suites, *chosen));
  open_errc code = open_errc::auth_failed;
  for (const cipher_suite suite : suites) {
    if (keys.failed >= failed_opens_ && !(likely && suite == *chosen)) continue;
    if (!hold(*engine_, p.version, suite, secret_bytes, keys)) continue;
    code = open_under(*engine_, keys.keys, whole, p.pn_offset, largest, out);
    keys.ready = code == open_errc::ok || code == open_errc::reserved_bits;
    if (keys.ready && chosen && !is_early && suite != *chosen) {
      p.s.facts.cipher_suite = static_cast<std::uint16_t>(suite);
      ++p.s.facts.crypto_conflicts;
      counters_->anomalies.add(stats::drop_reason::tls_bad_server_hello);
    }
    if (keys.ready || code != open_errc::auth_failed) return code;
  }
  if (!p.is_trial && keys.failed < failed_opens_) ++keys.failed;
  p.s.misfit_secret = chosen && !is_early && !likely;
  return code;
}

}  // namespace millrace::inspect

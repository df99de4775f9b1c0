#include "inspect/handshake_reader.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "quic/wire/transport_parameters.hpp"
#include "tls/wire/extension_type.hpp"
#include "tls/wire/server_hello.hpp"

namespace millrace::inspect {
namespace {

using base::byte_view;
using stats::drop_reason;
namespace tls_wire = tls::wire;

constexpr std::uint8_t certificate = 11;  // RFC 8446 4
constexpr std::uint8_t certificate_request = 13;
constexpr std::uint8_t certificate_verify = 15;
constexpr std::uint8_t compressed_certificate = 25;  // RFC 8879 4

handshake_kind kind_of(std::uint8_t type) noexcept {
  switch (type) {
    case tls_wire::handshake_client_hello:
      return handshake_kind::client_hello;
    case tls_wire::handshake_server_hello:
      return handshake_kind::server_hello;
    case tls_wire::handshake_new_session_ticket:
      return handshake_kind::new_session_ticket;
    case tls_wire::handshake_encrypted_extensions:
      return handshake_kind::encrypted_extensions;
    case certificate:
      return handshake_kind::certificate;
    case certificate_request:
      return handshake_kind::certificate_request;
    case certificate_verify:
      return handshake_kind::certificate_verify;
    case tls_wire::handshake_finished:
      return handshake_kind::finished;
    case compressed_certificate:
      return handshake_kind::compressed_certificate;
    default:
      return handshake_kind::other;
  }
}

handshake_stream& stream_of(session& s, number_space space, peer from) noexcept {
  return s.crypto[static_cast<std::size_t>(space)][static_cast<std::size_t>(from)];
}

std::uint64_t hash_of(byte_view message) noexcept { return base::hash_bytes(message, 0); }

// Whether `f` holds something else where the last message of a stream that is over stood.
bool contradicts(const handshake_stream& stream, const quic::wire::crypto_frame& f) noexcept {
  if (stream.last_size == 0 || f.offset > stream.last_offset) return false;
  const auto at = static_cast<std::size_t>(stream.last_offset - f.offset);
  if (f.data.size() < at + stream.last_size) return false;
  return hash_of(f.data.subspan(at, stream.last_size)) != stream.last_hash;
}

}  // namespace

handshake_reader::handshake_reader(carver& memory, const limits& l, counters* count) noexcept
    : counters_(count),
      reassembly_(memory, l.max_decrypted == 0 ? 0 : l.handshake_blocks, l.hello_bytes),
      message_(memory.take<std::uint8_t>(l.max_decrypted == 0 ? 0 : max_hello_blocks * hello_block_bytes)) {}

void handshake_reader::note_conflict(session& s, drop_reason why) noexcept {
  ++s.facts.crypto_conflicts;
  counters_->anomalies.add(why);
}

void handshake_reader::on_crypto(session& s, number_space space, peer from,
                                 const quic::wire::crypto_frame& f) noexcept {
  handshake_stream& stream = stream_of(s, space, from);
  if (stream.done) {
    if (contradicts(stream, f)) note_conflict(s, drop_reason::quic_crypto_overlap);
    return;
  }
  switch (reassembly_.add(stream.bytes, f.offset, f.data)) {
    case reassembly_errc::ok:
      break;
    case reassembly_errc::conflict:
      return note_conflict(s, drop_reason::quic_crypto_overlap);
    case reassembly_errc::too_far:
    case reassembly_errc::full:
      s.facts.limits.add(session_limit::handshake_bytes);
      return;
  }
  const std::uint32_t there = stream.bytes.prefix();
  s.facts.of(from).crypto_bytes += there - stream.counted;
  stream.counted = there;
  read_messages(s, space, from);
}

void handshake_reader::read_messages(session& s, number_space space, peer from) noexcept {
  handshake_stream& stream = stream_of(s, space, from);
  while (!stream.done) {
    const std::uint32_t left = stream.bytes.prefix() - stream.next;
    if (left < tls_wire::handshake_header_size) return;
    std::array<std::uint8_t, tls_wire::handshake_header_size> header;
    reassembly_.copy_out(stream.bytes, stream.next, header.size(), header.data());
    const std::uint32_t size = static_cast<std::uint32_t>(header.size()) + base::load_be24(header.data() + 1);
    if (size > reassembly_.stream_bytes() - stream.next) {  // it can never be whole here
      s.facts.limits.add(session_limit::handshake_bytes);
      return end(stream);
    }
    if (left < size) return;
    reassembly_.copy_out(stream.bytes, stream.next, size, message_.data());
    stream.last_offset = stream.next;
    stream.last_size = size;
    stream.last_hash = hash_of(message_.first(size));
    stream.next += size;
    on_message(s, space, from, message_.first(size));
  }
}

void handshake_reader::on_message(session& s, number_space space, peer from, byte_view message) noexcept {
  const std::uint8_t type = message[0];
  s.facts.of(from).messages.add(kind_of(type));
  if (from == peer::server && space == number_space::initial && type == tls_wire::handshake_server_hello)
    return on_server_hello(s, message);
  if (from == peer::server && space == number_space::handshake && type == tls_wire::handshake_encrypted_extensions)
    return on_extensions(s, message);
  if (space == number_space::handshake && type == tls_wire::handshake_finished) end(stream_of(s, space, from));
}

void handshake_reader::on_server_hello(session& s, byte_view message) noexcept {
  tls_wire::server_hello hello;
  if (!tls_wire::parse_server_hello(message, hello)) return note_conflict(s, drop_reason::tls_bad_server_hello);
  if (hello.is_retry_request) return;  // the client says hello again, on the same stream
  s.facts.cipher_suite = hello.cipher_suite;
  end(stream_of(s, number_space::initial, peer::client));
  end(stream_of(s, number_space::initial, peer::server));
}

void handshake_reader::on_extensions(session& s, byte_view message) noexcept {
  tls_wire::encrypted_extensions chosen;
  if (!tls_wire::parse_encrypted_extensions(message, chosen))
    return note_conflict(s, drop_reason::tls_bad_server_hello);
  session_facts& f = s.facts;
  f.early_data_accepted = chosen.has_early_data;
  f.has_protocol = chosen.has_alpn;
  f.protocol_size = static_cast<std::uint8_t>(std::min(chosen.alpn.size(), max_protocol_kept));
  f.protocol_cut = f.protocol_size != chosen.alpn.size();
  std::copy_n(chosen.alpn.data(), f.protocol_size, f.protocol.data());
  if (!chosen.has_transport_parameters) return;
  quic::wire::transport_parameters announced;
  f.has_parameters = static_cast<bool>(quic::wire::parse(chosen.transport_parameters, quic::wire::sender::server,
                                                         quic::wire::encoding_of(s.version), announced));
  if (f.has_parameters)
    f.parameters.assign(announced);
  else
    counters_->anomalies.add(drop_reason::tls_bad_transport_parameters);
}

void handshake_reader::end(handshake_stream& stream) noexcept {
  stream.done = true;
  reassembly_.release(stream.bytes);
}

void handshake_reader::release(session& s) noexcept {
  for (auto& sides : s.crypto)
    for (handshake_stream& stream : sides) reassembly_.release(stream.bytes);
}

}  // namespace millrace::inspect

#include "quic/conn/parameters.hpp"

#include <algorithm>

#include "base/endian.hpp"

namespace millrace::quic::conn {

namespace {

// RFC 9000 18.2: zeros where there is no address of a family.
wire::preferred_address_value preferred_address_of(const parameter_facts& facts) noexcept {
  wire::preferred_address_value out;
  const auto put = [](const base::endpoint& from, auto& octets, std::uint16_t& port) {
    const base::byte_view bytes = from.address.bytes();
    if (from.port == 0 || bytes.size() != octets.size()) return;
    std::ranges::copy(bytes, octets.begin());
    port = from.port;
  };
  put(facts.settings.preferred_ipv4, out.ipv4, out.ipv4_port);
  put(facts.settings.preferred_ipv6, out.ipv6, out.ipv6_port);
  out.cid = facts.preferred_cid;
  out.stateless_reset_token = facts.preferred_token;
  return out;
}

}  // namespace

std::size_t emit_parameters(const parameter_facts& facts,
                            std::span<std::uint8_t, 4 * (max_listed_versions + 1)> versions,
                            base::byte_span room) noexcept {
  using id = wire::transport_parameter;
  const transport_settings& s = facts.settings;
  wire::transport_parameters p;
  const auto number = [&](id which, std::uint64_t wire::transport_parameters::* field, std::uint64_t value) {
    p.*field = value;
    p.set(which);
  };
  const auto bytes = [&](id which, base::byte_view wire::transport_parameters::* field, base::byte_view value) {
    p.*field = value;
    p.set(which);
  };
  using tp = wire::transport_parameters;
  bytes(id::initial_source_connection_id, &tp::initial_source_connection_id, facts.our_scid);
  if (facts.is_server) {
    bytes(id::original_destination_connection_id, &tp::original_destination_connection_id, facts.original_dcid);
    bytes(id::stateless_reset_token, &tp::stateless_reset_token, facts.reset_token);
    if (!facts.retry_scid.empty())
      bytes(id::retry_source_connection_id, &tp::retry_source_connection_id, facts.retry_scid);
    if (!facts.preferred_cid.empty()) {
      p.preferred_address = preferred_address_of(facts);
      p.set(id::preferred_address);
    }
  }
  if (s.idle_timeout_ns != 0)
    number(id::max_idle_timeout, &tp::max_idle_timeout_ms,
           std::max<std::uint64_t>(s.idle_timeout_ns / recovery::ms, 1));
  number(id::max_udp_payload_size, &tp::max_udp_payload_size, s.max_udp_payload);
  number(id::initial_max_data, &tp::initial_max_data, s.connection_window_bytes);
  number(id::initial_max_stream_data_bidi_local, &tp::initial_max_stream_data_bidi_local, s.stream_window_bytes);
  number(id::initial_max_stream_data_bidi_remote, &tp::initial_max_stream_data_bidi_remote, s.stream_window_bytes);
  number(id::initial_max_stream_data_uni, &tp::initial_max_stream_data_uni, s.stream_window_bytes);
  number(id::initial_max_streams_bidi, &tp::initial_max_streams_bidi, s.streams_bidi);
  number(id::initial_max_streams_uni, &tp::initial_max_streams_uni, s.streams_uni);
  number(id::ack_delay_exponent, &tp::ack_delay_exponent, s.ack_delay_exponent);
  number(id::max_ack_delay, &tp::max_ack_delay_ms, s.max_ack_delay_ns / recovery::ms);
  number(id::active_connection_id_limit, &tp::active_connection_id_limit, 4);
  if (s.max_datagram_frame_size != 0)
    number(id::max_datagram_frame_size, &tp::max_datagram_frame_size, s.max_datagram_frame_size);
  if (!s.migration) {
    p.disable_active_migration = true;
    p.set(id::disable_active_migration);
  }
  if (s.grease) {
    p.grease_quic_bit = true;
    p.set(id::grease_quic_bit);
  }
  std::size_t listed = 0;
  for (const wire::version_number v : s.versions.first(std::min(s.versions.size(), max_listed_versions)))
    base::store_be32(versions.data() + 4 * listed++, v);
  // RFC 9368 3: a client's chosen version is one of those it lists, though it be one it only tries.
  if (!facts.is_server && !wire::lists_version(base::byte_view(versions.data(), 4 * listed), facts.chosen))
    base::store_be32(versions.data() + 4 * listed++, facts.chosen);
  p.version_information = {.chosen = facts.chosen, .available = base::byte_view(versions.data(), 4 * listed)};
  p.set(id::version_information);

  base::byte_writer out(room);
  const wire::sender us = facts.is_server ? wire::sender::server : wire::sender::client;
  if (!wire::emit(out, p, us, wire::parameter_shuffle{.seed = facts.seed, .grease = s.grease})) return 0;
  return out.size();
}

}  // namespace millrace::quic::conn

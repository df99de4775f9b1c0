#include "inspect/parameter_facts.hpp"

namespace millrace::inspect {
namespace {

namespace wire = quic::wire;
using wire::transport_parameter;

struct known {
  transport_parameter id;
  std::string_view name;
};

// In the order of enum parameter.
constexpr std::array<known, parameter_count> known_parameters = {{
    {transport_parameter::max_idle_timeout, "max_idle_timeout"},
    {transport_parameter::max_udp_payload_size, "max_udp_payload_size"},
    {transport_parameter::initial_max_data, "initial_max_data"},
    {transport_parameter::initial_max_stream_data_bidi_local, "initial_max_stream_data_bidi_local"},
    {transport_parameter::initial_max_stream_data_bidi_remote, "initial_max_stream_data_bidi_remote"},
    {transport_parameter::initial_max_stream_data_uni, "initial_max_stream_data_uni"},
    {transport_parameter::initial_max_streams_bidi, "initial_max_streams_bidi"},
    {transport_parameter::initial_max_streams_uni, "initial_max_streams_uni"},
    {transport_parameter::ack_delay_exponent, "ack_delay_exponent"},
    {transport_parameter::max_ack_delay, "max_ack_delay"},
    {transport_parameter::active_connection_id_limit, "active_connection_id_limit"},
    {transport_parameter::max_datagram_frame_size, "max_datagram_frame_size"},
    {transport_parameter::disable_active_migration, "disable_active_migration"},
    {transport_parameter::grease_quic_bit, "grease_quic_bit"},
}};

std::uint64_t value_of(const wire::transport_parameters& p, parameter which) noexcept {
  switch (which) {
    case parameter::max_idle_timeout:
      return p.max_idle_timeout_ms;
    case parameter::max_udp_payload_size:
      return p.max_udp_payload_size;
    case parameter::initial_max_data:
      return p.initial_max_data;
    case parameter::initial_max_stream_data_bidi_local:
      return p.initial_max_stream_data_bidi_local;
    case parameter::initial_max_stream_data_bidi_remote:
      return p.initial_max_stream_data_bidi_remote;
    case parameter::initial_max_stream_data_uni:
      return p.initial_max_stream_data_uni;
    case parameter::initial_max_streams_bidi:
      return p.initial_max_streams_bidi;
    case parameter::initial_max_streams_uni:
      return p.initial_max_streams_uni;
    case parameter::ack_delay_exponent:
      return p.ack_delay_exponent;
    case parameter::max_ack_delay:
      return p.max_ack_delay_ms;
    case parameter::active_connection_id_limit:
      return p.active_connection_id_limit;
    case parameter::max_datagram_frame_size:
      return p.max_datagram_frame_size;
    case parameter::disable_active_migration:
    case parameter::grease_quic_bit:
      return 1;
    case parameter::count_:
      break;
  }
  return 0;
}

}  // namespace

std::string_view to_string(parameter p) noexcept {
  const auto i = static_cast<std::size_t>(p);
  return i < known_parameters.size() ? known_parameters[i].name : "unknown";
}

void parameter_facts::assign(const wire::transport_parameters& announced) noexcept {
  present = 0;
  for (std::size_t i = 0; i < parameter_count; ++i) {
    if (!announced.has(known_parameters[i].id)) continue;
    present |= 1u << i;
    values[i] = value_of(announced, static_cast<parameter>(i));
  }
}

}  // namespace millrace::inspect

// quic/conn/arrival.hpp - for the .cpp files of this folder: the packet that is being read.
#pragma once

#include "quic/conn/connection.hpp"

namespace millrace::quic::conn {

struct connection::arrival {
  datagram_in& datagram;
  std::uint64_t now_ns = 0;
  recovery::packet_space space = recovery::packet_space::application;
  wire::packet_type type = wire::packet_type::one_rtt;
  protect::opened_packet opened{};
  base::byte_view payload{};
  base::byte_view dcid{};
  path::path_slot slot{};                                           // where it came by
  stats::drop_reason why = stats::drop_reason::quic_no_connection;  // when it is of no use
  bool not_taken_in = false;  // for want of memory: it is not acknowledged, and comes again
};

struct connection::token_owner {
  connection& self;
  void on_acked(recovery::packet_space space, const recovery::sent_token& token) noexcept {
    self.on_token_acked(space, token);
  }
  void on_lost(recovery::packet_space space, const recovery::sent_token& token) noexcept {
    self.on_token_lost(space, token);
  }
  void on_packet_lost(recovery::packet_space space, std::uint64_t number, std::uint32_t bytes) noexcept {
    self.note_lost(space, number, bytes);
  }
};

}  // namespace millrace::quic::conn

// quic/conn/draft_plan.hpp - for the .cpp files of this folder: the packet that is to be written.
#pragma once

#include "quic/conn/connection.hpp"
#include "quic/conn/packet_draft.hpp"

namespace millrace::quic::conn {

struct connection::draft_plan {
  base::byte_span out;  // where it goes: room for header, frames and tag
  std::uint64_t now_ns = 0;
  recovery::packet_space space = recovery::packet_space::application;
  std::uint8_t path = 0;           // its slot
  std::size_t datagram_bytes = 0;  // in front of it in the datagram
  bool may_send = false;           // congestion control lets it carry more than an ACK
  bool is_last = true;             // of its datagram
  bool pads = false;               // the datagram is to have 1200 bytes (in and out: an Initial sets it)
  bool is_eliciting = false;       // answer
  bool is_early = false;           // 0-RTT
  bool is_mtu_probe = false;
  bool marks = false;  // the datagram is marked ECT(0): decided once, for all its packets are counted by the peer
};

struct connection::packet_header_plan {
  base::byte_view dcid{};
  std::size_t size = 0;  // up to and with the packet number
  std::size_t pn_size = 1;
  bool is_long = false;
};

}  // namespace millrace::quic::conn

// What the frames of an opened packet tell. A packet is authentic once it is open, so frames are believed as they come;
// one that cannot be read ends the walk, and the packet is counted. Extensions whose size we know are stepped over.

#include <algorithm>

#include "base/byte_reader.hpp"
#include "inspect/decryptor.hpp"
#include "quic/wire/frame_walker.hpp"

namespace millrace::inspect {
namespace {

using base::byte_view;
namespace wire = quic::wire;

constexpr wire::frame_type ack_frequency = 0xaf;  // draft-ietf-quic-ack-frequency
constexpr wire::frame_type immediate_ack_draft = 0xac;
constexpr wire::frame_type immediate_ack = 0x1f;
constexpr wire::frame_type time_stamp = 0x2f5;  // draft-huitema-quic-ts

// Fields of such a frame, all of them variable-length numbers; nullopt: a frame nobody told us about.
std::optional<unsigned> extension_fields(wire::frame_type type) noexcept {
  switch (type) {
    case immediate_ack:
    case immediate_ack_draft:
      return 0;
    case time_stamp:
      return 1;
    case ack_frequency:
      return 4;
    default:
      return std::nullopt;
  }
}

constexpr frame_kind kind_of(const wire::padding_frame&) noexcept { return frame_kind::padding; }
constexpr frame_kind kind_of(const wire::ping_frame&) noexcept { return frame_kind::ping; }
constexpr frame_kind kind_of(const wire::ack_frame&) noexcept { return frame_kind::ack; }
constexpr frame_kind kind_of(const wire::reset_stream_frame&) noexcept { return frame_kind::reset_stream; }
constexpr frame_kind kind_of(const wire::stop_sending_frame&) noexcept { return frame_kind::stop_sending; }
constexpr frame_kind kind_of(const wire::crypto_frame&) noexcept { return frame_kind::crypto; }
constexpr frame_kind kind_of(const wire::new_token_frame&) noexcept { return frame_kind::new_token; }
constexpr frame_kind kind_of(const wire::stream_frame&) noexcept { return frame_kind::stream; }
constexpr frame_kind kind_of(const wire::max_data_frame&) noexcept { return frame_kind::max_data; }
constexpr frame_kind kind_of(const wire::max_stream_data_frame&) noexcept { return frame_kind::max_stream_data; }
constexpr frame_kind kind_of(const wire::max_streams_frame&) noexcept { return frame_kind::max_streams; }
constexpr frame_kind kind_of(const wire::data_blocked_frame&) noexcept { return frame_kind::data_blocked; }
constexpr frame_kind kind_of(const wire::stream_data_blocked_frame&) noexcept {
  return frame_kind::stream_data_blocked;
}
constexpr frame_kind kind_of(const wire::streams_blocked_frame&) noexcept { return frame_kind::streams_blocked; }
constexpr frame_kind kind_of(const wire::new_connection_id_frame&) noexcept { return frame_kind::new_connection_id; }
constexpr frame_kind kind_of(const wire::retire_connection_id_frame&) noexcept {
  return frame_kind::retire_connection_id;
}
constexpr frame_kind kind_of(const wire::path_challenge_frame&) noexcept { return frame_kind::path_challenge; }
constexpr frame_kind kind_of(const wire::path_response_frame&) noexcept { return frame_kind::path_response; }
constexpr frame_kind kind_of(const wire::connection_close_frame&) noexcept { return frame_kind::connection_close; }
constexpr frame_kind kind_of(const wire::handshake_done_frame&) noexcept { return frame_kind::handshake_done; }
constexpr frame_kind kind_of(const wire::datagram_frame&) noexcept { return frame_kind::datagram; }

wire::packet_type type_of(packet_level level) noexcept {
  switch (level) {
    case packet_level::initial:
      return wire::packet_type::initial;
    case packet_level::zero_rtt:
      return wire::packet_type::zero_rtt;
    case packet_level::handshake:
      return wire::packet_type::handshake;
    case packet_level::one_rtt:
    case packet_level::count_:
      break;
  }
  return wire::packet_type::one_rtt;
}

number_space space_of(packet_level level) noexcept {
  if (level == packet_level::initial) return number_space::initial;
  return level == packet_level::handshake ? number_space::handshake : number_space::application;
}

// HTTP/3 by the protocol chosen; before that is known, by the one the client would like best.
bool speaks_h3(const connection& c, const session_facts& f) noexcept {
  constexpr std::string_view prefix = "h3";
  if (f.has_protocol) return f.alpn().starts_with(prefix);
  bool first = true;
  bool wanted = false;
  c.facts.for_each_alpn([&](std::string_view name) {
    wanted = wanted || (first && name.starts_with(prefix));
    first = false;
  });
  return wanted;
}

// The keys of Initials are no secret: what they say of the end holds until another packet says something.
void note_close(const wire::connection_close_frame& f, packet_level level, side_facts& side) noexcept {
  close_facts& to = side.close;
  const bool is_initial = level == packet_level::initial;
  if (is_initial && side.packets.total() != side.packets.get(packet_level::initial)) return;
  if (to.seen && (is_initial || to.level != packet_level::initial)) return;
  to = {};
  to.seen = true;
  to.level = level;
  to.from_application = f.from_application;
  to.code = f.error_code;
  to.frame_type = f.offending_type;
  const std::size_t size = std::min(f.reason.size(), max_reason_kept);
  std::copy_n(f.reason.begin(), size, to.reason.begin());
  to.reason_size = static_cast<std::uint8_t>(size);
  to.reason_cut = size != f.reason.size();
}

}  // namespace

struct frame_notes {
  decryptor& d;
  const decryptor::packet_at_hand& p;
  side_facts& side;

  template <class Frame>
  bool on(const Frame& f) noexcept {
    side.frames.add(kind_of(f));
    note(f);
    return true;
  }

 private:
  template <class Frame>
  void note(const Frame&) noexcept {}  // counted, and that is all

  [[nodiscard]] std::uint32_t number() const noexcept { return d.sessions_.index_of(p.s); }

  void note(const wire::crypto_frame& f) noexcept { d.handshakes_.on_crypto(p.s, space_of(p.level), p.from, f); }
  void note(const wire::stream_frame& f) noexcept {
    d.streams_.on_stream(p.s, number(), p.from, f, speaks_h3(p.c, p.s.facts));
  }
  void note(const wire::reset_stream_frame& f) noexcept {
    d.streams_.on_reset(p.s, number(), p.from, f, speaks_h3(p.c, p.s.facts));
  }
  void note(const wire::datagram_frame& f) noexcept { side.datagram_bytes += f.data.size(); }
  void note(const wire::connection_close_frame& f) noexcept { note_close(f, p.level, side); }
  // Packets to it may come on any path, and from an address nobody has seen.
  void note(const wire::new_connection_id_frame& f) noexcept {
    const cid_owner owner = p.from == peer::client ? cid_owner::client : cid_owner::server;
    if (!p.cids.add_issued(p.number, p.c.cids, owner, f.cid)) p.s.facts.limits.add(session_limit::connection_ids);
  }
};

void decryptor::read_frames(const packet_at_hand& p, byte_view payload) noexcept {
  frame_notes notes{*this, p, p.s.facts.of(p.from)};
  const wire::frame_rules rules(type_of(p.level), p.from == peer::client ? wire::sender::client : wire::sender::server);
  // Each turn takes a byte at least: a frame that is stepped over has a type.
  for (byte_view rest = payload;;) {
    const wire::walk_result walked = wire::walk_frames(rest, rules, notes);
    if (walked) return;
    const auto fields = walked.fault == wire::frame_fault::unknown_type ? extension_fields(walked.type) : std::nullopt;
    base::byte_reader in(rest.subspan(walked.status.at));
    std::uint64_t skipped = 0;
    bool whole = fields.has_value() && in.varint(skipped);
    for (unsigned n = 0; whole && n < *fields; ++n) whole = in.varint(skipped);
    if (!whole) break;
    notes.side.frames.add(frame_kind::extension);
    if (in.empty()) return;
    rest = in.rest();
  }
  ++p.s.facts.bad_frames;
  counters_->anomalies.add(stats::drop_reason::quic_bad_frame);
}

}  // namespace millrace::inspect

// The end: by us, by the peer, by silence. The application is told in tell(), not in the middle of a packet; streams go
// then, the rest when the three PTOs are over and the endpoint lets go of the connection.
#include <algorithm>
#include <string_view>

#include "quic/conn/draft_plan.hpp"
#include "quic/wire/header_emit.hpp"

namespace millrace::quic::conn {

using recovery::packet_space;
using wire::transport_error;

void connection::close(std::uint64_t code, std::uint64_t now_ns) noexcept {
  enter_closing({end_reason::closed_by_us, true, code}, "", now_ns);
}

void connection::close_transport(transport_error code, const char* why, std::uint64_t now_ns) noexcept {
  enter_closing({end_reason::closed_by_us, false, static_cast<std::uint64_t>(code)}, why, now_ns);
}

void connection::enter_closing(const connection_end& end, const char* why, std::uint64_t now_ns) noexcept {
  if (phase_ == phase::ended || !close_.on_local_close(now_ns, recovery_.pto_ns())) return;
  t_.events.add(event::closed_by_us);
  end_ = end;
  close_text_ = why;
  pending_ = pending_close;
}

void connection::on_stateless_reset(std::uint64_t now_ns) noexcept {
  if (!close_.on_stateless_reset(now_ns, recovery_.pto_ns())) return;
  t_.events.add(event::reset_by_peer);
  end_ = {end_reason::stateless_reset, false, 0};
  pending_ = 0;
}

// Nobody is told, nothing is waited for.
void connection::end_with(end_reason reason) noexcept {
  end_ = {reason, false, 0};
  static_cast<void>(close_.discard());
  pending_ = 0;
  phase_ = phase::ended;
}

bool connection::on_version_negotiation(const wire::packet_header& header, std::uint64_t) noexcept {
  // RFC 9000 6.2: not after the server has spoken, a Retry included, and not when it lists what we tried. 17.2.1: it
  // has our IDs, which somebody off the path has not seen.
  if (is_server_ || had_peer_packet_ || phase_ != phase::handshake || !retry_scid_.empty() ||
      !original_dcid_.is(header.scid) || !our_scid_.is(header.dcid) || wire::lists_version(header.versions, version_))
    return false;
  end_with(end_reason::version_negotiation);
  end_.code = wire::choose_version(header.versions, t_.settings.versions);
  return true;
}

// RFC 9000 17.2.5.
bool connection::on_retry(const wire::packet_header& header, base::byte_view packet, std::uint64_t now_ns) noexcept {
  if (is_server_ || had_peer_packet_ || phase_ != phase::handshake || handshake_ == nullptr || header.token.empty() ||
      header.token.size() > handshake_->token.size() || header.version != version_ ||
      !protect::verify_retry(t_.engine, version_, original_dcid_.view(), packet) || !remote_cids_.on_retry(header.scid))
    return false;
  now_ns_ = now_ns;
  std::ranges::copy(header.token, handshake_->token.begin());
  handshake_->token_size = static_cast<std::uint16_t>(header.token.size());
  retry_scid_ = path::connection_id::of(header.scid);
  initial_dcid_ = retry_scid_;
  if (!make_initial_keys()) return false;
  // RFC 9002 6.3: what was sent is sent again, without blame; the numbers go on.
  lose_everything(packet_space::initial);
  lose_everything(packet_space::application);
  return true;
}

std::size_t connection::build_close(base::byte_span room, std::uint64_t now_ns, datagram_out& out) noexcept {
  if (!has_keys_ready(now_ns)) return 0;
  pending_ = 0;
  const path::path_slot slot = migration_.active();
  path_state& p = paths_[slot.index];
  if (!give_cid(p)) return 0;  // nowhere to send it
  const auto limit =
      static_cast<std::size_t>(std::min<std::uint64_t>({room.size(), datagram_bytes(), p.amount.budget_bytes()}));
  std::size_t used = 0;
  bool pads = false;
  std::array<bool, recovery::packet_spaces> levels{};
  int last = -1;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto space = static_cast<packet_space>(i);
    // RFC 9000 10.2.3: before confirmation the peer may be able to read only some.
    levels[i] = space == packet_space::application ? keys_.can_write() : !confirmed_ && can_write(space);
    if (levels[i]) last = static_cast<int>(i);
  }
  for (int i = 0; i <= last; ++i) {
    if (!levels[static_cast<std::size_t>(i)]) continue;
    draft_plan plan{.out = room.subspan(used, limit - used),
                    .now_ns = now_ns,
                    .space = static_cast<packet_space>(i),
                    .path = slot.index};
    packet_header_plan h;
    if (!plan_header(plan, h)) break;
    packet_draft draft(plan.out.subspan(h.size, plan.out.size() - h.size - crypto::aead_tag_size), 1);
    // RFC 9000 10.2.3: an application's code tells too much in front of 1-RTT.
    const bool plain = end_.from_application && plan.space != packet_space::application;
    wire::connection_close_frame frame{
        .from_application = end_.from_application && !plain,
        .error_code = plain ? static_cast<std::uint64_t>(transport_error::application_error) : end_.code};
    const std::string_view text(close_text_);
    if (!plain && draft.room() > text.size() + 32) frame.reason = base::as_bytes(text);
    if (!draft.add_silent(frame)) break;
    pads |= plan.space == packet_space::initial && !is_server_;
    const std::size_t around = used + h.size + crypto::aead_tag_size;
    if (pads && i == last && around < wire::min_initial_datagram_size)
      draft.pad_to(wire::min_initial_datagram_size - around);
    draft.make_unkept();
    const std::size_t size = finish_packet(plan, h, draft);
    if (size == 0) break;
    used += size;
  }
  if (used == 0) return 0;
  p.amount.on_sent(used);
  bytes_out_ += used;
  out.address = migration_.info(slot).address;
  out.interface = p.interface;
  return used;
}

// The application hears of the end, once; its streams go.
void connection::tell_end() noexcept {
  if (std::exchange(told_closed_, true)) return;
  drop_streams();
  datagrams_.clear(pieces_);
  if (app_ != nullptr) app_->on_closed(*this, end_);
}

}  // namespace millrace::quic::conn

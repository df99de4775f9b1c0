// Answers to packets that belong to no connection. Each is smaller than what it answers, inside the budgets of its
// source and of all sources, and leaves nothing behind.
#include <algorithm>

#include "quic/endpoint/parts.hpp"

namespace millrace::quic::endpoint {

namespace {

using conn::datagram_in;
using conn::event;

}  // namespace

quic_endpoint::reply* quic_endpoint::add_reply(const datagram_in& to) noexcept {
  if (reply_count_ == most_replies) return nullptr;
  reply& r = parts_->replies[(reply_at_ + reply_count_) % most_replies];
  r.to = {};
  r.to.address = to.address;
  r.to.interface = to.interface;
  r.size = 0;
  return &r;
}

// RFC 9000 6.1.
void quic_endpoint::reply_versions(const datagram_in& d, const wire::packet_header& header) noexcept {
  reply* r = add_reply(d);
  if (r == nullptr || !parts_->sources.allow_reply(reply_kind::version_negotiation, d.address.remote.address, now_ns_))
    return;
  const std::uint64_t random = parts_->random.next();
  base::fixed_vector<wire::version_number, 8> offered;
  for (const wire::version_number v : settings_.transport.versions) static_cast<void>(offered.push_back(v));
  if (settings_.transport.grease)  // RFC 9000 15
    static_cast<void>(offered.push_back((static_cast<std::uint32_t>(random >> 8) & 0xf0f0'f0f0) | 0x0a0a'0a0a));
  base::byte_writer out(r->bytes);
  if (!wire::answer_with_versions(out, static_cast<std::uint8_t>(random), header, offered.view()) ||
      out.size() > d.bytes.size())
    return;
  r->size = static_cast<std::uint16_t>(out.size());
  ++reply_count_;
  events_.add(event::version_negotiations);
}

// RFC 9000 8.1.2, 17.2.5.
void quic_endpoint::reply_retry(const datagram_in& d, const wire::packet_header& header) noexcept {
  reply* r = add_reply(d);
  if (r == nullptr || !parts_->sources.allow_reply(reply_kind::retry, d.address.remote.address, now_ns_)) return;
  const new_cid fresh = make_cid();
  std::array<std::uint8_t, path::max_address_token_size> token;
  const std::size_t token_size = parts_->tokens.seal_retry(
      engine_, {d.address.remote, header.version, static_cast<std::uint64_t>(wall_ns()) / 1'000'000},
      {path::connection_id::of(header.dcid), fresh.cid}, token);
  if (token_size == 0) return;
  base::byte_writer out(r->bytes);
  base::byte_span tag;
  if (!wire::emit_retry(out, header.version, header.scid, fresh.cid.view(), base::byte_view(token).first(token_size)) ||
      !out.reserve(wire::retry_tag_size, tag) ||
      !protect::seal_retry(engine_, header.version, header.dcid, out.written()))
    return;
  r->size = static_cast<std::uint16_t>(out.size());
  ++reply_count_;
  events_.add(event::retries);
}

// RFC 9000 10.3: it looks like a packet of a connection that we do not know (any more).
void quic_endpoint::reply_reset(const datagram_in& d) noexcept {
  const std::size_t size = wire::stateless_reset_size(d.bytes.size());
  if (server_ == nullptr || size == 0) return;
  reply* r = add_reply(d);
  if (r == nullptr || !parts_->sources.allow_reply(reply_kind::stateless_reset, d.address.remote.address, now_ns_))
    return;
  std::array<std::uint8_t, wire::max_stateless_reset_size> noise;
  const base::byte_span front = base::byte_span(noise).first(size - wire::stateless_reset_token_size);
  parts_->random.fill(front);
  base::byte_writer out(r->bytes);
  const auto token = parts_->resets.of(engine_, base::byte_view(d.bytes).subspan(1, path::local_cid_size));
  if (!wire::emit_stateless_reset(out, front, token)) return;
  r->size = static_cast<std::uint16_t>(out.size());
  ++reply_count_;
  events_.add(event::stateless_resets);
}

// RFC 9000 8.1.2: an Initial with CONNECTION_CLOSE, from a server that keeps nothing.
void quic_endpoint::reply_close(const datagram_in& d, const wire::packet_header& header,
                                wire::transport_error code) noexcept {
  reply* r = add_reply(d);
  if (r == nullptr || !parts_->sources.allow_reply(reply_kind::retry, d.address.remote.address, now_ns_)) return;
  protect::packet_keys keys;
  if (!protect::derive_initial_keys(engine_, header.version, header.dcid, protect::side::server, keys)) return;
  std::array<std::uint8_t, 32> frames;
  base::byte_writer payload(frames);
  if (!emit(payload, wire::connection_close_frame{.error_code = static_cast<std::uint64_t>(code)})) return;
  wire::long_header form;
  form.type = wire::packet_type::initial;
  form.version = header.version;
  form.dcid = header.scid;
  const new_cid fresh = make_cid();
  form.scid = fresh.cid.view();
  form.pn_size = 1;
  form.length = form.pn_size + payload.size() + crypto::aead_tag_size;
  base::byte_writer out(r->bytes);
  base::byte_span number;
  if (!wire::emit(out, form, number)) return;
  const base::byte_view all = payload.written();
  protect::seal_request request{.out = r->bytes,
                                .pn_offset = static_cast<std::uint32_t>(out.size() - form.pn_size),
                                .pn_size = 1,
                                .packet_number = 0,
                                .payload = std::span(&all, 1)};
  if (protect::seal_packet(engine_, keys, request) != protect::seal_errc::ok) return;
  r->size = static_cast<std::uint16_t>(request.size);
  ++reply_count_;
}

}  // namespace millrace::quic::endpoint

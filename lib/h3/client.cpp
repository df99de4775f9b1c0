#include "h3/client.hpp"

namespace millrace::h3 {

using wire::error;

base::result<std::unique_ptr<client>> client::make(const settings& s, const buf::mbuf_source& blocks,
                                                   client_events* events) {
  auto made = make_parts(s);
  if (!made) return made.error();
  auto pool = mem::object_pool<asked>::make("h3_asked", s.exchanges);
  if (!pool) return pool.error();
  return std::unique_ptr<client>(new client(s, blocks, std::move(made.value()), std::move(pool.value()), events));
}

base::outcome client::use(quic::endpoint::quic_endpoint& endpoint) {
  if (!endpoint.add_application(protocol, *this)) return base::failure{"the endpoint serves too many protocols", ""};
  endpoint_ = &endpoint;
  return base::done{};
}

message* client::begin(link&, live_stream&) noexcept { return nullptr; }  // never: servers open none

void client::give(message& m) noexcept { asked_.give(static_cast<asked*>(&m)); }

asked* client::request(quic::conn::connection& c, request_to_send&& what, std::uint64_t now_ns) noexcept {
  link* const l = link_of(c);
  now_ns_ = std::max(now_ns_, now_ns);
  if (l == nullptr || l->is_dead() || l->peer_goaway() != UINT64_MAX || is_draining_ || what.observer == nullptr)
    return nullptr;
  live_stream* const s =
      asked_.in_use() == asked_.capacity() ? nullptr : c.open(quic::stream::direction::bidirectional, now_ns);
  if (s == nullptr) return nullptr;
  asked* const a = asked_.get(*l, *s, *what.observer);
  if (a == nullptr) return nullptr;  // never: it was looked at
  count_.add(event::requests);
  a->user = what.user;
  if (!a->send(what.fields, std::move(what.body), what.is_whole)) {
    a->count_unsent();
    a->was_told_ = true;
    a->fail(error::request_cancelled, message::ending::aborted);
    return nullptr;
  }
  touch(*a);
  return a;
}

void client::on_early(connection& c) noexcept {
  carrier::on_early(c);
  if (events_ != nullptr && !c.is_closing()) events_->on_early(c);
}

void client::on_established(connection& c) noexcept {
  carrier::on_established(c);
  if (events_ != nullptr && !c.is_closing()) events_->on_connected(c);
}

void client::on_streams_available(connection& c) noexcept {
  carrier::on_streams_available(c);
  if (events_ != nullptr && !c.is_closing()) events_->on_streams_available(c);
}

void client::on_closed(connection& c, const quic::conn::connection_end& e) noexcept {
  if (events_ != nullptr) events_->on_closed(c, e);
  carrier::on_closed(c, e);
}

// --- a request ---

bool asked::send(std::span<const http::field> fields, http::body&& body, bool is_whole) noexcept {
  std::array<qpack::field, 64> all;
  if (fields.size() > all.size()) return false;
  for (std::size_t i = 0; i < fields.size(); ++i) all[i] = {fields[i].name, fields[i].value, false};
  const std::string_view method = http::find(fields, ":method").value_or("");
  is_head_ = method == "HEAD";
  is_connect_ = method == "CONNECT";
  const std::span<const qpack::field> head = std::span(all).first(fields.size());
  if (is_whole) return write_message(head, std::move(body));
  if (!write_head(head, std::nullopt, nullptr)) return false;
  return out_.chain().submit(connection(), s_);
}

bool asked::on_head(section_reader& r) noexcept {
  response_fields f;
  if (const section_errc e = r.finish_response(f); e != section_errc::ok) {
    count().add(e);
    on_refused(e);
    return false;
  }
  const auto status = static_cast<http::wire::status_code>(f.status);
  if (http::wire::is_interim(status)) {  // RFC 9114 4.1: the final one follows
    observer->on_interim(*this, f);
    return !is_failed_;
  }
  response_ = f;
  const bool is_tunnel = is_connect_ && f.status / 100 == 2;
  is_tunnel_ = is_tunnel;
  place_ = is_tunnel ? wire::frame_place::tunnel : wire::frame_place::body;
  // RFC 9110 6.4.1: what has no content may still say how long it would be.
  if (!is_tunnel) content_length_ = is_head_ || !http::wire::has_content(status) ? 0 : f.content_length;
  observer->on_response(*this);
  return !is_failed_;
}

void asked::on_refused(section_errc why) noexcept {
  if (is_malformed(why)) return fail(error::message_error, ending::malformed);
  count().add(event::no_memory);
  fail(error::excessive_load, ending::aborted);
}

void asked::on_body() noexcept { observer->on_body(*this); }

void asked::on_body_end(std::span<const http::field> trailers) noexcept { observer->on_body_end(*this, trailers); }

void asked::on_room() noexcept { observer->on_writable(*this); }

void asked::on_end(ending why) noexcept {
  const request_end end = [why] {
    switch (why) {
      case ending::complete:
        return request_end::complete;
      case ending::peer_reset:
        return request_end::peer_reset;
      case ending::aborted:
        return request_end::cancelled;
      case ending::malformed:
        return request_end::malformed;
      case ending::timed_out:
        return request_end::timed_out;
      case ending::rejected:
        return request_end::rejected;
      case ending::connection_lost:
        return request_end::connection_lost;
    }
    return request_end::connection_lost;
  }();
  observer->on_end(*this, end);
  head_.clear();
}

}  // namespace millrace::h3

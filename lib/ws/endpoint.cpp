#include "ws/endpoint.hpp"

#include "ws/wire/handshake.hpp"

namespace millrace::ws {

using http::exchange;
using http::wire::status_code;

std::size_t memory_bytes(const settings& s) noexcept {
  constexpr std::size_t a_slot = sizeof(session) + 128;  // an object and its place in the pool
  return std::size_t{s.sessions} * a_slot + 65'536;
}

base::result<std::unique_ptr<endpoint>> endpoint::make(const settings& s, message_handler& to) {
  auto sessions = mem::object_pool<session>::make("ws_sessions", s.sessions);
  if (!sessions) return sessions.error();
  return std::unique_ptr<endpoint>(new endpoint(s, to, std::move(sessions.value())));
}

void endpoint::refuse(exchange& x, status_code status, event why) noexcept {
  count_.add(why);
  const http::field version[] = {{"sec-websocket-version", wire::version}};
  http::response_head head{status, {}};
  if (why == event::refused_version) head.fields = version;  // RFC 6455 4.4: those that would do
  x.refuse_body();
  static_cast<void>(x.respond(head, {}));
}

void endpoint::on_request(exchange& x) noexcept {
  x.user = nullptr;
  const http::request_head& r = x.request();
  if (r.protocol != "websocket")  // RFC 9220 3
    return refuse(x, status_code::not_implemented, event::refused_protocol);
  if (http::find(r.fields, "sec-websocket-version").value_or("") != wire::version)
    return refuse(x, status_code::bad_request, event::refused_version);
  if (r.is_early) return refuse(x, status_code::too_early, event::refused_early);
  if (const status_code said = to_.on_opening(r); said != status_code::ok)
    return refuse(x, said, event::refused_handler);
  session* const s = sessions_.get(*this, x);
  if (s == nullptr) return refuse(x, status_code::service_unavailable, event::refused_busy);
  x.user = s;  // RFC 6455 4.2.2: no extension and no subprotocol is chosen
  s->begin();
}

void endpoint::on_body(exchange& x) noexcept {
  if (auto* const s = static_cast<session*>(x.user)) s->on_body();
}

void endpoint::on_body_end(exchange& x, std::span<const http::field>) noexcept {
  if (auto* const s = static_cast<session*>(x.user)) s->on_body_end();
}

void endpoint::on_writable(exchange& x) noexcept {
  if (auto* const s = static_cast<session*>(x.user)) s->on_writable();
}

// A write() of the session's own may end its exchange: then it goes home when that call is over (session::turn).
void endpoint::on_end(exchange& x, http::exchange_end) noexcept {
  if (auto* const s = static_cast<session*>(std::exchange(x.user, nullptr))) s->on_end();
}

}  // namespace millrace::ws

#include "h3/server.hpp"

#include <charconv>

namespace millrace::h3 {

using http::wire::method;
using http::wire::status_code;
using wire::error;

server::server(const settings& s, http::exchange_handler& root, const buf::mbuf_source& blocks, parts of,
               mem::object_pool<server_exchange> exchanges) noexcept
    : carrier(true, s, blocks, std::move(of)), root_(root), exchanges_(std::move(exchanges)) {}

server::~server() = default;

base::result<std::unique_ptr<server>> server::make(const settings& s, http::exchange_handler& root,
                                                   const buf::mbuf_source& blocks) {
  auto made = make_parts(s);
  if (!made) return made.error();
  auto exchanges = mem::object_pool<server_exchange>::make("h3_exchanges", s.exchanges);
  if (!exchanges) return exchanges.error();
  return std::unique_ptr<server>(new server(s, root, blocks, std::move(made.value()), std::move(exchanges.value())));
}

base::outcome server::serve_on(quic::endpoint::quic_endpoint& endpoint) {
  if (!endpoint.add_application(protocol, *this)) return base::failure{"the endpoint serves too many protocols", ""};
  endpoint_ = &endpoint;
  return base::done{};
}

void server::list(mem::pool_listing& to) const noexcept {
  to.add(parts_.links);
  to.add(exchanges_);
  parts_.fields.list(to);
}

std::uint32_t server::open_exchanges() const noexcept { return exchanges_.in_use(); }

std::size_t server::memory_bytes() const noexcept {
  return exchanges_.memory_bytes() + parts_.links.memory_bytes() + parts_.tables.memory_bytes() +
         parts_.fields.memory_bytes();
}

message* server::begin(link& l, live_stream& s) noexcept { return exchanges_.get(root_, latency_, l, s); }

void server::give(message& m) noexcept { exchanges_.give(static_cast<server_exchange*>(&m)); }

// --- a request ---

bool server_exchange::on_head(section_reader& r) noexcept {
  if (const section_errc e = r.finish_request(request_); e != section_errc::ok) {
    count().add(e);
    on_refused(e);
    return false;
  }
  quic::conn::connection& c = connection();
  const bool is_end = s_.recv.is_at_end();
  const bool is_connect = request_.method == method::connect;
  content_length_ = is_connect ? std::nullopt : request_.content_length;
  if (is_end && content_length_.value_or(0) != 0) {
    count().add(event::content_length_wrong);
    fail(error::message_error, ending::malformed);
    return false;
  }
  is_tunnel_ = is_connect;
  place_ = is_connect ? wire::frame_place::tunnel : wire::frame_place::body;
  request_.has_body = !is_end;
  request_.is_early = !c.is_established();
  if (request_.is_early) count().add(event::early_requests);
  wire::priority p = wire::parse_priority(r.priority());
  const bool was_updated = link_.take_priority(id(), p);
  if (was_updated || !r.priority().empty()) c.prioritize(s_, p.urgency, p.incremental);
  handler = root_;
  handler->on_request(*this);
  route = nullptr;
  return true;
}

void server_exchange::on_refused(section_errc why) noexcept {
  switch (why) {
    case section_errc::too_large:
      return answer(status_code::request_header_fields_too_large, event::answered_431);
    case section_errc::bad_target:
      return answer(status_code::bad_request, event::answered_400);
    case section_errc::no_memory:  // not looked at: it may come again
      count().add(event::no_memory);
      return fail(error::request_rejected, ending::aborted);
    default:
      return fail(error::message_error, ending::malformed);
  }
}

// An answer of our own, before any handler was asked; the rest of the request is not read.
void server_exchange::answer(status_code status, event counted) noexcept {
  if (place_ != wire::frame_place::head) return fail(error::excessive_load, ending::malformed);  // its trailers
  count().add(counted);
  message::refuse_body();
  if (!respond({.status = status, .fields = {}}, http::body{})) fail(error::internal_error, ending::aborted);
}

void server_exchange::on_body() noexcept {
  if (handler != nullptr) handler->on_body(*this);
}

void server_exchange::on_body_end(std::span<const http::field> trailers) noexcept {
  if (handler != nullptr) handler->on_body_end(*this, trailers);
}

void server_exchange::on_room() noexcept {
  if (handler != nullptr) handler->on_writable(*this);
}

void server_exchange::on_end(ending why) noexcept {
  using http::exchange_end;
  if (why == ending::complete && is_answered()) latency_.record(now_ns() - std::min(now_ns(), began_ns()));
  const exchange_end end = [why] {
    switch (why) {
      case ending::complete:
        return exchange_end::complete;
      case ending::peer_reset:
        return exchange_end::peer_reset;
      case ending::aborted:
        return exchange_end::aborted;
      case ending::malformed:
        return exchange_end::malformed;
      case ending::timed_out:
        return exchange_end::timed_out;
      case ending::rejected:
      case ending::connection_lost:
        return exchange_end::connection_lost;
    }
    return exchange_end::aborted;
  }();
  if (handler != nullptr) std::exchange(handler, nullptr)->on_end(*this, end);
  head_.clear();
}

void server_exchange::abort() noexcept {
  if (is_failed_) return;
  count().add(event::aborted);
  fail(error::internal_error, ending::aborted);
}

// --- an answer ---

void server_exchange::inform(const http::response_head& head) noexcept {
  if (is_failed_ || is_answered() || link_.is_dead() || !http::wire::is_interim(head.status)) return;
  const std::array<char, 3> digits = http::wire::digits(head.status);
  std::array<qpack::field, most_answer_fields> fields;
  std::size_t n = 0;
  fields[n++] = {":status", {digits.data(), digits.size()}, false};
  for (const http::field& f : head.fields)
    if (n < fields.size()) fields[n++] = {f.name, f.value, false};
  if (!write_head(std::span(fields).first(n), std::nullopt, nullptr)) return;  // it may be left out
  static_cast<void>(out_.chain().submit(connection(), s_));
  link_.of().touch(*this);
}

bool server_exchange::send(const http::response_head& head, http::body&& what, bool is_whole) noexcept {
  if (is_failed_ || link_.is_dead()) return false;
  const std::array<char, 3> digits = http::wire::digits(head.status);
  std::array<char, 20> length;
  std::array<qpack::field, most_answer_fields> fields;
  std::size_t n = 0;
  bool has_length = false;
  bool fits = head.fields.size() + extra_.size() + 2 <= fields.size();
  fields[n++] = {":status", {digits.data(), digits.size()}, false};
  const auto add = [&](const http::field& f) noexcept {
    has_length |= f.name == "content-length";
    fields[n++] = {f.name, f.value, false};
  };
  if (fits) {
    for (const http::field& f : head.fields) add(f);
    for (const http::field& f : extra_) add(f);
  }
  const bool is_success = static_cast<unsigned>(head.status) / 100 == 2;
  const bool is_tunnel = is_tunnel_ && is_success;
  const bool has_content = http::wire::has_content(head.status) && request_.method != method::head && !is_tunnel;
  // RFC 9110 8.6: not with 204, nor with a tunnel's.
  if (const auto size = http::size_of(what);
      size && !has_length && !is_tunnel && http::wire::has_content(head.status)) {
    const auto [end, code] = std::to_chars(length.data(), length.data() + length.size(), *size);
    static_cast<void>(code);
    fields[n++] = {"content-length", {length.data(), static_cast<std::size_t>(end - length.data())}, false};
  }
  const std::span<const qpack::field> all = std::span(fields).first(n);
  bool sent = false;
  if (!fits) {
    sent = false;
  } else if (!is_whole) {
    discards_ = !has_content && !is_tunnel;
    sent = write_head(all, std::nullopt, nullptr);
    if (sent) static_cast<void>(out_.chain().submit(connection(), s_));
  } else {
    if (!has_content) what = std::monostate{};
    sent = write_message(all, std::move(what));
  }
  if (!sent) {
    count_unsent();
    fail(error::internal_error, ending::aborted);
    return false;
  }
  link_.of().touch(*this);
  return true;
}

}  // namespace millrace::h3

#include "app/h3_service.hpp"

namespace millrace::app {
namespace {

constexpr std::array spoken = {service::websocket_protocol};  // behind an extended CONNECT

// Requests share the lcore's streams with whatever else is spoken there.
h3::settings settings_for(const quic::endpoint::endpoint_settings& endpoint) noexcept {
  h3::settings s;
  s.connections = endpoint.connections;
  s.exchanges = endpoint.streams;
  return s;
}

service::settings service_settings_for(const quic::endpoint::endpoint_settings& endpoint) noexcept {
  service::settings s;
  s.streamed = endpoint.streams;
  s.json_bodies = s.discarded = endpoint.streams;
  return s;
}

// A session lives on a stream; most streams are requests.
ws::settings websocket_settings_for(const quic::endpoint::endpoint_settings& endpoint) noexcept {
  ws::settings s;
  s.sessions = std::max(1u, endpoint.streams / 4);
  return s;
}

}  // namespace

base::result<std::unique_ptr<h3_service>> h3_service::make(const quic::endpoint::endpoint_settings& endpoint,
                                                           const buf::content& pattern, const buf::mbuf_source& blocks,
                                                           const http_parts& parts, std::int64_t wall_less_clock_ns) {
  auto made = std::make_unique<h3_service>();
  auto builtin = service::builtin::make(service_settings_for(endpoint), pattern, parts.stats);
  if (!builtin) return builtin.error();
  made->builtin_ = std::move(builtin.value());
  auto websocket = service::ws_echo::make(websocket_settings_for(endpoint));
  if (!websocket) return websocket.error();
  made->websocket_ = std::move(websocket.value());
  // Who answers what. Handlers of your own go here, with a member that owns them: docs/handlers.md.
  std::vector<service::route> all = made->builtin_->routes();
  all.push_back(made->websocket_->route_at("/ws"));
  if (parts.site != nullptr) {
    made->site_ = std::make_unique<service::site_handler>(*parts.site, parts.lcore, wall_less_clock_ns);
    const std::vector<service::route> more = made->site_->routes();
    all.insert(all.end(), more.begin(), more.end());
  }
  http::router_builder routes;
  for (const service::route& r : all) {
    if (auto added = routes.add(r.method, r.pattern, static_cast<std::uint32_t>(made->handlers_.size())); !added)
      return added.error();
    made->handlers_.push_back(r.handler);
  }
  auto merged = routes.build();
  if (!merged) return merged.error();
  made->routes_ = std::move(merged.value());
  made->dispatcher_ = std::make_unique<http::dispatcher>(
      http::dispatcher::parts{&made->routes_, made->handlers_, made->before_, {}, "millrace", spoken});
  made->clock_.to = made->dispatcher_.get();
  made->clock_.wall_less_clock_ns = wall_less_clock_ns;
  auto server = h3::server::make(settings_for(endpoint), *made->dispatcher_, blocks);
  if (!server) return server.error();
  made->server_ = std::move(server.value());
  return made;
}

std::size_t expected_h3_bytes(const quic::endpoint::endpoint_settings& endpoint) {
  return h3::memory_bytes(settings_for(endpoint)) + service::memory_bytes(service_settings_for(endpoint)) +
         ws::memory_bytes(websocket_settings_for(endpoint));
}

}  // namespace millrace::app

#include "loadgen/h3_load.hpp"

namespace millrace::loadgen {
namespace {

using quic::conn::connection;

constexpr std::uint16_t https_port = 443;

std::string authority_of(const fetch_settings& s) {
  std::string host = s.server_name;
  if (host.empty()) {
    std::array<char, base::ip_address::max_text_size> text;
    host.assign(text.data(), s.target.address.format_to(text));
    if (s.target.address.family == base::ip_family::v6) host = "[" + host + "]";
  }
  return s.target.port == https_port ? host : host + ":" + std::to_string(s.target.port);
}

}  // namespace

base::result<std::unique_ptr<h3_load>> h3_load::make(const fetch_settings& settings, mem::packet_pool& pool) {
  if (auto sound = check(settings); !sound) return sound.error();
  auto made = std::make_unique<h3_load>(passkey{}, settings, pool);
  auto h3 = h3::client::make(h3_settings_for(settings), buf::mbuf_source(pool), made.get());
  if (!h3) return h3.error();
  made->h3_ = std::move(h3.value());
  if (auto ready = made->prepare(pool, *made->h3_); !ready) return ready.error();
  if (auto used = made->h3_->use(made->client().endpoint()); !used) return used.error();
  return made;
}

h3_load::h3_load(passkey, const fetch_settings& s, mem::packet_pool& pool)
    : fetch_load(s), pool_(pool), authority_(authority_of(s)), length_(std::to_string(s.body.size())) {
  const auto add = [this](std::string_view name, std::string_view value) {
    static_cast<void>(fields_.push_back({name, value}));
  };
  // Of the settings that this object keeps: the views stay good.
  add(":method", settings().body.empty() ? "GET" : "POST");
  add(":scheme", "https");
  add(":authority", authority_);
  add(":path", settings().path);
  add("user-agent", "millrace");
  add("accept", "*/*");
  if (settings().body.empty()) return;
  add("content-type", "application/json");
  add("content-length", length_);
}

bool h3_load::begin(caller& who, request& r) noexcept {
  h3::request_to_send what;
  what.fields = {fields_.begin(), fields_.size()};
  what.observer = this;
  what.user = &r;
  if (!settings().body.empty()) {
    buf::packet copy = buf::packet::alloc(pool_);
    if (!copy || !copy.append_copy(base::as_bytes(std::string_view(settings().body)))) return false;
    what.body = buf::chain(std::move(copy));
  }
  return h3_->request(*who.connection, std::move(what), now_ns()) != nullptr;
}

void h3_load::on_connected(connection& c) noexcept {
  if (caller* const who = find(c)) connected(*who);
}
void h3_load::on_streams_available(connection& c) noexcept {
  if (caller* const who = find(c)) may_ask(*who);
}
void h3_load::on_closed(connection& c, const quic::conn::connection_end& end) noexcept {
  if (caller* const who = find(c)) lost(*who, end);
}

void h3_load::on_response(h3::asked& a) noexcept {
  static_cast<request*>(a.user)->refused =
      a.response().status != static_cast<std::uint16_t>(http::wire::status_code::ok);
}

void h3_load::on_body(h3::asked& a) noexcept {
  auto& r = *static_cast<request*>(a.user);
  for (base::byte_view bytes = a.front(); !bytes.empty(); bytes = a.front()) {
    if (!r.refused) got(*r.of, r, bytes);
    a.consume(bytes.size());
  }
}

void h3_load::on_body_end(h3::asked& a, std::span<const http::field>) noexcept {
  ended(*static_cast<request*>(a.user), true);
}

void h3_load::on_end(h3::asked& a, h3::request_end) noexcept { gone(*static_cast<request*>(a.user)); }

}  // namespace millrace::loadgen

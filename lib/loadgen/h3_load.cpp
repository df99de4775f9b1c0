#include "loadgen/h3_load.hpp"

#include <atomic>

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
  if (settings.body.size() > most_copied_body) {
    static std::atomic<unsigned> count{0};  // loads of a process lie on several lcores, and names of pools are unique
    buf::large_block_pool_config c;
    c.name = "load_body_" + std::to_string(count.fetch_add(1, std::memory_order_relaxed));
    c.blocks_per_mempool = static_cast<std::uint32_t>(settings.body.size() / buf::large_block_bytes + 1);
    c.cache = 0;
    auto blocks = buf::large_block_pool::make(c);
    if (!blocks) return blocks.error();
    made->body_blocks_ = std::make_unique<buf::large_block_pool>(std::move(blocks.value()));
    auto loaded = buf::content::load(*made->body_blocks_, base::as_bytes(std::string_view(settings.body)));
    if (!loaded) return loaded.error();
    made->body_ = std::move(loaded.value());
  }
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
  add("content-type", settings().body_type);
  add("content-length", length_);
}

bool h3_load::begin(caller& who, request& r) noexcept {
  h3::request_to_send what;
  what.fields = {fields_.begin(), fields_.size()};
  what.observer = this;
  what.user = &r;
  if (body_.size() != 0) {
    what.body = http::content_range{&body_, 0, body_.size()};
  } else if (!settings().body.empty()) {
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

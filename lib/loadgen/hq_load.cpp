#include "loadgen/hq_load.hpp"

namespace millrace::loadgen {

using quic::conn::connection;
using quic::conn::live_stream;

base::result<std::unique_ptr<hq_load>> hq_load::make(const fetch_settings& settings, mem::packet_pool& pool) {
  if (auto sound = check(settings); !sound) return sound.error();
  auto made = std::make_unique<hq_load>(passkey{}, settings);
  if (auto ready = made->prepare(pool, *made); !ready) return ready.error();
  return made;
}

bool hq_load::begin(caller& who, request& r) noexcept {
  connection& c = *who.connection;
  live_stream* const s = c.open(quic::stream::direction::bidirectional, now_ns());
  if (s == nullptr) return false;
  s->user = &r;
  s->source = &line_;
  static_cast<void>(c.write(*s, line_.line.size()));
  c.finish(*s);
  return true;
}

void hq_load::on_established(connection& c) noexcept {
  if (caller* const who = find(c)) connected(*who);
}
void hq_load::on_streams_available(connection& c) noexcept {
  if (caller* const who = find(c)) may_ask(*who);
}

void hq_load::on_readable(connection& c, live_stream& s) noexcept {
  auto& r = *static_cast<request*>(s.user);
  if (s.recv.is_reset()) {
    c.reset_read(s);
    ended(r, false);
    return;
  }
  for (base::byte_view bytes = s.recv.front(); !bytes.empty(); bytes = s.recv.front()) {
    got(*r.of, r, bytes);
    c.consume(s, bytes.size());
  }
  if (s.recv.is_at_end()) ended(r, true);
}

void hq_load::on_stream_closed(connection&, live_stream& s) noexcept {
  if (auto* const r = static_cast<request*>(std::exchange(s.user, nullptr))) gone(*r);
}

void hq_load::on_closed(connection& c, const quic::conn::connection_end& end) noexcept {
  if (caller* const who = find(c)) lost(*who, end);
}

}  // namespace millrace::loadgen

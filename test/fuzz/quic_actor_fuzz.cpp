// Somebody with the keys of a live connection sends any frames in any order, to its server or its client: whatever
// comes of it, the victim says only what may be said, gives back all it was lent, counts every datagram that was of no
// use, and is rid of the connection in bounded time.
//
// Input    byte 0: who is attacked, how far the handshake goes, whether its application reads, whether it resumes.
//          Then actions: a byte that says which, and its arguments (see actor::act).
// Time     virtual; the endpoints stay from input to input, each input has a connection of its own.
#include <cstdlib>

#include "quic/sim/crafted.hpp"

namespace {

using namespace millrace;
using namespace millrace::test;

constexpr unsigned most_actions = 400;
constexpr unsigned inputs_a_pair = 500;  // then the endpoints are made anew: the clock does not run away from its year
constexpr std::uint64_t most_life_ns = 180 * second;  // idle time-outs of both ends, and what probes make of them

void require(bool holds) {
  if (!holds) std::abort();
}

sim_options small_endpoints() {
  sim_options o;
  o.early_data = true;
  for (quic::endpoint::endpoint_settings* s : {&o.client, &o.server}) {
    s->connections = s->handshakes = 8;
    s->streams = 200;  // fewer than a peer may open: their want is met, too
    s->sent_blocks = 128;
    s->pieces = 1024;
    s->transport.streams_bidi = 128;
  }
  return o;
}

struct input_bytes {
  base::byte_reader in;
  std::uint8_t byte() {
    std::uint8_t v = 0;
    static_cast<void>(in.u8(v));
    return v;
  }
  // Small numbers mostly, and those where something ends.
  std::uint64_t number() {
    const std::uint8_t b = byte();
    switch (b >> 5) {
      case 0:
      case 1:
      case 2:
        return b & 0x1f;
      case 3:
        return (std::uint64_t{b} & 0x1f) << 8 | byte();
      case 4:
        return std::uint64_t{1} << (b & 0x1f);
      case 5:
        return (std::uint64_t{1} << (30 + (b & 0x1f))) - 1;
      case 6:
        return base::varint_max - (b & 0x1f);
      default:
        return (std::uint64_t{byte()} << 16 | std::uint64_t{byte()} << 8 | byte()) & base::varint_max;
    }
  }
  byte_vector bytes(std::size_t size) {
    byte_vector out(size);
    for (auto& b : out) b = byte();
    return out;
  }
};

class actor {
  hijack& h_;
  input_bytes& in_;
  frames payload_;
  std::vector<byte_vector> burst_, sent_;
  std::optional<quic::path::path_address> address_;

  void add_frame(std::uint8_t kind) {
    static constexpr std::uint8_t fields[0x20] = {0, 0, 4, 7, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                                  1, 2, 1, 1, 1, 2, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0};
    kind &= 0x1f;
    if (payload_.get().size() > 1'200) return;
    if (kind >= 0x08 && kind <= 0x0f) return add_stream(kind);
    payload_.numbers({kind});
    for (unsigned i = 0; i < fields[kind]; ++i) payload_.numbers({in_.number()});
    const auto with_length = [&] {
      const std::size_t size = in_.byte() % 64;
      payload_.numbers({size}).raw(byte_vector(size, 'a'));
    };
    if (kind == 0x06) payload_.numbers({in_.number()});
    if (kind == 0x06 || kind == 0x07) with_length();
    if (kind == 0x18) {
      payload_.numbers({in_.number(), in_.number()});
      const std::uint8_t size = in_.byte() % 24;
      payload_.bytes({size}).raw(byte_vector(size + 16u, in_.byte()));
    }
    if (kind == 0x1a || kind == 0x1b) payload_.raw(byte_vector(8, in_.byte()));
    if (kind == 0x1c) payload_.numbers({in_.number(), in_.number()});
    if (kind == 0x1d) payload_.numbers({in_.number()});
    if (kind == 0x1c || kind == 0x1d) with_length();
  }
  void add_stream(std::uint8_t kind) {
    const std::uint64_t id = in_.number();
    payload_.numbers({kind, id});
    if ((kind & 4) != 0) payload_.numbers({in_.number()});
    const std::size_t size = in_.byte() * (in_.byte() % 4 == 0 ? 4u : 1u);
    if ((kind & 2) != 0) payload_.numbers({size});
    payload_.raw(byte_vector(size, 's'));
  }
  void add_ack() {
    const std::uint64_t largest = h_.largest_read() + in_.byte() % 4;
    if (largest > base::varint_max) return;
    frames::value_list f{0x02, largest, in_.number(), in_.byte() % 8u, in_.number() % (largest + 1)};
    for (std::uint64_t i = f[3]; i != 0; --i) f.insert(f.end(), {in_.byte() % 4u, in_.byte() % 4u});
    payload_.list(f);
  }
  void seal(std::uint8_t how) {
    crafted_packet p{.at = static_cast<level>(how & 3), .payload = payload_.get()};
    payload_ = {};
    if (!h_.has_keys(p.at)) p.at = level::one_rtt;
    if (!h_.has_keys(p.at)) return;
    const std::uint8_t odd = in_.byte();
    if (odd < 16) p.flip = static_cast<std::uint8_t>(1u << (odd % 8)) & 0x5c;
    if (odd >= 16 && odd < 24) p.number = in_.number();
    if (odd >= 24 && odd < 32) p.number = h_.next_number(p.at) - 1 - odd % 8;
    if (odd >= 32 && odd < 36) p.dcid = in_.bytes(in_.byte() % 21);
    if (p.at == level::one_rtt) p.phase = phase_;
    if (p.at == level::initial && (how & 4) == 0) p.payload.resize(std::max<std::size_t>(p.payload.size(), 1'200));
    if (p.flip == 0x04) ++phase_;
    byte_vector packet = h_.seal(p);
    if ((how & 8) != 0 && !burst_.empty() && burst_.back().size() + packet.size() < 6'000)
      burst_.back().insert(burst_.back().end(), packet.begin(), packet.end());  // coalesced
    else
      burst_.push_back(std::move(packet));
  }
  void deliver() {
    for (const byte_vector& d : burst_)
      if (sent_.size() < 32) sent_.push_back(d);
    h_.inject(std::move(burst_), address_);
    burst_.clear();
  }
  void again() {
    if (sent_.empty()) return;
    burst_.push_back(sent_[in_.byte() % sent_.size()]);
    const std::uint8_t change = in_.byte();
    if (change != 0) burst_.back()[in_.number() % burst_.back().size()] ^= change;
  }
  void of_the_application(std::uint8_t what) {
    pattern_application& app = h_.app();
    if (app.closed || app.last == nullptr || !app.established) return;
    quic::conn::connection& c = *app.last;
    switch (what % 6) {
      case 0:
        app.reads = !app.reads;
        return;
      case 1:
        static_cast<void>(c.send_datagram(byte_vector(100, 'd')));
        break;
      case 2:
        static_cast<void>(c.update_keys(h_.pair.net.now_ns));
        break;
      case 3:
        c.ping();
        break;
      case 4:
        if (!h_.to_server()) {
          app.to_ask.push_back(in_.number() % 100'000);
          app.ask(c);
        }
        break;
      case 5:
        c.close(in_.number(), h_.pair.net.now_ns);
        break;
    }
    h_.target().endpoint->touch(c);
    h_.pair.net.flush();
  }

 public:
  unsigned phase_ = 0;
  actor(hijack& h, input_bytes& in) : h_(h), in_(in) {}

  void act() {
    const std::uint8_t b = in_.byte();
    if (b < 0x60) return add_frame(b);
    if (b < 0x90) return seal(b);
    if (b < 0xa8) return deliver();
    if (b < 0xb8) return h_.settle((std::uint64_t{1} << (b & 15)) * ms / 16);
    if (b < 0xc8) return add_ack();
    if (b < 0xd0) return again();
    if (b < 0xd8) return of_the_application(b);
    if (b < 0xe0) return void(payload_.raw(in_.bytes(in_.byte())));
    if (b < 0xe8) return burst_.push_back(in_.bytes(in_.byte()));
    if (b < 0xec) return void(address_ = h_.from(in_.byte() % 8, static_cast<std::uint16_t>(40'000 + in_.byte() % 4)));
    if (b < 0xf0) return address_.reset();
    if (b < 0xf2) h_.is_cut = !h_.is_cut;  // the real peer speaks, too
  }
  void finish() {
    if (!burst_.empty()) deliver();
  }
};

void begin(hijack& h, std::uint8_t how) {
  h.restart((how & 1) == 0 ? victim::server : victim::client);
  for (pattern_application* app : {&h.pair.client_app, &h.pair.server_app}) {
    app->forget();
    app->reads = (how & 8) == 0;
  }
  h.pair.client_app.to_ask = {3'000, 50};
  unsigned from_client = 0;
  // 0, 1: established; 2: the client's second flight is lost; 3: the server is not heard at all.
  const unsigned stage = (how >> 1) & 3;
  if (stage >= 2)
    h.passing = [from_client, stage](const seen_datagram& d) mutable {
      return d.from_client ? ++from_client == 1 : stage == 2;
    };
  if (h.pair.connect((how & 16) != 0) == nullptr) return;
  h.settle(stage == 0 ? 25 * ms : stage == 1 ? 2 * second : 60 * ms);
  h.passing = nullptr;
  h.cut();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::unique_ptr<hijack> h;
  static unsigned inputs = 0;
  testing::GTEST_FLAG(break_on_failure) = true;
  if (size < 2) return 0;
  if (h == nullptr || ++inputs % inputs_a_pair == 0) h = std::make_unique<hijack>(victim::server, small_endpoints());
  input_bytes in{base::byte_reader(base::byte_view(data, size))};
  begin(*h, in.byte());
  actor a(*h, in);
  for (unsigned i = 0; i < most_actions && !in.in.empty(); ++i) a.act();
  a.finish();
  // Nobody speaks any more.
  h->cut();
  network& net = h->pair.net;
  const bool over =
      net.run([&] { return net.client->endpoint->connections() == 0 && net.server->endpoint->connections() == 0; },
              most_life_ns);
  require(over);
  for (const node* n : {net.client.get(), net.server.get()}) {
    require(held_by(*n) == holdings{});
    require(n->endpoint->is_whole());
    require(n->endpoint->half_open() == 0);
    require(n->drops.total() == n->useless);
  }
  return 0;
}

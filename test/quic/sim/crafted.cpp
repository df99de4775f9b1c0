#include "quic/sim/crafted.hpp"

namespace millrace::test {

namespace {

using quic::protect::open_errc;
using quic::wire::packet_type;

constexpr std::uint8_t long_bit = 0x80;
constexpr std::uint8_t phase_bit = 0x04;

constexpr std::size_t space_of(level at) { return std::min<std::size_t>(static_cast<std::size_t>(at), 2); }

std::uint8_t nibble(char c) { return static_cast<std::uint8_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10); }

}  // namespace

frames& frames::raw(base::byte_view more) {
  const std::size_t before = bytes_.size();
  bytes_.resize(before + more.size());
  std::copy(more.begin(), more.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(before));
  return *this;
}

frames& frames::numbers(std::initializer_list<std::uint64_t> values) { return list(value_list(values)); }

frames& frames::list(const value_list& values) {
  for (const std::uint64_t v : values) {
    std::array<std::uint8_t, 8> room;
    base::byte_writer out(room);
    EXPECT_TRUE(out.varint(v));
    raw(out.written());
  }
  return *this;
}

frames& frames::bytes(std::initializer_list<std::uint8_t> values) { return raw({values.begin(), values.size()}); }

frames& frames::stream(std::uint64_t id, std::uint64_t offset, std::size_t size, bool fin) {
  const byte_vector data(size, 'x');
  return add(quic::wire::stream_frame{.stream_id = id, .offset = offset, .data = data, .fin = fin});
}

frames& frames::crypto(std::uint64_t offset, std::size_t size) {
  const byte_vector data(size, 'x');
  return add(quic::wire::crypto_frame{.offset = offset, .data = data});
}

frames& frames::pad(std::size_t size) {
  if (bytes_.size() < size) bytes_.resize(size);
  return *this;
}

sim_options hijack::with_log(sim_options o, hijack& self) {
  o.client_algorithms.suites = {tls::cipher_suite::aes_128_gcm_sha256};
  o.key_log = {[](void* to, std::string_view line) noexcept { static_cast<hijack*>(to)->on_key(line); }, &self};
  return o;
}

hijack::hijack(victim against, const sim_options& o) : against_(against), pair(with_log(o, *this)) {
  pair.net.passing = [this](seen_datagram& d) {
    observe(d);
    if (is_cut) return false;
    return !passing || passing(d);
  };
}

void hijack::on_key(std::string_view line) {
  const std::size_t label_end = line.find(' ');
  byte_vector secret;
  for (std::size_t i = line.find(' ', label_end + 1) + 1; i + 1 < line.size(); i += 2)
    secret.push_back(static_cast<std::uint8_t>(nibble(line[i]) << 4 | nibble(line[i + 1])));
  secrets_[std::string(line.substr(0, label_end))] = std::move(secret);
}

bool hijack::keys(level at, bool of_client, unsigned phase, quic::protect::packet_keys& out) {
  if (at == level::initial)
    return quic::protect::derive_initial_keys(engine_, quic::wire::version_1, original,
                                              of_client ? quic::protect::side::client : quic::protect::side::server,
                                              out);
  std::string label = of_client ? "CLIENT_" : "SERVER_";
  label += at == level::early       ? "EARLY_TRAFFIC_SECRET"
           : at == level::handshake ? "HANDSHAKE_TRAFFIC_SECRET"
                                    : "TRAFFIC_SECRET_0";
  const auto found = secrets_.find(label);
  if (found == secrets_.end()) return false;
  const quic::protect::key_context context;
  quic::protect::traffic_secret secret;
  if (!quic::protect::set_secret(context.suite, found->second, secret) ||
      !quic::protect::derive_packet_keys(engine_, context, secret, out))
    return false;
  for (unsigned i = 0; i < phase; ++i)
    if (!quic::protect::next_secret(engine_, context, secret, secret) ||
        !quic::protect::derive_payload_keys(engine_, context, secret, out))
      return false;
  return true;
}

quic::path::path_address hijack::from(std::uint8_t host, std::uint16_t port) const {
  quic::path::path_address out;
  out.local = to_server() ? pair.net.server_address : pair.net.client_inside;
  out.remote = to_server() ? pair.net.client_outside : pair.net.server_address;
  if (host != 0) out.remote = sim_address(host, port);
  return out;
}

void hijack::observe(const seen_datagram& d) {
  quic::wire::packet_header header;
  if (d.bytes.size() > 20 && (d.bytes[0] & long_bit) != 0 && quic::wire::parse_packet(d.bytes, header)) {
    byte_vector& whose = d.from_client ? client_id : server_id;
    if (d.from_client && header.type == packet_type::initial && original.empty())
      original.assign(header.dcid.begin(), header.dcid.end());
    if (header.type != packet_type::zero_rtt) whose.assign(header.scid.begin(), header.scid.end());
  }
  if (d.from_client == to_server()) return;
  if (is_cut && on_heard) on_heard(d);
  if (is_cut) heard.push_back(d);
  read(d.bytes);
}

void hijack::read(base::byte_view datagram) {
  byte_vector copy(datagram.begin(), datagram.end());
  base::byte_span rest = copy;
  ++said.datagrams;
  said.bytes += datagram.size();
  while (!rest.empty()) {
    const std::size_t size = read_packet(rest);
    if (size == 0) return;
    rest = rest.subspan(size);
  }
}

// The bytes of the packet; 0: nothing we could go on behind.
std::size_t hijack::read_packet(base::byte_span rest) {
  level at = level::one_rtt;
  std::size_t size = rest.size();
  std::uint32_t pn_offset = static_cast<std::uint32_t>(1 + (to_server() ? client_id : server_id).size());
  packet_type type = packet_type::one_rtt;
  if ((rest[0] & long_bit) != 0) {
    quic::wire::packet_header header;
    if (!quic::wire::parse_packet(rest, header) || header.length == 0) return 0;
    type = header.type;
    at = type == packet_type::initial     ? level::initial
         : type == packet_type::handshake ? level::handshake
                                          : level::early;
    size = header.packet_size;
    pn_offset = header.pn_offset;
  }
  std::uint64_t& largest = read_[space_of(at)];
  const byte_vector as_it_was(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
  for (unsigned phase = 0; phase < (at == level::one_rtt ? 4u : 1u); ++phase) {
    quic::protect::packet_keys k;
    if (!keys(at, !to_server(), phase, k)) return size;
    byte_vector packet = as_it_was;
    quic::protect::opened_packet opened;
    if (quic::protect::open_packet(engine_, k, packet, pn_offset, largest, opened) != open_errc::ok) continue;
    ++said.packets;
    if (largest == quic::wire::no_packet_number || opened.packet_number > largest) largest = opened.packet_number;
    EXPECT_TRUE(
        quic::wire::walk_frames(base::byte_view(packet).subspan(opened.header_size, opened.payload_size), type, said))
        << "the victim itself sends what cannot be";
    break;
  }
  return size;
}

byte_vector hijack::seal(const crafted_packet& p) {
  quic::protect::packet_keys k;
  EXPECT_TRUE(keys(p.at, to_server(), p.phase, k)) << "no keys of this level";
  byte_vector payload = p.payload;
  const base::byte_view parts[] = {payload};
  byte_vector packet(payload.size() + 400);
  base::byte_writer out(packet);
  base::byte_span number;
  const byte_vector& right = p.at == level::initial && server_id.empty() ? original
                             : to_server()                               ? server_id
                                                                         : client_id;
  const byte_vector& dcid = p.dcid ? *p.dcid : right;
  const byte_vector& scid = p.scid ? *p.scid : to_server() ? client_id : server_id;
  if (p.at == level::one_rtt) {
    EXPECT_TRUE(emit(out, quic::wire::short_header{.dcid = dcid, .pn_size = 4}, number));
    if (p.phase % 2 != 0) packet[0] ^= phase_bit;
  } else {
    quic::wire::long_header h;
    h.type = p.at == level::initial ? packet_type::initial
             : p.at == level::early ? packet_type::zero_rtt
                                    : packet_type::handshake;
    h.version = p.version;
    h.dcid = dcid;
    h.scid = scid;
    h.token = p.token;
    h.length = 4 + payload.size() + crypto::aead_tag_size;
    h.pn_size = 4;
    EXPECT_TRUE(emit(out, h, number));
  }
  packet[0] ^= p.flip;
  std::uint64_t& next = next_[space_of(p.at)];
  quic::protect::seal_request request;
  request.out = packet;
  request.pn_offset = static_cast<std::uint32_t>(out.size() - 4);
  request.pn_size = 4;
  request.packet_number = p.number ? *p.number : next++;
  request.payload = parts;
  EXPECT_EQ(quic::protect::seal_packet(engine_, k, request), quic::protect::seal_errc::ok);
  packet.resize(request.size);
  return packet;
}

void hijack::inject(std::vector<byte_vector> datagrams, std::optional<quic::path::path_address> address) {
  std::vector<buf::packet> packets;
  std::vector<quic::conn::datagram_in> burst;
  packets.reserve(datagrams.size());
  for (const byte_vector& bytes : datagrams) {
    buf::packet whole{target().pool.alloc()};
    ASSERT_TRUE(whole);
    const base::byte_span room = whole.append(static_cast<std::uint16_t>(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), room.begin());
    packets.push_back(std::move(whole));
    quic::conn::datagram_in in;
    in.whole = &packets.back();
    in.bytes = room;
    in.address = address ? *address : from();
    burst.push_back(in);
  }
  target().useless += target().endpoint->on_datagrams(burst, pair.net.now_ns, target().drops);
  packets.clear();
  pair.net.flush();
}

void hijack::send(const frames& f, level at) {
  crafted_packet p{.at = at, .payload = f.get()};
  if (p.payload.size() < 4) p.payload.resize(4);
  if (at == level::initial) p.payload.resize(std::max<std::size_t>(p.payload.size(), 1200));
  inject({seal(p)});
}

std::optional<std::uint64_t> hijack::code_after(const frames& f, level at) {
  send(f, at);
  return said.code;
}

bool hijack::has_keys(level at) {
  quic::protect::packet_keys k;
  return !(at == level::early && !to_server()) && (at != level::initial || !original.empty()) &&
         keys(at, to_server(), 0, k);
}

void hijack::restart(victim against) {
  against_ = against;
  is_cut = false;
  secrets_.clear();
  original.clear();
  client_id.clear();
  server_id.clear();
  heard.clear();
  said = {};
  next_.fill(10'000);
  read_.fill(quic::wire::no_packet_number);
}

bool hijack::take_over() {
  if (!pair.fetch({1000})) return false;
  settle(3 * second);  // tickets, IDs, the search for the path's size
  cut();
  return connection() != nullptr;
}

}  // namespace millrace::test

// test/quic/sim/crafted.hpp - somebody who holds the keys of a live connection and keeps to no rule.
//
// Shape    a hijack makes a pair of endpoints (pair.hpp), lets a real handshake go as far as a test wants, cuts the
// real
//          peer off, and then seals whatever frames it is told to in packets of any level, number, IDs and first byte.
//          What the victim says in return is opened and remembered: frames by kind, and the code it closed with.
// Keys     from the client's key log; Initial keys from the client's first destination.
// Owner    the pair, with all it checks at the end: pools are whole again.
#pragma once

#include <optional>

#include "base/varint.hpp"
#include "quic/protect/initial.hpp"
#include "quic/protect/seal.hpp"
#include "quic/sim/pair.hpp"
#include "quic/wire/frame_walker.hpp"
#include "quic/wire/header_emit.hpp"

namespace millrace::test {

using byte_vector = std::vector<std::uint8_t>;

// Frames one behind the other: good ones by their struct, bad ones by their bytes.
class frames {
  byte_vector bytes_;

 public:
  template <class Frame>
  frames& add(const Frame& f) {
    std::array<std::uint8_t, 9'000> room;
    base::byte_writer out(room);
    EXPECT_TRUE(emit(out, f));
    return raw(out.written());
  }
  frames& raw(base::byte_view more);
  // Type and fields of a frame, each in its shortest form.
  frames& numbers(std::initializer_list<std::uint64_t> values);
  using value_list = std::vector<std::uint64_t>;
  frames& list(const value_list& values);  // the same
  frames& bytes(std::initializer_list<std::uint8_t> values);
  frames& stream(std::uint64_t id, std::uint64_t offset, std::size_t size, bool fin = false);
  frames& crypto(std::uint64_t offset, std::size_t size);
  frames& pad(std::size_t size);  // to so many bytes
  [[nodiscard]] const byte_vector& get() const noexcept { return bytes_; }
};

enum class level : std::uint8_t { initial, handshake, early, one_rtt };

struct crafted_packet {
  level at = level::one_rtt;
  byte_vector payload;
  std::optional<std::uint64_t> number{};      // none: the next one
  std::uint8_t flip = 0;                      // of the first byte, before it is protected
  unsigned phase = 0;                         // key updates
  std::optional<byte_vector> dcid{}, scid{};  // none: the right ones
  byte_vector token{};
  quic::wire::version_number version = quic::wire::version_1;
};

// What a victim answered.
struct answers : quic::wire::frame_visitor {
  unsigned datagrams = 0, packets = 0, acks = 0, path_responses = 0, retired = 0, closes = 0, resets = 0, tickets = 0;
  unsigned new_ids = 0;
  std::uint64_t bytes = 0, largest_acked = 0, ack_ranges = 0;
  std::uint64_t max_data = 0, max_stream_data = 0, max_streams = 0;
  std::optional<std::uint64_t> code;  // of CONNECTION_CLOSE
  byte_vector crypto;                 // of all levels, in the order it came
  using quic::wire::frame_visitor::on;
  bool on(const quic::wire::ack_frame& f) noexcept {
    ++acks;
    largest_acked = std::max(largest_acked, f.largest);
    ack_ranges = std::max(ack_ranges, f.range_count + 1);
    return true;
  }
  bool on(const quic::wire::crypto_frame& f) noexcept {
    if (f.offset != crypto.size()) return true;  // said again
    crypto.insert(crypto.end(), f.data.begin(), f.data.end());
    return true;
  }
  bool on(const quic::wire::path_response_frame&) noexcept { return ++path_responses != 0; }
  bool on(const quic::wire::retire_connection_id_frame&) noexcept { return ++retired != 0; }
  bool on(const quic::wire::new_connection_id_frame&) noexcept { return ++new_ids != 0; }
  bool on(const quic::wire::reset_stream_frame&) noexcept { return ++resets != 0; }
  bool on(const quic::wire::max_data_frame& f) noexcept {
    max_data = std::max(max_data, f.maximum);
    return true;
  }
  bool on(const quic::wire::max_stream_data_frame& f) noexcept {
    max_stream_data = std::max(max_stream_data, f.maximum);
    return true;
  }
  bool on(const quic::wire::max_streams_frame& f) noexcept {
    max_streams = std::max(max_streams, f.maximum);
    return true;
  }
  bool on(const quic::wire::connection_close_frame& f) noexcept {
    ++closes;
    code = f.error_code;
    return true;
  }
};

// What an endpoint holds for its peers.
struct holdings {
  std::size_t buffers = 0;
  std::uint32_t pieces = 0, streams = 0, sent_blocks = 0, handshakes = 0, connections = 0, ids = 0;
  friend bool operator==(const holdings&, const holdings&) = default;
  friend void PrintTo(const holdings& h, std::ostream* out) {
    *out << h.buffers << " buffers, " << h.pieces << " pieces, " << h.streams << " streams, " << h.sent_blocks
         << " blocks of sent packets, " << h.handshakes << " handshakes, " << h.connections << " connections, " << h.ids
         << " IDs";
  }
};
inline holdings held_by(const node& n) {
  const quic::conn::transport& t = n.endpoint->shared();
  // One buffer is the lcore's, for small pieces of any stream, from the first one on; and a connection may always have
  // something in flight, for which it holds a block.
  const std::size_t buffers = n.pool.in_use();
  const std::uint32_t connections = n.endpoint->connections();
  return {buffers == 0 ? 0 : buffers - 1, t.pieces.in_use(),
          t.streams.open_streams(),       t.sent.lent() > connections ? t.sent.lent() - connections : 0,
          t.handshakes.in_use(),          connections,
          n.endpoint->connection_ids()};
}

enum class victim : std::uint8_t { server, client };

class hijack {
  using space_numbers = std::array<std::uint64_t, 3>;
  std::map<std::string, byte_vector, std::less<>> secrets_;  // by label, of the newest connection
  crypto::engine engine_ = std::move(*crypto::engine::make());
  space_numbers next_{10'000, 10'000, 10'000};  // of ours, above all that the real peer used
  space_numbers read_{quic::wire::no_packet_number, quic::wire::no_packet_number, quic::wire::no_packet_number};
  victim against_;

  static sim_options with_log(sim_options o, hijack& self);
  void on_key(std::string_view line);
  [[nodiscard]] bool keys(level at, bool of_client, unsigned phase, quic::protect::packet_keys& out);
  void observe(const seen_datagram& d);
  void read(base::byte_view datagram);
  std::size_t read_packet(base::byte_span rest);

 public:
  sim_pair pair;
  byte_vector original, client_id, server_id;  // the IDs of long headers, as they went by
  bool is_cut = false;                         // the real peer is heard no more
  answers said;                                // by the victim, since is_cut
  std::vector<seen_datagram> heard;
  std::function<void(const seen_datagram&)> on_heard;
  std::function<bool(const seen_datagram&)> passing;  // before is_cut; false: lost

  explicit hijack(victim against, const sim_options& o = {});

  [[nodiscard]] bool to_server() const noexcept { return against_ == victim::server; }
  [[nodiscard]] node& target() const noexcept { return to_server() ? *pair.net.server : *pair.net.client; }
  [[nodiscard]] quic::conn::connection* connection() const noexcept {
    return to_server() ? pair.server_app.last : pair.connection;
  }
  [[nodiscard]] pattern_application& app() noexcept { return to_server() ? pair.server_app : pair.client_app; }
  [[nodiscard]] std::uint64_t event(quic::conn::event e) const noexcept { return target().endpoint->events().get(e); }
  [[nodiscard]] std::uint64_t dropped(stats::drop_reason r) const noexcept { return target().drops.get(r); }
  [[nodiscard]] holdings held() const { return held_by(target()); }
  // Where our packets seem to come from.
  [[nodiscard]] quic::path::path_address from(std::uint8_t host = 0, std::uint16_t port = 0) const;

  // Ready for another connection of the same pair; the ones before are over.
  void restart(victim against);
  // A whole handshake and all that follows by itself; then the real peer is cut off.
  bool take_over();
  void cut() {
    is_cut = true;
    said = {};
  }
  [[nodiscard]] bool has_keys(level at);
  [[nodiscard]] byte_vector seal(const crafted_packet& p);
  // Datagrams in one burst; then the victim has its say, for `wait_ns`.
  void inject(std::vector<byte_vector> datagrams, std::optional<quic::path::path_address> address = {});
  void settle(std::uint64_t wait_ns = 0) { pair.net.wait(wait_ns); }
  // One packet with these frames, in a datagram of its own (padded to 1200 bytes where the level wants that).
  void send(const frames& f, level at = level::one_rtt);
  // The same, with what comes of it; the code it closes with, none: it goes on.
  std::optional<std::uint64_t> code_after(const frames& f, level at = level::one_rtt);
  [[nodiscard]] std::uint64_t largest_read() const noexcept { return read_[2]; }  // of the victim's 1-RTT packets
  std::uint64_t next_number(level at) { return next_[std::min<std::size_t>(static_cast<std::size_t>(at), 2)]; }
};

// A client whose server is somebody else, and who knows no more than the client's first Initial.
struct false_server : hijack {
  explicit false_server(const sim_options& o = {}) : hijack(victim::client, o) {
    cut();
    EXPECT_NE(pair.connect(), nullptr);
    settle(1 * ms);
    EXPECT_FALSE(said.crypto.empty());
    server_id = {9, 9, 9, 9, 9, 9, 9, 9};
  }
};

}  // namespace millrace::test

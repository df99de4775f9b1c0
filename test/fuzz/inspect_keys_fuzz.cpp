// Connections whose secrets are known, under tables so small that everything overflows: frames of any kind, in packets
// that open; and captures of any kind, with blocks of secrets in them.
//
// Input    1 byte: bit 0 the rest is a capture file, else records; bits 1..2 the cipher suite, bit 3 QUIC v2, bit 4 a
//          handshake stands in front. Records: 1 byte of control, 2 bytes of length (little-endian, cut at the end),
//          data. Control: bits 0..1 the packet (Initial, 0-RTT, Handshake, 1-RTT) that holds the data as its frames,
//          bit 2 from the server, bit 3 after a key update, bit 4 the data is the datagram itself, bit 5 from another
//          address, bit 6 the capture has only half of it, bit 7 another connection.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_reader.hpp"
#include "inspect/analyzer.hpp"
#include "inspect/json_object.hpp"
#include "inspect/secret_conversation.hpp"
#include "inspect/table.hpp"
#include "net/wire/headers.hpp"

namespace {

using namespace millrace;
using inspect::test::conversation;
using test::byte_list;

void require(bool holds) {
  if (!holds) std::abort();
}

crypto::engine& engine() {
  static std::optional<crypto::engine> made = crypto::engine::make();
  require(made.has_value());
  return *made;
}

inspect::analyzer_options tiny() {
  inspect::analyzer_options options;
  options.caps.max_flows = 8;
  options.caps.max_hellos = 2;
  options.caps.hello_blocks = 4;
  options.caps.hello_bytes = 8192;
  options.caps.cids_per_connection = 4;
  options.caps.cids_per_flow = 2;
  options.caps.max_decrypted = 2;
  options.caps.max_secrets = 2;
  options.caps.handshake_blocks = 4;
  options.caps.max_streams = 6;
  options.caps.streams_per_connection = 4;
  options.caps.stream_pieces = 6;
  options.caps.pieces_per_stream = 4;
  options.caps.idle_ns = 1'000'000'000;
  options.seed = 1;
  return options;
}

// Reports as the role does, into text that is thrown away.
struct reader final : inspect::observer {
  std::string text;
  void on_connection(const inspect::connection& c) override {
    text.clear();
    json::string_sink sink(text);
    json::writer out(sink);
    inspect::write_object(c, "fuzz", out);
    require(out.end_document() == json::write_errc::ok);
    inspect::connection_table table;
    table.add(c);
  }
  void on_flow(const inspect::flow&) override {}
};

std::byte* zeroed(std::size_t size) {  // a vector would write byte after byte, which is most of a run here
  auto* at = static_cast<std::byte*>(std::aligned_alloc(64, size));
  require(at != nullptr);
  std::memset(at, 0, size);
  return at;
}

struct bed {
  inspect::analyzer_options options = tiny();
  std::size_t size = (inspect::analyzer::bytes_needed(options.caps) + 63) / 64 * 64;
  std::unique_ptr<std::byte, decltype(&std::free)> memory{zeroed(size), &std::free};
  reader told;
  inspect::analyzer analyzer{{memory.get(), size}, options, engine(), told};
  std::uint64_t now = 1'000'000'000;

  void udp(bool from_client, bool moved, base::byte_view payload, bool half) {
    net::wire::frame_spec spec;
    const std::array<std::uint8_t, 4> client = {10, 0, 0, static_cast<std::uint8_t>(moved ? 2 : 1)};
    const std::array<std::uint8_t, 4> server = {192, 0, 2, 1};
    spec.src = base::ip_address::v4(from_client ? client : server);
    spec.dst = base::ip_address::v4(from_client ? server : client);
    spec.src_port = from_client ? 5000 : 443;
    spec.dst_port = from_client ? 443 : 5000;
    byte_list frame(net::wire::frame_headers_size(spec) + payload.size());
    base::byte_writer writer(frame);
    if (!net::wire::emit_frame(spec, payload, writer)) return;
    const auto wire = static_cast<std::uint32_t>(frame.size());
    if (half) frame.resize(frame.size() - payload.size() / 2);
    analyzer.on_packet(frame, net::wire::link_type::ethernet, now += 1'000'000, wire);
    const inspect::decryptor& d = analyzer.quic().decryption();
    require(d.sessions().in_use() <= options.caps.max_decrypted);
    require(d.streams().streams_in_use() <= options.caps.max_streams);
    require(d.streams().pieces_in_use() <= options.caps.stream_pieces);
    require(d.handshakes().blocks_in_use() <= options.caps.handshake_blocks);
  }
  void expect_all_given_back() {
    analyzer.finish();
    const inspect::counters& c = analyzer.count();
    require(c.packets.get() == c.delivered.get() + c.drops.total());
    const inspect::decryptor& d = analyzer.quic().decryption();
    require(d.sessions().in_use() == 0 && d.streams().streams_in_use() == 0 && d.streams().pieces_in_use() == 0);
    require(d.handshakes().blocks_in_use() == 0 && analyzer.quic().cids().in_use() == 0);
  }
};

void run_capture(base::byte_view file) {
  bed b;
  const auto reader = std::make_unique<net::wire::capture_reader>(file);
  for (auto event = reader->next(); event != net::wire::capture_event::end; event = reader->next()) {
    if (event == net::wire::capture_event::secrets) b.analyzer.add_secrets(reader->secrets());
    if (event != net::wire::capture_event::record) continue;
    const net::wire::capture_record& r = reader->record();
    b.analyzer.on_packet(r.data, net::wire::from_linktype_number(r.link), r.ts_ns, r.original_length);
  }
  b.expect_all_given_back();
}

byte_list packet_of(conversation& talk, std::uint8_t control, base::byte_view frames) {
  const bool from_client = (control & 4) == 0;
  switch (control & 3) {
    case 0:
      return talk.initial(from_client, frames);
    case 1:
      return talk.early(frames);
    case 2:
      return talk.handshake(from_client, frames);
    default:
      if ((control & 8) != 0) talk.update_keys(from_client);
      return talk.one_rtt(from_client, frames);
  }
}

void run_records(std::uint8_t how, base::byte_view rest) {
  bed b;
  inspect::test::conversation_spec spec;
  spec.suite = static_cast<quic::protect::cipher_suite>(0x1301 + std::min(how >> 1 & 3, 2));
  if ((how & 8) != 0) spec.version = quic::wire::version_2;
  std::vector<conversation> talks;
  talks.emplace_back(engine(), spec);
  spec.server_cid = byte_list(8, 0x66);
  talks.emplace_back(engine(), spec);
  talks[1].first_dcid = byte_list(8, 0x67);
  b.analyzer.add_key_log(talks[0].key_log());
  b.analyzer.end_key_log();
  if ((how & 16) != 0) {
    for (conversation& talk : talks)
      talk.handshake_with([&](bool from_client, const byte_list& d) { b.udp(from_client, false, d, false); });
  }
  base::byte_reader in(rest);
  std::uint8_t control = 0;
  for (int n = 0; n < 64 && in.u8(control); ++n) {
    std::uint8_t low = 0;
    std::uint8_t high = 0;
    base::byte_view data;
    if (!in.u8(low) || !in.u8(high)) break;
    const std::size_t size = std::min<std::size_t>({std::size_t{low} | std::size_t{high} << 8, in.remaining(), 4000});
    if (!in.bytes(size, data)) break;
    const byte_list datagram =
        (control & 16) != 0 ? byte_list(data.begin(), data.end()) : packet_of(talks[control >> 7], control, data);
    b.udp((control & 4) == 0, (control & 32) != 0, datagram, (control & 64) != 0);
  }
  b.expect_all_given_back();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<std::uint8_t> rest(data + 1, data + size);
  if ((data[0] & 1) != 0)
    run_capture(rest);
  else
    run_records(data[0], rest);
  return 0;
}

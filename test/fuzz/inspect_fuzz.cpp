// A run of packets into the analyzer, with tables so small that everything overflows. Whatever comes in, each frame is
// counted once, and at the end every table is empty again.
//
// Input    records: 1 byte of control, 2 bytes of length (little-endian, cut at the end), data. Control: bits 0..1 what
//          the data is (a frame; a UDP payload; the frames of an Initial, which is then sealed for real; a frame of
//          another link type), bit 2 from the server, bits 3..4 which client, bits 5..6 how much time passes before,
//          bit 7 another connection ID.
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/byte_reader.hpp"
#include "base/byte_writer.hpp"
#include "inspect/analyzer.hpp"
#include "inspect/json_object.hpp"
#include "inspect/table.hpp"
#include "net/wire/headers.hpp"

namespace {

using namespace millrace;

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
  options.caps.idle_ns = 1'000'000'000;
  options.seed = 1;
  return options;
}

// Reports as the role does, into text that is thrown away.
struct reader final : inspect::observer {
  std::string text;
  template <class Object>
  void write(const Object& object) {
    text.clear();
    json::string_sink sink(text);
    json::writer out(sink);
    inspect::write_object(object, "fuzz", out);
    require(out.end_document() == json::write_errc::ok);
  }
  void on_connection(const inspect::connection& c) override {
    write(c);
    inspect::connection_table table;
    table.add(c);
  }
  void on_flow(const inspect::flow& f) override { write(f); }
};

constexpr std::array<std::uint64_t, 4> time_steps = {0, 1'000'000, 400'000'000, 100'000'000'000};
constexpr std::array<quic::wire::version_number, 4> versions = {1, 0x6B33'43CF, 0xFF00'001D, 0x5430'3531};

struct packet_maker {
  std::array<std::uint8_t, 70'000> frame;
  std::array<std::uint8_t, 2048> packet;

  base::byte_view udp(base::byte_view payload, unsigned client, bool from_server) {
    net::wire::frame_spec spec;
    spec.src = base::ip_address::parse(client == 3 ? "2001:db8::1" : "10.0.0.1").value();
    spec.dst = base::ip_address::parse(client == 3 ? "2001:db8::2" : "10.0.0.2").value();
    spec.src_port = static_cast<std::uint16_t>(50'000 + client);
    spec.dst_port = client == 2 ? 5500 : 443;
    if (from_server) {
      std::swap(spec.src, spec.dst);
      std::swap(spec.src_port, spec.dst_port);
    }
    base::byte_writer out(frame);
    return net::wire::emit_frame(spec, payload, out) ? base::byte_view(out.written()) : base::byte_view{};
  }

  // An Initial of the client with these frames.
  base::byte_view initial(base::byte_view frames, unsigned client, bool other_id) {
    const quic::wire::version_number version = versions[client];
    const std::array<std::uint8_t, 8> dcid = {1, 2, 3, 4, 5, 6, 7, static_cast<std::uint8_t>(client * 2 + other_id)};
    frames = frames.first(std::min<std::size_t>(frames.size(), 1500));
    base::byte_writer out(packet);
    const bool v2 = version == quic::wire::version_2;
    const std::uint64_t length = 4 + frames.size() + crypto::aead_tag_size;
    bool room = out.u8(v2 ? 0xD3 : 0xC3) && out.u32(version) && out.u8(8) && out.bytes(dcid) && out.u8(0) &&
                out.varint(0) && out.u16(static_cast<std::uint16_t>(0x4000 | length));
    const auto pn_offset = static_cast<std::uint32_t>(out.size());
    base::byte_span tag;
    room = room && out.u32(7) && out.bytes(frames) && out.reserve(crypto::aead_tag_size, tag);
    require(room);
    quic::protect::packet_keys keys;
    require(quic::protect::derive_initial_keys(engine(), version, dcid, quic::protect::side::client, keys));
    require(quic::protect::seal_initial(engine(), keys, out.written(), pn_offset, 4, 7));
    return out.written();
  }
};

// One cache-aligned block for the tables, zeroed for every input.
std::span<std::byte> table_memory(const inspect::limits& caps) {
  constexpr std::size_t line = 64;
  static const std::size_t bytes = inspect::analyzer::bytes_needed(caps);
  static std::vector<std::byte> storage(bytes + line);
  std::byte* at = storage.data() + (line - reinterpret_cast<std::uintptr_t>(storage.data()) % line) % line;
  std::memset(at, 0, bytes);
  return {at, bytes};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const inspect::analyzer_options options = tiny();
  static packet_maker make;
  reader told;
  inspect::analyzer analyzer(table_memory(options.caps), options, engine(), told);
  base::byte_reader in({data, size});
  std::uint64_t now = 1'000'000'000'000;
  std::uint8_t control = 0;
  while (in.u8(control)) {
    std::uint8_t low = 0;
    std::uint8_t high = 0;
    if (!in.u8(low) || !in.u8(high)) break;
    base::byte_view content;
    require(in.bytes(std::min<std::size_t>(low | high << 8, in.remaining()), content));
    now += time_steps[control >> 5 & 3];
    const unsigned client = control >> 3 & 3;
    const bool from_server = (control & 4) != 0;
    auto link = net::wire::link_type::ethernet;
    base::byte_view frame = content;
    if ((control & 3) == 1) frame = make.udp(content, client, from_server);
    if ((control & 3) == 2) frame = make.udp(make.initial(content, client, control >> 7 != 0), client, from_server);
    if ((control & 3) == 3) link = static_cast<net::wire::link_type>((control >> 2 & 15) % 10);
    analyzer.on_packet(frame, link, now, static_cast<std::uint32_t>(frame.size()));
    require(analyzer.flows().pool().in_use() <= options.caps.max_flows);
    require(analyzer.quic().pool().in_use() <= options.caps.max_flows);
    require(analyzer.quic().hellos().blocks_in_use() <= options.caps.hello_blocks);
  }
  analyzer.finish();
  const inspect::counters& c = analyzer.count();
  require(c.packets.get() == c.delivered.get() + c.drops.total());
  require(analyzer.flows().pool().in_use() == 0 && analyzer.quic().pool().in_use() == 0);
  require(analyzer.quic().cids().in_use() == 0 && analyzer.quic().cids().lengths() == 0);
  require(analyzer.quic().hellos().assemblies_in_use() == 0 && analyzer.quic().hellos().blocks_in_use() == 0);
  return 0;
}

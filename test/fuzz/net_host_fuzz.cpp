// A host fed with any sequence of frames, sends and passing time: nothing read outside, every frame answered once,
// every table within its caps, and what is delivered lies in the frame or in the host.
//
// Input    commands, one byte each: 16 lets time pass, 17 sends, any other is a frame (two bytes of length, its bytes).
//          Bit 0 sets the destination MAC, bit 1 mends the IPv4 and transport checksums, so that the fuzzer gets
//          inside.
#include <cstdlib>
#include <vector>

#include "net/host.hpp"
#include "net/wire/checksum.hpp"

namespace {

using namespace millrace;

class one_frame final : public net::frame_sink {
  std::vector<std::uint8_t> room_;

 public:
  bool refuses = false;
  [[nodiscard]] base::byte_span take(std::size_t bytes) noexcept override {
    if (refuses) return {};
    if (bytes > 65535) __builtin_trap();
    room_ = std::vector<std::uint8_t>(bytes);  // of exactly this size, for the sanitizer
    return room_;
  }
};

net::host_config config_of() {
  net::host_config c;
  c.mac = {{2, 0, 0, 0, 0, 1}};
  c.addresses = {{base::ip_address::parse("198.18.0.1").value(), 24},
                 {base::ip_address::parse("2001:db8:18::1").value(), 64}};
  c.routes = {{base::ip_address::parse("0.0.0.0").value(), 0, base::ip_address::parse("198.18.0.254").value()}};
  c.neighbours = {{base::ip_address::parse("198.18.0.9").value(), {{2, 0, 0, 0, 0, 9}}}};
  c.dad_transmits = 1;
  c.seed = 1;
  c.limits.neighbours = 16;
  c.limits.pending_frames = 16;
  c.limits.reassembly_datagrams = 4;
  c.limits.reassembly_bytes = 65536;
  c.limits.path_mtus = 4;
  return c;
}

void mend(std::vector<std::uint8_t>& frame) {
  if (frame.size() < 34 || frame[12] != 8 || frame[13] != 0) {
    if (frame.size() < 62 || frame[12] != 0x86 || frame[13] != 0xDD || frame[20] != 58) return;
    const base::byte_view all = frame;
    const std::size_t size = base::load_be16(frame.data() + 18);
    if (size < 8 || size > frame.size() - 54) return;
    frame[56] = frame[57] = 0;
    net::wire::internet_sum sum;
    sum.add_pseudo_header(base::ip_address::v6(all.subspan(22, 16)), base::ip_address::v6(all.subspan(38, 16)), 58,
                          static_cast<std::uint32_t>(size));
    sum.add(all.subspan(54, size));
    base::store_be16(frame.data() + 56, sum.checksum());
    return;
  }
  const std::size_t header = (frame[14] & 15u) * 4;
  if (header < 20 || header > frame.size() - 14) return;
  frame[24] = frame[25] = 0;
  base::store_be16(frame.data() + 24, net::wire::internet_checksum(base::byte_view(frame).subspan(14, header)));
  const std::size_t total = base::load_be16(frame.data() + 16);
  if (total > frame.size() - 14 || total < header + 8) return;
  const std::size_t at = 14 + header;
  if (frame[23] == 1) {
    frame[at + 2] = frame[at + 3] = 0;
    base::store_be16(frame.data() + at + 2,
                     net::wire::internet_checksum(base::byte_view(frame).subspan(at, total - header)));
  } else if (frame[23] == 17) {
    frame[at + 6] = frame[at + 7] = 0;
  }
}

struct reader {
  base::byte_view in;
  std::size_t at = 0;
  std::uint8_t u8() { return at < in.size() ? in[at++] : std::uint8_t{0}; }
  base::byte_view take(std::size_t size) {
    const base::byte_view out = in.subspan(at, std::min(size, in.size() - at));
    at += out.size();
    return out;
  }
};

void check(net::host& h) {
  if (h.neighbours().in_use() > 16 || h.frames_held() > 16 || h.fragments().in_use() > 4 ||
      h.fragments().blocks_in_use() > h.fragments().blocks() || h.path_mtu().size() > 4)
    __builtin_trap();
  if (h.neighbours().frames_kept() != h.figures().sent_late.get() + h.held_drops().total() + h.frames_held())
    __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto made = net::host::make(config_of());
  if (!made) std::abort();
  net::host& h = *made.value();
  h.open_port(5500);
  std::uint64_t now = 1'000'000'000;
  h.start(now);
  one_frame sink;
  reader in{{data, size}};
  std::uint64_t given = 0;
  while (in.at < size) {
    const std::uint8_t command = in.u8();
    if (command == 16) {
      now += std::uint64_t{in.u8()} * 100'000'000;
      h.on_time(now, sink);
      if (h.due_ns() <= now) __builtin_trap();
    } else if (command == 17) {
      const net::udp_flow flow{
          .local = {h.addresses()[in.u8() % h.addresses().size()].ip, 5500},
          .remote = {in.u8() % 2 == 0
                         ? base::ip_address::v4(base::byte_view(std::vector<std::uint8_t>{198, 18, 0, in.u8()}))
                         : h.addresses()[1].ip,
                     9}};
      std::vector<std::uint8_t> frame(h.headers_size(flow.local.address.family) + in.u8() * std::size_t{16});
      sink.refuses = in.u8() % 8 == 0;
      static_cast<void>(h.send_udp(flow, frame, now, sink));
      sink.refuses = false;
    } else {
      const std::size_t length = std::size_t{in.u8()} << 8 | in.u8();
      const base::byte_view bytes = in.take(length);
      std::vector<std::uint8_t> frame(bytes.begin(), bytes.end());
      if ((command & 1) != 0 && frame.size() >= 6) std::copy_n(h.config().mac.octets.begin(), 6, frame.begin());
      if ((command & 2) != 0) mend(frame);
      net::udp_delivery out;
      const net::rx_answer answer = h.receive(frame, {}, now, sink, out);
      ++given;
      if ((answer.what == net::rx_what::drop) != (answer.why != stats::drop_reason::none)) __builtin_trap();
      if (answer.what == net::rx_what::deliver) {
        if (out.local.port != 5500 || !h.addresses().is_ours(out.local.address)) __builtin_trap();
        const bool inside = out.payload.data() >= frame.data() &&
                            out.payload.data() + out.payload.size() <= frame.data() + frame.size();
        if (inside == out.reassembled) __builtin_trap();
        const std::vector<std::uint8_t> copy(out.payload.begin(), out.payload.end());  // all of it may be read
        if (copy.size() != out.payload.size()) __builtin_trap();
      }
    }
    check(h);
  }
  const net::host_figures& f = h.figures();
  if (given != f.delivered.get() + f.consumed.get() + f.dropped.get()) __builtin_trap();
  return 0;
}

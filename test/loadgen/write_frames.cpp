// Writes generated frames as a capture, for programs that judge them: write_frames OUT.pcap SIZE FLOWS [KINDS].
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "loadgen/frame_generator.hpp"

namespace {

using namespace millrace;

void put(std::FILE* out, std::initializer_list<std::uint32_t> words) {
  for (const std::uint32_t word : words) std::fwrite(&word, sizeof word, 1, out);
}

int write(std::FILE* out, loadgen::frame_generator& from) {
  put(out, {0xA1B2'C3D4, 4u << 16 | 2, 0, 0, 65535, 1});  // a pcap of Ethernet frames, microseconds
  std::vector<std::uint8_t> room(from.largest_frame());
  for (std::uint64_t i = 0; i < from.cycle_frames(); ++i) {
    const std::size_t size = from.fill(i, room);
    if (size == 0) return 1;
    const auto length = static_cast<std::uint32_t>(size);
    put(out, {static_cast<std::uint32_t>(1'700'000'000 + i / 1000), static_cast<std::uint32_t>(i % 1000 * 1000), length,
              length});
    std::fwrite(room.data(), 1, size, out);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  loadgen::frame_options options;
  options.frame_size = static_cast<std::uint32_t>(std::atoi(argv[2]));
  options.flows = static_cast<std::uint32_t>(std::atoi(argv[3]));
  options.order = loadgen::frame_order::life;
  if (argc > 4) {
    const auto kinds = loadgen::parse_traffic_kinds(argv[4]);
    if (!kinds) return 2;
    options.kinds = kinds.value();
  }
  auto engine = crypto::engine::make();
  if (!engine) return 1;
  auto from = loadgen::frame_generator::make(options, *engine);
  if (!from) {
    std::fprintf(stderr, "%s\n", from.error().what.c_str());
    return 2;
  }
  std::FILE* out = std::fopen(argv[1], "wb");
  if (out == nullptr) return 1;
  const int status = write(out, from.value());
  return std::fclose(out) == 0 ? status : 1;
}

// What fwd's parse mode does with any frame: judged and classified, at every verification level, nothing read outside.
#include "pipeline/stage_parse.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  static const pipeline::classify_ports ports = pipeline::default_classify_ports();
  const base::byte_view frame(data, size);
  stats::drop_reason least{};
  for (const auto verify : {pipeline::verify_level::none, pipeline::verify_level::ip, pipeline::verify_level::full}) {
    net::wire::decoded headers;
    const stats::drop_reason why = pipeline::judge(frame, {}, verify, headers);
    if (verify == pipeline::verify_level::none) least = why;
    // Verifying more never lets a frame pass that less would not.
    if (least != stats::drop_reason::none && why != least) __builtin_trap();
    if (why != stats::drop_reason::none) continue;
    const pipeline::classified found = pipeline::classify(frame, headers, ports);
    if (found.what >= pipeline::traffic_class::count_ || found.quic_packets > pipeline::max_coalesced) __builtin_trap();
  }
  return 0;
}

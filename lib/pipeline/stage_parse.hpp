// pipeline/stage_parse.hpp - a whole burst decoded and classified: L2-L4, then QUIC or SRMP.
//
// Shape    one walk over the burst, mbufs and first bytes prefetched some packets ahead. Each packet is decoded, its
//          checksums are judged as far as `verify` asks, and its class is counted.
// Drops    malformed L2-L4 with the reason of net/defects.hpp, an IP length beyond the frame (ip_bad_total_length), a
//          chain longer than the scratch buffer (l2_oversized), a wrong checksum. What is only unknown, too deep or not
//          IP goes on as class `other` or `other_ip`: it is sound as far as we can see.
// Checksum hardware's verdict counts where the driver gives one; "unknown" is verified here.
// Owner    the burst keeps what is not dropped, without holes.
// Threads  one lcore. Nothing allocates; chains are copied into scratch, the one copy there is.
// Tests    test/pipeline/stage_parse_test.cpp    Bench  bench/pipeline/stage_bench.cpp
#pragma once

#include <array>

#include "buf/burst.hpp"
#include "pipeline/counts.hpp"
#include "pipeline/traffic_class.hpp"

namespace millrace::pipeline {

// Which checksums parse verifies. `ip` is the IPv4 header alone; `full` UDP and TCP too, which reads every byte.
enum class verify_level : std::uint8_t { none, ip, full };
[[nodiscard]] constexpr std::string_view to_string(verify_level level) noexcept {
  return level == verify_level::none ? "none" : level == verify_level::ip ? "ip" : "full";
}

struct parse_settings {
  classify_ports ports = default_classify_ports();
  verify_level verify = verify_level::full;
};

inline constexpr std::size_t scratch_bytes = 65536;

struct parse_work {
  parse_settings settings;
  std::array<std::uint8_t, scratch_bytes> scratch;  // chains, one at a time
};

// none: sound. `frame` holds the whole packet. Used by the stage; public for tests and benches.
[[nodiscard]] stats::drop_reason judge(base::byte_view frame, buf::checksum_verdict hardware, verify_level verify,
                                       net::wire::decoded& headers) noexcept;

// Answers the bytes that stay in the burst; `received_bytes` are those it came with.
std::uint64_t parse_burst(buf::burst& packets, parse_work& work, std::uint64_t& received_bytes,
                          lcore_counters& counters) noexcept;

}  // namespace millrace::pipeline

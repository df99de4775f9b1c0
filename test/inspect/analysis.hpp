// test/inspect/analysis.hpp - an analyzer on simulated time, with what it reported at hand.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "inspect/analyzer.hpp"
#include "mem/region.hpp"
#include "net/wire/headers.hpp"
#include "support/bytes.hpp"

namespace millrace::inspect::test {

using millrace::test::byte_list;

inline base::endpoint at(std::string_view address, std::uint16_t port) {
  return {base::ip_address::parse(address).value(), port};
}

inline crypto::engine& engine() {
  static std::optional<crypto::engine> one = crypto::engine::make();
  return one.value();
}

struct recorder final : observer {
  std::vector<connection> connections;
  std::vector<std::optional<session_facts>> sessions;  // of each connection, what decryption told
  std::vector<flow> flows;
  void on_connection(const connection& c) override {
    connections.push_back(c);
    connections.back().decrypted = nullptr;
    sessions.push_back(c.decrypted == nullptr ? std::nullopt : std::optional(*c.decrypted));
  }
  void on_flow(const flow& f) override { flows.push_back(f); }
};

class analysis {
  mem::region memory_;

 public:
  static constexpr std::uint64_t second = 1'000'000'000;
  recorder told;
  analyzer under_test;
  std::uint64_t now = 1'000 * second;
  base::endpoint client = at("10.0.0.1", 50000);
  base::endpoint server = at("192.0.2.1", 443);

  explicit analysis(const analyzer_options& options = small())
      : memory_(mem::region::make("inspect test", analyzer::bytes_needed(options.caps))),
        under_test({memory_.data(), memory_.size_bytes()}, options, engine(), told) {}

  static analyzer_options small() {
    analyzer_options options;
    options.caps.max_flows = 64;
    options.caps.max_hellos = 8;
    options.caps.hello_blocks = 64;
    options.caps.max_decrypted = 0;  // who has secrets says so
    options.seed = 7;
    return options;
  }

  static byte_list frame(const base::endpoint& src, const base::endpoint& dst, base::byte_view payload,
                         net::wire::transport l4 = net::wire::transport::udp,
                         std::uint8_t tcp_flags = net::wire::tcp_flag::ack) {
    net::wire::frame_spec spec;
    spec.src = src.address;
    spec.dst = dst.address;
    spec.src_port = src.port;
    spec.dst_port = dst.port;
    spec.l4 = l4;
    spec.tcp.flags = tcp_flags;
    byte_list out(net::wire::frame_headers_size(spec) + payload.size());
    base::byte_writer writer(out);
    EXPECT_TRUE(net::wire::emit_frame(spec, payload, writer));
    return out;
  }
  void udp(const base::endpoint& src, const base::endpoint& dst, base::byte_view payload) {
    raw(frame(src, dst, payload));
  }
  void raw(const byte_list& bytes, std::size_t original = 0) {
    under_test.on_packet(bytes, net::wire::link_type::ethernet, now,
                         static_cast<std::uint32_t>(original == 0 ? bytes.size() : original));
  }
  void to_server(base::byte_view payload) { udp(client, server, payload); }
  void to_client(base::byte_view payload) { udp(server, client, payload); }

  // All that was seen, the analysis over.
  const std::vector<connection>& connections() {
    under_test.finish();
    return told.connections;
  }
  // The only connection; an empty one when there is none or more.
  const connection& only() {
    static const connection nothing{};
    EXPECT_EQ(connections().size(), 1u);
    return told.connections.size() == 1 ? told.connections.front() : nothing;
  }
  std::uint64_t dropped(stats::drop_reason why) const { return under_test.count().drops.get(why); }
  std::uint64_t anomalies(stats::drop_reason why) const { return under_test.count().anomalies.get(why); }
  void expect_conservation() const {
    const counters& c = under_test.count();
    EXPECT_EQ(c.packets.get(), c.delivered.get() + c.drops.total());
  }
};

inline std::string sni_of(const connection& c) { return std::string(c.facts.sni()); }
inline std::string hex_of(const cid& id) { return millrace::test::to_hex(id.view()); }

}  // namespace millrace::inspect::test

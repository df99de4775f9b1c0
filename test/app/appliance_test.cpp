// The appliance on one end of a pair of crossed rings, a caller's loop on the other, by turns on one thread or with the
// appliance on an lcore of its own.
#include "app/appliance.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>

#include "env/lcore.hpp"
#include "pipeline/service_loop.hpp"
#include "port/crossed_rings.hpp"
#include "support/eal_main.hpp"
#include "support/packets.hpp"

namespace millrace::app {
namespace {

using bytes = std::vector<std::uint8_t>;
using pipeline::service_loop;
using pipeline::service_turn;
using pipeline::udp_arrival;

base::ip_address address(std::string_view text) { return base::ip_address::parse(text).value(); }

// Says what it is told to and keeps what it hears.
class caller final : public pipeline::udp_service {
 public:
  static constexpr std::uint16_t port = 40000;
  std::deque<std::pair<base::endpoint, bytes>> to_say;
  std::vector<bytes> heard;

  void on_datagrams(std::span<const udp_arrival> arrivals, service_turn&) noexcept override {
    for (const udp_arrival& one : arrivals) heard.emplace_back(one.udp.payload.begin(), one.udp.payload.end());
  }
  [[nodiscard]] std::uint64_t due_ns() const noexcept override { return to_say.empty() ? pipeline::never_ns : 0; }
  void on_time(service_turn& turn) noexcept override {
    for (; !to_say.empty(); to_say.pop_front()) {
      const net::udp_flow flow{.local = {address("198.18.0.2"), port}, .remote = to_say.front().first};
      (void)turn.outputs[0]->send(flow, to_say.front().second);
    }
  }
};

serve_config config_of(std::string_view text) {
  auto read = parse_config(text, "test");
  EXPECT_TRUE(read) << (read ? "" : read.error().what);
  return std::move(read.value().config);
}

constexpr std::string_view plain = "echo-port = 7\nidle = \"poll\"\n[[interface]]\naddress = \"198.18.0.1/24\"\n";

class ends {
  static inline unsigned made_ = 0;

 public:
  test::checked_pool pool{4095};
  port::crossed_rings cable;
  std::deque<port::port> ports;
  std::unique_ptr<appliance> server;
  std::unique_ptr<service_loop> client;
  caller says;

  explicit ends(const serve_config& config, std::vector<unsigned> lcores = {}, bool client_has_our_address = false)
      : cable(std::move(port::crossed_rings::make("ap" + std::to_string(made_++)).value())) {
    for (const std::uint16_t id : {cable.first(), cable.second()}) {
      auto plan = port::make_plan({&port::read_facts(id).value(), 1}, {});
      auto opened = port::port::open(plan.value().ports[0], *pool);
      EXPECT_TRUE(opened && opened.value().start());
      ports.push_back(std::move(opened.value()));
    }
    const port::port* first = &ports[0];
    auto made = appliance::make(config, {&first, 1}, lcores, *pool, "ap" + std::to_string(made_));
    EXPECT_TRUE(made) << (made ? "" : made.error().what);
    server = std::move(made.value());
    pipeline::loop_interface at{.port = cable.second(), .host = {}};
    at.host.mac = {{2, 0, 0, 0, 9, 9}};
    at.host.addresses = {{address("198.18.0.2"), 24},
                         {address(client_has_our_address ? "2001:db8:18::1" : "2001:db8:18::2"), 64}};
    at.host.dad_transmits = 0;
    at.host.announce = false;
    client = std::move(service_loop::make({.idle = pipeline::idle_policy::poll}, {&at, 1}, *pool).value());
    EXPECT_TRUE(client->open(caller::port, says));
  }
  ~ends() {
    server.reset();
    client.reset();
    buf::burst left;
    for (const port::port& p : ports)
      while (port::rx_burst(p.id(), 0, left, 32) != 0) left.free_all();
    ports.clear();
  }

  void say(std::uint16_t port, bytes payload) {
    says.to_say.push_back({{address("198.18.0.1"), port}, std::move(payload)});
  }
  // Until `done()`, for at most ten seconds of a clock: what takes that long has failed.
  template <class Done>
  bool run_until(Done done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done()) {
      if (std::chrono::steady_clock::now() > until) return false;
      for (int i = 0; i < 16; ++i) client->turn();
      server->slice();
    }
    return true;
  }
  // Both stop; afterwards the server's packets add up.
  void expect_balance() {
    client->finish();
    server->stop();
    server->drain();
    const pipeline::figures sum = server->total();
    EXPECT_TRUE(sum.is_conserved());
    EXPECT_EQ(sum.heap_calls, 0u);
  }
};

bytes call(std::string_view name, std::uint8_t seq) {
  const auto size = static_cast<std::uint8_t>(name.size());
  bytes out(5 + name.size());
  out[0] = 0x01;
  out[1] = seq;
  out[2] = static_cast<std::uint8_t>(size + 1);
  out[4] = size;
  std::copy(name.begin(), name.end(), out.begin() + 5);
  return out;
}

std::uint64_t count_of(const std::vector<std::pair<std::string, std::uint64_t>>& all, std::string_view kind) {
  for (const auto& [name, n] : all)
    if (name == kind) return n;
  return 0;
}

TEST(appliance, answers_calls_and_echoes_and_counts_what_went_wrong) {
  ends e(config_of(plain));
  e.say(7, {1, 2, 3});
  ASSERT_TRUE(e.run_until([&] { return e.says.heard.size() == 1; }));
  EXPECT_EQ(e.says.heard[0], (bytes{1, 2, 3}));
  e.say(5500, call("Api/All", 9));
  ASSERT_TRUE(e.run_until([&] { return e.says.heard.size() == 2; }));
  const std::string reply(e.says.heard[1].begin(), e.says.heard[1].end());
  EXPECT_EQ(e.says.heard[1][1], 9);
  EXPECT_NE(reply.find("Echo"), std::string::npos) << reply;
  e.say(5500, call("No/Such", 10));
  ASSERT_TRUE(e.run_until([&] { return e.says.heard.size() == 3; }));
  e.say(5500, {0x01, 1, 200});
  ASSERT_TRUE(e.run_until([&] { return count_of(e.server->errors(), "srmp_truncated") == 1; }));
  EXPECT_EQ(e.server->messages().all(), 3u);
  EXPECT_EQ(count_of(e.server->errors(), "rpc_unknown"), 1u);
  EXPECT_EQ(e.server->total().dropped(stats::drop_reason::srmp_truncated), 1u);
  EXPECT_EQ(e.server->loops(), 1u);
  EXPECT_FALSE(e.server->has_lcores());
  EXPECT_EQ(e.server->lcore_of(0), env::current_lcore());
  e.expect_balance();
}

TEST(appliance, sends_payloads_back_as_they_are_where_the_answer_is_echo) {
  ends e(
      config_of("srmp-port = 6000\nidle = \"poll\"\n[[interface]]\naddress = \"198.18.0.1/24\"\n"
                "[srmp]\nanswer = \"echo\"\n"));
  e.say(6000, {0x01, 5, 3, 0, 'a', 'b', 'c'});
  ASSERT_TRUE(e.run_until([&] { return e.says.heard.size() == 1; }));
  EXPECT_EQ(e.says.heard[0], (bytes{0x81, 5, 3, 0, 'a', 'b', 'c'}));
  EXPECT_NE(e.server->describe().find("SRMP on UDP port 6000: echo"), std::string::npos) << e.server->describe();
  e.expect_balance();
}

TEST(appliance, is_ready_once_nobody_has_objected_to_its_addresses) {
  ends e(config_of("idle = \"poll\"\n"));
  EXPECT_FALSE(e.server->readiness().settled);
  ASSERT_TRUE(e.run_until([&] { return e.server->readiness().settled; }));
  const appliance_readiness now = e.server->readiness();
  ASSERT_EQ(now.addresses.size(), 2u);
  EXPECT_EQ(now.addresses[0], (std::pair<std::string, bool>{"198.18.0.1/24", true}));
  EXPECT_EQ(now.addresses[1], (std::pair<std::string, bool>{"2001:db8:18::1/64", true}));
  e.expect_balance();
}

TEST(appliance, says_which_address_is_another_station_s) {
  ends e(config_of("idle = \"poll\"\n"), {}, true);
  ASSERT_TRUE(e.run_until([&] { return e.server->readiness().settled; }));
  const appliance_readiness now = e.server->readiness();
  EXPECT_TRUE(now.addresses[0].second);
  EXPECT_FALSE(now.addresses[1].second);
  EXPECT_EQ(count_of(e.server->errors(), "address_conflicts"), 1u);
  e.expect_balance();
}

TEST(appliance, runs_on_an_lcore_of_its_own_until_it_is_stopped) {
  const std::vector<unsigned> workers = env::worker_lcores();
  if (workers.empty()) GTEST_SKIP() << "one lcore alone";
  ends e(config_of(plain), workers);
  ASSERT_TRUE(e.server->has_lcores());
  ASSERT_TRUE(e.server->start());
  e.say(7, {42});
  ASSERT_TRUE(e.run_until([&] { return e.says.heard.size() == 1; }));
  e.client->finish();
  e.server->stop();
  e.server->stop();  // once more does nothing
  EXPECT_GT(e.server->of_loop(0)[pipeline::count::cpu_ns], 0u);
  e.expect_balance();
}

TEST(appliance, two_interfaces_for_one_port_cannot_be) {
  test::checked_pool pool(255);
  const serve_config config = config_of("[[interface]]\n[[interface]]\naddress = \"10.0.0.1/8\"\n");
  const auto made = appliance::make(config, {}, {}, *pool);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().what, "2 interfaces are configured for 0 ports");
}

}  // namespace
}  // namespace millrace::app

MILLRACE_EAL_TEST_MAIN("-m", "192", "--lcores", "0@0,1@0")

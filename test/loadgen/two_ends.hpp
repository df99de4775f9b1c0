// test/loadgen/two_ends.hpp - a load generator's loop and a server's loop across crossed rings, turned on one thread.
//
// Owner    rings, ports, pool and loops are inside; what is still in the rings at the end is freed. The pool must be
//          whole again.
#pragma once

#include <gtest/gtest.h>

#include <deque>

#include "loadgen/srmp_load.hpp"
#include "pipeline/service_loop.hpp"
#include "pipeline/srmp_service.hpp"
#include "port/crossed_rings.hpp"
#include "port/port.hpp"
#include "support/packets.hpp"

namespace millrace::loadgen::test_support {

inline base::ip_address address(std::string_view text) { return base::ip_address::parse(text).value(); }

inline net::host_config host_of(unsigned last) {
  net::host_config c;
  c.mac = {{2, 0, 0, 0, 0, static_cast<std::uint8_t>(last)}};
  c.addresses = {{address("198.18.0." + std::to_string(last)), 24},
                 {address("2001:db8:18::" + std::to_string(last)), 64}};
  c.dad_transmits = 0;
  c.announce = false;
  c.seed = 42;
  return c;
}

template <class Handler = srmp::echo_handler>
class two_ends {
  static inline unsigned made_ = 0;

 public:
  static constexpr std::uint16_t srmp_port = 5500;

  test::checked_pool pool{8191};
  port::crossed_rings cable = std::move(port::crossed_rings::make("load" + std::to_string(made_++)).value());
  std::deque<port::port> ports;
  Handler handler{};
  pipeline::srmp_service<Handler> service;
  std::unique_ptr<pipeline::service_loop> server;
  std::unique_ptr<pipeline::service_loop> client;
  std::unique_ptr<srmp_load> load;
  mem::heap_tally heap;  // of turns

  explicit two_ends(const load_settings& settings, const srmp::service_settings& serving = {.batch_bytes = 1472})
      : service(handler, serving, {}) {
    for (const std::uint16_t id : {cable.first(), cable.second()}) {
      auto plan = port::make_plan({&port::read_facts(id).value(), 1}, {});
      auto opened = port::port::open(plan.value().ports[0], *pool);
      EXPECT_TRUE(opened && opened.value().start());
      ports.push_back(std::move(opened.value()));
    }
    const pipeline::loop_interface at_server{.port = cable.first(), .host = host_of(1)};
    const pipeline::loop_interface at_client{.port = cable.second(), .host = host_of(2)};
    const pipeline::loop_settings how{.idle = pipeline::idle_policy::poll};
    server = std::move(pipeline::service_loop::make(how, {&at_server, 1}, *pool).value());
    client = std::move(pipeline::service_loop::make(how, {&at_client, 1}, *pool).value());
    EXPECT_TRUE(server->open(srmp_port, service));
    auto made = srmp_load::make(settings);
    EXPECT_TRUE(made) << (made ? "" : made.error().what);
    load = std::move(made.value());
    EXPECT_TRUE(load->open_on(*client));
  }
  ~two_ends() {
    server.reset();
    client.reset();
    buf::burst left;
    for (const port::port& p : ports)
      while (port::rx_burst(p.id(), 0, left, 32) != 0) left.free_all();
    ports.clear();
  }

  // Until the load is done, or so many turns went by. Answers whether it is done.
  bool run(unsigned turns, bool with_server = true) {
    const mem::heap_watch watched(heap);
    for (; turns != 0 && !load->is_done(); --turns) {
      client->turn();
      if (with_server) server->turn();
    }
    return load->is_done();
  }
};

inline load_settings at_server(std::string_view host = "198.18.0.1") {
  load_settings s;
  s.target = {address(host), two_ends<>::srmp_port};
  return s;
}

}  // namespace millrace::loadgen::test_support

// Packets that overtake the ones which bring their keys are read when those have come: nobody has to send them again.
#include "quic/sim/pair.hpp"

namespace millrace::test {
namespace {

using quic::conn::event;

// A server's flight of two datagrams, within what a client's hello allows.
const tls::pem_pair& middling_pem() {
  static const tls::pem_pair made = [] {
    tls::self_signed_settings settings;
    settings.names = {"example.test"};
    for (int i = 0; i < 40; ++i) settings.names.push_back("name-" + std::to_string(i) + ".middling.example.test");
    settings.now_ns = sim_epoch_ns;
    return tls::make_self_signed(settings).value();
  }();
  return made;
}
sim_options with_long_flight() {
  sim_options o;
  o.pem = &middling_pem();
  return o;
}

struct late_datagram {
  sim_pair& p;
  bool from_client;
  unsigned which;  // of that side, from 1
  unsigned seen = 0;
  std::optional<seen_datagram> caught{};

  void arm() {
    p.net.passing = [this](seen_datagram& d) {
      if (d.from_client != from_client || ++seen != which) return true;
      caught = d;
      return false;
    };
  }
  // What was caught goes on its way now.
  void let_go() {
    p.net.passing = nullptr;
    if (caught) p.net.deliver(std::move(*caught));
  }
};

struct outcome {
  bool done = false;
  std::uint64_t took_ns = 0;
  std::uint64_t held = 0, in_vain = 0;  // both sides
};

// Fetches; one datagram arrives `late_ns` after it should. Round trips take 20 ms.
outcome fetch_with_one_late(sim_options o, std::vector<std::uint64_t> sizes, bool from_client, unsigned which,
                            std::uint64_t late_ns) {
  sim_pair p(o);
  late_datagram late{p, from_client, which};
  late.arm();
  p.client_app.to_ask = std::move(sizes);
  const std::uint64_t began_ns = p.net.now_ns;
  if (p.connect() == nullptr) return {};
  static_cast<void>(p.net.run([&] { return late.caught.has_value(); }, second));
  p.net.wait(late_ns);
  late.let_go();
  outcome out;
  out.done =
      p.net.run([&] { return p.client_app.all_done() || p.client_app.closed; }, 20 * second) && p.client_app.all_done();
  out.took_ns = p.net.now_ns - began_ns;
  out.held = p.at_client(event::held_for_keys) + p.at_server(event::held_for_keys);
  out.in_vain = p.at_client(event::held_in_vain) + p.at_server(event::held_in_vain);
  return out;
}

// RFC 9000 5.2.2, RFC 9001 4.1.4.
TEST(quic_sim_early_packets, a_client_reads_the_rest_of_a_flight_whose_first_datagram_comes_last) {
  const outcome out = fetch_with_one_late(with_long_flight(), {1000}, false, 1, 12 * ms);
  EXPECT_TRUE(out.done);
  EXPECT_GE(out.held, 1u);
  EXPECT_EQ(out.in_vain, 0u);
  EXPECT_LE(out.took_ns, 2 * 20 * ms + 12 * ms + 10 * ms) << "somebody waited for a time-out";
}

// RFC 9001 5.7: what comes in front of the client's Finished is not read before it.
TEST(quic_sim_early_packets, a_server_reads_requests_that_overtook_the_end_of_the_handshake) {
  std::uint64_t held = 0;
  for (unsigned which = 2; which <= 4; ++which) {
    const outcome out = fetch_with_one_late({}, std::vector<std::uint64_t>(120, 10), true, which, 5 * ms);
    EXPECT_TRUE(out.done) << which;
    EXPECT_EQ(out.in_vain, 0u) << which;
    held += out.held;
  }
  EXPECT_GE(held, 1u) << "none of these overtook anything";
}

TEST(quic_sim_early_packets, whatever_datagram_is_late_everything_arrives_once) {
  for (const bool from_client : {false, true}) {
    for (unsigned which = 1; which <= 4; ++which) {
      for (const std::uint64_t late_ns : {1 * ms, 15 * ms, 400 * ms}) {
        const outcome out = fetch_with_one_late(with_long_flight(), {100, 5000, 100'000}, from_client, which, late_ns);
        EXPECT_TRUE(out.done) << from_client << ' ' << which << ' ' << late_ns;
      }
    }
  }
}

TEST(quic_sim_early_packets, a_handshake_that_ends_gives_back_what_waited_for_it) {
  sim_pair p(with_long_flight());
  late_datagram late{p, false, 1};
  late.arm();
  p.client_app.to_ask = {1000};
  ASSERT_NE(p.connect(), nullptr);
  ASSERT_TRUE(p.net.run([&] { return p.at_client(event::held_for_keys) != 0; }, second));
  EXPECT_GE(p.net.client->pool.in_use(), 1u);
  EXPECT_GE(p.net.client->endpoint->shared().waiting, 1u);
  p.connection->close(0, p.net.now_ns);
  p.net.client->endpoint->touch(*p.connection);
  late.caught.reset();
  p.net.up.is_down = p.net.down.is_down = true;
  ASSERT_TRUE(p.net.run([&] { return p.net.client->endpoint->connections() == 0; }, 60 * second));
  EXPECT_EQ(p.net.client->endpoint->shared().waiting, 0u);
  EXPECT_EQ(p.at_client(event::held_in_vain), p.at_client(event::held_for_keys));
}

}  // namespace
}  // namespace millrace::test

#include "loadgen/fetch_settings.hpp"

#include <gtest/gtest.h>

namespace millrace::loadgen {
namespace {

fetch_settings some() {
  fetch_settings s;
  s.target = {base::ip_address::parse("198.18.0.1").value(), 443};
  return s;
}

TEST(fetch_settings, refuse_what_cannot_be) {
  const auto refused = [](auto change) {
    fetch_settings s = some();
    change(s);
    return !check(s);
  };
  EXPECT_TRUE(check(some()));
  EXPECT_TRUE(refused([](fetch_settings& s) { s.target.port = 0; }));
  EXPECT_TRUE(refused([](fetch_settings& s) { s.target.address = {}; }));
  EXPECT_TRUE(refused([](fetch_settings& s) { s.connections = 0; }));
  EXPECT_TRUE(refused([](fetch_settings& s) { s.connections = max_fetch_connections + 1; }));
  EXPECT_TRUE(refused([](fetch_settings& s) { s.window = 0; }));
  EXPECT_TRUE(refused([](fetch_settings& s) { s.connections = 1024, s.window = 1024; }));
  EXPECT_TRUE(refused([](fetch_settings& s) { s.first_port = 0; }));
  EXPECT_TRUE(refused([](fetch_settings& s) { s.first_port = 65'535, s.connections = 2; }));
  EXPECT_FALSE(refused([](fetch_settings& s) { s.first_port = 65'535; }));
  EXPECT_TRUE(refused([](fetch_settings& s) { s.first_port = 65'535, s.migrate_every_ns = 1; }))
      << "it needs four ports";
  EXPECT_TRUE(refused([](fetch_settings& s) { s.connections = 4, s.port_step = 3; }));
  EXPECT_TRUE(refused([](fetch_settings& s) { s.path = ""; }));
  EXPECT_TRUE(refused([](fetch_settings& s) { s.path = "a"; }));
  EXPECT_TRUE(refused([](fetch_settings& s) { s.path = "/a b"; }));
  EXPECT_TRUE(refused([](fetch_settings& s) { s.path = std::string(max_fetch_path + 1, '/'); }));
}

TEST(fetch_settings, read_the_size_of_a_body_from_its_path) {
  EXPECT_EQ(body_bytes("/bytes/1000"), 1'000u);
  EXPECT_EQ(body_bytes("/bytes/0"), 0u);
  for (const char* path :
       {"/", "/bytes/", "/bytes/x", "/bytes/10x", "/bytes/-1", "/byte/10", "/bytes/99999999999999999999"})
    EXPECT_EQ(body_bytes(path), 0u) << path;
}

TEST(fetch_settings, pools_have_the_size_of_what_is_asked_for) {
  fetch_settings one = some();
  one.expected_bytes = 1'000;
  const std::uint32_t few = fit(one);
  EXPECT_LT(few, 200u);
  EXPECT_LT(memory_bytes(one), 2u << 20);
  EXPECT_GE(one.endpoint.transport.connection_window_most, one.endpoint.transport.stream_window_most);

  fetch_settings large = some();
  large.connections = 8;
  large.window = 32;
  large.expected_bytes = 10'000'000;
  const std::uint32_t many = fit(large);
  EXPECT_GT(many, 20'000u);
  EXPECT_LT(many, 40'000u) << "32 MB, whatever is asked for";
  EXPECT_GE(large.endpoint.pieces, many);
  EXPECT_GE(large.endpoint.streams, 8 * 32u);
  EXPECT_LE(large.endpoint.transport.connection_window_most, 4u << 20);
  EXPECT_GT(memory_bytes(large), memory_bytes(one));

  fetch_settings unknown = some();
  fit(unknown);
  EXPECT_GT(unknown.endpoint.transport.connection_window_most, 16u << 20) << "a body of any size";
  EXPECT_EQ(unknown.endpoint.transport.keep_tickets_ns, 0u) << "nobody resumes";

  fetch_settings thousands = some();
  thousands.connections = 10'000;
  thousands.expected_bytes = 10'000'000;
  fit(thousands);
  EXPECT_EQ(thousands.endpoint.transport.connection_window_most, 65'536u) << "below that nothing moves";

  fetch_settings handshakes = some();
  handshakes.requests_each = 1;
  handshakes.expected_bytes = 1;
  fit(handshakes);
  EXPECT_GT(handshakes.endpoint.connections, 1'000u) << "closed ones are remembered for a while";
  handshakes.requests = 10;
  fit(handshakes);
  EXPECT_LT(handshakes.endpoint.connections, 50u);
}

TEST(fetch_figures, add_up) {
  fetch_figures a, b;
  a.first_ns = 1'000'000'000;
  a.last_ns = 2'000'000'000;
  a.whole = 3;
  b.first_ns = 500'000'000;
  b.last_ns = 1'500'000'000;
  b.whole = 4;
  b.answered = true;
  b.migrations = 2;
  a += b;
  EXPECT_EQ(a.whole, 7u);
  EXPECT_TRUE(a.answered);
  EXPECT_EQ(a.migrations, 2u);
  EXPECT_DOUBLE_EQ(a.seconds(), 1.5);
}

}  // namespace
}  // namespace millrace::loadgen

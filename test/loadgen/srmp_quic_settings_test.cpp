#include "loadgen/srmp_quic_settings.hpp"

#include <gtest/gtest.h>

namespace millrace::loadgen {
namespace {

srmp_quic_settings sound() {
  srmp_quic_settings s;
  s.load.target = {base::ip_address::parse("198.18.0.1").value(), 443};
  return s;
}

TEST(srmp_quic_settings, says_what_cannot_work) {
  EXPECT_TRUE(check(sound()));
  const auto refuses = [](auto&& change) {
    srmp_quic_settings s = sound();
    change(s);
    const auto checked = check(s);
    return !checked && checked.error().unusable;
  };
  EXPECT_TRUE(refuses([](auto& s) { s.streams = 0; }));
  EXPECT_TRUE(refuses([](auto& s) { s.streams = max_srmp_streams + 1; }));
  EXPECT_TRUE(refuses([](auto& s) { s.load.window = 300; }));
  EXPECT_TRUE(refuses([](auto& s) {
    s.streams = 1024;
    s.load.connections = 65;
    s.endpoint.streams = 1u << 20;
  }));
  EXPECT_TRUE(refuses([](auto& s) {
    s.streams = 100;
    s.endpoint.streams = 99;
  }));
}

TEST(srmp_quic_settings, pools_are_of_the_size_of_what_is_asked) {
  srmp_quic_settings small = sound(), large = sound();
  large.load.connections = 64;
  large.streams = 16;
  large.load.window = 255;
  large.load.size = 65'000;
  const std::uint32_t few = fit(small), many = fit(large);
  EXPECT_TRUE(check(small));
  EXPECT_TRUE(check(large));
  EXPECT_LT(few, 100u);
  EXPECT_LE(many, 1u << 20) << "a stream asks for no more when enough waits to be acknowledged";
  EXPECT_GE(large.endpoint.streams, 1024u);
  EXPECT_GE(large.endpoint.connections, 64u);
  EXPECT_LT(memory_bytes(small), 20u << 20);
  EXPECT_LT(memory_bytes(small), memory_bytes(large));
}

}  // namespace
}  // namespace millrace::loadgen

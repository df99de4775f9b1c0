#include "srmp/wire/partial_timer.hpp"

#include <gtest/gtest.h>

#include "srmp/wire/frame.hpp"
#include "support/bytes.hpp"

namespace millrace::srmp::wire {
namespace {

using test::from_hex;

// A connection that keeps whole frames, closes when its timer says so, and never looks at a byte after that.
struct connection {
  partial_timer timer;
  test::byte_list kept;
  std::vector<std::string> payloads;
  bool closed = false;

  explicit connection(partial_limits limits) : timer(limits) {}

  void arrive(std::uint64_t now, std::string_view hex) {
    closed = closed || timer.has_expired(now);
    if (closed) return;
    const auto chunk = from_hex(hex);
    kept.insert(kept.end(), chunk.begin(), chunk.end());
    frame got;
    bool frames = false;
    while (parse_frame(kept, default_ceiling, got).outcome == base::progress::done) {
      payloads.push_back(test::to_hex(got.payload));
      kept.erase(kept.begin(), kept.begin() + got.header.frame_size());
      frames = true;
    }
    timer.on_arrival(now, frames, !kept.empty());
  }
};

constexpr partial_limits defaults = {default_stall_ms, default_whole_ms};
constexpr partial_limits none = {};
const std::vector<std::string> hello = {"48656c6c6f"};

TEST(srmp_partial_timer, a_trickle_is_one_frame_or_a_closed_connection) {  // Q2
  const char* bytes[] = {"01", "01", "05", "00", "48", "65", "6C", "6C", "6F"};
  connection patient(none);
  connection strict(defaults);
  std::uint64_t now = 0;
  for (const char* byte : bytes) {
    patient.arrive(now, byte);
    strict.arrive(now, byte);
    now += 4900;
  }
  EXPECT_EQ(patient.payloads, hello);
  EXPECT_FALSE(patient.closed);
  EXPECT_TRUE(strict.closed) << "the ninth byte comes 39.2 s after the first";
  EXPECT_TRUE(strict.payloads.empty());
}

TEST(srmp_partial_timer, a_pause_never_starts_a_new_frame) {  // Q3
  connection lenient(defaults);
  lenient.arrive(0, "01 01 05 00 48 65");
  lenient.arrive(5100, "6C 6C 6F");
  EXPECT_EQ(lenient.payloads, hello);
  connection strict({5000, 0});
  strict.arrive(0, "01 01 05 00 48 65");
  strict.arrive(5100, "6C 6C 6F");
  EXPECT_TRUE(strict.closed);
  EXPECT_TRUE(strict.payloads.empty());
}

TEST(srmp_partial_timer, what_looks_like_a_new_frame_after_a_pause_is_payload) {  // Q4
  connection lenient(defaults);
  lenient.arrive(0, "01 01 05 00 48 65");
  lenient.arrive(5100, "01 02 05 00 57 6F 72 6C 64");
  EXPECT_EQ(lenient.payloads, (std::vector<std::string>{"4865010205"}));
  connection strict({5000, 0});
  strict.arrive(0, "01 01 05 00 48 65");
  strict.arrive(5100, "01 02 05 00 57 6F 72 6C 64");
  EXPECT_TRUE(strict.closed);
}

TEST(srmp_partial_timer, rests_while_no_frame_is_unfinished) {
  partial_timer timer(defaults);
  EXPECT_EQ(timer.deadline(), UINT64_MAX);
  timer.on_arrival(100, true, false);
  EXPECT_FALSE(timer.is_running());
  EXPECT_FALSE(timer.has_expired(1'000'000'000));
}

TEST(srmp_partial_timer, measures_the_whole_from_the_frame_that_is_unfinished_now) {
  partial_timer timer({0, 30});
  timer.on_arrival(0, false, true);
  timer.on_arrival(20, true, true);  // that frame ended, the next one began
  EXPECT_EQ(timer.deadline(), 50u);
  timer.on_arrival(40, false, true);
  EXPECT_EQ(timer.deadline(), 50u) << "more bytes of the same frame win no time";
  EXPECT_FALSE(timer.has_expired(49));
  EXPECT_TRUE(timer.has_expired(50));
}

TEST(srmp_partial_timer, does_not_wrap_near_the_end_of_time) {
  partial_timer timer(defaults);
  timer.on_arrival(UINT64_MAX - 5, false, true);
  EXPECT_EQ(timer.deadline(), UINT64_MAX);
}

}  // namespace
}  // namespace millrace::srmp::wire

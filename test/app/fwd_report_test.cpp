#include "app/fwd_report.hpp"

#include <gtest/gtest.h>

#include "mem/heap_counter.hpp"

namespace millrace::app {
namespace {

using pipeline::count;
using pipeline::figures;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

void set(figures& f, count which, std::uint64_t n) { f.counts[static_cast<std::size_t>(which)] = n; }

figures busy_lcore() {
  figures f;
  set(f, count::rx_pkts, 20'000'000);
  set(f, count::rx_bursts, 625'000);
  set(f, count::tx_pkts, 19'999'000);
  set(f, count::rx_bytes, 2'000'000'000);
  set(f, count::tx_bytes, 1'999'900'000);
  set(f, count::cpu_ns, 2'000'000'000);
  set(f, count::measured_cycles, 1000);
  set(f, count::measured_busy_cycles, 750);
  set(f, count::measured_pkts, 15);
  set(f, count::staged_pkts, 10);
  set(f, count::staged_rx_cycles, 100);
  set(f, count::staged_work_cycles, 300);
  set(f, count::staged_tx_cycles, 50);
  set(f, count::sampled_bytes, 640);
  f.drops[static_cast<std::size_t>(stats::drop_reason::tx_ring_full)] = 1000;
  f.classes[static_cast<std::size_t>(pipeline::traffic_class::srmp)] = 20'000'000;
  return f;
}

fwd_end an_end(bool bytes_counted = true) {
  fwd_end end;
  end.window = {.seconds = 2, .bytes_counted = bytes_counted, .lcores = {{3, busy_lcore()}}};
  end.total = busy_lcore();
  end.pool = {"packets", 4096, 0, 700, 5};
  return end;
}

TEST(fwd_report, prints_rates_per_core_for_a_period) {
  const std::string text = period_text(12.5, an_end().window, {"packets", 4096, 96, 700, 0});
  for (const char* part :
       {"12.5 s", "lcore 3", "rx   10.000 Mpps", "8.00 Gbit/s", "32.0 packets a burst", "50.0 cycles a packet",
        "busy  75.0 %", "pool 4000 free of 4096", "drops: tx_ring_full 1000"})
    EXPECT_TRUE(contains(text, part)) << part << " in\n" << text;
}

TEST(fwd_report, marks_bytes_that_were_not_counted_and_takes_the_sampled_length) {
  const std::string text = period_text(1, an_end(false).window, {});
  EXPECT_TRUE(contains(text, "~    5.12 Gbit/s")) << text;  // 10 Mpps of 64 bytes
  EXPECT_TRUE(contains(summary_text("fwd", an_end(false)), "bytes     ~")) << text;
  EXPECT_FALSE(contains(summary_text("fwd", an_end()), "~"));
}

TEST(fwd_report, takes_smaller_units_where_the_usual_ones_would_show_nothing) {
  fwd_end end = an_end();
  figures& f = end.window.lcores[0].did;
  set(f, count::rx_pkts, 10);
  set(f, count::rx_bytes, 1000);
  set(f, count::tx_pkts, 8000);
  set(f, count::tx_bytes, 800'000);
  const std::string text = period_text(2, end.window, {});
  for (const char* part : {"   5.000  pps", "   4.00 kbit/s", "   4.000 kpps", "   3.20 Mbit/s"})
    EXPECT_TRUE(contains(text, part)) << part << " in\n" << text;
}

TEST(fwd_report, sums_up_with_the_balance) {
  const std::string text = summary_text("fwd parse over a b", an_end());
  for (const char* part :
       {"fwd parse over a b, 2.00 s", "receive 10.0, work 30.0, transmit 5.0 cycles a packet", "srmp 20000000",
        "tx_ring_full 1000", "4096 packets, at most 700 seen in use, 5 refused; after the run all came back",
        "rx 20000000 + originated 0 = tx 19999000 + held 0 + dropped 1000"})
    EXPECT_TRUE(contains(text, part)) << part << " in\n" << text;
  EXPECT_EQ(broken_promise(an_end()), "");
}

TEST(fwd_report, says_when_packets_are_missing) {
  fwd_end lost = an_end();
  set(lost.total, count::tx_pkts, 19'998'999);
  EXPECT_TRUE(contains(summary_text("x", lost), "PACKETS ARE MISSING"));
  EXPECT_FALSE(broken_promise(lost).empty());
  fwd_end leaked = an_end();
  leaked.pool.in_use = 3;
  EXPECT_TRUE(contains(broken_promise(leaked), "3 packets did not come back"));
}

TEST(fwd_report, says_when_others_had_the_cpu) {
  fwd_end end = an_end();
  set(end.window.lcores[0].did, count::measured_busy_cycles, 1000);
  EXPECT_FALSE(contains(summary_text("x", end), "do not compare"));
  set(end.window.lcores[0].did, count::cpu_ns, 500'000'000);
  EXPECT_TRUE(contains(summary_text("x", end), "lcore 3 had its CPU 25 % of the time: do not compare"));
}

TEST(fwd_report, prints_nothing_it_does_not_know) {
  fwd_end idle;
  idle.window = {.seconds = 0, .bytes_counted = true, .lcores = {{0, {}}}};
  const std::string text = summary_text("x", idle) + period_text(0, idle.window, {});
  EXPECT_FALSE(contains(text, "nan"));
  EXPECT_FALSE(contains(text, "inf"));
  EXPECT_FALSE(contains(text, "cycles a packet"));
  EXPECT_TRUE(contains(text, "drops     none"));
}

TEST(fwd_report, fills_the_result_object) {
  run_result result;
  fwd_end end = an_end();
  end.driver_errors = {{"rx_missed", 9}};
  end.service_errors = {{"rpc_unknown", 2}, {"srmp_withheld", 3}};
  EXPECT_TRUE(contains(summary_text("x", end), "  errors    rpc_unknown 2, srmp_withheld 3\n"));
  set(end.total, count::ungenerated_pkts, 4);
  fill_result(end, result);
  EXPECT_EQ(result.rx.packets, 20'000'000u);
  EXPECT_EQ(result.tx.bytes, 1'999'900'000u);
  EXPECT_DOUBLE_EQ(*result.rate.mpps, 10.0);
  EXPECT_DOUBLE_EQ(*result.rate.gbps, 8.0);
  EXPECT_TRUE(result.conservation.holds());
  EXPECT_EQ(result.drops[static_cast<std::size_t>(stats::drop_reason::tx_ring_full)], 1000u);
  ASSERT_EQ(result.lcores.size(), 1u);
  EXPECT_EQ(result.lcores[0].id, 3u);
  EXPECT_DOUBLE_EQ(result.lcores[0].busy_percent, 75.0);
  EXPECT_DOUBLE_EQ(*result.lcores[0].cpu_percent, 100.0);
  ASSERT_EQ(result.errors.size(), 4u);
  EXPECT_EQ(result.errors[0].second, 9u);
  ASSERT_EQ(result.classes.size(), 1u);
  EXPECT_EQ(result.classes[0].first, "srmp");
  EXPECT_EQ(result.mempools[0].high_water, 700u);
  EXPECT_EQ(result.heap_calls.has_value(), mem::heap_counter_present());
}

}  // namespace
}  // namespace millrace::app

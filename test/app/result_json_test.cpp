#include "app/result_json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "app/version.hpp"
#include "json/writer.hpp"

namespace millrace::app {
namespace {

// Where the real writer leaves its samples for the schema test, which validates them afterwards.
std::filesystem::path samples() {
  const char* build = std::getenv("MILLRACE_BUILD");
  const std::filesystem::path folder = std::filesystem::path(build != nullptr ? build : ".") / "json-samples";
  std::filesystem::create_directories(folder);
  return folder;
}

std::string contents(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

std::string as_text(const run_result& result) {
  std::string text;
  json::string_sink sink(text);
  json::writer out(sink);
  write_result(result, out);
  EXPECT_EQ(out.end_document(), json::write_errc::ok);
  return text;
}

// Every member present.
run_result full() {
  run_result r;
  r.build = {"gcc 12.2.0", "Some CPU @ 3 GHz", "avx512", "22.11.7", true};
  r.role = "fwd";
  r.workload.add("mode", "parse");
  r.workload.add("burst", 32u);
  r.workload.add("delta", -5);
  r.workload.add("duration_s", 2.5);
  r.workload.add("record_core_cycles", true);
  r.workload.add("traffic", std::vector<std::string>{"quic", "srmp"});
  r.duration_s = 5.000001;
  r.rx = {100, 6400};
  r.tx = {90, 5760};
  r.rate = {12.5, 9.75, 1000.0, 10.0, 8.5, 7.25};
  r.latency_ns = latency_figures{10, 20, 30, 40, std::numeric_limits<std::uint64_t>::max()};
  r.handshakes = handshake_figures{9, 8, 7, 6};
  r.messages = {{"srmp", 3}};
  r.key_log = key_log_figures{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  r.add_error("timeout", 3);
  r.add_error("reset", 0);
  r.add_error("timeout", 2);
  r.drops[static_cast<std::size_t>(stats::drop_reason::srmp_truncated)] = 9;
  r.drops[static_cast<std::size_t>(stats::drop_reason::quic_junk)] = 1;
  r.conservation = {100, 5, 90, 3, 2, 10};
  r.cycles_per_packet = {{"rx", 20.25}, {"parse", 110.0}};
  r.lcores = {{1, 99.5, 12.5, 97.25}, {2, 0, 0}};
  r.mempools = {{"packets-0", 8191, 2, 512, 0}};
  r.classes = {{"quic_initial", 7}, {"arp", 0}};
  r.heap_calls = heap_figures{0, 120};
  return r;
}

TEST(result_json, writes_every_member_in_the_order_of_its_page) {
  EXPECT_EQ(
      as_text(full()),
      "{\"version\":\"" + std::string(version()) +
          R"(","build":{"compiler":"gcc 12.2.0","cpu":"Some CPU @ 3 GHz","ipsec_mb_arch":"avx512","dpdk":"22.11.7",)"
          R"("hugepages":true},"role":"fwd","workload":{"mode":"parse","burst":32,"delta":-5,"duration_s":2.5,)"
          R"("record_core_cycles":true,"traffic":["quic","srmp"]},"duration_s":5.000001,)"
          R"("rx":{"packets":100,"bytes":6400},"tx":{"packets":90,"bytes":5760},"rate":{"mpps":12.5,"gbps":9.75,)"
          R"("messages_per_s":1000,"requests_per_s":10,"goodput_gbps":8.5,"handshakes_per_s":7.25},"latency_ns":{"p50":10,"p90":20,"p99":30,)"
          R"("p999":40,"max":18446744073709551615},"handshakes":{"begun":9,"completed":8,"resumed":7,"early_data":6},)"
          R"("key_log":{"secrets":1,"repeated":2,"skipped":3,"malformed":4,"no_room":5,"connections_decrypted":6,)"
          R"("connections_closed":7,"connections_evicted":8,"packets_opened":9,"packets_unopened":10},"errors":{"timeout":5},"drops":{"quic_junk":1,"srmp_truncated":9},)"
          R"("conservation":{"rx":100,"originated":5,"tx":90,"delivered":3,"held":2,"dropped":10,"holds":true},)"
          R"("cycles_per_packet":{"rx":20.25,"parse":110},"lcores":[{"id":1,"busy_percent":99.5,"mpps":12.5,"cpu_percent":97.25},)"
          R"({"id":2,"busy_percent":0,"mpps":0}],"mempools":[{"name":"packets-0","size":8191,"in_use":2,)"
          R"("high_water":512,"refused":0}],"messages":{"srmp":3},"classes":{"quic_initial":7},"heap_calls":{"data_path":0,"handshake":120}})");
}

TEST(result_json, leaves_out_what_is_not_known_and_what_is_no_number) {
  run_result r = full();
  r.latency_ns.reset();
  r.rate = {};
  r.rate.mpps = 1.0 / 0.0;
  r.rate.gbps = std::nan("");
  r.build.cpu.clear();
  r.cycles_per_packet = {{"rx", std::nan("")}};
  r.workload.add("ratio", std::nan(""));
  const std::string text = as_text(r);
  EXPECT_EQ(text.find("latency_ns"), std::string::npos);
  EXPECT_NE(text.find("\"rate\":{}"), std::string::npos);
  EXPECT_EQ(text.find("\"cpu\""), std::string::npos);
  EXPECT_NE(text.find("\"cycles_per_packet\":{}"), std::string::npos);
  EXPECT_NE(text.find("\"ratio\":null"), std::string::npos);
}

TEST(result_json, says_so_when_packets_went_missing) {
  conservation_count count{100, 5, 90, 3, 2, 10};
  EXPECT_TRUE(count.holds());
  ++count.dropped;
  EXPECT_FALSE(count.holds());
  run_result r = full();
  r.conservation.held = 3;
  EXPECT_NE(as_text(r).find("\"holds\":false"), std::string::npos);
}

TEST(result_json, replaces_a_parameter_that_is_added_again) {
  workload_parameters p;
  p.add("size", 64);
  p.add("mode", std::string("io"));
  p.add("size", 1500);
  ASSERT_EQ(p.items().size(), 2u);
  EXPECT_EQ(std::get<std::int64_t>(p.items()[0].second), 1500);
  EXPECT_EQ(std::get<std::string>(p.items()[1].second), "io");
}

TEST(result_json, sums_the_drops_of_the_lcores) {
  stats::drop_counters a;
  stats::drop_counters b;
  a.add(stats::drop_reason::arp, 2);
  b.add(stats::drop_reason::arp, 3);
  b.add(stats::drop_reason::shutdown);
  run_result r;
  r.add_drops(a);
  r.add_drops(b);
  EXPECT_EQ(r.drops[static_cast<std::size_t>(stats::drop_reason::arp)], 5u);
  EXPECT_EQ(r.drops[static_cast<std::size_t>(stats::drop_reason::shutdown)], 1u);
}

base::outcome write_to(const std::string& path, const run_result& result) {
  auto file = output_file::open("--json", path);
  if (!file) return file.error();
  return write_result(result, file.value());
}

TEST(result_json, writes_one_line_into_its_file) {
  const std::filesystem::path path = samples() / "result-full.json";
  ASSERT_TRUE(write_to(path.string(), full()));
  EXPECT_EQ(contents(path), as_text(full()) + "\n");

  run_result bare;
  bare.role = "load";
  bare.build.compiler = "clang 19";
  ASSERT_TRUE(write_to((samples() / "result-bare.json").string(), bare));

  run_result odd = full();  // a name of a pool, or a CPU, may hold anything
  odd.mempools[0].name = "a\"\\\n\xFF";
  odd.duration_s = 1e12;
  ASSERT_TRUE(write_to((samples() / "result-odd.json").string(), odd));
}

TEST(result_json, answers_a_failure_that_names_option_and_file) {
  const auto missing = write_to("/nonexistent-folder/out.json", full());
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().what.find("--json /nonexistent-folder/out.json"), std::string::npos);
  EXPECT_TRUE(missing.error().unusable);  // known before the run is spent on it
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "/dev/full is absent";
  const auto full_disk = write_to("/dev/full", full());
  ASSERT_FALSE(full_disk);
  EXPECT_NE(full_disk.error().what.find("--json /dev/full"), std::string::npos);
  EXPECT_FALSE(full_disk.error().unusable);
}

}  // namespace
}  // namespace millrace::app

// `fwd` as a user runs it: every mode, ports of several kinds, what it prints, what it refuses, how it ends.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "support/file_tree.hpp"
#include "support/json_tree.hpp"
#include "support/process.hpp"

namespace millrace {
namespace {

using test::run_millrace;
using words = std::vector<std::string>;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

words operator+(words left, const words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

class fwd : public testing::Test {
 protected:
  test::file_tree files_;

  void SetUp() override { MILLRACE_NEEDS_PROGRAM(); }

  // Runs for a moment, expects success and a result that adds up; answers the result.
  test::json_tree must_run(const words& args) {
    const std::string path = files_.path("/result.json");
    const auto done = run_millrace(args + words{"--duration", "0.2", "--json", path});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_TRUE(contains(done.out, "every packet is accounted for")) << done.out << done.err;
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    test::json_tree result = test::json_tree::parse(text.str());
    expect_sound(result);
    return result;
  }

  static void expect_sound(const test::json_tree& result) {
    EXPECT_EQ(result["role"].text(), "fwd");
    const auto& c = result["conservation"];
    EXPECT_TRUE(c["holds"].truth());
    EXPECT_EQ(c["rx"].count() + c["originated"].count(),
              c["tx"].count() + c["delivered"].count() + c["held"].count() + c["dropped"].count());
    EXPECT_EQ(result["mempools"].items()[0]["in_use"].count(), 0u);  // every packet came back
    if (result.has("heap_calls")) {
      EXPECT_EQ(result["heap_calls"]["data_path"].count(), 0u);
    }
    EXPECT_GE(result["lcores"].items().size(), 1u);
  }

  static void expect_refused(const words& args, std::string_view names) {
    const auto result = run_millrace(args);
    EXPECT_EQ(result.status, 2) << result.out << result.err;
    EXPECT_TRUE(contains(result.err, names)) << result.err;
  }
};

TEST_F(fwd, forwards_in_every_mode_on_the_loopback_profile) {
  for (const char* mode : {"io", "mac", "macswap", "parse"}) {
    const auto result = must_run({"@loopback", "--", "fwd", "--mode", mode});
    EXPECT_GT(result["rx"]["packets"].count(), 512u) << mode;
    EXPECT_GT(result["rx"]["bytes"].count(), 0u) << mode;
    EXPECT_EQ(result["tx"]["packets"].count(), result["rx"]["packets"].count()) << mode;
    EXPECT_EQ(result["conservation"]["held"].count(), 512u) << mode;  // what was seeded still goes round
    EXPECT_EQ(result["workload"]["mode"].text(), mode);
    EXPECT_GT(result["cycles_per_packet"]["total"].number(), 0);
    EXPECT_EQ(result["drops"].members().size(), 0u) << mode;
  }
}

TEST_F(fwd, generates_in_txonly_and_flowgen) {
  const auto sent = must_run({"@loopback", "--", "fwd", "--mode", "txonly"});
  EXPECT_EQ(sent["tx"]["packets"].count(), 2u * 1023);  // what two rings hold that nobody empties
  EXPECT_GT(sent["drops"]["tx_ring_full"].count(), 0u);
  const auto flows = must_run({"@loopback", "--", "fwd", "--mode", "flowgen", "--flows", "100000"});
  EXPECT_GT(flows["rx"]["packets"].count(), 1000u);
  EXPECT_EQ(flows["drops"]["rx_only"].count(), flows["rx"]["packets"].count());
}

TEST_F(fwd, drops_everything_in_rxonly) {
  const auto result = must_run({"@loopback", "--", "fwd", "--mode", "rxonly", "--tx-first", "4"});
  EXPECT_EQ(result["drops"]["rx_only"].count(), 4u * 32 * 2);
  EXPECT_EQ(result["tx"]["packets"].count(), 0u);
}

TEST_F(fwd, classifies_the_traffic_it_was_asked_to_make) {
  const auto result = must_run({"@loopback", "--", "fwd", "--mode", "parse", "--traffic", "srmp,tcp", "--flows", "10"});
  ASSERT_TRUE(result.has("classes"));
  EXPECT_EQ(result["classes"].members().size(), 2u);
  EXPECT_GT(result["classes"]["srmp"].count(), 0u);
  EXPECT_EQ(result["classes"]["srmp"].count() + result["classes"]["tcp"].count(), result["rx"]["packets"].count());
  const auto quic = must_run({"@loopback", "--", "fwd", "--mode", "parse", "--traffic", "quic"});
  for (const char* name : {"quic_initial", "quic_handshake", "quic_one_rtt"})
    EXPECT_TRUE(quic["classes"].has(name)) << name;
  EXPECT_EQ(quic["classes"].members().size(), 3u);
}

TEST_F(fwd, runs_without_any_eal_argument_and_says_what_it_put_into_the_rings) {
  const auto done = run_millrace({"--", "fwd", "--duration", "0.2"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(contains(done.out, "rings need packets to move: put 8 bursts of 32 packets")) << done.out;
  EXPECT_TRUE(contains(done.out, "fwd io over net_ring0 net_ring1")) << done.out;
}

TEST_F(fwd, serves_many_queues_ports_and_sizes_of_bursts) {
  const words four = {"--vdev=net_ring0", "--vdev=net_ring1", "--vdev=net_ring2", "--vdev=net_ring3"};
  for (const char* topology : {"paired", "chained", "loop"}) {
    const auto result = must_run(four + words{"--", "fwd", "--mode", "macswap", "--rxq", "3", "--txq", "3",
                                              "--topology", topology, "--burst", "7", "--tx-first", "2"});
    EXPECT_EQ(result["conservation"]["originated"].count(), 4u * 3 * 2 * 7) << topology;
    EXPECT_EQ(result["conservation"]["held"].count(), 4u * 3 * 2 * 7) << topology;
    EXPECT_GT(result["rx"]["packets"].count(), 168u) << topology;
  }
  const auto wide = must_run({"@loopback", "--", "fwd", "--mode", "io", "--burst", "512"});
  EXPECT_GE(wide["conservation"]["held"].count(), 1023u);  // of 1024: a ring that gets both bursts holds one less
  const auto jumbo = must_run({"@loopback", "--", "fwd", "--mode", "parse", "--size", "9000"});
  EXPECT_EQ(jumbo["rx"]["bytes"].count(), 9000 * jumbo["rx"]["packets"].count());
}

TEST_F(fwd, works_on_one_lcore_and_with_every_burst_stamped) {
  const auto alone = must_run({"@loopback", "-l", "0", "--", "fwd", "--mode", "parse", "--record-core-cycles"});
  EXPECT_EQ(alone["lcores"].items().size(), 1u);
  EXPECT_EQ(alone["lcores"].items()[0]["id"].count(), 0u);
  EXPECT_GT(alone["rx"]["packets"].count(), 512u);
  EXPECT_TRUE(alone["workload"]["record_core_cycles"].truth());
}

TEST_F(fwd, forwards_null_devices) {
  const auto result =
      must_run({"--vdev=net_null0,size=64", "--vdev=net_null1,size=64", "--", "fwd", "--mode", "macswap"});
  EXPECT_EQ(result["rx"]["bytes"].count(), 64 * result["rx"]["packets"].count());
}

TEST_F(fwd, parses_a_capture_once) {
  const std::string capture = std::string(std::getenv("MILLRACE_SOURCE")) + "/test/captures/quic-v1.pcap";
  const auto result =
      must_run({"--vdev=net_pcap0,rx_pcap=" + capture + ",tx_pcap=" + files_.path("/out.pcap"), "--", "fwd", "--mode",
                "parse", "--verify", "ip"});  // loopback captures hold no UDP checksums
  EXPECT_GT(result["rx"]["packets"].count(), 5u);
  EXPECT_GT(result["classes"]["quic_initial"].count(), 0u);
}

TEST_F(fwd, prints_a_block_every_period) {
  const auto done = run_millrace({"@loopback", "--", "fwd", "--duration", "0.55", "--stats-period", "0.1"});
  EXPECT_EQ(done.status, 0);
  std::size_t blocks = 0;
  for (std::size_t at = done.out.find("pool "); at != std::string::npos; at = done.out.find("pool ", at + 1))
    if (contains(done.out.substr(at, 60), " free of ")) ++blocks;
  EXPECT_GE(blocks, 1u) << done.out;
  for (const char* word :
       {"lcore", "rx ", "tx ", "Mpps", "Gbit/s", "packets a burst", "cycles a packet", "busy", "drops: none"})
    EXPECT_TRUE(contains(done.out, word)) << word << "\n" << done.out;
}

TEST_F(fwd, leaves_stdout_to_the_result_when_that_goes_there) {
  const auto done = run_millrace({"@loopback", "--", "fwd", "--duration", "0.1", "--json", "-"});
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(test::json_tree::parse(done.out)["role"].text(), "fwd");
  EXPECT_TRUE(contains(done.err, "every packet is accounted for")) << done.err;
}

TEST_F(fwd, never_writes_over_the_capture_it_reads) {
  files_.put("/in.pcap", "x");
  expect_refused({"--vdev=net_pcap0,rx_pcap=" + files_.path("/in.pcap") + ",tx_pcap=/dev/null", "--", "fwd", "--json",
                  files_.path("/in.pcap")},
                 "is the same file as");
}

TEST_F(fwd, writes_its_result_into_a_fifo) {
  const std::string fifo = files_.path("/fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  test::child running({test::millrace_program(), "@loopback", "--", "fwd", "--duration", "0.1", "--json", fifo});
  std::ifstream reader(fifo);
  std::stringstream text;
  text << reader.rdbuf();
  EXPECT_EQ(running.wait().status, 0);
  EXPECT_EQ(test::json_tree::parse(text.str())["role"].text(), "fwd");
}

TEST_F(fwd, says_so_when_nothing_can_move) {
  const auto done = run_millrace({"@loopback", "--", "fwd", "--duration", "0.1", "--tx-first", "0"});
  EXPECT_EQ(done.status, 0);
  EXPECT_TRUE(contains(done.out, "nothing will move")) << done.out;
  EXPECT_TRUE(contains(done.out, "nothing was received")) << done.out;
}

TEST_F(fwd, explains_itself_with_verbose) {
  const auto done = run_millrace({"@loopback", "--", "fwd", "--duration", "0.1", "--verbose"});
  EXPECT_EQ(done.status, 0);
  for (const char* part : {"port 0 net_ring0 (net_ring", "1 rx x 1024", "pool 'packets'", "descriptors + ", "lcore "})
    EXPECT_TRUE(contains(done.out, part)) << part << "\n" << done.out;
}

TEST_F(fwd, ends_well_on_a_signal) {
  for (const int number : {SIGINT, SIGTERM}) {
    test::child running(
        {test::millrace_program(), "@loopback", "--", "fwd", "--mode", "parse", "--stats-period", "0.1"});
    ASSERT_TRUE(running.wait_until([&] { return contains(running.out(), "free of"); })) << running.err();
    running.signal(number);
    const auto done = running.wait();
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_TRUE(contains(done.out, "every packet is accounted for")) << done.out;
  }
}

TEST_F(fwd, refuses_what_it_cannot_do_and_names_it) {
  expect_refused({"--", "fwd", "--mode", "forward"}, "--mode");
  expect_refused({"--", "fwd", "--burst", "0"}, "--burst");
  expect_refused({"--", "fwd", "--burst", "513"}, "--burst");
  expect_refused({"--", "fwd", "--tx-first", "4294967295"}, "--tx-first");
  expect_refused({"--", "fwd", "--json", ""}, "nothing stands behind '--json'");
  expect_refused({"--", "fwd", "--bursts", "3"}, "did you mean '--burst'?");
  expect_refused({"--", "fwd", "--duration", "99999999999999999999"}, "--duration");
  expect_refused({"--", "fwd", "--topology", "ring"}, "--topology");
  expect_refused({"--", "fwd", "--traffic", "quic,smtp"}, "smtp");
  expect_refused({"--", "fwd", "--size", "20"}, "--size");
  expect_refused({"--", "fwd", "--size", "10K"}, "--size");
  expect_refused({"--", "fwd", "--verify", "some"}, "--verify");
  expect_refused({"@loopback", "--", "fwd", "--rxq", "17"}, "--rxq");
  expect_refused({"@loopback", "--", "fwd", "--json", "/nonexistent/x.json"}, "/nonexistent/x.json");
}

}  // namespace
}  // namespace millrace

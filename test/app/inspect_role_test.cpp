// `inspect` as a user starts it: files good and bad, what stands on stdout, ports, memory.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/endian.hpp"
#include "support/corpus.hpp"
#include "support/json_tree.hpp"
#include "support/process.hpp"

namespace millrace::app {
namespace {

namespace fs = std::filesystem;
using test::json_tree;
using test::run_millrace;
using words = std::vector<std::string>;
using bytes = std::vector<std::uint8_t>;

fs::path captures() {
  const char* source = std::getenv("MILLRACE_SOURCE");
  return fs::path(source == nullptr ? "." : source) / "test" / "captures";
}

class inspect_role : public testing::Test {
 protected:
  fs::path folder_;

  void SetUp() override {
    MILLRACE_NEEDS_PROGRAM();
    folder_ = fs::temp_directory_path() / ("millrace-inspect-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  std::string write(const std::string& name, const bytes& content) const {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    return path.string();
  }
  static std::vector<json_tree> objects(const std::string& text) {
    std::vector<json_tree> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) out.push_back(json_tree::parse(line));
    return out;
  }
  static void expect_refused(const words& args, const std::string& named) {
    const test::run_result r = run_millrace(args);
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_NE(r.err.find(named), std::string::npos) << r.err;
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err.find("EAL: "), std::string::npos) << "nothing was started: " << r.err;
  }
};

void append_le32(bytes& to, std::uint32_t v) {
  for (int i = 0; i < 4; ++i) to.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
}

// A pcap file of UDP frames with `flows` source ports and addresses, one frame each.
bytes flood(std::uint32_t flows) {
  bytes file = {0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0};
  bytes frame(60, 0);
  frame[12] = 8;
  frame[14] = 0x45;
  frame[17] = 46;
  frame[22] = 64;
  frame[23] = 17;
  frame[26] = 10;
  frame[30] = 192;
  frame[37] = 9;
  frame[39] = 26;
  file.reserve(flows * 76 + 24);
  for (std::uint32_t n = 0; n < flows; ++n) {
    append_le32(file, 1'700'000'000 + n / 100'000);
    append_le32(file, n % 100'000 * 10);
    append_le32(file, 60);
    append_le32(file, 60);
    base::store_be16(frame.data() + 28, static_cast<std::uint16_t>(n >> 16));
    base::store_be16(frame.data() + 34, static_cast<std::uint16_t>(n));
    file.insert(file.end(), frame.begin(), frame.end());
  }
  return file;
}

TEST_F(inspect_role, names_a_file_that_it_cannot_read) {
  const std::string good = (captures() / "quic-v1.pcap").string();
  expect_refused({"--", "inspect", good, "/nowhere/to/be.pcap"}, "/nowhere/to/be.pcap");
  expect_refused({"--", "inspect", folder_.string()}, folder_.string());
  expect_refused({"--", "inspect", write("empty.pcap", {})}, "empty.pcap");
  expect_refused({"--", "inspect", write("text.pcap", {'h', 'e', 'l', 'l', 'o', '\n'})}, "text.pcap");
  expect_refused({"--", "inspect", write("short.pcap", {0xD4})}, "short.pcap");
}

TEST_F(inspect_role, names_options_that_cannot_be) {
  const std::string good = (captures() / "quic-v1.pcap").string();
  expect_refused({"--", "inspect"}, "nothing to look at");
  expect_refused({"--", "inspect", good, "--max-flows", "0"}, "--max-flows");
  expect_refused({"--", "inspect", good, "--max-flows", "9G"}, "--max-flows");
  expect_refused({"--", "inspect", good, "--srmp-port", "70000"}, "--srmp-port");
  expect_refused({"--", "inspect", good, "--live"}, "--live");
  expect_refused({"--", "inspect", good, "--json", "/nowhere/x.jsonl"}, "/nowhere/x.jsonl");
  expect_refused({"--", "inspect", good, "--summary", "/nowhere/x.json"}, "/nowhere/x.json");
  expect_refused({"--", "inspect", good, "--json", "-", "--summary", "-"}, "stdout");
}

TEST_F(inspect_role, never_writes_over_what_it_reads) {
  const fs::path copy = folder_ / "copy.pcap";
  fs::copy_file(captures() / "quic-v1.pcap", copy);
  const auto size = fs::file_size(copy);
  for (const char* option : {"--json", "--summary"})
    expect_refused({"--", "inspect", copy.string(), option, folder_.string() + "/./copy.pcap"}, "is the same file as");
  EXPECT_EQ(fs::file_size(copy), size);
  const std::string out = (folder_ / "out").string();
  expect_refused({"--", "inspect", copy.string(), "--json", out, "--summary", out}, "--summary");
}

TEST_F(inspect_role, says_so_when_a_capture_shrinks_under_it) {
  bytes large(24 + 16 * 1024 * 1024);
  const std::array<std::uint8_t, 24> header = {0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0,
                                               0,    0,    0,    0,    0, 0, 4, 0, 1, 0, 0, 0};
  std::ranges::copy(header, large.begin());
  for (std::size_t at = 24; at + 80 <= large.size(); at += 80) large[at + 8] = large[at + 12] = 64;
  const std::string path = write("shrinks.pcap", large);
  const std::string fifo = (folder_ / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  // The JSON file is opened behind the capture and waits for its reader: in between the capture is cut.
  test::child running({test::millrace_program(), "--", "inspect", path, "--json", fifo});
  ASSERT_TRUE(running.wait_until([&] { return running.has_mapped(path); })) << running.err();
  ASSERT_EQ(::truncate(path.c_str(), 4096), 0);
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  const auto result = running.wait();
  ::close(reader);
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_NE(result.last_error_line().find("became shorter while it was read"), std::string::npos) << result.err;
}

TEST_F(inspect_role, shows_people_a_table_and_what_it_adds_up_to) {
  const test::run_result r = run_millrace({"--", "inspect", (captures() / "quic-v1.pcap").string()});
  EXPECT_EQ(r.status, 0) << r.err;
  for (const char* part : {"CLIENT", "captures.millrace.test", "h3", "q13d", "conservation:", "holds", "tables:"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part << "\n" << r.out;
}

TEST_F(inspect_role, writes_json_lines_alone_to_stdout) {
  const test::run_result r = run_millrace({"--", "inspect", (captures() / "quic-v1.pcap").string(), "--json", "-"});
  EXPECT_EQ(r.status, 0) << r.err;
  const auto all = objects(r.out);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0]["proto"].text(), "quic");
  EXPECT_EQ(all[0]["capture"].text(), "quic-v1.pcap");
  EXPECT_NE(r.err.find("conservation:"), std::string::npos) << "people read it on stderr";
}

TEST_F(inspect_role, writes_the_result_of_the_run) {
  const std::string summary = (folder_ / "summary.json").string();
  const std::string capture = (captures() / "quic-v1.pcap").string();
  const test::run_result r = run_millrace({"--", "inspect", capture, capture, "--summary", summary});
  ASSERT_EQ(r.status, 0) << r.err;
  std::ifstream in(summary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const json_tree d = json_tree::parse(text);
  EXPECT_EQ(d["role"].text(), "inspect");
  EXPECT_TRUE(d["conservation"]["holds"].truth());
  EXPECT_EQ(d["conservation"]["rx"].count(), d["rx"]["packets"].count());
  EXPECT_GT(d["rx"]["packets"].count(), 20u);
  if (d.has("heap_calls")) {
    EXPECT_EQ(d["heap_calls"]["data_path"].count(), 0u);
  }
  std::size_t pools = 0;
  for (const auto& pool : d["mempools"].items()) {
    EXPECT_EQ(pool["in_use"].count(), 0u) << pool["name"].text();
    ++pools;
  }
  EXPECT_EQ(pools, 5u);
}

TEST_F(inspect_role, reads_names_with_commas_blanks_and_brackets) {
  const bytes content = test::read_file(captures() / "quic-v1.pcap");
  for (const char* name : {"a,b.pcap", "rx_pcap=x, y.pcap", "[1] (2) 'three'.pcap", "-dash.pcap"}) {
    const test::run_result r = run_millrace({"--", "inspect", "--json", "-", "--", write(name, content)});
    EXPECT_EQ(r.status, 0) << name << r.err;
    const auto all = objects(r.out);
    ASSERT_FALSE(all.empty()) << name;
    EXPECT_EQ(all[0]["capture"].text(), name);
    EXPECT_EQ(r.err.find("were read from the file itself"), std::string::npos) << "through its port: " << r.err;
  }
}

TEST_F(inspect_role, analyses_a_truncated_capture_up_to_its_end) {
  bytes content = test::read_file(captures() / "quic-v1.pcap");
  content.resize(content.size() - 10);
  const std::string summary = (folder_ / "summary.json").string();
  const test::run_result r =
      run_millrace({"--", "inspect", write("cut.pcap", content), "--json", "-", "--summary", summary});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_FALSE(objects(r.out).empty());
  EXPECT_NE(r.err.find("capture_truncated_file"), std::string::npos) << r.err;
  std::ifstream in(summary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_NE(text.find("\"capture_truncated_file\":1"), std::string::npos) << text;
}

TEST_F(inspect_role, reads_on_where_libpcap_gives_a_file_up_and_says_so) {
  // Two sections, the second with another link type: libpcap refuses what is in it.
  const bytes first = test::read_file(captures() / "quic-zero-rtt.pcapng");
  const bytes section = {0x0A, 0x0D, 0x0D, 0x0A, 28,   0,    0,    0,    0x4D, 0x3C, 0x2B, 0x1A, 1, 0,
                         0,    0,    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 28,   0,    0, 0};
  const bytes interface = {1, 0, 0, 0, 20, 0, 0, 0, 101, 0, 0, 0, 0, 0, 4, 0, 20, 0, 0, 0};  // raw IP
  const bytes ip = {0x45, 0, 0, 32, 0,    0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1,
                    10,   0, 0, 2,  0x10, 0, 0, 9, 0,  12, 0, 0, 1,  2, 3, 4};
  bytes packet;
  append_le32(packet, 6);
  append_le32(packet, 32 + static_cast<std::uint32_t>(ip.size()));
  for (const std::uint32_t v : {0u, 0u, 0u, 32u, 32u}) append_le32(packet, v);
  packet.insert(packet.end(), ip.begin(), ip.end());
  append_le32(packet, 32 + static_cast<std::uint32_t>(ip.size()));
  bytes all = first;
  for (const bytes& part : {section, interface, packet}) all.insert(all.end(), part.begin(), part.end());
  const test::run_result r = run_millrace({"--", "inspect", write("two-links.pcapng", all), "--json", "-"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.err.find("1 of"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("were read from the file itself"), std::string::npos) << r.err;
  const auto found = objects(r.out);
  const bool udp = std::ranges::any_of(found, [](const auto& o) { return o["proto"].text() == "udp"; });
  const bool quic = std::ranges::any_of(found, [](const auto& o) { return o["proto"].text() == "quic"; });
  EXPECT_TRUE(udp && quic) << r.out;
}

TEST_F(inspect_role, holds_its_memory_to_the_flow_cap) {
  constexpr std::uint32_t flows = 200'000;
  const std::string capture = write("flood.pcap", flood(flows));
  const std::string summary = (folder_ / "summary.json").string();
  const auto peak_kb = [&](const std::string& file, const std::string& cap) {
    rusage before{};
    ::getrusage(RUSAGE_CHILDREN, &before);
    const test::run_result r =
        run_millrace({"--", "inspect", file, "--max-flows", cap, "--summary", summary, "--json", "/dev/null"});
    EXPECT_EQ(r.status, 0) << r.err;
    rusage after{};
    ::getrusage(RUSAGE_CHILDREN, &after);
    return after.ru_maxrss;  // of the largest child so far: hence the order below
  };
  const long tiny = peak_kb((captures() / "quic-v1.pcap").string(), "1000");
  const long flooded = peak_kb(capture, "1000");
  // The capture itself is mapped and counts as resident while it is read; the tables for 1000 flows are 9 MB.
  const long mapped = static_cast<long>(fs::file_size(capture) / 1024);
  EXPECT_LT(flooded, tiny + mapped + 16'000) << "resident memory grew with the flows";
  std::ifstream in(summary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_NE(text.find("\"name\":\"inspect_flows\",\"size\":1000,\"in_use\":0,\"high_water\":1000"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\"delivered\":200000"), std::string::npos) << text;
}

TEST_F(inspect_role, watches_ports_until_they_fall_silent) {
  const std::string vdev = "--vdev=net_pcap0,rx_pcap=" + (captures() / "quic-v1.pcap").string();
  const test::run_result r = run_millrace({vdev, "--", "inspect", "--live", "--idle-exit", "0.3", "--json", "-"});
  EXPECT_EQ(r.status, 0) << r.err;
  const auto all = objects(r.out);
  ASSERT_FALSE(all.empty()) << r.err;
  EXPECT_EQ(all[0]["sni"].text(), "captures.millrace.test");
  EXPECT_FALSE(all[0].has("capture"));
}

TEST_F(inspect_role, ends_cleanly_at_a_signal) {
  test::child running(
      {test::millrace_program(), "--vdev=net_null0", "--", "inspect", "--live", "--stats-period", "0.1"});
  ASSERT_TRUE(running.wait_until([&] { return running.out().find("Mpps") != std::string::npos; })) << running.err();
  running.signal(SIGINT);
  const test::run_result r = running.wait();
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("holds"), std::string::npos) << r.out;
}

TEST_F(inspect_role, agrees_with_itself_on_the_corpus_through_ports_and_in_process) {
  MILLRACE_NEEDS_CORPUS();
  const fs::path folder = test::corpus() / "pcap" / "quic";
  words args = {"--", "inspect", "--json", "-"};
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".pcap" || entry.path().extension() == ".pcapng")
      args.push_back(entry.path().string());
  const test::run_result r = run_millrace(args);
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err.find("were read from the file itself"), std::string::npos) << r.err;
  std::size_t quic = 0;
  std::size_t gquic = 0;
  std::size_t with_sni = 0;
  for (const auto& o : objects(r.out)) {
    quic += o["proto"].text() == "quic" ? 1 : 0;
    gquic += o["proto"].text() == "gquic" ? 1 : 0;
    with_sni += o.has("sni") ? 1 : 0;
  }
  // What test/inspect/corpus_test.cpp finds without EAL in the same captures.
  EXPECT_EQ(quic, 691u);
  EXPECT_EQ(gquic, 23u);
  EXPECT_GT(with_sni, 600u);
}

}  // namespace
}  // namespace millrace::app

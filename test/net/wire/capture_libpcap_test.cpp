// The reader beside libpcap, which is what net_pcap reads with: record for record, over good, cut and damaged files.

#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include <cstdio>
#include <memory>

#include "net/wire/capture.hpp"
#include "net/wire/capture_files.hpp"
#include "support/corpus.hpp"

namespace millrace::net::wire {
namespace {

using millrace::test::byte_list;
using test::pcap_file;
using test::pcapng_file;

struct record {
  std::uint64_t ts_ns = 0;
  std::uint32_t original_length = 0;
  byte_list data;

  bool operator==(const record&) const = default;
};

// What libpcap delivers before it ends or gives up.
std::vector<record> by_libpcap(byte_list file) {
  std::vector<record> out;
  if (file.empty()) return out;
  FILE* const stream = ::fmemopen(file.data(), file.size(), "rb");
  char why[PCAP_ERRBUF_SIZE];
  pcap_t* const capture = ::pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, why);
  if (capture == nullptr) {
    std::fclose(stream);
    return out;
  }
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  while (::pcap_next_ex(capture, &header, &data) == 1) {
    const auto ns =
        static_cast<std::uint64_t>(header->ts.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(header->ts.tv_usec);
    out.push_back({ns, header->len, {data, data + header->caplen}});
  }
  ::pcap_close(capture);
  return out;
}

// What ours delivers of them.
std::vector<record> by_us(base::byte_view file) {
  std::vector<record> out;
  const auto reader = std::make_unique<capture_reader>(file);
  for (capture_event event = reader->next(); event != capture_event::end; event = reader->next()) {
    if (event != capture_event::record || reader->record().beyond_libpcap) continue;
    const capture_record& r = reader->record();
    out.push_back({r.ts_ns, r.original_length, {r.data.begin(), r.data.end()}});
  }
  return out;
}

// Clocks are compared on sound files only: what libpcap computes from a damaged resolution overflows.
void expect_lock_step(const byte_list& file, bool clocks, const std::string& what) {
  std::vector<record> theirs = by_libpcap(file);
  std::vector<record> ours = by_us(file);
  if (!clocks) {
    for (record& r : theirs) r.ts_ns = 0;
    for (record& r : ours) r.ts_ns = 0;
  }
  ASSERT_EQ(ours.size(), theirs.size()) << what;
  for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_TRUE(ours[i] == theirs[i]) << what << ", record " << i;
}

const byte_list ten = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
const byte_list three = {10, 11, 12};

std::vector<byte_list> seeds() {
  std::vector<byte_list> out;
  for (const bool big : {false, true}) {
    for (const std::uint32_t magic : {0xA1B2C3D4u, 0xA1B23C4Du, 0xA1B2CD34u})
      out.push_back(pcap_file(big, magic).record(7, 5, ten).record(8, 9, three, 99).bytes());
    for (const unsigned minor : {2u, 3u})
      out.push_back(pcap_file(big, 0xA1B2C3D4, 1, 65535, minor).record(7, 5, ten, 10).bytes());
    out.push_back(pcap_file(big, 0xA1B2C3D4, 1, 4).record(7, 5, ten, 60).record(8, 9, three).bytes());

    pcapng_file plain(big);
    plain.interface(1, 0, plain.option(9, {9})).packet(0, 1'700'000'000'000'000'005, ten).packet(0, 6, three, 1500);
    out.push_back(plain.whole);

    pcapng_file mixed(big);
    mixed.block(4, ten)
        .interface(1, 64)
        .interface(1, 64, mixed.option(14, mixed.fields().u64(3).bytes()))
        .secrets(secrets_tls_key_log, three)
        .packet(1, 1, ten)
        .simple_packet(three, 3)
        .old_packet(0, 9, ten)
        .section()
        .interface(1, 64)
        .packet(0, 7, three);
    out.push_back(mixed.whole);

    // Raw IP's link type and libpcap's number for it differ, and libpcap compares one with the other.
    out.push_back(pcapng_file(big).interface(101).packet(0, 1, ten).interface(101).packet(1, 2, ten).whole);
    out.push_back(pcapng_file(big).interface(1).packet(0, 1, ten).interface(113).packet(0, 2, ten).whole);
    out.push_back(pcapng_file(big).interface(1, 5).packet(0, 1, three).packet(0, 2, ten).packet(0, 3, three).whole);
    out.push_back(pcapng_file(big).packet(0, 1, ten).interface(1).packet(0, 2, ten).whole);
    out.push_back(
        pcapng_file(big).interface(1).section(1, 2).interface(1).section(1, 1).interface(1).packet(0, 2, ten).whole);
    out.push_back(pcapng_file(big).section(1, 2).interface(1).packet(0, 2, ten).whole);
    byte_list turned = pcapng_file(big).interface(1).packet(0, 1, ten).whole;
    const byte_list other = pcapng_file(!big).interface(1).packet(0, 1, ten).whole;
    turned.insert(turned.end(), other.begin(), other.end());
    out.push_back(turned);
  }
  return out;
}

TEST(capture_and_libpcap, deliver_the_same_records_of_sound_files) {
  int i = 0;
  for (const byte_list& file : seeds()) expect_lock_step(file, true, "seed " + std::to_string(i++));
}

TEST(capture_and_libpcap, stop_at_the_same_record_of_cut_files) {
  int i = 0;
  for (const byte_list& file : seeds()) {
    for (std::size_t size = 0; size < file.size(); ++size)
      expect_lock_step({file.begin(), file.begin() + static_cast<long>(size)}, false,
                       "seed " + std::to_string(i) + " cut at " + std::to_string(size));
    ++i;
  }
}

TEST(capture_and_libpcap, stop_at_the_same_record_of_damaged_files) {
  int i = 0;
  for (const byte_list& file : seeds()) {
    for (std::size_t at = 0; at < file.size(); ++at) {
      for (const int by : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF}) {
        byte_list damaged = file;
        damaged[at] ^= static_cast<std::uint8_t>(by);
        expect_lock_step(damaged, false,
                         "seed " + std::to_string(i) + " byte " + std::to_string(at) + " ^ " + std::to_string(by));
      }
    }
    ++i;
  }
}

TEST(capture_and_libpcap, deliver_the_same_records_of_every_corpus_capture) {
  MILLRACE_NEEDS_CORPUS();
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(millrace::test::corpus() / "pcap")) {
    const std::string kind = entry.path().extension();
    if (kind != ".pcap" && kind != ".pcapng") continue;
    expect_lock_step(millrace::test::read_file(entry.path()), true, entry.path().filename());
    ++files;
  }
  EXPECT_GT(files, 200u);
}

}  // namespace
}  // namespace millrace::net::wire

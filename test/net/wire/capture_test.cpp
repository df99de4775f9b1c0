#include "net/wire/capture.hpp"

#include <gtest/gtest.h>

#include "base/hex.hpp"
#include "net/wire/capture_files.hpp"
#include "support/guard_page.hpp"

namespace millrace::net::wire {
namespace {

using millrace::test::byte_list;
using millrace::test::from_hex;
using millrace::test::from_text;
using test::pcap_file;
using test::pcapng_file;

const byte_list ten = from_hex("00112233445566778899");
const byte_list three = from_hex("aabbcc");

// Every event in order, as one line each.
std::vector<std::string> events(base::byte_view file) {
  std::vector<std::string> out;
  auto reader = std::make_unique<capture_reader>(file);
  for (;;) {
    switch (reader->next()) {
      case capture_event::record: {
        const capture_record& r = reader->record();
        out.push_back("record " + std::to_string(r.ts_ns) + " link " + std::to_string(r.link) + " if " +
                      std::to_string(r.interface) + " " + std::to_string(r.data.size()) + "/" +
                      std::to_string(r.original_length) + (r.beyond_libpcap ? " beyond" : ""));
        break;
      }
      case capture_event::secrets:
        out.push_back("secrets " + std::to_string(reader->secrets().type) + " " +
                      std::string(base::as_text(reader->secrets().data)));
        break;
      case capture_event::malformed:
        out.push_back("malformed " + std::string(to_string(reader->fault())) + " @" + std::to_string(reader->offset()));
        break;
      case capture_event::end:
        EXPECT_EQ(reader->next(), capture_event::end);  // and stays there
        return out;
    }
    if (out.size() > 10000) {
      ADD_FAILURE() << "no end";
      return out;
    }
  }
}

using lines = std::vector<std::string>;

TEST(capture_reader, reads_pcap_in_both_byte_orders_and_both_resolutions) {
  for (const bool big : {false, true}) {
    EXPECT_EQ(events(pcap_file(big).record(7, 5, ten).record(8, 999'999, three, 1500).bytes()),
              (lines{"record 7000005000 link 1 if 0 10/10", "record 8999999000 link 1 if 0 3/1500"}));
    EXPECT_EQ(events(pcap_file(big, 0xA1B23C4D, 113).record(7, 5, ten).bytes()),
              (lines{"record 7000000005 link 113 if 0 10/10"}));
  }
}

TEST(capture_reader, hands_out_the_bytes_where_they_lie) {
  const byte_list file = pcap_file(false).record(1, 2, ten).bytes();
  capture_reader reader(file);
  ASSERT_EQ(reader.next(), capture_event::record);
  EXPECT_EQ(reader.record().data.data(), file.data() + 24 + 16);
  EXPECT_EQ(reader.offset(), 24u);
  EXPECT_TRUE(std::equal(ten.begin(), ten.end(), reader.record().data.begin()));
}

TEST(capture_reader, reads_the_modified_pcap_with_its_longer_record_headers) {
  for (const bool big : {false, true})
    EXPECT_EQ(events(pcap_file(big, 0xA1B2CD34).record(1, 2, ten).record(3, 4, three).bytes()),
              (lines{"record 1000002000 link 1 if 0 10/10", "record 3000004000 link 1 if 0 3/3"}));
}

TEST(capture_reader, takes_the_lengths_of_old_versions_the_other_way_round) {
  // Version 2.2 wrote the original length first; 2.3 either way.
  const byte_list old = pcap_file(false, 0xA1B2C3D4, 1, 65535, 2).record(1, 0, ten, 10).bytes();
  EXPECT_EQ(events(old), (lines{"record 1000000000 link 1 if 0 10/10"}));
  byte_list swapped = pcap_file(false, 0xA1B2C3D4, 1, 65535, 2).record(1, 0, three, 3).bytes();
  base::store_le32(swapped.data() + 32, 99);  // original
  EXPECT_EQ(events(swapped), (lines{"record 1000000000 link 1 if 0 3/99"}));
  swapped[6] = 3;
  EXPECT_EQ(events(swapped), (lines{"record 1000000000 link 1 if 0 3/99"}));
}

TEST(capture_reader, cuts_records_to_the_files_snap_length) {
  EXPECT_EQ(events(pcap_file(false, 0xA1B2C3D4, 1, 4).record(1, 0, ten, 60).record(2, 0, three).bytes()),
            (lines{"record 1000000000 link 1 if 0 4/60", "record 2000000000 link 1 if 0 3/3"}));
}

TEST(capture_reader, ignores_the_frame_check_sequence_bits_of_the_link_type) {
  EXPECT_EQ(events(pcap_file(false, 0xA1B2C3D4, 0x2400'0001).record(1, 0, three).bytes()),
            (lines{"record 1000000000 link 1 if 0 3/3"}));
}

TEST(capture_reader, ends_a_cut_pcap_with_a_reason_and_its_place) {
  const byte_list file = pcap_file(false).record(1, 2, ten).record(3, 4, three).bytes();
  const std::string first = "record 1000002000 link 1 if 0 10/10";
  const std::string second = "record 3000004000 link 1 if 0 3/3";
  millrace::test::guard_page page(4096);
  for (std::size_t size = 0; size <= file.size(); ++size) {
    const lines got = events(page.place(base::byte_view(file).first(size)));
    lines want;
    if (size >= 24 + 26) want.push_back(first);
    if (size == file.size()) want.push_back(second);
    if (size < 4) want.push_back("malformed not_a_capture @0");
    if (size >= 4 && size < 24) want.push_back("malformed truncated @0");
    if (size > 24 && size < 50) want.push_back("malformed truncated @24");
    if (size > 50 && size < file.size()) want.push_back("malformed truncated @50");
    EXPECT_EQ(got, want) << size;
  }
}

TEST(capture_reader, refuses_what_is_no_capture_and_versions_nobody_wrote) {
  EXPECT_EQ(events(from_text("#!/bin/sh\necho a script and no capture\n")), (lines{"malformed not_a_capture @0"}));
  EXPECT_EQ(events(pcap_file(false, 0xA1B2C3D4, 1, 65535, 5).record(1, 2, ten).bytes()),
            (lines{"malformed unknown_version @0"}));
  EXPECT_EQ(events(pcap_file(false, 0xA1B2C3D4, 1, 65535, 4, 1).bytes()), (lines{"malformed unknown_version @0"}));
  EXPECT_EQ(events(pcap_file(false, 0xA1B2C3D4, 1, 65535, 0, 543).record(1, 2, ten).bytes()),
            (lines{"record 1000002000 link 1 if 0 10/10"}));  // DG/UX wrote that one
}

TEST(capture_reader, refuses_a_captured_length_that_no_frame_has) {
  byte_list file = pcap_file(false).record(1, 2, ten).bytes();
  base::store_le32(file.data() + 32, max_captured_length + 1);
  file.resize(file.size() + max_captured_length);
  EXPECT_EQ(events(file), (lines{"malformed bad_captured_length @24"}));
  base::store_le32(file.data() + 32, 0xFFFF'FFFF);
  EXPECT_EQ(events(file), (lines{"malformed bad_captured_length @24"}));
}

TEST(capture_reader, reads_pcapng_in_both_byte_orders) {
  for (const bool big : {false, true}) {
    pcapng_file file(big);
    file.interface(1).packet(0, 1'600'000'000'000'001, ten).packet(0, 5, three, 1500);
    EXPECT_EQ(events(file.whole),
              (lines{"record 1600000000000001000 link 1 if 0 10/10", "record 5000 link 1 if 0 3/1500"}));
  }
}

TEST(capture_reader, scales_the_clock_of_each_interface) {
  pcapng_file file(true);
  const byte_list offset = file.fields().u64(100).bytes();
  const byte_list before = file.fields().u64(static_cast<std::uint64_t>(-5)).bytes();
  file.interface(1, 0, file.option(9, {9}))           // ns
      .interface(1, 0, file.option(9, {0x80 | 10}))   // 1/1024 s
      .interface(1, 0, file.option(9, {0}))           // s
      .interface(1, 0, file.option(14, offset))       // us, 100 s on
      .interface(1, 0, file.option(14, before))       // us, 5 s back: before 1970 is clamped
      .interface(1, 0, file.option(9, {12}))          // ps
      .interface(1, 0, file.option(9, {0x80 | 63}));  // 2^-63 s
  for (std::uint32_t i = 0; i < 7; ++i) file.packet(i, 3'000'001, three);
  EXPECT_EQ(events(file.whole),
            (lines{"record 3000001 link 1 if 0 3/3", "record 2929688476562 link 1 if 1 3/3",
                   "record 3000001000000000 link 1 if 2 3/3", "record 103000001000 link 1 if 3 3/3",
                   "record 0 link 1 if 4 3/3", "record 3000 link 1 if 5 3/3", "record 0 link 1 if 6 3/3"}));
}

TEST(capture_reader, reads_simple_and_obsolete_packet_blocks) {
  pcapng_file file(false);
  file.interface(101, 6)
      .simple_packet(base::byte_view(ten).first(6), 40)
      .simple_packet(three, 3)
      .old_packet(0, 9, three);
  EXPECT_EQ(events(file.whole),
            (lines{"record 0 link 101 if 0 6/40", "record 0 link 101 if 0 3/3", "record 9000 link 101 if 0 3/3"}));
}

TEST(capture_reader, delivers_decryption_secrets_where_they_stand) {
  pcapng_file file(true);
  file.secrets(secrets_tls_key_log, from_text("CLIENT_RANDOM a b"))
      .interface(1)
      .packet(0, 1, ten)
      .secrets(0x57474B4C, from_text("LOCAL"))
      .packet(0, 2, ten);
  EXPECT_EQ(events(file.whole), (lines{"secrets 1414288203 CLIENT_RANDOM a b", "record 1000 link 1 if 0 10/10",
                                       "secrets 1464290124 LOCAL", "record 2000 link 1 if 0 10/10"}));
}

TEST(capture_reader, skips_blocks_that_hold_no_packets) {
  pcapng_file file(false);
  file.interface(1)
      .block(4, ten)            // names
      .block(5, ten)            // statistics
      .block(9, ten)            // systemd journal
      .block(0x0BAD, ten)       // custom
      .block(0x4000'0BAD, ten)  // custom, not to be copied
      .block(0x8000'1234, {})   // somebody's own
      .packet(0, 1, ten);
  EXPECT_EQ(events(file.whole), (lines{"record 1000 link 1 if 0 10/10"}));
}

TEST(capture_reader, starts_each_section_with_its_own_interfaces_and_byte_order) {
  pcapng_file first(false);
  first.interface(1).interface(1).packet(1, 1, ten).section().packet(0, 2, ten);
  pcapng_file second(true);
  second.interface(113).packet(0, 3, three);
  const byte_list file = millrace::test::join({first.whole, second.whole});
  EXPECT_EQ(events(file), (lines{"record 1000 link 1 if 1 10/10",
                                 "malformed unknown_interface @" + std::to_string(28 + 20 + 20 + 44 + 28),
                                 "record 3000 link 113 if 0 3/3 beyond"}));
}

TEST(capture_reader, marks_what_libpcap_no_longer_delivers) {
  const auto last_of = [](const pcapng_file& file) { return events(file.whole).back(); };
  const std::string within = "record 1000 link 1 if 0 3/3";
  const std::string beyond = within + " beyond";
  EXPECT_EQ(last_of(pcapng_file(false).interface(1).interface(1).packet(0, 1, three)), within);
  EXPECT_EQ(last_of(pcapng_file(false).interface(1).interface(113).packet(0, 1, three)), beyond);
  EXPECT_EQ(last_of(pcapng_file(false).interface(1, 100).interface(1, 200).packet(0, 1, three)), beyond);
  EXPECT_EQ(last_of(pcapng_file(false).interface(1, 2).packet(0, 1, three)), beyond);
}

TEST(capture_reader, goes_on_behind_a_block_whose_framing_holds) {
  pcapng_file file(false);
  file.interface(1)
      .packet(7, 1, ten)                       // nobody described interface 7
      .packet(0, 2, ten, 10, 11)               // 12 padded bytes are there; 11 would be read
      .packet(0, 3, ten, 10, 13)               // more than its block holds
      .block(6, {})                            // no fields at all
      .secrets(secrets_tls_key_log, three, 5)  // more than its block holds
      .secrets(secrets_tls_key_log, three)
      .interface(1, 0, file.option(9, {1, 2}))  // a resolution of two bytes
      .packet(1, 4, ten);
  const lines got = events(file.whole);
  ASSERT_EQ(got.size(), 8u);
  EXPECT_EQ(got[0].substr(0, 28), "malformed unknown_interface ");
  EXPECT_EQ(got[1], "record 2000 link 1 if 0 11/10 beyond");
  EXPECT_EQ(got[2].substr(0, 30), "malformed bad_captured_length ");
  EXPECT_EQ(got[3].substr(0, 27), "malformed bad_block_length ");
  EXPECT_EQ(got[4].substr(0, 29), "malformed bad_secrets_length ");
  EXPECT_EQ(got[5], "secrets 1414288203 " + std::string(base::as_text(three)));
  EXPECT_EQ(got[6].substr(0, 32), "malformed bad_interface_options ");
  EXPECT_EQ(got[7], "record 4000 link 1 if 1 10/10 beyond");
}

TEST(capture_reader, gives_up_where_the_framing_breaks) {
  pcapng_file good(false);
  good.interface(1).packet(0, 1, ten);
  const std::size_t packet_at = 28 + 20;
  const auto change = [&](std::size_t at, std::uint32_t value) {
    byte_list file = good.whole;
    base::store_le32(file.data() + at, value);
    return events(file);
  };
  const std::string at = " @" + std::to_string(packet_at);
  EXPECT_EQ(change(packet_at + 4, 8), (lines{"malformed bad_block_length" + at}));
  EXPECT_EQ(change(packet_at + 4, 0), (lines{"malformed bad_block_length" + at}));
  EXPECT_EQ(change(packet_at + 4, 43), (lines{"malformed bad_block_length" + at}));
  EXPECT_EQ(change(packet_at + 4, 40), (lines{"malformed bad_block_length" + at}));
  EXPECT_EQ(change(packet_at + 4, 0xFFFF'FFFC), (lines{"malformed truncated" + at}));
  EXPECT_EQ(change(packet_at + 40, 12), (lines{"malformed bad_block_length" + at}));
  EXPECT_EQ(change(8, 0), (lines{"malformed not_a_capture @0"}));
  EXPECT_EQ(change(12, 2), (lines{"malformed unknown_version @0"}));
}

TEST(capture_reader, ends_a_cut_pcapng_with_a_reason) {
  pcapng_file file(true);
  file.interface(1, 0, file.option(9, {9})).secrets(secrets_tls_key_log, ten).packet(0, 1, ten).packet(0, 2, three);
  millrace::test::guard_page page(4096);
  const std::size_t ends[] = {28, 56, 88, 132, 168};  // of its blocks
  ASSERT_EQ(file.whole.size(), 168u);
  for (std::size_t size = 0; size < file.whole.size(); ++size) {
    const lines got = events(page.place(base::byte_view(file.whole).first(size)));
    const bool between = std::find(std::begin(ends), std::end(ends), size) != std::end(ends);
    std::size_t want = (size >= 88 ? 1u : 0u) + (size >= 132 ? 1u : 0u) + (between ? 0u : 1u);
    EXPECT_EQ(got.size(), want) << size;
    if (!between) {
      EXPECT_EQ(got.back().substr(0, 9), "malformed") << size;
    }
  }
}

TEST(capture_reader, survives_every_changed_byte_in_front_of_a_guard_page) {
  pcapng_file ng(false);
  ng.interface(1, 0, ng.option(9, {9})).secrets(secrets_tls_key_log, ten).packet(0, 1, ten).simple_packet(three, 3);
  const byte_list files[] = {ng.whole, pcap_file(true).record(1, 2, ten).record(3, 4, three).bytes()};
  millrace::test::guard_page page(4096);
  for (const byte_list& file : files) {
    const base::byte_span copy = page.place(file);
    for (std::uint8_t& byte : copy) {
      const std::uint8_t was = byte;
      for (int value = 0; value < 256; ++value) {
        byte = static_cast<std::uint8_t>(value);
        EXPECT_LE(events(copy).size(), 6u);
      }
      byte = was;
    }
  }
}

TEST(capture_reader, bounds_the_interfaces_of_a_section) {
  pcapng_file file(false);
  for (std::size_t i = 0; i <= max_capture_interfaces; ++i) file.interface(1);
  file.packet(max_capture_interfaces - 1, 1, three).packet(max_capture_interfaces, 2, three);
  const lines got = events(file.whole);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].substr(0, 30), "malformed too_many_interfaces ");
  EXPECT_EQ(got[1], "record 1000 link 1 if 1023 3/3");
  EXPECT_EQ(got[2].substr(0, 28), "malformed unknown_interface ");
}

TEST(capture_fault, has_a_name_for_every_value) {
  for (int i = 0; i <= static_cast<int>(capture_fault::too_many_interfaces); ++i)
    EXPECT_NE(to_string(static_cast<capture_fault>(i)), "unknown");
}

}  // namespace
}  // namespace millrace::net::wire

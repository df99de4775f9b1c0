#include "inspect/gquic_chlo.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/endian.hpp"

namespace millrace::inspect {
namespace {

using bytes = std::vector<std::uint8_t>;

void le32(bytes& out, std::uint32_t v) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
}

bytes make_chlo(const std::vector<std::pair<std::string, std::string>>& entries) {
  bytes out = {'C', 'H', 'L', 'O', static_cast<std::uint8_t>(entries.size()), 0, 0, 0};
  std::uint32_t end = 0;
  for (const auto& [tag, value] : entries) {
    for (std::size_t i = 0; i < 4; ++i) out.push_back(i < tag.size() ? static_cast<std::uint8_t>(tag[i]) : 0);
    le32(out, end += static_cast<std::uint32_t>(value.size()));
  }
  for (const auto& [tag, value] : entries) out.insert(out.end(), value.begin(), value.end());
  return out;
}

const bytes sample = make_chlo({{"PAD", std::string(20, '-')}, {"SNI", "www.example.org"}, {"VER", "Q043"}});

TEST(gquic_chlo, finds_the_server_name) {
  bool is_chlo = false;
  EXPECT_EQ(chlo_size(sample, is_chlo), sample.size());
  EXPECT_TRUE(is_chlo);
  chlo hello;
  ASSERT_TRUE(read_chlo(sample, hello));
  EXPECT_TRUE(hello.has_sni);
  EXPECT_EQ(hello.sni, "www.example.org");
}

TEST(gquic_chlo, says_when_there_is_no_name) {
  chlo hello;
  ASSERT_TRUE(read_chlo(make_chlo({{"VER", "Q043"}}), hello));
  EXPECT_FALSE(hello.has_sni);
}

TEST(gquic_chlo, waits_for_its_table_and_refuses_other_messages) {
  bool is_chlo = false;
  for (std::size_t cut = 0; cut < 32; ++cut) {
    EXPECT_EQ(chlo_size(base::byte_view(sample).first(cut), is_chlo), 0u);
    EXPECT_TRUE(is_chlo) << cut;
  }
  EXPECT_EQ(chlo_size(base::as_bytes("SHLO...................."), is_chlo), 0u);
  EXPECT_FALSE(is_chlo);
}

TEST(gquic_chlo, refuses_ends_that_run_backwards_or_away) {
  bytes backwards = sample;
  base::store_le32(backwards.data() + 12, 30);  // the first value ends behind the second
  base::store_le32(backwards.data() + 20, 10);
  chlo hello;
  EXPECT_FALSE(read_chlo(backwards, hello));
  bytes away = sample;
  base::store_le32(away.data() + 28, 0xFFFF'FFFF);
  bool is_chlo = true;
  EXPECT_EQ(chlo_size(away, is_chlo), 0u);
  EXPECT_FALSE(is_chlo);
  bytes many = sample;
  many[4] = 200;
  EXPECT_EQ(chlo_size(many, is_chlo), 0u);
  EXPECT_FALSE(is_chlo);
}

TEST(gquic_chlo, survives_every_change_of_one_byte) {
  for (std::size_t i = 0; i < sample.size(); ++i)
    for (int v = 0; v < 256; ++v) {
      bytes changed = sample;
      changed[i] = static_cast<std::uint8_t>(v);
      chlo hello;
      if (read_chlo(changed, hello)) {
        EXPECT_LE(hello.sni.size(), sample.size());
      }
    }
}

quic::wire::gquic_header header_of(std::uint32_t size, std::uint8_t pn_size) {
  quic::wire::gquic_header h;
  h.header_size = size;
  h.pn_size = pn_size;
  return h;
}

bytes packet_with(const bytes& chlo, std::size_t behind_header, bool big_endian) {
  bytes out(behind_header, 0x55);
  out.push_back(0xA0);  // STREAM, with a length, no offset, one byte of ID
  out.push_back(1);
  const auto size = static_cast<std::uint16_t>(chlo.size());
  out.push_back(static_cast<std::uint8_t>(big_endian ? size >> 8 : size));
  out.push_back(static_cast<std::uint8_t>(big_endian ? size : size >> 8));
  out.insert(out.end(), chlo.begin(), chlo.end());
  out.resize(out.size() + 10);
  return out;
}

TEST(gquic_chlo, is_found_in_the_clear_packets_of_each_generation) {
  const auto find = [](std::uint32_t version, std::size_t private_flags, bool big_endian) {
    const bytes packet = packet_with(sample, 13 + 1 + 12 + private_flags, big_endian);
    const base::byte_view found = find_plain_chlo(packet, header_of(13, 1), version);
    return bytes(found.begin(), found.end());
  };
  EXPECT_EQ(find(0x51303234, 1, false), sample);  // Q024
  EXPECT_EQ(find(0x51303335, 0, false), sample);  // Q035
  EXPECT_EQ(find(0x51303433, 0, true), sample);   // Q043
  EXPECT_EQ(find(0x51303436, 0, true), sample);   // Q046
  EXPECT_TRUE(find(0x51303433, 0, false).empty());
}

TEST(gquic_chlo, is_found_at_any_offset_of_its_stream_and_not_when_cut) {
  bytes packet = packet_with(sample, 26, true);
  const quic::wire::gquic_header h = header_of(13, 1);
  for (std::size_t cut = 0; cut < packet.size() - 10; ++cut)
    EXPECT_TRUE(find_plain_chlo(base::byte_view(packet).first(cut), h, 0x51303433).empty()) << cut;
  packet[26] = 0xA4;  // with an offset of two bytes
  packet.insert(packet.begin() + 28, {0x04, 0x00});
  EXPECT_EQ(find_plain_chlo(packet, h, 0x51303433).size(), sample.size());
}

}  // namespace
}  // namespace millrace::inspect

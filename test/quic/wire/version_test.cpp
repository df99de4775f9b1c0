#include "quic/wire/version.hpp"

#include <gtest/gtest.h>

namespace millrace::quic::wire {
namespace {

constexpr version_number label(const char (&text)[5]) {
  return static_cast<version_number>(text[0]) << 24 | static_cast<version_number>(text[1]) << 16 |
         static_cast<version_number>(text[2]) << 8 | static_cast<version_number>(text[3]);
}

struct sample {
  version_number version;
  version_family family;
  unsigned draft;
  header_layout layout;
};

const sample samples[] = {
    {version_1, version_family::ietf_v1, 0, header_layout::rfc9000},
    {version_2, version_family::ietf_v2, 0, header_layout::rfc9369},
    {0x709a50c4, version_family::ietf_v2, 0, header_layout::rfc9369},
    {0xff00000a, version_family::ietf_draft, 10, header_layout::invariant},
    {0xff00000b, version_family::ietf_draft, 11, header_layout::nibbles},
    {0xff00000f, version_family::ietf_draft, 15, header_layout::nibbles},
    {0xff000015, version_family::ietf_draft, 21, header_layout::nibbles},
    {0xff000016, version_family::ietf_draft, 22, header_layout::rfc9000},
    {0xff00001d, version_family::ietf_draft, 29, header_layout::rfc9000},
    {0xff000022, version_family::ietf_draft, 34, header_layout::rfc9000},
    {0xff000023, version_family::unknown, 0, header_layout::invariant},
    {0xff000000, version_family::unknown, 0, header_layout::invariant},
    {0xfaceb000, version_family::mvfst, 20, header_layout::nibbles},
    {0xfaceb001, version_family::mvfst, 22, header_layout::rfc9000},
    {0xfaceb002, version_family::mvfst, 27, header_layout::rfc9000},
    {0xfaceb00e, version_family::mvfst, 27, header_layout::rfc9000},
    {0xfaceb003, version_family::mvfst, 0, header_layout::rfc9000},
    {label("T050"), version_family::google_tls, 25, header_layout::rfc9000},
    {label("T051"), version_family::google_tls, 29, header_layout::rfc9000},
    {label("T048"), version_family::unknown, 0, header_layout::invariant},
    {label("Q050"), version_family::google_q050, 27, header_layout::rfc9000},
    {label("Q049"), version_family::google_q046, 0, header_layout::invariant},
    {label("Q046"), version_family::google_q046, 0, header_layout::nibbles},
    {label("Q044"), version_family::google_q046, 0, header_layout::nibbles},
    {label("Q043"), version_family::google_old, 0, header_layout::invariant},
    {label("Q009"), version_family::google_old, 0, header_layout::invariant},
    {0x0a0a0a0a, version_family::reserved, 0, header_layout::invariant},
    {0xfaca1a2a, version_family::reserved, 0, header_layout::invariant},
    {negotiation_version, version_family::unknown, 0, header_layout::invariant},
    {0x12345678, version_family::unknown, 0, header_layout::invariant},
};

TEST(version, has_a_family_a_draft_and_a_layout) {
  for (const sample& s : samples) {
    EXPECT_EQ(family_of(s.version), s.family) << std::hex << s.version;
    EXPECT_EQ(draft_of(s.version), s.draft) << std::hex << s.version;
    EXPECT_EQ(layout_of(s.version), s.layout) << std::hex << s.version;
  }
}

TEST(version, names_google_labels_by_their_digits) {
  EXPECT_TRUE(is_google_label(label("Q043")));
  EXPECT_TRUE(is_google_label(label("T051")));
  EXPECT_EQ(google_number(label("Q043")), 43u);
  EXPECT_FALSE(is_google_label(label("Q143")));
  EXPECT_FALSE(is_google_label(label("Q0x3")));
  EXPECT_FALSE(is_google_label(label("Q04/")));
  EXPECT_FALSE(is_google_label(label("R043")));
}

TEST(version, counts_families_and_the_working_groups_ranges_as_registered) {
  for (const version_number v :
       {version_1, version_2, version_number{0xff00001d}, version_number{0x5a6a7a8a}, version_number{0x45474720},
        version_number{0x50435130}, version_number{0x51474f00}, version_number{0xabcd000f}, version_number{0xf123f0c0},
        version_number{0xff0000ff}, version_number{0xff0200ff}, version_number{0x07007000}, label("T049")})
    EXPECT_TRUE(is_registered(v)) << std::hex << v;
  for (const version_number v :
       {version_number{0}, version_number{2}, version_number{0xffff}, version_number{0x07006fff},
        version_number{0xabcd0010}, version_number{0x0f0f0f0f}, version_number{0xff030000}, version_number{0xffffffff}})
    EXPECT_FALSE(is_registered(v)) << std::hex << v;
}

TEST(version, reserves_the_pattern_whatever_the_high_halves) {
  for (version_number high = 0; high < 16; ++high) {
    const version_number v = 0x0a0a0a0a | high << 28 | high << 12;
    EXPECT_TRUE(is_reserved_version(v));
    EXPECT_FALSE(is_reserved_version(v ^ 1));
  }
}

TEST(version, is_found_in_a_list_and_chosen_by_our_own_order) {  // RFC 9000 6.2
  const std::uint8_t list[] = {0x0a, 0x1a, 0x2a, 0x3a, 0x00, 0x00, 0x00, 0x01, 0x6b, 0x33, 0x43, 0xcf, 0x00};
  EXPECT_TRUE(lists_version(list, version_1));
  EXPECT_FALSE(lists_version(list, 0x00000100)) << "not across two entries";
  EXPECT_FALSE(lists_version({}, version_1));
  const version_number ours[] = {version_2, version_1};
  EXPECT_EQ(choose_version(list, ours), version_2);
  EXPECT_EQ(choose_version(base::byte_view(list).first(8), ours), version_1);
  EXPECT_EQ(choose_version(base::byte_view(list).first(4), ours), negotiation_version);
}

}  // namespace
}  // namespace millrace::quic::wire

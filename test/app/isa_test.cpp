#include "app/isa.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace millrace::app {
namespace {

std::string names(std::uint32_t bits, std::size_t size = 256) {
  std::string out(size, '#');
  isa_names(bits, out.data(), out.size());
  out.resize(std::strlen(out.c_str()));
  return out;
}

TEST(isa, names_what_is_missing) {
  EXPECT_EQ(names(0), "");
  EXPECT_EQ(names(isa_avx2), "AVX2");
  EXPECT_EQ(names(isa_avx2 | isa_bmi2 | isa_vaes), "AVX2 BMI2 VAES");
  EXPECT_EQ(names(~0u),
            "SSE4.2 POPCNT AVX AVX2 BMI1 BMI2 FMA AES PCLMULQDQ AVX512F AVX512BW AVX512DQ AVX512VL VAES "
            "VPCLMULQDQ GFNI");
}

TEST(isa, leaves_out_what_does_not_fit) {
  EXPECT_EQ(names(isa_avx2 | isa_bmi2, 10), "AVX2 BMI2");
  EXPECT_EQ(names(isa_avx2 | isa_bmi2, 9), "AVX2");
  EXPECT_EQ(names(isa_avx2, 1), "");
}

// This test runs, so nothing that the build needs is missing.
TEST(isa, this_cpu_has_what_this_build_needs) { EXPECT_EQ(isa_needed & ~isa_present(), 0u); }

TEST(isa, a_build_for_more_than_the_baseline_knows_it) {
#ifdef __AVX2__
  EXPECT_NE(isa_needed & isa_avx2, 0u);
#else
  EXPECT_EQ(isa_needed & isa_avx2, 0u);
#endif
}

}  // namespace
}  // namespace millrace::app

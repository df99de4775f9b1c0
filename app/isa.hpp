// app/isa.hpp - the instruction sets this build uses, held against those the CPU has, before anything uses them.
//
// Shape    isa.cpp is compiled for plain x86-64 and runs before every other constructor of the executable;
// isa_needs.cpp
//          is compiled as the data path is and holds nothing but what the compiler was told.
// Errors   one line on stderr naming what is missing, exit status 1.
// Tests    test/app/isa_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::app {

enum isa_bit : std::uint32_t {
  isa_sse42 = 1u << 0,
  isa_popcnt = 1u << 1,
  isa_avx = 1u << 2,
  isa_avx2 = 1u << 3,
  isa_bmi = 1u << 4,
  isa_bmi2 = 1u << 5,
  isa_fma = 1u << 6,
  isa_aes = 1u << 7,
  isa_pclmul = 1u << 8,
  isa_avx512f = 1u << 9,
  isa_avx512bw = 1u << 10,
  isa_avx512dq = 1u << 11,
  isa_avx512vl = 1u << 12,
  isa_vaes = 1u << 13,
  isa_vpclmulqdq = 1u << 14,
  isa_gfni = 1u << 15,
};

extern const std::uint32_t isa_needed;  // of this build
[[nodiscard]] std::uint32_t isa_present() noexcept;

// Writes the names of `bits`, separated by blanks, into `out` and ends them with a zero byte; what does not fit is left
// out. No heap: this runs before the C++ library is up.
void isa_names(std::uint32_t bits, char* out, std::size_t size) noexcept;

}  // namespace millrace::app

// Compiled for plain x86-64. Inline functions of the standard library are kept out: the linker may keep another file's
// copy of one, and that copy is compiled for the data path's CPU.
#include "app/isa.hpp"

#include <stddef.h>
#include <unistd.h>

namespace millrace::app {
namespace {

struct isa_row {
  std::uint32_t bit;
  const char* name;
};

constexpr isa_row rows[] = {
    {isa_sse42, "SSE4.2"},      {isa_popcnt, "POPCNT"},     {isa_avx, "AVX"},
    {isa_avx2, "AVX2"},         {isa_bmi, "BMI1"},          {isa_bmi2, "BMI2"},
    {isa_fma, "FMA"},           {isa_aes, "AES"},           {isa_pclmul, "PCLMULQDQ"},
    {isa_avx512f, "AVX512F"},   {isa_avx512bw, "AVX512BW"}, {isa_avx512dq, "AVX512DQ"},
    {isa_avx512vl, "AVX512VL"}, {isa_vaes, "VAES"},         {isa_vpclmulqdq, "VPCLMULQDQ"},
    {isa_gfni, "GFNI"},
};

size_t length(const char* text) noexcept {
  size_t size = 0;
  while (text[size] != 0) ++size;
  return size;
}

void say(const char* text) noexcept {
  const ssize_t put = ::write(STDERR_FILENO, text, length(text));
  static_cast<void>(put);  // there is nobody left to tell
}

// 101 is the first priority a program may use.
__attribute__((constructor(101))) void check_isa() noexcept {
  const std::uint32_t missing = isa_needed & ~isa_present();
  if (missing == 0) return;
  char names[256];
  isa_names(missing, names, sizeof(names));
  say("millrace: this CPU lacks ");
  say(names);
  say(", which this build uses; try: meson setup --reconfigure -Disa=x86-64-v2 BUILD && ninja -C BUILD\n");
  ::_exit(1);
}

}  // namespace

std::uint32_t isa_present() noexcept {
  __builtin_cpu_init();
  std::uint32_t bits = 0;
  if (__builtin_cpu_supports("sse4.2")) bits |= isa_sse42;
  if (__builtin_cpu_supports("popcnt")) bits |= isa_popcnt;
  if (__builtin_cpu_supports("avx")) bits |= isa_avx;
  if (__builtin_cpu_supports("avx2")) bits |= isa_avx2;
  if (__builtin_cpu_supports("bmi")) bits |= isa_bmi;
  if (__builtin_cpu_supports("bmi2")) bits |= isa_bmi2;
  if (__builtin_cpu_supports("fma")) bits |= isa_fma;
  if (__builtin_cpu_supports("aes")) bits |= isa_aes;
  if (__builtin_cpu_supports("pclmul")) bits |= isa_pclmul;
  if (__builtin_cpu_supports("avx512f")) bits |= isa_avx512f;
  if (__builtin_cpu_supports("avx512bw")) bits |= isa_avx512bw;
  if (__builtin_cpu_supports("avx512dq")) bits |= isa_avx512dq;
  if (__builtin_cpu_supports("avx512vl")) bits |= isa_avx512vl;
  if (__builtin_cpu_supports("vaes")) bits |= isa_vaes;
  if (__builtin_cpu_supports("vpclmulqdq")) bits |= isa_vpclmulqdq;
  if (__builtin_cpu_supports("gfni")) bits |= isa_gfni;
  return bits;
}

void isa_names(std::uint32_t bits, char* out, std::size_t size) noexcept {
  if (size == 0) return;
  std::size_t used = 0;
  for (const isa_row& row : rows) {
    if ((bits & row.bit) == 0) continue;
    const std::size_t add = length(row.name) + (used == 0 ? 0 : 1);
    if (used + add >= size) break;
    if (used != 0) out[used++] = ' ';
    for (const char* c = row.name; *c != 0; ++c) out[used++] = *c;
  }
  out[used] = 0;
}

}  // namespace millrace::app

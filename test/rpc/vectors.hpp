// test/rpc/vectors.hpp - the vectors of the remoting sheet, whole frames as it writes them.
#pragma once

#include "srmp/from_hex.hpp"

namespace millrace::rpc::test_vectors {

inline constexpr const char* r1 = "01 01 08 00 07 61 70 69 2F 61 6C 6C";
inline constexpr const char* r2 =
    "01 01 2B 00 08 61 70 69 2F 69 6E 66 6F 1E 00 00 00 7B 22 73 74 61 74 65 22 3A 22 61 62 63 64 22 2C 22 73 74 61 "
    "74 65 32 22 3A 31 32 33 34 7D";
inline constexpr const char* r3 = "01 01 18 00 06 4D 79 2F 41 64 64 0D 00 00 00 7B 22 78 22 3A 31 2C 22 79 22 3A 32 7D";
inline constexpr const char* r4 = "81 01 0C 00 06 4D 79 2F 41 64 64 01 00 00 00 33";
inline constexpr const char* r5 = "81 01 09 00 08 4D 79 2F 52 65 73 65 74";
inline constexpr const char* r6 =
    "C1 01 37 00 07 4E 6F 2F 53 75 63 68 94 01 00 00 27 00 00 00 E6 97 A0 E6 B3 95 E6 89 BE E5 88 B0 E5 90 8D E4 B8 "
    "BA 5B 4E 6F 2F 53 75 63 68 5D E7 9A 84 E6 9C 8D E5 8A A1 EF BC 81";
inline constexpr const char* r7 = "C1 01 13 00 06 4D 79 2F 44 69 76 F4 01 00 00 04 00 00 00 62 6F 6F 6D";
inline constexpr const char* r8 = "C1 01 0F 00 06 4D 79 2F 53 65 63 91 01 00 00 00 00 00 00";
inline constexpr const char* r9 = "41 01 13 00 06 4E 6F 74 69 66 79 08 00 00 00 7B 22 49 64 22 3A 31 7D";
inline constexpr const char* r10 = "01 01 0F 00 06 4D 79 2F 52 43 34 04 00 00 00 00 01 02 03";
inline constexpr const char* r11[] = {"81 01 09 00 03 53 2F 52 01 00 00 00 30",
                                      "81 01 09 00 03 53 2F 52 01 00 00 00 31", "81 01 04 00 03 53 2F 52"};
inline constexpr const char* r12 = "01 01 00 00";
inline constexpr const char* r13 = "01 05 01 00 00";
inline constexpr const char* r14 = "01 07 04 00 09 41 2F 42";
inline constexpr const char* r15 = "01 06 06 00 80 80 80 80 80 01";
inline constexpr const char* r16 = "01 02 0A 00 03 41 2F 42 09 00 00 00 78 79";
inline constexpr const char* r17_negative = "01 03 08 00 03 41 2F 42 FF FF FF FF";
inline constexpr const char* r17_stray = "01 04 07 00 03 41 2F 42 01 00 00";
inline constexpr const char* r17_not_ascii = "01 08 05 00 04 C3 A9 2F 42";
inline constexpr const char* r18 =
    "01 01 23 00 03 41 2F 42 1B 00 00 00 47 45 54 20 2F 20 48 54 54 50 2F 31 2E 31 0D 0A 48 6F 73 74 3A 20 61 0D 0A "
    "0D 0A";
inline constexpr const char* r19 = "C1 01 0C 00 03 41 2F 42 04 00 00 00 62 6F 6F 6D";
inline constexpr const char* r20 = "01 09 0F 00 03 41 2F 42 02 00 00 00 7B 7D 01 00 00 00 5A";

using srmp::test_support::from_hex;

}  // namespace millrace::rpc::test_vectors

#include "app/isa.hpp"

namespace millrace::app {

// Constant-initialised: no instruction of this file runs.
extern constinit const std::uint32_t isa_needed = 0
#ifdef __SSE4_2__
                                                  | isa_sse42
#endif
#ifdef __POPCNT__
                                                  | isa_popcnt
#endif
#ifdef __AVX__
                                                  | isa_avx
#endif
#ifdef __AVX2__
                                                  | isa_avx2
#endif
#ifdef __BMI__
                                                  | isa_bmi
#endif
#ifdef __BMI2__
                                                  | isa_bmi2
#endif
#ifdef __FMA__
                                                  | isa_fma
#endif
#ifdef __AES__
                                                  | isa_aes
#endif
#ifdef __PCLMUL__
                                                  | isa_pclmul
#endif
#ifdef __AVX512F__
                                                  | isa_avx512f
#endif
#ifdef __AVX512BW__
                                                  | isa_avx512bw
#endif
#ifdef __AVX512DQ__
                                                  | isa_avx512dq
#endif
#ifdef __AVX512VL__
                                                  | isa_avx512vl
#endif
#ifdef __VAES__
                                                  | isa_vaes
#endif
#ifdef __VPCLMULQDQ__
                                                  | isa_vpclmulqdq
#endif
#ifdef __GFNI__
                                                  | isa_gfni
#endif
    ;

}  // namespace millrace::app

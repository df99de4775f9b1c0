// crypto/ipsec_mb.hpp - IPsec-MB's own header, without the short macros (SHA1, GCM, NULL_HASH ...) it has for old code.
//
// Shape    for the .cpp files of this room only; no other header includes it.
#pragma once

#define NO_COMPAT_IMB_API_053  // NOLINT: the library's own switch
#include <intel-ipsec-mb.h>

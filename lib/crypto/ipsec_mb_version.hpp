// crypto/ipsec_mb_version.hpp - which Intel IPsec-MB this process runs on.
//
// Shape    the version of the shared library that was loaded ("1.3.0"), which may be newer than the one compiled
// against. Threads  any. Tests  test/crypto/ipsec_mb_version_test.cpp
#pragma once

#include <string_view>

namespace millrace::crypto {

[[nodiscard]] std::string_view ipsec_mb_version() noexcept;  // of static storage

}  // namespace millrace::crypto

// crypto/random.hpp - random bytes from the kernel: for seeds and long-lived keys, on the control path.
//
// Errors   false when the kernel gives none (then nothing may start that needs a secret); `out` is then unspecified.
// Threads  any; it is a system call, so never between rx and tx burst.
// Source   getrandom(2). Tests  test/crypto/random_test.cpp
#pragma once

#include "base/bytes.hpp"

namespace millrace::crypto {

[[nodiscard]] bool random_bytes(base::byte_span out) noexcept;

}  // namespace millrace::crypto

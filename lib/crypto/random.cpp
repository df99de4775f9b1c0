#include "crypto/random.hpp"

#include <sys/random.h>

#include <cerrno>

namespace millrace::crypto {

bool random_bytes(base::byte_span out) noexcept {
  while (!out.empty()) {
    const ssize_t got = getrandom(out.data(), out.size(), 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    out = out.subspan(static_cast<std::size_t>(got));  // large requests may be cut short by a signal
  }
  return true;
}

}  // namespace millrace::crypto

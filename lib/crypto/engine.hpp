// crypto/engine.hpp - Intel IPsec-MB for one lcore: the managers, hashes, HMAC and HKDF.
//
// Shape    one engine a lcore (or a test); every crypto call takes it. Two managers: the widest the CPU has for
//          ciphers, and an SSE/SHA-NI one for hashing, because on 1.3 the wide one hashes single messages slower.
//          The calls here take keys as bytes; crypto/hmac.hpp and crypto/hkdf.hpp keep prepared ones.
// Owner    the engine owns both managers. Threads  one at a time.
// Errors   make() answers nullopt when IPsec-MB cannot start on this CPU (it needs AES instructions); calls after that
// cannot fail. Source   FIPS 180-4, RFC 2104, RFC 5869, RFC 8446 7.1. Tests  test/crypto/, against libcrypto
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "base/bytes.hpp"
#include "crypto/sha256.hpp"

struct IMB_MGR;

namespace millrace::crypto {

inline constexpr std::size_t sha256_size = 32;
using sha256_digest = std::array<std::uint8_t, sha256_size>;

struct engine_options {
  bool sha_ni = true;  // false: as on a CPU without SHA instructions, for tests and for comparing
};

class engine {
 public:
  struct hash_jobs;  // IPsec-MB job slots, filled in once; of hmac.cpp

 private:
  struct free_manager {
    void operator()(IMB_MGR* manager) const noexcept;
  };
  struct free_jobs {
    void operator()(hash_jobs* jobs) const noexcept;
  };
  std::unique_ptr<IMB_MGR, free_manager> cipher_;
  std::unique_ptr<IMB_MGR, free_manager> hash_;
  std::unique_ptr<hash_jobs, free_jobs> jobs_;
  sha256_blocks_function blocks_ = nullptr;

  engine() = default;

 public:
  [[nodiscard]] static std::optional<engine> make(const engine_options& options = {}) noexcept;

  // For the files of this room only.
  [[nodiscard]] IMB_MGR* cipher_manager() const noexcept { return cipher_.get(); }
  [[nodiscard]] IMB_MGR* hash_manager() const noexcept { return hash_.get(); }
  [[nodiscard]] hash_jobs& jobs() const noexcept { return *jobs_; }
  void sha256_blocks(sha256_words& state, const std::uint8_t* blocks, std::size_t count) const noexcept {
    blocks_(state, blocks, count);
  }

  // "noaesni", "sse", "avx", "avx2", "avx512": what the cipher manager chose at run time; `ipsec_mb_arch` of the
  // result JSON.
  [[nodiscard]] std::string_view architecture() const noexcept;

  void sha256(base::byte_view message, sha256_digest& out) noexcept;
  void hmac_sha256(base::byte_view key, base::byte_view message, sha256_digest& out) noexcept;
  // RFC 5869 2.2.
  void hkdf_extract(base::byte_view salt, base::byte_view secret, sha256_digest& out) noexcept;
  // RFC 8446 7.1 HKDF-Expand-Label with an empty context; out.size() <= 255 * 32, label without "tls13 " and at most
  // 249 characters.
  void hkdf_expand_label(const sha256_digest& secret, std::string_view label, base::byte_span out) noexcept;
};

}  // namespace millrace::crypto

// test/support/libcrypto.hpp - the second implementation: what OpenSSL's libcrypto says about the same bytes.
#pragma once

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace millrace::test::libcrypto {

using bytes = std::vector<std::uint8_t>;

inline bytes digest(const EVP_MD* hash, base::byte_view message) {
  bytes out(static_cast<std::size_t>(EVP_MD_get_size(hash)));
  unsigned size = 0;
  EXPECT_EQ(EVP_Digest(message.data(), message.size(), out.data(), &size, hash, nullptr), 1);
  return out;
}
inline bytes sha256(base::byte_view message) { return digest(EVP_sha256(), message); }

inline bytes hmac(const EVP_MD* hash, base::byte_view key, base::byte_view message) {
  static constexpr std::uint8_t nothing = 0;
  bytes out(static_cast<std::size_t>(EVP_MD_get_size(hash)));
  unsigned size = 0;
  EXPECT_NE(HMAC(hash, key.empty() ? &nothing : key.data(), static_cast<int>(key.size()), message.data(),
                 message.size(), out.data(), &size),
            nullptr);
  return out;
}

inline bytes hmac_sha256(base::byte_view key, base::byte_view message) { return hmac(EVP_sha256(), key, message); }

// RFC 5869 2.3 with `info` as it is.
inline bytes hkdf_expand(base::byte_view secret, base::byte_view info, std::size_t size,
                         const EVP_MD* hash = EVP_sha256()) {
  std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr), EVP_KDF_free);
  std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(EVP_KDF_CTX_new(kdf.get()), EVP_KDF_CTX_free);
  int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
  std::string name = EVP_MD_get0_name(hash);
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, name.data(), 0),
      OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, const_cast<std::uint8_t*>(secret.data()), secret.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, const_cast<std::uint8_t*>(info.data()), info.size()),
      OSSL_PARAM_construct_end()};
  bytes out(size);
  EXPECT_EQ(EVP_KDF_derive(context.get(), out.data(), out.size(), parameters), 1);
  return out;
}

// RFC 8446 7.1 with an empty context.
inline bytes hkdf_expand_label(base::byte_view secret, const std::string& label, std::size_t size,
                               const EVP_MD* hash = EVP_sha256()) {
  const std::string full = "tls13 " + label;
  bytes info = {static_cast<std::uint8_t>(size >> 8), static_cast<std::uint8_t>(size),
                static_cast<std::uint8_t>(full.size())};
  info.insert(info.end(), full.begin(), full.end());
  info.push_back(0);
  return hkdf_expand(secret, info, size, hash);
}

using cipher_context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

// Ciphertext, then the tag; `cipher` is one of EVP_aes_128_gcm(), EVP_aes_256_gcm(), EVP_chacha20_poly1305().
inline bytes aead_seal(const EVP_CIPHER* cipher, base::byte_view key, base::byte_view nonce, base::byte_view associated,
                       base::byte_view in) {
  const cipher_context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  bytes out(in.size() + 16);
  int size = 0;
  EXPECT_EQ(EVP_EncryptInit_ex(context.get(), cipher, nullptr, key.data(), nonce.data()), 1);
  if (!associated.empty()) {
    EXPECT_EQ(EVP_EncryptUpdate(context.get(), nullptr, &size, associated.data(), static_cast<int>(associated.size())),
              1);
  }
  if (!in.empty()) {
    EXPECT_EQ(EVP_EncryptUpdate(context.get(), out.data(), &size, in.data(), static_cast<int>(in.size())), 1);
  }
  EXPECT_EQ(EVP_EncryptFinal_ex(context.get(), out.data() + in.size(), &size), 1);
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, 16, out.data() + in.size()), 1);
  return out;
}

// The plaintext; empty with `ok` false when the tag is wrong.
inline bytes aead_open(const EVP_CIPHER* cipher, base::byte_view key, base::byte_view nonce, base::byte_view associated,
                       base::byte_view sealed, bool& ok) {
  const cipher_context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  const std::size_t text = sealed.size() - 16;
  bytes out(text);
  int size = 0;
  bytes tag(sealed.begin() + static_cast<std::ptrdiff_t>(text), sealed.end());
  EXPECT_EQ(EVP_DecryptInit_ex(context.get(), cipher, nullptr, key.data(), nonce.data()), 1);
  if (!associated.empty()) {
    EXPECT_EQ(EVP_DecryptUpdate(context.get(), nullptr, &size, associated.data(), static_cast<int>(associated.size())),
              1);
  }
  if (text != 0) {
    EXPECT_EQ(EVP_DecryptUpdate(context.get(), out.data(), &size, sealed.data(), static_cast<int>(text)), 1);
  }
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, 16, tag.data()), 1);
  std::uint8_t end[16];
  ok = EVP_DecryptFinal_ex(context.get(), end, &size) == 1;
  return ok ? out : bytes{};
}

inline bytes aes128_gcm_seal(base::byte_view key, base::byte_view nonce, base::byte_view associated,
                             base::byte_view in) {
  return aead_seal(EVP_aes_128_gcm(), key, nonce, associated, in);
}
inline bytes aes128_gcm_open(base::byte_view key, base::byte_view nonce, base::byte_view associated,
                             base::byte_view sealed, bool& ok) {
  return aead_open(EVP_aes_128_gcm(), key, nonce, associated, sealed, ok);
}

inline bytes ecb_block(const EVP_CIPHER* cipher, base::byte_view key, base::byte_view block) {
  const cipher_context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  bytes out(16);
  int size = 0;
  EXPECT_EQ(EVP_EncryptInit_ex(context.get(), cipher, nullptr, key.data(), nullptr), 1);
  EXPECT_EQ(EVP_CIPHER_CTX_set_padding(context.get(), 0), 1);
  EXPECT_EQ(EVP_EncryptUpdate(context.get(), out.data(), &size, block.data(), 16), 1);
  return out;
}
inline bytes aes128_ecb_block(base::byte_view key, base::byte_view block) {
  return ecb_block(EVP_aes_128_ecb(), key, block);
}

// RFC 9001 5.4.4: the keystream of a block counter and nonce, which libcrypto takes as 16 bytes in one.
inline bytes chacha20_keystream(base::byte_view key, base::byte_view counter_and_nonce, std::size_t size) {
  const cipher_context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  const bytes zeros(size);
  bytes out(size);
  int written = 0;
  EXPECT_EQ(EVP_EncryptInit_ex(context.get(), EVP_chacha20(), nullptr, key.data(), counter_and_nonce.data()), 1);
  EXPECT_EQ(EVP_EncryptUpdate(context.get(), out.data(), &written, zeros.data(), static_cast<int>(size)), 1);
  return out;
}

}  // namespace millrace::test::libcrypto

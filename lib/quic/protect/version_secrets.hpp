// quic/protect/version_secrets.hpp - what each QUIC version fixes for packets that anyone can open.
//
// Shape    for the .cpp files of this folder: the find functions answer nullptr for a version whose values are not
//          public or not known to us.
// Owner    the tables are constants. Source  named in version_secrets.cpp. Tests  test/quic/protect/, corpus
#pragma once

#include "crypto/aead.hpp"
#include "crypto/hkdf.hpp"
#include "quic/wire/version.hpp"

namespace millrace::quic::protect {

struct schedule_labels {  // the names under which a direction's secret is expanded, as messages and as texts
  crypto::hkdf_label key16;
  crypto::hkdf_label key32;
  crypto::hkdf_label iv;
  crypto::hkdf_label header16;
  crypto::hkdf_label header32;
  std::string_view key_text;
  std::string_view iv_text;
  std::string_view header_text;
  std::string_view update_text;
};
// nullptr for a version without initial secrets.
[[nodiscard]] const schedule_labels* find_labels(wire::version_number version) noexcept;

struct initial_secrets {
  crypto::hmac_key salt;  // the salt as an HMAC key, ready for HKDF-Extract
  const schedule_labels* labels = nullptr;
};
[[nodiscard]] const initial_secrets* find_initial_secrets(wire::version_number version) noexcept;

struct retry_secrets {
  std::array<std::uint8_t, crypto::aes128_key_size> key;
  std::array<std::uint8_t, crypto::aead_nonce_size> nonce;
};
[[nodiscard]] const retry_secrets* find_retry_secrets(wire::version_number version) noexcept;

}  // namespace millrace::quic::protect

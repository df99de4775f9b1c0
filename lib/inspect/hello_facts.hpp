// inspect/hello_facts.hpp - what a ClientHello told, kept by value after its bytes are gone.
//
// Shape    fixed room for names and lists; `*_cut` says that there was more than the room holds.
// Owner    a value of zero bytes is an empty one. Limits  limits.hpp.
// Source   RFC 8446 4.1.2, RFC 6066 3, RFC 7301 3.1. Tests  test/inspect/hello_facts_test.cpp
#pragma once

#include <array>

#include "inspect/limits.hpp"
#include "inspect/parameter_facts.hpp"
#include "tls/wire/client_hello.hpp"

namespace millrace::inspect {

struct hello_facts {
  bool known = false;  // a whole ClientHello was read
  bool has_sni = false;
  bool sni_cut = false;
  bool alpn_cut = false;
  bool ciphers_cut = false;
  bool has_ja4 = false;
  bool has_parameters = false;
  std::uint8_t sni_size = 0;
  std::uint8_t alpn_count = 0;
  std::uint8_t alpn_used = 0;  // bytes of alpn_text
  std::uint8_t cipher_count = 0;
  std::uint8_t tls_version_count = 0;
  std::array<char, max_sni_kept> sni_text{};
  std::array<std::uint8_t, max_alpn_kept> alpn_sizes{};
  std::array<char, max_alpn_bytes_kept> alpn_text{};  // the names one behind the other
  std::array<char, 36> ja4{};
  std::array<std::uint16_t, max_ciphers_kept> ciphers{};
  std::array<std::uint16_t, max_tls_versions_kept> tls_versions{};
  std::array<std::uint8_t, 32> random{};  // names the handshake in key logs
  parameter_facts parameters{};

  [[nodiscard]] std::string_view sni() const noexcept { return {sni_text.data(), sni_size}; }
  void set_sni(std::string_view name) noexcept;
  // Adds a name that is not there yet: a client that starts again after Version Negotiation offers another list.
  void add_alpn(std::string_view name) noexcept;
  // visit(std::string_view) for each name, in the order first offered.
  template <class Visit>
  void for_each_alpn(Visit visit) const {
    std::size_t at = 0;
    for (std::size_t i = 0; i < alpn_count; ++i) {
      visit(std::string_view(alpn_text.data() + at, alpn_sizes[i]));
      at += alpn_sizes[i];
    }
  }
  // Takes over all but the fingerprint and the transport parameters. A list of names grows, all else is replaced.
  void assign(const tls::wire::client_hello& hello) noexcept;
};

}  // namespace millrace::inspect

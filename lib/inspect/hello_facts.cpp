#include "inspect/hello_facts.hpp"

#include <algorithm>

namespace millrace::inspect {

void hello_facts::set_sni(std::string_view name) noexcept {
  const std::size_t size = std::min(name.size(), max_sni_kept);
  std::copy_n(name.data(), size, sni_text.data());
  sni_size = static_cast<std::uint8_t>(size);
  sni_cut = size != name.size();
  has_sni = true;
}

void hello_facts::add_alpn(std::string_view name) noexcept {
  bool there = false;
  for_each_alpn([&](std::string_view kept) { there = there || kept == name; });
  if (there) return;
  if (alpn_count == max_alpn_kept || name.size() > max_alpn_bytes_kept - alpn_used) {
    alpn_cut = true;
    return;
  }
  std::copy_n(name.data(), name.size(), alpn_text.data() + alpn_used);
  alpn_sizes[alpn_count++] = static_cast<std::uint8_t>(name.size());
  alpn_used = static_cast<std::uint8_t>(alpn_used + name.size());
}

void hello_facts::assign(const tls::wire::client_hello& hello) noexcept {
  known = true;
  std::copy_n(hello.random.begin(), std::min(hello.random.size(), random.size()), random.begin());
  if (hello.has_sni) set_sni(hello.sni);
  for (const std::string_view name : hello.alpn) add_alpn(name);
  const auto keep = [](auto& to, std::uint8_t& count, std::span<const std::uint16_t> from) {
    count = static_cast<std::uint8_t>(std::min(to.size(), from.size()));
    std::copy_n(from.begin(), count, to.begin());
    return count != from.size();
  };
  ciphers_cut = keep(ciphers, cipher_count, hello.cipher_suites.view());
  (void)keep(tls_versions, tls_version_count, hello.supported_versions.view());
}

}  // namespace millrace::inspect

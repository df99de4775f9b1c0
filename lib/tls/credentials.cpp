#include "tls/credentials.hpp"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <array>
#include <ctime>

#include "base/base64.hpp"
#include "base/ip_address.hpp"
#include "crypto/random.hpp"
#include "tls/wall_clock.hpp"

namespace millrace::tls {
namespace {

constexpr std::size_t max_pem_bytes = std::size_t{1} << 20;  // a chain is a few kilobytes
constexpr std::int64_t ns_per_s = 1'000'000'000;
constexpr std::time_t seconds_per_day = 86400;

base::failure refuse(const std::string& what, int code, const char* hint) {
  return {what + ": " + gnutls_strerror(code), hint, true};
}

gnutls_datum_t datum_of(const std::string& text) noexcept {
  // GnuTLS takes a mutable pointer and only reads.
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())), static_cast<unsigned>(text.size())};
}

std::string take_text(gnutls_datum_t& from) {
  std::string out(reinterpret_cast<const char*>(from.data), from.size);
  gnutls_memset(from.data, 0, from.size);
  gnutls_free(from.data);
  from = {nullptr, 0};
  return out;
}

base::result<std::string> read_file(const std::string& path) {
  gnutls_datum_t text{};
  if (gnutls_load_file(path.c_str(), &text) < 0)
    return base::failure{path + ": cannot be read", "name a PEM file that can be read", true};
  std::string out = take_text(text);
  if (out.empty() || out.size() > max_pem_bytes)
    return base::failure{path + ": empty or larger than 1 MiB", "name a PEM file", true};
  return out;
}

// What GnuTLS hands out and what frees it, so that every early return does.
struct private_key {
  gnutls_x509_privkey_t it = nullptr;
  private_key() noexcept { gnutls_x509_privkey_init(&it); }
  private_key(const private_key&) = delete;
  private_key& operator=(const private_key&) = delete;
  ~private_key() { gnutls_x509_privkey_deinit(it); }
};

struct certificate {
  gnutls_x509_crt_t it = nullptr;
  certificate() noexcept { gnutls_x509_crt_init(&it); }
  certificate(const certificate&) = delete;
  certificate& operator=(const certificate&) = delete;
  ~certificate() { gnutls_x509_crt_deinit(it); }
};

int add_name(gnutls_x509_crt_t to, const std::string& name) {
  if (const auto address = base::ip_address::parse(name)) {
    const base::byte_view octets = address->bytes();
    return gnutls_x509_crt_set_subject_alt_name(to, GNUTLS_SAN_IPADDRESS, octets.data(),
                                                static_cast<unsigned>(octets.size()), GNUTLS_FSAN_APPEND);
  }
  return gnutls_x509_crt_set_subject_alt_name(to, GNUTLS_SAN_DNSNAME, name.data(), static_cast<unsigned>(name.size()),
                                              GNUTLS_FSAN_APPEND);
}

int fill_certificate(gnutls_x509_crt_t to, gnutls_x509_privkey_t key, const self_signed_settings& settings) {
  std::array<std::uint8_t, 16> serial{};
  if (!crypto::random_bytes(serial)) return GNUTLS_E_RANDOM_FAILED;
  serial[0] = static_cast<std::uint8_t>((serial[0] & 0x3f) | 0x40);  // RFC 5280 4.1.2.2: positive, no leading zero
  const auto now = static_cast<std::time_t>(settings.now_ns / ns_per_s);
  const std::string& subject = settings.names.front();
  int code = gnutls_x509_crt_set_version(to, 3);
  const auto then = [&code](auto&& step) {
    if (code >= 0) code = step();
  };
  then([&] { return gnutls_x509_crt_set_serial(to, serial.data(), serial.size()); });
  then([&] { return gnutls_x509_crt_set_activation_time(to, now - seconds_per_day); });
  then([&] {
    return gnutls_x509_crt_set_expiration_time(to, now + seconds_per_day * std::time_t{settings.valid_days});
  });
  then([&] {
    return gnutls_x509_crt_set_dn_by_oid(to, GNUTLS_OID_X520_COMMON_NAME, 0, subject.data(),
                                         static_cast<unsigned>(subject.size()));
  });
  for (const std::string& name : settings.names) then([&] { return add_name(to, name); });
  then([&] { return gnutls_x509_crt_set_key(to, key); });
  then([&] { return gnutls_x509_crt_set_basic_constraints(to, 1, -1); });
  then([&] { return gnutls_x509_crt_set_key_usage(to, GNUTLS_KEY_DIGITAL_SIGNATURE | GNUTLS_KEY_KEY_CERT_SIGN); });
  then([&] { return gnutls_x509_crt_set_key_purpose_oid(to, GNUTLS_KP_TLS_WWW_SERVER, 0); });
  then([&] { return gnutls_x509_crt_sign2(to, to, key, GNUTLS_DIG_SHA256, 0); });
  return code;
}

using pin_text = std::array<char, base::base64_size(32)>;

int read_pin(const gnutls_datum_t& text, gnutls_x509_crt_fmt_t format, pin_text& out) noexcept {
  const certificate leaf;
  std::array<std::uint8_t, 32> id{};
  std::size_t size = id.size();
  int code = gnutls_x509_crt_import(leaf.it, &text, format);
  if (code >= 0) code = gnutls_x509_crt_get_key_id(leaf.it, GNUTLS_KEYID_USE_SHA256, id.data(), &size);
  if (code >= 0) base::encode_base64(id, out.data());
  return code;
}

base::result<std::string> pin_of(const std::string& pem) {
  pin_text pin{};
  if (const int code = read_pin(datum_of(pem), GNUTLS_X509_FMT_PEM, pin); code < 0)
    return refuse("certificate", code, "give a PEM certificate chain, leaf first");
  return std::string(pin.data(), pin.size());
}

}  // namespace

base::result<pem_pair> make_self_signed(const self_signed_settings& settings) {
  if (settings.names.empty()) return base::failure{"a self-signed certificate needs a name", "give a host name", true};
  const wall_time_scope time(settings.now_ns);
  private_key key;
  certificate leaf;
  int code =
      settings.key == key_kind::ecdsa_p256
          ? gnutls_x509_privkey_generate(key.it, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0)
          : gnutls_x509_privkey_generate(key.it, GNUTLS_PK_RSA, 2048, 0);
  if (code >= 0) code = fill_certificate(leaf.it, key.it, settings);
  gnutls_datum_t certificate_text{};
  gnutls_datum_t key_text{};
  if (code >= 0) code = gnutls_x509_crt_export2(leaf.it, GNUTLS_X509_FMT_PEM, &certificate_text);
  if (code >= 0) code = gnutls_x509_privkey_export2(key.it, GNUTLS_X509_FMT_PEM, &key_text);
  pem_pair out;
  if (certificate_text.data != nullptr) out.certificate = take_text(certificate_text);
  if (key_text.data != nullptr) out.key = take_text(key_text);
  if (code < 0) return refuse("self-signed certificate", code, "give names a certificate can carry");
  return out;
}

base::result<pem_pair> read_pem_pair(const certificate_files& files) {
  base::result<std::string> chain = read_file(files.certificate);
  if (!chain) return chain.error();
  base::result<std::string> key = read_file(files.key);
  if (!key) return key.error();
  return pem_pair{std::move(chain.value()), std::move(key.value())};
}

server_credentials::~server_credentials() {
  if (handle_ != nullptr) gnutls_certificate_free_credentials(handle_);
}

base::result<std::shared_ptr<const server_credentials>> server_credentials::make(std::span<const pem_pair> pairs) {
  if (pairs.empty()) return base::failure{"a server needs a certificate", "give a certificate and its key", true};
  auto out = std::make_shared<server_credentials>();
  int code = gnutls_certificate_allocate_credentials(&out->handle_);
  if (code < 0) return refuse("certificate", code, "");
  for (const pem_pair& pair : pairs) {
    const gnutls_datum_t chain = datum_of(pair.certificate);
    const gnutls_datum_t key = datum_of(pair.key);
    code = gnutls_certificate_set_x509_key_mem(out->handle_, &chain, &key, GNUTLS_X509_FMT_PEM);
    if (code < 0) return refuse("certificate and key", code, "give a PEM chain, leaf first, and the key of its leaf");
  }
  base::result<std::string> pin = pin_of(pairs.front().certificate);
  if (!pin) return pin.error();
  out->pin_ = std::move(pin.value());
  return std::shared_ptr<const server_credentials>(std::move(out));
}

base::result<std::shared_ptr<const server_credentials>> server_credentials::load(const certificate_files& files) {
  const base::result<pem_pair> pair = read_pem_pair(files);
  if (!pair) return pair.error();
  auto out = make({&pair.value(), 1});
  if (!out)
    return base::failure{files.certificate + ", " + files.key + ": " + out.error().what, out.error().hint, true};
  return out;
}

base::result<std::shared_ptr<const server_credentials>> server_credentials::self_signed(
    const self_signed_settings& settings) {
  const base::result<pem_pair> pair = make_self_signed(settings);
  if (!pair) return pair.error();
  return make({&pair.value(), 1});
}

client_trust::~client_trust() {
  if (handle_ != nullptr) gnutls_certificate_free_credentials(handle_);
}

base::result<std::shared_ptr<client_trust>> client_trust::make_empty(bool verifies) {
  auto out = std::make_shared<client_trust>();
  if (const int code = gnutls_certificate_allocate_credentials(&out->handle_); code < 0)
    return refuse("certificate authorities", code, "");
  out->verifies_ = verifies;
  return out;
}

base::result<std::shared_ptr<const client_trust>> client_trust::anybody() {
  auto out = make_empty(false);
  if (!out) return out.error();
  return std::shared_ptr<const client_trust>(std::move(out.value()));
}

base::result<std::shared_ptr<const client_trust>> client_trust::authorities(const std::string& pem) {
  auto out = make_empty(true);
  if (!out) return out.error();
  const gnutls_datum_t text = datum_of(pem);
  const int count = gnutls_certificate_set_x509_trust_mem(out.value()->handle_, &text, GNUTLS_X509_FMT_PEM);
  if (count <= 0) {
    return base::failure{count < 0 ? std::string("certificate authorities: ") + gnutls_strerror(count)
                                   : std::string("certificate authorities: none in the text"),
                         "give PEM certificates", true};
  }
  return std::shared_ptr<const client_trust>(std::move(out.value()));
}

base::result<std::shared_ptr<const client_trust>> client_trust::authorities_in(const std::string& file) {
  const base::result<std::string> pem = read_file(file);
  if (!pem) return pem.error();
  auto out = authorities(pem.value());
  if (!out) return base::failure{file + ": " + out.error().what, out.error().hint, true};
  return out;
}

base::result<std::shared_ptr<const client_trust>> client_trust::system() {
  auto out = make_empty(true);
  if (!out) return out.error();
  const int count = gnutls_certificate_set_x509_system_trust(out.value()->handle_);
  if (count <= 0) return base::failure{"the system trusts no certificate authority", "install ca-certificates", true};
  return std::shared_ptr<const client_trust>(std::move(out.value()));
}

base::result<std::shared_ptr<const client_trust>> client_trust::pinned(std::string spki_pin) {
  std::array<std::uint8_t, 32> hash{};
  std::size_t size = 0;
  if (!base::decode_base64(spki_pin, hash, size) || size != hash.size())
    return base::failure{"a pin is 44 characters of base64", "give the pin the server prints at its start", true};
  auto out = make_empty(false);
  if (!out) return out.error();
  out.value()->pin_ = std::move(spki_pin);
  return std::shared_ptr<const client_trust>(std::move(out.value()));
}

bool client_trust::is_pinned(base::byte_view certificate) const noexcept {
  // GnuTLS takes a mutable pointer and only reads.
  const gnutls_datum_t der{const_cast<unsigned char*>(certificate.data()), static_cast<unsigned>(certificate.size())};
  pin_text pin{};
  return read_pin(der, GNUTLS_X509_FMT_DER, pin) >= 0 && std::string_view(pin.data(), pin.size()) == pin_;
}

}  // namespace millrace::tls

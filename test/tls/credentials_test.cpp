// Certificates and trust, against what libcrypto makes and sees.
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/libcrypto.hpp"
#include "tls/handshake_pair.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

using namespace millrace;
using namespace millrace::test;

namespace {

std::string scratch(const char* name) { return "/tmp/millrace_tls_" + std::to_string(::getpid()) + '_' + name; }

void write_whole(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(std::fwrite(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
}

}  // namespace

TEST(credentials, pin_is_the_hash_of_the_public_key_as_libcrypto_sees_it) {
  for (const auto kind : {tls::key_kind::ecdsa_p256, tls::key_kind::rsa_2048}) {
    const tls::pem_pair& pem = test_pem(kind);
    BIO* text = BIO_new_mem_buf(pem.certificate.data(), static_cast<int>(pem.certificate.size()));
    X509* leaf = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    ASSERT_NE(leaf, nullptr);
    unsigned char* der = nullptr;
    const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(leaf), &der);
    ASSERT_GT(size, 0);
    const auto digest = libcrypto::sha256(base::byte_view(der, static_cast<std::size_t>(size)));
    std::array<unsigned char, 64> expected{};
    EVP_EncodeBlock(expected.data(), digest.data(), static_cast<int>(digest.size()));
    const auto made = tls::server_credentials::make({&pem, 1});
    ASSERT_TRUE(made);
    EXPECT_EQ(made.value()->spki_pin(), reinterpret_cast<const char*>(expected.data()));
    EXPECT_EQ(X509_verify(leaf, X509_get0_pubkey(leaf)), 1);
    OPENSSL_free(der);
    X509_free(leaf);
    BIO_free(text);
  }
}

TEST(credentials, load_from_files_and_name_what_is_wrong) {
  const std::string certificate = scratch("cert.pem");
  const std::string key = scratch("key.pem");
  write_whole(certificate, test_pem(tls::key_kind::ecdsa_p256).certificate);
  write_whole(key, test_pem(tls::key_kind::ecdsa_p256).key);
  EXPECT_TRUE(tls::server_credentials::load({certificate, key}));
  EXPECT_TRUE(tls::client_trust::authorities_in(certificate));
  EXPECT_FALSE(tls::client_trust::authorities_in(key)) << "a key is no authority";
  write_whole(key, test_pem(tls::key_kind::rsa_2048).key);
  const auto other = tls::server_credentials::load({certificate, key});
  ASSERT_FALSE(other) << "the key of another certificate";
  EXPECT_NE(other.error().what.find(certificate), std::string::npos);
  EXPECT_TRUE(other.error().unusable);
  write_whole(key, "no key at all");
  EXPECT_FALSE(tls::server_credentials::load({certificate, key}));
  EXPECT_FALSE(tls::server_credentials::load({"/nowhere/cert.pem", key}));
  EXPECT_FALSE(tls::server_credentials::make({}));
  ::unlink(certificate.c_str());
  ::unlink(key.c_str());
}

namespace {

struct openssl_key {
  EVP_PKEY* it;
  explicit openssl_key(const char* kind)
      : it(std::string_view(kind) == "EC" ? EVP_EC_gen("P-256") : EVP_RSA_gen(2048)) {}
  openssl_key(const openssl_key&) = delete;
  openssl_key& operator=(const openssl_key&) = delete;
  ~openssl_key() { EVP_PKEY_free(it); }
};

std::string text_of(BIO* from) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(from, &data);
  std::string out(data, static_cast<std::size_t>(size));
  BIO_free(from);
  return out;
}

void add_extension(X509* to, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  X509_EXTENSION* made = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
  ASSERT_NE(made, nullptr) << value;
  EXPECT_EQ(X509_add_ext(to, made, -1), 1);
  X509_EXTENSION_free(made);
}

// A certificate of libcrypto's making: PEM. The issuer is itself when there is none.
std::string certify(const char* name, EVP_PKEY* key, X509*& out, X509* issuer, EVP_PKEY* issuer_key) {
  out = X509_new();
  X509_set_version(out, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(out), issuer == nullptr ? 1 : 2);
  const auto now = static_cast<time_t>(pair_epoch_ns / pair_second_ns);
  ASN1_TIME_set(X509_getm_notBefore(out), now - 3600);
  ASN1_TIME_set(X509_getm_notAfter(out), now + 86400);
  X509_set_pubkey(out, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(out), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509_set_issuer_name(out, X509_get_subject_name(issuer == nullptr ? out : issuer));
  const bool is_authority = std::string_view(name).find("authority") != std::string_view::npos;
  add_extension(out, issuer == nullptr ? out : issuer, NID_basic_constraints,
                is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (is_authority) add_extension(out, issuer == nullptr ? out : issuer, NID_key_usage, "critical,keyCertSign");
  if (!is_authority) add_extension(out, issuer, NID_subject_alt_name, "DNS:example.test");
  EXPECT_GT(X509_sign(out, issuer_key == nullptr ? key : issuer_key, EVP_sha256()), 0);
  BIO* text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(text, out);
  return text_of(text);
}

}  // namespace

TEST(credentials, take_keys_in_every_form_openssl_writes) {
  for (const char* kind : {"EC", "RSA"}) {
    const openssl_key key(kind);
    X509* leaf = nullptr;
    const std::string certificate = certify("an authority", key.it, leaf, nullptr, nullptr);
    X509_free(leaf);
    BIO* modern = BIO_new(BIO_s_mem());
    PEM_write_bio_PKCS8PrivateKey(modern, key.it, nullptr, nullptr, 0, nullptr, nullptr);
    BIO* traditional = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey_traditional(traditional, key.it, nullptr, nullptr, 0, nullptr, nullptr);
    for (BIO* text : {modern, traditional}) {
      const tls::pem_pair pair{certificate, text_of(text)};
      const auto made = tls::server_credentials::make({&pair, 1});
      EXPECT_TRUE(made) << kind << ": " << pair.key.substr(0, 40);
    }
  }
}

TEST(credentials, of_a_chain_satisfy_a_client_that_knows_its_root_alone) {
  const openssl_key root_key("RSA");
  const openssl_key middle_key("EC");
  const openssl_key leaf_key("EC");
  X509* root = nullptr;
  X509* middle = nullptr;
  X509* leaf = nullptr;
  const std::string root_text = certify("root authority", root_key.it, root, nullptr, nullptr);
  const std::string middle_text = certify("middle authority", middle_key.it, middle, root, root_key.it);
  const std::string leaf_text = certify("a server", leaf_key.it, leaf, middle, middle_key.it);
  BIO* text = BIO_new(BIO_s_mem());
  PEM_write_bio_PKCS8PrivateKey(text, leaf_key.it, nullptr, nullptr, 0, nullptr, nullptr);
  const std::string key = text_of(text);
  for (X509* certificate : {root, middle, leaf}) X509_free(certificate);
  const auto completes = [&](const std::string& chain) {
    const tls::pem_pair pair{chain, key};
    auto server = server_defaults();
    server.credentials = tls::server_credentials::make({&pair, 1}).value();
    auto client = client_defaults();
    client.trust = tls::client_trust::authorities(root_text).value();
    handshake_pair run(make_client(client), make_server(server));
    run.run();
    return run.client.tls->is_complete() && run.server.tls->is_complete();
  };
  EXPECT_TRUE(completes(leaf_text + middle_text));
  EXPECT_FALSE(completes(leaf_text)) << "the client does not know who signed it";
}

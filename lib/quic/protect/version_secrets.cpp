// Salts and Retry keys by version. IETF ones come from the RFCs and drafts named beside them. mvfst numbers its own
// versions and borrows the salts of IETF drafts: 0xfaceb001 that of draft 22, 0xfaceb003 and ..04 are aliases of v1,
// all others since have kept the salt of drafts 23 to 28 (its key schedule falls back to it for every version it does
// not name); 0xfaceb000 is older than any of these and has another header. Its Retry tag uses the keys of drafts 29
// to 32. Google's T05x are IETF drafts with salts and Retry keys of their own; Q050 has a salt too, with gQUIC's
// handshake inside. Before draft 25 a Retry carried no integrity tag at all.
#include "quic/protect/version_secrets.hpp"

namespace millrace::quic::protect {
namespace {

using salt = std::array<std::uint8_t, 20>;

constexpr schedule_labels labels_v1 = {  // RFC 9001 5.1 6.1
    .key16 = crypto::make_hkdf_label<16>("quic key"),
    .key32 = crypto::make_hkdf_label<32>("quic key"),
    .iv = crypto::make_hkdf_label<12>("quic iv"),
    .header16 = crypto::make_hkdf_label<16>("quic hp"),
    .header32 = crypto::make_hkdf_label<32>("quic hp"),
    .key_text = "quic key",
    .iv_text = "quic iv",
    .header_text = "quic hp",
    .update_text = "quic ku"};
constexpr schedule_labels labels_v2 = {  // RFC 9369 3.3.2
    .key16 = crypto::make_hkdf_label<16>("quicv2 key"),
    .key32 = crypto::make_hkdf_label<32>("quicv2 key"),
    .iv = crypto::make_hkdf_label<12>("quicv2 iv"),
    .header16 = crypto::make_hkdf_label<16>("quicv2 hp"),
    .header32 = crypto::make_hkdf_label<32>("quicv2 hp"),
    .key_text = "quicv2 key",
    .iv_text = "quicv2 iv",
    .header_text = "quicv2 hp",
    .update_text = "quicv2 ku"};

consteval initial_secrets make(const salt& bytes, const schedule_labels& labels) {
  return {crypto::constant_hmac_key(bytes), &labels};
}

constexpr initial_secrets initial_v1 =  // RFC 9001 5.2; drafts 33 and 34
    make({0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17,
          0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a},
         labels_v1);
constexpr initial_secrets initial_v2 =  // RFC 9369 3.3.1
    make({0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93,
          0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9},
         labels_v2);
constexpr initial_secrets initial_v2_draft =  // draft-ietf-quic-v2-01 to -04, version 0x709a50c4
    make({0xa7, 0x07, 0xc2, 0x03, 0xa5, 0x9b, 0x47, 0x18, 0x4a, 0x1d,
          0x62, 0xca, 0x57, 0x04, 0x06, 0xea, 0x7a, 0xe3, 0xe5, 0xd3},
         labels_v2);
constexpr initial_secrets initial_draft_29 =  // draft-ietf-quic-tls-29 to -32, 5.2
    make({0xaf, 0xbf, 0xec, 0x28, 0x99, 0x93, 0xd2, 0x4c, 0x9e, 0x97,
          0x86, 0xf1, 0x9c, 0x61, 0x11, 0xe0, 0x43, 0x90, 0xa8, 0x99},
         labels_v1);
constexpr initial_secrets initial_draft_23 =  // draft-ietf-quic-tls-23 to -28, 5.2
    make({0xc3, 0xee, 0xf7, 0x12, 0xc7, 0x2e, 0xbb, 0x5a, 0x11, 0xa7,
          0xd2, 0x43, 0x2b, 0xb4, 0x63, 0x65, 0xbe, 0xf9, 0xf5, 0x02},
         labels_v1);
constexpr initial_secrets initial_draft_22 =  // draft-ietf-quic-tls-22 5.2
    make({0x7f, 0xbc, 0xdb, 0x0e, 0x7c, 0x66, 0xbb, 0xe9, 0x19, 0x3a,
          0x96, 0xcd, 0x21, 0x51, 0x9e, 0xbd, 0x7a, 0x02, 0x64, 0x4a},
         labels_v1);
constexpr initial_secrets initial_t051 = make({0x7a, 0x4e, 0xde, 0xf4, 0xe7, 0xcc, 0xee, 0x5f, 0xa4, 0x50,
                                               0x6c, 0x19, 0x12, 0x4f, 0xc8, 0xcc, 0xda, 0x6e, 0x03, 0x3d},
                                              labels_v1);
constexpr initial_secrets initial_t050 = make({0x7f, 0xf5, 0x79, 0xe5, 0xac, 0xd0, 0x72, 0x91, 0x55, 0x80,
                                               0x30, 0x4c, 0x43, 0xa2, 0x36, 0x7c, 0x60, 0x48, 0x83, 0x10},
                                              labels_v1);
constexpr initial_secrets initial_q050 = make({0x50, 0x45, 0x74, 0xef, 0xd0, 0x66, 0xfe, 0x2f, 0x9d, 0x94,
                                               0x5c, 0xfc, 0xdb, 0xd3, 0xa7, 0xf0, 0xd3, 0xb5, 0x6b, 0x45},
                                              labels_v1);

constexpr retry_secrets retry_v1 = {  // RFC 9001 5.8; drafts 33 and 34
    .key = {0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e},
    .nonce = {0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb}};
constexpr retry_secrets retry_v2 = {  // RFC 9369 3.3.3
    .key = {0x8f, 0xb4, 0xb0, 0x1b, 0x56, 0xac, 0x48, 0xe2, 0x60, 0xfb, 0xcb, 0xce, 0xad, 0x7c, 0xcc, 0x92},
    .nonce = {0xd8, 0x69, 0x69, 0xbc, 0x2d, 0x7c, 0x6d, 0x99, 0x90, 0xef, 0xb0, 0x4a}};
constexpr retry_secrets retry_v2_draft = {  // draft-ietf-quic-v2-01 to -03
    .key = {0xba, 0x85, 0x8d, 0xc7, 0xb4, 0x3d, 0xe5, 0xdb, 0xf8, 0x76, 0x17, 0xff, 0x4a, 0xb2, 0x53, 0xdb},
    .nonce = {0x14, 0x1b, 0x99, 0xc2, 0x39, 0xb0, 0x3e, 0x78, 0x5d, 0x6a, 0x2e, 0x9f}};
constexpr retry_secrets retry_draft_29 = {  // draft-ietf-quic-tls-29 to -32, 5.8
    .key = {0xcc, 0xce, 0x18, 0x7e, 0xd0, 0x9a, 0x09, 0xd0, 0x57, 0x28, 0x15, 0x5a, 0x6c, 0xb9, 0x6b, 0xe1},
    .nonce = {0xe5, 0x49, 0x30, 0xf9, 0x7f, 0x21, 0x36, 0xf0, 0x53, 0x0a, 0x8c, 0x1c}};
constexpr retry_secrets retry_draft_25 = {  // draft-ietf-quic-tls-25 to -28, 5.8
    .key = {0x4d, 0x32, 0xec, 0xdb, 0x2a, 0x21, 0x33, 0xc8, 0x41, 0xe4, 0x04, 0x3d, 0xf2, 0x7d, 0x44, 0x30},
    .nonce = {0x4d, 0x16, 0x11, 0xd0, 0x55, 0x13, 0xa5, 0x52, 0xc5, 0x87, 0xd5, 0x75}};
constexpr retry_secrets retry_t051 = {
    .key = {0x2e, 0xb9, 0x61, 0xa6, 0x79, 0x56, 0xf8, 0x79, 0x53, 0x14, 0xda, 0xfb, 0x2e, 0xbc, 0x83, 0xd7},
    .nonce = {0xb5, 0x0e, 0x4e, 0x53, 0x4c, 0xfc, 0x0b, 0xbb, 0x85, 0xf2, 0xf9, 0xca}};
constexpr retry_secrets retry_t050 = {
    .key = {0xc9, 0x2d, 0x32, 0x3d, 0x9c, 0xe3, 0x0d, 0xa0, 0x88, 0xb9, 0xb7, 0xbb, 0xdc, 0xcd, 0x50, 0xc8},
    .nonce = {0x26, 0xe4, 0xd6, 0x23, 0x83, 0xd5, 0xc7, 0x60, 0xea, 0x02, 0xb4, 0x1f}};

struct version_secrets {
  const initial_secrets* initial = nullptr;
  const retry_secrets* retry = nullptr;
};

constexpr wire::version_number version_t051 = 0x5430'3531;  // "T051"
constexpr wire::version_number version_t050 = 0x5430'3530;  // "T050"
constexpr wire::version_number version_q050 = 0x5130'3530;  // "Q050"

constexpr version_secrets secrets_of_draft(unsigned draft) noexcept {
  if (draft < 22 || draft > 34) return {};
  if (draft >= 33) return {&initial_v1, &retry_v1};
  if (draft >= 29) return {&initial_draft_29, &retry_draft_29};
  if (draft >= 25) return {&initial_draft_23, &retry_draft_25};
  if (draft >= 23) return {&initial_draft_23, nullptr};
  return {&initial_draft_22, nullptr};
}

constexpr version_secrets secrets_of_mvfst(unsigned number) noexcept {
  switch (number) {
    case 0x00:
      return {};
    case 0x01:
      return {&initial_draft_22, nullptr};
    case 0x03:
    case 0x04:
      return {&initial_v1, &retry_v1};
    default:
      return {&initial_draft_23, &retry_draft_29};
  }
}

constexpr version_secrets secrets_of(wire::version_number version) noexcept {
  switch (version) {
    case wire::version_1:
      return {&initial_v1, &retry_v1};
    case wire::version_2:
      return {&initial_v2, &retry_v2};
    case wire::version_2_draft:
      return {&initial_v2_draft, &retry_v2_draft};
    case version_t051:
      return {&initial_t051, &retry_t051};
    case version_t050:
      return {&initial_t050, &retry_t050};
    case version_q050:
      return {&initial_q050, nullptr};
    default:
      break;
  }
  if (version >> 8 == 0xff0000) return secrets_of_draft(version & 0xff);
  if (version >> 5 == 0xface'b000 >> 5) return secrets_of_mvfst(version & 0x1f);
  return {};
}

}  // namespace

const initial_secrets* find_initial_secrets(wire::version_number version) noexcept {
  return secrets_of(version).initial;
}

const schedule_labels* find_labels(wire::version_number version) noexcept {
  const initial_secrets* const secrets = find_initial_secrets(version);
  return secrets == nullptr ? nullptr : secrets->labels;
}

const retry_secrets* find_retry_secrets(wire::version_number version) noexcept { return secrets_of(version).retry; }

}  // namespace millrace::quic::protect

#include "quic/path/address_token.hpp"

#include <gtest/gtest.h>

#include <set>

#include "quic/path/ids.hpp"
#include "quic/protect/initials.hpp"
#include "support/bytes.hpp"
#include "support/hostile.hpp"
#include "support/seeded.hpp"

namespace millrace::quic::path {
namespace {

using test::byte_list;
using test::cid_of;
using test::endpoint_of;

constexpr std::array<std::uint8_t, token_key_size> key_a{1, 2, 3, 4};
constexpr std::array<std::uint8_t, token_key_size> key_b{5, 6, 7, 8};
constexpr std::array<std::uint8_t, token_key_size> key_c{9, 10, 11, 12};
constexpr std::array<std::uint8_t, crypto::aead_nonce_size> nonce{0xF0, 1, 2};
constexpr std::uint64_t start_ms = 1'700'000'000'000;

class address_token : public testing::Test {
 protected:
  crypto::engine engine_ = test::make_engine();
  address_tokens tokens_{nonce};
  token_subject about_{endpoint_of("192.0.2.7", 4433), 1, start_ms};
  retry_ids ids_{cid_of(0x1122334455667788), cid_of(0x99AABBCCDDEEFF00)};

  void SetUp() override { ASSERT_TRUE(tokens_.rotate(engine_, 17, key_a)); }
  byte_list retry() { return retry(about_, ids_); }
  byte_list retry(const token_subject& about, const retry_ids& ids) {
    byte_list out(max_address_token_size);
    out.resize(tokens_.seal_retry(engine_, about, ids, out));
    EXPECT_FALSE(out.empty());
    return out;
  }
  byte_list new_token() {
    byte_list out(max_address_token_size);
    out.resize(tokens_.seal_new_token(engine_, about_, out));
    EXPECT_FALSE(out.empty());
    return out;
  }
  opened_token open(base::byte_view token, const token_subject& seen) {
    return tokens_.open(engine_, token, seen, ids_.retry.view());
  }
  opened_token open(base::byte_view token) { return open(token, about_); }
  token_subject at(std::uint64_t ms) const {
    token_subject out = about_;
    out.now_ms = ms;
    return out;
  }
};

TEST_F(address_token, of_a_retry_tells_both_ids_and_validates_the_address) {  // RFC 9000 8.1.2, 7.3
  const opened_token t = open(retry());
  EXPECT_EQ(t.verdict, token_verdict::valid);
  EXPECT_TRUE(validates_address(t));
  EXPECT_EQ(t.kind, token_kind::retry);
  EXPECT_EQ(t.ids.original, ids_.original);
  EXPECT_EQ(t.ids.retry, ids_.retry);
  EXPECT_EQ(t.issued_ms, start_ms);
  EXPECT_EQ(refusal_of(t), wire::transport_error::no_error);
  EXPECT_EQ(tokens_.counters().sealed, 1u);
  EXPECT_EQ(tokens_.counters().valid, 1u);
}

TEST_F(address_token, of_a_new_token_frame_validates_from_any_port_and_under_any_id) {  // RFC 9000 8.1.3
  const byte_list token = new_token();
  EXPECT_EQ(token.size(), token_overhead + 1 + 4 + 8 + 1 + 4);
  token_subject seen = at(start_ms + 3'600'000);
  seen.client.port = 9;
  const opened_token t = tokens_.open(engine_, token, seen, cid_of(4, 20).view());
  EXPECT_EQ(t.verdict, token_verdict::valid);
  EXPECT_EQ(t.kind, token_kind::new_token);
  EXPECT_TRUE(t.ids.original.empty());
}

TEST_F(address_token, holds_ids_and_addresses_of_every_size_within_its_limit) {
  for (const char* address : {"198.51.100.200", "2001:db8::1"}) {
    about_.client = endpoint_of(address, 65535);
    for (std::uint8_t original = 0; original <= 20; ++original) {
      for (std::uint8_t other = 0; other <= 20; ++other) {
        ids_ = {cid_of(7, original), cid_of(8, other)};
        const byte_list token = retry();
        ASSERT_LE(token.size(), max_address_token_size);
        const opened_token t = open(token);
        ASSERT_EQ(t.verdict, token_verdict::valid);
        ASSERT_EQ(t.ids.original, ids_.original);
        ASSERT_EQ(t.ids.retry, ids_.retry);
      }
    }
    EXPECT_EQ(new_token().size() <= max_address_token_size, true);
  }
  ids_ = {cid_of(7, 20), cid_of(8, 20)};
  EXPECT_EQ(retry().size(), max_address_token_size);
}

TEST_F(address_token, of_no_bytes_is_absent) {
  const opened_token t = open({});
  EXPECT_EQ(t.verdict, token_verdict::absent);
  EXPECT_FALSE(validates_address(t));
  EXPECT_EQ(refusal_of(t), wire::transport_error::no_error);
  EXPECT_EQ(tokens_.counters().not_ours, 0u);
}

TEST_F(address_token, is_not_ours_when_cut_anywhere_or_longer) {
  const byte_list token = retry();
  test::for_every_truncation(token, [&](base::byte_view cut) {
    const opened_token t = open(cut);
    ASSERT_EQ(t.verdict, cut.empty() ? token_verdict::absent : token_verdict::not_ours);
    ASSERT_FALSE(validates_address(t));
  });
  byte_list longer = token;
  longer.push_back(0);
  EXPECT_EQ(open(longer).verdict, token_verdict::not_ours);
  longer.resize(60'000);
  EXPECT_EQ(open(longer).verdict, token_verdict::not_ours);
}

TEST_F(address_token, is_not_ours_when_any_byte_is_changed) {  // RFC 9000 8.1.4
  for (const byte_list& token : {retry(), new_token()})
    test::for_every_byte_change(token, [&](base::byte_view changed) {
      const opened_token t = open(changed);
      ASSERT_EQ(t.verdict, token_verdict::not_ours);
      ASSERT_EQ(refusal_of(t), wire::transport_error::no_error);
    });
  EXPECT_GT(tokens_.counters().not_ours, 0u);
  EXPECT_EQ(tokens_.counters().valid, 0u);
}

TEST_F(address_token, is_not_ours_when_it_is_noise) {
  test::seeded random(5);
  for (std::size_t size = 1; size < 200; ++size) {
    byte_list noise = random.bytes(size);
    noise[0] = 17;  // our key's number
    ASSERT_EQ(open(noise).verdict, token_verdict::not_ours);
  }
}

TEST_F(address_token, expires_to_the_millisecond) {  // RFC 9000 8.1.3
  const address_token_limits limits;
  const byte_list of_retry = retry();
  const byte_list of_frame = new_token();
  EXPECT_EQ(open(of_retry, at(start_ms + limits.retry_lifetime_ms)).verdict, token_verdict::valid);
  const opened_token late = open(of_retry, at(start_ms + limits.retry_lifetime_ms + 1));
  EXPECT_EQ(late.verdict, token_verdict::expired);
  EXPECT_EQ(refusal_of(late), wire::transport_error::invalid_token);  // RFC 9000 8.1.2
  EXPECT_EQ(open(of_frame, at(start_ms + limits.new_token_lifetime_ms)).verdict, token_verdict::valid);
  const opened_token old = open(of_frame, at(start_ms + limits.new_token_lifetime_ms + 1));
  EXPECT_EQ(old.verdict, token_verdict::expired);
  EXPECT_EQ(refusal_of(old), wire::transport_error::no_error);
  EXPECT_EQ(tokens_.counters().expired, 2u);
}

TEST_F(address_token, from_the_future_is_believed_within_the_skew_of_clocks) {
  const address_token_limits limits;
  const byte_list token = retry();
  EXPECT_EQ(open(token, at(start_ms - limits.clock_skew_ms)).verdict, token_verdict::valid);
  EXPECT_EQ(open(token, at(start_ms - limits.clock_skew_ms - 1)).verdict, token_verdict::expired);
  EXPECT_EQ(open(token, at(0)).verdict, token_verdict::expired);
  EXPECT_EQ(open(token, at(UINT64_MAX)).verdict, token_verdict::expired);
}

TEST_F(address_token, of_another_address_is_refused) {  // RFC 9000 8.1.4
  const byte_list of_retry = retry();
  const byte_list of_frame = new_token();
  for (const char* other : {"192.0.2.8", "193.0.2.7", "2001:db8::1", "::ffff:192.0.2.7", "c000:207::"}) {
    token_subject seen = about_;
    seen.client.address = endpoint_of(other, 0).address;
    const opened_token t = open(of_retry, seen);
    EXPECT_EQ(t.verdict, token_verdict::wrong_address) << other;
    EXPECT_EQ(refusal_of(t), wire::transport_error::invalid_token);
    EXPECT_TRUE(t.ids.original.empty());
    EXPECT_EQ(open(of_frame, seen).verdict, token_verdict::wrong_address) << other;
    EXPECT_EQ(refusal_of(open(of_frame, seen)), wire::transport_error::no_error);
  }
  token_subject seen = about_;
  seen.client.port ^= 1;
  EXPECT_EQ(open(of_retry, seen).verdict, token_verdict::wrong_address);
  EXPECT_EQ(open(of_frame, seen).verdict, token_verdict::valid);
}

TEST_F(address_token, serves_no_other_version) {  // RFC 9369 5
  token_subject seen = about_;
  seen.version = 0x6b3343cf;
  EXPECT_EQ(open(retry(), seen).verdict, token_verdict::wrong_version);
  const opened_token t = open(new_token(), seen);
  EXPECT_EQ(t.verdict, token_verdict::wrong_version);
  EXPECT_FALSE(validates_address(t));
  EXPECT_EQ(tokens_.counters().wrong_version, 2u);
}

TEST_F(address_token, of_a_retry_serves_only_under_the_id_the_retry_gave) {
  const byte_list token = retry();
  const opened_token t = tokens_.open(engine_, token, about_, ids_.original.view());
  EXPECT_EQ(t.verdict, token_verdict::wrong_cid);
  EXPECT_EQ(refusal_of(t), wire::transport_error::invalid_token);
  EXPECT_EQ(tokens_.open(engine_, token, about_, {}).verdict, token_verdict::wrong_cid);
  EXPECT_EQ(tokens_.counters().wrong_cid, 2u);
}

TEST_F(address_token, outlives_one_rotation_of_keys_and_not_two) {
  const byte_list token = retry();
  ASSERT_TRUE(tokens_.rotate(engine_, 18, key_b));
  EXPECT_EQ(open(token).verdict, token_verdict::valid);
  const byte_list newer = retry();
  EXPECT_EQ(newer[0], 18);
  EXPECT_EQ(open(newer).verdict, token_verdict::valid);
  ASSERT_TRUE(tokens_.rotate(engine_, 19, key_c));
  EXPECT_EQ(open(token).verdict, token_verdict::not_ours);
  EXPECT_EQ(open(newer).verdict, token_verdict::valid);
}

TEST_F(address_token, refuses_a_key_under_the_number_of_the_current_one) {
  EXPECT_FALSE(tokens_.rotate(engine_, 17, key_b));
  EXPECT_EQ(open(retry()).verdict, token_verdict::valid);
}

TEST_F(address_token, opens_under_no_other_key_of_the_same_number) {
  address_tokens other(nonce);
  ASSERT_TRUE(other.rotate(engine_, 17, key_b));
  EXPECT_EQ(other.open(engine_, retry(), about_, ids_.retry.view()).verdict, token_verdict::not_ours);
}

TEST_F(address_token, is_opened_by_whoever_shares_the_key) {
  constexpr std::array<std::uint8_t, crypto::aead_nonce_size> elsewhere{0x77};
  address_tokens other(elsewhere);
  ASSERT_TRUE(other.rotate(engine_, 17, key_a));
  EXPECT_EQ(other.open(engine_, retry(), about_, ids_.retry.view()).verdict, token_verdict::valid);
}

TEST_F(address_token, needs_a_key_a_family_and_room) {
  byte_list room(max_address_token_size);
  address_tokens keyless(nonce);
  EXPECT_EQ(keyless.seal_retry(engine_, about_, ids_, room), 0u);
  EXPECT_EQ(keyless.open(engine_, retry(), about_, ids_.retry.view()).verdict, token_verdict::not_ours);
  const std::size_t size = retry().size();
  for (std::size_t cut = 0; cut < size; ++cut)
    ASSERT_EQ(tokens_.seal_retry(engine_, about_, ids_, base::byte_span(room).first(cut)), 0u);
  EXPECT_EQ(tokens_.seal_retry(engine_, about_, ids_, base::byte_span(room).first(size)), size);
  about_.client.address = {};
  EXPECT_EQ(tokens_.seal_retry(engine_, about_, ids_, room), 0u);
  EXPECT_EQ(tokens_.seal_new_token(engine_, about_, room), 0u);
}

TEST_F(address_token, never_uses_a_nonce_twice) {
  std::set<std::string> nonces;
  std::set<std::uint64_t> ids;
  constexpr std::array<std::uint8_t, crypto::aead_nonce_size> first{0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE};
  address_tokens carrying(first);
  ASSERT_TRUE(carrying.rotate(engine_, 1, key_a));
  byte_list room(max_address_token_size);
  for (int i = 0; i < 600; ++i) {
    const std::size_t size = carrying.seal_new_token(engine_, about_, room);
    const base::byte_view token = base::byte_view(room).first(size);
    ASSERT_TRUE(nonces.insert(test::to_hex(token.subspan(1, crypto::aead_nonce_size))).second);
    ASSERT_TRUE(ids.insert(carrying.open(engine_, token, about_, {}).id).second);
  }
  EXPECT_TRUE(nonces.contains("000000000000010000000000"));  // the carry
}

TEST_F(address_token, shows_neither_address_nor_ids) {  // RFC 9000 8.1.4
  const std::string token = test::to_hex(retry());
  EXPECT_EQ(token.find(test::to_hex(about_.client.address.bytes())), std::string::npos);
  EXPECT_EQ(token.find(test::to_hex(ids_.original.view())), std::string::npos);
  EXPECT_EQ(token.find(test::to_hex(ids_.retry.view())), std::string::npos);
}

TEST_F(address_token, of_unknown_inside_is_not_ours) {  // sealed by another program under the same key
  crypto::aead_key key;
  crypto::set_aes128_gcm_key(engine_, key_a, key);
  const auto sealed = [&](byte_list text) {
    byte_list out(token_overhead + text.size());
    out[0] = 17;
    crypto::seal(engine_, key, base::byte_view(out).subspan(1, 12), base::byte_view(out).first(1), text,
                 out.data() + 13);
    return out;
  };
  const byte_list good = test::from_hex("02 00000001 0000018bcfe56800 01 c0000207");
  EXPECT_EQ(open(sealed(good)).verdict, token_verdict::valid);
  const auto refused = [&](byte_list text) { return open(sealed(std::move(text))).verdict == token_verdict::not_ours; };
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_TRUE(refused({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}));
  for (const int kind : {0, 3, 255}) {
    byte_list text = good;
    text[0] = static_cast<std::uint8_t>(kind);
    EXPECT_TRUE(refused(text));
  }
  for (const int family : {0, 2, 3, 255}) {
    byte_list text = good;
    text[13] = static_cast<std::uint8_t>(family);
    EXPECT_TRUE(refused(text));
  }
  byte_list longer = good;
  longer.push_back(0);
  EXPECT_TRUE(refused(longer));
  const byte_list retry_text = test::from_hex("01 00000001 0000018bcfe56800 01 c0000207 1151 01 aa 02 bbcc");
  for (std::size_t size = 0; size < retry_text.size(); ++size)
    EXPECT_TRUE(refused({retry_text.begin(), retry_text.begin() + static_cast<std::ptrdiff_t>(size)}));
  EXPECT_FALSE(refused(retry_text));
  byte_list long_id = retry_text;
  long_id[20] = 21;
  long_id.resize(60);
  EXPECT_TRUE(refused(long_id));
}

}  // namespace
}  // namespace millrace::quic::path

// Frames about the connection: tokens, connection IDs, paths, and the handshake's end.
#include <gtest/gtest.h>

#include "quic/wire/frame_handshake_done.hpp"
#include "quic/wire/frame_new_connection_id.hpp"
#include "quic/wire/frame_new_token.hpp"
#include "quic/wire/frame_path.hpp"
#include "quic/wire/frame_retire_connection_id.hpp"
#include "support/emitted.hpp"
#include "support/hostile.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_reader;
using base::byte_view;
using base::parse_errc;
using base::parse_status;
using base::varint_max;
using test::byte_list;
using test::emitted;
using test::from_hex;
using test::refuses_to_emit;
using test::to_hex;

template <class Frame>
parse_status read(byte_view body, Frame& f) {
  byte_reader in(body);
  return parse(in, f);
}

TEST(frame_new_token, gives_the_token_in_place) {  // RFC 9000 19.7
  const byte_list body = from_hex("4003 aabbcc ee");
  byte_reader in(body);
  new_token_frame f;
  ASSERT_TRUE(parse(in, f));
  EXPECT_EQ(f.token.data(), body.data() + 2);
  EXPECT_EQ(to_hex(f.token), "aabbcc");
  EXPECT_EQ(in.remaining(), 1u);
  EXPECT_EQ(to_hex(emitted(f)), "0703aabbcc");
}

TEST(frame_new_token, refuses_a_token_of_nothing) {  // RFC 9000 19.7
  new_token_frame f{test::keep(from_hex("99"))};
  const parse_status status = read(test::keep(from_hex("00 aa")), f);
  EXPECT_EQ(status.code, parse_errc::bad_value);
  EXPECT_EQ(status.at, 0u);
  EXPECT_EQ(f.token.size(), 1u);
  EXPECT_EQ(read(test::keep(from_hex("4000")), f).code, parse_errc::bad_value);
  EXPECT_TRUE(refuses_to_emit(new_token_frame{}));
}

TEST(frame_new_token, refuses_a_token_that_is_not_all_there) {
  test::for_every_truncation(from_hex("4003 aabbcc"), [](byte_view body) {
    new_token_frame f;
    EXPECT_EQ(read(body, f).code, parse_errc::truncated);
  });
  new_token_frame f;
  EXPECT_EQ(read(test::keep(from_hex("ffffffffffffffff aa")), f).code, parse_errc::truncated);
}

const std::string_view token = "000102030405060708090a0b0c0d0e0f";

parse_status read_cid(const std::string& hex, new_connection_id_frame& f) { return read(test::keep(from_hex(hex)), f); }

TEST(frame_new_connection_id, gives_the_id_and_its_token_in_place) {  // RFC 9000 19.15
  const byte_list body = from_hex("4005 02 04 c1c2c3c4" + std::string(token) + "ee");
  byte_reader in(body);
  new_connection_id_frame f;
  ASSERT_TRUE(parse(in, f));
  EXPECT_EQ(f.sequence, 5u);
  EXPECT_EQ(f.retire_prior_to, 2u);
  EXPECT_EQ(f.cid.data(), body.data() + 4);
  EXPECT_EQ(to_hex(f.cid), "c1c2c3c4");
  EXPECT_EQ(to_hex(f.stateless_reset_token), token);
  EXPECT_EQ(in.remaining(), 1u);
  EXPECT_EQ(to_hex(emitted(f)), "18050204c1c2c3c4" + std::string(token));
}

TEST(frame_new_connection_id, takes_ids_of_1_to_20_bytes) {  // RFC 9000 19.15
  for (unsigned size = 0; size < 256; ++size) {
    byte_list body = from_hex("05 00");
    body.push_back(static_cast<std::uint8_t>(size));
    body.resize(body.size() + size + stateless_reset_token_size, 0xC1);
    new_connection_id_frame f;
    const parse_status status = read(byte_view(body), f);
    if (size >= 1 && size <= 20) {
      EXPECT_TRUE(status);
      EXPECT_EQ(f.cid.size(), size);
      EXPECT_EQ(emitted(f).size(), body.size() + 1);
    } else {
      EXPECT_EQ(status.code, parse_errc::bad_value);
      EXPECT_EQ(status.at, 2u);
    }
  }
}

TEST(frame_new_connection_id, retires_no_further_than_its_own_number) {  // RFC 9000 19.15
  new_connection_id_frame f;
  EXPECT_TRUE(read_cid("05 05 01 aa" + std::string(token), f));
  EXPECT_EQ(read_cid("05 06 01 aa" + std::string(token), f).code, parse_errc::bad_value);
  EXPECT_EQ(read_cid("00 01 01 aa" + std::string(token), f).code, parse_errc::bad_value);
  // As far as a number can reach: one comparison, however many IDs that would be.
  EXPECT_TRUE(read_cid("ffffffffffffffff ffffffffffffffff 01 aa" + std::string(token), f));
  EXPECT_EQ(f.retire_prior_to, varint_max);
}

TEST(frame_new_connection_id, is_not_written_when_a_peer_would_refuse_it) {
  const byte_view id = test::keep(from_hex("c1c2"));
  const byte_view reset = test::keep(from_hex(token));
  EXPECT_TRUE(refuses_to_emit(new_connection_id_frame{1, 2, id, reset}));
  EXPECT_TRUE(refuses_to_emit(new_connection_id_frame{varint_max + 1, 0, id, reset}));
  EXPECT_TRUE(refuses_to_emit(new_connection_id_frame{1, 0, {}, reset}));
  EXPECT_TRUE(refuses_to_emit(new_connection_id_frame{1, 0, test::keep(byte_list(21, 1)), reset}));
  EXPECT_TRUE(refuses_to_emit(new_connection_id_frame{1, 0, id, reset.first(15)}));
  EXPECT_FALSE(refuses_to_emit(new_connection_id_frame{1, 0, id, reset}));
}

TEST(frame_new_connection_id, refuses_every_truncation) {
  test::for_every_truncation(from_hex("4005 02 04 c1c2c3c4" + std::string(token)), [](byte_view body) {
    new_connection_id_frame f;
    f.sequence = 77;
    EXPECT_EQ(read(body, f).code, parse_errc::truncated);
    EXPECT_EQ(f.sequence, 77u);
  });
}

TEST(frame_retire_connection_id, carries_a_number) {  // RFC 9000 19.16
  retire_connection_id_frame f;
  ASSERT_TRUE(read(test::keep(from_hex("4005")), f));
  EXPECT_EQ(f.sequence, 5u);
  EXPECT_EQ(to_hex(emitted(f)), "1905");
  EXPECT_EQ(read(test::keep(from_hex("40")), f).code, parse_errc::truncated);
}

TEST(frame_path, answers_a_challenge_with_its_own_bytes) {  // RFC 9000 19.17, 19.18
  path_challenge_frame challenge;
  ASSERT_TRUE(read(test::keep(from_hex("0102030405060708 ee")), challenge));
  EXPECT_EQ(to_hex(challenge.data), "0102030405060708");
  EXPECT_EQ(to_hex(emitted(challenge)), "1a0102030405060708");
  EXPECT_EQ(to_hex(emitted(answer_of(challenge))), "1b0102030405060708");
  path_response_frame response;
  ASSERT_TRUE(read(test::keep(from_hex("1112131415161718")), response));
  EXPECT_EQ(to_hex(response.data), "1112131415161718");
}

TEST(frame_path, refuses_fewer_than_eight_bytes) {
  test::for_every_truncation(from_hex("0102030405060708"), [](byte_view body) {
    path_challenge_frame challenge{{9}};
    EXPECT_EQ(read(body, challenge).code, parse_errc::truncated);
    EXPECT_EQ(challenge.data[0], 9u);
    path_response_frame response;
    EXPECT_EQ(read(body, response).code, parse_errc::truncated);
  });
}

TEST(frame_handshake_done, is_a_type_and_nothing_else) {  // RFC 9000 19.20
  EXPECT_EQ(to_hex(emitted(handshake_done_frame{})), "1e");
}

}  // namespace
}  // namespace millrace::quic::wire

// RFC 9000 2.1, table 1.
#include <gtest/gtest.h>

#include "quic/stream/stream_id.hpp"

namespace {

using namespace millrace::quic::stream;

TEST(stream_id, tells_opener_direction_and_index_by_its_low_bits) {
  EXPECT_EQ(stream_id(0), stream_id(side::client, direction::bidirectional, 0));
  EXPECT_EQ(stream_id(1), stream_id(side::server, direction::bidirectional, 0));
  EXPECT_EQ(stream_id(2), stream_id(side::client, direction::unidirectional, 0));
  EXPECT_EQ(stream_id(3), stream_id(side::server, direction::unidirectional, 0));
  const stream_id id(4 * 77 + 3);
  EXPECT_EQ(id.index(), 77u);
  EXPECT_TRUE(id.is_opened_by(side::server));
  EXPECT_EQ(id.kind(), direction::unidirectional);
  EXPECT_EQ(stream_id(side::server, direction::unidirectional, 77), id);
}

TEST(stream_id, says_who_may_send_and_receive) {
  const stream_id both(0), of_client(2), of_server(3);
  EXPECT_TRUE(both.can_send(side::server) && both.can_receive(side::server));
  EXPECT_TRUE(of_client.can_receive(side::server));
  EXPECT_FALSE(of_client.can_send(side::server));
  EXPECT_TRUE(of_server.can_send(side::server));
  EXPECT_FALSE(of_server.can_receive(side::server));
}

}  // namespace

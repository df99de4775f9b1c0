// Whole connections in virtual time: handshake, transfers, loss in every form.
#include "quic/sim/pair.hpp"

namespace millrace::test {

TEST(quic_transfer, fetches_a_small_body_over_a_clean_network) {
  sim_pair p;
  EXPECT_TRUE(p.fetch({1000}));
  EXPECT_EQ(p.at_server(quic::conn::event::established), 1u);
  EXPECT_EQ(p.at_client(quic::conn::event::established), 1u);
  EXPECT_EQ(p.net.client->drops.total(), 0u);
  EXPECT_EQ(p.net.server->drops.total(), 0u);
}

TEST(quic_transfer, fetches_ten_megabytes) {
  sim_pair p;
  EXPECT_TRUE(p.fetch({10'000'000}));
}

}  // namespace millrace::test

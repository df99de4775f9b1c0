// Version Negotiation, and who may write it: RFC 9000 6, RFC 9368 4.
#include "quic/sim/pair.hpp"

namespace millrace::test {

namespace {

using quic::conn::end_reason;
using quic::wire::version_1;
using quic::wire::version_2;

constexpr std::array<quic::wire::version_number, 2> newest_first{version_2, version_1};

// The answer to a client's first datagram that lists version 1 alone, from somebody who has seen it, or guesses.
seen_datagram negotiation(const seen_datagram& initial, bool right_scid, bool right_dcid) {
  quic::wire::packet_header h;
  EXPECT_TRUE(quic::wire::parse_packet(initial.bytes, h));
  seen_datagram d;
  d.address = {initial.address.remote, initial.address.local};
  d.bytes = {0xc0, 0, 0, 0, 0};
  const auto put = [&](base::byte_view id, bool right) {
    d.bytes.push_back(static_cast<std::uint8_t>(id.size()));
    d.bytes.insert(d.bytes.end(), id.begin(), id.end());
    if (!right) d.bytes.back() ^= 1;
  };
  put(h.scid, right_dcid);
  put(h.dcid, right_scid);
  d.bytes.insert(d.bytes.end(), {0, 0, 0, 1});
  return d;
}

struct upgrading_pair : sim_pair {
  seen_datagram first;
  explicit upgrading_pair(const sim_options& o) : sim_pair(o) {
    net.passing = [this](seen_datagram& d) {
      if (first.bytes.empty()) first = d;
      return true;
    };
    client_app.to_ask = {1000};
    connect(false, version_2);
    net.flush();
    EXPECT_FALSE(first.bytes.empty());
  }
  static sim_options options() {
    sim_options o;
    o.client.transport.versions = newest_first;
    return o;
  }
};

}  // namespace

TEST(quic_versions, are_not_negotiated_by_somebody_who_does_not_know_the_ids) {
  upgrading_pair p(upgrading_pair::options());
  p.net.client->receive(negotiation(p.first, false, true), p.net.now_ns);
  p.net.client->receive(negotiation(p.first, true, false), p.net.now_ns);
  EXPECT_TRUE(p.net.run([&] { return p.client_app.all_done() || p.client_app.closed; }));
  EXPECT_TRUE(p.client_app.all_done());
}

TEST(quic_versions, are_not_negotiated_once_the_server_has_spoken) {
  upgrading_pair p(upgrading_pair::options());
  p.net.wait(30 * ms);
  p.net.client->receive(negotiation(p.first, true, true), p.net.now_ns);
  EXPECT_TRUE(p.net.run([&] { return p.client_app.all_done() || p.client_app.closed; }));
  EXPECT_TRUE(p.client_app.all_done());
}

TEST(quic_versions, cannot_be_lowered_by_somebody_who_writes_version_negotiation) {
  upgrading_pair p(upgrading_pair::options());
  p.net.client->receive(negotiation(p.first, true, true), p.net.now_ns);
  p.net.wait(1 * ms);
  ASSERT_TRUE(p.client_app.closed);
  EXPECT_EQ(p.client_app.end.reason, end_reason::version_negotiation);
  EXPECT_EQ(p.client_app.end.code, version_1);
  // The client tries again as it was told; the server's own list shows that nobody had to.
  p.client_app.closed = false;
  p.client_app.to_ask = {1000};
  p.negotiated = true;
  ASSERT_NE(p.connect(false, version_1), nullptr);
  EXPECT_TRUE(p.net.run([&] { return p.client_app.closed || p.client_app.all_done(); }));
  EXPECT_TRUE(p.client_app.closed);
  EXPECT_FALSE(p.client_app.all_done());
  EXPECT_EQ(p.client_app.end.reason, end_reason::closed_by_us);
  EXPECT_EQ(p.client_app.end.code, static_cast<std::uint64_t>(quic::wire::transport_error::version_negotiation_error));
}

}  // namespace millrace::test

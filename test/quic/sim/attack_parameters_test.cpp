// Transport parameters that cannot be, told by a client and by a server: TRANSPORT_PARAMETER_ERROR, before any of them
// counts (CVE-2026-31812, GHSA-fr44-546p-7xcp, CVE-2024-26190).
#include "quic/sim/crafted.hpp"

namespace millrace::test {
namespace {

using quic::conn::event;
using quic::wire::transport_error;

constexpr std::uint64_t number_of(transport_error e) { return static_cast<std::uint64_t>(e); }

class parameters {
  byte_vector bytes_;

 public:
  parameters& of(std::uint64_t id, const byte_vector& value) {
    bytes_ = frames().raw(bytes_).numbers({id, value.size()}).raw(value).get();
    return *this;
  }
  parameters& number(std::uint64_t id, std::uint64_t value) { return of(id, frames().numbers({value}).get()); }
  parameters& raw(const byte_vector& more) {
    bytes_ = frames().raw(bytes_).raw(more).get();
    return *this;
  }
  [[nodiscard]] const byte_vector& get() const { return bytes_; }
};

const byte_vector our_id = {1, 2, 3, 4, 5, 6, 7, 8};

struct attack {
  const char* name;
  parameters what;  // beside those that must be there
  bool without_id = false;
};

std::vector<attack> for_everybody() {
  std::vector<attack> out = {
      {"twice the same", parameters().number(0x04, 5).number(0x04, 5)},
      {"twice one nobody knows", parameters().of(0x7fff, {1}).of(0x7fff, {1})},
      {"a datagram size below 1200", parameters().number(0x03, 1199)},
      {"an ACK delay exponent above 20", parameters().number(0x0a, 21)},
      {"a longest ACK delay of 2^14", parameters().number(0x0b, 1u << 14)},
      {"one connection ID", parameters().number(0x0e, 1)},
      {"more streams than can be", parameters().number(0x08, (std::uint64_t{1} << 60) + 1)},
      {"more streams one way than can be", parameters().number(0x09, (std::uint64_t{1} << 60) + 1)},
      {"a flag with a value", parameters().of(0x0c, {1})},
      {"a number with a byte behind it", parameters().of(0x04, {5, 0})},
      {"a number of no bytes", parameters().of(0x04, {})},
      {"a length beyond the end", parameters().raw({0x04, 50, 1})},
      {"a length that is cut off", parameters().raw({0x04, 0x80})},
      {"a type that is cut off", parameters().raw({0xc0, 0})},
      {"no ID at all", {}, true},
      {"an ID that was not seen", parameters().of(0x0f, {9, 9, 9, 9}), true},
      {"an ID of 21 bytes", parameters().of(0x0f, byte_vector(21, 1)), true},
  };
  return out;
}

std::vector<attack> for_clients() {
  std::vector<attack> out = for_everybody();
  out.push_back({"original_destination_connection_id", parameters().of(0x00, our_id)});
  out.push_back({"stateless_reset_token", parameters().of(0x02, byte_vector(16, 7))});
  out.push_back({"preferred_address", parameters().of(0x0d, byte_vector(49, 4))});
  out.push_back({"retry_source_connection_id", parameters().of(0x10, our_id)});
  return out;
}

TEST(quic_attack_parameters, of_a_client_that_cannot_be_end_the_handshake) {
  for (const attack& a : for_clients()) {
    hijack h(victim::server);
    h.cut();
    h.client_id = our_id;
    h.original = h.server_id = byte_vector(8, 0x55);
    tls::quic_handshake tls(h.pair.client_tls);
    parameters told = a.what;
    if (!a.without_id) told = parameters().of(0x0f, our_id).raw(a.what.get());
    if (told.get().empty()) told.number(0x04, 1);
    ASSERT_NE(tls.start({.server_name = "example.test", .transport_parameters = told.get()}),
              tls::handshake_progress::failed);
    static_cast<void>(tls.advance(sim_epoch_ns));
    const base::byte_view hello = tls.output(tls::encryption_level::initial);
    ASSERT_FALSE(hello.empty());
    for (std::size_t at = 0; at < hello.size(); at += 1000)
      h.send(frames().add(quic::wire::crypto_frame{
                 .offset = at, .data = hello.subspan(at, std::min<std::size_t>(1000, hello.size() - at))}),
             level::initial);
    EXPECT_EQ(h.said.code, number_of(transport_error::transport_parameter_error)) << a.name;
    EXPECT_EQ(h.event(event::parameters_refused), 1u) << a.name;
    EXPECT_EQ(h.event(event::established), 0u);
    h.settle(5 * second);
    EXPECT_EQ(h.held(), holdings{}) << a.name;
  }
}

TEST(quic_attack_parameters, of_a_server_that_cannot_be_end_the_handshake) {
  std::vector<attack> attacks = for_everybody();
  attacks.push_back({"a Retry that was not", parameters().of(0x10, our_id)});
  attacks.push_back({"a reset token of 15 bytes", parameters().of(0x02, byte_vector(15, 7))});
  attacks.push_back({"a preferred address that is cut off", parameters().of(0x0d, byte_vector(30, 4))});
  attacks.push_back({"a preferred address without an ID", parameters().of(0x0d, byte_vector(41, 0))});
  for (const attack& a : attacks) {
    hijack h(victim::client);
    h.cut();
    ASSERT_NE(h.pair.connect(), nullptr);
    h.settle(1 * ms);
    ASSERT_FALSE(h.said.crypto.empty());
    h.server_id = our_id;
    tls::quic_handshake tls(h.pair.server_tls);
    parameters told = parameters().of(0x00, h.original);
    if (!a.without_id) told.of(0x0f, our_id);
    told.raw(a.what.get());
    static_cast<void>(tls.provide(tls::encryption_level::initial, h.said.crypto));
    ASSERT_TRUE(tls.set_transport_parameters(told.get()));
    static_cast<void>(tls.advance(sim_epoch_ns));
    for (const level at : {level::initial, level::handshake}) {
      const base::byte_view out =
          tls.output(at == level::initial ? tls::encryption_level::initial : tls::encryption_level::handshake);
      ASSERT_FALSE(out.empty()) << a.name;
      for (std::size_t from = 0; from < out.size(); from += 1000)
        h.send(frames().add(quic::wire::crypto_frame{
                   .offset = from, .data = out.subspan(from, std::min<std::size_t>(1000, out.size() - from))}),
               at);
    }
    EXPECT_EQ(h.said.code, number_of(transport_error::transport_parameter_error)) << a.name;
    EXPECT_EQ(h.event(event::parameters_refused), 1u) << a.name;
    EXPECT_TRUE(h.pair.client_app.closed);
    EXPECT_FALSE(h.pair.client_app.established) << a.name;
  }
}

}  // namespace
}  // namespace millrace::test

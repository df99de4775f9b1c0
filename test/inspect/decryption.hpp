// test/inspect/decryption.hpp - a conversation under observation by somebody who has its secrets, with small limits.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "inspect/analysis.hpp"
#include "inspect/secret_conversation.hpp"

namespace millrace::inspect::test {

inline analyzer_options small_with_keys() {
  analyzer_options options = analysis::small();
  options.caps.max_decrypted = 4;
  options.caps.max_secrets = 16;
  options.caps.handshake_blocks = 16;
  options.caps.max_streams = 8;
  options.caps.streams_per_connection = 4;
  options.caps.stream_pieces = 16;
  options.caps.pieces_per_stream = 4;
  return options;
}

// A conversation under observation.
class decryption : public testing::Test {
 protected:
  analysis seen{small_with_keys()};

  void feed(bool from_client, const byte_list& datagram) {
    from_client ? seen.to_server(datagram) : seen.to_client(datagram);
    seen.now += analysis::second / 100;
  }
  void add_key_log(const std::string& text) {
    seen.under_test.add_key_log(text);
    seen.under_test.end_key_log();
  }
  void handshake(conversation& talk) {
    talk.handshake_with([&](bool from_client, const byte_list& datagram) { feed(from_client, datagram); });
  }
  // Of the only connection, the analysis over.
  const session_facts& facts() {
    EXPECT_EQ(seen.connections().size(), 1u);
    EXPECT_EQ(seen.told.sessions.size(), 1u);
    static const session_facts nothing{};
    seen.expect_conservation();
    expect_nothing_kept();
    if (seen.told.sessions.empty() || !seen.told.sessions.back()) return nothing;
    return *seen.told.sessions.back();
  }
  void expect_nothing_kept() {
    const decryptor& d = seen.under_test.quic().decryption();
    EXPECT_EQ(d.sessions().in_use(), 0u);
    EXPECT_EQ(d.streams().streams_in_use(), 0u);
    EXPECT_EQ(d.streams().pieces_in_use(), 0u);
    EXPECT_EQ(d.handshakes().blocks_in_use(), 0u);
  }
};

inline void expect_whole_handshake_but_1_rtt(const session_facts& f) {
  EXPECT_EQ(f.unopened.total(), 0u);
  EXPECT_EQ(f.bad_frames, 0u);
  EXPECT_EQ(f.of(peer::client).packets.get(packet_level::initial), 1u);
  EXPECT_EQ(f.of(peer::server).packets.get(packet_level::initial), 1u);
  EXPECT_EQ(f.of(peer::client).packets.get(packet_level::handshake), 1u);
  EXPECT_EQ(f.of(peer::server).packets.get(packet_level::handshake), 1u);
  EXPECT_EQ(f.of(peer::client).messages.get(handshake_kind::client_hello), 1u);
  EXPECT_EQ(f.of(peer::client).messages.get(handshake_kind::finished), 1u);
  for (const handshake_kind kind :
       {handshake_kind::server_hello, handshake_kind::encrypted_extensions, handshake_kind::certificate,
        handshake_kind::certificate_verify, handshake_kind::finished})
    EXPECT_EQ(f.of(peer::server).messages.get(kind), 1u) << to_string(kind);
  EXPECT_EQ(f.of(peer::server).frames.get(frame_kind::handshake_done), 1u);
  EXPECT_EQ(f.alpn(), "h3");
  ASSERT_TRUE(f.has_parameters);
  EXPECT_EQ(f.parameters.value(parameter::max_idle_timeout), 2000u);
}

inline void expect_whole_handshake(const session_facts& f) {
  expect_whole_handshake_but_1_rtt(f);
  EXPECT_EQ(f.of(peer::server).packets.get(packet_level::one_rtt), 1u);
}

}  // namespace millrace::inspect::test

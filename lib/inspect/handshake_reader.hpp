// inspect/handshake_reader.hpp - the TLS messages of a decrypted connection, out of its CRYPTO frames.
//
// Shape    on_crypto() puts the data of one frame in its place and reads the messages that are whole now: counts them,
//          takes cipher suite, protocol and transport parameters of the server. One stream for each number space and
//          side. A stream whose last message was read gives its blocks back; what comes after is repetition.
// Owner    blocks are the reader's, streams the session's: release() before a session goes.
// Limits   limits::handshake_blocks blocks, limits::hello_bytes of one stream; a message has to fit in them.
// Errors   counted in the session's facts and, as what a stranger did, among the anomalies.
// Threads  one. Heap  none. Source  RFC 9001 4.1.3, RFC 8446 4, RFC 9000 7.5. Tests  test/inspect/decryptor_test.cpp
#pragma once

#include "inspect/counters.hpp"
#include "inspect/session.hpp"
#include "quic/wire/frame_crypto.hpp"

namespace millrace::inspect {

class handshake_reader {
  counters* counters_ = nullptr;
  crypto_reassembly reassembly_;
  std::span<std::uint8_t> message_;  // as large as the largest stream

  void read_messages(session& s, number_space space, peer from) noexcept;
  void on_message(session& s, number_space space, peer from, base::byte_view message) noexcept;
  void on_server_hello(session& s, base::byte_view message) noexcept;
  void on_extensions(session& s, base::byte_view message) noexcept;
  void end(handshake_stream& stream) noexcept;
  void note_conflict(session& s, stats::drop_reason why) noexcept;

 public:
  handshake_reader() noexcept = default;
  // `count` is borrowed; without it the reader only measures its memory.
  handshake_reader(carver& memory, const limits& l, counters* count) noexcept;

  void on_crypto(session& s, number_space space, peer from, const quic::wire::crypto_frame& f) noexcept;
  void release(session& s) noexcept;
  // Clears all plaintext: the last call.
  void wipe() noexcept {
    reassembly_.wipe();
    crypto::wipe(message_);
  }

  [[nodiscard]] std::uint32_t blocks_in_use() const noexcept { return reassembly_.blocks_in_use(); }
};

}  // namespace millrace::inspect

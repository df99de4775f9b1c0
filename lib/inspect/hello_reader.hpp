// inspect/hello_reader.hpp - from a client's Initial packets to its ClientHello.
//
// Shape    open() derives the keys, removes protection and leaves the plaintext in a scratch of ours; take() reads the
//          frames of what was opened last, puts CRYPTO data together and, once the ClientHello is whole, fills the
//          connection's facts. A ClientHello that lies whole in one frame needs no reassembly buffer.
// Owner    captured bytes are never written. Assemblies are the reader's; a connection holds a reference to one.
// Limits   limits::max_hellos assemblies: the least recent gives way, its connection gives up (reassembly_full).
// Errors   counted as anomalies; a connection whose hello cannot be read any more is `given_up`.
// Threads  one. Heap  none. Source  RFC 9001 5.2 5.4, RFC 9000 7.5 17.2.2. Tests  test/inspect/hello_reader_test.cpp
#pragma once

#include "inspect/connection.hpp"
#include "inspect/counters.hpp"
#include "inspect/crypto_reassembly.hpp"
#include "quic/protect/initial.hpp"

namespace millrace::inspect {

// The CRYPTO stream of one connection's client, and the keys its Initials open with.
struct hello_assembly {
  age aging;
  bool has_keys = false;
  std::uint64_t largest_pn_and_1 = 0;
  quic::wire::version_number version = 0;  // the keys are for it
  cid key_dcid;                            // and derived from this
  crypto_stream stream;
  quic::protect::packet_keys keys;
};

class hello_reader {
  static constexpr std::size_t scratch_bytes = 65'536;  // a UDP datagram at most; a CRYPTO stream at most
  crypto::engine* engine_ = nullptr;
  counters* counters_ = nullptr;
  aged_pool<hello_assembly> assemblies_;
  crypto_reassembly reassembly_;
  std::span<std::uint8_t> plaintext_;  // scratch_bytes
  std::span<std::uint8_t> message_;    // scratch_bytes
  std::span<quic::protect::packet_keys> scratch_keys_;

  // What was opened last: the frames in plaintext_, of the packet that lay at this address.
  const std::uint8_t* opened_packet_ = nullptr;
  const std::uint8_t* refused_packet_ = nullptr;  // does not open with keys from its own ID
  quic::protect::opened opened_;
  quic::wire::version_number opened_version_ = 0;
  cid opened_dcid_;
  bool keys_in_scratch_ = false;  // scratch_keys_ opened it

  [[nodiscard]] quic::protect::open_errc try_open(base::byte_view packet, const quic::wire::packet_header& header,
                                                  const cid& source, hello_assembly* a) noexcept;
  [[nodiscard]] hello_assembly* make_assembly(connection& c, std::uint64_t now) noexcept;
  void read_stream(connection& c, hello_assembly& a) noexcept;
  void read_message(connection& c, base::byte_view message) noexcept;
  void read_client_hello(connection& c, base::byte_view message) noexcept;
  void give_up(connection& c, stats::drop_reason why) noexcept;

 public:
  hello_reader() noexcept = default;
  // Both are borrowed; without them the reader only measures its memory.
  hello_reader(carver& memory, const limits& l, crypto::engine* engine, counters* count) noexcept;

  // Before each datagram: another one may lie at the address of the last.
  void begin_datagram() noexcept { opened_packet_ = refused_packet_ = nullptr; }
  // Whether `packet` is an Initial that a client protected with keys from the packet's own Destination Connection ID,
  // as it does with the first of a connection. Counts nothing when it is not. Costs a derivation and a decryption.
  [[nodiscard]] bool opens_alone(base::byte_view packet, const quic::wire::packet_header& header) noexcept;
  // Opens with the connection's keys, or else with those of the packet's own ID: a client that was sent a Retry we did
  // not see goes on with those. Counts a failure, on the connection too. What opens_alone() opened is not opened again.
  [[nodiscard]] bool open(connection& c, base::byte_view packet, const quic::wire::packet_header& header) noexcept;
  // Reads the frames of what was opened last into the facts of its connection.
  void take(connection& c, std::uint64_t now) noexcept;
  // Forgets what was put together for a connection that ends or starts again.
  void discard(connection& c) noexcept;
  // Google's hello in clear, Q0xx.
  void take_plain_chlo(connection& c, base::byte_view message) noexcept;

  [[nodiscard]] const aged_pool<hello_assembly>& assemblies() const noexcept { return assemblies_; }
  [[nodiscard]] std::uint32_t assemblies_in_use() const noexcept { return assemblies_.in_use(); }
  [[nodiscard]] std::uint32_t blocks_in_use() const noexcept { return reassembly_.blocks_in_use(); }
};

}  // namespace millrace::inspect

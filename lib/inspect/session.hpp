// inspect/session.hpp - all that decryption keeps of one connection while it goes on.
//
// Shape    a plain record of an aged_pool: zero bytes are its initial value. Arrays of two are indexed by peer: the
// side
//          that sent.
// Owner    `keys` are secret; whoever gives a session back clears them first (wipe_keys()).
// Source   RFC 9001 4 5, RFC 9000 12.3. Tests  test/inspect/decryptor_test.cpp
#pragma once

#include "crypto/wiped.hpp"
#include "inspect/cid_index.hpp"
#include "inspect/crypto_reassembly.hpp"
#include "inspect/secret_table.hpp"
#include "inspect/session_facts.hpp"
#include "quic/protect/initial.hpp"
#include "quic/protect/receive_keys.hpp"

namespace millrace::inspect {

struct initial_keys {
  bool ready;
  quic::wire::version_number version;  // derived for it
  cid key_dcid;                        // and from this
  quic::protect::packet_keys keys;
};
struct fixed_keys {     // of 0-RTT and Handshake packets, whose keys never change
  bool ready;           // they have opened a packet
  std::uint8_t failed;  // packets that no suite opened
  std::uint16_t suite;  // that `keys` are for; 0: there are none
  quic::wire::version_number version;
  quic::protect::packet_keys keys;
};
struct moving_keys {  // of 1-RTT packets
  bool ready;
  std::uint8_t failed;
  std::uint16_t suite;
  quic::wire::version_number version;
  quic::protect::receive_keys keys;
};

struct session_keys {
  std::array<initial_keys, 2> initial;
  fixed_keys early;
  std::array<fixed_keys, 2> handshake;
  std::array<moving_keys, 2> one_rtt;
};

// RFC 9000 12.3: packet numbers of 0-RTT and 1-RTT are one space, and so are their streams.
enum class number_space : std::uint8_t { initial, handshake, application, count_ };
inline constexpr std::size_t number_space_count = static_cast<std::size_t>(number_space::count_);

struct handshake_stream {
  crypto_stream bytes;
  std::uint32_t next;     // where the next message begins
  std::uint32_t counted;  // of the bytes in order
  bool done;              // nothing is expected any more
  // The last message, so that another in its place is noticed when its bytes are gone; 0 bytes: none was read.
  std::uint32_t last_offset;
  std::uint32_t last_size;
  std::uint64_t last_hash;
};

// Streams of one kind that were let go: the highest number and the 64 below it one by one, all that are lower still as
// a whole.
struct forgotten_streams {
  std::uint64_t top;   // one more than the highest
  std::uint64_t mask;  // bit k: number top - 1 - k

  void add(std::uint64_t number) noexcept {
    if (number >= top) {
      const std::uint64_t shift = number + 1 - top;
      mask = shift < 64 ? mask << shift : 0;
      top = number + 1;
    }
    if (top - 1 - number < 64) mask |= std::uint64_t{1} << (top - 1 - number);
  }
  [[nodiscard]] bool has(std::uint64_t number) const noexcept {
    if (number >= top) return false;
    return top - 1 - number >= 64 || (mask >> (top - 1 - number) & 1) != 0;
  }
};

struct session {
  age aging;
  record_ref connection;
  const handshake_secrets* secrets;    // nullptr: none are known, or not whose handshake it is
  quic::wire::version_number version;  // of the server's Initial and Handshake packets; 0: none seen
  std::uint32_t first_stream_and_1;    // its streams, the latest touched first
  std::uint32_t last_stream_and_1;
  std::uint32_t stream_count;
  bool misfit_secret;  // the packet at hand has a secret that is not as long as the chosen suite's
  std::array<forgotten_streams, 4> forgotten;  // by kind of stream, RFC 9000 2.1
  std::array<std::array<std::uint64_t, 2>, number_space_count> largest_pn_and_1;
  std::array<std::uint8_t, 2> cid_size;  // by who receives: of the ID that stands in short headers
  std::array<bool, 2> knows_cid_size;
  std::array<std::array<handshake_stream, 2>, number_space_count> crypto;
  session_facts facts;
  session_keys keys;

  void wipe_keys() noexcept { crypto::wipe({reinterpret_cast<std::uint8_t*>(&keys), sizeof keys}); }
};

}  // namespace millrace::inspect

// inspect/quic_tracker.hpp - QUIC connections under observation: which one a datagram belongs to, and what it tells.
//
// Shape    on_datagram() takes the payload of one UDP datagram of a known flow. A connection is one object, whatever
//          addresses, versions and connection IDs it goes through:
//            a long header is found by its IDs, else by its 5-tuple; an Initial that opens with keys from its own
//            Destination Connection ID begins a new one on a 5-tuple that is in use;
//            a short header goes to its 5-tuple's connection (the one whose ID it shows, when there are several), and
//            on a new 5-tuple to the connection whose ID it shows, when one of its endpoints is that connection's.
// Roles    the first sender is taken for the client until something proves who is: an Initial that opens with client
//          keys, a token in an Initial, 0-RTT (clients), Retry, Version Negotiation (servers).
// Limits   limits.hpp; a connection that gives way is reported through the observer.
// Errors   not_quic: nothing was counted, the flow takes the datagram. table_full: no connection could be made.
//          What is wrong inside a datagram that was taken is counted as an anomaly.
// Threads  one. Heap  none. Source  RFC 8999, RFC 9000 5.2 6 7.2 9 12.2 17, RFC 9001 5.8, RFC 9368.
// Tests    test/inspect/quic_tracker_test.cpp, corpus pcap/quic
#pragma once

#include "inspect/decryptor.hpp"
#include "inspect/hello_reader.hpp"
#include "inspect/observer.hpp"
#include "quic/wire/header.hpp"

namespace millrace::inspect {

struct datagram {
  base::byte_view payload;  // as captured
  base::endpoint src;
  base::endpoint dst;
  std::uint64_t now = 0;           // clock of the tables: never runs backwards
  std::uint64_t time_ns = 0;       // as the capture tells it
  std::uint32_t wire_payload = 0;  // bytes of the payload on the wire
  std::uint32_t wire_frame = 0;    // bytes of its frame on the wire
  [[nodiscard]] bool truncated() const noexcept { return payload.size() < wire_payload; }
};

enum class tracked : std::uint8_t { taken, not_quic, table_full };

// What the tracker borrows. Without an engine and counters it only measures its memory.
struct surroundings {
  crypto::engine* engine = nullptr;
  counters* count = nullptr;
  observer* told = nullptr;
  std::uint64_t seed = 0;  // of the hash of connection IDs
};

class quic_tracker {
  struct assignment {
    connection* c = nullptr;
    bool from_client = true;
  };
  limits limits_;
  crypto::engine* engine_ = nullptr;
  counters* counters_ = nullptr;
  observer* observer_ = nullptr;
  aged_pool<connection> pool_;
  cid_index cids_;
  hello_reader hellos_;
  decryptor decryptor_;

  // quic_assign.cpp: which connection, and who sent it.
  [[nodiscard]] assignment assign(flow& f, const quic::wire::packet_header& h, const datagram& d) noexcept;
  [[nodiscard]] assignment by_destination(const quic::wire::packet_header& h, const datagram& d) noexcept;
  [[nodiscard]] assignment by_source(const quic::wire::packet_header& h, const datagram& d) noexcept;
  [[nodiscard]] assignment by_flow(flow& f, const quic::wire::packet_header& h, const datagram& d) noexcept;
  [[nodiscard]] bool begins_another(const connection& c, bool from_client, const quic::wire::packet_header& h,
                                    const datagram& d) noexcept;
  [[nodiscard]] assignment begin(flow& f, const quic::wire::packet_header& h, const datagram& d) noexcept;
  [[nodiscard]] connection* make(flow& f, const datagram& d) noexcept;
  [[nodiscard]] assignment short_by_cid(base::byte_view payload, const datagram& d) noexcept;
  // Whether a short header shows one of the connection's IDs, of min_cid_alone bytes or more.
  [[nodiscard]] bool shows_id_of(const connection& c, const datagram& d) const noexcept;
  [[nodiscard]] connection* by_trial(flow& f, connection& newest, const datagram& d, base::byte_view packet,
                                     const quic::wire::packet_header* h) noexcept;
  [[nodiscard]] connection* short_among(flow& f, connection& newest, const datagram& d) noexcept;
  // On the connection's own 5-tuple, or after one of its ends has moved.
  [[nodiscard]] static bool is_from_client(const connection& c, const datagram& d) noexcept;

  // quic_tracker.cpp: what it tells.
  [[nodiscard]] tracked on_long(flow& f, const datagram& d) noexcept;
  [[nodiscard]] tracked on_gquic(flow& f, const datagram& d) noexcept;
  [[nodiscard]] tracked on_strange_short(flow& f, const datagram& d) noexcept;
  void on_short(connection& c, const datagram& d) noexcept;
  void decrypt_short(connection& c, const datagram& d) noexcept;
  void on_packet(connection& c, bool& from_client, base::byte_view packet, const quic::wire::packet_header& h,
                 const datagram& d) noexcept;
  void on_initial(connection& c, bool& from_client, base::byte_view packet, const quic::wire::packet_header& h,
                  const datagram& d) noexcept;
  void on_retry(connection& c, base::byte_view packet, const quic::wire::packet_header& h) noexcept;
  void on_negotiation(connection& c, const quic::wire::packet_header& h) noexcept;
  void note_first(connection& c, const quic::wire::packet_header& h) noexcept;
  void note_ids(connection& c, bool from_client, const quic::wire::packet_header& h) noexcept;
  void note_version(connection& c, quic::wire::version_number version) noexcept;
  void note_path(connection& c, flow& f, bool from_client, const datagram& d) noexcept;
  void prove_role(connection& c, bool sender_is_client, bool& from_client) noexcept;
  void count(connection& c, bool from_client, const datagram& d) noexcept;
  void finish(connection& c) noexcept;
  [[nodiscard]] connection_at_hand at_hand(connection& c, bool from_client, std::uint64_t now) noexcept {
    return {c, pool_.ref_to(c), cids_, from_client, now};
  }

 public:
  quic_tracker() noexcept = default;
  quic_tracker(carver& memory, const limits& l, const surroundings& borrowed) noexcept;

  [[nodiscard]] tracked on_datagram(flow& f, const datagram& d) noexcept;
  // Reports and forgets up to `budget` connections that have been silent for too long.
  void expire(std::uint64_t now, std::uint32_t budget) noexcept;
  // Reports and forgets all, in the order they began.
  void finish_all();

  [[nodiscard]] const aged_pool<connection>& pool() const noexcept { return pool_; }
  [[nodiscard]] const cid_index& cids() const noexcept { return cids_; }
  [[nodiscard]] const hello_reader& hellos() const noexcept { return hellos_; }
  [[nodiscard]] decryptor& decryption() noexcept { return decryptor_; }
  [[nodiscard]] const decryptor& decryption() const noexcept { return decryptor_; }
};

}  // namespace millrace::inspect

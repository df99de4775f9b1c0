// h3/carrier.hpp - HTTP/3 on QUIC connections, as far as servers and clients do the same: the application object of an
// lcore.
//
// Shape    a link for each connection, a message for each request stream; calls of QUIC's are handed to them. Its clock
//          looks after messages that wait: for their turn, for memory, too long.
// Memory   pools of settings.connections links and settings.exchanges messages, and of blocks for heads, all made at
//          the start. What is sent and written comes from `blocks`.
// Threads  one lcore; counters may be read from anywhere. Tests  test/h3/
#pragma once

#include "h3/field_store.hpp"
#include "h3/link.hpp"
#include "mem/object_pool.hpp"
#include "quic/endpoint/endpoint.hpp"

namespace millrace::h3 {

inline constexpr std::string_view protocol = "h3";

class carrier : public quic::conn::application {
 public:
  struct parts {
    mem::object_pool<link> links;
    mem::slot_pool tables;
    field_memory fields;
    mem::region scratch;
  };

 protected:
  using connection = quic::conn::connection;
  using live_stream = quic::conn::live_stream;

  struct message_list {
    message* first = nullptr;
    message* last = nullptr;
    std::uint32_t size = 0;
  };

  settings settings_;
  buf::mbuf_source blocks_;
  parts parts_;
  counters count_;
  quic::endpoint::quic_endpoint* endpoint_ = nullptr;
  link* links_ = nullptr;
  message_list watched_;           // all that have a time limit, in the order of their last look
  connection* current_ = nullptr;  // whose call is running
  message* due_ = nullptr;         // to be looked at with the next turn
  message* starved_ = nullptr;     // in a while
  std::uint32_t due_size_ = 0, starved_size_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t next_sweep_ns_ = UINT64_MAX, next_feed_ns_ = UINT64_MAX, final_goaway_ns_ = UINT64_MAX;
  bool is_server_;
  bool is_draining_ = false;

  carrier(bool is_server, const settings& s, const buf::mbuf_source& blocks, parts of) noexcept;
  [[nodiscard]] static base::result<parts> make_parts(const settings& s);

  [[nodiscard]] link* link_of(connection& c) noexcept;
  // A stream of the peer's that carries a request; nullptr: refused, and the stream is.
  [[nodiscard]] virtual message* begin(link& l, live_stream& s) noexcept = 0;
  virtual void give(message& m) noexcept = 0;

 public:
  ~carrier() override;

  [[nodiscard]] const settings& limits() const noexcept { return settings_; }
  [[nodiscard]] const counters& events() const noexcept { return count_; }
  [[nodiscard]] const field_memory& fields() const noexcept { return parts_.fields; }
  [[nodiscard]] std::uint32_t open_links() const noexcept { return parts_.links.in_use(); }
  // No new requests: GOAWAY on every connection, and again with the final number after settings.drain_notice_ns;
  // connections close with H3_NO_ERROR when their last request is over (RFC 9114 5.2).
  void drain(std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool is_draining() const noexcept { return is_draining_; }

  // --- links and messages ---
  [[nodiscard]] counters& count() noexcept { return count_; }
  [[nodiscard]] field_memory& memory() noexcept { return parts_.fields; }
  [[nodiscard]] const buf::mbuf_source& blocks() const noexcept { return blocks_; }
  [[nodiscard]] base::byte_span scratch() noexcept { return parts_.scratch.array<std::uint8_t>(); }
  [[nodiscard]] std::uint64_t seed() noexcept;  // random
  [[nodiscard]] bool is_server() const noexcept { return is_server_; }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return now_ns_; }
  void watch(message& m) noexcept;
  void forget(message& m) noexcept;      // out of every list
  void look_soon(message& m) noexcept;   // with the next turn
  void look_later(message& m) noexcept;  // in a millisecond: there was no memory
  // Something was written outside of its connection's calls: it is polled soon. Nothing is told from inside of this.
  void touch(message& m) noexcept;
  // The same, at once; nothing where a call of the connection's is running.
  void touch(connection& c) noexcept {
    if (endpoint_ != nullptr && current_ == nullptr) endpoint_->touch(c);
  }

  // --- quic::conn::application ---
  void on_early(connection& c) noexcept override;
  void on_established(connection& c) noexcept override;
  void on_streams_available(connection& c) noexcept override;
  void on_stream_opened(connection& c, live_stream& s) noexcept override;
  void on_readable(connection& c, live_stream& s) noexcept override;
  void on_writable(connection& c, live_stream& s) noexcept override;
  void on_stopped(connection& c, live_stream& s) noexcept override;
  void on_stream_closed(connection& c, live_stream& s) noexcept override;
  void on_closed(connection& c, const quic::conn::connection_end& e) noexcept override;
  [[nodiscard]] std::uint64_t clock_ns() const noexcept override;
  void on_clock(std::uint64_t now_ns) noexcept override;

 private:
  struct running;
  void sweep(std::uint64_t now_ns) noexcept;
  void turn(message*& list, std::uint32_t most) noexcept;
  void feed(std::uint64_t now_ns) noexcept;
  void send_final_goaways() noexcept;
};

}  // namespace millrace::h3

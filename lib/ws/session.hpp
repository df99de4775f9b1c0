// ws/session.hpp - one WebSocket connection of a server, over whatever carries its bytes; and who gets its messages.
//
//            frames in               messages                          frames out
//   exchange ---------> receiver --> message_handler --> send() -----> exchange::write()
//                         |  ping, Close: answered here                   |
//                         '---- nothing is read while that said `paused` -'
//
//   open --> closing --> closed       closing: our Close is sent, and with it our last byte
//     '--------------------^          closed: the peer's came (and was answered), or the session failed
//
// Shape    an endpoint (ws/endpoint.hpp) opens sessions. Messages come whole, fragments joined; control frames between
//          them are handled here. Any http::exchange that carries bytes both ways will do: an extended CONNECT of
//          HTTP/3 (RFC 9220) today.
// Flow     a session that cannot send does not read: its peer then gets no credit. Small messages are sent by the
//          block, so that this is noticed a block later at most. pause() and resume() do the same
//          for a handler whose own reader is slow. The rest of a packet that was taken already waits in the session.
// Copies   unmasked where it lies, and handed on as a slice when a message lies in one packet. Of a message in several
//          packets, pieces below settings::gather_copied_bytes are copied into blocks, so that a half message does not
//          hold received packets. Sent: messages up to settings::copied_bytes share blocks; longer ones go as they are.
// Owner    the endpoint's pool, until the exchange ends. A handler may keep the pointer until its on_close() returns,
//          also when that is called from inside send() or close().
// Errors   what a peer breaks ends the session with 1002, 1007 or 1009 (ws/wire/receiver.hpp); 1013 when too much waits
//          to become whole; no block for what has to be sent: the exchange is aborted. Each has a counter.
// Not here extensions (no permessage-deflate: none is answered) and subprotocols; time: who wants pings sends them.
// Threads  one lcore. Source  RFC 6455 5 6 7, RFC 8441 5, RFC 9220 3. Tests  test/ws/session_test.cpp
#pragma once

#include "buf/pipe.hpp"
#include "http/exchange.hpp"
#include "ws/wire/receiver.hpp"

namespace millrace::ws {

class endpoint;
class session;

enum class message_kind : std::uint8_t { text, binary };

// How a session ended. RFC 6455 7.1.5: 1005, the peer's Close had no code; 1006, there was none.
struct closing {
  std::uint16_t code = 1006;
  std::string_view reason;  // the peer's, UTF-8; dies with the call
  bool is_clean = false;    // both sides said Close
};

class message_handler {
 public:
  message_handler() noexcept = default;
  message_handler(const message_handler&) = delete;
  message_handler& operator=(const message_handler&) = delete;
  virtual ~message_handler() = default;

  // Asked before a session is made: anything but `ok` is the answer that refuses it (RFC 6455 10.2: look at Origin).
  [[nodiscard]] virtual http::wire::status_code on_opening(const http::request_head&) noexcept {
    return http::wire::status_code::ok;
  }
  virtual void on_open(session&) noexcept {}
  // All of a message; text is valid UTF-8. The chain is the handler's.
  virtual void on_message(session&, message_kind, buf::chain&& whole) noexcept = 0;
  virtual void on_pong(session&, base::byte_view) noexcept {}
  // A send() that said `paused` may go on.
  virtual void on_writable(session&) noexcept {}
  // Once for each on_open(), the last call; nothing can be sent any more.
  virtual void on_close(session&, const closing&) noexcept {}
};

class session {
  enum class state : std::uint8_t { open, closing, closed };

  endpoint& of_;
  http::exchange* x_;  // nullptr: it has ended
  wire::receiver in_;
  buf::slice held_;         // taken off the exchange ...
  std::size_t at_ = 0;      // ... and read so far
  buf::pipe gathered_;      // of a message that is not whole
  std::uint64_t kept_ = 0;  // bytes in it
  buf::packet out_;         // frames that are to be sent together
  state state_ = state::open;
  bool is_paused_ = false;  // by the exchange
  bool is_held_ = false;    // by the handler
  bool is_inside_ = false;  // a call is running: frames are collected until it ends
  bool is_input_over_ = false;
  bool was_told_ = true;  // the handler, of the end; nothing is to be told before on_open()

 public:
  void* user = nullptr;  // the handler's

  session(endpoint& of, http::exchange& x) noexcept;
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session();

  [[nodiscard]] bool is_open() const noexcept { return state_ == state::open && x_ != nullptr; }
  // Until on_close() returns: the opening request, the time of the call that is running, blocks for what is sent.
  [[nodiscard]] const http::request_head& request() const noexcept { return x_->request(); }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return x_->now_ns(); }
  [[nodiscard]] const buf::mbuf_source& blocks() const noexcept { return x_->blocks(); }

  // One unfragmented message. Takes all of it, whatever it answers; `paused`: hold back until on_writable(); `closed`:
  // the session is not open, nothing was sent. That text is UTF-8 is the caller's promise.
  buf::flow send(message_kind kind, buf::chain&& payload) noexcept;
  // The same, copied.
  buf::flow send(message_kind kind, base::byte_view payload) noexcept;
  buf::flow ping(base::byte_view payload = {}) noexcept;  // at most 125 bytes; longer: cut there
  // Says Close and sends nothing more; on_close() comes with the peer's. A code that is not for the wire, or a reason
  // that is too long or not UTF-8, is left away.
  void close(std::uint16_t code = 1000, std::string_view reason = {}) noexcept;
  // No more messages until resume(); the peer's window fills.
  void pause() noexcept { is_held_ = true; }
  void resume() noexcept;

 private:
  friend class endpoint;
  // Lasts as long as a call from outside: at its end what was collected is sent, and a session that is over goes home.
  class turn {
    session& of_;
    bool is_outer_;

   public:
    explicit turn(session& of) noexcept : of_(of), is_outer_(!std::exchange(of.is_inside_, true)) {}
    ~turn();
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    [[nodiscard]] bool is_outer() const noexcept { return is_outer_; }
  };

  // --- what the exchange says ---
  void begin() noexcept;  // answers, and tells the handler
  void on_body() noexcept;
  void on_body_end() noexcept;
  void on_writable() noexcept;
  void on_end() noexcept;

  void pump() noexcept;
  void end_input() noexcept;
  void step() noexcept;
  void drop_input() noexcept;
  void on_data(const wire::event& e) noexcept;
  [[nodiscard]] bool gather(base::byte_view piece) noexcept;
  void forget_gathered() noexcept;
  void deliver(wire::opcode op, buf::chain&& whole) noexcept;
  void on_peer_close(const wire::close_body& said) noexcept;
  void fail(wire::close_code code) noexcept;
  void tell(const closing& how) noexcept;
  [[nodiscard]] base::byte_span room_for(std::size_t bytes) noexcept;
  bool send_control(wire::opcode op, base::byte_view payload) noexcept;
  bool send_close(std::uint16_t code, base::byte_view reason) noexcept;
  void write(buf::chain&& part) noexcept;
  void flush() noexcept;
  void give_up() noexcept;
  [[nodiscard]] buf::flow flow_now() const noexcept;
};

}  // namespace millrace::ws

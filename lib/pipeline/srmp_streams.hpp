// pipeline/srmp_streams.hpp - SRMP over QUIC (ALPN srmp): each bidirectional stream of a client is one SRMP connection,
// and carries the frames that a TCP connection would.
//
// Shape    auto app = srmp_streams<rpc::service>::make(*service, settings, blocks); app->serve_on(endpoint). A request
//          is answered in the call that brings it, through a responder, as over UDP: the handler is the same. Replies
//          are written where they are sent from, and kept there until the client has acknowledged them.
// Flow     a client that does not take its replies is not read any more: requests wait in its own buffers, nothing is
//          dropped. At most one request of a stream is being answered at a time, so the 256 that a sequence can tell
//          apart are the client's to keep to. A method that answers with a stream of items runs to its end: what it
//          writes beyond the mark is bounded by the service's max_items.
// Large    a payload of more than 65534 bytes is no run of bytes: an echo passes it through as it comes, a call gets
//          an error, other messages are dropped; all without holding it.
// Ends     a FIN between two frames is answered with FIN once all replies are sent; see srmp_session.hpp for others.
// Limits   srmp_stream_settings. Memory is taken in make(); blocks for replies come from `blocks`, and when it has
//          none, streams wait; one whose reply does not find the blocks it needs is reset (no_memory), never cut.
// Owner    handler, pool of blocks and endpoint are the caller's; the endpoint dies first.
// Threads  one lcore. Source  the SRMP sheet, 2 and 5. Tests  test/pipeline/srmp_streams_test.cpp
#pragma once

#include "pipeline/srmp_session.hpp"

namespace millrace::pipeline {

template <class Handler>
class srmp_streams final : public srmp_sessions {
  Handler& handler_;

  srmp_streams(Handler& handler, const srmp_stream_settings& settings, const buf::mbuf_source& blocks,
               parts of) noexcept
      : srmp_sessions(settings, blocks, std::move(of.pool), std::move(of.store), std::move(of.spill)),
        handler_(handler) {}

 public:
  [[nodiscard]] static base::result<std::unique_ptr<srmp_streams>> make(Handler& handler,
                                                                        const srmp_stream_settings& settings,
                                                                        const buf::mbuf_source& blocks) {
    auto made = make_parts(settings);
    if (!made) return made.error();
    return std::unique_ptr<srmp_streams>(new srmp_streams(handler, settings, blocks, std::move(made.value())));
  }

 private:
  void serve(session& x) noexcept override {
    quic::conn::connection& c = *x.connection;
    quic::conn::live_stream& s = *x.stream;
    if constexpr (requires { handler_.begin(srmp::conversation{}); }) {
      handler_.begin(srmp::conversation{c.address().remote, c.address().local, 0});
    }
    if (x.in == session::listed::starved) put(x, session::listed::nowhere);
    srmp::stream_batch out(x.out.pipe(), blocks_.data_room(), spill());
    const bool had_frames = read(x, out);
    if (!x.is_serving) return;  // ended on the way
    x.intake.settle(c, s);
    after_serving(x, had_frames);
  }

  // Answers whether a frame was taken.
  bool read(session& x, srmp::stream_batch& out) noexcept {
    quic::conn::connection& c = *x.connection;
    quic::conn::live_stream& s = *x.stream;
    bool had_frames = false;
    while (x.out.is_open()) {
      if (x.body_left != 0) {
        if (!pass_body(x)) break;
        had_frames = true;
        continue;
      }
      // Not begun without a block for the answer.
      if (s.recv.readable() != 0 && x.out.pipe().get_span(1).empty()) {
        starve(x);
        break;
      }
      srmp::wire::frame f;
      const intake_found found = x.intake.next(c, s, f);
      if (found == intake_found::frame) [[likely]] {
        had_frames = true;
        answer(f, out);
        if (out.lost_memory()) [[unlikely]] {
          give_up(x);
          break;
        }
        continue;
      }
      if (found == intake_found::wait) break;
      if (found == intake_found::malformed) {
        count_.malformed.add(1);
        x.intake.settle(c, s);
        static_cast<void>(x.out.submit(c, s));
        end(x, srmp_code::malformed);
        break;
      }
      if (!begin_large(x, f.header, out)) break;
      if (out.lost_memory()) {
        give_up(x);
        break;
      }
    }
    return had_frames;
  }

  void answer(const srmp::wire::frame& f, srmp::stream_batch& out) noexcept {
    if (srmp::wire::expects_reply(f.header)) [[likely]] {
      served_.requests.add(1);
      srmp::responder<srmp::stream_batch> to(out, f.header, settings_.peers, served_);
      handler_.on_request(f, to);
      if (!to.answered()) served_.unanswered.add(1);
    } else if (srmp::wire::is_reply(f.header)) {
      served_.stray_replies.add(1);
    } else {
      served_.one_ways.add(1);
      handler_.on_one_way(f);
    }
  }

  // The payload follows, and is not held. False: more of its front is waited for.
  bool begin_large(session& x, const srmp::wire::frame_header& header, srmp::stream_batch& out) noexcept {
    quic::conn::connection& c = *x.connection;
    quic::conn::live_stream& s = *x.stream;
    x.fate = body_fate::drop;
    if (srmp::wire::expects_reply(header)) {
      if constexpr (requires { Handler::passes_large; }) {
        std::uint8_t reply[srmp::wire::long_header_size];
        const auto kind = static_cast<std::uint8_t>(srmp::wire::data_kind::packet);
        const std::size_t size = srmp::wire::emit_header(
            reply,
            srmp::wire::make_flags(srmp::wire::frame_kind::reply, settings_.peers.kind_of_reply ? kind : header.data()),
            header.seq, header.payload_size);
        if (x.out.pipe().write(base::byte_view(reply).first(size)) == buf::flow::exhausted) {
          starve(x);
          return false;
        }
        served_.replies.add(1);
        x.fate = body_fate::pass;
      } else {
        std::array<std::uint8_t, srmp::wire::long_header_size + Handler::large_front_bytes> front;
        const std::size_t wanted = header.header_size + Handler::large_front_bytes;
        if (s.recv.readable() < wanted && !s.recv.is_complete()) return false;
        const auto got = static_cast<std::size_t>(std::min<std::uint64_t>(s.recv.readable(), wanted));
        s.recv.copy_out(base::byte_span(front).first(got));
        srmp::responder<srmp::stream_batch> to(out, header, settings_.peers, served_);
        handler_.on_large_request(base::byte_view(front).first(got).subspan(header.header_size), to);
        if (!to.answered()) served_.unanswered.add(1);
      }
      served_.requests.add(1);
    } else {
      (srmp::wire::is_reply(header) ? served_.stray_replies : served_.one_ways).add(1);
    }
    (x.fate == body_fate::pass ? count_.large_passed : count_.large_dropped).add(1);
    x.body_left = header.payload_size;
    c.consume(s, header.header_size);
    return true;
  }

  void give_up(session& x) noexcept {
    count_.out_of_memory.add(1);
    x.intake.settle(*x.connection, *x.stream);
    static_cast<void>(x.out.submit(*x.connection, *x.stream));
    end(x, srmp_code::no_memory);
  }
};

}  // namespace millrace::pipeline

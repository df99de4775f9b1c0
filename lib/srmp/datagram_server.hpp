// srmp/datagram_server.hpp - the server's side of SRMP over UDP: frames of a datagram in, replies batched out.
//
// Shape    serve_datagram() walks the frames of one datagram and hands each request and each one-way message to a
//          handler; the handler answers through a responder, straight into the datagram of replies.
// Rules    every frame lies whole in its datagram; one that is cut or cannot be drops the rest of it, and never
//          continues in the next. Requests before it are answered. Replies go to whom the datagram came from, from the
//          address it was sent to: the caller keeps one batch for such a pair, over as many datagrams of a burst as it
//          likes. A one-way message is never answered. Replies that arrive at a server are counted and ignored.
// Owner    the datagram's bytes are the caller's; frames are views into them and die with them.
// Limits   a datagram of n bytes has at most n/4 frames: the work is bounded by bytes received. Nothing is kept between
//          datagrams: a peer that only asks costs no memory.
// Errors   the answer says how the datagram ended; counters say what was in it. Threads  one; counters may be read from
//          anywhere.
// Tests    test/srmp/datagram_server_test.cpp (vectors Q1, Q5-Q7), test/fuzz/srmp_server_fuzz.cpp
#pragma once

#include "srmp/compatibility.hpp"
#include "srmp/frame_batch.hpp"
#include "srmp/wire/datagram.hpp"
#include "srmp/wire/exchange.hpp"
#include "stats/drop_counters.hpp"

namespace millrace::srmp {

struct server_counters {
  stats::counter datagrams;  // all that were handed in
  stats::counter empty;      // of them: without a byte
  stats::counter truncated;  // of them: a frame, or its header, ran past the end
  stats::counter malformed;  // of them: a length that cannot be
  stats::counter requests;
  stats::counter one_ways;
  stats::counter stray_replies;  // a server asks nothing over UDP, so nothing is answered to it
  stats::counter replies;        // frames of success, also each item of a stream
  stats::counter error_replies;
  stats::counter unanswered;       // requests whose handler answered nothing
  stats::counter reply_too_large;  // fits no datagram
  stats::counter reply_no_buffer;  // no datagram was free
};

enum class datagram_end : std::uint8_t {
  whole,      // frames filled it exactly
  closed,     // no byte at all: the peer said goodbye (compatibility::empty_datagram_closes)
  ignored,    // no byte at all, and it means nothing
  truncated,  // drop reason srmp_truncated for the rest of it
  malformed,  // drop reason srmp_malformed for the rest of it
};

[[nodiscard]] constexpr stats::drop_reason drop_reason_of(datagram_end end) noexcept {
  return end == datagram_end::truncated   ? stats::drop_reason::srmp_truncated
         : end == datagram_end::malformed ? stats::drop_reason::srmp_malformed
                                          : stats::drop_reason::none;
}

// How one request is answered: once, several times (a stream of replies with its sequence), or not at all. Claim room,
// write the payload there, then call reply() or error().
template <class Batch>
class responder {
  Batch& out_;
  wire::frame_header request_;
  const compatibility& peer_;
  server_counters& count_;
  bool answered_ = false;

  [[nodiscard]] bool commit(bool is_error, wire::data_kind kind, std::size_t size) noexcept {
    const auto what = is_error ? wire::frame_kind::error_reply : wire::frame_kind::reply;
    const std::uint8_t flags =
        peer_.kind_of_reply ? wire::make_flags(what, kind) : wire::make_flags(what, request_.data());
    if (!out_.commit(flags, request_.seq, size)) {
      note_loss();
      return false;
    }
    (is_error ? count_.error_replies : count_.replies).add(1);
    answered_ = true;
    return true;
  }
  void note_loss() noexcept {
    (out_.lost() == lost_frame::no_buffer ? count_.reply_no_buffer : count_.reply_too_large).add(1);
    answered_ = true;  // counted: not "unanswered" as well
  }

 public:
  responder(Batch& out, const wire::frame_header& request, const compatibility& peer, server_counters& count) noexcept
      : out_(out), request_(request), peer_(peer), count_(count) {}

  [[nodiscard]] const wire::frame_header& request() const noexcept { return request_; }
  [[nodiscard]] bool answered() const noexcept { return answered_; }

  // As frame_batch::claim(). A refused claim is counted as a lost reply, unless another one is made instead.
  [[nodiscard]] base::byte_span claim(std::size_t size) noexcept { return out_.claim(size); }
  [[nodiscard]] base::byte_span claim_any() noexcept { return out_.claim_any(); }
  void give_up() noexcept { note_loss(); }  // after a refused claim

  // The first `size` bytes of the claim. `kind` is what they are, for peers that want to know.
  [[nodiscard]] bool reply(std::size_t size, wire::data_kind kind = wire::data_kind::packet) noexcept {
    return commit(false, kind, size);
  }
  [[nodiscard]] bool error(std::size_t size, wire::data_kind kind = wire::data_kind::packet) noexcept {
    return commit(true, kind, size);
  }
};

// Handler: void on_request(const wire::frame&, responder<Batch>&) noexcept, void on_one_way(const wire::frame&)
// noexcept.
template <class Batch, class Handler>
datagram_end serve_datagram(base::byte_view datagram, Handler& handler, Batch& out, const compatibility& peer,
                            server_counters& count) noexcept {
  count.datagrams.add(1);
  if (datagram.empty()) {
    count.empty.add(1);
    return peer.empty_datagram_closes ? datagram_end::closed : datagram_end::ignored;
  }
  wire::datagram_frames frames(datagram);
  std::uint64_t requests = 0;
  base::progress got;
  for (wire::frame f; (got = frames.next(f)) == base::progress::done;) {
    if (wire::expects_reply(f.header)) [[likely]] {
      ++requests;
      responder<Batch> answer(out, f.header, peer, count);
      handler.on_request(f, answer);
      if (!answer.answered()) count.unanswered.add(1);
    } else if (wire::is_reply(f.header)) {
      count.stray_replies.add(1);
    } else {
      count.one_ways.add(1);
      handler.on_one_way(f);
    }
  }
  count.requests.add(requests);
  if (got == base::progress::malformed) {
    count.malformed.add(1);
    return datagram_end::malformed;
  }
  if (frames.at_end()) return datagram_end::whole;
  count.truncated.add(1);
  return datagram_end::truncated;
}

// A handler that sends every request's payload back: the echo service of benchmarks.
struct echo_handler {
  // On a stream, a payload that is longer than any run of bytes is passed through as it comes.
  static constexpr bool passes_large = true;

  template <class Batch>
  void on_request(const wire::frame& f, responder<Batch>& answer) noexcept {
    const base::byte_span room = answer.claim(f.payload.size());
    if (room.size() < f.payload.size() || room.data() == nullptr) return answer.give_up();
    if (!f.payload.empty()) std::memcpy(room.data(), f.payload.data(), f.payload.size());
    (void)answer.reply(f.payload.size());
  }
  void on_one_way(const wire::frame&) noexcept {}
};

}  // namespace millrace::srmp

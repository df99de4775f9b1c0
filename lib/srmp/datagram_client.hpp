// srmp/datagram_client.hpp - the client's side of SRMP over UDP, of one peer: requests numbered, replies matched.
//
// Shape    request() lays a frame into a batch of datagrams and remembers its cookie; on_datagram() takes what a peer
//          sent and calls the listener for each reply, each push; expire() for each request that waited too long.
// Rules    a reply belongs to the newest waiting request of its sequence, if it comes from the very address that was
//          asked. Everything else is counted and dropped. A frame that is cut or cannot be drops the rest of its
//          datagram.
// Time     passed in; deadlines are absolute, in the same unit.
// Owner    cookies are the caller's. The object holds the pending table (7 KB): put it where tables lie.
// Limits   256 requests wait at a time; one more is refused, a value.
// Errors   request_errc. Threads  one; counters may be read from anywhere.
// Source   the SRMP sheet, 3 and 5. Tests  test/srmp/datagram_client_test.cpp
#pragma once

#include "base/ip_address.hpp"
#include "srmp/compatibility.hpp"
#include "srmp/frame_batch.hpp"
#include "srmp/pending_requests.hpp"
#include "srmp/wire/datagram.hpp"
#include "stats/drop_counters.hpp"

namespace millrace::srmp {

struct client_counters {
  stats::counter requests;
  stats::counter one_ways;
  stats::counter refused_full;   // 256 were waiting
  stats::counter not_sent;       // no datagram was free, or the frame fits none
  stats::counter replies;        // matched
  stats::counter error_replies;  // of them
  stats::counter unmatched;      // replies nobody waits for: late, or made up
  stats::counter timed_out;
  stats::counter pushes;
  stats::counter unexpected;  // requests, which a client does not answer
  stats::counter strangers;   // datagrams from another address
  stats::counter truncated;
  stats::counter malformed;
  stats::counter goodbyes;
};

enum class request_errc : std::uint8_t { ok, full, too_large, no_buffer };

struct [[nodiscard]] request_result {
  request_errc code = request_errc::ok;
  std::uint8_t seq = 0;  // of an accepted request
  explicit constexpr operator bool() const noexcept { return code == request_errc::ok; }
};

// What a caller says about a request.
struct request_terms {
  std::uint64_t cookie = 0;             // comes back with the reply
  std::uint64_t deadline = UINT64_MAX;  // when to give up
  std::uint8_t data_kind = static_cast<std::uint8_t>(wire::data_kind::packet);
  std::uint8_t seq = 0;  // not 0: the number to use, where compatibility::caller_numbers allows it
};

// Listener: bool on_reply(const pending_request&, const wire::frame&) noexcept, false keeps the request waiting for
// more frames of its sequence (a stream); void on_push(const wire::frame&) noexcept; void on_goodbye() noexcept.
class datagram_client {
  base::endpoint peer_;
  compatibility rules_;
  pending_requests pending_;
  wire::sequence_counter one_way_numbers_;
  client_counters count_;

  [[nodiscard]] std::optional<std::uint8_t> begin(const request_terms& terms) noexcept {
    std::optional<std::uint8_t> wanted;
    if (rules_.caller_numbers && terms.seq != 0) wanted = terms.seq;
    return pending_.begin(terms.cookie, terms.deadline, wanted);
  }

 public:
  datagram_client(const base::endpoint& peer, const compatibility& rules) noexcept : peer_(peer), rules_(rules) {}
  datagram_client(const datagram_client&) = delete;
  datagram_client& operator=(const datagram_client&) = delete;

  [[nodiscard]] const base::endpoint& peer() const noexcept { return peer_; }
  [[nodiscard]] const client_counters& counters() const noexcept { return count_; }
  [[nodiscard]] std::size_t in_flight() const noexcept { return pending_.size(); }
  [[nodiscard]] std::uint64_t next_deadline() const noexcept { return pending_.next_deadline(); }

  // write(room) lays the payload of at most `size` bytes and answers its size. A request that cannot be sent waits for
  // nothing.
  template <class Batch, class Write>
  request_result request(Batch& out, const request_terms& terms, std::size_t size, Write&& write) noexcept {
    const std::optional<std::uint8_t> seq = begin(terms);
    if (!seq) {
      count_.refused_full.add(1);
      return {request_errc::full, 0};
    }
    const base::byte_span room = out.claim(size);
    const std::uint8_t flags = wire::make_flags(wire::frame_kind::request, terms.data_kind);
    if (room.data() == nullptr || !out.commit(flags, *seq, write(room))) {
      pending_.cancel(*seq);
      count_.not_sent.add(1);
      return {out.lost() == lost_frame::no_buffer ? request_errc::no_buffer : request_errc::too_large, 0};
    }
    count_.requests.add(1);
    return {request_errc::ok, *seq};
  }

  // A message that nobody answers; it consumes a number of its own count.
  template <class Batch, class Write>
  request_result one_way(Batch& out, std::uint8_t data_kind, std::size_t size, Write&& write) noexcept {
    const base::byte_span room = out.claim(size);
    const std::uint8_t seq = one_way_numbers_.next();
    const std::uint8_t flags = wire::make_flags(wire::frame_kind::one_way, data_kind);
    if (room.data() == nullptr || !out.commit(flags, seq, write(room))) {
      count_.not_sent.add(1);
      return {out.lost() == lost_frame::no_buffer ? request_errc::no_buffer : request_errc::too_large, 0};
    }
    count_.one_ways.add(1);
    return {request_errc::ok, seq};
  }

  // One frame of the peer's; also for those that came by another way than a datagram: on a stream.
  template <class Listener>
  void on_frame(const wire::frame& f, Listener& listener) noexcept {
    if (!wire::is_reply(f.header)) {
      if (wire::expects_reply(f.header)) {
        count_.unexpected.add(1);
      } else {
        count_.pushes.add(1);
        listener.on_push(f);
      }
      return;
    }
    const std::optional<pending_request> asked = pending_.match(f.header.seq);
    if (!asked) {
      count_.unmatched.add(1);
      return;
    }
    count_.replies.add(1);
    if (f.header.kind() == wire::frame_kind::error_reply) count_.error_replies.add(1);
    if (!listener.on_reply(*asked, f)) (void)pending_.begin(asked->cookie, asked->deadline, asked->seq);
  }

  template <class Listener>
  void on_datagram(const base::endpoint& from, base::byte_view datagram, Listener& listener) noexcept {
    if (from != peer_) {
      count_.strangers.add(1);
      return;
    }
    if (datagram.empty()) {
      count_.goodbyes.add(1);
      if (rules_.empty_datagram_closes) listener.on_goodbye();
      return;
    }
    wire::datagram_frames frames(datagram);
    base::progress got;
    for (wire::frame f; (got = frames.next(f)) == base::progress::done;) on_frame(f, listener);
    if (got == base::progress::malformed)
      count_.malformed.add(1);
    else if (!frames.at_end())
      count_.truncated.add(1);
  }

  // on_timeout(pending_request) for each request whose deadline has passed.
  template <class OnTimeout>
  void expire(std::uint64_t now, OnTimeout&& on_timeout) noexcept {
    count_.timed_out.add(pending_.expire(now, on_timeout));
  }

  // on_gone(pending_request) for each that waits. Answers whether an empty datagram is to be sent as a goodbye.
  template <class OnGone>
  [[nodiscard]] bool close(OnGone&& on_gone) noexcept {
    pending_.abandon(on_gone);
    return rules_.goodbye;
  }
};

}  // namespace millrace::srmp

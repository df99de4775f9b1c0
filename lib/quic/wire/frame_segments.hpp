// quic/wire/frame_segments.hpp - the walk of frame_walker.hpp over a payload that lies in several buffers.
//
// Shape    what comes out does not depend on where the buffers end, but for one thing: the data of a STREAM, CRYPTO or
//          DATAGRAM frame that crosses an end comes in pieces, one on() each, as if the sender had cut it there. Pieces
//          of a stream carry their own offset, and the last one the FIN; of a DATAGRAM they say how much is still to
//          come. No piece is empty unless the frame is. All data of a frame is there before its first piece is shown.
//          A frame counts once, however many pieces it has.
// Owner    data views the payload, uncopied. Of any other frame that crosses an end (the ranges of an ACK, a token, an
//          ID, a reason) the bytes are put together on the stack: those views live until on() returns. So whoever
//          visits segments copies what it wants to keep of such frames, which it should anyway.
// Errors   as frame_walker.hpp, offsets counted over all segments; and too_long for a frame other than the three above
//          that crosses an end and needs more than 65535 bytes, which no datagram holds.
// Limits   each byte is looked at once, those of a frame across an end once more for each size tried: three.
// Source   RFC 9000 12.4. Tests  test/quic/wire/frame_segments_test.cpp, test/fuzz/quic_frame_fuzz.cpp
#pragma once

#include <array>

#include "base/segments.hpp"
#include "quic/wire/frame_walker.hpp"

namespace millrace::quic::wire {

namespace detail {

// Where the walk stands.
class segment_cursor {
  std::span<const base::byte_view> parts_;  // the first is the one it stands in; never an empty one in front
  std::size_t at_ = 0;                      // in that part
  std::size_t offset_ = 0;                  // from the beginning of the payload
  std::size_t size_ = 0;                    // of the payload

  void drop_done() noexcept {
    while (!parts_.empty() && at_ == parts_.front().size()) {
      parts_ = parts_.subspan(1);
      at_ = 0;
    }
  }

 public:
  explicit segment_cursor(const base::segments& payload) noexcept : parts_(payload.parts()), size_(payload.size()) {
    drop_done();
  }

  [[nodiscard]] std::size_t remaining() const noexcept { return size_ - offset_; }
  [[nodiscard]] std::uint32_t offset() const noexcept { return static_cast<std::uint32_t>(offset_); }
  // The rest of the part it stands in; empty only at the end.
  [[nodiscard]] base::byte_view here() const noexcept {
    return parts_.empty() ? base::byte_view{} : parts_.front().subspan(at_);
  }
  // `count` bytes are there: the caller has checked.
  void skip(std::size_t count) noexcept {
    offset_ += count;
    while (count != 0) {
      const std::size_t step = std::min(count, parts_.front().size() - at_);
      at_ += step;
      count -= step;
      drop_done();
    }
  }
  // Copies what comes next, as far as it goes, and stays where it is.
  [[nodiscard]] base::byte_view look_ahead(base::byte_span out) const noexcept {
    std::size_t done = 0;
    std::size_t from = at_;
    for (const base::byte_view part : parts_) {
      const std::size_t take = std::min(part.size() - from, out.size() - done);
      if (take != 0) std::memcpy(out.data() + done, part.data() + from, take);
      done += take;
      from = 0;
    }
    return out.first(done);
  }
};

// What came of trying to read a frame from a window on the payload.
enum class attempt : std::uint8_t { shown, stopped, fault, window_too_small };

template <class Visitor>
class segment_walk {
  segment_cursor at_;
  const frame_rules& rules_;
  Visitor& visitor_;
  walk_result result_;

  // Cuts `size` bytes of data, which are there, where the segments end; show(piece, bytes behind it) for each.
  template <class Show>
  attempt in_pieces(std::size_t size, Show show) noexcept {
    bool go_on = true;
    do {
      const base::byte_view here = at_.here();
      const base::byte_view piece = here.first(std::min(size, here.size()));
      at_.skip(piece.size());
      size -= piece.size();
      go_on = show(piece, size);
    } while (go_on && size != 0);
    at_.skip(size);
    return go_on ? attempt::shown : attempt::stopped;
  }

  attempt refuse(frame_fault fault, base::parse_errc code, std::uint32_t at) noexcept {
    end_walk(result_, fault, code, at_.offset() + at);
    return attempt::fault;
  }

  // Cut off at the end of the window, or of the payload?
  attempt refuse(base::parse_status status, std::size_t beyond) noexcept {
    if (status.code == base::parse_errc::truncated && beyond != 0) return attempt::window_too_small;
    return refuse(frame_fault::malformed, status.code, status.at);
  }

  attempt padding() noexcept {
    padding_frame f;
    while (at_.remaining() != 0 && at_.here().front() == 0) {
      padding_frame run;
      base::byte_reader in(at_.here().subspan(1));
      parse(in, run);
      at_.skip(run.count);
      f.count += run.count;
    }
    return visitor_.on(f) ? attempt::shown : attempt::stopped;
  }

  attempt stream(base::byte_reader& in, std::size_t beyond) noexcept {
    stream_header h;
    const base::parse_status status = parse(in, result_.type, beyond, h);
    if (!status) return refuse(status, beyond);
    at_.skip(in.offset());
    std::uint64_t offset = h.offset;
    return in_pieces(static_cast<std::size_t>(h.size), [&](base::byte_view piece, std::size_t left) {
      const stream_frame f{h.stream_id, offset, piece, h.fin && left == 0, h.has_length, h.has_offset};
      offset += piece.size();
      return visitor_.on(f);
    });
  }

  attempt crypto(base::byte_reader& in, std::size_t beyond) noexcept {
    crypto_header h;
    const base::parse_status status = parse(in, beyond, h);
    if (!status) return refuse(status, beyond);
    at_.skip(in.offset());
    std::uint64_t offset = h.offset;
    return in_pieces(static_cast<std::size_t>(h.size), [&](base::byte_view piece, std::size_t) {
      const crypto_frame f{offset, piece};
      offset += piece.size();
      return visitor_.on(f);
    });
  }

  attempt datagram(base::byte_reader& in, std::size_t beyond) noexcept {
    if (is_too_large(in, result_.type, beyond, rules_))
      return refuse(frame_fault::not_allowed, base::parse_errc::too_long, 0);
    datagram_header h;
    const base::parse_status status = parse(in, result_.type, beyond, h);
    if (!status) return refuse(status, beyond);
    at_.skip(in.offset());
    return in_pieces(static_cast<std::size_t>(h.size), [&](base::byte_view piece, std::size_t left) {
      return visitor_.on(datagram_frame{piece, h.has_length, left});
    });
  }

  // `window`: what comes next, `beyond` more bytes follow it in the payload.
  attempt try_frame(base::byte_view window, std::size_t beyond) noexcept {
    base::byte_reader in(window);
    base::parse_errc code = base::parse_errc::ok;
    const frame_fault fault = read_frame_type(in, rules_, result_.type, code);
    if (fault == frame_fault::malformed && beyond != 0) return attempt::window_too_small;
    if (fault != frame_fault::none) return refuse(fault, code, 0);
    if (result_.type == frame_padding) return padding();
    if (is_stream_frame(result_.type)) return stream(in, beyond);
    if (result_.type == frame_crypto) return crypto(in, beyond);
    if (is_datagram(result_.type)) return datagram(in, beyond);
    base::parse_status status;
    const bool go_on = visit_frame(in, result_.type, visitor_, status);
    if (!status) return refuse(status, beyond);
    at_.skip(in.offset());
    return go_on ? attempt::shown : attempt::stopped;
  }

  template <std::size_t Size>
  [[gnu::noinline]] attempt try_gathered() noexcept {
    std::array<std::uint8_t, Size> room;  // not cleared: what is read was copied in
    const base::byte_view window = at_.look_ahead(room);
    return try_frame(window, at_.remaining() - window.size());
  }

  attempt next_frame() noexcept {
    const base::byte_view here = at_.here();
    attempt outcome = try_frame(here, at_.remaining() - here.size());
    if (outcome == attempt::window_too_small) outcome = try_gathered<64>();  // all but ACKs, tokens and reasons
    if (outcome == attempt::window_too_small) outcome = try_gathered<65535>();
    if (outcome == attempt::window_too_small) outcome = refuse(frame_fault::malformed, base::parse_errc::too_long, 0);
    return outcome;
  }

 public:
  segment_walk(const base::segments& payload, const frame_rules& rules, Visitor& visitor) noexcept
      : at_(payload), rules_(rules), visitor_(visitor) {}

  walk_result run() noexcept {
    if (!has_frames(rules_.packet)) {
      end_walk(result_, frame_fault::not_allowed, base::parse_errc::unsupported, 0);
    } else if (at_.remaining() == 0) {
      end_walk(result_, frame_fault::no_frames, base::parse_errc::truncated, 0);
    }
    while (result_.fault == frame_fault::none && at_.remaining() != 0) {
      const attempt outcome = next_frame();
      if (outcome == attempt::fault) break;
      count_frame(result_);
      if (outcome == attempt::stopped) end_walk(result_, frame_fault::stopped, base::parse_errc::ok, at_.offset());
    }
    return result_;
  }
};

}  // namespace detail

template <class Visitor>
walk_result walk_frames(const base::segments& payload, const frame_rules& rules, Visitor&& visitor) noexcept {
  if (payload.parts().size() == 1) return walk_frames(payload.parts().front(), rules, visitor);
  return detail::segment_walk<std::remove_reference_t<Visitor>>(payload, rules, visitor).run();
}

}  // namespace millrace::quic::wire

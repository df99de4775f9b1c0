// h3/wire/frame.hpp - frames: type, length, and where each type may stand.
//
//   frame   | type (varint) | length (varint) | length bytes ...
//
// Shape    pair_reader takes two varints off whatever bytes there are, in as many pieces as they come; a frame's header
//          is such a pair, and so is a setting. What follows a header is its reader's to take or to skip: nothing is
//          kept for a frame, however long it says to be. judge() is the table of which type may stand where.
// Errors   every pair of varints is well-formed, so next() never answers malformed; a stream that ends while
//          is_inside(), or inside a frame, is H3_FRAME_ERROR (RFC 9114 7.1).
// Source   RFC 9114 4.1 4.4 6.2 7, RFC 9218 7.2. Tests  test/h3/wire/frame_test.cpp, fuzz/h3_frame_fuzz.cpp
#pragma once

#include <array>
#include <cstring>

#include "base/parse_status.hpp"
#include "base/varint.hpp"
#include "h3/wire/error_code.hpp"

namespace millrace::h3::wire {

enum class frame_type : std::uint64_t {
  data = 0x00,
  headers = 0x01,
  cancel_push = 0x03,
  settings = 0x04,
  push_promise = 0x05,
  goaway = 0x07,
  max_push_id = 0x0d,
  priority_update_request = 0xf0700,  // RFC 9218 7.2
  priority_update_push = 0xf0701,
};

// RFC 9114 7.2.8: 0x1f * N + 0x21 means nothing, and is sent to see that it is skipped. The same numbers are reserved
// among stream types (6.2.3) and settings (7.2.4.1).
[[nodiscard]] constexpr bool is_reserved(std::uint64_t n) noexcept { return n >= 0x21 && (n - 0x21) % 0x1f == 0; }

struct frame_header {
  std::uint64_t type = 0;
  std::uint64_t length = 0;
  friend bool operator==(const frame_header&, const frame_header&) = default;
};

inline constexpr std::size_t max_frame_header_size = 2 * base::max_varint_size;

[[nodiscard]] constexpr std::size_t encoded_size(const frame_header& h) noexcept {
  return base::varint_size(h.type) + base::varint_size(h.length);
}
// Writes encoded_size(h) bytes; answers that.
inline std::size_t emit(std::uint8_t* at, const frame_header& h) noexcept {
  const std::size_t type = base::encode_varint(at, h.type);
  return type + base::encode_varint(at + type, h.length);
}
[[nodiscard]] constexpr frame_header header_of(frame_type type, std::uint64_t length) noexcept {
  return {static_cast<std::uint64_t>(type), length};
}

// One varint, in pieces.
class varint_reader {
  std::array<std::uint8_t, base::max_varint_size> held_{};
  std::uint8_t size_ = 0;

 public:
  // `in` loses what was taken: on need_more all of it.
  [[nodiscard]] base::progress next(base::byte_view& in, std::uint64_t& out) noexcept {
    if (size_ == 0) [[likely]] {
      if (const std::size_t used = base::decode_varint(in, out); used != 0) [[likely]] {
        in = in.subspan(used);
        return base::progress::done;
      }
      if (in.empty()) return base::progress::need_more;
    }
    const std::size_t whole = std::size_t{1} << ((size_ != 0 ? held_[0] : in[0]) >> 6);
    const std::size_t more = whole - size_ < in.size() ? whole - size_ : in.size();
    if (more != 0) std::memcpy(held_.data() + size_, in.data(), more);
    in = in.subspan(more);
    size_ = static_cast<std::uint8_t>(size_ + more);
    if (size_ < whole) return base::progress::need_more;
    static_cast<void>(base::decode_varint(base::byte_view(held_).first(whole), out));
    size_ = 0;
    return base::progress::done;
  }
  [[nodiscard]] bool is_inside() const noexcept { return size_ != 0; }
};

// Two varints: a frame's type and length, a setting's identifier and value.
class pair_reader {
  varint_reader one_;
  std::uint64_t first_ = 0;
  bool has_first_ = false;

 public:
  [[nodiscard]] base::progress next(base::byte_view& in, std::uint64_t& first, std::uint64_t& second) noexcept {
    if (!has_first_) {
      if (one_.next(in, first_) != base::progress::done) return base::progress::need_more;
      has_first_ = true;
    }
    if (one_.next(in, second) != base::progress::done) return base::progress::need_more;
    first = first_;
    has_first_ = false;
    return base::progress::done;
  }
  [[nodiscard]] base::progress next(base::byte_view& in, frame_header& out) noexcept {
    return next(in, out.type, out.length);
  }
  [[nodiscard]] bool is_inside() const noexcept { return has_first_ || one_.is_inside(); }
};

// Where in which stream a frame stands.
enum class frame_place : std::uint8_t {
  control_first,  // the first frame of a control stream
  control,
  head,      // a request stream before its (final) head
  body,      // behind it
  trailers,  // behind the trailers
  tunnel,    // behind a CONNECT and its answer (RFC 9114 4.4)
};
inline constexpr std::size_t frame_place_count = 6;

enum class verdict : std::uint8_t {
  take,
  skip,              // RFC 9114 9: its type means nothing to us
  frame_unexpected,  // the connection's end
  missing_settings,
  id_error,  // a push that was never allowed
};
[[nodiscard]] constexpr error error_of(verdict v) noexcept {
  switch (v) {
    case verdict::take:
    case verdict::skip:
      return error::no_error;
    case verdict::frame_unexpected:
      return error::frame_unexpected;
    case verdict::missing_settings:
      return error::missing_settings;
    case verdict::id_error:
      return error::id_error;
  }
  return error::internal_error;
}

// RFC 9114 7, Table 1; and which of the types of HTTP/2 must not come at all (7.2.8).
[[nodiscard]] constexpr verdict judge(frame_place place, bool receiver_is_server, std::uint64_t type) noexcept {
  const bool on_control = place == frame_place::control_first || place == frame_place::control;
  // RFC 9114 6.2.1: whatever else comes first.
  if (place == frame_place::control_first)
    return type == static_cast<std::uint64_t>(frame_type::settings) ? verdict::take : verdict::missing_settings;
  switch (type) {
    case static_cast<std::uint64_t>(frame_type::data):
      return place == frame_place::body || place == frame_place::tunnel ? verdict::take : verdict::frame_unexpected;
    case static_cast<std::uint64_t>(frame_type::headers):
      return place == frame_place::head || place == frame_place::body ? verdict::take : verdict::frame_unexpected;
    case static_cast<std::uint64_t>(frame_type::push_promise):  // RFC 9114 7.2.5: beyond a MAX_PUSH_ID we never send
      return on_control || receiver_is_server || place == frame_place::tunnel ? verdict::frame_unexpected
                                                                              : verdict::id_error;
    case static_cast<std::uint64_t>(frame_type::cancel_push):
    case static_cast<std::uint64_t>(frame_type::goaway):
      return on_control ? verdict::take : verdict::frame_unexpected;
    case static_cast<std::uint64_t>(frame_type::max_push_id):
    case static_cast<std::uint64_t>(frame_type::priority_update_request):
    case static_cast<std::uint64_t>(frame_type::priority_update_push):
      return on_control && receiver_is_server ? verdict::take : verdict::frame_unexpected;
    case static_cast<std::uint64_t>(frame_type::settings):  // RFC 9114 7.2.4: once
    case 0x02:                                              // PRIORITY, PING, WINDOW_UPDATE, CONTINUATION of HTTP/2
    case 0x06:
    case 0x08:
    case 0x09:
      return verdict::frame_unexpected;
    default:
      return verdict::skip;
  }
}

// RFC 9114 6.2, RFC 9204 4.2: what a unidirectional stream begins with.
enum class stream_type : std::uint64_t { control = 0x00, push = 0x01, qpack_encoder = 0x02, qpack_decoder = 0x03 };

}  // namespace millrace::h3::wire

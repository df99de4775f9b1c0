// inspect/h3_scanner.hpp - the frames of one direction of an HTTP/3 stream, recognised by their headers.
//
// Shape    begin() says whether the stream is unidirectional, feed() takes its bytes in order, in pieces of any size.
//          Sink: on_stream_type(type) once a unidirectional stream's type is known; on_frame(type, length) for each
//          frame, once its header is. What frames hold is skipped; streams of QPACK, of WebTransport and of types
//          nobody told us hold no frames, or none we can see, and are skipped whole.
// Units    lengths are bytes as the frame's header says them.
// Owner    a plain value of zero bytes is a fresh scanner of a bidirectional stream. Errors  none: a stream cannot be
//          malformed here, only cut.
// Source   RFC 9114 6.2 7.1, RFC 9204 4.2. Tests  test/inspect/h3_scanner_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "base/bytes.hpp"
#include "base/varint.hpp"

namespace millrace::inspect {

inline constexpr std::uint64_t h3_stream_control = 0x00;  // RFC 9114 6.2
inline constexpr std::uint64_t h3_stream_push = 0x01;
inline constexpr std::uint64_t h3_stream_qpack_encoder = 0x02;  // RFC 9204 4.2
inline constexpr std::uint64_t h3_stream_qpack_decoder = 0x03;

inline constexpr std::uint64_t h3_frame_data = 0x00;  // RFC 9114 7.2
inline constexpr std::uint64_t h3_frame_headers = 0x01;
inline constexpr std::uint64_t h3_frame_cancel_push = 0x03;
inline constexpr std::uint64_t h3_frame_settings = 0x04;
inline constexpr std::uint64_t h3_frame_push_promise = 0x05;
inline constexpr std::uint64_t h3_frame_goaway = 0x07;
inline constexpr std::uint64_t h3_frame_max_push_id = 0x0d;
inline constexpr std::uint64_t h3_frame_webtransport = 0x41;                // draft-ietf-webtrans-http3: no length
inline constexpr std::uint64_t h3_frame_priority_update_request = 0xF0700;  // RFC 9218 7.2
inline constexpr std::uint64_t h3_frame_priority_update_push = 0xF0701;

// RFC 9114 6.2.3, 7.2.8: 31 * N + 33, sent to keep peers tolerant.
[[nodiscard]] constexpr bool is_h3_reserved(std::uint64_t type) noexcept { return type >= 33 && (type - 33) % 31 == 0; }

class h3_scanner {
  enum class state : std::uint8_t { frame_type, frame_length, payload, stream_type, push_id, opaque };
  std::uint64_t type_ = 0;  // of the frame at hand
  std::uint64_t left_ = 0;  // of its payload
  std::array<std::uint8_t, 8> begun_{};
  std::uint8_t begun_size_ = 0;
  state state_ = state::frame_type;

  // The number that begins in begun_ and goes on in `data`; false when more bytes are needed.
  [[nodiscard]] bool take_number(base::byte_view& data, std::uint64_t& out) noexcept {
    while (!data.empty()) {
      begun_[begun_size_++] = data[0];
      data = data.subspan(1);
      const std::size_t size = std::size_t{1} << (begun_[0] >> 6);  // RFC 9000 16
      if (begun_size_ < size) continue;
      (void)base::decode_varint(base::byte_view(begun_).first(begun_size_), out);
      begun_size_ = 0;
      return true;
    }
    return false;
  }

 public:
  void begin(bool unidirectional) noexcept { state_ = unidirectional ? state::stream_type : state::frame_type; }

  // Inside a frame, or a number: a stream that ends here was cut.
  [[nodiscard]] bool is_inside() const noexcept {
    return begun_size_ != 0 || state_ == state::frame_length || (state_ == state::payload && left_ != 0);
  }

  template <class Sink>
  void feed(base::byte_view data, Sink& sink) noexcept {
    while (!data.empty()) {
      std::uint64_t number = 0;
      switch (state_) {
        case state::stream_type:
          if (!take_number(data, number)) return;
          sink.on_stream_type(number);
          state_ = number == h3_stream_control ? state::frame_type
                   : number == h3_stream_push  ? state::push_id
                                               : state::opaque;
          break;
        case state::push_id:
          if (!take_number(data, number)) return;
          state_ = state::frame_type;
          break;
        case state::frame_type:
          if (!take_number(data, type_)) return;
          state_ = state::frame_length;
          if (type_ != h3_frame_webtransport) break;
          sink.on_frame(type_, 0);
          state_ = state::opaque;
          break;
        case state::frame_length:
          if (!take_number(data, left_)) return;
          sink.on_frame(type_, left_);
          state_ = state::payload;
          if (left_ == 0) state_ = state::frame_type;
          break;
        case state::payload: {
          const std::size_t skip = static_cast<std::size_t>(std::min<std::uint64_t>(left_, data.size()));
          left_ -= skip;
          data = data.subspan(skip);
          if (left_ == 0) state_ = state::frame_type;
          break;
        }
        case state::opaque:
          return;
      }
    }
  }
};

}  // namespace millrace::inspect

// test/peers/websocket.hpp - WebSocket frames of a client, written from RFC 6455 and sharing nothing with millrace.
//
// Shape    a conversation says what it has to say, and judges what comes back: every message as it was sent, every ping
//          answered, a Close for a Close. frame() makes one frame, masked.
// Errors   std::runtime_error at what a server must not send.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <stdexcept>
#include <string>

#include "tls.hpp"

namespace millrace::peers {

inline bytes frame(std::uint8_t first, byte_view payload, bool is_masked = true) {
  bytes out = {first};
  const std::uint8_t mask_bit = is_masked ? 0x80 : 0;
  const auto length = [&](std::size_t size) {
    for (std::size_t i = size; i-- > 0;) out.push_back(static_cast<std::uint8_t>(payload.size() >> (8 * i)));
  };
  if (payload.size() < 126) {
    out.push_back(static_cast<std::uint8_t>(mask_bit | payload.size()));
  } else if (payload.size() < 65'536) {
    out.push_back(mask_bit | 126);
    length(2);
  } else {
    out.push_back(mask_bit | 127);
    length(8);
  }
  const bytes key = is_masked ? random_bytes(4) : bytes(4);
  if (is_masked) out.insert(out.end(), key.begin(), key.end());
  for (std::size_t i = 0; i < payload.size(); ++i) out.push_back(payload[i] ^ key[i % 4]);
  return out;
}

class conversation {
  static constexpr std::array<std::size_t, 9> sizes = {0, 1, 125, 126, 1000, 65'535, 65'536, 300'000, 1'000'000};
  std::deque<bytes> expected_;  // messages, first byte their opcode
  std::deque<bytes> pings_;
  bytes in_, message_;

 public:
  std::uint64_t messages = 0, pongs = 0;
  int close_code = 0;  // what the server said; 1005: without a code
  bool was_closed = false;

  // All that is to be sent, as one run of bytes: messages whole and in fragments, pings between, a Close.
  [[nodiscard]] bytes say() {
    bytes out;
    const auto add = [&](const bytes& more) { out.insert(out.end(), more.begin(), more.end()); };
    for (const std::size_t size : sizes) {
      for (const std::size_t fragments : {1, 3}) {
        const bool is_text = size < 1000;
        bytes body = is_text ? bytes(size, 'x') : random_bytes(size);
        const std::uint8_t kind = is_text ? 1 : 2;
        for (std::size_t i = 0; i < fragments; ++i) {
          const std::size_t from = size * i / fragments;
          const std::size_t to = size * (i + 1) / fragments;
          const auto first = static_cast<std::uint8_t>((i == 0 ? kind : 0) | (i + 1 == fragments ? 0x80 : 0));
          add(frame(first, byte_view(body).subspan(from, to - from)));
          if (i + 1 == fragments) break;
          pings_.push_back(random_bytes(i * 60));
          add(frame(0x89, pings_.back()));
        }
        body.insert(body.begin(), kind);
        expected_.push_back(std::move(body));
      }
    }
    const std::array<std::uint8_t, 2> normal = {0x03, 0xE8};
    add(frame(0x88, normal));
    return out;
  }

  void hear(byte_view data) {
    in_.insert(in_.end(), data.begin(), data.end());
    std::size_t at = 0;
    while (in_.size() - at >= 2) {
      const byte_view left = byte_view(in_).subspan(at);
      if ((left[1] & 0x80) != 0) throw std::runtime_error("a server's frame is masked");
      if ((left[0] & 0x70) != 0) throw std::runtime_error("an extension that nobody asked for");
      std::uint64_t size = left[1];
      const std::size_t front = size < 126 ? 2 : size == 126 ? 4 : 10;
      if (left.size() < front) break;
      if (front > 2) {
        size = 0;
        for (std::size_t i = 2; i < front; ++i) size = size << 8 | left[i];
      }
      if (left.size() - front < size) break;
      on_frame(left[0], left.subspan(front, static_cast<std::size_t>(size)));
      at += front + static_cast<std::size_t>(size);
    }
    in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  // All came back, and both said Close.
  [[nodiscard]] bool is_complete() const { return was_closed && expected_.empty() && pings_.empty() && in_.empty(); }

 private:
  void on_frame(std::uint8_t first, byte_view payload) {
    if (was_closed) throw std::runtime_error("a frame behind a Close");
    const std::uint8_t kind = first & 15;
    if (kind == 8) {
      was_closed = true;
      close_code = payload.size() < 2 ? 1005 : payload[0] << 8 | payload[1];
    } else if (kind == 10) {
      if (pings_.empty() || !std::equal(payload.begin(), payload.end(), pings_.front().begin(), pings_.front().end()))
        throw std::runtime_error("a pong that answers no ping");
      pings_.pop_front();
      pongs += 1;
    } else if (kind <= 2) {
      if (kind != 0) message_ = {kind};
      message_.insert(message_.end(), payload.begin(), payload.end());
      if ((first & 0x80) == 0) return;
      if (expected_.empty() || message_ != expected_.front()) throw std::runtime_error("a message came back changed");
      expected_.pop_front();
      messages += 1;
    } else {
      throw std::runtime_error("a frame of an unknown kind");
    }
  }
};

}  // namespace millrace::peers

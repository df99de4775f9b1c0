// test/support/quic_reference.hpp - QUIC frames taken apart a second time, as plainly as RFC 9000 is written: what
// tests and fuzzers hold the walker against. Shares nothing with lib/quic/wire but the names of faults.
//
// Shape    every integer is read byte by byte, every field copied; slow, and short enough to be checked by eye.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/quic_frame_notes.hpp"

namespace millrace::test {

struct reference_packet {
  char kind = '1';  // I initial, H handshake, 0 0-RTT, 1 1-RTT, as in table 3 of RFC 9000
  bool from_client = false;
  bool knows_sender = false;
  std::uint64_t max_datagram = ~std::uint64_t{0};
};

class reference_reader {
  using fault = quic::wire::frame_fault;
  std::vector<std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool short_ = false;  // something was cut off
  std::uint64_t messages_ = 0;

  std::uint8_t byte() {
    if (at_ == bytes_.size()) {
      short_ = true;
      return 0;
    }
    return bytes_[at_++];
  }
  // RFC 9000 16: the two high bits of the first byte are the exponent of the size.
  std::uint64_t number() {
    const std::uint8_t first = byte();
    std::uint64_t value = first & 0x3F;
    for (int more = (1 << (first >> 6)) - 1; more > 0; --more) value = value * 256 + byte();
    return value;
  }
  std::vector<std::uint8_t> take(std::uint64_t count) {
    std::vector<std::uint8_t> out;
    if (count > bytes_.size() - at_) short_ = true;
    for (std::uint64_t i = 0; i < count && !short_; ++i) out.push_back(byte());
    return out;
  }
  std::string numbers(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += words(" ", number());
    return out;
  }

  // Table 3 of RFC 9000, and RFC 9221 4: where each type may stand; null: nobody knows it.
  static const char* where(std::uint64_t type) {
    if (type <= 0x01 || type == 0x1c) return "IH01";
    if (type == 0x02 || type == 0x03 || type == 0x06) return "IH1";
    if (type == 0x07 || type == 0x19 || type == 0x1b || type == 0x1e) return "1";
    if (type < 0x1e || type == 0x30 || type == 0x31) return "01";
    return nullptr;
  }

  bool ack(bool ecn, std::string& text) {
    std::uint64_t largest = number();
    text = words("ack after ", number());
    const std::uint64_t count = number();
    for (std::uint64_t i = 0; i <= count && !short_; ++i) {
      if (i != 0) {
        const std::uint64_t gap = number();
        if (short_) return true;
        if (gap + 2 > largest) return false;
        largest -= gap + 2;
      }
      const std::uint64_t length = number();
      if (short_) return true;
      if (length > largest) return false;
      text += words(" ", largest - length, "-", largest);
      largest -= length;
    }
    if (ecn) text += words(" ecn", numbers(3));
    return true;
  }

  bool new_connection_id(std::string& text) {
    const std::uint64_t sequence = number();
    const std::uint64_t retire = number();
    if (!short_ && retire > sequence) return false;
    const std::uint8_t size = byte();
    if (!short_ && (size == 0 || size > 20)) return false;
    text = words("new_connection_id ", sequence, " ", retire, " ");
    text += words(frame_notes::hex(take(size)), " ");
    text += frame_notes::hex(take(16));
    return true;
  }

  bool stream(std::uint64_t type, frame_notes& notes) {
    const std::uint64_t id = number();
    const std::uint64_t offset = (type & 4) != 0 ? number() : 0;
    const std::uint64_t size = (type & 2) != 0 ? number() : bytes_.size() - at_;
    if (!short_ && offset + size >= std::uint64_t{1} << 62) return false;
    const std::vector<std::uint8_t> data = take(size);
    const bool fin = (type & 1) != 0;
    if (!short_) notes.add_data(words("stream ", id), offset, data, fin, !fin);
    return true;
  }

  bool crypto(frame_notes& notes) {
    const std::uint64_t offset = number();
    const std::uint64_t size = number();
    if (!short_ && offset + size >= std::uint64_t{1} << 62) return false;
    const std::vector<std::uint8_t> data = take(size);
    if (!short_) notes.add_data("crypto", offset, data, false, true);
    return true;
  }

  bool counted(std::uint64_t type, const char* what, std::string& text) {
    const std::uint64_t count = number();
    text = words(what, type % 2 == 0 ? " bidi " : " uni ", count);
    return count <= std::uint64_t{1} << 60;
  }

  void close(bool app, std::string& text) {
    text = app ? "close app" : "close";
    text += numbers(1);
    if (!app) text += words(" for", numbers(1));
    text += words(" \"", frame_notes::hex(take(number())), "\"");
  }

  // False: a value that the RFC forbids. `text` is what to note, unless it is empty.
  bool frame(std::uint64_t type, frame_notes& notes, std::string& text) {
    if (type >= 0x08 && type <= 0x0f) return stream(type, notes);
    switch (type) {
      case 0x00: {
        std::uint64_t count = 1;
        for (; at_ < bytes_.size() && bytes_[at_] == 0; ++at_) ++count;
        text = "padding " + std::to_string(count);
        return true;
      }
      case 0x01:
        text = "ping";
        return true;
      case 0x02:
      case 0x03:
        return ack(type == 0x03, text);
      case 0x04:
        text = words("reset_stream", numbers(3));
        return true;
      case 0x05:
        text = words("stop_sending", numbers(2));
        return true;
      case 0x06:
        return crypto(notes);
      case 0x07: {
        const std::vector<std::uint8_t> token = take(number());
        text = words("new_token ", frame_notes::hex(token));
        return short_ || !token.empty();
      }
      case 0x10:
        text = words("max_data", numbers(1));
        return true;
      case 0x11:
        text = words("max_stream_data", numbers(2));
        return true;
      case 0x12:
      case 0x13:
        return counted(type, "max_streams", text);
      case 0x14:
        text = words("data_blocked", numbers(1));
        return true;
      case 0x15:
        text = words("stream_data_blocked", numbers(2));
        return true;
      case 0x16:
      case 0x17:
        return counted(type, "streams_blocked", text);
      case 0x18:
        return new_connection_id(text);
      case 0x19:
        text = words("retire_connection_id", numbers(1));
        return true;
      case 0x1a:
        text = words("path_challenge ", frame_notes::hex(take(8)));
        return true;
      case 0x1b:
        text = words("path_response ", frame_notes::hex(take(8)));
        return true;
      case 0x1c:
      case 0x1d:
        close(type == 0x1d, text);
        return true;
      case 0x1e:
        text = "handshake_done";
        return true;
      default: {
        const std::vector<std::uint8_t> data = take(type == 0x31 ? number() : bytes_.size() - at_);
        if (!short_) notes.add_data(words("datagram ", messages_++), 0, data, false, false);
        return true;
      }
    }
  }

  // RFC 9221 3. The whole frame counts.
  [[nodiscard]] bool too_large(std::uint64_t type, std::uint64_t max) {
    if (max == 0) return true;
    reference_reader copy = *this;
    const std::size_t before = copy.at_;
    copy.take(type == 0x31 ? copy.number() : copy.bytes_.size() - copy.at_);
    return !copy.short_ && 1 + copy.at_ - before > max;
  }

 public:
  explicit reference_reader(base::byte_view payload) : bytes_(payload.begin(), payload.end()) {}

  quic::wire::frame_fault read(const reference_packet& packet, frame_notes& notes) {
    if (bytes_.empty()) return fault::no_frames;
    while (at_ < bytes_.size()) {
      const std::size_t start = at_;
      const std::uint64_t type = number();
      if (short_) return fault::malformed;
      std::size_t shortest = 1;
      while (shortest < 8 && type >= std::uint64_t{1} << (8 * shortest - 2)) shortest *= 2;
      if (at_ - start != shortest) return fault::not_minimal;
      const char* allowed = where(type);
      if (allowed == nullptr) return fault::unknown_type;
      if (std::string(allowed).find(packet.kind) == std::string::npos) return fault::not_allowed;
      if (packet.knows_sender && packet.from_client && (type == 0x07 || type == 0x1e)) return fault::not_allowed;
      if ((type == 0x30 || type == 0x31) && too_large(type, packet.max_datagram)) return fault::not_allowed;
      std::string text;
      if (!frame(type, notes, text) || short_) return fault::malformed;
      if (!text.empty()) notes.add(text);
    }
    return fault::none;
  }
};

}  // namespace millrace::test

// loadgen/load_messages.hpp - what a load generator asks, made once, and whether an answer is the right one.
//
// Shape    an image of the payload, with room for a stamp: write() copies it and puts the stamp in; judge() compares a
//          reply with what its request held. Raw payloads begin with the stamp, eight bytes of it or as many as there
//          are; arguments of calls hold it as sixteen letters, so that they stay JSON.
// Stamp    when a message was meant to be sent, and its number: the cookie of its request. Replies with another stamp
//          are another request's: a late or doubled one when theirs is older, a wrong one else.
// Units    ns since the generator began, modulo 2^47 (39 hours); the number modulo 2^16.
// Owner    the image, taken in the constructor. Errors  none: check(load_settings) has been asked.
// Threads  one. Tests  test/loadgen/load_messages_test.cpp
#pragma once

#include <cstring>
#include <vector>

#include "base/endian.hpp"
#include "loadgen/load_settings.hpp"
#include "srmp/wire/frame.hpp"

namespace millrace::loadgen {

struct load_stamp {
  static constexpr std::uint64_t time_mask = (std::uint64_t{1} << 47) - 1;

  std::uint64_t bits = 0;  // knock, time, number: from the top

  [[nodiscard]] static constexpr load_stamp of(std::uint64_t meant_ns, std::uint64_t number,
                                               bool is_knock = false) noexcept {
    return {std::uint64_t{is_knock} << 63 | (meant_ns & time_mask) << 16 | (number & 0xFFFF)};
  }
  // A message sent before the first answer, whose reply is not measured.
  [[nodiscard]] constexpr bool is_knock() const noexcept { return bits >> 63 != 0; }
  [[nodiscard]] constexpr std::uint64_t meant_ns() const noexcept { return bits >> 16 & time_mask; }
  // From then to `now_ns`, of the same clock.
  [[nodiscard]] constexpr std::uint64_t age_ns(std::uint64_t now_ns) const noexcept {
    return (now_ns - meant_ns()) & time_mask;
  }
  [[nodiscard]] constexpr bool is_older_than(load_stamp other) const noexcept {
    return bits != other.bits && ((other.bits - bits) >> 62 & 1) == 0 && is_knock() == other.is_knock();
  }
};

// What a reply is to its request.
enum class load_verdict : std::uint8_t {
  right,
  item,   // of a stream: right, and more will come
  error,  // the peer says that it failed
  wrong,
  stale,  // the right answer to an older request
};

class load_messages {
  static constexpr std::size_t raw_stamp_size = 8;
  static constexpr std::size_t text_stamp_size = 16;

  load_ask ask_;
  std::vector<std::uint8_t> image_;
  std::size_t stamp_at_ = 0;
  std::size_t stamp_size_ = 0;  // 0: none
  std::size_t data_at_ = 0;     // of rpc_echo: where the arguments begin

  [[nodiscard]] load_verdict judge_raw(base::byte_view got, load_stamp asked) const noexcept;
  [[nodiscard]] load_verdict judge_echoed(base::byte_view arguments, load_stamp asked) const noexcept;
  [[nodiscard]] load_verdict judge_call(const srmp::wire::frame& f, load_stamp asked) const noexcept;
  // Everything but the stamp, `from` bytes into the image.
  [[nodiscard]] bool is_same_around(base::byte_view got, std::size_t from) const noexcept;

 public:
  // Of the smallest arguments of an rpc_echo: {"n":"sixteen letters."}
  static constexpr std::uint32_t least_arguments = 24;

  explicit load_messages(const load_settings& settings);

  [[nodiscard]] std::size_t size() const noexcept { return image_.size(); }  // of every payload
  [[nodiscard]] bool is_one_way() const noexcept { return ask_ == load_ask::one_way; }
  [[nodiscard]] bool is_raw() const noexcept { return ask_ == load_ask::echo || ask_ == load_ask::one_way; }

  // `room` holds size() bytes.
  void write(base::byte_span room, load_stamp stamp) const noexcept {
    if (!image_.empty()) std::memcpy(room.data(), image_.data(), image_.size());
    if (stamp_size_ == raw_stamp_size) [[likely]]
      base::store_le64(room.data() + stamp_at_, stamp.bits);
    else if (stamp_size_ != 0)
      write_stamp(room.data() + stamp_at_, stamp);
  }
  // As memcmp() == 0, without the call where there is little to compare.
  [[nodiscard]] static bool is_same(const std::uint8_t* a, const std::uint8_t* b, std::size_t size) noexcept {
    if (size < 8 || size > 64) return std::memcmp(a, b, size) == 0;
    std::uint64_t different = base::load_le64(a + size - 8) ^ base::load_le64(b + size - 8);
    for (std::size_t i = 0; i + 8 < size; i += 8) different |= base::load_le64(a + i) ^ base::load_le64(b + i);
    return different == 0;
  }
  // `f` is a reply or an error reply to the request with `asked`.
  [[nodiscard]] load_verdict judge(const srmp::wire::frame& f, load_stamp asked) const noexcept {
    if (ask_ != load_ask::echo) return judge_call(f, asked);
    if (f.header.kind() == srmp::wire::frame_kind::error_reply) return load_verdict::error;
    if (f.payload.size() == image_.size() && f.payload.size() >= raw_stamp_size) [[likely]] {
      const std::size_t rest = image_.size() - raw_stamp_size;
      if (base::load_le64(f.payload.data()) == asked.bits &&
          is_same(f.payload.data() + raw_stamp_size, image_.data() + raw_stamp_size, rest)) [[likely]]
        return load_verdict::right;
    }
    return judge_raw(f.payload, asked);
  }

 private:
  void write_stamp(std::uint8_t* to, load_stamp stamp) const noexcept;
};

}  // namespace millrace::loadgen

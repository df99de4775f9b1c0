// rpc/wire/payload.hpp - the remoting payload inside an SRMP frame: a name, for errors a code, and perhaps data.
//
//   call, one-way, success   name |             [ dlen i32 LE | data ]
//   error                    name | code i32 LE [ dlen i32 LE | data ]
//   name                     length, 7 bits a byte, low group first, 0x80 = more, at most 5 bytes; then its bytes
//
// Shape    parse() reads a whole payload, the frame's kind says which form; payload_writer lays one out in room so that
//          the data is written where it goes.
// Rules    code stands in error replies and nowhere else. Data ends the payload or is absent: no length field, or one
//          that is zero or negative. What follows the data is ignored: sections that are not invented yet.
// Owner    nothing; name and data are views into the bytes handed in.
// Errors   truncated: ends inside a field. too_long: a length of more than 5 bytes. bad_value: no name. bad_length: a
//          name or data longer than what is left. A server answers none of them and keeps the connection.
// Source   the remoting sheet, 4. Tests  test/rpc/wire/payload_test.cpp (vectors R1-R20),
// test/fuzz/rpc_payload_fuzz.cpp
#pragma once

#include <cstring>

#include "base/byte_reader.hpp"
#include "base/parse_status.hpp"

namespace millrace::rpc::wire {

// What we send: longer names make peers of the first generation write past their room when they answer.
inline constexpr std::size_t max_name_size = 127;
inline constexpr unsigned max_length_bytes = 5;  // of the length in front of a name
inline constexpr std::size_t max_data_size = 0x7FFF'FFFF;

enum class form : std::uint8_t { plain, error };

struct payload {
  std::string_view name;      // not empty; unchecked bytes
  std::int32_t code = 0;      // of an error; 0 else
  bool has_data = false;      // false: absent, or announced as zero or fewer bytes
  base::byte_view data;       // empty unless has_data
  std::uint32_t ignored = 0;  // bytes behind the data
};

// `out` is written on success only.
base::parse_status parse(base::byte_view in, form what, payload& out) noexcept;

// The name alone, of a payload whose front is there; empty when there is none, or it does not end here.
[[nodiscard]] std::string_view name_at_front(base::byte_view front) noexcept;

// Both mean success; any other code is sent as an error, and read as one.
[[nodiscard]] constexpr bool is_success(std::int32_t code) noexcept { return code == 0 || code == 200; }

// What a server looks up and answers; any other byte makes the reference drop the call without a reply.
[[nodiscard]] inline bool is_callable(std::string_view name) noexcept {
  for (const char c : name)
    if (static_cast<std::uint8_t>(c) >= 0x7F) return false;
  return !name.empty();
}

// Exact, for a name of 1..max_name_size bytes. `with_data` counts the length field, also of empty data.
[[nodiscard]] constexpr std::size_t encoded_size(std::size_t name_size, form what, bool with_data,
                                                 std::size_t data_size) noexcept {
  return 1 + name_size + (what == form::error ? 4 : 0) + (with_data ? 4 + data_size : 0);
}

// payload_writer out(room, name, form::plain); write into out.data_room(); size = out.finish(count).
class payload_writer {
  base::byte_span room_;
  std::size_t at_ = 0;  // where the length of the data goes; 0: name and code do not fit, or the name cannot be sent

 public:
  // Writes the name, and the code of an error.
  payload_writer(base::byte_span room, std::string_view name, form what, std::int32_t code = 0) noexcept : room_(room) {
    const std::size_t front = encoded_size(name.size(), what, false, 0);
    if (name.empty() || name.size() > max_name_size || front > room.size()) return;
    room[0] = static_cast<std::uint8_t>(name.size());
    std::memcpy(room.data() + 1, name.data(), name.size());
    if (what == form::error) base::store_le32(room.data() + 1 + name.size(), static_cast<std::uint32_t>(code));
    at_ = front;
  }

  [[nodiscard]] bool fits() const noexcept { return at_ != 0; }

  // Where the data goes; empty when no byte of it fits.
  [[nodiscard]] base::byte_span data_room() const noexcept {
    return at_ == 0 || room_.size() < at_ + 4 ? base::byte_span{} : room_.subspan(at_ + 4);
  }

  // The payload's size, with the first `data_size` bytes of data_room() as its data. 0: it does not fit.
  [[nodiscard]] std::size_t finish(std::size_t data_size) const noexcept {
    if (at_ == 0 || room_.size() < at_ + 4 || data_size > room_.size() - at_ - 4 || data_size > max_data_size) return 0;
    base::store_le32(room_.data() + at_, static_cast<std::uint32_t>(data_size));
    return at_ + 4 + data_size;
  }
  // The same with no length field: a result of nothing, a call without arguments, the end of a stream.
  [[nodiscard]] std::size_t finish_without_data() const noexcept { return at_; }
};

// All at once, the data copied; 0 when it does not fit.
[[nodiscard]] inline std::size_t emit(base::byte_span room, std::string_view name, base::byte_view data) noexcept {
  const payload_writer out(room, name, form::plain);
  if (data.size() > out.data_room().size()) return 0;
  if (data.empty()) return out.finish_without_data();
  std::memcpy(out.data_room().data(), data.data(), data.size());
  return out.finish(data.size());
}

}  // namespace millrace::rpc::wire

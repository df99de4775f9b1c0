// rpc/call.hpp - one call as its method sees it: who calls, with what, and where the result goes.
//
// Shape    a method reads name() and arguments(), writes into room() and says result(size); or answers with text(),
//          json(), copy(), fail(); or streams with item() until it returns. The last answer counts. A method that
//          answers nothing is a void one: its reply is a name alone.
// Owner    everything here lives until the method returns; a method that wants to remember something copies it. room()
//          lies in the datagram of replies (or in the spill it is copied from): it is written once, by the method.
// Data     arguments and results are what the method's users agree on: compact JSON, a text alone without quotes, or
//          raw bytes. Nothing on the wire tells them apart.
// Errors   a result that does not fit becomes the error 500; so does JSON that cannot be written. In a one-way call
//          room() is empty and every answer is accepted and forgotten.
// Threads  one. Tests  test/rpc/service_test.cpp
#pragma once

#include <cstring>

#include "json/reader.hpp"
#include "json/writer.hpp"
#include "rpc/wire/payload.hpp"
#include "srmp/datagram_service.hpp"

namespace millrace::rpc {

// Whose call it is, and what was called.
using caller = srmp::conversation;

namespace code {
inline constexpr std::int32_t unauthorized = 401;
inline constexpr std::int32_t forbidden = 403;
inline constexpr std::int32_t not_found = 404;
inline constexpr std::int32_t failed = 500;
}  // namespace code

enum class answer_kind : std::uint8_t { nothing, data, error, stream };

class call {
 public:
  static constexpr std::size_t scratch_size = 512;
  // Sends the first `size` bytes of room() as an item of a stream and answers new room; null data when it cannot.
  using send_item = base::byte_span (*)(void* to, std::size_t size) noexcept;

 private:
  friend class service;

  const wire::payload& asked_;
  const caller& from_;
  json::reader& reader_;
  std::span<char> scratch_;
  base::byte_span room_;
  std::size_t size_ = 0;
  send_item send_ = nullptr;
  void* send_to_ = nullptr;
  std::uint32_t items_ = 0;
  std::uint32_t max_items_ = 0;
  std::int32_t code_ = 0;
  std::string_view message_;
  answer_kind kind_ = answer_kind::nothing;
  bool one_way_ = false;

  void too_large() noexcept { fail(code::failed, "the result is too large"); }

 public:
  call(const wire::payload& asked, const caller& from, json::reader& reader, std::span<char> scratch) noexcept
      : asked_(asked), from_(from), reader_(reader), scratch_(scratch) {}
  call(const call&) = delete;
  call& operator=(const call&) = delete;

  // --- what is asked ---
  [[nodiscard]] std::string_view name() const noexcept { return asked_.name; }  // as the caller spells it
  [[nodiscard]] base::byte_view arguments() const noexcept { return asked_.data; }
  [[nodiscard]] bool has_arguments() const noexcept { return asked_.has_data; }
  [[nodiscard]] const caller& from() const noexcept { return from_; }
  [[nodiscard]] bool is_one_way() const noexcept { return one_way_; }
  // Whether the arguments are an object or array of JSON; false: they are one text, or bytes.
  [[nodiscard]] bool has_json() const noexcept {
    return asked_.has_data && (asked_.data[0] == '{' || asked_.data[0] == '[');
  }
  // The arguments as events.
  json::read_result read(json::handler& events) noexcept { return reader_.read(asked_.data, events); }

  // --- the answer ---
  [[nodiscard]] base::byte_span room() const noexcept { return room_; }
  // Room for texts that must live until the method has returned, such as a message made up for fail().
  [[nodiscard]] std::span<char> scratch() const noexcept { return scratch_; }

  // The first `size` bytes of room().
  void result(std::size_t size) noexcept {
    if (one_way_) return;
    if (size > room_.size()) return too_large();
    if (items_ != 0) {  // a last item, if it is one: the end of a stream has no data
      (void)item(size);
      return;
    }
    kind_ = answer_kind::data;
    size_ = size;
  }
  void copy(base::byte_view bytes) noexcept {
    if (one_way_) return;
    if (bytes.size() > room_.size()) return too_large();
    if (!bytes.empty()) std::memcpy(room_.data(), bytes.data(), bytes.size());
    result(bytes.size());
  }
  void text(std::string_view text) noexcept { copy(base::as_bytes(text)); }
  // write(json::writer&) makes one document in room(); not called for a one-way call.
  template <class Write>
  void json(Write&& write) noexcept {
    if (one_way_) return;
    std::size_t size = 0;
    if (!write_json(write, size)) return;
    result(size);
  }
  // `code` is neither 0 nor 200, which mean success; `message` is UTF-8, and lives until the method has returned.
  void fail(std::int32_t code, std::string_view message) noexcept {
    kind_ = answer_kind::error;
    code_ = wire::is_success(code) ? code::failed : code;
    message_ = message;
  }

  // --- a stream: each item is a reply of its own, the end is one without data, which follows the method's return ---
  // False: it was not sent, and the method returns: no buffer was free; the service's max_items are reached, or it does
  // not fit (the stream then ends with the error 500); it is empty, which would read as the end; the call is one-way.
  [[nodiscard]] bool item(std::size_t size) noexcept;
  [[nodiscard]] bool item(base::byte_view bytes) noexcept {
    if (one_way_ || bytes.empty()) return false;
    if (bytes.size() > room_.size()) {
      too_large();
      return false;
    }
    std::memcpy(room_.data(), bytes.data(), bytes.size());
    return item(bytes.size());
  }
  template <class Write>
  [[nodiscard]] bool json_item(Write&& write) noexcept {
    std::size_t size = 0;
    return !one_way_ && write_json(write, size) && item(size);
  }

 private:
  template <class Write>
  [[nodiscard]] bool write_json(Write&& write, std::size_t& size) noexcept {
    json::buffer_sink sink(std::span<char>(reinterpret_cast<char*>(room_.data()), room_.size()));
    json::writer out(sink);
    write(out);
    switch (out.end_document()) {
      case json::write_errc::ok:
        size = sink.text().size();
        return true;
      case json::write_errc::no_room:
        too_large();
        return false;
      default:
        fail(code::failed, "the result cannot be written as JSON");
        return false;
    }
  }
};

// A method. It does not throw, keeps nothing of the call, and returns in bounded time: the loop waits for it.
using method_handler = void (*)(void* self, call& c) noexcept;

}  // namespace millrace::rpc

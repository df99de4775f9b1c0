// rpc/client.hpp - calls to a peer: laid into datagrams, their replies read.
//
// Shape    call_method() names a method and writes its arguments where they are sent from; reply_of() reads the frame
//          that came back; both on top of an srmp::datagram_client, which numbers, matches and times out.
// Rules    success is a reply, or an error reply whose code is 0 or 200. A stream ends with a success that has no data,
//          or with an error. A name in a reply is not compared with the call's.
// Owner    nothing. Errors  call_method(): those of the datagram client. reply_of(): outcome `malformed`.
// Source   the remoting sheet, 4. Tests  test/rpc/client_test.cpp (vectors R4-R8, R11, R19)
#pragma once

#include "rpc/wire/payload.hpp"
#include "srmp/datagram_client.hpp"

namespace millrace::rpc {

enum class reply_outcome : std::uint8_t { success, error, malformed };

struct reply {
  reply_outcome outcome = reply_outcome::malformed;
  std::int32_t code = 0;  // of an error
  bool has_data = false;  // false in a success: a void method, or the end of a stream
  base::byte_view data;   // result, or message in UTF-8; a view into the frame
  std::string_view name;  // as the server spells it
};

// `f` is a reply: success or error.
[[nodiscard]] inline reply reply_of(const srmp::wire::frame& f) noexcept {
  const bool is_error = f.header.kind() == srmp::wire::frame_kind::error_reply;
  wire::payload got;
  if (!parse(f.payload, is_error ? wire::form::error : wire::form::plain, got)) return {};
  const auto outcome = wire::is_success(got.code) ? reply_outcome::success : reply_outcome::error;
  return {outcome, got.code, got.has_data, got.data, got.name};
}

// write(room) lays at most `max_arguments` bytes of arguments and answers how many; 0: the call has none.
template <class Batch, class Write>
srmp::request_result call_method(srmp::datagram_client& client, Batch& out, const srmp::request_terms& terms,
                                 std::string_view name, std::size_t max_arguments, Write&& write) noexcept {
  const std::size_t bound = wire::encoded_size(name.size(), wire::form::plain, true, max_arguments);
  if (name.empty() || name.size() > wire::max_name_size) return {srmp::request_errc::too_large, 0};
  return client.request(out, terms, bound, [&](base::byte_span room) {
    const wire::payload_writer to(room, name, wire::form::plain);
    const std::size_t size = write(to.data_room());
    return size == 0 ? to.finish_without_data() : to.finish(size);
  });
}

// The same with arguments that are there already.
template <class Batch>
srmp::request_result call_method(srmp::datagram_client& client, Batch& out, const srmp::request_terms& terms,
                                 std::string_view name, base::byte_view arguments) noexcept {
  return call_method(client, out, terms, name, arguments.size(), [&](base::byte_span room) {
    if (!arguments.empty()) std::memcpy(room.data(), arguments.data(), arguments.size());
    return arguments.size();
  });
}

}  // namespace millrace::rpc

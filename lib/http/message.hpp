// http/message.hpp - a request's and an answer's head, and what an answer's body is made of.
//
// Shape    views; whoever carries the exchange (h3, http1) keeps the bytes. Field names are in lower case, as HTTP/2
//          and 3 send them; an HTTP/1.1 carrier makes them so.
// Owner    a head's views live as long as its exchange. A body owns its chain; what a content_range or a pulled_body
//          names is the handler's, and stays until exchange_handler::on_end().
// Units    bytes.
// Source   RFC 9110 6. Tests  test/http/exchange_test.cpp
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "buf/chain.hpp"
#include "buf/content.hpp"
#include "http/wire/method.hpp"
#include "http/wire/status_code.hpp"

namespace millrace::http {

struct field {
  std::string_view name;  // in lower case
  std::string_view value;
};

// The first of that name, or nothing.
[[nodiscard]] constexpr std::optional<std::string_view> find(std::span<const field> fields,
                                                             std::string_view name) noexcept {
  for (const field& f : fields)
    if (f.name == name) return f.value;
  return std::nullopt;
}

struct request_head {
  wire::method method = wire::method::other;
  std::string_view method_name;  // as it came: says what `other` is
  std::string_view scheme;
  std::string_view authority;  // of :authority, or of Host where there is none
  std::string_view target;     // as it came: path and query
  std::string_view path;       // normalised (wire/target.hpp)
  std::string_view query;
  std::string_view protocol;  // of an extended CONNECT (RFC 9220); empty otherwise
  std::span<const field> fields;
  std::optional<std::uint64_t> content_length;
  bool has_body = false;  // false: the request ended with its head
  bool is_early = false;  // came in 0-RTT (RFC 8470): may be a repetition until the handshake is done
};

struct response_head {
  wire::status_code status = wire::status_code::ok;
  std::span<const field> fields;
};

// [offset, offset + size) of what was loaded at start: sent from where it lies.
struct content_range {
  const buf::content* from = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// Pulled block by block as the peer takes them. Without a size, its end is the source's.
struct pulled_body {
  buf::pull_source from;
  std::optional<std::uint64_t> size;
};

using body = std::variant<std::monostate, buf::chain, content_range, pulled_body>;

// Of a body whose size is known before it is sent; what Content-Length then says.
[[nodiscard]] inline std::optional<std::uint64_t> size_of(const body& b) noexcept {
  if (const auto* whole = std::get_if<buf::chain>(&b)) return whole->size();
  if (const auto* range = std::get_if<content_range>(&b)) return range->size;
  if (const auto* pulled = std::get_if<pulled_body>(&b)) return pulled->size;
  return 0;
}

}  // namespace millrace::http

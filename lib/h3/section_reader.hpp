// h3/section_reader.hpp - the rules of a field section: what a request's head, a response's head and trailers may say.
//
// Shape    on_field() judges each field as QPACK decodes it, and stores it; the end is judged by finish_request(),
//          finish_response() or finish_trailers(), which also make the head out of what was stored.
// Size     RFC 9114 4.2.2: names, values and 32 for each field, added up after each; beyond the limit: too_large.
// Owner    the store keeps the texts; heads are views of it.
// Errors   section_errc; is_malformed() tells those that are a stream error H3_MESSAGE_ERROR (RFC 9114 4.1.2) from
// those
//          that have an answer: too_large 431, bad_target 400, no_memory 503.
// Source   RFC 9114 4.1.2 4.2 4.3 4.4, RFC 9220 3, RFC 9110 8.6. Tests  test/h3/section_reader_test.cpp
#pragma once

#include "h3/field_store.hpp"

namespace millrace::h3 {

// X(name, text)
#define MILLRACE_H3_SECTION_ERRORS(X)                                                                   \
  X(too_large, "field sections beyond the limit")                                                       \
  X(no_memory, "field sections that no memory was left for")                                            \
  X(bad_target, "paths that cannot be looked up, or leave their root")                                  \
  X(bad_name, "field names with capitals, or characters that none may have")                            \
  X(bad_value, "field values with control characters, or white space at their ends")                    \
  X(connection_specific, "fields of HTTP/1.1 connections, and te other than trailers")                  \
  X(pseudo_unknown, "pseudo-header fields that do not exist, or not in this kind of message")           \
  X(pseudo_twice, "pseudo-header fields that came twice")                                               \
  X(pseudo_late, "pseudo-header fields behind others, or in trailers")                                  \
  X(pseudo_missing, "messages without a pseudo-header field that they need")                            \
  X(pseudo_forbidden, "requests with a pseudo-header field that their method forbids")                  \
  X(bad_method, "methods that are no tokens")                                                           \
  X(bad_scheme, "schemes that cannot be")                                                               \
  X(bad_authority, "authorities that cannot be, or with user information")                              \
  X(bad_path, "paths that are empty, do not begin with a slash, or have characters that none may have") \
  X(bad_protocol, ":protocol without CONNECT, or where extended CONNECT is not allowed")                \
  X(bad_status, "statuses that are no three digits, or 101")                                            \
  X(host_differs, "Host fields that are not :authority, or came twice")                                 \
  X(bad_content_length, "content-lengths that are no number, or came twice")

enum class section_errc : std::uint8_t {
  ok,
#define MILLRACE_H3_SECTION_ERROR(name, text) name,
  MILLRACE_H3_SECTION_ERRORS(MILLRACE_H3_SECTION_ERROR)
#undef MILLRACE_H3_SECTION_ERROR
      count_
};
inline constexpr std::size_t section_errc_count = static_cast<std::size_t>(section_errc::count_);

[[nodiscard]] constexpr std::string_view to_string(section_errc e) noexcept {
  constexpr std::array<std::string_view, section_errc_count> names{"ok",
#define MILLRACE_H3_SECTION_NAME(name, text) #name,
                                                                   MILLRACE_H3_SECTION_ERRORS(MILLRACE_H3_SECTION_NAME)
#undef MILLRACE_H3_SECTION_NAME
  };
  return names[static_cast<std::size_t>(e)];
}
[[nodiscard]] constexpr std::string_view describe(section_errc e) noexcept {
  constexpr std::array<std::string_view, section_errc_count> texts{"taken",
#define MILLRACE_H3_SECTION_TEXT(name, text) text,
                                                                   MILLRACE_H3_SECTION_ERRORS(MILLRACE_H3_SECTION_TEXT)
#undef MILLRACE_H3_SECTION_TEXT
  };
  return texts[static_cast<std::size_t>(e)];
}
[[nodiscard]] constexpr bool is_malformed(section_errc e) noexcept { return e > section_errc::bad_target; }

enum class section_kind : std::uint8_t { request, response, trailers };

struct section_rules {
  std::uint64_t limit_bytes = 64 << 10;
  bool extended_connect = true;  // RFC 9220
};

struct response_fields {
  std::uint16_t status = 0;
  std::span<const http::field> fields;
  std::optional<std::uint64_t> content_length;
};

class section_reader {
  enum : std::uint8_t { method_, scheme_, authority_, path_, protocol_, status_, pseudo_count };
  static constexpr std::uint32_t none = UINT32_MAX;

  field_store& to_;
  section_rules rules_;
  std::uint64_t size_ = 0;
  std::uint64_t content_length_ = 0;
  std::array<std::uint32_t, pseudo_count> pseudo_;  // where each lies among the fields
  std::uint32_t host_ = none;
  std::uint32_t priority_ = none;
  std::uint32_t first_regular_ = none;
  std::uint32_t cookies_ = 0;
  section_kind kind_;
  bool has_content_length_ = false;

 public:
  // `to` is empty.
  section_reader(section_kind kind, const section_rules& rules, field_store& to) noexcept
      : to_(to), rules_(rules), kind_(kind) {
    pseudo_.fill(none);
  }

  [[nodiscard]] section_errc on_field(std::string_view name, std::string_view value) noexcept;
  // Each is called once, behind the last field.
  [[nodiscard]] section_errc finish_request(http::request_head& out) noexcept;
  [[nodiscard]] section_errc finish_response(response_fields& out) noexcept;
  [[nodiscard]] section_errc finish_trailers(std::span<const http::field>& out) noexcept;

  // RFC 9218 5: of the Priority field; empty when there is none. After finish.
  [[nodiscard]] std::string_view priority() const noexcept {
    return priority_ == none ? std::string_view{} : to_.fields()[priority_].value;
  }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_; }

 private:
  [[nodiscard]] section_errc on_pseudo(std::string_view name, std::string_view value) noexcept;
  [[nodiscard]] section_errc judge_regular(std::string_view name, std::string_view value) noexcept;
  [[nodiscard]] section_errc judge_request() const noexcept;
  [[nodiscard]] bool join_cookies() noexcept;
  [[nodiscard]] bool has(unsigned which) const noexcept { return pseudo_[which] != none; }
  [[nodiscard]] std::string_view value_of(std::uint32_t at) const noexcept {
    return at == none ? std::string_view{} : to_.fields()[at].value;
  }
  [[nodiscard]] std::span<const http::field> regular() const noexcept {
    const auto all = std::as_const(to_).fields();
    return first_regular_ == none ? all.last(0) : all.subspan(first_regular_);
  }
};

}  // namespace millrace::h3

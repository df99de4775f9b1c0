// How it works: RapidJSON's iterative parser walks the text; `relay` stands between it and the caller's handler and
// adds what it lacks: a limit of depth, and a judgement of texts (its own validation lets "\udc00" through, which
// becomes bytes that are no UTF-8), and the value of numbers. Those come as text: its own exact conversion shifts by 64
// bits for numbers of many digits before a zero, and its quick one is wrong in the last bit; std::from_chars is
// neither.
//
// Memory: the parser keeps on its stack 8 bytes for each open level, and the text of the one string or number it is
// reading. Unescaped text is never longer than its source, so a stack of max_bytes + 8 * (max_depth + 1) and a little
// for terminators holds every document within the limits. The scratch is that stack.
//
// What could go wrong: the parser takes a NUL for the end of its input. The stream answers one at the real end; a NUL
// inside the text would end the document early and hide what follows, so the offset reached is compared with the size.
#include "json/reader.hpp"

#include <algorithm>
#include <charconv>
#include <memory>

#include "json/rapidjson.hpp"
#include "json/utf8.hpp"

namespace millrace::json {
namespace {

// RapidJSON's input concept over a view.
class view_stream {
  const char* begin_;
  const char* at_;
  const char* end_;

 public:
  using Ch = char;

  explicit view_stream(std::string_view text) noexcept
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}
  [[nodiscard]] char Peek() const noexcept { return at_ == end_ ? '\0' : *at_; }
  char Take() noexcept { return at_ == end_ ? '\0' : *at_++; }
  [[nodiscard]] std::size_t Tell() const noexcept { return static_cast<std::size_t>(at_ - begin_); }

  // Asked for by the concept, used for parsing in place only.
  char* PutBegin() noexcept { return nullptr; }
  void Put(char) noexcept {}
  void Flush() noexcept {}
  std::size_t PutEnd(char*) noexcept { return 0; }
};

// Of a number that no double holds: whether it is too large, not too near to zero. The power of ten of its first digit
// that is not 0 tells.
bool is_too_large(std::string_view text) noexcept {
  const std::size_t mantissa = std::min(text.find_first_of("eE"), text.size());
  const std::size_t point = std::min(text.find('.'), mantissa);
  const std::size_t first = text.find_first_of("123456789");
  std::int64_t exponent = 0;
  if (mantissa < text.size()) {
    const char* begin = text.data() + mantissa + (text[mantissa + 1] == '+' ? 2 : 1);
    if (std::from_chars(begin, text.data() + text.size(), exponent).ec != std::errc()) return *begin != '-';
  }
  return exponent > static_cast<std::int64_t>(first) - static_cast<std::int64_t>(point);  // -exponent may not be
}

class relay {
  handler& to_;
  std::uint32_t levels_left_;
  read_errc why_ = read_errc::refused;

  [[nodiscard]] bool stop(read_errc why) noexcept {
    why_ = why;
    return false;
  }
  [[nodiscard]] bool enter() noexcept {
    if (levels_left_ == 0) return stop(read_errc::too_deep);
    --levels_left_;
    return true;
  }
  // A value that is too near to zero for a double is zero; one that is too far from it is refused.
  [[nodiscard]] bool number(std::string_view text) noexcept {
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    if (text.find_first_of(".eE") == std::string_view::npos && text != "-0") {  // no integer keeps that sign
      std::int64_t integer = 0;
      if (std::from_chars(begin, end, integer).ec == std::errc()) return to_.on_integer(integer);
      std::uint64_t positive = 0;
      if (*begin != '-' && std::from_chars(begin, end, positive).ec == std::errc()) return to_.on_unsigned(positive);
    }
    double value = 0;
    if (std::from_chars(begin, end, value).ec != std::errc()) {
      if (is_too_large(text)) return stop(read_errc::bad_number);
      value = *begin == '-' ? -0.0 : 0.0;
    }
    return to_.on_double(value);
  }

 public:
  using Ch = char;

  relay(handler& to, std::uint32_t max_depth) noexcept : to_(to), levels_left_(max_depth) {}
  [[nodiscard]] read_errc why() const noexcept { return why_; }

  bool Null() { return to_.on_null(); }
  bool Bool(bool v) { return to_.on_bool(v); }
  // Not called: numbers come as text.
  bool Int(int) { return stop(read_errc::malformed); }
  bool Uint(unsigned) { return stop(read_errc::malformed); }
  bool Int64(std::int64_t) { return stop(read_errc::malformed); }
  bool Uint64(std::uint64_t) { return stop(read_errc::malformed); }
  bool Double(double) { return stop(read_errc::malformed); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) { return number({text, size}); }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view view(text, size);
    return utf8_is_valid(view) ? to_.on_string(view) : stop(read_errc::bad_text);
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view view(text, size);
    return utf8_is_valid(view) ? to_.on_key(view) : stop(read_errc::bad_text);
  }
  bool StartObject() { return enter() && to_.on_begin_object(); }
  bool StartArray() { return enter() && to_.on_begin_array(); }
  bool EndObject(rapidjson::SizeType) {
    ++levels_left_;
    return to_.on_end_object();
  }
  bool EndArray(rapidjson::SizeType) {
    ++levels_left_;
    return to_.on_end_array();
  }
};

using rapid_reader = rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, block>;

read_errc reason(rapidjson::ParseErrorCode code, const relay& events) noexcept {
  switch (code) {
    case rapidjson::kParseErrorNone:
      return read_errc::ok;
    case rapidjson::kParseErrorTermination:
      return events.why();
    case rapidjson::kParseErrorNumberTooBig:
      return read_errc::bad_number;
    case rapidjson::kParseErrorDocumentRootNotSingular:
      return read_errc::trailing_bytes;
    case rapidjson::kParseErrorStringUnicodeSurrogateInvalid:
    case rapidjson::kParseErrorStringInvalidEncoding:
      return read_errc::bad_text;
    default:
      return read_errc::malformed;
  }
}

}  // namespace

reader::reader(const read_limits& limits, std::span<std::byte> scratch) noexcept : limits_(limits), scratch_(scratch) {
  // The stack holds 32-bit numbers: it begins where they may stand.
  void* begin = scratch_.data();
  std::size_t room = scratch_.size();
  constexpr std::size_t alignment = alignof(std::max_align_t);
  scratch_ = std::align(alignment, 0, begin, room) == nullptr
                 ? std::span<std::byte>{}
                 : std::span<std::byte>{static_cast<std::byte*>(begin), room};
  const std::size_t fixed = scratch_size({0, limits_.max_depth}) - alignment;
  const std::size_t text_room = scratch_.size() < fixed ? 0 : scratch_.size() - fixed;
  if (text_room < limits_.max_bytes) limits_.max_bytes = static_cast<std::uint32_t>(text_room);
}

read_result reader::read(base::byte_view text, handler& events) noexcept {
  if (text.size() > limits_.max_bytes) return {read_errc::too_large, limits_.max_bytes};
  if (text.empty()) return {read_errc::malformed, 0};
  block stack{scratch_.data(), scratch_.size()};
  rapid_reader rapid(&stack, stack.size);
  view_stream in(base::as_text(text));
  relay to(events, limits_.max_depth);
  constexpr unsigned flags = rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag;
  const rapidjson::ParseResult got = rapid.Parse<flags>(in, to);
  if (got.IsError()) return {reason(got.Code(), to), static_cast<std::uint32_t>(got.Offset())};
  const auto end = static_cast<std::uint32_t>(in.Tell());
  return {end == text.size() ? read_errc::ok : read_errc::trailing_bytes, end};  // trailing: a NUL
}

std::string_view to_string(read_errc code) noexcept {
  switch (code) {
    case read_errc::ok:
      return "ok";
    case read_errc::too_large:
      return "too_large";
    case read_errc::too_deep:
      return "too_deep";
    case read_errc::malformed:
      return "malformed";
    case read_errc::bad_text:
      return "bad_text";
    case read_errc::bad_number:
      return "bad_number";
    case read_errc::trailing_bytes:
      return "trailing_bytes";
    case read_errc::refused:
      return "refused";
  }
  return "unknown";
}

}  // namespace millrace::json

// How it works: RapidJSON's Writer keeps the levels (object or array, values so far) and so knows where commas and
// colons go; `levels` below looks at them before each event, because the Writer itself would write nonsense, or pop an
// empty stack, when it is misused. Its levels lie inside our object: max_depth is checked before it pushes, so it never
// asks for memory again.
//
// Strings do not go through it: it takes text without an end to stop at (a cut UTF-8 sequence makes it read on), and
// either refuses broken UTF-8 or lets it pass. Doubles do not either: Grisu2 is not always shortest, std::to_chars is.
#include "json/writer.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <new>

#include "base/endian.hpp"
#include "json/rapidjson.hpp"
#include "json/utf8.hpp"

namespace millrace::json {
namespace {

// The stream RapidJSON writes to.
struct sink_stream {
  using Ch = char;
  sink& out;
  void Put(char c) { out.put(c); }
  void Flush() {}
};

using rapid_writer =
    rapidjson::Writer<sink_stream, rapidjson::UTF8<>, rapidjson::UTF8<>, block, rapidjson::kWriteNoFlags>;

// RFC 8259 7: what each byte needs inside a string. 0: nothing; `u`: \u00XX; `8`: part of a UTF-8 sequence.
constexpr std::array<char, 256> escapes = [] {
  std::array<char, 256> table{};
  for (std::size_t c = 0; c < 0x20; ++c) table[c] = 'u';
  for (std::size_t c = 0x80; c < 0x100; ++c) table[c] = '8';
  table['\b'] = 'b';
  table['\t'] = 't';
  table['\n'] = 'n';
  table['\f'] = 'f';
  table['\r'] = 'r';
  table['"'] = '"';
  table['\\'] = '\\';
  return table;
}();

// Whether eight bytes go out as they are: ASCII, and none of them a control character, a quote or a backslash.
bool is_plain(std::uint64_t eight) noexcept {
  constexpr std::uint64_t each = 0x0101'0101'0101'0101;
  constexpr std::uint64_t tops = 0x80 * each;
  // The top bit of each byte that is below `limit`, if all are below 0x80; a borrow can only add false alarms, and the
  // slow path then finds nothing.
  const auto below = [](std::uint64_t v, std::uint64_t limit) { return (v - limit * each) & ~v; };
  const std::uint64_t odd =
      eight | below(eight, 0x20) | below(eight ^ ('"' * each), 1) | below(eight ^ ('\\' * each), 1);
  return (odd & tops) == 0;
}

void write_escape(sink& out, char escape, std::uint8_t byte) noexcept {
  constexpr std::string_view digits = "0123456789abcdef";
  if (escape != 'u') {
    const std::array<char, 2> text = {'\\', escape};
    out.write({text.data(), text.size()});
    return;
  }
  const std::array<char, 6> text = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
  out.write({text.data(), text.size()});
}

void write_string(sink& out, std::string_view text) noexcept {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD
  out.put('"');
  std::size_t clean = 0;  // bytes at the front of `text` that go out as they are
  while (clean < text.size()) {
    while (text.size() - clean >= 8 &&
           is_plain(base::load_le64(reinterpret_cast<const std::uint8_t*>(text.data()) + clean)))
      clean += 8;
    if (clean == text.size()) break;
    const auto byte = static_cast<std::uint8_t>(text[clean]);
    const char escape = escapes[byte];
    if (escape == 0) {
      ++clean;
      continue;
    }
    utf8_sequence sequence{1, false};
    if (escape == '8') {
      sequence = utf8_step(text.substr(clean));
      if (sequence.valid) {
        clean += sequence.size;
        continue;
      }
    }
    out.write(text.substr(0, clean));
    if (escape == '8')
      out.write(replacement);
    else
      write_escape(out, escape, byte);
    text.remove_prefix(clean + sequence.size);
    clean = 0;
  }
  out.write(text);
  out.put('"');
}

// Opens RapidJSON's levels to a look, and its Prefix() to strings written by ourselves.
struct opened_writer : rapid_writer {
  static constexpr std::size_t level_size = sizeof(Level);

  using rapid_writer::rapid_writer;
  [[nodiscard]] std::size_t depth() const { return level_stack_.GetSize() / sizeof(Level); }
  [[nodiscard]] bool in_array() const { return level_stack_.template Top<Level>()->inArray; }
  [[nodiscard]] bool name_is_next() const {
    return !in_array() && level_stack_.template Top<Level>()->valueCount % 2 == 0;
  }
  [[nodiscard]] bool has_root() const { return hasRoot_; }
  void separate(rapidjson::Type type) { Prefix(type); }
};

}  // namespace

struct writer::levels {
  alignas(16) std::byte memory[max_depth * opened_writer::level_size];
  block stack{memory, sizeof memory};
  sink_stream stream;
  opened_writer rapid;

  explicit levels(sink& out) : stream{out}, rapid(stream, &stack, max_depth) {}
};

writer::levels& writer::state() noexcept {
  static_assert(sizeof(levels) <= state_size && alignof(levels) <= 16, "the header reserves too little");
  return *std::launder(reinterpret_cast<levels*>(state_));
}

writer::writer(sink& out) noexcept : out_(out) { new (state_) levels(out); }
writer::~writer() { state().~levels(); }

void writer::fail(write_errc code) noexcept {
  if (status_ == write_errc::ok) status_ = code;
}

bool writer::may_write_value() noexcept {
  if (status_ != write_errc::ok) return false;
  const auto& rapid = state().rapid;
  const bool expected = rapid.depth() == 0 ? !rapid.has_root() : !rapid.name_is_next();
  if (!expected) fail(write_errc::misuse);
  return expected;
}

void writer::begin_object() noexcept {
  if (!may_write_value()) return;
  if (state().rapid.depth() == max_depth) return fail(write_errc::too_deep);
  state().rapid.StartObject();
}

void writer::begin_array() noexcept {
  if (!may_write_value()) return;
  if (state().rapid.depth() == max_depth) return fail(write_errc::too_deep);
  state().rapid.StartArray();
}

void writer::end_object() noexcept {
  if (status_ != write_errc::ok) return;
  auto& rapid = state().rapid;
  if (rapid.depth() == 0 || !rapid.name_is_next()) return fail(write_errc::misuse);
  rapid.EndObject();
}

void writer::end_array() noexcept {
  if (status_ != write_errc::ok) return;
  auto& rapid = state().rapid;
  if (rapid.depth() == 0 || !rapid.in_array()) return fail(write_errc::misuse);
  rapid.EndArray();
}

void writer::key(std::string_view name) noexcept {
  if (status_ != write_errc::ok) return;
  auto& rapid = state().rapid;
  if (rapid.depth() == 0 || !rapid.name_is_next()) return fail(write_errc::misuse);
  rapid.separate(rapidjson::kStringType);
  write_string(out_, name);
}

void writer::value(std::string_view text) noexcept {
  if (!may_write_value()) return;
  state().rapid.separate(rapidjson::kStringType);
  write_string(out_, text);
}

void writer::hex(base::byte_view bytes) noexcept {
  if (!may_write_value()) return;
  constexpr std::string_view digits = "0123456789abcdef";
  state().rapid.separate(rapidjson::kStringType);
  out_.put('"');
  for (const std::uint8_t byte : bytes) {
    out_.put(digits[byte >> 4]);
    out_.put(digits[byte & 15]);
  }
  out_.put('"');
}

void writer::value(double v) noexcept {
  if (!may_write_value()) return;
  if (!std::isfinite(v)) return fail(write_errc::not_finite);
  std::array<char, 32> text;  // the longest shortest form has 24 characters
  const auto end = std::to_chars(text.data(), text.data() + text.size(), v).ptr;
  state().rapid.separate(rapidjson::kNumberType);
  out_.write({text.data(), static_cast<std::size_t>(end - text.data())});
}

void writer::fixed(double v, int places) noexcept {
  if (!may_write_value()) return;
  if (!std::isfinite(v)) return fail(write_errc::not_finite);
  if (places < 0 || places > 17) return fail(write_errc::misuse);
  std::array<char, 336> text;  // a sign, 309 digits of the largest double, the point and 17 places
  const auto end = std::to_chars(text.data(), text.data() + text.size(), v, std::chars_format::fixed, places).ptr;
  std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
  if (places != 0) {
    while (digits.back() == '0') digits.remove_suffix(1);
    if (digits.back() == '.') digits.remove_suffix(1);
  }
  state().rapid.separate(rapidjson::kNumberType);
  out_.write(digits == "-0" ? "0" : digits);
}

void writer::signed_integer(std::int64_t v) noexcept {
  if (may_write_value()) state().rapid.Int64(v);
}
void writer::unsigned_integer(std::uint64_t v) noexcept {
  if (may_write_value()) state().rapid.Uint64(v);
}
void writer::boolean(bool v) noexcept {
  if (may_write_value()) state().rapid.Bool(v);
}
void writer::null() noexcept {
  if (may_write_value()) state().rapid.Null();
}

write_errc writer::end(bool line) noexcept {
  if (!state().rapid.IsComplete()) fail(write_errc::misuse);
  if (line) out_.put('\n');  // also behind a broken document: the next line then begins clean
  if (!line) out_.flush();
  if (out_.refused() && status_ == write_errc::ok) status_ = write_errc::no_room;
  state().rapid.Reset(state().stream);
  const write_errc answer = status_;
  status_ = write_errc::ok;
  return answer;
}

std::string_view to_string(write_errc code) noexcept {
  switch (code) {
    case write_errc::ok:
      return "ok";
    case write_errc::no_room:
      return "no_room";
    case write_errc::too_deep:
      return "too_deep";
    case write_errc::not_finite:
      return "not_finite";
    case write_errc::misuse:
      return "misuse";
  }
  return "unknown";
}

}  // namespace millrace::json

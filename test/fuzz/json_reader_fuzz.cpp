// Any bytes into the reader; what it accepts is written again, must be read again, and must then say the same.
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

#include "json/reader.hpp"
#include "json/writer.hpp"

namespace {

using namespace millrace;

constexpr std::uint32_t max_input = 4096;
constexpr json::read_limits limits{.max_bytes = max_input, .max_depth = json::writer::max_depth};
// What is written again may be longer: a control character or a number takes more characters.
constexpr json::read_limits wider{.max_bytes = 8 * max_input, .max_depth = json::writer::max_depth};

void require(bool holds) {
  if (!holds) std::abort();
}

class rewriter final : public json::handler {
 public:
  explicit rewriter(std::string& out) : sink_(out), out_(sink_) {}
  json::write_errc end() { return out_.end_document(); }

 private:
  json::string_sink sink_;
  json::writer out_;

  bool on_null() noexcept override { return out_.null(), true; }
  bool on_bool(bool v) noexcept override { return out_.value(v), true; }
  bool on_integer(std::int64_t v) noexcept override { return out_.value(v), true; }
  bool on_unsigned(std::uint64_t v) noexcept override {
    require(v > std::uint64_t{INT64_MAX});
    return out_.value(v), true;
  }
  bool on_double(double v) noexcept override {
    require(std::isfinite(v));
    return out_.value(v), true;
  }
  bool on_string(std::string_view v) noexcept override { return out_.value(v), true; }
  bool on_begin_object() noexcept override { return out_.begin_object(), true; }
  bool on_key(std::string_view v) noexcept override { return out_.key(v), true; }
  bool on_end_object() noexcept override { return out_.end_object(), true; }
  bool on_begin_array() noexcept override { return out_.begin_array(), true; }
  bool on_end_array() noexcept override { return out_.end_array(), true; }
};

// The document again, in our own writing; empty when it was refused.
std::string rewritten(base::byte_view text, const json::read_limits& within) {
  static std::array<std::byte, json::reader::scratch_size(wider)> scratch;
  std::string out;
  rewriter events(out);
  const json::read_result got = json::reader(within, scratch).read(text, events);
  require(got.at <= text.size() || got.code == json::read_errc::too_large);
  if (!got) return {};
  require(events.end() == json::write_errc::ok && !out.empty());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::byte_view text(data, size);
  const std::string once = rewritten(text, limits);
  if (!once.empty()) {
    require(rewritten(base::as_bytes(once), wider) == once);
  }
  // Any bytes as a string must come out as JSON.
  std::string quoted;
  json::string_sink sink(quoted);
  json::writer out(sink);
  out.value(base::as_text(text));
  require(out.end_document() == json::write_errc::ok);
  if (size <= max_input) require(!rewritten(base::as_bytes(quoted), wider).empty());
  return 0;
}

#include "loadgen/stream_method.hpp"

#include <algorithm>
#include <optional>

#include "loadgen/stream_pattern.hpp"

namespace millrace::loadgen {
namespace {

// The two members; anything else that stands in the object is passed over.
class arguments final : public json::handler {
  enum class member : std::uint8_t { other, bytes, item } at_ = member::other;
  unsigned depth_ = 0;

 public:
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> item;

  bool on_begin_object() noexcept override {
    ++depth_;
    return true;
  }
  bool on_end_object() noexcept override {
    --depth_;
    at_ = member::other;
    return true;
  }
  bool on_key(std::string_view name) noexcept override {
    at_ = depth_ != 1 ? member::other : name == "bytes" ? member::bytes : name == "item" ? member::item : member::other;
    return true;
  }
  bool on_integer(std::int64_t n) noexcept override {
    if (n < 0) return at_ == member::other;
    if (at_ == member::bytes) bytes = static_cast<std::uint64_t>(n);
    if (at_ == member::item) item = static_cast<std::uint64_t>(n);
    return true;
  }
};

}  // namespace

void answer_stream(void* pattern, rpc::call& c) noexcept {
  const auto& bytes_of = *static_cast<const stream_pattern*>(pattern);
  arguments asked;
  if (!c.has_json() || !c.read(asked) || !asked.bytes || !asked.item || *asked.item == 0)
    return c.fail(rpc::code::failed, "the arguments are {\"bytes\":N,\"item\":M}, M above 0");
  for (std::uint64_t offset = 0; offset < *asked.bytes;) {
    const std::uint64_t count = std::min(*asked.item, *asked.bytes - offset);
    const std::size_t size = bytes_of.put_item(c.room(), offset, static_cast<std::size_t>(count));
    if (size == 0) return c.fail(rpc::code::failed, "an item does not fit a reply");
    if (!c.item(size)) return;
    offset += count;
  }
}

}  // namespace millrace::loadgen

#include "loadgen/load_messages.hpp"

#include <array>

#include "loadgen/seeded_bytes.hpp"
#include "rpc/client.hpp"

namespace millrace::loadgen {
namespace {

constexpr std::uint8_t first_letter = 'a';
constexpr std::string_view opening = R"({"n":")";
constexpr std::string_view closing = R"("})";
static_assert(opening.size() + 16 + closing.size() == load_messages::least_arguments);

// The sixteen halves of eight bytes, each a byte of its own, low half first.
std::array<std::uint8_t, 16> letters_of(std::uint64_t bits) noexcept {
  std::array<std::uint8_t, 16> out;
  for (unsigned i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>(first_letter + (bits >> (4 * i) & 0xF));
  return out;
}

// False when one of them is no letter of ours.
bool read_letters(const std::uint8_t* p, std::uint64_t& bits) noexcept {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned value = p[i] - unsigned{first_letter};
    if (value > 0xF) return false;
    sum |= std::uint64_t{value} << (4 * i);
  }
  bits = sum;
  return true;
}

}  // namespace

load_messages::load_messages(const load_settings& settings) : ask_(settings.ask) {
  switch (ask_) {
    case load_ask::echo:
    case load_ask::one_way:
      image_.resize(settings.size);
      seeded_bytes(settings.size).fill(image_);
      stamp_size_ = std::min<std::size_t>(raw_stamp_size, settings.size);
      return;
    case load_ask::rpc_echo: {
      // One member, as long as it has to be: compact JSON of exactly the wanted size.
      std::string arguments(opening);
      arguments.append(text_stamp_size, static_cast<char>(first_letter));
      arguments.append(settings.size - least_arguments, 'x');
      arguments += closing;
      image_.resize(rpc::wire::encoded_size(settings.method.size(), rpc::wire::form::plain, true, arguments.size()));
      (void)rpc::wire::emit(image_, settings.method, base::as_bytes(arguments));
      data_at_ = image_.size() - arguments.size();
      stamp_at_ = data_at_ + opening.size();
      stamp_size_ = text_stamp_size;
      return;
    }
    case load_ask::rpc_call:
    case load_ask::rpc_stream:
      image_.resize(rpc::wire::encoded_size(settings.method.size(), rpc::wire::form::plain, false, 0));
      (void)rpc::wire::emit(image_, settings.method, {});
      return;
  }
}

void load_messages::write_stamp(std::uint8_t* to, load_stamp stamp) const noexcept {
  if (stamp_size_ == text_stamp_size) {
    const auto letters = letters_of(stamp.bits);
    std::memcpy(to, letters.data(), letters.size());
    return;
  }
  std::array<std::uint8_t, raw_stamp_size> raw;  // fewer bytes than it has: the number first
  base::store_le64(raw.data(), stamp.bits);
  std::memcpy(to, raw.data(), stamp_size_);
}

bool load_messages::is_same_around(base::byte_view got, std::size_t from) const noexcept {
  const base::byte_view image = base::byte_view(image_).subspan(from);
  if (got.size() != image.size()) return false;
  const std::size_t at = stamp_at_ - from;
  const std::size_t behind = at + stamp_size_;
  return std::memcmp(got.data(), image.data(), at) == 0 &&
         std::memcmp(got.data() + behind, image.data() + behind, image.size() - behind) == 0;
}

load_verdict load_messages::judge_raw(base::byte_view got, load_stamp asked) const noexcept {
  if (got.size() != image_.size()) return load_verdict::wrong;
  if (got.empty()) return load_verdict::right;
  if (!is_same_around(got, 0)) return load_verdict::wrong;
  std::array<std::uint8_t, raw_stamp_size> raw;
  base::store_le64(raw.data(), asked.bits);
  if (std::memcmp(got.data(), raw.data(), stamp_size_) == 0) return load_verdict::right;
  if (stamp_size_ != raw_stamp_size) return load_verdict::wrong;
  return load_stamp{base::load_le64(got.data())}.is_older_than(asked) ? load_verdict::stale : load_verdict::wrong;
}

load_verdict load_messages::judge_echoed(base::byte_view arguments, load_stamp asked) const noexcept {
  load_stamp theirs;
  if (!is_same_around(arguments, data_at_) || !read_letters(arguments.data() + (stamp_at_ - data_at_), theirs.bits))
    return load_verdict::wrong;
  if (theirs.bits == asked.bits) return load_verdict::right;
  return theirs.is_older_than(asked) ? load_verdict::stale : load_verdict::wrong;
}

load_verdict load_messages::judge_call(const srmp::wire::frame& f, load_stamp asked) const noexcept {
  if (ask_ == load_ask::one_way) return load_verdict::wrong;  // nothing was asked
  const rpc::reply got = rpc::reply_of(f);
  switch (got.outcome) {
    case rpc::reply_outcome::malformed:
      return load_verdict::wrong;
    case rpc::reply_outcome::error:
      return load_verdict::error;
    case rpc::reply_outcome::success:
      break;
  }
  if (ask_ == load_ask::rpc_echo) return judge_echoed(got.data, asked);
  return ask_ == load_ask::rpc_stream && got.has_data ? load_verdict::item : load_verdict::right;
}

}  // namespace millrace::loadgen

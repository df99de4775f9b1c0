// RFC 9001 9.2, RFC 8446 8.2: single use within a window, by recording hellos.
//
// An entry is (tag << 24) | expiry, both never 0 together. A look-up reads the eight words of one bucket: an entry of
// the same tag that has not expired is a replay; otherwise the first expired or empty word is taken by
// compare-and-swap.
//
// What could go wrong is the race: two lcores hold the same hello, both find nothing, both write, each into another
// word. So a writer looks at its bucket once more afterwards. In every order of the four memory operations at least one
// of the two sees the other's entry, and whoever does rejects; both may, which costs a round trip and is safe.
// Sequential consistency is needed for "at least one".
//
// Expiry is compared modulo 2^24 seconds (194 days): an entry untouched for half of that would look fresh again, and
// would reject a hello of the same 40-bit tag, which is a false alarm in 2^40.
#include "tls/anti_replay.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "crypto/random.hpp"

namespace millrace::tls {
namespace {

constexpr std::size_t bucket_entries = 8;  // a cache line
constexpr std::uint64_t expiry_mask = 0xff'ffff;
constexpr std::int64_t ns_per_s = 1'000'000'000;

bool is_expired(std::uint64_t entry, std::uint64_t now_s) noexcept {
  return entry == 0 || ((entry - now_s) & expiry_mask) > expiry_mask / 2;
}

}  // namespace

anti_replay::anti_replay(const anti_replay_limits& limits, std::int64_t now_ns) noexcept
    : window_ms_(limits.window_ms), since_ns_(now_ns) {
  const std::size_t entries = std::bit_ceil(limits.entries < 64 ? std::size_t{64} : limits.entries);
  std::array<std::uint8_t, 16> key{};
  if (!crypto::random_bytes(key)) return;
  std::memcpy(&key_.k0, key.data(), 8);
  std::memcpy(&key_.k1, key.data() + 8, 8);
  room_ = mem::region::make_array<std::uint64_t>("anti-replay", entries);
  bucket_mask_ = entries / bucket_entries - 1;
}

anti_replay::verdict anti_replay::add(base::byte_view binder, std::int64_t now_ns) noexcept {
  if (!room_) return verdict::full;
  const std::uint64_t hash = crypto::siphash_2_4(key_, binder);
  const std::uint64_t tag = hash >> 24;
  // The window, and two seconds for the rounding of both ends.
  const auto now_s = static_cast<std::uint64_t>(now_ns / ns_per_s) & expiry_mask;
  const std::uint64_t expiry = (now_s + window_ms_ / 1000 + 2) & expiry_mask;
  std::uint64_t entry = tag << 24 | expiry;
  if (entry == 0) entry = 1;
  const std::span<std::uint64_t> bucket =
      room_.array<std::uint64_t>().subspan((hash & bucket_mask_) * bucket_entries, bucket_entries);

  const auto count_same = [&] {
    std::size_t same = 0;
    for (std::uint64_t& word : bucket) {
      const std::uint64_t seen = std::atomic_ref(word).load(std::memory_order_seq_cst);
      same += seen >> 24 == tag && !is_expired(seen, now_s);
    }
    return same;
  };
  if (count_same() != 0) {
    replayed_.fetch_add(1, std::memory_order_relaxed);
    return verdict::replayed;
  }
  for (std::uint64_t& word : bucket) {
    std::atomic_ref<std::uint64_t> slot(word);
    std::uint64_t seen = slot.load(std::memory_order_seq_cst);
    if (!is_expired(seen, now_s)) continue;
    if (!slot.compare_exchange_strong(seen, entry, std::memory_order_seq_cst)) continue;
    if (count_same() > 1) {
      replayed_.fetch_add(1, std::memory_order_relaxed);
      return verdict::replayed;
    }
    accepted_.fetch_add(1, std::memory_order_relaxed);
    return verdict::fresh;
  }
  refused_full_.fetch_add(1, std::memory_order_relaxed);
  return verdict::full;
}

}  // namespace millrace::tls

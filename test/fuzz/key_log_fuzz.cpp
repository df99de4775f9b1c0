// Key log text of any kind, whole and in pieces: both say the same, every line is counted once, and what is kept stays
// within its table.
//
// Input    2 bytes: the size of the pieces (little-endian, 0: whole); the text.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "inspect/key_log_feed.hpp"

namespace {

using namespace millrace;

void require(bool holds) {
  if (!holds) std::abort();
}

struct bed {
  static constexpr std::uint32_t handshakes = 4;
  std::vector<std::byte> memory;
  inspect::secret_table table;
  inspect::key_log_feed feed;

  bed() {
    inspect::limits l;
    l.max_secrets = handshakes;
    inspect::carver measure;
    (void)inspect::secret_table(measure, l, 1);
    memory.resize(measure.bytes() + 64);
    auto* at = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
    inspect::carver carve({at, measure.bytes()});
    table = inspect::secret_table(carve, l, 1);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = std::size_t{data[0]} | std::size_t{data[1]} << 8;
  // Copied, so that the sanitizer knows where it ends.
  const std::vector<char> text(reinterpret_cast<const char*>(data) + 2, reinterpret_cast<const char*>(data) + size);
  const std::string_view all(text.data(), text.size());
  bed whole;
  whole.feed.feed(all, whole.table);
  whole.feed.finish(whole.table);
  const inspect::key_log_counts& c = whole.feed.counts();
  const auto newlines = static_cast<std::uint64_t>(std::count(all.begin(), all.end(), '\n'));
  const std::uint64_t lines = newlines + (all.empty() || all.back() == '\n' ? 0 : 1);
  require(c.secrets + c.no_room + c.client_random + c.other + c.malformed + c.blank == lines);
  require(c.repeated <= c.secrets && whole.table.in_use() <= bed::handshakes);
  if (piece == 0) return 0;
  bed parts;
  for (std::size_t at = 0; at < all.size(); at += piece) parts.feed.feed(all.substr(at, piece), parts.table);
  parts.feed.finish(parts.table);
  const inspect::key_log_counts& p = parts.feed.counts();
  require(p.secrets == c.secrets && p.repeated == c.repeated && p.no_room == c.no_room && p.other == c.other &&
          p.client_random == c.client_random && p.malformed == c.malformed && p.blank == c.blank);
  require(parts.table.in_use() == whole.table.in_use());
  return 0;
}

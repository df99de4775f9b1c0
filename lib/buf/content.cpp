#include "buf/content.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

namespace millrace::buf {
namespace {

struct closer {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

base::failure no_blocks(const std::string& what, const large_block_pool& blocks) {
  return {what + " does not fit into the blocks of '" + blocks.set().config().name + "' (" +
              std::to_string(blocks.size()) + " of 64 KiB)",
          "a pool with more blocks"};
}

}  // namespace

base::byte_span content::room() {
  const auto used = static_cast<std::size_t>(size_bytes_ % large_block_bytes);
  if (used == 0 && held_.size() * large_block_bytes == size_bytes_) {
    large_block fresh = blocks_->alloc();
    if (!fresh) return {};
    held_.push_back(std::move(fresh));
  }
  return held_.back().bytes().subspan(used);
}

bool content::add(base::byte_view bytes) {
  while (!bytes.empty()) {
    const base::byte_span into = room();
    if (into.empty()) return false;
    const std::size_t count = std::min(into.size(), bytes.size());
    std::memcpy(into.data(), bytes.data(), count);
    size_bytes_ += count;
    bytes = bytes.subspan(count);
  }
  return true;
}

base::result<content> content::load(large_block_pool& blocks, base::byte_view bytes) {
  content made;
  made.blocks_ = &blocks;
  if (!made.add(bytes)) return no_blocks("content of " + std::to_string(bytes.size()) + " bytes", blocks);
  return made;
}

base::result<content> content::load_file(large_block_pool& blocks, const std::string& path) {
  const std::unique_ptr<std::FILE, closer> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return base::failure{"cannot open '" + path + "'", "", true};
  content made;
  made.blocks_ = &blocks;
  while (true) {
    const base::byte_span into = made.room();
    if (into.empty()) {  // no block left: the file may end just here
      std::uint8_t more = 0;
      if (std::fread(&more, 1, 1, file.get()) != 0) return no_blocks("'" + path + "'", blocks);
      break;
    }
    const std::size_t got = std::fread(into.data(), 1, into.size(), file.get());
    made.size_bytes_ += got;
    if (got < into.size()) break;
  }
  if (std::ferror(file.get()) != 0) return base::failure{"cannot read '" + path + "'", "", true};
  return made;
}

base::byte_view content::view(std::uint64_t offset, std::size_t most) const noexcept {
  if (offset >= size_bytes_) return {};
  const auto inside = static_cast<std::size_t>(offset % large_block_bytes);
  const auto left = static_cast<std::size_t>(std::min<std::uint64_t>(size_bytes_ - offset, large_block_bytes - inside));
  return held_[static_cast<std::size_t>(offset / large_block_bytes)].bytes().subspan(inside, std::min(left, most));
}

packet content::share(std::uint64_t offset, std::uint32_t most) const noexcept {
  if (offset >= size_bytes_ || most == 0) return {};
  const auto inside = static_cast<std::uint32_t>(offset % large_block_bytes);
  const std::uint64_t left = std::min<std::uint64_t>(size_bytes_ - offset, large_block_bytes - inside);
  const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, most));
  return blocks_->share(held_[static_cast<std::size_t>(offset / large_block_bytes)], inside, count);
}

}  // namespace millrace::buf

#include "service/site_tree.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <unordered_map>

#include "base/hash.hpp"
#include "crypto/sha256_stream.hpp"
#include "http/wire/content_type.hpp"

namespace millrace::service {
namespace {

using base::failure;
using base::outcome;
using http::wire::content_coding_count;
using http::wire::content_coding_endings;

constexpr std::string_view index_name = "index.html";
constexpr std::uint32_t mbufs_per_block = 2;  // for carriers that send packets that name a block's bytes

class open_file {
  int fd_;

 public:
  explicit open_file(const std::string& path) noexcept
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  // It is what scan() saw.
  [[nodiscard]] bool is_still(const scanned_file& seen) const noexcept {
    struct stat now{};
    return ::fstat(fd_, &now) == 0 && S_ISREG(now.st_mode) && static_cast<std::uint64_t>(now.st_size) == seen.size &&
           std::int64_t{now.st_mtim.tv_sec} * 1'000'000'000 + now.st_mtim.tv_nsec == seen.modified_ns;
  }
};

std::uint64_t blocks_for(std::uint64_t bytes) noexcept {
  return std::max<std::uint64_t>(1, (bytes + buf::large_block_bytes - 1) / buf::large_block_bytes);
}

// RFC 9110 8.8.1: strong, by what is in it. RFC 9110 8.8.3.3: so each stored form has one of its own.
std::array<char, site_tag_size> tag_of(const crypto::sha256_digest& digest) noexcept {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<char, site_tag_size> out;
  out.front() = out.back() = '"';
  for (std::size_t i = 0; i < (site_tag_size - 2) / 2; ++i) {
    out[1 + 2 * i] = digits[digest[i] >> 4];
    out[2 + 2 * i] = digits[digest[i] & 15];
  }
  return out;
}

std::uint32_t hash_of(std::uint32_t directory, std::string_view path) noexcept {
  return static_cast<std::uint32_t>(base::hash_bytes(base::as_bytes(path), directory) >> 32);
}

// The whole of `file` behind what `into` has, and its digest.
outcome read_file(const scanned_file& file, buf::content& into, const crypto::engine& e,
                  crypto::sha256_digest& digest) {
  const auto failed = [&](const std::string& why) {
    return failure{"'" + file.on_disk + "' cannot be served: " + why, "", true};
  };
  const open_file opened(file.on_disk);
  if (opened.fd() < 0) return failed(std::strerror(errno));
  crypto::sha256_stream hash(e);
  std::uint64_t left = file.size;
  while (left != 0) {
    const base::byte_span room = into.room();
    if (room.empty()) return failed("no memory for its blocks");
    const ssize_t got = ::read(opened.fd(), room.data(), std::min<std::uint64_t>(room.size(), left));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(std::strerror(errno));
    if (got == 0) break;
    const auto bytes = static_cast<std::size_t>(got);
    hash.update(room.first(bytes));
    into.took(bytes);
    left -= bytes;
  }
  if (left != 0 || !opened.is_still(file)) return failed("it changed while it was read");
  hash.finish(digest);
  return base::done{};
}

}  // namespace

outcome site_tree::read(const site_scan& from) {
  const auto engine = crypto::engine::make();
  if (!engine) return failure{"IPsec-MB cannot start on this CPU", ""};
  bytes_ = buf::content(pool_);
  for (const scanned_file& file : from.files) {
    site_form form;
    form.offset = bytes_.size();
    form.size = file.size;
    // RFC 9110 8.8.2: whole seconds; before 1970, down.
    form.modified_s = file.modified_ns / 1'000'000'000 - (file.modified_ns % 1'000'000'000 < 0 ? 1 : 0);
    form.modified = http::wire::emit_date(form.modified_s);
    crypto::sha256_digest digest;
    if (auto taken = read_file(file, bytes_, *engine, digest); !taken) return taken;
    form.tag = tag_of(digest);
    forms_.push_back(form);
    facts_.bytes += file.size;
    // A gap is never longer than what is left of a block: blocks are multiples of it.
    if (const std::uint64_t gap = aligned_size(file.size) - file.size; gap != 0)
      bytes_.took(static_cast<std::size_t>(gap));
  }
  return base::done{};
}

void site_tree::make_entries(const site_scan& from, std::span<const site_directory> directories) {
  const auto key = [](std::uint32_t directory, std::string_view path) {
    std::string text = std::to_string(directory);
    text += path;
    return text;
  };
  std::unordered_map<std::string, const site_form*> by_path;
  for (std::size_t i = 0; i < from.files.size(); ++i)
    by_path.emplace(key(from.files[i].directory, from.files[i].path), &forms_[i]);
  for (const scanned_file& file : from.files) {
    site_entry e{.directory = file.directory, .path = file.path};
    e.type = http::wire::content_type_of(file.path);
    for (std::size_t i = 0; i < content_coding_count; ++i) {
      const auto found = by_path.find(key(file.directory, file.path + std::string(content_coding_endings[i])));
      if (found == by_path.end()) continue;
      e.forms[i] = found->second;
      e.has[i] = true;
    }
    const std::size_t slash = file.path.rfind('/');
    if (std::string_view(file.path).substr(slash + 1) == index_name) {
      site_entry at = e;
      at.path = file.path.substr(0, slash + 1);
      const std::string& mount = directories[file.directory].path;
      site_entry to{.directory = file.directory, .path = file.path.substr(0, slash)};
      to.location = (mount == "/" ? "" : percent_encoded(mount)) + percent_encoded(at.path);
      // The root of "/" has no form without a slash.
      if (!to.path.empty() || mount != "/") entries_.push_back(std::move(to));
      entries_.push_back(std::move(at));
    }
    entries_.push_back(std::move(e));
  }
}

void site_tree::make_table() {
  table_.resize(std::bit_ceil(std::max<std::size_t>(2 * entries_.size(), 2)));
  const std::size_t mask = table_.size() - 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::uint32_t hash = hash_of(entries_[i].directory, entries_[i].path);
    std::size_t at = hash & mask;
    while (table_[at].entry != UINT32_MAX) at = (at + 1) & mask;
    table_[at] = {hash, static_cast<std::uint32_t>(i)};
  }
}

const site_entry* site_tree::find(std::uint32_t directory, std::string_view path) const noexcept {
  const std::uint32_t hash = hash_of(directory, path);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = hash & mask; table_[at].entry != UINT32_MAX; at = (at + 1) & mask) {
    if (table_[at].hash != hash) continue;
    const site_entry& e = entries_[table_[at].entry];
    if (e.directory == directory && e.path == path) return &e;
  }
  return nullptr;
}

base::result<std::unique_ptr<site_tree>> site_tree::load(std::span<const site_directory> directories,
                                                         const site_settings& s, const std::string& name) {
  auto found = scan(directories, s);
  if (!found) return found.error();
  site_scan& from = found.value();
  const std::uint64_t blocks = blocks_for(from.bytes);
  buf::large_block_pool_config config;
  config.name = name;
  config.blocks_per_mempool = static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, UINT32_MAX / 2));
  config.cache = 0;
  config.mbufs_per_block = mbufs_per_block;
  auto pool = buf::large_block_pool::make(config);
  if (!pool)
    return failure{"the files of " + std::to_string(directories.size()) + " directories need " +
                       std::to_string(blocks) + " blocks of 64 KiB: " + pool.error().what,
                   pool.error().hint};
  std::unique_ptr<site_tree> made(new site_tree(std::move(pool.value())));
  made->forms_.reserve(from.files.size());  // entries point at them
  if (auto taken = made->read(from); !taken) return taken.error();
  made->make_entries(from, directories);
  made->make_table();
  made->facts_.files = from.files.size();
  made->facts_.blocks = blocks;
  made->facts_.omitted = std::move(from.omitted);
  return made;
}

std::size_t tree_memory_bytes(std::uint64_t bytes) noexcept {
  constexpr std::size_t a_block = buf::large_block_bytes + 64 + 192 + mbufs_per_block * 256;
  return static_cast<std::size_t>(blocks_for(bytes)) * a_block + 65'536;
}

}  // namespace millrace::service

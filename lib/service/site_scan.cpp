// Directories that are still to be walked wait in a list, so that their depth costs no stack; a file system has no
// loops but by links, and links to directories are not followed.
#include "service/site_scan.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "http/wire/target.hpp"

namespace millrace::service {
namespace {

using base::failure;
using base::outcome;

struct closer {
  void operator()(DIR* d) const noexcept { ::closedir(d); }
};
struct freer {
  void operator()(char* text) const noexcept { std::free(text); }
};

failure unreadable(const std::string& path, int code) {
  return {"'" + path + "' cannot be served: " + std::strerror(code), "", true};
}

// Empty: it leads nowhere.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, freer> text(::realpath(path.c_str(), nullptr));
  return text == nullptr ? std::string{} : std::string(text.get());
}

// What is asked for by this path arrives as this path.
bool is_askable(const std::string& path) {
  const std::string encoded = percent_encoded(path);
  std::vector<char> scratch(encoded.size());
  return http::wire::normalize_path(encoded, scratch).path == path;
}

class walk {
  const site_directory& directory_;
  const std::uint32_t which_;
  const site_settings& settings_;
  site_scan& out_;
  std::string root_;  // with links resolved, without a slash at its end
  std::vector<std::string> waiting_;

  void omit_link(const std::string& on_disk) {
    if (out_.omitted.links++ == 0) out_.omitted.first_link = on_disk;
  }

  outcome take(std::string path, std::string on_disk, const struct stat& now) {
    if (!is_askable(path)) {
      if (out_.omitted.unaskable++ == 0) out_.omitted.first_unaskable = std::move(on_disk);
      return base::done{};
    }
    if (out_.files.size() == settings_.most_files)
      return failure{
          "'" + on_disk + "' is one file more than the " + std::to_string(settings_.most_files) + " that may be served",
          "raise 'files' in [http], or serve less", true};
    const auto size = static_cast<std::uint64_t>(now.st_size);
    if (size > settings_.most_bytes || aligned_size(size) > settings_.most_bytes - out_.bytes)
      return failure{"'" + on_disk + "' does not fit: all files may have " + std::to_string(settings_.most_bytes) +
                         " bytes, those before it have " + std::to_string(out_.bytes),
                     "raise 'bytes' in [http], or serve less", true};
    out_.bytes += aligned_size(size);
    const std::int64_t modified_ns = std::int64_t{now.st_mtim.tv_sec} * 1'000'000'000 + now.st_mtim.tv_nsec;
    out_.files.push_back({which_, std::move(path), std::move(on_disk), size, modified_ns});
    return base::done{};
  }

  outcome take_link(std::string path, const std::string& on_disk) {
    std::string target = resolved(on_disk);
    struct stat now{};
    // realpath() leaves no link and no dot behind: what begins with the root lies in it.
    if (target.empty() || !target.starts_with(root_ + "/") || target.find("/.", root_.size()) != std::string::npos ||
        ::lstat(target.c_str(), &now) != 0 || !S_ISREG(now.st_mode)) {
      omit_link(on_disk);
      return base::done{};
    }
    return take(std::move(path), std::move(target), now);
  }

  outcome visit(const std::string& below, std::string_view name) {
    if (name == "." || name == "..") return base::done{};
    if (name.starts_with('.')) {
      ++out_.omitted.hidden;
      return base::done{};
    }
    std::string path = below + "/";
    path += name;
    std::string on_disk = root_ + path;
    if (path.size() > settings_.most_path_bytes)
      return failure{
          "'" + on_disk + "' has a path of more than " + std::to_string(settings_.most_path_bytes) + " bytes",
          "raise 'path-bytes' in [http], or rename it", true};
    struct stat now{};
    if (::lstat(on_disk.c_str(), &now) != 0) return unreadable(on_disk, errno);
    if (S_ISLNK(now.st_mode)) return take_link(std::move(path), on_disk);
    if (S_ISREG(now.st_mode)) return take(std::move(path), std::move(on_disk), now);
    if (S_ISDIR(now.st_mode))
      waiting_.push_back(std::move(path));
    else
      ++out_.omitted.special;
    return base::done{};
  }

 public:
  walk(const site_directory& directory, std::uint32_t which, const site_settings& settings, site_scan& out)
      : directory_(directory), which_(which), settings_(settings), out_(out) {}

  outcome run() {
    errno = 0;
    root_ = resolved(directory_.root);
    if (root_.empty()) return unreadable(directory_.root, errno);
    if (root_ == "/") root_.clear();
    waiting_.emplace_back();
    while (!waiting_.empty()) {
      const std::string below = std::move(waiting_.back());
      waiting_.pop_back();
      const std::string on_disk = root_ + below + "/";
      const std::unique_ptr<DIR, closer> opened(::opendir(on_disk.c_str()));
      if (opened == nullptr) return unreadable(below.empty() ? directory_.root : root_ + below, errno);
      errno = 0;
      while (const dirent* const one = ::readdir(opened.get())) {
        if (auto taken = visit(below, one->d_name); !taken) return taken;
        errno = 0;
      }
      if (errno != 0) return unreadable(on_disk, errno);
    }
    return base::done{};
  }
};

}  // namespace

std::string percent_encoded(std::string_view path) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter || (c >= '0' && c <= '9') || std::string_view("-._~/").find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    out += '%';
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

base::result<site_scan> scan(std::span<const site_directory> directories, const site_settings& s) {
  site_scan out;
  for (std::size_t i = 0; i < directories.size(); ++i)
    if (auto walked = walk(directories[i], static_cast<std::uint32_t>(i), s, out).run(); !walked) return walked.error();
  std::sort(out.files.begin(), out.files.end(), [](const scanned_file& a, const scanned_file& b) {
    return a.directory != b.directory ? a.directory < b.directory : a.path < b.path;
  });
  return out;
}

}  // namespace millrace::service

#include "app/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace millrace::app {
namespace {

constexpr mode_t new_file_mode = 0666;  // less the umask

base::failure refused(const std::string& option, const std::string& path, const std::string& why) {
  return {option + ' ' + path + ": " + why, "", true};
}

}  // namespace

std::vector<file_identity> identities_of(std::span<const std::string> paths) {
  std::vector<file_identity> found;
  for (const std::string& path : paths) {
    struct stat info{};
    if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) found.push_back({info.st_dev, info.st_ino, path});
  }
  return found;
}

output_file& output_file::operator=(output_file&& other) noexcept {
  if (this != &other) {
    close();
    option_ = std::move(other.option_);
    path_ = std::move(other.path_);
    file_ = std::exchange(other.file_, nullptr);
  }
  return *this;
}

base::result<output_file> output_file::open(std::string option, std::string path,
                                            std::span<const file_identity> taken) {
  if (path.empty()) return output_file{};
  if (path == "-") return output_file(std::move(option), std::move(path), stdout);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, new_file_mode);
  if (descriptor < 0) return refused(option, path, std::string("cannot be written: ") + std::strerror(errno));
  struct stat info{};
  if (::fstat(descriptor, &info) == 0)
    for (const file_identity& other : taken)
      if (other.device == info.st_dev && other.inode == info.st_ino) {
        ::close(descriptor);
        return refused(option, path, "is the same file as " + other.name + ", which would be lost");
      }
  std::FILE* file = ::fdopen(descriptor, "w");  // does not truncate: the descriptor is open already
  if (file == nullptr) {
    ::close(descriptor);
    return refused(option, path, std::string("cannot be written: ") + std::strerror(errno));
  }
  return output_file(std::move(option), std::move(path), file);
}

std::FILE* output_file::stream() noexcept {
  struct stat info{};
  if (file_ != nullptr && file_ != stdout && ::fstat(::fileno(file_), &info) == 0 && S_ISREG(info.st_mode) &&
      ::ftruncate(::fileno(file_), 0) != 0)
    std::clearerr(file_);  // what cannot be emptied is overwritten from its beginning
  return file_;
}

base::failure output_file::cannot_write() const {
  const std::string why = std::strerror(errno);
  return {option_ + ' ' + path_ + ": cannot be written: " + why, "", false};
}

base::outcome output_file::finish() {
  if (file_ == nullptr) return base::done{};
  std::FILE* file = std::exchange(file_, nullptr);
  errno = 0;
  const bool written = file == stdout ? std::fflush(file) == 0 && std::ferror(file) == 0 : std::fclose(file) == 0;
  if (!written) return cannot_write();
  return base::done{};
}

void output_file::close() noexcept {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  file_ = nullptr;
}

}  // namespace millrace::app

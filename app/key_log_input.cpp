#include "app/key_log_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "crypto/wiped.hpp"

namespace millrace::app {
namespace {

constexpr std::size_t piece_bytes = 65'536;
// The shortest label, a random and a secret of 32 bytes: no line with a secret is shorter.
constexpr std::uint64_t shortest_line = 23 + 1 + 64 + 1 + 64 + 1;

base::failure unusable(const std::string& path, const std::string& why, std::string hint = {}) {
  return {"inspect: --keylog " + path + ": " + why, std::move(hint), true};
}

}  // namespace

base::result<key_log_input> key_log_input::open(const std::string& path) {
  key_log_input file;
  if (path.empty()) return file;
  file.path_ = path;
  if (path == "-")
    return unusable(path, "a key log is not read from stdin", "write it into a file first; ./- names a file '-'");
  // A FIFO would wait for its writer.
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor_ < 0) return unusable(path, std::strerror(errno));
  struct stat status{};
  if (::fstat(file.descriptor_, &status) != 0) return unusable(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return unusable(path, "is no regular file", "write the key log into a file first");
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  if (file.size_ == 0) return unusable(path, "is empty", "SSLKEYLOGFILE names the file that TLS libraries write");
  if (file.size_ > max_key_log_bytes) return unusable(path, "has more than 1 GiB", "keep the lines that are needed");
  return file;
}

key_log_input::~key_log_input() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t key_log_input::most_handshakes() const noexcept { return size_ / shortest_line + 1; }

base::outcome key_log_input::feed(inspect::analyzer& a) {
  if (descriptor_ < 0) return base::done{};
  const auto piece = std::make_unique<crypto::wiped<std::array<char, piece_bytes>>>();
  for (std::uint64_t taken = 0; taken <= max_key_log_bytes;) {  // a file that grows as fast as it is read has no end
    const ssize_t got = ::read(descriptor_, (*piece)->data(), piece_bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unusable(path_, std::strerror(errno));
    if (got == 0) break;
    taken += static_cast<std::uint64_t>(got);
    a.add_key_log({(*piece)->data(), static_cast<std::size_t>(got)});
  }
  a.end_key_log();
  return base::done{};
}

}  // namespace millrace::app

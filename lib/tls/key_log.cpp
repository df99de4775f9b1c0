#include "tls/key_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace millrace::tls {
namespace {

char* put_hex(base::byte_view bytes, char* out) noexcept {
  constexpr char digits[] = "0123456789abcdef";
  for (const std::uint8_t b : bytes) {
    *out++ = digits[b >> 4];
    *out++ = digits[b & 15];
  }
  return out;
}

bool write_all(int fd, const char* text, std::size_t size) noexcept {
  while (size != 0) {
    const ssize_t written = ::write(fd, text, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

std::size_t format_key_log_line(std::string_view label, base::byte_view client_random, base::byte_view secret,
                                char* out) noexcept {
  if (label.size() + 2 * client_random.size() + 2 * secret.size() + 2 > max_key_log_line) return 0;
  std::memcpy(out, label.data(), label.size());
  char* at = out + label.size();
  *at++ = ' ';
  at = put_hex(client_random, at);
  *at++ = ' ';
  at = put_hex(secret, at);
  return static_cast<std::size_t>(at - out);
}

key_log_queue::key_log_queue(std::size_t bytes) noexcept
    : room_(mem::region::make("key log", std::bit_ceil(bytes < 4096 ? std::size_t{4096} : bytes))),
      mask_(room_ ? room_.size_bytes() - 1 : 0) {}

void key_log_queue::push(std::string_view line) noexcept {
  while (pushing_.test_and_set(std::memory_order_acquire)) {
  }
  const std::uint64_t head = head_.load(std::memory_order_relaxed);
  const std::uint64_t used = head - tail_.load(std::memory_order_acquire);
  if (!room_ || line.size() + 1 > room_.size_bytes() - used) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  } else {
    auto* bytes = reinterpret_cast<char*>(room_.data());
    for (std::size_t i = 0; i < line.size(); ++i) bytes[(head + i) & mask_] = line[i];
    bytes[(head + line.size()) & mask_] = '\n';
    head_.store(head + line.size() + 1, std::memory_order_release);
  }
  pushing_.clear(std::memory_order_release);
}

std::size_t key_log_queue::drain(char* out, std::size_t room) noexcept {
  const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  const std::uint64_t held = head_.load(std::memory_order_acquire) - tail;
  const auto* bytes = reinterpret_cast<const char*>(room_.data());
  const std::size_t limit = held < room ? static_cast<std::size_t>(held) : room;
  std::size_t whole = 0;
  for (std::size_t i = 0; i < limit; ++i) {
    out[i] = bytes[(tail + i) & mask_];
    if (out[i] == '\n') whole = i + 1;
  }
  tail_.store(tail + whole, std::memory_order_release);
  return whole;
}

key_log_file& key_log_file::operator=(key_log_file&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

key_log_file::~key_log_file() {
  if (fd_ >= 0) ::close(fd_);
}

base::result<key_log_file> key_log_file::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) {
    return base::failure{"key log " + path + ": " + std::strerror(errno), "name a file in a folder that can be written",
                         true};
  }
  key_log_file out;
  out.fd_ = fd;
  return out;
}

std::string key_log_file::path_of_environment() {
  const char* path = std::getenv("SSLKEYLOGFILE");
  return path != nullptr ? path : "";
}

bool key_log_file::write_from(key_log_queue& queue) noexcept {
  char text[4096];
  for (std::size_t size = queue.drain(text, sizeof text); size != 0; size = queue.drain(text, sizeof text)) {
    if (fd_ < 0 || !write_all(fd_, text, size)) return false;
  }
  return true;
}

}  // namespace millrace::tls

// The descriptors and the handler's view of them are plain globals: a signal handler can use nothing else. Two ways
// lead out of a captured library without coming back: abort(), caught as SIGABRT, and exit(), caught by an atexit
// function registered once. Both copy the memory files to where the output should have gone, with read and write only.
#include "env/output_capture.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace millrace::env {
namespace {

constexpr std::size_t kept_cap_bytes = 64 * 1024;

struct stream {
  int target;  // 1 or 2
  int memory = -1;
  int saved = -1;
};
std::array<stream, 2> streams = {stream{STDOUT_FILENO}, stream{STDERR_FILENO}};
volatile sig_atomic_t capturing = 0;
struct sigaction previous_abort{};

void write_all(int fd, const char* data, std::size_t size) noexcept {
  while (size > 0) {
    const ssize_t put = ::write(fd, data, size);
    if (put <= 0) return;
    data += put;
    size -= static_cast<std::size_t>(put);
  }
}

// Async-signal-safe.
void replay() noexcept {
  for (const stream& s : streams) {
    std::array<char, 1024> piece;
    off_t at = 0;
    ssize_t got = 0;
    while ((got = ::pread(s.memory, piece.data(), piece.size(), at)) > 0) {
      write_all(s.saved, piece.data(), static_cast<std::size_t>(got));
      at += got;
    }
  }
}

void on_abort(int) {
  if (capturing == 0) return;
  capturing = 0;
  replay();  // back from here, abort() ends the process
}

void on_exit() {
  if (capturing == 0) return;
  std::fflush(stdout);
  capturing = 0;
  replay();
}

std::string contents(int fd) {
  std::string text(kept_cap_bytes, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::pread(fd, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

void close_all() noexcept {
  for (stream& s : streams) {
    if (s.memory >= 0) ::close(s.memory);
    if (s.saved >= 0) ::close(s.saved);
    s.memory = s.saved = -1;
  }
}

}  // namespace

output_capture::output_capture() {
  if (capturing != 0) return;
  std::fflush(stdout);
  std::fflush(stderr);
  for (stream& s : streams) {
    s.memory = ::memfd_create("millrace-output", MFD_CLOEXEC);
    s.saved = ::fcntl(s.target, F_DUPFD_CLOEXEC, 3);
  }
  if (streams[0].memory < 0 || streams[1].memory < 0 || streams[0].saved < 0 || streams[1].saved < 0) {
    close_all();
    return;
  }
  static const int registered = std::atexit(on_exit);
  static_cast<void>(registered);
  struct sigaction action{};
  action.sa_handler = on_abort;
  ::sigaction(SIGABRT, &action, &previous_abort);
  for (const stream& s : streams) ::dup2(s.memory, s.target);
  capturing = 1;
  active_ = true;
}

output_capture::~output_capture() { finish(); }

output_capture::text output_capture::finish() {
  if (!active_) return {};
  active_ = false;
  std::fflush(stdout);
  std::fflush(stderr);
  capturing = 0;
  for (const stream& s : streams) ::dup2(s.saved, s.target);
  ::sigaction(SIGABRT, &previous_abort, nullptr);
  text kept{contents(streams[0].memory), contents(streams[1].memory)};
  close_all();
  return kept;
}

}  // namespace millrace::env

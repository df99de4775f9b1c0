// test/support/process.hpp - a program run as a user runs it: arguments, environment, exit status, what it printed.
//
// Shape    run() waits for the end; child is started, watched and signalled. Output goes through files that have no
//          names, so that a program which prints much never waits for us.
// Owner    a child that still runs is killed with the object.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace millrace::test {

inline constexpr int run_timeout_s = 60;  // a program that hangs, not one that is slow

struct run_options {
  std::vector<std::pair<std::string, std::string>> set;  // environment; the rest is inherited
  std::vector<std::string> unset;
  std::string directory;  // to run in; empty: this one
};

struct run_result {
  int status = -1;  // exit status; -SIGNAL when a signal ended it
  std::string out;
  std::string err;

  // Without the newline at its end; empty when nothing was printed.
  [[nodiscard]] std::string last_error_line() const {
    std::string text = err;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    const auto newline = text.rfind('\n');
    return newline == std::string::npos ? text : text.substr(newline + 1);
  }
};

class child {
  pid_t pid_ = -1;
  std::array<int, 2> outputs_ = {-1, -1};

  static std::string contents(int fd) {
    std::string text;
    std::array<char, 4096> piece;
    ssize_t got = 0;
    while ((got = ::pread(fd, piece.data(), piece.size(), static_cast<off_t>(text.size()))) > 0)
      text.append(piece.data(), static_cast<std::size_t>(got));
    return text;
  }

  [[noreturn]] void become(const std::vector<std::string>& words, const run_options& options) const {
    for (const auto& [name, value] : options.set) ::setenv(name.c_str(), value.c_str(), 1);
    for (const std::string& name : options.unset) ::unsetenv(name.c_str());
    if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0) ::_exit(126);
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(outputs_[0], STDOUT_FILENO);
    ::dup2(outputs_[1], STDERR_FILENO);
    ::signal(SIGPIPE, SIG_DFL);
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }

 public:
  explicit child(const std::vector<std::string>& words, const run_options& options = {}) {
    for (int& fd : outputs_) fd = ::memfd_create("millrace-test-output", MFD_CLOEXEC);
    pid_ = ::fork();
    if (pid_ == 0) become(words, options);
  }
  ~child() {
    if (pid_ > 0) {
      signal(SIGKILL);
      wait();
    }
    for (const int fd : outputs_) ::close(fd);
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  [[nodiscard]] std::string out() const { return contents(outputs_[0]); }
  [[nodiscard]] std::string err() const { return contents(outputs_[1]); }

  // Whether the program has this file mapped now.
  [[nodiscard]] bool has_mapped(const std::string& path) const {
    std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
    const std::string text{std::istreambuf_iterator<char>(maps), {}};
    return text.find(path) != std::string::npos;
  }

  // Whether `done()` becomes true while the program runs, or at its end.
  template <class Done>
  [[nodiscard]] bool wait_until(Done done) const {
    for (int tries = 0; tries < run_timeout_s * 100; ++tries) {
      if (done()) return true;
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_)
        return done();
      ::usleep(10'000);
    }
    return false;
  }

  // Waits for the end; a program that does not end in time is killed, which is a failed test.
  run_result wait() {
    int status = 0;
    int tries = 0;
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
      if (++tries == run_timeout_s * 100) {
        ADD_FAILURE() << "process " << pid_ << " did not end in " << run_timeout_s << " s";
        signal(SIGKILL);
      }
      ::usleep(10'000);
    }
    pid_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), out(), err()};
  }
};

inline run_result run(const std::vector<std::string>& words, const run_options& options = {}) {
  return child(words, options).wait();
}

// The built program; empty when the test was not started by meson.
inline std::string millrace_program() {
  const char* build = std::getenv("MILLRACE_BUILD");
  return build == nullptr ? std::string() : std::string(build) + "/app/millrace";
}

inline run_result run_millrace(std::vector<std::string> words, const run_options& options = {}) {
  words.insert(words.begin(), millrace_program());
  return run(words, options);
}

}  // namespace millrace::test

#define MILLRACE_NEEDS_PROGRAM() \
  if (::millrace::test::millrace_program().empty()) GTEST_SKIP() << "MILLRACE_BUILD does not name the build folder"

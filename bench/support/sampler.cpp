// bench/support/sampler.cpp - a sampling profiler that any program can be started under, for kernels without perf.
//
// Shape    a library for LD_PRELOAD: with MILLRACE_SAMPLER_OUT=FILE set, SIGPROF interrupts the program
//          MILLRACE_SAMPLER_HZ times a second of its CPU time (997 unless told), the handler walks the frame pointers
//          of the interrupted thread, and the samples are written to FILE when the program exits, or after
//          MILLRACE_SAMPLER_MS milliseconds, which then end it. scripts/profile turns them into stacks with names.
// Format   one sample a line, innermost address first, hexadecimal, separated by blanks; then a line "maps" and
//          /proc/self/maps as it stood at the end; a first line "lost N" says how many samples found no room.
// Limits   max_depth frames a stack, sample_words of memory; beyond both, samples are counted as lost.
// Safety   the handlers allocate nothing and take no lock; the stack is read through process_vm_readv, so that a frame
//          pointer which points nowhere ends the walk instead of the program.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::size_t sample_words = std::size_t{8} << 20;  // 64 MiB, touched as they fill
constexpr std::size_t max_depth = 64;
constexpr long default_hz = 997;  // a prime: does not beat with anything periodic
constexpr long most_hz = 10'000;
constexpr long most_ms = 24L * 3600 * 1000;

std::uint64_t* words = nullptr;  // samples one behind the other: depth, then that many addresses
std::atomic<std::size_t> next_word{0};
std::atomic<std::uint64_t> lost{0};
const char* out_path = nullptr;

bool read_stack(std::uintptr_t at, std::uintptr_t (&frame)[2]) noexcept {
  const iovec local{frame, sizeof frame};
  const iovec remote{reinterpret_cast<void*>(at), sizeof frame};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof frame);
}

void take_sample(int, siginfo_t*, void* context) noexcept {
  const int kept_errno = errno;
  const auto* interrupted = static_cast<const ucontext_t*>(context);
  std::uint64_t stack[max_depth];
  std::size_t depth = 0;
  stack[depth++] = static_cast<std::uint64_t>(interrupted->uc_mcontext.gregs[REG_RIP]);
  auto at = static_cast<std::uintptr_t>(interrupted->uc_mcontext.gregs[REG_RBP]);
  std::uintptr_t frame[2];  // the caller's frame pointer, the return address
  while (depth < max_depth && at % sizeof(void*) == 0 && read_stack(at, frame)) {
    if (frame[1] == 0) break;
    stack[depth++] = frame[1] - 1;  // inside the call, not behind it
    if (frame[0] <= at) break;      // stacks grow down: a caller lies higher
    at = frame[0];
  }
  const std::size_t from = next_word.fetch_add(depth + 1, std::memory_order_relaxed);
  if (from + depth + 1 > sample_words) {
    lost.fetch_add(1, std::memory_order_relaxed);
  } else {
    for (std::size_t i = 0; i < depth; ++i) words[from + 1 + i] = stack[i];
    words[from] = depth;
  }
  errno = kept_errno;
}

void set_profile_timer(long hz) noexcept {
  itimerval every{};
  if (hz != 0) every.it_interval.tv_usec = every.it_value.tv_usec = 1'000'000 / hz;
  setitimer(ITIMER_PROF, &every, nullptr);
}

// Text onto a file descriptor, by system calls alone: the time may be up inside malloc.
class raw_writer {
  int file_;
  std::size_t used_ = 0;
  char buffer_[4096];

 public:
  explicit raw_writer(int file) noexcept : file_(file) {}
  ~raw_writer() { flush(); }
  void flush() noexcept {
    for (std::size_t done = 0; done < used_;) {
      const ssize_t wrote = write(file_, buffer_ + done, used_ - done);
      if (wrote <= 0) break;
      done += static_cast<std::size_t>(wrote);
    }
    used_ = 0;
  }
  void put(char c) noexcept {
    if (used_ == sizeof buffer_) flush();
    buffer_[used_++] = c;
  }
  void text(const char* words_of) noexcept {
    while (*words_of != '\0') put(*words_of++);
  }
  void number(std::uint64_t value, unsigned base) noexcept {
    char digits[24];
    std::size_t count = 0;
    do digits[count++] = "0123456789abcdef"[value % base];
    while ((value /= base) != 0);
    while (count != 0) put(digits[--count]);
  }
  void copy_file(const char* path) noexcept {
    flush();
    const int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0) return;
    for (ssize_t got; (got = read(from, buffer_, sizeof buffer_)) > 0;) {
      used_ = static_cast<std::size_t>(got);
      flush();
    }
    close(from);
  }
};

void write_samples() noexcept {
  const int file = open(out_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  {
    raw_writer out(file);
    out.text("lost ");
    out.number(lost.load(), 10);
    out.put('\n');
    const std::size_t end = next_word.load() < sample_words ? next_word.load() : sample_words;
    for (std::size_t at = 0; at < end && words[at] != 0 && words[at] <= max_depth && at + words[at] < end;
         at += words[at] + 1) {
      for (std::size_t i = 0; i < words[at]; ++i) {
        if (i != 0) out.put(' ');
        out.number(words[at + 1 + i], 16);
      }
      out.put('\n');
    }
    out.text("maps\n");
    out.copy_file("/proc/self/maps");
  }
  close(file);
}

void finish() noexcept {
  if (words == nullptr) return;
  set_profile_timer(0);
  write_samples();
  words = nullptr;
}

void time_is_up(int) noexcept {
  finish();
  _exit(0);
}

long setting(const char* name, long least, long most, long otherwise) noexcept {
  const char* text = std::getenv(name);
  const long value = text != nullptr ? std::strtol(text, nullptr, 10) : otherwise;
  return value >= least && value <= most ? value : otherwise;
}

__attribute__((constructor)) void start() {
  out_path = std::getenv("MILLRACE_SAMPLER_OUT");
  if (out_path == nullptr || *out_path == '\0') return;
  void* memory = mmap(nullptr, sample_words * sizeof *words, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  words = static_cast<std::uint64_t*>(memory);
  struct sigaction sample{};
  sample.sa_sigaction = take_sample;
  sample.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGPROF, &sample, nullptr);
  set_profile_timer(setting("MILLRACE_SAMPLER_HZ", 1, most_hz, default_hz));
  if (const long ms = setting("MILLRACE_SAMPLER_MS", 1, most_ms, 0); ms != 0) {
    struct sigaction end{};
    end.sa_handler = time_is_up;
    sigaction(SIGALRM, &end, nullptr);
    itimerval once{};
    once.it_value.tv_sec = ms / 1000;
    once.it_value.tv_usec = ms % 1000 * 1000;
    setitimer(ITIMER_REAL, &once, nullptr);
  }
}

__attribute__((destructor)) void stop() { finish(); }

}  // namespace

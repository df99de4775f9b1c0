#include "tls/wall_clock.hpp"

#include <gnutls/gnutls.h>

#include <ctime>
#include <limits>

// Exported by GnuTLS (3.6 and later) for its tests and absent from its headers; weak, so that a library without it
// links.
extern "C" __attribute__((weak)) void _gnutls_global_set_gettime_function(void (*read)(timespec*));

namespace millrace::tls {
namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;
constexpr std::int64_t outside = std::numeric_limits<std::int64_t>::min();

thread_local std::int64_t scope_ns = outside;

std::int64_t system_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * ns_per_s + now.tv_nsec;
}

std::time_t read_seconds(std::time_t* out) {
  const auto seconds = static_cast<std::time_t>(scoped_wall_time_ns() / ns_per_s);
  if (out != nullptr) *out = seconds;
  return seconds;
}

void read_timespec(timespec* out) {
  const std::int64_t now = scoped_wall_time_ns();
  out->tv_sec = static_cast<std::time_t>(now / ns_per_s);
  out->tv_nsec = now % ns_per_s;
}

// Once a process, at the first scope: the functions never change afterwards.
void install() noexcept {
  static const bool installed = [] {
    gnutls_global_set_time_function(read_seconds);
    if (_gnutls_global_set_gettime_function != nullptr) _gnutls_global_set_gettime_function(read_timespec);
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace

wall_time_scope::wall_time_scope(std::int64_t now_ns) noexcept : outer_ns_(scope_ns) {
  install();
  scope_ns = now_ns;
}

wall_time_scope::~wall_time_scope() { scope_ns = outer_ns_; }

std::int64_t scoped_wall_time_ns() noexcept { return scope_ns == outside ? system_ns() : scope_ns; }

bool wall_time_is_complete() noexcept { return _gnutls_global_set_gettime_function != nullptr; }

}  // namespace millrace::tls

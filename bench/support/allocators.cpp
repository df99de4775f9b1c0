#include "support/allocators.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t size);
void __libc_free(void* block);
}

namespace millrace::bench {
namespace {

constexpr const char* tunables = "GLIBC_TUNABLES";
constexpr const char* reserve = "glibc.rtld.optional_static_tls=8192";

struct installed {
  std::array<allocator, 3> all{{{.name = "malloc", .get = __libc_malloc, .give = __libc_free}}};
  std::size_t count = 1;

  void add(const char* name, const char* library, const char* get, const char* give) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      std::fprintf(stderr, "no rows for %s: %s\n", name, dlerror());
      return;
    }
    all[count++] = {.name = name,
                    .get = reinterpret_cast<void* (*)(std::size_t)>(dlsym(handle, get)),
                    .give = reinterpret_cast<void (*)(void*)>(dlsym(handle, give))};
  }
  installed() {
    add("mimalloc", "libmimalloc.so.2", "mi_malloc", "mi_free");
    add("jemalloc", "libjemalloc.so.2", "malloc", "free");
  }
};

}  // namespace

std::span<const allocator> allocators() {
  static const installed found;
  return std::span(found.all).first(found.count);
}

void restart_with_room_for_allocators(char** argv) {
  if (std::getenv(tunables) != nullptr) return;
  setenv(tunables, reserve, 1);
  execv("/proc/self/exe", argv);
}

}  // namespace millrace::bench

#include "env/lcore.hpp"

#include <rte_launch.h>
#include <rte_lcore.h>
#include <time.h>

namespace millrace::env {

unsigned current_lcore() noexcept {
  const unsigned id = rte_lcore_id();
  return id == LCORE_ID_ANY ? no_lcore : id;
}

unsigned main_lcore() noexcept { return rte_get_main_lcore(); }

std::vector<unsigned> worker_lcores() {
  std::vector<unsigned> workers;
  unsigned id = 0;
  RTE_LCORE_FOREACH_WORKER(id) { workers.push_back(id); }
  return workers;
}

int socket_of_lcore(unsigned lcore) noexcept { return static_cast<int>(rte_lcore_to_socket_id(lcore)); }

bool launch(unsigned lcore, int (*work)(void*), void* argument) noexcept {
  if (lcore == rte_get_main_lcore() || rte_lcore_is_enabled(lcore) == 0) return false;
  return rte_eal_remote_launch(work, argument, lcore) == 0;
}

int wait(unsigned lcore) noexcept { return rte_eal_wait_lcore(lcore); }

std::uint64_t thread_cpu_ns() noexcept {
  timespec spent{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<std::uint64_t>(spent.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(spent.tv_nsec);
}

}  // namespace millrace::env

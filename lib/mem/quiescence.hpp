// mem/quiescence.hpp - when may the control thread free what data-path lcores could still be looking at?
//
// Shape    every data-path lcore says once a loop that it holds on to nothing shared (pass()). The control thread takes
//          something out of reach, begin()s a grace period, and frees it once passed() says that every lcore which
//          was inside has passed. DPDK's rte_rcu_qsbr does the work.
// Units    lcore numbers as EAL gives them.
// Owner    the object; it outlives the lcores' loops and every pool that was given it.
// Limits   one record for each lcore EAL can have, made at once. An lcore between leave() and enter() is not waited
// for. Errors   make(): a failure when there is no memory. Threads  enter(), pass(), leave(): the lcore itself.
// begin(), passed(): the control thread; they never wait. Tests    test/mem/quiescence_test.cpp
#pragma once

#include <rte_rcu_qsbr.h>

#include <cstdint>
#include <utility>

#include "base/result.hpp"
#include "mem/region.hpp"

namespace millrace::mem {

class quiescence {
  region memory_;
  rte_rcu_qsbr* lcores_ = nullptr;

  quiescence(region memory, rte_rcu_qsbr* lcores) noexcept : memory_(std::move(memory)), lcores_(lcores) {}

 public:
  [[nodiscard]] static base::result<quiescence> make();

  // Around the lcore's loop. An lcore that does not enter() must not use what is freed this way.
  void enter(unsigned lcore) noexcept {
    rte_rcu_qsbr_thread_register(lcores_, lcore);
    rte_rcu_qsbr_thread_online(lcores_, lcore);
  }
  void leave(unsigned lcore) noexcept {
    rte_rcu_qsbr_thread_offline(lcores_, lcore);
    rte_rcu_qsbr_thread_unregister(lcores_, lcore);
  }

  // Once a loop, where the lcore is inside no call of a pool.
  void pass(unsigned lcore) noexcept { rte_rcu_qsbr_quiescent(lcores_, lcore); }

  [[nodiscard]] std::uint64_t begin() noexcept { return rte_rcu_qsbr_start(lcores_); }
  [[nodiscard]] bool passed(std::uint64_t token) noexcept { return rte_rcu_qsbr_check(lcores_, token, false) == 1; }
};

}  // namespace millrace::mem

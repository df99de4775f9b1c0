// mem/pmr/pool_resource.hpp - std::pmr containers on the size classes, for set-up and control structures.
//
// Shape    requests of up to 256 bytes come from a size_class_pool; larger ones, and those aligned beyond 16, from
//          `upstream`, which refuses everything unless another is given: no heap by accident.
// Owner    neither the pool nor upstream: both outlive the resource, and the resource every container on it.
// Limits   those of the pool.
// Errors   std::bad_alloc when a class is out or upstream refuses: the only way in which std::pmr can say it. This
//          folder is therefore a target of its own, compiled with exceptions, which rooms below level 6 cannot include,
//          and the data path never uses it.
// Threads  as the pool: one lcore, or the control thread.
// Tests    test/mem/pmr/pool_resource_test.cpp
#pragma once

#include <memory_resource>

#include "mem/size_class_pool.hpp"

namespace millrace::mem {

class pool_resource final : public std::pmr::memory_resource {
  size_class_pool* small_;
  std::pmr::memory_resource* upstream_;

  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override;

 public:
  explicit pool_resource(size_class_pool& small,
                         std::pmr::memory_resource* upstream = std::pmr::null_memory_resource()) noexcept
      : small_(&small), upstream_(upstream) {}
};

}  // namespace millrace::mem

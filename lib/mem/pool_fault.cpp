#include "mem/pool_fault.hpp"

#include <rte_debug.h>

namespace millrace::mem {
namespace {

constexpr const char* name_of(pool_fault fault) noexcept {
  switch (fault) {
    case pool_fault::double_give:
      return "double_give";
    case pool_fault::foreign_object:
      return "foreign_object";
    case pool_fault::use_after_give:
      return "use_after_give";
    case pool_fault::count_:
      break;
  }
  return "?";
}

}  // namespace

std::string_view to_string(pool_fault fault) noexcept { return name_of(fault); }

void die_of(pool_fault fault, const char* pool, const void* object) noexcept {
  rte_panic("pool '%s': %s of the object at %p\n", pool, name_of(fault), object);
}

void die_of_leak(const char* pool, std::uint32_t in_use) noexcept {
  rte_panic("pool '%s' ends with %u objects that were not given back\n", pool, in_use);
}

void die_of_stranger(const char* pool) noexcept {
  rte_panic("pool '%s' used by a thread that does not own it: see give_from_elsewhere() and adopt()\n", pool);
}

}  // namespace millrace::mem

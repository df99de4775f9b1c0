#include "mem/quiescence.hpp"

namespace millrace::mem {

base::result<quiescence> quiescence::make() {
  const std::size_t bytes = rte_rcu_qsbr_get_memsize(RTE_MAX_LCORE);
  region memory = region::make("quiescence", bytes);
  if (!memory)
    return base::failure{"no memory for " + std::to_string(bytes) + " bytes of lcore records",
                         "give EAL more memory (-m MEGABYTES, or more hugepages)"};
  auto* lcores = reinterpret_cast<rte_rcu_qsbr*>(memory.data());
  if (rte_rcu_qsbr_init(lcores, RTE_MAX_LCORE) != 0) return base::failure{"rte_rcu_qsbr_init refused its memory", ""};
  return quiescence{std::move(memory), lcores};
}

}  // namespace millrace::mem

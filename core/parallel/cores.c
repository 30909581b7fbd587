#include "core/parallel/cores.h"
#include "core/system/machine.h"
#include <stdatomic.h>

int cores_count(void) {
    static atomic_int known; /* all that come first find the same */
    int cores = atomic_load_explicit(&known, memory_order_relaxed);
    if (cores > 0) return cores;
    cores = machine_cores();
    atomic_store_explicit(&known, cores, memory_order_relaxed);
    return cores;
}

/* Arrays that grow by doubling. */
#ifndef KD_CORE_GROWTH_H
#define KD_CORE_GROWTH_H
#include "core/memory.h"

static inline kd_status growth_reserve_next(void **pointer, uint64_t count, uint64_t *capacity,
                                            uint64_t first, size_t item_bytes) {
    if (count < *capacity) return KD_OK;
    const uint64_t larger = *capacity ? 2 * *capacity : first;
    KD_TRY(memory_grow(pointer, count, larger, item_bytes));
    *capacity = larger;
    return KD_OK;
}

/* Makes room for one more item after the `count` items of `pointer` (a typed pointer variable),
   where `capacity` is a uint64_t variable: doubles it, from `first`, if all are taken. The value is
   a kd_status. */
#define KD_RESERVE_NEXT(pointer, count, capacity, first)                                           \
    growth_reserve_next((void **)&(pointer), (count), &(capacity), (first), sizeof *(pointer))

#endif

#include "core/memory.h"
#include "core/system/machine.h"
#include "core/version.h"
#include <kandela/control.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_ALIGNMENT = 64 };

static kd_allocator allocator;  /* of the caller; `allocate` is NULL: the system's */
static atomic_llong held_count; /* blocks */

kd_status kd_allocator_set(const kd_allocator *caller_allocator) {
    kd_allocator taken;
    memset(&taken, 0, sizeof taken);
    if (caller_allocator) {
        KD_TRY(sized_take(&taken, sizeof taken, caller_allocator, "sizeof(kd_allocator)"));
        KD_REQUIRE(taken.allocate && taken.release, KD_ERROR_USAGE,
                   "`allocate` and `release` must not be NULL");
    }
    const long long held = atomic_load(&held_count);
    KD_REQUIRE(held == 0, KD_ERROR_USAGE,
               "the library holds %lld blocks of memory; set the allocator before all other calls",
               held);
    allocator = taken;
    return KD_OK;
}

static void *allocate_aligned(uint64_t bytes) {
    if (bytes == 0) bytes = 1;
    const size_t size =
        (size_t)(bytes + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
    void *taken = allocator.allocate ? allocator.allocate(allocator.context, size, MEMORY_ALIGNMENT)
                                     : machine_memory(MEMORY_ALIGNMENT, size);
    if (taken) atomic_fetch_add_explicit(&held_count, 1, memory_order_relaxed);
    return taken;
}

kd_status memory_reserve(void **pointer, uint64_t count, size_t item_bytes) {
    *pointer = NULL;
    uint64_t bytes = 0;
    KD_REQUIRE(!__builtin_mul_overflow(count, (uint64_t)item_bytes, &bytes) &&
                   bytes <= (uint64_t)PTRDIFF_MAX - MEMORY_ALIGNMENT,
               KD_ERROR_MEMORY, "%llu items of %zu bytes exceed the address space",
               (unsigned long long)count, item_bytes);
    *pointer = allocate_aligned(bytes);
    KD_REQUIRE(*pointer, KD_ERROR_MEMORY, "out of memory: %llu bytes were needed",
               (unsigned long long)bytes);
    return KD_OK;
}

kd_status memory_reserve_zeroed(void **pointer, uint64_t count, size_t item_bytes) {
    KD_TRY(memory_reserve(pointer, count, item_bytes));
    memset(*pointer, 0, (size_t)count * item_bytes);
    return KD_OK;
}

kd_status memory_grow(void **pointer, uint64_t kept, uint64_t count, size_t item_bytes) {
    void *larger = NULL;
    KD_TRY(memory_reserve(&larger, count, item_bytes));
    if (*pointer && kept) memcpy(larger, *pointer, (size_t)kept * item_bytes);
    memory_free(*pointer);
    *pointer = larger;
    return KD_OK;
}

void *memory_try_allocate(uint64_t bytes) {
    if (bytes > (uint64_t)PTRDIFF_MAX - MEMORY_ALIGNMENT) return NULL;
    return allocate_aligned(bytes);
}

void memory_free(void *pointer) {
    if (!pointer) return;
    atomic_fetch_sub_explicit(&held_count, 1, memory_order_relaxed);
    if (allocator.release)
        allocator.release(allocator.context, pointer);
    else
        machine_memory_free(pointer);
}

static _Thread_local uint64_t shortages;

void *memory_take(size_t bytes) {
    void *taken = malloc(bytes);
    if (!taken) ++shortages;
    return taken;
}

uint64_t memory_shortages(void) {
    return shortages;
}

uint64_t memory_peak_bytes(void) {
    return machine_peak_bytes();
}

enum { LARGE_PAGE = 1 << 21, LARGE_ENOUGH = 2 * LARGE_PAGE };

void large_pages_prefer(void *memory, uint64_t bytes) {
    if (!memory || bytes < LARGE_ENOUGH || allocator.allocate) return;
    machine_pages_large(memory, (size_t)bytes); /* an optimisation: failure is ignored */
}

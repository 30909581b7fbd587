/* Host memory. Blocks are 64-byte aligned, sizes are checked for overflow, and a request for zero
   items succeeds. Large arrays should request large pages, which makes first touch and random
   access cheaper. Calls of the library may use at most 128 KB of stack; larger scratch comes from
   memory_try_allocate. */
#ifndef KD_CORE_MEMORY_H
#define KD_CORE_MEMORY_H
#include "core/status.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates `count` uninitialised items of `item_bytes`, which the caller frees with memory_free.
   On failure returns KD_ERROR_MEMORY with the size in the message and sets *pointer to NULL. */
kd_status memory_reserve(void **pointer, uint64_t count, size_t item_bytes);

/* As memory_reserve, but zeroed. */
kd_status memory_reserve_zeroed(void **pointer, uint64_t count, size_t item_bytes);

/* Moves the first `kept` items to a new block of `count` items and frees the old block. */
kd_status memory_grow(void **pointer, uint64_t kept, uint64_t count, size_t item_bytes);

void memory_free(void *pointer); /* accepts NULL */

/* malloc for third-party code (cJSON) whose errors do not distinguish running out of memory.
   memory_shortages returns the number of requests of this thread that failed. */
void *memory_take(size_t bytes);
uint64_t memory_shortages(void);

/* Returns the peak resident set size of the process in bytes. */
uint64_t memory_peak_bytes(void);

/* Allocate `count` items of the type that `pointer` (a typed pointer variable) points to; the value
   is a kd_status. */
#define KD_RESERVE(pointer, count) memory_reserve((void **)&(pointer), (count), sizeof *(pointer))
#define KD_RESERVE_ZEROED(pointer, count)                                                          \
    memory_reserve_zeroed((void **)&(pointer), (count), sizeof *(pointer))
#define KD_GROW(pointer, kept, count)                                                              \
    memory_grow((void **)&(pointer), (kept), (count), sizeof *(pointer))

/* Requests large pages where the system supports them; does nothing for blocks below 4 MiB. Must be
   called before the memory is first written. */
void large_pages_prefer(void *memory, uint64_t bytes);

/* Allocates uninitialised, 64-byte aligned memory, which the caller frees with memory_free. Returns
   NULL, without recording an error message, if memory is exhausted. */
void *memory_try_allocate(uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif

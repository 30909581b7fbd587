/* Host memory: 64-byte aligned, sizes checked for overflow, zero items are a valid request. Large
   arrays ask for large pages, which makes filling them and reading them at random cheaper. What is
   too large for a stack, of which a call of the library has 128 KB, comes from memory_spare. */
#ifndef KD_CORE_MEMORY_H
#define KD_CORE_MEMORY_H
#include "core/status.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *pointer = room for `count` items of `item_bytes`, not initialised; freed by memory_free.
   KD_ERROR_MEMORY with the bytes needed if there is none; *pointer is NULL then. */
kd_status memory_reserve(void **pointer, uint64_t count, size_t item_bytes);

/* The same, zeroed. */
kd_status memory_reserve_zeroed(void **pointer, uint64_t count, size_t item_bytes);

/* Keeps the first `kept` items in a larger block. */
kd_status memory_grow(void **pointer, uint64_t kept, uint64_t count, size_t item_bytes);

void memory_free(void *pointer); /* takes NULL */

/* malloc, for parts (cJSON) that do not tell whether it was memory that they lacked: what it could
   not give to this thread so far is counted. */
void *memory_take(size_t bytes);
uint64_t memory_shortages(void);

/* The process's peak resident set, bytes. */
uint64_t memory_peak_bytes(void);

/* kd_status of reserving `count` items of what `pointer` (a typed pointer variable) points to. */
#define KD_RESERVE(pointer, count) memory_reserve((void **)&(pointer), (count), sizeof *(pointer))
#define KD_RESERVE_ZEROED(pointer, count)                                                          \
    memory_reserve_zeroed((void **)&(pointer), (count), sizeof *(pointer))
#define KD_GROW(pointer, kept, count)                                                              \
    memory_grow((void **)&(pointer), (kept), (count), sizeof *(pointer))

/* Asks for large pages where the system has them; a no-op for less than a few of these. To be
   called before the memory is first written. */
void large_pages_prefer(void *memory, uint64_t bytes);

/* 64-byte aligned, not initialised, freed by memory_free; NULL, without a message, if there is
   none. */
void *memory_spare(uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif

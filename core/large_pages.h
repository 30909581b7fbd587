/* Large pages for large arrays: fewer page faults when they are filled, fewer misses of the address
   cache when they are read at random. */
#ifndef KD_CORE_LARGE_PAGES_H
#define KD_CORE_LARGE_PAGES_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Asks for large pages where the system has them; a no-op for less than a few of these. To be
   called before the memory is first written. */
void large_pages_prefer(void *memory, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif

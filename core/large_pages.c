#include "core/large_pages.h"
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE_PAGE = 1 << 21, LARGE_ENOUGH = 2 * LARGE_PAGE };

void large_pages_prefer(void *memory, uint64_t bytes) {
    const long page = sysconf(_SC_PAGESIZE);
    if (!memory || bytes < LARGE_ENOUGH || page <= 0) return;
#ifdef MADV_HUGEPAGE
    const uintptr_t size = (uintptr_t)page;
    const uintptr_t begin = ((uintptr_t)memory + size - 1) / size * size;
    const uintptr_t end = ((uintptr_t)memory + (uintptr_t)bytes) / size * size;
    /* advice: what the system cannot do changes nothing */
    (void)madvise((void *)begin, (size_t)(end - begin), MADV_HUGEPAGE);
#endif
}

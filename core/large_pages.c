#include "core/large_pages.h"
#include "core/system/machine.h"

enum { LARGE_PAGE = 1 << 21, LARGE_ENOUGH = 2 * LARGE_PAGE };

void large_pages_prefer(void *memory, uint64_t bytes) {
    if (!memory || bytes < LARGE_ENOUGH) return;
    machine_pages_large(memory, (size_t)bytes); /* what the system cannot do changes nothing */
}

/* What this machine has: cores, memory, pages. POSIX here; core/windows has the same for Windows.
 */
#ifndef KD_CORE_SYSTEM_MACHINE_H
#define KD_CORE_SYSTEM_MACHINE_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int machine_cores(void);           /* that this process may use; at least 1 */
int machine_cores_online(void);    /* that there are; 0: not known */
uint64_t machine_bytes(void);      /* of memory; 0: not known */
uint64_t machine_peak_bytes(void); /* the most that this process had at once; 0: not known */

/* `bytes` (a multiple of `alignment`, a power of two) to machine_memory_free; NULL if there are
 * none. */
void *machine_memory(size_t alignment, size_t bytes);
void machine_memory_free(void *memory); /* takes NULL */

/* Advice for whole pages of [begin, begin + bytes): they are given back, and what they held with
   them; they had better be large ones. */
void machine_pages_drop(const void *begin, size_t bytes);
void machine_pages_large(void *begin, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif

/* Another program, run and waited for, and a file in memory for it to read. */
#ifndef KD_CORE_SYSTEM_PROCESS_H
#define KD_CORE_SYSTEM_PROCESS_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs arguments[0], looked for as the shell does; the list ends with NULL. Its exit code; negative
   if it could not be started or was killed. */
int process_run(char *const arguments[]);

/* Writes the file's name; negative if it cannot be made, which is always so but on Linux. */
int process_file_hold(char *name, size_t name_bytes, const void *bytes, uint64_t count);
void process_file_release(int held);

#ifdef __cplusplus
}
#endif
#endif

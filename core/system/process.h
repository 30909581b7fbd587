/* This process and others: signals, the terminal, programs to run, shared libraries to load. */
#ifndef KD_CORE_SYSTEM_PROCESS_H
#define KD_CORE_SYSTEM_PROCESS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls `handler` at Ctrl-C, at a request to end, and when the terminal is closed, unless that is
   ignored (nohup). Files are read and written to their end. */
void signals_watch(void (*handler)(int number));
/* Calls `handler` so many seconds from now, unless the process has ended; may be called by a
   handler. Windows has nothing of the kind: there it is never called. */
void signals_after(int seconds, void (*handler)(int number));
/* A file that grows too large is a write that fails. */
void signals_ignore_file_limit(void);
void signals_leave(int code);    /* ends the process at once; may be called by a handler */
bool signals_sleep(int seconds); /* false: a signal woke it up */

bool terminal_is_there(void);
int terminal_columns(void); /* 80 where it does not say */

/* Runs arguments[0], looked for as the shell does; the list ends with NULL. Its exit code; negative
   if it could not be started or was killed. */
int process_run(char *const arguments[]);

/* Writes the file's name; negative if it cannot be made, which is always so but on Linux. */
int process_file_hold(char *name, size_t name_bytes, const void *bytes, uint64_t count);
void process_file_release(int held);

/* NULL with plugin_reason. global: what is loaded after it finds its names. */
void *plugin_open(const char *path, bool global);
void *plugin_symbol(void *plugin, const char *name); /* NULL: it has none of that name */
void plugin_close(void *plugin);
const char *
plugin_reason(void); /* why the last call on this thread failed, in the system's words */

/* Tries what a pattern of the shell names, in order, until one is taken; false if none was. Always
   false on Windows. */
bool plugin_try_each(const char *pattern, bool (*take)(const char *path));

#ifdef __cplusplus
}
#endif

#endif

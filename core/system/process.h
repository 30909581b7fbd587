/* This process and others: signals, the terminal, child processes, shared libraries. */
#ifndef KD_CORE_SYSTEM_PROCESS_H
#define KD_CORE_SYSTEM_PROCESS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Installs `handler` for Ctrl-C, termination requests and the closing of the terminal, unless the
   latter is ignored (nohup). Interrupted reads and writes are restarted. */
void signals_watch(void (*handler)(int number));
/* Calls `handler` after `seconds`. Async-signal-safe. Not supported on Windows, where the handler
   is never called. */
void signals_after(int seconds, void (*handler)(int number));
/* Makes a write beyond the file size limit fail with an error instead of raising SIGXFSZ. */
void signals_ignore_file_limit(void);
void signals_leave(int code);    /* ends the process at once; async-signal-safe */
bool signals_sleep(int seconds); /* returns false if a signal interrupted the sleep */

bool terminal_exists(void);
int terminal_columns(void); /* width of the terminal; 80 if unknown */

/* Runs arguments[0], searched for in PATH, and waits; the list ends with NULL. Returns the exit
   code, or a negative value if the program could not be started or was killed. */
int process_run(char *const arguments[]);

/* Creates an anonymous file with the given contents and writes to `name` a path by which other
   processes can open it. Returns a handle for process_file_release, or a negative value on failure.
   Linux only. */
int process_file_hold(char *name, size_t name_bytes, const void *bytes, uint64_t count);
void process_file_release(int held);

/* Loads a shared library. Returns NULL on failure, see plugin_reason. If `global`, libraries loaded
   later can use its symbols. */
void *plugin_open(const char *path, bool global);
void *plugin_symbol(void *plugin, const char *name); /* returns NULL if the symbol is missing */
void plugin_close(void *plugin);
const char *
/* Returns the system's message for the last failed call on this thread. */
plugin_reason(void);

/* Calls `take` for each path that matches the glob pattern, in sorted order, until it returns true.
   Returns false if it never did; always false on Windows. */
bool plugin_try_each(const char *pattern, bool (*take)(const char *path));

#ifdef __cplusplus
}
#endif

#endif

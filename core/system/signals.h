/* Signals of a program: who interrupts it, and what it would rather be told by an error. */
#ifndef KD_CORE_SYSTEM_SIGNALS_H
#define KD_CORE_SYSTEM_SIGNALS_H
#include <stdbool.h>

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

#ifdef __cplusplus
}
#endif
#endif

/* What the library has to say besides results: it never prints, it calls the sink (none at first).
 */
#ifndef KD_CORE_LOG_H
#define KD_CORE_LOG_H
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum log_level { LOG_WARNING, LOG_INFO, LOG_DETAIL } log_level;

typedef void (*log_sink)(void *context, log_level level, const char *message);

/* Set once, before threads are started. */
void log_set_sink(log_sink sink, void *context);

/* While it lasts, what this thread has to say goes nowhere: for callers that say it in other words.
 */
void log_mute(bool mute);

/* printf form, one line, no newline at its end. */
void log_message(log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
#endif

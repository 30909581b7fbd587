/* Errors and messages. A failure is a status that goes up; its message and call path stay with the
   thread. Bad data is a status; a broken invariant is an assert. The library never prints: messages
   besides results go to a sink. */
#ifndef KD_CORE_STATUS_H
#define KD_CORE_STATUS_H
#include <kandela/status.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Records the message (printf form) with the place, and returns `status`. */
kd_status status_fail(kd_status status, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds a line of call path to the failure that is going up, and returns `status`. */
kd_status status_pass(kd_status status, const char *file, int line, const char *call);

/* Forgets the failure: for a caller that goes on after it. */
void status_clear(void);

#define KD_FAIL(status, ...) return status_fail((status), __FILE__, __LINE__, __VA_ARGS__)
#define KD_REQUIRE(condition, status, ...)                                                         \
    do {                                                                                           \
        if (!(condition)) KD_FAIL(status, __VA_ARGS__);                                            \
    } while (0)
#define KD_TRY(call)                                                                               \
    do {                                                                                           \
        const kd_status kd_try_status = (call);                                                    \
        if (kd_try_status != KD_OK) return status_pass(kd_try_status, __FILE__, __LINE__, #call);  \
    } while (0)
/* The same in a function with a `done:` label that frees what it holds and returns `status`. */
#define KD_TRY_GOTO(call)                                                                          \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != KD_OK) {                                                                     \
            status_pass(status, __FILE__, __LINE__, #call);                                        \
            goto done;                                                                             \
        }                                                                                          \
    } while (0)

typedef enum log_level { LOG_WARNING, LOG_INFO, LOG_DETAIL } log_level;

typedef void (*log_sink)(void *context, log_level level, const char *message);

/* Set once, before threads are started. */
void log_set_sink(log_sink sink, void *context);

/* While it lasts, messages of this thread are dropped: for callers that report in other words. */
void log_mute(bool mute);

/* printf form, one line, no newline at its end. */
void log_message(log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif

#endif

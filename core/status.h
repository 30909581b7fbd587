/* Errors and messages. A function that fails returns a status; the message and the call path are
   stored per thread. Bad data are reported by a status, broken invariants by an assert. The library
   never prints: warnings and information go to a log sink. */
#ifndef KD_CORE_STATUS_H
#define KD_CORE_STATUS_H
#include <kandela/status.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Records the message (printf format) and its source location, and returns `status`. */
kd_status status_fail(kd_status status, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Appends a line to the call path of the current error, and returns `status`. */
kd_status status_pass(kd_status status, const char *file, int line, const char *call);

/* Discards the recorded error, for callers that recover from it. */
void status_clear(void);

/* Begin and end a public call. If the call has failed, but for cancellation, status_end logs the
   message as an error. */
void status_begin(void);
void status_end(void);

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
/* As KD_TRY, in a function with a variable `status` and a label `done:` that releases what the
   function holds and returns `status`. */
#define KD_TRY_GOTO(call)                                                                          \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != KD_OK) {                                                                     \
            status_pass(status, __FILE__, __LINE__, #call);                                        \
            goto done;                                                                             \
        }                                                                                          \
    } while (0)

typedef enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DETAIL } log_level;

typedef void (*log_sink)(void *context, log_level level, const char *message);

/* Not thread-safe: must be called before other threads start. */
void log_set_sink(log_sink sink, void *context);

/* Drops this thread's messages while `mute` is set, for callers that report in other words. Returns
   the setting before. */
bool log_mute(bool mute);

/* Logs one line in printf format, without a trailing newline. Thread-safe if the sink is. */
void log_message(log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif

#endif

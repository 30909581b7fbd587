/* How every fallible call of Kandela answers. A call takes at most 128 KB of stack. C99-clean. */
#ifndef KANDELA_STATUS_H
#define KANDELA_STATUS_H

#ifdef _WIN32
#define KD_API __declspec(dllexport)
#else
#define KD_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The values double as exit codes of the program. */
typedef enum kd_status {
    KD_OK = 0,
    KD_ERROR_RUNTIME = 1, /* something failed while running: a full disk, a lost file */
    KD_ERROR_USAGE = 2,   /* an argument or option that makes no sense */
    KD_ERROR_INPUT =
        3, /* bad data: the message says file:line, what was found, what was expected */
    KD_ERROR_MEMORY = 4, /* not enough memory: the message says how many bytes were needed */
    KD_ERROR_DEVICE = 5, /* the device is absent or failed */
    KD_ERROR_CHECK = 6,  /* a comparison or a check did not hold */
    KD_INTERRUPTED = 130 /* cancelled by the caller; what was finished is kept */
} kd_status;

/* The message of the last failure on this thread; "" after none.
   The string lives until the next failing call on the same thread. */
KD_API const char *kd_last_error(void);

/* The call path of that failure, innermost first, a line each; "" if none. */
KD_API const char *kd_last_error_trace(void);

/* "ok", "runtime failure", ...: a static string. */
KD_API const char *kd_status_name(kd_status status);

#ifdef __cplusplus
}
#endif
#endif

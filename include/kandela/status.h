/* The status that every fallible function returns, and the message of the last failure. C99.

       #include <kandela/status.h>
       #include <stdio.h>

       // Prints why a call failed; the status doubles as an exit code.
       int report(kd_status status) {
           if (status != KD_OK)
               fprintf(stderr, "%s: %s\n", kd_status_name(status), kd_last_error());
           return (int)status;
       }

   Stack: a call uses at most 128 KB of the caller's stack, excluding callbacks of the caller, the
   driver of a device and plug-ins. */
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

/* Result of a call. The values are also the exit codes of the program `kandela`. */
typedef enum kd_status {
    KD_OK = 0,
    KD_ERROR_RUNTIME = 1, /* a failure at run time, such as a full disk */
    KD_ERROR_USAGE = 2,   /* an invalid argument or option */
    KD_ERROR_INPUT = 3,   /* invalid data; for a file the message names the line */
    KD_ERROR_MEMORY = 4,  /* out of memory; the message says how many bytes were needed */
    KD_ERROR_DEVICE = 5,  /* the device is absent or failed */
    KD_ERROR_CHECK = 6,   /* a comparison or a check failed */
    KD_INTERRUPTED = 130  /* cancelled by the caller (<kandela/control.h>) */
} kd_status;

/* Returns the message of the last failure on this thread; "" if there was none. The string is valid
   until the next failing call on the same thread. */
KD_API const char *kd_last_error(void);

/* Returns the call stack of that failure, innermost call first, one per line; "" if there was none.
   The string is valid as long as that of kd_last_error. */
KD_API const char *kd_last_error_trace(void);

/* Returns the name of a status, such as "ok" or "runtime failure"; a static string. */
KD_API const char *kd_status_name(kd_status status);

#ifdef __cplusplus
}
#endif
#endif

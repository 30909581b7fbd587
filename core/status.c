#include "core/status.h"
#include <kandela/control.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char error_message[1024];
static _Thread_local char error_trace[2048];

static _Thread_local kd_status failed; /* of this thread, since status_begin or status_clear */

static void trace_add(const char *file, int line, const char *expression) {
    const size_t used = strlen(error_trace);
    const char *name = strrchr(file, '/');
    snprintf(error_trace + used, sizeof error_trace - used, "  %s:%d %s\n", name ? name + 1 : file,
             line, expression);
}

/* Replaces control characters, which a name in a file may contain, and which a terminal would
   obey: all below a space but tabs and line ends, delete, and U+0080 to U+009F. */
static void replace_controls(char *text) {
    for (unsigned char *at = (unsigned char *)text; *at; ++at) {
        if ((*at < ' ' && *at != '\n' && *at != '\t') || *at == 0x7f) *at = '?';
        if (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) at[0] = at[1] = '?';
    }
}

kd_status status_fail(kd_status status, const char *file, int line, const char *format, ...) {
    char message[sizeof error_message]; /* the arguments may point into the previous message */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    replace_controls(message);
    memcpy(error_message, message, sizeof message);
    error_trace[0] = '\0';
    failed = status;
    trace_add(file, line, kd_status_name(status));
    return status;
}

kd_status status_pass(kd_status status, const char *file, int line, const char *call) {
    trace_add(file, line, call);
    return status;
}

void status_clear(void) {
    error_message[0] = error_trace[0] = '\0';
    failed = KD_OK;
}

const char *kd_last_error(void) {
    return error_message;
}

const char *kd_last_error_trace(void) {
    return error_trace;
}

const char *kd_status_name(kd_status status) {
    switch (status) {
    case KD_OK: return "ok";
    case KD_ERROR_RUNTIME: return "runtime failure";
    case KD_ERROR_USAGE: return "usage error";
    case KD_ERROR_INPUT: return "bad input";
    case KD_ERROR_MEMORY: return "out of memory";
    case KD_ERROR_DEVICE: return "device error";
    case KD_ERROR_CHECK: return "check failed";
    case KD_INTERRUPTED: return "interrupted";
    }
    return "unknown status";
}

static log_sink sink_function;
static void *sink_context;
static _Thread_local bool muted;

void log_set_sink(log_sink sink, void *context) {
    sink_function = sink;
    sink_context = context;
}

bool log_mute(bool mute) {
    const bool before = muted;
    muted = mute;
    return before;
}

void log_message(log_level level, const char *format, ...) {
    if (!sink_function || muted) return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    replace_controls(line);
    sink_function(sink_context, level, line);
}

void status_begin(void) {
    failed = KD_OK;
}

void status_end(void) {
    if (failed != KD_OK && failed != KD_INTERRUPTED && sink_function && !muted)
        sink_function(sink_context, LOG_ERROR, error_message);
}

/* The receiver of the public interface. */
static struct {
    kd_log_function log;
    void *context;
    kd_log_level maximum;
} receiver;

static void pass_on(void *context, log_level level, const char *message) {
    (void)context;
    if ((int)level <= (int)receiver.maximum)
        receiver.log(receiver.context, (kd_log_level)level, message);
}

void kd_log_set(kd_log_function log, void *context, kd_log_level maximum) {
    receiver.log = log;
    receiver.context = context;
    receiver.maximum = maximum;
    log_set_sink(log ? pass_on : NULL, NULL);
}

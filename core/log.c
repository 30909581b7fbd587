#include "core/log.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static log_sink sink_function;
static void *sink_context;
static _Thread_local bool muted;

void log_set_sink(log_sink sink, void *context) {
    sink_function = sink;
    sink_context = context;
}

void log_mute(bool mute) {
    muted = mute;
}

void log_message(log_level level, const char *format, ...) {
    if (!sink_function || muted) return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    sink_function(sink_context, level, line);
}

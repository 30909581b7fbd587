/* The general options, and output to stderr: log, notes, errors. */
#include "core/hash.h"
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "core/system/paths.h"
#include "core/system/process.h"
#include "tools/program/command.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *help_choice(int index) {
    static const char *const names[] = {"daily", "all", NULL};
    return names[index];
}

const option_row general_rows[] = {
    {OPTION_ROW(general_options, "threads", OPTION_INT32, threads), .argument = "N", .initial = "0",
     .environment = "KANDELA_NUM_THREADS", .minimum = 0, .maximum = 4096,
     .help = "CPU threads; 0: all cores"},
    {OPTION_ROW(general_options, "quiet", OPTION_FLAG, quiet), .short_name = 'q', .daily = true,
     .help = "print only results and errors"},
    {OPTION_ROW(general_options, "verbose", OPTION_FLAG, verbose), .short_name = 'v', .daily = true,
     .help = "print details, and the call path of an error"},
    {OPTION_ROW(general_options, "help", OPTION_CHOICE, help), .short_name = 'h', .argument = "all",
     .daily = true, .optional = true, .choice = help_choice,
     .help = "print this help; all: with every option"},
    {.name = NULL}};

static general_options requested;
static void (*wipe_function)(void);

void general_set_wipe(void (*wipe)(void)) {
    wipe_function = wipe;
}

static void wipe(void) {
    if (wipe_function) wipe_function();
}

/* Returns true for a line that was printed before, such as those of a file that is read for each
   frame; rarely false, when another line took its place in the table. */
static bool is_repeated(const char *message) {
    static _Atomic uint64_t printed[256];
    const uint64_t hash = hash_bytes(message, strlen(message));
    return atomic_exchange(&printed[hash % 256], hash) == hash;
}

static void print_log(void *context, log_level level, const char *message) {
    (void)context;
    if (level == LOG_ERROR) return; /* the command reports the failure of its call */
    if (requested.quiet || (level == LOG_DETAIL && !requested.verbose)) return;
    if (level != LOG_DETAIL && is_repeated(message)) return;
    wipe();
    if (level == LOG_WARNING && general_colours())
        fprintf(stderr, "\033[33mwarning:\033[0m %s\n", message);
    else
        fprintf(stderr, "%s%s\n", level == LOG_WARNING ? "warning: " : "", message);
}

void general_apply(const general_options *options) {
    requested = *options;
    log_set_sink(print_log, NULL); /* set the sink first: the next call may log */
    parallel_set_threads(options->threads);
}

bool general_colours(void) {
    const char *no_color = place_variable("NO_COLOR");
    return terminal_exists() && !(no_color && *no_color);
}

void general_note(const char *format, ...) {
    if (requested.quiet) return;
    wipe();
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void general_error(const char *message) {
    wipe();
    fprintf(stderr, general_colours() ? "\033[31mkandela:\033[0m %s\n" : "kandela: %s\n", message);
    if (requested.verbose) fputs(kd_last_error_trace(), stderr);
}

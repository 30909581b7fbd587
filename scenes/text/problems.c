#include "scenes/text/problems.h"
#include "core/growth.h"
#include "core/memory.h"
#include "core/status.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static problem_record *record_next(problem_list *list, bool fatal) {
    if (list->count >= PROBLEMS_KEPT)
        return fatal && !list->fatal ? &list->records[list->count - 1] : NULL;
    if (KD_RESERVE_NEXT(list->records, list->count, list->capacity, 4) != KD_OK) {
        list->out_of_memory = true;
        return NULL;
    }
    return &list->records[list->count++];
}

static void message_make(char message[PROBLEM_TEXT], const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
static void message_make(char message[PROBLEM_TEXT], const char *format, va_list arguments) {
    vsnprintf(message, PROBLEM_TEXT, format, arguments);
    for (char *c = message; *c; ++c) /* keep it on one line, and remove terminal escape codes */
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
}

static void message_add(problem_list *list, bool fatal, const char *kind, uint64_t line,
                        const char *message) {
    ++list->count_all;
    problem_record *record = record_next(list, fatal);
    list->fatal = list->fatal || fatal;
    if (!record) return;
    record->line = line;
    record->kind = kind;
    record->fatal = fatal;
    strcpy(record->message, message);
}

void problem_add(problem_list *list, bool fatal, const char *kind, uint64_t line,
                 const char *format, ...) {
    char message[PROBLEM_TEXT];
    va_list arguments;
    va_start(arguments, format);
    message_make(message, format, arguments);
    va_end(arguments);
    message_add(list, fatal, kind, line, message);
}

void problem_add_once(problem_list *list, const char *kind, uint64_t line, const char *format,
                      ...) {
    char message[PROBLEM_TEXT];
    va_list arguments;
    va_start(arguments, format);
    message_make(message, format, arguments);
    va_end(arguments);
    for (uint32_t i = 0; i < list->count; ++i)
        if (strcmp(list->records[i].message, message) == 0) return;
    message_add(list, false, kind, line, message);
}

void problem_list_close(problem_list *list) {
    memory_free(list->records);
    memset(list, 0, sizeof *list);
}

enum { WARNINGS_LOGGED = 8 }; /* per file or part of a file; a callback gets all */

static bool has_callback(const obj_options *options) {
    return options && options->problem;
}

static void log_record(const problem_record *record, const char *file, uint64_t first_line,
                       const obj_options *options) {
    const uint64_t line = first_line + record->line + 1;
    const obj_problem problem = {file, line <= UINT32_MAX ? (uint32_t)line : UINT32_MAX,
                                 record->kind, record->message, record->fatal};
    if (has_callback(options))
        options->problem(options->context, &problem);
    else if (record->fatal && !(options && options->keep_going))
        return;
    else if (problem.line == 0)
        log_message(LOG_WARNING, "%s: %s", file, problem.message);
    else
        log_message(LOG_WARNING, "%s:%u: %s", file, problem.line, problem.message);
}

kd_status problem_list_report(const problem_list *list, const char *file, uint64_t first_line,
                              const obj_options *options) {
    KD_REQUIRE(!list->out_of_memory, KD_ERROR_MEMORY, "%s: out of memory for the list of problems",
               file);
    const problem_record *fatal = NULL;
    uint64_t logged = 0;
    for (uint32_t i = 0; i < list->count; ++i) {
        if (list->records[i].fatal && !fatal) fatal = &list->records[i];
        if (!has_callback(options) && logged == WARNINGS_LOGGED) continue;
        log_record(&list->records[i], file, first_line, options);
        ++logged;
    }
    if (list->count_all > logged)
        log_message(LOG_WARNING, "%s: %llu more problems; kandela check lists them", file,
                    (unsigned long long)(list->count_all - logged));
    if (!fatal || (options && options->keep_going)) return KD_OK;
    KD_REQUIRE(first_line != PROBLEM_NO_LINES, KD_ERROR_INPUT, "%s: %s", file, fatal->message);
    KD_FAIL(KD_ERROR_INPUT, "%s:%llu: %s", file, (unsigned long long)(first_line + fatal->line + 1),
            fatal->message);
}

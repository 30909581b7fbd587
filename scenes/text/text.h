/* Reading text line by line, as OBJ and MTL are written. The text ends with a line end that stands
   for itself ("\n\n" is enough), so that no function here has to know where the text ends: every
   one stops at a line end. A backslash right before a line end joins the lines. */
#ifndef KD_SCENES_TEXT_TEXT_H
#define KD_SCENES_TEXT_TEXT_H
#include "core/files/file.h"
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct text_cursor {
    const char *at;
    uint64_t line; /* of `at`, 0-based */
} text_cursor;

typedef struct text_span {
    const char *begin;
    uint64_t count;
} text_span;

static inline bool text_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}
static inline bool text_is_line_end(char c) {
    return c == '\n' || c == '\r';
}
static inline bool text_is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

/* Bytes of the line end at `at`: 2 for CR LF, 1 for CR or LF, 0 if there is none. */
static inline int text_line_end(const char *at) {
    if (*at == '\n') return 1;
    if (*at != '\r') return 0;
    return at[1] == '\n' ? 2 : 1;
}

/* Over blanks, joined lines among them. */
static inline void text_skip_blanks(text_cursor *cursor) {
    for (;;) {
        while (text_is_blank(*cursor->at)) ++cursor->at;
        if (*cursor->at != '\\' || !text_is_line_end(cursor->at[1])) return;
        cursor->at += 1 + text_line_end(cursor->at + 1);
        ++cursor->line;
    }
}

/* To the first byte after the line end of this logical line. */
static inline void text_skip_line(text_cursor *cursor) {
    const char *at = cursor->at;
    for (;; ++at) {
        while ((unsigned char)*at > '\r' || (*at != '\n' && *at != '\r')) ++at;
        ++cursor->line;
        at += text_line_end(at) - 1;
        const char *before = *at == '\n' && at > cursor->at && at[-1] == '\r' ? at - 1 : at;
        if (before == cursor->at || before[-1] != '\\') break;
    }
    cursor->at = at + 1;
}

/* To the first byte after the next line end, whatever is before it: for comments. */
static inline void text_skip_comment(text_cursor *cursor) {
    while (!text_is_line_end(*cursor->at)) ++cursor->at;
    cursor->at += text_line_end(cursor->at);
    ++cursor->line;
}

/* At the end of the line, or at a comment: nothing more to read. */
static inline bool text_at_end(const text_cursor *cursor) {
    return text_is_line_end(*cursor->at) || *cursor->at == '#';
}

/* A word ends at a blank, a line end, or a joined line. */
static inline bool text_ends_word(const char *at) {
    return text_is_blank(*at) || text_is_line_end(*at) || (*at == '\\' && text_is_line_end(at[1]));
}

static inline text_span text_word(text_cursor *cursor) {
    text_span word = {cursor->at, 0};
    while (!text_ends_word(cursor->at)) ++cursor->at;
    word.count = (uint64_t)(cursor->at - word.begin);
    return word;
}

/* What is left of the line up to its end or to a backslash that joins it, without blanks at its
   ends. The cursor stays where the text ends. */
static inline text_span text_rest(text_cursor *cursor) {
    text_skip_blanks(cursor);
    text_span rest = {cursor->at, 0};
    while (!text_is_line_end(*cursor->at) &&
           !(*cursor->at == '\\' && text_is_line_end(cursor->at[1])))
        ++cursor->at;
    rest.count = (uint64_t)(cursor->at - rest.begin);
    while (rest.count && text_is_blank(rest.begin[rest.count - 1])) --rest.count;
    return rest;
}

static inline bool text_is(text_span span, const char *word) {
    return span.count == strlen(word) && memcmp(span.begin, word, span.count) == 0;
}

/* Letters of either case are the same. */
static inline bool text_is_like(text_span span, const char *word) {
    if (span.count != strlen(word)) return false;
    for (uint64_t i = 0; i < span.count; ++i) {
        const char c = span.begin[i], d = word[i];
        const char low = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
        const char other = d >= 'A' && d <= 'Z' ? (char)(d + 32) : d;
        if (low != other) return false;
    }
    return true;
}

/* How much of a span a message shows, for "%.*s". */
static inline int text_shown(text_span span) {
    return span.count < 40 ? (int)span.count : 40;
}

/* Bytes of a UTF-8 byte order mark at the beginning: 3 or 0. */
static inline uint64_t text_bom_bytes(const char *bytes, uint64_t count) {
    return count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* "UTF-16 (little endian)" and so on, NULL for what may be read. */
const char *text_foreign_encoding(const char *bytes, uint64_t count);
/* KD_ERROR_INPUT for UTF-16 and UTF-32, with or without a mark. */
kd_status text_encoding_check(const char *bytes, uint64_t count, const char *path);

/* A copy of a whole string, which memory_free takes. */
kd_status text_copy(char **copy, const char *text);

/* A text in pieces of whole lines, each of which one thread reads at a time. Lines end with LF, CR
   LF or CR; no backslash joins them (OBJ's lines are cut by its own reader). */

typedef struct text_chunks {
    text_span *spans; /* every one ends with a line end */
    uint64_t count, room;
    char *tail; /* a copy of the last span where its last line had no end, with one */
} text_chunks;

/* May a piece begin with this line? `line` is followed by a line end somewhere. */
typedef bool (*text_chunk_begins)(const char *line);

/* Cuts text[0, count) into pieces of about `bytes` (0: 1 MiB) that begin where `begins` (NULL: at
   any line) lets them. The text stays its owner's. KD_ERROR_MEMORY. */
kd_status text_chunks_cut(text_chunks *out, const char *text, uint64_t count, uint64_t bytes,
                          text_chunk_begins begins);
void text_chunks_close(text_chunks *owned); /* takes a zeroed one */

/* Behind the next line end at or after `at`, of a text that has one there. */
static inline const char *text_line_next(const char *at) {
    while ((unsigned char)*at > '\r' || (*at != '\n' && *at != '\r')) ++at;
    return at + text_line_end(at);
}

/* Over blanks alone. */
static inline const char *text_blanks_over(const char *at) {
    while (text_is_blank(*at)) ++at;
    return at;
}

#endif

/* Line-based text parsing for OBJ, MTL and other formats. The text must end with a line end that
   no backslash precedes (appending "\n\n" suffices); the functions stop at line ends, so they need
   no end pointer. A backslash directly before a line end joins the lines. */
#ifndef KD_SCENES_TEXT_TEXT_H
#define KD_SCENES_TEXT_TEXT_H
#include "core/files/file.h"
#include "core/status.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct text_cursor {
    const char *at;
    uint64_t line; /* line of `at`, 0-based */
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

/* Returns the size of the line end at `at`: 2 for CR LF, 1 for CR or LF, 0 if there is none. */
static inline int text_line_end(const char *at) {
    if (*at == '\n') return 1;
    if (*at != '\r') return 0;
    return at[1] == '\n' ? 2 : 1;
}

/* Skips blanks and line continuations. */
static inline void text_skip_blanks(text_cursor *cursor) {
    for (;;) {
        while (text_is_blank(*cursor->at)) ++cursor->at;
        if (*cursor->at != '\\' || !text_is_line_end(cursor->at[1])) return;
        cursor->at += 1 + text_line_end(cursor->at + 1);
        ++cursor->line;
    }
}

/* Advances to the first byte after the end of this logical line. */
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

/* Advances to the first byte after the next line end, even after a backslash: for comments. */
static inline void text_skip_comment(text_cursor *cursor) {
    while (!text_is_line_end(*cursor->at)) ++cursor->at;
    cursor->at += text_line_end(cursor->at);
    ++cursor->line;
}

/* Returns true at the end of the line or at a comment. */
static inline bool text_at_end(const text_cursor *cursor) {
    return text_is_line_end(*cursor->at) || *cursor->at == '#';
}

/* A word ends at a blank, a line end, or a line continuation. */
static inline bool text_ends_word(const char *at) {
    return text_is_blank(*at) || text_is_line_end(*at) || (*at == '\\' && text_is_line_end(at[1]));
}

static inline text_span text_word(text_cursor *cursor) {
    text_span word = {cursor->at, 0};
    while (!text_ends_word(cursor->at)) ++cursor->at;
    word.count = (uint64_t)(cursor->at - word.begin);
    return word;
}

/* Returns the rest of the line up to its end or a line continuation, without surrounding blanks,
   and advances the cursor to that point. */
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

/* Returns the span without a comment that follows a blank and "#". */
static inline text_span text_before_comment(text_span span) {
    uint64_t end = 1;
    while (end < span.count && !(span.begin[end] == '#' && text_is_blank(span.begin[end - 1])))
        ++end;
    if (end < span.count) span.count = end;
    while (span.count && text_is_blank(span.begin[span.count - 1])) --span.count;
    return span;
}

static inline bool text_is(text_span span, const char *word) {
    return span.count == strlen(word) && memcmp(span.begin, word, span.count) == 0;
}

/* Compares ASCII text without regard to case. */
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

/* Precision for "%.*s", to limit the part of a span that a message quotes. */
static inline int text_shown(text_span span) {
    return span.count < 40 ? (int)span.count : 40;
}

/* The same for names of files, which a message quotes whole unless they are longer than 400 bytes.
 */
static inline int text_shown_name(text_span span) {
    return span.count < 400 ? (int)span.count : 400;
}

/* Returns the size of a UTF-8 byte order mark: 3, or 0 if there is none. */
static inline uint64_t text_bom_bytes(const char *bytes, uint64_t count) {
    return count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Returns the name of an unsupported encoding, such as "UTF-16 (little endian)", or NULL. */
const char *text_foreign_encoding(const char *bytes, uint64_t count);
/* Returns KD_ERROR_INPUT for UTF-16 and UTF-32, with or without a byte order mark. */
kd_status text_encoding_check(const char *bytes, uint64_t count, const char *path);

/* Copies a string; freed by memory_free. */
kd_status text_copy(char **copy, const char *text);

/* A text cut into pieces of whole lines, for parallel reading. Lines end with LF, CR LF or CR;
   backslashes do not join them (the OBJ reader has its own splitter). */

typedef struct text_chunks {
    text_span *spans; /* each ends with a line end */
    uint64_t count, capacity;
    char *tail; /* terminated copy of the last span, if its last line has no line end; or NULL */
} text_chunks;

/* Returns true if a piece may begin with `line`, which a line end follows somewhere. */
typedef bool (*text_chunk_begins)(const char *line);

/* Cuts text[0, count) into pieces of about `bytes` (0: 1 MiB) that begin at lines accepted by
   `begins` (NULL: any line). The text is borrowed. May return KD_ERROR_MEMORY. */
kd_status text_chunks_cut(text_chunks *out, const char *text, uint64_t count, uint64_t bytes,
                          text_chunk_begins begins);
void text_chunks_close(text_chunks *owned); /* accepts a zeroed struct */

/* Returns the position after the next line end at or after `at`; there must be one. */
static inline const char *text_line_next(const char *at) {
    while ((unsigned char)*at > '\r' || (*at != '\n' && *at != '\r')) ++at;
    return at + text_line_end(at);
}

/* Skips blanks, but not line continuations. */
static inline const char *text_blanks_over(const char *at) {
    while (text_is_blank(*at)) ++at;
    return at;
}

#endif

/* A text in pieces of whole lines, each of which one thread reads at a time. Lines end with LF, CR
   LF or CR; no backslash joins them (OBJ's lines are cut by its own reader). */
#ifndef KD_SCENES_TEXT_TEXT_CHUNKS_H
#define KD_SCENES_TEXT_TEXT_CHUNKS_H
#include "core/files/file.h"
#include "scenes/text/text.h"

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

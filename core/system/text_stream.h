/* A stream whose bytes are had in memory. */
#ifndef KD_CORE_SYSTEM_TEXT_STREAM_H
#define KD_CORE_SYSTEM_TEXT_STREAM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct text_stream {
    FILE *stream; /* write here */
    char *text;   /* of text_stream_end: from malloc, the caller's */
    size_t count;
} text_stream;

bool text_stream_open(text_stream *out);
/* Closes the stream; false if something was not written: then there is no text. */
bool text_stream_end(text_stream *of);

#ifdef __cplusplus
}
#endif
#endif

#include "scenes/text/text.h"
#include "core/growth.h"
#include "core/memory.h"

const char *text_foreign_encoding(const char *bytes, uint64_t count) {
    const unsigned char *b = (const unsigned char *)bytes;
    if (count >= 4 && ((b[0] == 0xff && b[1] == 0xfe && b[2] == 0 && b[3] == 0) ||
                       (b[0] == 0 && b[1] == 0 && b[2] == 0xfe && b[3] == 0xff)))
        return "UTF-32";
    if (count >= 2 && b[0] == 0xff && b[1] == 0xfe) return "UTF-16 (little endian)";
    if (count >= 2 && b[0] == 0xfe && b[1] == 0xff) return "UTF-16 (big endian)";
    if (count >= 4 && b[0] && !b[1] && b[2] && !b[3]) return "UTF-16 (little endian, no mark)";
    if (count >= 4 && !b[0] && b[1] && !b[2] && b[3]) return "UTF-16 (big endian, no mark)";
    return NULL;
}

kd_status text_encoding_check(const char *bytes, uint64_t count, const char *path) {
    const char *name = text_foreign_encoding(bytes, count);
    KD_REQUIRE(!name, KD_ERROR_INPUT, "%s:1: found %s text, expected UTF-8 or ASCII", path, name);
    return KD_OK;
}

kd_status text_copy(char **copy, const char *text) {
    const size_t bytes = strlen(text) + 1;
    KD_TRY(KD_RESERVE(*copy, bytes));
    memcpy(*copy, text, bytes);
    return KD_OK;
}

enum { CHUNK_BYTES = 1 << 20 };

static kd_status span_add(text_chunks *chunks, const char *begin, uint64_t count) {
    KD_TRY(KD_RESERVE_NEXT(chunks->spans, chunks->count, chunks->capacity, 16));
    chunks->spans[chunks->count].begin = begin;
    chunks->spans[chunks->count++].count = count;
    return KD_OK;
}

/* Returns the position after the last line end before `end`, or `begin`. */
static const char *whole_lines_end(const char *begin, const char *end) {
    while (end > begin && !text_is_line_end(end[-1])) --end;
    return end;
}

/* Returns the start of the first line after `at` that may begin a piece, or `end`. */
static const char *piece_end(const char *at, const char *end, text_chunk_begins begins) {
    while (at < end) {
        at = text_line_next(at);
        if (at >= end || !begins || begins(at)) break;
    }
    return at < end ? at : end;
}

kd_status text_chunks_cut(text_chunks *out, const char *text, uint64_t count, uint64_t bytes,
                          text_chunk_begins begins) {
    memset(out, 0, sizeof *out);
    const char *at = text, *end = whole_lines_end(text, text + count);
    if (bytes == 0) bytes = CHUNK_BYTES;
    /* If a CR is the last byte, the byte after it must not be read. */
    if (end == text + count && end > text && end[-1] == '\r') end = whole_lines_end(text, end - 1);
    while (at < end) {
        const char *next =
            (uint64_t)(end - at) > bytes ? piece_end(at + bytes - 1, end, begins) : end;
        KD_TRY(span_add(out, at, (uint64_t)(next - at)));
        at = next;
    }
    if (end == text + count) return KD_OK;
    if (begins && out->count) end = out->spans[--out->count].begin;
    const uint64_t left = (uint64_t)(text + count - end);
    KD_TRY(KD_RESERVE(out->tail, left + 2));
    memcpy(out->tail, end, left);
    memcpy(out->tail + left, "\n\n", 2);
    return span_add(out, out->tail, left + 1);
}

void text_chunks_close(text_chunks *owned) {
    memory_free(owned->spans);
    memory_free(owned->tail);
    memset(owned, 0, sizeof *owned);
}

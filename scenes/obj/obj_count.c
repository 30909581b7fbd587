#include "scenes/obj/obj_chunk.h"

/* Words up to the line's end; each is a corner. */
static uint64_t corners_count(text_cursor *cursor) {
    uint64_t corners = 0;
    for (;;) {
        text_skip_blanks(cursor);
        if (text_at_end(cursor)) break;
        ++corners;
        obj_word_skip(cursor);
    }
    text_skip_comment(cursor);
    return corners;
}

void obj_chunk_count(obj_chunk *chunk) {
    text_cursor cursor = {chunk->text.begin, 0};
    const char *end = chunk->text.begin + chunk->text.count;
    obj_counts counts = {0};
    while (cursor.at < end) {
        text_skip_blanks(&cursor);
        switch (obj_statement_read(&cursor)) {
        case STATEMENT_EMPTY: text_skip_comment(&cursor); break;
        case STATEMENT_POSITION:
            ++counts.positions;
            obj_statement_skip(&cursor);
            break;
        case STATEMENT_TEXCOORD:
            ++counts.texcoords;
            obj_statement_skip(&cursor);
            break;
        case STATEMENT_NORMAL:
            ++counts.normals;
            obj_statement_skip(&cursor);
            break;
        case STATEMENT_FACE: {
            const uint64_t corners = corners_count(&cursor);
            ++counts.faces;
            counts.triangles += corners > 2 ? corners - 2 : 0;
            break;
        }
        case STATEMENT_OTHER: text_skip_line(&cursor); break;
        }
    }
    counts.lines = cursor.line;
    chunk->counts = counts;
}

#include "scenes/check/check_obj.h"
#include "core/files/file.h"
#include "core/memory.h"
#include "scenes/text/number.h"

kd_status obj_text_read(char **text, const char **begin, const char **end, const char *path) {
    file_view file;
    *text = NULL;
    KD_TRY(file_open(&file, path));
    const kd_status status = KD_RESERVE(*text, (uint64_t)file.count + 2);
    if (status == KD_OK) {
        memcpy(*text, file.bytes, file.count);
        memcpy(*text + file.count, "\n\n", 2);
        *begin = *text + text_bom_bytes(*text, file.count);
        *end = *text + file.count;
    }
    file_close(&file);
    KD_TRY(status);
    return KD_OK;
}

bool obj_line_next(text_cursor *cursor, const char *end, obj_line *out) {
    if (cursor->at >= end) return false;
    out->begin = cursor->at;
    text_skip_blanks(cursor);
    out->line = (uint32_t)cursor->line + 1;
    out->kind = obj_statement_read(cursor);
    out->rest = cursor->at;
    switch (out->kind) {
    case STATEMENT_EMPTY: text_skip_comment(cursor); break;
    case STATEMENT_OTHER: text_skip_line(cursor); break;
    default: obj_statement_skip(cursor); break;
    }
    out->end = cursor->at;
    return true;
}

void obj_seen_add(obj_seen *seen, const obj_line *line) {
    seen->positions += line->kind == STATEMENT_POSITION;
    seen->texcoords += line->kind == STATEMENT_TEXCOORD;
    seen->normals += line->kind == STATEMENT_NORMAL;
}

bool obj_line_is_element(const obj_line *line, const char **rest) {
    if (line->kind != STATEMENT_OTHER) return false;
    text_cursor cursor = {line->rest, 0};
    const text_span word = text_word(&cursor);
    *rest = cursor.at;
    return text_is(word, "l") || text_is(word, "p");
}

static uint32_t resolve(int64_t found, uint64_t so_far) {
    const int64_t absolute = found > 0 ? found - 1 : (int64_t)so_far + found;
    return found == 0 || absolute < 0 || absolute >= (int64_t)KD_NONE ? KD_NONE
                                                                      : (uint32_t)absolute;
}

static kd_status ring_grow(obj_ring *ring) {
    if (ring->count < ring->room) return KD_OK;
    const uint64_t room = ring->room ? 2 * ring->room : 16;
    KD_TRY(KD_GROW(ring->position, ring->count, room));
    KD_TRY(KD_GROW(ring->texcoord, ring->count, room));
    KD_TRY(KD_GROW(ring->normal, ring->count, room));
    ring->room = room;
    return KD_OK;
}

static const char *corner_read(obj_ring *ring, const char *at, const obj_seen *seen) {
    int64_t number = 0;
    const uint64_t i = ring->count;
    ring->texcoord[i] = ring->normal[i] = KD_NONE;
    at = number_integer(at, &number);
    if (!at) return NULL;
    ring->position[i] = resolve(number, seen->positions);
    if (ring->position[i] == KD_NONE) return NULL;
    if (*at != '/') return at;
    const char *next = number_integer(++at, &number);
    if (next) {
        ring->texcoord[i] = resolve(number, seen->texcoords);
        at = next;
    }
    if (*at != '/') return at;
    next = number_integer(++at, &number);
    if (next) {
        ring->normal[i] = resolve(number, seen->normals);
        at = next;
    }
    return at;
}

kd_status obj_ring_read(obj_ring *ring, const char *rest, const obj_seen *seen) {
    text_cursor cursor = {rest, 0};
    ring->count = 0;
    ring->sound = true;
    for (;;) {
        text_skip_blanks(&cursor);
        if (text_at_end(&cursor)) return KD_OK;
        KD_TRY(ring_grow(ring));
        const char *next = corner_read(ring, cursor.at, seen);
        if (!next || !(text_ends_word(next) || *next == '#')) {
            ring->sound = false;
            return KD_OK;
        }
        cursor.at = next;
        ++ring->count;
    }
}

void obj_ring_close(obj_ring *owned) {
    memory_free(owned->position);
    memory_free(owned->texcoord);
    memory_free(owned->normal);
    memset(owned, 0, sizeof *owned);
}

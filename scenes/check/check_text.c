/* Checks of an OBJ file's text that its mesh no longer shows: lines of vertices, polygons before
   triangulation, normals of length zero. */
#include "core/files/file.h"
#include "core/memory.h"
#include "scenes/check/check_obj.h"
#include "scenes/check/check_parts.h"
#include "scenes/text/number.h"

/* A polygon is bent if a corner is this fraction of its size away from its plane. */
static const double bent_share = 0.01;
/* Limit on pairs of edges tested per file: enough for polygons with ten thousand corners. */
enum { PAIRS_MAX = 1 << 27 };

typedef struct text_walk {
    examination *check;
    obj_seen seen;
    obj_ring ring;
    uint64_t pairs_left;
} text_walk;

static void normal_examine(text_walk *w, const obj_line *line) {
    float values[3] = {0};
    text_cursor cursor = {line->rest, 0};
    for (int k = 0; k < 3; ++k) {
        text_skip_blanks(&cursor);
        const char *next = number_float(cursor.at, &values[k]);
        if (!next) return;
        cursor.at = next;
    }
    const vec3 normal = vec3_make(values[0], values[1], values[2]);
    if (!vec3_is_finite(normal) || !vec3_is_zero(vec3_normalize(normal))) return;
    check_note(w->check, w->check->path, line->line, "zero-normal", CHECK_WARNING,
               "found a normal of length 0, expected a direction; it is ignored");
}

static vec3 corner_at(const text_walk *w, uint64_t i) {
    return w->check->body.positions[w->ring.position[i % w->ring.count]];
}

/* Newell's normal, and the sum of absolute contributions: a self-crossing polygon may have a zero
   normal and still be planar. */
static void normals_sum(const text_walk *w, double normal[3], double size[3]) {
    const vec3 o = corner_at(w, 0);
    for (uint64_t i = 1; i + 1 < w->ring.count; ++i) {
        const vec3 p = corner_at(w, i), q = corner_at(w, i + 1);
        const double a[3] = {(double)p.x - (double)o.x, (double)p.y - (double)o.y,
                             (double)p.z - (double)o.z};
        const double b[3] = {(double)q.x - (double)o.x, (double)q.y - (double)o.y,
                             (double)q.z - (double)o.z};
        for (int k = 0; k < 3; ++k) {
            const int l = (k + 1) % 3, m = (k + 2) % 3;
            const double part = a[l] * b[m] - a[m] * b[l];
            normal[k] += part;
            size[k] += fabs(part);
        }
    }
}

static bool edges_cross(const text_walk *w, uint64_t a, uint64_t b, int i, int j) {
    const vec3 p = corner_at(w, a), q = corner_at(w, a + 1);
    const vec3 r = corner_at(w, b), s = corner_at(w, b + 1);
    return exact_turn(p, q, r, i, j) * exact_turn(p, q, s, i, j) < 0 &&
           exact_turn(r, s, p, i, j) * exact_turn(r, s, q, i, j) < 0;
}

static bool is_crossed(text_walk *w, int i, int j) {
    const uint64_t count = w->ring.count;
    for (uint64_t a = 0; a < count; ++a)
        for (uint64_t b = a + 2; b < count; ++b) {
            if (w->pairs_left == 0) return false;
            --w->pairs_left;
            if (edges_cross(w, a, b, i, j)) return true;
        }
    return false;
}

/* Returns the largest distance of a corner from the plane through the centroid, as a fraction of
   the polygon's size. */
static double bend(const text_walk *w, const double normal[3]) {
    const double length =
        sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
    double low = (double)INFINITY, high = -(double)INFINITY, size = 0;
    if (!(length > 0)) return 0;
    const vec3 o = corner_at(w, 0);
    for (uint64_t i = 0; i < w->ring.count; ++i) {
        const vec3 p = corner_at(w, i);
        const double x = (double)p.x - (double)o.x, y = (double)p.y - (double)o.y;
        const double z = (double)p.z - (double)o.z;
        const double height = (x * normal[0] + y * normal[1] + z * normal[2]) / length;
        low = fmin(low, height);
        high = fmax(high, height);
        size = fmax(size, x * x + y * y + z * z);
    }
    return size > 0 ? 0.5 * (high - low) / sqrt(size) : 0;
}

static void shape_examine(text_walk *w, uint32_t line) {
    double normal[3] = {0, 0, 0}, size[3] = {0, 0, 0};
    normals_sum(w, normal, size);
    int axis = size[0] > size[1] ? 0 : 1;
    if (size[2] >= size[axis]) axis = 2;
    if (!(size[axis] > 0)) return;
    if (is_crossed(w, (axis + 1) % 3, (axis + 2) % 3)) {
        check_note(w->check, w->check->path, line, "crossed-polygon", CHECK_WARNING,
                   "found a polygon of %llu corners whose edges cross, expected a simple one",
                   (unsigned long long)w->ring.count);
        return;
    }
    const double share = bend(w, normal);
    if (share > bent_share)
        check_note(w->check, w->check->path, line, "bent-polygon", CHECK_NOTE,
                   "found a polygon of %llu corners that deviates from its plane by up to %.2g %% "
                   "of its size, expected a planar one",
                   (unsigned long long)w->ring.count, 100 * share);
}

static bool same_place(vec3 a, vec3 b) {
    return !(a.x < b.x || a.x > b.x || a.y < b.y || a.y > b.y || a.z < b.z || a.z > b.z);
}

static kd_status face_examine(text_walk *w, const obj_line *line) {
    KD_TRY(obj_ring_read(&w->ring, line->rest, &w->seen));
    if (!w->ring.sound || w->ring.count < 4) return KD_OK;
    for (uint64_t i = 0; i < w->ring.count; ++i)
        if (w->ring.position[i] >= w->check->body.position_count) return KD_OK;
    for (uint64_t i = 0; i < w->ring.count; ++i)
        if (same_place(corner_at(w, i), corner_at(w, i + 1))) {
            check_note(
                w->check, w->check->path, line->line, "repeated-corner", CHECK_WARNING,
                "found a polygon with two equal consecutive vertices, expected different ones");
            break;
        }
    shape_examine(w, line->line);
    return KD_OK;
}

static kd_status element_examine(text_walk *w, const char *rest) {
    KD_TRY(obj_ring_read(&w->ring, rest, &w->seen));
    for (uint64_t i = 0; i < w->ring.count; ++i)
        if (w->ring.position[i] < w->check->body.position_count)
            w->check->used[w->ring.position[i]] = CHECK_USED_ELSEWHERE;
    return KD_OK;
}

static kd_status line_examine(text_walk *w, const obj_line *line) {
    const char *rest = NULL;
    if (line->kind == STATEMENT_FACE) {
        KD_TRY(face_examine(w, line));
    } else if (line->kind == STATEMENT_NORMAL) {
        normal_examine(w, line);
    } else if (line->kind == STATEMENT_POSITION &&
               w->seen.positions < w->check->body.position_count) {
        w->check->position_lines[w->seen.positions] = line->line;
    } else if (obj_line_is_element(line, &rest)) {
        KD_TRY(element_examine(w, rest));
    }
    obj_seen_add(&w->seen, line);
    return KD_OK;
}

kd_status check_text(examination *check) {
    text_walk w;
    char *text = NULL;
    const char *end = NULL;
    text_cursor cursor = {NULL, 0};
    obj_line line;
    memset(&w, 0, sizeof w);
    w.check = check;
    w.pairs_left = PAIRS_MAX;
    kd_status status;
    KD_TRY_GOTO(obj_text_read(&text, &cursor.at, &end, check->path));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(check->position_lines, check->body.position_count));
    while (obj_line_next(&cursor, end, &line)) KD_TRY_GOTO(line_examine(&w, &line));
    if (w.pairs_left == 0)
        check_note(check, check->path, 0, "polygons-unfinished", CHECK_NOTE,
                   "found polygons of too many corners to check all their edges for crossings");
done:
    obj_ring_close(&w.ring);
    memory_free(text);
    return status;
}

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

static uint32_t resolve(int64_t index, uint64_t so_far) {
    const int64_t absolute = index > 0 ? index - 1 : (int64_t)so_far + index;
    return index == 0 || absolute < 0 || absolute >= (int64_t)KD_NONE ? KD_NONE
                                                                      : (uint32_t)absolute;
}

static kd_status ring_grow(obj_ring *ring) {
    if (ring->count < ring->capacity) return KD_OK;
    const uint64_t capacity = ring->capacity ? 2 * ring->capacity : 16;
    KD_TRY(KD_GROW(ring->position, ring->count, capacity));
    KD_TRY(KD_GROW(ring->texcoord, ring->count, capacity));
    KD_TRY(KD_GROW(ring->normal, ring->count, capacity));
    ring->capacity = capacity;
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

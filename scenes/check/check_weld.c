/* Places: vertices at the same one, those that nobody uses, triangles without area, and copies
   of triangles.
   Work: O(n), by hash tables. */
#include "core/hash.h"
#include "core/memory.h"
#include "scenes/check/check_exact.h"
#include "scenes/check/check_parts.h"

static uint64_t table_size(uint64_t count) {
    uint64_t size = 16;
    while (size < 2 * count) size *= 2;
    return size;
}

static uint64_t place_hash(vec3 p) {
    const float key[3] = {p.x + 0.0f, p.y + 0.0f, p.z + 0.0f}; /* -0 is 0 */
    return hash_bytes(key, sizeof key);
}

static bool same_place(vec3 a, vec3 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static kd_status weld(examination *of) {
    const mesh *body = &of->body;
    const uint64_t size = table_size(body->position_count);
    uint32_t *table = NULL;
    KD_TRY(KD_RESERVE(of->welded, body->position_count));
    KD_TRY(KD_RESERVE(table, size));
    memset(table, 0xff, size * sizeof *table);
    for (uint32_t i = 0; i < body->position_count; ++i) {
        of->welded[i] = i;
        if (!of->used[i]) continue;
        uint64_t at = place_hash(body->positions[i]) & (size - 1);
        while (table[at] != KD_NONE && !same_place(body->positions[table[at]], body->positions[i]))
            at = (at + 1) & (size - 1);
        if (table[at] == KD_NONE) table[at] = i;
        of->welded[i] = table[at];
    }
    memory_free(table);
    return KD_OK;
}

static void vertices_tell(examination *of) {
    for (uint32_t i = 0; i < of->body.position_count; ++i) {
        const uint32_t first = of->welded[i];
        if (!of->used[i])
            check_position_note(of, i, "unused-vertex", CHECK_NOTE,
                                "found a vertex that no face uses");
        else if (first != i && of->position_lines)
            check_position_note(of, i, "unwelded-vertex", CHECK_NOTE,
                                "found a vertex at the place of that of line %u, expected one",
                                of->position_lines[first]);
        else if (first != i)
            check_position_note(of, i, "unwelded-vertex", CHECK_NOTE,
                                "found a vertex at the place of vertex %u, expected one", first);
    }
}

/* A face is without area if all of its triangles are: a polygon may have a corner on its edge. */
static void flats_find(examination *of) {
    const uint64_t count = of->body.triangle_count;
    for (uint64_t begin = 0, end; begin < count; begin = end) {
        bool flat = true;
        for (end = begin; end < count && (end == begin || (of->lines && of->lines[end] != 0 &&
                                                           of->lines[end] == of->lines[begin]));
             ++end) {
            if (exact_is_flat(check_point(of, end, 0), check_point(of, end, 1),
                              check_point(of, end, 2)))
                of->marks[end] |= CHECK_FLAT;
            else
                flat = false;
        }
        if (flat)
            check_triangle_note(of, begin, "zero-area", CHECK_WARNING,
                                "found a face without area (corners %u %u %u)",
                                check_corner(of, begin, 0) + 1, check_corner(of, begin, 1) + 1,
                                check_corner(of, begin, 2) + 1);
    }
}

typedef struct corners3 {
    uint32_t at[3];
} corners3;

/* Turned so that the smallest is first; *way: whether the others are in rising order. */
static corners3 sorted_corners(const examination *of, uint64_t triangle, bool *way) {
    corners3 c;
    int least = 0;
    uint32_t place[3];
    for (int k = 0; k < 3; ++k) {
        place[k] = check_place(of, triangle, k);
        if (place[k] < place[least]) least = k;
    }
    const uint32_t second = place[(least + 1) % 3], third = place[(least + 2) % 3];
    *way = second < third;
    c.at[0] = place[least];
    c.at[1] = *way ? second : third;
    c.at[2] = *way ? third : second;
    return c;
}

static void copy_tell(examination *of, uint32_t triangle, bool reversed, bool other_look) {
    const char *kind = reversed ? "reversed-duplicate" : "duplicate-triangle";
    const char *way = reversed ? " wound the other way" : "";
    const char *look = other_look ? " of another material" : "";
    const uint32_t first = of->twin[triangle];
    if (of->lines)
        check_triangle_note(of, triangle, kind, CHECK_WARNING,
                            "found a triangle%s%s where the face of line %u has one, expected one",
                            way, look, of->lines[first]);
    else
        check_triangle_note(of, triangle, kind, CHECK_WARNING,
                            "found it%s%s where triangle %u is, expected one", way, look, first);
}

/* Triangles by their places, and by their material too if asked. */
typedef struct copy_table {
    uint32_t *slots;
    uint64_t size;
    bool by_material;
} copy_table;

typedef struct copy_key {
    corners3 corners;
    uint32_t material;
} copy_key;

static copy_key key_of(const examination *of, const copy_table *in, uint32_t triangle, bool *way) {
    const copy_key key = {sorted_corners(of, triangle, way),
                          in->by_material ? of->body.triangle_materials[triangle] : 0};
    return key;
}

/* The first one of the same key: itself if there was none. */
static uint32_t find_or_put(const examination *of, copy_table *in, uint32_t triangle) {
    bool way;
    const copy_key key = key_of(of, in, triangle, &way);
    uint64_t at = hash_bytes(&key, sizeof key) & (in->size - 1);
    for (; in->slots[at] != KD_NONE; at = (at + 1) & (in->size - 1)) {
        const copy_key other = key_of(of, in, in->slots[at], &way);
        if (memcmp(&key, &other, sizeof key) == 0) return in->slots[at];
    }
    in->slots[at] = triangle;
    return triangle;
}

static void copy_examine(examination *of, copy_table tables[2], uint32_t i) {
    bool way = false, other_way = false;
    const uint32_t first = find_or_put(of, &tables[0], i);
    const bool other_look = find_or_put(of, &tables[1], i) == i;
    of->twin[i] = KD_NONE;
    if (first == i) return;
    of->twin[i] = first;
    of->marks[i] |= (uint8_t)(CHECK_COPY | (other_look ? CHECK_OTHER_LOOK : 0));
    sorted_corners(of, i, &way);
    sorted_corners(of, first, &other_way);
    copy_tell(of, i, way != other_way, other_look);
}

static kd_status copies_find(examination *of) {
    const uint64_t count = of->body.triangle_count, size = table_size(count);
    copy_table tables[2] = {{NULL, size, false}, {NULL, size, true}};
    kd_status status;
    KD_TRY_GOTO(KD_RESERVE(of->twin, count));
    for (int k = 0; k < 2; ++k) {
        KD_TRY_GOTO(KD_RESERVE(tables[k].slots, size));
        memset(tables[k].slots, 0xff, size * sizeof *tables[k].slots);
    }
    for (uint32_t i = 0; i < count; ++i)
        if (!(of->marks[i] & CHECK_FLAT)) copy_examine(of, tables, i);
done:
    for (int k = 0; k < 2; ++k) memory_free(tables[k].slots);
    return status;
}

kd_status check_weld(examination *of) {
    KD_TRY(KD_RESERVE_ZEROED(of->marks, of->body.triangle_count));
    for (uint64_t i = 0; i < 3 * (uint64_t)of->body.triangle_count; ++i)
        of->used[of->body.triangles[i]] |= CHECK_USED_BY_FACE;
    KD_TRY(weld(of));
    vertices_tell(of);
    flats_find(of);
    KD_TRY(copies_find(of));
    return KD_OK;
}

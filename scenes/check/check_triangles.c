/* Checks of single vertices and triangles: duplicate and unused vertices, degenerate and duplicate
   triangles, slivers, normals against the winding, textures without coordinates.
   Work: O(n), by hash tables. */
#include "core/hash.h"
#include "core/memory.h"
#include "scenes/check/check_parts.h"

static uint64_t table_size(uint64_t count) {
    uint64_t size = 16;
    while (size < 2 * count) size *= 2;
    return size;
}

static uint64_t place_hash(vec3 p) {
    const float key[3] = {p.x + 0.0f, p.y + 0.0f, p.z + 0.0f}; /* -0 hashes like 0 */
    return hash_bytes(key, sizeof key);
}

static bool same_place(vec3 a, vec3 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static kd_status weld(examination *check) {
    const mesh *body = &check->body;
    const uint64_t size = table_size(body->position_count);
    uint32_t *table = NULL;
    KD_TRY(KD_RESERVE(check->welded, body->position_count));
    KD_TRY(KD_RESERVE(table, size));
    memset(table, 0xff, size * sizeof *table);
    for (uint32_t i = 0; i < body->position_count; ++i) {
        check->welded[i] = i;
        if (!check->used[i]) continue;
        uint64_t at = place_hash(body->positions[i]) & (size - 1);
        while (table[at] != KD_NONE && !same_place(body->positions[table[at]], body->positions[i]))
            at = (at + 1) & (size - 1);
        if (table[at] == KD_NONE) table[at] = i;
        check->welded[i] = table[at];
    }
    memory_free(table);
    return KD_OK;
}

static void vertices_report(examination *check) {
    for (uint32_t i = 0; i < check->body.position_count; ++i) {
        const uint32_t first = check->welded[i];
        if (!check->used[i])
            check_position_note(check, i, "unused-vertex", CHECK_NOTE,
                                "found a vertex that no face uses");
        else if (first != i && check->position_lines)
            check_position_note(
                check, i, "unwelded-vertex", CHECK_NOTE,
                "found a vertex at the position of the vertex of line %u, expected one vertex",
                check->position_lines[first]);
        else if (first != i)
            check_position_note(check, i, "unwelded-vertex", CHECK_NOTE,
                                "found a vertex at the position of vertex %u, expected one vertex",
                                first);
    }
}

/* A face is degenerate if all its triangles are: a polygon may have a corner on an edge. */
static void flats_find(examination *check) {
    const uint64_t count = check->body.triangle_count;
    for (uint64_t begin = 0, end; begin < count; begin = end) {
        bool flat = true;
        for (end = begin;
             end < count && (end == begin || (check->lines && check->lines[end] != 0 &&
                                              check->lines[end] == check->lines[begin]));
             ++end) {
            if (exact_is_flat(check_point(check, end, 0), check_point(check, end, 1),
                              check_point(check, end, 2)))
                check->marks[end] |= CHECK_FLAT;
            else
                flat = false;
        }
        if (flat)
            check_triangle_note(
                check, begin, "zero-area", CHECK_WARNING,
                "found a face without area (corners %u %u %u)", check_corner(check, begin, 0) + 1,
                check_corner(check, begin, 1) + 1, check_corner(check, begin, 2) + 1);
    }
}

typedef struct corners3 {
    uint32_t at[3];
} corners3;

/* Rotates the corners so that the smallest is first; sets *orientation to true if the others are
   ascending. */
static corners3 sorted_corners(const examination *check, uint64_t triangle, bool *orientation) {
    corners3 c;
    int minimum = 0;
    uint32_t place[3];
    for (int k = 0; k < 3; ++k) {
        place[k] = check_place(check, triangle, k);
        if (place[k] < place[minimum]) minimum = k;
    }
    const uint32_t second = place[(minimum + 1) % 3], third = place[(minimum + 2) % 3];
    *orientation = second < third;
    c.at[0] = place[minimum];
    c.at[1] = *orientation ? second : third;
    c.at[2] = *orientation ? third : second;
    return c;
}

static void copy_report(examination *check, uint32_t triangle, bool reversed,
                        bool other_appearance) {
    const char *kind = reversed ? "reversed-duplicate" : "duplicate-triangle";
    const char *orientation = reversed ? ", with reversed winding" : "";
    const char *appearance = other_appearance ? ", with another material" : "";
    const uint32_t first = check->twin[triangle];
    if (check->lines)
        check_triangle_note(check, triangle, kind, CHECK_WARNING,
                            "found a duplicate of the face of line %u%s%s, expected one face",
                            check->lines[first], orientation, appearance);
    else
        check_triangle_note(check, triangle, kind, CHECK_WARNING,
                            "found a duplicate of triangle %u%s%s, expected one triangle", first,
                            orientation, appearance);
}

/* A hash table of triangles by their vertices, and optionally their material. */
typedef struct copy_table {
    uint32_t *slots;
    uint64_t size;
    bool by_material;
} copy_table;

typedef struct copy_key {
    corners3 corners;
    uint32_t material;
} copy_key;

static copy_key key_of(const examination *check, const copy_table *table, uint32_t triangle,
                       bool *orientation) {
    const copy_key key = {sorted_corners(check, triangle, orientation),
                          table->by_material ? check->body.triangle_materials[triangle] : 0};
    return key;
}

/* Returns the first triangle with the same key, or adds `triangle` and returns it. */
static uint32_t find_or_put(const examination *check, copy_table *table, uint32_t triangle) {
    bool orientation;
    const copy_key key = key_of(check, table, triangle, &orientation);
    uint64_t at = hash_bytes(&key, sizeof key) & (table->size - 1);
    for (; table->slots[at] != KD_NONE; at = (at + 1) & (table->size - 1)) {
        const copy_key other = key_of(check, table, table->slots[at], &orientation);
        if (memcmp(&key, &other, sizeof key) == 0) return table->slots[at];
    }
    table->slots[at] = triangle;
    return triangle;
}

static void copy_examine(examination *check, copy_table tables[2], uint32_t i) {
    bool orientation = false, other_orientation = false;
    const uint32_t first = find_or_put(check, &tables[0], i);
    const bool other_appearance = find_or_put(check, &tables[1], i) == i;
    check->twin[i] = KD_NONE;
    if (first == i) return;
    check->twin[i] = first;
    check->marks[i] |= (uint8_t)(CHECK_COPY | (other_appearance ? CHECK_OTHER_APPEARANCE : 0));
    sorted_corners(check, i, &orientation);
    sorted_corners(check, first, &other_orientation);
    copy_report(check, i, orientation != other_orientation, other_appearance);
}

static kd_status copies_find(examination *check) {
    const uint64_t count = check->body.triangle_count, size = table_size(count);
    copy_table tables[2] = {{NULL, size, false}, {NULL, size, true}};
    kd_status status;
    KD_TRY_GOTO(KD_RESERVE(check->twin, count));
    for (int k = 0; k < 2; ++k) {
        KD_TRY_GOTO(KD_RESERVE(tables[k].slots, size));
        memset(tables[k].slots, 0xff, size * sizeof *tables[k].slots);
    }
    for (uint32_t i = 0; i < count; ++i)
        if (!(check->marks[i] & CHECK_FLAT)) copy_examine(check, tables, i);
done:
    for (int k = 0; k < 2; ++k) memory_free(tables[k].slots);
    return status;
}

kd_status check_weld(examination *check) {
    KD_TRY(KD_RESERVE_ZEROED(check->marks, check->body.triangle_count));
    for (uint64_t i = 0; i < 3 * (uint64_t)check->body.triangle_count; ++i)
        check->used[check->body.triangles[i]] |= CHECK_USED_BY_FACE;
    KD_TRY(weld(check));
    vertices_report(check);
    flats_find(check);
    KD_TRY(copies_find(check));
    return KD_OK;
}

/* A sliver's smallest height is below this fraction of its longest edge. */
static const double sliver_share = 0.001;

typedef struct wide3 {
    double x, y, z;
} wide3;

static wide3 edge(vec3 a, vec3 b) {
    const wide3 e = {(double)b.x - (double)a.x, (double)b.y - (double)a.y,
                     (double)b.z - (double)a.z};
    return e;
}

static double dot(wide3 a, wide3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* Double precision holds fourth powers of all floats without overflow or underflow. */
static wide3 cross_of(const examination *check, uint64_t triangle, double *longest2) {
    const vec3 a = check_point(check, triangle, 0), b = check_point(check, triangle, 1);
    const vec3 c = check_point(check, triangle, 2);
    const wide3 e = edge(a, b), f = edge(a, c), g = edge(b, c);
    const wide3 cross = {e.y * f.z - e.z * f.y, e.z * f.x - e.x * f.z, e.x * f.y - e.y * f.x};
    *longest2 = fmax(dot(e, e), fmax(dot(f, f), dot(g, g)));
    return cross;
}

static void shape_examine(examination *check, uint64_t triangle, wide3 cross, double longest2) {
    const double share = sqrt(dot(cross, cross)) / longest2;
    if (check->marks[triangle] & CHECK_FLAT || share >= sliver_share) return;
    check_triangle_note(
        check, triangle, "sliver", CHECK_NOTE,
        "found a triangle with a height of %.1g times its length, expected at least %g", share,
        sliver_share);
}

static void normals_examine(examination *check, uint64_t triangle, wide3 cross) {
    if (!check->body.normal_indices) return;
    wide3 sum = {0, 0, 0};
    for (uint64_t k = 0; k < 3; ++k) {
        const uint32_t index = check->body.normal_indices[3 * triangle + k];
        if (index == KD_NONE) return;
        const vec3 n = check->body.normals[index];
        sum.x += (double)n.x;
        sum.y += (double)n.y;
        sum.z += (double)n.z;
    }
    if (dot(sum, cross) < 0)
        check_triangle_note(
            check, triangle, "flipped-normal", CHECK_WARNING,
            "found normals opposite to the winding, expected both on the same side");
}

static bool has_texture(const mesh_material *material) {
    mesh_material copy = *material;
    for (int map = 0; map < MESH_MAPS; ++map)
        if (*mesh_material_map(&copy, (mesh_map)map)) return true;
    return false;
}

static bool lacks_texcoord(const mesh *body, uint64_t triangle) {
    if (!has_texture(&body->materials[body->triangle_materials[triangle]])) return false;
    for (uint64_t k = 0; k < 3 && body->texcoord_indices; ++k)
        if (body->texcoord_indices[3 * triangle + k] == KD_NONE) return true;
    return !body->texcoord_indices;
}

/* Reports each material once, at its first triangle. */
static kd_status textures_examine(examination *check) {
    const mesh *body = &check->body;
    uint64_t *first = NULL, *count = NULL;
    kd_status status;
    KD_TRY_GOTO(KD_RESERVE(first, body->material_count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(count, body->material_count));
    for (uint64_t i = 0; i < body->triangle_count; ++i) {
        if (!lacks_texcoord(body, i)) continue;
        const uint32_t m = body->triangle_materials[i];
        if (count[m]++ == 0) first[m] = i;
    }
    for (uint32_t m = 0; m < body->material_count; ++m)
        if (count[m])
            check_triangle_note(check, first[m], "texture-without-uv", CHECK_WARNING,
                                "found %llu triangles without texture coordinates, expected some "
                                "for the textures of \"%.60s\"",
                                (unsigned long long)count[m], body->materials[m].name);
done:
    memory_free(first);
    memory_free(count);
    return status;
}

kd_status check_triangles(examination *check) {
    for (uint64_t i = 0; i < check->body.triangle_count; ++i) {
        double longest2;
        const wide3 cross = cross_of(check, i, &longest2);
        shape_examine(check, i, cross, longest2);
        normals_examine(check, i, cross);
    }
    KD_TRY(textures_examine(check));
    return KD_OK;
}

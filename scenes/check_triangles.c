#include "core/hash.h"
#include "core/memory.h"
#include "scenes/check_parts.h"

/* A triangle whose double area is below this share of its longest edge squared has none that the
   arithmetic of doubles can tell. */
static const double flat_share = 1e-12;

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
        uint64_t at = place_hash(body->positions[i]) & (size - 1);
        while (table[at] != KD_NONE && !same_place(body->positions[table[at]], body->positions[i]))
            at = (at + 1) & (size - 1);
        if (table[at] == KD_NONE) table[at] = i;
        of->welded[i] = table[at];
    }
    memory_free(table);
    return KD_OK;
}

typedef struct corners3 {
    uint32_t at[3];
} corners3;

static corners3 sorted_corners(const examination *of, uint64_t triangle) {
    corners3 c;
    for (int k = 0; k < 3; ++k) c.at[k] = of->welded[check_corner(of, triangle, k)];
    for (int pass = 0; pass < 2; ++pass)
        for (int k = 0; k < 2; ++k)
            if (c.at[k] > c.at[k + 1]) {
                const uint32_t larger = c.at[k];
                c.at[k] = c.at[k + 1];
                c.at[k + 1] = larger;
            }
    return c;
}

static kd_status duplicates_find(examination *of) {
    const uint64_t count = of->body.triangle_count, size = table_size(count);
    uint32_t *table = NULL;
    KD_TRY(KD_RESERVE(table, size));
    memset(table, 0xff, size * sizeof *table);
    for (uint64_t i = 0; i < count; ++i) {
        const corners3 key = sorted_corners(of, i);
        if (key.at[0] == key.at[1] || key.at[1] == key.at[2]) continue; /* without area */
        uint64_t at = hash_bytes(&key, sizeof key) & (size - 1);
        for (; table[at] != KD_NONE; at = (at + 1) & (size - 1)) {
            const corners3 other = sorted_corners(of, table[at]);
            if (memcmp(&key, &other, sizeof key) == 0) break;
        }
        if (table[at] == KD_NONE)
            table[at] = (uint32_t)i;
        else if (of->lines)
            CHECK_TRIANGLE(of, i, "duplicate-triangle",
                           "found a triangle where the face of line %u has one, expected one",
                           of->lines[table[at]]);
        else
            CHECK_TRIANGLE(of, i, "duplicate-triangle",
                           "found triangle %llu where triangle %u is, expected one",
                           (unsigned long long)i, table[at]);
    }
    memory_free(table);
    return KD_OK;
}

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

static wide3 cross_of(const examination *of, uint64_t triangle, double *longest2) {
    const vec3 *p = of->body.positions;
    const vec3 a = p[check_corner(of, triangle, 0)], b = p[check_corner(of, triangle, 1)];
    const vec3 c = p[check_corner(of, triangle, 2)];
    const wide3 e = edge(a, b), f = edge(a, c), g = edge(b, c);
    const wide3 cross = {e.y * f.z - e.z * f.y, e.z * f.x - e.x * f.z, e.x * f.y - e.y * f.x};
    *longest2 = fmax(dot(e, e), fmax(dot(f, f), dot(g, g)));
    return cross;
}

static void area_examine(examination *of, uint64_t triangle, wide3 cross, double longest2) {
    if (sqrt(dot(cross, cross)) > flat_share * longest2) return;
    CHECK_TRIANGLE(of, triangle, "zero-area", "found a triangle without area (corners %u %u %u)",
                   check_corner(of, triangle, 0) + 1, check_corner(of, triangle, 1) + 1,
                   check_corner(of, triangle, 2) + 1);
}

static void normals_examine(examination *of, uint64_t triangle, wide3 cross) {
    if (!of->body.normal_indices) return;
    wide3 sum = {0, 0, 0};
    for (uint64_t k = 0; k < 3; ++k) {
        const uint32_t index = of->body.normal_indices[3 * triangle + k];
        if (index == KD_NONE) return;
        const vec3 n = of->body.normals[index];
        sum.x += (double)n.x;
        sum.y += (double)n.y;
        sum.z += (double)n.z;
    }
    if (dot(sum, cross) < 0)
        CHECK_TRIANGLE(of, triangle, "flipped-normal",
                       "found normals against the winding, expected both on one side");
}

kd_status check_triangles(examination *of) {
    KD_TRY(weld(of));
    for (uint64_t i = 0; i < of->body.triangle_count; ++i) {
        double longest2;
        const wide3 cross = cross_of(of, i, &longest2);
        area_examine(of, i, cross, longest2);
        normals_examine(of, i, cross);
    }
    return duplicates_find(of);
}

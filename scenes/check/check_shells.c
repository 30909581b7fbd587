/* Checks that glass is closed, since light that enters must be able to leave.
   Idea: triangles of one glass material that share an edge form a shell. A shell is closed if each
     of its edges is traversed equally often in both directions, and not inverted if its volume is
     positive. */
#include "core/memory.h"
#include "scenes/check/check_parts.h"
#include <stdlib.h>

typedef struct shell_edge {
    uint32_t low, high; /* merged vertices */
    uint32_t material;
    uint32_t triangle;   /* index in `triangles` */
    int32_t orientation; /* 1: from low to high, -1: from high to low */
} shell_edge;

typedef struct shells {
    examination *check;
    uint32_t *triangles; /* triangles with a glass material */
    uint32_t *root;      /* union-find over `triangles` */
    shell_edge *edges;   /* 3 per triangle */
    uint32_t *open;      /* per root: number of unmatched edges */
    double *volume;      /* per root: six times the volume */
    uint32_t count;
} shells;

static uint32_t root_of(uint32_t *root, uint32_t i) {
    while (root[i] != i) {
        root[i] = root[root[i]];
        i = root[i];
    }
    return i;
}

static int edge_order(const void *a, const void *b) {
    const shell_edge *left = (const shell_edge *)a, *right = (const shell_edge *)b;
    if (left->low != right->low) return left->low < right->low ? -1 : 1;
    if (left->high != right->high) return left->high < right->high ? -1 : 1;
    if (left->material != right->material) return left->material < right->material ? -1 : 1;
    return left->triangle < right->triangle ? -1 : left->triangle > right->triangle;
}

static bool is_glass(const examination *check, uint64_t triangle) {
    return check->body.materials[check->body.triangle_materials[triangle]].record.kind ==
           MATERIAL_GLASS;
}

static void edges_gather(shells *s) {
    const examination *check = s->check;
    for (uint32_t i = 0; i < s->count; ++i) {
        const uint32_t triangle = s->triangles[i];
        for (int k = 0; k < 3; ++k) {
            const uint32_t a = check->welded[check_corner(check, triangle, k)];
            const uint32_t b = check->welded[check_corner(check, triangle, (k + 1) % 3)];
            shell_edge *edge = &s->edges[3 * (size_t)i + (size_t)k];
            edge->low = a < b ? a : b;
            edge->high = a < b ? b : a;
            edge->orientation = a < b ? 1 : a > b ? -1 : 0;
            edge->material = check->body.triangle_materials[triangle];
            edge->triangle = i;
        }
    }
    qsort(s->edges, 3 * (size_t)s->count, sizeof *s->edges, edge_order);
}

/* Returns the end of a group of equal edges. */
static size_t group_end(const shells *s, size_t begin) {
    size_t end = begin + 1;
    while (end < 3 * (size_t)s->count && s->edges[end].low == s->edges[begin].low &&
           s->edges[end].high == s->edges[begin].high &&
           s->edges[end].material == s->edges[begin].material)
        ++end;
    return end;
}

static void shells_join(shells *s) {
    for (size_t begin = 0, end; begin < 3 * (size_t)s->count; begin = end) {
        end = group_end(s, begin);
        for (size_t i = begin + 1; i < end; ++i)
            s->root[root_of(s->root, s->edges[i].triangle)] =
                root_of(s->root, s->edges[begin].triangle);
    }
}

static void shells_measure(shells *s) {
    for (size_t begin = 0, end; begin < 3 * (size_t)s->count; begin = end) {
        end = group_end(s, begin);
        int64_t balance = 0;
        for (size_t i = begin; i < end; ++i) balance += s->edges[i].orientation;
        if (balance != 0) ++s->open[root_of(s->root, s->edges[begin].triangle)];
    }
    const vec3 *p = s->check->body.positions;
    for (uint32_t i = 0; i < s->count; ++i) {
        const uint32_t root = root_of(s->root, i);
        /* relative to a corner of the shell, to avoid cancellation far from the origin */
        const vec3 o = p[check_corner(s->check, s->triangles[root], 0)];
        double v[3][3];
        for (int k = 0; k < 3; ++k) {
            const vec3 c = p[check_corner(s->check, s->triangles[i], k)];
            v[k][0] = (double)c.x - (double)o.x;
            v[k][1] = (double)c.y - (double)o.y;
            v[k][2] = (double)c.z - (double)o.z;
        }
        s->volume[root] += v[0][0] * (v[1][1] * v[2][2] - v[1][2] * v[2][1]) +
                           v[0][1] * (v[1][2] * v[2][0] - v[1][0] * v[2][2]) +
                           v[0][2] * (v[1][0] * v[2][1] - v[1][1] * v[2][0]);
    }
}

static void shells_report(shells *s) {
    examination *check = s->check;
    for (uint32_t i = 0; i < s->count; ++i) {
        if (root_of(s->root, i) != i) continue;
        const uint32_t triangle = s->triangles[i];
        const char *name = check->body.materials[check->body.triangle_materials[triangle]].name;
        if (s->open[i] > 0)
            check_triangle_note(
                check, triangle, "open-glass", CHECK_WARNING,
                "found a shell of the glass \"%.60s\" with %u open edges, expected a "
                "closed one",
                name, s->open[i]);
        else if (s->volume[i] < 0)
            check_triangle_note(
                check, triangle, "inside-out-glass", CHECK_WARNING,
                "found a shell of the glass \"%.60s\" wound inside out, expected outward normals",
                name);
    }
}

static kd_status shells_examine(shells *s) {
    const examination *check = s->check;
    KD_TRY(KD_RESERVE(s->triangles, s->count));
    KD_TRY(KD_RESERVE(s->root, s->count));
    KD_TRY(KD_RESERVE(s->edges, 3 * (uint64_t)s->count));
    KD_TRY(KD_RESERVE_ZEROED(s->open, s->count));
    KD_TRY(KD_RESERVE_ZEROED(s->volume, s->count));
    uint32_t next = 0;
    for (uint32_t i = 0; i < check->body.triangle_count; ++i)
        if (is_glass(check, i)) s->triangles[next++] = i;
    for (uint32_t i = 0; i < s->count; ++i) s->root[i] = i;
    edges_gather(s);
    shells_join(s);
    shells_measure(s);
    shells_report(s);
    return KD_OK;
}

kd_status check_shells(examination *check) {
    shells s = {0};
    s.check = check;
    for (uint32_t i = 0; i < check->body.triangle_count; ++i) s.count += is_glass(check, i);
    if (s.count == 0) return KD_OK;
    const kd_status status = shells_examine(&s);
    memory_free(s.triangles);
    memory_free(s.root);
    memory_free(s.edges);
    memory_free(s.open);
    memory_free(s.volume);
    return status;
}

/* Checks that glass is closed, since light that enters must be able to leave.
   Idea: triangles of one glass material that share an edge form a shell. A shell is closed if each
     of its edges is traversed equally often in both directions. What lies around a closed shell
     follows from the winding number of the other closed shells of glass around a point of it: a
     shell that faces outwards (its volume is positive) must be in air, one that faces inwards in
     glass, of which it bounds a cavity. An index of refraction below 1 is relative to the glass
     around the shell. */
#include "core/memory.h"
#include "scenes/check/check_parts.h"
#include "shaders/material.h"
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
    bool *meets;         /* per root: an edge is matched by another glass only */
    double *volume;      /* per root: six times the volume */
    uint32_t *group;     /* per triangle of the mesh: its root; KD_NONE: not glass */
    uint32_t count;
    check_ray ray;
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

static const mesh_material *material_at(const examination *check, uint64_t triangle) {
    return &check->body.materials[check->body.triangle_materials[triangle]];
}

bool check_is_glass(const examination *check, uint64_t triangle) {
    const mesh_material *made = material_at(check, triangle);
    return made->record.kind == MATERIAL_GLASS ||
           (made->record.kind == MATERIAL_PRINCIPLED && made->layers.transmission > 0 &&
            !(made->record.flags & MATERIAL_THIN));
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

static bool same_edge(const shells *s, size_t i, size_t k) {
    return s->edges[i].low == s->edges[k].low && s->edges[i].high == s->edges[k].high;
}

/* Where three bodies meet, such as glass, water and air, three surfaces share an edge. */
static void shells_measure(shells *s) {
    for (size_t begin = 0, end; begin < 3 * (size_t)s->count; begin = end) {
        end = group_end(s, begin);
        int64_t balance = 0;
        for (size_t i = begin; i < end; ++i) balance += s->edges[i].orientation;
        const uint32_t root = root_of(s->root, s->edges[begin].triangle);
        const bool meets = (begin > 0 && same_edge(s, begin - 1, begin)) ||
                           (end < 3 * (size_t)s->count && same_edge(s, end, begin));
        if (balance == 0) continue;
        s->open[root] += !meets;
        s->meets[root] = s->meets[root] || meets;
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

/* Computes the winding number of the other closed shells around the first triangle of a shell, and
   sets *around to a triangle of one of them, if there is any. */
static kd_status winding_find(shells *s, uint32_t root, int *winding, uint32_t *around) {
    const check_ray *ray = &s->ray;
    *winding = 0;
    KD_TRY(check_ray_cast(&s->ray, s->triangles[root]));
    for (uint64_t begin = 0, end; begin < ray->hit_count; begin = end) {
        const uint32_t other = s->group[ray->hits[begin]];
        int sum = 0;
        for (end = begin; end < ray->hit_count && s->group[ray->hits[end]] == other; ++end)
            sum += check_ray_side(ray, ray->hits[end]);
        if (other == KD_NONE || other == root || s->open[other] > 0 || s->meets[other] || sum == 0)
            continue;
        *winding += sum > 0 ? 1 : -1;
        *around = s->triangles[other];
    }
    return KD_OK;
}

static kd_status shell_judge(shells *s, uint32_t root) {
    examination *check = s->check;
    const uint32_t triangle = s->triangles[root];
    const mesh_material *made = material_at(check, triangle);
    uint32_t around = triangle;
    int winding = 0;
    if (s->open[root] > 0) {
        check_triangle_note(check, triangle, "open-glass", CHECK_WARNING,
                            "found a shell of the glass \"%.60s\" with %u open edges, expected a "
                            "closed one",
                            made->name, s->open[root]);
        return KD_OK;
    }
    if (s->meets[root]) return KD_OK; /* a part of the surface of a body has no orientation */
    KD_TRY(winding_find(s, root, &winding, &around));
    if (s->ray.tests >= s->ray.tests_max) return KD_OK;
    if (s->volume[root] < 0 && winding <= 0)
        check_triangle_note(
            check, triangle, "inside-out-glass", CHECK_WARNING,
            "found a shell of the glass \"%.60s\" wound inside out, expected outward normals",
            made->name);
    else if (s->volume[root] > 0 && winding > 0 && made->record.ior >= 1)
        check_triangle_note(
            check, triangle, "glass-in-glass", CHECK_WARNING,
            "found a shell of the glass \"%.60s\" that faces outwards within the glass \"%.60s\", "
            "where light is refracted as if it came from air; reverse the shell if it bounds a "
            "cavity, else divide its index of refraction by that of the glass around it",
            made->name, material_at(check, around)->name);
    return KD_OK;
}

static kd_status shells_judge(shells *s) {
    examination *check = s->check;
    for (uint32_t i = 0; i < s->count; ++i) s->group[s->triangles[i]] = root_of(s->root, i);
    s->ray.tests_max = CHECK_WORK + CHECK_RAY_TESTS_EACH * (uint64_t)s->count;
    for (uint32_t i = 0; i < s->count; ++i) {
        if (root_of(s->root, i) != i) continue;
        KD_TRY(shell_judge(s, i));
        KD_TRY(check_interruption(check));
    }
    if (s->ray.tests >= s->ray.tests_max)
        check_note(check, check->path, 0, "inside-out-unfinished", CHECK_NOTE,
                   "found too many shells of glass at one place to check which contain others");
    return KD_OK;
}

static kd_status shells_examine(shells *s) {
    const examination *check = s->check;
    KD_TRY(KD_RESERVE(s->triangles, s->count));
    KD_TRY(KD_RESERVE(s->root, s->count));
    KD_TRY(KD_RESERVE(s->edges, 3 * (uint64_t)s->count));
    KD_TRY(KD_RESERVE_ZEROED(s->open, s->count));
    KD_TRY(KD_RESERVE_ZEROED(s->meets, s->count));
    KD_TRY(KD_RESERVE_ZEROED(s->volume, s->count));
    KD_TRY(KD_RESERVE(s->group, check->body.triangle_count));
    memset(s->group, 0xff, check->body.triangle_count * sizeof *s->group);
    uint32_t next = 0;
    for (uint32_t i = 0; i < check->body.triangle_count; ++i)
        if (check_is_glass(check, i)) s->triangles[next++] = i;
    for (uint32_t i = 0; i < s->count; ++i) s->root[i] = i;
    s->ray.groups = s->group;
    edges_gather(s);
    shells_join(s);
    shells_measure(s);
    return shells_judge(s);
}

kd_status check_shells(examination *check, const tritree *tree) {
    shells s;
    memset(&s, 0, sizeof s);
    s.check = check;
    s.ray.check = check;
    s.ray.tree = tree;
    for (uint32_t i = 0; i < check->body.triangle_count; ++i) s.count += check_is_glass(check, i);
    if (s.count == 0) return KD_OK;
    const kd_status status = shells_examine(&s);
    check_ray_close(&s.ray);
    memory_free(s.triangles);
    memory_free(s.root);
    memory_free(s.edges);
    memory_free(s.open);
    memory_free(s.meets);
    memory_free(s.volume);
    memory_free(s.group);
    return status;
}

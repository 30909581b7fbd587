/* Topology of edges: non-manifold edges and vertices; shells and faces with inconsistent winding;
   boundary loops.
   Idea: half-edges are sorted by their vertices. Corners at a vertex that share an edge form a
     fan, and a manifold vertex has one. Two consistently wound triangles traverse their common
     edge in opposite directions: union-find with a parity bit tells whether a triangle is wound
     like the root of its shell. The minority of a shell is considered flipped; a contradiction (a
     Moebius strip) means that no consistent winding exists. */
#include "core/memory.h"
#include "scenes/check/check_parts.h"

static void halves_fill(examination *check) {
    uint64_t next = 0;
    for (uint32_t i = 0; i < check->body.triangle_count; ++i) {
        if (check->marks[i] & CHECK_IDLE) continue;
        for (uint32_t k = 0; k < 3; ++k) {
            const check_half half = check_half_of(check, 3 * i + k);
            const uint64_t low = half.from < half.to ? half.from : half.to;
            const uint64_t high = half.from < half.to ? half.to : half.from;
            check->edge_keys[next] = low << 32 | high;
            check->edge_halves[next++] = 3 * i + k;
        }
    }
}

static kd_status halves_make(examination *check) {
    uint64_t triangles = 0;
    for (uint64_t i = 0; i < check->body.triangle_count; ++i)
        triangles += !(check->marks[i] & CHECK_IDLE);
    check->half_count = 3 * triangles;
    KD_TRY(KD_RESERVE(check->edge_keys, check->half_count));
    KD_TRY(KD_RESERVE(check->edge_halves, check->half_count));
    halves_fill(check);
    KD_TRY(check_sort(check->edge_keys, check->edge_halves, check->half_count,
                      (uint64_t)check->body.position_count << 32 | 0xffffffffu));
    return KD_OK;
}

static void edges_report(examination *check) {
    for (uint64_t begin = 0, end; begin < check->half_count; begin = end) {
        end = check_edge_end(check, begin);
        if (end - begin < 3) continue;
        const check_half half = check_half_of(check, check->edge_halves[begin]);
        const vec3 a = check->body.positions[half.from], b = check->body.positions[half.to];
        check_triangle_note(check, half.triangle, "non-manifold-edge", CHECK_WARNING,
                            "found an edge of %llu triangles, from (%g, %g, %g) to (%g, %g, %g), "
                            "expected one or two",
                            (unsigned long long)(end - begin), (double)a.x, (double)a.y,
                            (double)a.z, (double)b.x, (double)b.y, (double)b.z);
    }
}

/* Returns the corner of the half-edge's triangle at the vertex `place`. */
static uint32_t corner_of(const examination *check, uint32_t half, uint32_t place) {
    return check_half_of(check, half).from == place ? half : 3 * (half / 3) + (half + 1) % 3;
}

static void fans_join(examination *check, uint32_t *fan) {
    for (uint64_t begin = 0, end; begin < check->half_count; begin = end) {
        end = check_edge_end(check, begin);
        const uint32_t low = (uint32_t)(check->edge_keys[begin] >> 32);
        const uint32_t high = (uint32_t)check->edge_keys[begin];
        const uint32_t first = check->edge_halves[begin];
        for (uint64_t i = begin + 1; i < end; ++i) {
            check_join(fan, corner_of(check, first, low),
                       corner_of(check, check->edge_halves[i], low));
            check_join(fan, corner_of(check, first, high),
                       corner_of(check, check->edge_halves[i], high));
        }
    }
}

/* Reports a non-manifold vertex at the first corner of its second fan. */
static void fans_report(examination *check, uint32_t *fan, uint32_t *first, uint8_t *reported) {
    for (uint32_t corner = 0; corner < 3 * check->body.triangle_count; ++corner) {
        if (check->marks[corner / 3] & CHECK_IDLE || check_root(fan, corner) != corner) continue;
        const uint32_t place = check_place(check, corner / 3, (int)(corner % 3));
        if (first[place] == KD_NONE) {
            first[place] = corner;
        } else if (!reported[place]) {
            reported[place] = 1;
            check_triangle_note(check, corner / 3, "non-manifold-vertex", CHECK_NOTE,
                                "found a non-manifold vertex at (%g, %g, %g): parts of the surface "
                                "meet there in a single point",
                                (double)check->body.positions[place].x,
                                (double)check->body.positions[place].y,
                                (double)check->body.positions[place].z);
        }
    }
}

static kd_status vertices_examine(examination *check) {
    uint32_t *fan = NULL, *first = NULL;
    uint8_t *reported = NULL;
    const uint64_t corners = 3 * (uint64_t)check->body.triangle_count;
    kd_status status;
    KD_TRY_GOTO(KD_RESERVE(fan, corners));
    KD_TRY_GOTO(KD_RESERVE(first, check->body.position_count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(reported, check->body.position_count));
    for (uint32_t i = 0; i < corners; ++i) fan[i] = i;
    memset(first, 0xff, (size_t)check->body.position_count * sizeof *first);
    fans_join(check, fan);
    fans_report(check, fan, first, reported);
done:
    memory_free(fan);
    memory_free(first);
    memory_free(reported);
    return status;
}

kd_status check_edges(examination *check) {
    KD_REQUIRE(check->body.triangle_count < KD_NONE / 3, KD_ERROR_MEMORY,
               "%s: too many triangles to check the edges", check->path);
    KD_TRY(halves_make(check));
    edges_report(check);
    KD_TRY(vertices_examine(check));
    return KD_OK;
}

typedef struct windings {
    examination *check;
    uint32_t *parent;
    uint8_t *parity;   /* winding relative to the parent */
    uint8_t *one_side; /* of roots: the shell is not orientable */
    uint32_t *against; /* of roots: number of triangles with opposite winding */
    uint32_t *all;     /* of roots: number of triangles */
} windings;

static uint32_t root_of(windings *w, uint32_t i, uint8_t *parity) {
    uint8_t sum = 0;
    while (w->parent[i] != i) {
        const uint32_t above = w->parent[i];
        w->parity[i] ^= w->parity[above]; /* that of a root is 0 */
        w->parent[i] = w->parent[above];
        sum ^= w->parity[i];
        i = w->parent[i];
    }
    *parity = sum;
    return i;
}

static void pair_join(windings *w, uint32_t a, uint32_t b, uint8_t differ) {
    uint8_t parity_a = 0, parity_b = 0;
    const uint32_t root_a = root_of(w, a, &parity_a), root_b = root_of(w, b, &parity_b);
    const uint8_t parity = parity_a ^ parity_b ^ differ;
    if (root_a == root_b) {
        if (parity) w->one_side[root_a] = 1;
        return;
    }
    const uint32_t low = root_a < root_b ? root_a : root_b;
    const uint32_t high = root_a < root_b ? root_b : root_a;
    w->parent[high] = low;
    w->parity[high] = parity;
    w->one_side[low] |= w->one_side[high];
}

static void pairs_join(windings *w) {
    const examination *check = w->check;
    for (uint64_t begin = 0, end; begin < check->half_count; begin = end) {
        end = check_edge_end(check, begin);
        if (end - begin != 2) continue;
        const check_half a = check_half_of(check, check->edge_halves[begin]);
        const check_half b = check_half_of(check, check->edge_halves[begin + 1]);
        pair_join(w, a.triangle, b.triangle, a.from == b.from);
    }
}

static void sides_count(windings *w) {
    examination *check = w->check;
    for (uint32_t i = 0; i < check->body.triangle_count; ++i) {
        uint8_t parity = 0;
        check->shell[i] = KD_NONE;
        if (check->marks[i] & CHECK_IDLE) continue;
        check->shell[i] = root_of(w, i, &parity);
        ++w->all[check->shell[i]];
        w->against[check->shell[i]] += parity;
    }
}

static void sides_report(windings *w) {
    examination *check = w->check;
    for (uint32_t i = 0; i < check->body.triangle_count; ++i) {
        uint8_t parity = 0;
        const uint32_t root = check->shell[i];
        if (root == KD_NONE) continue;
        if (w->one_side[root]) {
            check->marks[i] |= CHECK_ONE_SIDED;
            if (root == i)
                check_triangle_note(
                    check, i, "non-orientable", CHECK_WARNING,
                    "found a non-orientable surface of %u triangles: no consistent winding exists",
                    w->all[root]);
            continue;
        }
        root_of(w, i, &parity);
        const bool root_is_wrong = 2 * (uint64_t)w->against[root] > w->all[root];
        if (parity == (root_is_wrong ? 1 : 0)) continue;
        check->marks[i] |= CHECK_AGAINST;
        check_triangle_note(
            check, i, "flipped-face", CHECK_WARNING,
            "found a triangle wound against its neighbours, expected consistent winding");
    }
}

kd_status check_orientation(examination *check) {
    const uint64_t count = check->body.triangle_count;
    windings w;
    kd_status status;
    memset(&w, 0, sizeof w);
    w.check = check;
    KD_TRY_GOTO(KD_RESERVE(check->shell, count));
    KD_TRY_GOTO(KD_RESERVE(w.parent, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(w.parity, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(w.one_side, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(w.against, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(w.all, count));
    for (uint32_t i = 0; i < count; ++i) w.parent[i] = i;
    pairs_join(&w);
    sides_count(&w);
    sides_report(&w);
done:
    memory_free(w.parent);
    memory_free(w.parity);
    memory_free(w.one_side);
    memory_free(w.against);
    memory_free(w.all);
    return status;
}

kd_status check_loops(const examination *check, uint32_t **loops) {
    uint32_t *last = NULL;
    *loops = NULL;
    KD_TRY(KD_RESERVE(*loops, check->rim_count));
    kd_status status = KD_RESERVE(last, check->body.position_count);
    if (status == KD_OK) {
        uint32_t *loop = *loops;
        memset(last, 0xff, (size_t)check->body.position_count * sizeof *last);
        for (uint32_t i = 0; i < check->rim_count; ++i) {
            const uint32_t ends[2] = {check->rim[i].from, check->rim[i].to};
            loop[i] = i;
            for (int k = 0; k < 2; ++k) {
                if (last[ends[k]] != KD_NONE) check_join(loop, last[ends[k]], i);
                last[ends[k]] = i;
            }
        }
        for (uint32_t i = 0; i < check->rim_count; ++i) loop[i] = check_root(loop, i);
    }
    memory_free(last);
    KD_TRY(status);
    return KD_OK;
}

static double length_of(const examination *check, const check_half *half) {
    const vec3 a = check->body.positions[half->from], b = check->body.positions[half->to];
    const double x = (double)b.x - (double)a.x, y = (double)b.y - (double)a.y;
    const double z = (double)b.z - (double)a.z;
    return sqrt(x * x + y * y + z * z);
}

kd_status check_holes(examination *check) {
    uint32_t *loop = NULL, *edges = NULL;
    double *length = NULL;
    kd_status status;
    KD_TRY_GOTO(check_loops(check, &loop));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(edges, check->rim_count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(length, check->rim_count));
    for (uint64_t i = 0; i < check->rim_count; ++i) {
        ++edges[loop[i]];
        length[loop[i]] += length_of(check, &check->rim[i]);
    }
    for (uint64_t i = 0; i < check->rim_count; ++i)
        if (loop[i] == i)
            check_triangle_note(
                check, check->rim[i].triangle, "hole", CHECK_NOTE,
                "found a boundary of %u open edges, total length %g; a closed surface has none",
                edges[i], length[i]);
done:
    memory_free(loop);
    memory_free(edges);
    memory_free(length);
    return status;
}

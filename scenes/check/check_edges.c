/* Where the surface is none: edges of more than two triangles, and vertices where parts of it
   meet in a point only.
   Idea: half edges sorted by their places; the corners at a vertex that share an edge are one
         fan, and a vertex has one. */
#include "core/memory.h"
#include "scenes/check/check_parts.h"

static void halves_fill(examination *of) {
    uint64_t next = 0;
    for (uint32_t i = 0; i < of->body.triangle_count; ++i) {
        if (of->marks[i] & CHECK_IDLE) continue;
        for (uint32_t k = 0; k < 3; ++k) {
            const check_half half = check_half_of(of, 3 * i + k);
            const uint64_t low = half.from < half.to ? half.from : half.to;
            const uint64_t high = half.from < half.to ? half.to : half.from;
            of->edge_keys[next] = low << 32 | high;
            of->edge_halves[next++] = 3 * i + k;
        }
    }
}

static kd_status halves_make(examination *of) {
    uint64_t triangles = 0;
    for (uint64_t i = 0; i < of->body.triangle_count; ++i)
        triangles += !(of->marks[i] & CHECK_IDLE);
    of->half_count = 3 * triangles;
    KD_TRY(KD_RESERVE(of->edge_keys, of->half_count));
    KD_TRY(KD_RESERVE(of->edge_halves, of->half_count));
    halves_fill(of);
    KD_TRY(check_sort(of->edge_keys, of->edge_halves, of->half_count,
                      (uint64_t)of->body.position_count << 32 | 0xffffffffu));
    return KD_OK;
}

static void edges_tell(examination *of) {
    for (uint64_t begin = 0, end; begin < of->half_count; begin = end) {
        end = check_edge_end(of, begin);
        if (end - begin < 3) continue;
        const check_half half = check_half_of(of, of->edge_halves[begin]);
        const vec3 a = of->body.positions[half.from], b = of->body.positions[half.to];
        check_triangle_note(of, half.triangle, "non-manifold-edge", CHECK_WARNING,
                            "found an edge of %llu triangles, from (%g, %g, %g) to (%g, %g, %g), "
                            "expected one or two",
                            (unsigned long long)(end - begin), (double)a.x, (double)a.y,
                            (double)a.z, (double)b.x, (double)b.y, (double)b.z);
    }
}

/* The corner of the half edge's triangle that lies at the place. */
static uint32_t corner_of(const examination *of, uint32_t half, uint32_t place) {
    return check_half_of(of, half).from == place ? half : 3 * (half / 3) + (half + 1) % 3;
}

static void fans_join(examination *of, uint32_t *fan) {
    for (uint64_t begin = 0, end; begin < of->half_count; begin = end) {
        end = check_edge_end(of, begin);
        const uint32_t low = (uint32_t)(of->edge_keys[begin] >> 32);
        const uint32_t high = (uint32_t)of->edge_keys[begin];
        const uint32_t first = of->edge_halves[begin];
        for (uint64_t i = begin + 1; i < end; ++i) {
            check_join(fan, corner_of(of, first, low), corner_of(of, of->edge_halves[i], low));
            check_join(fan, corner_of(of, first, high), corner_of(of, of->edge_halves[i], high));
        }
    }
}

/* Told at the first corner of a second fan. */
static void fans_tell(examination *of, uint32_t *fan, uint32_t *first, uint8_t *told) {
    for (uint32_t corner = 0; corner < 3 * of->body.triangle_count; ++corner) {
        if (of->marks[corner / 3] & CHECK_IDLE || check_root(fan, corner) != corner) continue;
        const uint32_t place = check_place(of, corner / 3, (int)(corner % 3));
        if (first[place] == KD_NONE) {
            first[place] = corner;
        } else if (!told[place]) {
            told[place] = 1;
            check_triangle_note(of, corner / 3, "non-manifold-vertex", CHECK_NOTE,
                                "found a vertex at (%g, %g, %g) where parts of the surface meet "
                                "in a point only",
                                (double)of->body.positions[place].x,
                                (double)of->body.positions[place].y,
                                (double)of->body.positions[place].z);
        }
    }
}

static kd_status vertices_examine(examination *of) {
    uint32_t *fan = NULL, *first = NULL;
    uint8_t *told = NULL;
    const uint64_t corners = 3 * (uint64_t)of->body.triangle_count;
    kd_status status;
    KD_TRY_GOTO(KD_RESERVE(fan, corners));
    KD_TRY_GOTO(KD_RESERVE(first, of->body.position_count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(told, of->body.position_count));
    for (uint32_t i = 0; i < corners; ++i) fan[i] = i;
    memset(first, 0xff, (size_t)of->body.position_count * sizeof *first);
    fans_join(of, fan);
    fans_tell(of, fan, first, told);
done:
    memory_free(fan);
    memory_free(first);
    memory_free(told);
    return status;
}

kd_status check_edges(examination *of) {
    KD_REQUIRE(of->body.triangle_count < KD_NONE / 3, KD_ERROR_MEMORY,
               "%s: more triangles than can be examined", of->path);
    KD_TRY(halves_make(of));
    edges_tell(of);
    KD_TRY(vertices_examine(of));
    return KD_OK;
}

/* Holes: what hangs together of the rim, each with its length. */
#include "scenes/check/check_holes.h"
#include "core/memory.h"

kd_status check_loops(const examination *of, uint32_t **loops) {
    uint32_t *last = NULL;
    *loops = NULL;
    KD_TRY(KD_RESERVE(*loops, of->rim_count));
    kd_status status = KD_RESERVE(last, of->body.position_count);
    if (status == KD_OK) {
        uint32_t *loop = *loops;
        memset(last, 0xff, (size_t)of->body.position_count * sizeof *last);
        for (uint32_t i = 0; i < of->rim_count; ++i) {
            const uint32_t ends[2] = {of->rim[i].from, of->rim[i].to};
            loop[i] = i;
            for (int k = 0; k < 2; ++k) {
                if (last[ends[k]] != KD_NONE) check_join(loop, last[ends[k]], i);
                last[ends[k]] = i;
            }
        }
        for (uint32_t i = 0; i < of->rim_count; ++i) loop[i] = check_root(loop, i);
    }
    memory_free(last);
    KD_TRY(status);
    return KD_OK;
}

static double length_of(const examination *of, const check_half *half) {
    const vec3 a = of->body.positions[half->from], b = of->body.positions[half->to];
    const double x = (double)b.x - (double)a.x, y = (double)b.y - (double)a.y;
    const double z = (double)b.z - (double)a.z;
    return sqrt(x * x + y * y + z * z);
}

kd_status check_holes(examination *of) {
    uint32_t *loop = NULL, *edges = NULL;
    double *length = NULL;
    kd_status status;
    KD_TRY_GOTO(check_loops(of, &loop));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(edges, of->rim_count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(length, of->rim_count));
    for (uint64_t i = 0; i < of->rim_count; ++i) {
        ++edges[loop[i]];
        length[loop[i]] += length_of(of, &of->rim[i]);
    }
    for (uint64_t i = 0; i < of->rim_count; ++i)
        if (loop[i] == i)
            check_triangle_note(of, of->rim[i].triangle, "hole", CHECK_NOTE,
                                "found a rim of %u open edges, %g long in all; a closed surface "
                                "has none",
                                edges[i], length[i]);
done:
    memory_free(loop);
    memory_free(edges);
    memory_free(length);
    return status;
}

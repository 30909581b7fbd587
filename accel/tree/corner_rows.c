#include "accel/tree/corner_rows.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

enum { GRAIN = 4096 };

static void fill_rows(void *context, int64_t begin, int64_t end, int thread) {
    tritree *tree = (tritree *)context;
    const vec3 *corner = tree->input.positions;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const uint32_t *index = tree->input.triangles + 3 * i;
        tree->rows[i] = triangle_rows_make(corner[index[0]], corner[index[1]], corner[index[2]]);
    }
}

kd_status tree_rows_fill(tritree *tree) {
    KD_TRY(KD_RESERVE(tree->rows, tree->input.triangle_count));
    parallel_for(tree->input.triangle_count, GRAIN, fill_rows, tree);
    return KD_OK;
}

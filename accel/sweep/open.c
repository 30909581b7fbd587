/* Beginning and end of a sweep: the rows of all triangles, or a branch's own memory. */
#include "accel/geometry/triangle.h"
#include "accel/sweep/sweep.h"
#include "core/memory.h"

enum { PARTS_TRIANGLES = 16384, PARTS_MOST = 8 }; /* fewer are one part */

static kd_status reserve(sweep *work, uint32_t count) {
    KD_TRY(KD_RESERVE_ZEROED(work->bins, 3));
    return tree_writer_open(&work->writer, 4 * (uint64_t)count, 4 * (uint64_t)count);
}

/* The first rows, made in parts: each of a range of triangles. */
typedef struct opening {
    const tritree_input *input;
    sweep_rows rows;
    int parts;
    uint32_t count[PARTS_MOST];
} opening;

static uint32_t part_begin(const opening *of, int i) {
    return (uint32_t)((uint64_t)of->input->triangle_count * (uint64_t)i / (uint64_t)of->parts);
}

/* Those that can be hit, at the range's begin. */
static void list_part(void *context, int i) {
    opening *of = (opening *)context;
    const uint32_t begin = part_begin(of, i), end = part_begin(of, i + 1);
    uint32_t to = begin;
    for (uint32_t id = begin; id < end; ++id) {
        const uint32_t *index = of->input->triangles + 3 * (uint64_t)id;
        const vec3 *at = of->input->positions;
        const vec3 a = at[index[0]], b = at[index[1]], c = at[index[2]];
        if (triangle_is_degenerate(a, b, c)) continue;
        const box3 box = triangle_box(a, b, c);
        of->rows.id[to] = id;
        for (int axis = 0; axis < 3; ++axis) {
            of->rows.lo[axis][to] = vec3_axis(box.lo, axis);
            of->rows.hi[axis][to] = vec3_axis(box.hi, axis);
        }
        ++to;
    }
    of->count[i] = to - begin;
}

static uint32_t list_all(sweep *work, const sweep_rows *rows) {
    opening of = {.input = work->input, .rows = *rows, .parts = 1};
    if (work->pool && work->input->triangle_count >= PARTS_TRIANGLES)
        of.parts = work->pool->threads < PARTS_MOST ? work->pool->threads : PARTS_MOST;
    task_each(work->pool, of.parts, list_part, &of);
    uint32_t count = 0;
    for (int i = 0; i < of.parts; ++i) {
        const uint32_t begin = part_begin(&of, i);
        if (count != begin) {
            const sweep_rows from = rows_from(rows, begin), to = rows_from(rows, count);
            memmove(to.id, from.id, of.count[i] * sizeof *to.id);
            for (int axis = 0; axis < 3; ++axis) {
                memmove(to.lo[axis], from.lo[axis], of.count[i] * sizeof *to.lo[axis]);
                memmove(to.hi[axis], from.hi[axis], of.count[i] * sizeof *to.hi[axis]);
            }
        }
        count += of.count[i];
    }
    return count;
}

kd_status sweep_open(sweep *out, sweep_node *root, box3 box, const tritree_input *input,
                     const tritree_options *options, task_pool *pool, const job *watched) {
    const uint32_t n = input->triangle_count;
    memset(out, 0, sizeof *out);
    memset(root, 0, sizeof *root);
    KD_REQUIRE(n < 1u << EVENT_ID_BITS, KD_ERROR_MEMORY, "%u triangles, expected less than 2^%d", n,
               EVENT_ID_BITS);
    out->input = input;
    out->watched = watched;
    out->pool = pool;
    out->costs.traversal = options->traversal_cost;
    out->costs.intersect = options->intersect_cost;
    out->costs.empty_factor = options->empty_factor;
    out->max_depth = tritree_depth_limit(options, n);
    KD_TRY(reserve(out, n));
    root->box = box;
    root->growth = 1;
    KD_TRY(rows_push_first(&out->stack, n, 2 * (uint64_t)n + n / 4 + 1024, &root->rows));
    root->count = list_all(out, &root->rows);
    return KD_OK;
}

kd_status sweep_branch(sweep *out, sweep_node *root, const sweep *from, const sweep_node *node) {
    memset(out, 0, sizeof *out);
    out->input = from->input;
    out->watched = from->watched;
    out->pool = from->pool;
    out->costs = from->costs;
    out->max_depth = from->max_depth;
    *root = *node;
    root->at = 0;
    KD_TRY(reserve(out, node->count));
    sweep_rows none;
    return rows_push_first(&out->stack, 0, node->count + node->count / 4 + 1024, &none);
}

void sweep_close_rows(sweep *work) {
    const rows_stack none = {NULL, 0};
    rows_release(&work->stack, none);
    for (int axis = 0; work->bins && axis < 3; ++axis) sweep_bins_close(&work->bins[axis]);
    memory_free(work->bins);
    work->bins = NULL;
}

void sweep_close(sweep *owned) {
    sweep_close_rows(owned);
    tree_writer_close(&owned->writer);
    memset(owned, 0, sizeof *owned);
}

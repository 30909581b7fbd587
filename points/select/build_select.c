/* Kandela's own builder, the fastest on a CPU: each point moves once per level, eight at a time.
   Source: Floyd and Rivest 1975, "Expected time bounds for selection"; Bramas 2017, "A novel hybrid
           quicksort algorithm vectorized using AVX-512" (columns.h).
   Idea: points are stored as columns of integer keys and a column of ids. The median key is found
         by repeatedly narrowing the candidates to those between two sampled values; then each
         column is partitioned with one permutation per group of eight. The lowest three levels are
         built for eight sub-trees at once, one per SIMD lane, by exchange networks. All cores split
         each of the top nodes together; then every core takes sub-trees.
   Work: n log2(n) moves of a record of all keys and the id; about 1.5 passes over the keys per
         level.
   Memory: two records per point (32 bytes for three floats).
   Differs for doubles: places.h describes their keys.
   Invariants: no two points are equal in the order (coordinate, id), so the tree is that of the
               reference builder. A sample that misses costs time, never correctness. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/select/columns.h"
#include "points/select/places.h"
#include "points/tree/build.h"
#include "points/tree/coordinate_keys.h"

enum {
    SELECT_BOTTOM = 7,  /* points of the sub-trees built eight at a time */
    SELECT_BLOCK = 63,  /* points of a sub-tree that contains eight of these */
    SELECT_PIECES = 64, /* pieces of a split on all cores */
    SELECT_SUBTREES_MAX = 1024,
    /* points: smaller sub-trees are not worth a split on all cores */
    SELECT_SUBTREE_MIN = 1 << 14
};

/* A sub-tree whose points begin at `begin` in one of the two buffers. */
typedef struct select_range {
    uint32_t node, begin;
    bool flipped; /* result is in the second buffer */
} select_range;

typedef struct select_work {
    pointtree *out;
    const point_array *points;
    point_places places; /* ranks of double coordinates */
    bool uses_places;
    /* keys of floats, and of doubles if too many of these have equal places */
    point_keys keys;
    /* keys of each axis, then ids; each level moves the records from one buffer to the other */
    int32_t *columns[2];
    uint64_t stride; /* distance from column to column */
    select_range ranges[SELECT_SUBTREES_MAX], parents[SELECT_SUBTREES_MAX / 2];
    uint32_t range_count; /* sub-trees, each built by one core */
    bool alone;           /* one split at a time, on all cores */
    job_control *job;
} select_work;

typedef struct select_split {
    columns_source from;
    int32_t *to;
    column_pivot pivot;
    uint32_t dims, rank;
    int64_t piece;
    uint32_t lefts[SELECT_PIECES + 1]; /* per piece; later prefix sums */
} select_split;

/* Columns must not begin at the same offset within a page: loads and stores at equal page offsets
   would stall on each other (4K aliasing). */
static uint64_t select_stride(uint64_t count) {
    const uint64_t page = 4096 / sizeof(int32_t);
    return (count + page - 1) / page * page + 5 * 64 / sizeof(int32_t);
}

/* Convert order bits to signed keys, where a coordinate of zero is 0, and signed keys to floats. */
static inline int32_t select_key(uint32_t key) {
    return (int32_t)(key ^ 0x80000000u);
}
static inline float select_float(int32_t key) {
    return float_from_bits((uint32_t)key ^ ((uint32_t)(key >> 31) & 0x7fffffffu));
}

static uint64_t build_select_scratch_bytes(uint64_t count) {
    return 2 * 4 * select_stride(count) * sizeof(int32_t);
}

/* Returns the axis of a node by the tree's split rule, and stores it if the rule needs it. */
static inline uint32_t select_axis(pointtree *out, uint32_t node, const double *lo,
                                   const double *hi) {
    if (!out->axes) return pointtree_level_of(node) % out->dims;
    uint32_t widest = 0;
    double maximum = -(double)INFINITY;
    for (uint32_t axis = 0; axis < out->dims; ++axis) {
        double size = hi[axis] - lo[axis];
        if (out->scalar == POINT_FLOAT) size = (double)(float)size;
        if (size > maximum) {
            maximum = size;
            widest = axis;
        }
    }
    out->axes[node] = (uint8_t)widest;
    return widest;
}

static inline double select_node_plane(const select_work *work, uint32_t node, uint32_t axis) {
    const uint64_t at = (uint64_t)node * work->out->dims + axis;
    return work->out->scalar == POINT_FLOAT ? (double)((const float *)work->out->coordinates)[at]
                                            : ((const double *)work->out->coordinates)[at];
}

static inline select_range select_child(select_range parent, uint32_t left, bool right) {
    select_range child = parent;
    child.node = 2 * parent.node + (right ? 2 : 1);
    if (right) child.begin = parent.begin + left + 1;
    return child;
}

static point_box select_domain(const select_work *work, uint32_t node) {
    return work->out->axes ? pointtree_domain(work->out, work->points, node) : work->out->box;
}

/* Returns the number of sub-trees that keeps all cores busy to the end, although the left ones may
   be twice as large. */
static uint32_t select_subtrees(uint32_t count) {
    const uint32_t threads = (uint32_t)parallel_threads();
    uint32_t subtrees = 1;
    while (threads > 1 && subtrees < 8 * threads && subtrees < SELECT_SUBTREES_MAX &&
           count / subtrees >= 2 * SELECT_SUBTREE_MIN)
        subtrees *= 2;
    return subtrees;
}

#include "points/select/fill.h"
#include "points/select/subtree.h"

static kd_status build_select(pointtree *out, const point_array *points, job_control *job) {
    kd_status status = KD_OK;
    select_work *work = NULL;
    KD_TRY(KD_RESERVE_ZEROED(work, 1));
    work->out = out;
    work->points = points;
    work->job = job;
    point_places_choose(&work->places, points, &out->box);
    if (!work->places.points) KD_TRY_GOTO(point_keys_open(&work->keys, points));
    KD_TRY_GOTO(select_run(work));
    if (job_cancelled(job))
        status = status_fail(KD_INTERRUPTED, __FILE__, __LINE__,
                             "building the point tree was cancelled");
done:
    point_keys_close(&work->keys);
    memory_free(work->columns[0]);
    memory_free(work->columns[1]);
    memory_free(work);
    return status;
}

const pointtree_builder pointtree_builder_select = {
    .name = "select",
    .source = "selection by sampled brackets (after Floyd and Rivest 1975)",
    .scratch_bytes = build_select_scratch_bytes,
    .build = build_select,
    .order = POINTTREE_BY_COORDINATE};

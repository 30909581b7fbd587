/* Ours, the fastest on a CPU: each point moves once a level, eight at a time.
   Source: Floyd and Rivest 1975, "Expected time bounds for selection"; Bramas 2017, "A novel hybrid
           quicksort algorithm vectorized using AVX-512" (columns.h).
   Idea: points are columns of integer keys and a column of ids. The key of the middle point is
         found among those between two samples, again and again; then each column moves to both
         sides by one permutation a group of eight. The lowest three levels are built for eight
         sub-trees at once, a lane each, by networks of exchanges. The nodes at the top take all
         cores each; then every core takes sub-trees.
   Work: n log2(n) moves of a record of all keys and the id; some 1.5 passes over the keys a level.
   Memory: two records a point (32 bytes of three floats).
   Differs: keys of doubles: see places.h.
   Invariants: the order (coordinate, id) has no equals, so the tree is the oracle's. A sample that
         misses costs time, never correctness. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/select/columns.h"
#include "points/select/places.h"
#include "points/tree/build.h"
#include "points/tree/coordinate_keys.h"

enum {
    SELECT_BOTTOM = 7,  /* points of the sub-trees that are built eight at a time, ... */
    SELECT_BLOCK = 63,  /* ... below one of so many */
    SELECT_PIECES = 64, /* of a split on all cores */
    SELECT_SUBTREES_MAX = 1024,
    SELECT_SUBTREE_LEAST = 1 << 14 /* points: smaller ones are not worth a split on all cores */
};

/* A sub-tree whose points lie from `begin` on in one of the two buffers. */
typedef struct select_range {
    uint32_t node, begin;
    bool flipped; /* they lie in the second one */
} select_range;

typedef struct select_work {
    pointtree *out;
    const point_array *points;
    point_places places; /* doubles */
    bool asks_places;
    point_keys keys;     /* floats, and doubles of which too many share a place */
    int32_t *columns[2]; /* keys of each axis, ids; a record moves from one to the other a level */
    uint64_t stride;     /* from column to column */
    select_range ranges[SELECT_SUBTREES_MAX], parents[SELECT_SUBTREES_MAX / 2];
    uint32_t range_count; /* sub-trees that one core each builds */
    bool alone;           /* a split at a time, on all cores */
    job *watched;
} select_work;

typedef struct select_split {
    columns_source from;
    int32_t *to;
    column_pivot pivot;
    uint32_t dims, rank;
    int64_t piece;
    uint32_t lefts[SELECT_PIECES + 1]; /* of each piece; then of those before it */
} select_split;

/* Columns must not begin alike in their pages: loads and stores so apart would wait for each other.
 */
static uint64_t select_stride(uint64_t count) {
    const uint64_t page = 4096 / sizeof(int32_t);
    return (count + page - 1) / page * page + 5 * 64 / sizeof(int32_t);
}

/* Keys as signed integers, a coordinate of zero being 0, and back again. */
static inline int32_t select_key(uint32_t key) {
    return (int32_t)(key ^ 0x80000000u);
}
static inline float select_float(int32_t key) {
    return float_from_bits((uint32_t)key ^ ((uint32_t)(key >> 31) & 0x7fffffffu));
}

static uint64_t build_select_scratch_bytes(uint64_t count) {
    return 2 * 4 * select_stride(count) * sizeof(int32_t);
}

/* The axis of a node by the rule of the tree; kept if the rule needs it. */
static inline uint32_t select_axis(pointtree *out, uint32_t node, const double *lo,
                                   const double *hi) {
    if (!out->axes) return pointtree_level_of(node) % out->dims;
    uint32_t widest = 0;
    double most = -(double)INFINITY;
    for (uint32_t axis = 0; axis < out->dims; ++axis) {
        double size = hi[axis] - lo[axis];
        if (out->scalar == POINT_FLOAT) size = (double)(float)size;
        if (size > most) {
            most = size;
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

/* How many sub-trees keep all cores busy to the end, though the left ones may be twice as large. */
static uint32_t select_subtrees(uint32_t count) {
    const uint32_t threads = (uint32_t)parallel_threads();
    uint32_t wanted = 1;
    while (threads > 1 && wanted < 8 * threads && wanted < SELECT_SUBTREES_MAX &&
           count / wanted >= 2 * SELECT_SUBTREE_LEAST)
        wanted *= 2;
    return wanted;
}

#include "points/select/fill.h"
#include "points/select/subtree.h"

static kd_status build_select(pointtree *out, const point_array *points, job *watched) {
    kd_status status = KD_OK;
    select_work *work = NULL;
    KD_TRY(KD_RESERVE_ZEROED(work, 1));
    work->out = out;
    work->points = points;
    work->watched = watched;
    point_places_choose(&work->places, points, &out->box);
    if (!work->places.points) KD_TRY_GOTO(point_keys_open(&work->keys, points));
    KD_TRY_GOTO(select_run(work));
    if (job_cancelled(watched))
        status = status_fail(KD_INTERRUPTED, __FILE__, __LINE__,
                             "cancelled while building a point tree");
done:
    point_keys_close(&work->keys);
    memory_free(work->columns[0]);
    memory_free(work->columns[1]);
    memory_free(work);
    return status;
}

const pointtree_builder pointtree_builder_select = {
    .name = "select",
    .source = "ours: selection by sampled brackets (Floyd and Rivest 1975)",
    .scratch_bytes = build_select_scratch_bytes,
    .build = build_select,
    .order = POINTTREE_BY_COORDINATE};

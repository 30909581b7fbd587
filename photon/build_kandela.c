/* Ours, the fastest on a CPU: select by sampled brackets, and move each point once a level.
   Source: Floyd and Rivest 1975, "Expected time bounds for selection", for the brackets.
   Idea: a sorted sample tells two keys that hold the wanted one between them. One pass without
         branches sends what is below to the left, what is above to the right and the few between
         aside, among which the exact one is selected. The nodes at the top take all cores each;
         then every core takes sub-trees.
   Work: n log2(n) moves of one record of all keys and the id; about 1.2 passes a level.
   Memory: two records a point (32 bytes of three floats).
   Invariants: the order (coordinate, id) has no equals, so the tree is the oracle's. A bracket that
         misses costs time, never correctness. */
#include "core/large_pages.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "photon/builders.h"
#include "photon/keys.h"
#include "photon/point_keys.h"

enum {
    KANDELA_TINY = 32,         /* records that are sorted by counting */
    KANDELA_SAMPLE_SHARE = 32, /* one point in so many is drawn ... */
    KANDELA_SAMPLE_LEAST = 16,
    KANDELA_SAMPLE_MAX = 2048, /* ... and no more than these */
    KANDELA_PIECES = 256,      /* of a split on all cores */
    KANDELA_SUBTREES_MAX = 1024,
    KANDELA_SUBTREE_LEAST = 1 << 14 /* points: smaller ones are not worth a split on all cores */
};
#define KANDELA_DEVIATIONS 2.0

/* A sub-tree whose points lie in one of the two buffers, from `begin` on. */
typedef struct kandela_range {
    uint32_t node, begin;
    bool flipped; /* they lie in `spare` */
} kandela_range;

typedef struct kandela_work {
    pointtree *out;
    const point_array *points;
    point_keys keys;
    void *records, *spare;
    kandela_range ranges[KANDELA_SUBTREES_MAX]; /* sub-trees that one core each builds */
    uint32_t range_count;
    job *watched;
} kandela_work;

typedef struct kandela_split {
    const void *from;
    void *to;
    uint64_t bracket[2];
    uint32_t axis;
    int64_t piece;
    uint32_t places[KANDELA_PIECES][3]; /* below, between, above: counts, then where to write */
} kandela_split;

uint64_t build_kandela_scratch_bytes(uint64_t count) {
    return 2 * count * 4 * sizeof(uint32_t);
}

/* The axis of a node by the rule of the tree; kept if the rule needs it. */
static inline uint32_t kandela_axis(pointtree *out, uint32_t node, const double *lo,
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

static inline double kandela_plane(const kandela_work *work, uint32_t id, uint32_t key,
                                   uint32_t axis) {
    return work->out->scalar == POINT_FLOAT ? (double)pointtree_float_of_order_bits(key)
                                            : point_array_coordinate(work->points, id, axis);
}

static inline kandela_range kandela_child(kandela_range parent, uint32_t left, bool right) {
    kandela_range child = parent;
    child.node = 2 * parent.node + (right ? 2 : 1);
    if (right) child.begin = parent.begin + left + 1;
    return child;
}

static point_box kandela_domain(const kandela_work *work, uint32_t node) {
    return work->out->axes ? pointtree_domain(work->out, work->points, node) : work->out->box;
}

/* How many sub-trees keep all cores busy to the end, though the left ones may be twice as large. */
static uint32_t kandela_subtrees(uint32_t count) {
    const uint32_t threads = (uint32_t)parallel_threads();
    uint32_t wanted = 1;
    while (threads > 1 && wanted < 8 * threads && wanted < KANDELA_SUBTREES_MAX &&
           count / wanted >= 2 * KANDELA_SUBTREE_LEAST)
        wanted *= 2;
    return wanted;
}

#define KANDELA_DIMS 2
#include "photon/build_kandela_body.h"
#define KANDELA_DIMS 3
#include "photon/build_kandela_body.h"
#define KANDELA_DIMS 4
#include "photon/build_kandela_body.h"
#define KANDELA_DIMS 5
#include "photon/build_kandela_body.h"
#define KANDELA_DIMS 6
#include "photon/build_kandela_body.h"
#define KANDELA_DIMS 7
#include "photon/build_kandela_body.h"
#define KANDELA_DIMS 8
#include "photon/build_kandela_body.h"

kd_status build_kandela(pointtree *out, const point_array *points, job *watched) {
    static kd_status (*const run[])(kandela_work *) = {NULL,          NULL,          kandela_run_2,
                                                       kandela_run_3, kandela_run_4, kandela_run_5,
                                                       kandela_run_6, kandela_run_7, kandela_run_8};
    kd_status status = KD_OK;
    kandela_work *work = NULL;
    KD_TRY(KD_RESERVE_ZEROED(work, 1));
    work->out = out;
    work->points = points;
    work->watched = watched;
    KD_TRY_GOTO(point_keys_open(&work->keys, points));
    KD_TRY_GOTO(run[out->dims](work));
    if (job_cancelled(watched))
        status = status_fail(KD_INTERRUPTED, __FILE__, __LINE__,
                             "cancelled while building a point tree");
done:
    point_keys_close(&work->keys);
    memory_free(work->records);
    memory_free(work->spare);
    memory_free(work);
    return status;
}

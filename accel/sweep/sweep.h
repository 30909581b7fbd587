/* Steps of the exact SAH builders, serial and parallel: one node's triangles, its best plane, its
   children's triangles.
   Source: Wald and Havran 2006, "On building fast kd-trees for ray tracing, and on doing that in
           O(n log n)", section 4: planes, costs, clipping.
   Idea: no order is kept: a node's best plane is found by bounds (search.c), and the triangles are
         shared out by comparing them to it, eight at a time.
   Invariants: a node's rows ascend by triangle id and hold each once; of planes of equal cost the
               first by (axis, position) wins, so the tree is a function of its input.
   Differs from the paper in: nothing is sorted but ends near the best plane; planes lie strictly
         inside the node, or in its own side, to part triangles that lie in that from all else (a
         floor's cell has no thickness, the air above it no triangle); triangles are clipped from
         the original to both children at once; nodes of few triangles go to small_nodes.c. */
#ifndef KD_ACCEL_SWEEP_SWEEP_H
#define KD_ACCEL_SWEEP_SWEEP_H
#include "accel/tree/layout.h"
#include "accel/tree/sah.h"
#include "accel/tree/vectors.h"
#include "accel/tree/writer.h"
#include "core/math/geometry.h"
#include "core/parallel/tasks.h"
#include "core/status.h"

/* The parts of a node's triangles as rows of numbers, and the stack that holds those of all nodes
   on the way.
   Idea: a node's right child is written over the node itself, its left one above; a child is no
         larger than its parent, so that twice the root's rows are enough for most trees. */

/* By ascending triangle id; whole vectors may be read and written behind the last one. */
typedef struct sweep_rows {
    uint32_t *id;
    float *lo[3], *hi[3]; /* of the triangle's part in the node */
} sweep_rows;

typedef struct rows_block { /* a stack that outgrows its block goes on in another */
    struct rows_block *below;
    float *numbers;
    uint64_t room, stride; /* triangles; from a row to the next */
} rows_block;

/* Its value at any time is what rows_release takes it back to. */
typedef struct rows_stack {
    rows_block *block; /* NULL: there is none */
    uint64_t top;
} rows_stack;

/* Room for `count` triangles. */
kd_status rows_push(rows_stack *stack, uint64_t count, sweep_rows *out);
/* The same, with a new block if need be of room for `expected` triangles. */
kd_status rows_push_first(rows_stack *stack, uint64_t count, uint64_t expected, sweep_rows *out);
/* Gives back what was pushed since the stack was as `before`: {NULL, 0} for all of it. */
void rows_release(rows_stack *stack, rows_stack before);

static inline sweep_rows rows_from(const sweep_rows *rows, uint64_t first) {
    sweep_rows from;
    from.id = rows->id + first;
    for (int axis = 0; axis < 3; ++axis) {
        from.lo[axis] = rows->lo[axis] + first;
        from.hi[axis] = rows->hi[axis] + first;
    }
    return from;
}

/* Writes those of `mask` among the eight from `k` on, the first of them as number `to`, and eight
   in all. `rows` may be those that are written if `to` is not above `k`. */
VECTOR8_FN void rows_give(const sweep_rows *child, uint64_t to, const sweep_rows *rows, uint64_t k,
                          uint32_t mask) {
#if defined(__AVX2__) && defined(__BMI2__)
    const uint64_t bytes = _pdep_u64(mask, 0x0101010101010101u) * 0xff;
    const uint64_t places = _pext_u64(0x0706050403020100u, bytes);
    const __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)places));
#define GIVE(row)                                                                                  \
    _mm256_storeu_ps(                                                                              \
        (float *)(child->row + to),                                                                \
        _mm256_permutevar8x32_ps(_mm256_loadu_ps((const float *)(rows->row + k)), order))
    GIVE(id);
    for (int axis = 0; axis < 3; ++axis) {
        GIVE(lo[axis]);
        GIVE(hi[axis]);
    }
#undef GIVE
#else
    for (; mask; mask &= mask - 1, ++to) {
        const uint64_t i = k + (uint64_t)__builtin_ctz(mask);
        child->id[to] = rows->id[i];
        for (int axis = 0; axis < 3; ++axis) {
            child->lo[axis][to] = rows->lo[axis][i];
            child->hi[axis][to] = rows->hi[axis][i];
        }
    }
#endif
}

/* Events of the exact builder, to be sorted: where the clipped boxes of triangles begin and end on
   an axis.
   Source: Wald and Havran 2006, section 4.2.
   Idea: an event is one number whose order is that of events, so that sorting compares once. */

/* At equal positions what ends comes before what lies in the plane, before what begins. */
enum { EVENT_END = 0, EVENT_PLANAR = 1, EVENT_START = 2, EVENT_ID_BITS = 30 };

/* (bits of the position, never -0, that order as it does) << 32 | type << 30 | triangle id */
typedef int64_t sweep_event;

/* Bits of floats as numbers of the same order, and back: those of negative ones are turned over. */
static inline int32_t sweep_position_bits(int32_t bits) {
    return bits ^ (bits >> 31 & 0x7fffffff);
}
static inline sweep_event sweep_event_make(float position, uint32_t type, uint32_t id) {
    const int64_t place = sweep_position_bits((int32_t)float_bits(position + 0.0f));
    return (sweep_event)((uint64_t)place << 32 | type << EVENT_ID_BITS | id);
}
static inline float sweep_event_position(sweep_event event) {
    return float_from_bits((uint32_t)sweep_position_bits((int32_t)(event >> 32)));
}
static inline uint32_t sweep_event_type(sweep_event event) {
    return (uint32_t)event >> EVENT_ID_BITS;
}
static inline uint32_t sweep_event_id(sweep_event event) {
    return (uint32_t)event & ((1u << EVENT_ID_BITS) - 1);
}

/* Sorts events that all differ; `scratch` has room for as many. From some thousands on, those of
   the same position and type are left in the order in which they came. */
void sweep_events_sort(sweep_event *events, sweep_event *scratch, uint64_t count);

/* The cheapest plane of a node, exactly, without any order among its triangles.
   Idea: an axis is divided into equal bins, and where parts begin and end is counted in each. The
         counts before a bin and behind it bound what its planes cost from below, by the same float
         operations and so without any doubt about rounding. The most promising bins are looked into
         first, each plane of theirs is tried; then those that may still hold a cheaper one.
   Source: bins bounded from what is counted are those of Hunt, Mark, Stoll 2006, "Fast kd-tree
           construction with an adaptive error-bounded heuristic"; here nothing is left to error. */

enum { SWEEP_BINS_MOST = 1024, SWEEP_BINS_ROOM = SWEEP_BINS_MOST + 2 * VECTOR8_LANES };

/* A node's triangles along an axis. */
typedef struct sweep_line {
    const float *lo, *hi;
    uint32_t count;
    sah_axis of;
} sweep_line;

typedef struct sweep_bins {
    uint32_t count;     /* of bins; 0: the axis has no planes */
    float scale, width; /* bins per length; of a bin */
    int32_t begun[SWEEP_BINS_ROOM],
        ended[SWEEP_BINS_ROOM];    /* before each bin, and before the end */
    float bound[SWEEP_BINS_ROOM];  /* no plane of the bin costs less; INFINITY: it has none */
    uint32_t flat[2];              /* triangles in the node's own lower and upper side */
    sweep_event *events, *scratch; /* of bins that are looked at */
    uint64_t room;
} sweep_bins;

void sweep_bins_close(sweep_bins *owned); /* takes a zeroed one */

/* Fills the bins. */
void sweep_bins_count(sweep_bins *bins, const sweep_line *line, const sah_costs *costs);

/* Takes into *best the cheapest plane of the bins [first, beyond) that are bounded by no more than
   its cost, if it is before that by (cost, axis, position). What was looked at is bounded by
   INFINITY after it. */
kd_status sweep_bins_search(sweep_bins *bins, const sweep_line *line, const sah_costs *costs,
                            int axis, uint32_t first, uint32_t beyond, sah_split *best);
/* The same of the planes in the node's own sides, which part triangles in them from all else. */
void sweep_try_sides(const sweep_bins *bins, const sweep_line *line, const sah_costs *costs,
                     int axis, sah_split *best);

/* Whether a plane comes before another, by (cost, axis, position). */
static inline bool sah_split_before(const sah_split *split, const sah_split *other) {
    if (split->cost != other->cost) return split->cost < other->cost;
    if (split->axis != other->axis) return split->axis < other->axis;
    return split->position < other->position;
}

/* What lies on the sides of a plane. */
typedef struct sweep_sides {
    uint32_t left, right, planar; /* begins before; ends after; neither */
} sweep_sides;
sweep_sides sweep_count_sides(const sweep_line *line, float position);

typedef struct sweep_node {
    box3 box;
    sweep_rows rows;
    uint32_t count; /* triangles */
    uint32_t at;    /* index in the writer's tree */
    int32_t depth;
    double growth; /* references of a triangle, were all nodes cut as those on the way here */
} sweep_node;

/* A subtree under construction. */
typedef struct sweep {
    const tritree_input *input;
    const job *watched;
    sah_costs costs;
    int32_t max_depth;
    task_pool *pool; /* of the threads that help; NULL: there are none */
    tree_writer writer;
    rows_stack stack;
    sweep_bins *bins; /* three, of the node at hand */
} sweep;

uint64_t sweep_scratch_bytes(uint32_t triangle_count);

/* The whole tree's work: *root holds all triangles that can be hit. */
kd_status sweep_open(sweep *out, sweep_node *root, box3 box, const tritree_input *input,
                     const tritree_options *options, task_pool *pool, const job *watched);
/* A subtree's work, apart from the tree it belongs to: *root becomes that of `node`, whose rows are
   this sweep's until they are closed. */
kd_status sweep_branch(sweep *out, sweep_node *root, const sweep *from, const sweep_node *node);
/* All but the tree that was written; the rest by sweep_close. */
void sweep_close_rows(sweep *work);
void sweep_close(sweep *owned); /* takes a zeroed one */

/* Either writes the node's leaf or whole small subtree, and *split is false; or writes an inner
   node, and left and right are to be done, in this order. */
kd_status sweep_step(sweep *work, const sweep_node *node, bool *split, sweep_node *left,
                     sweep_node *right);

/* The exact SAH builders' last levels: nodes of a few triangles, without bins.
   Idea: a node of n triangles has at most 2 n planes an axis; counting for each what lies left and
   right of it takes n comparisons, eight planes at a time, which beats counting in bins while n
   is small. The planes, their counts and costs, and so the tree, are those of the sweep. */

enum { SMALL_NODE_MOST = 56, SMALL_NODE_ROOM = SMALL_NODE_MOST + VECTOR8_LANES };
static_assert((int)SMALL_NODE_MOST <= (int)EXACT_SMALL_MOST, "their growth does not matter");

typedef struct small_node {
    box3 box;
    uint32_t at; /* index in the tree */
    int32_t depth;
    uint32_t count;
    uint32_t place[SMALL_NODE_ROOM];                      /* among the ids; ascending */
    float lo[3][SMALL_NODE_ROOM], hi[3][SMALL_NODE_ROOM]; /* of the triangles' parts in the node */
} small_node;

typedef struct small_build {
    const tritree_input *input;
    sah_costs costs;
    int32_t max_depth;
    tree_writer *writer;
    const uint32_t *ids;   /* the triangles', ascending */
    const float4v *corner; /* theirs, three each: read once for all times that they are clipped */
} small_build;

/* Writes the whole subtree below `node`; sets the build's corners. */
kd_status small_nodes_build(small_build *build, small_node *node);

/* sah_split_cost (accel/tree/sah.h) of eight planes at once. */

/* The same operations in the same order, so the same bits. */
VECTOR8_FN float8 sah_split_cost8(const sah_costs *costs, const sah_axis *of, const float8 plane,
                                  int8 left, int8 right) {
    const float8 left_part = of->base + of->slope * (plane - of->lo);
    const float8 right_part = of->base + of->slope * (of->hi - plane);
    const float8 meets = left_part * __builtin_convertvector(left, float8) +
                         right_part * __builtin_convertvector(right, float8);
    const float8 all = float8_all(costs->intersect);
    const float8 reduced = float8_all(costs->intersect * costs->empty_factor);
    return costs->traversal + float8_select((left == 0) | (right == 0), reduced, all) * meets;
}

#endif

/* Steps that the exact SAH builders share, serial and parallel: a node's triangles, its best plane,
   its children's triangles.
   Source: Wald and Havran 2006, "On building fast kd-trees for ray tracing, and on doing that in
   O(n log n)", section 4: planes, costs, clipping.
   Idea: triangles are not kept sorted. A node's best plane is found by bounding the costs of bins
   (search.c), and the triangles are distributed by comparing them with it, eight at a time.
   Invariants: a node's rows ascend by triangle id, each id once. Of planes with equal cost the
   first by (axis, position) wins, so the tree is a function of its input.
   Differs from the paper in: only the ends near the best plane are sorted; planes lie strictly
   inside the node, or in one of its faces to separate triangles in that face from all others (so
   that a floor gets a cell without thickness, and the air above it an empty cell); triangles are
   clipped from the original to both children at once; nodes of few triangles are handled by
   sweep_small_nodes.c. */
#ifndef KD_ACCEL_SWEEP_SWEEP_H
#define KD_ACCEL_SWEEP_SWEEP_H
#include "accel/tree/layout.h"
#include "accel/tree/sah.h"
#include "accel/tree/vectors.h"
#include "accel/tree/writer.h"
#include "core/math/geometry.h"
#include "core/parallel/tasks.h"
#include "core/status.h"

/* The triangles of a node as a structure of arrays ("rows"), and the stack of the rows of all nodes
   on the current path.
   Idea: a node's right child overwrites the node, the left child is pushed above it. A child is no
   larger than its parent, so twice the root's rows suffice for most trees. */

/* Ascending by triangle id. Whole vectors may be read and written beyond the last one. */
typedef struct sweep_rows {
    uint32_t *id;
    float *lo[3], *hi[3]; /* bounds of each triangle's part in the node */
} sweep_rows;

typedef struct rows_block { /* a stack that outgrows its block continues in another */
    struct rows_block *below;
    float *numbers;
    uint64_t capacity, stride; /* triangles; distance between rows */
} rows_block;

/* A copy of this struct serves as a mark for rows_release. */
typedef struct rows_stack {
    rows_block *block; /* NULL: empty */
    uint64_t top;
} rows_stack;

/* Pushes rows for `count` triangles. */
kd_status rows_push(rows_stack *stack, uint64_t count, sweep_rows *out);
/* Pushes rows for `count` triangles; a new block, if necessary, has capacity for `expected`
   triangles. */
kd_status rows_push_first(rows_stack *stack, uint64_t count, uint64_t expected, sweep_rows *out);
/* Pops everything that was pushed since the stack was `before`; {NULL, 0}: everything. */
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

/* Copies the triangles of `mask`, of the eight from `k` on, to position `to` of the child; writes
   eight in all. `rows` may overlap the output if `to` is not above `k`. */
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

/* Events of the exact builder, for sorting: where the clipped boxes of triangles begin and end on
   an axis.
   Source: Wald and Havran 2006, section 4.2.
   Idea: an event is one integer that sorts in the order of events, so that a comparison is one
   instruction. */

/* At equal positions, ends come first, then planar triangles, then starts. */
enum { EVENT_END = 0, EVENT_PLANAR = 1, EVENT_START = 2, EVENT_ID_BITS = 30 };

/* (bits of the position, which is never -0, in integer order) << 32 | type << 30 | triangle id. */
typedef int64_t sweep_event;

/* Maps the bits of floats to integers of the same order, and back: those of negative floats are
   inverted. */
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

/* Sorts distinct events; `scratch` has space for `count`. For more than some thousand events,
   events of the same position and type keep their order instead of being ordered by id. */
void sweep_events_sort(sweep_event *events, sweep_event *scratch, uint64_t count);

/* Finds the cheapest plane of a node exactly without sorting its triangles.
   Idea: an axis is divided into equal bins, and the starts and ends of triangles are counted per
   bin. The counts before and after a bin give a lower bound of the cost of all planes in it, by the
   same float operations, so rounding cannot invalidate it. The most promising bins are searched
   first, trying each of their planes; then those that may still contain a cheaper one.
   Source: cost bounds from counts per bin as in Hunt, Mark, Stoll 2006, "Fast kd-tree construction
   with an adaptive error-bounded heuristic"; here the result is exact. */

enum { SWEEP_BINS_MAX = 1024, SWEEP_BINS_CAPACITY = SWEEP_BINS_MAX + 2 * VECTOR8_LANES };

/* A node's triangles along an axis. */
typedef struct sweep_line {
    const float *lo, *hi;
    uint32_t count;
    sah_axis areas;
} sweep_line;

typedef struct sweep_bins {
    uint32_t count;     /* number of bins; 0: the axis has no planes */
    float scale, width; /* bins per unit of length; width of a bin */
    int32_t begun[SWEEP_BINS_CAPACITY],
        ended[SWEEP_BINS_CAPACITY]; /* counts before each bin, and the total */
    /* lower bound of the cost of the bin's planes; INFINITY: none left */
    float bound[SWEEP_BINS_CAPACITY];
    uint32_t flat[2];              /* triangles in the node's lower and upper face */
    sweep_event *events, *scratch; /* events of the bins that are searched */
    uint64_t capacity;
} sweep_bins;

void sweep_bins_close(sweep_bins *owned); /* accepts a zeroed struct */

/* Fills the bins. */
void sweep_bins_count(sweep_bins *bins, const sweep_line *line, const sah_costs *costs);

/* Searches the bins [first, beyond) whose bound is at most the cost of *best, and updates *best if
   they contain a plane that precedes it by (cost, axis, position). Sets the bound of searched bins
   to INFINITY. */
kd_status sweep_bins_search(sweep_bins *bins, const sweep_line *line, const sah_costs *costs,
                            int axis, uint32_t first, uint32_t beyond, sah_split *best);
/* The same for planes in the node's faces, which separate triangles in them from all others. */
void sweep_try_sides(const sweep_bins *bins, const sweep_line *line, const sah_costs *costs,
                     int axis, sah_split *best);

/* Returns true if a plane precedes another by (cost, axis, position). */
static inline bool sah_split_before(const sah_split *split, const sah_split *other) {
    if (split->cost != other->cost) return split->cost < other->cost;
    if (split->axis != other->axis) return split->axis < other->axis;
    return split->position < other->position;
}

/* The number of triangles on each side of a plane. */
typedef struct sweep_sides {
    uint32_t left, right, planar; /* begins before it; ends after it; neither */
} sweep_sides;
sweep_sides sweep_count_sides(const sweep_line *line, float position);

typedef struct sweep_node {
    box3 box;
    sweep_rows rows;
    uint32_t count; /* triangles */
    uint32_t at;    /* index in the writer's tree */
    int32_t depth;
    double growth; /* references per triangle if all nodes were split like the ancestors */
} sweep_node;

/* A subtree under construction. */
typedef struct sweep {
    const tritree_input *input;
    job_control *job;
    sah_costs costs;
    int32_t max_depth;
    task_pool *pool; /* threads that help; NULL: serial */
    tree_writer writer;
    rows_stack stack;
    sweep_bins *bins; /* three, for the current node */
    struct small_node *small;
} sweep;

uint64_t sweep_scratch_bytes(uint32_t triangle_count);

/* Opens a sweep of the whole tree; *root gets all triangles that can be hit. */
kd_status sweep_open(sweep *out, sweep_node *root, box3 box, const tritree_input *input,
                     const tritree_options *options, task_pool *pool, job_control *job);
/* Opens a separate sweep for a subtree: *root becomes the root of the subtree below `node`, whose
   rows remain those of `from`. */
kd_status sweep_branch(sweep *out, sweep_node *root, const sweep *from, const sweep_node *node);
/* Frees everything except the tree written so far, which sweep_close frees. */
void sweep_close_rows(sweep *work);
void sweep_close(sweep *owned); /* accepts a zeroed struct */

/* Processes a node. Writes a leaf or a whole small subtree and sets *split to false; or writes an
   inner node, and the caller processes *left, then *right. */
kd_status sweep_step(sweep *work, const sweep_node *node, bool *split, sweep_node *left,
                     sweep_node *right);

/* The last levels of the exact SAH builders: nodes of few triangles, without bins.
   Idea: a node of n triangles has at most 2 n planes per axis. Counting the triangles on both sides
   of a plane takes n comparisons, for eight planes at a time, which is faster than bins for small
   n. The planes, their counts and costs, and so the tree, are those of the sweep.
   Memory: a right child replaces its parent; for a left child the parent owns a node, which stays
   allocated for the next subtree. Nothing of this is on the stack, which may be small. */

enum { SMALL_NODE_MAX = 56, SMALL_NODE_CAPACITY = SMALL_NODE_MAX + VECTOR8_LANES };
static_assert((int)SMALL_NODE_MAX <= (int)EXACT_SMALL_MAX, "their growth does not matter");

typedef struct small_node {
    box3 box;
    uint32_t at; /* index in the tree */
    int32_t depth;
    uint32_t count;
    uint32_t place[SMALL_NODE_CAPACITY]; /* index into `ids`; ascending */
    float lo[3][SMALL_NODE_CAPACITY],
        hi[3][SMALL_NODE_CAPACITY]; /* bounds of the triangles' parts in the node */
    struct small_node *left;        /* room for the left child; NULL: none yet */
} small_node;

/* Allocates a node unless *node has one already, so that its memory and that of the nodes below it
   serve all subtrees. */
kd_status small_node_open(small_node **node);
void small_node_close(small_node *owned); /* and those below it; accepts NULL */

typedef struct small_build {
    const tritree_input *input;
    sah_costs costs;
    int32_t max_depth;
    tree_writer *writer;
    const uint32_t *ids;   /* ids of the triangles, ascending */
    const float4v *corner; /* three per triangle, loaded once for all clipping */
} small_build;

/* Builds the whole subtree below `node`, which is overwritten; sets build->corner. */
kd_status small_nodes_build(small_build *build, small_node *node);

/* sah_split_cost (accel/tree/sah.h) of eight planes at once. */

/* Same operations in the same order, so the results are equal bit for bit. */
VECTOR8_FN float8 sah_split_cost8(const sah_costs *costs, const sah_axis *areas, const float8 plane,
                                  int8 left, int8 right) {
    const float8 left_part = areas->base + areas->slope * (plane - areas->lo);
    const float8 right_part = areas->base + areas->slope * (areas->hi - plane);
    const float8 expected = left_part * __builtin_convertvector(left, float8) +
                            right_part * __builtin_convertvector(right, float8);
    const float8 all = float8_all(costs->intersect);
    const float8 reduced = float8_all(costs->intersect * costs->empty_factor);
    return costs->traversal + float8_select((left == 0) | (right == 0), reduced, all) * expected;
}

#endif

/* Brown's builder on all cores: presort every axis once, then only partition.
   Source: Brown 2015, "Building a balanced k-d tree in O(kn log n) time", JCGT 4(1), and Robinson's
           implementation for GPUs of it.
   Idea: one array of references per axis, sorted by the super key (its coordinate, then the next
         axes cyclically, then the id). The median of a segment is its middle element; the other
         arrays are partitioned around it stably, so they stay sorted.
   Work: k sorts, then k - 1 partitions of all references for each of the log2(n) levels.
   Memory: 3 k + 2 ints per point, and the scratch of the sort.
   Invariants: the position of a reference in the sorted array is its rank, so a super key is
               compared as one integer.
   Differs from the paper in: medians are those of the left-balanced tree; equal points are kept,
         ordered by id, unless their removal is requested. */
#include "core/job.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"
#include "points/tree/build.h"
#include "points/tree/coordinate_keys.h"

enum {
    BROWN_GRAIN = 1 << 14,
    BROWN_PIECES = 64,         /* pieces of a segment that all cores partition */
    BROWN_PIECE_MIN = 1 << 14, /* minimum references per piece */
    /* runs of equal coordinates up to this length are sorted by insertion */
    BROWN_RUN = 32
};

typedef struct brown_work {
    const point_array *points;
    pointtree *out;
    point_keys keys;
    uint32_t dims, count;
    uint32_t *sorted[POINT_DIMS_MAX], *spare[POINT_DIMS_MAX]; /* references of each axis, and a
                                                                 second buffer */
    uint32_t *ranks[POINT_DIMS_MAX];                          /* rank of each point along an axis */
    uint64_t *items; /* sort buffer: coordinate << 32 | reference */
    void *scratch;
    uint32_t axis;  /* axis being presorted */
    uint32_t level; /* level being split */
} brown_work;

static uint64_t build_brown_scratch_bytes(uint64_t count) {
    return count * (9 * sizeof(uint32_t) + sizeof(uint64_t)) + radix_sort_scratch_bytes(count);
}

/* --- presort -------------------------------------------------------------------------------- */

static bool super_key_before(const brown_work *work, uint32_t a, uint32_t b, uint32_t axis) {
    for (uint32_t i = 0; i < work->dims; ++i) {
        const uint32_t at = (axis + i) % work->dims;
        const uint32_t x = point_key(&work->keys, a, at), y = point_key(&work->keys, b, at);
        if (x != y) return x < y;
    }
    return a < b;
}

static void item_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const brown_work *work = (const brown_work *)context;
    for (int64_t i = begin; i < end; ++i)
        work->items[i] =
            (uint64_t)point_key(&work->keys, (uint64_t)i, work->axis) << 32 | (uint64_t)i;
}

/* Sorts references with the same coordinate by least-significant-key-first radix sorts: by id, then
   by the other axes from the last to the next. */
static kd_status sort_long_run(const brown_work *work, uint64_t *items, uint64_t count) {
    void *scratch = NULL;
    KD_TRY(memory_reserve(&scratch, radix_sort_scratch_bytes(count), 1));
    radix_sort(items, count, 0, 32, scratch);
    for (uint32_t i = work->dims; i-- > 1;) {
        const uint32_t axis = (work->axis + i) % work->dims;
        for (uint64_t j = 0; j < count; ++j)
            items[j] = (uint64_t)point_key(&work->keys, (uint32_t)items[j], axis) << 32 |
                       (uint32_t)items[j];
        radix_sort(items, count, 32, 64, scratch);
    }
    memory_free(scratch);
    return KD_OK;
}

static void sort_short_run(const brown_work *work, uint64_t *items, uint64_t count) {
    for (uint64_t i = 1; i < count; ++i) {
        const uint64_t item = items[i];
        uint64_t hole = i;
        for (; hole > 0 &&
               super_key_before(work, (uint32_t)item, (uint32_t)items[hole - 1], work->axis);
             --hole)
            items[hole] = items[hole - 1];
        items[hole] = item;
    }
}

/* Stores the lengths of the runs of equal coordinates that begin in the piece; a run may end beyond
   it. */
static void run_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    brown_work *work = (brown_work *)context;
    uint64_t *items = work->items;
    for (int64_t i = begin; i < end;) {
        int64_t next = i + 1;
        while (next < (int64_t)work->count && items[next] >> 32 == items[i] >> 32) ++next;
        const bool begins_group = i == 0 || items[i - 1] >> 32 != items[i] >> 32;
        if (begins_group && next - i > 1) work->spare[0][i] = (uint32_t)(next - i);
        i = next;
    }
}

static kd_status presort_axis(brown_work *work, uint32_t axis) {
    const uint32_t count = work->count;
    work->axis = axis;
    parallel_for(count, BROWN_GRAIN, item_piece, work);
    radix_sort(work->items, count, 32, 64, work->scratch);
    memset(work->spare[0], 0, count * sizeof **work->spare); /* length of each run, at its
                                                                beginning */
    parallel_for(count, BROWN_GRAIN, run_piece, work);
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t run = work->spare[0][i];
        if (run > BROWN_RUN)
            KD_TRY(sort_long_run(work, work->items + i, run));
        else if (run > 1)
            sort_short_run(work, work->items + i, run);
    }
    for (uint32_t i = 0; i < count; ++i) {
        work->sorted[axis][i] = (uint32_t)work->items[i];
        work->ranks[axis][work->sorted[axis][i]] = i;
    }
    return KD_OK;
}

static bool points_equal(const brown_work *work, uint32_t a, uint32_t b) {
    for (uint32_t axis = 0; axis < work->dims; ++axis)
        if (point_key(&work->keys, a, axis) != point_key(&work->keys, b, axis)) return false;
    return true;
}

/* Removes duplicates: equal points are adjacent in every array, and the first, with the least id,
   is kept. */
static void remove_duplicates(brown_work *work) {
    uint32_t kept = 0;
    for (uint32_t axis = 0; axis < work->dims; ++axis) {
        uint32_t *sorted = work->sorted[axis];
        kept = 0;
        for (uint32_t i = 0, last = KD_NONE; i < work->count; ++i) {
            if (last != KD_NONE && points_equal(work, last, sorted[i])) continue;
            last = sorted[i];
            work->ranks[axis][last] = kept;
            sorted[kept++] = last;
        }
    }
    work->count = kept;
    work->out->count = kept;
}

/* --- partition ------------------------------------------------------------------------------ */

/* Partition of one array around a node's median. A node's references occupy the same range in all
   arrays, that of the node in the finished tree read from left to right, so segments never move. */
typedef struct brown_split {
    const uint32_t *from, *ranks; /* ranks along the node's axis */
    uint32_t *to;
    uint32_t left, median_rank;
    int64_t piece;
    uint32_t below[BROWN_PIECES], above[BROWN_PIECES]; /* counts per piece, later write positions */
} brown_split;

/* Distributes references [begin, end) stably before and after the median, which takes the position
   between them. */
static void split_range(const brown_split *split, int64_t begin, int64_t end, uint32_t below,
                        uint32_t above) {
    for (int64_t i = begin; i < end; ++i) {
        const uint32_t reference = split->from[i], rank = split->ranks[reference];
        const uint32_t is_below = rank<split->median_rank, is_above = rank> split->median_rank;
        split->to[is_below ? below : is_above ? above : split->left] = reference;
        below += is_below;
        above += is_above;
    }
}

static void count_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    brown_split *split = (brown_split *)context;
    uint32_t below = 0, above = 0;
    for (int64_t i = begin; i < end; ++i) {
        const uint32_t rank = split->ranks[split->from[i]];
        below += rank < split->median_rank;
        above += rank > split->median_rank;
    }
    split->below[begin / split->piece] = below;
    split->above[begin / split->piece] = above;
}

static void split_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const brown_split *split = (const brown_split *)context;
    split_range(split, begin, end, split->below[begin / split->piece],
                split->above[begin / split->piece]);
}

/* Robinson's first partitioner: all cores partition one segment. */
static void split_on_all_cores(brown_split *split, uint32_t count) {
    split->piece = count / BROWN_PIECES + 1;
    if (split->piece < BROWN_PIECE_MIN) split->piece = BROWN_PIECE_MIN;
    const int64_t pieces = (count + split->piece - 1) / split->piece;
    parallel_for(count, split->piece, count_piece, split);
    uint32_t below = 0, above = split->left + 1;
    for (int64_t i = 0; i < pieces; ++i) {
        const uint32_t is_below = split->below[i], is_above = split->above[i];
        split->below[i] = below;
        split->above[i] = above;
        below += is_below;
        above += is_above;
    }
    parallel_for(count, split->piece, split_piece, split);
}

static uint32_t choose_axis(const brown_work *work, uint32_t node) {
    pointtree *out = work->out;
    if (!out->axes) return pointtree_level_of(node) % work->dims;
    const point_box domain = pointtree_domain(out, work->points, node);
    out->axes[node] = (uint8_t)point_box_widest(&domain, work->dims, out->scalar);
    return out->axes[node];
}

/* Places the median of a node and partitions the other arrays around it. */
static void split_node(brown_work *work, uint32_t node, bool all_cores) {
    const uint32_t count = pointtree_subtree_size(node, work->count);
    const uint32_t begin = pointtree_inorder_begin(node, work->count);
    const uint32_t left = pointtree_subtree_size(2 * node + 1, work->count);
    const uint32_t axis = choose_axis(work, node);
    const uint32_t median = work->sorted[axis][begin + left];
    work->out->ids[node] = median;
    if (count == 1) return;
    for (uint32_t other = 0; other < work->dims; ++other) {
        if (other == axis) continue;
        brown_split split;
        split.from = work->sorted[other] + begin;
        split.to = work->spare[other] + begin;
        split.ranks = work->ranks[axis];
        split.left = left;
        split.median_rank = work->ranks[axis][median];
        if (all_cores)
            split_on_all_cores(&split, count);
        else
            split_range(&split, 0, count, 0, left + 1);
        memcpy(work->sorted[other] + begin, split.to, count * sizeof *split.to);
    }
}

static void node_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    brown_work *work = (brown_work *)context;
    for (int64_t i = begin; i < end; ++i)
        split_node(work, pointtree_level_begin(work->level) + (uint32_t)i, false);
}

static kd_status split_levels(brown_work *work, job_control *job) {
    const uint32_t levels = pointtree_levels(work->count);
    for (work->level = 0; work->level < levels; ++work->level) {
        const uint32_t first = pointtree_level_begin(work->level);
        const uint32_t end = pointtree_level_begin(work->level + 1);
        const uint32_t nodes = (end < work->count ? end : work->count) - first;
        const uint32_t each = work->count / nodes;
        if (each > 4 * BROWN_PIECE_MIN)
            for (uint32_t i = 0; i < nodes; ++i) split_node(work, first + i, true);
        else
            parallel_for(nodes, BROWN_PIECE_MIN / (each + 1) + 1, node_piece, work);
        job_advance(job, nodes);
        KD_REQUIRE(!job_cancelled(job), KD_INTERRUPTED,
                   "building the point tree was cancelled at level %u", work->level);
    }
    return KD_OK;
}

static kd_status reserve(brown_work *work) {
    for (uint32_t axis = 0; axis < work->dims; ++axis) {
        KD_TRY(KD_RESERVE(work->sorted[axis], work->count));
        KD_TRY(KD_RESERVE(work->spare[axis], work->count));
        KD_TRY(KD_RESERVE(work->ranks[axis], work->count));
    }
    KD_TRY(KD_RESERVE(work->items, work->count));
    return memory_reserve(&work->scratch, radix_sort_scratch_bytes(work->count), 1);
}

static kd_status build_brown(pointtree *out, const point_array *points, job_control *job) {
    kd_status status = KD_OK;
    brown_work work;
    double times[POINT_STAGES + 1];
    memset(&work, 0, sizeof work);
    work.points = points;
    work.out = out;
    work.dims = out->dims;
    work.count = out->count;
    KD_TRY_GOTO(point_keys_open(&work.keys, points));
    KD_TRY_GOTO(reserve(&work));
    times[0] = timing_now();
    for (uint32_t axis = 0; axis < work.dims; ++axis) KD_TRY_GOTO(presort_axis(&work, axis));
    times[1] = timing_now();
    if (out->options.unique) remove_duplicates(&work);
    times[2] = timing_now();
    KD_TRY_GOTO(split_levels(&work, job));
    times[3] = timing_now();
    pointtree_gather(out, points);
    times[4] = timing_now();
    for (int i = 0; i < POINT_STAGES; ++i) out->stage_seconds[i] = times[i + 1] - times[i];
done:
    point_keys_close(&work.keys);
    for (uint32_t axis = 0; axis < work.dims; ++axis) {
        memory_free(work.sorted[axis]);
        memory_free(work.spare[axis]);
        memory_free(work.ranks[axis]);
    }
    memory_free(work.items);
    memory_free(work.scratch);
    return status;
}

static const char *const brown_stages[POINT_STAGES] = {"sort", "remove", "partition", "place"};

const pointtree_builder pointtree_builder_brown = {.name = "brown",
                                                   .source = "Brown 2015, presort and partition",
                                                   .scratch_bytes = build_brown_scratch_bytes,
                                                   .build = build_brown,
                                                   .order = POINTTREE_BY_SUPER_KEY,
                                                   .removes = true,
                                                   .stage_names = brown_stages};

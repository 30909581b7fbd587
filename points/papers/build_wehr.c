/* Wehr and Radkowski's builder on all cores: sort the chunks of each level with an algorithm that
   suits their size.
   Source: Wehr and Radkowski 2018, "Parallel kd-tree construction on the GPU with an adaptive split
           and sort strategy".
   Idea: coordinates are multiplied by a factor and rounded down to integers, the cells. On each
         level every chunk (the points of one node) is sorted along the node's axis: large chunks by
         a radix sort on all cores, with histograms of blocks of points; medium ones by a radix sort
         on one core each; those below 16 points by insertion. The node's point is then at a known
         position.
   Work: log2(n) levels of ceil(bits / digit bits) passes; only bits that occur are sorted.
   Memory: 20 bytes per point, and the histograms.
   Invariants: all sorts are stable. Ties on a node's axis keep the order of the level above, so the
               total order is: cell on the node's axis, then on its ancestors' axes, nearest first,
               then id.
   Differs from the paper in: chunks have the sizes of the left-balanced tree (equal to the paper's
         if n + 1 is a power of two); blocks do not cross chunks; ids are moved and values are
         fetched through them, instead of rearranging all axes; a factor of 0 keeps all bits of a
         coordinate. */
#include "points/papers/build_wehr.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/tree/coordinate_keys.h"

enum { WEHR_INSERTION = 16, WEHR_DIGITS_MAX = 1 << 11, WEHR_BLOCKS_MAX = 4096 };

typedef struct wehr_work {
    const point_array *points;
    pointtree *out;
    point_keys keys;
    uint32_t *cells;               /* cells of all axes of each point; NULL: use `keys` directly */
    uint32_t bits[POINT_DIMS_MAX]; /* number of bits that occur on each axis */
    uint32_t *ids, *ids_spare, *values, *values_spare;
    wehr_parameters parameters;
    uint32_t level;
} wehr_work;

static uint64_t build_wehr_scratch_bytes(uint64_t count) {
    return count * (4 + 3) * sizeof(uint32_t); /* ids and values twice; cells of three axes */
}

wehr_parameters wehr_parameters_default(void) {
    wehr_parameters parameters;
    parameters.block = 1 << 14;
    parameters.digit_bits = 8;
    parameters.cutoff = 1 << 16;
    parameters.insertion = WEHR_INSERTION;
    parameters.level_seconds = NULL;
    return parameters;
}

wehr_parameters wehr_parameters_cuda_default(void) {
    wehr_parameters parameters;
    parameters.block = 2048;
    parameters.digit_bits = 5;
    parameters.cutoff = 2048;
    parameters.insertion = 0;
    parameters.level_seconds = NULL;
    return parameters;
}

/* --- values --------------------------------------------------------------------------------- */

static uint32_t value_of(const wehr_work *work, uint32_t id, uint32_t axis) {
    return work->cells ? work->cells[(uint64_t)id * work->out->dims + axis]
                       : point_key(&work->keys, id, axis);
}

static uint32_t bit_length(uint32_t x) {
    return x ? pointtree_log2(x) + 1 : 0;
}

/* Converts coordinates to cells, relative to the lowest cell of each axis. */
static kd_status make_cells(wehr_work *work) {
    const pointtree *out = work->out;
    const double cells = out->options.cells;
    for (uint32_t axis = 0; axis < out->dims; ++axis) {
        work->bits[axis] = 32;
        if (cells == 0) continue;
        const double lo = pointtree_cell(out->box.lo[axis], cells);
        const double span = pointtree_cell(out->box.hi[axis], cells) - lo;
        KD_REQUIRE(span <= UINT32_MAX, KD_ERROR_USAGE,
                   "%g cells per unit make %g cells along axis %u; supported: at most 2^32", cells,
                   span, axis);
        work->bits[axis] = bit_length((uint32_t)span);
    }
    if (cells == 0) return point_keys_open(&work->keys, work->points);
    KD_TRY(KD_RESERVE(work->cells, (uint64_t)out->count * out->dims));
    for (uint32_t i = 0; i < out->count; ++i)
        for (uint32_t axis = 0; axis < out->dims; ++axis)
            work->cells[(uint64_t)i * out->dims + axis] =
                (uint32_t)(pointtree_cell(point_array_coordinate(work->points, i, axis), cells) -
                           pointtree_cell(out->box.lo[axis], cells));
    return KD_OK;
}

/* --- the three sorts of a chunk ------------------------------------------------------------- */

typedef struct wehr_chunk {
    uint32_t *ids, *values, *ids_to, *values_to;
    uint32_t count, shift, mask, block;
    uint32_t *counts; /* histograms, per block and digit */
    uint32_t digits;
} wehr_chunk;

static void insertion_sort(const wehr_chunk *chunk) {
    for (uint32_t i = 1; i < chunk->count; ++i) {
        const uint32_t value = chunk->values[i], id = chunk->ids[i];
        uint32_t hole = i;
        for (; hole > 0 && chunk->values[hole - 1] > value; --hole) {
            chunk->values[hole] = chunk->values[hole - 1];
            chunk->ids[hole] = chunk->ids[hole - 1];
        }
        chunk->values[hole] = value;
        chunk->ids[hole] = id;
    }
}

static void count_block(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const wehr_chunk *chunk = (const wehr_chunk *)context;
    uint32_t *counts = chunk->counts + begin / chunk->block * chunk->digits;
    memset(counts, 0, chunk->digits * sizeof *counts);
    for (int64_t i = begin; i < end; ++i) ++counts[chunk->values[i] >> chunk->shift & chunk->mask];
}

static void distribute_block(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const wehr_chunk *chunk = (const wehr_chunk *)context;
    uint32_t *places = chunk->counts + begin / chunk->block * chunk->digits;
    for (int64_t i = begin; i < end; ++i) {
        const uint32_t place = places[chunk->values[i] >> chunk->shift & chunk->mask]++;
        chunk->values_to[place] = chunk->values[i];
        chunk->ids_to[place] = chunk->ids[i];
    }
}

/* The paper's algorithm 3: histograms of the blocks, their prefix sums by digit, then block; then
   each block distributes its points in order. With a single block this is the sequential radix
   sort. */
static void radix_sort_chunk(wehr_chunk *chunk, uint32_t bits, uint32_t digit_bits) {
    const uint32_t blocks = (chunk->count + chunk->block - 1) / chunk->block;
    uint32_t *const ids = chunk->ids, *const values = chunk->values;
    for (uint32_t bit = 0; bit < bits; bit += digit_bits) {
        chunk->shift = bit;
        chunk->mask = chunk->digits - 1;
        parallel_for(chunk->count, chunk->block, count_block, chunk);
        uint32_t place = 0;
        for (uint32_t digit = 0; digit < chunk->digits; ++digit)
            for (uint32_t block = 0; block < blocks; ++block) {
                uint32_t *count = &chunk->counts[block * chunk->digits + digit];
                const uint32_t points = *count;
                *count = place;
                place += points;
            }
        parallel_for(chunk->count, chunk->block, distribute_block, chunk);
        uint32_t *const ids_to = chunk->ids_to, *const values_to = chunk->values_to;
        chunk->ids_to = chunk->ids;
        chunk->values_to = chunk->values;
        chunk->ids = ids_to;
        chunk->values = values_to;
    }
    if (chunk->ids == ids) return;
    memcpy(ids, chunk->ids, chunk->count * sizeof *ids);
    memcpy(values, chunk->values, chunk->count * sizeof *values);
}

/* --- levels --------------------------------------------------------------------------------- */

static uint32_t choose_axis(const wehr_work *work, uint32_t node) {
    pointtree *out = work->out;
    if (!out->axes) return pointtree_level_of(node) % out->dims;
    const point_box domain = pointtree_domain(out, work->points, node);
    out->axes[node] = (uint8_t)point_box_widest(&domain, out->dims, out->scalar);
    return out->axes[node];
}

/* Sorts the chunk of a node and places its point; `counts` is scratch for histograms. */
static void sort_chunk(const wehr_work *work, uint32_t node, uint32_t block, uint32_t *counts) {
    const uint32_t count = pointtree_subtree_size(node, work->out->count);
    const uint32_t begin = pointtree_inorder_begin(node, work->out->count);
    const uint32_t axis = choose_axis(work, node);
    wehr_chunk chunk;
    memset(&chunk, 0, sizeof chunk);
    chunk.ids = work->ids + begin;
    chunk.values = work->values + begin;
    chunk.ids_to = work->ids_spare + begin;
    chunk.values_to = work->values_spare + begin;
    chunk.count = count;
    chunk.block = block;
    chunk.counts = counts;
    chunk.digits = 1u << work->parameters.digit_bits;
    for (uint32_t i = 0; i < count; ++i) chunk.values[i] = value_of(work, chunk.ids[i], axis);
    if (count < work->parameters.insertion)
        insertion_sort(&chunk);
    else
        radix_sort_chunk(&chunk, work->bits[axis], work->parameters.digit_bits);
    const uint32_t left = pointtree_subtree_size(2 * node + 1, work->out->count);
    work->out->ids[node] = work->ids[begin + left];
}

static void chunk_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const wehr_work *work = (const wehr_work *)context;
    uint32_t counts[WEHR_DIGITS_MAX]; /* the chunk is a single block */
    for (int64_t i = begin; i < end; ++i)
        sort_chunk(work, pointtree_level_begin(work->level) + (uint32_t)i, work->out->count,
                   counts);
}

/* Adds the time of a level to the stage of the sort that its mean chunk size selects. */
static void report_level(const wehr_work *work, uint32_t chunk, double seconds) {
    const wehr_parameters *p = &work->parameters;
    work->out->stage_seconds[chunk >= p->cutoff ? 0 : chunk >= p->insertion ? 1 : 2] += seconds;
    if (p->level_seconds) p->level_seconds[work->level] = seconds;
}

static kd_status sort_levels(wehr_work *work, job_control *job) {
    kd_status status = KD_OK;
    const uint32_t count = work->out->count, levels = pointtree_levels(count);
    uint32_t block = work->parameters.block, *counts = NULL;
    if (count / block >= WEHR_BLOCKS_MAX) block = count / WEHR_BLOCKS_MAX + 1;
    KD_TRY_GOTO(KD_RESERVE(counts, (uint64_t)(count / block + 1) << work->parameters.digit_bits));
    for (work->level = 0; work->level < levels && status == KD_OK; ++work->level) {
        const uint32_t first = pointtree_level_begin(work->level);
        const uint32_t end = pointtree_level_begin(work->level + 1);
        const uint32_t nodes = (end < count ? end : count) - first;
        const uint32_t chunk = count / nodes; /* the paper's chunk size */
        const double started = timing_now();
        if (chunk >= work->parameters.cutoff)
            for (uint32_t i = 0; i < nodes; ++i) sort_chunk(work, first + i, block, counts);
        else
            parallel_for(nodes, 4096 / (chunk + 1) + 1, chunk_piece, work);
        report_level(work, chunk, timing_now() - started);
        job_advance(job, nodes);
        if (job_cancelled(job))
            status = status_fail(KD_INTERRUPTED, __FILE__, __LINE__,
                                 "building the point tree was cancelled at level %u", work->level);
    }
done:
    memory_free(counts);
    return status;
}

kd_status build_wehr_with(pointtree *out, const point_array *points,
                          const wehr_parameters *parameters, job_control *job) {
    kd_status status = KD_OK;
    KD_REQUIRE(
        parameters->block >= WEHR_INSERTION && parameters->digit_bits >= 1 &&
            1u << parameters->digit_bits <= WEHR_DIGITS_MAX,
        KD_ERROR_USAGE,
        "blocks have %u points and digits %u bits; expected at least %d points, and 1 to 11 bits",
        parameters->block, parameters->digit_bits, WEHR_INSERTION);
    wehr_work work;
    memset(&work, 0, sizeof work);
    work.points = points;
    work.out = out;
    work.parameters = *parameters;
    if (work.parameters.insertion == 0) work.parameters.insertion = WEHR_INSERTION;
    memset(out->stage_seconds, 0, sizeof out->stage_seconds);
    KD_TRY_GOTO(make_cells(&work));
    KD_TRY_GOTO(KD_RESERVE(work.ids, out->count));
    KD_TRY_GOTO(KD_RESERVE(work.ids_spare, out->count));
    KD_TRY_GOTO(KD_RESERVE(work.values, out->count));
    KD_TRY_GOTO(KD_RESERVE(work.values_spare, out->count));
    for (uint32_t i = 0; i < out->count; ++i) work.ids[i] = i;
    KD_TRY_GOTO(sort_levels(&work, job));
    const double placing = timing_now();
    pointtree_gather(out, points);
    out->stage_seconds[3] = timing_now() - placing;
done:
    point_keys_close(&work.keys);
    memory_free(work.cells);
    memory_free(work.ids);
    memory_free(work.ids_spare);
    memory_free(work.values);
    memory_free(work.values_spare);
    return status;
}

static kd_status build_wehr(pointtree *out, const point_array *points, job_control *job) {
    const wehr_parameters parameters = wehr_parameters_default();
    return build_wehr_with(out, points, &parameters, job);
}

static const char *const wehr_stages[POINT_STAGES] = {"sort together", "sort a core each",
                                                      "insertion", "place"};

const pointtree_builder pointtree_builder_wehr = {
    .name = "wehr",
    .source = "Wehr and Radkowski 2018, sort chunks of cells",
    .scratch_bytes = build_wehr_scratch_bytes,
    .build = build_wehr,
    .order = POINTTREE_BY_CELL,
    .stage_names = wehr_stages};

kd_status wehr_tune(wehr_parameters *best, const point_array *points,
                    const pointtree_options *options) {
    double minimum = (double)INFINITY;
    *best = wehr_parameters_default();
    pointtree tree;
    KD_TRY(pointtree_open_by(&tree, points, options, &pointtree_builder_wehr, NULL));
    kd_status status = KD_OK;
    for (uint32_t block = 1 << 10; block <= 1 << 16 && status == KD_OK; block *= 4)
        for (uint32_t digit_bits = 4; digit_bits <= 11 && status == KD_OK; ++digit_bits)
            for (uint32_t cutoff = block; cutoff <= 16 * block && status == KD_OK; cutoff *= 4) {
                const wehr_parameters tried = {block, digit_bits, cutoff, 0, NULL};
                const double started = timing_now();
                status = build_wehr_with(&tree, points, &tried, NULL);
                if (timing_now() - started >= minimum) continue;
                minimum = timing_now() - started;
                *best = tried;
            }
    pointtree_close(&tree);
    return status;
}

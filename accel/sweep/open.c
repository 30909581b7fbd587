/* Opening and closing a sweep: the rows of all triangles, or the memory of a separate branch. */
#include "accel/sweep/sweep.h"
#include "accel/tree/triangle.h"
#include "core/memory.h"
#include <string.h>

enum { PARTS_TRIANGLES = 16384, PARTS_MAX = 8 }; /* fewer triangles are one part */

static kd_status reserve(sweep *work, uint32_t count) {
    KD_TRY(KD_RESERVE_ZEROED(work->bins, 3));
    return tree_writer_open(&work->writer, 4 * (uint64_t)count, 4 * (uint64_t)count);
}

/* Work of filling the root's rows in parallel, one range of triangles per part. */
typedef struct opening {
    const tritree_input *input;
    sweep_rows rows;
    int parts;
    uint32_t count[PARTS_MAX];
} opening;

static uint32_t part_begin(const opening *opening, int i) {
    return (uint32_t)((uint64_t)opening->input->triangle_count * (uint64_t)i /
                      (uint64_t)opening->parts);
}

/* Stores the triangles of a range that can be hit, from the start of the range on. */
static void list_part(void *context, int i) {
    opening *arguments = (opening *)context;
    const uint32_t begin = part_begin(arguments, i), end = part_begin(arguments, i + 1);
    uint32_t to = begin;
    for (uint32_t id = begin; id < end; ++id) {
        const uint32_t *index = arguments->input->triangles + 3 * (uint64_t)id;
        const vec3 *at = arguments->input->positions;
        const vec3 a = at[index[0]], b = at[index[1]], c = at[index[2]];
        if (triangle_is_degenerate(a, b, c)) continue;
        const box3 box = triangle_box(a, b, c);
        arguments->rows.id[to] = id;
        for (int axis = 0; axis < 3; ++axis) {
            arguments->rows.lo[axis][to] = vec3_axis(box.lo, axis);
            arguments->rows.hi[axis][to] = vec3_axis(box.hi, axis);
        }
        ++to;
    }
    arguments->count[i] = to - begin;
}

static uint32_t list_all(sweep *work, const sweep_rows *rows) {
    opening opening = {.input = work->input, .rows = *rows, .parts = 1};
    if (work->pool && work->input->triangle_count >= PARTS_TRIANGLES)
        opening.parts = work->pool->threads < PARTS_MAX ? work->pool->threads : PARTS_MAX;
    task_each(work->pool, opening.parts, list_part, &opening);
    uint32_t count = 0;
    for (int i = 0; i < opening.parts; ++i) {
        const uint32_t begin = part_begin(&opening, i);
        if (count != begin) {
            const sweep_rows from = rows_from(rows, begin), to = rows_from(rows, count);
            memmove(to.id, from.id, opening.count[i] * sizeof *to.id);
            for (int axis = 0; axis < 3; ++axis) {
                memmove(to.lo[axis], from.lo[axis], opening.count[i] * sizeof *to.lo[axis]);
                memmove(to.hi[axis], from.hi[axis], opening.count[i] * sizeof *to.hi[axis]);
            }
        }
        count += opening.count[i];
    }
    return count;
}

kd_status sweep_open(sweep *out, sweep_node *root, box3 box, const tritree_input *input,
                     const tritree_options *options, task_pool *pool, job_control *job) {
    const uint32_t n = input->triangle_count;
    memset(out, 0, sizeof *out);
    memset(root, 0, sizeof *root);
    KD_REQUIRE(n < 1u << EVENT_ID_BITS, KD_ERROR_MEMORY,
               "the mesh has %u triangles; builder sweep supports fewer than 2^%d", n,
               EVENT_ID_BITS);
    out->input = input;
    out->job = job;
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
    out->job = from->job;
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
    small_node_close(work->small);
    work->small = NULL;
}

void sweep_close(sweep *owned) {
    sweep_close_rows(owned);
    tree_writer_close(&owned->writer);
    memset(owned, 0, sizeof *owned);
}

enum { ROWS = 7, SPARE = 2 * VECTOR8_LANES, PAGE = 1024 /* numbers */, APART = 144 };

static kd_status push_block(rows_stack *stack, uint64_t capacity) {
    rows_block *block = NULL;
    kd_status status = KD_OK;
    KD_TRY(KD_RESERVE_ZEROED(block, 1));
    block->capacity = capacity;
    /* Rows at the same offset within a page would compete for the same cache sets. */
    block->stride = (capacity + PAGE - 1) / PAGE * PAGE + APART;
    KD_TRY_GOTO(KD_RESERVE(block->numbers, ROWS * block->stride));
    large_pages_prefer(block->numbers, ROWS * block->stride * sizeof *block->numbers);
    block->below = stack->block;
    stack->block = block;
    stack->top = 0;
    return KD_OK;
done:
    memory_free(block);
    return status;
}

kd_status rows_push_first(rows_stack *stack, uint64_t count, uint64_t expected, sweep_rows *out) {
    const uint64_t taken = (count + SPARE + 15) / 16 * 16;
    if (!stack->block || stack->top + taken > stack->block->capacity)
        KD_TRY(push_block(stack, taken > expected ? taken : expected));
    const rows_block *block = stack->block;
    float *row[ROWS];
    for (int i = 0; i < ROWS; ++i)
        row[i] = block->numbers + (uint64_t)i * block->stride + stack->top;
    out->id = (uint32_t *)(void *)row[0];
    for (int axis = 0; axis < 3; ++axis) {
        out->lo[axis] = row[1 + axis];
        out->hi[axis] = row[4 + axis];
    }
    stack->top += taken;
    return KD_OK;
}

kd_status rows_push(rows_stack *stack, uint64_t count, sweep_rows *out) {
    return rows_push_first(stack, count, stack->block ? stack->block->capacity / 2 : 0, out);
}

void rows_release(rows_stack *stack, rows_stack before) {
    while (stack->block != before.block) {
        rows_block *block = stack->block;
        stack->block = block->below;
        memory_free(block->numbers);
        memory_free(block);
    }
    stack->top = before.top;
}

enum { RUN = 32, RADIX_MIN = 4096, PASSES = 3, DIGITS = 4096 };
static const int shifts[PASSES + 1] = {
    30, 41, 52, 64}; /* first bits of the digits, which cover position and type */

static uint32_t digit_of(sweep_event event, int pass) {
    const uint64_t key = (uint64_t)event ^ 0x8000000000000000u;
    return (uint32_t)(key >> shifts[pass]) & ((1u << (shifts[pass + 1] - shifts[pass])) - 1);
}

/* Stable radix sort, least significant digit first. Returns false if there is no memory for the
   histograms. */
static bool radix_sort(sweep_event *events, sweep_event *scratch, uint64_t count) {
    uint32_t(*begin)[DIGITS] = (uint32_t(*)[DIGITS])memory_try_allocate(PASSES * sizeof *begin);
    if (!begin) return false;
    memset(begin, 0, PASSES * sizeof *begin);
    for (uint64_t i = 0; i < count; ++i)
        for (int pass = 0; pass < PASSES; ++pass) ++begin[pass][digit_of(events[i], pass)];
    for (int pass = 0; pass < PASSES; ++pass) {
        uint32_t sum = 0;
        for (int digit = 0; digit < DIGITS; ++digit) {
            const uint32_t target = begin[pass][digit];
            begin[pass][digit] = sum;
            sum += target;
        }
        const sweep_event *from = pass % 2 ? scratch : events;
        sweep_event *to = pass % 2 ? events : scratch;
        for (uint64_t i = 0; i < count; ++i) to[begin[pass][digit_of(from[i], pass)]++] = from[i];
    }
    static_assert(PASSES % 2 == 1, "the last pass ends in scratch");
    memcpy(events, scratch, count * sizeof *events);
    memory_free(begin);
    return true;
}

/* Each event's position is the number of smaller ones; branch-free. */
static void rank_sort(sweep_event *to, const sweep_event *from, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
        const sweep_event event = from[i];
        int64_t before = 0;
        for (uint64_t k = 0; k < count; ++k) before += from[k] < event;
        to[before] = event;
    }
}

static void merge_runs(sweep_event *to, const sweep_event *a, uint64_t a_count,
                       const sweep_event *b, uint64_t b_count) {
    const sweep_event *a_end = a + a_count, *b_end = b + b_count;
    while (a < a_end && b < b_end) {
        const bool second = *b < *a;
        *to++ = second ? *b : *a;
        b += second;
        a += !second;
    }
    memcpy(to, a, (uint64_t)(a_end - a) * sizeof *to);
    memcpy(to + (a_end - a), b, (uint64_t)(b_end - b) * sizeof *to);
}

static uint64_t lesser(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

void sweep_events_sort(sweep_event *events, sweep_event *scratch, uint64_t count) {
    if (count >= RADIX_MIN && radix_sort(events, scratch, count)) return;
    for (uint64_t i = 0; i < count; i += RUN)
        rank_sort(scratch + i, events + i, lesser(RUN, count - i));
    sweep_event *from = scratch, *to = events;
    for (uint64_t run = RUN; run < count; run *= 2) {
        for (uint64_t i = 0; i < count; i += 2 * run) {
            const uint64_t first = lesser(run, count - i), second = lesser(run, count - i - first);
            merge_runs(to + i, from + i, first, from + i + first, second);
        }
        sweep_event *swap = from;
        from = to;
        to = swap;
    }
    if (from != events) memcpy(events, from, count * sizeof *events);
}

/* Beginning and end of a sweep: events of all triangles, or a subtree's copy of its lists. */
#include "accel/geometry/triangle.h"
#include "accel/sweep/sweep.h"
#include "core/memory.h"

enum { PARTS_TRIANGLES = 16384 }; /* fewer are one part */

/* Lists of halves, of their halves and so on, and what straddlers add; a longer one would have to
   be moved, while what is not used is not there. */
static uint64_t events_expected(uint32_t count) {
    return 6 * (uint64_t)count + count / 2 + 1024;
}

static kd_status reserve(sweep *work, uint32_t count) {
    const uint64_t events = events_expected(count);
    pthread_mutex_init(&work->moving, NULL);
    KD_TRY(KD_RESERVE(work->ids, count));
    KD_TRY(KD_RESERVE(work->sides, count));
    KD_TRY(KD_RESERVE(work->straddlers, count));
    for (int axis = 0; axis < 3; ++axis) {
        work->stack[axis].room = events;
        KD_TRY(KD_RESERVE(work->stack[axis].events, events));
        KD_TRY(sweep_blocks_open(&work->blocks[axis], 2 * (uint64_t)count));
    }
    return tree_writer_open(&work->writer, 4 * (uint64_t)count, 4 * (uint64_t)count);
}

/* The first lists, made in parts: each of a range of triangles. */
typedef struct opening {
    sweep *work;
    sweep_node *root;
    int parts;
    uint32_t ids[EVENT_PARTS_MOST];
    event_part part[3][EVENT_PARTS_MOST];
} opening;

static uint32_t part_begin(const opening *of, uint32_t count, int i) {
    return (uint32_t)((uint64_t)count * (uint64_t)i / (uint64_t)of->parts);
}

/* Those that can be hit, at the range's begin. */
static void choose_ids(void *context, int i) {
    opening *of = (opening *)context;
    const tritree_input *input = of->work->input;
    const uint32_t begin = part_begin(of, input->triangle_count, i);
    const uint32_t end = part_begin(of, input->triangle_count, i + 1);
    uint32_t *ids = of->work->ids + begin, count = 0;
    for (uint32_t id = begin; id < end; ++id) {
        const uint32_t *index = input->triangles + 3 * (uint64_t)id;
        if (!triangle_is_degenerate(input->positions[index[0]], input->positions[index[1]],
                                    input->positions[index[2]]))
            ids[count++] = id;
    }
    of->ids[i] = count;
}

static void list_part(void *context, int i) {
    opening *of = (opening *)context;
    const sweep *work = of->work;
    const tritree_input *input = work->input;
    const uint32_t begin = part_begin(of, work->id_count, i);
    const uint32_t end = part_begin(of, work->id_count, i + 1);
    sweep_event *events[3];
    for (int axis = 0; axis < 3; ++axis)
        of->part[axis][i].events = events[axis] =
            work->stack[axis].events + 2 * ((uint64_t)work->id_count + begin);
    for (uint32_t place = begin; place < end; ++place) {
        const uint32_t *index = input->triangles + 3 * (uint64_t)work->ids[place];
        const box3 box = triangle_box(input->positions[index[0]], input->positions[index[1]],
                                      input->positions[index[2]]);
        for (int axis = 0; axis < 3; ++axis)
            events[axis] += sweep_events_of(events[axis], box, axis, place);
    }
    for (int axis = 0; axis < 3; ++axis)
        of->part[axis][i].count = (uint64_t)(events[axis] - of->part[axis][i].events);
}

static void sort_axis(void *context, int axis) {
    opening *of = (opening *)context;
    sweep_event *events = of->work->stack[axis].events;
    of->root->list[axis].first = 0;
    of->root->list[axis].count =
        (uint32_t)sweep_events_sort_parts(events, events + 2 * (uint64_t)of->work->id_count,
                                          of->part[axis], of->parts, of->work->pool);
}

static void list_all(sweep *work, sweep_node *root) {
    const uint32_t n = work->input->triangle_count;
    opening of = {.work = work, .root = root, .parts = 1};
    if (work->pool && n >= PARTS_TRIANGLES)
        of.parts = work->pool->threads < EVENT_PARTS_MOST ? work->pool->threads : EVENT_PARTS_MOST;
    task_each(work->pool, of.parts, choose_ids, &of);
    for (int i = 0; i < of.parts; ++i) {
        uint32_t *to = work->ids + work->id_count, *from = work->ids + part_begin(&of, n, i);
        if (to != from) memmove(to, from, of.ids[i] * sizeof *to);
        work->id_count += of.ids[i];
    }
    task_each(work->pool, of.parts, list_part, &of);
    task_each(work->pool, 3, sort_axis, &of);
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
    list_all(out, root);
    root->count = out->id_count;
    return KD_OK;
}

/* Which places of a sweep are in a node, and how many are before each 64 of them. */
typedef struct place_set {
    uint64_t *bits;
    uint32_t *before;
} place_set;

static inline uint32_t rank_in(const place_set *set, uint32_t place) {
    const uint64_t below = ((uint64_t)1 << place % 64) - 1;
    return set->before[place / 64] + (uint32_t)__builtin_popcountll(set->bits[place / 64] & below);
}

static kd_status place_set_open(place_set *out, const sweep *from, const sweep_node *node) {
    const uint64_t words = (uint64_t)from->id_count / 64 + 1;
    const sweep_event *event = from->stack[0].events + node->list[0].first;
    KD_TRY(KD_RESERVE_ZEROED(out->bits, words));
    KD_TRY(KD_RESERVE(out->before, words));
    for (uint32_t i = 0; i < node->list[0].count; ++i) {
        const uint32_t place = sweep_event_id(event[i]);
        out->bits[place / 64] |= (uint64_t)1 << place % 64;
    }
    uint32_t count = 0;
    for (uint64_t word = 0; word < words; ++word) {
        out->before[word] = count;
        count += (uint32_t)__builtin_popcountll(out->bits[word]);
    }
    return KD_OK;
}

static void place_set_close(place_set *owned) {
    memory_free(owned->bits);
    memory_free(owned->before);
}

/* Places in the branch ascend as those in `from`. */
static void copy_lists(sweep *out, sweep_node *root, const sweep *from, const sweep_node *node,
                       const place_set *set) {
    const uint64_t words = (uint64_t)from->id_count / 64 + 1;
    for (uint64_t word = 0; word < words; ++word)
        for (uint64_t bits = set->bits[word]; bits; bits &= bits - 1)
            out->ids[out->id_count++] = from->ids[64 * word + (uint64_t)__builtin_ctzll(bits)];
    for (int axis = 0; axis < 3; ++axis) {
        const sweep_event *event = from->stack[axis].events + node->list[axis].first;
        sweep_event *to = out->stack[axis].events;
        root->list[axis].first = 0;
        for (uint32_t i = 0; i < node->list[axis].count; ++i) {
            const uint32_t place = sweep_event_id(event[i]);
            to[i] = (event[i] ^ place) | rank_in(set, place);
        }
    }
}

kd_status sweep_branch(sweep *out, sweep_node *root, sweep *from, const sweep_node *node) {
    place_set set = {NULL, NULL};
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    out->input = from->input;
    out->watched = from->watched;
    out->pool = from->pool;
    out->costs = from->costs;
    out->max_depth = from->max_depth;
    *root = *node;
    root->at = 0;
    KD_TRY(reserve(out, node->count));
    pthread_mutex_lock(&from->moving);
    KD_TRY_GOTO(place_set_open(&set, from, node));
    copy_lists(out, root, from, node, &set);
done:
    pthread_mutex_unlock(&from->moving);
    place_set_close(&set);
    return status;
}

/* Memory goes back to the system page by page: by axes, on all threads. */
static void free_axis(void *context, int axis) {
    sweep *work = (sweep *)context;
    memory_free(work->stack[axis].events);
    memory_free(work->scratch[axis]);
    memory_free(work->fresh[0][axis].events);
    memory_free(work->fresh[1][axis].events);
    work->stack[axis].events = work->scratch[axis] = NULL;
    work->fresh[0][axis].events = work->fresh[1][axis].events = NULL;
    sweep_blocks_close(&work->blocks[axis]);
}

void sweep_close_lists(sweep *work) {
    task_each(work->pool, 3, free_axis, work);
}

void sweep_close(sweep *owned) {
    for (int axis = 0; axis < 3; ++axis) free_axis(owned, axis);
    memory_free(owned->cuts);
    memory_free(owned->straddlers);
    memory_free(owned->sides);
    memory_free(owned->ids);
    tree_writer_close(&owned->writer);
    pthread_mutex_destroy(&owned->moving);
    memset(owned, 0, sizeof *owned);
}

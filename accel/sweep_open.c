/* Beginning and end of a sweep: events of all triangles, or a subtree's copy of its lists. */
#include "accel/sweep.h"
#include "core/memory.h"
#include "shaders/triangle.h"

static kd_status reserve(sweep *work, uint32_t count, uint64_t events) {
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

static void list_axis(sweep *work, sweep_node *root, int axis) {
    const tritree_input *input = work->input;
    sweep_event *events = work->stack[axis].events;
    uint32_t count = 0;
    for (uint32_t i = 0; i < work->id_count; ++i) {
        const uint32_t *index = input->triangles + 3 * (uint64_t)work->ids[i];
        const box3 box = triangle_box(input->positions[index[0]], input->positions[index[1]],
                                      input->positions[index[2]]);
        count += sweep_events_of(events + count, box, axis, i);
    }
    root->list[axis].first = 0;
    root->list[axis].count = count;
    sweep_events_sort(events, events + count, count);
}

kd_status sweep_open(sweep *out, sweep_node *root, box3 box, const tritree_input *input,
                     const tritree_options *options, bool tasks, const job *watched) {
    const uint32_t n = input->triangle_count;
    memset(out, 0, sizeof *out);
    memset(root, 0, sizeof *root);
    KD_REQUIRE(n < 1u << EVENT_ID_BITS, KD_ERROR_MEMORY, "%u triangles, expected less than 2^%d", n,
               EVENT_ID_BITS);
    out->input = input;
    out->watched = watched;
    out->tasks = tasks;
    out->costs.traversal = options->traversal_cost;
    out->costs.intersect = options->intersect_cost;
    out->costs.empty_factor = options->empty_factor;
    out->max_depth = tritree_depth_limit(options, n);
    KD_TRY(reserve(out, n, 6 * (uint64_t)n + 2));
    for (uint32_t id = 0; id < n; ++id) {
        const uint32_t *index = input->triangles + 3 * (uint64_t)id;
        if (!triangle_is_degenerate(input->positions[index[0]], input->positions[index[1]],
                                    input->positions[index[2]]))
            out->ids[out->id_count++] = id;
    }
    root->box = box;
    root->growth = 1;
    root->count = out->id_count;
#pragma omp taskgroup
    for (int axis = 0; axis < 3; ++axis) {
#pragma omp task firstprivate(axis)
        list_axis(out, root, axis);
    }
    return KD_OK;
}

kd_status sweep_branch(sweep *out, sweep_node *root, const sweep *from, const sweep_node *node) {
    memset(out, 0, sizeof *out);
    out->input = from->input;
    out->watched = from->watched;
    out->tasks = from->tasks;
    out->branch_least = from->branch_least;
    out->costs = from->costs;
    out->max_depth = from->max_depth;
    *root = *node;
    root->at = 0;
    KD_TRY(reserve(out, node->count, 6 * (uint64_t)node->count + 2));
    /* places in the branch, ascending as those in `from` */
    uint32_t *place = NULL;
    KD_TRY(KD_RESERVE_ZEROED(place, from->id_count));
    const sweep_event *event = from->stack[0].events + node->list[0].first;
    for (uint32_t i = 0; i < node->list[0].count; ++i) place[sweep_event_id(event[i])] = 1;
    for (uint32_t i = 0; i < from->id_count; ++i)
        if (place[i]) {
            out->ids[out->id_count] = from->ids[i];
            place[i] = out->id_count++;
        }
    for (int axis = 0; axis < 3; ++axis) {
        event = from->stack[axis].events + node->list[axis].first;
        root->list[axis].first = 0;
        for (uint32_t i = 0; i < node->list[axis].count; ++i)
            out->stack[axis].events[i] =
                (event[i] ^ sweep_event_id(event[i])) | place[sweep_event_id(event[i])];
    }
    memory_free(place);
    return KD_OK;
}

void sweep_close(sweep *owned) {
    for (int i = 0; i < 6; ++i) memory_free(owned->fresh[i / 3][i % 3].events);
    for (int axis = 0; axis < 3; ++axis) {
        memory_free(owned->stack[axis].events);
        memory_free(owned->scratch[axis]);
        sweep_blocks_close(&owned->blocks[axis]);
    }
    memory_free(owned->cuts);
    memory_free(owned->straddlers);
    memory_free(owned->sides);
    memory_free(owned->ids);
    tree_writer_close(&owned->writer);
    memset(owned, 0, sizeof *owned);
}

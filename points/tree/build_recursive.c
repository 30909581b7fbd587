/* The reference builder: the definition of the tree as a recursion on one core.
   Source: Wald 2022, "GPU-friendly, parallel, and (almost-)in-place construction of left-balanced
           k-d trees", section 2 (and 6 for the widest side).
   Idea: the left sub-tree of a left-balanced tree of n nodes has a known size m, so the root is the
         point with m points before it in the order (coordinate, id); recurse on both sides of it.
   Work: O(n log n) expected; selection falls back to sorting, so O(n log^2 n) in the worst case.
   Memory: 16 bytes per point.
   Invariants: no two items are equal, so a node's point does not depend on the selection
               algorithm. */
#include "core/memory.h"
#include "points/tree/build.h"

typedef struct item {
    double coordinate; /* on the axis of the current node */
    uint32_t id;
} item;

typedef struct recursion {
    const point_array *points;
    pointtree *out;
    item *items; /* the points of all sub-trees not built yet */
    job_control *job;
} recursion;

static uint64_t build_recursive_scratch_bytes(uint64_t count) {
    return count * sizeof(item);
}

static bool item_before(item a, item b) {
    return a.coordinate < b.coordinate || (a.coordinate == b.coordinate && a.id < b.id);
}

static void items_swap(item *a, item *b) {
    const item t = *a;
    *a = *b;
    *b = t;
}

static void items_sift(item *items, uint32_t count, uint32_t hole) {
    const item moved = items[hole];
    for (uint64_t child; (child = 2 * (uint64_t)hole + 1) < count; hole = (uint32_t)child) {
        if (child + 1 < count && item_before(items[child], items[child + 1])) ++child;
        if (!item_before(moved, items[child])) break;
        items[hole] = items[child];
    }
    items[hole] = moved;
}

static void items_heapsort(item *items, uint32_t count) {
    for (uint32_t i = count / 2; i-- > 0;) items_sift(items, count, i);
    while (count > 1) {
        items_swap(&items[0], &items[--count]);
        items_sift(items, count, 0);
    }
}

static item items_median(item a, item b, item c) {
    if (item_before(b, a)) items_swap(&a, &b);
    return item_before(c, a) ? a : item_before(b, c) ? b : c;
}

/* Partially sorts the items: items[rank] gets its sorted position, with smaller items before and
   larger ones after it. Hoare's selection; sorts the remaining range if it does not shrink fast
   enough. */
static void items_select(item *items, uint32_t count, uint32_t rank) {
    uint32_t begin = 0, end = count;
    for (uint32_t patience = 2 * pointtree_levels(count); end - begin > 1; --patience) {
        if (patience == 0) {
            items_heapsort(items + begin, end - begin);
            return;
        }
        const item pivot =
            items_median(items[begin], items[begin + (end - begin) / 2], items[end - 1]);
        uint32_t low = begin, high = end - 1;
        for (;; ++low, --high) {
            while (item_before(items[low], pivot)) ++low;
            while (item_before(pivot, items[high])) --high;
            if (low >= high) break;
            items_swap(&items[low], &items[high]);
        }
        /* Items up to `high` are at most the pivot, those from `low` on at least the pivot. The
           two indices have met at the pivot itself or passed each other. */
        if (low == high) {
            if (rank == low) return;
            --high;
            ++low;
        }
        if (rank < low)
            end = high + 1;
        else
            begin = low;
    }
}

static void build_node(recursion *work, uint32_t node, uint32_t begin, const point_box *domain) {
    pointtree *out = work->out;
    const uint32_t count = pointtree_subtree_size(node, out->count);
    if (count == 0 || job_cancelled(work->job)) return;
    uint32_t axis = pointtree_level_of(node) % out->dims;
    if (out->axes) {
        axis = point_box_widest(domain, out->dims, out->scalar);
        out->axes[node] = (uint8_t)axis;
    }
    item *items = work->items + begin;
    for (uint32_t i = 0; i < count; ++i)
        items[i].coordinate = point_array_coordinate(work->points, items[i].id, axis);
    const uint32_t left = pointtree_subtree_size(2 * node + 1, out->count);
    items_select(items, count, left);
    const item pivot = items[left];
    out->ids[node] = pivot.id;
    job_advance(work->job, 1);
    point_box child = *domain;
    point_box_clip(&child, axis, pivot.coordinate, false);
    build_node(work, 2 * node + 1, begin, &child);
    child = *domain;
    point_box_clip(&child, axis, pivot.coordinate, true);
    build_node(work, 2 * node + 2, begin + left + 1, &child);
}

static kd_status build_recursive(pointtree *out, const point_array *points, job_control *job) {
    recursion work = {points, out, NULL, job};
    KD_TRY(KD_RESERVE(work.items, points->count));
    for (uint32_t i = 0; i < out->count; ++i) work.items[i].id = i;
    build_node(&work, 0, 0, &out->box);
    memory_free(work.items);
    KD_REQUIRE(!job_cancelled(job), KD_INTERRUPTED, "building the point tree was cancelled");
    pointtree_gather(out, points);
    return KD_OK;
}

const pointtree_builder pointtree_builder_recursive = {
    .name = "recursive",
    .source = "the definition, serial; reference of all builders",
    .scratch_bytes = build_recursive_scratch_bytes,
    .build = build_recursive,
    .order = POINTTREE_BY_COORDINATE};

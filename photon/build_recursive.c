/* The oracle: the definition of the tree, written down as a recursion on one core.
   Source: Wald 2022, "GPU-friendly, parallel, and (almost-)in-place construction of left-balanced
           k-d trees", section 2 (and 6 for the widest side).
   Idea: a left-balanced tree of n nodes has a left sub-tree of known size m, so the root is the
         point with m before it in the order (coordinate, id); recurse on both sides of it.
   Work: O(n log n) expected; selection falls back to sorting, so O(n log^2 n) at worst.
   Memory: 16 bytes a point.
   Invariants: keys are unique, so the point of each node does not depend on how it is selected. */
#include "core/memory.h"
#include "photon/builders.h"

typedef struct recursion {
    const vec3 *points;
    pointtree *out;
    uint32_t *items; /* the points of the sub-trees that are not built yet, by id */
    uint64_t *keys;  /* of items, on the axis of the sub-tree at hand */
    job *watched;
} recursion;

uint64_t build_recursive_scratch_bytes(uint64_t count) {
    return count * (sizeof(uint32_t) + sizeof(uint64_t));
}

static void keys_swap(uint64_t *a, uint64_t *b) {
    const uint64_t t = *a;
    *a = *b;
    *b = t;
}

static void keys_sift(uint64_t *keys, uint32_t count, uint32_t hole) {
    const uint64_t key = keys[hole];
    for (uint64_t child; (child = 2 * (uint64_t)hole + 1) < count; hole = (uint32_t)child) {
        if (child + 1 < count && keys[child] < keys[child + 1]) ++child;
        if (keys[child] <= key) break;
        keys[hole] = keys[child];
    }
    keys[hole] = key;
}

static void keys_heapsort(uint64_t *keys, uint32_t count) {
    for (uint32_t i = count / 2; i-- > 0;) keys_sift(keys, count, i);
    while (count > 1) {
        keys_swap(&keys[0], &keys[--count]);
        keys_sift(keys, count, 0);
    }
}

static uint64_t keys_median(uint64_t a, uint64_t b, uint64_t c) {
    if (a > b) keys_swap(&a, &b);
    return c < a ? a : c > b ? b : c;
}

/* Afterwards keys[rank] is in its sorted place, smaller ones before and larger ones behind it.
   Hoare's selection; when the range does not shrink as it should, the rest is sorted. */
static void keys_select(uint64_t *keys, uint32_t count, uint32_t rank) {
    uint32_t begin = 0, end = count;
    for (uint32_t patience = 2 * pointtree_levels(count); end - begin > 1; --patience) {
        if (patience == 0) {
            keys_heapsort(keys + begin, end - begin);
            return;
        }
        const uint64_t pivot =
            keys_median(keys[begin], keys[begin + (end - begin) / 2], keys[end - 1]);
        uint32_t low = begin, high = end - 1;
        for (;; ++low, --high) {
            while (keys[low] < pivot) ++low;
            while (keys[high] > pivot) --high;
            if (low >= high) break;
            keys_swap(&keys[low], &keys[high]);
        }
        /* what is up to `high` is at most the pivot, what is from `low` on at least the pivot;
           they meet at the pivot itself if nothing was swapped last */
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

static void build_node(recursion *work, uint32_t node, uint32_t begin, box3 domain) {
    pointtree *out = work->out;
    const uint32_t count = pointtree_subtree_size(node, out->count);
    if (count == 0) return;
    int axis = (int)(pointtree_level_of(node) % 3);
    if (out->axes) {
        axis = box3_longest_axis(domain);
        out->axes[node] = (uint8_t)axis;
    }
    uint32_t *items = work->items + begin;
    uint64_t *keys = work->keys + begin;
    for (uint32_t i = 0; i < count; ++i)
        keys[i] = pointtree_key(vec3_axis(work->points[items[i]], axis), items[i]);
    const uint32_t left = pointtree_subtree_size(2 * node + 1, out->count);
    keys_select(keys, count, left);
    for (uint32_t i = 0; i < count; ++i) items[i] = (uint32_t)keys[i];
    out->ids[node] = items[left];
    out->points[node] = work->points[items[left]];
    const float plane = vec3_axis(out->points[node], axis);
    job_advance(work->watched, 1);
    build_node(work, 2 * node + 1, begin, pointtree_child_domain(domain, axis, plane, false));
    build_node(work, 2 * node + 2, begin + left + 1,
               pointtree_child_domain(domain, axis, plane, true));
}

kd_status build_recursive(pointtree *out, const vec3 *points, uint32_t count,
                          const pointtree_options *options, job *watched) {
    (void)options;
    kd_status status = KD_OK;
    recursion work;
    memset(&work, 0, sizeof work);
    work.points = points;
    work.out = out;
    work.watched = watched;
    KD_TRY_GOTO(KD_RESERVE(work.items, count));
    KD_TRY_GOTO(KD_RESERVE(work.keys, count));
    for (uint32_t i = 0; i < count; ++i) work.items[i] = i;
    build_node(&work, 0, 0, out->box);
done:
    memory_free(work.items);
    memory_free(work.keys);
    return status;
}

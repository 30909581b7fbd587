/* Operations on a share in host memory.
   Work: one pass over the points for every round of counting, two to divide them. */
#include "distributed/points/share.h"
#include "core/device/device_memory.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "distributed/ranks/ranks.h"
#include "points/tree/bounds.h"
#include <string.h>

enum { SLICES = 16 /* slices of a share, each with its own bins */ };

static uint64_t slice_begin(uint64_t count, uint64_t slice) {
    return count / SLICES * slice + (count % SLICES * slice) / SLICES;
}

/* --- counting ------------------------------------------------------------------------------- */

typedef struct count_work {
    const point_share *share;
    const top_node *nodes;
    const uint32_t *slots;
    const top_bracket *brackets;
    uint64_t bins; /* bins of all brackets */
    uint64_t *of_slices;
} count_work;

static void count_slices(void *context, int64_t begin, int64_t end, int thread) {
    const count_work *work = (const count_work *)context;
    const point_array *points = &work->share->points;
    (void)thread;
    for (int64_t slice = begin; slice < end; ++slice) {
        uint64_t *bins = work->of_slices + (uint64_t)slice * work->bins;
        const uint64_t last = slice_begin(points->count, (uint64_t)slice + 1);
        for (uint64_t i = slice_begin(points->count, (uint64_t)slice); i < last; ++i) {
            const void *point = point_array_at(points, i);
            const uint64_t number = work->share->first + i;
            const uint32_t slot =
                work->slots[top_descend(work->nodes, point, points->scalar, number)];
            if (slot == UINT32_MAX) continue;
            const uint32_t bin = top_bin(&work->brackets[slot], point, points->scalar, number);
            if (bin < TOP_BINS) ++bins[(uint64_t)slot * TOP_BINS + bin];
        }
    }
}

kd_status share_count(const point_share *share, const top_node *nodes, uint32_t node_count,
                      const uint32_t *slots, const top_bracket *brackets, uint32_t bracket_count,
                      int64_t *bins) {
    if (share->on_device)
        return share_device_count(share, nodes, node_count, slots, brackets, bracket_count, bins);
    count_work work = {share, nodes, slots, brackets, (uint64_t)bracket_count * TOP_BINS, NULL};
    KD_TRY(KD_RESERVE_ZEROED(work.of_slices, work.bins * SLICES));
    parallel_for(SLICES, 1, count_slices, &work);
    for (uint64_t b = 0; b < work.bins; ++b) {
        uint64_t sum = 0;
        for (uint64_t slice = 0; slice < SLICES; ++slice)
            sum += work.of_slices[slice * work.bins + b];
        bins[b] = (int64_t)sum;
    }
    memory_free(work.of_slices);
    return KD_OK;
}

kd_status share_scan(point_box *box, const point_share *share) {
    return share->on_device ? share_device_scan(box, &share->points)
                            : point_scan(box, &share->points);
}

/* --- dividing ------------------------------------------------------------------------------- */

typedef struct divide_work {
    const point_share *share;
    const top_node *nodes;
    share_split *out;
    uint32_t parts;
    uint32_t *targets; /* part of each point */
    /* per slice and part a count, later the next write position */
    uint64_t *of_slices;
} divide_work;

static void target_slices(void *context, int64_t begin, int64_t end, int thread) {
    const divide_work *work = (const divide_work *)context;
    const point_array *points = &work->share->points;
    (void)thread;
    for (int64_t slice = begin; slice < end; ++slice) {
        uint64_t *counts = work->of_slices + (uint64_t)slice * work->parts;
        const uint64_t last = slice_begin(points->count, (uint64_t)slice + 1);
        for (uint64_t i = slice_begin(points->count, (uint64_t)slice); i < last; ++i) {
            const uint32_t node = top_descend(work->nodes, point_array_at(points, i),
                                              points->scalar, work->share->first + i);
            ++counts[work->targets[i] = work->nodes[node].first];
        }
    }
}

static void move_slices(void *context, int64_t begin, int64_t end, int thread) {
    const divide_work *work = (const divide_work *)context;
    const point_array *points = &work->share->points;
    const uint64_t bytes = points->dims * point_scalar_bytes(points->scalar);
    (void)thread;
    for (int64_t slice = begin; slice < end; ++slice) {
        uint64_t *to = work->of_slices + (uint64_t)slice * work->parts;
        const uint64_t last = slice_begin(points->count, (uint64_t)slice + 1);
        for (uint64_t i = slice_begin(points->count, (uint64_t)slice); i < last; ++i) {
            const uint64_t at = to[work->targets[i]]++, number = work->share->first + i;
            memcpy((char *)work->out->coordinates + at * bytes, point_array_at(points, i), bytes);
            if (work->share->wide)
                ((uint64_t *)work->out->numbers)[at] = number;
            else
                ((uint32_t *)work->out->numbers)[at] = (uint32_t)number;
        }
    }
}

/* Converts counts to positions: ordered by part, and by slice within each part. */
static void place_slices(const divide_work *work) {
    uint64_t at = 0;
    for (uint32_t part = 0; part < work->parts; ++part) {
        work->out->begins[part] = at;
        for (uint64_t slice = 0; slice < SLICES; ++slice) {
            uint64_t *place = &work->of_slices[slice * work->parts + part];
            const uint64_t count = *place;
            *place = at;
            at += count;
        }
    }
    work->out->begins[work->parts] = at;
}

kd_status share_divide(share_split *out, const point_share *share, const top_node *nodes,
                       uint32_t parts) {
    const uint64_t count = share->points.count;
    kd_status status = KD_OK;
    divide_work work = {share, nodes, out, parts, NULL, NULL};
    memset(out, 0, sizeof *out);
    if (share->on_device) {
        KD_TRY(share_device_divide(out, share, nodes, 2 * parts - 1, parts));
        out->on_device = true;
        return KD_OK;
    }
    KD_TRY_GOTO(KD_RESERVE(out->begins, parts + 1ull));
    KD_TRY_GOTO(memory_reserve(&out->coordinates, count * share->points.dims,
                               point_scalar_bytes(share->points.scalar)));
    KD_TRY_GOTO(memory_reserve(&out->numbers, count, share_number_bytes(share->wide)));
    KD_TRY_GOTO(KD_RESERVE(work.targets, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(work.of_slices, (uint64_t)SLICES * parts));
    parallel_for(SLICES, 1, target_slices, &work);
    place_slices(&work);
    parallel_for(SLICES, 1, move_slices, &work);
done:
    memory_free(work.targets);
    memory_free(work.of_slices);
    if (status != KD_OK) share_split_close(out);
    return status;
}

void share_split_close(share_split *owned) {
    (owned->on_device ? device_memory_free : memory_free)(owned->coordinates);
    (owned->on_device ? device_memory_free : memory_free)(owned->numbers);
    memory_free(owned->begins);
    memset(owned, 0, sizeof *owned);
}

/* Collective selection of the planes.
   Source: Floyd and Rivest 1975, "Expected time bounds for selection": a bracket around the wanted
           rank, in which elements are counted; here by the digits of keys, as in a
           most-significant-digit radix sort.
   Idea: for every node of a level each rank counts its points in 2048 bins of the bracket; the sums
         over all ranks show which bin contains the plane, and that bin is the next bracket. When a
         single key is left that several points have, the search continues on their numbers.
   Work: two or three passes over the points for each level, six for doubles; never a sort. A round
         exchanges 16 KB per node, independently of the number of points.
   Invariants: all ranks obtain the same sums and so select the same planes. */

typedef struct selecting {
    ranks *comm;
    const point_share *share;
    top_node *nodes;
    point_box *boxes; /* region of each node */
    uint64_t *counts; /* number of points of each node */
    /* for each bracket: number of points in it before the plane */
    uint64_t *wanted;
    uint32_t *slots; /* bracket of each node */
    top_bracket *brackets;
    int64_t *bins;
    uint32_t node_count, bracket_count;
    uint64_t first_number, last_number;
} selecting;

static void bracket_fit(top_bracket *bracket) {
    const uint64_t range = bracket->hi - bracket->lo;
    const uint32_t bits = range ? 64u - (uint32_t)__builtin_clzll(range) : 0;
    bracket->shift = bits > TOP_BITS ? bits - TOP_BITS : 0;
}

static uint64_t key_of(const selecting *selection, double coordinate) {
    const float narrow = (float)coordinate;
    const point_scalar scalar = selection->share->points.scalar;
    return scalar == POINT_DOUBLE ? top_key(&coordinate, scalar, 0) : top_key(&narrow, scalar, 0);
}

static double coordinate_of(const selecting *selection, uint64_t key) {
    double coordinate;
    if (selection->share->points.scalar == POINT_FLOAT)
        return (double)pointtree_float_of_order_bits((uint32_t)key);
    const uint64_t bits = key >> 63 ? key & ~(1ull << 63) : ~key;
    memcpy(&coordinate, &bits, sizeof coordinate);
    return coordinate;
}

/* Starts the search for the plane of a node with several parts. */
static void begin_node(selecting *selection, uint32_t at) {
    top_node *node = &selection->nodes[at];
    const point_array *points = &selection->share->points;
    const uint32_t parts = node->last - node->first, half = (parts + 1) / 2;
    node->axis = point_box_widest(&selection->boxes[at], points->dims, points->scalar);
    top_bracket *bracket = &selection->brackets[selection->bracket_count];
    memset(bracket, 0, sizeof *bracket);
    bracket->node = at;
    bracket->axis = node->axis;
    /* as balanced as possible, without a product that may overflow */
    const uint64_t count = selection->counts[at];
    selection->wanted[selection->bracket_count] =
        count / parts * half + count % parts * half / parts;
    if (count) {
        bracket->lo = key_of(selection, selection->boxes[at].lo[node->axis]);
        bracket->hi = key_of(selection, selection->boxes[at].hi[node->axis]);
    }
    bracket_fit(bracket);
    selection->slots[at] = selection->bracket_count++;
}

/* Stores the plane of a node and creates its children. */
static void end_node(selecting *selection, const top_bracket *bracket, uint64_t key,
                     uint64_t number) {
    const uint32_t at = bracket->node, left = selection->node_count;
    top_node *node = &selection->nodes[at];
    const uint32_t parts = node->last - node->first, half = (parts + 1) / 2;
    const uint64_t count = selection->counts[at];
    const uint64_t before = count / parts * half + count % parts * half / parts;
    node->key = key;
    node->number = number;
    selection->node_count += 2;
    memset(&selection->nodes[left], 0, 2 * sizeof *selection->nodes);
    selection->nodes[left].first = node->first;
    selection->nodes[left].last = selection->nodes[left + 1].first = node->first + half;
    selection->nodes[left + 1].last = node->last;
    for (uint32_t side = 0; side < 2; ++side) {
        selection->counts[left + side] = side ? count - before : before;
        selection->boxes[left + side] = selection->boxes[at];
        selection->slots[left + side] = UINT32_MAX;
        if (count)
            point_box_clip(&selection->boxes[left + side], node->axis,
                           coordinate_of(selection, key), side != 0);
    }
    selection->slots[at] = UINT32_MAX;
    node->left = left;
}

/* Narrows a bracket to the bin with the wanted rank; returns true if the plane is known. */
static bool narrow(selecting *selection, uint32_t b, uint64_t *number) {
    top_bracket *bracket = &selection->brackets[b];
    const int64_t *bins = selection->bins + (uint64_t)b * TOP_BINS;
    uint32_t bin = 0;
    while (bin + 1 < TOP_BINS && selection->wanted[b] >= (uint64_t)bins[bin])
        selection->wanted[b] -= (uint64_t)bins[bin++];
    bracket->lo += (uint64_t)bin << bracket->shift;
    const uint64_t last = bracket->lo + ((1ull << bracket->shift) - 1);
    if (last < bracket->hi) bracket->hi = last;
    bracket_fit(bracket);
    *number = bracket->by_number ? bracket->lo : selection->first_number;
    if (bracket->lo != bracket->hi) return false;
    if (bracket->by_number) return true;
    bracket->key = bracket->lo;
    if (selection->wanted[b] == 0) return true; /* no point with this key is left of the plane */
    bracket->by_number = true;
    bracket->lo = selection->first_number;
    bracket->hi = selection->last_number;
    bracket_fit(bracket);
    return false;
}

/* Converts finished brackets to nodes; keeps the others in their order. */
static void keep_open(selecting *selection) {
    uint32_t kept = 0;
    for (uint32_t b = 0; b < selection->bracket_count; ++b) {
        uint64_t number = 0;
        const bool empty = selection->counts[selection->brackets[b].node] == 0;
        if (empty || narrow(selection, b, &number)) {
            end_node(selection, &selection->brackets[b], empty ? 0 : selection->brackets[b].key,
                     number);
            continue;
        }
        selection->brackets[kept] = selection->brackets[b];
        selection->wanted[kept] = selection->wanted[b];
        selection->slots[selection->brackets[kept].node] = kept;
        ++kept;
    }
    selection->bracket_count = kept;
}

static kd_status select_level(selecting *selection, uint32_t begin, uint32_t end) {
    selection->bracket_count = 0;
    for (uint32_t at = begin; at < end; ++at)
        if (selection->nodes[at].last - selection->nodes[at].first > 1) begin_node(selection, at);
    while (selection->bracket_count) {
        KD_TRY(ranks_agree(selection->comm,
                           share_count(selection->share, selection->nodes, selection->node_count,
                                       selection->slots, selection->brackets,
                                       selection->bracket_count, selection->bins)));
        KD_TRY(ranks_all_sum(selection->comm, selection->bins,
                             (uint64_t)selection->bracket_count * TOP_BINS));
        keep_open(selection);
    }
    return KD_OK;
}

static kd_status reserve(selecting *selection, uint32_t parts) {
    const uint64_t maximum = top_nodes(parts);
    KD_TRY(KD_RESERVE(selection->boxes, maximum));
    KD_TRY(KD_RESERVE_ZEROED(selection->counts, maximum));
    KD_TRY(KD_RESERVE_ZEROED(selection->wanted, parts));
    KD_TRY(KD_RESERVE(selection->slots, maximum));
    KD_TRY(KD_RESERVE(selection->brackets, parts));
    return KD_RESERVE(selection->bins, (uint64_t)parts * TOP_BINS);
}

kd_status top_select(top_node *nodes, ranks *comm, const point_share *share, const point_box *box,
                     uint64_t count, uint64_t first_number, uint32_t parts) {
    kd_status status = KD_OK;
    selecting selection = {.comm = comm, .share = share, .nodes = nodes, .node_count = 1};
    const uint64_t maximum = top_nodes(parts);
    selection.first_number = first_number;
    selection.last_number = first_number + (count ? count - 1 : 0);
    KD_TRY_GOTO(ranks_agree(comm, reserve(&selection, parts)));
    memset(nodes, 0, maximum * sizeof *nodes);
    memset(selection.slots, 0xff, maximum * sizeof *selection.slots);
    nodes[0].last = parts;
    selection.boxes[0] = *box;
    selection.counts[0] = count;
    for (uint32_t begin = 0; begin < selection.node_count;) {
        const uint32_t end = selection.node_count;
        KD_TRY_GOTO(select_level(&selection, begin, end));
        begin = end;
    }
done:
    memory_free(selection.boxes);
    memory_free(selection.counts);
    memory_free(selection.wanted);
    memory_free(selection.slots);
    memory_free(selection.brackets);
    memory_free(selection.bins);
    return status;
}

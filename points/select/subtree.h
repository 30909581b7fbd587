/* The steps of build_select.c for sub-trees, and for the top of the tree on all cores. */
#ifndef KD_POINTS_SELECT_SUBTREE_H
#define KD_POINTS_SELECT_SUBTREE_H

/* Stores a record, whose fields have the distance `stride`, as a node; the point is restored from
   its keys if these represent it exactly. */
COLUMN_FN void record_put(uint32_t dims, const select_work *work, const int32_t *r, uint64_t stride,
                          uint32_t node) {
    pointtree *out = work->out;
    const uint32_t id = (uint32_t)r[dims * stride];
    out->ids[node] = id;
    if (out->scalar == POINT_FLOAT) {
        float *to = (float *)out->coordinates + (uint64_t)node * dims;
        for (uint32_t axis = 0; axis < dims; ++axis) {
            const int32_t key = r[axis * stride];
            to[axis] = key == 0 /* +0 or -0 */
                           ? work->keys.floats[(uint64_t)id * dims + axis]
                           : select_float(key);
        }
    } else {
        const uint64_t bytes = dims * sizeof(double);
        memcpy((char *)out->coordinates + node * bytes,
               (const char *)work->points->coordinates + id * bytes, bytes);
    }
}

/* Selects the record of `rank` in `from`, copies it to its position in `to`, which serves as
   scratch before, and replaces it in `from` by the last record. *differ is set if keys equal to the
   pivot's belong to different coordinates. */
COLUMN_FN column_pivot pivot_take(uint32_t dims, const select_work *work, int32_t *from,
                                  int32_t *to, uint32_t count, uint32_t rank, uint32_t axis,
                                  bool *differ) {
    const uint64_t stride = work->stride;
    const int32_t *keys = from + axis * stride, *ids = from + dims * stride;
    int32_t *scratch[3] = {to, to + stride, to + 2 * stride};
    *differ = false;
    const column_pivot pivot =
        work->places.rough[axis]
            ? point_places_select(&work->places, keys, ids, count, rank, axis, scratch, differ)
            : column_pivot_select(keys, ids, count, rank, scratch);
    const uint32_t at = column_find(keys, ids, count, pivot);
    for (uint32_t c = 0; c < dims + 1; ++c) {
        to[c * stride + rank] = from[c * stride + at];
        from[c * stride + at] = from[c * stride + count - 1];
    }
    return pivot;
}

/* Partitions `from` around the record of `rank` into `to`; `from` is overwritten. */
COLUMN_FN void records_split(uint32_t dims, const select_work *work, int32_t *from, int32_t *to,
                             uint32_t count, uint32_t rank, uint32_t axis) {
    bool differ;
    const column_pivot pivot = pivot_take(dims, work, from, to, count, rank, axis, &differ);
    const columns_source source = {from, work->stride, count - 1, axis};
    const columns_target target = {to, 0, rank, rank + 1, count};
    if (differ)
        point_places_partition(&work->places, source, target, pivot, dims + 1);
    else
        columns_partition(source, target, pivot, dims + 1);
}

/* Splits a node's range, which is then in the other buffer; returns the axis. */
COLUMN_FN uint32_t node_split(uint32_t dims, select_work *work, select_range *range, uint32_t count,
                              uint32_t left, const double *lo, const double *hi) {
    const uint32_t axis = select_axis(work->out, range->node, lo, hi);
    int32_t *from = work->columns[range->flipped] + range->begin;
    int32_t *to = work->columns[!range->flipped] + range->begin;
    if (count > 1)
        records_split(dims, work, from, to, count, left, axis);
    else
        to = from;
    record_put(dims, work, to + left, work->stride, range->node);
    range->flipped = !range->flipped;
    return axis;
}

/* --- eight sub-trees of seven points at once, one per lane ---------------------------------- */

/* One point of each sub-tree: its key along the lane's axis, and its fields. */
typedef struct block_row {
    int32x8 key, field[COLUMNS_MAX];
} block_row;

/* The regions of the sub-trees: boxes clipped by their ancestors. */
typedef struct block_boxes {
    float64x8 lo[POINT_DIMS_MAX], hi[POINT_DIMS_MAX];
} block_boxes;

COLUMN_FN void boxes_copy(uint32_t dims, block_boxes *to, const block_boxes *from) {
    for (uint32_t axis = 0; axis < dims; ++axis) {
        to->lo[axis] = from->lo[axis];
        to->hi[axis] = from->hi[axis];
    }
}

/* Exchanges records so that the lesser one of each lane is in `a`; `places`: how to compare records
   with equal keys, or NULL. */
COLUMN_FN void block_exchange(uint32_t dims, const point_places *places, const int32x8 *axes,
                              block_row *a, block_row *b) {
    const int32x8 equal = a->key == b->key;
    int32x8 wrong = (a->key > b->key) | (equal & (a->field[dims] > b->field[dims]));
    if (__builtin_expect(places != NULL, 0) && !int32x8_none(equal))
        point_places_compare(places, &equal, &wrong, &a->field[dims], &b->field[dims], axes);
    const int32x8 key = (a->key ^ b->key) & wrong;
    a->key ^= key;
    b->key ^= key;
    for (uint32_t c = 0; c < dims + 1; ++c) {
        const int32x8 field = (a->field[c] ^ b->field[c]) & wrong;
        a->field[c] ^= field;
        b->field[c] ^= field;
    }
}

/* As select_axis, in each lane. */
COLUMN_FN int32x8 block_axes(uint32_t dims, const pointtree *out, const block_boxes *boxes,
                             uint32_t level) {
    if (!out->axes) return int32x8_all((int32_t)(level % dims));
    int32x8 widest = int32x8_all(0);
    float64x8 maximum = boxes->hi[0] - boxes->lo[0];
    if (out->scalar == POINT_FLOAT) {
        float32x8 rounded = __builtin_convertvector(maximum, float32x8);
        for (uint32_t axis = 1; axis < dims; ++axis) {
            const float32x8 size =
                __builtin_convertvector(boxes->hi[axis] - boxes->lo[axis], float32x8);
            const int32x8 wider = size > rounded;
            rounded = (float32x8)int32x8_select(wider, (int32x8)size, (int32x8)rounded);
            widest = int32x8_select(wider, int32x8_all((int32_t)axis), widest);
        }
        return widest;
    }
    for (uint32_t axis = 1; axis < dims; ++axis) {
        const float64x8 size = boxes->hi[axis] - boxes->lo[axis];
        const int64x8 wider = size > maximum;
        maximum = (float64x8)((wider & (int64x8)size) | (~wider & (int64x8)maximum));
        widest = int32x8_select(__builtin_convertvector(wider, int32x8), int32x8_all((int32_t)axis),
                                widest);
    }
    return widest;
}

COLUMN_FN void block_keys(uint32_t dims, block_row *rows, uint32_t count, int32x8 axes) {
    for (uint32_t i = 0; i < count; ++i) {
        rows[i].key = rows[i].field[0];
        for (uint32_t c = 1; c < dims; ++c)
            rows[i].key =
                int32x8_select(axes == int32x8_all((int32_t)c), rows[i].field[c], rows[i].key);
    }
}

/* Clips the boxes to one side of the planes through the points of `row`. */
COLUMN_FN void block_clip(uint32_t dims, const select_work *work, block_boxes *boxes,
                          const block_row *row, int32x8 axes, bool right) {
    float64x8 plane;
    if (!work->out->axes) return;
    if (work->out->scalar == POINT_FLOAT)
        plane = __builtin_convertvector(float32x8_of_keys(row->key), float64x8);
    else
        for (uint32_t lane = 0; lane < COLUMN_LANES; ++lane)
            plane[lane] = point_array_coordinate(work->points, (uint32_t)row->field[dims][lane],
                                                 (uint32_t)axes[lane]);
    for (uint32_t axis = 0; axis < dims; ++axis) {
        const int64x8 on_axis =
            __builtin_convertvector(axes == int32x8_all((int32_t)axis), int64x8);
        float64x8 *side = right ? &boxes->lo[axis] : &boxes->hi[axis];
        *side = (float64x8)((on_axis & (int64x8)plane) | (~on_axis & (int64x8)*side));
    }
}

/* Stores the points of `row` as nodes first, first + step, ... */
COLUMN_FN void block_put(uint32_t dims, const select_work *work, const block_row *row, int32x8 axes,
                         uint32_t first, uint32_t step) {
    pointtree *out = work->out;
    int32x8 zero = row->field[0] == int32x8_all(0);
    for (uint32_t axis = 1; axis < dims; ++axis) zero |= row->field[axis] == int32x8_all(0);
    if (out->scalar == POINT_FLOAT && int32x8_none(zero)) {
        float x[POINT_DIMS_MAX][COLUMN_LANES];
        for (uint32_t axis = 0; axis < dims; ++axis) {
            const float32x8 lanes = float32x8_of_keys(row->field[axis]);
            memcpy(x[axis], &lanes, sizeof lanes);
        }
        float *to = (float *)out->coordinates + (uint64_t)first * dims;
        for (uint32_t lane = 0; lane < COLUMN_LANES; ++lane, to += step * dims)
            for (uint32_t axis = 0; axis < dims; ++axis) to[axis] = x[axis][lane];
        for (uint32_t lane = 0; lane < COLUMN_LANES; ++lane)
            out->ids[first + lane * step] = (uint32_t)row->field[dims][lane];
    } else {
        int32_t fields[COLUMNS_MAX][COLUMN_LANES];
        memcpy(fields, row->field, (dims + 1) * sizeof *fields);
        for (uint32_t lane = 0; lane < COLUMN_LANES; ++lane)
            record_put(dims, work, &fields[0][lane], COLUMN_LANES, first + lane * step);
    }
    if (!out->axes) return;
    for (uint32_t lane = 0; lane < COLUMN_LANES; ++lane)
        out->axes[first + lane * step] = (uint8_t)axes[lane];
}

COLUMN_FN void block_load(uint32_t dims, block_row rows[SELECT_BOTTOM], const int32_t *from,
                          uint64_t stride) {
    for (uint32_t c = 0; c < dims + 1; ++c) {
        int32x8 lanes[COLUMN_LANES];
        int32x8_transpose(lanes, from + c * stride);
        for (uint32_t i = 0; i < SELECT_BOTTOM; ++i) rows[i].field[c] = lanes[i];
    }
}

/* Builds eight sub-trees, that of lane i from the seven records at from + 8 i and with its root at
   node first + i, by networks that find the median of seven, and then of three. */
COLUMN_FN void block_build(uint32_t dims, const select_work *work, const point_places *places,
                           const block_boxes *boxes, const int32_t *from, uint32_t first) {
    static const uint8_t median_of_seven[][2] = {{0, 5}, {2, 6}, {1, 5}, {2, 3}, {0, 6},
                                                 {5, 6}, {0, 2}, {1, 3}, {1, 2}, {2, 4},
                                                 {3, 4}, {3, 5}, {2, 3}};
    const uint32_t level = pointtree_level_of(first);
    block_row rows[SELECT_BOTTOM];
    block_load(dims, rows, from, work->stride);
    const int32x8 axes = block_axes(dims, work->out, boxes, level);
    block_keys(dims, rows, SELECT_BOTTOM, axes);
#pragma GCC unroll 16
    for (uint32_t i = 0; i < sizeof median_of_seven / sizeof *median_of_seven; ++i)
        block_exchange(dims, places, &axes, &rows[median_of_seven[i][0]],
                       &rows[median_of_seven[i][1]]);
    block_put(dims, work, &rows[3], axes, first, 1);
    for (uint32_t right = 0; right < 2; ++right) {
        const uint32_t child = 2 * first + 1 + right;
        block_row *three = rows + (right ? 4 : 0);
        block_boxes half;
        boxes_copy(dims, &half, boxes);
        block_clip(dims, work, &half, &rows[3], axes, right);
        const int32x8 child_axes = block_axes(dims, work->out, &half, level + 1);
        block_keys(dims, three, 3, child_axes);
        block_exchange(dims, places, &child_axes, &three[0], &three[2]);
        block_exchange(dims, places, &child_axes, &three[0], &three[1]);
        block_exchange(dims, places, &child_axes, &three[1], &three[2]);
        block_put(dims, work, &three[1], child_axes, child, 2);
        for (uint32_t leaf = 0; leaf < 2; ++leaf) {
            block_boxes quarter;
            boxes_copy(dims, &quarter, &half);
            block_clip(dims, work, &quarter, &three[1], child_axes, leaf);
            block_put(dims, work, &three[2 * leaf],
                      block_axes(dims, work->out, &quarter, level + 2), 2 * child + 1 + leaf, 4);
        }
    }
}

/* One function for each number of dimensions: the compiler would reserve stack space for all of
   them at once. */
#define BLOCK_BUILD(name, dims)                                                                    \
    static __attribute__((noinline)) void block_build_##name(                                      \
        const select_work *work, const point_places *places, const block_boxes *boxes,             \
        const int32_t *from, uint32_t first) {                                                     \
        block_build(dims, work, places, boxes, from, first);                                       \
    }
BLOCK_BUILD(2, 2)
BLOCK_BUILD(3, 3)
BLOCK_BUILD(4, 4)
BLOCK_BUILD(any, work->out->dims)
#undef BLOCK_BUILD

static void block_finish(const select_work *work, const block_boxes *boxes, const int32_t *from,
                         uint32_t first) {
    const point_places *places = work->uses_places ? &work->places : NULL;
    const uint32_t dims = work->out->dims;
    (dims == 2   ? block_build_2
     : dims == 3 ? block_build_3
     : dims == 4 ? block_build_4
                 : block_build_any)(work, places, boxes, from, first);
}

/* Builds the sub-tree of `node` from its range, with the other buffer as scratch. Within a block,
   sub-trees of seven points only store their boxes; block_finish builds them. */
static void subtree_build(select_work *work, select_range range, double *lo, double *hi,
                          block_boxes *block);
COLUMN_FN void subtree_split(uint32_t dims, select_work *work, select_range range, double *lo,
                             double *hi, block_boxes *block) {
    const uint32_t node = range.node, count = pointtree_subtree_size(node, work->out->count);
    if (count == 0) return;
    if (block && count == SELECT_BOTTOM) {
        const uint32_t lane = (node + 1) % COLUMN_LANES;
        for (uint32_t axis = 0; axis < dims; ++axis) {
            block->lo[axis][lane] = lo[axis];
            block->hi[axis][lane] = hi[axis];
        }
        return;
    }
    block_boxes boxes;
    const select_range all = range;
    const bool is_block = count == SELECT_BLOCK;
    if (is_block && work->places.points)
        point_places_call(&work->places,
                          work->columns[all.flipped] + dims * work->stride + all.begin, count);
    const uint32_t left = pointtree_subtree_size(2 * node + 1, work->out->count);
    const uint32_t axis = node_split(dims, work, &range, count, left, lo, hi);
    if (count == 1) return;
    const double plane = work->out->axes ? select_node_plane(work, node, axis) : 0;
    const double old_lo = lo[axis], old_hi = hi[axis];
    hi[axis] = plane;
    subtree_build(work, select_child(range, left, false), lo, hi, is_block ? &boxes : block);
    hi[axis] = old_hi;
    lo[axis] = plane;
    subtree_build(work, select_child(range, left, true), lo, hi, is_block ? &boxes : block);
    lo[axis] = old_lo;
    if (is_block) block_finish(work, &boxes, work->columns[!all.flipped] + all.begin, 8 * node + 7);
}

static void subtree_build(select_work *work, select_range range, double *lo, double *hi,
                          block_boxes *block) {
    SELECT_BY_DIMS(work->out->dims, subtree_split, work, range, lo, hi, block)
}

static void subtree_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    select_work *work = (select_work *)context;
    for (int64_t i = begin; i < end; ++i) {
        if (job_cancelled(work->job)) return;
        point_box domain = select_domain(work, work->ranges[i].node);
        subtree_build(work, work->ranges[i], domain.lo, domain.hi, NULL);
        job_advance(work->job, pointtree_subtree_size(work->ranges[i].node, work->out->count));
    }
}

/* --- the top of the tree, on all cores ------------------------------------------------------ */

static void count_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    select_split *split = (select_split *)context;
    const uint32_t dims = split->dims;
    const columns_source *from = &split->from;
    const int32_t *keys = from->at + from->axis * from->stride;
    const int32_t *ids = from->at + dims * from->stride;
    const column_pivot pivot = split->pivot;
    uint32_t before = 0;
    for (int64_t i = begin; i < end; ++i)
        before += (uint32_t)(keys[i] < pivot.key) |
                  ((uint32_t)(keys[i] == pivot.key) & (uint32_t)(ids[i] < pivot.id));
    split->lefts[begin / split->piece] = before;
}

COLUMN_FN void move(uint32_t dims, const select_split *split, int64_t begin, int64_t end) {
    const uint32_t *lefts = split->lefts + begin / split->piece, count = (uint32_t)(end - begin);
    columns_source from = split->from;
    from.at += begin;
    from.count = count;
    const uint32_t right = split->rank + 1 + (uint32_t)begin - lefts[0];
    const columns_target to = {split->to, lefts[0], lefts[1], right,
                               right + count - (lefts[1] - lefts[0])};
    columns_partition(from, to, split->pivot, dims + 1);
}

static void move_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const select_split *split = (const select_split *)context;
    SELECT_BY_DIMS(split->dims, move, split, begin, end)
}

/* records_split on all cores. */
static void records_split_parallel(uint32_t dims, const select_work *work, int32_t *from,
                                   int32_t *to, uint32_t count, uint32_t rank, uint32_t axis) {
    select_split split;
    bool differ;
    split.dims = dims;
    split.pivot = pivot_take(dims, work, from, to, count, rank, axis, &differ);
    const columns_source source = {from, work->stride, count - 1, axis};
    if (differ) { /* rare: on one core */
        const columns_target target = {to, 0, rank, rank + 1, count};
        point_places_partition(&work->places, source, target, split.pivot, dims + 1);
        return;
    }
    split.from = source;
    split.to = to;
    split.rank = rank;
    split.piece = source.count / SELECT_PIECES + 1;
    parallel_for(source.count, split.piece, count_piece, &split);
    uint32_t before = 0;
    for (uint32_t piece = 0; piece <= SELECT_PIECES; ++piece) { /* missing pieces count as empty */
        const uint32_t lefts = piece * split.piece < source.count ? split.lefts[piece] : 0;
        split.lefts[piece] = before;
        before += lefts;
    }
    parallel_for(source.count, split.piece, move_piece, &split);
}

/* Splits range i into ranges 2i and 2i + 1 of the next level. */
COLUMN_FN void split_ranges(uint32_t dims, select_work *work, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
        select_range range = work->parents[i];
        const uint32_t count = pointtree_subtree_size(range.node, work->out->count);
        const uint32_t left = pointtree_subtree_size(2 * range.node + 1, work->out->count);
        const point_box domain = select_domain(work, range.node);
        const uint32_t axis = select_axis(work->out, range.node, domain.lo, domain.hi);
        int32_t *from = work->columns[range.flipped] + range.begin;
        int32_t *to = work->columns[!range.flipped] + range.begin;
        if (work->alone)
            records_split_parallel(dims, work, from, to, count, left, axis);
        else
            records_split(dims, work, from, to, count, left, axis);
        record_put(dims, work, to + left, work->stride, range.node);
        range.flipped = !range.flipped;
        work->ranges[2 * i] = select_child(range, left, false);
        work->ranges[2 * i + 1] = select_child(range, left, true);
    }
}

static void split_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    select_work *work = (select_work *)context;
    SELECT_BY_DIMS(work->out->dims, split_ranges, work, begin, end)
}

/* Splits the top of the tree until there are enough sub-trees for all cores. */
static void top_build(select_work *work) {
    const select_range root = {0, 0, false};
    work->ranges[0] = root;
    work->range_count = 1;
    const uint32_t subtrees = select_subtrees(work->out->count);
    while (work->range_count < subtrees && !job_cancelled(work->job)) {
        const uint32_t parents = work->range_count;
        memcpy(work->parents, work->ranges, parents * sizeof *work->parents);
        work->alone = parents < (uint32_t)parallel_threads();
        if (work->alone)
            split_piece(work, 0, parents, 0);
        else
            parallel_for(parents, 1, split_piece, work);
        work->range_count = 2 * parents;
    }
}

static kd_status select_run(select_work *work) {
    const uint64_t count = work->out->count;
    const uint64_t dims = work->out->dims;
    const uint64_t columns = dims + 1 > 3 ? dims + 1 : 3; /* selection needs three of them as
                                                             scratch */
    work->stride = select_stride(count);
    for (int i = 0; i < 2; ++i) {
        KD_TRY(KD_RESERVE(work->columns[i], columns * work->stride));
        large_pages_prefer(work->columns[i], columns * work->stride * sizeof(int32_t));
    }
    parallel_for((int64_t)count, 1 << 14, fill_piece, work);
    for (uint32_t axis = 0; axis < dims; ++axis) work->uses_places |= work->places.rough[axis] != 0;
    top_build(work);
    parallel_for(work->range_count, 1, subtree_piece, work);
    return KD_OK;
}

#endif

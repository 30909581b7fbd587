/* The body of build_kandela.c for one number of dimensions, KANDELA_DIMS. Included once for each.
 */
#define KANDELA_PASTE_(name, dims) name##_##dims
#define KANDELA_PASTE(name, dims) KANDELA_PASTE_(name, dims)
#define KANDELA_NAME(name) KANDELA_PASTE(name, KANDELA_DIMS)
#define fill_piece KANDELA_NAME(fill_piece)
#define record_put KANDELA_NAME(record_put)
#define pivot_take KANDELA_NAME(pivot_take)
#define records_split KANDELA_NAME(records_split)
#define node_split KANDELA_NAME(node_split)
#define block_row KANDELA_NAME(block_row)
#define block_boxes KANDELA_NAME(block_boxes)
#define block_exchange KANDELA_NAME(block_exchange)
#define block_axes KANDELA_NAME(block_axes)
#define block_clip KANDELA_NAME(block_clip)
#define block_keys KANDELA_NAME(block_keys)
#define block_put KANDELA_NAME(block_put)
#define block_load KANDELA_NAME(block_load)
#define block_finish KANDELA_NAME(block_finish)
#define subtree_build KANDELA_NAME(subtree_build)
#define subtree_piece KANDELA_NAME(subtree_piece)
#define count_piece KANDELA_NAME(count_piece)
#define move_piece KANDELA_NAME(move_piece)
#define split_piece KANDELA_NAME(split_piece)
#define records_split_parallel KANDELA_NAME(records_split_parallel)
#define top_build KANDELA_NAME(top_build)
#define kandela_run KANDELA_NAME(kandela_run)

enum { KANDELA_NAME(COLUMNS) = KANDELA_DIMS + 1 };
#define COLUMNS KANDELA_NAME(COLUMNS)

static void fill_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const kandela_work *work = (const kandela_work *)context;
    int32_t *to = work->columns[0];
    for (int64_t i = begin; i < end; ++i) {
        for (uint32_t axis = 0; axis < KANDELA_DIMS; ++axis)
            to[axis * work->stride + (uint64_t)i] =
                kandela_key(point_key(&work->keys, (uint64_t)i, axis));
        to[KANDELA_DIMS * work->stride + (uint64_t)i] = (int32_t)i;
    }
}

/* Places a record, whose fields lie `stride` apart, as a node; the point comes from its keys where
   they hold all of its bits. */
static inline void record_put(const kandela_work *work, const int32_t *r, uint64_t stride,
                              uint32_t node) {
    pointtree *out = work->out;
    const uint32_t id = (uint32_t)r[KANDELA_DIMS * stride];
    out->ids[node] = id;
    if (out->scalar == POINT_FLOAT) {
        float *to = (float *)out->coordinates + (uint64_t)node * KANDELA_DIMS;
        for (uint32_t axis = 0; axis < KANDELA_DIMS; ++axis) {
            const int32_t key = r[axis * stride];
            to[axis] = key == 0 /* +0 or -0 */
                           ? work->keys.floats[(uint64_t)id * KANDELA_DIMS + axis]
                           : kandela_float(key);
        }
    } else {
        const uint64_t bytes = KANDELA_DIMS * sizeof(double);
        memcpy((char *)out->coordinates + node * bytes,
               (const char *)work->points->coordinates + id * bytes, bytes);
    }
}

/* The record of `rank` of `from`: copied to its place in `to`, which is room before that, and its
   own place taken by the last one. */
static inline column_pivot pivot_take(uint64_t stride, int32_t *from, int32_t *to, uint32_t count,
                                      uint32_t rank, uint32_t axis) {
    const int32_t *keys = from + axis * stride, *ids = from + KANDELA_DIMS * stride;
    int32_t *room[3] = {to, to + stride, to + 2 * stride};
    const column_pivot pivot = column_pivot_select(keys, ids, count, rank, room);
    const uint32_t at = column_find(keys, ids, count, pivot);
    for (uint32_t c = 0; c < COLUMNS; ++c) {
        to[c * stride + rank] = from[c * stride + at];
        from[c * stride + at] = from[c * stride + count - 1];
    }
    return pivot;
}

/* Orders `from` around the record of `rank` into `to`; `from` is spent. */
static inline void records_split(uint64_t stride, int32_t *from, int32_t *to, uint32_t count,
                                 uint32_t rank, uint32_t axis) {
    const column_pivot pivot = pivot_take(stride, from, to, count, rank, axis);
    const columns_source source = {from, stride, count - 1, axis};
    const columns_target target = {to, 0, rank, rank + 1, count};
    columns_partition(source, target, pivot, COLUMNS);
}

/* Splits a node by what is in `range`, which then is in the other buffer; returns the axis. */
static inline uint32_t node_split(kandela_work *work, kandela_range *range, uint32_t count,
                                  uint32_t left, const double *lo, const double *hi) {
    const uint32_t axis = kandela_axis(work->out, range->node, lo, hi);
    int32_t *from = work->columns[range->flipped] + range->begin;
    int32_t *to = work->columns[!range->flipped] + range->begin;
    if (count > 1)
        records_split(work->stride, from, to, count, left, axis);
    else
        to = from;
    record_put(work, to + left, work->stride, range->node);
    range->flipped = !range->flipped;
    return axis;
}

/* --- eight sub-trees of seven points at once, a lane each --------------------------------------
 */

/* A point of each of them: its key along the lane's axis, its fields. */
typedef struct block_row {
    int32x8 key, field[COLUMNS];
} block_row;

/* Their boxes, clipped by their ancestors. */
typedef struct block_boxes {
    float64x8 lo[KANDELA_DIMS], hi[KANDELA_DIMS];
} block_boxes;

/* The lesser record of each lane goes to `a`. */
COLUMN_FN void block_exchange(block_row *a, block_row *b) {
    const int32x8 wrong = (a->key > b->key) |
                          ((a->key == b->key) & (a->field[KANDELA_DIMS] > b->field[KANDELA_DIMS]));
    const int32x8 key = (a->key ^ b->key) & wrong;
    a->key ^= key;
    b->key ^= key;
    for (uint32_t c = 0; c < COLUMNS; ++c) {
        const int32x8 field = (a->field[c] ^ b->field[c]) & wrong;
        a->field[c] ^= field;
        b->field[c] ^= field;
    }
}

/* As kandela_axis, in each lane. */
COLUMN_FN int32x8 block_axes(const pointtree *out, const block_boxes *boxes, uint32_t level) {
    if (!out->axes) return int32x8_all((int32_t)(level % KANDELA_DIMS));
    int32x8 widest = int32x8_all(0);
    float64x8 most = boxes->hi[0] - boxes->lo[0];
    if (out->scalar == POINT_FLOAT) {
        float32x8 rounded = __builtin_convertvector(most, float32x8);
        for (int32_t axis = 1; axis < KANDELA_DIMS; ++axis) {
            const float32x8 size =
                __builtin_convertvector(boxes->hi[axis] - boxes->lo[axis], float32x8);
            const int32x8 wider = size > rounded;
            rounded = (float32x8)int32x8_select(wider, (int32x8)size, (int32x8)rounded);
            widest = int32x8_select(wider, int32x8_all(axis), widest);
        }
        return widest;
    }
    for (int32_t axis = 1; axis < KANDELA_DIMS; ++axis) {
        const float64x8 size = boxes->hi[axis] - boxes->lo[axis];
        const int64x8 wider = size > most;
        most = (float64x8)((wider & (int64x8)size) | (~wider & (int64x8)most));
        widest = int32x8_select(__builtin_convertvector(wider, int32x8), int32x8_all(axis), widest);
    }
    return widest;
}

COLUMN_FN void block_keys(block_row *rows, uint32_t count, int32x8 axes) {
    for (uint32_t i = 0; i < count; ++i) {
        rows[i].key = rows[i].field[0];
        for (int32_t c = 1; c < KANDELA_DIMS; ++c)
            rows[i].key = int32x8_select(axes == int32x8_all(c), rows[i].field[c], rows[i].key);
    }
}

/* The side of a split through the points of `row`. */
COLUMN_FN void block_clip(const kandela_work *work, block_boxes *boxes, const block_row *row,
                          int32x8 axes, bool right) {
    float64x8 plane;
    if (!work->out->axes) return;
    if (work->out->scalar == POINT_FLOAT)
        plane = __builtin_convertvector(float32x8_of_keys(row->key), float64x8);
    else
        for (uint32_t lane = 0; lane < COLUMN_LANES; ++lane)
            plane[lane] = point_array_coordinate(
                work->points, (uint32_t)row->field[KANDELA_DIMS][lane], (uint32_t)axes[lane]);
    for (int32_t axis = 0; axis < KANDELA_DIMS; ++axis) {
        const int64x8 here = __builtin_convertvector(axes == int32x8_all(axis), int64x8);
        float64x8 *side = right ? &boxes->lo[axis] : &boxes->hi[axis];
        *side = (float64x8)((here & (int64x8)plane) | (~here & (int64x8)*side));
    }
}

/* The points of `row` as nodes first, first + step, ... */
COLUMN_FN void block_put(const kandela_work *work, const block_row *row, int32x8 axes,
                         uint32_t first, uint32_t step) {
    pointtree *out = work->out;
    int32x8 zero = row->field[0] == int32x8_all(0);
    for (uint32_t axis = 1; axis < KANDELA_DIMS; ++axis) zero |= row->field[axis] == int32x8_all(0);
    if (out->scalar == POINT_FLOAT && int32x8_none(zero)) {
        float x[KANDELA_DIMS][COLUMN_LANES];
        for (uint32_t axis = 0; axis < KANDELA_DIMS; ++axis) {
            const float32x8 lanes = float32x8_of_keys(row->field[axis]);
            memcpy(x[axis], &lanes, sizeof lanes);
        }
        float *to = (float *)out->coordinates + (uint64_t)first * KANDELA_DIMS;
        for (uint32_t lane = 0; lane < COLUMN_LANES; ++lane, to += step * KANDELA_DIMS)
            for (uint32_t axis = 0; axis < KANDELA_DIMS; ++axis) to[axis] = x[axis][lane];
        for (uint32_t lane = 0; lane < COLUMN_LANES; ++lane)
            out->ids[first + lane * step] = (uint32_t)row->field[KANDELA_DIMS][lane];
    } else {
        int32_t fields[COLUMNS][COLUMN_LANES];
        memcpy(fields, row->field, sizeof fields);
        for (uint32_t lane = 0; lane < COLUMN_LANES; ++lane)
            record_put(work, &fields[0][lane], COLUMN_LANES, first + lane * step);
    }
    if (!out->axes) return;
    for (uint32_t lane = 0; lane < COLUMN_LANES; ++lane)
        out->axes[first + lane * step] = (uint8_t)axes[lane];
}

COLUMN_FN void block_load(block_row rows[KANDELA_BOTTOM], const int32_t *from, uint64_t stride) {
    for (uint32_t c = 0; c < COLUMNS; ++c) {
        int32x8 lanes[COLUMN_LANES];
        int32x8_transpose(lanes, from + c * stride);
        for (uint32_t i = 0; i < KANDELA_BOTTOM; ++i) rows[i].field[c] = lanes[i];
    }
}

/* Builds the sub-trees, that of lane i from the seven records at from + 8 i and with its root at
   node first + i, by networks that put the middle one of seven, and then three, in order. */
static void block_finish(const kandela_work *work, const block_boxes *boxes, const int32_t *from,
                         uint32_t first) {
    static const uint8_t median_of_seven[][2] = {{0, 5}, {2, 6}, {1, 5}, {2, 3}, {0, 6},
                                                 {5, 6}, {0, 2}, {1, 3}, {1, 2}, {2, 4},
                                                 {3, 4}, {3, 5}, {2, 3}};
    const uint32_t level = pointtree_level_of(first);
    block_row rows[KANDELA_BOTTOM];
    block_load(rows, from, work->stride);
    const int32x8 axes = block_axes(work->out, boxes, level);
    block_keys(rows, KANDELA_BOTTOM, axes);
#pragma GCC unroll 16
    for (uint32_t i = 0; i < sizeof median_of_seven / sizeof *median_of_seven; ++i)
        block_exchange(&rows[median_of_seven[i][0]], &rows[median_of_seven[i][1]]);
    block_put(work, &rows[3], axes, first, 1);
    for (uint32_t right = 0; right < 2; ++right) {
        const uint32_t child = 2 * first + 1 + right;
        block_row *three = rows + (right ? 4 : 0);
        block_boxes half = *boxes;
        block_clip(work, &half, &rows[3], axes, right);
        const int32x8 child_axes = block_axes(work->out, &half, level + 1);
        block_keys(three, 3, child_axes);
        block_exchange(&three[0], &three[2]);
        block_exchange(&three[0], &three[1]);
        block_exchange(&three[1], &three[2]);
        block_put(work, &three[1], child_axes, child, 2);
        for (uint32_t leaf = 0; leaf < 2; ++leaf) {
            block_boxes quarter = half;
            block_clip(work, &quarter, &three[1], child_axes, leaf);
            block_put(work, &three[2 * leaf], block_axes(work->out, &quarter, level + 2),
                      2 * child + 1 + leaf, 4);
        }
    }
}

/* Builds the sub-tree of `node` from what is in `range`, the other buffer is spare. Inside of a
   block, sub-trees of seven only leave their boxes. */
static void subtree_build(kandela_work *work, kandela_range range, double *lo, double *hi,
                          block_boxes *block) {
    const uint32_t node = range.node, count = pointtree_subtree_size(node, work->out->count);
    if (count == 0) return;
    if (block && count == KANDELA_BOTTOM) {
        const uint32_t lane = (node + 1) % COLUMN_LANES;
        for (uint32_t axis = 0; axis < KANDELA_DIMS; ++axis) {
            block->lo[axis][lane] = lo[axis];
            block->hi[axis][lane] = hi[axis];
        }
        return;
    }
    block_boxes boxes;
    const kandela_range all = range;
    const bool is_block = count == KANDELA_BLOCK;
    const uint32_t left = pointtree_subtree_size(2 * node + 1, work->out->count);
    const uint32_t axis = node_split(work, &range, count, left, lo, hi);
    if (count == 1) return;
    const double plane = work->out->axes ? kandela_node_plane(work, node, axis) : 0;
    const double old_lo = lo[axis], old_hi = hi[axis];
    hi[axis] = plane;
    subtree_build(work, kandela_child(range, left, false), lo, hi, is_block ? &boxes : block);
    hi[axis] = old_hi;
    lo[axis] = plane;
    subtree_build(work, kandela_child(range, left, true), lo, hi, is_block ? &boxes : block);
    lo[axis] = old_lo;
    if (is_block) block_finish(work, &boxes, work->columns[!all.flipped] + all.begin, 8 * node + 7);
}

static void subtree_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    kandela_work *work = (kandela_work *)context;
    for (int64_t i = begin; i < end; ++i) {
        if (job_cancelled(work->watched)) return;
        point_box domain = kandela_domain(work, work->ranges[i].node);
        subtree_build(work, work->ranges[i], domain.lo, domain.hi, NULL);
        job_advance(work->watched, pointtree_subtree_size(work->ranges[i].node, work->out->count));
    }
}

/* --- the top, on all cores ---------------------------------------------------------------------
 */

static void count_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    kandela_split *split = (kandela_split *)context;
    const columns_source *from = &split->from;
    const int32_t *keys = from->at + from->axis * from->stride;
    const int32_t *ids = from->at + KANDELA_DIMS * from->stride;
    const column_pivot pivot = split->pivot;
    uint32_t before = 0;
    for (int64_t i = begin; i < end; ++i)
        before += (uint32_t)(keys[i] < pivot.key) |
                  ((uint32_t)(keys[i] == pivot.key) & (uint32_t)(ids[i] < pivot.id));
    split->lefts[begin / split->piece] = before;
}

static void move_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const kandela_split *split = (const kandela_split *)context;
    const uint32_t *lefts = split->lefts + begin / split->piece, count = (uint32_t)(end - begin);
    columns_source from = split->from;
    from.at += begin;
    from.count = count;
    const uint32_t right = split->rank + 1 + (uint32_t)begin - lefts[0];
    const columns_target to = {split->to, lefts[0], lefts[1], right,
                               right + count - (lefts[1] - lefts[0])};
    columns_partition(from, to, split->pivot, COLUMNS);
}

/* The same as records_split, on all cores. */
static void records_split_parallel(uint64_t stride, int32_t *from, int32_t *to, uint32_t count,
                                   uint32_t rank, uint32_t axis) {
    kandela_split split;
    split.pivot = pivot_take(stride, from, to, count, rank, axis);
    const columns_source source = {from, stride, count - 1, axis};
    split.from = source;
    split.to = to;
    split.rank = rank;
    split.piece = source.count / KANDELA_PIECES + 1;
    parallel_for(source.count, split.piece, count_piece, &split);
    uint32_t before = 0;
    for (uint32_t piece = 0; piece <= KANDELA_PIECES; ++piece) { /* those not there never moved */
        const uint32_t lefts = piece * split.piece < source.count ? split.lefts[piece] : 0;
        split.lefts[piece] = before;
        before += lefts;
    }
    parallel_for(source.count, split.piece, move_piece, &split);
}

/* Splits range i into 2i and 2i + 1 of the next level. */
static void split_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    kandela_work *work = (kandela_work *)context;
    for (int64_t i = begin; i < end; ++i) {
        kandela_range range = work->parents[i];
        const uint32_t count = pointtree_subtree_size(range.node, work->out->count);
        const uint32_t left = pointtree_subtree_size(2 * range.node + 1, work->out->count);
        const point_box domain = kandela_domain(work, range.node);
        const uint32_t axis = kandela_axis(work->out, range.node, domain.lo, domain.hi);
        int32_t *from = work->columns[range.flipped] + range.begin;
        int32_t *to = work->columns[!range.flipped] + range.begin;
        (work->alone ? records_split_parallel : records_split)(work->stride, from, to, count, left,
                                                               axis);
        record_put(work, to + left, work->stride, range.node);
        range.flipped = !range.flipped;
        work->ranges[2 * i] = kandela_child(range, left, false);
        work->ranges[2 * i + 1] = kandela_child(range, left, true);
    }
}

/* Splits the top of the tree, until there are sub-trees enough for all cores. */
static void top_build(kandela_work *work) {
    const kandela_range root = {0, 0, false};
    work->ranges[0] = root;
    work->range_count = 1;
    const uint32_t wanted = kandela_subtrees(work->out->count);
    while (work->range_count < wanted && !job_cancelled(work->watched)) {
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

static kd_status kandela_run(kandela_work *work) {
    const uint64_t count = work->out->count;
    const uint64_t columns = COLUMNS > 3 ? COLUMNS : 3; /* a selection's room is three of them */
    work->stride = kandela_stride(count);
    for (int i = 0; i < 2; ++i) {
        KD_TRY(KD_RESERVE(work->columns[i], columns * work->stride));
        large_pages_prefer(work->columns[i], columns * work->stride * sizeof(int32_t));
    }
    parallel_for((int64_t)count, 1 << 14, fill_piece, work);
    top_build(work);
    parallel_for(work->range_count, 1, subtree_piece, work);
    return KD_OK;
}

#undef fill_piece
#undef record_put
#undef pivot_take
#undef records_split
#undef node_split
#undef block_row
#undef block_boxes
#undef block_exchange
#undef block_axes
#undef block_clip
#undef block_keys
#undef block_put
#undef block_load
#undef block_finish
#undef subtree_build
#undef subtree_piece
#undef count_piece
#undef move_piece
#undef split_piece
#undef records_split_parallel
#undef top_build
#undef kandela_run
#undef COLUMNS
#undef KANDELA_NAME
#undef KANDELA_PASTE
#undef KANDELA_PASTE_
#undef KANDELA_DIMS

/* The body of build_kandela.c for one number of dimensions, KANDELA_DIMS. Included once for each.
 */
#define KANDELA_PASTE_(name, dims) name##_##dims
#define KANDELA_PASTE(name, dims) KANDELA_PASTE_(name, dims)
#define KANDELA_NAME(name) KANDELA_PASTE(name, KANDELA_DIMS)
#define record KANDELA_NAME(record)
#define record_key KANDELA_NAME(record_key)
#define record_put KANDELA_NAME(record_put)
#define records_select KANDELA_NAME(records_select)
#define records_sort_tiny KANDELA_NAME(records_sort_tiny)
#define records_bracket KANDELA_NAME(records_bracket)
#define records_split KANDELA_NAME(records_split)
#define records_split_parallel KANDELA_NAME(records_split_parallel)
#define count_piece KANDELA_NAME(count_piece)
#define move_piece KANDELA_NAME(move_piece)
#define fill_piece KANDELA_NAME(fill_piece)
#define subtree_build KANDELA_NAME(subtree_build)
#define subtree_piece KANDELA_NAME(subtree_piece)
#define top_build KANDELA_NAME(top_build)
#define kandela_run KANDELA_NAME(kandela_run)

typedef struct record {
    uint32_t id;
    uint32_t key[KANDELA_DIMS];
} record;

/* THE order, as one number */
static inline uint64_t record_key(const record *r, uint32_t axis) {
    return (uint64_t)r->key[axis] << 32 | r->id;
}

static void fill_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const kandela_work *work = (const kandela_work *)context;
    record *to = (record *)work->records;
    for (int64_t i = begin; i < end; ++i) {
        to[i].id = (uint32_t)i;
        for (uint32_t axis = 0; axis < KANDELA_DIMS; ++axis)
            to[i].key[axis] = point_key(&work->keys, (uint64_t)i, axis);
    }
}

/* Places a record as a node; the point comes from its keys where they hold all of its bits. */
static inline void record_put(const kandela_work *work, const record *r, uint32_t node) {
    pointtree *out = work->out;
    out->ids[node] = r->id;
    if (out->scalar == POINT_FLOAT) {
        float *to = (float *)out->coordinates + (uint64_t)node * KANDELA_DIMS;
        for (uint32_t axis = 0; axis < KANDELA_DIMS; ++axis)
            to[axis] = r->key[axis] == 0x80000000u /* +0 or -0 */
                           ? work->keys.floats[(uint64_t)r->id * KANDELA_DIMS + axis]
                           : pointtree_float_of_order_bits(r->key[axis]);
    } else {
        const uint64_t bytes = KANDELA_DIMS * sizeof(double);
        memcpy((char *)out->coordinates + node * bytes,
               (const char *)work->points->coordinates + r->id * bytes, bytes);
    }
}

/* Sorts up to KANDELA_TINY records: each counts the ones before it. No branch to mispredict. */
static void records_sort_tiny(const record *from, record *to, uint32_t count, uint32_t axis) {
    int64_t keys[KANDELA_TINY];
    for (uint32_t i = 0; i < count; ++i)
        keys[i] = (int64_t)(record_key(&from[i], axis) ^ 1ull << 63);
    for (uint32_t i = count; i % 4 != 0; ++i) keys[i] = INT64_MAX;
    for (uint32_t i = 0; i < count; ++i) {
        int64_t before = 0;
        for (uint32_t j = 0; j < count; j += 4)
            for (uint32_t lane = 0; lane < 4; ++lane) before += keys[j + lane] < keys[i];
        to[before] = from[i];
    }
}

/* Afterwards records[rank] is in its sorted place, smaller ones before and larger ones behind it.
   Quickselect by Lomuto's partition without branches; pivots are medians of five drawn at random,
   so no order of the input is bad. */
static void records_select(record *records, uint32_t count, uint32_t rank, uint32_t axis) {
    uint32_t random = count;
    while (count > KANDELA_TINY) {
        uint64_t sample[5];
        for (uint32_t i = 0; i < 5; ++i) /* one from each fifth, so that all differ */
            sample[i] =
                record_key(&records[i * (count / 5) + keys_random(&random, count / 5)], axis);
        const uint64_t pivot = keys_select(sample, 5, 2);
        uint32_t left = 0;
        for (uint32_t i = 0; i < count; ++i) {
            const record r = records[i];
            records[i] = records[left];
            records[left] = r;
            left += record_key(&r, axis) < pivot;
        }
        if (rank < left) {
            count = left;
        } else {
            records += left;
            count -= left;
            rank -= left;
            /* the pivot is the least here: put it first, lest nothing shrinks */
            uint32_t least = 0;
            while (record_key(&records[least], axis) != pivot) ++least;
            const record r = records[least];
            records[least] = records[0];
            records[0] = r;
            if (rank == 0) return;
            ++records;
            --count;
            --rank;
        }
    }
    record sorted[KANDELA_TINY];
    records_sort_tiny(records, sorted, count, axis);
    memcpy(records, sorted, count * sizeof *sorted);
}

/* Two keys that hold the one of `rank` between them, most probably, and little else: from a
   sample, some standard deviations to both sides. */
static void records_bracket(const record *records, uint32_t count, uint32_t rank, uint32_t axis,
                            uint64_t bracket[2]) {
    uint64_t sample[KANDELA_SAMPLE_MAX];
    uint32_t size = count / KANDELA_SAMPLE_SHARE, random = count;
    if (size > KANDELA_SAMPLE_MAX) size = KANDELA_SAMPLE_MAX;
    if (size < KANDELA_SAMPLE_LEAST) size = KANDELA_SAMPLE_LEAST;
    const uint32_t stratum = count / size; /* one from each, so that all differ */
    for (uint32_t i = 0; i < size; ++i)
        sample[i] = record_key(&records[i * stratum + keys_random(&random, stratum)], axis);
    const double share = (double)rank / count;
    const double spread = KANDELA_DEVIATIONS * sqrt(size * share * (1 - share)) + 1;
    const double low = size * share - spread, high = size * share + spread;
    bracket[0] = 0;
    bracket[1] = UINT64_MAX;
    const uint32_t skipped = low >= 0 ? (uint32_t)low : 0;
    if (low >= 0) bracket[0] = keys_select(sample, size, skipped);
    if (high < size)
        bracket[1] = keys_select(sample + skipped, size - skipped, (uint32_t)high - skipped);
}

/* Orders `from` around the record of `rank` into `to`; `from` is spent. */
static void records_split(record *from, record *to, uint32_t count, uint32_t rank, uint32_t axis) {
    uint64_t bracket[2];
    records_bracket(from, count, rank, axis, bracket);
    const uint64_t least = bracket[0], most = bracket[1];
    uint32_t left = 0, middle = 0, right = count;
    for (uint32_t i = 0; i < count; ++i) {
        /* written to all three places, kept in one: no branch to mispredict */
        const record r = from[i];
        const uint64_t key = record_key(&r, axis);
        to[left] = r;
        to[right - 1] = r;
        from[middle] = r;
        const uint32_t below = key<least, above = key> most;
        left += below;
        right -= above;
        middle += 1 - below - above;
    }
    if (rank >= left && rank < right) records_select(from, middle, rank - left, axis);
    memcpy(to + left, from, middle * sizeof *to);
    if (rank < left) records_select(to, left, rank, axis);
    if (rank >= right) records_select(to + right, count - right, rank - right, axis);
}

/* Builds the sub-tree of `node` from records[begin ...], the other buffer is spare. */
static void subtree_build(kandela_work *work, kandela_range range, double *lo, double *hi) {
    pointtree *out = work->out;
    const uint32_t node = range.node, count = pointtree_subtree_size(node, out->count);
    record *here = (record *)(range.flipped ? work->spare : work->records) + range.begin;
    if (count == 0) return;
    const uint32_t axis = kandela_axis(out, node, lo, hi);
    if (count == 1) {
        record_put(work, here, node);
        return;
    }
    const uint32_t left = pointtree_subtree_size(2 * node + 1, out->count);
    record *there = (record *)(range.flipped ? work->records : work->spare) + range.begin;
    if (count <= KANDELA_TINY)
        records_sort_tiny(here, there, count, axis);
    else
        records_split(here, there, count, left, axis);
    here = there;
    range.flipped = !range.flipped;
    record_put(work, &here[left], node);
    const double plane =
        out->axes ? kandela_plane(work, here[left].id, here[left].key[axis], axis) : 0;
    const double old_lo = lo[axis], old_hi = hi[axis];
    hi[axis] = plane;
    subtree_build(work, kandela_child(range, left, false), lo, hi);
    hi[axis] = old_hi;
    lo[axis] = plane;
    subtree_build(work, kandela_child(range, left, true), lo, hi);
    lo[axis] = old_lo;
}

static void subtree_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    kandela_work *work = (kandela_work *)context;
    for (int64_t i = begin; i < end; ++i) {
        if (job_cancelled(work->watched)) return;
        point_box domain = kandela_domain(work, work->ranges[i].node);
        subtree_build(work, work->ranges[i], domain.lo, domain.hi);
        job_advance(work->watched, pointtree_subtree_size(work->ranges[i].node, work->out->count));
    }
}

static void count_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    kandela_split *split = (kandela_split *)context;
    const record *from = (const record *)split->from;
    uint32_t below = 0, above = 0;
    for (int64_t i = begin; i < end; ++i) {
        const uint64_t key = record_key(&from[i], split->axis);
        below += key < split->bracket[0];
        above += key > split->bracket[1];
    }
    split->places[begin / split->piece][0] = below;
    split->places[begin / split->piece][1] = (uint32_t)(end - begin) - below - above;
    split->places[begin / split->piece][2] = above;
}

static void move_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const kandela_split *split = (const kandela_split *)context;
    const record *from = (const record *)split->from;
    record *to = (record *)split->to;
    uint32_t next[3];
    memcpy(next, split->places[begin / split->piece], sizeof next);
    for (int64_t i = begin; i < end; ++i) {
        const uint64_t key = record_key(&from[i], split->axis);
        const uint32_t side = 1u - (key < split->bracket[0]) + (key > split->bracket[1]);
        to[next[side]++] = from[i];
    }
}

/* The same as records_split, on all cores. */
static void records_split_parallel(const record *from, record *to, uint32_t count, uint32_t rank,
                                   uint32_t axis) {
    kandela_split split;
    split.from = from;
    split.to = to;
    split.axis = axis;
    records_bracket(from, count, rank, axis, split.bracket);
    split.piece = count / KANDELA_PIECES + 1;
    const int64_t pieces = (count + split.piece - 1) / split.piece;
    parallel_for(count, split.piece, count_piece, &split);
    uint32_t begins[4] = {0, 0, 0, 0};
    for (uint32_t side = 0, place = 0; side < 3; ++side) {
        begins[side] = place;
        for (int64_t piece = 0; piece < pieces; ++piece) {
            const uint32_t items = split.places[piece][side];
            split.places[piece][side] = place;
            place += items;
        }
        begins[side + 1] = place;
    }
    parallel_for(count, split.piece, move_piece, &split);
    for (int side = 0; side < 3; ++side)
        if (rank >= begins[side] && rank < begins[side + 1])
            records_select(to + begins[side], begins[side + 1] - begins[side], rank - begins[side],
                           axis);
}

/* Splits the top of the tree, each node on all cores, until there are sub-trees enough for all. */
static void top_build(kandela_work *work) {
    pointtree *out = work->out;
    kandela_range root = {0, 0, false};
    work->ranges[0] = root;
    work->range_count = 1;
    const uint32_t wanted = kandela_subtrees(out->count);
    while (work->range_count < wanted && !job_cancelled(work->watched)) {
        kandela_range parents[KANDELA_SUBTREES_MAX];
        const uint32_t parent_count = work->range_count;
        memcpy(parents, work->ranges, parent_count * sizeof *parents);
        work->range_count = 0;
        for (uint32_t i = 0; i < parent_count; ++i) {
            kandela_range range = parents[i];
            const uint32_t count = pointtree_subtree_size(range.node, out->count);
            const uint32_t left = pointtree_subtree_size(2 * range.node + 1, out->count);
            const point_box domain = kandela_domain(work, range.node);
            const uint32_t axis = kandela_axis(out, range.node, domain.lo, domain.hi);
            record *from = (record *)(range.flipped ? work->spare : work->records) + range.begin;
            record *to = (record *)(range.flipped ? work->records : work->spare) + range.begin;
            records_split_parallel(from, to, count, left, axis);
            range.flipped = !range.flipped;
            record_put(work, &to[left], range.node);
            work->ranges[work->range_count++] = kandela_child(range, left, false);
            work->ranges[work->range_count++] = kandela_child(range, left, true);
        }
    }
}

static kd_status kandela_run(kandela_work *work) {
    KD_TRY(memory_reserve(&work->records, work->out->count, sizeof(record)));
    KD_TRY(memory_reserve(&work->spare, work->out->count, sizeof(record)));
    large_pages_prefer(work->records, work->out->count * sizeof(record));
    large_pages_prefer(work->spare, work->out->count * sizeof(record));
    parallel_for(work->out->count, 1 << 14, fill_piece, work);
    top_build(work);
    parallel_for(work->range_count, 1, subtree_piece, work);
    return KD_OK;
}

#undef record
#undef record_key
#undef record_put
#undef records_select
#undef records_bracket
#undef records_sort_tiny
#undef records_split
#undef records_split_parallel
#undef count_piece
#undef move_piece
#undef fill_piece
#undef subtree_build
#undef subtree_piece
#undef top_build
#undef kandela_run
#undef KANDELA_NAME
#undef KANDELA_PASTE
#undef KANDELA_PASTE_
#undef KANDELA_DIMS

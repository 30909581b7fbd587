/* Source and idea: see leaf_index.c.
   Invariants: a box's distance is never above that of a point in it. For floats it is rounded like
   a point's. For doubles the box is rounded outwards to floats, and its distance, a sum of at most
   eight squares, is lowered by more than rounding can have raised it. Answers have doubles. */
#include "points/neighbours/leaf_index_nd.h"
#include "core/large_pages.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

/* 1 - 2^-19: some 30 roundings of floats at most are behind a sum of eight squares. */
#define LOWERED 0x1.ffffcp-1f

typedef struct nd_work {
    const pointtree_nd_view *tree;
    leafindex_nd *out;
    uint32_t level;   /* of groups, whose boxes go up */
    leaf_slots slots; /* where points tie */
} nd_work;

static float *group_boxes(const leafindex_nd *index, uint32_t level, uint32_t group) {
    const uint64_t at = index->shape.level_begin[level] + group;
    return index->boxes + at * index->dims * 2 * LEAF_GROUP;
}

/* Of a child of groups of this level. */
static uint32_t *least_id_at(const leafindex_nd *index, uint32_t level, uint32_t child) {
    return &index->least_ids[(uint64_t)index->shape.level_begin[level] * LEAF_GROUP + child];
}

/* Bucket s, of these nodes; without one its box is empty. */
static void nd_bucket_fill(const nd_work *work, uint32_t s, const uint32_t nodes[LEAF_POINTS],
                           uint32_t filled) {
    const pointtree_nd_view *tree = work->tree;
    const leafindex_nd *index = work->out;
    const uint32_t dims = tree->dims;
    uint32_t least_id = KD_NONE;
    for (uint32_t i = 0; i < LEAF_POINTS; ++i) {
        const uint32_t id = i < filled ? tree->ids[nodes[i]] : KD_NONE;
        index->ids[s * LEAF_POINTS + i] = id;
        if (id < least_id) least_id = id;
    }
    if (index->shape.levels) *least_id_at(index, index->shape.levels - 1, s) = least_id;
    float *group =
        index->shape.levels ? group_boxes(index, index->shape.levels - 1, s / LEAF_GROUP) : NULL;
    for (uint32_t axis = 0; axis < dims; ++axis) {
        double lo = (double)INFINITY, hi = -(double)INFINITY;
        const uint64_t row = ((uint64_t)s * dims + axis) * LEAF_POINTS;
        for (uint32_t i = 0; i < LEAF_POINTS; ++i) {
            const double x =
                i < filled ? pointtree_nd_coordinate(tree, nodes[i], axis) : (double)NAN;
            if (tree->scalar == POINT_DOUBLE)
                ((double *)index->coordinates)[row + i] = x;
            else
                ((float *)index->coordinates)[row + i] = (float)x;
            if (x < lo) lo = x;
            if (x > hi) hi = x;
        }
        if (!group) continue;
        group[2 * LEAF_GROUP * axis + s % LEAF_GROUP] = filled ? rounded_down(lo) : INFINITY;
        group[2 * LEAF_GROUP * axis + LEAF_GROUP + s % LEAF_GROUP] =
            filled ? rounded_up(hi) : -INFINITY;
    }
}

static void nd_bucket_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const nd_work *work = (const nd_work *)context;
    uint32_t nodes[LEAF_POINTS];
    for (uint32_t s = (uint32_t)begin; s < (uint32_t)end; ++s)
        if (work->slots.nodes)
            nd_bucket_fill(work, s, work->slots.nodes + (uint64_t)s * LEAF_POINTS,
                           work->slots.filled[s]);
        else
            nd_bucket_fill(work, s, nodes, leaf_members(&work->out->shape, s, nodes));
}

static void nd_group_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const nd_work *work = (const nd_work *)context;
    const leafindex_nd *index = work->out;
    for (uint32_t g = (uint32_t)begin; g < (uint32_t)end; ++g) {
        const float *from = group_boxes(index, work->level, g);
        float *to = group_boxes(index, work->level - 1, g / LEAF_GROUP);
        uint32_t least_id = KD_NONE;
        for (uint32_t i = 0; i < LEAF_GROUP; ++i) {
            const uint32_t id = *least_id_at(index, work->level, g * LEAF_GROUP + i);
            if (id < least_id) least_id = id;
        }
        *least_id_at(index, work->level - 1, g) = least_id;
        for (uint32_t axis = 0; axis < index->dims; ++axis, from += 2 * LEAF_GROUP) {
            float lo = INFINITY, hi = -INFINITY;
            for (int lane = 0; lane < LEAF_GROUP; ++lane) {
                lo = float_min(from[lane], lo);
                hi = float_max(from[LEAF_GROUP + lane], hi);
            }
            to[2 * LEAF_GROUP * axis + g % LEAF_GROUP] = lo;
            to[2 * LEAF_GROUP * axis + LEAF_GROUP + g % LEAF_GROUP] = hi;
        }
    }
}

kd_status leafindex_nd_open(leafindex_nd *out, const pointtree_nd_view *tree) {
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    out->dims = tree->dims;
    out->scalar = tree->scalar;
    out->shape = leaf_shape_tied(tree);
    if (tree->count == 0) return KD_OK;
    nd_work work = {tree, out, 0, {NULL, NULL}};
    const uint64_t slots = (uint64_t)out->shape.leaf_count * LEAF_POINTS;
    const uint64_t scalar_bytes = point_scalar_bytes(tree->scalar);
    const uint64_t box_floats = (uint64_t)out->shape.groups * tree->dims * 2 * LEAF_GROUP;
    KD_TRY_GOTO(memory_reserve(&out->coordinates, slots * tree->dims, scalar_bytes));
    KD_TRY_GOTO(KD_RESERVE(out->ids, slots));
    KD_TRY_GOTO(KD_RESERVE(out->boxes, box_floats));
    KD_TRY_GOTO(KD_RESERVE(out->least_ids, (uint64_t)out->shape.groups * LEAF_GROUP));
    large_pages_prefer(out->coordinates, slots * tree->dims * scalar_bytes);
    large_pages_prefer(out->ids, slots * sizeof *out->ids);
    large_pages_prefer(out->boxes, box_floats * sizeof *out->boxes);
    memset(out->boxes, 0, box_floats * sizeof *out->boxes); /* the root may have less than eight */
    if (out->shape.ties) KD_TRY_GOTO(leaf_slots_open(&work.slots, tree, &out->shape));
    parallel_for(out->shape.leaf_count, 512, nd_bucket_piece, &work);
    for (work.level = out->shape.levels; work.level-- > 1;)
        parallel_for(leaf_groups(&out->shape, work.level), 512, nd_group_piece, &work);
done:
    leaf_slots_close(&work.slots);
    if (status != KD_OK) leafindex_nd_close(out);
    return status;
}

void leafindex_nd_close(leafindex_nd *owned) {
    memory_free(owned->coordinates);
    memory_free(owned->ids);
    memory_free(owned->boxes);
    memory_free(owned->least_ids);
    memset(owned, 0, sizeof *owned);
}

uint64_t leafindex_nd_bytes(const leafindex_nd *index) {
    const uint64_t slots = (uint64_t)index->shape.leaf_count * LEAF_POINTS;
    return slots * (index->dims * point_scalar_bytes(index->scalar) + sizeof(uint32_t)) +
           (uint64_t)index->shape.groups * (index->dims * 2 + 1) * LEAF_GROUP * sizeof(float);
}

typedef struct nd_query {
    const leafindex_nd *index;
    const void *point;
    float below[POINT_DIMS_MAX], above[POINT_DIMS_MAX]; /* the point, rounded down and up */
    double bound2;
    uint32_t bound_id; /* of the last answer of k: of points as far, only those before it count */
    int32_t raised,
        lowered; /* bits of floats: not below the bound; below all that is about as far */
    float limit; /* the one that is not below */
    uint32_t k, capacity, count;
    neighbour_nd *out;
    point_visitor *visitor; /* instead of `out`, or NULL */
    lanes_nearest narrow; /* of up to LEAF_GROUP answers instead of `out` until the end: floats, */
    doubles_nearest wide; /* doubles */
} nd_query;

static inline bool nd_has_lanes(const nd_query *query) {
    return query->k > 0 && query->k <= LEAF_GROUP;
}

static inline void nd_bind(nd_query *query) {
    const double bound2 = query->bound2;
    query->limit = bound2 < 0 ? -1.0f : rounded_up(bound2);
    query->raised = (int32_t)float_bits(query->limit);
    query->lowered = bound2 < 0 ? query->raised
                                : (int32_t)float_bits(float_min((float)bound2, FLT_MAX) *
                                                      (LOWERED * LOWERED * LOWERED));
}

static void query_open(nd_query *query, const leafindex_nd *index, const void *point, double bound2,
                       neighbour_nd *out) {
    query->index = index;
    query->point = point;
    query->bound2 = bound2;
    query->bound_id = KD_NONE;
    query->k = query->capacity = query->count = 0;
    query->out = out;
    query->visitor = NULL;
    for (uint32_t axis = 0; axis < index->dims; ++axis) {
        const double x = point_coordinate(point, index->scalar, axis);
        query->below[axis] = index->scalar == POINT_DOUBLE ? rounded_down(x) : (float)x;
        query->above[axis] = index->scalar == POINT_DOUBLE ? rounded_up(x) : (float)x;
    }
    nd_bind(query);
}

#define ND_FN static inline __attribute__((always_inline))

/* As lanes_of_boxes, and the sums themselves; `dims` and `wide`, whether points are doubles, are
   constants. */
#ifdef __AVX2__
ND_FN lanes_set nd_boxes(const nd_query *query, const float *group, uint32_t dims, bool wide,
                         float sums[LEAF_GROUP]) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256 sum = _mm256_setzero_ps();
    for (uint32_t axis = 0; axis < dims; ++axis, group += 2 * LEAF_GROUP) {
        const __m256 under =
            _mm256_sub_ps(_mm256_loadu_ps(group), _mm256_set1_ps(query->above[axis]));
        const __m256 over =
            _mm256_sub_ps(_mm256_set1_ps(query->below[axis]), _mm256_loadu_ps(group + LEAF_GROUP));
        const __m256 d = _mm256_max_ps(_mm256_max_ps(under, over), _mm256_setzero_ps());
        sum = _mm256_add_ps(sum, _mm256_mul_ps(d, d));
    }
    _mm256_storeu_ps(sums, sum);
    if (wide) {
        const __m256 lowered =
            _mm256_mul_ps(_mm256_min_ps(sum, _mm256_set1_ps(FLT_MAX)), _mm256_set1_ps(LOWERED));
        const __m256 tiny = _mm256_cmp_ps(sum, _mm256_set1_ps(UNDERFLOWN), _CMP_LT_OQ);
        sum = _mm256_andnot_ps(tiny, lowered);
    }
    return _mm256_or_si256(_mm256_andnot_si256(_mm256_set1_epi32(7), _mm256_castps_si256(sum)),
                           lanes);
}
#else
ND_FN lanes_set nd_boxes(const nd_query *query, const float *group, uint32_t dims, bool wide,
                         float sums[LEAF_GROUP]) {
    lanes_set all;
    float sum[LEAF_GROUP] = {0};
    for (uint32_t axis = 0; axis < dims; ++axis, group += 2 * LEAF_GROUP) {
        const float below = query->below[axis], above = query->above[axis];
        for (int lane = 0; lane < LEAF_GROUP; ++lane) {
            const float d =
                float_max(float_max(group[lane] - above, below - group[LEAF_GROUP + lane]), 0);
            sum[lane] = sum[lane] + d * d;
        }
    }
    for (int lane = 0; lane < LEAF_GROUP; ++lane) {
        sums[lane] = sum[lane];
        const float lowered = sum[lane] < UNDERFLOWN ? 0 : float_min(sum[lane], FLT_MAX) * LOWERED;
        all.lane[lane] = (int32_t)((float_bits(wide ? lowered : sum[lane]) & ~7u) | (uint32_t)lane);
    }
    return all;
}
#endif

/* The distance of a box, rounded as a point's. */
ND_FN double nd_box_dist2(const nd_query *query, const float *group, uint32_t lane, uint32_t dims) {
    const double *point = (const double *)query->point;
    double sum = 0;
    for (uint32_t axis = 0; axis < dims; ++axis, group += 2 * LEAF_GROUP) {
        const double under = (double)group[lane] - point[axis];
        const double over = point[axis] - (double)group[LEAF_GROUP + lane];
        const double d = under > 0 ? under : over > 0 ? over : 0;
        sum = sum + d * d;
    }
    return sum;
}

static inline void nd_offer(nd_query *query, double dist2, uint32_t id) {
    neighbour_nd item;
    item.dist2 = dist2;
    item.id = id;
    item.node = KD_NONE;
    if (query->visitor) {
        point_visitor_tell(query->visitor, id, dist2);
        query->bound2 = query->visitor->bound;
    } else if (query->k)
        query->bound2 =
            neighbour_nd_offer(query->out, &query->count, query->k, item, query->bound2);
    else if (query->count++ < query->capacity)
        query->out[query->count - 1] = item;
}

#define ND_HALF 4u /* axes of five or more after which a bucket may be left */

/* dist2 of a bucket's points; a bit is set where it is at most `limit`. */
#ifdef __AVX2__
ND_FN uint32_t nd_points_float(const float *row, const float *point, uint32_t dims, float limit,
                               float sum[LEAF_POINTS]) {
    const __m256 bound = _mm256_set1_ps(limit);
    __m256 near = _mm256_setzero_ps(), far = near;
    for (uint32_t axis = 0; axis < dims; ++axis, row += LEAF_POINTS) {
        const __m256 x = _mm256_set1_ps(point[axis]);
        const __m256 a = _mm256_sub_ps(x, _mm256_loadu_ps(row));
        const __m256 b = _mm256_sub_ps(x, _mm256_loadu_ps(row + LEAF_GROUP));
        near = _mm256_add_ps(near, _mm256_mul_ps(a, a));
        far = _mm256_add_ps(far, _mm256_mul_ps(b, b));
        if (axis + 1 == ND_HALF && dims > ND_HALF + 1 &&
            _mm256_testz_ps(_mm256_cmp_ps(near, bound, _CMP_LE_OQ),
                            _mm256_cmp_ps(near, bound, _CMP_LE_OQ)) &&
            _mm256_testz_ps(_mm256_cmp_ps(far, bound, _CMP_LE_OQ),
                            _mm256_cmp_ps(far, bound, _CMP_LE_OQ)))
            return 0;
    }
    _mm256_storeu_ps(sum, near);
    _mm256_storeu_ps(sum + LEAF_GROUP, far);
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(near, bound, _CMP_LE_OQ)) |
           (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(far, bound, _CMP_LE_OQ)) << LEAF_GROUP;
}

ND_FN uint32_t nd_points_double(const double *row, const double *point, uint32_t dims, double limit,
                                double sum[LEAF_POINTS]) {
    enum { LANES = 4, VECTORS = LEAF_POINTS / LANES };
    const __m256d bound = _mm256_set1_pd(limit);
    __m256d sums[VECTORS];
    uint32_t within = 0;
    for (int v = 0; v < VECTORS; ++v) sums[v] = _mm256_setzero_pd();
    for (uint32_t axis = 0; axis < dims; ++axis, row += LEAF_POINTS) {
        const __m256d x = _mm256_set1_pd(point[axis]);
        for (int v = 0; v < VECTORS; ++v) {
            const __m256d d = _mm256_sub_pd(x, _mm256_loadu_pd(row + v * LANES));
            sums[v] = _mm256_add_pd(sums[v], _mm256_mul_pd(d, d));
        }
        if (axis + 1 == ND_HALF && dims > ND_HALF + 1) {
            __m256d any = _mm256_cmp_pd(sums[0], bound, _CMP_LE_OQ);
            for (int v = 1; v < VECTORS; ++v)
                any = _mm256_or_pd(any, _mm256_cmp_pd(sums[v], bound, _CMP_LE_OQ));
            if (_mm256_testz_pd(any, any)) return 0;
        }
    }
    for (int v = 0; v < VECTORS; ++v) {
        _mm256_storeu_pd(sum + v * LANES, sums[v]);
        within |= (uint32_t)_mm256_movemask_pd(_mm256_cmp_pd(sums[v], bound, _CMP_LE_OQ))
                  << v * LANES;
    }
    return within;
}
#else
#define ND_POINTS(name, scalar)                                                                    \
    ND_FN uint32_t name(const scalar *row, const scalar *point, uint32_t dims, scalar limit,       \
                        scalar sum[LEAF_POINTS]) {                                                 \
        uint32_t within = 0;                                                                       \
        for (int i = 0; i < LEAF_POINTS; ++i) sum[i] = 0;                                          \
        for (uint32_t axis = 0; axis < dims; ++axis, row += LEAF_POINTS)                           \
            for (int i = 0; i < LEAF_POINTS; ++i)                                                  \
                sum[i] = sum[i] + (point[axis] - row[i]) * (point[axis] - row[i]);                 \
        for (int i = 0; i < LEAF_POINTS; ++i) within |= (uint32_t)(sum[i] <= limit) << i;          \
        return within;                                                                             \
    }
ND_POINTS(nd_points_float, float)
ND_POINTS(nd_points_double, double)
#endif

/* Of up to LEAF_GROUP answers: the sorted list is in registers. */
ND_FN void nd_take(nd_query *query, bool wide, const double sum[LEAF_POINTS],
                   const float narrow[LEAF_POINTS], const uint32_t *ids, uint32_t within) {
    const uint32_t last = query->k - 1;
    if (wide)
        doubles_nearest_take(&query->wide, sum, ids, within);
    else
        lanes_nearest_take(&query->narrow, narrow, ids, within);
    query->count += (uint32_t)__builtin_popcount(within);
    if (query->count < query->k) return;
    query->bound2 = wide ? query->wide.dist2[last]
                         : (double)float_from_bits((uint32_t)query->narrow.dist2[last]);
    query->bound_id = (uint32_t)(wide ? query->wide.id[last] : (int64_t)query->narrow.id[last]);
    nd_bind(query);
}

ND_FN void nd_visit(nd_query *query, uint32_t leaf, uint32_t dims, bool wide) {
    const leafindex_nd *index = query->index;
    const uint64_t at = (uint64_t)leaf * dims * LEAF_POINTS;
    const uint32_t *ids = index->ids + leaf * (uint64_t)LEAF_POINTS;
    double sum[LEAF_POINTS];
    float narrow[LEAF_POINTS];
    uint32_t within =
        wide ? nd_points_double((const double *)index->coordinates + at,
                                (const double *)query->point, dims, query->bound2, sum)
             : nd_points_float((const float *)index->coordinates + at, (const float *)query->point,
                               dims, query->limit, narrow);
    if (!within) return;
    if (nd_has_lanes(query)) {
        nd_take(query, wide, sum, narrow, ids, within);
        return;
    }
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        const double dist2 = wide ? sum[i] : (double)narrow[i];
        if (dist2 <= query->bound2) nd_offer(query, dist2, ids[i]);
    }
    if (!query->k && !query->visitor) return;
    if (query->k && query->count >= query->k)
        query->bound_id = query->out[query->k <= NEIGHBOUR_ND_LIST_MAX ? query->k - 1 : 0].id;
    nd_bind(query);
}

/* See leaf_walk. */
ND_FN void nd_walk_of(nd_query *query, uint32_t dims, bool wide) {
    const leafindex_nd *index = query->index;
    const leaf_shape *shape = &index->shape;
    if (shape->levels == 0) {
        nd_visit(query, 0, dims, wide);
        return;
    }
    lanes_set kept[LEAF_LEVELS_MAX];
    float sums[LEAF_LEVELS_MAX][LEAF_GROUP];
    int32_t kept_least[LEAF_LEVELS_MAX];
    uint32_t level = 0, group = 0;
    lanes_set here =
        lanes_set_limit(nd_boxes(query, index->boxes, dims, wide, sums[0]), shape->root_children);
    int32_t least = lanes_set_least(here);
    for (;;) {
        if ((least & ~7) > query->raised) {
            if (level == 0) return;
            --level;
            group /= LEAF_GROUP;
            here = kept[level];
            least = kept_least[level];
            continue;
        }
        const uint32_t lane = (uint32_t)least & 7, child = group * LEAF_GROUP + lane;
        const int32_t nearest = least;
        here = lanes_set_strike(here, least);
        least = lanes_set_least(here);         /* ready when it is asked for */
        if ((nearest | 7) >= query->lowered) { /* about as far as the bound: who ties? */
            const double dist2 =
                wide ? nd_box_dist2(query, group_boxes(index, level, group), lane, dims)
                     : (double)sums[level][lane];
            if (dist2 > query->bound2 ||
                (dist2 == query->bound2 && *least_id_at(index, level, child) > query->bound_id))
                continue;
        }
        if (level + 1 == shape->levels) {
            nd_visit(query, child, dims, wide);
            continue;
        }
        kept[level] = here;
        kept_least[level] = least;
        group = child;
        ++level;
        here = nd_boxes(query, group_boxes(index, level, group), dims, wide, sums[level]);
        least = lanes_set_least(here);
    }
}

#define ND_WALK(dims)                                                                              \
    case dims:                                                                                     \
        if (wide)                                                                                  \
            nd_walk_of(query, dims, true);                                                         \
        else                                                                                       \
            nd_walk_of(query, dims, false);                                                        \
        return;

static void nd_walk(nd_query *query) {
    const bool wide = query->index->scalar == POINT_DOUBLE;
    if (query->index->shape.count == 0) return;
    switch (query->index->dims) {
        ND_WALK(4)
        ND_WALK(5)
        ND_WALK(6)
        ND_WALK(7)
        ND_WALK(8)
    default: nd_walk_of(query, query->index->dims, wide); return; /* other rooms take fewer */
    }
}

/* The lists of lanes, empty. */
static void nd_lanes_open(nd_query *query) {
    for (uint32_t lane = 0; lane < LEAF_GROUP; ++lane) {
        query->narrow.dist2[lane] = LANE_NEVER;
        query->narrow.id[lane] = 0;
        query->wide.dist2[lane] = (double)INFINITY;
        query->wide.id[lane] = INT64_MAX;
    }
}

static uint32_t nd_lanes_close(nd_query *query) {
    const bool wide = query->index->scalar == POINT_DOUBLE;
    if (query->count > query->k) query->count = query->k;
    for (uint32_t i = 0; i < query->count; ++i) {
        query->out[i].dist2 =
            wide ? query->wide.dist2[i] : (double)float_from_bits((uint32_t)query->narrow.dist2[i]);
        query->out[i].id = (uint32_t)(wide ? query->wide.id[i] : (int64_t)query->narrow.id[i]);
        query->out[i].node = KD_NONE;
    }
    return query->count;
}

uint32_t leafindex_nd_nearest_k(const leafindex_nd *index, const void *point, uint32_t k,
                                double bound2, neighbour_nd *out) {
    if (k == 0) return 0;
    nd_query query;
    query_open(&query, index, point, bound2, out);
    query.k = k;
    if (nd_has_lanes(&query)) nd_lanes_open(&query);
    nd_walk(&query);
    if (nd_has_lanes(&query)) return nd_lanes_close(&query);
    neighbour_nd_finish(out, query.count, k);
    return query.count;
}

uint32_t leafindex_nd_within(const leafindex_nd *index, const void *point, double bound2,
                             uint32_t capacity, neighbour_nd *out) {
    nd_query query;
    query_open(&query, index, point, bound2, out);
    query.capacity = capacity;
    nd_walk(&query);
    return query.count;
}

void leafindex_nd_tell(const leafindex_nd *index, const void *point, point_visitor *to) {
    nd_query query;
    query_open(&query, index, point, to->bound, NULL);
    query.visitor = to;
    nd_walk(&query);
}

/* Traversal of the index of leaf_index.h, written as a template over the scalar: leaf_index_query.c
   includes this file with LEAF_REAL, LEAF_ANSWER, LEAF_WIDE (1 for doubles) and LEAF(name) defined.
   `dims` is a compile-time constant in the copies for three and four axes, `metric` in all.
   Invariants: for doubles a box is rounded outwards to floats and a query to the two
               neighbouring floats, both relative to the frame of the group, if it has one. The sum
   of at most eight squares of floats has a relative error below 2^-19, so a box farther than the
   bound times (1 + 2^-18) contains no result. A box whose distance is close to the bound is tested
   again in the points' scalar, rounded in the same order as a point's distance, hence never above
   that of a point in the box. */

typedef struct LEAF(query) {
    const leafindex *index;
    LEAF_REAL at[POINT_DIMS_MAX];
    /* if the metric is periodic: the periods, INFINITY for none, and as used for boxes */
    LEAF_REAL period[POINT_DIMS_MAX];
    float box_period[POINT_DIMS_MAX];
    uint32_t metric; /* leaf_metric_of */
#if LEAF_WIDE
    float below[POINT_DIMS_MAX], above[POINT_DIMS_MAX]; /* the floats around `at` */
    neighbour_nd *out;
    doubles_nearest nearest; /* up to NEAREST_MAX results */
#else
    uint64_t *out;
    lanes_nearest nearest;
#ifdef LANES_512
    uint64_t list[LANES_KEYS_MAX]; /* up to LANES_KEYS_MAX results */
#endif
#endif
    LEAF_REAL bound2;
    /* at distance bound2 only points with an id up to this one are results */
    uint32_t bound_id;
    /* bits of a float: boxes farther than this contain no result */
    int32_t raised;
    /* bits of a float: boxes nearer than this are certainly nearer than the bound */
    int32_t lowered;
    uint32_t k, capacity, count;
    point_visitor *visitor;
} LEAF(query);

/* Updates the results with the points of a bucket. The kind of visit, `visit`, is a compile-time
   constant for up to four axes. */
LANES_FN void LEAF(visit)(LEAF(query) * query, const leaf_points *leaf, uint32_t dims,
                          uint32_t metric, leaf_visit visit);

LANES_FN void LEAF(bind)(LEAF(query) * query, LEAF_REAL bound2, uint32_t id) {
    query->bound2 = bound2;
    query->bound_id = id;
#if LEAF_WIDE
    const float raised = (float)(bound2 * (1 + 0x1p-18)), lowered = (float)(bound2 * (1 - 0x1p-18));
    query->raised = (int32_t)float_bits(bound2 < 0 ? -1.0f : float_max(raised, UNDERFLOWN));
    query->lowered = (int32_t)float_bits(lowered > UNDERFLOWN ? lowered : 0);
#else
    query->raised = query->lowered = (int32_t)float_bits(bound2);
#endif
}

/* Box distances of floats are exact; those of doubles are computed from bounds, whose errors are a
   small part of the largest difference. */
LANES_FN void LEAF(set_metric)(LEAF(query) * query, const point_metric *metric) {
    query->metric = leaf_metric_of(metric);
    if (!(query->metric & LEAF_PERIODIC)) return;
    for (uint32_t axis = 0; axis < POINT_DIMS_MAX; ++axis) {
        const bool is_periodic = axis < query->index->dims && metric->period[axis] > 0;
        query->period[axis] = is_periodic ? (LEAF_REAL)metric->period[axis] : (LEAF_REAL)INFINITY;
#if LEAF_WIDE
        query->box_period[axis] =
            is_periodic ? rounded_down(metric->period[axis] * (1 - 0x1p-20)) : INFINITY;
#else
        query->box_period[axis] = query->period[axis];
#endif
    }
}

LANES_FN void LEAF(open)(LEAF(query) * query, const leafindex *index, const point_metric *metric,
                         const LEAF_REAL *at, LEAF_REAL bound2) {
    query->index = index;
    LEAF(set_metric)(query, metric);
    query->at[0] = at[0];
    query->at[1] = index->dims > 1 ? at[1] : 0;
    query->at[2] = index->dims > 2 ? at[2] : 0;
    for (uint32_t axis = 3; axis < index->dims; ++axis) query->at[axis] = at[axis];
#if LEAF_WIDE
    for (uint32_t axis = 0; axis < index->columns; ++axis) {
        query->below[axis] = rounded_down(query->at[axis]);
        query->above[axis] = rounded_up(query->at[axis]);
    }
#endif
    query->count = 0;
    LEAF(bind)(query, bound2, KD_NONE);
}

/* --- one bucket ----------------------------------------------------------------------------- */

LANES_FN uint32_t LEAF(points)(const LEAF(query) * query, const leaf_points *leaf, uint32_t dims,
                               uint32_t metric, LEAF_REAL dist2[LEAF_POINTS]) {
    if (metric != LEAF_EUCLID)
        return LEAF(metric_points)(leaf, query->at, query->period, dims, query->bound2, metric,
                                   dist2);
#if LEAF_WIDE
    return doubles_points(leaf, query->at, dims, query->bound2, query->bound_id, dist2);
#else
    return lanes_points(leaf, query->at, dims, query->bound2, dist2);
#endif
}

/* The functions below update the results with the points of a bucket whose bits are set in
   `within`; at least one is set, and all of them are within the bound. */

/* k = 1: the bound itself is the result. */
LANES_FN void LEAF(take_closest)(LEAF(query) * query, const leaf_points *leaf,
                                 const LEAF_REAL dist2[LEAF_POINTS], uint32_t within) {
    LEAF_REAL best = query->bound2;
    uint32_t id = query->bound_id;
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        if (dist2[i] > best || (dist2[i] == best && leaf->id[i] > id)) continue;
        best = dist2[i];
        id = leaf->id[i];
        query->count = 1;
    }
    LEAF(bind)(query, best, id);
}

/* Keeps up to eight results sorted in registers. */
LANES_FN void LEAF(take_nearest)(LEAF(query) * query, const leaf_points *leaf,
                                 const LEAF_REAL dist2[LEAF_POINTS], uint32_t within) {
    const uint32_t last = query->k - 1;
#if LEAF_WIDE
    doubles_nearest_take(&query->nearest, dist2, leaf->id, within);
#else
    lanes_nearest_take(&query->nearest, dist2, leaf->id, within);
#endif
    query->count += (uint32_t)__builtin_popcount(within);
    if (query->count < query->k) return;
#if LEAF_WIDE
    LEAF(bind)(query, query->nearest.dist2[last], (uint32_t)query->nearest.id[last]);
#else
    LEAF(bind)
    (query, float_from_bits((uint32_t)query->nearest.dist2[last]),
     (uint32_t)query->nearest.id[last]);
#endif
}

LANES_FN void LEAF(take_within)(LEAF(query) * query, const leaf_points *leaf,
                                const LEAF_REAL dist2[LEAF_POINTS], uint32_t within) {
    for (; within; within &= within - 1, ++query->count) {
        const int i = __builtin_ctz(within);
        if (query->count < query->capacity)
            query->out[query->count] = LEAF(answer)(dist2[i], leaf->id[i]);
    }
}

LANES_FN void LEAF(take_report)(LEAF(query) * query, const leaf_points *leaf,
                                const LEAF_REAL dist2[LEAF_POINTS], uint32_t within) {
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        point_visitor_call(query->visitor, leaf->id[i], (double)dist2[i]);
    }
    LEAF(bind)(query, LEAF(visitor_bound)(query->visitor), KD_NONE);
}

/* --- the traversal -------------------------------------------------------------------------- */

/* Traversal stack: for each level above the current one the children not visited yet, and the
   nearest of them. */
typedef struct LEAF(path) {
    lanes_set kept[LEAF_LEVELS_MAX];
    int32_t kept_min[LEAF_LEVELS_MAX];
} LEAF(path);

LANES_FN const float *LEAF(sides)(const leafindex *index, uint32_t level, uint32_t group,
                                  uint32_t dims) {
    const uint64_t at = index->shape.level_begin[level] + group;
    return index->boxes + at * dims * 2 * LEAF_GROUP;
}

#if LEAF_WIDE
/* Computes floats below and above the query relative to a frame: their distance covers the rounding
   of the difference and of the floats, denormal ones included. */
LANES_FN void LEAF(reframe)(const LEAF(query) * query, const double *frame, uint32_t dims,
                            float *below, float *above) {
    for (uint32_t axis = 0; axis < dims; ++axis) {
        const double d = query->at[axis] - frame[axis], margin = fabs(d) * 0x1p-22 + 0x1p-140;
        below[axis] = (float)(d - margin);
        above[axis] = (float)(d + margin);
    }
}
#endif

LANES_FN lanes_set LEAF(group_lanes)(const LEAF(query) * query, uint32_t level, uint32_t group,
                                     uint32_t dims, uint32_t metric) {
#if LEAF_WIDE
    float framed[2][POINT_DIMS_MAX];
    const double *frame = leafindex_frame(query->index, level, group);
    const float *below = frame ? framed[0] : query->below;
    const float *above = frame ? framed[1] : query->above;
    if (frame) LEAF(reframe)(query, frame, dims, framed[0], framed[1]);
#else
    const float *below = query->at, *above = query->at;
#endif
    const leafindex *index = query->index;
    const float *sides = LEAF(sides)(index, level, group, dims);
    const lanes_set all = metric == LEAF_EUCLID
                              ? lanes_of_boxes(sides, below, above, dims)
                              : metric_boxes(sides, below, above, query->box_period, dims, metric);
    return level == 0 ? lanes_set_limit(all, index->shape.root_children) : all;
}

/* Exact test of a child box near the bound. Returns whether it contains no result: its least
   possible dist2 exceeds the bound, or equals it and all ids in the box are greater than the
   bound's. */
LANES_FN bool LEAF(is_behind)(const LEAF(query) * query, uint32_t level, uint32_t group,
                              uint32_t lane, uint32_t dims, uint32_t metric) {
    const leafindex *index = query->index;
    const float *sides = LEAF(sides)(index, level, group, dims) + lane;
    LEAF_REAL sum = 0;
#if LEAF_WIDE
    const double *frame = leafindex_frame(index, level, group);
#endif
    for (uint32_t axis = 0; axis < dims; ++axis, sides += 2 * LEAF_GROUP) {
        LEAF_REAL low = query->at[axis], high = low;
#if LEAF_WIDE
        if (frame) difference_bounds(low, frame[axis], &low, &high);
#endif
        const LEAF_REAL under = (LEAF_REAL)sides[0] - high;
        const LEAF_REAL over = low - (LEAF_REAL)sides[LEAF_GROUP];
        const LEAF_REAL period = metric & LEAF_PERIODIC ? query->period[axis] : (LEAF_REAL)INFINITY;
        sum = LEAF(metric_join)(sum, LEAF(metric_outside)(under, over, period, metric), metric);
    }
    if (sum != query->bound2) return sum > query->bound2;
    const uint64_t at = (uint64_t)(index->shape.level_begin[level] + group) * LEAF_GROUP + lane;
    return index->min_ids[at] > query->bound_id;
}

/* Starts a search at the hint instead of the root: returns the deepest group on the path to the
   last-level group `near` whose box contains the query, and its level in *level. The path's
   stack receives the other children of the groups above. The levels are independent of each
   other, so their latencies overlap. */
LANES_FN uint32_t LEAF(path_begin)(LEAF(path) * path, const LEAF(query) * query, uint32_t near,
                                   uint32_t dims, uint32_t metric, uint32_t *level) {
    const uint32_t last = query->index->shape.levels - 1;
    uint32_t start = 0;
    for (uint32_t above = 0; above < last; ++above) {
        const uint32_t child = near >> 3 * (last - 1 - above), lane = child % LEAF_GROUP;
        const lanes_set all = LEAF(group_lanes)(query, above, child / LEAF_GROUP, dims, metric);
        const int32_t still_open = lanes_set_at(all, lane);
        path->kept[above] = lanes_set_strike(all, still_open);
        path->kept_min[above] = lanes_set_min(path->kept[above]);
        if (still_open < LEAF_GROUP) start = above + 1; /* the child's box contains the query */
    }
    *level = start;
    return near >> 3 * (last - start);
}

/* Visits each bucket whose box is within the bound, nearest first; the bound may shrink meanwhile.
   The distances of the eight children of each level on the path stay in registers, and visited
   children are removed from these: writing one lane to memory and reading the vector back would
   stall on the store. */
LANES_FN void LEAF(walk_of)(LEAF(query) * query, leaf_visit visitor, uint32_t *near, uint32_t dims,
                            uint32_t metric) {
    const leafindex *index = query->index;
    if (index->shape.count == 0) return;
    if (index->shape.levels == 0) {
        const leaf_points leaf = leafindex_bucket(index, 0);
        LEAF(visit)(query, &leaf, dims, metric, visitor);
        return;
    }
    LEAF(path) path;
    uint32_t level = 0,
             group = near ? LEAF(path_begin)(&path, query, *near, dims, metric, &level) : 0;
    lanes_set dist2 = LEAF(group_lanes)(query, level, group, dims, metric);
    int32_t minimum = lanes_set_min(dist2);
    for (;;) {
        if ((minimum & ~7) > query->raised) {
            if (level == 0) return;
            --level;
            group /= LEAF_GROUP;
            dist2 = path.kept[level];
            minimum = path.kept_min[level];
            continue;
        }
        const uint32_t lane = (uint32_t)minimum & 7, child = group * LEAF_GROUP + lane;
        const int32_t nearest = minimum;
        dist2 = lanes_set_strike(dist2, minimum);
        minimum = lanes_set_min(dist2); /* computed early to hide its latency */
        if ((nearest | 7) >= query->lowered &&
            LEAF(is_behind)(query, level, group, lane, dims, metric)) /* too close to the bound to
                                                                 decide from the float distance */
            continue;
        if (level + 1 == index->shape.levels) {
            if (near) *near = group;
            near = NULL; /* only the first bucket visited, the nearest, sets the hint */
            const leaf_points leaf = LEAF(bucket)(index, child, dims);
            LEAF(visit)(query, &leaf, dims, metric, visitor);
            continue;
        }
        path.kept[level] = dist2;
        path.kept_min[level] = minimum;
        group = child;
        ++level;
        dist2 = LEAF(group_lanes)(query, level, group, dims, metric);
        minimum = lanes_set_min(dist2);
    }
}

/* Traversal for five to eight axes: one copy per number of axes. `visitor` is not a constant here,
   which would multiply the copies. With many axes, consecutive queries are seldom near each other.
 */
static void LEAF(walk_many)(LEAF(query) * query, leaf_visit visitor) {
    switch (query->index->columns) {
    case 5: LEAF(walk_of)(query, visitor, NULL, 5, LEAF_EUCLID); break;
    case 6: LEAF(walk_of)(query, visitor, NULL, 6, LEAF_EUCLID); break;
    case 7: LEAF(walk_of)(query, visitor, NULL, 7, LEAF_EUCLID); break;
    case 8: LEAF(walk_of)(query, visitor, NULL, 8, LEAF_EUCLID); break;
    }
}

/* Traversal in other norms and in periodic space. */
#define LEAF_METRIC(metric)                                                                        \
    case metric:                                                                                   \
        if (dims == 3)                                                                             \
            LEAF(walk_of)(query, visitor, near, 3, metric);                                        \
        else                                                                                       \
            LEAF(walk_of)(query, visitor, NULL, dims, metric);                                     \
        break;
static void LEAF(walk_metric)(LEAF(query) * query, leaf_visit visitor, uint32_t *near) {
    const uint32_t dims = query->index->columns;
    switch (query->metric) {
        LEAF_METRIC(LEAF_PERIODIC)
        LEAF_METRIC(LEAF_NORM_1)
        LEAF_METRIC(LEAF_NORM_1 | LEAF_PERIODIC)
        LEAF_METRIC(LEAF_NORM_MAX)
        LEAF_METRIC(LEAF_NORM_MAX | LEAF_PERIODIC)
    }
}
#undef LEAF_METRIC

LANES_FN void LEAF(walk)(LEAF(query) * query, leaf_visit visitor, uint32_t *near) {
    const uint32_t dims = query->index->columns;
    if (query->metric != LEAF_EUCLID)
        LEAF(walk_metric)(query, visitor, near);
    else if (dims == 3)
        LEAF(walk_of)(query, visitor, near, 3, LEAF_EUCLID);
    else if (dims == 4)
        LEAF(walk_of)(query, visitor, NULL, 4, LEAF_EUCLID);
    else
        LEAF(walk_many)(query, visitor);
}

static uint32_t LEAF(find_within)(const leafindex *index, const point_metric *metric,
                                  const LEAF_REAL *at, LEAF_REAL bound2, uint32_t capacity,
                                  LEAF_ANSWER *out) {
    LEAF(query) query;
    LEAF(open)(&query, index, metric, at, bound2);
    query.capacity = capacity;
    query.out = out;
    LEAF(walk)(&query, VISIT_WITHIN, NULL);
    return query.count;
}

static void LEAF(report)(const leafindex *index, const point_metric *metric, const LEAF_REAL *at,
                         point_visitor *visitor) {
    LEAF(query) query;
    LEAF(open)(&query, index, metric, at, LEAF(visitor_bound)(visitor));
    query.visitor = visitor;
    LEAF(walk)(&query, VISIT_REPORT, NULL);
}

/* The search of leaf_index.h, for one kind of scalar: included by leaf_index_query.c with
   LEAF_REAL, LEAF_WIDE (1: doubles) and LEAF(name) defined. `dims` is a constant in the copies for
   three.
   Invariants: of doubles a box is rounded outwards to floats, a query to the two floats around it,
               and the sum of at most eight squares of floats is off by less than 2^-19 of itself:
               what is farther than the bound raised by 2^-18 has no answer. What is nearly as far
   as the bound is asked in the points' scalar, rounded in the order of a point's distance, hence
   never above that of a point in the box. */

typedef struct LEAF(query) {
    const leafindex *index;
    LEAF_REAL at[POINT_DIMS_MAX];
#if LEAF_WIDE
    float below[POINT_DIMS_MAX], above[POINT_DIMS_MAX]; /* the floats around it */
    neighbour_nd *out;
    doubles_nearest nearest; /* of up to NEAREST_MAX answers */
#else
    uint64_t *out;
    lanes_nearest nearest;
#ifdef LANES_512
    uint64_t list[LANES_KEYS_MAX]; /* of more, of up to as many */
#endif
#endif
    LEAF_REAL bound2;
    uint32_t bound_id; /* an answer as far as the bound has no larger one */
    int32_t raised;    /* bits of a float: boxes farther than this have no answer, ... */
    int32_t lowered;   /* ... those nearer than this are surely nearer than the bound */
    uint32_t k, capacity, count;
    point_visitor *visitor;
} LEAF(query);

/* Takes in a bucket, in one of these ways; `how` is a constant. */
LANES_FN void LEAF(visit)(LEAF(query) * query, const leaf_points *leaf, uint32_t dims,
                          leaf_visit how);

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

LANES_FN void LEAF(open)(LEAF(query) * query, const leafindex *index, const LEAF_REAL *at,
                         LEAF_REAL bound2) {
    query->index = index;
    for (uint32_t axis = 0; axis < LEAF_COLUMNS_LEAST; ++axis) query->at[axis] = 0;
    for (uint32_t axis = 0; axis < index->dims; ++axis) query->at[axis] = at[axis];
#if LEAF_WIDE
    for (uint32_t axis = 0; axis < index->columns; ++axis) {
        query->below[axis] = rounded_down(query->at[axis]);
        query->above[axis] = rounded_up(query->at[axis]);
    }
#endif
    query->count = 0;
    LEAF(bind)(query, bound2, KD_NONE);
}

/* --- one bucket ------------------------------------------------------------------------------- */

LANES_FN uint32_t LEAF(points)(const LEAF(query) * query, const leaf_points *leaf, uint32_t dims,
                               LEAF_REAL dist2[LEAF_POINTS]) {
#if LEAF_WIDE
    return doubles_points(leaf, query->at, dims, query->bound2, query->bound_id, dist2);
#else
    return lanes_points(leaf, query->at, dims, query->bound2, dist2);
#endif
}

/* Up to eight answers, in order, in registers. */
LANES_FN void LEAF(visit_nearest)(LEAF(query) * query, const leaf_points *leaf, uint32_t dims) {
    _Alignas(32) LEAF_REAL dist2[LEAF_POINTS];
    const uint32_t within = LEAF(points)(query, leaf, dims, dist2), last = query->k - 1;
    if (!within) return;
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

LANES_FN void LEAF(visit_within)(LEAF(query) * query, const leaf_points *leaf, uint32_t dims) {
    _Alignas(32) LEAF_REAL dist2[LEAF_POINTS];
    uint32_t within = LEAF(points)(query, leaf, dims, dist2);
    for (; within; within &= within - 1, ++query->count) {
        const int i = __builtin_ctz(within);
        if (query->count < query->capacity)
            query->out[query->count] = LEAF(answer)(dist2[i], leaf->id[i]);
    }
}

LANES_FN void LEAF(visit_tell)(LEAF(query) * query, const leaf_points *leaf, uint32_t dims) {
    _Alignas(32) LEAF_REAL dist2[LEAF_POINTS];
    uint32_t within = LEAF(points)(query, leaf, dims, dist2);
    if (!within) return;
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        point_visitor_tell(query->visitor, leaf->id[i], (double)dist2[i]);
    }
    LEAF(bind)(query, LEAF(visitor_bound)(query->visitor), KD_NONE);
}

/* --- the walk --------------------------------------------------------------------------------- */

/* What is left to visit on the way down: of each level the children not visited yet, and the
   nearest of them. */
typedef struct LEAF(path) {
    lanes_set kept[LEAF_LEVELS_MAX];
    int32_t kept_least[LEAF_LEVELS_MAX];
} LEAF(path);

LANES_FN const float *LEAF(sides)(const leafindex *index, uint32_t level, uint32_t group,
                                  uint32_t dims) {
    const uint64_t at = index->shape.level_begin[level] + group;
    return index->boxes + at * dims * 2 * LEAF_GROUP;
}

LANES_FN lanes_set LEAF(group_lanes)(const LEAF(query) * query, uint32_t level, uint32_t group,
                                     uint32_t dims) {
#if LEAF_WIDE
    const float *below = query->below, *above = query->above;
#else
    const float *below = query->at, *above = query->at;
#endif
    const leafindex *index = query->index;
    const lanes_set all =
        lanes_of_boxes(LEAF(sides)(index, level, group, dims), below, above, dims);
    return level == 0 ? lanes_set_limit(all, index->shape.root_children) : all;
}

/* The least dist2 that a point in a child's box can have, and, of those as far, the least id: has
   it no answer? */
LANES_FN bool LEAF(is_behind)(const LEAF(query) * query, uint32_t level, uint32_t group,
                              uint32_t lane, uint32_t dims) {
    const leafindex *index = query->index;
    const float *sides = LEAF(sides)(index, level, group, dims) + lane;
    LEAF_REAL sum = 0;
    for (uint32_t axis = 0; axis < dims; ++axis, sides += 2 * LEAF_GROUP) {
        const LEAF_REAL under = (LEAF_REAL)sides[0] - query->at[axis];
        const LEAF_REAL over = query->at[axis] - (LEAF_REAL)sides[LEAF_GROUP];
        const LEAF_REAL outside = under > over ? under : over, d = outside > 0 ? outside : 0;
        sum = sum + d * d;
    }
    if (sum != query->bound2) return sum > query->bound2;
    const uint64_t at = (uint64_t)(index->shape.level_begin[level] + group) * LEAF_GROUP + lane;
    return index->least_ids[at] > query->bound_id;
}

/* The deepest group on the way to `near`, of the last level, in whose box the query lies; the path
   is what is left beside this way. No step waits for the one before. */
LANES_FN uint32_t LEAF(path_begin)(LEAF(path) * path, const LEAF(query) * query, uint32_t near,
                                   uint32_t dims, uint32_t *level) {
    const uint32_t last = query->index->shape.levels - 1;
    uint32_t start = 0;
    for (uint32_t above = 0; above < last; ++above) {
        const uint32_t child = near >> 3 * (last - 1 - above), lane = child % LEAF_GROUP;
        const lanes_set all = LEAF(group_lanes)(query, above, child / LEAF_GROUP, dims);
        const int32_t on_way = lanes_set_at(all, lane);
        path->kept[above] = lanes_set_strike(all, on_way);
        path->kept_least[above] = lanes_set_least(path->kept[above]);
        if (on_way < LEAF_GROUP) start = above + 1; /* a distance of 0 */
    }
    *level = start;
    return near >> 3 * (last - start);
}

/* Visits every leaf whose box is within the bound, which may shrink meanwhile. Per level the
   distances of eight boxes are kept, and those visited are struck out: in registers, as a vector
   read back where a lane has just been written waits for the store. */
LANES_FN void LEAF(walk_of)(LEAF(query) * query, leaf_visit how, uint32_t *near, uint32_t dims) {
    const leafindex *index = query->index;
    if (index->shape.count == 0) return;
    if (index->shape.levels == 0) {
        const leaf_points leaf = leafindex_bucket(index, 0);
        LEAF(visit)(query, &leaf, dims, how);
        return;
    }
    LEAF(path) path;
    uint32_t level = 0, group = near ? LEAF(path_begin)(&path, query, *near, dims, &level) : 0;
    lanes_set here = LEAF(group_lanes)(query, level, group, dims);
    int32_t least = lanes_set_least(here);
    for (;;) {
        if ((least & ~7) > query->raised) {
            if (level == 0) return;
            --level;
            group /= LEAF_GROUP;
            here = path.kept[level];
            least = path.kept_least[level];
            continue;
        }
        const uint32_t lane = (uint32_t)least & 7, child = group * LEAF_GROUP + lane;
        const int32_t nearest = least;
        here = lanes_set_strike(here, least);
        least = lanes_set_least(here); /* ready when it is asked for */
        if ((nearest | 7) >= query->lowered &&
            LEAF(is_behind)(query, level, group, lane, dims)) /* about as far as the bound */
            continue;
        if (level + 1 == index->shape.levels) {
            if (near) *near = group;
            near = NULL; /* the first one is the nearest */
            const leaf_points leaf = LEAF(bucket)(index, child, dims);
            LEAF(visit)(query, &leaf, dims, how);
            continue;
        }
        path.kept[level] = here;
        path.kept_least[level] = least;
        group = child;
        ++level;
        here = LEAF(group_lanes)(query, level, group, dims);
        least = lanes_set_least(here);
    }
}

LANES_FN void LEAF(walk)(LEAF(query) * query, leaf_visit how, uint32_t *near) {
    const uint32_t dims = query->index->columns;
    if (dims == 3)
        LEAF(walk_of)(query, how, near, 3);
    else
        LEAF(walk_of)(query, how, NULL, dims); /* who has many axes is seldom where the last was */
}

static uint32_t LEAF(find_within)(const leafindex *index, const LEAF_REAL *at, LEAF_REAL bound2,
                                  uint32_t capacity, LEAF_ANSWER *out) {
    LEAF(query) query;
    LEAF(open)(&query, index, at, bound2);
    query.capacity = capacity;
    query.out = out;
    LEAF(walk)(&query, VISIT_WITHIN, NULL);
    return query.count;
}

static void LEAF(tell)(const leafindex *index, const LEAF_REAL *at, point_visitor *to) {
    LEAF(query) query;
    LEAF(open)(&query, index, at, LEAF(visitor_bound)(to));
    query.visitor = to;
    LEAF(walk)(&query, VISIT_TELL, NULL);
}

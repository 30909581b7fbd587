/* Source and idea: see leaf_index.c and leaf_index_query.c.
   Invariants: a box is rounded outwards to floats, a query to the two floats around it, and the sum
   of three squares of floats is off by less than 2^-19 of itself: what is farther than the bound
   raised by 2^-18 has no answer. What is nearly as far as the bound is asked in double, rounded in
   the order of a point's distance, hence never above that of a point in the box. */
#include "points/neighbours/leaf_index_double.h"
#include "core/large_pages.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

enum { NEAREST_MAX = LEAF_GROUP, LANES = 4 };

typedef struct index_work {
    const pointtree_nd_view *tree;
    leafindex_double *out;
} index_work;

/* The least and the largest of a column; a bucket that is not full has its first point again. */
static inline void column_ends(const double x[LEAF_POINTS], double *lo, double *hi) {
    double least[LANES], most[LANES];
    for (int lane = 0; lane < LANES; ++lane) least[lane] = most[lane] = x[lane];
    for (int i = LANES; i < LEAF_POINTS; i += LANES)
        for (int lane = 0; lane < LANES; ++lane) {
            least[lane] = x[i + lane] < least[lane] ? x[i + lane] : least[lane];
            most[lane] = x[i + lane] > most[lane] ? x[i + lane] : most[lane];
        }
    *lo = least[0];
    *hi = most[0];
    for (int lane = 1; lane < LANES; ++lane) {
        *lo = least[lane] < *lo ? least[lane] : *lo;
        *hi = most[lane] > *hi ? most[lane] : *hi;
    }
}

static inline __attribute__((always_inline)) void
fill_bucket_of(uint32_t dims, const index_work *work, uint32_t s) {
    const pointtree_nd_view *tree = work->tree;
    leaf_doubles *leaf = &work->out->leaves[s];
    double *const columns[3] = {leaf->x, leaf->y, leaf->z};
    uint32_t nodes[LEAF_POINTS], least_id = KD_NONE;
    const uint32_t filled = leaf_members(&work->out->shape, s, nodes);
    box3 box;
    for (uint32_t i = 0; i < LEAF_POINTS; ++i) {
        const uint64_t node = nodes[i < filled ? i : 0];
        const double *from = (const double *)tree->coordinates + node * dims;
        for (uint32_t axis = 0; axis < 3; ++axis) columns[axis][i] = axis < dims ? from[axis] : 0;
        leaf->id[i] = i < filled ? tree->ids[node] : KD_NONE;
        least_id = leaf->id[i] < least_id ? leaf->id[i] : least_id;
    }
    for (uint32_t axis = 0; axis < 3; ++axis) {
        double lo, hi;
        column_ends(columns[axis], &lo, &hi);
        vec3_set_axis(&box.lo, (int)axis, rounded_down(lo));
        vec3_set_axis(&box.hi, (int)axis, rounded_up(hi));
        for (uint32_t i = filled; i < LEAF_POINTS; ++i) columns[axis][i] = (double)NAN;
    }
    const leaf_shape *shape = &work->out->shape;
    if (shape->levels)
        leaf_group_set(work->out->groups, shape, shape->levels - 1, s, &box, least_id);
}

static void fill_bucket(const index_work *work, uint32_t s) {
    if (work->tree->dims == 3)
        fill_bucket_of(3, work, s);
    else
        fill_bucket_of(work->tree->dims, work, s);
}

static void fill_buckets(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    for (int64_t s = begin; s < end; ++s) fill_bucket((const index_work *)context, (uint32_t)s);
}

kd_status leafindex_double_open(leafindex_double *out, const pointtree_nd_view *tree) {
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    out->shape = leaf_shape_of(tree->count);
    if (tree->count == 0) return KD_OK;
    assert(tree->scalar == POINT_DOUBLE && tree->dims <= 3);
    index_work work = {tree, out};
    KD_TRY_GOTO(KD_RESERVE(out->leaves, out->shape.leaf_count));
    KD_TRY_GOTO(KD_RESERVE(out->groups, out->shape.groups));
    large_pages_prefer(out->leaves, out->shape.leaf_count * sizeof *out->leaves);
    large_pages_prefer(out->groups, out->shape.groups * sizeof *out->groups);
    memset(out->groups, 0, out->shape.groups * sizeof *out->groups);
    parallel_for(out->shape.leaf_count, 512, fill_buckets, &work);
    leaf_groups_fill(out->groups, &out->shape);
done:
    if (status != KD_OK) leafindex_double_close(out);
    return status;
}

void leafindex_double_close(leafindex_double *owned) {
    memory_free(owned->leaves);
    memory_free(owned->groups);
    memset(owned, 0, sizeof *owned);
}

uint64_t leafindex_double_bytes(const leafindex_double *index) {
    return index->shape.leaf_count * sizeof *index->leaves +
           index->shape.groups * sizeof *index->groups;
}

typedef struct double_query {
    double at[3];
    float below[3], above[3]; /* the floats around it */
    double bound2;
    uint32_t bound_id; /* an answer as far as the bound has a smaller one */
    int32_t raised;    /* bits of a float: boxes farther than this have no answer */
    int32_t lowered;   /* boxes nearer than this are surely nearer than the bound */
    uint32_t k, capacity, count;
    neighbour_nd *out;
    point_visitor *visitor;
    doubles_nearest list;
} double_query;

/* --- lanes ---------------------------------------------------------------------------------------
 */

#ifdef __AVX2__
/* Of boxes, as lanes_of_boxes has them; a query lies between two floats. */
static inline lanes_set doubles_boxes(const leaf_group *group, const float below[3],
                                      const float above[3]) {
    __m256 sum = _mm256_setzero_ps();
    for (int axis = 0; axis < 3; ++axis) {
        const __m256 under =
            _mm256_sub_ps(_mm256_load_ps(group->lo[axis]), _mm256_set1_ps(above[axis]));
        const __m256 over =
            _mm256_sub_ps(_mm256_set1_ps(below[axis]), _mm256_load_ps(group->hi[axis]));
        const __m256 d = _mm256_max_ps(_mm256_max_ps(under, over), _mm256_setzero_ps());
        sum = _mm256_add_ps(sum, _mm256_mul_ps(d, d));
    }
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_or_si256(_mm256_andnot_si256(_mm256_set1_epi32(7), _mm256_castps_si256(sum)),
                           lanes);
}

#ifdef LANES_512
static inline uint32_t doubles_points(const leaf_doubles *leaf, const double_query *query,
                                      double dist2[LEAF_POINTS]) {
    const __m512d qx = _mm512_set1_pd(query->at[0]), qy = _mm512_set1_pd(query->at[1]);
    const __m512d qz = _mm512_set1_pd(query->at[2]), bound = _mm512_set1_pd(query->bound2);
    uint32_t within = 0, equal = 0;
    for (int i = 0; i < LEAF_POINTS; i += 8) {
        const __m512d x = _mm512_sub_pd(qx, _mm512_loadu_pd(leaf->x + i));
        const __m512d y = _mm512_sub_pd(qy, _mm512_loadu_pd(leaf->y + i));
        const __m512d z = _mm512_sub_pd(qz, _mm512_loadu_pd(leaf->z + i));
        const __m512d d = _mm512_add_pd(_mm512_add_pd(_mm512_mul_pd(x, x), _mm512_mul_pd(y, y)),
                                        _mm512_mul_pd(z, z));
        _mm512_storeu_pd(dist2 + i, d);
        within |= (uint32_t)_mm512_cmp_pd_mask(d, bound, _CMP_LE_OQ) << i;
        equal |= (uint32_t)_mm512_cmp_pd_mask(d, bound, _CMP_EQ_OQ) << i;
    }
    return within & ~(uint32_t)_mm512_mask_cmpgt_epu32_mask(
                        (__mmask16)equal, _mm512_loadu_si512((const void *)leaf->id),
                        _mm512_set1_epi32((int32_t)query->bound_id));
}
#else
static inline uint32_t doubles_points(const leaf_doubles *leaf, const double_query *query,
                                      double dist2[LEAF_POINTS]) {
    const __m256d qx = _mm256_set1_pd(query->at[0]), qy = _mm256_set1_pd(query->at[1]);
    const __m256d qz = _mm256_set1_pd(query->at[2]), bound = _mm256_set1_pd(query->bound2);
    uint32_t within = 0;
    for (int i = 0; i < LEAF_POINTS; i += LANES) {
        const __m256d x = _mm256_sub_pd(qx, _mm256_load_pd(leaf->x + i));
        const __m256d y = _mm256_sub_pd(qy, _mm256_load_pd(leaf->y + i));
        const __m256d z = _mm256_sub_pd(qz, _mm256_load_pd(leaf->z + i));
        const __m256d d = _mm256_add_pd(_mm256_add_pd(_mm256_mul_pd(x, x), _mm256_mul_pd(y, y)),
                                        _mm256_mul_pd(z, z));
        _mm256_store_pd(dist2 + i, d);
        within |= (uint32_t)_mm256_movemask_pd(_mm256_cmp_pd(d, bound, _CMP_LE_OQ)) << i;
    }
    return within;
}
#endif
#else
static inline lanes_set doubles_boxes(const leaf_group *group, const float below[3],
                                      const float above[3]) {
    lanes_set all;
    for (uint32_t lane = 0; lane < LEAF_GROUP; ++lane) {
        float sum = 0;
        for (int axis = 0; axis < 3; ++axis) {
            const float d = float_max(
                float_max(group->lo[axis][lane] - above[axis], below[axis] - group->hi[axis][lane]),
                0);
            sum = sum + d * d;
        }
        all.lane[lane] = (int32_t)((float_bits(sum) & ~7u) | lane);
    }
    return all;
}

static inline uint32_t doubles_points(const leaf_doubles *leaf, const double_query *query,
                                      double dist2[LEAF_POINTS]) {
    uint32_t within = 0;
    for (int i = 0; i < LEAF_POINTS; ++i) {
        const double x = query->at[0] - leaf->x[i], y = query->at[1] - leaf->y[i],
                     z = query->at[2] - leaf->z[i];
        dist2[i] = x * x + y * y + z * z;
        within |= (uint32_t)(dist2[i] <= query->bound2) << i;
    }
    return within;
}
#endif

/* --- queries -------------------------------------------------------------------------------------
 */

static inline void bind(double_query *query, double bound2, uint32_t id) {
    query->bound2 = bound2;
    query->bound_id = id;
    const float raised = (float)(bound2 * (1 + 0x1p-18)), lowered = (float)(bound2 * (1 - 0x1p-18));
    query->raised = (int32_t)float_bits(bound2 < 0 ? -1.0f : float_max(raised, UNDERFLOWN));
    query->lowered = (int32_t)float_bits(lowered > UNDERFLOWN ? lowered : 0);
}

static inline void query_begin(double_query *query, const double at[3], double bound2) {
    for (int axis = 0; axis < 3; ++axis) {
        query->at[axis] = at[axis];
        query->below[axis] = rounded_down(at[axis]);
        query->above[axis] = rounded_up(at[axis]);
    }
    query->count = 0;
    bind(query, bound2, KD_NONE);
}

/* The least dist2 that a point in a box can have. */
static double box_dist2(const leaf_group *group, const double at[3], uint32_t lane) {
    double d[3];
    for (int axis = 0; axis < 3; ++axis) {
        const double below = (double)group->lo[axis][lane] - at[axis];
        const double above = at[axis] - (double)group->hi[axis][lane];
        const double outside = below > above ? below : above;
        d[axis] = outside > 0 ? outside : 0;
    }
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

typedef void (*double_visit)(double_query *query, const leaf_doubles *leaf);

/* One answer: its distance and id are the bound. */
static inline void visit_closest(double_query *query, const leaf_doubles *leaf) {
    _Alignas(32) double dist2[LEAF_POINTS];
    uint32_t within = doubles_points(leaf, query, dist2);
    double best = query->bound2;
    uint32_t id = query->bound_id;
    if (!within) return;
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        if (dist2[i] > best || (dist2[i] == best && leaf->id[i] > id)) continue;
        best = dist2[i];
        id = leaf->id[i];
    }
    bind(query, best, id);
}

static inline void visit_nearest(double_query *query, const leaf_doubles *leaf) {
    _Alignas(32) double dist2[LEAF_POINTS];
    const uint32_t within = doubles_points(leaf, query, dist2);
    if (!within) return;
    doubles_nearest_take(&query->list, dist2, leaf->id, within);
    query->count += (uint32_t)__builtin_popcount(within);
    const uint32_t last = query->k - 1;
    if (query->count >= query->k)
        bind(query, query->list.dist2[last], (uint32_t)query->list.id[last]);
}

static inline void visit_many(double_query *query, const leaf_doubles *leaf) {
    _Alignas(32) double dist2[LEAF_POINTS];
    uint32_t within = doubles_points(leaf, query, dist2);
    const bool found = within != 0;
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        const neighbour_nd item = {dist2[i], leaf->id[i], KD_NONE};
        if (dist2[i] <= query->bound2)
            query->bound2 =
                neighbour_nd_offer(query->out, &query->count, query->k, item, query->bound2);
    }
    if (!found || query->count < query->k) return;
    const uint32_t last = query->k <= NEIGHBOUR_ND_LIST_MAX ? query->k - 1 : 0;
    bind(query, query->bound2, query->out[last].id);
}

static inline void visit_within(double_query *query, const leaf_doubles *leaf) {
    _Alignas(32) double dist2[LEAF_POINTS];
    uint32_t within = doubles_points(leaf, query, dist2);
    for (; within; within &= within - 1, ++query->count) {
        const int i = __builtin_ctz(within);
        const neighbour_nd item = {dist2[i], leaf->id[i], KD_NONE};
        if (query->count < query->capacity) query->out[query->count] = item;
    }
}

static inline void visit_tell(double_query *query, const leaf_doubles *leaf) {
    _Alignas(32) double dist2[LEAF_POINTS];
    uint32_t within = doubles_points(leaf, query, dist2);
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        point_visitor_tell(query->visitor, leaf->id[i], dist2[i]);
    }
    bind(query, query->visitor->bound, KD_NONE);
}

/* What is left to visit on the way down, as in leaf_index_query.c. */
typedef struct double_path {
    lanes_set kept[LEAF_LEVELS_MAX];
    int32_t kept_least[LEAF_LEVELS_MAX];
} double_path;

static inline lanes_set group_lanes(const leafindex_double *index, uint32_t level, uint32_t group,
                                    const double_query *query) {
    const lanes_set all = doubles_boxes(&index->groups[index->shape.level_begin[level] + group],
                                        query->below, query->above);
    return level == 0 ? lanes_set_limit(all, index->shape.root_children) : all;
}

static inline uint32_t path_begin(double_path *path, const leafindex_double *index,
                                  const double_query *query, uint32_t near, uint32_t *level) {
    const uint32_t last = index->shape.levels - 1;
    uint32_t start = 0;
    for (uint32_t above = 0; above < last; ++above) {
        const uint32_t child = near >> 3 * (last - 1 - above), lane = child % LEAF_GROUP;
        const lanes_set all = group_lanes(index, above, child / LEAF_GROUP, query);
        const int32_t on_way = lanes_set_at(all, lane);
        path->kept[above] = lanes_set_strike(all, on_way);
        path->kept_least[above] = lanes_set_least(path->kept[above]);
        if (on_way < LEAF_GROUP) start = above + 1; /* a distance of 0 */
    }
    *level = start;
    return near >> 3 * (last - start);
}

/* See leaf_walk in leaf_index_query.c. */
static inline __attribute__((always_inline)) void
walk(const leafindex_double *index, double_query *query, double_visit visit, uint32_t *near) {
    if (index->shape.count == 0) return;
    if (index->shape.levels == 0) {
        visit(query, &index->leaves[0]);
        return;
    }
    double_path path;
    uint32_t level = 0, group = near ? path_begin(&path, index, query, *near, &level) : 0;
    lanes_set here = group_lanes(index, level, group, query);
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
        least = lanes_set_least(here);         /* ready when it is asked for */
        if ((nearest | 7) >= query->lowered) { /* about as far as the bound: who ties? */
            const leaf_group *of = &index->groups[index->shape.level_begin[level] + group];
            const double dist2 = box_dist2(of, query->at, lane);
            if (dist2 > query->bound2 ||
                (dist2 == query->bound2 && of->least_id[lane] > query->bound_id))
                continue;
        }
        if (level + 1 == index->shape.levels) {
            if (near) *near = group;
            near = NULL; /* the first one is the nearest */
            visit(query, &index->leaves[child]);
            continue;
        }
        path.kept[level] = here;
        path.kept_least[level] = least;
        group = child;
        ++level;
        here = group_lanes(index, level, group, query);
        least = lanes_set_least(here);
    }
}

uint32_t leafindex_double_nearest_k(const leafindex_double *index, const double at[3], uint32_t k,
                                    double bound2, neighbour_nd *out, uint32_t *near) {
    if (k == 0) return 0;
    if (k > index->shape.count) k = index->shape.count;
    double_query query;
    query_begin(&query, at, bound2);
    query.k = k;
    query.out = out;
    if (k == 1) {
        walk(index, &query, visit_closest, near);
        const neighbour_nd item = {query.bound2, query.bound_id, KD_NONE};
        out[0] = item;
        return query.bound_id != KD_NONE;
    }
    if (k > NEAREST_MAX) {
        walk(index, &query, visit_many, near);
        neighbour_nd_finish(out, query.count, k);
        return query.count;
    }
    for (int lane = 0; lane < NEAREST_MAX; ++lane) {
        query.list.dist2[lane] = (double)INFINITY;
        query.list.id[lane] = INT64_MAX;
    }
    walk(index, &query, visit_nearest, near);
    const uint32_t count = query.count < k ? query.count : k;
    for (uint32_t i = 0; i < count; ++i) {
        const neighbour_nd item = {query.list.dist2[i], (uint32_t)query.list.id[i], KD_NONE};
        out[i] = item;
    }
    return count;
}

uint32_t leafindex_double_within(const leafindex_double *index, const double at[3], double bound2,
                                 uint32_t capacity, neighbour_nd *out) {
    double_query query;
    query_begin(&query, at, bound2);
    query.capacity = capacity;
    query.out = out;
    walk(index, &query, visit_within, NULL);
    return query.count;
}

void leafindex_double_tell(const leafindex_double *index, const double at[3], point_visitor *to) {
    double_query query;
    query_begin(&query, at, to->bound);
    query.visitor = to;
    walk(index, &query, visit_tell, NULL);
}

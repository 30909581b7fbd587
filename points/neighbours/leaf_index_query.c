/* Queries of the index of leaf_index.h; points/tree/walk_nd.h is the reference implementation.
   leaf_walk.h, included twice, traverses the groups; this file implements how a bucket updates the
   results, for each kind of query. */
#include "core/parallel/select_keys.h"
#include "points/neighbours/lanes_metric.h"
#include "points/neighbours/leaf_index.h"

/* Number of neighbours up to which the results are kept sorted, for floats: in two registers, then
   in a list updated without branches, then in one updated with branches (with AVX-512 all in
   registers). For more neighbours, candidates are collected and the farthest are discarded from
   time to time. Doubles use a short list or a heap. */
enum { NEAREST_MAX = LEAF_GROUP, SHORT_LIST_MAX = 12, LIST_MAX = 20 };

enum { FEW_AXES = 4 }; /* number of axes up to which a search is compiled per kind of visit */

/* Squares below this limit may be denormal, with a large relative rounding error. */
#define UNDERFLOWN 0x1p-100f

typedef enum leaf_visit {
    VISIT_CLOSEST,    /* k = 1 */
    VISIT_NEAREST,    /* k <= NEAREST_MAX */
    VISIT_SHORT_LIST, /* floats, k <= SHORT_LIST_MAX; with AVX-512 k <= 16 */
    VISIT_LIST,       /* floats, k <= LIST_MAX */
    VISIT_MANY,
    VISIT_WITHIN,
    VISIT_REPORT
} leaf_visit;

/* --- floats: results are keys (leaf_key) ---------------------------------------------------- */

static inline uint64_t float_answer(float dist2, uint32_t id) {
    return leaf_key(dist2, id);
}
static inline float float_visitor_bound(const point_visitor *visitor) {
    return point_visitor_bound(visitor);
}
LANES_FN leaf_points float_bucket(const leafindex *index, uint32_t s, uint32_t dims) {
    const uint64_t wide = index->shape.wide_leaves, place = dims * sizeof(float) + sizeof(uint32_t);
    const char *at = (const char *)index->leaves;
    if (dims != 3 || s < wide)
        return leaf_points_at(at + LEAF_POINTS * place * s, dims, sizeof(float), LEAF_POINTS);
    return leaf_points_at(at + LEAF_POINTS / 2 * place * (s + wide), dims, sizeof(float),
                          LEAF_POINTS / 2);
}

#define LEAF_REAL float
#define LEAF_ANSWER uint64_t
#define LEAF_WIDE 0
#define LEAF(name) float_##name
#include "points/neighbours/leaf_walk.h"
#undef LEAF_REAL
#undef LEAF_ANSWER
#undef LEAF_WIDE
#undef LEAF

static inline void bind_key(float_query *query, uint64_t key) {
    float_bind(query, leaf_key_dist2(key), leaf_key_id(key));
}

static inline uint64_t bound_key(const float_query *query) {
    return leaf_key(query->bound2, query->bound_id);
}

#ifdef LANES_512
/* Keeps the results in `vectors` registers of keys, initially filled with UINT64_MAX. */
LANES_FN void list_take(float_query *query, const uint64_t *keys, uint32_t count, int vectors) {
    if (!count) return;
    lanes_keys_take(query->list, vectors, keys, count);
    query->count += count;
    if (query->count >= query->k) bind_key(query, query->list[query->k - 1]);
}
LANES_FN void visit_keys(float_query *query, const leaf_points *leaf, uint32_t dims, int vectors) {
    uint64_t keys[LEAF_POINTS + 8];
    list_take(query, keys, lanes_collect(keys, leaf, query->at, dims, bound_key(query)), vectors);
}
LANES_FN void take_short_list(float_query *query, const leaf_points *leaf,
                              const float dist2[LEAF_POINTS], uint32_t within) {
    uint64_t keys[LEAF_POINTS + 8];
    list_take(query, keys, lanes_keys(leaf, dist2, within, keys), 2);
}
LANES_FN void take_list(float_query *query, const leaf_points *leaf, const float dist2[LEAF_POINTS],
                        uint32_t within) {
    uint64_t keys[LEAF_POINTS + 8];
    list_take(query, keys, lanes_keys(leaf, dist2, within, keys), 3);
}
#else
/* Keeps the results in a list of k <= SHORT_LIST_MAX keys, initially filled with UINT64_MAX.
   Each new key passes through the whole list without branches, and at each element the larger key
   is passed on. */
LANES_FN void take_short_list(float_query *query, const leaf_points *leaf,
                              const float dist2[LEAF_POINTS], uint32_t within) {
    for (; within; within &= within - 1, ++query->count) {
        const int i = __builtin_ctz(within);
        uint64_t key = leaf_key(dist2[i], leaf->id[i]);
        for (uint32_t j = 0; j < query->k; ++j) {
            const uint64_t list_key = query->out[j];
            query->out[j] = list_key < key ? list_key : key;
            key = list_key < key ? key : list_key;
        }
    }
    if (query->count >= query->k) bind_key(query, query->out[query->k - 1]);
}

LANES_FN void take_list(float_query *query, const leaf_points *leaf, const float dist2[LEAF_POINTS],
                        uint32_t within) {
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        const uint64_t key = leaf_key(dist2[i], leaf->id[i]);
        uint32_t hole = query->count;
        if (hole == query->k) {
            if (key > query->out[hole - 1]) continue;
            --hole;
        } else {
            ++query->count;
        }
        for (; hole > 0 && query->out[hole - 1] > key; --hole)
            query->out[hole] = query->out[hole - 1];
        query->out[hole] = key;
        if (query->count == query->k) bind_key(query, query->out[query->k - 1]);
    }
}
#endif

/* k = 1: the bound itself is the result. */
LANES_FN void visit_closest(float_query *query, const leaf_points *leaf, uint32_t dims) {
    const lanes_one one = lanes_closest(leaf, query->at, dims, query->bound2);
    if (!one.valid || leaf_key(one.dist2, one.id) > bound_key(query)) return;
    float_bind(query, one.dist2, one.id);
    query->count = 1;
}

/* Reduces the collected keys to the least ones, at least `k` and not many more. Any key is a valid
   bound if at least `k` keys are not after it. */
static void trim(float_query *query) {
    const uint32_t enough = query->k + (query->capacity - query->k) / 3;
    uint32_t random = query->count;
    while (query->count > enough) {
        const uint64_t pivot = keys_pivot(query->out, query->count, &random);
        const uint32_t left = keys_partition(query->out, query->count, pivot);
        if (left < query->k) {
            keys_select(query->out + left, query->count - left, query->k - 1 - left);
            query->count = query->k;
            bind_key(query, query->out[query->k - 1]);
            return;
        }
        query->count = left;
        bind_key(query, pivot);
    }
}

/* Also collects keys after the bound with the same dist2; they are discarded later, as `k` keys
   precede them. */
LANES_FN void take_many(float_query *query, const leaf_points *leaf, const float dist2[LEAF_POINTS],
                        uint32_t within) {
    query->count += lanes_keys(leaf, dist2, within, query->out + query->count);
    if (query->count > query->capacity - LEAF_POINTS) trim(query);
}

LANES_FN void float_take(float_query *query, const leaf_points *leaf,
                         const float dist2[LEAF_POINTS], uint32_t within, leaf_visit visit) {
    switch (visit) {
    case VISIT_CLOSEST: float_take_closest(query, leaf, dist2, within); break;
    case VISIT_NEAREST: float_take_nearest(query, leaf, dist2, within); break;
    case VISIT_SHORT_LIST: take_short_list(query, leaf, dist2, within); break;
    case VISIT_LIST: take_list(query, leaf, dist2, within); break;
    case VISIT_MANY: take_many(query, leaf, dist2, within); break;
    case VISIT_WITHIN: float_take_within(query, leaf, dist2, within); break;
    case VISIT_REPORT: float_take_report(query, leaf, dist2, within); break;
    }
}

/* A single copy for all numbers of axes above FEW_AXES. */
static __attribute__((noinline)) void float_take_any(float_query *query, const leaf_points *leaf,
                                                     const float dist2[LEAF_POINTS],
                                                     uint32_t within, leaf_visit visit) {
    float_take(query, leaf, dist2, within, visit);
}

LANES_FN void float_visit(float_query *query, const leaf_points *leaf, uint32_t dims,
                          uint32_t metric, leaf_visit visit) {
    _Alignas(32) float dist2[LEAF_POINTS];
    /* then distances stay in registers */
    const bool few_axes = metric == LEAF_EUCLID && dims <= FEW_AXES;
    if (few_axes && visit == VISIT_CLOSEST) {
        visit_closest(query, leaf, dims);
        return;
    }
#ifdef LANES_512
    if (few_axes && (visit == VISIT_SHORT_LIST || visit == VISIT_LIST)) {
        visit_keys(query, leaf, dims, visit == VISIT_LIST ? 3 : 2);
        return;
    }
    if (few_axes && visit == VISIT_MANY) {
        query->count +=
            lanes_collect(query->out + query->count, leaf, query->at, dims, bound_key(query));
        if (query->count > query->capacity - LEAF_POINTS) trim(query);
        return;
    }
#endif
    const uint32_t within = float_points(query, leaf, dims, metric, dist2);
    if (!within) return;
    if (few_axes)
        float_take(query, leaf, dist2, within, visit);
    else
        float_take_any(query, leaf, dist2, within, visit);
}

uint64_t leafindex_capacity(uint32_t k) {
    return k <= LIST_MAX ? k + 1 : 2 * (uint64_t)k + 3 * LEAF_POINTS;
}

void leaf_keys_sort(uint64_t *keys, uint32_t count) {
    keys_sort(keys, count);
}

/* Searches for a small number of neighbours, 1 < k <= LIST_MAX. */
LANES_FN uint32_t find_few(float_query *query, uint32_t *near) {
    const uint32_t k = query->k;
    if (k <= NEAREST_MAX) {
        lanes_nearest *list = &query->nearest;
        for (int lane = 0; lane < NEAREST_MAX; ++lane) list->dist2[lane] = LANE_NEVER;
        memset(list->id, 0, sizeof list->id);
        float_walk(query, VISIT_NEAREST, near);
        for (uint32_t i = 0; i < k; ++i)
            query->out[i] = (uint64_t)list->dist2[i] << 32 | (uint32_t)list->id[i];
        return query->count < k ? query->count : k;
    }
#ifdef LANES_512
    for (int i = 0; i < LANES_KEYS_MAX; ++i) query->list[i] = UINT64_MAX;
    if (k <= 16)
        float_walk(query, VISIT_SHORT_LIST, near);
    else
        float_walk(query, VISIT_LIST, near);
    memcpy(query->out, query->list, k * sizeof *query->out);
#else
    if (k <= SHORT_LIST_MAX) {
        for (uint32_t i = 0; i < k; ++i) query->out[i] = UINT64_MAX;
        float_walk(query, VISIT_SHORT_LIST, near);
    } else {
        float_walk(query, VISIT_LIST, near);
    }
#endif
    return query->count < k ? query->count : k;
}

/* As leafindex_nearest_keys, but for k > LIST_MAX the keys are unsorted except for the last. */
LANES_FN uint32_t nearest_some_keys(const leafindex *index, const point_metric *metric,
                                    const float *at, uint32_t k, float bound2, uint64_t *keys,
                                    uint32_t *near) {
    if (k == 0) return 0;
    if (k > index->shape.count) k = index->shape.count;
    float_query query;
    float_open(&query, index, metric, at, bound2);
    query.out = keys;
    query.k = k;
    query.capacity = (uint32_t)leafindex_capacity(k);
    if (k == 1) {
        float_walk(&query, VISIT_CLOSEST, near);
        keys[0] = bound_key(&query);
        return query.count;
    }
    if (k <= LIST_MAX) return find_few(&query, near);
    float_walk(&query, VISIT_MANY, near);
    if (query.count > k) {
        keys_select(keys, query.count, k - 1);
        query.count = k;
    } else if (query.count > 1) {
        keys_select(keys, query.count, query.count - 1);
    }
    return query.count;
}

uint32_t leafindex_nearest_keys(const leafindex *index, const point_metric *metric,
                                const float *query, uint32_t k, float bound2, uint64_t *keys,
                                uint32_t *near) {
    const uint32_t count = nearest_some_keys(index, metric, query, k, bound2, keys, near);
    if (k > LIST_MAX) keys_sort(keys, count);
    return count;
}

uint32_t leafindex_within_keys(const leafindex *index, const point_metric *metric,
                               const float *query, float bound2, uint32_t capacity,
                               uint64_t *keys) {
    return float_find_within(index, metric, query, bound2, capacity, keys);
}

uint32_t leafindex_nearest_some(const leafindex *index, vec3 query, uint32_t k, float max_radius,
                                bool in_order, uint32_t *near, uint64_t *keys, neighbour *out) {
    const float at[POINT_DIMS_MAX] = {query.x, query.y,
                                      query.z}; /* only the first `dims` are read */
    const uint32_t count =
        nearest_some_keys(index, NULL, at, k, pointtree_bound2(max_radius), keys, near);
    if (in_order && k > LIST_MAX) keys_sort(keys, count);
    for (uint32_t i = 0; i < count; ++i) {
        out[i].dist2 = leaf_key_dist2(keys[i]);
        out[i].id = leaf_key_id(keys[i]);
        out[i].node = index->nodes[out[i].id];
    }
    return count;
}

/* --- doubles -------------------------------------------------------------------------------- */

static inline neighbour_nd double_answer(double dist2, uint32_t id) {
    const neighbour_nd item = {dist2, id, KD_NONE};
    return item;
}
static inline double double_visitor_bound(const point_visitor *visitor) {
    return visitor->bound;
}
LANES_FN leaf_points double_bucket(const leafindex *index, uint32_t s, uint32_t dims) {
    const uint64_t place = dims * sizeof(double) + sizeof(uint32_t);
    return leaf_points_at((const char *)index->leaves + LEAF_POINTS * place * s, dims,
                          sizeof(double), LEAF_POINTS);
}

#define LEAF_REAL double
#define LEAF_ANSWER neighbour_nd
#define LEAF_WIDE 1
#define LEAF(name) double_##name
#include "points/neighbours/leaf_walk.h"

LANES_FN void double_take_many(double_query *query, const leaf_points *leaf,
                               const double dist2[LEAF_POINTS], uint32_t within) {
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        if (dist2[i] <= query->bound2)
            query->bound2 = neighbour_nd_offer(query->out, &query->count, query->k,
                                               double_answer(dist2[i], leaf->id[i]), query->bound2);
    }
    if (query->count < query->k) return;
    const uint32_t last = query->k <= NEIGHBOUR_ND_LIST_MAX ? query->k - 1 : 0;
    double_bind(query, query->bound2, query->out[last].id);
}

LANES_FN void double_take(double_query *query, const leaf_points *leaf,
                          const double dist2[LEAF_POINTS], uint32_t within, leaf_visit visit) {
    switch (visit) {
    case VISIT_CLOSEST: double_take_closest(query, leaf, dist2, within); break;
    case VISIT_NEAREST: double_take_nearest(query, leaf, dist2, within); break;
    case VISIT_WITHIN: double_take_within(query, leaf, dist2, within); break;
    case VISIT_REPORT: double_take_report(query, leaf, dist2, within); break;
    default: double_take_many(query, leaf, dist2, within); break;
    }
}

static __attribute__((noinline)) void double_take_any(double_query *query, const leaf_points *leaf,
                                                      const double dist2[LEAF_POINTS],
                                                      uint32_t within, leaf_visit visit) {
    double_take(query, leaf, dist2, within, visit);
}

LANES_FN void double_visit(double_query *query, const leaf_points *leaf, uint32_t dims,
                           uint32_t metric, leaf_visit visit) {
    _Alignas(32) double dist2[LEAF_POINTS];
    const uint32_t within = double_points(query, leaf, dims, metric, dist2);
    if (!within) return;
    if (metric == LEAF_EUCLID && dims <= FEW_AXES)
        double_take(query, leaf, dist2, within, visit);
    else
        double_take_any(query, leaf, dist2, within, visit);
}

uint32_t leafindex_nearest_doubles(const leafindex *index, const point_metric *metric,
                                   const double *at, uint32_t k, double bound2, neighbour_nd *out,
                                   uint32_t *near) {
    if (k == 0) return 0;
    if (k > index->shape.count) k = index->shape.count;
    double_query query;
    double_open(&query, index, metric, at, bound2);
    query.k = k;
    query.out = out;
    if (k == 1) {
        double_walk(&query, VISIT_CLOSEST, near);
        out[0] = double_answer(query.bound2, query.bound_id);
        return query.bound_id != KD_NONE;
    }
    if (k > NEAREST_MAX) {
        double_walk(&query, VISIT_MANY, near);
        neighbour_nd_finish(out, query.count, k);
        return query.count;
    }
    for (int lane = 0; lane < NEAREST_MAX; ++lane) {
        query.nearest.dist2[lane] = (double)INFINITY;
        query.nearest.id[lane] = INT64_MAX;
    }
    double_walk(&query, VISIT_NEAREST, near);
    const uint32_t count = query.count < k ? query.count : k;
    for (uint32_t i = 0; i < count; ++i)
        out[i] = double_answer(query.nearest.dist2[i], (uint32_t)query.nearest.id[i]);
    return count;
}

uint32_t leafindex_within_doubles(const leafindex *index, const point_metric *metric,
                                  const double *query, double bound2, uint32_t capacity,
                                  neighbour_nd *out) {
    return double_find_within(index, metric, query, bound2, capacity, out);
}

void leafindex_report(const leafindex *index, const point_metric *metric, const void *query,
                      point_visitor *visitor) {
    if (index->scalar == POINT_DOUBLE)
        double_report(index, metric, (const double *)query, visitor);
    else
        float_report(index, metric, (const float *)query, visitor);
}

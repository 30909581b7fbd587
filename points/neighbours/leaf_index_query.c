/* Queries of buckets under groups of eight boxes: points/tree/walk.h is their oracle. */
#include "core/parallel/select_keys.h"
#include "points/neighbours/leaf_index.h"

/* Up to so many answers are kept sorted: in two registers, then without branches, then with them
   (by AVX-512 all in registers); more are collected, and now and then the farthest are thrown away.
 */
enum { NEAREST_MAX = LEAF_GROUP, SHORT_LIST_MAX = 12, LIST_MAX = 20 };

/* What has been found so far. */
typedef struct leaf_answers {
    uint64_t *keys;
    uint32_t count, k, capacity;
    float bound2;
    uint64_t bound_key;    /* what comes behind it is no answer; its dist2 is bound2 */
    lanes_nearest nearest; /* instead of keys, of up to NEAREST_MAX */
#ifdef LANES_512
    uint64_t list[LANES_KEYS_MAX]; /* of more, of up to as many */
#endif
    point_visitor *visitor;
} leaf_answers;

static inline void leaf_bound(leaf_answers *answers, uint64_t key) {
    answers->bound_key = key;
    answers->bound2 = leaf_key_dist2(key);
}

typedef void (*leaf_visit)(leaf_answers *answers, const leaf_points *leaf, vec3 query);

static inline void leaf_nearest(leaf_answers *answers, const leaf_points *leaf, vec3 query) {
    _Alignas(32) float dist2[LEAF_POINTS];
    const uint32_t within = lanes_points(leaf, query, answers->bound2, dist2),
                   last = answers->k - 1;
    if (!within) return;
    lanes_nearest *list = &answers->nearest;
    lanes_nearest_take(list, dist2, leaf->id, within);
    answers->count += (uint32_t)__builtin_popcount(within);
    if (answers->count >= answers->k)
        leaf_bound(answers, (uint64_t)list->dist2[last] << 32 | (uint32_t)list->id[last]);
}

#ifdef LANES_512
/* Whole vectors of keys, filled with what is never an answer. */
static inline __attribute__((always_inline)) void
leaf_keys(leaf_answers *answers, const leaf_points *leaf, vec3 query, int vectors) {
    uint64_t keys[LEAF_POINTS + 8];
    const uint32_t found = lanes_collect(keys, leaf, query, answers->bound_key);
    if (!found) return;
    lanes_keys_take(answers->list, vectors, keys, found);
    answers->count += found;
    if (answers->count >= answers->k) leaf_bound(answers, answers->list[answers->k - 1]);
}
static inline void leaf_keys_16(leaf_answers *answers, const leaf_points *leaf, vec3 query) {
    leaf_keys(answers, leaf, query, 2);
}
static inline void leaf_keys_24(leaf_answers *answers, const leaf_points *leaf, vec3 query) {
    leaf_keys(answers, leaf, query, 3);
}
#else
/* The whole list of k <= SHORT_LIST_MAX is there from the start, filled with what is never an
   answer; a key goes through all of it, and the larger of each pair goes on. */
static inline void leaf_short_list(leaf_answers *answers, const leaf_points *leaf, vec3 query) {
    _Alignas(32) float dist2[LEAF_POINTS];
    uint32_t within = lanes_points(leaf, query, answers->bound2, dist2);
    for (; within; within &= within - 1, ++answers->count) {
        const int i = __builtin_ctz(within);
        uint64_t key = leaf_key(dist2[i], leaf->id[i]);
        for (uint32_t j = 0; j < answers->k; ++j) {
            const uint64_t here = answers->keys[j];
            answers->keys[j] = here < key ? here : key;
            key = here < key ? key : here;
        }
    }
    if (answers->count >= answers->k) leaf_bound(answers, answers->keys[answers->k - 1]);
}

static inline void leaf_list(leaf_answers *answers, const leaf_points *leaf, vec3 query) {
    _Alignas(32) float dist2[LEAF_POINTS];
    uint32_t within = lanes_points(leaf, query, answers->bound2, dist2);
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        const uint64_t key = leaf_key(dist2[i], leaf->id[i]);
        uint32_t hole = answers->count;
        if (hole == answers->k) {
            if (key > answers->keys[hole - 1]) continue;
            --hole;
        } else {
            ++answers->count;
        }
        for (; hole > 0 && answers->keys[hole - 1] > key; --hole)
            answers->keys[hole] = answers->keys[hole - 1];
        answers->keys[hole] = key;
        if (answers->count == answers->k) leaf_bound(answers, answers->keys[answers->k - 1]);
    }
}
#endif

/* k = 1: the bound is the answer. */
static inline void leaf_closest(leaf_answers *answers, const leaf_points *leaf, vec3 query) {
    const lanes_one one = lanes_closest(leaf, query, answers->bound2);
    if (!one.there) return;
    const uint64_t key = leaf_key(one.dist2, one.id);
    if (key > answers->bound_key) return;
    leaf_bound(answers, key);
    answers->count = 1;
}

/* Keeps at least `k` of the keys, the least ones, and not many more: any key that k are not behind
   is a bound. */
static void leaf_trim(leaf_answers *answers) {
    const uint32_t enough = answers->k + (answers->capacity - answers->k) / 3;
    uint32_t random = answers->count;
    while (answers->count > enough) {
        const uint64_t pivot = keys_pivot(answers->keys, answers->count, &random);
        const uint32_t left = keys_partition(answers->keys, answers->count, pivot);
        if (left < answers->k) {
            keys_select(answers->keys + left, answers->count - left, answers->k - 1 - left);
            answers->count = answers->k;
            leaf_bound(answers, answers->keys[answers->k - 1]);
            return;
        }
        answers->count = left;
        leaf_bound(answers, pivot);
    }
}

/* Keys behind the bound, of its dist2, come along: they are no answers, for k are before them. */
static inline void leaf_collect(leaf_answers *answers, const leaf_points *leaf, vec3 query) {
    answers->count +=
        lanes_collect(answers->keys + answers->count, leaf, query, answers->bound_key);
    if (answers->count <= answers->capacity - LEAF_POINTS) return;
    leaf_trim(answers);
}

static inline void leaf_within(leaf_answers *answers, const leaf_points *leaf, vec3 query) {
    _Alignas(32) float dist2[LEAF_POINTS];
    uint32_t within = lanes_points(leaf, query, answers->bound2, dist2);
    for (; within; within &= within - 1, ++answers->count) {
        const int i = __builtin_ctz(within);
        if (answers->count < answers->capacity)
            answers->keys[answers->count] = leaf_key(dist2[i], leaf->id[i]);
    }
}

static inline void leaf_tell(leaf_answers *answers, const leaf_points *leaf, vec3 query) {
    _Alignas(32) float dist2[LEAF_POINTS];
    uint32_t within = lanes_points(leaf, query, answers->bound2, dist2);
    if (!within) return;
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        point_visitor_tell(answers->visitor, leaf->id[i], (double)dist2[i]);
    }
    leaf_bound(answers, leaf_key(point_visitor_bound(answers->visitor), KD_NONE));
}

/* What is left to visit on the way down: of each level the children not visited yet, and the
   nearest of them. */
typedef struct leaf_path {
    lanes_set kept[LEAF_LEVELS_MAX];
    int32_t kept_least[LEAF_LEVELS_MAX];
} leaf_path;

static inline lanes_set leaf_group_lanes(const leafindex *index, uint32_t level, uint32_t group,
                                         vec3 query) {
    const lanes_set all =
        lanes_of_boxes(&index->groups[index->shape.level_begin[level] + group], query);
    return level == 0 ? lanes_set_limit(all, index->shape.root_children) : all;
}

/* The deepest group on the way to `near`, of the last level, in whose box the query lies; the path
   is what is left beside this way. No step waits for the one before. */
static inline uint32_t leaf_path_begin(leaf_path *path, const leafindex *index, vec3 query,
                                       uint32_t near, uint32_t *level) {
    const uint32_t last = index->shape.levels - 1;
    uint32_t start = 0;
    for (uint32_t above = 0; above < last; ++above) {
        const uint32_t child = near >> 3 * (last - 1 - above), lane = child % LEAF_GROUP;
        const lanes_set all = leaf_group_lanes(index, above, child / LEAF_GROUP, query);
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
static inline __attribute__((always_inline)) void leaf_walk(const leafindex *index, vec3 query,
                                                            leaf_answers *answers, leaf_visit visit,
                                                            uint32_t *near) {
    if (index->shape.count == 0) return;
    if (index->shape.levels == 0) {
        const leaf_points leaf = leafindex_bucket(index, 0);
        visit(answers, &leaf, query);
        return;
    }
    leaf_path path;
    uint32_t level = 0, group = near ? leaf_path_begin(&path, index, query, *near, &level) : 0;
    lanes_set here = leaf_group_lanes(index, level, group, query);
    int32_t least = lanes_set_least(here);
    for (;;) {
        if ((least & ~7) > (int32_t)float_bits(answers->bound2)) {
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
        if ((nearest | 7) >=
            (int32_t)float_bits(answers->bound2)) { /* as far as the bound: who ties? */
            const leaf_group *of = &index->groups[index->shape.level_begin[level] + group];
            const float dist2 = lane_dist2(of, query, lane);
            if (leaf_key(dist2, of->least_id[lane]) > answers->bound_key) continue;
        }
        if (level + 1 == index->shape.levels) {
            if (near) *near = group;
            near = NULL; /* the first one is the nearest */
            const leaf_points leaf = leafindex_bucket(index, child);
            visit(answers, &leaf, query);
            continue;
        }
        path.kept[level] = here;
        path.kept_least[level] = least;
        group = child;
        ++level;
        here = leaf_group_lanes(index, level, group, query);
        least = lanes_set_least(here);
    }
}

uint64_t leafindex_room(uint32_t k) {
    return k <= LIST_MAX ? k + 1 : 2 * (uint64_t)k + 3 * LEAF_POINTS;
}

void leaf_keys_sort(uint64_t *keys, uint32_t count) {
    keys_sort(keys, count);
}

/* Of few answers, where 1 < k <= LIST_MAX. */
static inline uint32_t leaf_find_few(const leafindex *index, vec3 query, leaf_answers *answers,
                                     uint32_t *near) {
    const uint32_t k = answers->k;
    uint64_t *keys = answers->keys;
    if (k <= NEAREST_MAX) {
        lanes_nearest *list = &answers->nearest;
        for (int lane = 0; lane < NEAREST_MAX; ++lane) list->dist2[lane] = LANE_NEVER;
        memset(list->id, 0, sizeof list->id);
        leaf_walk(index, query, answers, leaf_nearest, near);
        for (uint32_t i = 0; i < k; ++i)
            keys[i] = (uint64_t)list->dist2[i] << 32 | (uint32_t)list->id[i];
        return answers->count < k ? answers->count : k;
    }
#ifdef LANES_512
    for (int i = 0; i < LANES_KEYS_MAX; ++i) answers->list[i] = UINT64_MAX;
    if (k <= 16)
        leaf_walk(index, query, answers, leaf_keys_16, near);
    else
        leaf_walk(index, query, answers, leaf_keys_24, near);
    memcpy(keys, answers->list, k * sizeof *keys);
#else
    if (k <= SHORT_LIST_MAX) {
        for (uint32_t i = 0; i < k; ++i) keys[i] = UINT64_MAX;
        leaf_walk(index, query, answers, leaf_short_list, near);
    } else {
        leaf_walk(index, query, answers, leaf_list, near);
    }
#endif
    return answers->count < k ? answers->count : k;
}

/* leafindex_nearest_keys, but many keys are in any order, the last behind the others. */
static inline __attribute__((always_inline)) uint32_t
nearest_some_keys(const leafindex *index, vec3 query, uint32_t k, float bound2, uint64_t *keys,
                  uint32_t *near) {
    if (k == 0) return 0;
    if (k > index->shape.count) k = index->shape.count;
    leaf_answers answers;
    answers.keys = keys;
    answers.count = 0;
    answers.k = k;
    answers.capacity = (uint32_t)leafindex_room(k);
    answers.bound2 = bound2;
    answers.bound_key = leaf_key(bound2, KD_NONE);
    if (k == 1) {
        leaf_walk(index, query, &answers, leaf_closest, near);
        keys[0] = answers.bound_key;
        return answers.count;
    }
    if (k <= LIST_MAX) return leaf_find_few(index, query, &answers, near);
    leaf_walk(index, query, &answers, leaf_collect, near);
    if (answers.count > k) {
        keys_select(keys, answers.count, k - 1);
        answers.count = k;
    } else if (answers.count > 1) {
        keys_select(keys, answers.count, answers.count - 1);
    }
    return answers.count;
}

uint32_t leafindex_nearest_keys(const leafindex *index, vec3 query, uint32_t k, float bound2,
                                uint64_t *keys, uint32_t *near) {
    const uint32_t count = nearest_some_keys(index, query, k, bound2, keys, near);
    if (k > LIST_MAX) keys_sort(keys, count);
    return count;
}

uint32_t leafindex_within_keys(const leafindex *index, vec3 query, float bound2, uint32_t capacity,
                               uint64_t *keys) {
    leaf_answers answers;
    answers.keys = keys;
    answers.count = 0;
    answers.capacity = capacity;
    answers.bound2 = bound2;
    answers.bound_key = leaf_key(bound2, KD_NONE);
    leaf_walk(index, query, &answers, leaf_within, NULL);
    return answers.count;
}

void leafindex_tell(const leafindex *index, vec3 query, point_visitor *to) {
    leaf_answers answers;
    answers.visitor = to;
    leaf_bound(&answers, leaf_key(point_visitor_bound(to), KD_NONE));
    leaf_walk(index, query, &answers, leaf_tell, NULL);
}

uint32_t leafindex_nearest_some(const leafindex *index, vec3 query, uint32_t k, float max_radius,
                                bool in_order, uint32_t *near, uint64_t *keys, neighbour *out) {
    const uint32_t count =
        nearest_some_keys(index, query, k, pointtree_bound2(max_radius), keys, near);
    if (in_order && k > LIST_MAX) keys_sort(keys, count);
    for (uint32_t i = 0; i < count; ++i) {
        out[i].dist2 = leaf_key_dist2(keys[i]);
        out[i].id = leaf_key_id(keys[i]);
        out[i].node = index->nodes[out[i].id];
    }
    return count;
}

uint32_t leafindex_nearest_k(const leafindex *index, vec3 query, uint32_t k, float max_radius,
                             uint64_t *keys, neighbour *out) {
    return leafindex_nearest_some(index, query, k, max_radius, true, NULL, keys, out);
}

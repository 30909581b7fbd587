/* Queries of buckets under groups of eight boxes: shaders/pointtree_query.h is their oracle. */
#include "photon/leafindex.h"

enum {
    LIST_MAX = 20
}; /* up to so many answers are kept sorted; more are collected, then selected */

/* What has been found so far. */
typedef struct leaf_answers {
    uint64_t *keys;
    uint32_t count, k, capacity;
    float bound2;
} leaf_answers;

typedef void (*leaf_visit)(leaf_answers *answers, const leaf_points *leaf, vec3 query);

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
        if (answers->count == answers->k)
            answers->bound2 = leaf_key_dist2(answers->keys[answers->k - 1]);
    }
}

/* The key of `rank` in its sorted place, smaller ones before it. */
static void keys_select(uint64_t *keys, uint32_t count, uint32_t rank) {
    uint32_t begin = 0, end = count;
    while (end - begin > 1) {
        const uint64_t a = keys[begin], b = keys[begin + (end - begin) / 2], c = keys[end - 1];
        const uint64_t least = a < b ? a : b, most = a < b ? b : a;
        const uint64_t pivot = c < least ? least : c > most ? most : c;
        uint32_t low = begin, high = end - 1;
        for (;; ++low, --high) {
            while (keys[low] < pivot) ++low;
            while (keys[high] > pivot) --high;
            if (low >= high) break;
            const uint64_t t = keys[low];
            keys[low] = keys[high];
            keys[high] = t;
        }
        if (low == high) {
            if (rank == low) return;
            --high;
            ++low;
        }
        if (rank < low)
            end = high + 1;
        else
            begin = low;
    }
}

static inline void leaf_collect(leaf_answers *answers, const leaf_points *leaf, vec3 query) {
    _Alignas(32) float dist2[LEAF_POINTS];
    uint32_t within = lanes_points(leaf, query, answers->bound2, dist2);
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        answers->keys[answers->count++] = leaf_key(dist2[i], leaf->id[i]);
    }
    if (answers->count <= answers->capacity - LEAF_POINTS) return;
    keys_select(answers->keys, answers->count, answers->k - 1);
    answers->count = answers->k;
    answers->bound2 = leaf_key_dist2(answers->keys[answers->k - 1]);
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

/* Visits every leaf whose box is within the bound, which may shrink meanwhile. Per level the
   distances of eight boxes are kept, and those visited are struck out. */
static inline __attribute__((always_inline)) void
leaf_walk(const leafindex *index, vec3 query, leaf_answers *answers, leaf_visit visit) {
    if (index->count == 0) return;
    if (index->levels == 0) {
        visit(answers, &index->leaves[0], query);
        return;
    }
    _Alignas(32) int32_t lanes[LEAF_LEVELS_MAX][LEAF_GROUP];
    uint32_t level = 0, group = 0;
    lanes_boxes(&index->groups[0], query, lanes[0]);
    for (uint32_t lane = index->root_children; lane < LEAF_GROUP; ++lane)
        lanes[0][lane] = LANE_NEVER;
    for (;;) {
        const int32_t least = lanes_least(lanes[level]);
        if ((least & ~7) > (int32_t)float_bits(answers->bound2)) {
            if (level == 0) return;
            --level;
            group /= LEAF_GROUP;
            continue;
        }
        const uint32_t lane = (uint32_t)least & 7, child = group * LEAF_GROUP + lane;
        lanes[level][lane] = LANE_NEVER;
        if (level + 1 == index->levels) {
            visit(answers, &index->leaves[child], query);
            continue;
        }
        group = child;
        ++level;
        lanes_boxes(&index->groups[index->level_begin[level] + group], query, lanes[level]);
    }
}

uint64_t leafindex_room(uint32_t k) {
    return k <= LIST_MAX ? k + 1 : 2 * (uint64_t)k + 3 * LEAF_POINTS;
}

void leaf_keys_sort(uint64_t *keys, uint32_t count) {
    while (count > 24) { /* quicksort: the smaller part by recursion */
        const uint32_t half = count / 2;
        keys_select(keys, count, half);
        leaf_keys_sort(keys, half);
        keys += half + 1;
        count -= half + 1;
    }
    for (uint32_t i = 1; i < count; ++i) {
        const uint64_t key = keys[i];
        uint32_t hole = i;
        for (; hole > 0 && keys[hole - 1] > key; --hole) keys[hole] = keys[hole - 1];
        keys[hole] = key;
    }
}

uint32_t leafindex_nearest_keys(const leafindex *index, vec3 query, uint32_t k, float bound2,
                                uint64_t *keys) {
    if (k == 0) return 0;
    if (k > index->count) k = index->count;
    leaf_answers answers = {keys, 0, k, (uint32_t)leafindex_room(k), bound2};
    if (k <= LIST_MAX) {
        leaf_walk(index, query, &answers, leaf_list);
        return answers.count;
    }
    leaf_walk(index, query, &answers, leaf_collect);
    if (answers.count > k) {
        keys_select(keys, answers.count, k - 1);
        answers.count = k;
    }
    leaf_keys_sort(keys, answers.count);
    return answers.count;
}

uint32_t leafindex_within_keys(const leafindex *index, vec3 query, float bound2, uint32_t capacity,
                               uint64_t *keys) {
    leaf_answers answers = {keys, 0, 0, capacity, bound2};
    leaf_walk(index, query, &answers, leaf_within);
    return answers.count;
}

uint32_t leafindex_nearest_k(const leafindex *index, vec3 query, uint32_t k, float max_radius,
                             uint64_t *keys, neighbour *out) {
    const uint32_t count =
        leafindex_nearest_keys(index, query, k, pointtree_bound2(max_radius), keys);
    for (uint32_t i = 0; i < count; ++i) {
        out[i].dist2 = leaf_key_dist2(keys[i]);
        out[i].id = leaf_key_id(keys[i]);
        out[i].node = index->nodes[out[i].id];
    }
    return count;
}

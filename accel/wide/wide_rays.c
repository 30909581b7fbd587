/* Rays through a wide tree, one or many, for the kind of CPU that the including file is made for.
   Source: the streams of Gribble and Ramani 2008, "Coherent ray tracing via stream filtering".
   Idea: one ray waits at every step: for the node, for the planes, for the word on its stack. So
   many are on their way together and take their steps in turns: those at nodes first, then those
   at leaves, then new rays for those that are over. Which list a ray joins costs no branch, and
   memory is asked in a pass of its own for all leaves that come next (and for nodes, where the tree
   is larger than caches). A ray alone guesses one thing, whether it meets a cell at all, and asks
   memory for what is behind the cell that is next.
   Memory: 128 bytes a ray on the way; all their stacks together at most 256 kB, from the heap. Where
   that has none, each ray goes alone. */
#include "accel/wide/wide_packet.h"
#include "accel/wide/wide_tree.h"
#include "accel/wide/wide_walk.h"
#include "core/memory.h"

enum {
    WIDE_STREAM = 64,
    WIDE_STACKS = 1 << 16, /* numbers in all stacks of a stream */
    WIDE_LARGE = 40 << 20  /* of trees that caches do not hold */
};

/* What a stream is given. */
typedef struct wide_batch {
    const tritree_view *tree;
    const ray *rays;
    const uint32_t *listed;
    uint32_t count;
    ray_hit *hits;    /* or */
    uint8_t *blocked; /* of any hits */
} wide_batch;

/* Walks by what is next. */
typedef struct wide_lists {
    wide_ray *nodes[WIDE_STREAM + 1], *leaves[WIDE_STREAM + 1], *over[WIDE_STREAM + 1];
} wide_lists;
typedef struct wide_lengths {
    uint32_t nodes, leaves, over;
} wide_lengths;

/* Asks memory for a node or a leaf. */
VECTOR8_FN void expect_alone(const wide_tree *tree, uint32_t word) {
    enum { LEAF = WIDE_LEAF_MOST * WIDE_LEAF_FLOATS / 16, NODE = WIDE_LANES / 2 }; /* lines */
    const float *leaf = tree->leaves + (uint64_t)(word >> WIDE_COUNT_BITS) * WIDE_LEAF_FLOATS;
    const float *to = word & WIDE_COUNT_MASK ? leaf : wide_node_of(tree, word);
    for (int line = 0; line < (LEAF > NODE ? LEAF : NODE); ++line)
        __builtin_prefetch(to + 16 * line);
}

/* The first entry from `top` down that begins no later than the limit: often the first, so that is
   asked by a branch; else of eight entries at a time. */
VECTOR8_FN uint32_t pop_alone(const float *nears, uint32_t top, float limit) {
    if (nears[top] <= limit) return top;
    for (;; top -= 8) {
        const uint32_t near = int8_bits(float8_load(nears + top - 7) <= limit);
        if (__builtin_expect(near != 0, 1)) return top - (uint32_t)__builtin_clz(near << 24);
    }
}

/* The ray is at a node: what it meets there, or what waits, is next. */
VECTOR8_FN void step_alone(wide_ray *at, const wide_tree *tree, bool any,
                           const wide_far *from_far) {
    const float *node = wide_node_of(tree, at->word);
    float *nears = (float *)(void *)(at->words + WIDE_STACK);
    uint32_t top = at->top;
    lanes near, far;
    wide_meet_cells(at, node, from_far, &near, &far);
    const uint32_t met = lanes_met(near, far);
    if (met == 0) {
        top = any ? top - 1 : pop_alone(nears, top - 1, at->limit);
    } else {
        if (any)
            lanes_put_any(at->words + top, wide_node_words(node), met);
        else
            lanes_put_in_order(at->words + top, nears + top, wide_node_words(node),
                               wide_node_order(node, at->octant), near, far);
        top += (uint32_t)__builtin_popcount(met) - 1;
    }
    at->top = top;
    at->word = at->words[top];
    expect_alone(tree, at->words[top - 1]);
}

VECTOR8_FN void walk_alone(wide_ray *walk, const wide_tree *tree, const ray *cast, bool any,
                           const wide_far *from_far) {
    const float *nears = (const float *)(const void *)(walk->words + WIDE_STACK);
    do {
        if (!(walk->word & WIDE_COUNT_MASK)) {
            step_alone(walk, tree, any, from_far);
            continue;
        }
        const bool found = wide_visit_leaf(walk, tree, cast, any);
        uint32_t top = walk->top - 1;
        if (any && found) {
            walk->best.triangle = 0;
            return;
        }
        if (found) walk->limit = walk->best.t + walk->slack_t;
        if (!any) top = pop_alone(nears, top, walk->limit);
        walk->top = top;
        walk->word = walk->words[top];
    } while (walk->word != WIDE_OVER);
}

/* The rare ray that comes from far away; apart, so that the others' code is short. */
static __attribute__((noinline, unused)) ray_hit cast_from_far(const tritree_view *tree,
                                                               const ray *cast, bool any) {
    wide_ray walk;
    uint32_t words[2 * WIDE_STACK];
    (void)wide_ray_begin(&walk, tree, cast);
    const wide_far far = wide_ray_far(&walk);
    wide_stack_empty(&walk, words, (float *)(void *)(words + WIDE_STACK));
    walk.number = 0;
    walk_alone(&walk, tree->wide, cast, any, &far);
    return walk.best;
}

VECTOR8_FN ray_hit wide_cast_one(const tritree_view *tree, const ray *cast, bool any) {
    wide_ray walk;
    uint32_t words[2 * WIDE_STACK];
    const wide_aim aim = wide_ray_begin(&walk, tree, cast);
    if (__builtin_expect(aim != WIDE_NEAR, 0))
        return aim == WIDE_FAR ? cast_from_far(tree, cast, any)
                               : tritree_cast(tree, *cast, any, NULL);
    wide_stack_empty(&walk, words, (float *)(void *)(words + WIDE_STACK));
    walk.number = 0;
    walk_alone(&walk, tree->wide, cast, any, NULL);
    return walk.best;
}

/* One that does not go with the others. */
static __attribute__((noinline, unused)) void cast_apart(const wide_batch *b, uint32_t number,
                                                         bool any) {
    const ray_hit hit = wide_cast_one(b->tree, b->rays + number, any);
    if (any)
        b->blocked[number] = hit.triangle != KD_NONE;
    else
        b->hits[number] = hit;
}

/* The next ray of the list that goes with the others; false: there is none. */
VECTOR8_FN bool begin_next(const wide_batch *b, uint32_t *next, wide_ray *walk, bool any) {
    while (*next < b->count) {
        const uint32_t number = b->listed[(*next)++];
        if (__builtin_expect(wide_ray_begin(walk, b->tree, b->rays + number) == WIDE_NEAR, 1)) {
            walk->number = number;
            return true;
        }
        cast_apart(b, number, any);
    }
    return false;
}

VECTOR8_FN void join_list(wide_lists *lists, wide_lengths *of, wide_ray *walk) {
    const uint32_t leaf = (walk->word & WIDE_COUNT_MASK) != 0, over = walk->word == WIDE_OVER;
    lists->nodes[of->nodes] = lists->leaves[of->leaves] = lists->over[of->over] = walk;
    of->nodes += !(leaf | over);
    of->leaves += leaf;
    of->over += over;
}

/* Asks memory for what the walks listed come to. */
VECTOR8_FN void expect_leaves(const wide_tree *tree, wide_ray *const *walks, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        const float *leaf =
            tree->leaves + (uint64_t)(walks[i]->word >> WIDE_COUNT_BITS) * WIDE_LEAF_FLOATS;
        for (int line = 0; line < WIDE_LEAF_MOST * WIDE_LEAF_FLOATS / 16; ++line)
            __builtin_prefetch(leaf + 16 * line);
    }
}
VECTOR8_FN void expect_nodes(const wide_tree *tree, wide_ray *const *walks, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
        for (int line = 0; line < WIDE_LANES / 2; ++line)
            __builtin_prefetch(wide_node_of(tree, walks[i]->word) + 16 * line);
}

/* Answers of the walks that are over; new rays for them. */
VECTOR8_FN void end_walks(const wide_batch *b, uint32_t *next, wide_lists *lists, wide_lengths *of,
                          bool any) {
    for (uint32_t i = 0; i < of->over; ++i) {
        wide_ray *walk = lists->over[i];
        if (any)
            b->blocked[walk->number] = walk->best.triangle != KD_NONE;
        else
            b->hits[walk->number] = walk->best;
        if (begin_next(b, next, walk, any)) lists->nodes[of->nodes++] = walk;
    }
    of->over = 0;
}

VECTOR8_FN void wide_cast(const wide_batch *b, bool any, bool large) {
    const wide_tree *tree = b->tree->wide;
    const uint32_t room = wide_stack_room(tree), stack = any ? room : 2 * room;
    const uint32_t fit = WIDE_STACKS / stack, some = fit < WIDE_STREAM ? fit : WIDE_STREAM;
    const uint32_t most = some < b->count ? some : b->count;
    uint32_t *words = (uint32_t *)memory_spare((uint64_t)most * stack * sizeof *words);
    if (!words) {
        for (uint32_t i = 0; i < b->count; ++i) cast_apart(b, b->listed[i], any);
        return;
    }
    _Alignas(64) wide_ray walks[WIDE_STREAM];
    wide_lists lists;
    wide_lengths of = {0, 0, 0};
    uint32_t next = 0;
    for (uint32_t i = 0; i < most && next < b->count; ++i) {
        uint32_t *own = words + (uint64_t)i * stack;
        wide_stack_empty(walks + i, own, any ? NULL : (float *)(void *)(own + room));
        if (begin_next(b, &next, walks + i, any)) lists.nodes[of.nodes++] = walks + i;
    }
    while (of.nodes | of.leaves) {
        const uint32_t nodes = of.nodes;
        of.nodes = 0;
        if (large) expect_nodes(tree, lists.nodes, nodes);
        for (uint32_t i = 0; i < nodes; ++i) {
            wide_ray *walk = lists.nodes[i];
            wide_step(walk, tree, room, any);
            join_list(&lists, &of, walk);
        }
        const uint32_t leaves = of.leaves;
        of.leaves = 0;
        expect_leaves(tree, lists.leaves, leaves);
        for (uint32_t i = 0; i < leaves; ++i) {
            wide_ray *walk = lists.leaves[i];
            wide_visit(walk, tree, b->rays, room, any);
            join_list(&lists, &of, walk);
        }
        end_walks(b, &next, &lists, &of, any);
    }
    memory_free(words);
}

uint32_t wide_cells_best(void) {
    return WIDE_LANES;
}

/* Closest and any hits are code of their own. */
static __attribute__((noinline)) ray_hit closest_one(const tritree_view *tree, const ray *cast) {
    return wide_cast_one(tree, cast, false);
}
static __attribute__((noinline)) ray_hit any_one(const tritree_view *tree, const ray *cast) {
    return wide_cast_one(tree, cast, true);
}
static __attribute__((noinline)) void closest_many(const wide_batch *b) {
    wide_cast(b, false, false);
}
static __attribute__((noinline)) void closest_many_large(const wide_batch *b) {
    wide_cast(b, false, true);
}
static __attribute__((noinline)) void any_many(const wide_batch *b) {
    wide_cast(b, true, false);
}
static __attribute__((noinline)) void any_many_large(const wide_batch *b) {
    wide_cast(b, true, true);
}

static __attribute__((noinline)) bool closest_packet(const tritree_view *tree, const ray *rays,
                                                     ray_hit *hits, packet_use *use) {
    return wide_cast_packet(tree, rays, false, hits, use);
}
static __attribute__((noinline)) bool any_packet(const tritree_view *tree, const ray *rays,
                                                 ray_hit *hits, packet_use *use) {
    return wide_cast_packet(tree, rays, true, hits, use);
}

/* A cheap look at the first and the last ray spares most packets that would be refused. */
static bool ends_differ(const ray rays[WIDE_PACKET]) {
    const vec3 first = rays[0].direction, last = rays[WIDE_PACKET - 1].direction;
    const float along = vec3_dot(first, last);
    return along <= 0 || along * along < 0.9f * vec3_dot(first, first) * vec3_dot(last, last);
}

bool trace_wide_packet(const tritree_view *tree, const ray rays[WIDE_PACKET], bool any,
                       ray_hit hits[WIDE_PACKET], packet_use *use) {
    if (ends_differ(rays)) return false;
    return any ? any_packet(tree, rays, hits, use) : closest_packet(tree, rays, hits, use);
}

ray_hit trace_wide_one(const tritree_view *tree, ray cast, bool any) {
    return any ? any_one(tree, &cast) : closest_one(tree, &cast);
}

void trace_wide(const tritree_view *tree, const ray *rays, const uint32_t *listed, uint32_t count,
                ray_hit *hits) {
    const wide_batch b = {tree, rays, listed, count, hits, NULL};
    if (wide_tree_bytes(tree->wide) > WIDE_LARGE)
        closest_many_large(&b);
    else
        closest_many(&b);
}

void trace_wide_any(const tritree_view *tree, const ray *rays, const uint32_t *listed,
                    uint32_t count, uint8_t *blocked) {
    const wide_batch b = {tree, rays, listed, count, NULL, blocked};
    if (wide_tree_bytes(tree->wide) > WIDE_LARGE)
        any_many_large(&b);
    else
        any_many(&b);
}

/* Traversal of wide trees by single rays and streams, for the instruction set that the including
   file is compiled for.
   Source: streams as in Gribble and Ramani 2008, "Coherent ray tracing via stream filtering".
   Idea: a single ray stalls at every step: on the node's memory, on the plane tests, on its stack.
   So up to 64 rays are in flight and take their steps in turns: first those at nodes, then those at
   leaves; finished rays are replaced. Sorting rays into these lists takes no branch. Leaves are
   prefetched in a separate pass before they are visited, and so are nodes if the tree is larger
   than the caches. The traversal of a single ray has one branch per node, whether it hits any
   child, and prefetches the stack entry after the next one.
   Memory: 128 bytes per ray in flight. All stacks of a stream together take at most 256 kB of heap;
   if that cannot be allocated, the rays are cast one by one. */
#include "accel/wide/wide_packet.h"
#include "accel/wide/wide_tree.h"
#include "accel/wide/wide_walk.h"
#include "core/memory.h"

enum {
    WIDE_STREAM = 64,
    WIDE_STACKS = 1 << 16, /* total capacity of a stream's stacks, in numbers */
    WIDE_LARGE = 40 << 20  /* bytes of trees that exceed the caches */
};

/* The work of a stream. */
typedef struct wide_batch {
    const tritree_view *tree;
    const ray *rays;
    const uint32_t *listed;
    uint32_t count;
    ray_hit *hits;    /* output of closest-hit queries */
    uint8_t *blocked; /* output of occlusion queries */
} wide_batch;

/* Rays in flight by the kind of their next step. */
typedef struct wide_lists {
    wide_ray *nodes[WIDE_STREAM + 1], *leaves[WIDE_STREAM + 1], *over[WIDE_STREAM + 1];
} wide_lists;
typedef struct wide_lengths {
    uint32_t nodes, leaves, over;
} wide_lengths;

VECTOR8_FN void walk_alone(wide_ray *walk, const wide_tree *tree, const ray *ray, bool any,
                           const wide_far *from_far) {
    const float *nears = (const float *)(const void *)(walk->words + WIDE_STACK);
    do {
        if (!(walk->word & WIDE_COUNT_MASK)) {
            step_alone(walk, tree, any, from_far);
            continue;
        }
        const bool found = wide_visit_leaf(walk, tree, ray, any);
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

/* The rare ray from far away; not inlined, to keep the common code short. */
static __attribute__((noinline, unused)) ray_hit cast_from_far(const tritree_view *tree,
                                                               const ray *ray, bool any) {
    wide_ray walk;
    uint32_t words[2 * WIDE_STACK];
    (void)wide_ray_begin(&walk, tree, ray);
    const wide_far far = wide_ray_far(&walk);
    wide_stack_empty(&walk, words, (float *)(void *)(words + WIDE_STACK));
    walk.number = 0;
    walk_alone(&walk, tree->wide, ray, any, &far);
    return walk.best;
}

VECTOR8_FN ray_hit wide_cast_one(const tritree_view *tree, const ray *ray, bool any) {
    wide_ray walk;
    uint32_t words[2 * WIDE_STACK];
    const wide_aim aim = wide_ray_begin(&walk, tree, ray);
    if (__builtin_expect(aim != WIDE_NEAR, 0))
        return aim == WIDE_FAR ? cast_from_far(tree, ray, any)
                               : tritree_cast(tree, *ray, any, NULL);
    wide_stack_empty(&walk, words, (float *)(void *)(words + WIDE_STACK));
    walk.number = 0;
    walk_alone(&walk, tree->wide, ray, any, NULL);
    return walk.best;
}

/* Casts a ray that the stream cannot handle. */
static __attribute__((noinline, unused)) void cast_noinline(const wide_batch *b, uint32_t number,
                                                            bool any) {
    const ray_hit hit = wide_cast_one(b->tree, b->rays + number, any);
    if (any)
        b->blocked[number] = hit.triangle != KD_NONE;
    else
        b->hits[number] = hit;
}

/* Sets up the next ray that the stream can handle. Returns false if there are no more. */
VECTOR8_FN bool begin_next(const wide_batch *b, uint32_t *next, wide_ray *walk, bool any) {
    while (*next < b->count) {
        const uint32_t number = b->listed[(*next)++];
        if (__builtin_expect(wide_ray_begin(walk, b->tree, b->rays + number) == WIDE_NEAR, 1)) {
            walk->number = number;
            return true;
        }
        cast_noinline(b, number, any);
    }
    return false;
}

VECTOR8_FN void join_list(wide_lists *lists, wide_lengths *lengths, wide_ray *walk) {
    const uint32_t leaf = (walk->word & WIDE_COUNT_MASK) != 0, over = walk->word == WIDE_OVER;
    lists->nodes[lengths->nodes] = lists->leaves[lengths->leaves] = lists->over[lengths->over] =
        walk;
    lengths->nodes += !(leaf | over);
    lengths->leaves += leaf;
    lengths->over += over;
}

/* Prefetches the leaves, or nodes, that the rays visit next. */
VECTOR8_FN void expect_leaves(const wide_tree *tree, wide_ray *const *walks, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        const float *leaf =
            tree->leaves + (uint64_t)(walks[i]->word >> WIDE_COUNT_BITS) * WIDE_LEAF_FLOATS;
        for (int line = 0; line < WIDE_LEAF_MAX * WIDE_LEAF_FLOATS / 16; ++line)
            __builtin_prefetch(leaf + 16 * line);
    }
}
VECTOR8_FN void expect_nodes(const wide_tree *tree, wide_ray *const *walks, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
        for (int line = 0; line < WIDE_LANES / 2; ++line)
            __builtin_prefetch(wide_node_of(tree, walks[i]->word) + 16 * line);
}

/* Stores the results of finished rays and replaces them by new ones. */
VECTOR8_FN void end_walks(const wide_batch *b, uint32_t *next, wide_lists *lists,
                          wide_lengths *lengths, bool any) {
    for (uint32_t i = 0; i < lengths->over; ++i) {
        wide_ray *walk = lists->over[i];
        if (any)
            b->blocked[walk->number] = walk->best.triangle != KD_NONE;
        else
            b->hits[walk->number] = walk->best;
        if (begin_next(b, next, walk, any)) lists->nodes[lengths->nodes++] = walk;
    }
    lengths->over = 0;
}

VECTOR8_FN void wide_cast(const wide_batch *b, bool any, bool large) {
    const wide_tree *tree = b->tree->wide;
    const uint32_t capacity = wide_stack_capacity(tree), stack = any ? capacity : 2 * capacity;
    const uint32_t fit = WIDE_STACKS / stack, some = fit < WIDE_STREAM ? fit : WIDE_STREAM;
    const uint32_t maximum = some < b->count ? some : b->count;
    uint32_t *words = (uint32_t *)memory_try_allocate((uint64_t)maximum * stack * sizeof *words);
    if (!words) {
        for (uint32_t i = 0; i < b->count; ++i) cast_noinline(b, b->listed[i], any);
        return;
    }
    _Alignas(64) wide_ray walks[WIDE_STREAM];
    wide_lists lists;
    wide_lengths lengths = {0, 0, 0};
    uint32_t next = 0;
    for (uint32_t i = 0; i < maximum && next < b->count; ++i) {
        uint32_t *words_of_ray = words + (uint64_t)i * stack;
        wide_stack_empty(walks + i, words_of_ray,
                         any ? NULL : (float *)(void *)(words_of_ray + capacity));
        if (begin_next(b, &next, walks + i, any)) lists.nodes[lengths.nodes++] = walks + i;
    }
    while (lengths.nodes | lengths.leaves) {
        const uint32_t nodes = lengths.nodes;
        lengths.nodes = 0;
        if (large) expect_nodes(tree, lists.nodes, nodes);
        for (uint32_t i = 0; i < nodes; ++i) {
            wide_ray *walk = lists.nodes[i];
            wide_step(walk, tree, capacity, any, NULL);
            join_list(&lists, &lengths, walk);
        }
        const uint32_t leaves = lengths.leaves;
        lengths.leaves = 0;
        expect_leaves(tree, lists.leaves, leaves);
        for (uint32_t i = 0; i < leaves; ++i) {
            wide_ray *walk = lists.leaves[i];
            wide_visit(walk, tree, b->rays, capacity, any);
            join_list(&lists, &lengths, walk);
        }
        end_walks(b, &next, &lists, &lengths, any);
    }
    memory_free(words);
}

uint32_t wide_children_best(void) {
    return WIDE_LANES;
}

/* Specialisations for closest hits and occlusion, compiled separately. */
static __attribute__((noinline)) ray_hit closest_one(const tritree_view *tree, const ray *ray) {
    return wide_cast_one(tree, ray, false);
}
static __attribute__((noinline)) ray_hit any_one(const tritree_view *tree, const ray *ray) {
    return wide_cast_one(tree, ray, true);
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

/* Comparing the first and the last ray cheaply rejects most packets that packet_begin would
   reject. */
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

ray_hit trace_wide_one(const tritree_view *tree, ray ray, bool any) {
    return any ? any_one(tree, &ray) : closest_one(tree, &ray);
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

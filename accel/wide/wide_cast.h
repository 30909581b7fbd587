/* Rays through a wide tree, one or many, for the kind of CPU that the including file is made for.
   Source: the streams of Gribble and Ramani 2008, "Coherent ray tracing via stream filtering".
   Idea: one ray waits at every step: for the node, for the planes, for the word on its stack. So
   many are on their way together and take their steps in turns: those at nodes first, then those
   at leaves, then new rays for those that are over. Which list a ray joins costs no branch.
   Memory: 5 kB a ray on the way, of which its stack takes what the tree's depth asks for. */
#ifndef KD_ACCEL_WIDE_WIDE_CAST_H
#define KD_ACCEL_WIDE_WIDE_CAST_H
#include "accel/wide/wide_walk.h"

enum {
    WIDE_STREAM = 32,
    WIDE_LARGE = 16 << 20 /* of trees that caches near the core do not hold */
};

typedef struct wide_stream {
    const tritree_view *tree;
    const ray *rays;
    const uint32_t *listed;
    ray_hit *hits;
    uint32_t count, next;
    bool any;
    uint32_t room; /* of a ray's stack */
    wide_ray walks[WIDE_STREAM];
    uint32_t numbers[WIDE_STREAM]; /* of their rays */
    /* walks by what is next */
    uint32_t nodes[WIDE_STREAM + 1], leaves[WIDE_STREAM + 1], over[WIDE_STREAM + 1];
    uint32_t node_count, leaf_count, over_count;
    uint32_t words[WIDE_STREAM * WIDE_STACK];
    float nears[WIDE_STREAM * WIDE_STACK];
} wide_stream;

VECTOR8_FN wide_stack stack_of(wide_stream *s, uint32_t walk) {
    const wide_stack stack = {s->words + walk * s->room, s->nears + walk * s->room};
    return stack;
}

/* The next ray of the list that can meet anything, to the list of nodes. */
VECTOR8_FN void begin_next(wide_stream *s, uint32_t walk) {
    while (s->next < s->count) {
        const uint32_t number = s->listed[s->next++];
        if (wide_ray_begin(&s->walks[walk], s->tree, s->rays + number)) {
            s->numbers[walk] = number;
            s->nodes[s->node_count++] = walk;
            return;
        }
        s->hits[number] = tritree_cast(s->tree, s->rays[number], s->any, NULL);
    }
}

/* Asks memory for a leaf that is visited when the other walks have taken their steps. */
VECTOR8_FN void expect_leaf(const wide_tree *tree, uint32_t word) {
    const float *leaf = tree->leaves + (uint64_t)(word >> WIDE_COUNT_BITS) * WIDE_LEAF_FLOATS;
    for (int line = 0; line <= WIDE_CELLS * WIDE_LEAF_FLOATS / 16; ++line)
        __builtin_prefetch(leaf + 16 * line);
}

VECTOR8_FN void join_list(wide_stream *s, uint32_t walk, bool large) {
    const uint32_t word = s->walks[walk].word;
    const uint32_t leaf = (word & WIDE_COUNT_MASK) != 0, over = word == WIDE_OVER;
    if (large && leaf) expect_leaf(s->tree->wide, word);
    s->nodes[s->node_count] = s->leaves[s->leaf_count] = s->over[s->over_count] = walk;
    s->node_count += !(leaf | over);
    s->leaf_count += leaf;
    s->over_count += over;
}

VECTOR8_FN void cast_walks(wide_stream *s, bool large) {
    const wide_tree *tree = s->tree->wide;
    for (uint32_t walk = 0; walk < WIDE_STREAM; ++walk) {
        s->words[walk * s->room] = WIDE_OVER;
        begin_next(s, walk);
    }
    while (s->node_count | s->leaf_count) {
        const uint32_t nodes = s->node_count;
        s->node_count = 0;
        for (uint32_t i = 0; i < nodes; ++i) {
            const uint32_t walk = s->nodes[i];
            wide_step(&s->walks[walk], tree, stack_of(s, walk));
            join_list(s, walk, large);
        }
        const uint32_t leaves = s->leaf_count;
        s->leaf_count = 0;
        for (uint32_t i = 0; i < leaves; ++i) {
            const uint32_t walk = s->leaves[i];
            wide_visit(&s->walks[walk], tree, s->rays + s->numbers[walk], s->any,
                       stack_of(s, walk));
            join_list(s, walk, large);
        }
        for (uint32_t i = 0; i < s->over_count; ++i) {
            const uint32_t walk = s->over[i];
            s->hits[s->numbers[walk]] = s->walks[walk].best;
            begin_next(s, walk);
        }
        s->over_count = 0;
    }
}

VECTOR8_FN ray_hit wide_cast_one(const tritree_view *tree, const ray *cast, bool any) {
    wide_ray walk;
    uint32_t words[WIDE_STACK];
    float nears[WIDE_STACK];
    const wide_stack stack = {words, nears};
    words[0] = WIDE_OVER;
    if (!wide_ray_begin(&walk, tree, cast)) return tritree_cast(tree, *cast, any, NULL);
    wide_step(&walk, tree->wide, stack);
    while (walk.word != WIDE_OVER) {
        if (walk.word & WIDE_COUNT_MASK)
            wide_visit(&walk, tree->wide, cast, any, stack);
        else
            wide_step(&walk, tree->wide, stack);
    }
    return walk.best;
}

VECTOR8_FN void wide_cast(const tritree_view *tree, const ray *rays, const uint32_t *listed,
                          uint32_t count, bool any, ray_hit *hits) {
    wide_stream s;
    s.tree = tree;
    s.rays = rays;
    s.listed = listed;
    s.hits = hits;
    s.count = count;
    s.next = 0;
    s.any = any;
    s.room = (WIDE_CELLS - 1) * tree->wide->depth + 2 * WIDE_CELLS;
    s.node_count = s.leaf_count = s.over_count = 0;
    if (wide_tree_bytes(tree->wide) > WIDE_LARGE)
        cast_walks(&s, true);
    else
        cast_walks(&s, false);
}

#endif

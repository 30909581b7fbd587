/* Source: the loops of Aila and Laine 2009, "Understanding the efficiency of ray traversal on
   GPUs", on a CPU's vector: every lane follows a ray of its own and fetches the next one when it is
   done.
   Idea: one ray alone waits for its own results: node, plane, next node. Eight rays wait together,
   for memory as well. All lanes step down until few are left that can; then those at leaves test
   their triangles, one after the other, and take what they left behind from their stacks.
   Work: that of the single rays. Memory: a stack of 16 bytes an entry for each lane.
   Invariants: each lane does what tritree_cast does with its ray, operation by operation. */
#include "accel/trace_lanes.h"
#include "accel/vector8.h"
#include <stddef.h>

enum { LANES = VECTOR8_LANES, STACK = TRITREE_MAX_DEPTH + 2, FEW = 4, EXPECTED = 4 };

typedef struct lane_entry {
    uint32_t node;
    float near, far, unused;
} lane_entry;

typedef struct lane_ray {
    triangle_caster caster;
    ray_hit best;
    float tmin, slack_t;
    uint32_t number; /* of the ray */
} lane_ray;

typedef struct lanes {
    /* of the walks, a ray a lane */
    float origin[3][LANES], inverse[3][LANES], slack[3][LANES];
    float near[LANES], far[LANES];
    uint32_t at[LANES];     /* node */
    int32_t waiting[LANES]; /* entries of the stack */
    uint32_t busy;          /* bit l: lane l has a ray */
    lane_ray rays[LANES];
    lane_entry stack[LANES][STACK];
} lanes;

typedef struct lane_queue {
    const tritree_view *tree;
    const ray *rays;
    const uint32_t *listed;
    ray_hit *hits;
    uint32_t count, next;
    bool any;
} lane_queue;

/* Gives the lane the next ray that enters the tree's box; rays that do not are answered. */
static void fetch(lanes *l, lane_queue *queue, int lane) {
    tritree_walk walk;
    l->busy &= ~(1u << lane);
    while (queue->next < queue->count) {
        const uint32_t number = queue->listed[queue->next++];
        const ray cast = queue->rays[number];
        lane_ray *one = &l->rays[lane];
        one->best.t = cast.tmax;
        one->best.u = one->best.v = 0;
        one->best.triangle = KD_NONE;
        if (!tritree_walk_begin(&walk, queue->tree, cast)) {
            queue->hits[number] = one->best;
            continue;
        }
        one->caster = triangle_caster_make(cast);
        one->tmin = cast.tmin;
        one->slack_t = walk.slack_t;
        one->number = number;
        for (int axis = 0; axis < 3; ++axis) {
            l->origin[axis][lane] = walk.origin[axis];
            l->inverse[axis][lane] = walk.inverse[axis];
            l->slack[axis][lane] = walk.slack[axis];
        }
        l->near[lane] = walk.near;
        l->far[lane] = walk.far;
        l->at[lane] = 0;
        l->waiting[lane] = 0;
        l->busy |= 1u << lane;
        return;
    }
}

VECTOR8_FN float8 float8_pair(const float low[4], const float high[4]) {
    return __builtin_shufflevector(float4v_load(low), float4v_load(high), 0, 1, 2, 3, 4, 5, 6, 7);
}

/* Bits 0 and 1: the ray may meet the first, the second triangle (triangle_rows_missed). */
VECTOR8_FN uint32_t pair_candidates(const triangle_rows *one, const triangle_rows *two,
                                    const triangle_caster *caster) {
    const int kx = caster->kx, ky = caster->ky, kz = caster->kz;
    const float8 z = float8_pair(one->axis[kz], two->axis[kz]) - vec3_axis(caster->origin, kz);
    const float8 x =
        float8_pair(one->axis[kx], two->axis[kx]) - vec3_axis(caster->origin, kx) - caster->sx * z;
    const float8 y =
        float8_pair(one->axis[ky], two->axis[ky]) - vec3_axis(caster->origin, ky) - caster->sy * z;
    const float8 x_cab = __builtin_shufflevector(x, x, 2, 0, 1, 3, 6, 4, 5, 7);
    const float8 y_cab = __builtin_shufflevector(y, y, 2, 0, 1, 3, 6, 4, 5, 7);
    const float8 x_bca = __builtin_shufflevector(x, x, 1, 2, 0, 3, 5, 6, 4, 7);
    const float8 y_bca = __builtin_shufflevector(y, y, 1, 2, 0, 3, 5, 6, 4, 7);
    const float8 edge = x_cab * y_bca - y_cab * x_bca, size = float8_abs(edge);
    const uint32_t negative = int8_bits((int8)edge);
    const uint32_t safe = int8_bits((size > 0x1p-80f) & (size < 0x1p80f));
    /* ruled out: all safe, and of both signs */
    const uint32_t first = (safe & 7) == 7 && (((negative & 7) + 1) & 6) != 0;
    const uint32_t second = (safe >> 4 & 7) == 7 && (((negative >> 4 & 7) + 1) & 6) != 0;
    return 3u ^ (first | second << 1);
}

/* tritree_rows_meet, two triangles at a time. */
VECTOR8_FN bool meet_leaf(const tritree_view *tree, tritree_node leaf, lane_ray *one) {
    const uint32_t *ids = tree->references + tritree_first(leaf);
    const uint32_t count = tritree_count(leaf);
    bool found = false;
    for (uint32_t i = 0; i < count; i += 2) {
        const uint32_t pair[2] = {ids[i], ids[i + 1 < count ? i + 1 : i]};
        uint32_t candidates =
            pair_candidates(tree->rows + pair[0], tree->rows + pair[1], &one->caster);
        for (; candidates; candidates &= candidates - 1) {
            const uint32_t id = pair[candidates >> 1 & ~candidates & 1];
            const triangle_rows *rows = tree->rows + id;
            found |= tritree_triangle_meet(
                &one->caster, triangle_rows_corner(rows, 0), triangle_rows_corner(rows, 1),
                triangle_rows_corner(rows, 2), id, one->tmin, &one->best);
        }
    }
    return found;
}

/* The lane is at a leaf: its triangles, and the next node of the stack or the next ray. */
VECTOR8_FN void visit_leaf(lanes *l, lane_queue *queue, int lane) {
    const tritree_view *tree = queue->tree;
    lane_ray *one = &l->rays[lane];
    const tritree_node leaf = tree->nodes[l->at[lane]];
    bool over = meet_leaf(tree, leaf, one) && queue->any;
    int32_t waiting = l->waiting[lane];
    const float limit = one->best.t + one->slack_t;
    do over |= waiting == 0;
    while (!over && l->stack[lane][--waiting].near > limit);
    if (over) {
        queue->hits[one->number] = one->best;
        fetch(l, queue, lane);
        return;
    }
    const lane_entry *entry = &l->stack[lane][waiting];
    l->at[lane] = entry->node;
    l->near[lane] = entry->near;
    l->far[lane] = entry->far;
    l->waiting[lane] = waiting;
}

/* Asks memory for the triangles of a leaf. */
VECTOR8_FN void expect_leaf(const tritree_view *tree, uint32_t at) {
    const tritree_node leaf = tree->nodes[at];
    const uint32_t *ids = tree->references + tritree_first(leaf);
    const uint32_t count = tritree_count(leaf) < EXPECTED ? tritree_count(leaf) : EXPECTED;
    for (uint32_t i = 0; i < count; ++i) {
        const char *rows = (const char *)&tree->rows[ids[i]];
        __builtin_prefetch(rows);
        __builtin_prefetch(rows + sizeof(triangle_rows) - 1);
    }
}

typedef struct lane_nodes {
    float8 split;
    int8 word;
} lane_nodes;

VECTOR8_FN lane_nodes load_nodes(const tritree_node *nodes, const uint32_t at[LANES]) {
    typedef uint64_t long4 __attribute__((vector_size(32)));
    uint64_t bits[LANES];
    for (int lane = 0; lane < LANES; ++lane) bits[lane] = tritree_bits(nodes[at[lane]]);
    const long4 low = {bits[0], bits[1], bits[2], bits[3]};
    const long4 high = {bits[4], bits[5], bits[6], bits[7]};
    lane_nodes loaded;
    loaded.split =
        (float8)__builtin_shufflevector((int8)low, (int8)high, 0, 2, 4, 6, 8, 10, 12, 14);
    loaded.word = __builtin_shufflevector((int8)low, (int8)high, 1, 3, 5, 7, 9, 11, 13, 15);
    return loaded;
}

VECTOR8_FN float8 by_axis(float from[3][LANES], int8 second, int8 third) {
    return float8_select(third, float8_load(from[2]),
                         float8_select(second, float8_load(from[1]), float8_load(from[0])));
}

/* All lanes a node down, until few are left that are not at leaves. */
VECTOR8_FN uint32_t step_down(lanes *l, const tritree_node *nodes) {
    float8 near = float8_load(l->near), far = float8_load(l->far);
    uint32_t leaves = 0;
    for (;;) {
        const lane_nodes node = load_nodes(nodes, l->at);
        const int8 axis = node.word & 3;
        const int8 inner = axis != 3;
        leaves = ~int8_bits(inner) & l->busy;
        if (__builtin_popcount(l->busy & ~leaves) <= (leaves ? FEW : 0)) break;
        const int8 second = axis == 1, third = axis == 2;
        const float8 inverse = by_axis(l->inverse, second, third);
        const float8 slack = by_axis(l->slack, second, third);
        const float8 t = (node.split - by_axis(l->origin, second, third)) * inverse;
        const float8 low = t - slack, high = t + slack;
        const int8 only_first = low > far, only_second = near > high;
        const int8 swap = (int8)inverse < 0; /* the upper child comes first */
        const int8 left = (int8)((uint32_t __attribute__((vector_size(32))))node.word >> 2);
        const int8 first = left - swap, other = left + 1 + swap;
        const int8 push = inner & ~(only_first | only_second);
        const float8 far_near = float8_max(low, near);
        /* rows of (node, near, far, -) from columns */
        const float8 a0 =
            __builtin_shufflevector((float8)other, far_near, 0, 8, 1, 9, 4, 12, 5, 13);
        const float8 a1 =
            __builtin_shufflevector((float8)other, far_near, 2, 10, 3, 11, 6, 14, 7, 15);
        const float8 b0 = __builtin_shufflevector(far, far, 0, 8, 1, 9, 4, 12, 5, 13);
        const float8 b1 = __builtin_shufflevector(far, far, 2, 10, 3, 11, 6, 14, 7, 15);
        const float8 rows[4] = {
            __builtin_shufflevector(a0, b0, 0, 1, 8, 9, 4, 5, 12, 13), /* lanes 0 and 4 */
            __builtin_shufflevector(a0, b0, 2, 3, 10, 11, 6, 7, 14, 15),
            __builtin_shufflevector(a1, b1, 0, 1, 8, 9, 4, 5, 12, 13),
            __builtin_shufflevector(a1, b1, 2, 3, 10, 11, 6, 7, 14, 15)};
        for (int lane = 0; lane < LANES / 2; ++lane) {
            const float4v one = __builtin_shufflevector(rows[lane], rows[lane], 0, 1, 2, 3);
            const float4v four = __builtin_shufflevector(rows[lane], rows[lane], 4, 5, 6, 7);
            memcpy(&l->stack[lane][l->waiting[lane]], &one, sizeof one);
            memcpy(&l->stack[lane + 4][l->waiting[lane + 4]], &four, sizeof four);
        }
        int8 waiting, at;
        memcpy(&waiting, l->waiting, sizeof waiting);
        memcpy(&at, l->at, sizeof at);
        waiting -= push;
        at = int8_select(inner, int8_select(only_second, other, first), at);
        far = float8_select(inner & ~only_second, float8_min(high, far), far);
        memcpy(l->waiting, &waiting, sizeof waiting);
        memcpy(l->at, &at, sizeof at);
    }
    memcpy(l->far, &far, sizeof far);
    return leaves;
}

VECTOR8_FN void cast_lanes(lane_queue *queue) {
    lanes l;
    memset(&l, 0, offsetof(lanes, stack));
    for (int lane = 0; lane < LANES; ++lane) fetch(&l, queue, lane);
    while (l.busy) {
        uint32_t leaves = step_down(&l, queue->tree->nodes);
        for (uint32_t rest = leaves; rest; rest &= rest - 1)
            expect_leaf(queue->tree, l.at[__builtin_ctz(rest)]);
        while (leaves) {
            const int lane = __builtin_ctz(leaves);
            leaves &= leaves - 1;
            visit_leaf(&l, queue, lane);
        }
    }
}

static void cast_here(lane_queue *queue) {
    cast_lanes(queue);
}

#ifdef VECTOR8_DISPATCH
VECTOR8_AVX2 static void cast_avx2(lane_queue *queue) {
    cast_lanes(queue);
}
#endif

void trace_lanes(const tritree_view *tree, const ray *rays, const uint32_t *listed, uint32_t count,
                 bool any, ray_hit *hits) {
    lane_queue queue = {tree, rays, listed, hits, count, 0, any};
#ifdef VECTOR8_DISPATCH
    if (vector8_has_avx2()) {
        cast_avx2(&queue);
        return;
    }
#endif
    cast_here(&queue);
}

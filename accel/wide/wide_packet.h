/* Traversal of a wide tree by packets of sixteen coherent rays.
   Source: Wald, Slusallek, Benthin, Wagner 2001, "Interactive rendering with coherent ray tracing",
   for packets; Reshetov, Soupikov, Hurley 2005, "Multi-level ray tracing algorithm", for testing a
   node with the interval of all rays first.
   Idea: the intervals of all origins and of all inverse directions are tested against all children
   of a node with one vector. A child that the interval hits is then tested against each ray, eight
   rays per vector. In a leaf, each triangle is tested against eight rays at once; if few rays are
   active, each of them is tested against all triangles instead.
   Work: proportional to the union of the rays' paths.
   Memory: 12 bytes per stack entry, 18 kB.
   Invariants: all rays have the same octant and the same largest axis. Each performs the same
   operations on children and triangles as a single ray (wide_walk.h), so results equal those of
   tritree_cast, bit for bit. The interval test rounds as often as a single ray's test and stays
   within the same margin. */
#ifndef KD_ACCEL_WIDE_WIDE_PACKET_H
#define KD_ACCEL_WIDE_WIDE_PACKET_H
#include "accel/wide/wide_tree.h"
#include "accel/wide/wide_walk.h"

enum {
    PACKET_VECTORS = WIDE_PACKET / VECTOR8_LANES,
    PACKET_ALL = (1 << VECTOR8_LANES) - 1,
    PACKET_STACK = (WIDE_LANES - 1) * WIDE_MAX_DEPTH + WIDE_LANES,
    /* Cycles, for packet_use: a ray's step and leaf visit in a stream; a packet's child, and a
       triangle of a leaf with eight rays. The packet's numbers are somewhat above the measured
       ones, because streams stall less on memory. */
    PACKET_STEP = 26,
    PACKET_LEAF = 52,
    PACKET_CELL = 60,
    PACKET_TRIANGLE = 30
};

/* Eight rays of a packet. Axes are x, y, z, except for the origin and triangle tests. */
typedef struct packet_rays {
    float8 inverse[3], back[3];
    float8 begin, limit, slack_t; /* see wide_ray */
    float8 origin[3], sx, sy, sz; /* components in the order kx, ky, kz */
    float8 tmin, t, u, v;         /* the nearest hits so far */
    int8 triangle;                /* KD_NONE: -1 */
} packet_rays;

typedef struct packet {
    packet_rays rays[PACKET_VECTORS];
    float near_origin[3], far_origin[3]; /* for the near and far planes, relative to the centre */
    float minimum[3], maximum[3];        /* range of 1 / direction over the packet */
    float begin, limit;                  /* over all rays */
    uint16_t nearer[3], rows[3];         /* see wide_ray */
    uint32_t octant;
} packet;

typedef struct packet_entry {
    uint32_t word;
    float near;
    uint32_t active; /* mask of rays */
} packet_entry;

/* Transposes eight rays to vectors: origin, tmin, direction, tmax. */
VECTOR8_FN void packet_turn(const ray *rays, float8 columns[8]) {
    float8 r[8], t[8];
    memcpy(r, rays, sizeof r);
    for (int i = 0; i < 8; i += 2) {
        t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; ++k) {
            r[i + 2 * k] =
                __builtin_shufflevector(t[i + k], t[i + 2 + k], 0, 1, 8, 9, 4, 5, 12, 13);
            r[i + 2 * k + 1] =
                __builtin_shufflevector(t[i + k], t[i + 2 + k], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; ++i) {
        columns[i] = __builtin_shufflevector(r[i], r[4 + i], 0, 1, 2, 3, 8, 9, 10, 11);
        columns[4 + i] = __builtin_shufflevector(r[i], r[4 + i], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* Sets up eight rays. Returns false if one is not coherent with the first, whose axes and octant
   are known. */
VECTOR8_FN bool packet_take(packet_rays *packet_rays, const packet *p, const tritree_view *tree,
                            const ray *rays, const ray *first, float8 o[3]) {
    float8 columns[8], reach = {0};
    packet_turn(rays, columns);
    const float8 *d = columns + 4;
    const float8 x = float8_abs(d[0]), y = float8_abs(d[1]), z = float8_abs(d[2]);
    const uint32_t kx = p->rows[0] / 3u, ky = p->rows[1] / 3u, kz = p->rows[2] / 3u;
    const float8 largest = float8_abs(d[kz]);
    const int8 by_x = (x > y) & (x > z), by_y = ~(x > y) & (y > z);
    int8 good = (kz == 0   ? by_x
                 : kz == 1 ? by_y
                           : ~by_x & ~by_y) &
                (largest >= 0x1p-90f) & (largest <= 0x1p90f);
    for (int axis = 0; axis < 3; ++axis) {
        const float8 lo = float8_all(vec3_axis(tree->box.lo, axis)) - columns[axis];
        const float8 hi = float8_all(vec3_axis(tree->box.hi, axis)) - columns[axis];
        reach = float8_max(reach, float8_max(float8_abs(lo), float8_abs(hi)));
        const float8 minimum = largest * 0x1p-26f;
        const int8 sign = (int8)d[axis] & INT32_MIN;
        const float8 safe = (float8)((int8)float8_max(float8_abs(d[axis]), minimum) | sign);
        good &= sign == (p->octant >> axis & 1 ? INT32_MIN : 0);
        o[axis] = columns[axis];
        packet_rays->inverse[axis] = 1 / safe;
        packet_rays->back[axis] =
            (vec3_axis(tree->wide->centre, axis) - columns[axis]) * packet_rays->inverse[axis];
    }
    packet_rays->sx = d[kx] / d[kz];
    packet_rays->sy = d[ky] / d[kz];
    packet_rays->sz = 1 / d[kz];
    packet_rays->origin[0] = columns[kx];
    packet_rays->origin[1] = columns[ky];
    packet_rays->origin[2] = columns[kz];
    packet_rays->slack_t = reach / largest * TRITREE_SLACK_T;
    packet_rays->tmin = columns[3];
    packet_rays->t = columns[7];
    const float8 begin = packet_rays->tmin - packet_rays->slack_t,
                 limit = packet_rays->t + packet_rays->slack_t;
    const int8 ranged = begin <= limit; /* an empty interval never hits */
    packet_rays->begin = float8_select(ranged, begin, float8_all(INFINITY));
    packet_rays->limit = float8_select(ranged, limit, float8_all(-INFINITY));
    packet_rays->u = packet_rays->v = float8_all(0);
    packet_rays->triangle = (int8){0} - 1;
    good &= (reach <= tree->wide->reach) & (packet_rays->slack_t < 0x1p50f);
    /* Coherence: shears differ by at most 1/8, origins by at most 1/16 of the reach. */
    const float *f = &first->direction.x;
    good &= (float8_abs(packet_rays->sx - f[kx] / f[kz]) <= 0.125f) &
            (float8_abs(packet_rays->sy - f[ky] / f[kz]) <= 0.125f);
    for (int axis = 0; axis < 3; ++axis)
        good &= float8_abs(columns[axis] - vec3_axis(first->origin, axis)) <= 0.0625f * reach;
    return !int8_any(~good);
}

VECTOR8_FN float float8_of_max(float8 v) {
    return -float8_of_min(-v);
}

/* Computes the interval of all rays; `o`: their origins. */
VECTOR8_FN void packet_join(packet *p, vec3 centre, float8 o[PACKET_VECTORS][3]) {
    float8 begin = p->rays[0].begin, limit = p->rays[0].limit;
    for (int i = 1; i < PACKET_VECTORS; ++i) {
        begin = float8_min(begin, p->rays[i].begin);
        limit = float8_max(limit, p->rays[i].limit);
    }
    p->begin = float8_of_min(begin);
    p->limit = float8_of_max(limit);
    for (int axis = 0; axis < 3; ++axis) {
        float8 minimum = p->rays[0].inverse[axis], maximum = minimum, from = o[0][axis], to = from;
        for (int i = 1; i < PACKET_VECTORS; ++i) {
            minimum = float8_min(minimum, p->rays[i].inverse[axis]);
            maximum = float8_max(maximum, p->rays[i].inverse[axis]);
            from = float8_min(from, o[i][axis]);
            to = float8_max(to, o[i][axis]);
        }
        const bool back = p->octant >> axis & 1;
        const float lo = float8_of_min(from) - vec3_axis(centre, axis);
        const float hi = float8_of_max(to) - vec3_axis(centre, axis);
        p->minimum[axis] = float8_of_min(minimum);
        p->maximum[axis] = float8_of_max(maximum);
        p->near_origin[axis] = back ? lo : hi;
        p->far_origin[axis] = back ? hi : lo;
        p->nearer[axis] = (uint16_t)(back ? WIDE_LANES : 0);
    }
}

/* Sets up a packet. Returns false if the rays are not coherent. */
VECTOR8_FN bool packet_begin(packet *p, const tritree_view *tree, const ray *rays) {
    static const uint8_t after[5] = {0, 1, 2, 0, 1};
    float8 origins[PACKET_VECTORS][3];
    const float *d = &rays->direction.x;
    const float x = fabsf(d[0]), y = fabsf(d[1]), z = fabsf(d[2]);
    const int kz = x > y ? (x > z ? 0 : 2) : (y > z ? 1 : 2);
    p->octant = 0;
    for (int axis = 0; axis < 3; ++axis) {
        p->octant |= (uint32_t)(signbit(d[axis]) != 0) << axis;
        p->rows[axis] = (uint16_t)(3 * after[kz + (axis + 1) % 3]);
    }
    for (int i = 0; i < PACKET_VECTORS; ++i)
        if (!packet_take(&p->rays[i], p, tree, rays + VECTOR8_LANES * i, rays, origins[i]))
            return false;
    packet_join(p, tree->wide->centre, origins);
    return true;
}

/* Returns a mask of the node's children that the interval hits; `nears`: where it enters them. */
VECTOR8_FN uint32_t packet_intersect_children(const packet *p, const float *node,
                                              float nears[WIDE_LANES]) {
    lanes near = lanes_all(p->begin), far = lanes_all(p->limit);
    for (int axis = 0; axis < 3; ++axis) {
        const float *bound = node + 2 * WIDE_LANES * axis;
        const lanes minimum = lanes_all(p->minimum[axis]), maximum = lanes_all(p->maximum[axis]);
        const lanes in = lanes_load(bound + p->nearer[axis]) - lanes_all(p->near_origin[axis]);
        const lanes out =
            lanes_load(bound + (WIDE_LANES - p->nearer[axis])) - lanes_all(p->far_origin[axis]);
        near = lanes_max(lanes_min(in * minimum, in * maximum), near);
        far = lanes_min(lanes_max(out * minimum, out * maximum), far);
    }
    memcpy(nears, &near, sizeof near);
    return lanes_hit(near, far);
}

/* Returns a mask of the rays that hit the child. */
VECTOR8_FN uint32_t packet_intersect_cell(const packet *p, const float *node, uint32_t lane) {
    uint32_t active = 0;
    for (int i = 0; i < PACKET_VECTORS; ++i) {
        const packet_rays *rays = &p->rays[i];
        float8 near = rays->begin, far = rays->limit;
        for (int axis = 0; axis < 3; ++axis) {
            const float *bound = node + 2 * WIDE_LANES * axis + lane;
            const float8 inverse = rays->inverse[axis], back = rays->back[axis];
            const float in = bound[p->nearer[axis]], out = bound[WIDE_LANES - p->nearer[axis]];
            near = float8_max(float8_multiply_add(float8_all(in), inverse, back), near);
            far = float8_min(float8_multiply_add(float8_all(out), inverse, back), far);
        }
        active |= int8_bits(near <= far) << VECTOR8_LANES * i;
    }
    return active;
}

/* Tests the rays of `alone`, which the vectors cannot decide, by triangle_intersect. */
static __attribute__((noinline, unused)) void
packet_intersect_alone(packet_rays *packet_rays, const ray *rays, const float *leaf, uint32_t count,
                       uint32_t i, uint32_t alone, bool any) {
    for (; alone; alone &= alone - 1) {
        const int k = __builtin_ctz(alone);
        ray_hit best = {packet_rays->t[k], packet_rays->u[k], packet_rays->v[k],
                        (uint32_t)packet_rays->triangle[k]};
        if (!wide_intersect_alone(rays + k, leaf, count, i, &best)) continue;
        packet_rays->t[k] = best.t;
        packet_rays->u[k] = best.u;
        packet_rays->v[k] = best.v;
        packet_rays->triangle[k] = (int32_t)best.triangle;
        packet_rays->limit[k] = any ? -INFINITY : best.t + packet_rays->slack_t[k];
    }
}

/* Tests one triangle of a leaf against eight rays, of which only those in `active` hit the leaf. */
VECTOR8_FN void packet_intersect(packet_rays *packet_rays, const packet *p, const ray *rays,
                                 const float *leaf, uint32_t count, uint32_t i, uint32_t active,
                                 bool any) {
    triangle8 eight;
    for (uint32_t c = 0; c < 3; ++c) {
        const float x = leaf[(p->rows[0] + c) * count + i], y = leaf[(p->rows[1] + c) * count + i];
        eight.z[c] = leaf[(p->rows[2] + c) * count + i] - packet_rays->origin[2];
        eight.x[c] = x - packet_rays->origin[0] - packet_rays->sx * eight.z[c];
        eight.y[c] = y - packet_rays->origin[1] - packet_rays->sy * eight.z[c];
    }
    active &= ~int8_bits(triangle8_missed(&eight));
    if (!active) return;
    triangle8_intersect(&eight, packet_rays->sz);
    const int32_t id = (int32_t)float_bits(leaf[9 * count + i]);
    const int8 lane = {1, 2, 4, 8, 16, 32, 64, 128};
    const int8 valid = ((lane & (int32_t)active) != 0) & eight.good;
    const int8 nearer =
        (eight.t < packet_rays->t) | ((eight.t == packet_rays->t) & (id < packet_rays->triangle));
    const int8 better = valid & (eight.t > packet_rays->tmin) & nearer;
    packet_rays->t = float8_select(better, eight.t, packet_rays->t);
    packet_rays->u = float8_select(better, eight.u, packet_rays->u);
    packet_rays->v = float8_select(better, eight.v, packet_rays->v);
    packet_rays->triangle = int8_select(better, (int8){0} + id, packet_rays->triangle);
    packet_rays->limit = float8_select(
        better, any ? float8_all(-INFINITY) : eight.t + packet_rays->slack_t, packet_rays->limit);
    const uint32_t alone = active & ~int8_bits(eight.good);
    if (__builtin_expect(alone != 0, 0))
        packet_intersect_alone(packet_rays, rays, leaf, count, i, alone, any);
}

/* Tests one ray of the packet against all triangles of the leaf, as a single ray does. */
VECTOR8_FN void packet_visit_alone(packet_rays *packet_rays, const packet *p, const wide_tree *tree,
                                   const ray *rays, uint32_t word, int k, bool any) {
    wide_ray alone;
    for (int i = 0; i < 3; ++i) {
        alone.origin[i] = packet_rays->origin[i][k];
        alone.rows[i] = p->rows[i];
    }
    const float4v shear = {packet_rays->sx[k], packet_rays->sy[k], packet_rays->sz[k], 0};
    const ray_hit best = {packet_rays->t[k], packet_rays->u[k], packet_rays->v[k],
                          (uint32_t)packet_rays->triangle[k]};
    alone.shear = shear;
    alone.tmin = packet_rays->tmin[k];
    alone.best = best;
    alone.word = word;
    alone.number = (uint32_t)k;
    if (!wide_visit_leaf(&alone, tree, rays, any)) return;
    packet_rays->t[k] = alone.best.t;
    packet_rays->u[k] = alone.best.u;
    packet_rays->v[k] = alone.best.v;
    packet_rays->triangle[k] = any ? 0 : (int32_t)alone.best.triangle;
    packet_rays->limit[k] = any ? -INFINITY : alone.best.t + packet_rays->slack_t[k];
}

/* Visits a leaf. Few active rays are tested one by one against eight triangles at once; many are
   tested eight at once against each triangle. */
VECTOR8_FN void packet_visit(packet *p, const wide_tree *tree, const ray *rays,
                             const packet_entry *at, bool any, packet_use *use) {
    const uint32_t count = at->word & WIDE_COUNT_MASK;
    const float *leaf = tree->leaves + (uint64_t)(at->word >> WIDE_COUNT_BITS) * WIDE_LEAF_FLOATS;
    for (int v = 0; v < PACKET_VECTORS; ++v) {
        uint32_t active = at->active >> VECTOR8_LANES * v & PACKET_ALL;
        packet_rays *packet_rays = &p->rays[v];
        const ray *subpacket = rays + VECTOR8_LANES * v;
        const uint32_t hit = (uint32_t)__builtin_popcount(active);
        if (!hit) continue;
        use->separate += PACKET_LEAF * hit;
        if (PACKET_LEAF * hit < PACKET_TRIANGLE * count) {
            use->together += PACKET_LEAF * hit;
            for (; active; active &= active - 1)
                packet_visit_alone(packet_rays, p, tree, subpacket, at->word, __builtin_ctz(active),
                                   any);
            continue;
        }
        use->together += PACKET_TRIANGLE * count;
        for (uint32_t i = 0; i < count; ++i)
            packet_intersect(packet_rays, p, subpacket, leaf, count, i, active, any);
    }
    float8 limit = p->rays[0].limit;
    for (int v = 1; v < PACKET_VECTORS; ++v) limit = float8_max(limit, p->rays[v].limit);
    p->limit = float8_of_max(limit);
}

/* Pushes the node's children that any ray hits, the nearest last. */
VECTOR8_FN packet_entry *packet_step(const packet *p, const wide_tree *tree, const packet_entry *at,
                                     packet_entry *top, packet_use *use) {
    const float *node = wide_node_of(tree, at->word);
    const uint32_t *order = wide_node_order(node, p->octant);
    _Alignas(64) float nears[WIDE_LANES];
    uint32_t hit = packet_intersect_children(p, node, nears);
    use->separate += PACKET_STEP * (uint32_t)__builtin_popcount(at->active);
    use->together += PACKET_STEP + PACKET_CELL * (uint32_t)__builtin_popcount(hit);
    for (uint32_t i = 0; hit; ++i) {
        const uint32_t lane =
            WIDE_LANES == 8 ? order[0] >> 4 * i & 15 : order[i & 1] >> 4 * (i >> 1) & 15;
        if (!(hit >> lane & 1)) continue;
        hit &= ~(1u << lane);
        top->word = wide_node_words(node)[lane];
        top->near = nears[lane];
        top->active = packet_intersect_cell(p, node, lane);
        top += top->active != 0;
    }
    return top;
}

VECTOR8_FN bool wide_cast_packet(const tritree_view *tree, const ray rays[WIDE_PACKET], bool any,
                                 ray_hit hits[WIDE_PACKET], packet_use *use) {
    packet p;
    packet_entry stack[PACKET_STACK], *top = stack;
    if (!packet_begin(&p, tree, rays)) return false;
    packet_entry at = {0, -INFINITY, (1u << WIDE_PACKET) - 1};
    for (;;) {
        if (at.word & WIDE_COUNT_MASK)
            packet_visit(&p, tree->wide, rays, &at, any, use);
        else
            top = packet_step(&p, tree->wide, &at, top, use);
        while (top > stack && top[-1].near > p.limit) --top;
        if (top == stack) break;
        at = *--top;
    }
    for (int v = 0; v < PACKET_VECTORS; ++v)
        for (int i = 0; i < VECTOR8_LANES; ++i) {
            const packet_rays *packet_rays = &p.rays[v];
            const ray_hit hit = {packet_rays->t[i], packet_rays->u[i], packet_rays->v[i],
                                 (uint32_t)packet_rays->triangle[i]};
            hits[VECTOR8_LANES * v + i] = hit;
        }
    return true;
}

#endif

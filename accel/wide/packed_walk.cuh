/* A ray on its way through the packed form of a k-d tree: the answers of accel/tree/walk.h, bit for
   bit.
   Idea of a step: the node's numbers are made relative to where the ray enters the node's own box,
   in units of its grid, with the direction by its largest component. All that matters then lies
   between 0 and 255, where half floats do, two children at a time: a byte in the low half of a
   16-bit word is the half q 2^-24, so one selection of bytes takes two planes, nearer or farther
   ones by a selector that the ray holds, and t of a plane is one fused product. Verdicts fall on
   bits 7 of the bytes that say where children lie; four selections bring those into the order of
   the ray. Idea of a leaf: triangle_meet's own float operations. Where it would go on in double,
   the triangle is put off: its place goes to a list of the ray's, which is settled at the ray's end
   (packed_loops.cuh). If it is surely a hit the ray's end is drawn in to the largest t that it can
   have, and what was nearest is dropped. So the walk finds the nearest of all the others, and the
   answer is the nearest of that and of the settled ones, by t, then id.
   Invariants: let R be the largest distance along an axis to the tree's box, a unit 2^-24 R, e = 1
   / inv_e of a node, v = 1 / direction, s = 32 units, the slack. A hit names a point P of its
   triangle (triangle.h) that the ray passes within 6 units, at a t within 104 units. P lies in the
   cell of some leaf that has the triangle, so in its box and those above it.
   - Bytes are floor and ceil in double; t0, where the ray enters a node's box, is no later than in
     truth, as each axis' near side is lowered by |v| s / e. There each coordinate is at most 255 +
     s / e, and what is behind t0 up to the exit at most 256 + s / e.
   - A plane's t is q a + b with a and b halves. a is off by 2^-12 of it, b by half a place of |a|
   (255
     + s / e), the result by 2^-12 of t; |a| is at most 4093, which is off by another 255 / 4093.
   The sum is less than (0.5 + s / e) |a|, by which b is lowered or raised; s covers the 6 units and
     some 10 of p - o, e, v, t0 and x. So no box of P is missed.
   - A node begins no later than 128 units before the ray's own begin, a cell that begins no later
     than that behind its end is met.
   - Cells of a k-d tree lie apart and are met in exact order. Whatever comes later has its P behind
   a plane of this leaf's cell, less 6 units; so a hit ends the ray once it lies 128 units before
   the cell's end, which is drawn in by s.
   - Where s / e is above 127 each lane is met; those without a child have no bit 7.
   A triangle is in doubt where |sum| <= wide tall / 8 (its t then takes double), or a weight is
   below 2^-80. With D the largest |z| of its corners and W = max(wide, tall): sheared coordinates
   are off by 2^-24 (2 |x| + 4 D), so a weight by at most w = 2^-21 (wide + tall) (D + W); t along z
   by 6 w /
   (|sum| - 3 w) of the spread of the corners' z (three weights, and as much again where double cuts
   a negative one off), never by more than that spread. A weight of rounded size is out only if the
   others differ in sign by more than 2^-21 wide tall.
   Rays whose numbers leave the comfortable range, and those with more doubts than the list holds,
   are cast by tritree_device_cast. */
#ifndef KD_ACCEL_WIDE_PACKED_WALK_CUH
#define KD_ACCEL_WIDE_PACKED_WALK_CUH
#include "accel/tree/walk.h"
#include "accel/wide/packed_form.h"
#include "accel/wide/packed_lanes.cuh"

enum {
    PACKED_WAITING = 127,
    PACKED_DOUBTS = 6,             /* triangles that a ray may leave to be settled */
    PACKED_LEAF_MARK = 0x80000000, /* of `at`: a leaf's unit */
    PACKED_IDLE = 0xffffffff       /* of `at`: no ray, or one that is done */
};
const uint32_t PACKED_OPEN = KD_NONE - 1; /* instead of an id: to be cast by the other walk */

/* What a thread keeps beside its registers. */
typedef struct packed_stack {
    uint2 metas[PACKED_MAX_DEPTH];
    uint32_t bases[PACKED_MAX_DEPTH];
    uint32_t doubts[1 + PACKED_DOUBTS]; /* how many, then their rows, in 16 bytes */
} packed_stack;

/* What all rays of a kernel have in common. */
typedef struct packed_scene {
    const uint4 *units; /* two a unit */
    box3 box;
    bool empty; /* nothing can be hit, or no packed form: see `plain` */
} packed_scene;

PACKED_FN packed_scene packed_scene_of(const tritree_view &tree) {
    packed_scene scene;
    scene.units = (const uint4 *)tree.packed;
    scene.box = tree.box;
    scene.empty = tree.reference_count == 0;
    return scene;
}

/* A leaf as the ray sees it: z along the direction's largest component. */
struct packed_sight {
    const float4 *x, *y, *z; /* rows of the first triangle */
    float ox, oy, oz;
    float shear_x, shear_y, along; /* 1 or -1 */
};

/* A triangle seen so: sheared corners, and the weights of all three. */
struct packed_seen {
    float ax, ay, az, bx, by, bz, cx, cy, cz;
    float wa, wb, wc, smallest;

    __device__ __forceinline__ void look(const packed_sight &by_ray, float4 x, float4 y, float4 z) {
        az = z.x - by_ray.oz, bz = z.y - by_ray.oz, cz = z.z - by_ray.oz;
        ax = x.x - by_ray.ox - by_ray.shear_x * az, ay = y.x - by_ray.oy - by_ray.shear_y * az;
        bx = x.y - by_ray.ox - by_ray.shear_x * bz, by = y.y - by_ray.oy - by_ray.shear_y * bz;
        cx = x.z - by_ray.ox - by_ray.shear_x * cz, cy = y.z - by_ray.oy - by_ray.shear_y * cz;
        wa = cx * by - cy * bx, wb = ax * cy - ay * cx, wc = bx * ay - by * ax;
        smallest = packed_min3(fabsf(wa), fabsf(wb), fabsf(wc));
    }
    /* Whether float decides on the signs, and says that the ray passes beside it. */
    __device__ __forceinline__ bool is_large() const { return smallest > 0x1p-80f; }
    __device__ __forceinline__ bool is_mixed() const {
        const int a = __float_as_int(wa), b = __float_as_int(wb), c = __float_as_int(wc);
        return ((a ^ b) | (a ^ c)) < 0;
    }
    __device__ __forceinline__ float wide() const {
        return packed_max3(fabsf(ax), fabsf(bx), fabsf(cx));
    }
    __device__ __forceinline__ float tall() const {
        return packed_max3(fabsf(ay), fabsf(by), fabsf(cy));
    }
    /* How far t may be off, seen edge-on. */
    __device__ __forceinline__ float blur(float inverse, float along) const {
        const float deep = packed_max3(fabsf(az), fabsf(bz), fabsf(cz));
        const float spread = packed_max3(az, bz, cz) - packed_min3(az, bz, cz);
        const float off =
            0x1p-18f * (deep + fmaxf(wide(), tall())) * (wide() + tall()) * fabsf(inverse);
        return fmaf(spread, off < 0.5f ? off : 1, 0x1p-20f * deep) * fabsf(along);
    }
    /* Whether even double, whose signs are those of large products, says that it is passed. */
    __device__ __forceinline__ bool is_passed() const {
        const float rounding = 0x1p-21f * wide() * tall();
        return packed_min3(wa, wb, wc) < -rounding && packed_max3(wa, wb, wc) > rounding;
    }
};

/* any: whether something is hit is all that is asked. bounded: children behind the ray's end are
   left out, as `any` needs; else only a hit in a leaf's cell ends the ray. */
template <bool any, bool bounded> struct packed_ray {
    float ox, oy, oz, dx, dy, dz; /* the direction by its largest component */
    float vx, vy, vz;             /* 1 / direction */
    uint32_t hx, hy, hz;          /* 16 times that, as two halves */
    float largest, tmin, nearest; /* t as the caller has it */
    float slack;                  /* a length */
    uint32_t best;                /* id; KD_NONE; PACKED_OPEN */
    float u, v;            /* of the best; any: where the ray's end and begin are, as lengths */
    uint32_t way;          /* bits 0 to 2: the node's row; from 8 on the largest component */
    uint32_t base, m0, m1; /* a group of children */
    uint32_t hits;         /* of the group: the topmost bit is met first */
    uint32_t at;
    uint32_t waiting; /* groups on the stack, by bits PACKED_WAITING: a compiler that knows it to be
                         0 where a ray ends keeps it twice */
    /* derived */
    float ax, ay, az;                      /* halves as floats, 2^-20 of 1 / direction */
    float back_x, back_y, back_z;          /* t of plane 255, where that is the nearer one */
    uint32_t near_x, near_y, near_z, turn; /* selectors */

    __device__ __forceinline__ void derive() {
        ax = packed_low_half(hx) * 0x1p-24f;
        ay = packed_low_half(hy) * 0x1p-24f;
        az = packed_low_half(hz) * 0x1p-24f;
        back_x = fminf(255 * vx, 0), back_y = fminf(255 * vy, 0), back_z = fminf(255 * vz, 0);
        near_x = vx < 0 ? 0x4341 : 0x4240;
        near_y = vy < 0 ? 0x4341 : 0x4240;
        near_z = vz < 0 ? 0x4341 : 0x4240;
        turn = vz < 0 ? 0x7531 : 0x0246;
    }

    /* Where cells may still begin, as a length. */
    __device__ __forceinline__ float limit() const { return fmaf(nearest, largest, slack * 5); }
    __device__ __forceinline__ float begin_length() const {
        return fmaf(tmin, largest, slack * -5);
    }

    __device__ __forceinline__ static float inverse_of(float d) {
        return packed_inverse(fabsf(d) > 0x1p-26f ? d : copysignf(0x1p-26f, d));
    }
    /* Of a direction's component: whether by the largest one it is nothing or far from underflow.
     */
    __device__ __forceinline__ static bool is_moderate(float x, float largest) {
        return x == 0 || x > largest * 0x1p-60f;
    }

    __device__ __forceinline__ bool misses(const box3 &box) const {
        const float x0 = (box.lo.x - ox) * vx, x1 = (box.hi.x - ox) * vx;
        const float y0 = (box.lo.y - oy) * vy, y1 = (box.hi.y - oy) * vy;
        const float z0 = (box.lo.z - oz) * vz, z1 = (box.hi.z - oz) * vz;
        const float near = packed_max3(fmaf(-slack, fabsf(vx), fminf(x0, x1)),
                                       fmaf(-slack, fabsf(vy), fminf(y0, y1)),
                                       fmaf(-slack, fabsf(vz), fminf(z0, z1)));
        const float far = packed_min3(fmaf(slack, fabsf(vx), fmaxf(x0, x1)),
                                      fmaf(slack, fabsf(vy), fmaxf(y0, y1)),
                                      fmaf(slack, fabsf(vz), fmaxf(z0, z1)));
        return near > far || far < begin_length();
    }

    /* Whether the ray's numbers are such that no step leaves the range of float. */
    __device__ __forceinline__ bool is_comfortable(const box3 &box, float4 d) {
        const float x = fabsf(d.x), y = fabsf(d.y), z = fabsf(d.z);
        const float reach = packed_max3(fmaxf(fabsf(box.lo.x - ox), fabsf(box.hi.x - ox)),
                                        fmaxf(fabsf(box.lo.y - oy), fabsf(box.hi.y - oy)),
                                        fmaxf(fabsf(box.lo.z - oz), fabsf(box.hi.z - oz)));
        const float side =
            packed_max3(box.hi.x - box.lo.x, box.hi.y - box.lo.y, box.hi.z - box.lo.z);
        slack = reach * (0x1p-19f * 1.000001f);
        return largest > 0x1p-60f && largest < 0x1p60f && is_moderate(x, largest) &&
               is_moderate(y, largest) && is_moderate(z, largest) && reach < 0x1p38f &&
               reach > 0x1p-60f && reach < 0x1p40f * side;
    }

    /* The ray is at the root, or idle: then its answer is a miss, or best is PACKED_OPEN. boxed: a
       ray that misses the tree's box is told at once. */
    template <bool boxed>
    __device__ __forceinline__ void begin(const packed_scene &scene, float4 o, float4 d) {
        const float x = fabsf(d.x), y = fabsf(d.y), z = fabsf(d.z);
        at = PACKED_IDLE;
        waiting &= ~(uint32_t)PACKED_WAITING;
        hits = 0;
        largest = packed_max3(x, y, z);
        best = KD_NONE;
        u = v = 0;
        tmin = o.w, nearest = d.w;
        /* all numbers but the ends finite, and a part to be looked at */
        if (!((o.x * 0 + o.y * 0) + (o.z * 0 + d.x * 0) + (d.y * 0 + d.z * 0) == 0 && o.w < d.w &&
              largest > 0) ||
            scene.empty)
            return;
        ox = o.x, oy = o.y, oz = o.z;
        if (!is_comfortable(scene.box, d)) {
            best = PACKED_OPEN;
            return;
        }
        const float inverse = packed_inverse_rounded(largest);
        dx = packed_quotient_rounded(d.x, largest, inverse);
        dy = packed_quotient_rounded(d.y, largest, inverse);
        dz = packed_quotient_rounded(d.z, largest, inverse);
        vx = inverse_of(dx), vy = inverse_of(dy), vz = inverse_of(dz);
        if (boxed && misses(scene.box)) return;
        hx = packed_both(16 * fminf(fmaxf(vx, -4093.0f), 4093.0f));
        hy = packed_both(16 * fminf(fmaxf(vy, -4093.0f), 4093.0f));
        hz = packed_both(16 * fminf(fmaxf(vz, -4093.0f), 4093.0f));
        const uint32_t octant = (vx < 0 ? 1 : 0) | (vy < 0 ? 2 : 0);
        const uint32_t axis = x > y ? (x > z ? 0 : 2) : (y > z ? 1 : 2);
        way = 4 + (vz < 0 ? octant ^ 3 : octant) + (axis << 8);
        if (any) u = limit(), v = begin_length(); /* neither changes */
        at = 0;
        derive();
    }

    __device__ __forceinline__ static uint32_t plane(uint32_t planes, uint32_t selector, uint32_t a,
                                                     uint32_t b) {
        return packed_bits(__hfma2(packed_halves(packed_select(planes, 0, selector)),
                                   packed_halves(a), packed_halves(b)));
    }

    /* Which of a pair of children are met: all bits of its half. */
    struct bounds {
        uint32_t near_x, near_y, near_z, far_x, far_y, far_z, end;
    };
    __device__ __forceinline__ uint32_t meets(uint32_t x, uint32_t y, uint32_t z,
                                              const bounds &b) const {
        const uint32_t near =
            packed_largest(plane(x, near_x, hx, b.near_x), plane(y, near_y, hy, b.near_y),
                           plane(z, near_z, hz, b.near_z));
        const uint32_t far = packed_smallest(plane(x, near_x ^ 0x101, hx, b.far_x),
                                             plane(y, near_y ^ 0x101, hy, b.far_y),
                                             plane(z, near_z ^ 0x101, hz, b.far_z));
        return packed_not_above(near, bounded ? packed_smaller(far, b.end) : far);
    }

    /* The ray in units of the node's grid. */
    __device__ __forceinline__ bounds enter(uint4 head) const {
        const float scale = __uint_as_float(head.w);
        const float x = (__uint_as_float(head.x) - ox) * scale,
                    y = (__uint_as_float(head.y) - oy) * scale,
                    z = (__uint_as_float(head.z) - oz) * scale;
        const float off = slack * scale, more = off + 0.5f;
        const float t0 = fmaxf(packed_max3(fmaf(-fabsf(vx), off, fmaf(x, vx, back_x)),
                                           fmaf(-fabsf(vy), off, fmaf(y, vy, back_y)),
                                           fmaf(-fabsf(vz), off, fmaf(z, vz, back_z))),
                               (any ? v : begin_length()) * scale);
        const float from_x = fmaf(-t0, dx, x), from_y = fmaf(-t0, dy, y), from_z = fmaf(-t0, dz, z);
        const float wide_x = fabsf(ax) * more, wide_y = fabsf(ay) * more, wide_z = fabsf(az) * more;
        bounds b;
        b.near_x = packed_both(fmaf(from_x, ax, -wide_x));
        b.far_x = packed_both(fmaf(from_x, ax, wide_x));
        b.near_y = packed_both(fmaf(from_y, ay, -wide_y));
        b.far_y = packed_both(fmaf(from_y, ay, wide_y));
        b.near_z = packed_both(fmaf(from_z, az, -wide_z));
        b.far_z = packed_both(fmaf(from_z, az, wide_z));
        b.end = 0;
        if (bounded)
            b.end =
                packed_both(fmaf(fmaf(any ? u : limit(), scale, -t0), 1.002f * 0x1p-20f, 0x1p-21f));
        return b;
    }

    /* The ray is at a node: its children that are met become the group. */
    __device__ __forceinline__ void step(const packed_scene &scene) {
        const uint4 *node = scene.units + 2 * (uint64_t)at;
        const uint4 head = __ldg(node), x = __ldg(node + 1), y = __ldg(node + 2),
                    z = __ldg(node + 3), row = __ldg(node + (way & 7));
        const bounds b = enter(head);
        const uint32_t even = 0x00800080, odd = 0x80008000, places = 0x7f7f7f7f;
        const uint32_t met0 =
            row.x & (places | (meets(x.x, y.x, z.x, b) & even) | (meets(x.y, y.y, z.y, b) & odd));
        const uint32_t met1 =
            row.y & (places | (meets(x.z, y.z, z.z, b) & even) | (meets(x.w, y.w, z.w, b) & odd));
        base = row.z;
        if (any) { /* in the order of lanes */
            m0 = met0, m1 = met1;
        } else {
            const uint32_t first = packed_select(met0, met1, row.w),
                           last = packed_select(met0, met1, row.w >> 16);
            m1 = packed_select(first, last, turn);
            m0 = packed_select(first, last, turn ^ 0x1111);
        }
        hits = hits_of_group();
    }
    __device__ __forceinline__ uint32_t hits_of_group() const {
        return (m0 >> 4 & 0x08080808u) | (m1 & 0x80808080u);
    }

    /* The next child, of the group or of one that waits. */
    __device__ __forceinline__ void pick(packed_stack &stack) {
        if (!hits) {
            if ((waiting & PACKED_WAITING) == 0) {
                at = PACKED_IDLE;
                return;
            }
            const uint2 top = stack.metas[--waiting];
            base = stack.bases[waiting], m0 = top.x, m1 = top.y;
            hits = hits_of_group();
        }
        const uint32_t first = packed_topmost(hits);
        hits ^= 1u << first;
        const uint32_t place = packed_select(m0, m1, (first >> 3) + (first & 4)) & 0x7f;
        at = packed_place_in(base & ((1u << PACKED_INNER_SHIFT) - 1), place);
        if (place < PACKED_NODE_UNITS * (base >> PACKED_INNER_SHIFT)) {
            if (hits) {
                stack.metas[waiting] = make_uint2((m0 & 0x7f7f7f7fu) | (hits << 4 & 0x80808080u),
                                                  (m1 & 0x7f7f7f7fu) | (hits & 0x80808080u));
                stack.bases[waiting++] = base;
            }
        } else
            at |= PACKED_LEAF_MARK;
    }

    /* Where the ray leaves a leaf's cell, less the slack. */
    __device__ __forceinline__ float leaf_exit(const float4 *leaf) const {
        const float4 a = __ldg(leaf - 2), b = __ldg(leaf - 1);
        const float x = ((vx < 0 ? a.x : a.w) - ox) * vx, y = ((vy < 0 ? a.y : b.x) - oy) * vy,
                    z = ((vz < 0 ? a.z : b.y) - oz) * vz;
        return packed_min3(fmaf(-slack, fabsf(vx), x), fmaf(-slack, fabsf(vy), y),
                           fmaf(-slack, fabsf(vz), z));
    }

    __device__ __forceinline__ packed_sight sight_of(const float4 *leaf) const {
        const uint32_t kz = way >> 8;
        packed_sight sight;
        sight.ox = kz == 0 ? oy : kz == 1 ? oz : ox;
        sight.oy = kz == 0 ? oz : kz == 1 ? ox : oy;
        sight.oz = kz == 0 ? ox : kz == 1 ? oy : oz;
        sight.along = kz == 0 ? dx : kz == 1 ? dy : dz;
        sight.shear_x = (kz == 0 ? dy : kz == 1 ? dz : dx) * sight.along;
        sight.shear_y = (kz == 0 ? dz : kz == 1 ? dx : dy) * sight.along;
        sight.x = leaf + (kz == 2 ? 0 : kz + 1);
        sight.y = leaf + (kz == 0 ? 2 : kz - 1);
        sight.z = leaf + kz;
        return sight;
    }

    /* Leaves the triangle in this row to be settled after the ray's end; false: no room. */
    __device__ __forceinline__ bool put_off(const packed_scene &scene, packed_stack &stack,
                                            uint32_t row, uint32_t id) const {
        const uint32_t count = stack.doubts[0];
#pragma unroll 1
        for (uint32_t k = 1; k <= count; ++k) {
            const uint32_t other = __ldg((const uint32_t *)(scene.units + stack.doubts[k]) + 3);
            if ((other & ~PACKED_LAST) == id) return true; /* met before, in another leaf */
        }
        if (count == PACKED_DOUBTS) return false;
        stack.doubts[count + 1] = row;
        stack.doubts[0] = count + 1;
        return true;
    }

    /* Takes into account a triangle that float does not decide on. True: the ray is done. */
    __device__ __forceinline__ bool doubt(const packed_scene &scene, packed_stack &stack,
                                          const packed_seen &seen, float t, float blur,
                                          uint32_t row, uint32_t id, bool &found) {
        bool hit = false;
        if (seen.is_large()) {
            if (t + blur < tmin || t - blur > nearest) return false;
            hit = t - blur > tmin && t + blur < nearest;
        } else if (seen.is_passed()) {
            return false;
        }
        if (any && hit) {
            best = 0;
            return true;
        }
        if (!put_off(scene, stack, row, id)) {
            best = PACKED_OPEN;
            return true;
        }
        if (hit) { /* nothing behind it counts */
            best = KD_NONE, nearest = t + blur, u = v = 0;
            found = true;
        }
        return false;
    }

    /* The ray is at a leaf. True: its answer is known, but for what is put off. */
    __device__ __forceinline__ bool leaf(const packed_scene &scene, packed_stack &stack) {
        const uint32_t first = 2 * (at & ~(uint32_t)PACKED_LEAF_MARK);
        const float4 *rows = (const float4 *)(scene.units + first);
        const packed_sight sight = sight_of(rows);
        uint32_t i = 0, word;
        bool found = false;
#pragma unroll 1
        do {
            packed_seen seen;
            const float4 z = __ldg(sight.z + i);
            seen.look(sight, __ldg(sight.x + i), __ldg(sight.y + i), z);
            word = __float_as_uint(z.w);
            const uint32_t id = word & ~PACKED_LAST, row = first + i;
            i += 3;
            if (seen.is_large() && seen.is_mixed()) continue;
            const float sum = seen.wa + seen.wb + seen.wc;
            const float inverse = packed_inverse_rounded(sum),
                        along = sight.along * packed_inverse_rounded(largest);
            const float to_b = seen.wb * inverse, to_c = seen.wc * inverse;
            const float t = (seen.wa * inverse * seen.az + to_b * seen.bz + to_c * seen.cz) * along;
            if (seen.is_large() && fabsf(sum) > 0.125f * seen.wide() * seen.tall()) {
                if (!(t > tmin) || t > nearest) continue;
                if (t == nearest && (best == KD_NONE || id >= best)) continue;
                if (any) {
                    best = 0;
                    return true;
                }
                best = id, nearest = t, u = to_b, v = to_c;
                found = true;
            } else if (doubt(scene, stack, seen, t, seen.blur(inverse, along), row, id, found)) {
                return true;
            }
        } while (!(word & PACKED_LAST));
        if (any || (bounded ? !found : nearest == INFINITY)) return false;
        return fmaf(nearest, largest, slack * 4) < leaf_exit(rows);
    }
};

#endif

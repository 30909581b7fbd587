/* Traversal of the compressed wide form (compressed_form.h) by one ray. It reports the same hits as
   accel/tree/walk.h, bit for bit.
   Idea: traversal is a stack of groups. A group is the set of children of one node that the ray
   hits, sorted front to back: `base` says where the children are, m0 and m1 hold their offsets,
   `hits` has a bit for each that is still to be visited. step() intersects the ray with the eight
   boxes of a node and makes the hit children the current group; pick() takes the nearest child of
   the group, and pushes the rest of the group if that child is a node; leaf() intersects the
   triangles of a leaf.
   A step. Positions are taken relative to the point where the ray enters the node's grid, in units
   of the grid, and the direction is divided by its largest component. All relevant numbers then lie
   between 0 and 255, a range in which half floats suffice, and two children are tested per
   instruction. A byte q in the low half of a 16-bit word is the (denormal) half q 2^-24, so one
   byte selection (prmt) unpacks two planes; whether it takes the near or the far planes depends on
   the ray's sign, which is folded into the selector. t of a plane is one fused multiply-add. The
   results of the tests clear bit 7 of the `meta` bytes of the children that are missed, and four
   byte selections sort the `meta` bytes by the node's order for the ray's octant.
   A leaf. Triangles are tested with the same float operations as triangle_intersect. Where
   triangle_intersect would continue in double precision, the triangle is deferred: its position
   goes to the ray's list `uncertain`, which is resolved after traversal (compressed_loops.cuh). If
   such a triangle is certainly hit, the ray is shortened to the largest t that it can have, and the
   nearest hit so far is dropped. Traversal thus finds the nearest hit among all other triangles;
   the result is the nearest, by t and then id, of that hit and of the deferred triangles.
   Invariants: no hit is lost to rounding. Let R be the largest distance along an axis from the
   origin to the tree's box, a unit 2^-24 R, e = 1 / inv_e of a node, v = 1 / direction, and s = 32
   units the slack. A hit has a point P of its triangle (triangle.h) that lies within 6 units of the
   ray, at a t within 104 units. P lies in the cell of some leaf that contains the triangle, so it
   is in the leaf's box and the boxes of all its ancestors.
   - The bytes of a box are rounded outwards (floor and ceil in double). t0, where the ray enters a
     node's grid, is never too late, because each axis' near side is lowered by |v| s / e. At t0
     each coordinate is at most 255 + s / e, and the distance from t0 to the exit is at most 256 + s
     / e.
   - t of a plane is q a + b, where a and b are halves. The error of a is 2^-12 a, that of b is half
     a unit in the last place of |a| (255 + s / e), that of the result is 2^-12 t. |a| is clamped to
     4093, an error of another 255 / 4093. The sum is less than (0.5 + s / e) |a|, by which b is
     lowered for near planes and raised for far ones. s covers the 6 units and some 10 more of p -
     o, e, v, t0 and x. So no box that contains P is missed.
   - A node's interval begins no later than 128 units before the ray's own start, and a cell that
     begins no later than 128 units beyond the ray's end is visited.
   - Cells of a k-d tree do not overlap and are visited in exact front-to-back order. The P of any
     hit that is visited later lies behind a plane of this leaf's cell, less 6 units. So a hit
     terminates the ray if it lies 128 units before the exit of the cell, and the exit is reduced by
     s.
   - Where s / e exceeds 127 every lane is hit; empty lanes are excluded by bit 7 of `meta`.
   - A triangle is deferred where |sum of the weights| <= wide tall / 8 (triangle_intersect then
     computes t in double), or where a weight is below 2^-80. Let D be the largest |z| of its
     corners and W = max(wide, tall). Sheared coordinates have an error of 2^-24 (2 |x| + 4 D), so a
     weight has at most w = 2^-21 (wide + tall) (D + W), and t along z has 6 w / (|sum| - 3 w) of
     the spread of the corners' z (three weights, and as much again where double clamps a negative
     one), never more than that spread. Such a triangle is certainly missed only if two weights
     differ in sign by more than 2^-21 wide tall.
   - A ray whose coordinates leave the range in which these bounds hold, or that defers more
     triangles than its list holds, is cast by tritree_device_single instead. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_WALK_CUH
#define KD_ACCEL_WIDE_COMPRESSED_WALK_CUH
#include "accel/tree/walk.h"
#include "accel/wide/compressed_form.h"
#include "accel/wide/compressed_seen.cuh"

enum {
    COMPRESSED_WAITING = 127,
    COMPRESSED_UNCERTAIN = 6,          /* capacity of a ray's list of deferred triangles */
    COMPRESSED_LEAF_MARK = 0x80000000, /* flag of compressed_ray.at: the unit of a leaf */
    COMPRESSED_IDLE = 0xffffffff       /* value of compressed_ray.at: no ray, or a finished one */
};
/* value of compressed_ray.best: cast this ray by tritree_device_single */
const uint32_t COMPRESSED_OPEN = KD_NONE - 1;

/* Memory of a thread that does not fit into registers. */
typedef struct compressed_stack {
    uint2 metas[COMPRESSED_MAX_DEPTH];
    uint32_t bases[COMPRESSED_MAX_DEPTH];
    /* the number of deferred triangles, then their positions in 16-byte rows, or, if leaves are
       indexed, their ids */
    uint32_t uncertain[1 + COMPRESSED_UNCERTAIN];
} compressed_stack;

/* A ray and the state of its traversal. any: occlusion query, only whether there is a hit counts.
   bounded: steps also cull children beyond the ray's end, which `any` requires; otherwise only a
   hit inside a leaf's cell terminates the ray. */
template <bool any, bool bounded, bool indexed> struct compressed_ray {
    float ox, oy, oz, dx, dy, dz; /* the direction is divided by its largest component */
    float vx, vy, vz;             /* 1 / direction */
    uint32_t hx, hy, hz;          /* 16 / direction, clamped, in both halves */
    /* largest component of the direction; tmin and the nearest hit, as t of the caller */
    float largest, tmin, nearest;
    float slack;   /* margin of boxes, scene units */
    uint32_t best; /* id of the nearest hit; KD_NONE; COMPRESSED_OPEN */
    float u, v; /* barycentrics of the best hit; if `any`: the ray's end and start in scene units */
    /* bits 0 to 2: index of the octant's row in the node, as a uint4; from bit 8 on: the axis of
       the direction's largest component */
    uint32_t rows_word;
    uint32_t base, m0, m1; /* the current group of children */
    uint32_t hits; /* children of the group still to be visited; the highest bit is the nearest */
    uint32_t at;   /* the unit of a node; that of a leaf | COMPRESSED_LEAF_MARK; COMPRESSED_IDLE */
    /* Number of groups on the stack, in the bits COMPRESSED_WAITING. The mask hides from the
       compiler that this is 0 where a ray ends; otherwise the compiler keeps a second copy. */
    uint32_t waiting;
    /* Derived from the above by derive(). */
    float ax, ay, az; /* hx, hy, hz as floats, scaled by 2^-24: 2^-20 / direction */
    /* t of plane 255 less t of plane 0 if plane 255 is nearer, else 0 */
    float back_x, back_y, back_z;
    /* byte selectors: near planes of each axis, front-to-back order of a group */
    uint32_t near_x, near_y, near_z, turn;

    __device__ __forceinline__ void derive() {
        ax = compressed_low_half(hx) * 0x1p-24f;
        ay = compressed_low_half(hy) * 0x1p-24f;
        az = compressed_low_half(hz) * 0x1p-24f;
        back_x = fminf(255 * vx, 0), back_y = fminf(255 * vy, 0), back_z = fminf(255 * vz, 0);
        near_x = vx < 0 ? 0x4341 : 0x4240;
        near_y = vy < 0 ? 0x4341 : 0x4240;
        near_z = vz < 0 ? 0x4341 : 0x4240;
        turn = vz < 0 ? 0x7531 : 0x0246;
    }

    /* Limits of the cells to visit: nearest hit and tmin, widened by 5 slacks, in scene units. */
    __device__ __forceinline__ float limit() const { return fmaf(nearest, largest, slack * 5); }
    __device__ __forceinline__ float begin_length() const {
        return fmaf(tmin, largest, slack * -5);
    }

    __device__ __forceinline__ static float inverse_of(float d) {
        return compressed_inverse(fabsf(d) > 0x1p-26f ? d : copysignf(0x1p-26f, d));
    }
    /* Returns true if the component x is 0 or, divided by the largest component, far from
       underflow. */
    __device__ __forceinline__ static bool is_moderate(float x, float largest) {
        return x == 0 || x > largest * 0x1p-60f;
    }

    __device__ __forceinline__ bool misses(const box3 &box) const {
        const float x0 = (box.lo.x - ox) * vx, x1 = (box.hi.x - ox) * vx;
        const float y0 = (box.lo.y - oy) * vy, y1 = (box.hi.y - oy) * vy;
        const float z0 = (box.lo.z - oz) * vz, z1 = (box.hi.z - oz) * vz;
        const float near = compressed_max3(fmaf(-slack, fabsf(vx), fminf(x0, x1)),
                                           fmaf(-slack, fabsf(vy), fminf(y0, y1)),
                                           fmaf(-slack, fabsf(vz), fminf(z0, z1)));
        const float far = compressed_min3(fmaf(slack, fabsf(vx), fmaxf(x0, x1)),
                                          fmaf(slack, fabsf(vy), fmaxf(y0, y1)),
                                          fmaf(slack, fabsf(vz), fmaxf(z0, z1)));
        return near > far || far < begin_length();
    }

    /* Returns true if no step can leave the range of float. Sets `slack`. */
    __device__ __forceinline__ bool is_in_range(const box3 &box, float4 d) {
        const float x = fabsf(d.x), y = fabsf(d.y), z = fabsf(d.z);
        const float reach = compressed_max3(fmaxf(fabsf(box.lo.x - ox), fabsf(box.hi.x - ox)),
                                            fmaxf(fabsf(box.lo.y - oy), fabsf(box.hi.y - oy)),
                                            fmaxf(fabsf(box.lo.z - oz), fabsf(box.hi.z - oz)));
        const float side =
            compressed_max3(box.hi.x - box.lo.x, box.hi.y - box.lo.y, box.hi.z - box.lo.z);
        slack = reach * (0x1p-19f * 1.000001f);
        return largest > 0x1p-60f && largest < 0x1p60f && is_moderate(x, largest) &&
               is_moderate(y, largest) && is_moderate(z, largest) && reach < 0x1p38f &&
               reach > 0x1p-60f && reach < 0x1p40f * side;
    }

    /* Prepares the ray {origin, tmin}, {direction, tmax} and places it at the root. A ray that
       cannot hit anything, and one that step() cannot handle, is idle afterwards: `best` is then
       KD_NONE or COMPRESSED_OPEN. boxed: a ray that misses the tree's box is also rejected here. */
    template <bool boxed>
    __device__ __forceinline__ void begin(const compressed_scene &scene, float4 o, float4 d) {
        const float x = fabsf(d.x), y = fabsf(d.y), z = fabsf(d.z);
        at = COMPRESSED_IDLE;
        waiting &= ~(uint32_t)COMPRESSED_WAITING;
        hits = 0;
        largest = compressed_max3(x, y, z);
        best = KD_NONE;
        u = v = 0;
        tmin = o.w, nearest = d.w;
        /* Origin and direction must be finite, the interval not empty. 0 * x is NaN unless x is
           finite. */
        if (!((o.x * 0 + o.y * 0) + (o.z * 0 + d.x * 0) + (d.y * 0 + d.z * 0) == 0 && o.w < d.w &&
              largest > 0) ||
            scene.empty)
            return;
        ox = o.x, oy = o.y, oz = o.z;
        if (!is_in_range(scene.box, d)) {
            best = COMPRESSED_OPEN;
            return;
        }
        const float inverse = compressed_inverse_rounded(largest);
        dx = compressed_quotient_rounded(d.x, largest, inverse);
        dy = compressed_quotient_rounded(d.y, largest, inverse);
        dz = compressed_quotient_rounded(d.z, largest, inverse);
        vx = inverse_of(dx), vy = inverse_of(dy), vz = inverse_of(dz);
        if (boxed && misses(scene.box)) return;
        hx = compressed_both(16 * fminf(fmaxf(vx, -4093.0f), 4093.0f));
        hy = compressed_both(16 * fminf(fmaxf(vy, -4093.0f), 4093.0f));
        hz = compressed_both(16 * fminf(fmaxf(vz, -4093.0f), 4093.0f));
        const uint32_t octant = (vx < 0 ? 1 : 0) | (vy < 0 ? 2 : 0);
        const uint32_t axis = x > y ? (x > z ? 0 : 2) : (y > z ? 1 : 2);
        rows_word = 4 + (vz < 0 ? octant ^ 3 : octant) + (axis << 8);
        /* constant: an occlusion query never shortens the ray */
        if (any) u = limit(), v = begin_length();
        at = 0;
        derive();
    }

    __device__ __forceinline__ static uint32_t plane(uint32_t planes, uint32_t selector, uint32_t a,
                                                     uint32_t b) {
        return compressed_bits(__hfma2(compressed_halves(compressed_select(planes, 0, selector)),
                                       compressed_halves(a), compressed_halves(b)));
    }

    /* The coefficients b of t = q a + b for the near and far planes of each axis, twice each as
       halves, and the ray's end. intersects() tests a pair of children and sets all bits of the
       half of each child that the ray hits. */
    struct bounds {
        uint32_t near_x, near_y, near_z, far_x, far_y, far_z, end;
    };
    __device__ __forceinline__ uint32_t intersects(uint32_t x, uint32_t y, uint32_t z,
                                                   const bounds &b) const {
        const uint32_t near =
            compressed_largest(plane(x, near_x, hx, b.near_x), plane(y, near_y, hy, b.near_y),
                               plane(z, near_z, hz, b.near_z));
        const uint32_t far = compressed_smallest(plane(x, near_x ^ 0x101, hx, b.far_x),
                                                 plane(y, near_y ^ 0x101, hy, b.far_y),
                                                 plane(z, near_z ^ 0x101, hz, b.far_z));
        return compressed_not_above(near, bounded ? compressed_smaller(far, b.end) : far);
    }

    /* Returns the ray in the coordinate system of the node's grid. All t are relative to t0, where
       the ray enters the grid, and scaled by 2^-20. */
    __device__ __forceinline__ bounds enter(uint4 head) const {
        const float scale = __uint_as_float(head.w);
        const float x = (__uint_as_float(head.x) - ox) * scale,
                    y = (__uint_as_float(head.y) - oy) * scale,
                    z = (__uint_as_float(head.z) - oz) * scale;
        const float off = slack * scale, more = off + 0.5f;
        const float t0 = fmaxf(compressed_max3(fmaf(-fabsf(vx), off, fmaf(x, vx, back_x)),
                                               fmaf(-fabsf(vy), off, fmaf(y, vy, back_y)),
                                               fmaf(-fabsf(vz), off, fmaf(z, vz, back_z))),
                               (any ? v : begin_length()) * scale);
        const float from_x = fmaf(-t0, dx, x), from_y = fmaf(-t0, dy, y), from_z = fmaf(-t0, dz, z);
        const float wide_x = fabsf(ax) * more, wide_y = fabsf(ay) * more, wide_z = fabsf(az) * more;
        bounds b;
        b.near_x = compressed_both(fmaf(from_x, ax, -wide_x));
        b.far_x = compressed_both(fmaf(from_x, ax, wide_x));
        b.near_y = compressed_both(fmaf(from_y, ay, -wide_y));
        b.far_y = compressed_both(fmaf(from_y, ay, wide_y));
        b.near_z = compressed_both(fmaf(from_z, az, -wide_z));
        b.far_z = compressed_both(fmaf(from_z, az, wide_z));
        b.end = 0;
        if (bounded)
            b.end = compressed_both(
                fmaf(fmaf(any ? u : limit(), scale, -t0), 1.002f * 0x1p-20f, 0x1p-21f));
        return b;
    }

    /* Intersects the ray with the children of its node. The children that it hits become the
       current group, sorted front to back. */
    __device__ __forceinline__ void step(const compressed_scene &scene) {
        const uint4 *node = scene.units + 2 * (uint64_t)at;
        const uint4 head = __ldg(node), x = __ldg(node + 1), y = __ldg(node + 2),
                    z = __ldg(node + 3), row = __ldg(node + (rows_word & 7));
        const bounds b = enter(head);
        const uint32_t even = 0x00800080, odd = 0x80008000, places = 0x7f7f7f7f;
        const uint32_t hit0 = row.x & (places | (intersects(x.x, y.x, z.x, b) & even) |
                                       (intersects(x.y, y.y, z.y, b) & odd));
        const uint32_t hit1 = row.y & (places | (intersects(x.z, y.z, z.z, b) & even) |
                                       (intersects(x.w, y.w, z.w, b) & odd));
        base = row.z;
        if (any) { /* in lane order, which puts likely occluders first */
            m0 = hit0, m1 = hit1;
        } else {
            const uint32_t first = compressed_select(hit0, hit1, row.w),
                           last = compressed_select(hit0, hit1, row.w >> 16);
            m1 = compressed_select(first, last, turn);
            m0 = compressed_select(first, last, turn ^ 0x1111);
        }
        hits = hits_of_group();
    }
    __device__ __forceinline__ uint32_t hits_of_group() const {
        return (m0 >> 4 & 0x08080808u) | (m1 & 0x80808080u);
    }

    /* Moves to the nearest child of the current group, or of the group on top of the stack; sets
       COMPRESSED_IDLE if there is none. The rest of a group is pushed only if the child is a node;
       while leaves are visited the group stays in registers. */
    __device__ __forceinline__ void pick(const compressed_scene &scene, compressed_stack &stack) {
        if (!hits) {
            if ((waiting & COMPRESSED_WAITING) == 0) {
                at = COMPRESSED_IDLE;
                return;
            }
            const uint2 top = stack.metas[--waiting];
            base = stack.bases[waiting], m0 = top.x, m1 = top.y;
            hits = hits_of_group();
        }
        const uint32_t first = compressed_topmost(hits);
        hits ^= 1u << first;
        const uint32_t place = compressed_select(m0, m1, (first >> 3) + (first & 4)) & 0x7f;
        const uint32_t block = base & ((1u << COMPRESSED_INNER_SHIFT) - 1);
        at = indexed ? block * scene.alignment + place : compressed_place_in(block, place);
        if (place <= COMPRESSED_NODE_UNITS * (base >> COMPRESSED_INNER_SHIFT)) { /* a node */
            if (hits) {
                stack.metas[waiting] = make_uint2((m0 & 0x7f7f7f7fu) | (hits << 4 & 0x80808080u),
                                                  (m1 & 0x7f7f7f7fu) | (hits & 0x80808080u));
                stack.bases[waiting++] = base;
            }
        } else
            at |= COMPRESSED_LEAF_MARK;
    }

    /* Returns where the ray leaves the leaf's cell, less the slack. */
    __device__ __forceinline__ float leaf_exit(const compressed_scene &scene,
                                               uint32_t first) const {
        const uint4 *leaf = scene.units + first;
        const vec3 far = indexed ? compressed_far_planes(scene.grid, leaf, vx, vy, vz)
                                 : compressed_far_sides(leaf, vx, vy, vz);
        return compressed_min3(fmaf(-slack, fabsf(vx), (far.x - ox) * vx),
                               fmaf(-slack, fabsf(vy), (far.y - oy) * vy),
                               fmaf(-slack, fabsf(vz), (far.z - oz) * vz));
    }

    /* `stride`: from one axis to the next */
    __device__ __forceinline__ compressed_sight sight_of(const float *corners, int stride) const {
        const uint32_t kz = rows_word >> 8;
        compressed_sight sight;
        sight.ox = kz == 0 ? oy : kz == 1 ? oz : ox;
        sight.oy = kz == 0 ? oz : kz == 1 ? ox : oy;
        sight.oz = kz == 0 ? ox : kz == 1 ? oy : oz;
        sight.along = kz == 0 ? dx : kz == 1 ? dy : dz;
        sight.shear_x = (kz == 0 ? dy : kz == 1 ? dz : dx) * sight.along;
        sight.shear_y = (kz == 0 ? dz : kz == 1 ? dx : dy) * sight.along;
        sight.x = corners + stride * (kz == 2 ? 0 : kz + 1);
        sight.y = corners + stride * (kz == 0 ? 2 : kz - 1);
        sight.z = corners + stride * kz;
        return sight;
    }

    /* Defers the triangle in this row until the end of traversal. Returns false if the list is
       full. */
    __device__ __forceinline__ bool defer(const compressed_scene &scene, compressed_stack &stack,
                                          uint32_t row, uint32_t id) const {
        const uint32_t count = stack.uncertain[0];
#pragma unroll 1
        for (uint32_t k = 1; k <= count; ++k) /* deferred before, in another leaf? */
            if (compressed_id_at<indexed>(scene, stack.uncertain[k]) == id) return true;
        if (count == COMPRESSED_UNCERTAIN) return false;
        stack.uncertain[count + 1] = row;
        stack.uncertain[0] = count + 1;
        return true;
    }

    /* Handles a triangle that float arithmetic cannot decide. Returns true if traversal is over: an
       occlusion query found a hit, or the list of deferred triangles is full. */
    __device__ __forceinline__ bool handle_uncertain(const compressed_scene &scene,
                                                     compressed_stack &stack,
                                                     const compressed_seen &seen, float t,
                                                     float blur, uint32_t row, uint32_t id,
                                                     bool &found) {
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
        if (!defer(scene, stack, row, id)) {
            best = COMPRESSED_OPEN;
            return true;
        }
        if (hit) { /* the ray is shortened: farther hits no longer count */
            best = KD_NONE, nearest = t + blur, u = v = 0;
            found = true;
        }
        return false;
    }

    /* Intersects the ray with the triangles of its leaf. Returns true if traversal is over; only
       deferred triangles can then change the result. */
    __device__ __forceinline__ bool leaf(const compressed_scene &scene, compressed_stack &stack) {
        const uint32_t first = 2 * (at & ~(uint32_t)COMPRESSED_LEAF_MARK);
        const float *corners = indexed ? scene.positions : (const float *)(scene.units + first);
        const compressed_sight sight = sight_of(corners, indexed ? 1 : 4);
        const uint32_t *const list = (const uint32_t *)(scene.units + first) - 4;
        compressed_next next;
        uint32_t i = 0, word = 0;
        bool found = false;
        if (indexed) next.fetch(scene, list);
#pragma unroll 1
        do {
            compressed_seen seen;
            if (indexed) {
                const float4 x = next.along(sight.x), y = next.along(sight.y),
                             z = next.along(sight.z);
                word = next.word;
                if (!(word & COMPRESSED_LAST)) next.fetch(scene, list + i + 1);
                seen.test(sight, x, y, z);
            } else {
                const float4 z = __ldg((const float4 *)sight.z + i);
                seen.test(sight, __ldg((const float4 *)sight.x + i),
                          __ldg((const float4 *)sight.y + i), z);
                word = __float_as_uint(z.w);
            }
            const uint32_t id = word & ~COMPRESSED_LAST, row = indexed ? id : first + i;
            i += indexed ? 1 : 3;
            if (seen.is_large() && seen.is_mixed()) continue;
            const float sum = seen.wa + seen.wb + seen.wc;
            const float inverse = compressed_inverse_rounded(sum),
                        along = sight.along * compressed_inverse_rounded(largest);
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
            } else if (handle_uncertain(scene, stack, seen, t, seen.blur(inverse, along), row, id,
                                        found)) {
                return true;
            }
        } while (!(word & COMPRESSED_LAST));
        if (any || (bounded ? !found : nearest == INFINITY)) return false;
        return fmaf(nearest, largest, slack * 4) < leaf_exit(scene, first);
    }
};

#endif

/* A ray's walk with the fast test: prepared planes.
   Stays for Sponza: 1.03 to 1.6 x the packed form in four rows of five, and in none of the other
   models' (tools/bench/results/h200-variants.txt).
   Source: Woop 2004 (a triangle as an affine map), Aila and Laine 2009 (its use on GPUs).
   Idea: every number that a step needs is in a register or in the one 8-byte node it reads; the
   child is told by the direction's sign, t of a plane is one fused multiply-add. The stack of {far
   child, where the ray leaves it} lies in local memory, interleaved by the hardware. A triangle's
   first row gives t; the other two are read only if t lies in the leaf, give or take a margin, and
   before the nearest hit so far. They give u and v as functions of t, so that no point is kept. A
   ray that misses the tree's box starts at an empty leaf, place 0 of the pairs: each ray takes the
   same way through a loop.
   Work: 32 registers in either loop, so that 64 warps share a multiprocessor and hide each other's
   reads.
   Invariants: near and far of neighbouring leaves meet in the same number, so no part of a ray is
   skipped; a hit counts as the nearest once it lies before the leaf's end. */
#ifndef KD_ACCEL_RAYS_PLANES_CUH
#define KD_ACCEL_RAYS_PLANES_CUH
#include "accel/rays/loops.cuh"

struct walk_planes {
    enum { blocks = 16 }; /* of 128 threads on a multiprocessor: 32 registers each */
    float ox, oy, oz, dx, dy, dz, tmin;
    float ix, iy, iz; /* 1 / direction */
    float near, far;  /* the ray's part in the subtree at hand */
    float nearest;    /* t of the nearest hit, or the ray's tmax */
    uint32_t best;    /* reference of the nearest hit */
    uint32_t at;      /* node; then the leaf's first reference */
    uint32_t end;     /* behind the leaf's last reference */
    int waiting;
    typedef uint2 entry; /* far child, where the ray leaves it */

    /* Always true: a ray that misses starts at the empty leaf. */
    __device__ __forceinline__ bool begin(const caster &c, uint32_t i) {
        float4 o, d;
        load_ray(c, i, o, d);
        ox = o.x, oy = o.y, oz = o.z, tmin = o.w;
        dx = d.x, dy = d.y, dz = d.z, nearest = d.w;
        const float largest = fmaxf(fmaxf(fabsf(dx), fabsf(dy)), fabsf(dz));
        const float least = largest * 0x1p-26f; /* stands for zero: no product is NaN */
        ix = 1 / (fabsf(dx) > least ? dx : copysignf(least, dx));
        iy = 1 / (fabsf(dy) > least ? dy : copysignf(least, dy));
        iz = 1 / (fabsf(dz) > least ? dz : copysignf(least, dz));
        const float x0 = (c.box.lo.x - ox) * ix, x1 = (c.box.hi.x - ox) * ix;
        const float y0 = (c.box.lo.y - oy) * iy, y1 = (c.box.hi.y - oy) * iy;
        const float z0 = (c.box.lo.z - oz) * iz, z1 = (c.box.hi.z - oz) * iz;
        near = fmaxf(fmaxf(fminf(x0, x1), fminf(y0, y1)), fmaxf(fminf(z0, z1), tmin));
        far = fminf(fminf(fmaxf(x0, x1), fmaxf(y0, y1)), fminf(fmaxf(z0, z1), nearest));
        far *= 1.0000004f; /* 3 roundings */
        best = KD_NONE;
        waiting = 0;
        at = ray_is_sound(o, d) && largest > 0 && !c.empty && near <= far;
        if (!at) far = INFINITY;
        return true;
    }

    /* Down to a leaf: near child first, the far one onto the stack if the ray comes to it. */
    __device__ __forceinline__ void descend(const caster &c, entry *stack) {
        uint2 node = __ldg(c.nodes + at);
        while ((node.y & 3) != TRITREE_LEAF) {
            const float inverse = node.y & 2 ? iz : node.y & 1 ? iy : ix;
            const float origin = node.y & 2 ? oz : node.y & 1 ? oy : ox;
            const float t = (__uint_as_float(node.x) - origin) * inverse;
            const uint32_t closer = (node.y >> 2) + (__float_as_uint(inverse) >> 31);
            at = closer;
            if (!(t > far)) {
                if (t < near) {
                    at = closer ^ 1;
                } else {
                    stack[waiting++] = make_uint2(closer ^ 1, __float_as_uint(far));
                    far = t;
                }
            }
            node = __ldg(c.nodes + at);
        }
        at = node.x;
        end = at + (node.y >> 2);
    }

    template <bool any> __device__ __forceinline__ bool test(const caster &c) {
        /* how far off its leaf's part of the ray a hit's t may be computed */
        const float length = fminf(fminf(fabsf(ix), fabsf(iy)), fabsf(iz)); /* t of length 1 */
        const float off = fmaf(fabsf(far), 1e-4f, c.margin * length);
        const float low = fmaxf(tmin, near - off);
        float high = fminf(nearest, far + off);
#pragma unroll 1
        for (; at < end; ++at) {
            const float4 *row = c.planes + 3 * (uint64_t)at;
            const float4 n = __ldg(row);
            const float height = fmaf(ox, n.x, fmaf(oy, n.y, fmaf(oz, n.z, n.w)));
            const float sink = fmaf(dx, n.x, fmaf(dy, n.y, dz * n.z));
            /* a sink below 2^-126, which counts as 0, stands for a t above all that can be hit */
            const float t = -height * quick_inverse(sink);
            if (!(t > low && t < high)) continue;
            const float u = weight(__ldg(row + 1), t);
            if (u < 0) continue;
            const float v = weight(__ldg(row + 2), t);
            if (!(v >= 0 && u + v <= 1)) continue;
            nearest = high = t;
            best = at;
            if (any) return true;
        }
        return !any && nearest <= fmaf(fabsf(far), 1e-6f, far);
    }

    /* u or v where the ray is at t */
    __device__ __forceinline__ float weight(float4 p, float t) const {
        const float start = fmaf(ox, p.x, fmaf(oy, p.y, fmaf(oz, p.z, p.w)));
        return fmaf(t, fmaf(dx, p.x, fmaf(dy, p.y, dz * p.z)), start);
    }

    __device__ __forceinline__ bool pop(const entry *stack) {
        if (waiting == 0) return false;
        const entry next = stack[--waiting];
        at = next.x;
        near = far;
        far = __uint_as_float(next.y);
        return true;
    }

    template <bool any> __device__ __forceinline__ void store(const caster &c, uint32_t i) {
        if (any) {
            c.blocked[i] = best != KD_NONE;
            return;
        }
        float u = 0, v = 0;
        uint32_t id = KD_NONE;
        if (best != KD_NONE) {
            const float4 *row = c.planes + 3 * (uint64_t)best;
            u = weight(__ldg(row + 1), nearest);
            v = weight(__ldg(row + 2), nearest);
            id = __ldg(c.references + best);
        }
        store_hit(c, i, nearest, u, v, id);
    }
};

#endif

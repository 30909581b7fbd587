/* The watertight test for rays that run apart, and the loop for it: the answers of
   accel/tree/walk.h, bit for bit.
   Idea: the same visits as there (a plane is both nearer and farther than computed, by a slack). In
   a leaf prepared planes tell three cases apart: triangle_meet surely reports no hit; it surely
   reports one, nearer or farther than the nearest so far; or it must be asked. It is asked for few
   triangles, and once at the ray's end for the hit's numbers, when the warp's lanes are together.
   Why: let R be the largest distance along an axis to the tree's box, B the box's largest
   coordinate. triangle_meet reports a triangle only if the ray comes as near as 6 2^-24 R to one of
   its points; the leaf around that point is visited, and the ray's part there holds the place. At
   that place the height over the triangle's plane, as computed here, is at most
     off = 2^-22 (4 B + 12 R):  4 roundings of numbers up to 3.5 B + 1.75 R for the origin's height,
     7 of up to 1.75 R for the way from there, the distance to the triangle, what t is off at the
     ray's ends
   so a triangle whose plane the ray does not come that close to, anywhere in the leaf, is out. The
   ray crosses the plane within off / |cosine| of that place, so a triangle whose weights there are
   more negative than a way of off (3 + 1 / |cosine|) can make them is out as well; and one whose
   weights are more than twice that inside is surely met, at a t within 4 off / |cosine| of this
   one. Comparisons are such that what is NaN has to be asked for. */
#ifndef KD_ACCEL_RAYS_CONSERVATIVE_CUH
#define KD_ACCEL_RAYS_CONSERVATIVE_CUH
#include "accel/rays/loops.cuh"

const uint32_t CAST_OPEN = KD_NONE - 1; /* instead of a reference: nobody knows yet */

enum {
    AGAIN_RAYS = 2048, /* that a block looks through */
    SIEVE_REFILL = 20  /* of 32 lanes: below this many at work, the others get new rays */
};

__device__ __forceinline__ float load_tmin(const caster &c, uint32_t i) {
    if (c.rays) return __ldg((const float *)(c.rays + 2 * (uint64_t)i) + 3);
    return c.arrays.tmin ? c.arrays.tmin[i] : 0;
}

/* Instead of a hit: the ray is to be cast again. */
template <bool any> __device__ __forceinline__ void leave_open(const caster &c, uint32_t i) {
    if (any)
        c.blocked[i] = 2;
    else
        store_hit(c, i, NAN, NAN, NAN, CAST_OPEN);
}
__device__ __forceinline__ bool is_left_open(const caster &c, uint32_t i) {
    if (c.blocked) return c.blocked[i] == 2;
    /* a ray whose end is NaN hits nothing and is stored with that end: casting it again is right */
    if (c.hits) return isnan(c.hits[i].x);
    const float *any = c.arrays.t ? c.arrays.t : c.arrays.u ? c.arrays.u : c.arrays.v;
    return any ? isnan(any[i]) : c.arrays.triangle[i] == CAST_OPEN;
}

/* A node by its place in the pairs << 2. */
__device__ __forceinline__ uint2 load_node(const caster &c, uint32_t place) {
    return __ldg(c.nodes + (place >> 2));
}

/* What triangle_meet says of the reference's triangle, as far as float arithmetic goes: 0 no hit,
   1 a hit at t, 2 it would go on in double. */
__device__ __forceinline__ int meet_in_float(const caster &c, uint32_t i, uint32_t reference,
                                             float *t) {
    float4 o, d;
    load_ray(c, i, o, d);
    const triangle_caster with = triangle_caster_make(
        ray_make(vec3_make(o.x, o.y, o.z), vec3_make(d.x, d.y, d.z), o.w, d.w));
    const float4 *row = c.leaf_rows + 3 * (uint64_t)reference;
    const float4 rx = __ldg(row + with.kx), ry = __ldg(row + with.ky), rz = __ldg(row + with.kz);
    const float ox = vec3_axis(with.origin, with.kx), oy = vec3_axis(with.origin, with.ky),
                oz = vec3_axis(with.origin, with.kz);
    const float z[3] = {rz.x - oz, rz.y - oz, rz.z - oz};
    const float x[3] = {rx.x - ox - with.sx * z[0], rx.y - ox - with.sx * z[1],
                        rx.z - ox - with.sx * z[2]};
    const float y[3] = {ry.x - oy - with.sy * z[0], ry.y - oy - with.sy * z[1],
                        ry.z - oy - with.sy * z[2]};
    const float wa = x[2] * y[1] - y[2] * x[1], wb = x[0] * y[2] - y[0] * x[2],
                wc = x[1] * y[0] - y[1] * x[0];
    const float smallest = fminf(fabsf(wa), fminf(fabsf(wb), fabsf(wc)));
    const float largest = fmaxf(fabsf(wa), fmaxf(fabsf(wb), fabsf(wc)));
    if (!(smallest > 0x1p-80f && largest < 0x1p80f)) return 2;
    if ((wa < 0 || wb < 0 || wc < 0) && (wa > 0 || wb > 0 || wc > 0)) return 0;
    const float sum = wa + wb + wc, inverse = 1 / sum;
    *t = (wa * inverse * z[0] + wb * inverse * z[1] + wc * inverse * z[2]) * with.sz;
    const float wide = fmaxf(fabsf(x[0]), fmaxf(fabsf(x[1]), fabsf(x[2])));
    const float high = fmaxf(fabsf(y[0]), fmaxf(fabsf(y[1]), fabsf(y[2])));
    return fabsf(sum) > 0.125f * wide * high ? 1 : 2;
}

/* Writes the closest hit, whose weights are computed once more. */
static __device__ __noinline__ void store_exactly(const caster &c, uint32_t i, float t,
                                                  uint32_t reference) {
    float u = 0, v = 0;
    uint32_t id = KD_NONE;
    if (reference != KD_NONE) {
        float4 o, d;
        load_ray(c, i, o, d);
        const triangle_caster with = triangle_caster_make(
            ray_make(vec3_make(o.x, o.y, o.z), vec3_make(d.x, d.y, d.z), o.w, d.w));
        const float4 *row = c.leaf_rows + 3 * (uint64_t)reference;
        const float4 x = __ldg(row), y = __ldg(row + 1), z = __ldg(row + 2);
        triangle_meet(&with, vec3_make(x.x, y.x, z.x), vec3_make(x.y, y.y, z.y),
                      vec3_make(x.z, y.z, z.z), &t, &u, &v);
        id = __float_as_uint(z.w);
    }
    store_hit(c, i, t, u, v, id);
}

struct walk_sieve {
    enum { blocks = 8, any_blocks = 10 }; /* of 128 threads: 64 and 48 registers each */
    float ox, oy, oz;
    float ix, iy, iz; /* 1 / direction */
    float slack;      /* of a plane, where 1 / direction is 1 */
    float near, far;
    float nearest; /* t of the nearest hit, at most `blur` off, or the ray's tmax */
    uint32_t best; /* reference */
    uint32_t ray_index;
    uint2 node;
    int waiting;

    __device__ __forceinline__ bool begin(const caster &c) {
        float4 o, d;
        load_ray(c, ray_index, o, d);
        if (!ray_is_sound(o, d)) return false;
        const ray cast = ray_make(vec3_make(o.x, o.y, o.z), vec3_make(d.x, d.y, d.z), o.w, d.w);
        tritree_view box_only;
        box_only.box = c.box;
        box_only.reference_count = c.empty ? 0 : 1;
        tritree_walk begun;
        if (!tritree_walk_begin(&begun, &box_only, cast)) return false;
        ox = o.x, oy = o.y, oz = o.z;
        ix = begun.inverse[0], iy = begun.inverse[1], iz = begun.inverse[2];
        const float widest = fmaxf(fmaxf(begun.slack[0], begun.slack[1]), begun.slack[2]);
        slack = widest / steepest() * 1.000001f; /* this quotient is the same on each axis */
        near = begun.near;
        far = begun.far;
        nearest = d.w;
        best = KD_NONE;
        waiting = 0;
        node = __ldg(c.nodes + 1);
        return true;
    }

    __device__ __forceinline__ float steepest() const {
        return fmaxf(fmaxf(fabsf(ix), fabsf(iy)), fabsf(iz));
    }
    __device__ __forceinline__ float flattest() const { /* 1 / the direction's largest component */
        return fminf(fminf(fabsf(ix), fabsf(iy)), fabsf(iz));
    }
    __device__ __forceinline__ float off_plane(const caster &c) const {
        return fmaf(slack, 4, c.error); /* 12 R 2^-22 */
    }
    __device__ __forceinline__ float blur(const caster &c) const {
        return 16 * off_plane(c) * flattest();
    }

    __device__ __forceinline__ float inverse_of(uint32_t word) const {
        return word & 2 ? iz : word & 1 ? iy : ix;
    }

    __device__ __forceinline__ void descend(const caster &c, uint2 *stack) {
        while ((node.y & 3) != TRITREE_LEAF) {
            const float inverse = inverse_of(node.y);
            const float origin = node.y & 2 ? oz : node.y & 1 ? oy : ox;
            const float t = (__uint_as_float(node.x) - origin) * inverse;
            const float low = fmaf(-slack, fabsf(inverse), t);
            const float high = fmaf(slack, fabsf(inverse), t);
            const uint32_t closer = inverse < 0 ? node.y + 4 : node.y, farther = closer ^ 4;
            const bool passes = high < near, comes = !(low > far) && !passes;
            if (comes) stack[waiting] = make_uint2(farther, __float_as_uint(far));
            waiting += comes;
            far = comes ? fminf(high, far) : far;
            node = load_node(c, passes ? farther : closer);
        }
    }

    template <bool any> __device__ __forceinline__ bool test(const caster &c) {
        uint32_t at = node.x;
        const uint32_t end = at + (node.y >> 2);
        const float dx = quick_inverse(ix), dy = quick_inverse(iy), dz = quick_inverse(iz);
        const float off = off_plane(c);
#pragma unroll 1
        for (; at < end; ++at) {
            const float4 n = __ldg(c.planes + 3 * (uint64_t)at);
            const float height = fmaf(ox, n.x, fmaf(oy, n.y, fmaf(oz, n.z, n.w)));
            const float sink = fmaf(dx, n.x, fmaf(dy, n.y, dz * n.z));
            const float first = fmaf(sink, near, height), last = fmaf(sink, far, height);
            if (fminf(first, last) > off || fmaxf(first, last) < -off) continue;
            const float inverse = quick_inverse(sink), t = -height * inverse;
            const float way = off * fmaf(fabsf(dx) + fabsf(dy) + fabsf(dz), fabsf(inverse), 3);
            const float4 *row = c.planes + 3 * (uint64_t)at;
            const float x = fmaf(t, dx, ox), y = fmaf(t, dy, oy), z = fmaf(t, dz, oz);
            const float4 p = __ldg(row + 1);
            const float u = fmaf(x, p.x, fmaf(y, p.y, fmaf(z, p.z, p.w)));
            const float off_u = way * (fabsf(p.x) + fabsf(p.y) + fabsf(p.z));
            if (u < -off_u) continue;
            const float4 q = __ldg(row + 2);
            const float v = fmaf(x, q.x, fmaf(y, q.y, fmaf(z, q.z, q.w)));
            const float off_v = way * (fabsf(q.x) + fabsf(q.y) + fabsf(q.z));
            if (v < -off_v || u + v > 1 + (off_u + off_v)) continue;
            const float blurred = blur(c), tmin = load_tmin(c, ray_index);
            const float doubt = 4 * off * fabsf(inverse);
            const bool inside = u > 2 * off_u && v > 2 * off_v && u + v < 1 - 2 * (off_u + off_v);
            float at_t = t;
            if (!(inside && doubt < blurred && t - tmin > doubt)) {
                if (inside && tmin - t > doubt) continue;
                const int met = meet_in_float(c, ray_index, at, &at_t);
                if (met == 0 || (met == 1 && !(at_t > tmin))) continue;
                if (met == 2) at_t = nearest; /* leaves it open */
            }
            if (at_t - nearest > 2 * blurred) continue;
            best = nearest - at_t > 2 * blurred ? at : CAST_OPEN;
            nearest = at_t;
            if (any || best == CAST_OPEN) return true;
        }
        if (any || best == KD_NONE) return false;
        /* all that waits begins behind the nearest hit, whatever the roundings */
        return nearest + 16 * slack * flattest() + blur(c) < far - 3 * slack * steepest();
    }

    /* The next subtree that does not begin behind the nearest hit. It begins where the ray left the
       last one, less the slack on either side of the plane between them, or behind that. */
    __device__ __forceinline__ bool pop(const caster &c, const uint2 *stack) {
        uint2 next;
        do {
            if (waiting == 0) return false;
            next = stack[--waiting];
            near = far - fmaf(fabsf(far), 0x1p-21f, 2.0001f * slack * fabsf(inverse_of(next.x)));
            far = __uint_as_float(next.y);
        } while (best != KD_NONE && near > nearest + 16 * slack * flattest() + blur(c));
        node = load_node(c, next.x);
        return true;
    }

    template <bool any> __device__ __forceinline__ void store(const caster &c) {
        if (best == CAST_OPEN)
            leave_open<any>(c, ray_index);
        else if (any)
            c.blocked[ray_index] = best != KD_NONE;
        else
            store_exactly(c, ray_index, nearest, best);
    }
};

/* The warp's lanes stay together: those without work wait for the next time rays are fetched, and
   give their answers then, many at a time. */
template <bool any>
__global__
__launch_bounds__(CAST_BLOCK,
                  any ? walk_sieve::any_blocks
                      : walk_sieve::blocks) void cast_sieved(const __grid_constant__ caster c) {
    if (is_for_other_loop(c, true)) return;
    walk_sieve on;
    uint2 stack[CAST_STACK];           /* far child, where the ray leaves it */
    bool idle = true, drained = false; /* whether the batch has no more rays */
    on.ray_index = KD_NONE;
    for (;;) {
        const unsigned waiting = __ballot_sync(~0u, idle);
        if (waiting == ~0u || (!drained && __popc(waiting) > 32 - SIEVE_REFILL)) {
            bool last = false;
            if (idle) {
                if (on.ray_index != KD_NONE) on.template store<any>(c);
                if (!drained) on.ray_index = fetch_for(c.cursor, waiting);
                last = on.ray_index >= c.count;
                idle = drained || last || !on.begin(c);
                if (idle && !drained && !last) store_miss<any>(c, on.ray_index);
                if (idle) on.ray_index = KD_NONE;
            }
            if (drained) return;
            drained = __any_sync(~0u, last);
        }
        if (!idle) {
            on.descend(c, stack);
            idle = on.template test<any>(c) || !on.pop(c, stack);
        }
        __syncwarp();
    }
}

#endif

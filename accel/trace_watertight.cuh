/* A ray's walk with the watertight test: the answers of shaders/tritree_trace.h, bit for bit.
   Idea: the same visits as there (a plane is both nearer and farther than computed, by a slack),
   the same triangle_meet, but corners read in one go from the leaf, and the slack of an axis
   computed from one number where it is needed. */
#ifndef KD_ACCEL_TRACE_WATERTIGHT_CUH
#define KD_ACCEL_TRACE_WATERTIGHT_CUH
#include "accel/trace_loops.cuh"

struct walk_watertight {
    enum { blocks = 8, persistent_blocks = 8 }; /* of 128 threads: 64 registers each */
    triangle_caster with;
    float tmin;
    float ix, iy, iz; /* 1 / direction */
    float slack;      /* of a plane, where 1 / direction is 1 */
    float slack_t;    /* of a hit */
    float near, far;
    ray_hit best;
    uint32_t at, end;
    int waiting;
    typedef tritree_stack_entry entry;

    __device__ __forceinline__ bool begin(const caster &c, uint32_t i) {
        float4 o, d;
        load_ray(c, i, o, d);
        if (!ray_is_sound(o, d)) return false;
        const ray cast = ray_make(vec3_make(o.x, o.y, o.z), vec3_make(d.x, d.y, d.z), o.w, d.w);
        tritree_view box_only;
        box_only.box = c.box;
        box_only.reference_count = c.empty ? 0 : 1;
        tritree_walk begun;
        if (!tritree_walk_begin(&begun, &box_only, cast)) return false;
        with = triangle_caster_make(cast);
        tmin = cast.tmin;
        ix = begun.inverse[0], iy = begun.inverse[1], iz = begun.inverse[2];
        const float steepest = fmaxf(fmaxf(fabsf(ix), fabsf(iy)), fabsf(iz));
        const float widest = fmaxf(fmaxf(begun.slack[0], begun.slack[1]), begun.slack[2]);
        slack = widest / steepest * 1.000001f; /* this quotient is the same on each axis */
        slack_t = begun.slack_t;
        near = begun.near;
        far = begun.far;
        best.t = cast.tmax;
        best.u = best.v = 0;
        best.triangle = KD_NONE;
        at = 1;
        waiting = 0;
        return true;
    }

    __device__ __forceinline__ void descend(const caster &c, entry *stack) {
        uint2 node = __ldg(c.nodes + at);
        while ((node.y & 3) != TRITREE_LEAF) {
            const float inverse = node.y & 2 ? iz : node.y & 1 ? iy : ix;
            const float origin = node.y & 2   ? with.origin.z
                                 : node.y & 1 ? with.origin.y
                                              : with.origin.x;
            const float t = (__uint_as_float(node.x) - origin) * inverse;
            const float low = fmaf(-slack, fabsf(inverse), t);
            const float high = fmaf(slack, fabsf(inverse), t);
            const uint32_t closer = (node.y >> 2) + (__float_as_uint(inverse) >> 31);
            at = closer;
            if (high < near) {
                at = closer ^ 1;
            } else if (!(low > far)) {
                stack[waiting].node = closer ^ 1;
                stack[waiting].near = fmaxf(low, near);
                stack[waiting++].far = far;
                far = fminf(high, far);
            }
            node = __ldg(c.nodes + at);
        }
        at = node.x;
        end = at + (node.y >> 2);
    }

    template <bool any> __device__ __forceinline__ bool test(const caster &c) {
        bool found = false;
#pragma unroll 1
        for (; at < end; ++at) {
            const float4 *corner = c.corners + 3 * (uint64_t)at;
            const float4 p = __ldg(corner), q = __ldg(corner + 1), r = __ldg(corner + 2);
            found |=
                tritree_triangle_meet(&with, vec3_make(p.x, p.y, p.z), vec3_make(q.x, q.y, q.z),
                                      vec3_make(r.x, r.y, r.z), __float_as_uint(p.w), tmin, &best);
        }
        return any && found;
    }

    __device__ __forceinline__ bool pop(const entry *stack) {
        do {
            if (waiting == 0) return false;
            --waiting;
        } while (stack[waiting].near > best.t + slack_t);
        at = stack[waiting].node;
        near = stack[waiting].near;
        far = stack[waiting].far;
        return true;
    }

    template <bool any> __device__ __forceinline__ void store(const caster &c, uint32_t i) {
        if (any)
            c.blocked[i] = best.triangle != KD_NONE;
        else
            store_hit(c, i, best.t, best.u, best.v, best.triangle);
    }
};

#endif

/* A ray's walk with the watertight test: that of accel/tree/walk_device.h, for cast_once.
   Stays for trees without a packed form, and for Sponza's primary rays: 8129 M/s by tiles, the
   packed form's tiles 7949 (tools/bench/results/h200-variants.txt). */
#ifndef KD_ACCEL_RAYS_WATERTIGHT_CUH
#define KD_ACCEL_RAYS_WATERTIGHT_CUH
#include "accel/rays/loops.cuh"

struct walk_watertight {
    enum { blocks = 8 }; /* of 128 threads on a multiprocessor: 64 registers each */
    typedef tritree_device_entry entry;
    tritree_device_walk on;

    __device__ __forceinline__ bool begin(const caster &c, uint32_t i) {
        float4 o, d;
        load_ray(c, i, o, d);
        if (!ray_is_sound(o, d)) return false;
        return tritree_device_begin(
            &on, &c.box, c.empty,
            ray_make(vec3_make(o.x, o.y, o.z), vec3_make(d.x, d.y, d.z), o.w, d.w));
    }
    __device__ __forceinline__ void descend(const caster &c, entry *stack) {
        tritree_device_descend(&on, c.nodes, stack);
    }
    template <bool any> __device__ __forceinline__ bool test(const caster &c) {
        return tritree_device_meet(&on, c.leaf_rows) && any;
    }
    __device__ __forceinline__ bool pop(const entry *stack) {
        return tritree_device_pop(&on, stack);
    }
    template <bool any> __device__ __forceinline__ void store(const caster &c, uint32_t i) {
        if (any)
            c.blocked[i] = on.best.triangle != KD_NONE;
        else
            store_hit(c, i, on.best.t, on.best.u, on.best.v, on.best.triangle);
    }
};

#endif

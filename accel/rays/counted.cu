/* Rays whose number only the device knows.
   Idea: the grid is what the device holds; each block reads the number and loops. Rays that run
         alike have a thread each, others the sieve's persistent loop; those that it leaves open are
         gathered and cast by the shared function, as for batches.
   Data flow: rays, *count -> hits or blocked; *cursor goes from 0 to beyond *count. */
#include "accel/rays/conservative.cuh"
#include "accel/rays/counted.h"
#include "accel/rays/watertight.cuh"
#include "core/device/cuda.h"

namespace {

template <bool any>
__global__ __launch_bounds__(CAST_BLOCK) void cast_counted_once(const __grid_constant__ caster c,
                                                                const uint32_t *counted) {
    const uint32_t count = *counted;
    walk_watertight::entry stack[CAST_STACK];
    for (uint32_t i = blockIdx.x * CAST_BLOCK + threadIdx.x; i < count;
         i += gridDim.x * CAST_BLOCK) {
        walk_watertight on;
        if (!on.begin(c, i)) {
            store_miss<any>(c, i);
            continue;
        }
        do {
            on.descend(c, stack);
        } while (!on.template test<any>(c) && on.pop(stack));
        on.template store<any>(c, i);
    }
}

/* cast_sieved for *counted rays. */
template <bool any>
__global__
__launch_bounds__(CAST_BLOCK, any ? walk_sieve::any_blocks : walk_sieve::blocks) void cast_counted(
    const __grid_constant__ caster c, const uint32_t *counted) {
    walk_sieve on;
    uint2 stack[CAST_STACK];
    const uint32_t count = *counted;
    bool idle = true, drained = false;
    on.ray_index = KD_NONE;
    for (;;) {
        const unsigned waiting = __ballot_sync(~0u, idle);
        if (waiting == ~0u || (!drained && __popc(waiting) > 32 - SIEVE_REFILL)) {
            bool last = false;
            if (idle) {
                if (on.ray_index != KD_NONE) on.template store<any>(c);
                if (!drained) on.ray_index = fetch_for(c.cursor, waiting);
                last = on.ray_index >= count;
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

template <bool any>
__global__
__launch_bounds__(CAST_BLOCK) void cast_counted_again(const __grid_constant__ tritree_view tree,
                                                      const __grid_constant__ caster c,
                                                      const uint32_t *counted) {
    __shared__ uint32_t open[AGAIN_RAYS], found;
    const uint32_t count = *counted;
    for (uint32_t base = blockIdx.x * AGAIN_RAYS; base < count; base += gridDim.x * AGAIN_RAYS) {
        if (threadIdx.x == 0) found = 0;
        __syncthreads();
        for (uint32_t k = threadIdx.x; k < AGAIN_RAYS; k += CAST_BLOCK)
            if (base + k < count && is_left_open(c, base + k))
                open[atomicAdd(&found, 1u)] = base + k;
        __syncthreads();
        for (uint32_t k = threadIdx.x; k < found; k += CAST_BLOCK) {
            float4 o, d;
            load_ray(c, open[k], o, d);
            const ray cast = ray_make(vec3_make(o.x, o.y, o.z), vec3_make(d.x, d.y, d.z), o.w, d.w);
            ray_hit hit = {d.w, 0, 0, KD_NONE};
            if (ray_is_sound(o, d)) hit = tritree_device_cast(&tree, cast, any);
            if (any)
                c.blocked[open[k]] = hit.triangle != KD_NONE;
            else
                store_hit(c, open[k], hit.t, hit.u, hit.v, hit.triangle);
        }
        __syncthreads();
    }
}

caster counted_caster(const tritree_cuda *tree, const trace_counted *rays) {
    caster c;
    memset(&c, 0, sizeof c);
    c.nodes = (const uint2 *)tree->view.pairs;
    c.planes = (const float4 *)tree->planes;
    c.leaf_rows = (const float4 *)tree->view.leaf_rows;
    c.references = tree->view.references;
    c.box = tree->view.box;
    c.error = 0x1p-20f * vec3_largest(vec3_max(c.box.hi, vec3_negate(c.box.lo)));
    c.empty = tree->view.reference_count == 0;
    c.rays = (const float4 *)rays->rays;
    c.hits = (float4 *)rays->hits;
    c.blocked = rays->blocked;
    c.cursor = rays->cursor;
    return c;
}

template <bool any> kd_status launch_counted(const tritree_cuda *tree, const trace_counted *rays) {
    const caster c = counted_caster(tree, rays);
    unsigned blocks = 0;
    if (rays->coherent) {
        KD_TRY(cuda_resident_blocks(&blocks, cast_counted_once<any>, CAST_BLOCK));
        cast_counted_once<any><<<4 * blocks, CAST_BLOCK>>>(c, rays->count);
        KD_CUDA_LAUNCHED("cast_counted_once");
        return KD_OK;
    }
    KD_TRY(cuda_resident_blocks(&blocks, cast_counted<any>, CAST_BLOCK));
    cast_counted<any><<<blocks, CAST_BLOCK>>>(c, rays->count);
    KD_CUDA_LAUNCHED("cast_counted");
    cast_counted_again<any><<<2 * blocks, CAST_BLOCK>>>(tree->view, c, rays->count);
    KD_CUDA_LAUNCHED("cast_counted_again");
    return KD_OK;
}

} // namespace

kd_status trace_counted_cuda(const tritree_cuda *tree, const trace_counted *rays) {
    return rays->hits ? launch_counted<false>(tree, rays) : launch_counted<true>(tree, rays);
}

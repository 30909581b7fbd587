/* What shadow rays bring through cut-outs and media, when it is known what is in their way. */
#ifndef KD_RENDER_WAVES_PATH_SHADOWS_CUH
#define KD_RENDER_WAVES_PATH_SHADOWS_CUH
#include "render/waves/path_store.cuh"

enum { SHADOW_BLOCK = 128 };

/* The share of light that comes along shadow ray i; its first part was cast with all others'. */
__device__ __forceinline__ vec3 shadow_share(const scene_view &scene, const path_waves &w,
                                             uint32_t i, uint32_t where, uint32_t *rays) {
    passage on = passage_begin(load_stored_ray(w.shadow_rays, i), where);
    ++*rays;
    ray_hit hit;
    hit.triangle = KD_NONE;
    if (w.options.cutouts)
        hit = load_stored_hit(w.hits, i);
    else if (w.blocked[i])
        return vec3_all(0);
    while (passage_goes_on(&scene, &on, hit)) {
        ++*rays;
        hit = tritree_closest(&scene.tree, on.cast);
    }
    return on.share;
}

/* Data flow: blocked or, with cut-outs, hits; gain -> radiance, counts. */
static __global__ __launch_bounds__(SHADOW_BLOCK, 4) void wave_add_shares(
    const __grid_constant__ scene_view scene, const __grid_constant__ path_waves w, uint32_t wave) {
    const uint32_t count = wave_at(w, wave)->shadows;
    uint32_t rays = 0;
    for (uint32_t i = blockIdx.x * SHADOW_BLOCK + threadIdx.x; i < count;
         i += gridDim.x * SHADOW_BLOCK) {
        const float4 *gain = w.shadow_gain + 3 * (uint64_t)i;
        const float4 sent = gain[0], throughput = gain[1];
        path_asked asked;
        asked.sent = first_three(sent);
        asked.weight = throughput.w;
        const vec3 share = shadow_share(scene, w, i, __float_as_uint(gain[2].x), &rays);
        const vec3 more = vec3_mul(first_three(throughput), path_asked_light(&asked, share));
        add_radiance(w, __float_as_uint(sent.w), path_clamped(&w.options, gain[2].y > 0, more));
    }
    rays = __reduce_add_sync(0xffffffffu, rays);
    if (threadIdx.x % 32 == 0 && rays)
        atomicAdd((unsigned long long *)&w.counts->rays, (unsigned long long)rays);
}

#endif

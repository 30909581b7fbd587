/* Code shared by all kernels that trace wavefronts: the start of a wavefront, and the host's state,
   memory and launches.
   Idea: new paths are started when they fill at least a quarter of the pool, since fewer are not
         worth a launch. They are placed behind the continuing paths, in the order of their slots,
         so that neighbouring camera rays stay together.
   Work: grids have the size that the device can hold; the host does not read counts. */
#ifndef KD_RENDER_FRAME_PATH_RUN_CUH
#define KD_RENDER_FRAME_PATH_RUN_CUH
#include "accel/rays/batch_device.h"
#include "render/frame/frame.h"
#include "render/frame/path_store.cuh"
#include "render/frame/take_samples.cuh"

enum { ADD_BLOCK = 256, BEGIN_BLOCK = 128, SHADOW_BLOCK = 128 };

/* --- start of a wavefront --------------------------------------------------------------------- */

/* Data flow: one thread reads the records of this wavefront and the previous one; it writes this
              one's begin, end and rays, and the counts, and clears the next record. `more`: paths
              may be started. `shadows`: count shadow rays here. */
static __global__ void wave_plan(const __grid_constant__ path_waves w, uint32_t wave, bool more,
                                 bool shadows) {
    wave_record *now = wave_at(w, wave);
    const wave_record *before = wave_at(w, wave + WAVE_RING - 1);
    if (wave)
        w.counts->rays +=
            (uint64_t)before->rays - before->left_out + (shadows ? before->shadows : 0);
    const uint32_t free_paths = w.capacity - now->rays, minimum = wave ? w.capacity / 4 : 0;
    const uint32_t begin = wave ? before->end : 0, left = w.slots - begin;
    now->fresh = wave ? before->fresh | (before->end - before->begin - before->left_out) : 0;
    now->kept = now->rays;
    now->begin = begin;
    now->end = begin + (!more || free_paths < minimum ? 0 : min(left, free_paths));
    now->rays += now->end - begin;
    memset(wave_at(w, wave + 1), 0, sizeof *now);
}

/* Starts the paths of the slots begin to end, behind the continuing ones: begin_one(slot, at,
   &rays) stores the path of a slot in place `at`, an empty one if it returns false. Counts `rays`.
 */
template <class BEGIN_ONE>
__device__ __forceinline__ void begin_paths(const path_waves &w, uint32_t wave,
                                            const BEGIN_ONE &begin_one) {
    wave_record *now = wave_at(w, wave);
    const uint32_t begin = now->begin, end = now->end, kept = now->kept;
    uint32_t rays = 0, left_out = 0;
    for (uint32_t slot = begin + blockIdx.x * BEGIN_BLOCK + threadIdx.x; slot < end;
         slot += gridDim.x * BEGIN_BLOCK)
        left_out += !begin_one(slot, kept + (slot - begin), &rays);
    left_out = __reduce_add_sync(0xffffffffu, left_out);
    if (threadIdx.x % 32 == 0 && left_out) atomicAdd(&now->left_out, left_out);
    take_counts(w.counts, rays, 0);
}

/* Returns true if the slot is in the image, and the film does not have its sample; *begun is then
   its camera ray, and its radiance 0. */
__device__ __forceinline__ bool slot_ray(const path_waves &w, uint32_t slot, ray *begun) {
    const slot_place at = place_of_slot(w, slot);
    *begun = ray_make(vec3_all(0), vec3_all(0), 0, -1);
    if (!slot_is_inside(w, at) ||
        at.sample < w.pixels[(int64_t)at.y * w.range.width + at.x].samples)
        return false;
    *begun = pixel_ray(&w.view, w.range.x0 + at.x, w.range.y0 + at.y, key_of_slot(w, at));
    w.radiance[slot] = make_float4(0, 0, 0, 0);
    return true;
}

/* Data flow: reads the slots begin to end; writes their paths behind the continuing ones, and
              radiance 0. */
template <bool general>
__global__ __launch_bounds__(BEGIN_BLOCK,
                             4) void wave_begin(const __grid_constant__ scene_view scene,
                                                const __grid_constant__ path_waves w,
                                                uint32_t wave) {
    begin_paths(w, wave, [&](uint32_t slot, uint32_t at, uint32_t *rays) {
        ray ray;
        wave_path p;
        const bool begins = slot_ray(w, slot, &ray);
        p.slot = begins ? slot : KD_NONE;
        p.depth = 1;
        p.state =
            general && begins ? path_begin_in(&scene, SCENE_TREE, ray, rays) : path_begin(ray);
        store_path(w.stores[wave % 2], at, p);
        return begins;
    });
}

/* Fraction of light transmitted along shadow ray i, which may end at the camera; its first segment
   was traced with all others, to hits if there are cut-outs, else to blocked. */
__device__ __forceinline__ vec3 shadow_share(const scene_view &scene, const path_waves &w,
                                             uint32_t i, uint32_t medium, uint32_t *rays,
                                             bool to_camera = false) {
    transmittance_walk walk = transmittance_begin(load_stored_ray(w.shadow_rays, i), medium);
    walk.to_camera = to_camera;
    ++*rays;
    ray_hit hit;
    hit.triangle = KD_NONE;
    if (w.options.cutouts)
        hit = load_stored_hit(w.hits, i);
    else if (w.blocked[i])
        return vec3_all(0);
    while (transmittance_step(&scene, &walk, hit)) {
        ++*rays;
        hit = tritree_closest(&scene.tree, walk.ray);
    }
    return walk.share;
}

/* --- host code -------------------------------------------------------------------------------- */

static_assert(sizeof wave_record::ray_cursor == TRITREE_CUDA_CURSOR * sizeof(uint32_t),
              "what the casters need");

/* State of a launch. */
struct wave_run {
    const struct frame *frame;
    path_waves work;
    bool general;
    bool textured; /* of path tracing: some surface has a texture or vertex colours */
    uint32_t wave;
    uint32_t kernels; /* of path tracing: a bit for each shade_kernel that has surfaces to shade */
};

static inline void lay_out_store(path_store *store, cuda_arena *arena, uint64_t paths) {
    store->rays = (float4 *)cuda_arena_take(arena, paths, 32);
    store->throughput = (float4 *)cuda_arena_take(arena, paths, 16);
    store->from = (float4 *)cuda_arena_take(arena, paths, 16);
    store->normal = (float4 *)cuda_arena_take(arena, paths, 16);
    store->ids = (uint4 *)cuda_arena_take(arena, paths, 16);
}

/* Lays out the arrays with an element per sample. */
static inline void lay_out_samples(path_waves *w, cuda_arena *arena) {
    w->radiance = (float4 *)cuda_arena_take(arena, w->slots, 16);
    w->first = (float4 *)cuda_arena_take(arena, w->slots, 32);
}

/* Lays out what a wavefront needs besides its paths; `gain`: bytes per shadow ray. */
static inline void lay_out_rays(path_waves *w, cuda_arena *arena, size_t gain) {
    const uint64_t paths = w->capacity;
    w->hits = (float4 *)cuda_arena_take(arena, paths, 16);
    w->scratch = cuda_arena_take(arena, wave_scratch_capacity(w->capacity), TRACE_COUNTED_SCRATCH);
    w->kinds.lists = (uint32_t *)cuda_arena_take(arena, WAVE_LISTS * paths, 4);
    w->kinds.capacity = w->capacity;
    w->shadow_rays = (float4 *)cuda_arena_take(arena, paths, 32);
    w->shadow_gain = (float4 *)cuda_arena_take(arena, paths, gain);
    w->blocked = (uint8_t *)cuda_arena_take(arena, paths, 1);
}

static inline void lay_out_waves(path_waves *w, cuda_arena *arena, bool general) {
    w->ring = (wave_record *)cuda_arena_take(arena, WAVE_RING, sizeof(wave_record));
    for (int s = 0; s < 2; ++s) lay_out_store(w->stores + s, arena, w->capacity);
    lay_out_rays(w, arena, general ? 48 : 16);
    lay_out_samples(w, arena);
}

/* Plans a wavefront; `more`: paths may be started. */
static inline kd_status plan_wave(const wave_run *run, bool more) {
    wave_plan<<<1, 1>>>(run->work, run->wave, more, !run->general);
    KD_CUDA_LAUNCHED("wave_plan");
    return KD_OK;
}

/* Launches KERNEL(scene, work, wave) with as many blocks as the device can hold. */
template <class KERNEL>
kd_status start(const wave_run *run, KERNEL kernel, int block, const char *name) {
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, kernel, block));
    kernel<<<blocks, block>>>(run->frame->device_frame->scene.view, run->work, run->wave);
    KD_CUDA_LAUNCHED(name);
    return KD_OK;
}

static inline wave_record *record_of(const wave_run *run) {
    return run->work.ring + run->wave % WAVE_RING;
}

static inline void place_scratch(const wave_run *run, trace_counted *rays) {
    rays->scratch = run->work.scratch;
    rays->capacity = wave_scratch_capacity(run->work.capacity);
}

/* `coherent`: neighbouring rays are coherent. */
static inline kd_status cast_paths(const wave_run *run, bool coherent) {
    trace_counted rays;
    rays.rays = (const ray *)run->work.stores[run->wave % 2].rays;
    rays.hits = (ray_hit *)run->work.hits;
    rays.blocked = NULL;
    rays.count = &record_of(run)->rays;
    rays.cursor = record_of(run)->ray_cursor;
    rays.coherent = coherent;
    rays.bounded = false;
    place_scratch(run, &rays);
    return trace_counted_cuda(&run->frame->device_frame->tree, &rays);
}

static inline kd_status cast_shadows(const wave_run *run) {
    trace_counted rays;
    const bool closest = run->work.options.cutouts;
    rays.rays = (const ray *)run->work.shadow_rays;
    rays.hits = closest ? (ray_hit *)run->work.hits : NULL;
    rays.blocked = closest ? NULL : run->work.blocked;
    rays.count = &record_of(run)->shadows;
    rays.cursor = record_of(run)->shadow_cursor;
    rays.coherent = false;
    rays.bounded = true;
    place_scratch(run, &rays);
    return trace_counted_cuda(&run->frame->device_frame->tree, &rays);
}

/* Adds the contributions of unoccluded shadow rays. Data flow: reads blocked and gain; adds to
   radiance. */
static __global__ __launch_bounds__(ADD_BLOCK) void wave_add(const __grid_constant__ path_waves w,
                                                             uint32_t wave) {
    const uint32_t count = wave_at(w, wave)->shadows;
    for (uint32_t i = blockIdx.x * ADD_BLOCK + threadIdx.x; i < count; i += gridDim.x * ADD_BLOCK) {
        if (w.blocked[i]) continue;
        const float4 gain = w.shadow_gain[i];
        add_radiance(w, __float_as_uint(gain.w), first_three(gain));
    }
}

static inline kd_status add_unblocked(const wave_run *run) {
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, wave_add, ADD_BLOCK));
    wave_add<<<blocks, ADD_BLOCK>>>(run->work, run->wave);
    KD_CUDA_LAUNCHED("wave_add");
    return KD_OK;
}

/* The same through cut-outs and media, after the first hit of each ray is known. Data flow: reads
   blocked or, with cut-outs, hits, and gain; adds to radiance and counts. */
template <int block>
__global__ __launch_bounds__(block,
                             4) void wave_add_shares(const __grid_constant__ scene_view scene,
                                                     const __grid_constant__ path_waves w,
                                                     uint32_t wave) {
    const uint32_t count = wave_at(w, wave)->shadows;
    uint32_t rays = 0;
    for (uint32_t i = blockIdx.x * block + threadIdx.x; i < count; i += gridDim.x * block) {
        const float4 *gain = w.shadow_gain + 3 * (uint64_t)i;
        const float4 sent = gain[0], throughput = gain[1];
        shadow_request request;
        request.sent = first_three(sent);
        request.weight = throughput.w;
        const vec3 share = shadow_share(scene, w, i, __float_as_uint(gain[2].x), &rays);
        const vec3 more = vec3_mul(first_three(throughput), shadow_request_light(&request, share));
        add_radiance(w, __float_as_uint(sent.w), path_clamped(&w.options, gain[2].y > 0, more));
    }
    take_counts(w.counts, rays, 0);
}

/* Adds the contributions of a wavefront's shadow rays. */
template <bool general> kd_status add_shadows(const wave_run *run) {
    if constexpr (general)
        return start(run, wave_add_shares<SHADOW_BLOCK>, SHADOW_BLOCK, "wave_add_shares");
    else
        return add_unblocked(run);
}

#endif

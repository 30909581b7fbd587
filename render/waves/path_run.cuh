/* The host's side of waves, as far as all that go by them share it: what a run is, its memory,
   rays.
   Work: a kernel's grid is what the device holds; no count comes to the host. */
#ifndef KD_RENDER_WAVES_PATH_RUN_CUH
#define KD_RENDER_WAVES_PATH_RUN_CUH
#include "accel/rays/counted.h"
#include "render/frame/frame.h"
#include "render/waves/path_begin.cuh"

enum { ADD_BLOCK = 256 };

static_assert(sizeof wave_record::ray_cursor == TRITREE_CUDA_CURSOR * sizeof(uint32_t),
              "what the casters need");

/* A launch on its way. */
struct wave_run {
    const frame *of;
    path_waves work;
    bool general;
    uint32_t wave;
};

static inline void lay_out_store(path_store *to, cuda_arena *arena, uint64_t paths) {
    to->rays = (float4 *)cuda_arena_take(arena, paths, 32);
    to->throughput = (float4 *)cuda_arena_take(arena, paths, 16);
    to->from = (float4 *)cuda_arena_take(arena, paths, 16);
    to->normal = (float4 *)cuda_arena_take(arena, paths, 16);
    to->ids = (uint4 *)cuda_arena_take(arena, paths, 16);
}

static inline void lay_out_waves(path_waves *w, cuda_arena *arena, bool general) {
    const uint64_t paths = w->capacity;
    w->ring = (wave_record *)cuda_arena_take(arena, WAVE_RING, sizeof(wave_record));
    for (int s = 0; s < 2; ++s) lay_out_store(w->stores + s, arena, paths);
    w->hits = (float4 *)cuda_arena_take(arena, paths, 16);
    w->scratch = cuda_arena_take(arena, wave_scratch_room(w->capacity), TRACE_COUNTED_SCRATCH);
    w->kinds.lists = (uint32_t *)cuda_arena_take(arena, WAVE_LISTS * paths, 4);
    w->kinds.capacity = w->capacity;
    w->shadow_rays = (float4 *)cuda_arena_take(arena, paths, 32);
    w->shadow_gain = (float4 *)cuda_arena_take(arena, paths, general ? 48 : 16);
    w->blocked = (uint8_t *)cuda_arena_take(arena, paths, 1);
    w->radiance = (float4 *)cuda_arena_take(arena, w->slots, 16);
    w->first = (float4 *)cuda_arena_take(arena, w->slots, 32);
}

/* Of one wave; `more`: whether paths may begin. */
static inline kd_status plan_wave(const wave_run *run, bool more) {
    wave_plan<<<1, 1>>>(run->work, run->wave, more, !run->general);
    KD_CUDA_LAUNCHED("wave_plan");
    return KD_OK;
}

/* KERNEL(scene, work, wave) by as many blocks as the device holds. */
template <class KERNEL>
kd_status start(const wave_run *run, KERNEL kernel, int block, const char *name) {
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, kernel, block));
    kernel<<<blocks, block>>>(run->of->there->scene.view, run->work, run->wave);
    KD_CUDA_LAUNCHED(name);
    return KD_OK;
}

static inline wave_record *record_of(const wave_run *run) {
    return run->work.ring + run->wave % WAVE_RING;
}

static inline void place_scratch(const wave_run *run, trace_counted *rays) {
    rays->scratch = run->work.scratch;
    rays->room = wave_scratch_room(run->work.capacity);
}

static inline kd_status cast_paths(const wave_run *run) {
    trace_counted rays;
    rays.rays = (const ray *)run->work.stores[run->wave % 2].rays;
    rays.hits = (ray_hit *)run->work.hits;
    rays.blocked = NULL;
    rays.count = &record_of(run)->rays;
    rays.cursor = record_of(run)->ray_cursor;
    rays.coherent = run->wave == 0;
    rays.bounded = false;
    place_scratch(run, &rays);
    return trace_counted_cuda(&run->of->there->tree, &rays);
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
    return trace_counted_cuda(&run->of->there->tree, &rays);
}

/* What shadow rays bring that nothing blocks. Data flow: blocked, gain -> radiance. */
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

#endif

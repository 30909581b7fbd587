/* How a wave begins: which paths it gets, and their camera rays.
   Idea: what is left of the pool is filled up with new paths, if that is a quarter of it: few are
   not worth a kernel's start. New paths lie behind those that go on, in the order of their slots,
         so that camera rays of neighbours are neighbours. */
#ifndef KD_RENDER_WAVES_PATH_BEGIN_CUH
#define KD_RENDER_WAVES_PATH_BEGIN_CUH
#include "render/waves/path_store.cuh"

enum { BEGIN_BLOCK = 128 };

/* Data flow: records of this wave and the one before -> this one's begin, end and rays, counts; the
   next one's record is cleared. By one thread. `more`: whether paths may begin at all. `shadows`:
   whether shadow rays are counted here. */
static __global__ void wave_plan(const __grid_constant__ path_waves w, uint32_t wave, bool more,
                                 bool shadows) {
    wave_record *now = wave_at(w, wave);
    const wave_record *before = wave_at(w, wave + WAVE_RING - 1);
    if (wave)
        w.counts->rays +=
            (uint64_t)before->rays - before->left_out + (shadows ? before->shadows : 0);
    const uint32_t room = w.capacity - now->rays, least = wave ? w.capacity / 4 : 0;
    const uint32_t begin = wave ? before->end : 0, left = w.slots - begin;
    now->fresh = wave ? before->fresh | (before->end - before->begin - before->left_out) : 0;
    now->kept = now->rays;
    now->begin = begin;
    now->end = begin + (!more || room < least ? 0 : min(left, room));
    now->rays += now->end - begin;
    memset(wave_at(w, wave + 1), 0, sizeof *now);
}

/* Data flow: slots begin to end -> paths behind those kept, radiance 0. A slot outside of the
   picture, or of a sample that the film has, becomes a path that is none. */
template <bool general>
__global__ __launch_bounds__(BEGIN_BLOCK,
                             4) void wave_begin(const __grid_constant__ scene_view scene,
                                                const __grid_constant__ path_waves w,
                                                uint32_t wave) {
    wave_record *now = wave_at(w, wave);
    const path_store &to = w.stores[wave % 2];
    const uint32_t begin = now->begin, end = now->end, kept = now->kept;
    uint32_t rays = 0, left_out = 0;
    for (uint32_t slot = begin + blockIdx.x * BEGIN_BLOCK + threadIdx.x; slot < end;
         slot += gridDim.x * BEGIN_BLOCK) {
        const slot_place at = place_of_slot(w, slot);
        wave_path p;
        p.slot = KD_NONE;
        p.depth = 1;
        if (!slot_is_inside(w, at) ||
            at.sample < w.pixels[(int64_t)at.y * w.range.width + at.x].samples) {
            p.state = path_begin(ray_make(vec3_all(0), vec3_all(0), 0, -1));
            ++left_out;
        } else {
            const ray cast =
                pixel_ray(&w.view, w.range.x0 + at.x, w.range.y0 + at.y, key_of_slot(w, at));
            p.state = general ? path_begin_in(&scene, SCENE_TREE, cast, &rays) : path_begin(cast);
            p.slot = slot;
            w.radiance[slot] = make_float4(0, 0, 0, 0);
        }
        store_path(to, kept + (slot - begin), p);
    }
    rays = __reduce_add_sync(0xffffffffu, rays);
    left_out = __reduce_add_sync(0xffffffffu, left_out);
    if (threadIdx.x % 32 != 0) return;
    if (left_out) atomicAdd(&now->left_out, left_out);
    if (rays) atomicAdd((unsigned long long *)&w.counts->rays, (unsigned long long)rays);
}

#endif

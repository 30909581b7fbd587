/* Light paths of `vcm` as wavefronts on a CUDA device (vcm.h, vcm_waves.cuh).
   Data flow: light_begin starts paths; their rays are cast; wave_list sorts the paths by the kind of
              surface hit; light_shade connects them to the camera, appends photons, and samples the
              next rays; the connections are cast; light_add adds splats to the sums by atomics.
              light_finish traces the last few paths to their ends.
   Invariants: sums are of integers, and photons are in no order, on which no result depends, so
               pictures have the CPU's bits. */
#include "render/integrators/vcm_waves.cuh"

namespace {

/* Where light paths leave what they find. */
struct light_output {
    vcm_counts *counts;
    vcm_photon *photons;
    uint64_t capacity; /* maximum number of photons */
    uint32_t first;    /* number of the path of slot 0 */
};

/* --- storage ---------------------------------------------------------------------------------- */

/* In a path_store: throughput: power, and chain.inverse; from: from, and chain.others; before the
   first vertex: emitted, and the light.
   ids: x: slot
        y: step | layers << 16
        z: landed | scattered << 8 | from_lens << 16 | disperses << 17 | slope << 24
        w: medium */
__device__ __forceinline__ void store_light(const path_store &store, uint32_t at,
                                            const vcm_light_path &path, uint32_t slot) {
    const photon_path &state = path.base.photon_state;
    const emitted_photon &flying = state.flying;
    const bool begins = path.base.landed == 0;
    store_ray(store.rays, at, flying.ray);
    store.throughput[at] = with_fourth(flying.power, begins ? path.emitted : path.chain.inverse);
    store.from[at] =
        with_fourth(path.from, begins ? __uint_as_float(flying.light) : path.chain.others);
    store.ids[at] =
        make_uint4(slot, state.step | state.layers << 16,
                   path.base.landed | state.scattered << 8 | (uint32_t)path.chain.from_lens << 16 |
                       (uint32_t)path.disperses << 17 | (uint32_t)path.slope << 24,
                   flying.medium);
}

/* Returns false if the path is empty. */
__device__ __forceinline__ bool load_light(const vcm_view &view, const light_output &out,
                                           const path_store &store, uint32_t at,
                                           vcm_light_path &path, uint32_t *slot) {
    const uint4 ids = store.ids[at];
    *slot = ids.x;
    if (ids.x == KD_NONE) return false;
    const float4 power = store.throughput[at], from = store.from[at];
    photon_path &state = path.base.photon_state;
    emitted_photon &flying = state.flying;
    flying.ray = load_stored_ray(store.rays, at);
    flying.power = first_three(power);
    flying.medium = ids.w;
    state.key = rng_key_make(view.emission.seed, view.emission.pass, (uint64_t)out.first + ids.x);
    flying.wavelength = vcm_light_wavelength(&view, state.key);
    state.kind = PHOTON_DIRECT;
    state.bounce = 0;
    state.step = ids.y & VCM_STEP_MAX;
    state.layers = ids.y >> 16;
    state.scattered = ids.z >> 8 & 0xffu;
    path.base.turn = PHOTON_ENDS;
    path.base.landed = ids.z & 0xffu;
    path.base.rays = 0;
    path.base.over = false;
    const bool begins = path.base.landed == 0;
    flying.light = begins ? __float_as_uint(from.w) : 0;
    path.emitted = begins ? power.w : 0;
    path.chain.inverse = begins ? 0 : power.w;
    path.chain.others = begins ? 0 : from.w;
    path.chain.pending = 0;
    path.chain.vertices = path.base.landed;
    path.chain.from_lens = ids.z >> 16 & 1u;
    path.disperses = ids.z >> 17 & 1u;
    path.slope = (uint8_t)(ids.z >> 24);
    path.from = first_three(from);
    return true;
}

__device__ __forceinline__ void fetch_light_ahead(const path_store &store, uint32_t at) {
    fetch_ahead(store.rays + 2 * (uint64_t)at);
    fetch_ahead(store.throughput + at);
    fetch_ahead(store.from + at);
    fetch_ahead(store.ids + at);
}

/* --- results ---------------------------------------------------------------------------------- */

__device__ __forceinline__ void add_splat(const vcm_view &view, uint32_t pixel, vec3 radiance,
                                          uint32_t *cut) {
    const float value[3] = {radiance.x, radiance.y, radiance.z};
    for (int c = 0; c < 3; ++c)
        atomicAdd((unsigned long long *)(view.sums + 3 * (uint64_t)pixel + c),
                  (unsigned long long)light_splat_units(value[c], view.unit, cut));
}

__device__ __forceinline__ void add_photon(const light_output &out, const vcm_photon &photon) {
    const uint64_t at = take_place((unsigned long long *)&out.counts->photons);
    const uint32_t strength = float_bits(vec3_largest(photon.power));
    if (strength > *(volatile uint32_t *)&out.counts->strongest)
        atomicMax(&out.counts->strongest, strength);
    if (at < out.capacity) out.photons[at] = photon;
}

__device__ __forceinline__ void add_counts(vcm_counts *counts, uint32_t rays, uint32_t cut) {
    rays = __reduce_add_sync(0xffffffffu, rays);
    cut = __reduce_add_sync(0xffffffffu, cut);
    if (threadIdx.x % 32 != 0) return;
    if (rays) atomicAdd((unsigned long long *)&counts->samples.rays, (unsigned long long)rays);
    if (cut) atomicAdd((unsigned long long *)&counts->cut, (unsigned long long)cut);
}

/* --- wavefronts ------------------------------------------------------------------------------- */

/* Data flow: reads the slots begin to end; writes their paths behind the continuing ones. */
__global__ __launch_bounds__(BEGIN_BLOCK,
                             4) void light_begin(const __grid_constant__ scene_view scene,
                                                 const __grid_constant__ vcm_view view,
                                                 const __grid_constant__ path_waves w,
                                                 const light_output out, uint32_t wave) {
    begin_paths(w, wave, [&](uint32_t slot, uint32_t at, uint32_t *rays) {
        vcm_light_path path = vcm_light_begin(&view, &scene, (uint64_t)out.first + slot);
        const bool flies = !light_path_is_over(&view.limits, &path.base);
        *rays += path.base.rays;
        if (!flies) path.base.photon_state.flying.ray = ray_make(vec3_all(0), vec3_all(0), 0, -1);
        store_light(w.stores[wave % 2], at, path, flies ? slot : KD_NONE);
        return flies;
    });
}

/* A path during the steps of a wavefront. */
struct shaded_light {
    vcm_light_path path;
    uint32_t slot;
    bool lands, passes; /* the ray ends at a vertex, or passes a cut-out */
};

template <bool general, bool diffuse>
__device__ __forceinline__ void light_arrive(const scene_view &scene, const vcm_view &view,
                                             const path_waves &w, const light_output &out,
                                             const path_store &store, uint32_t i, shaded_light &s) {
    s.lands = s.passes = false;
    if (!general && scene.nested.count) __builtin_unreachable(); /* waves_are_general */
    if (i == KD_NONE || !load_light(view, out, store, i, s.path, &s.slot)) return;
    photon_path &state = s.path.base.photon_state;
    ray_hit hit = load_stored_hit(w.hits, i);
    bool in_volume = false;
    ++state.step;
    if (general) {
        photon_ledger discarded;
        memset(&discarded, 0, sizeof discarded);
        s.passes = photon_passes(&scene, &state.flying, state.key, state.step, &hit, &state.layers,
                                 &in_volume, &discarded);
        if (s.passes) return;
    }
    s.lands = light_path_arrive(&scene, &s.path.base, hit, in_volume,
                                kind_of_kernel(diffuse ? SHADE_DIFFUSE : SHADE_OTHERS));
    if (!s.lands) return;
    if (!general) s.path.base.turn = PHOTON_SCATTERS; /* always true here; helps the optimiser */
    as_listed<diffuse ? SHADE_DIFFUSE : SHADE_OTHERS>(s.path.base.at);
    vcm_light_land(&view, &scene, &s.path);
}

/* Stores the connection to the camera, to be added by light_add. */
template <bool general, bool diffuse>
__device__ __forceinline__ void light_connect(const scene_view &scene, const vcm_view &view,
                                              const path_waves &w, uint32_t *shadows,
                                              shaded_light &s) {
    vcm_splat splat;
    if (!s.lands || !view.shows_splat) return;
    if (!general) s.path.base.turn = PHOTON_SCATTERS;
    as_listed<diffuse ? SHADE_DIFFUSE : SHADE_OTHERS>(s.path.base.at);
    if (!vcm_light_connect(&view, &scene, &s.path, &splat)) return;
    const uint32_t at = take_place(shadows);
    const uint32_t pixel =
        (uint32_t)splat.y * (uint32_t)view.viewer.pixels.width + (uint32_t)splat.x;
    store_ray(w.shadow_rays, at, splat.shadow);
    float4 *gain = w.shadow_gain + 2 * (uint64_t)at;
    gain[0] = with_fourth(splat.sent, splat.weight);
    gain[1] = make_float4(__uint_as_float(pixel), __uint_as_float(splat.medium), splat.limit, 0);
}

/* Returns true if the path has another ray. */
template <bool general, bool diffuse>
__device__ __forceinline__ bool light_continues(const scene_view &scene, const vcm_view &view,
                                                shaded_light &s) {
    if (general && s.passes) return true;
    if (!s.lands) return false;
    if (!general) s.path.base.turn = PHOTON_SCATTERS;
    as_listed<diffuse ? SHADE_DIFFUSE : SHADE_OTHERS>(s.path.base.at);
    return vcm_light_go_on(&view, &scene, &s.path);
}

/* Data flow: reads the paths of the lists and their hits; writes connections, photons, and,
              contiguously, the paths of the next wavefront. `general`: all lists; else those of
              diffuse surfaces, or all others. */
template <bool general, bool diffuse>
__global__
__launch_bounds__(SHADE_BLOCK, diffuse ? SHADE_DIFFUSE_EACH : SHADE_OTHER_EACH) void light_shade(
    const __grid_constant__ scene_view scene, const __grid_constant__ vcm_view view,
    const __grid_constant__ path_waves w, const light_output out, uint32_t wave) {
    wave_record *now = wave_at(w, wave), *next = wave_at(w, wave + 1);
    const path_store &from = w.stores[wave % 2], &to = w.stores[1 - wave % 2];
    uint32_t *cursor = now->kinds.chunk + (diffuse ? 0 : 1);
    const auto fetch = [&](uint32_t i) {
        fetch_light_ahead(from, i);
        fetch_ahead(w.hits + i);
    };
    const auto shade = [&](uint32_t i) {
        shaded_light s;
        light_arrive<general, diffuse>(scene, view, w, out, from, i, s);
        __syncthreads();
        light_connect<general, diffuse>(scene, view, w, &now->shadows, s);
        __syncthreads();
        vcm_photon photon;
        if (s.lands && vcm_light_photon(&view, &scene, &s.path, &photon)) add_photon(out, photon);
        const bool has_next = light_continues<general, diffuse>(scene, view, s);
        __syncthreads();
        if (has_next) store_light(to, take_place(&next->rays), s.path, s.slot);
    };
    shade_chunks(w.kinds, &now->kinds, cursor, general || diffuse ? 0 : 1,
                 diffuse ? 1 : (uint32_t)WAVE_LISTS, fetch, shade);
}

/* Data flow: reads connections and what blocks them; adds to sums and counts. */
template <bool general>
__global__ __launch_bounds__(VCM_ADD_BLOCK, general ? 4 : 8) void light_add(
    const __grid_constant__ scene_view scene, const __grid_constant__ vcm_view view,
    const __grid_constant__ path_waves w, const light_output out, uint32_t wave) {
    const uint32_t count = wave_at(w, wave)->shadows;
    uint32_t rays = 0, cut = 0;
    for (uint32_t i = blockIdx.x * VCM_ADD_BLOCK + threadIdx.x; i < count;
         i += gridDim.x * VCM_ADD_BLOCK) {
        if (!general && w.blocked[i]) continue;
        const float4 *gain = w.shadow_gain + 2 * (uint64_t)i;
        const float4 sent = gain[0], where = gain[1];
        vcm_splat splat;
        vec3 radiance, visible = vec3_all(1);
        splat.sent = first_three(sent);
        splat.weight = sent.w;
        splat.limit = where.z;
        if (general) visible = shadow_share(scene, w, i, __float_as_uint(where.y), &rays, true);
        if (vcm_splat_light(&splat, visible, &radiance))
            add_splat(view, __float_as_uint(where.x), radiance, &cut);
    }
    add_counts(out.counts, rays, cut);
}

/* Traces the last few paths to their ends, one thread per path. */
__global__ __launch_bounds__(VCM_FINISH_BLOCK, VCM_FINISH_EACH) void light_finish(
    const __grid_constant__ scene_view scene, const __grid_constant__ vcm_view view,
    const __grid_constant__ path_waves w, const light_output out, uint32_t wave) {
    const uint32_t count = wave_at(w, wave)->rays;
    uint32_t rays = 0, cut = 0;
    for (uint32_t i = spread_first(count); i < count; i += gridDim.x * VCM_FINISH_BLOCK) {
        vcm_light_path path;
        vcm_photon photon;
        vcm_splat splat;
        vec3 radiance;
        uint32_t slot;
        bool goes_on = load_light(view, out, w.stores[wave % 2], i, path, &slot);
        while (goes_on && vcm_light_next(&view, &scene, &path)) {
            if (view.shows_splat && vcm_light_connect(&view, &scene, &path, &splat) &&
                vcm_splat_light(&splat, vcm_splat_visible(&scene, &splat, view.path.cutouts, &rays),
                                &radiance))
                add_splat(view,
                          (uint32_t)splat.y * (uint32_t)view.viewer.pixels.width +
                              (uint32_t)splat.x,
                          radiance, &cut);
            if (vcm_light_photon(&view, &scene, &path, &photon)) add_photon(out, photon);
            goes_on = vcm_light_go_on(&view, &scene, &path);
        }
        if (slot != KD_NONE) rays += path.base.rays;
    }
    add_counts(out.counts, rays, cut);
}

/* --- host code -------------------------------------------------------------------------------- */

void lay_out_light(path_waves *w, cuda_arena *arena) {
    const uint64_t paths = w->capacity;
    w->ring = (wave_record *)cuda_arena_take(arena, WAVE_RING, sizeof(wave_record));
    for (int s = 0; s < 2; ++s) {
        w->stores[s].rays = (float4 *)cuda_arena_take(arena, paths, 32);
        w->stores[s].throughput = (float4 *)cuda_arena_take(arena, paths, 16);
        w->stores[s].from = (float4 *)cuda_arena_take(arena, paths, 16);
        w->stores[s].ids = (uint4 *)cuda_arena_take(arena, paths, 16);
    }
    lay_out_rays(w, arena, 32);
}

template <bool general>
kd_status run_light_wave(const wave_run *run, const vcm_view *view, const light_output &out) {
    KD_TRY(vcm_start(run, view, light_begin, BEGIN_BLOCK, "light_begin", out));
    KD_TRY(cast_paths(run, false));
    KD_TRY(start(run, wave_list, KIND_BLOCK, "wave_list"));
    KD_TRY(vcm_start(run, view, light_shade<general, false>, SHADE_BLOCK, "light_shade", out));
    if constexpr (!general)
        KD_TRY(vcm_start(run, view, light_shade<false, true>, SHADE_BLOCK,
                         "light_shade of diffuse surfaces", out));
    if (!view->shows_splat) return KD_OK;
    KD_TRY(cast_shadows(run));
    return vcm_start(run, view, light_add<general>, VCM_ADD_BLOCK, "light_add", out);
}

kd_status trace_once(vcm_cuda *device, const frame *frame, const vcm_view *view, uint32_t first,
                     uint32_t share) {
    const uint64_t sums = vcm_sums(view);
    light_output out = {device->counts, NULL, device->capacity, first};
    wave_run run;
    KD_TRY(device_memory_clear(device->counts, sizeof(vcm_counts) + sums * sizeof *device->sums));
    if (share == 0) return KD_OK;
    memset(&run, 0, sizeof run);
    run.frame = frame;
    run.general = waves_are_general(frame->scene);
    run.work.options = view->path;
    run.work.counts = &device->counts->samples;
    run.work.slots = share;
    run.work.capacity = (uint32_t)min(vcm_wave_paths(frame->options), (uint64_t)share);
    KD_TRY(vcm_reserve(&run, [&](path_waves *w, cuda_arena *arena) {
        lay_out_light(w, arena);
        out.photons = (vcm_photon *)cuda_arena_take(arena, out.capacity, sizeof(vcm_photon));
    }));
    device->photons = out.photons;
    KD_TRY(vcm_run_waves(&run, [&]() {
        return run.general ? run_light_wave<true>(&run, view, out)
                           : run_light_wave<false>(&run, view, out);
    }));
    return vcm_start(&run, view, light_finish, VCM_FINISH_BLOCK, "light_finish", out);
}

} // namespace

kd_status vcm_cuda_trace(vcm_cuda *device, const frame *frame, const vcm_view *view, uint32_t first,
                         uint32_t share, vcm_counts *counts) {
    /* one photon for each path suffices in most scenes; else the count says how many are needed */
    if (view->shows_merge && view->merges > 0 && device->capacity < share) device->capacity = share;
    for (;;) {
        KD_TRY(trace_once(device, frame, view, first, share));
        KD_TRY(device_memory_download(counts, device->counts, sizeof *counts));
        if (counts->photons <= device->capacity) return KD_OK;
        /* the photons did not fit: again, with a little more than they need */
        device->capacity = counts->photons + counts->photons / 8;
    }
}

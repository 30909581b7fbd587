/* Eye paths of `vcm` as wavefronts on a CUDA device (vcm_eye.h, vcm_waves.cuh).
   Data flow: eye_begin starts the paths of pixels; their rays are cast; wave_list sorts the paths by
              the kind of surface hit; eye_shade adds emission, stores what a sampled lamp brings
              with its shadow ray, samples the next rays, and leaves requests to merge, which
              eye_merge (vcm.cu) reads; the shadow rays are cast; add_shadows adds what was stored.
              eye_finish traces the last few paths to their ends, and eye_film adds radiance and
              splats to the film.
   Invariants: the terms added to a slot, and their order, are those of vcm_eye_next, so the film
               has the CPU's bits. */
#include "render/integrators/integrators.h"
#include "render/integrators/vcm_waves.cuh"

namespace {

enum { FILM_BLOCK = 128 };

/* --- storage ---------------------------------------------------------------------------------- */

/* In a path_store: throughput: throughput, and chain.inverse; from: from, and chain.others; normal:
   from_normal, and chain.pending.
   ids: x: slot
        y: step | layers << 16 | scattered << 25
        z: eta_scale
        w: medium (23 bits, extended by its sign) | disperses << 23 | depth << 24 */
__device__ __forceinline__ void store_eye(const path_store &store, uint32_t at,
                                          const vcm_eye_path &path, uint32_t slot, uint32_t depth) {
    const path_state &s = path.state;
    const uint32_t scattered =
        s.scattered < PATH_SCATTERED_MAX ? (uint32_t)s.scattered : PATH_SCATTERED_MAX;
    store_ray(store.rays, at, s.ray);
    store.throughput[at] = with_fourth(s.throughput, path.chain.inverse);
    store.from[at] = with_fourth(s.from, path.chain.others);
    store.normal[at] = with_fourth(path.from_normal, path.chain.pending);
    store.ids[at] =
        make_uint4(slot, s.step | s.layers << 16 | scattered << (16 + VCM_LAYER_BITS),
                   __float_as_uint(s.eta_scale),
                   (s.medium & 0x7fffffu) | (uint32_t)path.disperses << 23 | depth << 24);
}

/* Returns false if the path is empty. */
__device__ __forceinline__ bool load_eye(const scene_view &scene, const vcm_view &view,
                                         const path_store &store, uint32_t at, vcm_eye_path &path,
                                         uint32_t *slot, uint32_t *depth) {
    const uint4 ids = store.ids[at];
    *slot = ids.x;
    if (ids.x == KD_NONE) return false;
    const float4 t = store.throughput[at], from = store.from[at], n = store.normal[at];
    path_state &s = path.state;
    *depth = ids.w >> 24;
    s.ray = load_stored_ray(store.rays, at);
    s.throughput = first_three(t);
    s.from = first_three(from);
    s.from_normal = vec3_all(0);
    s.pdf = *depth == 1 ? -1 : 1;
    s.specular = true;
    s.eta_scale = __uint_as_float(ids.z);
    s.scattered = (int32_t)(ids.y >> (16 + VCM_LAYER_BITS));
    s.step = ids.y & VCM_STEP_MAX;
    s.wavelength = view.wavelength;
    s.flies = scene.medium_count != 0;
    s.in_volume = false;
    s.medium = (uint32_t)((int32_t)(ids.w << 9) >> 9);
    s.instance_id = KD_NONE;
    s.layers = ids.y >> 16 & ((1u << VCM_LAYER_BITS) - 1);
    s.place = s.ray.origin;
    path.chain.inverse = t.w;
    path.chain.others = from.w;
    path.chain.pending = n.w;
    path.chain.vertices = *depth - 1;
    path.chain.from_lens = false; /* only light paths use it */
    path.from_normal = first_three(n);
    path.disperses = ids.w >> 23 & 1u;
    return true;
}

/* --- wavefronts ------------------------------------------------------------------------------- */

/* Data flow: reads the slots begin to end; writes their paths behind the continuing ones, and
              radiance 0. */
__global__ __launch_bounds__(BEGIN_BLOCK,
                             4) void eye_begin(const __grid_constant__ scene_view scene,
                                               const __grid_constant__ vcm_view view,
                                               const __grid_constant__ path_waves w,
                                               uint32_t wave) {
    begin_paths(w, wave, [&](uint32_t slot, uint32_t at, uint32_t *rays) {
        ray ray;
        vcm_eye_path path;
        memset(&path, 0, sizeof path);
        const bool begins = slot_ray(w, slot, &ray);
        path.state = path_begin(ray);
        if (begins) {
            const rng_key key = key_of_slot(w, place_of_slot(w, slot));
            path = vcm_eye_begin(&view, &scene, ray, vcm_eye_time(&w.view, key), rays);
        }
        store_eye(w.stores[wave % 2], at, path, begins ? slot : KD_NONE, 1);
        return begins;
    });
}

/* A path during the steps of a wavefront. */
struct shaded_eye {
    vcm_eye_path path;
    uint32_t slot, depth;
    rng_key key;
    surface at;
    path_turn turn;
    bool arrives; /* at a vertex, or leaves the scene */
    vec3 sent;    /* emission or sky, and merges */
};

template <bool general, bool diffuse>
__device__ __forceinline__ void eye_arrive(const scene_view &scene, const vcm_view &view,
                                           const path_waves &w, const path_store &store, uint32_t i,
                                           shaded_eye &s) {
    s.turn = PATH_ENDS;
    s.arrives = false;
    if (!general && scene.nested.count) __builtin_unreachable(); /* waves_are_general */
    if (i == KD_NONE || !load_eye(scene, view, store, i, s.path, &s.slot, &s.depth)) return;
    path_state &state = s.path.state;
    ray_hit hit = load_stored_hit(w.hits, i);
    s.key = key_of_slot(w, place_of_slot(w, s.slot));
    if (!general) state.flies = false;
    ++state.step;
    if (general && path_passes(&scene, &view.path, &state, s.key, &hit)) {
        s.turn = PATH_PASSES;
        return;
    }
    const path_turn turn =
        vcm_eye_arrive(&view, &scene, &s.path, (int32_t)s.depth, hit, s.key,
                       kind_of_kernel(diffuse ? SHADE_DIFFUSE : SHADE_OTHERS), &s.at, &s.sent);
    /* the last condition only helps the optimiser */
    s.turn = general || turn != PATH_SCATTERS_IN_VOLUME ? turn : PATH_ENDS;
    s.arrives = true;
    as_listed<diffuse ? SHADE_DIFFUSE : SHADE_OTHERS>(s.at);
    if (s.depth == 1) store_first(scene, w, s.slot, &state.ray, &s.at);
}

/* --- merges -----------------------------------------------------------------------------------
   Idea: at diffuse surfaces, which are most of those where paths merge, the lookup is left to a
         kernel of its own (vcm.cu). The others are rare. Most of their lookups find a few photons,
         but one in some hundred finds hundreds, and a block would wait for it. So a thread
   processes only few photons alone; a warp shares the others' lookups, one after another. Sums of
         integers do not depend on the order. */

enum { MERGE_ALONE = 64 };

/* A lookup that a warp shares. */
struct merge_job {
    vcm_eye_path path;
    surface at;
    int32_t depth;
};

template <bool general>
__device__ __forceinline__ vcm_meeting meeting_at(const vcm_view *view, const scene_view *scene,
                                                  const vcm_eye_path *path, const surface *at) {
    vcm_meeting met = vcm_eye_meeting(view, scene, &path->state, at);
    if (!general) met.in = NULL; /* always so here; helps the optimiser */
    return met;
}

/* One copy of the code, for both ways. */
template <bool general>
__device__ __noinline__ void merge_part(const vcm_view *view, const scene_view *scene,
                                        const vcm_eye_path *path, const surface *at, int32_t depth,
                                        uint32_t offset, uint32_t stride, flux_sum *sum) {
    const vcm_meeting met = meeting_at<general>(view, scene, path, at);
    *sum = vcm_eye_merge_part(view, path, &met, depth, offset, stride);
}

/* Returns how many photons a lookup has to test. */
__device__ __forceinline__ uint32_t merge_tests(const vcm_view &view, vec3 place) {
    vcm_grid_walk walk = vcm_grid_begin(&view.grid, place, view.radius);
    vcm_grid_range range;
    uint32_t tests = 0;
    while (vcm_grid_next(&view.grid, &walk, &range)) tests += range.end - range.begin;
    return tests;
}

__device__ __forceinline__ int64_t warp_sum(int64_t part) {
    for (int other = 16; other; other /= 2) part += __shfl_xor_sync(~0u, part, other);
    return part;
}

/* Merges the paths whose `merges` is set, and adds what that brings to s.sent. To be called by all
   threads of a block of SHADE_BLOCK. */
template <bool general>
__device__ __forceinline__ void merge_here(const scene_view &scene, const vcm_view &view,
                                           bool merges, shaded_eye &s) {
    __shared__ merge_job jobs[SHADE_BLOCK / 32];
    merge_job *job = jobs + threadIdx.x / 32;
    const uint32_t lane = threadIdx.x % 32;
    const bool in_volume = general && s.turn == PATH_SCATTERS_IN_VOLUME;
    const uint32_t tests =
        merges ? merge_tests(view, in_volume ? s.path.state.place : s.at.position) : 0;
    flux_sum sum = flux_sum_none();
    if (tests > 0 && tests <= MERGE_ALONE) {
        const vcm_eye_path path = s.path; /* copies, as for vcm_eye_sky */
        const surface at = s.at;
        flux_sum alone;
        merge_part<general>(&view, &scene, &path, &at, (int32_t)s.depth, 0, 1, &alone);
        sum = alone;
    }
    for (unsigned left = __ballot_sync(~0u, tests > MERGE_ALONE); left; left &= left - 1) {
        const bool own = (int)lane == __ffs(left) - 1;
        flux_sum part;
        if (own) {
            job->path = s.path;
            job->at = s.at;
            job->depth = (int32_t)s.depth;
        }
        __syncwarp();
        merge_part<general>(&view, &scene, &job->path, &job->at, job->depth, lane, 32, &part);
        part.x = warp_sum(part.x);
        part.y = warp_sum(part.y);
        part.z = warp_sum(part.z);
        if (own) sum = part;
        __syncwarp();
    }
    if (!merges) return;
    const vcm_meeting met = meeting_at<general>(&view, &scene, &s.path, &s.at);
    s.sent = vec3_add(s.sent, vcm_eye_brings(&view, &s.path, vcm_eye_merged(&view, &met, &sum)));
}

/* Merges path i, or leaves a request in its place in the store. */
template <bool general, bool diffuse>
__device__ __forceinline__ void merge_or_request(const scene_view &scene, const vcm_view &view,
                                                 const path_waves &w, const path_store &store,
                                                 uint32_t i, shaded_eye &s) {
    const bool merges = s.arrives && vcm_eye_merges(&view, s.turn, &s.at);
    const bool later =
        merges && (diffuse || (s.turn == PATH_SCATTERS && s.at.kind == MATERIAL_DIFFUSE));
    if (s.arrives) s.sent = vcm_tinted(&view, s.path.disperses, s.sent);
    if (!diffuse) merge_here<general>(scene, view, merges && !later, s);
    if (later) {
        store_merge(store, w.hits, i, s.path, s.at, s.slot, s.depth, s.sent);
        s.sent = vec3_all(0);
    } else if ((general || diffuse) && i != KD_NONE) {
        store.ids[i].x = KD_NONE;
    }
}

/* --- lamps and continuation ------------------------------------------------------------------- */

/* Adds emission and merges; samples a lamp and stores its contribution with the shadow ray, as
   path_store.cuh does. That of an occluded lamp is added at once, since it is NaN, not 0, if a
   factor is not finite. */
template <bool general, bool diffuse>
__device__ __forceinline__ void eye_light(const scene_view &scene, const vcm_view &view,
                                          const path_waves &w, uint32_t *shadows, shaded_eye &s) {
    if (!s.arrives) return;
    add_radiance(w, s.slot, s.sent);
    const path_turn turn = general || s.turn == PATH_ENDS ? s.turn : PATH_SCATTERS;
    shadow_request request;
    as_listed<diffuse ? SHADE_DIFFUSE : SHADE_OTHERS>(s.at);
    if (!view.shows_lamps || !path_seeks_light(turn, &s.at) ||
        !vcm_eye_lamp(&view, &scene, &s.path, turn, &s.at, s.key, &request))
        return;
    const uint32_t at = take_place(shadows);
    store_ray(w.shadow_rays, at, request.ray);
    if (general) {
        const vec3 throughput = vcm_tinted(&view, s.path.disperses, s.path.state.throughput);
        store_shadow_parts(w, at, request, s.slot, throughput, s.path.state.scattered > 0);
        return;
    }
    const vec3 dark = shadow_request_light(&request, vec3_all(0));
    const vec3 light = shadow_request_light(&request, vec3_all(1));
    add_radiance(w, s.slot, vcm_eye_brings(&view, &s.path, dark));
    w.shadow_gain[at] = with_fourth(vcm_eye_brings(&view, &s.path, light), __uint_as_float(s.slot));
}

/* Returns true if the path has another ray. */
template <bool general, bool diffuse>
__device__ __forceinline__ bool eye_continues(const scene_view &scene, const vcm_view &view,
                                              shaded_eye &s) {
    if (s.turn == PATH_PASSES) return true;
    if (s.turn == PATH_ENDS) return false;
    as_listed<diffuse ? SHADE_DIFFUSE : SHADE_OTHERS>(s.at);
    const path_turn turn = general ? s.turn : PATH_SCATTERS;
    return vcm_eye_turn(&view, &scene, &s.path, turn, &s.at, (int32_t)s.depth++, s.key);
}

/* Data flow: reads the paths of the lists and their hits, and photons; writes radiance, first
              surfaces, shadow rays, and, contiguously, the paths of the next wavefront. `general`:
              all lists; else those of diffuse surfaces, or all others. */
template <bool general, bool diffuse>
__global__
__launch_bounds__(SHADE_BLOCK, diffuse ? SHADE_DIFFUSE_EACH : SHADE_OTHER_EACH) void eye_shade(
    const __grid_constant__ scene_view scene, const __grid_constant__ vcm_view view,
    const __grid_constant__ path_waves w, uint32_t wave) {
    wave_record *now = wave_at(w, wave), *next = wave_at(w, wave + 1);
    const path_store &from = w.stores[wave % 2], &to = w.stores[1 - wave % 2];
    uint32_t *cursor = now->kinds.chunk + (diffuse ? 0 : 1);
    const auto fetch = [&](uint32_t i) {
        fetch_path_ahead(from, i);
        fetch_ahead(w.hits + i);
    };
    const auto shade = [&](uint32_t i) {
        shaded_eye s;
        eye_arrive<general, diffuse>(scene, view, w, from, i, s);
        __syncthreads();
        merge_or_request<general, diffuse>(scene, view, w, from, i, s);
        __syncthreads();
        eye_light<general, diffuse>(scene, view, w, &now->shadows, s);
        __syncthreads();
        const bool has_next = eye_continues<general, diffuse>(scene, view, s);
        __syncthreads();
        if (has_next) store_eye(to, take_place(&next->rays), s.path, s.slot, s.depth);
    };
    shade_chunks(w.kinds, &now->kinds, cursor, general || diffuse ? 0 : 1,
                 diffuse ? 1 : (uint32_t)WAVE_LISTS, fetch, shade);
}

/* --- completion of the last few paths, and the film ------------------------------------------- */

/* Traces the last few paths to their ends, one thread each.
   Data flow: reads the paths of the wavefront; adds to radiance, first surfaces, counts. */
__global__ __launch_bounds__(VCM_FINISH_BLOCK, VCM_FINISH_EACH) void eye_finish(
    const __grid_constant__ scene_view scene, const __grid_constant__ vcm_view view,
    const __grid_constant__ path_waves w, uint32_t wave) {
    const uint32_t count = wave_at(w, wave)->rays;
    uint32_t rays = 0;
    for (uint32_t i = spread_first(count); i < count; i += gridDim.x * VCM_FINISH_BLOCK) {
        vcm_eye_path path;
        uint32_t slot, depth;
        if (!load_eye(scene, view, w.stores[wave % 2], i, path, &slot, &depth)) continue;
        const bool begins = depth == 1;
        const ray first = path.state.ray;
        const rng_key key = key_of_slot(w, place_of_slot(w, slot));
        path_result result;
        result.radiance = first_three(w.radiance[slot]);
        result.first.triangle = KD_NONE;
        result.rays = 0;
        while (vcm_eye_next(&view, &scene, &path, (int32_t)depth, key, &result)) ++depth;
        w.radiance[slot] = with_fourth(result.radiance, 0);
        if (begins) store_first(scene, w, slot, &first, &result.first);
        rays += result.rays;
    }
    take_counts(w.counts, rays, 0);
}

/* Adds the sample of each pixel, with its splats, to the film, one thread per pixel. */
__global__ __launch_bounds__(FILM_BLOCK) void eye_film(const __grid_constant__ vcm_view view,
                                                       const __grid_constant__ path_waves w) {
    const uint32_t slot = blockIdx.x * FILM_BLOCK + threadIdx.x;
    uint32_t nans = 0;
    const slot_place at = place_of_slot(w, slot < w.slots ? slot : 0);
    if (slot < w.slots && slot_is_inside(w, at)) {
        film_pixel *to = w.pixels + (int64_t)at.y * w.range.width + at.x;
        film_pixel sum = *to;
        if (at.sample >= sum.samples) {
            const int32_t x = w.range.x0 + at.x, y = w.range.y0 + at.y;
            pixel_sample sample = sample_of_slot(w, slot);
            sample.radiance =
                vec3_add(sample.radiance, vcm_splats_of(&view, &w.view, x, y, key_of_slot(w, at)));
            pixel_weigh(&w.view, x, y, at.sample, &sample);
            nans += !film_pixel_add(&sum, &sample);
            *to = sum;
        }
    }
    take_counts(w.counts, 0, nans);
}

/* --- host code -------------------------------------------------------------------------------- */

template <bool general> kd_status run_eye_wave(const wave_run *run, const vcm_view *view) {
    KD_TRY(vcm_start(run, view, eye_begin, BEGIN_BLOCK, "eye_begin"));
    KD_TRY(cast_paths(run, run->wave == 0));
    KD_TRY(start(run, wave_list, KIND_BLOCK, "wave_list"));
    KD_TRY(vcm_start(run, view, eye_shade<general, false>, SHADE_BLOCK, "eye_shade"));
    if constexpr (!general)
        KD_TRY(vcm_start(run, view, eye_shade<false, true>, SHADE_BLOCK,
                         "eye_shade of diffuse surfaces"));
    KD_TRY(vcm_merge_wave(run, view));
    if (!view->shows_lamps) return KD_OK;
    KD_TRY(cast_shadows(run));
    return add_shadows<general>(run);
}

/* Takes one sample of each pixel of the range. */
kd_status take_sample(const frame *frame, const vcm_view *view, const sample_range *range) {
    wave_run run;
    path_waves *w = &run.work;
    memset(&run, 0, sizeof run);
    run.frame = frame;
    run.general = waves_are_general(frame->scene);
    w->view = integrator_view(frame);
    w->view.scene = NULL;
    w->range = *range;
    w->options = view->path;
    w->pixels = frame->device_frame->pixels;
    w->counts = frame->device_frame->counts;
    w->across = (uint32_t)(range->width + 7) / 8;
    w->tiled = (uint32_t)frame_cuda_tiled_pixels(range->width, range->bottom - range->top);
    w->slots = w->tiled;
    w->capacity = (uint32_t)min(vcm_wave_paths(frame->options), (uint64_t)w->slots);
    w->options.clamp = view->clamp;
    KD_TRY(vcm_reserve(&run, [&](path_waves *waves, cuda_arena *arena) {
        lay_out_waves(waves, arena, run.general);
    }));
    KD_TRY(vcm_run_waves(&run, [&]() {
        return run.general ? run_eye_wave<true>(&run, view) : run_eye_wave<false>(&run, view);
    }));
    KD_TRY(vcm_start(&run, view, eye_finish, VCM_FINISH_BLOCK, "eye_finish"));
    eye_film<<<cuda_blocks(w->slots, FILM_BLOCK), FILM_BLOCK>>>(*view, *w);
    KD_CUDA_LAUNCHED("eye_film");
    return KD_OK;
}

} // namespace

kd_status vcm_launch(const frame *frame, const sample_range *range) {
    sample_range one = *range;
    one.count = 1;
    for (uint32_t s = 0; s < range->count; ++s) {
        one.begin = range->begin + s;
        KD_TRY(take_sample(frame, (const vcm_view *)frame->state, &one)); /* its first member */
    }
    return KD_OK;
}

/* Traces the photons of a batch as wavefronts: a pool of paths advances by one surface at a time.
   Source: Laine, Karras, Aila 2013, "Megakernels considered harmful: wavefront path tracing on
           GPUs".
   Idea: as for camera paths (render/frame), each wavefront has four steps: the batch's next paths
         fill the pool, rays are traced, paths are listed by the kind of surface hit, and two
         kernels shade diffuse surfaces and all others. Code for one kind keeps the surface in
         registers. Counts stay on the device; the host launches ahead, as many wavefronts as the
         last batch had, and then checks. When all paths have been started and few are left, these
         are completed by one thread each: a wavefront takes as long as its slowest ray, while
         these threads do not wait for each other.
   Work: a ray, and a read and a write of 80 bytes, per surface.
   Memory: see emit_store.cuh. A path's watts are added in the order of the path.
   Invariants: the photons and the ledger of each path have the bits of photon_trace; a path is
               handled by one thread per kernel. */
#ifndef KD_PHOTON_EMISSION_EMIT_WAVES_CUH
#define KD_PHOTON_EMISSION_EMIT_WAVES_CUH
#include "accel/rays/lane_closest.cuh"
#include "accel/wide/compressed_loops.cuh"
#include "photon/emission/emit_store.cuh"

/* --- start of a wavefront --------------------------------------------------------------------- */

/* Data flow: one thread reads the records of this wavefront and the previous one, writes this one's
              begin, end and rays, and clears the next record. */
static __global__ void emit_plan(const __grid_constant__ emission_batch batch, uint32_t wave) {
    emit_record *now = emit_record_at(batch, wave);
    const uint32_t free_paths = batch.capacity - now->rays, minimum = wave ? batch.capacity / 4 : 0;
    const uint32_t begin = wave ? emit_record_at(batch, wave + EMIT_RING - 1)->end : 0;
    const uint32_t left = batch.paths - begin;
    now->kept = now->rays;
    now->begin = begin;
    now->end = begin + (free_paths < minimum ? 0 : min(left, free_paths));
    now->rays += now->end - begin;
    memset(emit_record_at(batch, wave + 1), 0, sizeof *now);
}

/* Data flow: reads the paths begin to end of the batch; writes their state behind the continuing
              paths, and ledgers. A path without a photon becomes empty. */
template <bool media>
__global__ __launch_bounds__(EMIT_BEGIN_BLOCK, 4) void emit_begin(
    const __grid_constant__ scene_view scene, const __grid_constant__ photon_emission emission,
    const photon_filter filter, const __grid_constant__ emission_batch batch, uint32_t wave) {
    const emit_record *now = emit_record_at(batch, wave);
    const photon_store &to = batch.stores[wave % 2];
    const uint32_t begin = now->begin, end = now->end, kept = now->kept;
    for (uint32_t path = begin + blockIdx.x * EMIT_BEGIN_BLOCK + threadIdx.x; path < end;
         path += gridDim.x * EMIT_BEGIN_BLOCK) {
        wave_photon photon;
        photon_ledger ledger;
        photon.path = path;
        photon.landed = 0;
        bool flies =
            photon_path_begin(&scene, &emission, batch.first_path + path, &photon.state, &ledger);
        if (!flies) photon.state.step = 0;
        begin_ledger(batch, path, ledger);
        if (media) batch.rays[path] = ledger.rays;
        flies = flies && !photon_path_is_over(&filter, &photon.state, &ledger);
        if (!flies) {
            finish_photon<media>(batch, photon, ledger);
            memset(&photon.state, 0, sizeof photon.state);
            photon.path = KD_NONE;
            photon.state.flying.ray = ray_make(vec3_all(0), vec3_all(0), 0, -1);
        }
        store_photon(to, kept + (path - begin), photon, ledger);
    }
}

/* Returns the list of a surface: its kind, but rough glass, which needs much more code than smooth
   glass, is listed with metal. */
__device__ __forceinline__ uint32_t emit_list_of(const scene_view &scene, uint32_t triangle) {
    if (triangle == KD_NONE) return MATERIAL_DIFFUSE;
    const material *made = scene.materials + scene.mesh.triangle_materials[triangle];
    const bool rough = made->roughness > 0 || made->roughness_map != KD_NONE;
    return made->kind == MATERIAL_GLASS && rough ? MATERIAL_CONDUCTOR : (uint32_t)made->kind;
}

/* Data flow: reads hits; writes lists by kind. */
static __global__
__launch_bounds__(KIND_BLOCK) void emit_list(const __grid_constant__ scene_view scene,
                                             const __grid_constant__ emission_batch batch,
                                             uint32_t wave) {
    emit_record *now = emit_record_at(batch, wave);
    list_by_kind(batch.kinds, now->rays, &now->kinds,
                 [&](uint32_t i) { return emit_list_of(scene, __float_as_uint(batch.hits[i].w)); });
}

/* --- at surfaces ------------------------------------------------------------------------------ */

/* A path during the steps of a wavefront. */
struct shaded_photon {
    wave_photon on;
    surface at;
    photon_ledger ledger;
    photon_turn turn;
    bool is; /* there is a path */
};

/* Appends a photon to the heap. */
__device__ __forceinline__ void photon_put(const emission_batch &batch, wave_photon &wave_photon,
                                           const photon &slot) {
    const uint32_t at = take_place(batch.landed_count);
    const landed_photon made = {slot, wave_photon.landed++};
    uint4 words[4];
    if (at >= batch.heap_capacity) return;
    memcpy(words, &made, sizeof made);
    for (int w = 0; w < 4; ++w) ((uint4 *)(batch.landed + at))[w] = words[w];
}

/* Asserts the kind of a listed surface, before each use: the compiler does not retain it across
   barriers, atomics and calls, so code for one kind would contain the code for all others, too. */
template <int32_t kind> __device__ __forceinline__ void as_listed(surface &at) {
    if (kind != SURFACE_ANY) at.kind = kind;
    if (kind == MATERIAL_GLASS) at.alpha = 0;
    if (kind == SURFACE_ANY && at.kind < MATERIAL_GLASS) __builtin_unreachable();
}

/* `kind`: that of all surfaces hit, or SURFACE_ANY: those without a kernel or list of their own, in
   media all. */
template <bool media, int32_t kind>
__device__ __forceinline__ void
photon_arrive(const scene_view &scene, const photon_emission &emission, const photon_filter &filter,
              const emission_batch &batch, const photon_store &store, uint32_t i,
              shaded_photon &s) {
    s.turn = PHOTON_ENDS;
    s.is = false;
    if (!media && (scene.medium_count || scene.nested.count)) __builtin_unreachable();
    if (i == KD_NONE) return;
    s.on = load_photon(store, i, batch, emission);
    if (s.on.path == KD_NONE) return;
    s.is = true;
    s.ledger = load_ledger<media>(batch, store, i, s.on.path);
    photon_path &state = s.on.state;
    ray_hit hit = load_stored_hit(batch.hits, i);
    photon slot;
    bool in_volume;
    ++state.step;
    if (media && photon_path_shines(&scene, &filter, &state, hit, &slot))
        photon_put(batch, s.on, slot);
    if (photon_passes(&scene, &state.flying, state.key, state.step, &hit, &state.layers, &in_volume,
                      &s.ledger)) {
        s.turn = PHOTON_PASSES;
        return;
    }
    s.turn = photon_path_arrive(&scene, &state, hit, media && in_volume, kind, &s.at, &s.ledger);
}

/* Stores photons. */
template <bool media, int32_t kind>
__device__ __forceinline__ void photon_land(const scene_view &scene, const photon_filter &filter,
                                            const emission_batch &batch, shaded_photon &s) {
    photon slot;
    if (s.turn == PHOTON_ENDS || s.turn == PHOTON_PASSES) return;
    if (!media) as_listed<kind>(s.at);
    if (photon_path_lands(&scene, &filter, media ? s.turn : PHOTON_SCATTERS, &s.at, &s.on.state,
                          &slot))
        photon_put(batch, s.on, slot);
}

/* Returns true if the path has another ray. */
template <bool media, int32_t kind>
__device__ __forceinline__ bool photon_continues(const scene_view &scene,
                                                 const photon_filter &filter, shaded_photon &s) {
    if (s.turn == PHOTON_PASSES) return true;
    if (s.turn == PHOTON_ENDS) return false;
    if (!media) as_listed<kind>(s.at);
    return photon_path_go_on(&scene, &filter, media ? s.turn : PHOTON_SCATTERS, &s.at, kind,
                             &s.on.state, &s.ledger) &&
           !photon_path_is_over(&filter, &s.on.state, &s.ledger);
}

/* Shades path i, or none (KD_NONE). To be called by all threads of a block. */
template <bool media, int32_t kind>
__device__ __forceinline__ void
photon_shade(const scene_view &scene, const photon_emission &emission, const photon_filter &filter,
             const emission_batch &batch, uint32_t wave, uint32_t i) {
    shaded_photon s;
    photon_arrive<media, kind>(scene, emission, filter, batch, batch.stores[wave % 2], i, s);
    __syncthreads();
    photon_land<media, kind>(scene, filter, batch, s);
    __syncthreads();
    const bool has_next = photon_continues<media, kind>(scene, filter, s);
    __syncthreads();
    if (has_next) {
        if (media) batch.ledger[s.on.path].media = s.ledger.media;
        store_photon(batch.stores[1 - wave % 2], take_place(&emit_record_at(batch, wave + 1)->rays),
                     s.on, s.ledger);
    } else if (s.is) {
        finish_photon<media>(batch, s.on, s.ledger);
    }
}

/* Shades the list of one kind; the block begins with chunk `number`. A kernel has a loop for each
   kind, because the compiler needs more registers for a loop with code for several kinds. */
template <int32_t kind>
__device__ __forceinline__ void shade_list(const scene_view &scene, const photon_emission &emission,
                                           const photon_filter &filter, const emission_batch &batch,
                                           uint32_t wave, uint32_t number) {
    static_assert(kind >= 0 && kind < SHADE_KERNELS, "has a cursor");
    __shared__ uint32_t taken;
    emit_record *now = emit_record_at(batch, wave);
    shade_chunk chunk;
    bool more = find_chunk(&now->kinds, kind, kind + 1, number, &chunk);
    while (more) {
        const uint32_t i = chunk.path(batch.kinds, &now->kinds);
        if (threadIdx.x == 0) taken = gridDim.x + atomicAdd(now->kinds.chunk + kind, 1u);
        __syncthreads();
        more = find_chunk(&now->kinds, kind, kind + 1, taken, &chunk);
        const uint32_t coming = more ? chunk.path(batch.kinds, &now->kinds) : KD_NONE;
        if (coming != KD_NONE) fetch_photon_ahead(batch, batch.stores[wave % 2], coming);
        photon_shade<false, kind>(scene, emission, filter, batch, wave, i);
    }
}

/* Data flow: reads the paths of the list of diffuse surfaces and their hits; writes photons, ledgers
              and, contiguously, the paths of the next wavefront. */
static __global__ __launch_bounds__(SHADE_BLOCK, SHADE_DIFFUSE_EACH) void emit_shade_diffuse(
    const __grid_constant__ scene_view scene, const __grid_constant__ photon_emission emission,
    const photon_filter filter, const __grid_constant__ emission_batch batch, uint32_t wave) {
    shade_list<MATERIAL_DIFFUSE>(scene, emission, filter, batch, wave, blockIdx.x);
}

/* The same for all other lists. */
static __global__ __launch_bounds__(SHADE_BLOCK, SHADE_OTHER_EACH) void emit_shade_others(
    const __grid_constant__ scene_view scene, const __grid_constant__ photon_emission emission,
    const photon_filter filter, const __grid_constant__ emission_batch batch, uint32_t wave) {
    emit_record *now = emit_record_at(batch, wave);
    const auto fetch = [&](uint32_t i) { fetch_photon_ahead(batch, batch.stores[wave % 2], i); };
    const auto shade = [&](uint32_t i) {
        photon_shade<false, SURFACE_ANY>(scene, emission, filter, batch, wave, i);
    };
    shade_list<MATERIAL_GLASS>(scene, emission, filter, batch, wave, blockIdx.x);
    shade_list<MATERIAL_MIRROR>(scene, emission, filter, batch, wave, gridDim.x - 1 - blockIdx.x);
    shade_chunks(batch.kinds, &now->kinds, &now->others_chunk, MATERIAL_CONDUCTOR, EMIT_LISTS,
                 fetch, shade);
}

/* Shades all lists of a scene with media. */
static __global__ __launch_bounds__(SHADE_BLOCK, SHADE_OTHER_EACH) void emit_shade_media(
    const __grid_constant__ scene_view scene, const __grid_constant__ photon_emission emission,
    const photon_filter filter, const __grid_constant__ emission_batch batch, uint32_t wave) {
    emit_record *now = emit_record_at(batch, wave);
    const auto fetch = [&](uint32_t i) { fetch_photon_ahead(batch, batch.stores[wave % 2], i); };
    const auto shade = [&](uint32_t i) {
        photon_shade<true, SURFACE_ANY>(scene, emission, filter, batch, wave, i);
    };
    shade_chunks(batch.kinds, &now->kinds, now->kinds.chunk, 0, EMIT_LISTS, fetch, shade);
}

/* --- the last paths --------------------------------------------------------------------------- */

/* Traces the last few paths to their ends, one thread per path.
   Data flow: reads the paths of the wavefront; writes photons and ledgers. */
static __global__ __launch_bounds__(EMIT_FINISH_BLOCK, EMIT_FINISH_EACH) void emit_finish(
    const __grid_constant__ scene_view scene, const __grid_constant__ photon_emission emission,
    const photon_filter filter, const __grid_constant__ emission_batch batch, uint32_t wave) {
    const uint32_t count = emit_record_at(batch, wave)->rays;
    uint32_t i = spread_first(count);
    wave_photon on;
    photon_ledger ledger;
    bool flies = false;
    on.state.flying.ray = ray_make(vec3_all(0), vec3_all(0), 0, -1);
    for (;;) {
        while (!flies && i < count) {
            const photon_store &store = batch.stores[wave % 2];
            on = load_photon(store, i, batch, emission);
            flies = on.path != KD_NONE;
            if (flies) ledger = load_ledger<true>(batch, store, i, on.path);
            i += gridDim.x * EMIT_FINISH_BLOCK;
        }
        if (!__any_sync(~0u, flies)) return;
        const ray_hit hit = lane_closest(scene.tree, on.state.flying.ray, flies);
        if (flies) {
            photon slot;
            bool stored;
            ++on.state.step;
            flies = photon_path_reach(&scene, &filter, &on.state, hit, &slot, &stored, &ledger) &&
                    !photon_path_is_over(&filter, &on.state, &ledger);
            if (stored) photon_put(batch, on, slot);
            if (!flies && scene.medium_count > 0)
                finish_photon<true>(batch, on, ledger);
            else if (!flies)
                finish_photon<false>(batch, on, ledger);
        }
        __syncwarp();
    }
}

/* --- host code -------------------------------------------------------------------------------- */

static inline void emit_lay_out_pool(emission_batch *batch, cuda_arena *arena) {
    const uint64_t slots = batch->capacity;
    batch->ring = (emit_record *)cuda_arena_take(arena, EMIT_RING, sizeof(emit_record));
    for (int s = 0; s < 2; ++s) {
        batch->stores[s].rays = (float4 *)cuda_arena_take(arena, slots, 32);
        batch->stores[s].power = (float4 *)cuda_arena_take(arena, slots, 16);
        batch->stores[s].watts = (carried_watts *)cuda_arena_take(arena, slots, 16);
        batch->stores[s].ids = (uint4 *)cuda_arena_take(arena, slots, 16);
    }
    batch->hits = (float4 *)cuda_arena_take(arena, slots, 16);
    batch->scratch =
        cuda_arena_take(arena, emit_scratch_capacity(batch->capacity), TRACE_COUNTED_SCRATCH);
    batch->kinds.lists = (uint32_t *)cuda_arena_take(arena, EMIT_LISTS * slots, 4);
    batch->kinds.capacity = batch->capacity;
}

static inline kd_status emit_cast(const emission_batch *batch, const scene_view *scene,
                                  uint32_t wave) {
    emit_record *now = batch->ring + wave % EMIT_RING;
    tritree_cuda tree;
    trace_counted rays;
    memset(&tree, 0, sizeof tree);
    memset(&rays, 0, sizeof rays);
    tree.view = scene->tree;
    rays.rays = (const ray *)batch->stores[wave % 2].rays;
    rays.hits = (ray_hit *)batch->hits;
    rays.count = &now->rays;
    rays.cursor = now->ray_cursor;
    rays.scratch = batch->scratch;
    rays.capacity = emit_scratch_capacity(batch->capacity);
    return trace_counted_cuda(&tree, &rays);
}

/* Launches KERNEL(scene, emission, filter, batch, wave) with as many blocks as the device can
   hold. */
template <class KERNEL>
kd_status emit_launch(const emission_batch *batch, const scene_view *scene,
                      const photon_order *order, uint32_t wave, KERNEL kernel, int block,
                      const char *name) {
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, kernel, block));
    kernel<<<blocks, block, 0, batch->stream>>>(*scene, order->emission, order->filter, *batch,
                                                wave);
    KD_CUDA_LAUNCHED(name);
    return KD_OK;
}

/* In media, one kernel shades all kinds. */
template <bool media>
kd_status emit_wave(const emission_batch *batch, const scene_view *scene, const photon_order *order,
                    uint32_t wave) {
    unsigned blocks = 0;
    if (wave == 0 || batch->capacity < batch->paths) /* otherwise all paths have started */
        KD_TRY(emit_launch(batch, scene, order, wave, emit_begin<media>, EMIT_BEGIN_BLOCK,
                           "emit_begin"));
    KD_TRY(emit_cast(batch, scene, wave));
    KD_TRY(cuda_resident_blocks(&blocks, emit_list, KIND_BLOCK));
    emit_list<<<blocks, KIND_BLOCK, 0, batch->stream>>>(*scene, *batch, wave);
    KD_CUDA_LAUNCHED("emit_list");
    if constexpr (media) {
        return emit_launch(batch, scene, order, wave, emit_shade_media, SHADE_BLOCK,
                           "emit_shade_media");
    } else {
        KD_TRY(emit_launch(batch, scene, order, wave, emit_shade_others, SHADE_BLOCK,
                           "emit_shade_others"));
        return emit_launch(batch, scene, order, wave, emit_shade_diffuse, SHADE_BLOCK,
                           "emit_shade_diffuse");
    }
}

/* Traces all paths of the batch to their ends. *waves: number of wavefronts of the last large
   batch, from which on the host checks before each; 0 if not known; updated. */
static inline kd_status emit_by_waves(const emission_batch *batch, const scene_view *scene,
                                      const photon_order *order, uint32_t *waves) {
    const uint32_t few = min((uint32_t)EMIT_FEW, batch->capacity / 2);
    const bool large = batch->paths > EMIT_FEW, known = large && *waves;
    const uint32_t first = known ? *waves : EMIT_POLL_EVERY - 1,
                   every = known ? 1 : EMIT_POLL_EVERY;
    uint32_t wave = 0;
    KD_CUDA(cudaMemsetAsync(batch->ring, 0, EMIT_RING * sizeof(emit_record), batch->stream));
    for (;; ++wave) {
        emit_plan<<<1, 1, 0, batch->stream>>>(*batch, wave);
        KD_CUDA_LAUNCHED("emit_plan");
        if (wave >= first && (wave - first) % every == 0) {
            emit_record seen;
            KD_CUDA(cudaMemcpyAsync(&seen, batch->ring + wave % EMIT_RING, sizeof seen,
                                    cudaMemcpyDeviceToHost, batch->stream));
            KD_CUDA(cudaStreamSynchronize(batch->stream));
            const bool begun = seen.end == batch->paths && seen.begin == seen.end;
            if (begun && seen.rays <= few) {
                /* the next emission checks earlier if this one could have ended earlier */
                if (large) *waves = seen.rays < few / 2 && wave > 1 ? wave - 1 : wave;
                break;
            }
        }
        KD_TRY(scene->medium_count ? emit_wave<true>(batch, scene, order, wave)
                                   : emit_wave<false>(batch, scene, order, wave));
    }
    return emit_launch(batch, scene, order, wave, emit_finish, EMIT_FINISH_BLOCK, "emit_finish");
}

#endif

/* Traces the photons of a batch as wavefronts: a pool of paths advances by one surface at a time.
   Source: Laine, Karras, Aila 2013, "Megakernels considered harmful: wavefront path tracing on
           GPUs".
   Idea: as for camera paths (render/frame), each wavefront has four steps: the batch's next paths
         fill the pool, rays are traced, paths are listed by the kind of surface hit, and two
         kernels shade diffuse surfaces and all others. Counts stay on the device; the host launches
         ahead and checks only after every fourth wavefront. When all paths have been started and
         few are left, these are completed by one thread each.
   Work: a ray, and a read and a write of 64 bytes, per surface.
   Memory: 175 bytes per path in flight; the ledger of each path of the batch, 48 bytes, has a fixed
           position, and its watts are added in the order of the path.
   Invariants: the photons and the ledger of each path have the bits of photon_trace; a path is
               handled by one thread per kernel. */
#ifndef KD_PHOTON_EMISSION_EMIT_WAVES_CUH
#define KD_PHOTON_EMISSION_EMIT_WAVES_CUH
#include "accel/rays/batch_device.h"
#include "core/device/wave_parts.cuh"
#include "photon/emission/photon_trace.h"

enum {
    EMIT_LISTS = MATERIAL_KINDS,
    EMIT_RING = 3,               /* records of the previous, the current and the next wavefront */
    EMIT_POLL_EVERY = 4,         /* wavefronts between two checks by the host */
    EMIT_FEW = 1 << 14,          /* wavefronts of fewer paths are not worth a launch */
    EMIT_PATHS_AT_ONCE = 1 << 21 /* maximum number of paths in flight */
};
enum { EMIT_BEGIN_BLOCK = 128, EMIT_FINISH_BLOCK = 32, EMIT_FINISH_EACH = 8 };
enum { EMIT_STEP_MAX = 0xffff, EMIT_LAYER_BITS = 9 };

struct emit_record {
    uint32_t rays;       /* number of paths, and so of rays, of this wavefront */
    uint32_t kept;       /* number of paths that continue from the previous wavefront */
    uint32_t begin, end; /* paths of the batch that start in this wavefront */
    uint32_t ray_cursor[TRITREE_CUDA_CURSOR];
    kind_counts<EMIT_LISTS> kinds;
};

struct photon_store {
    float4 *rays;  /* 2 each: origin, tmin; direction, tmax */
    float4 *power; /* power, and wavelength */
    /* x: index in the batch, KD_NONE if empty
       y: step | layers << 16 | kind << 25
       z: bounce | landed << 8 | light << 16
       w: medium (24 bits, extended by its sign) | scattered << 24 */
    uint4 *ids;
};

/* Energy balance of a path, without its ray count. Members that change at each surface are
   contiguous, in one cache line. */
struct alignas(16) photon_path_ledger {
    double absorbed, ended, media, escaped, cut, emitted;
};

/* A photon in the heap, with its number on its path. */
struct alignas(16) landed_photon {
    photon at;
    uint32_t number;
};
/* copied as four uint4 */
static_assert(sizeof(landed_photon) == 4 * sizeof(uint4), "as it is written and read");

struct emission_batch {
    uint64_t first_path;
    uint32_t paths, heap_capacity; /* capacity of the heap */
    cudaStream_t stream;           /* used for all operations */
    double scale;                  /* scale of the ledger */
    landed_photon *landed;
    uint32_t *order; /* positions in the heap of the photons used */
    /* number of photons of each path; after the scan, position of its first photon */
    uint32_t *counts;
    uint32_t *rays; /* number of rays traced for each path */
    photon_path_ledger *ledger;
    uint32_t *landed_count; /* number of photons in the heap; may exceed its capacity */
    void *cub;
    size_t cub_bytes;
    /* the pool */
    uint32_t capacity;
    emit_record *ring;
    photon_store stores[2];
    float4 *hits;
    void *scratch; /* scratch memory of the ray tracing kernels */
    kind_lists kinds;
};

static inline uint32_t emit_scratch_capacity(uint32_t capacity) {
    return capacity / 8 + 32;
}

__device__ __forceinline__ emit_record *emit_record_at(const emission_batch &batch, uint32_t wave) {
    return batch.ring + wave % EMIT_RING;
}

/* --- paths ------------------------------------------------------------------------------------ */

/* A path on the device. */
struct wave_photon {
    photon_path state;
    uint32_t path, landed;
};

__device__ __forceinline__ void store_photon(const photon_store &store, uint32_t at,
                                             const wave_photon &photon) {
    const emitted_photon &flying = photon.state.flying;
    store_ray(store.rays, at, flying.ray);
    store.power[at] = with_fourth(flying.power, flying.wavelength);
    store.ids[at] = make_uint4(photon.path,
                               photon.state.step | photon.state.layers << 16 |
                                   (uint32_t)photon.state.kind << (16 + EMIT_LAYER_BITS),
                               photon.state.bounce | photon.landed << 8 | flying.light << 16,
                               (flying.medium & 0xffffffu) | photon.state.scattered << 24);
}

__device__ __forceinline__ wave_photon load_photon(const photon_store &store, uint32_t at,
                                                   const emission_batch &batch,
                                                   const photon_emission &emission) {
    wave_photon photon;
    const float4 power = store.power[at];
    const uint4 ids = store.ids[at];
    emitted_photon &flying = photon.state.flying;
    flying.ray = load_stored_ray(store.rays, at);
    flying.power = first_three(power);
    flying.wavelength = power.w;
    flying.light = ids.z >> 16;
    flying.medium = (uint32_t)((int32_t)(ids.w << 8) >> 8);
    photon.path = ids.x;
    photon.landed = ids.z >> 8 & 0xffu;
    photon.state.key = rng_key_make(emission.seed, emission.pass, batch.first_path + ids.x);
    photon.state.kind = (photon_kind)(ids.y >> (16 + EMIT_LAYER_BITS));
    photon.state.bounce = ids.z & 0xffu;
    photon.state.scattered = ids.w >> 24;
    photon.state.step = ids.y & EMIT_STEP_MAX;
    photon.state.layers = ids.y >> 16 & ((1u << EMIT_LAYER_BITS) - 1);
    return photon;
}

__device__ __forceinline__ void fetch_photon_ahead(const emission_batch &batch,
                                                   const photon_store &store, uint32_t at) {
    fetch_ahead(store.rays + 2 * (uint64_t)at);
    fetch_ahead(store.power + at);
    fetch_ahead(store.ids + at);
    fetch_ahead(batch.hits + at);
}

/* --- ledgers ---------------------------------------------------------------------------------- */

/* Loads the members that a surface, or a scattering point in a medium, changes. */
template <bool media>
__device__ __forceinline__ photon_ledger load_ledger(const emission_batch &batch, uint32_t path) {
    const photon_path_ledger *from = batch.ledger + path;
    photon_ledger ledger;
    memset(&ledger, 0, sizeof ledger);
    ledger.absorbed = from->absorbed;
    ledger.ended = from->ended;
    if (media) ledger.media = from->media;
    return ledger;
}

template <bool media>
__device__ __forceinline__ void keep_ledger(const emission_batch &batch, uint32_t path,
                                            const photon_ledger &ledger) {
    photon_path_ledger *to = batch.ledger + path;
    to->absorbed = ledger.absorbed;
    to->ended = ledger.ended;
    if (media) to->media = ledger.media;
}

/* Completes a path: records the loss of a photon that was not absorbed, and the counts. */
template <bool media>
__device__ __forceinline__ void
finish_photon(const emission_batch &batch, const wave_photon &photon, const photon_ledger &ledger) {
    photon_path_ledger *to = batch.ledger + photon.path;
    keep_ledger<media>(batch, photon.path, ledger);
    if (ledger.escaped != 0) to->escaped = ledger.escaped;
    if (ledger.cut != 0) to->cut = ledger.cut;
    batch.counts[photon.path] = photon.landed;
    /* in media, rays were traced to find the medium at the start */
    batch.rays[photon.path] = (media ? batch.rays[photon.path] : 0) + photon.state.step;
}

__device__ __forceinline__ photon_ledger whole_ledger(const photon_path_ledger &path_ledger) {
    photon_ledger ledger;
    memset(&ledger, 0, sizeof ledger);
    ledger.emitted = path_ledger.emitted;
    ledger.absorbed = path_ledger.absorbed;
    ledger.escaped = path_ledger.escaped;
    ledger.ended = path_ledger.ended;
    ledger.cut = path_ledger.cut;
    ledger.media = path_ledger.media;
    return ledger;
}

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
        photon_path_ledger empty = {0, 0, 0, 0, 0, ledger.emitted};
        batch.ledger[path] = empty;
        if (media) batch.rays[path] = ledger.rays;
        flies = flies && !photon_path_is_over(&filter, &photon.state, &ledger);
        if (!flies) {
            finish_photon<media>(batch, photon, ledger);
            memset(&photon.state, 0, sizeof photon.state);
            photon.path = KD_NONE;
            photon.state.flying.ray = ray_make(vec3_all(0), vec3_all(0), 0, -1);
        }
        store_photon(to, kept + (path - begin), photon);
    }
}

/* Data flow: reads hits; writes lists by kind. */
static __global__
__launch_bounds__(KIND_BLOCK) void emit_list(const __grid_constant__ scene_view scene,
                                             const __grid_constant__ emission_batch batch,
                                             uint32_t wave) {
    emit_record *now = emit_record_at(batch, wave);
    list_by_kind(batch.kinds, now->rays, &now->kinds, [&](uint32_t i) {
        return surface_kind_of(&scene, __float_as_uint(batch.hits[i].w));
    });
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

/* `diffuse`: all surfaces hit are diffuse. */
template <bool media, bool diffuse>
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
    s.ledger = load_ledger<media>(batch, s.on.path);
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
    s.turn = photon_path_arrive(&scene, &state, hit, media && in_volume,
                                diffuse ? (int32_t)MATERIAL_DIFFUSE : (int32_t)SURFACE_ANY, &s.at,
                                &s.ledger);
}

/* Stores photons. */
__device__ __forceinline__ void photon_land(const scene_view &scene, const photon_filter &filter,
                                            const emission_batch &batch, shaded_photon &s) {
    photon slot;
    if (s.turn == PHOTON_ENDS || s.turn == PHOTON_PASSES) return;
    if (photon_path_lands(&scene, &filter, s.turn, &s.at, &s.on.state, &slot))
        photon_put(batch, s.on, slot);
}

/* Returns true if the path has another ray. */
__device__ __forceinline__ bool photon_continues(const scene_view &scene,
                                                 const photon_filter &filter, shaded_photon &s) {
    if (s.turn == PHOTON_PASSES) return true;
    if (s.turn == PHOTON_ENDS) return false;
    return photon_path_go_on(&scene, &filter, s.turn, &s.at, &s.on.state, &s.ledger) &&
           !photon_path_is_over(&filter, &s.on.state, &s.ledger);
}

/* Data flow: reads the paths of the lists [begin_kind, end_kind) and their hits; writes photons,
              ledgers and, contiguously, the paths of the next wavefront. */
template <bool media, bool diffuse>
__global__
__launch_bounds__(SHADE_BLOCK, diffuse ? SHADE_DIFFUSE_EACH : SHADE_OTHER_EACH) void emit_shade(
    const __grid_constant__ scene_view scene, const __grid_constant__ photon_emission emission,
    const photon_filter filter, const __grid_constant__ emission_batch batch, uint32_t wave,
    uint32_t begin_kind, uint32_t end_kind) {
    emit_record *now = emit_record_at(batch, wave), *next = emit_record_at(batch, wave + 1);
    const photon_store &from = batch.stores[wave % 2], &to = batch.stores[1 - wave % 2];
    uint32_t *cursor = now->kinds.chunk + (diffuse ? 0 : 1);
    const auto fetch = [&](uint32_t i) { fetch_photon_ahead(batch, from, i); };
    const auto shade = [&](uint32_t i) {
        shaded_photon s;
        photon_arrive<media, diffuse>(scene, emission, filter, batch, from, i, s);
        __syncthreads();
        photon_land(scene, filter, batch, s);
        __syncthreads();
        const bool has_next = photon_continues(scene, filter, s);
        __syncthreads();
        if (has_next) {
            keep_ledger<media>(batch, s.on.path, s.ledger);
            store_photon(to, take_place(&next->rays), s.on);
        } else if (s.is) {
            finish_photon<media>(batch, s.on, s.ledger);
        }
    };
    shade_chunks(batch.kinds, &now->kinds, cursor, begin_kind, end_kind, fetch, shade);
}

/* Traces the last few paths to their ends, one thread per path. */
static __global__ __launch_bounds__(EMIT_FINISH_BLOCK, EMIT_FINISH_EACH) void emit_finish(
    const __grid_constant__ scene_view scene, const __grid_constant__ photon_emission emission,
    const photon_filter filter, const __grid_constant__ emission_batch batch, uint32_t wave) {
    const uint32_t count = emit_record_at(batch, wave)->rays;
    for (uint32_t i = spread_first(count); i < count; i += gridDim.x * EMIT_FINISH_BLOCK) {
        wave_photon wave_photon = load_photon(batch.stores[wave % 2], i, batch, emission);
        if (wave_photon.path == KD_NONE) continue;
        photon_ledger ledger = load_ledger<true>(batch, wave_photon.path);
        bool flies = true;
        while (flies) {
            photon slot;
            bool stored;
            flies = photon_path_next(&scene, &filter, &wave_photon.state, &slot, &stored, &ledger);
            if (stored) photon_put(batch, wave_photon, slot);
        }
        if (scene.medium_count > 0)
            finish_photon<true>(batch, wave_photon, ledger);
        else
            finish_photon<false>(batch, wave_photon, ledger);
    }
}

/* --- host code -------------------------------------------------------------------------------- */

static inline void emit_lay_out_pool(emission_batch *batch, cuda_arena *arena) {
    const uint64_t slots = batch->capacity;
    batch->ring = (emit_record *)cuda_arena_take(arena, EMIT_RING, sizeof(emit_record));
    for (int s = 0; s < 2; ++s) {
        batch->stores[s].rays = (float4 *)cuda_arena_take(arena, slots, 32);
        batch->stores[s].power = (float4 *)cuda_arena_take(arena, slots, 16);
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

template <bool media, bool diffuse>
kd_status emit_shade_kinds(const emission_batch *batch, const scene_view *scene,
                           const photon_order *order, uint32_t wave, uint32_t begin, uint32_t end) {
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, emit_shade<media, diffuse>, SHADE_BLOCK));
    emit_shade<media, diffuse><<<blocks, SHADE_BLOCK, 0, batch->stream>>>(
        *scene, order->emission, order->filter, *batch, wave, begin, end);
    KD_CUDA_LAUNCHED("emit_shade");
    return KD_OK;
}

/* In media, one kernel shades all kinds. */
template <bool media>
kd_status emit_wave(const emission_batch *batch, const scene_view *scene, const photon_order *order,
                    uint32_t wave) {
    unsigned blocks = 0;
    if (wave == 0 || batch->capacity < batch->paths) { /* otherwise all paths have started */
        KD_TRY(cuda_resident_blocks(&blocks, emit_begin<media>, EMIT_BEGIN_BLOCK));
        emit_begin<media><<<blocks, EMIT_BEGIN_BLOCK, 0, batch->stream>>>(
            *scene, order->emission, order->filter, *batch, wave);
        KD_CUDA_LAUNCHED("emit_begin");
    }
    KD_TRY(emit_cast(batch, scene, wave));
    KD_TRY(cuda_resident_blocks(&blocks, emit_list, KIND_BLOCK));
    emit_list<<<blocks, KIND_BLOCK, 0, batch->stream>>>(*scene, *batch, wave);
    KD_CUDA_LAUNCHED("emit_list");
    KD_TRY((emit_shade_kinds<media, false>(batch, scene, order, wave, media ? 0 : 1, EMIT_LISTS)));
    if constexpr (!media) KD_TRY((emit_shade_kinds<false, true>(batch, scene, order, wave, 0, 1)));
    return KD_OK;
}

/* Traces all paths of the batch to their ends. */
static inline kd_status emit_by_waves(const emission_batch *batch, const scene_view *scene,
                                      const photon_order *order) {
    const uint32_t few = min((uint32_t)EMIT_FEW, batch->capacity / 8);
    uint32_t wave = 0;
    KD_CUDA(cudaMemsetAsync(batch->ring, 0, EMIT_RING * sizeof(emit_record), batch->stream));
    for (;; ++wave) {
        emit_plan<<<1, 1, 0, batch->stream>>>(*batch, wave);
        KD_CUDA_LAUNCHED("emit_plan");
        if (wave % EMIT_POLL_EVERY == EMIT_POLL_EVERY - 1) {
            emit_record seen;
            KD_CUDA(cudaMemcpyAsync(&seen, batch->ring + wave % EMIT_RING, sizeof seen,
                                    cudaMemcpyDeviceToHost, batch->stream));
            KD_CUDA(cudaStreamSynchronize(batch->stream));
            const bool begun = seen.end == batch->paths && seen.begin == seen.end;
            if (begun && seen.rays <= few) break;
        }
        KD_TRY(scene->medium_count ? emit_wave<true>(batch, scene, order, wave)
                                   : emit_wave<false>(batch, scene, order, wave));
    }
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, emit_finish, EMIT_FINISH_BLOCK));
    emit_finish<<<blocks, EMIT_FINISH_BLOCK, 0, batch->stream>>>(*scene, order->emission,
                                                                 order->filter, *batch, wave);
    KD_CUDA_LAUNCHED("emit_finish");
    return KD_OK;
}

#endif

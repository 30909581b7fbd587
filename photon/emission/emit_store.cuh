/* Storage of photon paths and ledgers between wavefronts (emit_waves.cuh).
   Idea: the state of a path between two surfaces is 80 bytes in arrays of 16-byte elements, so that a
         warp reads and writes whole cache lines. There are two such stores: a wavefront reads one
         and writes the continuing paths contiguously into the other. A path's ledger has a fixed
         position.
   Memory: 207 bytes per path in flight, and 48 per path of the batch. */
#ifndef KD_PHOTON_EMISSION_EMIT_STORE_CUH
#define KD_PHOTON_EMISSION_EMIT_STORE_CUH
#include "accel/rays/batch_device.h"
#include "core/device/wave_parts.cuh"
#include "photon/emission/photon_trace.h"

enum {
    EMIT_LISTS = MATERIAL_KINDS,
    EMIT_RING = 3,               /* records of the previous, the current and the next wavefront */
    EMIT_POLL_EVERY = 4,         /* wavefronts between two checks by the host */
    EMIT_FEW = 1 << 16,          /* wavefronts of fewer paths are not worth a launch */
    EMIT_PATHS_AT_ONCE = 1 << 21 /* maximum number of paths in flight */
};
enum { EMIT_BEGIN_BLOCK = 128, EMIT_FINISH_BLOCK = 32, EMIT_FINISH_EACH = 8 };
enum { EMIT_STEP_MAX = 0xffff, EMIT_LAYER_BITS = 9 };

struct emit_record {
    uint32_t rays;       /* number of paths, and so of rays, of this wavefront */
    uint32_t kept;       /* number of paths that continue from the previous wavefront */
    uint32_t begin, end; /* paths of the batch that start in this wavefront */
    uint32_t ray_cursor[TRITREE_CUDA_CURSOR];
    kind_counts<EMIT_LISTS> kinds; /* cursors: of diffuse surfaces, mirrors, glass */
    uint32_t others_chunk;         /* cursor of the other lists */
};

/* The members of a path's ledger that surfaces change. */
struct alignas(16) carried_watts {
    double absorbed, ended;
};

struct photon_store {
    float4 *rays;  /* 2 each: origin, tmin; direction, tmax */
    float4 *power; /* power, and wavelength */
    carried_watts *watts;
    /* x: index in the batch, KD_NONE if empty
       y: step | layers << 16 | kind << 25
       z: bounce | landed << 8 | light << 16
       w: medium (24 bits, extended by its sign) | scattered << 24 */
    uint4 *ids;
};

/* Energy balance of a path, without its ray count. `absorbed` and `ended` of a path in flight are
   in its store. */
struct alignas(16) photon_path_ledger {
    double absorbed, ended, escaped, cut, media, emitted;
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
                                             const wave_photon &photon,
                                             const photon_ledger &ledger) {
    const emitted_photon &flying = photon.state.flying;
    const carried_watts watts = {ledger.absorbed, ledger.ended};
    store.watts[at] = watts;
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
    fetch_ahead(store.watts + at);
    fetch_ahead(store.ids + at);
    fetch_ahead(batch.hits + at);
}

/* --- ledgers ---------------------------------------------------------------------------------- */

/* Loads the members that a surface, or a scattering point in a medium, changes. */
template <bool media>
__device__ __forceinline__ photon_ledger load_ledger(const emission_batch &batch,
                                                     const photon_store &store, uint32_t at,
                                                     uint32_t path) {
    const carried_watts watts = store.watts[at];
    photon_ledger ledger;
    memset(&ledger, 0, sizeof ledger);
    ledger.absorbed = watts.absorbed;
    ledger.ended = watts.ended;
    if (media) ledger.media = batch.ledger[path].media;
    return ledger;
}

/* Writes the ledger of a path that starts. */
__device__ __forceinline__ void begin_ledger(const emission_batch &batch, uint32_t path,
                                             const photon_ledger &ledger) {
    batch.ledger[path].media = 0;
    batch.ledger[path].emitted = ledger.emitted;
}

/* Completes a path: writes its ledger and the counts. */
template <bool media>
__device__ __forceinline__ void
finish_photon(const emission_batch &batch, const wave_photon &photon, const photon_ledger &ledger) {
    photon_path_ledger *to = batch.ledger + photon.path;
    to->absorbed = ledger.absorbed;
    to->ended = ledger.ended;
    to->escaped = ledger.escaped;
    to->cut = ledger.cut;
    if (media) to->media = ledger.media;
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

#endif

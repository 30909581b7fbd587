/* Photon emission in batches of light paths until the requested number of photons is stored. The
   result does not depend on the number of threads or the batch size. */
#ifndef KD_PHOTON_EMISSION_EMIT_H
#define KD_PHOTON_EMISSION_EMIT_H
#include "core/device/cuda_stubs.h"
#include "core/device/device_memory.h"
#include "core/job.h"
#include "core/status.h"
#include "distributed/ranks/ranks.h"
#include "photon/emission/photon_trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ranks;

/* A run of consecutive photons in the list of all ranks: this rank's photons from index `begin` on
   have the indices from `place` on in that list. */
typedef struct photon_run {
    uint64_t begin, place;
} photon_run;

typedef struct photon_list {
    photon *photons; /* in the order (path, bounce); power in W; the sum is the flux that arrived */
    uint64_t count;
    uint64_t remote_count; /* distributed lists: number of photons at other ranks */
    photon_run *runs;      /* distributed lists: ascending; otherwise NULL */
    uint32_t run_count;
    uint64_t emitted;      /* number of light paths */
    uint64_t rays;         /* number of rays that these paths traced */
    photon_ledger ledger;  /* mean over paths, which is the total of the scene's light, W */
    bool complete;         /* the requested number of photons is stored */
    bool cut;              /* the time limit ended emission */
    bool borrowed;         /* `photons` is not owned (e.g. by a file) and read-only */
    const uint32_t *nodes; /* if borrowed: the photon at each node of their tree; NULL: not known */
} photon_list;

/* Kinds of photon lists and maps (photon/README.md). */
typedef enum photon_list_kind {
    PHOTON_LIST_GLOBAL,
    PHOTON_LIST_CAUSTIC,
    PHOTON_LIST_MEDIA,
    PHOTON_LISTS
} photon_list_kind;

typedef struct photon_order {
    photon_emission emission;
    photon_filter filter;
    uint64_t target;    /* number of photons to store, at most POINTTREE_COUNT_MAX / 2 */
    uint64_t paths_max; /* further limit of the number of paths, see emit_paths_max; 0: none */
    bool faint; /* `paths_max` is low because the image has next to none of the list's light */
    uint32_t batch_paths; /* paths traced at a time; 0: default. Does not affect the result */
    double deadline;      /* timing_now() after which no paths are started; 0: none */
    ranks *comm;          /* ranks that trace the paths together; NULL: a single process */
    bool distributed;     /* each rank keeps the photons that it traced; otherwise all get the whole
                             list */
} photon_order;

/* Index, in the list of all ranks, of this rank's photon `index`. */
static inline uint64_t photon_run_place(const photon_run *runs, uint32_t count, uint64_t index) {
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        *(runs[middle].begin <= index ? &low : &high) = middle;
    }
    return count ? runs[low].place + (index - runs[low].begin) : index;
}

/* The list ends with the first path at which `target` photons are stored. It ends earlier, with
   complete == false,
   - at a multiple m of EMIT_PATHS_IN_VAIN paths, if fewer than m * emit_min_landed() photons are
     stored, i.e. practically nothing can be hit;
   - after emit_paths_max() paths, i.e. with less than one photon per EMIT_PATHS_PER_PHOTON paths
     (for caustics, EMIT_PATHS_PER_CAUSTIC). Compared to a division of all emitted (or aimed) light
     among `target` photons, each photon then carries at most that fraction of the power, so there
     are enough of them for light so faint;
   - after order->paths_max paths, if that is not 0: a limit that follows from the image for which
     the photons are emitted (render/photon_mapping/pilot.h);
   - with cut == true, after the batch of paths, at least one, during which the deadline passed.
     The map is then valid, but smaller, and not reproducible. */
enum {
    EMIT_PATHS_IN_VAIN = 1 << 16,
    EMIT_PATHS_PER_PHOTON = 256,
    EMIT_PATHS_PER_CAUSTIC = 4,
    EMIT_PATHS_SPARE = 1 << 20 /* allowance for small `target`; a quarter of it for caustics */
};

/* The limit that does not depend on an image. */
static inline uint64_t emit_paths_per_photons(const photon_order *order) {
    return order->filter.only_specular
               ? EMIT_PATHS_SPARE / 4 + EMIT_PATHS_PER_CAUSTIC * order->target
               : EMIT_PATHS_SPARE + EMIT_PATHS_PER_PHOTON * order->target;
}

static inline uint64_t emit_paths_max(const photon_order *order) {
    const uint64_t longest = emit_paths_per_photons(order);
    return order->paths_max && order->paths_max < longest ? order->paths_max : longest;
}

/* Number of photons that must be stored per EMIT_PATHS_IN_VAIN paths. For caustics it is
   EMIT_FAINT_CAUSTICS: with fewer, their total flux is below 1/4096 of the light aimed at specular
   surfaces, itself a part of the image's light, and more paths would add less than that. */
enum { EMIT_FAINT_CAUSTICS = EMIT_PATHS_IN_VAIN / 4096 };

static inline uint64_t emit_min_landed(const photon_order *order) {
    return order->filter.only_specular ? EMIT_FAINT_CAUSTICS : 1;
}

/* Computes bounding spheres to aim caustic photons at: at most EMISSION_TARGETS spheres that
   contain all specular surfaces; *count is 0 if there are none. */
kd_status aim_targets(emission_target *targets, uint32_t *count, const scene_view *scene);
/* Computes spheres to guide emission by (photon_emission.guided): concentric ones around the places
   that an image depends on, where each place counts with its weight. The first has thrice the
   median distance of a place from their median as its radius, each further one twice the radius of
   the one before; all are smaller than the scene. *count is 0 if the places extend over the whole
   scene. */
kd_status aim_guides(emission_target guides[EMISSION_TARGETS - 1], uint32_t *count,
                     const scene_view *scene, const vec3 *places, const float *weights,
                     uint32_t place_count);
/* Emits a photon list; `out` is the caller's to close. Logs nothing: photon_map_say_missing reports
   incomplete lists. */
kd_status photon_list_open(photon_list *out, const scene_view *scene, const photon_order *order,
                           job_control *job);
/* Returns true if the order's deadline has passed and at least one batch is complete. */
bool emit_is_overdue(const photon_order *order, uint64_t emitted);
/* Replaces borrowed photons by a copy that the list owns. */
kd_status photon_list_copy_borrowed(photon_list *list);
/* Bytes of a list of `photons` photons. */
uint64_t photon_list_bytes(uint64_t photons);
/* Bytes of the batch of paths that is traced at a time to fill such a list, with two photons per
   path. */
uint64_t photon_batch_bytes(uint64_t photons);
void photon_list_close(photon_list *owned); /* `owned` may be zeroed */

/* --- emission on a CUDA device ---------------------------------------------------------------- */

/* Emission on a device gives the same photons in the same order, bit for bit. In builds without
   CUDA every call fails with KD_ERROR_DEVICE. */

struct emit_share;

/* A photon_list whose photons are in device memory. */
typedef struct photon_list_cuda {
    device_buffer photons;   /* ordered by (path, bounce) */
    device_buffer positions; /* vec3 each, from which the tree is built */
    uint64_t count, emitted, rays;
    uint64_t local_count; /* photons in this memory: all, unless the list is distributed */
    /* distributed lists: runs of these photons, ascending, in host memory; otherwise NULL */
    photon_run *runs;
    uint32_t run_count;
    photon_ledger ledger;
    bool complete, cut;
    uint64_t hash;   /* sum of photon_hash */
    float strongest; /* largest channel of any photon's power */
} photon_list_cuda;

/* Working memory, reused by the next emission. */
typedef struct photon_emitter_cuda {
    device_buffer batch, state;
    double yield;           /* photons per path in the last emission; 0: not known */
    uint32_t path_capacity; /* limit of paths in flight; 0: chosen for the device */
    uint32_t waves;         /* wavefronts of the last large batch; 0: not known */
} photon_emitter_cuda;

void photon_emitter_cuda_close(photon_emitter_cuda *owned); /* `owned` may be zeroed */

/* Emits a list and waits for it. `world` holds device pointers (scenes/assembly/scene_cuda.h); rays
   are faster if its tree has compressed wide nodes. `list` is zeroed or holds an older list, whose
   memory is reused. */
KD_DEVICE_CALL(photon_list_cuda_emit,
               (photon_list_cuda * list, photon_emitter_cuda *emitter, const scene_view *world,
                const photon_order *order, job_control *job));
/* Copies photons from host memory, e.g. from a file. */
KD_DEVICE_CALL(photon_list_cuda_upload, (photon_list_cuda * list, const photon_list *photons));
/* After emit_share_parts: exchanges photons with the other ranks, so that each has the whole
   list. */
kd_status photon_list_cuda_exchange(photon_list_cuda *list, struct emit_share *share);
/* Starts a run of `photons` photons in a distributed list, behind the photons that this rank has
   already; `place` is its index in the list of all ranks. Grows the memory if needed. */
kd_status photon_list_cuda_begin_run(photon_list_cuda *list, uint64_t place, uint64_t photons);
/* Copies the list to the host; opens *out. */
kd_status photon_list_cuda_download(photon_list *out, const photon_list_cuda *list);
/* Bytes of device memory for emitting and keeping a list if a path yields a quarter of a photon or
   more; 0 without CUDA. */
KD_DEVICE_ANSWER(uint64_t, photon_list_cuda_bytes, (uint64_t photons), 0);
void photon_list_cuda_close(photon_list_cuda *owned); /* `owned` may be zeroed */

#ifdef __cplusplus
}
#endif

#endif

/* Emission in batches until as many photons as wanted have landed: same photons for any number of
   threads and any batch size. */
#ifndef KD_PHOTON_EMISSION_EMIT_H
#define KD_PHOTON_EMISSION_EMIT_H
#include "core/device/absent.h"
#include "core/device/device_memory.h"
#include "core/job.h"
#include "core/status.h"
#include "photon/emission/photon_trace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ranks;

/* Photons that lie one behind the other in the list of all ranks: those from `begin` on of one's
   own have the places from `place` on there. */
typedef struct photon_run {
    uint64_t begin, place;
} photon_run;

typedef struct photon_list {
    photon *photons; /* in the order (path, bounce); power in W: they add up to the flux landed */
    uint64_t count;
    uint64_t others;  /* of a list apart: photons that other ranks have */
    photon_run *runs; /* of a list apart: ascending; else NULL */
    uint32_t run_count;
    uint64_t emitted;      /* paths */
    uint64_t rays;         /* cast by them */
    photon_ledger ledger;  /* mean over paths = totals of the scene's light, W */
    bool complete;         /* as many as wanted have landed */
    bool cut;              /* not complete: the deadline came first */
    bool borrowed;         /* the photons are another's (a file's) and only to be read */
    const uint32_t *nodes; /* borrowed: the photon at each node of their tree; NULL: not known */
} photon_list;

/* Which photons a list, and the map of it, is of (photon/README.md). */
typedef enum photon_list_kind {
    PHOTON_LIST_GLOBAL,
    PHOTON_LIST_CAUSTIC,
    PHOTON_LIST_MEDIA,
    PHOTON_LISTS
} photon_list_kind;

typedef struct photon_order {
    photon_emission emission;
    photon_wish wish;
    uint64_t wanted;      /* photons to store, at most POINTTREE_COUNT_MAX / 2 */
    uint32_t batch_paths; /* traced at a time; 0: chosen. No influence on the result */
    double deadline;      /* timing_now() at which no more paths begin; 0: none */
    struct ranks *among;  /* who trace its paths together and get the same list; NULL: alone */
    bool apart;           /* each keeps what it has traced: parts of that list */
} photon_order;

/* The place of one's own photon in the list of all. */
static inline uint64_t photon_run_place(const photon_run *runs, uint32_t count, uint64_t own) {
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        *(runs[middle].begin <= own ? &low : &high) = middle;
    }
    return count ? runs[low].place + (own - runs[low].begin) : own;
}

/* The list ends with the first path at which `wanted` photons have landed. It ends short of that,
   with complete == false,
   - at a multiple of EMIT_PATHS_IN_VAIN paths, if fewer photons have landed than it is multiples,
     for caustics than sixteen times that (emit_least_landed): where next to nothing can land;
   - after emit_paths_most() paths: a yield below one in EMIT_PATHS_PER_PHOTON, or for caustics one
   in EMIT_PATHS_PER_CAUSTIC: each photon then carries at most that part of what it would if all
   aimed light were shared out among as many as wanted, which is fine enough for light so faint; or,
   with cut == true, after the batch of paths, one at least, in which the deadline came: a good map
   of fewer photons, but another one each time. */
enum {
    EMIT_PATHS_IN_VAIN = 1 << 16,
    EMIT_PATHS_PER_PHOTON = 256,
    EMIT_PATHS_PER_CAUSTIC = 4,
    EMIT_PATHS_SPARE = 1 << 20 /* for those who want few photons; of caustics a quarter of it */
};

static inline uint64_t emit_paths_most(const photon_order *order) {
    return order->wish.only_specular ? EMIT_PATHS_SPARE / 4 + EMIT_PATHS_PER_CAUSTIC * order->wanted
                                     : EMIT_PATHS_SPARE + EMIT_PATHS_PER_PHOTON * order->wanted;
}

/* Of EMIT_PATHS_IN_VAIN paths so many photons at least must have landed. For caustics that are
   EMIT_FAINT_CAUSTICS: where fewer land, all their flux is below one part in 4096 of the light that
   was aimed at lenses, itself a part of the picture's, and what more paths would add to the map is
   less than that. */
enum { EMIT_FAINT_CAUSTICS = EMIT_PATHS_IN_VAIN / 4096 };

static inline uint64_t emit_least_landed(const photon_order *order) {
    return order->wish.only_specular ? EMIT_FAINT_CAUSTICS : 1;
}

/* What caustic photons are aimed at: fills at most EMISSION_TARGETS spheres that hold all surfaces
   which pass light on like lenses; *count is 0 if there are none. */
kd_status aim_targets(emission_target *targets, uint32_t *count, const scene_view *scene);
kd_status photon_list_open(photon_list *out, const scene_view *scene, const photon_order *order,
                           job *watched);
/* Whether the order's deadline has come and a batch of paths is there. */
bool emit_is_overdue(const photon_order *order, uint64_t emitted);
/* Makes borrowed photons the list's own, to be changed. */
kd_status photon_list_own(photon_list *of);
/* Of a list of so many; of the paths that are traced at a time to fill it, two photons each. */
uint64_t photon_list_bytes(uint64_t photons);
uint64_t photon_batch_bytes(uint64_t photons);
void photon_list_close(photon_list *owned); /* takes a zeroed one */

/* Emission on a CUDA device: the photons of emit.h, in the same order, bit for bit. Without CUDA in
   the build every call is KD_ERROR_DEVICE. */

struct emit_share;

/* A photon_list whose photons are in device memory. */
typedef struct photon_list_cuda {
    device_buffer photons;   /* in the order (path, bounce) */
    device_buffer positions; /* vec3 each: what a tree is built from */
    uint64_t count, emitted, rays;
    uint64_t here;      /* photons in this memory: all, but of a list apart */
    photon_run *runs;   /* of a list apart: of these, ascending; else NULL */
    uint32_t run_count; /* host memory */
    photon_ledger ledger;
    bool complete, cut;
    uint64_t hash;   /* photon_hash's sum */
    float strongest; /* channel of any photon */
} photon_list_cuda;

/* Working memory, kept from one emission to the next. */
typedef struct photon_emitter_cuda {
    device_buffer batch, state;
    double yield;  /* photons a path, of the emission before; 0: not known */
    uint32_t ways; /* at most so many photons at a time; 0: as suits the device */
} photon_emitter_cuda;

void photon_emitter_cuda_close(photon_emitter_cuda *owned); /* takes a zeroed one */

/* `world` holds device pointers (scenes/assembly/scene_cuda.h); rays are faster if its tree has its
   packed form. `list` is zeroed or holds another
   emission's photons, whose memory is used again. Waits until the list is there. */
KD_DEVICE_CALL(photon_list_cuda_emit,
               (photon_list_cuda * list, photon_emitter_cuda *with, const scene_view *world,
                const photon_order *order, job *watched));
/* From photons on the host, a file's for example. */
KD_DEVICE_CALL(photon_list_cuda_upload, (photon_list_cuda * list, const photon_list *from));
/* After emit_share_parts: own photons to the other ranks and theirs to the list. */
kd_status photon_list_cuda_exchange(photon_list_cuda *list, struct emit_share *share);
/* Of a list apart: so many photons come behind those that are here, whose place among all is
   `place`. Memory of the list grows if it has to. */
kd_status photon_list_cuda_begin_run(photon_list_cuda *list, uint64_t place, uint64_t photons);
/* To the host: `out` is opened. */
kd_status photon_list_cuda_download(photon_list *out, const photon_list_cuda *from);
/* Device memory that emitting and keeping a list takes, where paths leave a fourth of a photon each
   or more; 0 without CUDA. */
KD_DEVICE_ANSWER(uint64_t, photon_list_cuda_bytes, (uint64_t photons), 0);
void photon_list_cuda_close(photon_list_cuda *owned); /* takes a zeroed one */

#ifdef __cplusplus
}
#endif

#endif

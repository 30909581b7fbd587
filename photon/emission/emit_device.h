/* Emission on a CUDA device: the photons of emit.h, in the same order, bit for bit. Without CUDA in
   the build every call is KD_ERROR_DEVICE. */
#ifndef KD_PHOTON_EMISSION_EMIT_DEVICE_H
#define KD_PHOTON_EMISSION_EMIT_DEVICE_H
#include "core/device/absent.h"
#include "core/device/device_memory.h"
#include "photon/emission/emit.h"

#ifdef __cplusplus
extern "C" {
#endif

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

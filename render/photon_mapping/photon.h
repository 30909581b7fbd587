/* What the integrators by photon maps share. */
#ifndef KD_RENDER_PHOTON_MAPPING_PHOTON_H
#define KD_RENDER_PHOTON_MAPPING_PHOTON_H
#include "core/device/absent.h"
#include "photon/maps/maps_device.h"
#include "photon/maps/photon_map.h"
#include "render/frame/frame.h"
#include "render/frame/integrator.h"
#include "render/photon_mapping/eye_path.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An estimate of fewer photons is too noisy to be shared any further. */
enum { BATCH_GATHER_LEAST = 5 };

/* What the command line says of photons, checked. */
kd_status photon_read_options(photon_options *out, const kd_render_options *options);
/* Photons and k of one of options->batches. */
void photon_share_options(photon_options *of, const kd_render_options *options);
/* The time that photons may take of what the frame's deadline leaves: those of its first maps a
   part of it, since maps and a first sample of every pixel are to follow; those of later ones all.
 */
void photon_limit_time(photon_options *to, const frame *of, bool first);
uint32_t photon_all_maps(const kd_render_options *options);

/* What statistics tell of a pair of maps, wherever they lie. */
typedef struct photon_figures {
    uint64_t emitted, rays, stored, caustics, strayed, hash;
    photon_ledger ledger; /* of the global map's photons */
} photon_figures;
photon_figures photon_figures_of(const photon_maps *maps);

/* What `photon`, `sppm` and `ppm` keep on a CUDA device, and how they take samples there: all
   pixels' paths to the surfaces that hold photons, then all looks into the maps, then the film.
   Without CUDA in the build every call is KD_ERROR_DEVICE. */

enum { GATHERS_TOGETHER = 8 };
enum { PHOTON_CUDA_LOOK, PHOTON_CUDA_GATHER, PHOTON_CUDA_FILM, PHOTON_CUDA_STAGES };

/* What ranks whose photons lie apart ask of each other (looks_apart_device.cu). */
typedef struct looks_met {
    device_buffer requests, packets, alone, sums, radii; /* of all ranks, in their order */
} looks_met;

typedef struct photon_cuda {
    photon_maps_cuda maps;
    bool apart; /* photons of the global and of the caustic map are at the ranks that traced them */
    looks_met met;
    photon_order orders[PHOTON_LISTS]; /* of the pass before */
    bool has_orders;
    device_buffer requests; /* eye_request */
    device_buffer packets;  /* eye_packet, of these */
    device_buffer alone;    /* those that packets leave */
    device_buffer sums[2], radii[2], integrals[2];
    device_buffer asked;                 /* eye_asked */
    uint32_t room;                       /* for requests, and for packets */
    void *marks[PHOTON_CUDA_STAGES + 1]; /* cudaEvent_t */
    double seconds[PHOTON_CUDA_STAGES];
    uint64_t looks_bounded; /* through tiles that others have followed */
} photon_cuda;

void photon_cuda_close(photon_cuda *owned); /* takes a zeroed one */
/* Gives the memory of requests and of their answers back. */
void photon_cuda_drop_requests(photon_cuda *of);

/* Maps of a pass's photons. `ordered`: kernels look into them by themselves, too. */
kd_status photon_cuda_make_maps(photon_cuda *to, const frame *of, const photon_options *options,
                                bool ordered);
/* Orders of the options' pass, which `of` has made for another one. */
void photon_cuda_renew_orders(photon_cuda *of, const photon_options *options);
/* Maps from lists on the host. */
kd_status photon_cuda_take_lists(photon_cuda *to, const photon_list lists[PHOTON_LISTS],
                                 const photon_options *options, bool ordered, job *watched);
/* Finds the tiles for estimates of this radius and brings them there. */
kd_status photon_cuda_find_tiles(photon_cuda *to, const frame *of, float radius);
photon_figures photon_cuda_figures(const photon_cuda *from);
void photon_cuda_tell_figures(const photon_cuda *from, frame_statistics *to);

/* The samples of the range by a view whose maps and tiles are of the device, in parts of its rows
   where memory is short. The camera's ray is that of sample modulo `period`, if that is not 0. Of
   photons that lie apart all ranks call it together. */
KD_DEVICE_CALL(photon_cuda_take, (photon_cuda * with, const frame *of, const photon_view *view,
                                  const sample_range *range, uint32_t period));

/* Whether final gathers of this scene go by waves: without media or cut-outs, and where nothing
   mirrors beside what holds photons. */
bool photon_cuda_gathers_by_waves(const scene_view *scene);
/* Gather rays of a sample that go together, of so many pixels' samples; 0: there are none. */
uint32_t photon_cuda_gathers_together(uint64_t pixels, uint32_t final_gather);
/* Device memory for the samples of so many pixels, where each path asks once; a launch takes no
   more than LAUNCH_SAMPLES of them. `final_gather`: rays that go by waves; 0: none do. */
uint64_t photon_cuda_look_bytes(uint64_t pixels, uint32_t final_gather);

/* --- photons that lie apart, at ranks with a CUDA device each ------------------------------- */

/* with->sums and with->radii of one's own requests, `asked` of them, by the photons of all ranks
   and the view's fixed radii. All ranks call it together, one that asks nothing, too. */
KD_DEVICE_CALL(looks_apart_there, (photon_cuda * with, struct ranks *among, const photon_view *view,
                                   const struct eye_asked *asked));
/* Device memory for the looks of so many pixels of all ranks, one each. */
uint64_t looks_apart_there_bytes(uint64_t pixels);
/* What a rank sends for the looks of so many pixels, one each. */
uint64_t looks_apart_there_sent(uint64_t pixels, int32_t rank_count);

/* Of a zeroed one, and of its marks alone. */
KD_DEVICE_ANSWER(void, photon_cuda_drop_marks, (photon_cuda * owned), );

#ifdef __cplusplus
}
#endif

#endif

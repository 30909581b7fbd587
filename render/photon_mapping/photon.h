/* Interfaces shared by the integrators that use photon maps: `photon` and `sppm`. */
#ifndef KD_RENDER_PHOTON_MAPPING_PHOTON_H
#define KD_RENDER_PHOTON_MAPPING_PHOTON_H
#include "core/device/cuda_stubs.h"
#include "photon/maps/maps_device.h"
#include "photon/maps/photon_map.h"
#include "render/frame/frame.h"
#include "render/frame/integrator.h"
#include "render/photon_mapping/eye_path.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The smallest k of a batch: estimates by fewer photons are too noisy. */
enum { BATCH_GATHER_MIN = 5 };

/* Fills *out from the rendering options and checks them. */
kd_status photon_read_options(photon_options *out, const kd_render_options *options);
/* Divides the photon counts and k by options->batches, rounding up. */
void photon_share_options(photon_options *photon_options, const kd_render_options *options);
/* Sets the deadlines of photon emission from the frame's deadline. The first maps get a part of the
   remaining time, since building them and one sample per pixel have to follow; later maps may take
   all of it. */
void photon_limit_time(photon_options *options, const frame *frame, bool first);
/* Returns the set of maps that a rendering builds (integrator.maps): all of them. */
uint32_t photon_all_maps(const kd_render_options *options);

/* integrator.light_groups: with final gather, precomputed irradiance has no parts; photons carry 16
   bits of their light. */
bool photon_light_groups(const kd_render_options *options, const scene_view *scene);
/* Parts of a pixel's samples; `groups` is NULL if the frame has no films of light groups. */
light_parts photon_light_parts(const frame *frame, int32_t x, int32_t y);

/* Counts of a set of maps for the statistics, on the host or on a device. */
typedef struct photon_figures {
    uint64_t emitted, rays, stored, caustics, volume_photons, hash;
    photon_ledger ledger; /* energy balance of the global map's photons, W */
} photon_figures;
photon_figures photon_figures_of(const photon_maps *maps);

/* The light of a pass, for those who show it (api/light_paths.h): photon maps, on the host or
   on a device, the options that they were emitted by, and the view of their lookups (NULL: that of
   the maps); or the view of vcm. Borrows all. */
typedef struct light_source {
    const photon_options *options;
    const photon_maps *maps;
    const photon_maps_cuda *device_maps;
    const struct photon_view *view;
    const struct vcm_view *vcm;
} light_source;

/* --- on a CUDA device ---------------------------------------------------------------------------
   A launch traces the camera paths of all pixels to the surfaces that store photons, then performs
   all photon map lookups, then adds the results to the film. Without CUDA in the build every call
   fails with KD_ERROR_DEVICE. */

enum { GATHERS_TOGETHER = 8 }; /* maximum number of gather rays of one sample in a wavefront */
/* timed stages: trace, look up, add to the film */
enum { PHOTON_CUDA_LOOKUP, PHOTON_CUDA_GATHER, PHOTON_CUDA_FILM, PHOTON_CUDA_STAGES };

/* Lookup requests and answers of all ranks, for photons distributed over ranks
   (distributed_lookups_device.cu). */
typedef struct lookups_received {
    /* data of all ranks, in the order of their numbers */
    device_buffer requests, packets, alone, sums, radii;
} lookups_received;

typedef struct photon_cuda {
    photon_maps_cuda maps;
    bool distributed; /* photons of the global and caustic map stay at the ranks that traced them */
    lookups_received received;
    photon_order orders[PHOTON_LISTS]; /* orders of the previous pass */
    bool has_orders;
    device_buffer requests; /* eye_request */
    device_buffer packets;  /* eye_packet, each a run of requests */
    device_buffer alone;    /* indices of the requests that no packet answers */
    device_buffer sums[2], radii[2], integrals[2];
    device_buffer request_counts; /* one eye_request_counts: counts of requests and packets */
    uint32_t capacity;            /* capacity of `requests` and of `packets` */
    /* cudaEvent_t: one before each stage, one after the last */
    void *marks[PHOTON_CUDA_STAGES + 1];
    double seconds[PHOTON_CUDA_STAGES];
    uint64_t lookups_bounded; /* lookups that met more than TILE_EXACT boxes and tiles */
} photon_cuda;

void photon_cuda_close(photon_cuda *owned); /* `owned` may be zeroed */
/* Frees the buffers of requests and of their answers. */
void photon_cuda_drop_requests(photon_cuda *device_photons);

/* Emits the photons of a pass and builds their maps. `ordered`: also stores the photons in tree
   order, for kernels that traverse the tree themselves. */
kd_status photon_cuda_make_maps(photon_cuda *device_photons, const frame *frame,
                                const photon_options *options, bool ordered);
/* Updates the orders, made for another pass, to the pass of `options`. */
void photon_cuda_renew_orders(photon_cuda *device_photons, const photon_options *options);
/* Builds maps from photon lists in host memory. */
kd_status photon_cuda_take_lists(photon_cuda *device_photons, const photon_list lists[PHOTON_LISTS],
                                 const photon_options *options, bool ordered, job_control *job);
/* Finds the tiles for estimates within `radius` (scene units) and copies them to the device. */
kd_status photon_cuda_find_tiles(photon_cuda *device_photons, const frame *frame, float radius);
photon_figures photon_cuda_figures(const photon_cuda *device_photons);
void photon_cuda_report_figures(const photon_cuda *device_photons, frame_statistics *statistics);

/* Takes the samples of `range`; maps and tiles of `view` are in device memory. Splits the rows into
   parts if memory is short. Collective over the ranks if photons are distributed. */
KD_DEVICE_CALL(photon_cuda_take, (photon_cuda * device_photons, const frame *frame,
                                  const photon_view *view, const sample_range *range));

/* Returns true if final gather rays of this scene are traced as wavefronts: it has neither media
   nor cut-outs, and no surface both stores photons and mirrors. */
bool photon_cuda_gathers_by_waves(const scene_view *scene);
/* Number of gather rays of each sample in one wavefront of at most `paths` paths, for a launch of
   `pixels` samples; 0 without final gather. */
uint32_t photon_cuda_gathers_together(uint64_t pixels, uint32_t final_gather, uint64_t paths);
/* Bytes of device memory for one sample of each of `pixels` pixels, where each path makes one
   lookup request; a launch takes at most LAUNCH_SAMPLES of them, and `paths` at a time.
   `final_gather`: gather rays traced as wavefronts; 0: none are. */
uint64_t photon_cuda_lookup_bytes(uint64_t pixels, uint32_t final_gather, uint64_t paths);

/* --- photons distributed over ranks, each with a CUDA device ---------------------------------- */

/* Answers this rank's requests, counted by `counts`, from the photons of all ranks within the fixed
   radii of `view`; the results are in device_photons->sums and device_photons->radii. Collective: a
   rank without requests calls it, too. */
KD_DEVICE_CALL(distributed_lookups_device,
               (photon_cuda * device_photons, struct ranks *comm, const photon_view *view,
                const struct eye_request_counts *counts));
/* Bytes of device memory for one lookup request for each of `pixels` pixels of all ranks. */
uint64_t distributed_lookups_device_bytes(uint64_t pixels);
/* Bytes that a rank sends for one lookup request for each of `pixels` pixels. */
uint64_t distributed_lookups_device_sent(uint64_t pixels, int32_t rank_count);

/* Destroys the events in `marks`; `owned` may be zeroed. */
KD_DEVICE_ANSWER(void, photon_cuda_drop_marks, (photon_cuda * owned), );

#ifdef __cplusplus
}
#endif

#endif

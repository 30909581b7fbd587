/* Photon maps on a CUDA device: emission, construction and lookup there, with the same photons,
   trees and results as photon_map.h, bit for bit. Without CUDA in the build every call fails with
   KD_ERROR_DEVICE. */
#ifndef KD_PHOTON_MAPS_MAPS_DEVICE_H
#define KD_PHOTON_MAPS_MAPS_DEVICE_H
#include "core/device/cuda_stubs.h"
#include "photon/emission/emit.h"
#include "photon/maps/photon_map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One map. Its memory is reused when it is built again. */
typedef struct photon_map_cuda {
    photon_list_cuda list;
    photon_emitter_cuda emitter;
    device_buffer ids, scratch;            /* the tree; scratch memory of builders */
    device_buffer index;                   /* photon_leaves.cuh */
    device_buffer ordered, ordered_points; /* photons in tree order, if requested */
    device_buffer irradiance;
    float radius, scale; /* see photon_map */
    bool has_irradiance; /* `irradiance` is valid */
    bool has_tree;       /* the tree came with the photons, to be validated instead of built */
} photon_map_cuda;

typedef struct photon_maps_cuda {
    photon_map_cuda map[PHOTON_LISTS]; /* global, caustic, media */
    device_buffer tile_memory; /* tiles, boxes, flags of wide areas (tile_wide.c); the scene */
    device_buffer beam_memory; /* beams, their segments, boxes */
    tile_view tiles;           /* device pointers */
    /* replace the photons of the media map if media store beams; device pointers */
    beam_view beams;
    struct ranks *comm; /* photon_options.comm */
    uint32_t gather;
    photon_kernel kernel;
    photon_estimator estimator;
    photon_lookup lookup;
    photon_media media;
} photon_maps_cuda;

void photon_maps_cuda_close(photon_maps_cuda *owned); /* `owned` may be zeroed */

/* Emits the lists; any `target` may be 0. `out` is zeroed or was used before. Stage of the job:
   emit. */
kd_status photon_maps_cuda_emit(photon_maps_cuda *out, const scene_view *device_scene,
                                const photon_order orders[PHOTON_LISTS], job_control *job);
/* Copies photons from host memory, e.g. from a file, with their trees if the lists have them. */
kd_status photon_maps_cuda_take(photon_maps_cuda *out, const photon_list lists[PHOTON_LISTS]);
/* Builds the trees and indices. With `ordered`, also stores the photons in tree order, for kernels
   that traverse the tree; the media map always does. Radii are options->radius or derived from the
   density. Returns KD_ERROR_INPUT if a tree that came with its photons is not valid for them.
   Stage: photon_tree. */
KD_DEVICE_CALL(photon_maps_cuda_build_trees,
               (photon_maps_cuda * maps, const photon_options *options, bool ordered,
                job_control *job));
/* Builds the beams of the media map on the host from its photons, after the map is built; none if
   it keeps points. */
kd_status photon_maps_cuda_find_beams(photon_maps_cuda *maps, const scene_view *scene,
                                      const photon_options *options, job_control *job);
/* Copies the tiles to the device; the scene is there already. */
kd_status photon_maps_cuda_tile(photon_maps_cuda *maps, const tile_set *tiles,
                                const scene_view *device_scene);
/* Number of lookups on the device that exceeded the limit of tiles, as tile_set_lookups_bounded. */
uint64_t photon_maps_cuda_lookups_bounded(const photon_maps_cuda *maps); /* `maps` may be zeroed */
/* As photon_maps_precompute; requires `ordered`. */
KD_DEVICE_CALL(photon_maps_cuda_precompute, (photon_maps_cuda * maps, job_control *job));

/* Bytes of device memory that precomputing for `photons` photons needs temporarily; 0 without
   CUDA. */
KD_DEVICE_ANSWER(uint64_t, photon_maps_cuda_precompute_bytes, (uint64_t photons), 0);

/* Exchanges the irradiances of the global map that ranks have computed. */
kd_status photon_maps_cuda_irradiance(photon_maps_cuda *maps, job_control *job);

/* Bytes of device memory of a map of `photons` photons while it is built; 0 without CUDA. `ordered`
   as for photon_maps_cuda_build_trees. */
KD_DEVICE_ANSWER(uint64_t, photon_map_cuda_bytes, (uint64_t photons, bool ordered), 0);

/* Returns device pointers for kernels; `photons` is NULL unless they are in tree order. */
photon_map_view photon_maps_cuda_view(const photon_maps_cuda *maps, int which);
bool photon_maps_cuda_cut(const photon_maps_cuda *maps);      /* as photon_maps_cut */
uint64_t photon_maps_cuda_hash(const photon_maps_cuda *maps); /* as photon_maps_hash */

/* A batch of deferred estimates. */
typedef struct photon_gather_cuda {
    const struct eye_request *requests; /* device memory */
    uint32_t count;
    const struct eye_packet *packets; /* device memory; every request is in exactly one packet */
    uint32_t packet_count;            /* 0, with packets NULL: no grouping is known */
    /* device memory: the `count` requests to be answered, neighbours one after another, if there
       are no packets; NULL: the first `count` requests */
    const uint32_t *order;
    uint32_t *alone; /* device memory for `count` + 2 values */
    flux_sum *sums;  /* out, one per request: power that the photons scatter towards wo */
    float *radii;    /* out, one per request: estimation radius; 0: no photons */
} photon_gather_cuda;

/* Answers the requests from the global or the caustic map, by the `gather` nearest photons or, if
   that is 0, by all within `radius`, as if nothing hid them. Asynchronous. */
KD_DEVICE_CALL(photon_maps_cuda_gather, (const photon_maps_cuda *maps, int which, uint32_t gather,
                                         float radius, const photon_gather_cuda *request));
/* After photon_maps_cuda_gather: computes the kernel's integral over the tiles, or over the whole
   disc if there are no tiles, of each request whose sum is not 0. `integrals`: device memory, one
   value per request. Asynchronous. */
KD_DEVICE_CALL(photon_maps_cuda_measure,
               (const photon_maps_cuda *maps, const photon_gather_cuda *gather, float *integrals));

/* After the two calls above: repeats the lookups of requests whose sum is not 0 where walls may
   hide photons. `radius`: as above; 0: the sums are correct already, and only the integrals are
   multiplied by the visible share. `integrals`: NULL if they are not measured yet. Asynchronous. */
KD_DEVICE_CALL(photon_maps_cuda_hide,
               (const photon_maps_cuda *maps, int which, uint32_t gather, float radius,
                const photon_gather_cuda *request, float *integrals));

/* Points on diffuse surfaces that use the precomputed irradiance of the nearest photon. */
typedef struct photon_irradiance_cuda {
    void *places; /* device memory, float4 each: position and triangle; overwritten by results */
    const void *sides; /* float4 each: geometric normal; bit 0: the front side was hit */
    const uint32_t *count;
    const uint32_t *order; /* of the places, for speed; NULL: as they are */
    /* buffers for as many indices as places, and for one counter, initially 0 */
    uint32_t *more, *more_count;
} photon_irradiance_cuda;

/* photon_precomputed_irradiance in the global map, whose irradiance has been computed: replaces a
   place by its irradiance and KD_NONE if a photon applies; otherwise leaves it unchanged.
   Asynchronous. */
KD_DEVICE_CALL(photon_maps_cuda_irradiance_lookup,
               (const photon_maps_cuda *maps, const photon_irradiance_cuda *lookup));

#ifdef __cplusplus
}
#endif
#endif

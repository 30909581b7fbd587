/* Photon maps on a CUDA device: emitted, planted and looked up there, with the photons, trees and
   answers of photon_map.h, bit for bit. Without CUDA in the build every call is KD_ERROR_DEVICE. */
#ifndef KD_PHOTON_MAPS_MAPS_DEVICE_H
#define KD_PHOTON_MAPS_MAPS_DEVICE_H
#include "core/device/absent.h"
#include "photon/emission/emit.h"
#include "photon/maps/photon_map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One map. Its memory is kept from one planting to the next. */
typedef struct photon_map_cuda {
    photon_list_cuda list;
    photon_emitter_cuda emitter;
    device_buffer ids, scratch;            /* the tree, and what builders need */
    device_buffer index;                   /* photon_leaves.cuh */
    device_buffer ordered, ordered_points; /* in the tree's order, if wanted */
    device_buffer irradiance;
    float radius, scale; /* as of a photon_map */
    bool along_curve;    /* its index is (photon_curve.cuh), else in the tree's order */
    bool known;          /* irradiance is there */
    bool planted;        /* ids came with the photons: they are proved, not built */
} photon_map_cuda;

typedef struct photon_maps_cuda {
    photon_map_cuda map[PHOTON_LISTS]; /* global, caustic, media */
    device_buffer tile_memory;         /* tiles, boxes, what is known of parts; the scene */
    device_buffer beam_memory;         /* beams, pieces, boxes */
    tile_view tiles;                   /* device pointers */
    beam_view beams;     /* of the media, in place of their map's photons; device pointers */
    struct ranks *among; /* photon_options.among */
    uint32_t gather;
    photon_kernel kernel;
    photon_estimator estimator;
    photon_lookup lookup;
    photon_media media;
} photon_maps_cuda;

void photon_maps_cuda_close(photon_maps_cuda *owned); /* takes a zeroed one */

/* Emits the lists; any `wanted` may be 0. Stage of the job: emit. `out` is zeroed or was used
   before. */
kd_status photon_maps_cuda_emit(photon_maps_cuda *out, const scene_view *device_scene,
                                const photon_order orders[PHOTON_LISTS], job *watched);
/* Photons of the host, a map file's for example, with their trees where the lists know them. */
kd_status photon_maps_cuda_take(photon_maps_cuda *out, const photon_list lists[PHOTON_LISTS]);
/* Trees and what gatherings need; with `ordered`, also the photons in tree order, which kernels
   that walk the tree by themselves read; the map of the media always has them. Radii are
   options->radius or found from the density. A tree that came with its photons and is none of
   theirs is KD_ERROR_INPUT. Stage: photon_tree. */
KD_DEVICE_CALL(photon_maps_cuda_plant, (photon_maps_cuda * maps, const photon_options *options,
                                        bool ordered, job *watched));
/* Beams of the map of the media, made by the host from its photons, after planting; none if it
   keeps points. */
kd_status photon_maps_cuda_find_beams(photon_maps_cuda *maps, const scene_view *scene,
                                      const photon_options *options, job *watched);
/* Copies tiles to the device, where the scene is already. */
kd_status photon_maps_cuda_tile(photon_maps_cuda *maps, const tile_set *from,
                                const scene_view *device_scene);
/* tile_set_looks_bounded, of looks there. */
uint64_t photon_maps_cuda_looks_bounded(const photon_maps_cuda *from); /* takes a zeroed one */
/* photon_maps_precompute; needs `ordered`. */
KD_DEVICE_CALL(photon_maps_cuda_precompute, (photon_maps_cuda * maps, job *watched));

/* Device memory that it takes for a while, of so many photons; 0 without CUDA. */
KD_DEVICE_ANSWER(uint64_t, photon_maps_cuda_precompute_bytes, (uint64_t photons), 0);

/* Irradiance of this rank's photons of the global map to the other ranks, theirs to the map. */
kd_status photon_maps_cuda_irradiance(photon_maps_cuda *maps, job *watched);

/* Device memory that a map of so many photons takes while it is made; 0 without CUDA. `ordered` as
   of photon_maps_cuda_plant. */
KD_DEVICE_ANSWER(uint64_t, photon_map_cuda_bytes, (uint64_t photons, bool ordered), 0);

/* Device pointers for kernels; photons are NULL unless they are in tree order. */
photon_map_view photon_maps_cuda_view(const photon_maps_cuda *from, int which);
bool photon_maps_cuda_cut(const photon_maps_cuda *of);        /* photon_maps_cut */
uint64_t photon_maps_cuda_hash(const photon_maps_cuda *from); /* photon_maps_hash */

/* Estimates asked for by many surfaces at once. */
typedef struct photon_gather_cuda {
    const struct eye_request *requests; /* device memory */
    uint32_t count;
    const struct eye_packet *packets; /* device memory: each request is in one of them */
    uint32_t packet_count;            /* 0, and no packets: nobody knows who are neighbours */
    uint32_t *alone;                  /* device memory: room for `count` + 2 */
    flux_sum *sums;                   /* out, a request each: what the photons scatter towards wo */
    float *radii;                     /* out: within this radius; 0: there are none */
} photon_gather_cuda;

/* In one of the maps of surfaces, by `gather` nearest photons, or all within `radius` if that is 0.
   Nothing is waited for. */
KD_DEVICE_CALL(photon_maps_cuda_gather, (const photon_maps_cuda *maps, int which, uint32_t gather,
                                         float radius, const photon_gather_cuda *asked));
/* The kernel's integrals over the tiles there, or whole discs if there are none, of all whose sum
   is not 0, after the gathering;
   `integrals`: device memory, one a request. Nothing is waited for. */
KD_DEVICE_CALL(photon_maps_cuda_measure,
               (const photon_maps_cuda *maps, const photon_gather_cuda *asked, float *integrals));

/* Places on diffuse surfaces that ask the photons near them what they know. */
typedef struct photon_known_cuda {
    void *places;      /* device memory, float4 each: position; the triangle */
    const void *sides; /* float4 each: geometric normal; bit 0: it is met from that side */
    const uint32_t *count;
    uint32_t *more, *more_count; /* room for as many numbers; 0 */
} photon_known_cuda;

/* photon_known_irradiance of the global map, whose irradiance is known: a place that has an answer
   becomes the irradiance and KD_NONE, others stay. Nothing is waited for. */
KD_DEVICE_CALL(photon_maps_cuda_known,
               (const photon_maps_cuda *maps, const photon_known_cuda *asked));

#ifdef __cplusplus
}
#endif
#endif

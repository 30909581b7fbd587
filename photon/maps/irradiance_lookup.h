/* Lookups of precomputed irradiance for many points on a CUDA device. */
#ifndef KD_PHOTON_MAPS_IRRADIANCE_LOOKUP_H
#define KD_PHOTON_MAPS_IRRADIANCE_LOOKUP_H
#include "photon/maps/maps_device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct photon_irradiance_sorting {
    uint32_t count; /* of points */
    box3 box;       /* of the scene */
    void *scratch;  /* device memory that may be overwritten; if too little, nothing is sorted */
    uint64_t scratch_bytes;
} photon_irradiance_sorting;

/* As photon_maps_cuda_irradiance_lookup, but looks up the points in the order of their places,
   which is faster for more than some thousands; the results are the same. */
KD_DEVICE_CALL(photon_irradiance_look_up_sorted,
               (const photon_maps_cuda *maps, const photon_irradiance_cuda *lookup,
                const photon_irradiance_sorting *sorting));

#ifdef __cplusplus
}
#endif

#endif

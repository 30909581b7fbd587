/* What the photons nearest to many places know, on a CUDA device. */
#ifndef KD_PHOTON_MAPS_KNOWN_DEVICE_H
#define KD_PHOTON_MAPS_KNOWN_DEVICE_H
#include "photon/maps/maps_device.h"

#ifdef __cplusplus
extern "C" {
#endif

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

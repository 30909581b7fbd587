/* Order of points along a Morton curve, by cells of the scene's box, on a CUDA device: points that
   follow each other are neighbours. */
#ifndef KD_PHOTON_MAPS_PLACE_ORDER_H
#define KD_PHOTON_MAPS_PLACE_ORDER_H
#include "core/device/cuda_stubs.h"
#include "core/math/geometry.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct eye_request;

/* What is to be ordered, and memory for it: some 24 bytes for each point. */
typedef struct place_order {
    uint32_t count;
    box3 box;      /* of the scene */
    void *scratch; /* device memory that may be overwritten; too little: no order */
    uint64_t scratch_bytes;
    uint32_t *order; /* out, in `scratch`; NULL: no order */
} place_order;

/* Orders points: xyz of float4 each in device memory. Asynchronous. */
KD_DEVICE_CALL(place_order_points, (place_order * order, const void *points));
/* Orders requests, those whose `next` is odd last, and diffuse surfaces before others.
   Asynchronous. */
KD_DEVICE_CALL(place_order_requests, (place_order * order, const struct eye_request *requests));

#ifdef __cplusplus
}
#endif

#endif

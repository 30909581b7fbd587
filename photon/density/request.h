/* Looks into photon maps that wait until many can be answered at once. */
#ifndef KD_PHOTON_DENSITY_REQUEST_H
#define KD_PHOTON_DENSITY_REQUEST_H
#include "shaders/surface.h"

enum { FINAL_GATHER_MOST = 65536 }; /* rays of the final gather */

/* A surface that is to be looked at. */
typedef struct eye_request {
    surface at;
    vec3 wo, throughput;
    uint32_t next; /* of the same path, or KD_NONE */
} eye_request;

/* Requests that the threads of a warp made at once: neighbours in the picture, at most 32. */
typedef struct eye_packet {
    uint32_t first, count;
} eye_packet;

/* How many there are of each; may grow beyond `room`: those are not there. */
typedef struct eye_asked {
    uint32_t requests, packets;
} eye_asked;

#endif

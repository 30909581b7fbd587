/* A photon: a packet of flux that landed on a surface, or was scattered by a medium; or a beam,
   which begins at `position` and flies through a medium until something is in its way. */
#ifndef KD_PHOTON_EMISSION_PHOTON_H
#define KD_PHOTON_EMISSION_PHOTON_H
#include "core/math/vec3.h"

typedef struct photon {
    vec3 position;     /* world */
    vec3 power;        /* W, linear Rec. 709 */
    vec3 direction;    /* unit, the way it was flying when it landed */
    vec3 normal;       /* unit geometric normal of the side that it landed on; medium: direction;
                          beam: its length, 0, 0 */
    uint32_t triangle; /* that it landed on; or the medium that scattered it */
    uint32_t path;     /* index of its emission, with seed and pass the key of its random numbers */
    uint16_t light;    /* light it came from, low 16 bits */
    uint8_t bounce;    /* surfaces and scatterings in media before this one */
    uint8_t kind;      /* photon_kind */
} photon;

typedef enum photon_kind {
    PHOTON_DIRECT = 0,  /* no surface between light and here */
    PHOTON_CAUSTIC = 1, /* only lenses between: mirror, glass, metal, a smooth coat */
    PHOTON_INDIRECT = 2 /* at least one surface that keeps photons, or a medium, scattered it on */
} photon_kind;

#endif

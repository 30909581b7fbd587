/* Value noise in [-1, 1]: random values at the points of a lattice, interpolated with smoothstep.
   Periodic with NOISE_PERIOD lattice cells, so that the values fit in a cache. */
#ifndef KD_CORE_MATH_NOISE_H
#define KD_CORE_MATH_NOISE_H
#include "core/math/geometry.h"
#include "core/status.h"

enum { NOISE_PERIOD = 64 };

typedef struct noise {
    float *lattice; /* NOISE_PERIOD^3 values, owned */
} noise;

kd_status noise_open(noise *out, uint64_t seed);
void noise_close(noise *owned); /* accepts a zeroed struct */

float noise_at(const noise *noise, vec3 point);
/* Returns the sum of `octaves` terms a * noise_at(f * point), starting with a = amplitude, f = 1;
   each term halves a and multiplies f by 2.1. */
float noise_octaves(const noise *noise, vec3 point, float amplitude, int octaves);

#endif

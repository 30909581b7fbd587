/* Value noise in -1..1: random numbers at the points of a lattice, cubic blends between them.
   Periodic with NOISE_PERIOD lattice cells, so that the numbers fit in a cache. */
#ifndef KD_CORE_MATH_NOISE_H
#define KD_CORE_MATH_NOISE_H
#include "core/math/geometry.h"
#include "core/status.h"

enum { NOISE_PERIOD = 64 };

typedef struct noise {
    float *lattice; /* NOISE_PERIOD^3; owned */
} noise;

kd_status noise_open(noise *out, uint64_t seed);
void noise_close(noise *owned); /* takes a zeroed one */

float noise_at(const noise *from, vec3 point);
/* Sum over `octaves` of a noise(f point): a = amplitude, f = 1, then a / 2 and 2.1 f each time. */
float noise_octaves(const noise *from, vec3 point, float amplitude, int octaves);

#endif

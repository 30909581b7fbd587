#include "core/math/noise.h"
#include "core/math/rng.h"
#include "core/memory.h"

enum { NOISE_MASK = NOISE_PERIOD - 1 };

kd_status noise_open(noise *out, uint64_t seed) {
    out->lattice = NULL;
    KD_TRY(KD_RESERVE(out->lattice, (uint64_t)NOISE_PERIOD * NOISE_PERIOD * NOISE_PERIOD));
    for (uint32_t i = 0; i < NOISE_PERIOD * NOISE_PERIOD * NOISE_PERIOD; i += 4) {
        const rng_block drawn = rng_draw(rng_key_make(seed, 0, i), 0, 0);
        for (uint32_t j = 0; j < 4; ++j) out->lattice[i + j] = 2 * drawn.value[j] - 1;
    }
    return KD_OK;
}

void noise_close(noise *owned) {
    memory_free(owned->lattice);
    owned->lattice = NULL;
}

static float mix(float a, float b, float t) {
    return a + t * (b - a);
}

static float smooth(float t) {
    return t * t * (3 - 2 * t);
}

/* Interpolates along x within a row of the lattice. */
static float row_at(const noise *noise, uint32_t x, uint32_t y, uint32_t z, float t) {
    const float *row =
        noise->lattice + ((z & NOISE_MASK) * NOISE_PERIOD + (y & NOISE_MASK)) * NOISE_PERIOD;
    return mix(row[x & NOISE_MASK], row[(x + 1) & NOISE_MASK], t);
}

float noise_at(const noise *noise, vec3 point) {
    const float fx = floorf(point.x), fy = floorf(point.y), fz = floorf(point.z);
    const uint32_t x = (uint32_t)(int32_t)fx, y = (uint32_t)(int32_t)fy, z = (uint32_t)(int32_t)fz;
    const float tx = smooth(point.x - fx), ty = smooth(point.y - fy), tz = smooth(point.z - fz);
    const float below = mix(row_at(noise, x, y, z, tx), row_at(noise, x, y + 1, z, tx), ty);
    const float above = mix(row_at(noise, x, y, z + 1, tx), row_at(noise, x, y + 1, z + 1, tx), ty);
    return mix(below, above, tz);
}

float noise_octaves(const noise *noise, vec3 point, float amplitude, int octaves) {
    float sum = 0, frequency = 1;
    for (int i = 0; i < octaves; ++i) {
        sum += amplitude * noise_at(noise, vec3_scale(point, frequency));
        amplitude /= 2;
        frequency *= 2.1f;
    }
    return sum;
}

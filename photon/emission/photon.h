/* A photon: a packet of flux at the point where it hit a surface or was scattered in a medium; or a
   photon beam, which starts at `position` and extends through a medium to the next surface. */
#ifndef KD_PHOTON_EMISSION_PHOTON_H
#define KD_PHOTON_EMISSION_PHOTON_H
#include "core/math/geometry.h"
#include "core/math/platform.h"

typedef struct photon {
    vec3 position;  /* world space */
    vec3 power;     /* W, linear Rec. 709 */
    vec3 direction; /* unit direction of propagation on arrival */
    /* at a surface: unit geometric normal of the side hit
       in a medium: `direction`
       beam: (its length, 0, 0) */
    vec3 normal;
    uint32_t triangle; /* triangle hit, or the medium that scattered the photon */
    uint32_t path;  /* index of the light path; with seed and pass, the key of its random numbers */
    uint16_t light; /* light source, low 16 bits of its index */
    uint8_t bounce; /* number of surfaces and scatterings in media before this one */
    uint8_t kind;   /* photon_kind */
} photon;

typedef enum photon_kind {
    PHOTON_DIRECT = 0,  /* straight from the light */
    PHOTON_CAUSTIC = 1, /* only specular surfaces between: mirror, glass, metal, a smooth coat */
    /* at least one diffuse or glossy surface, or a medium, scattered it before */
    PHOTON_INDIRECT = 2
} photon_kind;

/* Order-dependent hash of a photon list that can be computed in parallel: the sum of the photons'
   hashes, each of which includes the photon's index.
   Source: the mixing step is that of Steele, Lea and Flood 2014, "Fast splittable pseudorandom
           number generators" (variant 13 of Stafford's). */
enum { PHOTON_WORDS = 15 };
static_assert(sizeof(photon) == 4 * PHOTON_WORDS, "padding would be hashed");

KD_FN uint64_t hash_mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

KD_FN uint64_t photon_hash(const photon *landed, uint64_t place) {
    uint32_t word[PHOTON_WORDS + 1];
    memcpy(word, landed, sizeof *landed);
    word[PHOTON_WORDS] = 0;
    uint64_t hash = hash_mix(place + 0x9e3779b97f4a7c15u);
    for (int i = 0; i < PHOTON_WORDS; i += 2)
        hash = hash_mix(hash + ((uint64_t)word[i] << 32 | word[i + 1]));
    return hash;
}

/* The energy balance of light paths, summed in fixed point, so that sums do not depend on the
   order, the number of threads or the device.
   Idea: a path's energy is rounded to a unit of 2^-37 to 2^-36 of the lights' power. A unit is far
         below the rounding error of a sum in double precision over millions of paths, and the range
         includes paths that carry 2^26 times the lights' power.
   Memory: 128 bits per sum, as two halves that devices can add with 64-bit atomics: up to 2^31
           paths. */

/* Energy balance, W (mean of the channels), of one path or of many. */
typedef struct photon_ledger {
    double emitted;
    double absorbed; /* absorbed by surfaces: incoming less scattered */
    double escaped;  /* left the scene */
    double media;    /* absorbed by media */
    double ended; /* terminated by Russian roulette and wavelength sampling, less the compensation
                     of survivors; 0 on average */
    double cut;   /* lost at the maximum depth */
    uint32_t rays;
} photon_ledger;

enum { LEDGER_ROWS = 6 }; /* emitted, absorbed, escaped, ended, cut, media */

typedef struct ledger_units {
    int64_t row[LEDGER_ROWS];
} ledger_units;

typedef struct ledger_sum {
    int64_t high[LEDGER_ROWS]; /* sum of the upper 32 bits of each number */
    uint64_t low[LEDGER_ROWS]; /* sum of the lower 32 bits */
    uint64_t rays;
} ledger_sum;

/* Units per watt. */
KD_FN double ledger_scale(float total_power) {
    const bool usual = total_power > 0 && total_power <= FLT_MAX;
    return usual ? ldexp(1.0, 36 - ilogb((double)total_power)) : 1;
}

KD_FN int64_t ledger_round(double watts, double scale) {
    const double units = watts * scale, maximum = 0x1p62;
    return llrint(units < -maximum ? -maximum : units > maximum ? maximum : units);
}

KD_FN ledger_units ledger_in_units(const photon_ledger *path, double scale) {
    ledger_units made;
    made.row[0] = ledger_round(path->emitted, scale);
    made.row[1] = ledger_round(path->absorbed, scale);
    made.row[2] = ledger_round(path->escaped, scale);
    made.row[3] = ledger_round(path->ended, scale);
    made.row[4] = ledger_round(path->cut, scale);
    made.row[5] = ledger_round(path->media, scale);
    return made;
}

KD_FN void ledger_sum_add(ledger_sum *sum, const ledger_units *path, uint32_t rays) {
    for (int i = 0; i < LEDGER_ROWS; ++i) {
        const uint64_t bits = (uint64_t)path->row[i];
        sum->high[i] += (int64_t)(int32_t)(uint32_t)(bits >> 32);
        sum->low[i] += bits & 0xffffffffu;
    }
    sum->rays += rays;
}

/* Mean over `paths` paths, W. */
KD_FN photon_ledger ledger_sum_mean(const ledger_sum *sum, double scale, uint64_t paths) {
    double watts[LEDGER_ROWS];
    for (int i = 0; i < LEDGER_ROWS; ++i)
        watts[i] = ((double)sum->high[i] * 0x1p32 + (double)sum->low[i]) / scale / (double)paths;
    photon_ledger mean;
    memset(&mean, 0, sizeof mean);
    mean.emitted = watts[0];
    mean.absorbed = watts[1];
    mean.escaped = watts[2];
    mean.ended = watts[3];
    mean.cut = watts[4];
    mean.media = watts[5];
    return mean;
}

#endif

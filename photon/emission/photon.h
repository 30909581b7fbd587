/* A photon: a packet of flux that landed on a surface, or was scattered by a medium; or a beam,
   which begins at `position` and flies through a medium until something is in its way. */
#ifndef KD_PHOTON_EMISSION_PHOTON_H
#define KD_PHOTON_EMISSION_PHOTON_H
#include "core/math/geometry.h"
#include "core/math/platform.h"

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

/* A hash of a list of photons that devices can compute side by side: each photon's hash knows its
   place in the list, their sum is the list's.
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

/* Where the watts of a path go, and sums of many paths' ledgers that are the same numbers in any
   order, on any number of threads and on any device: fixed point.
   Idea: a path's watts are rounded to a unit of 2^-37 to 2^-36 of the lights' power, and whole
         numbers add up alike in any order. A unit is far below what a double's sum over millions of
         paths loses, and a path that carries 2^26 times the lights' power still fits.
   Memory: 128 bits a sum, in two halves, so that devices can add with 64-bit atomics: up to 2^31
           paths. */

/* What became of the watts (mean of the channels) of one path or of many. */
typedef struct photon_ledger {
    double emitted;
    double absorbed; /* by surfaces: what came in less what was scattered */
    double escaped;  /* flew out of the scene */
    double media;    /* absorbed by media */
    double ended;    /* by roulette and draws of colours, less what they gave: 0 in the mean */
    double cut;      /* still flying after the last surface allowed */
    uint32_t rays;
} photon_ledger;

enum { LEDGER_ROWS = 6 }; /* emitted, absorbed, escaped, ended, cut, media */

typedef struct ledger_units {
    int64_t row[LEDGER_ROWS];
} ledger_units;

typedef struct ledger_sum {
    int64_t high[LEDGER_ROWS]; /* of the upper 32 bits of each number */
    uint64_t low[LEDGER_ROWS]; /* of the lower 32 bits */
    uint64_t rays;
} ledger_sum;

/* Units in a watt. */
KD_FN double ledger_scale(float total_power) {
    const bool usual = total_power > 0 && total_power <= FLT_MAX;
    return usual ? ldexp(1.0, 36 - ilogb((double)total_power)) : 1;
}

KD_FN int64_t ledger_round(double watts, double scale) {
    const double units = watts * scale, most = 0x1p62;
    return llrint(units < -most ? -most : units > most ? most : units);
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

/* The mean over `paths` paths, W. */
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

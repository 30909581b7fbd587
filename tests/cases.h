/* The nasty inputs every tree meets: point sets and triangle sets by name, as pure functions of
   (case, count). Tests walk the tables. */
#ifndef KD_TESTS_CASES_H
#define KD_TESTS_CASES_H
#include "shaders/box.h"
#include "shaders/rng.h"

/* counts worth trying: empty, one, around powers of two */
static const uint32_t case_counts[] = {0,   1,   2,   3,    4,    5,    7,    8,    9,    10,  15,
                                       16,  17,  31,  32,   33,   63,   64,   65,   127,  128, 255,
                                       256, 511, 513, 1000, 1023, 1024, 2047, 4096, 10000};
enum { CASE_COUNTS = sizeof case_counts / sizeof *case_counts };

typedef enum case_points {
    CASE_UNIFORM,
    CASE_ALL_EQUAL,
    CASE_DUPLICATES, /* eight distinct values an axis */
    CASE_COLLINEAR,  /* on an axis-aligned line */
    CASE_DIAGONAL,   /* on a slanted line */
    CASE_COPLANAR,   /* z = 0.25 */
    CASE_CLUSTERED,  /* nine in ten in a tiny spot */
    CASE_STRETCHED,  /* 100 : 1 : 1 */
    CASE_SORTED,
    CASE_HUGE,        /* 1e30 */
    CASE_TINY,        /* 1e-30 */
    CASE_WILD,        /* exponents from 2^-60 to 2^60, both signs */
    CASE_SIGNED_ZERO, /* -0 and +0 mixed */
    CASE_POINT_SETS
} case_points;

static inline const char *case_points_name(case_points which) {
    static const char *const names[] = {
        "uniform",   "all equal", "duplicates", "collinear", "diagonal", "coplanar",   "clustered",
        "stretched", "sorted",    "huge",       "tiny",      "wild",     "signed zero"};
    return names[which];
}

static inline vec3 case_point(case_points which, uint32_t i, uint32_t count) {
    const rng_block r = rng_draw(rng_key_make(12345, (uint32_t)which, i), 0, 0);
    const vec3 u = vec3_make(r.value[0], r.value[1], r.value[2]);
    switch (which) {
    case CASE_ALL_EQUAL: return vec3_make(0.25f, -3, 7);
    case CASE_DUPLICATES:
        return vec3_make(floorf(8 * u.x) / 8, floorf(8 * u.y) / 8, floorf(8 * u.z) / 8);
    case CASE_COLLINEAR: return vec3_make(u.x, 0.5f, 0.5f);
    case CASE_DIAGONAL: return vec3_make(u.x, 2 * u.x, -u.x);
    case CASE_COPLANAR: return vec3_make(u.x, u.y, 0.25f);
    case CASE_CLUSTERED: return i % 10 ? vec3_along(vec3_all(0.3f), 1e-4f, u) : u;
    case CASE_STRETCHED: return vec3_make(100 * u.x, u.y, u.z);
    case CASE_SORTED: {
        const float s = (float)i / (float)(count ? count : 1);
        return vec3_make(s, s, s);
    }
    case CASE_HUGE: return vec3_scale(vec3_sub(u, vec3_all(0.5f)), 2e30f);
    case CASE_TINY: return vec3_scale(vec3_sub(u, vec3_all(0.5f)), 2e-30f);
    case CASE_WILD: {
        const float s = r.value[3] < 0.5f ? -1.0f : 1.0f;
        return vec3_make(s * ldexpf(1, (int)(u.x * 120) - 60),
                         -s * ldexpf(1, (int)(u.y * 120) - 60),
                         s * ldexpf(1, (int)(u.z * 120) - 60));
    }
    case CASE_SIGNED_ZERO:
        return vec3_make(u.x < 0.5f ? -0.0f : 0.0f, u.y < 0.5f ? -0.0f : 0.0f, floorf(4 * u.z));
    default: return u;
    }
}

#endif

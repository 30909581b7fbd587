/* Degenerate and extreme inputs for every tree: sets of points and triangles by name, as pure
   functions of (case, count). Tests loop over the tables. */
#ifndef KD_TESTS_CASES_H
#define KD_TESTS_CASES_H
#include "core/math/geometry.h"
#include "core/math/rng.h"

/* empty, one, and around powers of two */
static const uint32_t case_counts[] = {0,   1,   2,   3,    4,    5,    7,    8,    9,    10,  15,
                                       16,  17,  31,  32,   33,   63,   64,   65,   127,  128, 255,
                                       256, 511, 513, 1000, 1023, 1024, 2047, 4096, 10000};
enum { CASE_COUNTS = sizeof case_counts / sizeof *case_counts };

typedef enum case_points {
    CASE_UNIFORM,
    CASE_ALL_EQUAL,
    CASE_DUPLICATES, /* eight distinct values per axis */
    CASE_COLLINEAR,  /* on an axis-aligned line */
    CASE_DIAGONAL,   /* on a slanted line */
    CASE_COPLANAR,   /* z = 0.25 */
    CASE_CLUSTERED,  /* nine in ten in a tiny cluster */
    CASE_STRETCHED,  /* extents of 100 : 1 : 1 */
    CASE_SORTED,
    CASE_HUGE,        /* coordinates of about 1e30 */
    CASE_TINY,        /* coordinates of about 1e-30 */
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

typedef enum case_triangles {
    CASE_SOUP,      /* small ones, anywhere in the unit cube */
    CASE_LONG_SOUP, /* as long as the cube */
    CASE_SAME,      /* all equal */
    CASE_FLAT,      /* in the plane z = 0.25 */
    CASE_SLANTED,   /* in one slanted plane */
    CASE_LAYERS,    /* in five planes across each axis: many lie in a plane, many tie */
    CASE_SLIVERS,
    CASE_FAN,        /* all through one point */
    CASE_DEGENERATE, /* two in three have no area */
    CASE_HUGE_SOUP,  /* coordinates of about 1e30 */
    CASE_TINY_SOUP,  /* coordinates of about 1e-30 */
    CASE_FAR_SOUP,   /* of size 1, at a distance of 1000 */
    CASE_WILD_SOUP,  /* sizes from 2^-30 to 2^10 */
    CASE_TRIANGLE_SETS
} case_triangles;

static inline const char *case_triangles_name(case_triangles which) {
    static const char *const names[] = {
        "soup", "long soup",  "same",      "flat",      "slanted",  "layers",   "slivers",
        "fan",  "degenerate", "huge soup", "tiny soup", "far soup", "wild soup"};
    return names[which];
}

/* Computes the corners of triangle i of `count`. */
static inline void case_triangle(case_triangles which, uint32_t i, uint32_t count, vec3 corner[3]) {
    const rng_key key = rng_key_make(54321, (uint32_t)which, i);
    const rng_block at = rng_draw(key, 0, 0);
    const vec3 centre = vec3_make(at.value[0], at.value[1], at.value[2]);
    (void)count;
    for (uint32_t k = 0; k < 3; ++k) {
        const rng_block r = rng_draw(key, 1, k);
        const vec3 u = vec3_make(r.value[0], r.value[1], r.value[2]);
        const vec3 offset = vec3_sub(u, vec3_all(0.5f)), near = vec3_along(centre, 0.2f, offset);
        const int axis = (int)(3 * at.value[3]);
        switch (which) {
        case CASE_LONG_SOUP: corner[k] = u; break;
        case CASE_SAME: corner[k] = vec3_make(k == 1, k == 2, 0.5f); break;
        case CASE_FLAT: corner[k] = vec3_make(near.x, near.y, 0.25f); break;
        case CASE_SLANTED: corner[k] = vec3_make(near.x, near.y, near.x + near.y); break;
        case CASE_LAYERS:
            corner[k] =
                vec3_make(floorf(8 * near.x) / 8, floorf(8 * near.y) / 8, floorf(8 * near.z) / 8);
            vec3_set_axis(&corner[k], axis, floorf(5 * centre.x) / 8);
            break;
        case CASE_SLIVERS: corner[k] = k == 2 ? vec3_along(corner[1], 1e-5f, offset) : near; break;
        case CASE_FAN: corner[k] = k ? u : vec3_all(0.5f); break;
        case CASE_DEGENERATE: corner[k] = k && i % 3 ? corner[0] : near; break;
        case CASE_HUGE_SOUP: corner[k] = vec3_scale(near, 1e30f); break;
        case CASE_TINY_SOUP: corner[k] = vec3_scale(near, 1e-30f); break;
        case CASE_FAR_SOUP: corner[k] = vec3_add(near, vec3_make(1000, -1000, 1000)); break;
        case CASE_WILD_SOUP:
            corner[k] = vec3_along(centre, ldexpf(1, (int)(40 * at.value[3]) - 30), offset);
            break;
        default: corner[k] = near; break;
        }
    }
}

#endif

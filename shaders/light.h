/* Where light comes from. Each emitting triangle is a light of its own. */
#ifndef KD_SHADERS_LIGHT_H
#define KD_SHADERS_LIGHT_H
#include "core/math/geometry.h"

typedef enum light_kind {
    LIGHT_TRIANGLE = 0,
    LIGHT_POINT = 1,
    LIGHT_SPOT = 2,
    LIGHT_DIRECTIONAL = 3,
    LIGHT_ENVIRONMENT = 4
} light_kind;

typedef struct light {
    int32_t kind;      /* light_kind */
    uint32_t triangle; /* LIGHT_TRIANGLE: which */
    vec3 position;     /* point, spot; triangle: its centre (light_on_triangle) */
    vec3 direction;    /* spot, directional: unit, the way the light flies; triangle: its normal */
    vec3 emitted; /* triangle: radiance W/(sr m^2) (times its emission map); point, spot (on the
                     axis): radiant intensity W/sr; directional: irradiance W/m^2 across the
                     beam; environment: radiance (times its map) */
    float cos_inner, cos_outer; /* spot: full inside, smooth falloff to zero outside */
    float area;                 /* triangle: m^2 (one side) */
    uint32_t two_sided;         /* triangle */
    float power; /* W emitted into the scene: mean of the three channels; drives the choice */
} light;

/* A spot's share of its intensity at the cosine between its axis and a direction: 1 inside, a
   smooth step in the cosine down to 0. Its integral over directions is pi (2 - cos_inner -
   cos_outer), so power = pi (2 - cos_inner - cos_outer) x mean intensity. */
KD_FN float light_spot_falloff(const light *spot, float cosine) {
    if (cosine >= spot->cos_inner) return 1;
    if (!(cosine > spot->cos_outer)) return 0;
    const float t = (cosine - spot->cos_outer) / (spot->cos_inner - spot->cos_outer);
    return t * t * (3 - 2 * t);
}

/* Light from infinity in all directions: constant, or a latitude-longitude image (y is up, the
   image's centre is towards -z) with its sampling tables. */
typedef struct environment_view {
    uint32_t light;          /* index of its light record, KD_NONE: there is none */
    uint32_t texture;        /* index of its image, KD_NONE: constant */
    float rotation;          /* radians about y */
    int32_t width, height;   /* of the sampling tables */
    const float *row_cdf;    /* height + 1, 0..1: marginal over rows, weighted by sin(theta) */
    const float *column_cdf; /* height x (width + 1): conditional in each row */
    vec3 scene_centre;       /* bounding sphere of the scene */
    float scene_radius;
} environment_view;

#endif

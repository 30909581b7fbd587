/* The options, the state and the result of a path from the camera (path.h). */
#ifndef KD_SHADERS_PATH_STATE_H
#define KD_SHADERS_PATH_STATE_H
#include "shaders/surface.h"

enum { PATH_ROULETTE_DEPTH = 5 };
/* The greatest number of scattering events that wavefronts count. */
enum { PATH_SCATTERED_MAX = 127 };
/* Dimensions of sobol_draw. The camera uses bounce 0; dimension 4 belongs to eye_path.h. */
enum {
    PATH_DRAW_CAMERA = 0,
    PATH_DRAW_SCATTER = 1,
    PATH_DRAW_LIGHT = 2,
    PATH_DRAW_OPACITY = 3,
    PATH_DRAW_MEDIUM = 5,
    PATH_DRAW_WAVELENGTH = 6,
    PATH_DRAW_TIME = 7 /* at bounce 0 */
};

typedef struct path_options {
    /* maximum number of vertices: surfaces, including the emitting one, and scattering events in
       media */
    int32_t max_depth;
    /* maximum number of specular events, at mirrors and smooth glass, less that of the others;
       0: no limit. Light that total reflection traps in glass would hold up wavefronts. */
    int32_t max_specular;
    /* maximum number of scattering events other than at mirrors and smooth glass; 1: direct light
       only */
    int32_t scatterings;
    bool cutouts; /* some material has opacity below 1 or is hidden */
    /* GGX alpha that a path does not fall below after it has scattered evenly; 0: no limit */
    float least_alpha;
    float clamp; /* limit of the largest channel of indirect light; 0: none */
} path_options;

typedef struct path_result {
    vec3 radiance; /* W/(sr m^2) */
    /* first surface, also behind media; first.triangle is KD_NONE if there is none */
    surface first;
    uint32_t rays;
} path_result;

/* The state of a path between two vertices. */
typedef struct path_state {
    struct ray ray;
    vec3 throughput;
    vec3 from, from_normal; /* last scattering vertex, with the normal passed to light_draw there */
    float pdf;     /* 1/sr, with which ray.direction was sampled there; below 0: by the camera */
    bool specular; /* light sampling could not have sampled the direction */
    /* eta scale: product of eta^2 of the media entered; radiance is scaled by its inverse */
    float eta_scale;
    int32_t scattered;
    uint32_t step;        /* surfaces hit, skipped ones included: the bounce of random numbers */
    float wavelength;     /* micrometres; 0: white */
    bool flies;           /* media are sampled; else they are ignored */
    bool in_volume;       /* path_advance ended in a medium, which scatters at `place` */
    uint32_t medium;      /* the current medium */
    uint32_t instance_id; /* instance that the ray has hit; KD_NONE: not instanced */
    uint32_t layers;      /* cut-outs passed since the last vertex */
    vec3 place;
} path_state;

KD_FN path_state path_begin(ray ray) {
    path_state state;
    state.ray = ray;
    state.throughput = vec3_all(1);
    state.from = ray.origin;
    state.from_normal = vec3_all(0);
    state.pdf = -1;
    state.specular = true; /* light sampling does not apply to camera rays */
    state.eta_scale = 1;
    state.scattered = 0;
    state.step = 0;
    state.wavelength = 0;
    state.flies = state.in_volume = false;
    state.medium = MEDIUM_FOG;
    state.instance_id = KD_NONE;
    state.layers = 0;
    state.place = ray.origin;
    return state;
}

#endif

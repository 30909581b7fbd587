/* Paths from the lights, and their contributions to pixels in fixed point. */
#ifndef KD_RENDER_INTEGRATORS_LIGHT_PATH_H
#define KD_RENDER_INTEGRATORS_LIGHT_PATH_H
#include "photon/emission/photon_trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct light_limits {
    int32_t max_depth;    /* maximum number of surfaces between light and camera */
    int32_t max_specular; /* see path_options */
} light_limits;

typedef struct light_path {
    photon_path photon_state;
    photon_turn turn; /* kind of the current vertex; PHOTON_ENDS: none yet */
    surface at;       /* valid if `turn` is PHOTON_SCATTERS */
    uint32_t landed;  /* vertices so far, on surfaces and in media */
    uint32_t rays;
    bool over;
} light_path;

KD_FN light_path light_path_begin(const scene_view *scene, const photon_emission *emission,
                                  uint64_t path) {
    light_path begun;
    photon_ledger ledger;
    memset(&begun, 0, sizeof begun);
    begun.over = !photon_path_begin(scene, emission, path, &begun.photon_state, &ledger);
    begun.rays = ledger.rays;
    return begun;
}

/* Returns true if the path has as many vertices as the limits allow. */
KD_FN bool light_path_is_over(const light_limits *limits, const light_path *path) {
    const int32_t next = (int32_t)path->landed + 1;
    const int32_t scattered = (int32_t)path->photon_state.scattered;
    return path->over || next >= limits->max_depth ||
           (limits->max_specular && next - 2 * scattered >= limits->max_specular);
}

/* Handles the end of the path's ray, at `hit` or in a medium before it; returns false if there is
   no vertex. `kind`: as for surface_of_hit. */
KD_FN bool light_path_arrive(const scene_view *scene, light_path *path, ray_hit hit, bool in_volume,
                             int32_t kind) {
    photon_ledger discarded;
    memset(&discarded, 0, sizeof discarded);
    ++path->landed;
    path->turn =
        photon_path_arrive(scene, &path->photon_state, hit, in_volume, kind, &path->at, &discarded);
    return path->turn != PHOTON_ENDS;
}

/* Follows the path's ray to the next vertex, on a surface or in a medium; returns false if there is
   none. */
KD_FN bool light_path_land(const scene_view *scene, light_path *path) {
    photon_path *photon_state = &path->photon_state;
    photon_ledger discarded;
    ray_hit hit;
    bool in_volume;
    memset(&discarded, 0, sizeof discarded);
    do {
        ++path->rays;
        ++photon_state->step;
        hit = tritree_closest(&scene->tree, photon_state->flying.ray);
    } while (photon_passes(scene, &photon_state->flying, photon_state->key, photon_state->step,
                           &hit, &photon_state->layers, &in_volume, &discarded));
    return light_path_arrive(scene, path, hit, in_volume, SURFACE_ANY);
}

/* Converts a channel of a splat to fixed point: sums of integers do not depend on the order. Values
   above the limit are clamped and counted. */
#define LIGHT_SPLAT_LIMIT 0x1p36f
KD_FN int64_t light_splat_units(float value, float unit, uint32_t *cut) {
    float units = value / unit;
    if (units > LIGHT_SPLAT_LIMIT) {
        units = LIGHT_SPLAT_LIMIT;
        ++*cut;
    }
    return (int64_t)rintf(units);
}

#ifdef __cplusplus
}
#endif

#endif

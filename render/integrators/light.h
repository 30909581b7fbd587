/* Light tracing: paths from the light sources whose vertices are connected to the camera; the state
   kept between passes, on the CPU or on a CUDA device. */
#ifndef KD_RENDER_INTEGRATORS_LIGHT_H
#define KD_RENDER_INTEGRATORS_LIGHT_H
#include "core/status.h"
#include "photon/density/estimate_radius.h"
#include "photon/emission/photon_trace.h"
#include "render/integrators/pixel_methods.h"
#include "shaders/path.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One light path and its contributions to a pinhole camera.
   Source: Dutre, Lafortune and Willems 1993, "Monte Carlo light tracing with direct computation of
           pixel intensities"; the camera's factor after Veach 1997, section 8.3.
   Idea: flux P that arrives at distance d contributes f P |cos_surface| / (d^2 cos_camera^3 A) to
         its pixel, where A is the area of the pixel on an image plane at distance 1. Sums are
         divided by the number of paths.
   Invariants: a pure function of (seed, pass, path); traces the same photons as photon_trace. */

typedef struct light_eye {
    camera view;
    int32_t width, height;
    int32_t max_depth;    /* maximum number of surfaces between light and camera */
    int32_t max_specular; /* see path_options */
    bool cutouts;
} light_eye;

typedef struct light_path {
    photon_path photon_state;
    photon_turn turn; /* kind of the current vertex; PHOTON_ENDS: none yet */
    surface at;       /* valid if `turn` is PHOTON_SCATTERS */
    uint32_t landed;  /* vertices so far, on surfaces and in media */
    uint32_t rays;
    bool over;
} light_path;

typedef struct light_splat {
    int32_t x, y;
    vec3 radiance; /* W/(sr m^2), not yet divided by the number of paths */
} light_splat;

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
KD_FN bool light_path_is_over(const light_eye *eye, const light_path *path) {
    const int32_t next = (int32_t)path->landed + 1;
    const int32_t scattered = (int32_t)path->photon_state.scattered;
    return path->over || next >= eye->max_depth ||
           (eye->max_specular && next - 2 * scattered >= eye->max_specular);
}

/* Handles the end of the path's ray, at `hit` or in a medium before it; returns false if there is
   no vertex. */
KD_FN bool light_path_arrive(const scene_view *scene, light_path *path, ray_hit hit,
                             bool in_volume) {
    photon_ledger discarded;
    memset(&discarded, 0, sizeof discarded);
    ++path->landed;
    path->turn =
        photon_path_arrive(scene, &path->photon_state, hit, in_volume, &path->at, &discarded);
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
    return light_path_arrive(scene, path, hit, in_volume);
}

/* Advances to the next vertex; returns false if the path has ended. */
KD_FN bool light_path_next(const scene_view *scene, const light_eye *eye, light_path *path) {
    const photon_filter all = {0, 0, 0, 0, false, false};
    photon_ledger discarded;
    memset(&discarded, 0, sizeof discarded);
    if (light_path_is_over(eye, path)) return false;
    if (path->landed > 0 &&
        !photon_path_go_on(scene, &all, path->turn, &path->at, &path->photon_state, &discarded))
        return false;
    return light_path_land(scene, path);
}

/* Projects a point to its pixel and computes the radiance per flux; returns false outside the
   image. */
KD_FN bool light_eye_project(const light_eye *eye, vec3 point, light_splat *out, float *per_area) {
    const frame3 axes = camera_frame(&eye->view);
    const vec3 local = frame3_to_local(&axes, vec3_sub(point, eye->view.eye));
    if (!(local.z > 0)) return false;
    const float half = float_tan(eye->view.fov_degrees * (KD_PI / 360));
    const float pixel = 2 * half / (float)eye->height;
    const float x = local.x / local.z / pixel + 0.5f * (float)eye->width;
    const float y = 0.5f * (float)eye->height - local.y / local.z / pixel;
    if (!(x >= 0 && y >= 0 && x < (float)eye->width && y < (float)eye->height)) return false;
    out->x = (int32_t)x;
    out->y = (int32_t)y;
    const float distance2 = vec3_length2(local);
    const float cosine = local.z / sqrtf(distance2);
    *per_area = 1 / (distance2 * cosine * cosine * cosine * pixel * pixel);
    return *per_area <= FLT_MAX;
}

/* Contribution of a vertex in a medium. */
KD_FN bool light_path_splat_in(const scene_view *scene, const light_eye *eye, light_path *path,
                               light_splat *out) {
    float per_area;
    const emitted_photon *flying = &path->photon_state.flying;
    const vec3 place = flying->ray.origin;
    if (!light_eye_project(eye, place, out, &per_area)) return false;
    const vec3 photon_state = vec3_sub(eye->view.eye, place);
    const float phase = medium_phase(medium_of(scene, flying->medium)->g,
                                     vec3_dot(flying->ray.direction, vec3_normalize(photon_state)));
    const vec3 passing = path_transmittance(scene, SCENE_TREE, ray_make(place, photon_state, 0, 1),
                                            flying->medium, eye->cutouts, &path->rays);
    out->radiance = vec3_scale(vec3_mul(flying->power, passing), phase * per_area);
    return vec3_largest(out->radiance) > 0 && vec3_is_finite(out->radiance);
}

/* Contribution of the current vertex to the camera; returns false if there is none. */
KD_FN bool light_path_splat(const scene_view *scene, const light_eye *eye, light_path *path,
                            light_splat *out) {
    float per_area;
    const surface *at = &path->at;
    if (path->turn == PHOTON_SCATTERS_IN_VOLUME) return light_path_splat_in(scene, eye, path, out);
    if (surface_is_specular(at)) return false;
    if (!light_eye_project(eye, at->position, out, &per_area)) return false;
    const vec3 wo = vec3_normalize(vec3_sub(eye->view.eye, at->position));
    const emitted_photon *flying = &path->photon_state.flying;
    float cosine = fabsf(vec3_dot(wo, at->geometric));
    if (surface_is_tilted(at)) {
        out->radiance =
            vec3_mul(bsdf_flux(at, vec3_negate(flying->ray.direction), wo), flying->power);
        cosine = 1; /* included */
    } else {
        const photon landed = photon_landed(at, flying, 0, 0, PHOTON_DIRECT);
        out->radiance = photon_scattered(at, wo, &landed);
    }
    if (vec3_is_zero(out->radiance)) return false;
    const uint32_t slot =
        medium_beyond_surface(at, vec3_negate(flying->ray.direction), wo, flying->medium);
    const vec3 visible = path_transmittance(scene, SCENE_TREE, surface_connect(at, eye->view.eye),
                                            slot, eye->cutouts, &path->rays);
    out->radiance = vec3_mul(out->radiance, vec3_scale(vec3_scale(visible, cosine), per_area));
    return vec3_largest(out->radiance) > 0 && vec3_is_finite(out->radiance);
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

typedef struct light_counts {
    uint64_t rays;
    uint64_t cut; /* number of clamped values */
} light_counts;

typedef struct light_state {
    light_eye eye;
    photon_emission emission;
    path_options straight; /* paths from the camera that see light sources directly */
    int64_t *sums;         /* 3 per pixel, in units; on the device if the frame is rendered there */
    float unit;            /* radiance of a fixed-point unit, W/(sr m^2) */
    uint32_t paths;        /* light paths per pass */
    uint32_t first, share; /* the part of the pass's paths that this rank traces */
    light_counts counts;   /* counts not yet added to the statistics */
    light_counts *device_counts; /* `counts` in device memory; NULL: on the CPU */
} light_state;

light_pixels light_state_pixels(const light_state *state);

/* Operations on a CUDA device, defined in light.cu. */
typedef struct light_device {
    /* Allocates sums and counts in memory of the current device. */
    kd_status (*place)(light_state *state, uint64_t sums);
    void (*leave)(light_state *owned);
    /* Traces the paths of a pass, waits, and adds to `counts`. `scene` holds device pointers. */
    kd_status (*trace)(light_state *state, const scene_view *scene);
} light_device;
extern const light_device light_on_device;

#ifdef __cplusplus
}
#endif

#endif

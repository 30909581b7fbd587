/* One path of light and what each of its surfaces sends straight into a pinhole camera.
   Source: Dutre, Lafortune and Willems 1993, "Monte Carlo light tracing with direct computation of
           pixel intensities"; the camera's factor after Veach 1997, section 8.3.
   Idea: flux P that lands at distance d shows as f P |cos_surface| / (d^2 cos_camera^3 A) in the
         pixel, A the pixel's area on a film at distance 1, P over the number of paths.
   Invariants: a pure function of (seed, pass, path); the same photons as photon_trace's. */
#ifndef KD_RENDER_INTEGRATORS_LIGHT_PATH_H
#define KD_RENDER_INTEGRATORS_LIGHT_PATH_H
#include "photon/density/fixed_radius.h"
#include "photon/emission/photon_trace.h"
#include "shaders/path.h"

typedef struct light_eye {
    camera view;
    int32_t width, height;
    int32_t max_depth; /* surfaces of a path from light to eye */
    bool cutouts;
} light_eye;

typedef struct light_path {
    rng_key key;
    emitted_photon flying;
    surface at;      /* where it has landed */
    bool strayed;    /* a medium scatters it instead, at flying.cast.origin */
    uint32_t landed; /* surfaces met */
    uint32_t step, rays;
    bool over;
} light_path;

typedef struct light_splat {
    int32_t x, y;
    vec3 radiance; /* W/(sr m^2), to be divided by the number of paths */
} light_splat;

KD_FN light_path light_path_begin(const scene_view *scene, const photon_emission *emission,
                                  uint64_t path) {
    light_path begun;
    memset(&begun, 0, sizeof begun);
    begun.key = rng_key_make(emission->seed, emission->pass, path);
    begun.over = !light_emit(scene, emission, path, &begun.flying);
    if (!begun.over && scene->medium_count > 0)
        begun.flying.where = passage_around(scene, SCENE_TREE, begun.flying.cast, &begun.rays);
    return begun;
}

/* How the surface where the path has landed sends it on; false: not at all. */
KD_FN bool light_path_leave(light_path *path, photon_ledger *ledger) {
    emitted_photon *flying = &path->flying;
    const vec3 wo = vec3_negate(flying->cast.direction);
    const bsdf_sample next =
        bsdf_draw(&path->at, wo, rng_draw(path->key, path->step, PHOTON_DRAW_SCATTER), BSDF_FLUX);
    const vec3 scattered = vec3_mul(flying->power, next.weight);
    if (!(vec3_largest(scattered) > 0)) return false;
    flying->power =
        photon_roulette(flying->power, scattered,
                        rng_draw(path->key, path->step, PHOTON_DRAW_ROULETTE).value[0], ledger);
    if (vec3_is_zero(flying->power)) return false;
    flying->cast = surface_leave(&path->at, next.direction, INFINITY);
    if (next.transmitted && path->at.beyond != MEDIUM_SAME) flying->where = path->at.beyond;
    return true;
}

/* To the next surface or place in a medium; false if the path is over. */
KD_FN bool light_path_next(const scene_view *scene, const light_eye *eye, light_path *path) {
    photon_ledger ledger;
    memset(&ledger, 0, sizeof ledger);
    if (path->over || (int32_t)path->landed + 1 >= eye->max_depth) return false;
    if (path->strayed)
        photon_stray(scene, &path->flying, path->key, path->step);
    else if (path->landed > 0 && !light_path_leave(path, &ledger))
        return false;
    uint32_t layers = 0;
    const ray_hit hit = photon_advance(scene, &path->flying, path->key, &path->step, &layers,
                                       &path->strayed, &ledger);
    path->rays += ledger.rays;
    ++path->landed;
    if (path->strayed) return true;
    if (hit.triangle == KD_NONE) return false;
    photon_meet(scene, &path->flying, hit, path->key, path->step, &ledger, &path->at);
    return true;
}

/* Where a point is seen, and how much of the flux there; false: not in the picture. */
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

/* The same from a place in a medium. */
KD_FN bool light_path_splat_in(const scene_view *scene, const light_eye *eye, light_path *path,
                               light_splat *out) {
    float per_area;
    const emitted_photon *flying = &path->flying;
    const vec3 place = flying->cast.origin;
    if (!light_eye_project(eye, place, out, &per_area)) return false;
    const vec3 way = vec3_sub(eye->view.eye, place);
    const float phase = medium_phase(medium_of(scene, flying->where)->g,
                                     vec3_dot(flying->cast.direction, vec3_normalize(way)));
    const vec3 passing = path_passage(scene, SCENE_TREE, ray_make(place, way, 0, 1), flying->where,
                                      eye->cutouts, &path->rays);
    out->radiance = vec3_scale(vec3_mul(flying->power, passing), phase * per_area);
    return vec3_largest(out->radiance) > 0 && vec3_is_finite(out->radiance);
}

/* What the surface that the path is at sends to the eye; false: nothing. */
KD_FN bool light_path_splat(const scene_view *scene, const light_eye *eye, light_path *path,
                            light_splat *out) {
    float per_area;
    const surface *at = &path->at;
    if (path->strayed) return light_path_splat_in(scene, eye, path, out);
    if (surface_is_specular(at)) return false;
    if (!light_eye_project(eye, at->position, out, &per_area)) return false;
    const vec3 wo = vec3_normalize(vec3_sub(eye->view.eye, at->position));
    photon landed = photon_landed(at, &path->flying, 0, 0, PHOTON_DIRECT);
    out->radiance = photon_scattered(at, wo, &landed);
    if (vec3_is_zero(out->radiance)) return false;
    const uint32_t where =
        passage_from(at, vec3_negate(path->flying.cast.direction), wo, path->flying.where);
    const vec3 visible = path_passage(scene, SCENE_TREE, surface_connect(at, eye->view.eye), where,
                                      eye->cutouts, &path->rays);
    const float cosine = fabsf(vec3_dot(wo, at->geometric));
    out->radiance = vec3_mul(out->radiance, vec3_scale(vec3_scale(visible, cosine), per_area));
    return vec3_largest(out->radiance) > 0 && vec3_is_finite(out->radiance);
}

/* A splat's channel in whole units, which add up to the same in any order. One that is larger than
   a sum may hold is cut and counted. */
#define LIGHT_SPLAT_LIMIT 0x1p36f
KD_FN int64_t light_splat_units(float value, float unit, uint32_t *cut) {
    float units = value / unit;
    if (units > LIGHT_SPLAT_LIMIT) {
        units = LIGHT_SPLAT_LIMIT;
        ++*cut;
    }
    return (int64_t)rintf(units);
}

#endif

/* One sample of one pixel: where its ray comes from, and what the film takes of it. What all
   integrators share, on CPU and GPU. */
#ifndef KD_RENDER_FRAME_PIXEL_H
#define KD_RENDER_FRAME_PIXEL_H
#include "render/frame/pixel_filter.h"
#include "shaders/path.h"
#include "shaders/scene_view.h"

enum { PIXEL_PASS = 0x70697865 }; /* rng_key.pass of pixel samples: none of a photon's */

/* What is looked at, from where, by how many pixels. */
typedef struct pixel_view {
    const scene_view *scene;
    camera eye, eye_end; /* as the shutter opens and, if it moves, as it closes */
    bool moves;
    int32_t width, height; /* of the whole picture */
    int32_t filter;        /* pixel_filter */
    uint64_t seed;
} pixel_view;

/* Which sample of which pixel. */
typedef struct pixel_request {
    int32_t x, y;
    uint32_t sample;
} pixel_request;

typedef struct pixel_sample {
    vec3 radiance; /* W/(sr m^2) */
    float alpha;   /* 1: a surface or a sky is seen */
    float depth;   /* distance along the view axis of the first hit, INFINITY: none */
    vec3 normal;   /* shading normal of the first hit, world */
    vec3 albedo;   /* of the first hit */
    uint32_t rays; /* cast for this sample */
} pixel_sample;

/* Random numbers of a pixel's sample. */
KD_FN rng_key pixel_key(const pixel_view *of, int32_t x, int32_t y, uint32_t sample) {
    const uint32_t pixel = (uint32_t)y * (uint32_t)of->width + (uint32_t)x;
    return rng_key_make(of->seed, PIXEL_PASS, sobol_path(pixel, sample));
}

/* Its ray from the camera by `random`, drawn as PATH_DRAW_CAMERA. `sight`: of the eye as the
   shutter opens. */
KD_FN ray pixel_ray_by(const pixel_view *of, const camera_sight *sight, int32_t x, int32_t y,
                       rng_key key, rng_block random) {
    if (of->filter != PIXEL_FILTER_BOX) {
        const vec2 place = pixel_filter_draw(of->filter, random.value[0], random.value[1]);
        random.value[0] = place.x;
        random.value[1] = place.y;
    }
    if (!of->moves) return camera_ray_by(&of->eye, sight, of->width, of->height, x, y, random);
    const float time = sobol_draw(key, 0, PATH_DRAW_TIME).value[0];
    const camera eye = camera_between(&of->eye, &of->eye_end, time);
    return camera_ray(&eye, of->width, of->height, x, y, random);
}
KD_FN ray pixel_ray(const pixel_view *of, int32_t x, int32_t y, rng_key key) {
    const camera_sight sight = camera_sight_of(&of->eye, of->height);
    return pixel_ray_by(of, &sight, x, y, key, sobol_draw(key, 0, PATH_DRAW_CAMERA));
}

/* What the film takes: radiance, and the first surface that was met (triangle KD_NONE: none).
   `forward`: of the eye's axes. */
KD_FN pixel_sample pixel_of_by(const pixel_view *of, vec3 forward, const ray *cast,
                               const surface *first, vec3 radiance, uint32_t rays) {
    pixel_sample sample;
    const bool hit = first->triangle != KD_NONE;
    sample.radiance = radiance;
    sample.alpha = hit || of->scene->environment.light != KD_NONE ? 1 : 0;
    sample.depth = INFINITY;
    sample.normal = sample.albedo = vec3_all(0);
    sample.rays = rays;
    if (!hit) return sample;
    sample.depth = vec3_dot(vec3_sub(first->position, of->eye.eye), forward);
    const bool towards = vec3_dot(first->geometric, cast->direction) < 0;
    sample.normal = towards ? first->normal : vec3_negate(first->normal);
    sample.albedo = surface_albedo(first);
    return sample;
}
KD_FN pixel_sample pixel_of(const pixel_view *of, const ray *cast, const surface *first,
                            vec3 radiance, uint32_t rays) {
    return pixel_of_by(of, camera_frame(&of->eye).normal, cast, first, radiance, rays);
}

/* By the filter, where it has lobes of both signs; before the film takes the sample. */
KD_FN void pixel_weigh(const pixel_view *of, int32_t x, int32_t y, uint32_t number,
                       pixel_sample *sample) {
    if (of->filter != PIXEL_FILTER_MITCHELL) return;
    const rng_block random = sobol_draw(pixel_key(of, x, y, number), 0, PATH_DRAW_CAMERA);
    const vec2 place = pixel_filter_draw(of->filter, random.value[0], random.value[1]);
    const float weight = pixel_filter_weight(of->filter, place);
    sample->radiance = vec3_scale(sample->radiance, weight);
    sample->alpha *= weight;
}

/* --- sums of samples -------------------------------------------------------------------------- */

typedef struct film_pixel {
    double radiance[3];
    double squares; /* of the mean of a sample's channels: film_error */
    float alpha;
    float depth, normal[3], albedo[3]; /* over the samples that met a surface */
    uint32_t samples, hits;
} film_pixel;

KD_FN void film_pixel_add_vector(float to[3], vec3 value) {
    to[0] += value.x;
    to[1] += value.y;
    to[2] += value.z;
}

/* A sample that is not finite counts as black; false if it was such a one. */
KD_FN bool film_pixel_add(film_pixel *to, const pixel_sample *sample) {
    ++to->samples;
    const bool finite = vec3_is_finite(sample->radiance);
    if (finite) {
        to->radiance[0] += (double)sample->radiance.x;
        to->radiance[1] += (double)sample->radiance.y;
        to->radiance[2] += (double)sample->radiance.z;
        const double mean =
            ((double)sample->radiance.x + (double)sample->radiance.y + (double)sample->radiance.z) /
            3;
        to->squares += mean * mean;
    }
    to->alpha += sample->alpha;
    if (isfinite(sample->depth)) {
        ++to->hits;
        to->depth += sample->depth;
        film_pixel_add_vector(to->normal, sample->normal);
        film_pixel_add_vector(to->albedo, sample->albedo);
    }
    return finite;
}

#endif

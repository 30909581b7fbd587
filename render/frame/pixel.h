/* Code per pixel sample that all integrators share, on CPU and GPU: pixel filters, camera rays, and
   the sums that the film keeps. */
#ifndef KD_RENDER_FRAME_PIXEL_H
#define KD_RENDER_FRAME_PIXEL_H
#include "core/math/elementary.h"
#include "core/math/geometry.h"
#include "scenes/describe/render_options.h"
#include "shaders/path.h"
#include "shaders/scene_view.h"

/* Pixel filters. Samples are drawn in proportion to the filter (filter importance sampling) instead
   of being weighted and added to several pixels: pixels stay independent of each other.
   Source: Ernst, Stamminger, Greiner 2006, "Filter importance sampling"; the window is the
           four-term window of Harris 1978, with side lobes below -92 dB; Mitchell, Netravali 1988,
           "Reconstruction filters in computer graphics", B = C = 1/3.
   Idea: Blackman-Harris is separable and drawn by bisection of its integral, a sum of sines. The
         Gaussian is drawn in polar coordinates and truncated at PIXEL_FILTER_RADIUS. Mitchell's
         filter has negative lobes: its magnitude is drawn, separably, and the sample is weighted by
         the sign times the integral of the magnitude, +-1.145. This is unbiased, but adds noise
         even in areas of constant radiance. */

#define PIXEL_FILTER_RADIUS 1.5f   /* pixels */
#define PIXEL_FILTER_SIGMA 0.5f    /* standard deviation of the Gaussian, pixels */
#define MITCHELL_ZERO (8.0f / 7)   /* where the negative lobes begin, pixels; they end at 2 */
#define MITCHELL_BELOW 0.01749271f /* minus the integral of one lobe */

#define PIXEL_FILTER_ID(id, name) PIXEL_FILTER_##id,
typedef enum pixel_filter { PIXEL_FILTER_NAMES(PIXEL_FILTER_ID) PIXEL_FILTERS } pixel_filter;
#undef PIXEL_FILTER_ID

/* Integral of the window from 0 to t, divided by the whole integral; t in [0, 1]. */
KD_FN float blackman_harris_share(float t) {
    const float angle = 2 * KD_PI * t;
    const float s = float_sin(angle), c = float_cos(angle);
    /* sines of the double and the triple angle */
    const float s2 = 2 * s * c, s3 = s * (4 * c * c - 1);
    const float sines = 0.48829f * s - 0.5f * 0.14128f * s2 + 0.01168f / 3 * s3;
    return t - sines * (1 / (2 * KD_PI * 0.35875f));
}

KD_FN float blackman_harris_draw(float u) {
    enum { STEPS = 20 };
    float low = 0, high = 1;
    for (int i = 0; i < STEPS; ++i) {
        const float middle = 0.5f * (low + high);
        if (blackman_harris_share(middle) <= u)
            low = middle;
        else
            high = middle;
    }
    return (low + high - 1) * PIXEL_FILTER_RADIUS;
}

/* Integral of the magnitude of Mitchell's filter from 0 to x, for x <= 2. */
KD_FN float mitchell_share(float x) {
    const float middle = x * (16.0f / 3 + x * x * (-4 + 1.75f * x)) / 6;
    if (x <= 1) return middle;
    const float y = 2 - x, past = 7.0f / 18 * y * y * y * (y * 0.25f - 2.0f / 7);
    return x <= MITCHELL_ZERO ? 0.5f - past : 0.5f + 2 * MITCHELL_BELOW + past;
}

KD_FN float mitchell_draw(float u) {
    enum { STEPS = 20 };
    const float side = u < 0.5f ? -1.0f : 1.0f;
    const float share = fabsf(2 * u - 1) * (0.5f + 2 * MITCHELL_BELOW);
    float low = 0, high = 2;
    for (int i = 0; i < STEPS; ++i) {
        const float middle = 0.5f * (low + high);
        if (mitchell_share(middle) <= share)
            low = middle;
        else
            high = middle;
    }
    return side * 0.5f * (low + high);
}

/* Offset from the pixel's corner, in pixels; u, v in [0, 1). */
KD_FN_CALL vec2 pixel_filter_draw(int32_t filter, float u, float v) {
    if (filter == PIXEL_FILTER_BLACKMAN_HARRIS)
        return vec2_make(0.5f + blackman_harris_draw(u), 0.5f + blackman_harris_draw(v));
    if (filter == PIXEL_FILTER_GAUSSIAN) {
        const float cut = 0.98889100f; /* 1 - exp(-radius^2 / (2 sigma^2)) */
        const float far = sqrtf(-2 * float_log(1 - cut * u)) * PIXEL_FILTER_SIGMA;
        const float turn = 2 * KD_PI * v;
        return vec2_make(0.5f + far * float_cos(turn), 0.5f + far * float_sin(turn));
    }
    if (filter == PIXEL_FILTER_MITCHELL)
        return vec2_make(0.5f + mitchell_draw(u), 0.5f + mitchell_draw(v));
    return vec2_make(u, v);
}

/* Weight of a sample at that offset. */
KD_FN float pixel_filter_weight(int32_t filter, vec2 place) {
    if (filter != PIXEL_FILTER_MITCHELL) return 1;
    const bool below =
        (fabsf(place.x - 0.5f) > MITCHELL_ZERO) != (fabsf(place.y - 0.5f) > MITCHELL_ZERO);
    const float all = 1 + 4 * MITCHELL_BELOW; /* integral of the magnitude along one axis */
    return below ? -all * all : all * all;
}

enum { PIXEL_PASS = 0x70697865 }; /* rng_key.pass of pixel samples; photons never use this value */

/* Scene, camera and image size. */
typedef struct pixel_view {
    const scene_view *scene;
    camera eye, eye_end; /* at shutter opening and, if the camera moves, at shutter closing */
    bool moves;
    int32_t width, height; /* size of the full image */
    int32_t filter;        /* pixel_filter */
    uint64_t seed;
} pixel_view;

/* A sample of a pixel. */
typedef struct pixel_request {
    int32_t x, y;
    uint32_t sample;
} pixel_request;

typedef struct pixel_sample {
    vec3 radiance; /* W/(sr m^2) */
    float alpha;   /* 0: nothing is visible, and the environment is hidden */
    float depth;   /* depth of the first hit along the view axis; INFINITY: no hit */
    vec3 normal;   /* shading normal of the first hit, world space */
    vec3 albedo;   /* albedo of the first hit */
    uint32_t rays; /* rays traced for this sample */
} pixel_sample;

/* Random key of a pixel sample. */
KD_FN rng_key pixel_key(const pixel_view *view, int32_t x, int32_t y, uint32_t sample) {
    const uint32_t pixel = (uint32_t)y * (uint32_t)view->width + (uint32_t)x;
    return rng_key_make(view->seed, PIXEL_PASS, sobol_path(pixel, sample));
}

/* Camera ray of a sample; `random` was drawn in the dimension PATH_DRAW_CAMERA. `sight` is that of
   the camera at shutter opening. */
KD_FN ray pixel_ray_by(const pixel_view *view, const camera_sight *sight, int32_t x, int32_t y,
                       rng_key key, rng_block random) {
    if (view->filter != PIXEL_FILTER_BOX) {
        const vec2 place = pixel_filter_draw(view->filter, random.value[0], random.value[1]);
        random.value[0] = place.x;
        random.value[1] = place.y;
    }
    if (!view->moves)
        return camera_ray_by(&view->eye, sight, view->width, view->height, x, y, random);
    const float time = sobol_draw(key, 0, PATH_DRAW_TIME).value[0];
    const camera eye = camera_between(&view->eye, &view->eye_end, time);
    return camera_ray(&eye, view->width, view->height, x, y, random);
}
KD_FN ray pixel_ray(const pixel_view *view, int32_t x, int32_t y, rng_key key) {
    const camera_sight sight = camera_sight_of(&view->eye, view->height);
    return pixel_ray_by(view, &sight, x, y, key, sobol_draw(key, 0, PATH_DRAW_CAMERA));
}

/* Assembles a sample from its radiance and the first surface hit (triangle KD_NONE: none).
   `forward` is the camera's viewing direction. */
KD_FN pixel_sample pixel_of_by(const pixel_view *view, vec3 forward, const ray *ray,
                               const surface *first, vec3 radiance, uint32_t rays) {
    pixel_sample sample;
    const bool hit = first->triangle != KD_NONE;
    sample.radiance = radiance;
    sample.alpha = hit || !view->scene->environment.hidden ? 1 : 0;
    sample.depth = INFINITY;
    sample.normal = sample.albedo = vec3_all(0);
    sample.rays = rays;
    if (!hit) return sample;
    sample.depth = vec3_dot(vec3_sub(first->position, view->eye.eye), forward);
    const bool towards = vec3_dot(first->geometric, ray->direction) < 0;
    sample.normal = towards ? first->normal : vec3_negate(first->normal);
    sample.albedo = surface_albedo(first);
    return sample;
}
KD_FN pixel_sample pixel_of(const pixel_view *view, const ray *ray, const surface *first,
                            vec3 radiance, uint32_t rays) {
    return pixel_of_by(view, camera_frame(&view->eye).normal, ray, first, radiance, rays);
}

/* Applies the weight of Mitchell's filter; to be called before the sample is added to the film. */
KD_FN void pixel_weigh(const pixel_view *view, int32_t x, int32_t y, uint32_t number,
                       pixel_sample *sample) {
    if (view->filter != PIXEL_FILTER_MITCHELL) return;
    const rng_block random = sobol_draw(pixel_key(view, x, y, number), 0, PATH_DRAW_CAMERA);
    const vec2 place = pixel_filter_draw(view->filter, random.value[0], random.value[1]);
    const float weight = pixel_filter_weight(view->filter, place);
    sample->radiance = vec3_scale(sample->radiance, weight);
    sample->alpha *= weight;
}

/* --- sums of samples -------------------------------------------------------------------------- */

typedef struct film_pixel {
    double radiance[3];
    double squares; /* sum of the squares of all channels, for film_error */
    float first[3]; /* sum of the radiance of the first 2^k samples, the largest such number below
                       `samples`; for film_error */
    float alpha;
    float depth, normal[3], albedo[3]; /* sums over the samples that hit a surface */
    uint32_t samples, hits, unused;
} film_pixel;

KD_FN void film_pixel_add_vector(float to[3], vec3 value) {
    to[0] += value.x;
    to[1] += value.y;
    to[2] += value.z;
}

/* Adds a sample; one that is not finite is added as black, and the function returns false. */
KD_FN bool film_pixel_add(film_pixel *pixel, const pixel_sample *sample) {
    if ((pixel->samples & (pixel->samples - 1)) == 0 && pixel->samples)
        for (int c = 0; c < 3; ++c) pixel->first[c] = (float)pixel->radiance[c];
    ++pixel->samples;
    const bool finite = vec3_is_finite(sample->radiance);
    if (finite) {
        pixel->radiance[0] += (double)sample->radiance.x;
        pixel->radiance[1] += (double)sample->radiance.y;
        pixel->radiance[2] += (double)sample->radiance.z;
        pixel->squares += (double)sample->radiance.x * (double)sample->radiance.x +
                          (double)sample->radiance.y * (double)sample->radiance.y +
                          (double)sample->radiance.z * (double)sample->radiance.z;
    }
    pixel->alpha += sample->alpha;
    if (isfinite(sample->depth)) {
        ++pixel->hits;
        pixel->depth += sample->depth;
        film_pixel_add_vector(pixel->normal, sample->normal);
        film_pixel_add_vector(pixel->albedo, sample->albedo);
    }
    return finite;
}

#endif

/* A camera: a pinhole or thin lens, or parallel rays (orthographic). Pixel (0, 0) is the top left
   one. */
#ifndef KD_SHADERS_CAMERA_H
#define KD_SHADERS_CAMERA_H
#include "core/math/geometry.h"
#include "core/math/rng.h"
#include "core/math/sampling.h"

typedef struct camera {
    vec3 eye, look_at, up;
    float fov_degrees;    /* vertical, (0, 180) */
    float lens_radius;    /* 0: pinhole */
    float focus_distance; /* along the view axis; 0: distance to look_at */
    float tall;           /* orthographic: height of what is seen, scene units; 0: perspective */
} camera;

/* Between two, at t of 0 to 1, each number evenly. */
KD_FN camera camera_between(const camera *a, const camera *b, float t) {
    camera at;
    at.eye = vec3_along(a->eye, t, vec3_sub(b->eye, a->eye));
    at.look_at = vec3_along(a->look_at, t, vec3_sub(b->look_at, a->look_at));
    at.up = vec3_along(a->up, t, vec3_sub(b->up, a->up));
    at.fov_degrees = a->fov_degrees + t * (b->fov_degrees - a->fov_degrees);
    at.lens_radius = a->lens_radius + t * (b->lens_radius - a->lens_radius);
    at.focus_distance = a->focus_distance + t * (b->focus_distance - a->focus_distance);
    at.tall = a->tall + t * (b->tall - a->tall);
    return at;
}

/* Axes: tangent to the right, bitangent up, normal forward; unit and orthogonal. An `up` along the
   view takes some other direction. */
KD_FN frame3 camera_frame(const camera *view) {
    vec3 forward = vec3_normalize(vec3_sub(view->look_at, view->eye));
    if (vec3_is_zero(forward)) forward = vec3_make(0, 0, -1);
    vec3 right = vec3_normalize(vec3_cross(forward, vec3_normalize(view->up)));
    if (vec3_is_zero(right)) right = frame3_around(forward).tangent;
    frame3 axes;
    axes.normal = forward;
    axes.tangent = right;
    axes.bitangent = vec3_cross(right, forward);
    return axes;
}

/* What the rays of all pixels share. */
typedef struct camera_sight {
    frame3 axes;
    float pixel; /* its side at distance 1; orthographic: in scene units */
} camera_sight;

KD_FN camera_sight camera_sight_of(const camera *view, int32_t height) {
    camera_sight sight;
    sight.axes = camera_frame(view);
    const float half =
        view->tall > 0 ? 0.5f * view->tall : float_tan(view->fov_degrees * (KD_PI / 360));
    sight.pixel = 2 * half / (float)height;
    return sight;
}

/* camera_ray, its sight known. */
KD_FN ray camera_ray_by(const camera *view, const camera_sight *sight, int32_t width,
                        int32_t height, int32_t x, int32_t y, rng_block random) {
    const float across = ((float)x + random.value[0] - 0.5f * (float)width) * sight->pixel;
    const float upward = (0.5f * (float)height - (float)y - random.value[1]) * sight->pixel;
    vec3 local = vec3_make(across, upward, 1);
    vec3 origin = view->eye;
    if (view->tall > 0) {
        origin = vec3_add(origin, frame3_to_world(&sight->axes, vec3_make(across, upward, 0)));
        local = vec3_make(0, 0, 1);
    }
    if (view->lens_radius > 0) {
        const float focus = view->focus_distance > 0
                                ? view->focus_distance
                                : vec3_length(vec3_sub(view->look_at, view->eye));
        const vec2 disc = sample_disc(random.value[2], random.value[3]);
        const vec3 lens = vec3_make(disc.x * view->lens_radius, disc.y * view->lens_radius, 0);
        local = vec3_sub(vec3_scale(local, focus), lens);
        origin = vec3_add(origin, frame3_to_world(&sight->axes, lens));
    }
    return ray_make(origin, vec3_normalize(frame3_to_world(&sight->axes, local)), 0, INFINITY);
}

/* A ray (unit direction) through pixel (x, y) of width x height. random.value[0], [1] place it in
   the pixel (even ones: a box filter), [2], [3] on the lens. */
KD_FN ray camera_ray(const camera *view, int32_t width, int32_t height, int32_t x, int32_t y,
                     rng_block random) {
    const camera_sight sight = camera_sight_of(view, height);
    return camera_ray_by(view, &sight, width, height, x, y, random);
}

#endif

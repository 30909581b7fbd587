/* Projection of points to pixels: the inverse of pixel_ray, with its lens, shutter and filter.
   Idea: a splat samples the time and the point on the lens as a camera ray does; then it chooses one
         of the pixels whose filters contain the point, in proportion to the filters' magnitudes. */
#ifndef KD_RENDER_INTEGRATORS_VCM_CAMERA_H
#define KD_RENDER_INTEGRATORS_VCM_CAMERA_H
#include "render/frame/pixel.h"

typedef struct vcm_projection {
    vec3 eye;       /* origin of the camera ray that sees the point */
    int32_t x, y;   /* pixel */
    float per_area; /* density of a pixel's camera rays on a surface that faces them, 1/m^2 */
    float filter;   /* filter's value over the probability of the pixel */
} vcm_projection;

/* A camera, and what does not change while it rests. */
typedef struct vcm_viewer {
    pixel_view pixels; /* without its scene */
    camera_sight sight;
    bool samples; /* a splat samples the time, the lens or the filter */
} vcm_viewer;

KD_FN vcm_viewer vcm_viewer_of(const pixel_view *pixels) {
    vcm_viewer viewer;
    viewer.pixels = *pixels;
    viewer.sight = camera_sight_of(&pixels->eye, pixels->height);
    viewer.samples =
        pixels->moves || pixels->eye.lens_radius > 0 || pixels->filter != PIXEL_FILTER_BOX;
    return viewer;
}

/* Returns the camera at the time of a random number, and sets *sight. */
KD_FN camera vcm_camera_at(const vcm_viewer *viewer, float random, camera_sight *sight) {
    const pixel_view *view = &viewer->pixels;
    *sight = viewer->sight;
    if (!view->moves) return view->eye;
    const camera eye = camera_between(&view->eye, &view->eye_end, random);
    *sight = camera_sight_of(&eye, view->height);
    return eye;
}

/* Value of a pixel filter at an offset from the pixel's corner: the density of pixel_filter_draw
   times pixel_filter_weight. */
KD_FN_CALL float vcm_filter_value(int32_t filter, float x, float y) {
    const float dx = fabsf(x - 0.5f), dy = fabsf(y - 0.5f);
    if (filter == PIXEL_FILTER_GAUSSIAN) {
        const float s2 = 2 * PIXEL_FILTER_SIGMA * PIXEL_FILTER_SIGMA, r2 = dx * dx + dy * dy;
        if (!(r2 < PIXEL_FILTER_RADIUS * PIXEL_FILTER_RADIUS)) return 0;
        return float_exp(-r2 / s2) / (KD_PI * s2 * 0.98889100f);
    }
    float value = 1;
    for (int axis = 0; axis < 2; ++axis) {
        const float d = axis ? dy : dx;
        if (filter == PIXEL_FILTER_BLACKMAN_HARRIS) {
            if (!(d < PIXEL_FILTER_RADIUS)) return 0;
            const float angle = KD_PI * (d / PIXEL_FILTER_RADIUS + 1), c = float_cos(angle);
            const float c2 = 2 * c * c - 1, c3 = c * (2 * c2 - 1);
            value *= (0.35875f - 0.48829f * c + 0.14128f * c2 - 0.01168f * c3) /
                     (2 * PIXEL_FILTER_RADIUS * 0.35875f);
        } else if (filter == PIXEL_FILTER_MITCHELL) {
            if (!(d < 2)) return 0;
            value *= d < 1 ? (16.0f / 3 + d * d * (-12 + 7 * d)) / 6
                           : (32.0f / 3 + d * (-20 + d * (12 - 7.0f / 3 * d))) / 6;
        }
    }
    return value;
}

/* Sets the pixel and the filter's value for a point in the image, in pixels from its top left
   corner; returns false if no pixel has it. */
KD_FN bool vcm_choose_pixel(const pixel_view *view, float x, float y, float random,
                            vcm_projection *out) {
    enum { REACH = 2 };
    const float width = (float)view->width, height = (float)view->height;
    if (!(x >= -REACH && y >= -REACH && x < width + REACH && y < height + REACH)) return false;
    out->x = (int32_t)floorf(x);
    out->y = (int32_t)floorf(y);
    out->filter = 1;
    if (view->filter != PIXEL_FILTER_BOX) {
        const int32_t left = out->x - REACH, top = out->y - REACH;
        float sum = 0, value = 0;
        for (int32_t i = 0; i < (2 * REACH + 1) * (2 * REACH + 1); ++i)
            sum += fabsf(vcm_filter_value(view->filter, x - (float)(left + i % (2 * REACH + 1)),
                                          y - (float)(top + i / (2 * REACH + 1))));
        float rest = random * sum;
        for (int32_t i = 0; i < (2 * REACH + 1) * (2 * REACH + 1); ++i) {
            const int32_t column = left + i % (2 * REACH + 1), row = top + i / (2 * REACH + 1);
            const float here = vcm_filter_value(view->filter, x - (float)column, y - (float)row);
            if (here == 0) continue;
            value = here;
            out->x = column;
            out->y = row;
            rest -= fabsf(here);
            if (rest < 0) break;
        }
        out->filter = value < 0 ? -sum : sum;
    }
    return out->x >= 0 && out->y >= 0 && out->x < view->width && out->y < view->height;
}

/* Projects a point; random.value[0..1] sample the lens, [2] the time, [3] the pixel. Returns false
   if the camera does not see it. */
KD_FN bool vcm_project(const vcm_viewer *viewer, vec3 point, rng_block random,
                       vcm_projection *out) {
    const pixel_view *view = &viewer->pixels;
    camera_sight sight;
    const camera eye = vcm_camera_at(viewer, random.value[2], &sight);
    const float focus =
        eye.focus_distance > 0 ? eye.focus_distance : vec3_length(vec3_sub(eye.look_at, eye.eye));
    vec3 lens = vec3_all(0);
    if (eye.lens_radius > 0) {
        const vec2 disc = sample_disc(random.value[0], random.value[1]);
        lens = vec3_make(disc.x * eye.lens_radius, disc.y * eye.lens_radius, 0);
    }
    const vec3 local = vec3_sub(frame3_to_local(&sight.axes, vec3_sub(point, eye.eye)), lens);
    if (!(local.z > 0)) return false;
    float across = local.x / local.z + lens.x / focus, upward = local.y / local.z + lens.y / focus;
    const float pixel2 = sight.pixel * sight.pixel;
    if (eye.tall > 0) { /* the ray starts above the point, moved by the lens's share */
        across = local.x + lens.x * local.z / focus;
        upward = local.y + lens.y * local.z / focus;
        const float slope2 = float_square(lens.x / focus) + float_square(lens.y / focus);
        lens = vec3_add(lens, vec3_make(across, upward, 0));
        out->per_area = sqrtf(1 + slope2) / pixel2;
    } else {
        const float square = vec3_length2(local), cosine = local.z / sqrtf(square);
        out->per_area = 1 / (square * cosine * cosine * cosine * pixel2);
    }
    out->eye = vec3_add(eye.eye, frame3_to_world(&sight.axes, lens));
    return out->per_area <= FLT_MAX &&
           vcm_choose_pixel(view, across / sight.pixel + 0.5f * (float)view->width,
                            0.5f * (float)view->height - upward / sight.pixel, random.value[3],
                            out);
}

/* Returns the ray through the centre of pixel i of a grid of side x side pixels over the picture.
 */
KD_FN ray vcm_footprint_ray(const vcm_viewer *viewer, int32_t side, int32_t i) {
    const pixel_view *view = &viewer->pixels;
    rng_block centre;
    for (int d = 0; d < 4; ++d) centre.value[d] = 0.5f;
    return camera_ray_by(&view->eye, &viewer->sight, view->width, view->height,
                         (int32_t)((int64_t)(i % side) * view->width / side),
                         (int32_t)((int64_t)(i / side) * view->height / side), centre);
}

/* Returns 1 / vcm_projection.per_area for a surface at distance 1 along a camera ray, or for an
   orthographic camera at any distance. `time`: of the ray's camera. */
KD_FN float vcm_camera_spread(const vcm_viewer *viewer, float time, vec3 direction) {
    camera_sight sight;
    const camera eye = vcm_camera_at(viewer, time, &sight);
    const float cosine = vec3_dot(direction, sight.axes.normal);
    const float pixel2 = sight.pixel * sight.pixel;
    return eye.tall > 0 ? pixel2 * cosine : pixel2 * cosine * cosine * cosine;
}

#endif

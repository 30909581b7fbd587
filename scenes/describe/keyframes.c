#include "scenes/describe/keyframes.h"

enum { CAMERA_NUMBERS = 13 };

/* Slope of value k at key i, per frame. */
static double slope(const double *frames, const double *values, uint32_t count, uint32_t width,
                    uint32_t i, uint32_t k) {
    const uint32_t before = i ? i - 1 : i, after = i + 1 < count ? i + 1 : i;
    return (values[(size_t)after * width + k] - values[(size_t)before * width + k]) /
           (frames[after] - frames[before]);
}

void keyframes_at(const double *frames, const double *values, uint32_t count, uint32_t width,
                  double frame, double *out) {
    uint32_t i = 0;
    /* find the last key at or before `frame` */
    while (i + 1 < count && frames[i + 1] <= frame) ++i;
    const double *frame_values = values + (size_t)i * width;
    for (uint32_t k = 0; k < width; ++k) out[k] = frame_values[k];
    if (frame <= frames[i] || i + 1 == count) return;
    const double length = frames[i + 1] - frames[i], t = (frame - frames[i]) / length;
    const double t2 = t * t, t3 = t2 * t;
    for (uint32_t k = 0; k < width; ++k) {
        const double from = slope(frames, values, count, width, i, k) * length;
        const double to = slope(frames, values, count, width, i + 1, k) * length;
        out[k] = (2 * t3 - 3 * t2 + 1) * frame_values[k] + (t3 - 2 * t2 + t) * from +
                 (3 * t2 - 2 * t3) * frame_values[width + k] + (t3 - t2) * to;
    }
}

static void put_vector(double *to, vec3 from) {
    to[0] = (double)from.x;
    to[1] = (double)from.y;
    to[2] = (double)from.z;
}
static vec3 get_vector(const double *from) {
    return vec3_make((float)from[0], (float)from[1], (float)from[2]);
}

camera keyframes_camera(const camera_key *keys, uint32_t count, double frame) {
    double frames[4] = {0}, values[4 * CAMERA_NUMBERS] = {0}, at[CAMERA_NUMBERS];
    uint32_t first = 0;
    while (first + 1 < count && keys[first + 1].frame <= frame) ++first;
    if (first) --first; /* the slope needs the previous key */
    const uint32_t near = count - first < 4 ? count - first : 4;
    for (uint32_t i = 0; i < near; ++i) {
        const camera *view = &keys[first + i].view;
        double *to = values + (size_t)i * CAMERA_NUMBERS;
        frames[i] = keys[first + i].frame;
        put_vector(to, view->eye);
        put_vector(to + 3, view->look_at);
        put_vector(to + 6, view->up);
        to[9] = (double)view->fov_degrees;
        to[10] = (double)view->lens_radius;
        to[11] = (double)view->focus_distance;
        to[12] = (double)view->tall;
    }
    keyframes_at(frames, values, near, CAMERA_NUMBERS, frame, at);
    const camera view = {get_vector(at),        get_vector(at + 3),     get_vector(at + 6),
                         (float)at[9],          (float)fmax(at[10], 0), (float)fmax(at[11], 0),
                         (float)fmax(at[12], 0)};
    return view;
}

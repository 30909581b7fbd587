/* Images on surfaces: 8-bit sRGB or linear, or float; bilinear, repeated or clamped. v runs up.
   A map of single values (roughness, opacity, ...) is grey. */
#ifndef KD_SHADERS_TEXTURE_H
#define KD_SHADERS_TEXTURE_H
#include "core/math/elementary.h"
#include "core/math/vec3.h"
#include "shaders/srgb.h"

typedef struct texture_view {
    const uint8_t *bytes; /* width x height x samples, rows from the top; NULL if `floats` is set */
    const float *floats;  /* width x height x 3, linear */
    int32_t width, height;
    uint32_t samples;   /* of a texel's bytes: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA */
    uint32_t srgb;      /* bytes are sRGB encoded (colour), else linear (data) */
    uint32_t clamp;     /* texture_wraps: 0 the image repeats, 1 its edge is held; and
                           TEXTURE_SECOND */
    vec2 scale, offset; /* u' = u scale.x + v shear.x + offset.x, */
    vec2 shear;         /* v' = v scale.y + u shear.y + offset.y */
} texture_view;

/* A bit of `clamp`: it lies by the second set of texture coordinates. */
enum { TEXTURE_SECOND = 16 };

/* Beyond an image's edge. */
typedef enum texture_wrap { TEXTURE_REPEAT = 0, TEXTURE_HOLD = 1, TEXTURE_MIRROR = 2 } texture_wrap;

/* Both directions in one number: 0 and 1 mean the same for both. */
KD_FN uint32_t texture_wraps(uint32_t u, uint32_t v) {
    return u | (u ^ v) << 2;
}
KD_FN uint32_t texture_wrap_u(uint32_t wraps) {
    return wraps & 3u;
}
KD_FN uint32_t texture_wrap_v(uint32_t wraps) {
    return (wraps ^ wraps >> 2) & 3u;
}

/* The texel in column x, row y (from the top), linear. */
KD_FN vec3 texture_texel(const texture_view *from, int32_t x, int32_t y) {
    const int64_t texel = (int64_t)y * from->width + x;
    if (from->floats) {
        const float *rgb = from->floats + 3 * texel;
        return vec3_make(rgb[0], rgb[1], rgb[2]);
    }
    const uint8_t *at = from->bytes + from->samples * texel;
    const uint32_t next = from->samples > 2; /* else all three are the grey */
    const uint8_t r = at[0], g = at[next], b = at[2 * next];
    if (from->srgb) return vec3_make(srgb_to_linear(r), srgb_to_linear(g), srgb_to_linear(b));
    return vec3_make((float)r / 255, (float)g / 255, (float)b / 255);
}

/* Where a coordinate (1 is the image's size) falls between texel centres: the two columns or rows,
   and the second one's weight. NaN and infinity count as 0. */
typedef struct texture_span {
    int32_t first, second;
    float weight;
} texture_span;

/* There and back again: 0..1 runs up, 1..2 down. */
KD_FN float texture_fold(float coordinate) {
    const float turn = coordinate - 2 * floorf(0.5f * coordinate);
    return turn > 1 ? 2 - turn : turn;
}

KD_FN texture_span texture_locate(float coordinate, int32_t size, uint32_t wrap) {
    texture_span span;
    const bool clamp = wrap != TEXTURE_REPEAT;
    if (!(fabsf(coordinate) <= FLT_MAX)) coordinate = 0;
    if (wrap == TEXTURE_MIRROR) coordinate = texture_fold(coordinate);
    coordinate = clamp ? float_clamp(coordinate, 0, 1) : coordinate - floorf(coordinate);
    const float at = coordinate * (float)size - 0.5f;
    const float below = floorf(at);
    span.weight = at - below;
    span.first = (int32_t)below; /* -1 .. size */
    span.second = span.first + 1;
    if (span.first < 0) span.first = clamp ? 0 : size - 1;
    if (span.first >= size) span.first = clamp ? size - 1 : 0;
    if (span.second >= size) span.second = clamp ? size - 1 : span.second - size;
    return span;
}

KD_FN vec3 texture_blend(const texture_view *from, texture_span column, texture_span row) {
    const vec3 a = texture_texel(from, column.first, row.first);
    const vec3 b = texture_texel(from, column.second, row.first);
    const vec3 c = texture_texel(from, column.first, row.second);
    const vec3 d = texture_texel(from, column.second, row.second);
    const float s = column.weight, t = row.weight;
    const vec3 upper = vec3_along(vec3_scale(a, 1 - s), s, b);
    const vec3 lower = vec3_along(vec3_scale(c, 1 - s), s, d);
    return vec3_along(vec3_scale(upper, 1 - t), t, lower);
}

KD_FN_CALL vec3 texture_sample(const texture_view *from, vec2 uv) {
    float u = uv.x * from->scale.x + from->offset.x;
    float v = uv.y * from->scale.y + from->offset.y;
    if (from->shear.x != 0) u += uv.y * from->shear.x;
    if (from->shear.y != 0) v += uv.x * from->shear.y;
    return texture_blend(from, texture_locate(u, from->width, texture_wrap_u(from->clamp)),
                         texture_locate(1 - v, from->height, texture_wrap_v(from->clamp)));
}

/* Latitude-longitude images: the point of the image, x in 0..1 from the left and y in 0..1 from the
   top, that lies in a unit direction. y is up, the centre is towards -z, +x is to its right;
   `rotation` turns the sky by that many radians about +y, counter-clockwise seen from above. */
KD_FN vec2 latlong_from_direction(vec3 direction, float rotation) {
    const float turn =
        0.5f + (float_atan2(direction.x, -direction.z) + rotation) * (1 / (2 * KD_PI));
    const float theta = float_acos(float_clamp(direction.y, -1, 1));
    return vec2_make(turn - floorf(turn), theta * (1 / KD_PI));
}

KD_FN vec3 latlong_to_direction(vec2 point, float rotation) {
    const float phi = (point.x - 0.5f) * (2 * KD_PI) - rotation, theta = point.y * KD_PI;
    const float s = float_sin(theta);
    return vec3_make(s * float_sin(phi), float_cos(theta), -s * float_cos(phi));
}

/* The sky's radiance in a unit direction, as a factor of the environment light's `emitted`. */
KD_FN_CALL vec3 texture_latlong(const texture_view *from, vec3 direction, float rotation) {
    const vec2 point = latlong_from_direction(direction, rotation);
    return texture_blend(from, texture_locate(point.x, from->width, TEXTURE_REPEAT),
                         texture_locate(point.y, from->height, TEXTURE_HOLD));
}

#endif

/* Textures: 8-bit or 16-bit sRGB or linear, or float; bilinear, with wrap modes. v points up. A map
   of scalars (roughness, opacity, ...) has its value in all three channels. */
#ifndef KD_SHADERS_TEXTURE_H
#define KD_SHADERS_TEXTURE_H
#include "core/math/elementary.h"
#include "core/math/geometry.h"

/* --- The sRGB transfer function, from bytes to linear values ---
   Source: IEC 61966-2-1: c / 12.92 up to 0.04045, ((c + 0.055) / 1.055)^2.4 above. */

/* A table gives the same bits on every machine; powf does not. */
KD_FN float srgb_to_linear(uint8_t encoded) {
    static const float linear[256] = {
        0.0f,          0.000303527f,  0.000607054f, 0.000910581f,  0.001214108f,  0.001517635f,
        0.001821162f,  0.0021246888f, 0.002428216f, 0.0027317428f, 0.00303527f,   0.0033465358f,
        0.0036765074f, 0.004024717f,  0.004391442f, 0.0047769533f, 0.0051815165f, 0.0056053917f,
        0.006048833f,  0.0065120906f, 0.00699541f,  0.007499032f,  0.008023193f,  0.008568126f,
        0.009134059f,  0.009721218f,  0.010329823f, 0.010960094f,  0.011612245f,  0.012286488f,
        0.0129830325f, 0.013702083f,  0.014443844f, 0.015208514f,  0.015996294f,  0.016807375f,
        0.017641954f,  0.01850022f,   0.019382361f, 0.020288562f,  0.02121901f,   0.022173885f,
        0.023153367f,  0.024157632f,  0.02518686f,  0.026241222f,  0.027320892f,  0.02842604f,
        0.029556835f,  0.030713445f,  0.031896032f, 0.033104766f,  0.034339808f,  0.035601314f,
        0.03688945f,   0.038204372f,  0.039546236f, 0.0409152f,    0.04231141f,   0.04373503f,
        0.045186203f,  0.046665087f,  0.048171826f, 0.049706567f,  0.051269457f,  0.052860647f,
        0.054480277f,  0.05612849f,   0.05780543f,  0.059511237f,  0.061246052f,  0.063010015f,
        0.064803265f,  0.06662594f,   0.06847817f,  0.070360094f,  0.07227185f,   0.07421357f,
        0.07618538f,   0.07818742f,   0.08021982f,  0.08228271f,   0.08437621f,   0.08650046f,
        0.08865558f,   0.09084171f,   0.093058966f, 0.09530747f,   0.09758735f,   0.099898726f,
        0.10224173f,   0.104616486f,  0.107023105f, 0.10946171f,   0.11193243f,   0.114435375f,
        0.116970666f,  0.11953843f,   0.122138776f, 0.12477182f,   0.12743768f,   0.13013647f,
        0.13286832f,   0.13563333f,   0.13843161f,  0.14126329f,   0.14412847f,   0.14702727f,
        0.14995979f,   0.15292615f,   0.15592647f,  0.15896083f,   0.16202937f,   0.1651322f,
        0.1682694f,    0.17144111f,   0.1746474f,   0.17788842f,   0.18116425f,   0.18447499f,
        0.18782078f,   0.19120169f,   0.19461784f,  0.19806932f,   0.20155625f,   0.20507874f,
        0.20863687f,   0.21223076f,   0.2158605f,   0.2195262f,    0.22322796f,   0.22696587f,
        0.23074006f,   0.23455058f,   0.23839757f,  0.24228112f,   0.24620132f,   0.25015828f,
        0.2541521f,    0.25818285f,   0.26225066f,  0.2663556f,    0.2704978f,    0.2746773f,
        0.27889428f,   0.28314874f,   0.28744084f,  0.29177064f,   0.29613826f,   0.30054379f,
        0.3049873f,    0.30946892f,   0.31398872f,  0.31854677f,   0.3231432f,    0.3277781f,
        0.33245152f,   0.33716363f,   0.34191442f,  0.34670407f,   0.3515326f,    0.35640013f,
        0.3613068f,    0.3662526f,    0.3712377f,   0.37626213f,   0.38132602f,   0.38642943f,
        0.39157248f,   0.39675522f,   0.40197778f,  0.4072402f,    0.4125426f,    0.41788507f,
        0.42326766f,   0.4286905f,    0.43415365f,  0.43965718f,   0.4452012f,    0.4507858f,
        0.45641103f,   0.462077f,     0.4677838f,   0.47353148f,   0.47932017f,   0.48514995f,
        0.49102086f,   0.49693298f,   0.5028865f,   0.50888133f,   0.5149177f,    0.52099556f,
        0.5271151f,    0.5332764f,    0.5394795f,   0.54572445f,   0.55201143f,   0.5583404f,
        0.5647115f,    0.57112485f,   0.57758045f,  0.58407843f,   0.59061885f,   0.59720176f,
        0.60382736f,   0.61049557f,   0.6172066f,   0.6239604f,    0.63075715f,   0.63759685f,
        0.6444797f,    0.65140563f,   0.65837485f,  0.6653873f,    0.67244315f,   0.6795425f,
        0.6866853f,    0.69387174f,   0.7011019f,   0.70837575f,   0.7156935f,    0.7230551f,
        0.73046076f,   0.7379104f,    0.7454042f,   0.7529422f,    0.7605245f,    0.76815116f,
        0.7758222f,    0.7835378f,    0.7912979f,   0.7991027f,    0.80695224f,   0.8148466f,
        0.82278574f,   0.8307699f,    0.838799f,    0.8468732f,    0.8549926f,    0.8631572f,
        0.8713671f,    0.8796224f,    0.8879231f,   0.8962694f,    0.9046612f,    0.91309863f,
        0.92158186f,   0.9301109f,    0.9386857f,   0.9473065f,    0.9559733f,    0.9646863f,
        0.9734453f,    0.9822506f,    0.9911021f,   1.0f};
    return linear[encoded];
}

/* --- Images --- */

enum { TEXTURE_WIDE_VALUES = 65536 }; /* number of values of a 16-bit sample */

typedef struct texture_view {
    const uint8_t *bytes; /* width x height x samples, rows from the top, 16-bit samples in native
                             byte order; NULL if `floats` is set */
    const float *floats;  /* width x height x 3, linear */
    const float *curve;   /* linear value of each 16-bit sRGB sample; NULL if not needed */
    int32_t width, height;
    uint32_t samples;   /* per texel: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA */
    uint32_t is_wide;   /* 1: samples have 16 bits, 0: 8 bits */
    uint32_t srgb;      /* samples are sRGB encoded (colour), else linear (data) */
    uint32_t clamp;     /* texture_wraps of both axes (0: repeat, 1: clamp), and the bits below */
    vec2 scale, offset; /* u' = u scale.x + v shear.x + offset.x, */
    vec2 shear;         /* v' = v scale.y + u shear.y + offset.y */
} texture_view;

/* Bits of `clamp`: uses the second set of texture coordinates; takes the nearest texel along u or v
   instead of interpolating. */
enum { TEXTURE_SECOND = 16, TEXTURE_NEAREST_U = 32, TEXTURE_NEAREST_V = 64 };

/* The wrap mode beyond an image's edge. */
typedef enum texture_wrap { TEXTURE_REPEAT = 0, TEXTURE_HOLD = 1, TEXTURE_MIRROR = 2 } texture_wrap;

/* Encodes the modes of both axes in one number; 0 and 1 stand for the same mode on both. */
KD_FN uint32_t texture_wraps(uint32_t u, uint32_t v) {
    return u | (u ^ v) << 2;
}
KD_FN uint32_t texture_wrap_u(uint32_t wraps) {
    return wraps & 3u;
}
KD_FN uint32_t texture_wrap_v(uint32_t wraps) {
    return (wraps ^ wraps >> 2) & 3u;
}

/* Returns a 16-bit texel whose red is sample `first`; green and blue follow at distance `next`. */
KD_FN vec3 texture_wide(const texture_view *view, int64_t first, uint32_t next) {
    const uint16_t *at = (const uint16_t *)(const void *)view->bytes + first;
    const uint16_t r = at[0], g = at[next], b = at[2 * next];
    if (view->srgb) return vec3_make(view->curve[r], view->curve[g], view->curve[b]);
    return vec3_make((float)r / 65535, (float)g / 65535, (float)b / 65535);
}

/* Returns the texel in column x, row y (from the top), linear. */
KD_FN vec3 texture_texel(const texture_view *view, int32_t x, int32_t y) {
    const int64_t texel = (int64_t)y * view->width + x;
    if (view->floats) {
        const float *rgb = view->floats + 3 * texel;
        return vec3_make(rgb[0], rgb[1], rgb[2]);
    }
    const uint32_t next = view->samples > 2; /* 0: grey is red, green and blue */
    if (view->is_wide) return texture_wide(view, view->samples * texel, next);
    const uint8_t *at = view->bytes + view->samples * texel;
    const uint8_t r = at[0], g = at[next], b = at[2 * next];
    if (view->srgb) return vec3_make(srgb_to_linear(r), srgb_to_linear(g), srgb_to_linear(b));
    return vec3_make((float)r / 255, (float)g / 255, (float)b / 255);
}

/* The two columns, or rows, whose texel centres enclose a coordinate (1 is the image's size), and
   the second one's weight. NaN and infinity count as 0. */
typedef struct texture_span {
    int32_t first, second;
    float weight;
} texture_span;

/* Mirrored repeat: 0..1 runs up, 1..2 down. */
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

KD_FN vec3 texture_blend(const texture_view *view, texture_span column, texture_span row) {
    const vec3 a = texture_texel(view, column.first, row.first);
    const vec3 b = texture_texel(view, column.second, row.first);
    const vec3 c = texture_texel(view, column.first, row.second);
    const vec3 d = texture_texel(view, column.second, row.second);
    const float s = column.weight, t = row.weight;
    const vec3 upper = vec3_along(vec3_scale(a, 1 - s), s, b);
    const vec3 lower = vec3_along(vec3_scale(c, 1 - s), s, d);
    return vec3_along(vec3_scale(upper, 1 - t), t, lower);
}

KD_FN texture_span texture_span_nearest(texture_span span) {
    span.weight = span.weight >= 0.5f ? 1.0f : 0.0f;
    return span;
}

KD_FN_CALL vec3 texture_sample(const texture_view *view, vec2 uv) {
    float u = uv.x * view->scale.x + view->offset.x;
    float v = uv.y * view->scale.y + view->offset.y;
    if (view->shear.x != 0) u += uv.y * view->shear.x;
    if (view->shear.y != 0) v += uv.x * view->shear.y;
    texture_span column = texture_locate(u, view->width, texture_wrap_u(view->clamp));
    texture_span row = texture_locate(1 - v, view->height, texture_wrap_v(view->clamp));
    if (view->clamp & TEXTURE_NEAREST_U) column = texture_span_nearest(column);
    if (view->clamp & TEXTURE_NEAREST_V) row = texture_span_nearest(row);
    return texture_blend(view, column, row);
}

/* Latitude-longitude images: the point of the image in a unit direction, with x in 0..1 from the
   left and y in 0..1 from the top. y is up, the centre is towards -z, +x is to its right;
   `rotation` rotates the environment by that many radians about +y, counter-clockwise seen from
   above. */
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

/* Returns the environment's radiance in a unit direction, as a factor of the light's `emitted`. */
KD_FN_CALL vec3 texture_latlong(const texture_view *view, vec3 direction, float rotation) {
    const vec2 point = latlong_from_direction(direction, rotation);
    return texture_blend(view, texture_locate(point.x, view->width, TEXTURE_REPEAT),
                         texture_locate(point.y, view->height, TEXTURE_HOLD));
}

#endif

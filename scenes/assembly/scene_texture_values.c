/* Changed values of textures: MTL's -mm, which makes colours floats and numbers 16 bits wide; and
   images of specular and glossiness (KHR_materials_pbrSpecularGlossiness), converted to those of a
   principled material, with their factors. */
#include "core/image/picture.h"
#include "core/memory.h"
#include "scenes/assembly/scene_parts.h"
#include "scenes/mesh/glossiness.h"
#include <math.h>

static float ranged(const texture_image *image, float value) {
    const float *factor = image->factor;
    return float_clamp(factor[TEXTURE_BASE] + factor[TEXTURE_GAIN] * value, 0,
                       factor[TEXTURE_MAXIMUM]);
}

bool texture_has_range(const texture_image *image) {
    return !texture_role_is_gloss(image->role) && image->factor[TEXTURE_MAXIMUM] > 0;
}

/* Numbers have one sample per texel. */
static kd_status change_numbers(texture_image *image, const texture_view *view) {
    const uint64_t texels = (uint64_t)image->width * (uint64_t)image->height;
    uint16_t *changed = NULL;
    KD_TRY(KD_RESERVE(changed, texels));
    for (int32_t y = 0; y < image->height; ++y)
        for (int32_t x = 0; x < image->width; ++x)
            changed[(int64_t)y * image->width + x] =
                (uint16_t)(ranged(image, texture_texel(view, x, y).x) * 65535 + 0.5f);
    memory_free(image->bytes);
    image->bytes = (uint8_t *)changed;
    image->is_wide = true;
    return KD_OK;
}

static uint16_t encoded(float component) {
    return (uint16_t)(float_clamp(0.5f * component + 0.5f, 0, 1) * 65535 + 0.5f);
}

/* The gain scales the slopes; normals keep their length of 1. */
static kd_status change_normals(texture_image *image, const texture_view *view) {
    const uint64_t texels = (uint64_t)image->width * (uint64_t)image->height;
    const float gain = image->factor[TEXTURE_GAIN];
    uint16_t *changed = NULL;
    KD_TRY(KD_RESERVE(changed, 3 * texels));
    uint16_t *to = changed;
    for (int32_t y = 0; y < image->height; ++y)
        for (int32_t x = 0; x < image->width; ++x) {
            const vec3 texel = texture_texel(view, x, y);
            const vec3 normal = vec3_normalize(
                vec3_make(gain * (2 * texel.x - 1), gain * (2 * texel.y - 1), 2 * texel.z - 1));
            *to++ = encoded(normal.x);
            *to++ = encoded(normal.y);
            *to++ = encoded(vec3_is_zero(normal) ? 1 : normal.z);
        }
    memory_free(image->bytes);
    image->bytes = (uint8_t *)changed;
    image->samples = 3;
    image->is_wide = true;
    return KD_OK;
}

kd_status texture_change_range(texture_image *image, texture_view *view) {
    const uint64_t texels = (uint64_t)image->width * (uint64_t)image->height;
    if (!image->loaded) return KD_OK; /* the neutral texel, which stands for no texture */
    if (!image->ranged && image->role != TEXTURE_COLOUR)
        KD_TRY(image->role == TEXTURE_NORMAL ? change_normals(image, view)
                                             : change_numbers(image, view));
    if (!image->ranged && image->role == TEXTURE_COLOUR) {
        if (!image->floats) KD_TRY(texture_make_floats(image, view));
        for (uint64_t i = 0; i < 3 * texels; ++i)
            image->floats[i] = ranged(image, image->floats[i]);
    }
    image->ranged = true;
    view->bytes = image->bytes;
    view->floats = image->floats;
    view->samples = image->samples;
    view->is_wide = image->is_wide;
    view->srgb = view->srgb && image->bytes;
    return KD_OK;
}

static float linear_of(const picture *decoded, uint64_t texel, int32_t channel) {
    const uint64_t first = texel * (uint64_t)decoded->samples;
    const uint32_t value =
        picture_value(decoded, first + (uint64_t)picture_sample(decoded, channel));
    if (decoded->sample_bytes == 1) return srgb_to_linear((uint8_t)value);
    const double encoded = value / 65535.0;
    return (float)(encoded <= 0.04045 ? encoded / 12.92 : pow((encoded + 0.055) / 1.055, 2.4));
}

static float glossiness_of(const picture *decoded, uint64_t texel) {
    const int32_t alpha = picture_sample(decoded, 3);
    if (alpha < 0) return 1;
    const uint64_t first = texel * (uint64_t)decoded->samples;
    return (float)picture_value(decoded, first + (uint64_t)alpha) / (float)picture_white(decoded);
}

static uint16_t wide_of(float value) {
    return (uint16_t)(float_clamp(value, 0, 1) * 65535 + 0.5f);
}

uint32_t texture_gloss_samples(texture_role role) {
    return role == TEXTURE_GLOSS_METAL ? 3 : 1;
}

kd_status texture_keep_gloss(texture_image *image, const picture *decoded) {
    const uint64_t texels = (uint64_t)decoded->info.width * (uint64_t)decoded->info.height;
    const float *factor = image->factor;
    image->samples = texture_gloss_samples(image->role);
    image->is_wide = true;
    KD_TRY(KD_RESERVE(image->bytes, 2 * image->samples * texels));
    uint16_t *to = (uint16_t *)(void *)image->bytes;
    for (uint64_t i = 0; i < texels; ++i) {
        if (image->role == TEXTURE_GLOSS_ROUGHNESS) {
            *to++ = wide_of(1 - factor[3] * glossiness_of(decoded, i));
            continue;
        }
        const vec3 specular =
            vec3_make(factor[0] * linear_of(decoded, i, 0), factor[1] * linear_of(decoded, i, 1),
                      factor[2] * linear_of(decoded, i, 2));
        const glossy made = glossy_of(specular);
        if (image->role == TEXTURE_GLOSS_METALLIC) *to++ = wide_of(made.metallic);
        if (image->role == TEXTURE_GLOSS_DIELECTRIC) *to++ = wide_of(made.dielectric);
        if (image->role != TEXTURE_GLOSS_METAL) continue;
        *to++ = wide_of(made.metal.x);
        *to++ = wide_of(made.metal.y);
        *to++ = wide_of(made.metal.z);
    }
    return KD_OK;
}

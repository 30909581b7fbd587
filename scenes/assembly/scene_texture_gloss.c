/* Images of specular and glossiness (KHR_materials_pbrSpecularGlossiness), converted to those of a
   principled material; their factors are included. */
#include "core/image/picture.h"
#include "core/memory.h"
#include "scenes/assembly/scene_parts.h"
#include "scenes/mesh/glossiness.h"
#include <math.h>

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

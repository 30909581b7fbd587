/* Images on surfaces: 8-bit sRGB or linear, or float; bilinear, repeated or clamped. v runs up. */
#ifndef KD_SHADERS_TEXTURE_H
#define KD_SHADERS_TEXTURE_H
#include "shaders/vec3.h"

typedef struct texture_view {
    const uint8_t *bytes; /* width x height x 4, rows from the top; NULL if `floats` is set */
    const float *floats;  /* width x height x 3, linear */
    int32_t width, height;
    uint32_t srgb;      /* bytes are sRGB encoded (colour), else linear (data) */
    uint32_t clamp;     /* edge is held, else the image repeats */
    vec2 scale, offset; /* uv' = uv * scale + offset */
} texture_view;

#endif

/* The relation between photometric units (lumen, candela, lux, nit) and those of the renderer.
   Each channel of a quantity of light is a multiple of D65 white, scaled so that a quantity with
   equal channels of 1 W, W/sr, W/m^2 or W/(sr m^2) has KD_LUMENS_PER_WATT lm, cd, lx or nit. With
   the luminance weights of Rec. 709, 1 W of (r, g, b) has
   683 (0.2126729 r + 0.7151522 g + 0.0721750 b) lm. Watts are thus watts of visible light as the
   eye weighs it, not the electric or radiant power of a lamp. */
#ifndef KD_CORE_MATH_PHOTOMETRY_H
#define KD_CORE_MATH_PHOTOMETRY_H
#include "core/math/geometry.h"

/* The luminous efficacy of monochromatic light of 540 THz, by definition of the candela. */
#define KD_LUMENS_PER_WATT 683.0

/* Converts lumen, candela, lux or nit to W, W/sr, W/m^2 or W/(sr m^2). */
KD_FN vec3 photometry_to_watts(vec3 photometric) {
    return vec3_scale(photometric, (float)(1 / KD_LUMENS_PER_WATT));
}

#endif

/* The albedo of a thin layer by direction, floor + slope (1 - cosine)^power: low along the normal,
   high at the edge. Its integrals, and those of what it takes from an even base, are closed forms.
 */
#ifndef KD_SHADERS_LAYER_PROFILE_H
#define KD_SHADERS_LAYER_PROFILE_H
#include "core/math/elementary.h"

typedef struct layer_profile {
    float floor, slope, power;
} layer_profile;

KD_FN float layer_profile_fall(const layer_profile *of, float cosine) {
    const float down = 1 - float_clamp(cosine, 0, 1);
    return down > 0 ? float_exp(of->power * float_log(down)) : 0;
}

KD_FN float layer_profile_at(const layer_profile *of, float cosine) {
    return of->floor + of->slope * layer_profile_fall(of, cosine);
}

/* Over directions, weighted by the cosine. */
KD_FN float layer_profile_mean(const layer_profile *of) {
    return of->floor + 2 * of->slope / ((of->power + 1) * (of->power + 2));
}

/* The one of these values along the normal, at the edge, in the mean. */
KD_FN layer_profile layer_profile_through(float along, float across, float mean) {
    layer_profile made = {along, float_max(across - along, 0), 5};
    const float above = mean - along;
    if (made.slope > 0 && above > 0)
        made.power = float_clamp(0.5f * sqrtf(1 + 8 * made.slope / above) - 1.5f, 0.1f, 50);
    return made;
}

/* The integral over an even base's light of what a direction is above, albedo over albedo:
   of max(0, E(x) - E(cosine)) 2 x dx. */
KD_FN float layer_profile_lack(const layer_profile *of, float cosine) {
    if (!(of->slope > 0)) return 0;
    const float mu = float_clamp(cosine, 0, 1), down = 1 - mu, p = of->power;
    const float fall = layer_profile_fall(of, mu);
    const float first = (1 - fall * down) / (p + 1), second = (1 - fall * down * down) / (p + 2);
    return of->slope * float_max(2 * (first - second) - fall * mu * mu, 0);
}

/* Its mean over directions, weighted by the cosine. */
KD_FN float layer_profile_lack_mean(const layer_profile *of) {
    if (!(of->slope > 0)) return 0;
    const float q = of->power + 1;
    return of->slope * (2 - 24 / ((q + 2) * (q + 3))) / (q * (q + 1));
}

/* The fuzz's, of white: flatter and higher along the normal the rougher it is. */
KD_FN layer_profile layer_profile_fuzz(float roughness) {
    const float r = float_clamp(roughness, 0.05f, 1), r2 = r * r;
    layer_profile made;
    made.floor = 0.345f * r2 * r2;
    made.slope = 0.72f - made.floor;
    made.power = 1.4f / r;
    return made;
}

#endif

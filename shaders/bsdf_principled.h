/* The principled BSDF in the shading frame: one part is opaque plastic or metal with anisotropic
   microfacets, below a clear coat, below sheen; the other part is rough glass or a thin sheet of
   it.
   Sources: Burley 2012, 2015 (parameters), Kulla and Conty 2017 (lobes that are products of
   albedos), Hoffman 2019, "Fresnel equations considered harmful" (edge tint of metals at 82
   degrees), Heitz 2014, "Understanding the masking-shadowing function" (anisotropic microfacets);
   the albedo of the sheen follows Zeltner, Burley, Chiang 2022, "Practical multiple-scattering
   sheen".
   Idea: a layer of albedo E passes min(1 - E(wo), 1 - E(wi)) of the light that is scattered below
   it. For mirror directions this is exactly 1 - E, and it never exceeds that. A lobe that is the
   product of what both directions lack returns the remaining energy.
   Invariants: reciprocal; radiance and flux are adjoint; within 1.3 % in a white furnace, also with
   anisotropy. The glass has neither coat nor sheen.
   Work: some hundred operations; other material kinds do none of it. */
#ifndef KD_SHADERS_BSDF_PRINCIPLED_H
#define KD_SHADERS_BSDF_PRINCIPLED_H
#include "shaders/bsdf_layers.h"

/* --- The opaque part without layers --- */

/* Returns the alpha of isotropic microfacets that look alike from a direction: at grazing angles
   that of the ellipse along the direction, at normal incidence the mean. */
KD_FN float principled_alpha(const principled_side *side, vec3 direction) {
    const ggx_ellipse ellipse = side->facets;
    if (ellipse.x == ellipse.y) return ellipse.x;
    const float mean = ggx_ellipse_mean(ellipse), x = ellipse.x * direction.x,
                y = ellipse.y * direction.y;
    const float straight = mean * mean, low = 1 - direction.z * direction.z;
    return sqrtf(straight + x * x + y * y - straight * low);
}

/* A diffuse base, attenuated by the coat's reflectance in both directions. The base colour is its
   albedo, as in Burley, glTF and Blender; that of `plastic` is the albedo below the boundary, where
   internal reflection darkens it (body_evaluate). For white both are equal. */
KD_FN vec3 principled_body(const principled_side *side, const opaque_layers *layers, vec3 wi) {
    const float eta = layers->eta;
    const float outside = float_min(coat_reflectance_mean(side->base.alpha, eta), 0.9999f);
    const float through = (1 - layers->coat_reflectance) *
                          (1 - coat_reflectance(principled_alpha(side, wi), wi.z, eta));
    const float scale = (1 - layers->metal) * through / (KD_PI * (1 - outside));
    return vec3_scale(side->base.diffuse, scale);
}

/* The multiple-scattering lobe of the metal. */
KD_FN vec3 principled_spread(const principled_side *side, vec3 wi, vec3 reflectance) {
    if (side->facets.x == side->facets.y)
        return energy_metal_evaluate(side->base.alpha, side->wo.z, wi.z, reflectance);
    return energy_long_evaluate(side->facets, side->wo, wi, reflectance);
}

/* The layers with the alpha that wo sees. */
KD_FN opaque_layers principled_layers(const principled_side *side) {
    surface seen = side->base;
    if (seen.alpha > 0) seen.alpha = principled_alpha(side, side->wo);
    return opaque_layers_with(&seen, side->wo, seen.specular);
}

KD_FN vec3 principled_base_evaluate(const principled_side *side, const opaque_layers *layers,
                                    vec3 wi) {
    const surface *base = &side->base;
    const vec3 wo = side->wo;
    vec3 value = vec3_all(0);
    if (layers->metal < 1) value = principled_body(side, layers, wi);
    if (base->alpha > 0) {
        const vec3 m = vec3_normalize(vec3_add(wo, wi));
        const float scale = ggx_ellipse_density(side->facets, m) *
                            ggx_ellipse_shadowing(side->facets, wo, wi) / (4 * wo.z * wi.z);
        value = vec3_along(value, scale, principled_reflectance(side, layers, vec3_dot(wo, m)));
    }
    if (layers->spreads)
        value = vec3_along(value, layers->metal,
                           principled_spread(side, wi, layers->normal_reflectance));
    return value;
}

KD_FN float principled_base_pdf(const principled_side *side, const opaque_layers *layers, vec3 wi) {
    float pdf = (1 - layers->upper_odds - layers->spread_odds) * pdf_cosine_hemisphere(wi.z);
    if (layers->spread_odds > 0) pdf += layers->spread_odds * energy_pdf(side->base.alpha, wi.z);
    if (layers->upper_odds > 0 && side->base.alpha > 0) {
        const vec3 m = vec3_normalize(vec3_add(side->wo, wi));
        pdf += layers->upper_odds * ggx_ellipse_visible_pdf(side->facets, side->wo, m) /
               (4 * vec3_dot(side->wo, m));
    }
    return pdf;
}

/* Probabilities of sampling the coat, and the diffuse lobes of the layers; the base has the
   remainder. */
typedef struct principled_odds {
    float clear, even;
} principled_odds;

KD_FN principled_odds principled_odds_of(const principled_side *side) {
    principled_odds odds = {0, 0};
    const float clear = principled_clear(side, float_max(principled_to_clear(side, side->wo).z, 0));
    const float fuzz =
        vec3_largest(side->fuzz) > 0
            ? vec3_luminance(side->fuzz) * layer_profile_at(&side->fuzzes, side->wo.z)
            : 0;
    if (!(side->clear > 0) && !(fuzz > 0)) return odds;
    const float base = 0.05f + 0.95f * vec3_luminance(side->base.diffuse);
    const principled_lack lack = principled_lack_of(side);
    const float even = fuzz + base * (principled_lack_even(&lack, side->wo.z) +
                                      principled_lack_wide(side, side->base.alpha, side->wo.z));
    const float sum = clear + even + base * principled_left(side, side->wo);
    if (side->clear > 0) odds.clear = float_clamp(clear / sum, 0.1f, 0.5f);
    odds.even = float_clamp(even / sum, 0.02f, 0.45f);
    return odds;
}

KD_FN vec3 principled_opaque_evaluate(const principled_side *side, vec3 wi, bsdf_mode mode) {
    const opaque_layers layers = principled_layers(side);
    if (!(side->wo.z > 0) || !(wi.z > 0)) return vec3_all(0);
    vec3 value = principled_base_evaluate(side, &layers, wi);
    if (!(side->clear > 0) && !(vec3_largest(side->fuzz) > 0)) return value;
    const float left = float_min(principled_left(side, side->wo), principled_left(side, wi));
    value = vec3_along(principled_even(side, wi), left, value);
    return vec3_add(value, vec3_all(principled_clear_evaluate(side, wi, mode)));
}

KD_FN float principled_opaque_pdf(const principled_side *side, vec3 wi) {
    if (!(side->wo.z > 0) || !(wi.z > 0)) return 0;
    const opaque_layers layers = principled_layers(side);
    const principled_odds odds = principled_odds_of(side);
    float pdf = (1 - odds.clear - odds.even) * principled_base_pdf(side, &layers, wi);
    pdf += odds.even * pdf_cosine_hemisphere(wi.z);
    if (!(odds.clear > 0) || side->clear_alpha == 0) return pdf;
    const vec3 o = principled_to_clear(side, side->wo), i = principled_to_clear(side, wi);
    const vec3 m = vec3_normalize(vec3_add(o, i));
    const float facing = vec3_dot(o, m);
    if (facing > 0) pdf += odds.clear * ggx_visible_pdf(side->clear_alpha, o, m) / (4 * facing);
    return pdf;
}

/* Returns a mirror direction of the smooth coat or base, with its reflectance. */
KD_FN lobe_sample principled_mirror(vec3 direction, vec3 share, float odds) {
    lobe_sample drawn = lobe_sample_none();
    drawn.wi = direction;
    drawn.weight = vec3_scale(share, 1 / odds);
    drawn.specular = true;
    return drawn;
}

/* Samples the coat. Returns false if the direction is below the surface. */
KD_FN bool principled_draw_clear(const principled_side *side, rng_block random, vec3 *wi) {
    const vec3 o = principled_to_clear(side, side->wo);
    vec3 m = vec3_make(0, 0, 1);
    if (!(o.z > 0)) return false;
    if (side->clear_alpha > 0)
        m = ggx_draw_visible(side->clear_alpha, o, random.value[0], random.value[1]);
    vec3 out = vec3_normalize(fresnel_reflect(o, m));
    if (!(out.z > 0)) return false;
    if (side->clear_turned)
        out = frame3_to_local(&side->axes, frame3_to_world(&side->clear_axes, out));
    *wi = out;
    return out.z > 0;
}

/* Returns the reflectance of a smooth base below the layers. */
KD_FN vec3 principled_base_mirror(const principled_side *side, const opaque_layers *layers) {
    return vec3_scale(principled_reflectance(side, layers, side->wo.z),
                      principled_left(side, side->wo));
}

KD_FN lobe_sample principled_opaque_draw(const principled_side *side, rng_block random) {
    const opaque_layers layers = principled_layers(side);
    const principled_odds odds = principled_odds_of(side);
    lobe_sample drawn = lobe_sample_none();
    const vec3 wo = side->wo;
    if (!(wo.z > 0)) return drawn;
    if (random.value[2] < odds.clear) {
        if (!principled_draw_clear(side, random, &drawn.wi)) return drawn;
        if (side->clear_alpha == 0) {
            const float share = principled_clear(side, principled_to_clear(side, wo).z) *
                                (1 - principled_fuzz(side, wo.z));
            return principled_mirror(drawn.wi, vec3_all(share), odds.clear);
        }
    } else if (random.value[2] < odds.clear + odds.even) {
        drawn.wi = sample_cosine_hemisphere(random.value[0], random.value[1]);
    } else {
        const float rest = 1 - odds.clear - odds.even;
        const float lot = (random.value[2] - odds.clear - odds.even) / rest;
        if (lot < layers.upper_odds) {
            if (side->base.alpha == 0)
                return principled_mirror(vec3_make(-wo.x, -wo.y, wo.z),
                                         principled_base_mirror(side, &layers),
                                         rest * layers.upper_odds);
            const vec3 m =
                ggx_ellipse_draw_visible(side->facets, wo, random.value[0], random.value[1]);
            drawn.wi = vec3_normalize(fresnel_reflect(wo, m));
        } else if (lot < layers.upper_odds + layers.spread_odds) {
            drawn.wi = energy_draw(side->base.alpha, random.value[0], random.value[1]);
        } else {
            drawn.wi = sample_cosine_hemisphere(random.value[0], random.value[1]);
        }
    }
    if (!(drawn.wi.z > 0)) return drawn;
    drawn.pdf = 1; /* not a delta distribution: the caller computes weight and pdf */
    drawn.weight = vec3_all(1);
    return drawn;
}

/* --- A thin sheet --- */

/* Returns the reflectance of both sides of a sheet, with all reflections between them. */
KD_FN float sheet_reflectance(const principled_side *side, float cosine) {
    const float eta = float_max(side->glass.eta, 1 / side->glass.eta);
    const float single = fresnel_dielectric(float_clamp(cosine, 0, 1), eta);
    return 2 * single / (1 + single);
}

KD_FN float sheet_reflectance_mean(const principled_side *side) {
    const float single =
        fresnel_dielectric_average(float_max(side->glass.eta, 1 / side->glass.eta));
    return 2 * single / (1 + single);
}

/* Microfacets reflect, or transmit in the direction mirrored to the other side. */
KD_FN vec3 sheet_evaluate(const principled_side *side, vec3 wi) {
    const float alpha = side->glass.alpha;
    const vec3 wo = side->wo, up = vec3_make(wi.x, wi.y, fabsf(wi.z));
    if (!(wo.z > 0) || !(up.z > 0) || alpha == 0) return vec3_all(0);
    const vec3 m = vec3_normalize(vec3_add(wo, up));
    const float facet =
        ggx_density(alpha, m) * ggx_shadowing(alpha, wo.z, up.z) / (4 * wo.z * up.z);
    const float spread =
        side->glass.spreads ? energy_metal_evaluate(alpha, wo.z, up.z, vec3_all(1)).x : 0;
    const float one = sheet_reflectance(side, vec3_dot(wo, m));
    const float mean = sheet_reflectance_mean(side);
    if (wi.z > 0) return vec3_all(one * facet + mean * spread);
    return vec3_scale(side->glass.tint, (1 - one) * facet + (1 - mean) * spread);
}

KD_FN float sheet_pdf(const principled_side *side, vec3 wi) {
    const float alpha = side->glass.alpha;
    const vec3 wo = side->wo, up = vec3_make(wi.x, wi.y, fabsf(wi.z));
    if (!(wo.z > 0) || !(up.z > 0) || alpha == 0) return 0;
    const vec3 m = vec3_normalize(vec3_add(wo, up));
    const float one = sheet_reflectance(side, vec3_dot(wo, m));
    const float lost = side->glass.spreads ? energy_missing(alpha, wo.z) : 0;
    const float facet = ggx_visible_pdf(alpha, wo, m) / (4 * vec3_dot(wo, m));
    const float mean = sheet_reflectance_mean(side);
    return (1 - lost) * facet * (wi.z > 0 ? one : 1 - one) +
           lost * energy_pdf(alpha, up.z) * (wi.z > 0 ? mean : 1 - mean);
}

KD_FN lobe_sample sheet_draw(const principled_side *side, rng_block random) {
    const float alpha = side->glass.alpha;
    const vec3 wo = side->wo;
    lobe_sample drawn = lobe_sample_none();
    if (!(wo.z > 0)) return drawn;
    float lot = random.value[2], back = sheet_reflectance(side, wo.z);
    const float lost = alpha > 0 && side->glass.spreads ? energy_missing(alpha, wo.z) : 0;
    drawn.wi = vec3_make(-wo.x, -wo.y, wo.z);
    if (lot < lost) {
        drawn.wi = energy_draw(alpha, random.value[0], random.value[1]);
        back = sheet_reflectance_mean(side);
        lot = lot / lost;
    } else {
        lot = float_min((lot - lost) / (1 - lost), 0x1.fffffep-1f);
        if (alpha > 0) {
            const vec3 m = ggx_draw_visible(alpha, wo, random.value[0], random.value[1]);
            drawn.wi = vec3_normalize(fresnel_reflect(wo, m));
            back = sheet_reflectance(side, vec3_dot(wo, m));
        }
    }
    if (!(drawn.wi.z > 0)) return drawn;
    const bool through = !(lot < back);
    if (through) drawn.wi.z = -drawn.wi.z;
    drawn.weight = through ? side->glass.tint : vec3_all(1);
    drawn.specular = alpha == 0;
    drawn.pdf = alpha > 0 ? 1 : 0; /* weight and pdf are computed by the caller */
    return drawn;
}

/* --- The whole BSDF --- */

/* Returns the probability of sampling the glass. */
KD_FN float principled_pass_odds(const principled_side *side) {
    if (!(side->passes > 0) || side->passes >= 1) return side->passes >= 1 ? 1.0f : 0.0f;
    return float_clamp(side->passes, 0.1f, 0.9f);
}

KD_FN_NOINLINE vec3 principled_evaluate(const principled_side *side, vec3 wi, bsdf_mode mode) {
    vec3 value = vec3_all(0);
    if (side->passes > 0 && side->glass.alpha > 0)
        value = vec3_scale(side->thin ? sheet_evaluate(side, wi)
                                      : glass_evaluate(&side->glass, side->wo, wi, mode),
                           side->passes);
    if (side->passes < 1)
        value = vec3_along(value, 1 - side->passes, principled_opaque_evaluate(side, wi, mode));
    return value;
}

KD_FN_NOINLINE float principled_pdf(const principled_side *side, vec3 wi) {
    const float passes = principled_pass_odds(side);
    float pdf = 0;
    if (passes > 0 && side->glass.alpha > 0)
        pdf = passes * (side->thin ? sheet_pdf(side, wi) : glass_pdf(&side->glass, side->wo, wi));
    if (passes < 1) pdf += (1 - passes) * principled_opaque_pdf(side, wi);
    return pdf;
}

KD_FN_NOINLINE lobe_sample principled_draw(const principled_side *side, bsdf_mode mode,
                                           rng_block random) {
    const float passes = principled_pass_odds(side);
    const bool glass = random.value[2] < passes;
    lobe_sample drawn;
    if (glass) {
        random.value[2] = float_min(random.value[2] / passes, 0x1.fffffep-1f);
        drawn = side->thin ? sheet_draw(side, random)
                           : glass_draw(&side->glass, side->wo, mode, random);
    } else {
        random.value[2] = float_min((random.value[2] - passes) / (1 - passes), 0x1.fffffep-1f);
        drawn = principled_opaque_draw(side, random);
    }
    if (vec3_is_zero(drawn.weight)) return drawn;
    if (drawn.specular) {
        const float share = glass ? side->passes / passes : (1 - side->passes) / (1 - passes);
        drawn.weight = vec3_scale(drawn.weight, share);
        return drawn;
    }
    drawn.pdf = principled_pdf(side, drawn.wi);
    drawn.weight = vec3_all(0);
    if (drawn.pdf > 0)
        drawn.weight =
            vec3_scale(principled_evaluate(side, drawn.wi, mode), fabsf(drawn.wi.z) / drawn.pdf);
    return drawn;
}

#endif

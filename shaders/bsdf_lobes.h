/* The lobes of the BSDF in the shading frame, whose z is the normal on wo's side. Opaque ones
   reflect: diffuse, mirror, conductor, plastic. Glass reflects and refracts.
   Sources: Walter et al. 2007 (rough glass, eqs. 17, 20, 21); Heitz 2018 (sampling). A coat over a
   diffuse base includes light that is reflected back inside, as in Weidlich and Wilkie 2007,
   "Arbitrarily layered micro-facet surfaces", with all internal reflections. The energy that single
   scattering lacks is returned by an additional lobe (microfacet_energy.h).
   Work: a few dozen operations each; rough lobes look up tables. */
#ifndef KD_SHADERS_BSDF_LOBES_H
#define KD_SHADERS_BSDF_LOBES_H
#include "core/math/rng.h"
#include "core/math/sampling.h"
#include "shaders/microfacet.h"
#include "shaders/microfacet_energy.h"
#include "shaders/surface.h"

typedef enum bsdf_mode { BSDF_RADIANCE = 0, BSDF_FLUX = 1 } bsdf_mode;

typedef struct lobe_sample {
    vec3 wi, weight;
    float pdf; /* density per solid angle, 1/sr; 0 if specular */
    bool specular;
} lobe_sample;

KD_FN lobe_sample lobe_sample_none(void) {
    lobe_sample none;
    none.wi = vec3_make(0, 0, 1);
    none.weight = vec3_all(0);
    none.pdf = 0;
    none.specular = false;
    return none;
}

/* --- Opaque surfaces --- */

/* Reflectances of an opaque surface seen from wo, and the probabilities of sampling its lobes. */
typedef struct opaque_layers {
    vec3 normal_reflectance; /* normal reflectance of the metallic part */
    float metal, eta;        /* fraction of metal; index of the coat, 1: no coat */
    float coat_reflectance;  /* total reflectance of the coat from wo */
    bool spreads;            /* the metal has a multiple-scattering lobe */
    float upper_odds;        /* probability of sampling one facet of the coat or the metal */
    /* probability of sampling the multiple-scattering lobe; the diffuse base has the remainder */
    float spread_odds;
} opaque_layers;

/* Returns the reflectance of a coat for light from `cosine`. */
KD_FN float coat_reflectance(float alpha, float cosine, float eta) {
    return alpha > 0 && eta > 1 ? energy_coat(alpha, cosine, eta)
                                : fresnel_dielectric(float_clamp(cosine, 0, 1), eta);
}

KD_FN float coat_reflectance_mean(float alpha, float eta) {
    return alpha > 0 && eta > 1 ? energy_coat_mean(alpha, eta) : fresnel_dielectric_average(eta);
}

/* Sets the sampling probabilities in proportion to what each lobe returns, given its luminance;
   none becomes too small. */
KD_FN void opaque_odds(opaque_layers *layers, float upper, float spread, float body) {
    const float sum = upper + spread + body;
    layers->spread_odds = 0;
    layers->upper_odds = body <= 0 ? 1 : upper <= 0 ? 0 : float_clamp(upper / sum, 0.1f, 0.9f);
    if (!layers->spreads || !(spread > 0)) return;
    layers->spread_odds = float_min(spread / sum, 0.9f);
    const float rest = body > 0 ? float_clamp(upper / (upper + body), 0.1f, 0.9f) : 1;
    layers->upper_odds = (1 - layers->spread_odds) * rest;
}

/* `metal_colour`: normal reflectance of the metallic part. */
KD_FN opaque_layers opaque_layers_with(const surface *at, vec3 wo, vec3 metal_colour) {
    opaque_layers layers;
    layers.normal_reflectance = metal_colour;
    layers.metal = 1;
    layers.eta = 1;
    layers.coat_reflectance = 0;
    layers.spreads = false;
    layers.upper_odds = 1;
    layers.spread_odds = 0;
    if (at->kind == MATERIAL_DIFFUSE) {
        layers.metal = 0;
        layers.upper_odds = 0;
        return layers;
    }
    float body = 0;
    if (at->kind == MATERIAL_PLASTIC) {
        layers.metal = at->metallic;
        layers.eta = float_max(at->ior, 1);
        layers.coat_reflectance = coat_reflectance(at->alpha, wo.z, layers.eta);
        body = (1 - layers.metal) * (1 - layers.coat_reflectance) * vec3_luminance(at->diffuse);
    }
    if (at->kind == MATERIAL_MIRROR) return layers;
    layers.spreads = at->alpha > 0 && layers.metal > 0 && !at->scatters_once && wo.z > 0;
    const vec3 metal = fresnel_schlick(layers.normal_reflectance, wo.z);
    const float upper =
        (1 - layers.metal) * layers.coat_reflectance + layers.metal * vec3_luminance(metal);
    float spread = 0;
    if (layers.spreads)
        spread = layers.metal *
                 vec3_luminance(energy_metal_albedo(at->alpha, wo.z, layers.normal_reflectance));
    opaque_odds(&layers, upper, spread, body);
    return layers;
}

/* The metallic part of plastic has its base colour. */
KD_FN opaque_layers opaque_layers_of(const surface *at, vec3 wo) {
    return opaque_layers_with(at, wo, at->kind == MATERIAL_PLASTIC ? at->diffuse : at->specular);
}

/* Returns the fraction of light from `cosine` that passes a coat with reflectance `reflected`. With
   single scattering, light that one facet neither reflects nor transmits is lost. */
KD_FN float coat_passes(const surface *at, float cosine, float eta, float reflected) {
    if (!at->scatters_once || !(at->alpha > 0 && eta > 1)) return 1 - reflected;
    return float_max(1 - reflected - energy_glass_at(at->alpha, cosine, eta).lost, 0);
}

/* Returns the reflectance of the coat's inner side for diffuse light from the base. By reciprocity,
   its transmittance from inside is 1 / eta^2 of that from outside. */
KD_FN float coat_reflects_inside(const surface *at, float eta) {
    float through = 1 - coat_reflectance_mean(at->alpha, eta), lost = 0;
    if (at->scatters_once && at->alpha > 0 && eta > 1) {
        through -= energy_glass_missing_mean(at->alpha, eta);
        lost = energy_glass_missing_mean(at->alpha, 1 / eta);
    }
    return float_max(1 - lost - through / (eta * eta), 0);
}

/* Light that passes the coat, is scattered any number of times between the base of albedo `diffuse`
   and the coat's inner side, and leaves. */
KD_FN vec3 body_evaluate(const surface *at, const opaque_layers *layers, vec3 wo, vec3 wi) {
    if (at->kind == MATERIAL_DIFFUSE) return vec3_scale(at->diffuse, 1 / KD_PI);
    const float eta = layers->eta, inside = coat_reflects_inside(at, eta);
    const float through = coat_passes(at, wo.z, eta, layers->coat_reflectance) *
                          coat_passes(at, wi.z, eta, coat_reflectance(at->alpha, wi.z, eta));
    const float scale = (1 - layers->metal) * through / (KD_PI * eta * eta);
    return vec3_make(scale * at->diffuse.x / (1 - inside * at->diffuse.x),
                     scale * at->diffuse.y / (1 - inside * at->diffuse.y),
                     scale * at->diffuse.z / (1 - inside * at->diffuse.z));
}

/* Returns the reflectance of the upper layer for a facet that both directions see at `cosine`. */
KD_FN vec3 upper_reflectance(const opaque_layers *layers, float cosine) {
    const vec3 metal =
        vec3_scale(fresnel_schlick(layers->normal_reflectance, cosine), layers->metal);
    if (layers->metal >= 1) return metal;
    const float coat = fresnel_dielectric(float_min(cosine, 1), layers->eta);
    return vec3_add(metal, vec3_all((1 - layers->metal) * coat));
}

KD_FN bool upper_is_smooth(const surface *at) {
    return at->kind == MATERIAL_MIRROR || at->alpha == 0;
}

/* Walter 2007, eq. 20. */
KD_FN vec3 upper_evaluate(const surface *at, const opaque_layers *layers, vec3 wo, vec3 wi) {
    const vec3 m = vec3_normalize(vec3_add(wo, wi));
    /* Without multiple scattering, masking and shadowing are independent: Walter 2007, eq. 23. */
    const float seen = at->scatters_once
                           ? ggx_masking(at->alpha, wo.z) * ggx_masking(at->alpha, wi.z)
                           : ggx_shadowing(at->alpha, wo.z, wi.z);
    const float scale = ggx_density(at->alpha, m) * seen / (4 * wo.z * wi.z);
    return vec3_scale(upper_reflectance(layers, vec3_dot(wo, m)), scale);
}

/* `layers`: opaque_layers_of(at, wo), also below. */
KD_FN vec3 opaque_evaluate(const surface *at, const opaque_layers *layers, vec3 wo, vec3 wi) {
    vec3 value = vec3_all(0);
    if (layers->metal < 1) value = body_evaluate(at, layers, wo, wi);
    if (at->kind != MATERIAL_DIFFUSE && !upper_is_smooth(at) && wo.z > 0)
        value = vec3_add(value, upper_evaluate(at, layers, wo, wi));
    if (layers->spreads)
        value =
            vec3_along(value, layers->metal,
                       energy_metal_evaluate(at->alpha, wo.z, wi.z, layers->normal_reflectance));
    return value;
}

KD_FN float opaque_pdf(const surface *at, const opaque_layers *layers, vec3 wo, vec3 wi) {
    float pdf = (1 - layers->upper_odds - layers->spread_odds) * pdf_cosine_hemisphere(wi.z);
    if (layers->spread_odds > 0) pdf += layers->spread_odds * energy_pdf(at->alpha, wi.z);
    if (layers->upper_odds > 0 && !upper_is_smooth(at)) {
        const vec3 m = vec3_normalize(vec3_add(wo, wi));
        pdf += layers->upper_odds * ggx_visible_pdf(at->alpha, wo, m) / (4 * vec3_dot(wo, m));
    }
    return pdf;
}

KD_FN lobe_sample opaque_draw(const surface *at, vec3 wo, rng_block random) {
    const opaque_layers layers = opaque_layers_of(at, wo);
    lobe_sample drawn = lobe_sample_none();
    if (random.value[2] < layers.upper_odds) {
        if (!(wo.z > 0)) return drawn;
        if (upper_is_smooth(at)) {
            const vec3 share =
                at->kind == MATERIAL_MIRROR ? at->specular : upper_reflectance(&layers, wo.z);
            drawn.wi = vec3_make(-wo.x, -wo.y, wo.z);
            drawn.weight = vec3_scale(share, 1 / layers.upper_odds);
            drawn.specular = true;
            return drawn;
        }
        const vec3 m = ggx_draw_visible(at->alpha, wo, random.value[0], random.value[1]);
        drawn.wi = vec3_normalize(fresnel_reflect(wo, m));
    } else if (random.value[2] < layers.upper_odds + layers.spread_odds) {
        drawn.wi = energy_draw(at->alpha, random.value[0], random.value[1]);
    } else {
        drawn.wi = sample_cosine_hemisphere(random.value[0], random.value[1]);
    }
    if (!(drawn.wi.z > 0)) return drawn; /* a facet that reflects into the surface */
    if (at->kind == MATERIAL_DIFFUSE) {
        drawn.pdf = pdf_cosine_hemisphere(drawn.wi.z);
        drawn.weight = at->diffuse;
        return drawn;
    }
    drawn.pdf = opaque_pdf(at, &layers, wo, drawn.wi);
    if (drawn.pdf > 0)
        drawn.weight =
            vec3_scale(opaque_evaluate(at, &layers, wo, drawn.wi), drawn.wi.z / drawn.pdf);
    return drawn;
}

/* --- Glass --- */

/* Returns the facet normal (z > 0) that takes wo to wi; zero if there is none. `eta`: index beyond
   the boundary / on wo's side. Walter 2007, eqs. 13 and 16. */
KD_FN vec3 glass_facet(vec3 wo, vec3 wi, float eta) {
    const vec3 m = vec3_normalize(wi.z > 0 ? vec3_add(wo, wi) : vec3_along(wo, eta, wi));
    return m.z < 0 ? vec3_negate(m) : m;
}

/* |d m / d wi|: Walter 2007, eq. 14 for reflection, eq. 17 for refraction, divided by the index. */
KD_FN float glass_jacobian(vec3 wo, vec3 wi, vec3 m, float eta) {
    if (wi.z > 0) return 1 / (4 * fabsf(vec3_dot(wo, m)));
    const float denominator = vec3_dot(wo, m) + eta * vec3_dot(wi, m);
    return eta * eta * fabsf(vec3_dot(wi, m)) / (denominator * denominator);
}

KD_FN bool glass_connects(vec3 wo, vec3 wi, vec3 m) {
    if (!(wo.z > 0) || wi.z == 0 || vec3_is_zero(m)) return false;
    /* Both directions see the outer side of the facet, or wi sees its inner side. */
    return vec3_dot(wo, m) > 0 && vec3_dot(wi, m) * wi.z > 0;
}

/* Glass as seen from one side. */
typedef struct glass_side {
    float alpha, eta; /* eta: index beyond the boundary / on wo's side */
    vec3 tint;        /* tint of refracted light */
    bool spreads;     /* has multiple-scattering lobes */
} glass_side;

KD_FN_CALL vec3 glass_evaluate(const glass_side *at, vec3 wo, vec3 wi, bsdf_mode mode) {
    const float alpha = at->alpha, eta = at->eta;
    const float scale = mode == BSDF_RADIANCE ? 1 / (eta * eta) : 1;
    float reflected = 0, refracted = 0;
    const vec3 m = glass_facet(wo, wi, eta);
    if (glass_connects(wo, wi, m)) {
        const float fresnel = fresnel_dielectric(float_min(vec3_dot(wo, m), 1), eta);
        /* Smith masking for both sides of the surface; wi below has the same slope distribution. */
        const float common = ggx_density(alpha, m) * fabsf(vec3_dot(wo, m)) *
                             glass_jacobian(wo, wi, m, eta) * ggx_masking(alpha, wo.z) *
                             ggx_masking(alpha, wi.z) / (wo.z * fabsf(wi.z));
        if (wi.z > 0)
            reflected = fresnel * common;
        else
            refracted = (1 - fresnel) * common * scale;
    }
    if (at->spreads && wo.z > 0 && wi.z > 0)
        reflected += energy_glass_evaluate(alpha, wo.z, wi.z, eta, false);
    if (at->spreads && wo.z > 0 && wi.z < 0)
        refracted += energy_glass_evaluate(alpha, wo.z, -wi.z, eta, true) * scale;
    return wi.z > 0 ? vec3_all(reflected) : vec3_scale(at->tint, refracted);
}

/* Returns the density of glass_draw_facet. */
KD_FN float glass_facet_pdf(const glass_side *at, vec3 wo, vec3 wi) {
    const vec3 m = glass_facet(wo, wi, at->eta);
    if (!glass_connects(wo, wi, m)) return 0;
    const float fresnel = fresnel_dielectric(float_min(vec3_dot(wo, m), 1), at->eta);
    return (wi.z > 0 ? fresnel : 1 - fresnel) * ggx_visible_pdf(at->alpha, wo, m) *
           glass_jacobian(wo, wi, m, at->eta);
}

/* Returns the probabilities of sampling the multiple-scattering lobes: the energy that single
   scattering lacks. `across` is that of the transmitted lobe. */
KD_FN energy_glass glass_spread_odds(const glass_side *at, vec3 wo) {
    energy_glass odds = {0, 0};
    if (!at->spreads || !(wo.z > 0)) return odds;
    odds = energy_glass_at(at->alpha, wo.z, at->eta);
    if (!(odds.lost > 0)) odds.lost = odds.across = 0;
    return odds;
}

KD_FN_CALL float glass_pdf(const glass_side *at, vec3 wo, vec3 wi) {
    const energy_glass odds = glass_spread_odds(at, wo);
    const float facet = glass_facet_pdf(at, wo, wi);
    if (!(odds.lost > 0)) return facet;
    return (1 - odds.lost) * facet +
           (wi.z > 0 ? odds.lost - odds.across : odds.across) * energy_pdf(at->alpha, fabsf(wi.z));
}

/* Samples one facet; the weight is that of single scattering. */
KD_FN lobe_sample glass_draw_facet(const glass_side *at, vec3 wo, bsdf_mode mode,
                                   rng_block random) {
    const float alpha = at->alpha, eta = at->eta;
    lobe_sample drawn = lobe_sample_none();
    if (!(wo.z > 0)) return drawn;
    vec3 m = vec3_make(0, 0, 1);
    if (alpha > 0) m = ggx_draw_visible(alpha, wo, random.value[0], random.value[1]);
    const float fresnel = fresnel_dielectric(float_clamp(vec3_dot(wo, m), 0, 1), eta);
    const bool reflects = random.value[2] < fresnel;
    if (reflects)
        drawn.wi = fresnel_reflect(wo, m);
    else if (!fresnel_refract(wo, m, eta, &drawn.wi))
        return drawn;
    if (reflects ? !(drawn.wi.z > 0) : !(drawn.wi.z < 0)) return drawn;
    const float scale = mode == BSDF_RADIANCE ? 1 / (eta * eta) : 1;
    drawn.weight = reflects ? vec3_all(1) : vec3_scale(at->tint, scale);
    if (alpha == 0) {
        drawn.specular = true;
        return drawn;
    }
    drawn.weight = vec3_scale(drawn.weight, ggx_masking(alpha, drawn.wi.z));
    drawn.pdf = glass_facet_pdf(at, wo, drawn.wi);
    return drawn;
}

KD_FN_CALL lobe_sample glass_draw(const glass_side *at, vec3 wo, bsdf_mode mode, rng_block random) {
    const energy_glass odds = glass_spread_odds(at, wo);
    if (!(odds.lost > 0)) return glass_draw_facet(at, wo, mode, random);
    lobe_sample drawn;
    if (random.value[2] < odds.lost) {
        drawn = lobe_sample_none();
        drawn.wi = energy_draw(at->alpha, random.value[0], random.value[1]);
        if (random.value[2] < odds.across) drawn.wi.z = -drawn.wi.z;
    } else {
        random.value[2] =
            float_min((random.value[2] - odds.lost) / (1 - odds.lost), 0x1.fffffep-1f);
        drawn = glass_draw_facet(at, wo, mode, random);
        if (vec3_is_zero(drawn.weight)) return drawn;
    }
    drawn.pdf = glass_pdf(at, wo, drawn.wi);
    drawn.weight = vec3_all(0);
    if (drawn.pdf > 0)
        drawn.weight =
            vec3_scale(glass_evaluate(at, wo, drawn.wi, mode), fabsf(drawn.wi.z) / drawn.pdf);
    return drawn;
}

#endif

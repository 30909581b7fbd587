/* Layers of a principled surface: tints of its microfacets, the clear coat and the sheen ("fuzz"),
   and the light that these leave to the base. bsdf_principled.h has the method and its sources. */
#ifndef KD_SHADERS_BSDF_LAYERS_H
#define KD_SHADERS_BSDF_LAYERS_H
#include "shaders/bsdf_lobes.h"

/* --- Albedo of a thin layer ---
   The albedo by direction is modelled as floor + slope (1 - cosine)^power: low at normal incidence,
   high at grazing angles. Its integrals, and those of the energy that it takes from a diffuse base,
   have closed forms. */

typedef struct layer_profile {
    float floor, slope, power;
} layer_profile;

KD_FN float layer_profile_fall(const layer_profile *profile, float cosine) {
    const float down = 1 - float_clamp(cosine, 0, 1);
    return down > 0 ? float_exp(profile->power * float_log(down)) : 0;
}

KD_FN float layer_profile_at(const layer_profile *profile, float cosine) {
    return profile->floor + profile->slope * layer_profile_fall(profile, cosine);
}

/* Returns the mean over the hemisphere, weighted by the cosine. */
KD_FN float layer_profile_mean(const layer_profile *profile) {
    return profile->floor + 2 * profile->slope / ((profile->power + 1) * (profile->power + 2));
}

/* Returns the profile with these values at normal incidence, at grazing incidence, and in the
   mean. */
KD_FN layer_profile layer_profile_through(float along, float across, float mean) {
    layer_profile made = {along, float_max(across - along, 0), 5};
    const float above = mean - along;
    if (made.slope > 0 && above > 0)
        made.power = float_clamp(0.5f * sqrtf(1 + 8 * made.slope / above) - 1.5f, 0.1f, 50);
    return made;
}

/* Returns the integral of max(0, E(x) - E(cosine)) 2 x dx, where E is the albedo: by how much the
   albedo exceeds that at `cosine`, in the mean over the light of a diffuse base. */
KD_FN float layer_profile_lack(const layer_profile *profile, float cosine) {
    if (!(profile->slope > 0)) return 0;
    const float mu = float_clamp(cosine, 0, 1), down = 1 - mu, p = profile->power;
    const float fall = layer_profile_fall(profile, mu);
    const float first = (1 - fall * down) / (p + 1), second = (1 - fall * down * down) / (p + 2);
    return profile->slope * float_max(2 * (first - second) - fall * mu * mu, 0);
}

/* Returns the mean of layer_profile_lack over the hemisphere, weighted by the cosine. */
KD_FN float layer_profile_lack_mean(const layer_profile *profile) {
    if (!(profile->slope > 0)) return 0;
    const float q = profile->power + 1;
    return profile->slope * (2 - 24 / ((q + 2) * (q + 3))) / (q * (q + 1));
}

/* Returns the profile of white sheen: a larger roughness makes it flatter, and higher at normal
   incidence. */
KD_FN layer_profile layer_profile_fuzz(float roughness) {
    const float r = float_clamp(roughness, 0.05f, 1), r2 = r * r;
    layer_profile made;
    made.floor = 0.345f * r2 * r2;
    made.slope = 0.72f - made.floor;
    made.power = 1.4f / r;
    return made;
}

/* --- The principled surface --- */

/* A principled surface as seen from one direction. */
typedef struct principled_side {
    surface base;       /* the opaque part as plastic, for opaque_layers_of and similar functions */
    ggx_ellipse facets; /* GGX alpha of the opaque part */
    float passes;       /* fraction of glass */
    bool thin;          /* the glass is a thin sheet */
    vec3 specular_tint, wo;
    glass_side glass;
    vec3 fuzz;            /* colour of the sheen */
    layer_profile fuzzes; /* profile of white sheen */
    float clear, clear_alpha, clear_ior;
    frame3 axes, clear_axes;
    bool clear_turned; /* the coat's normal differs from the base's */
} principled_side;

/* The difference between Schlick's reflectance and that of a metal whose reflectance at 82 degrees
   is `edge` times Schlick's. */
KD_FN float metal_dent(float normal_reflectance, float edge, float cosine) {
    const float x = 1.0f / 7, m = 1 - x, m2 = m * m, m5 = m2 * m2 * m;
    const float schlick = normal_reflectance + (1 - normal_reflectance) * m5;
    const float depth = schlick * (1 - edge) / (x * m5 * m);
    const float c = float_clamp(cosine, 0, 1), n = 1 - c, n2 = n * n;
    return depth * c * n2 * n2 * n2;
}

KD_FN vec3 principled_metal(const principled_side *side, vec3 normal_reflectance, float cosine) {
    const vec3 edge = side->specular_tint;
    const vec3 plain = fresnel_schlick(normal_reflectance, cosine);
    if (edge.x == 1 && edge.y == 1 && edge.z == 1) return plain;
    const vec3 dent = vec3_make(metal_dent(normal_reflectance.x, edge.x, cosine),
                                metal_dent(normal_reflectance.y, edge.y, cosine),
                                metal_dent(normal_reflectance.z, edge.z, cosine));
    return vec3_max(vec3_sub(plain, dent), vec3_all(0));
}

/* Returns the reflectance of a microfacet of the opaque part: upper_reflectance with tints. */
KD_FN vec3 principled_reflectance(const principled_side *side, const opaque_layers *layers,
                                  float cosine) {
    vec3 sum = vec3_all(0);
    if (layers->metal > 0)
        sum = vec3_scale(principled_metal(side, layers->normal_reflectance, cosine), layers->metal);
    if (layers->metal >= 1) return sum;
    const float coat = fresnel_dielectric(float_clamp(cosine, 0, 1), layers->eta);
    const float normal = float_square((layers->eta - 1) / (layers->eta + 1));
    const float white = normal < 1 ? (coat - normal) / (1 - normal) : 1;
    const vec3 tint = vec3_along(vec3_scale(side->specular_tint, 1 - white), white, vec3_all(1));
    return vec3_along(sum, (1 - layers->metal) * coat, tint);
}

/* Returns the frame of a principled surface's microfacets. */
KD_FN frame3 principled_axes(const surface_layers *layers, vec3 normal) {
    frame3 axes = frame3_around(normal);
    const vec3 flat = vec3_along(layers->tangent, -vec3_dot(layers->tangent, normal), normal);
    const vec3 along = vec3_normalize(flat);
    if (vec3_is_zero(along)) return axes;
    axes.tangent = along;
    axes.bitangent = vec3_cross(normal, along);
    return axes;
}

/* Sets up a principled surface; `side`: +1 if wo is on the front. */
KD_FN principled_side principled_side_of(const surface *at, const frame3 *axes, vec3 wo, float side,
                                         const glass_side *glass) {
    const surface_layers *layers = &at->layers;
    const bool thin = layers->thin;
    principled_side made;
    made.passes = (1 - at->metallic) * layers->transmission;
    made.facets.x = layers->alpha_u;
    made.facets.y = layers->alpha_v;
    made.base.kind = MATERIAL_PLASTIC;
    made.base.diffuse = at->diffuse;
    made.base.specular = at->specular;
    made.base.alpha = at->alpha > 0 ? ggx_ellipse_mean(made.facets) : 0;
    made.base.ior = layers->coat_index;
    made.base.metallic = made.passes < 1 ? float_min(at->metallic / (1 - made.passes), 1) : 0;
    made.base.scatters_once = at->scatters_once;
    made.thin = thin;
    made.specular_tint = layers->specular_tint;
    made.wo = wo;
    made.glass = *glass;
    const vec3 body = at->diffuse;
    const vec3 per_pass = thin ? body : vec3_make(sqrtf(body.x), sqrtf(body.y), sqrtf(body.z));
    made.glass.tint = vec3_mul(glass->tint, per_pass);
    made.fuzz = layers->sheen;
    made.fuzzes = layer_profile_fuzz(layers->sheen_roughness);
    made.clear = layers->clear;
    made.clear_alpha = layers->clear_alpha;
    made.clear_ior = layers->clear_ior;
    made.axes = made.clear_axes = *axes;
    made.clear_turned = vec3_dot(layers->coat_normal, at->normal) < 0.9999f;
    if (made.clear_turned) made.clear_axes = frame3_around(vec3_scale(layers->coat_normal, side));
    return made;
}

/* --- Coat and sheen --- */

/* Returns the fraction of incident light that the coat reflects. */
KD_FN float principled_clear(const principled_side *side, float cosine) {
    if (!(side->clear > 0)) return 0;
    return side->clear * coat_reflectance(side->clear_alpha, cosine, side->clear_ior);
}

KD_FN float principled_fuzz(const principled_side *side, float cosine) {
    const float maximum = vec3_largest(side->fuzz);
    return maximum > 0 ? maximum * layer_profile_at(&side->fuzzes, cosine) : 0;
}

/* Transforms a direction from the base's frame to the coat's. */
KD_FN vec3 principled_to_clear(const principled_side *side, vec3 local) {
    if (!side->clear_turned) return local;
    return frame3_to_local(&side->clear_axes, frame3_to_world(&side->axes, local));
}

/* Returns the fraction of light that sheen and coat leave to the base, if their normals are
   equal. */
KD_FN float principled_left_at(const principled_side *side, float cosine) {
    return (1 - principled_fuzz(side, cosine)) * (1 - principled_clear(side, cosine));
}

/* The same for a direction, if the normals may differ. */
KD_FN float principled_left(const principled_side *side, vec3 direction) {
    return (1 - principled_fuzz(side, direction.z)) *
           (1 - principled_clear(side, float_max(principled_to_clear(side, direction).z, 0)));
}

/* The lack of the base's rough lobe: the light that the layers pass at `cosine`, minus the light
   that they pass to the reflected directions below it. About half of the reflected directions are
   lower, by a width that was fitted to samples of GGX and hardly depends on the layer. */
KD_FN float principled_lack_wide(const principled_side *side, float alpha, float cosine) {
    if (!(alpha > 0)) return 0;
    const float mu = float_clamp(cosine, 0, 1);
    const float narrow = 2.12f * alpha;
    const float low = (0.606f + 0.0917f / alpha) * mu * mu * sqrtf(sqrtf(mu));
    const float width = narrow * low / sqrtf(narrow * narrow + low * low + 1e-20f);
    const float upper = principled_left_at(side, mu);
    const float lower = principled_left_at(side, float_max(mu - width, 0));
    const float coat = coat_reflectance(alpha, mu, side->base.ior);
    const float metal = side->base.metallic;
    return 0.362f * float_max(upper - lower, 0) * (metal + (1 - metal) * coat);
}

/* The lack for a diffuse base, and the means of both lacks over the hemisphere, weighted by the
   cosine. */
typedef struct principled_lack {
    layer_profile fuzz, clear;
    float even_mean, wide_mean;
} principled_lack;

KD_FN principled_lack principled_lack_of(const principled_side *side) {
    principled_lack lack;
    const float maximum = vec3_largest(side->fuzz), alpha = side->base.alpha;
    memset(&lack, 0, sizeof lack);
    if (maximum > 0) {
        lack.fuzz = side->fuzzes;
        lack.fuzz.slope *= maximum;
        lack.fuzz.floor *= maximum;
    }
    if (side->clear > 0) { /* The coat receives the light that the sheen passes; this is evaluated
                              where the coat reflects most. */
        const float along = principled_clear(side, 1), across = principled_clear(side, 0);
        const float mean = side->clear * coat_reflectance_mean(side->clear_alpha, side->clear_ior);
        lack.clear = layer_profile_through(along, across, mean);
        lack.clear.slope *= 1 - layer_profile_at(&lack.fuzz, 0.12f);
    }
    lack.even_mean = layer_profile_lack_mean(&lack.fuzz) + layer_profile_lack_mean(&lack.clear);
    if (alpha > 0) /* Gauss quadrature with three points in the squared cosine. */
        lack.wide_mean = (5 * principled_lack_wide(side, alpha, 0.33571f) +
                          8 * principled_lack_wide(side, alpha, 0.70711f) +
                          5 * principled_lack_wide(side, alpha, 0.94197f)) /
                         18;
    return lack;
}

KD_FN float principled_lack_even(const principled_lack *lack, float cosine) {
    return layer_profile_lack(&lack->fuzz, cosine) + layer_profile_lack(&lack->clear, cosine);
}

/* The diffuse lobes of the sheen and of the base below the layers, as products of albedos. */
KD_FN vec3 principled_even(const principled_side *side, vec3 wi) {
    vec3 sum = vec3_all(0);
    if (vec3_largest(side->fuzz) > 0) {
        const float product =
            layer_profile_at(&side->fuzzes, side->wo.z) * layer_profile_at(&side->fuzzes, wi.z);
        sum = vec3_scale(side->fuzz, product / (KD_PI * layer_profile_mean(&side->fuzzes)));
    }
    const principled_lack lack = principled_lack_of(side);
    const float alpha = side->base.alpha, metal = side->base.metallic;
    if (lack.even_mean > 0 && metal < 1) {
        /* A diffuse base below its own coat scatters less into directions where the layers take
           most. */
        const float fuzzy = layer_profile_lack_mean(&lack.fuzz) / lack.even_mean;
        const float body = 1 - (0.25f - 0.16f * fuzzy) * (1 - alpha);
        const float albedo_product = principled_lack_even(&lack, side->wo.z) *
                                     principled_lack_even(&lack, wi.z) / (KD_PI * lack.even_mean);
        sum = vec3_along(sum, (1 - metal) * body * albedo_product, side->base.diffuse);
    }
    if (lack.wide_mean > 0) {
        const float wide_product = principled_lack_wide(side, alpha, side->wo.z) *
                                   principled_lack_wide(side, alpha, wi.z) /
                                   (KD_PI * lack.wide_mean);
        const vec3 colour = vec3_along(vec3_all(1 - metal), metal, side->base.specular);
        sum = vec3_along(sum, wide_product, colour);
    }
    return sum;
}

/* The coat's microfacet lobe in 1/sr, relative to the base's cosine. */
KD_FN float principled_clear_evaluate(const principled_side *side, vec3 wi, bsdf_mode mode) {
    const vec3 o = principled_to_clear(side, side->wo), i = principled_to_clear(side, wi);
    if (!(side->clear > 0) || side->clear_alpha == 0 || !(o.z > 0) || !(i.z > 0)) return 0;
    const vec3 m = vec3_normalize(vec3_add(o, i));
    const float fresnel = fresnel_dielectric(float_clamp(vec3_dot(o, m), 0, 1), side->clear_ior);
    const float left =
        1 - float_max(principled_fuzz(side, side->wo.z), principled_fuzz(side, wi.z));
    return side->clear * fresnel * left * ggx_density(side->clear_alpha, m) *
           ggx_shadowing(side->clear_alpha, o.z, i.z) /
           (4 * (mode == BSDF_RADIANCE ? o.z * wi.z : i.z * side->wo.z));
}

#endif

/* What lies on a principled surface: its facets' tints, the clear coat and the fuzz, and what these
   leave to the base. bsdf_principled.h says how, and after whom. */
#ifndef KD_SHADERS_BSDF_LAYERS_H
#define KD_SHADERS_BSDF_LAYERS_H
#include "shaders/bsdf_lobes.h"

/* --- a layer's albedo ---------------------------------------------------------------------------
   That of a thin layer by direction, floor + slope (1 - cosine)^power: low along the normal, high
   at the edge. Its integrals, and those of what it takes from an even base, are closed forms. */

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

/* --- layers ----------------------------------------------------------------------------------- */

/* A principled surface as one direction sees it. */
typedef struct principled_side {
    surface base;       /* the opaque part as plastic: what opaque_layers_of and its like read */
    ggx_ellipse facets; /* of the opaque part */
    float passes;       /* share of glass */
    bool thin;          /* of a sheet of it */
    vec3 specular_tint, wo;
    glass_side glass;
    vec3 fuzz;            /* colour */
    layer_profile fuzzes; /* of white */
    float clear, clear_alpha, clear_ior;
    frame3 axes, clear_axes;
    bool clear_turned; /* the coat's normal is not the base's */
} principled_side;

/* From how an opaque metal part looks in a facet at `cosine`: Schlick's, less the dent that makes
   it `edge` times that at 82 degrees. */
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

/* Reflectance of a facet of the opaque part: upper_reflectance with tints. */
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

/* The frame of a principled surface's facets. */
KD_FN frame3 principled_axes(const surface_layers *layers, vec3 normal) {
    frame3 axes = frame3_around(normal);
    const vec3 flat = vec3_along(layers->tangent, -vec3_dot(layers->tangent, normal), normal);
    const vec3 along = vec3_normalize(flat);
    if (vec3_is_zero(along)) return axes;
    axes.tangent = along;
    axes.bitangent = vec3_cross(normal, along);
    return axes;
}

/* `side`: +1 if wo is in front. */
KD_FN principled_side principled_side_of(const surface *at, const frame3 *axes, vec3 wo, float side,
                                         const glass_side *glass) {
    const surface_layers *layers = &at->layers;
    const bool thin = layers->thin;
    principled_side made;
    made.passes = (1 - at->metallic) * layers->transmission;
    made.facets.x = layers->alpha_u;
    made.facets.y = layers->alpha_v;
    made.base.kind = MATERIAL_PLASTIC;
    made.base.diffuse = made.base.specular = at->diffuse;
    made.base.alpha = at->alpha > 0 ? ggx_ellipse_mean(made.facets) : 0;
    made.base.ior = layers->coat_index;
    made.base.metallic = made.passes < 1 ? float_min(at->metallic / (1 - made.passes), 1) : 0;
    made.base.scatters_once = at->scatters_once;
    made.thin = thin;
    made.specular_tint = layers->specular_tint;
    made.wo = wo;
    made.glass = *glass;
    const vec3 body = at->diffuse;
    const vec3 once = thin ? body : vec3_make(sqrtf(body.x), sqrtf(body.y), sqrtf(body.z));
    made.glass.tint = vec3_mul(glass->tint, once);
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

/* --- the layers ------------------------------------------------------------------------------- */

/* How much the coat reflects of what comes to it. */
KD_FN float principled_clear(const principled_side *side, float cosine) {
    if (!(side->clear > 0)) return 0;
    return side->clear * coat_reflectance(side->clear_alpha, cosine, side->clear_ior);
}

KD_FN float principled_fuzz(const principled_side *side, float cosine) {
    const float most = vec3_largest(side->fuzz);
    return most > 0 ? most * layer_profile_at(&side->fuzzes, cosine) : 0;
}

/* A direction of the base's frame in the coat's. */
KD_FN vec3 principled_to_clear(const principled_side *side, vec3 local) {
    if (!side->clear_turned) return local;
    return frame3_to_local(&side->clear_axes, frame3_to_world(&side->axes, local));
}

/* Share of light that fuzz and coat leave to the base, where their normals are one. */
KD_FN float principled_left_at(const principled_side *side, float cosine) {
    return (1 - principled_fuzz(side, cosine)) * (1 - principled_clear(side, cosine));
}

/* The same where they may not be. */
KD_FN float principled_left(const principled_side *side, vec3 direction) {
    return (1 - principled_fuzz(side, direction.z)) *
           (1 - principled_clear(side, float_max(principled_to_clear(side, direction).z, 0)));
}

/* What a layer leaves of light from `cosine`, less what it leaves of that which comes to the base's
   facets from lower: about half of the reflected directions are lower, by some width. The width is
   a fit to draws of GGX facets; it hardly knows of the layer. */
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

/* The same for an even body, and means of both over directions, weighted by the cosine. */
typedef struct principled_lack {
    layer_profile fuzz, clear;
    float even_mean, wide_mean;
} principled_lack;

KD_FN principled_lack principled_lack_of(const principled_side *side) {
    principled_lack lack;
    const float most = vec3_largest(side->fuzz), alpha = side->base.alpha;
    memset(&lack, 0, sizeof lack);
    if (most > 0) {
        lack.fuzz = side->fuzzes;
        lack.fuzz.slope *= most;
        lack.fuzz.floor *= most;
    }
    if (side->clear > 0) { /* of what the fuzz leaves it where it reflects most */
        const float along = principled_clear(side, 1), across = principled_clear(side, 0);
        const float mean = side->clear * coat_reflectance_mean(side->clear_alpha, side->clear_ior);
        lack.clear = layer_profile_through(along, across, mean);
        lack.clear.slope *= 1 - layer_profile_at(&lack.fuzz, 0.12f);
    }
    lack.even_mean = layer_profile_lack_mean(&lack.fuzz) + layer_profile_lack_mean(&lack.clear);
    if (alpha > 0) /* Gauss's three points of the squared cosine */
        lack.wide_mean = (5 * principled_lack_wide(side, alpha, 0.33571f) +
                          8 * principled_lack_wide(side, alpha, 0.70711f) +
                          5 * principled_lack_wide(side, alpha, 0.94197f)) /
                         18;
    return lack;
}

KD_FN float principled_lack_even(const principled_lack *lack, float cosine) {
    return layer_profile_lack(&lack->fuzz, cosine) + layer_profile_lack(&lack->clear, cosine);
}

/* Light that fuzz, and base under layers, scatter evenly: products of albedos. */
KD_FN vec3 principled_even(const principled_side *side, vec3 wi) {
    vec3 sum = vec3_all(0);
    if (vec3_largest(side->fuzz) > 0) {
        const float both =
            layer_profile_at(&side->fuzzes, side->wo.z) * layer_profile_at(&side->fuzzes, wi.z);
        sum = vec3_scale(side->fuzz, both / (KD_PI * layer_profile_mean(&side->fuzzes)));
    }
    const principled_lack lack = principled_lack_of(side);
    const float alpha = side->base.alpha, metal = side->base.metallic;
    if (lack.even_mean > 0 && metal < 1) {
        /* a body under the base's own coat sends less to where the layers take most */
        const float fuzzy = layer_profile_lack_mean(&lack.fuzz) / lack.even_mean;
        const float body = 1 - (0.25f - 0.16f * fuzzy) * (1 - alpha);
        const float both = principled_lack_even(&lack, side->wo.z) *
                           principled_lack_even(&lack, wi.z) / (KD_PI * lack.even_mean);
        sum = vec3_along(sum, (1 - metal) * body * both, side->base.diffuse);
    }
    if (lack.wide_mean > 0) {
        const float both = principled_lack_wide(side, alpha, side->wo.z) *
                           principled_lack_wide(side, alpha, wi.z) / (KD_PI * lack.wide_mean);
        const vec3 colour = vec3_along(vec3_all(1 - metal), metal, side->base.diffuse);
        sum = vec3_along(sum, both, colour);
    }
    return sum;
}

/* The coat's facets, 1/sr over the base's cosine. */
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

/* What surfaces are made of: the record. What it does with light: shaders/bsdf.h. */
#ifndef KD_SHADERS_MATERIAL_H
#define KD_SHADERS_MATERIAL_H
#include "core/math/geometry.h"
#include "shaders/medium.h"

typedef enum material_kind {
    MATERIAL_DIFFUSE = 0, /* Lambert: albedo `diffuse` */
    MATERIAL_MIRROR = 1,  /* ideal mirror: reflectance `specular` */
    MATERIAL_GLASS =
        2, /* dielectric, smooth (roughness 0) or GGX; `transmission` tints what passes */
    MATERIAL_CONDUCTOR = 3, /* GGX, Schlick with normal reflectance `specular` */
    MATERIAL_PLASTIC = 4,   /* GGX dielectric coat over Lambert `diffuse`; the share `metallic` is a
                               GGX conductor with `diffuse` as its normal reflectance */
    MATERIAL_PRINCIPLED = 5, /* plastic that passes light by the share `transmission` of its
                                `principled` record, under a clear coat, under a fuzz */
    MATERIAL_KINDS
} material_kind;

typedef enum dispersion_kind {
    DISPERSION_NONE = 0,
    DISPERSION_CAUCHY = 1,   /* n = A + B / w^2 + C / w^4, w in micrometres */
    DISPERSION_SELLMEIER = 2 /* n^2 = 1 + sum of B w^2 / (w^2 - C) */
} dispersion_kind;

/* What a rough boundary does with light that one facet throws against another. */
typedef enum material_energy {
    ENERGY_FULL = 0,  /* it goes on until it leaves: nothing is lost */
    ENERGY_SINGLE = 1 /* it is lost: what renderers without compensation show */
} material_energy;

typedef enum material_flags {
    MATERIAL_PASSES = 1, /* principled: its transmission may be above 0 */
    MATERIAL_THIN = 2,   /* principled: a sheet; what passes is not bent, nothing is behind it */
    MATERIAL_UNLIT = 4,  /* `emission` is what the eye sees, and lights nothing else */
    MATERIAL_MASK = 8    /* opacity, image and all, is 1 from MATERIAL_MASK_AT on, else 0 */
} material_flags;

#define MATERIAL_MASK_AT 0.5f

typedef struct material {
    int32_t kind;      /* material_kind */
    vec3 diffuse;      /* albedo, 0..1 */
    vec3 specular;     /* normal reflectance, 0..1 */
    vec3 transmission; /* tint of refracted light at each crossing, 0..1; principled: the root of
                          `diffuse` tints it, too */
    vec3 emission;     /* radiance, W/(sr m^2), on the side the winding's normal points to */
    float roughness;   /* perceptual, 0..1; GGX alpha = roughness^2, below 1e-3 counts as smooth */
    float metallic;    /* 0..1 */
    float ior;         /* index of refraction inside / outside */
    float opacity;     /* 1 opaque; below 1 the surface is skipped with probability 1 - opacity */
    uint8_t two_sided; /* emits on both sides */
    uint8_t flags;     /* material_flags */
    uint16_t energy;   /* material_energy, of rough conductors, glass, metallic plastic */
    /* texture indices or KD_NONE; a texture multiplies its constant */
    uint32_t diffuse_map, specular_map, emission_map, opacity_map, roughness_map, metallic_map;
    uint32_t normal_map; /* tangent space */
    uint32_t bump_map;   /* height */
    float bump_scale;    /* height of white, in units of the texture's period */
    /* media (shaders/medium.h) behind and before the surface; indices, or */
    uint32_t medium;         /* KD_NONE: empty */
    uint32_t medium_outside; /* MEDIUM_FOG: the scene's */
    int32_t dispersion;      /* dispersion_kind; the index of glass is then that of the terms */
    float index_terms[6];    /* A, B, C of Cauchy; B1, B2, B3, C1, C2, C3 of Sellmeier */
} material;

/* The colder numbers of a principled material, at its index in scene_view.layers. Beside them
   count of the material: diffuse (base colour), roughness, metallic, ior, transmission, emission,
   opacity, normal_map, media, dispersion. */
typedef struct principled {
    float specular;     /* factor of the dielectric's normal reflectance, 0..1 / that of ior */
    vec3 specular_tint; /* of the dielectric's reflection along the normal */
    float anisotropy;   /* 0..1: alpha along the tangent is alpha / a, across it alpha a,
                           a^2 = 1 - 0.9 anisotropy */
    float turn;         /* of the tangent, from u, counter-clockwise, radians */
    vec3 sheen;         /* colour of the fuzz, 0..1; 0: none */
    float sheen_roughness;
    float coat; /* share of the surface under a clear coat, 0..1 */
    float coat_roughness, coat_ior;
    float transmission; /* share of what is no metal that passes light, 0..1 */
    float normal_scale; /* factor of the normal map's slopes */
    /* texture indices or KD_NONE; a texture multiplies its constant */
    uint32_t specular_map, specular_tint_map;
    uint32_t anisotropy_map; /* red, green: its direction from u, -1..1; blue: factor */
    uint32_t sheen_map, sheen_roughness_map;
    uint32_t coat_map, coat_roughness_map, coat_normal_map;
    uint32_t transmission_map;
} principled;

KD_FN principled principled_default(void) {
    principled made;
    memset(&made, 0, sizeof made);
    made.specular = 1;
    made.specular_tint = vec3_all(1);
    made.sheen_roughness = 0.5f;
    made.coat_ior = 1.5f;
    made.normal_scale = 1;
    made.specular_map = made.specular_tint_map = made.anisotropy_map = KD_NONE;
    made.sheen_map = made.sheen_roughness_map = made.transmission_map = KD_NONE;
    made.coat_map = made.coat_roughness_map = made.coat_normal_map = KD_NONE;
    return made;
}

KD_FN material material_default(void) {
    material made;
    memset(&made, 0, sizeof made);
    made.kind = MATERIAL_DIFFUSE;
    made.diffuse = vec3_all(0.7f);
    made.transmission = vec3_all(1);
    made.ior = 1.5f;
    made.opacity = 1;
    made.diffuse_map = made.specular_map = made.emission_map = made.opacity_map = KD_NONE;
    made.roughness_map = made.metallic_map = made.normal_map = made.bump_map = KD_NONE;
    made.bump_scale = 1;
    made.medium = KD_NONE;
    made.medium_outside = MEDIUM_FOG;
    return made;
}

/* Whether light is bent into what is behind it. */
KD_FN bool material_is_glassy(const material *made) {
    return made->kind == MATERIAL_GLASS ||
           (made->flags & (MATERIAL_PASSES | MATERIAL_THIN)) == MATERIAL_PASSES;
}

/* Whether the space behind it may hold something else than the space before it. */
KD_FN bool material_bounds_media(const material *made) {
    return material_is_glassy(made) || made->medium != KD_NONE ||
           made->medium_outside != MEDIUM_FOG;
}

#endif

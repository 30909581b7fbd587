/* The layers of a principled surface at one of its points, textures applied. */
#ifndef KD_SHADERS_SURFACE_LAYERS_H
#define KD_SHADERS_SURFACE_LAYERS_H
#include "shaders/surface_maps.h"

typedef struct surface_layers {
    vec3 tangent;     /* unit, about along the surface; zero: alpha_u is alpha_v */
    vec3 coat_normal; /* unit, in the geometric normal's hemisphere */
    float alpha_u;    /* GGX along the tangent */
    float alpha_v;    /* and across it */
    vec3 specular_tint;
    float coat_index; /* of the base's reflection: that of ior, changed by `specular` */
    vec3 sheen;
    float sheen_roughness;
    float clear, clear_alpha, clear_ior; /* the clear coat's share, roughness, index */
    float transmission;
    bool thin;
} surface_layers;

/* GGX alpha of a perceptual roughness; 0: smooth. */
KD_FN float surface_alpha(float roughness) {
    const float alpha = roughness * roughness;
    return alpha < 1e-3f ? 0 : alpha;
}

/* The index whose normal reflectance is `factor` times that of ior. */
KD_FN float surface_index_scaled(float ior, float factor) {
    if (factor == 1) return ior;
    const float root = (ior - 1) / (ior + 1);
    const float scaled = sqrtf(float_clamp(factor * root * root, 0, 0.9f));
    return (1 + scaled) / (1 - scaled);
}

/* A normal map's direction in a frame; `scale` stretches its slopes. */
KD_FN vec3 surface_normal_of_map(const scene_view *scene, uint32_t map, surface_uv uv, float scale,
                                 const frame3 *axes) {
    const vec3 texel = surface_sample(scene, map, uv);
    const vec3 local = vec3_make(scale * (2 * texel.x - 1), scale * (2 * texel.y - 1),
                                 float_max(2 * texel.z - 1, 0));
    const vec3 turned = vec3_normalize(frame3_to_world(axes, local));
    return vec3_is_zero(turned) ? axes->normal : turned;
}

/* Ellipses of facets: alpha times and over the root of 1 - 0.9 anisotropy's root, as in Burley
   2012, "Physically based shading at Disney". `axes`: u and v on the surface, if it has any. */
KD_FN void surface_stretch(surface_layers *to, const scene_view *scene, const principled *from,
                           surface_uv uv, float alpha, const frame3 *axes) {
    float amount = from->anisotropy, x = float_cos(from->turn), y = float_sin(from->turn);
    to->alpha_u = to->alpha_v = alpha;
    to->tangent = vec3_all(0);
    if (from->anisotropy_map != KD_NONE) {
        const vec3 texel = surface_sample(scene, from->anisotropy_map, uv);
        const float s = 2 * texel.x - 1, t = 2 * texel.y - 1;
        const float turned = x * s - y * t;
        y = y * s + x * t;
        x = turned;
        amount *= texel.z;
    }
    if (!(amount > 0) || !(alpha > 0)) return;
    to->tangent = vec3_normalize(vec3_along(vec3_scale(axes->tangent, x), y, axes->bitangent));
    if (vec3_is_zero(to->tangent)) return;
    const float aspect = sqrtf(1 - 0.9f * float_min(amount, 1));
    to->alpha_u = float_clamp(alpha / aspect, 1e-3f, 1);
    to->alpha_v = float_max(alpha * aspect, 1e-3f);
}

/* `smooth` is the interpolated normal, without maps; `alpha` and `ior` are the base's. */
KD_FN_APART surface_layers surface_layers_at(const scene_view *scene, uint32_t material_index,
                                             ray_hit hit, uint32_t placed, surface_uv uv,
                                             vec3 smooth, float alpha, float ior) {
    const principled *from = scene->layers + material_index;
    surface_layers to;
    frame3 axes;
    const uint32_t map =
        from->coat_normal_map != KD_NONE ? from->coat_normal_map : from->anisotropy_map;
    if (!surface_texture_frame(scene, map, hit, placed, smooth, &axes))
        axes = frame3_around(smooth);
    surface_stretch(&to, scene, from, uv, alpha, &axes);
    to.coat_normal = smooth;
    if (from->coat_normal_map != KD_NONE)
        to.coat_normal = surface_normal_of_map(scene, from->coat_normal_map, uv, 1, &axes);
    const float specular =
        surface_texture(scene, from->specular_map, uv, vec3_all(from->specular)).x;
    to.coat_index = surface_index_scaled(ior, specular);
    to.specular_tint = surface_texture(scene, from->specular_tint_map, uv, from->specular_tint);
    to.sheen = surface_texture(scene, from->sheen_map, uv, from->sheen);
    to.sheen_roughness =
        surface_texture(scene, from->sheen_roughness_map, uv, vec3_all(from->sheen_roughness)).x;
    to.clear = surface_texture(scene, from->coat_map, uv, vec3_all(from->coat)).x;
    to.clear_alpha = surface_alpha(
        surface_texture(scene, from->coat_roughness_map, uv, vec3_all(from->coat_roughness)).x);
    to.clear_ior = from->coat_ior;
    to.transmission =
        surface_texture(scene, from->transmission_map, uv, vec3_all(from->transmission)).x;
    to.thin = (scene->materials[material_index].flags & MATERIAL_THIN) != 0;
    return to;
}

#endif

/* A point on a surface with everything that shading needs.
   Idea: there are two normals. `geometric` is that of the flat triangle, by its winding; it decides
   what is in front, inside and visible. `normal` is the interpolated shading normal, always in the
   hemisphere of the geometric one. Where the interpolated normals describe a convex surface, light
   from below the plane of the triangle but above that of the shading normal reaches it, too, or the
   edge of the shadow would follow the triangles. Such rays begin at the height of the smooth
   surface (`smooth_height`), so that they do not hit the triangles beneath it.
   Source: Hanika 2021, "Hacking the Shadow Terminator", Ray Tracing Gems II, chapter 4.
   Differs: only rays below the plane of the triangle begin higher, so that all others, and the
   shadows of things that touch the surface, are those of the triangles.
   Invariants: both are unit vectors; dot(geometric, normal) >= 0; the mirror direction about
   `normal` stays on the viewer's side of the triangle, which avoids black rims. */
#ifndef KD_SHADERS_SURFACE_H
#define KD_SHADERS_SURFACE_H
#include "accel/tree/triangle.h"
#include "shaders/microfacet.h"
#include "shaders/surface_layers.h"

enum { SURFACE_ANY = -1 }; /* in place of a material_kind: not known */

typedef struct surface {
    vec3 position;
    float error;    /* the true point lies within this distance of `position` on each axis */
    vec3 geometric; /* unit; on the side from which the corners are counter-clockwise */
    vec3 normal;    /* unit, for shading */
    vec3 mapped;    /* `normal` before surface_bend_normal, which depends on the direction */
    vec2 texcoord;
    bool front; /* hit from the side of the geometric normal */
    /* Height of the smooth surface above `position`, on the side that was hit; 0: no light from
       below the plane of the triangle */
    float smooth_height;
    uint32_t triangle, material;
    /* The material at this point, textures applied. */
    int32_t kind; /* material_kind */
    /* specular: of principled surfaces, normal reflectance of the metallic part */
    vec3 diffuse, specular, transmission;
    vec3 emission; /* W/(sr m^2) towards the side that was hit; zero on a back that does not emit */
    float alpha;   /* GGX alpha; 0: smooth */
    bool scatters_once; /* no multiple scattering between microfacets */
    float metallic, ior, opacity;
    uint32_t beyond;       /* medium on the other side; MEDIUM_SAME: no boundary */
    bool unlit;            /* emission is visible to the camera only */
    bool disperses;        /* the index of refraction depends on the wavelength */
    surface_layers layers; /* set for principled surfaces */
} surface;

/* Returns the unit normal of a triangle; zero if it has no area. Scales the edges first where their
   product would leave the range of float, so any size works. */
KD_FN_HOT vec3 triangle_unit_normal(vec3 a, vec3 b, vec3 c) {
    const vec3 ab = vec3_sub(b, a), ac = vec3_sub(c, a);
    const vec3 product = vec3_cross(ab, ac);
    const float square = vec3_length2(product);
    if (square > 0x1p-80f && square < 0x1p80f) return vec3_scale(product, 1 / sqrtf(square));
    return vec3_normalize(vec3_cross(vec3_normalize(ab), vec3_normalize(ac)));
}

/* Sets position and direction of a triangle's light. */
KD_FN void light_on_triangle(light *light, vec3 a, vec3 b, vec3 c) {
    light->position = triangle_point(a, b, c, 1.0f / 3, 1.0f / 3);
    light->direction = triangle_unit_normal(a, b, c);
}

KD_FN void surface_place(surface *at, ray_hit hit, const vec3 corners[3]) {
    at->position = triangle_point(corners[0], corners[1], corners[2], hit.u, hit.v);
    at->error = triangle_point_error(corners[0], corners[1], corners[2]);
    at->geometric = triangle_unit_normal(corners[0], corners[1], corners[2]);
}

/* Returns the height above `position` of the planes through the corners, perpendicular to their
   normals, weighted by the barycentric coordinates; planes below it count as 0. Returns 0 if the
   normals differ too much to be those of a smooth surface. */
KD_FN float surface_height(const surface *at, ray_hit hit, const vec3 corners[3],
                           const vec3 normals[3]) {
    const float least = 0.7f; /* cosine between a normal and the triangle's */
    const float side = at->front ? 1.0f : -1.0f;
    const float share[3] = {1 - hit.u - hit.v, hit.u, hit.v};
    float height = 0;
    for (int i = 0; i < 3; ++i) {
        if (!(vec3_dot(normals[i], at->geometric) > least)) return 0;
        const float above = side * vec3_dot(vec3_sub(corners[i], at->position), normals[i]);
        height += share[i] * float_max(above, 0);
    }
    return height;
}

KD_FN void surface_smooth(surface *at, const scene_view *scene, ray_hit hit, uint32_t instance_id,
                          const vec3 corners[3]) {
    const mesh_view *mesh = &scene->mesh;
    at->normal = at->geometric;
    at->smooth_height = 0;
    if (!mesh->normal_indices) return;
    const uint32_t *corner = mesh->normal_indices + 3 * (size_t)hit.triangle;
    if (corner[0] == KD_NONE || corner[1] == KD_NONE || corner[2] == KD_NONE) return;
    vec3 n[3] = {mesh->normals[corner[0]], mesh->normals[corner[1]], mesh->normals[corner[2]]};
    for (int i = 0; i < 3 && instance_id != KD_NONE; ++i)
        n[i] = transform_normal(&scene->instances.list[instance_id].to_world, n[i]);
    const vec3 sum =
        vec3_along(vec3_along(vec3_scale(n[0], 1 - hit.u - hit.v), hit.u, n[1]), hit.v, n[2]);
    const vec3 smooth = vec3_normalize(sum);
    if (vec3_is_zero(smooth)) return;
    at->normal = vec3_dot(smooth, at->geometric) < 0 ? vec3_negate(smooth) : smooth;
    at->smooth_height = surface_height(at, hit, corners, n);
}

/* Bends the shading normal as little as necessary for the mirror direction of `wo` to leave the
   surface on wo's side. `side`: +1 if that is the front, else -1. */
KD_FN void surface_bend_normal(surface *at, float side, vec3 wo) {
    const vec3 up = vec3_scale(at->geometric, side), n = vec3_scale(at->normal, side);
    const vec3 mirrored = fresnel_reflect(wo, n);
    const float minimum = float_min(0.9f * vec3_dot(wo, up), 0.01f);
    const float height = vec3_dot(mirrored, up);
    if (!(height < minimum) || !(minimum > 0)) return;
    const vec3 lifted = vec3_normalize(vec3_along(mirrored, minimum - height, up));
    const vec3 half = vec3_normalize(vec3_add(wo, lifted));
    if (!vec3_is_zero(half)) at->normal = vec3_scale(half, side);
}

/* Returns true if shading and geometric normal differ. */
KD_FN bool surface_is_tilted(const surface *at) {
    return at->mapped.x != at->geometric.x || at->mapped.y != at->geometric.y ||
           at->mapped.z != at->geometric.z;
}

/* Sets the shading normal to that of the surface as seen from `wo`. */
KD_FN void surface_turn(surface *at, vec3 wo) {
    at->normal = at->mapped;
    if (at->kind != MATERIAL_DIFFUSE)
        surface_bend_normal(at, vec3_dot(wo, at->geometric) < 0 ? -1.0f : 1.0f, wo);
}

KD_FN void surface_dress(surface *at, const scene_view *scene, surface_uv uv, int32_t kind) {
    const material *made = scene->materials + at->material;
    at->kind = kind == SURFACE_ANY ? made->kind : kind;
    at->diffuse = surface_texture(scene, made->diffuse_map, uv, made->diffuse);
    at->specular = surface_texture(scene, made->specular_map, uv, made->specular);
    at->transmission = made->transmission;
    at->emission = vec3_all(0);
    if (at->front || made->two_sided)
        at->emission = surface_texture(scene, made->emission_map, uv, made->emission);
    const float roughness =
        surface_texture(scene, made->roughness_map, uv, vec3_all(made->roughness)).x;
    at->alpha = roughness * roughness;
    at->scatters_once = made->energy == ENERGY_SINGLE;
    at->ior = made->ior;
    /* An index of 1 neither refracts nor reflects, but rough facets between layers scatter: use
       slightly more than 1. */
    if (at->kind == MATERIAL_PRINCIPLED && at->ior == 1) at->ior = 1.0001f;
    if (at->alpha < 1e-3f || (at->kind == MATERIAL_GLASS && at->ior == 1)) at->alpha = 0;
    at->metallic = surface_texture(scene, made->metallic_map, uv, vec3_all(made->metallic)).x;
    at->opacity = surface_texture(scene, made->opacity_map, uv, vec3_all(made->opacity)).x;
    at->beyond = !material_bounds_media(made) ? MEDIUM_SAME
                 : at->front                  ? made->medium
                                              : made->medium_outside;
    at->unlit = (made->flags & MATERIAL_UNLIT) != 0;
    at->disperses = made->dispersion != DISPERSION_NONE;
}

/* Restricts the emission to the cone of the surface's light. */
KD_FN void surface_aim(surface *at, const scene_view *scene, vec3 direction) {
    if (vec3_is_zero(at->emission) || !scene->triangle_lights) return;
    const uint32_t which = scene->triangle_lights[at->triangle];
    if (which == KD_NONE || !(scene->lights[which].cos_outer > 0)) return;
    const float cosine = fabsf(vec3_dot(vec3_normalize(direction), at->geometric));
    at->emission = vec3_scale(at->emission, light_beam(scene->lights + which, cosine));
}

/* Returns 0 or 1 for a material with an alpha mask, else the opacity. */
KD_FN float surface_cut(const material *made, float opacity) {
    if (!(made->flags & MATERIAL_MASK)) return opacity;
    return opacity >= MATERIAL_MASK_AT ? 1.0f : 0.0f;
}

/* Returns true if the camera does not see the triangle directly. */
KD_FN bool surface_is_hidden(const scene_view *scene, uint32_t triangle) {
    return scene->materials[scene->mesh.triangle_materials[triangle]].flags & MATERIAL_HIDDEN;
}

/* Returns the fraction of light that passes a hit unchanged. */
KD_FN float surface_passes(const scene_view *scene, ray_hit hit) {
    const material *made = scene->materials + scene->mesh.triangle_materials[hit.triangle];
    float opacity = made->opacity;
    if (made->opacity_map != KD_NONE)
        opacity = surface_texture(scene, made->opacity_map, surface_texcoord(&scene->mesh, hit),
                                  vec3_all(opacity))
                      .x;
    if (scene->mesh.colours) {
        float corners;
        (void)surface_corner_colour(&scene->mesh, hit, &corners);
        opacity *= corners;
    }
    return 1 - surface_cut(made, opacity);
}

/* Applies vertex colours, if the mesh has any, and then the alpha mask. */
KD_FN void surface_tint(surface *at, const scene_view *scene, ray_hit hit) {
    if (scene->mesh.colours) {
        float corners;
        const vec3 colour = surface_corner_colour(&scene->mesh, hit, &corners);
        at->diffuse = vec3_mul(at->diffuse, colour);
        if (at->unlit) at->emission = vec3_mul(at->emission, colour);
        at->opacity *= corners;
    }
    at->opacity = surface_cut(scene->materials + at->material, at->opacity);
}

/* Returns the material kind of a hit; a miss counts as diffuse. */
KD_FN int32_t surface_kind_of(const scene_view *scene, uint32_t triangle) {
    if (triangle == KD_NONE) return MATERIAL_DIFFUSE;
    return scene->materials[scene->mesh.triangle_materials[triangle]].kind;
}

/* Raises the roughness of a surface to that of the GGX alpha `least`. */
KD_FN void surface_roughen(surface *at, float least) {
    if (least < 1e-3f || at->kind == MATERIAL_DIFFUSE) return;
    if (at->kind == MATERIAL_GLASS && at->ior == 1) return; /* neither refracts nor reflects */
    if (at->kind == MATERIAL_MIRROR) at->kind = MATERIAL_CONDUCTOR;
    at->alpha = float_max(at->alpha, least);
    if (at->kind != MATERIAL_PRINCIPLED) return;
    at->layers.alpha_u = float_max(at->layers.alpha_u, least);
    at->layers.alpha_v = float_max(at->layers.alpha_v, least);
    at->layers.clear_alpha = float_max(at->layers.clear_alpha, least);
}

/* Returns true if the surface transmits light to its other side. */
KD_FN bool surface_is_clear(const surface *at) {
    if (at->kind == MATERIAL_PRINCIPLED) return at->layers.transmission > 0 && at->metallic < 1;
    return at->kind == MATERIAL_GLASS;
}

/* Computes the surface where `ray` hit, in an instance or (KD_NONE) in none; hit.triangle must not
   be KD_NONE. `kind`: the kind of its material if the caller knows it, so that kernels for one kind
   lack the code for others, or SURFACE_ANY. Writes to *at instead of returning a copy, because on a
   CPU copying stalls on the small fields written last. */
KD_FN void surface_of_hit(const scene_view *scene, const ray *ray, ray_hit hit,
                          uint32_t instance_id, int32_t kind, surface *at) {
    vec3 corners[3];
    surface_corners(scene, hit.triangle, instance_id, corners);
    surface_place(at, hit, corners);
    at->triangle = hit.triangle;
    at->material = scene->mesh.triangle_materials[hit.triangle];
    at->front = vec3_dot(ray->direction, at->geometric) < 0;
    const surface_uv uv = surface_texcoord(&scene->mesh, hit);
    at->texcoord = uv.first;
    surface_smooth(at, scene, hit, instance_id, corners);
    const vec3 smooth = at->normal;
    at->normal = surface_mapped_normal(scene, at->material, hit, instance_id, uv, at->normal);
    if (vec3_dot(at->normal, at->geometric) < 0) at->normal = vec3_negate(at->normal);
    surface_dress(at, scene, uv, kind);
    surface_tint(at, scene, hit);
    surface_aim(at, scene, ray->direction);
    const material *made = scene->materials + at->material;
    if (at->kind == MATERIAL_PRINCIPLED) {
        if (!(made->flags & MATERIAL_SPECULAR)) at->specular = at->diffuse;
        at->layers = surface_layers_at(scene, at->material, hit, instance_id, uv, smooth, at->alpha,
                                       at->ior);
    }
    if (surface_is_mapped(scene, made) || surface_is_clear(at)) at->smooth_height = 0;
    at->mapped = at->normal;
    if (at->kind != MATERIAL_DIFFUSE)
        surface_bend_normal(at, at->front ? 1.0f : -1.0f,
                            vec3_negate(vec3_normalize(ray->direction)));
}

KD_FN surface surface_at_instance(const scene_view *scene, const ray *ray, ray_hit hit,
                                  uint32_t instance_id) {
    surface at;
    surface_of_hit(scene, ray, hit, instance_id, SURFACE_ANY, &at);
    return at;
}

KD_FN surface surface_at(const scene_view *scene, const ray *ray, ray_hit hit) {
    return surface_at_instance(scene, ray, hit, KD_NONE);
}

/* Returns the index of refraction beyond the surface divided by that on the side that was hit; 1
   for a thin sheet. */
KD_FN float surface_eta(const surface *at) {
    if (at->kind == MATERIAL_PRINCIPLED && at->layers.thin) return 1;
    return at->front ? at->ior : 1 / at->ior;
}

/* Returns the origin of a ray that leaves the surface: higher than the triangle if the ray passes
   below the triangle's plane but above that of the shading normal. */
KD_FN vec3 surface_origin(const surface *at, vec3 direction) {
    const float side = at->front ? 1.0f : -1.0f;
    if (at->smooth_height > 0 && side * vec3_dot(direction, at->geometric) < 0 &&
        side * vec3_dot(direction, at->normal) > 0)
        return vec3_along(at->position, side * (at->smooth_height + 2 * at->error), at->normal);
    return ray_leave(at->position, at->error, at->geometric, direction);
}

/* Returns a ray that leaves the surface; `tmax` is in lengths of `direction`. */
KD_FN ray surface_leave(const surface *at, vec3 direction, float tmax) {
    return ray_make(surface_origin(at, direction), direction, 0, tmax);
}

/* Returns the shadow ray to `point`, with t from 0 to 1. A point on another surface must have been
   offset from it (ray_leave). */
KD_FN ray surface_connect(const surface *at, vec3 point) {
    const vec3 origin = surface_origin(at, vec3_sub(point, at->position));
    return ray_make(origin, vec3_sub(point, origin), 0, 1);
}

#endif

/* A point on a surface with everything that light needs to know of it.
   Idea: normals have sides. `geometric` is the winding's normal of the flat triangle and decides
   what is in front, what is inside and what can be seen; `normal` is the smooth one that shading
   computes with, always in the geometric normal's hemisphere.
   Invariants: both are unit vectors; dot(geometric, normal) >= 0; a mirror direction about `normal`
   stays on the viewer's side of the triangle, so that interpolated normals leave no black rims. */
#ifndef KD_SHADERS_SURFACE_H
#define KD_SHADERS_SURFACE_H
#include "shaders/fresnel.h"
#include "shaders/scene_view.h"

typedef struct surface {
    vec3 position;
    float error;    /* the true point lies within this of `position`, along any axis */
    vec3 geometric; /* unit, on the side from which the corners run counter-clockwise */
    vec3 normal;    /* unit, for shading */
    vec2 texcoord;
    bool front; /* met from the geometric normal's side */
    uint32_t triangle, material;
    /* the material here, textures applied */
    int32_t kind; /* material_kind */
    vec3 diffuse, specular, transmission;
    vec3 emission; /* W/(sr m^2) towards the side that was met; zero on a dark back */
    float alpha;   /* GGX; 0: smooth */
    float metallic, ior, opacity;
} surface;

/* Unit normal of a triangle; zero if it has no area. Edges are scaled first: any size works. */
KD_FN vec3 triangle_unit_normal(vec3 a, vec3 b, vec3 c) {
    return vec3_normalize(
        vec3_cross(vec3_normalize(vec3_sub(b, a)), vec3_normalize(vec3_sub(c, a))));
}

KD_FN void surface_place(surface *at, const mesh_view *mesh, ray_hit hit) {
    const uint32_t *corner = mesh->triangles + 3 * (size_t)hit.triangle;
    const vec3 a = mesh->positions[corner[0]], b = mesh->positions[corner[1]],
               c = mesh->positions[corner[2]];
    const float w = 1 - hit.u - hit.v;
    at->position = vec3_along(vec3_along(vec3_scale(a, w), hit.u, b), hit.v, c);
    /* three products and two sums, and the rounding of w: 5 half-ulps of the terms' sizes
       (Higham 2002, section 3.1); 8 leaves room for the corners' own edges */
    const float wa = fabsf(w), ua = fabsf(hit.u), va = fabsf(hit.v);
    const vec3 size = vec3_make(wa * fabsf(a.x) + ua * fabsf(b.x) + va * fabsf(c.x),
                                wa * fabsf(a.y) + ua * fabsf(b.y) + va * fabsf(c.y),
                                wa * fabsf(a.z) + ua * fabsf(b.z) + va * fabsf(c.z));
    at->error = 8 * 0x1p-24f * (size.x + size.y + size.z);
    at->geometric = triangle_unit_normal(a, b, c);
}

KD_FN void surface_smooth(surface *at, const mesh_view *mesh, ray_hit hit) {
    at->normal = at->geometric;
    if (!mesh->normal_indices) return;
    const uint32_t *corner = mesh->normal_indices + 3 * (size_t)hit.triangle;
    if (corner[0] == KD_NONE || corner[1] == KD_NONE || corner[2] == KD_NONE) return;
    const vec3 sum = vec3_along(vec3_along(vec3_scale(mesh->normals[corner[0]], 1 - hit.u - hit.v),
                                           hit.u, mesh->normals[corner[1]]),
                                hit.v, mesh->normals[corner[2]]);
    const vec3 smooth = vec3_normalize(sum);
    if (vec3_is_zero(smooth)) return;
    at->normal = vec3_dot(smooth, at->geometric) < 0 ? vec3_negate(smooth) : smooth;
}

KD_FN vec2 surface_texcoord(const mesh_view *mesh, ray_hit hit) {
    if (!mesh->texcoord_indices) return vec2_make(0, 0);
    const uint32_t *corner = mesh->texcoord_indices + 3 * (size_t)hit.triangle;
    if (corner[0] == KD_NONE || corner[1] == KD_NONE || corner[2] == KD_NONE)
        return vec2_make(0, 0);
    const vec2 a = mesh->texcoords[corner[0]], b = mesh->texcoords[corner[1]],
               c = mesh->texcoords[corner[2]];
    const float w = 1 - hit.u - hit.v;
    return vec2_make(w * a.x + hit.u * b.x + hit.v * c.x, w * a.y + hit.u * b.y + hit.v * c.y);
}

/* Bends the shading normal as little as needed for the mirror direction of `wo` to leave the
   surface on wo's side. */
KD_FN void surface_bend_normal(surface *at, vec3 wo) {
    const float side = at->front ? 1.0f : -1.0f;
    const vec3 up = vec3_scale(at->geometric, side), n = vec3_scale(at->normal, side);
    const vec3 mirrored = fresnel_reflect(wo, n);
    const float least = float_min(0.9f * vec3_dot(wo, up), 0.01f);
    const float height = vec3_dot(mirrored, up);
    if (!(height < least) || !(least > 0)) return;
    const vec3 lifted = vec3_normalize(vec3_along(mirrored, least - height, up));
    const vec3 half = vec3_normalize(vec3_add(wo, lifted));
    if (!vec3_is_zero(half)) at->normal = vec3_scale(half, side);
}

KD_FN void surface_dress(surface *at, const scene_view *scene) {
    const material *made = scene->materials + at->material;
    at->kind = made->kind;
    at->diffuse = made->diffuse;
    at->specular = made->specular;
    at->transmission = made->transmission;
    at->emission = at->front || made->two_sided ? made->emission : vec3_all(0);
    const float alpha = made->roughness * made->roughness;
    at->alpha = alpha < 1e-3f ? 0 : alpha;
    at->metallic = made->metallic;
    at->ior = made->ior;
    at->opacity = made->opacity;
}

/* The surface where `cast` hit; hit.triangle must not be KD_NONE. */
KD_FN surface surface_at(const scene_view *scene, const ray *cast, ray_hit hit) {
    surface at;
    surface_place(&at, &scene->mesh, hit);
    at.triangle = hit.triangle;
    at.material = scene->mesh.triangle_materials ? scene->mesh.triangle_materials[hit.triangle] : 0;
    at.front = vec3_dot(cast->direction, at.geometric) < 0;
    at.texcoord = surface_texcoord(&scene->mesh, hit);
    surface_smooth(&at, &scene->mesh, hit);
    surface_dress(&at, scene);
    if (at.kind != MATERIAL_DIFFUSE)
        surface_bend_normal(&at, vec3_negate(vec3_normalize(cast->direction)));
    return at;
}

/* `position` moved off its triangle to the side that `direction` points to, by just more than its
   error: no ray that starts there meets the triangle again. */
KD_FN vec3 surface_offset(vec3 position, vec3 geometric, float error, vec3 direction) {
    const float side = vec3_dot(direction, geometric) < 0 ? -1.0f : 1.0f;
    vec3 moved = vec3_along(position, 2 * side * error, geometric);
    return moved;
}

/* A ray from the surface; `tmax` in lengths of `direction`. */
KD_FN ray surface_leave(const surface *from, vec3 direction, float tmax) {
    return ray_make(surface_offset(from->position, from->geometric, from->error, direction),
                    direction, 0, tmax);
}

/* The ray that decides whether the surface sees `point`: t from 0 to 1. The point itself should
   have been moved off its own surface (surface_offset). */
KD_FN ray surface_connect(const surface *from, vec3 point) {
    const vec3 towards = vec3_sub(point, from->position);
    const vec3 origin = surface_offset(from->position, from->geometric, from->error, towards);
    return ray_make(origin, vec3_sub(point, origin), 0, 1);
}

#endif

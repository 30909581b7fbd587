/* Nested media by priority: where closed meshes overlap, the medium of the highest priority fills
   the overlap, and surfaces inside it neither refract nor reflect.
   Source: Schmidt and Budge 2002, "Simple nested dielectrics in ray traced images".
   Idea: if some material has a priority, each material that bounds media has a place in the order
         of priorities. The word that paths carry as their medium then counts, in two bits per
         place, the meshes of that material around them, so that paths need no more memory.
   Work: a loop over the places at each surface; one comparison in scenes without priorities.
   Invariants: a word of this form is MEDIUM_FOG or below 2^22, so device code may keep 24 bits.
   Limits: NESTED_MAX materials, and three meshes of one material around a point.
   Differs from the source in: the set of materials around a path is counted instead of listed, so
   that the order of entering does not matter. A path that leaves a mesh which it had not entered,
   as where a mesh is open, counts as inside before. */
#ifndef KD_SHADERS_NESTED_H
#define KD_SHADERS_NESTED_H
#include "shaders/surface.h"

/* Returns the place of a material in the order of priorities, or `count` if it bounds no media. */
KD_FN uint32_t nested_place(const nested_view *nested, uint32_t material) {
    uint32_t place = 0;
    while (place < nested->count && nested->materials[place] != material) ++place;
    return place;
}

/* Returns the material of the highest priority in a word, or KD_NONE outside all meshes. */
KD_FN uint32_t nested_material(const nested_view *nested, uint32_t word) {
    if (word == MEDIUM_FOG) return KD_NONE;
    for (uint32_t place = nested->count; place > 0; --place)
        if (word >> (NESTED_BITS * (place - 1)) & NESTED_MASK) return nested->materials[place - 1];
    return KD_NONE;
}

/* The words before and behind a surface. */
typedef struct nested_crossing {
    uint32_t before, behind;
} nested_crossing;

/* `word`: that of a ray which hits the material from the front or not. */
KD_FN nested_crossing nested_cross(const nested_view *nested, uint32_t material, bool front,
                                   uint32_t word) {
    const uint32_t place = nested_place(nested, material);
    nested_crossing at;
    at.before = at.behind = word == MEDIUM_FOG ? 0 : word;
    if (place == nested->count) return at;
    const uint32_t shift = NESTED_BITS * place, one = 1u << shift;
    const uint32_t around = at.before >> shift & NESTED_MASK;
    if (!front && around == 0) at.before += one;
    at.behind = !front ? at.before - one : around < NESTED_MASK ? at.before + one : at.before;
    return at;
}

/* Returns true if a surface of the material lies inside a medium of higher priority, so that a ray
   with this word passes it. */
KD_FN bool nested_hides(const nested_view *nested, uint32_t material, bool front, uint32_t word) {
    const nested_crossing at = nested_cross(nested, material, front, word);
    return at.before != at.behind &&
           nested_material(nested, at.before) == nested_material(nested, at.behind);
}

/* Returns true if a ray of `direction` hits the triangle from the front. */
KD_FN bool nested_front(const scene_view *scene, uint32_t triangle, uint32_t instance_id,
                        vec3 direction) {
    vec3 p[3];
    surface_corners(scene, triangle, instance_id, p);
    return vec3_dot(direction, triangle_unit_normal(p[0], p[1], p[2])) < 0;
}

/* Returns true if a ray with this word passes the triangle. */
KD_FN_NOINLINE bool nested_passes(const scene_view *scene, uint32_t triangle, uint32_t instance_id,
                                  vec3 direction, uint32_t word) {
    const uint32_t material = scene->mesh.triangle_materials[triangle];
    return nested_place(&scene->nested, material) < scene->nested.count &&
           nested_hides(&scene->nested, material,
                        nested_front(scene, triangle, instance_id, direction), word);
}

/* Returns the word behind a triangle that a ray crosses. */
KD_FN_NOINLINE uint32_t nested_beyond(const scene_view *scene, uint32_t triangle,
                                      uint32_t instance_id, vec3 direction, uint32_t word) {
    const uint32_t material = scene->mesh.triangle_materials[triangle];
    if (nested_place(&scene->nested, material) == scene->nested.count) return word;
    return nested_cross(&scene->nested, material,
                        nested_front(scene, triangle, instance_id, direction), word)
        .behind;
}

/* Returns the index of refraction of what fills a place with this word. `wavelength`: micrometres;
   0: white. */
KD_FN float nested_index(const scene_view *scene, uint32_t word, float wavelength) {
    const uint32_t material = nested_material(&scene->nested, word);
    if (material == KD_NONE) return 1;
    const struct material *made = scene->materials + material;
    if (!material_is_glassy(made)) return 1;
    if (made->dispersion == DISPERSION_NONE || !(wavelength > 0)) return made->ior;
    return spectrum_index(made, wavelength);
}

/* Returns the index of refraction inside the surface relative to that outside. */
KD_FN float nested_surface_index(const scene_view *scene, uint32_t material, bool front,
                                 uint32_t word, float wavelength) {
    const nested_crossing across = nested_cross(&scene->nested, material, front, word);
    const float before = nested_index(scene, across.before, wavelength);
    const float behind = nested_index(scene, across.behind, wavelength);
    return front ? behind / before : before / behind;
}

/* Returns true if the index of refraction of what fills the place depends on the wavelength. */
KD_FN bool nested_disperses(const scene_view *scene, uint32_t word) {
    const uint32_t material = nested_material(&scene->nested, word);
    return material != KD_NONE && material_is_glassy(scene->materials + material) &&
           scene->materials[material].dispersion != DISPERSION_NONE;
}

/* What lies on the two sides of a surface. */
typedef struct nested_sides {
    bool applies; /* the material has a priority */
    bool disperses;
    uint32_t beyond;
    float ior; /* index beyond the surface relative to that before it, from the front */
} nested_sides;

/* Returns the sides of a surface that a ray with this word has hit. A surface whose address a
   called function gets is kept in memory by kernels, so this one takes the members that it reads.
 */
KD_FN_NOINLINE nested_sides nested_sides_of(const scene_view *scene, uint32_t material, bool front,
                                            uint32_t word) {
    nested_sides sides = {false, false, 0, 1};
    if (nested_place(&scene->nested, material) == scene->nested.count) return sides;
    const nested_crossing across = nested_cross(&scene->nested, material, front, word);
    sides.applies = true;
    sides.beyond = across.behind;
    sides.disperses =
        nested_disperses(scene, across.before) || nested_disperses(scene, across.behind);
    sides.ior = nested_surface_index(scene, material, front, word, 0);
    return sides;
}

/* Sets what lies on the two sides of a surface that a ray with this word has hit. */
KD_FN void nested_apply(const scene_view *scene, uint32_t word, surface *at) {
    const nested_sides sides = nested_sides_of(scene, at->material, at->front, word);
    if (!sides.applies) return;
    const float own = at->ior;
    at->beyond = sides.beyond;
    at->disperses = sides.disperses;
    at->ior = sides.ior;
    if (at->kind == MATERIAL_GLASS && at->ior == 1) at->alpha = 0; /* as in surface_dress */
    if (at->kind != MATERIAL_PRINCIPLED) return;
    if (at->ior == 1) at->ior = 1.0001f;
    const float given = (at->layers.coat_index - 1) / (at->layers.coat_index + 1);
    const float plain = (own - 1) / (own + 1);
    const float factor = at->layers.coat_index == own ? 1 : float_square(given / plain);
    at->layers.coat_index = surface_index_scaled(at->ior, factor);
}

/* Returns the words' medium: an index, or MEDIUM_FOG, or KD_NONE for vacuum. */
KD_FN uint32_t nested_medium(const scene_view *scene, uint32_t word) {
    const uint32_t material = nested_material(&scene->nested, word);
    return material == KD_NONE ? MEDIUM_FOG : scene->materials[material].medium;
}

#endif

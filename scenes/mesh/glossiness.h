/* Specular-glossiness materials as principled ones. A microfacet has the normal reflectance
   `specular`, the body below it the albedo `diffuse` times 1 - the largest component of `specular`.
   Idea: the fraction m of the surface is metal of the colour M, the rest is a dielectric of normal
   reflectance 0.04, the factor `dielectric` and a tint; the body is that of the dielectric. With
   0.96 m = s - 0.04 for the largest component s, m M + (1 - m) 0.04 = specular, and the body
   appears with the fraction 0.96 (1 - m) = 1 - s. Below 0.04 there is no metal.
   Invariants: both reflectances are exact at normal incidence, and at grazing incidence both parts
   reflect everything. */
#ifndef KD_SCENES_MESH_GLOSSINESS_H
#define KD_SCENES_MESH_GLOSSINESS_H
#include "core/math/geometry.h"

typedef struct glossy {
    float metallic, dielectric;
    vec3 metal; /* normal reflectance of the metallic part */
    vec3 tint;  /* reflectance of the dielectric at normal incidence */
} glossy;

/* `specular`: 0..1, linear. */
static inline glossy glossy_of(vec3 specular) {
    const float usual = 0.04f, largest = vec3_largest(specular);
    glossy made = {0, 1, {1, 1, 1}, {1, 1, 1}};
    made.metallic = float_max((largest - usual) / (1 - usual), 0);
    const float base = (1 - made.metallic) * usual;
    if (made.metallic > 0) {
        const vec3 left = vec3_max(vec3_sub(specular, vec3_all(base)), vec3_all(0));
        made.metal = vec3_min(vec3_scale(left, 1 / made.metallic), vec3_all(1));
        if (base > 0) made.tint = vec3_min(vec3_scale(specular, 1 / base), vec3_all(1));
    } else {
        made.dielectric = largest / usual;
        if (largest > 0) made.tint = vec3_scale(specular, 1 / largest);
    }
    return made;
}

#endif

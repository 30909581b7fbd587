/* The birth of a photon: from which light, from where, in which direction, with how many watts.
   Source: Jensen 2001, "Realistic Image Synthesis Using Photon Mapping", section 5.1.
   Idea: the light is chosen in proportion to its power, place and direction in proportion to what
         leaves there as far as that is known in closed form; power = flux over the chance to have
         chosen it, so the mean of power over all paths is the flux of all lights.
   Invariants: a pure function of (seed, pass, path). Paths are points of an additive lattice in
         five dimensions (light, place, direction), which any first n of them fill evenly.
         Source of the lattice: Kronecker's sequence with powers of the root of x^6 = x + 1, the
         golden ratio's kin for five dimensions; its steps are exact 64-bit integers.
   Aim: with `aimed` set, only photons whose straight way may meet the sphere are born, with the
        power that they would have: caustics need those that meet a lens first. */
#ifndef KD_SHADERS_LIGHT_EMIT_H
#define KD_SHADERS_LIGHT_EMIT_H
#include "shaders/light_sampling.h"
#include "shaders/rng.h"
#include "shaders/sampling.h"
#include "shaders/surface.h"

enum { EMISSION_DIMENSIONS = 5 };

typedef struct photon_emission {
    uint64_t seed;
    uint32_t pass;
    uint64_t shift[EMISSION_DIMENSIONS]; /* of the lattice, from (seed, pass) */
    vec3 centre;                         /* sphere that all photons' first rays should meet */
    float radius;
    bool aimed; /* else the sphere holds the whole scene, and bounds light from infinity only */
} photon_emission;

typedef struct emitted_photon {
    ray cast;
    vec3 power; /* W, to be divided by the number emitted */
    uint32_t light;
} emitted_photon;

/* Emission for a sphere around the whole scene (not aimed) or around all that acts as a lens. */
KD_FN photon_emission photon_emission_make(uint64_t seed, uint32_t pass, vec3 centre, float radius,
                                           bool aimed) {
    photon_emission made;
    made.seed = seed;
    made.pass = pass;
    made.centre = centre;
    made.radius = radius;
    made.aimed = aimed;
    for (uint32_t d = 0; d < EMISSION_DIMENSIONS; ++d) {
        const rng_block block = rng_draw(rng_key_make(seed, pass, UINT64_MAX), 0, d);
        made.shift[d] =
            (uint64_t)(block.value[0] * 0x1p24f) << 40 | (uint64_t)(block.value[1] * 0x1p24f) << 16;
    }
    return made;
}

/* Coordinate d of lattice point `path`, in [0, 1). */
KD_FN float photon_emission_number(const photon_emission *emission, uint64_t path, uint32_t d) {
    const uint64_t step = d == 0   ? 0xe19b01aa9d42c633u
                          : d == 1 ? 0xc6d1d6c8ed0c9631u
                          : d == 2 ? 0xaf36d01ef7518dbbu
                          : d == 3 ? 0x9a69443f36f710e6u
                                   : 0x881403b9339bd42du;
    return rng_unit_float((uint32_t)((emission->shift[d] + (path + 1) * step) >> 32));
}

/* A direction and the solid angle it stands for (sr): the pdf is its inverse. */
typedef struct emission_direction {
    vec3 direction;
    float solid_angle;
} emission_direction;

/* 1 - cos of half the angle under which the sphere is seen from a point; 2 (all directions) from
   inside. */
KD_FN float emission_sphere_versine(const photon_emission *emission, vec3 from) {
    const float distance = vec3_length(vec3_sub(emission->centre, from));
    if (!(distance > emission->radius)) return 2;
    const float sine = emission->radius / distance;
    return sine * sine / (1 + sqrtf(float_max(0, 1 - sine * sine)));
}

KD_FN emission_direction emission_cone(vec3 axis, float versine, float u, float v) {
    const frame3 axes = frame3_around(axis);
    emission_direction drawn;
    drawn.direction = frame3_to_world(&axes, sample_cone(1 - versine, u, v));
    drawn.solid_angle = 2 * KD_PI * versine;
    return drawn;
}

/* Towards the sphere if that narrows the choice; false if it does not. */
KD_FN bool emission_towards_sphere(const photon_emission *emission, vec3 from,
                                   float versine_at_most, float u, float v,
                                   emission_direction *out) {
    if (!emission->aimed) return false;
    const float versine = emission_sphere_versine(emission, from);
    if (!(versine < versine_at_most)) return false;
    *out = emission_cone(vec3_normalize(vec3_sub(emission->centre, from)), versine, u, v);
    return true;
}

KD_FN bool emit_from_triangle(const scene_view *scene, const light *from,
                              const photon_emission *emission, const float *u,
                              emitted_photon *out) {
    const uint32_t *corner = scene->mesh.triangles + 3 * (size_t)from->triangle;
    const vec3 a = scene->mesh.positions[corner[0]], b = scene->mesh.positions[corner[1]],
               c = scene->mesh.positions[corner[2]];
    const vec2 place = sample_triangle(u[1], u[2]);
    const vec3 point = triangle_point(a, b, c, place.x, place.y);
    const vec3 normal = triangle_unit_normal(a, b, c);
    const vec3 radiance = light_triangle_radiance(scene, from, place.x, place.y);
    const float area = from->area;
    emission_direction drawn;
    float cosine;
    if (emission_towards_sphere(emission, point, 1, u[3], u[4], &drawn)) {
        cosine = vec3_dot(drawn.direction, normal);
        if (from->two_sided) cosine = fabsf(cosine);
        if (!(cosine > 0)) return false;
        out->power = vec3_scale(radiance, area * cosine * drawn.solid_angle);
    } else {
        const bool back = from->two_sided && u[3] >= 0.5f;
        const float stretched = from->two_sided ? 2 * u[3] - (back ? 1.0f : 0.0f) : u[3];
        const frame3 axes = frame3_around(back ? vec3_negate(normal) : normal);
        drawn.direction = frame3_to_world(&axes, sample_cosine_hemisphere(stretched, u[4]));
        out->power = vec3_scale(radiance, area * KD_PI * (from->two_sided ? 2.0f : 1.0f));
    }
    const vec3 origin = ray_leave(point, triangle_point_error(a, b, c), normal, drawn.direction);
    out->cast = ray_make(origin, drawn.direction, 0, INFINITY);
    return true;
}

KD_FN bool emit_from_point(const light *from, const photon_emission *emission, const float *u,
                           emitted_photon *out) {
    const bool spot = from->kind == LIGHT_SPOT;
    const float versine = spot ? 1 - from->cos_outer : 2;
    emission_direction drawn;
    if (!emission_towards_sphere(emission, from->position, versine, u[3], u[4], &drawn))
        drawn = emission_cone(spot ? from->direction : vec3_make(0, 0, 1), versine, u[3], u[4]);
    const float share =
        spot ? light_spot_falloff(from, vec3_dot(drawn.direction, from->direction)) : 1.0f;
    if (!(share > 0)) return false;
    out->power = vec3_scale(from->emitted, share * drawn.solid_angle);
    out->cast = ray_make(from->position, drawn.direction, 0, INFINITY);
    return true;
}

/* From infinity along `direction`, through the sphere's disc across it: it starts where the whole
   scene is still ahead. */
KD_FN ray emission_ray_through_sphere(const scene_view *scene, const photon_emission *emission,
                                      vec3 direction, float u, float v) {
    const frame3 axes = frame3_around(direction);
    const vec2 disc = sample_disc(u, v);
    const vec3 local = vec3_make(emission->radius * disc.x, emission->radius * disc.y, 0);
    const vec3 through = vec3_add(emission->centre, frame3_to_world(&axes, local));
    const float behind = vec3_length(vec3_sub(through, box3_centre(scene->box))) +
                         vec3_length(box3_size(scene->box));
    return ray_make(vec3_along(through, -behind, direction), direction, 0, INFINITY);
}

/* The photon of a path, false if its power is zero (a dark texel, beyond a spot's cone). */
KD_FN bool light_emit(const scene_view *scene, const photon_emission *emission, uint64_t path,
                      emitted_photon *out) {
    if (scene->light_count == 0 || !(scene->total_power > 0)) return false;
    float u[EMISSION_DIMENSIONS];
    for (uint32_t d = 0; d < EMISSION_DIMENSIONS; ++d)
        u[d] = photon_emission_number(emission, path, d);
    out->light = cdf_search(scene->light_cdf, scene->light_count, u[0]);
    const light *from = &scene->lights[out->light];
    const float chance = scene->light_cdf[out->light + 1] - scene->light_cdf[out->light];
    if (!(chance > 0)) return false;
    bool born = true;
    const float disc_area = KD_PI * emission->radius * emission->radius;
    if (from->kind == LIGHT_TRIANGLE) {
        born = emit_from_triangle(scene, from, emission, u, out);
    } else if (from->kind == LIGHT_DIRECTIONAL) {
        out->cast = emission_ray_through_sphere(scene, emission, from->direction, u[3], u[4]);
        out->power = vec3_scale(from->emitted, disc_area);
    } else if (from->kind == LIGHT_ENVIRONMENT) {
        const vec3 sky = environment_draw(scene, vec3_all(0), u[1], u[2]);
        const float pdf = environment_pdf(scene, vec3_all(0), sky); /* contains the choice */
        if (!(pdf > 0)) return false;
        out->cast = emission_ray_through_sphere(scene, emission, vec3_negate(sky), u[3], u[4]);
        out->power = vec3_scale(environment_radiance(scene, sky), disc_area * chance / pdf);
    } else {
        born = emit_from_point(from, emission, u, out);
    }
    out->power = vec3_scale(out->power, 1 / chance);
    return born && vec3_largest(out->power) > 0 && vec3_is_finite(out->power);
}

#endif

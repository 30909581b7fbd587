/* Light sampling: directions from a point towards lights, and their probability densities.
   Idea: choose a light, then a point on it or a direction of the environment. Lights at infinity
   are chosen in proportion to their power. The other lights, if there are two or more, share the
   remaining probability by a tree (light_tree.h), about in proportion to the irradiance that each
   would cause at the receiver if nothing were in the way. Densities are per solid angle at the
   receiving point and include the choice of the light. A sample's contribution to a surface is f
   |cos| radiance / pdf_solid_angle, also for lights of zero size, whose `radiance` is the
   irradiance perpendicular to the direction. */
#ifndef KD_SHADERS_LIGHT_SAMPLING_H
#define KD_SHADERS_LIGHT_SAMPLING_H
#include "core/math/rng.h"
#include "core/math/sampling.h"
#include "shaders/surface.h"

typedef struct light_sample {
    vec3 direction;        /* unit, towards the light */
    float distance;        /* INFINITY for a light at infinity */
    vec3 point;            /* point offset from the light's surface; undefined at infinity */
    vec3 radiance;         /* W/(sr m^2) that arrives here; delta: W/m^2 */
    float pdf_solid_angle; /* 1/sr; delta: probability of the choice; 0: no contribution */
    bool delta;            /* cannot be hit by a ray */
    uint32_t light;
} light_sample;

/* Returns the probability of the light when chosen by power. */
KD_FN float light_choice(const scene_view *scene, uint32_t which) {
    return scene->light_cdf[which + 1] - scene->light_cdf[which];
}

/* --- Choosing a light --- */

/* Returns the probability of choosing a light of the tree. */
KD_FN float light_tree_share(const scene_view *scene) {
    return scene->light_tree.nodes ? scene->light_cdf[scene->light_tree.light_count] : 0;
}

/* Chooses a light for a receiver by u. *probability is 0 if no light that is chosen by this u can
   illuminate it; the sum over all lights may be less than 1 then. */
KD_FN uint32_t light_choose(const scene_view *scene, vec3 from, vec3 normal, float u,
                            float *probability) {
    const float share = light_tree_share(scene);
    if (u < share) {
        *probability = share;
        return light_tree_draw(&scene->light_tree, from, normal,
                               float_min(u / share, LIGHT_BELOW_ONE), probability);
    }
    const uint32_t which = cdf_search(scene->light_cdf, scene->light_count, u);
    *probability = light_choice(scene, which);
    return which;
}

/* Returns the probability with which light_choose chooses a light, with the same bits. */
KD_FN float light_probability(const scene_view *scene, uint32_t which, vec3 from, vec3 normal) {
    if (!scene->light_tree.nodes || which >= scene->light_tree.light_count)
        return light_choice(scene, which);
    return light_tree_probability(&scene->light_tree, which, from, normal, light_tree_share(scene));
}

/* --- The environment --- */

/* Returns the radiance that arrives from infinity in a unit direction. */
KD_FN vec3 environment_radiance(const scene_view *scene, vec3 direction) {
    const environment_view *sky = &scene->environment;
    if (sky->light == KD_NONE) return vec3_all(0);
    const vec3 emitted = scene->lights[sky->light].emitted;
    if (sky->texture == KD_NONE) return emitted;
    return vec3_mul(emitted,
                    texture_latlong(scene->textures + sky->texture, direction, sky->rotation));
}

/* Returns the density (1/sr) of light_draw at `normal` for a direction of the environment. A
   constant environment is sampled by the cosine about `normal`, or over the whole sphere if
   `normal` is zero. */
KD_FN float environment_pdf(const scene_view *scene, vec3 normal, vec3 direction) {
    const environment_view *sky = &scene->environment;
    if (sky->light == KD_NONE) return 0;
    const float choice = light_choice(scene, sky->light);
    if (!sky->row_cdf)
        return choice * (vec3_is_zero(normal) ? 1 / (4 * KD_PI)
                                              : pdf_cosine_hemisphere(vec3_dot(normal, direction)));
    const vec2 at = latlong_from_direction(direction, sky->rotation);
    const int32_t row = (int32_t)float_min(at.y * (float)sky->height, (float)(sky->height - 1));
    const int32_t column = (int32_t)float_min(at.x * (float)sky->width, (float)(sky->width - 1));
    const float *columns = sky->column_cdf + (size_t)row * (size_t)(sky->width + 1);
    const float sine = float_sin(at.y * KD_PI);
    if (!(sine > 0)) return 0;
    return choice * (sky->row_cdf[row + 1] - sky->row_cdf[row]) *
           (columns[column + 1] - columns[column]) * (float)sky->width * (float)sky->height /
           (2 * KD_PI * KD_PI * sine);
}

KD_FN vec3 environment_draw(const scene_view *scene, vec3 normal, float u, float v) {
    const environment_view *sky = &scene->environment;
    if (sky->row_cdf) {
        const uint32_t row = cdf_search(sky->row_cdf, (uint32_t)sky->height, u);
        const float *columns = sky->column_cdf + (size_t)row * (size_t)(sky->width + 1);
        const uint32_t column = cdf_search(columns, (uint32_t)sky->width, v);
        return latlong_to_direction(
            vec2_make(((float)column + cdf_rest(columns, column, v)) / (float)sky->width,
                      ((float)row + cdf_rest(sky->row_cdf, row, u)) / (float)sky->height),
            sky->rotation);
    }
    if (vec3_is_zero(normal)) return sample_sphere(u, v);
    const frame3 axes = frame3_around(normal);
    return frame3_to_world(&axes, sample_cosine_hemisphere(u, v));
}

/* --- Directional lights with a disc --- */

/* Samples a direction in a narrow cone about `axis`, whose versine (1 - cosine) is given, with the
   density 1 / (2 pi versine). */
KD_FN vec3 light_narrow_cone(vec3 axis, float versine, float u, float v) {
    const frame3 axes = frame3_around(axis);
    const float height = u * versine, radius = sqrtf(height * (2 - height)), angle = 2 * KD_PI * v;
    return frame3_to_world(
        &axes, vec3_make(radius * float_cos(angle), radius * float_sin(angle), 1 - height));
}

/* Returns the radiance of the disc that gives the light's irradiance. */
KD_FN vec3 light_disc_radiance(const light *sun) {
    return vec3_scale(sun->emitted, 1 / (KD_PI * sun->area * (2 - sun->area)));
}

/* Returns true if a unit direction towards infinity meets the light's disc. */
KD_FN bool light_disc_meets(const light *sun, vec3 direction) {
    if (sun->kind != LIGHT_DIRECTIONAL || !(sun->area > 0)) return false;
    return 0.5f * vec3_length2(vec3_add(direction, sun->direction)) < sun->area;
}

/* Returns the density (1/sr) of light_draw for a direction to the disc of this light. */
KD_FN float light_disc_pdf(const scene_view *scene, uint32_t which) {
    return light_choice(scene, which) / (2 * KD_PI * scene->lights[which].area);
}

/* --- A single light --- */

/* Returns the radiance of an emitting triangle at a point. */
KD_FN vec3 light_triangle_radiance(const scene_view *scene, const light *lamp, float u, float v) {
    ray_hit at;
    at.t = 0;
    at.u = u;
    at.v = v;
    at.triangle = lamp->triangle;
    const material *made = scene->materials + scene->mesh.triangle_materials[lamp->triangle];
    return surface_texture(scene, made->emission_map, surface_texcoord(&scene->mesh, at),
                           lamp->emitted);
}

KD_FN void light_draw_triangle(const scene_view *scene, const light *lamp, vec3 from, float u,
                               float v, light_sample *drawn) {
    const uint32_t *corner = scene->mesh.triangles + 3 * (size_t)lamp->triangle;
    const vec3 a = scene->mesh.positions[corner[0]], b = scene->mesh.positions[corner[1]],
               c = scene->mesh.positions[corner[2]];
    const vec2 weights = sample_triangle(u, v);
    const vec3 normal = lamp->direction;
    const vec3 point = triangle_point(a, b, c, weights.x, weights.y);
    const vec3 towards = vec3_sub(point, from);
    drawn->distance = vec3_length(towards);
    drawn->direction = vec3_normalize(towards);
    drawn->point = ray_leave(point, triangle_point_error(a, b, c), normal, vec3_negate(towards));
    const float cosine = -vec3_dot(drawn->direction, normal);
    if (!(lamp->two_sided ? fabsf(cosine) > 0 : cosine > 0) || !(lamp->area > 0)) return;
    drawn->radiance = light_triangle_radiance(scene, lamp, weights.x, weights.y);
    if (lamp->cos_outer > 0)
        drawn->radiance = vec3_scale(drawn->radiance, light_beam(lamp, fabsf(cosine)));
    drawn->pdf_solid_angle = drawn->distance * drawn->distance / (lamp->area * fabsf(cosine));
}

KD_FN void light_draw_point(const light *lamp, vec3 from, light_sample *drawn) {
    const vec3 towards = vec3_sub(lamp->position, from);
    drawn->delta = true;
    drawn->point = lamp->position;
    drawn->distance = vec3_length(towards);
    drawn->direction = vec3_normalize(towards);
    if (!(drawn->distance > 0)) return;
    const float share = lamp->kind == LIGHT_SPOT
                            ? light_spot_falloff(lamp, -vec3_dot(lamp->direction, drawn->direction))
                            : 1;
    drawn->radiance = vec3_scale(lamp->emitted, share / drawn->distance / drawn->distance);
    drawn->pdf_solid_angle = share > 0 ? 1 : 0;
}

KD_FN void light_draw_far(const scene_view *scene, const light *lamp, vec3 normal, float u, float v,
                          light_sample *drawn) {
    drawn->distance = INFINITY;
    if (lamp->kind == LIGHT_DIRECTIONAL && lamp->area > 0) {
        drawn->direction = light_narrow_cone(vec3_negate(lamp->direction), lamp->area, u, v);
        drawn->radiance = light_disc_radiance(lamp);
        drawn->pdf_solid_angle = 1 / (2 * KD_PI * lamp->area);
        return;
    }
    if (lamp->kind == LIGHT_DIRECTIONAL) {
        drawn->delta = true;
        drawn->direction = vec3_negate(lamp->direction);
        drawn->radiance = lamp->emitted;
        drawn->pdf_solid_angle = 1;
        return;
    }
    drawn->direction = environment_draw(scene, normal, u, v);
    drawn->radiance = environment_radiance(scene, drawn->direction);
}

/* --- All lights --- */

/* Samples a light from `from`. `normal`: unit, on the lit side of a surface that only reflects;
   zero for one that transmits light. Uses random.value[0..2]. */
KD_FN light_sample light_draw(const scene_view *scene, vec3 from, vec3 normal, rng_block random) {
    light_sample drawn;
    drawn.direction = vec3_make(0, 0, 1);
    drawn.distance = 0;
    drawn.point = from;
    drawn.radiance = vec3_all(0);
    drawn.pdf_solid_angle = 0;
    drawn.delta = false;
    drawn.light = KD_NONE;
    if (scene->light_count == 0) return drawn;
    float chance;
    drawn.light = light_choose(scene, from, normal, random.value[2], &chance);
    const light *lamp = scene->lights + drawn.light;
    const float u = random.value[0], v = random.value[1];
    if (lamp->kind == LIGHT_TRIANGLE)
        light_draw_triangle(scene, lamp, from, u, v, &drawn);
    else if (lamp->kind == LIGHT_POINT || lamp->kind == LIGHT_SPOT)
        light_draw_point(lamp, from, &drawn);
    else
        light_draw_far(scene, lamp, normal, u, v, &drawn);
    if (lamp->kind == LIGHT_ENVIRONMENT) /* includes the choice */
        drawn.pdf_solid_angle = environment_pdf(scene, normal, drawn.direction);
    else
        drawn.pdf_solid_angle *= chance;
    return drawn;
}

/* Returns the density (1/sr) with which light_draw(scene, from, normal, ...) samples the direction
   to an emitting surface that a ray from there has hit; 0 if it is not a light. */
KD_FN float light_pdf_of_hit(const scene_view *scene, vec3 from, vec3 normal,
                             const surface *hit_surface) {
    if (!scene->triangle_lights) return 0;
    const uint32_t which = scene->triangle_lights[hit_surface->triangle];
    if (which == KD_NONE) return 0;
    const light *lamp = scene->lights + which;
    const vec3 towards = vec3_sub(hit_surface->position, from);
    const float cosine = fabsf(vec3_dot(vec3_normalize(towards), hit_surface->geometric));
    if (!(cosine > 0) || !(lamp->area > 0)) return 0;
    return light_probability(scene, which, from, normal) * vec3_length2(towards) /
           (lamp->area * cosine);
}

/* Returns the radiance of the discs that a ray to infinity meets, each with the weight of multiple
   importance sampling for a direction of density `pdf`; INFINITY: of a mirror or the camera.
   `first`: the ray comes from the camera. */
KD_FN_NOINLINE vec3 light_discs(const scene_view *scene, vec3 direction, float pdf, bool first) {
    const environment_view *sky = &scene->environment;
    vec3 sum = vec3_all(0);
    for (uint32_t i = sky->sun_first; i < sky->sun_first + sky->sun_count; ++i) {
        const light *sun = scene->lights + i;
        if (!light_disc_meets(sun, direction) || (first && sun->two_sided)) continue;
        sum = vec3_along(sum, mis_power(pdf, light_disc_pdf(scene, i)), light_disc_radiance(sun));
    }
    return sum;
}

/* Returns true if a sampled ray can hit a light: some light has an area or a disc, or there is an
   environment. */
KD_FN bool light_can_be_hit(const scene_view *scene) {
    return scene->triangle_lights || scene->environment.light != KD_NONE ||
           scene->environment.sun_count;
}

/* Returns the shadow ray of a sample. */
KD_FN ray light_shadow_ray(const surface *at, const light_sample *drawn) {
    if (drawn->distance < INFINITY) return surface_connect(at, drawn->point);
    return surface_leave(at, drawn->direction, INFINITY);
}

#endif

/* Photon emission: samples a light, a point on it, a direction, and the photon's power.
   Source: Jensen 2001, "Realistic Image Synthesis Using Photon Mapping", section 5.1.
   Idea: the light is chosen in proportion to its power, position and direction in proportion to
   emitted radiance as far as that has a closed form. Power = flux / probability, so the mean power
   over all paths is the flux of all lights.
   Invariants: a pure function of (seed, pass, path). Paths are points of an additive lattice in
   five dimensions (light, position, direction), of which any first n points are evenly distributed.
   Source of the lattice: the Kronecker sequence with powers of the root of x^6 = x + 1, which
   generalises the golden ratio to five dimensions; its steps are exact 64-bit integers. Owen
   scrambling of each coordinate (sobol.h) permutes boxes of the lattice whose sides are powers of
   1/2 and keeps the points in each of them. The lattice stays equally even, but loses its lines,
   which would be visible as arcs in light tracing and as a weave in caustics of photon maps.
   Aim: if `aimed` is set, only photons whose straight path meets one of the target spheres are
   emitted: caustics need those that hit a lens first. A sphere is chosen in proportion to its solid
   angle (for light from infinity: to its disc). If n of them overlap, n choices lead to the same
   ray, so its power is that of the sum of all solid angles, divided by n.
   Guiding: if `guided` is not 0, that share of the photons is sent towards the target spheres after
   the first, which are the parts of the scene that the image depends on; the rest is emitted as
   without targets. The power of a photon is divided by the pdf of this mixture, so its mean is the
   same, and no photon carries more than 1 / (1 - guided) times the power of an unguided one. */
#ifndef KD_SHADERS_LIGHT_EMIT_H
#define KD_SHADERS_LIGHT_EMIT_H
#include "core/math/rng.h"
#include "core/math/sampling.h"
#include "core/math/sobol.h"
#include "shaders/light_sampling.h"
#include "shaders/surface.h"

enum { EMISSION_DIMENSIONS = 5, EMISSION_TARGETS = 16 };

typedef struct emission_target { /* a sphere that first rays should meet */
    vec3 centre;
    float radius;
} emission_target;

typedef struct photon_emission {
    uint64_t seed;
    uint32_t pass;
    uint64_t shift[EMISSION_DIMENSIONS];    /* offset of the lattice, from (seed, pass) */
    uint32_t scramble[EMISSION_DIMENSIONS]; /* seeds of the scrambling, from (seed, pass) */
    emission_target targets[EMISSION_TARGETS];
    uint32_t target_count; /* at least 1 */
    bool aimed; /* false: target 0 bounds the scene, and limits light from infinity only */
    /* In [0, 1), only without `aimed`: share of the photons sent towards the targets after the
       first, in equal parts. */
    float guided;
} photon_emission;

typedef struct emitted_photon {
    struct ray ray;
    vec3 power; /* W, to be divided by the number of photons emitted */
    uint32_t light;
    uint32_t medium;  /* medium at the origin */
    float wavelength; /* micrometres; 0: white */
} emitted_photon;

/* Initialises emission for one target: a sphere around the whole scene (not aimed), or around an
   object that acts as a lens; more targets may be added. */
KD_FN photon_emission photon_emission_make(uint64_t seed, uint32_t pass, vec3 centre, float radius,
                                           bool aimed) {
    photon_emission made;
    made.seed = seed;
    made.pass = pass;
    memset(made.targets, 0, sizeof made.targets);
    made.targets[0].centre = centre;
    made.targets[0].radius = radius;
    made.target_count = 1;
    made.aimed = aimed;
    made.guided = 0;
    const rng_key key = rng_key_make(seed, pass, UINT64_MAX);
    for (uint32_t d = 0; d < EMISSION_DIMENSIONS; ++d) {
        const rng_block shift = rng_draw(key, 0, d), scramble = rng_draw(key, 1, d);
        made.shift[d] =
            (uint64_t)(shift.value[0] * 0x1p24f) << 40 | (uint64_t)(shift.value[1] * 0x1p24f) << 16;
        made.scramble[d] =
            (uint32_t)(scramble.value[0] * 0x1p16f) << 16 | (uint32_t)(scramble.value[1] * 0x1p16f);
    }
    return made;
}

/* Switches to another pass, with different photons. */
KD_FN void photon_emission_renew(photon_emission *emission, uint32_t pass) {
    const photon_emission other =
        photon_emission_make(emission->seed, pass, vec3_all(0), 0, emission->aimed);
    emission->pass = pass;
    memcpy(emission->shift, other.shift, sizeof emission->shift);
    memcpy(emission->scramble, other.scramble, sizeof emission->scramble);
}

/* Returns coordinate d of lattice point `path` before scrambling, in units of 2^-32. */
KD_FN uint32_t photon_emission_lattice(const photon_emission *emission, uint64_t path, uint32_t d) {
    const uint64_t step = d == 0   ? 0xe19b01aa9d42c633u
                          : d == 1 ? 0xc6d1d6c8ed0c9631u
                          : d == 2 ? 0xaf36d01ef7518dbbu
                          : d == 3 ? 0x9a69443f36f710e6u
                                   : 0x881403b9339bd42du;
    return (uint32_t)((emission->shift[d] + (path + 1) * step) >> 32);
}

/* Returns coordinate d of point `path`, in [0, 1). */
KD_FN float photon_emission_number(const photon_emission *emission, uint64_t path, uint32_t d) {
    const uint32_t reversed = bits_reverse(photon_emission_lattice(emission, path, d));
    return rng_unit_float(bits_reverse(owen_scramble_reversed(reversed, emission->scramble[d])));
}

/* A direction and the inverse of its pdf (sr). */
typedef struct emission_direction {
    vec3 direction;
    float solid_angle;
} emission_direction;

/* Returns 1 - cos of the half angle that the sphere subtends at a point; 2 (all directions) from
   inside. */
KD_FN float emission_versine(const emission_target *target, vec3 from) {
    const float distance = vec3_length(vec3_sub(target->centre, from));
    if (!(distance > target->radius)) return 2;
    const float sine = target->radius / distance;
    return sine * sine / (1 + sqrtf(float_max(0, 1 - sine * sine)));
}

KD_FN emission_direction emission_cone(vec3 axis, float versine, float u, float v) {
    const frame3 axes = frame3_around(axis);
    emission_direction drawn;
    drawn.direction = frame3_to_world(&axes, sample_cone(1 - versine, u, v));
    drawn.solid_angle = 2 * KD_PI * versine;
    return drawn;
}

/* Returns true if the ray, or for light from infinity the whole line, meets a target. */
KD_FN bool emission_intersects(const emission_target *target, vec3 from, vec3 direction,
                               bool line) {
    const vec3 towards = vec3_sub(target->centre, from);
    if (!line && !(vec3_dot(towards, direction) > 0)) return false;
    return vec3_length2(vec3_cross(towards, direction)) <= target->radius * target->radius;
}

/* Returns how many choices of a target lead to a ray that was sampled for target `which`. */
KD_FN float emission_choices(const photon_emission *emission, uint32_t which, vec3 from,
                             vec3 direction, bool line) {
    float choices = 1;
    for (uint32_t i = 0; i < emission->target_count; ++i)
        if (i != which && emission_intersects(&emission->targets[i], from, direction, line))
            ++choices;
    return choices;
}

/* Samples a direction towards the targets. Returns false if their cones are not narrower than all
   directions of the light. */
KD_FN bool emission_towards_targets(const photon_emission *emission, vec3 from,
                                    float versine_at_most, float u, float v,
                                    emission_direction *out) {
    if (!emission->aimed) return false;
    float sum = 0;
    for (uint32_t i = 0; i < emission->target_count; ++i)
        sum += emission_versine(&emission->targets[i], from);
    if (!(sum < versine_at_most)) return false;
    float rest = u * sum, versine = 0;
    uint32_t which = 0;
    for (; which < emission->target_count; ++which) {
        versine = emission_versine(&emission->targets[which], from);
        if (rest < versine || which + 1 == emission->target_count) break;
        rest -= versine;
    }
    if (!(versine > 0)) return false;
    const emission_target *target = &emission->targets[which];
    out->direction = light_narrow_cone(vec3_normalize(vec3_sub(target->centre, from)), versine,
                                       float_clamp(rest / versine, 0, 0x1.fffffep-1f), v);
    out->solid_angle =
        2 * KD_PI * sum / emission_choices(emission, which, from, out->direction, false);
    return true;
}

/* --- guided emission ---------------------------------------------------------------------------
 */

/* Probability of target `which`. */
KD_FN float emission_target_chance(const photon_emission *emission, uint32_t which) {
    return which ? emission->guided / (float)(emission->target_count - 1) : 1 - emission->guided;
}

/* Samples a target; *u, a random number in [0, 1), becomes another one. */
KD_FN uint32_t emission_draw_target(const photon_emission *emission, float *u) {
    const float whole = 1 - emission->guided;
    const uint32_t others = emission->target_count - 1;
    float rest = *u / whole;
    uint32_t which = 0;
    if (!(*u < whole)) {
        rest = (*u - whole) / emission->guided * (float)others;
        which = (uint32_t)rest < others ? (uint32_t)rest : others - 1;
        rest -= (float)which++;
    }
    *u = float_clamp(rest, 0, 0x1.fffffep-1f);
    return which;
}

/* Samples one of the targets and a direction towards it, and returns its index. Returns 0 if the
   direction is to be sampled as in unguided emission, which includes targets that contain the
   point; *u is then a new random number. */
KD_FN_NOINLINE uint32_t emission_guide(const photon_emission *emission, vec3 from, float *u,
                                       float v, vec3 *direction) {
    const uint32_t which = emission_draw_target(emission, u);
    if (which == 0) return 0;
    const emission_target *target = &emission->targets[which];
    const float versine = emission_versine(target, from);
    if (!(versine > 0 && versine < 2)) return 0;
    *direction = light_narrow_cone(vec3_normalize(vec3_sub(target->centre, from)), versine, *u, v);
    return which;
}

/* Returns the inverse of the pdf (sr) of a direction that emission_guide sampled for target
   `which`. `pdf` is that of unguided emission. */
KD_FN_NOINLINE float emission_guided_angle(const photon_emission *emission, uint32_t which,
                                           vec3 from, vec3 direction, float pdf) {
    float sum = emission_target_chance(emission, 0) * pdf;
    const float chance = emission_target_chance(emission, 1);
    for (uint32_t i = 1; i < emission->target_count; ++i) {
        const float versine = emission_versine(&emission->targets[i], from);
        if (!(versine > 0 && versine < 2))
            sum += chance * pdf;
        else if (i == which || emission_intersects(&emission->targets[i], from, direction, false))
            sum += chance / (2 * KD_PI * versine);
    }
    return sum > 0 ? 1 / sum : 0;
}

/* Returns the pdf per area of a ray from infinity that was sampled for target `which`. */
KD_FN float emission_guided_disc(const photon_emission *emission, uint32_t which, vec3 through,
                                 vec3 direction) {
    float pdf = 0;
    for (uint32_t i = 0; i < emission->target_count; ++i) {
        const emission_target *other = &emission->targets[i];
        if (i == which || emission_intersects(other, through, direction, true))
            pdf += emission_target_chance(emission, i) / (KD_PI * float_square(other->radius));
    }
    return pdf;
}

/* emission_ray_through_targets for guided emission; *area is the inverse of the pdf per area. */
KD_FN_NOINLINE ray emission_guided_ray(const scene_view *scene, const photon_emission *emission,
                                       vec3 direction, float u, float v, float *area) {
    const uint32_t which = emission_draw_target(emission, &u);
    const emission_target *target = &emission->targets[which];
    const frame3 axes = frame3_around(direction);
    const vec2 disc = sample_disc(u, v);
    const vec3 local = vec3_make(target->radius * disc.x, target->radius * disc.y, 0);
    const vec3 through = vec3_add(target->centre, frame3_to_world(&axes, local));
    *area = 1 / emission_guided_disc(emission, which, through, direction);
    const float behind = vec3_length(vec3_sub(through, box3_centre(scene->box))) +
                         vec3_length(box3_size(scene->box));
    return ray_make(vec3_along(through, -behind, direction), direction, 0, INFINITY);
}

/* --- the kinds of lights -----------------------------------------------------------------------
 */

/* Samples a direction about +z, the normal of a triangle whose light is limited to a cone:
   uniformly in the cone if the intensity is that of a spot, else by the cosine. */
KD_FN vec3 emission_beam_draw(const light *lamp, float u, float v) {
    const float outer = lamp->cos_outer;
    if (lamp->cos_inner > outer) return light_narrow_cone(vec3_make(0, 0, 1), 1 - outer, u, v);
    const vec3 whole = sample_cosine_hemisphere(u, v);
    const float sine = sqrtf(1 - outer * outer), x = sine * whole.x, y = sine * whole.y;
    return vec3_make(x, y, sqrtf(float_max(1 - x * x - y * y, outer * outer)));
}

KD_FN float emission_beam_pdf(const light *lamp, float cosine) {
    const float outer = lamp->cos_outer;
    if (lamp->cos_inner > outer) return 1 / (2 * KD_PI * (1 - outer));
    return cosine / (KD_PI * (1 - outer * outer));
}

KD_FN bool emit_from_triangle(const scene_view *scene, const light *light,
                              const photon_emission *emission, const float *u,
                              emitted_photon *out) {
    const uint32_t *corner = scene->mesh.triangles + 3 * (size_t)light->triangle;
    const vec3 a = scene->mesh.positions[corner[0]], b = scene->mesh.positions[corner[1]],
               c = scene->mesh.positions[corner[2]];
    const vec2 place = sample_triangle(u[1], u[2]);
    const vec3 point = triangle_point(a, b, c, place.x, place.y);
    const vec3 normal = light->direction;
    const vec3 radiance = light_triangle_radiance(scene, light, place.x, place.y);
    const float area = light->area;
    const float sides = light->two_sided ? 2.0f : 1.0f;
    const bool beam = light->cos_outer > 0, guides = emission->guided > 0;
    float random = u[3];
    emission_direction drawn = {vec3_all(0), 0};
    const bool aimed =
        emission_towards_targets(emission, point, 1 - light->cos_outer, random, u[4], &drawn);
    const uint32_t target =
        guides ? emission_guide(emission, point, &random, u[4], &drawn.direction) : 0;
    if (!aimed && target == 0) {
        const bool back = light->two_sided && random >= 0.5f;
        const float stretched = light->two_sided ? 2 * random - (back ? 1.0f : 0.0f) : random;
        const frame3 axes = frame3_around(back ? vec3_negate(normal) : normal);
        drawn.direction = frame3_to_world(&axes, beam ? emission_beam_draw(light, stretched, u[4])
                                                      : sample_cosine_hemisphere(stretched, u[4]));
    }
    if (aimed || guides || beam) {
        float cosine = vec3_dot(drawn.direction, normal);
        if (light->two_sided) cosine = fabsf(cosine);
        if (!(cosine > 0)) return false;
        const float pdf = (beam ? emission_beam_pdf(light, cosine) : cosine / KD_PI) / sides;
        if (guides)
            drawn.solid_angle =
                emission_guided_angle(emission, target, point, drawn.direction, pdf);
        else if (!aimed)
            drawn.solid_angle = 1 / pdf;
        out->power =
            vec3_scale(radiance, area * cosine * drawn.solid_angle * light_beam(light, cosine));
    } else {
        out->power = vec3_scale(radiance, area * KD_PI * sides);
    }
    const vec3 origin = ray_leave(point, triangle_point_error(a, b, c), normal, drawn.direction);
    out->ray = ray_make(origin, drawn.direction, 0, INFINITY);
    return true;
}

KD_FN bool emit_from_point(const light *light, const photon_emission *emission, const float *u,
                           emitted_photon *out) {
    const bool spot = light->kind == LIGHT_SPOT;
    const float versine = spot ? 1 - light->cos_outer : 2;
    const bool guides = emission->guided > 0;
    float random = u[3];
    emission_direction drawn = {vec3_all(0), 0};
    const uint32_t target =
        guides ? emission_guide(emission, light->position, &random, u[4], &drawn.direction) : 0;
    if (target == 0 &&
        !emission_towards_targets(emission, light->position, versine, random, u[4], &drawn))
        drawn = emission_cone(spot ? light->direction : vec3_make(0, 0, 1), versine, random, u[4]);
    if (guides)
        drawn.solid_angle = emission_guided_angle(emission, target, light->position,
                                                  drawn.direction, 1 / (2 * KD_PI * versine));
    const float share =
        spot ? light_spot_falloff(light, vec3_dot(drawn.direction, light->direction)) : 1.0f;
    if (!(share > 0)) return false;
    out->power = vec3_scale(light->emitted, share * drawn.solid_angle);
    out->ray = ray_make(light->position, drawn.direction, 0, INFINITY);
    return true;
}

/* Returns a ray from infinity along `direction` through the disc of a target perpendicular to it;
   it starts in front of the whole scene. `*area`: total area of the discs, divided by the number
   that overlap there. */
KD_FN ray emission_ray_through_targets(const scene_view *scene, const photon_emission *emission,
                                       vec3 direction, float u, float v, float *area) {
    if (emission->guided > 0) return emission_guided_ray(scene, emission, direction, u, v, area);
    const frame3 axes = frame3_around(direction);
    uint32_t which = 0;
    float squares = emission->targets[0].radius * emission->targets[0].radius;
    if (emission->target_count > 1) {
        for (uint32_t i = 1; i < emission->target_count; ++i)
            squares += float_square(emission->targets[i].radius);
        float rest = u * squares, square = 0;
        for (; which < emission->target_count; ++which) {
            square = float_square(emission->targets[which].radius);
            if (rest < square || which + 1 == emission->target_count) break;
            rest -= square;
        }
        u = square > 0 ? float_clamp(rest / square, 0, 0x1.fffffep-1f) : 0;
    }
    const emission_target *target = &emission->targets[which];
    const vec2 disc = sample_disc(u, v);
    const vec3 local = vec3_make(target->radius * disc.x, target->radius * disc.y, 0);
    const vec3 through = vec3_add(target->centre, frame3_to_world(&axes, local));
    *area = KD_PI * squares / emission_choices(emission, which, through, direction, true);
    const float behind = vec3_length(vec3_sub(through, box3_centre(scene->box))) +
                         vec3_length(box3_size(scene->box));
    return ray_make(vec3_along(through, -behind, direction), direction, 0, INFINITY);
}

/* Samples the photon of a path. Returns false if its power is zero (a black texel, outside a spot's
   cone). */
KD_FN bool light_emit(const scene_view *scene, const photon_emission *emission, uint64_t path,
                      emitted_photon *out) {
    if (scene->light_count == 0 || !(scene->total_power > 0)) return false;
    out->medium = MEDIUM_FOG;
    out->wavelength = 0;
    float u[EMISSION_DIMENSIONS];
    for (uint32_t d = 0; d < EMISSION_DIMENSIONS; ++d)
        u[d] = photon_emission_number(emission, path, d);
    out->light = cdf_search(scene->light_cdf, scene->light_count, u[0]);
    const light *from = &scene->lights[out->light];
    const float chance = scene->light_cdf[out->light + 1] - scene->light_cdf[out->light];
    if (!(chance > 0)) return false;
    bool born = true;
    float area;
    if (from->kind == LIGHT_TRIANGLE) {
        born = emit_from_triangle(scene, from, emission, u, out);
    } else if (from->kind == LIGHT_DIRECTIONAL) {
        vec3 direction = from->direction, irradiance = from->emitted;
        if (from->area > 0) {
            direction = light_narrow_cone(direction, from->area, u[1], u[2]);
            irradiance = vec3_scale(light_disc_radiance(from), 2 * KD_PI * from->area);
        }
        out->ray = emission_ray_through_targets(scene, emission, direction, u[3], u[4], &area);
        out->power = vec3_scale(irradiance, area);
    } else if (from->kind == LIGHT_ENVIRONMENT) {
        const vec3 sky = environment_draw(scene, vec3_all(0), u[1], u[2]);
        /* includes the choice of the light */
        const float pdf = environment_pdf(scene, vec3_all(0), sky);
        if (!(pdf > 0)) return false;
        out->ray =
            emission_ray_through_targets(scene, emission, vec3_negate(sky), u[3], u[4], &area);
        out->power = vec3_scale(environment_radiance(scene, sky), area * chance / pdf);
    } else {
        born = emit_from_point(from, emission, u, out);
    }
    out->power = vec3_scale(out->power, 1 / chance);
    return born && vec3_largest(out->power) > 0 && vec3_is_finite(out->power);
}

#endif

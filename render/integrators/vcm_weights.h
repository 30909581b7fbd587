/* Weights of multiple importance sampling between paths from the eye and from the lights.
   Source: Georgiev, Krivanek, Davidovic and Slusallek 2012, "Light transport simulation with vertex
           connection and merging"; the recursion after Georgiev 2012, "Implementing vertex
   connection and merging"; Veach 1997, section 9.2 (balance heuristic). In media: Krivanek,
   Georgiev, Hachisuka, Vevoda, Sik, Nowrouzezahrai and Jarosz 2014, "Unifying points, beams, and
   paths in volumetric light transport simulation", the estimator of points and points.
   Idea: a path can be found by a ray from the eye that hits the light, by a sampled point of a
         light (lamps), by a light path whose last vertex is connected to the camera (splat), or by
         merging a light path and an eye path at a surface or in a medium. A weight is 1 / (1 + the
   densities of all other techniques relative to this one). Both kinds of path carry what they
   contribute to these sums; the two parts meet where a technique joins them.
   Differs from the source in: inner vertices are not connected; paths merge only where light
         arrives from a lens (a specular event, or a surface that stores no photons) on a surface
         that stores photons, or in a medium. A light path knows this when it arrives, an eye path
   one vertex later.
   Invariants: the weights of all techniques that are on add up to 1 for every path, since each
               density is a pure function of the path's vertices. It need not be the true one:
   transmittance (each ray is sampled by one of the paths, except connections), Russian roulette and
   pixel filters are left out. */
#ifndef KD_RENDER_INTEGRATORS_VCM_WEIGHTS_H
#define KD_RENDER_INTEGRATORS_VCM_WEIGHTS_H
#include "shaders/bsdf.h"
#include "shaders/light_emit.h"
#include "shaders/path.h"

/* Sums may overflow where densities vanish; infinity times 0 would be NaN. */
#define VCM_WEIGHT_MAX 1e30f

/* What a path that begins at the camera or at a light contributes to weights. */
typedef struct vcm_chain {
    /* At the first vertex: the density of joining it with the beginning, over that of sampling it;
       later: the inverse of the density with which the vertex was sampled */
    float inverse;
    /* densities of the techniques that join earlier vertices, over that of sampling the vertices up
       to here; to be multiplied by the density of sampling the previous vertex from here */
    float others;
    float pending; /* part of the same for merging at the previous vertex, if this one is a lens */
    uint32_t vertices;
    bool from_lens; /* the previous vertex acted as a lens */
} vcm_chain;

KD_FN float vcm_bounded(float value) {
    return float_min(value, VCM_WEIGHT_MAX);
}

KD_FN vcm_chain vcm_chain_begin(float inverse, float others) {
    vcm_chain made;
    made.inverse = vcm_bounded(inverse);
    made.others = vcm_bounded(others);
    made.pending = 0;
    made.vertices = 0;
    made.from_lens = false;
    return made;
}

/* At the next vertex: converts densities per solid angle to densities per area. `square`: squared
   distance, 1 for parallel rays; `cosine`: 1 in a medium. */
KD_FN void vcm_chain_land(vcm_chain *chain, float square, float cosine) {
    const float scale = 1 / float_max(cosine, 1e-12f);
    chain->inverse = vcm_bounded(chain->inverse * square * scale);
    chain->others = vcm_bounded(chain->others * scale);
    chain->pending = vcm_bounded(chain->pending * scale);
    ++chain->vertices;
}

/* Returns the share of joining this vertex with the camera or the light. */
KD_FN float vcm_chain_join(const vcm_chain *chain) {
    return chain->vertices == 1 ? chain->inverse : 0;
}

/* A sampled direction at a vertex. */
typedef struct vcm_turn {
    float pdf;    /* 1/sr, with which it was sampled */
    float back;   /* 1/sr, with which the path in the other direction samples the previous vertex */
    float cosine; /* with the geometric normal; 1 in a medium; 0 if the reverse direction cannot be
                     sampled */
    bool specular;
    bool lens;    /* the vertex acts as a lens */
    float merges; /* paths that merge at the vertex per density of sampling it; 0: none */
} vcm_turn;

/* `eye`: a path from the camera, which learns at the next vertex whether paths merge at this one.
 */
KD_FN void vcm_chain_turn(vcm_chain *chain, const vcm_turn *turn, bool eye) {
    const float others = turn->lens ? chain->others + chain->pending : chain->others;
    chain->pending = 0;
    chain->from_lens = turn->lens;
    if (turn->specular) {
        chain->inverse = 0;
        chain->others = vcm_bounded(others * turn->cosine);
        return;
    }
    const float share = vcm_bounded(turn->cosine / turn->pdf);
    chain->others = vcm_bounded(share * vcm_bounded(others * turn->back + vcm_chain_join(chain)));
    if (eye)
        chain->pending = vcm_bounded(share * turn->merges);
    else
        chain->others = vcm_bounded(chain->others + share * turn->merges);
    chain->inverse = vcm_bounded(1 / turn->pdf);
}

/* --- densities of surfaces ---------------------------------------------------------------------
   The normal of a surface is bent by the direction that it is seen from, so densities of the two
   kinds of path are those of the surface as each of them sees it. */

/* Returns true if photons that scatter at the surface, or are lost there, have passed a lens. */
KD_FN bool vcm_is_lens(const surface *at, bool specular) {
    return specular || !surface_holds_photons(at);
}

/* Density of sampling `to` when coming from `from`, for eye paths. */
KD_FN float vcm_pdf_radiance(const surface *at, vec3 from, vec3 to) {
    if (!surface_is_tilted(at)) return bsdf_pdf(at, from, to);
    surface seen = *at;
    surface_turn(&seen, from);
    return bsdf_pdf(&seen, from, to);
}

/* The same for light paths. */
KD_FN float vcm_pdf_flux(const surface *at, vec3 from, vec3 to) {
    if (!surface_is_tilted(at)) return bsdf_pdf(at, from, to);
    if (at->kind == MATERIAL_DIFFUSE) return bsdf_even_pdf(at, from, to); /* as bsdf_flux_pdf */
    surface seen = *at;
    surface_turn(&seen, from);
    return bsdf_flux_pdf(&seen, from, to);
}

/* |cosine| between `to` and the geometric normal; 0 if only eye paths turn there from `from`: past
   the edge of a triangle that a smooth surface hides (surface.smooth_height). */
KD_FN float vcm_cosine(const surface *at, vec3 from, vec3 to) {
    const float cosine = vec3_dot(to, at->geometric);
    if (!surface_is_clear(at) && cosine * vec3_dot(from, at->geometric) <= 0) return 0;
    return fabsf(cosine);
}

/* Returns path_light_normal for the normal before it was bent. */
KD_FN vec3 vcm_light_normal(const surface *at, vec3 wo) {
    if (surface_is_clear(at)) return vec3_all(0);
    return vec3_dot(wo, at->geometric) < 0 ? vec3_negate(at->mapped) : at->mapped;
}

/* --- densities of lights ---------------------------------------------------------------------- */

/* Returns true if rays cannot hit the light. */
KD_FN bool vcm_lamp_is_delta(const light *lamp) {
    if (lamp->kind == LIGHT_DIRECTIONAL) return !(lamp->area > 0);
    return lamp->kind != LIGHT_TRIANGLE && lamp->kind != LIGHT_ENVIRONMENT;
}

/* Density of emitting a photon at `place` into the direction `flies`: 1/(m^2 sr), for a light
   without size 1/sr, for one at infinity without size 1/m^2. Includes the choice of the light. */
KD_FN float vcm_emission_density(const scene_view *scene, const photon_emission *emission,
                                 uint32_t which, vec3 place, vec3 flies) {
    const light *lamp = scene->lights + which;
    const float choice = light_choice(scene, which);
    const bool guides = emission->guided > 0;
    float even;
    if (light_is_far(lamp)) {
        const float direction = lamp->kind == LIGHT_ENVIRONMENT
                                    ? environment_pdf(scene, vec3_all(0), vec3_negate(flies))
                                : lamp->area > 0 ? light_disc_pdf(scene, which)
                                                 : choice;
        return direction * emission_guided_disc(emission, 0, place, flies);
    }
    if (lamp->kind == LIGHT_TRIANGLE) {
        const float cosine = vec3_dot(flies, lamp->direction);
        even = lamp->two_sided ? 0.5f * fabsf(cosine) / KD_PI : cosine / KD_PI;
    } else {
        even = 1 / (2 * KD_PI * (lamp->kind == LIGHT_SPOT ? 1 - lamp->cos_outer : 2));
    }
    if (!(even > 0)) return 0;
    if (guides) even = 1 / emission_guided_angle(emission, 0, place, flies, even);
    return lamp->kind == LIGHT_TRIANGLE ? choice * even / lamp->area : choice * even;
}

/* Density with which light_draw samples the light, or its direction `towards` if it is at infinity,
   for a place with this vcm_light_normal: 1/m^2 for triangles, 1/sr for the environment and discs;
   lights without size: the probability of the choice. */
KD_FN float vcm_lamp_density(const scene_view *scene, uint32_t which, vec3 place, vec3 normal,
                             vec3 towards) {
    const light *lamp = scene->lights + which;
    if (lamp->kind == LIGHT_ENVIRONMENT) return environment_pdf(scene, normal, towards);
    if (lamp->kind == LIGHT_DIRECTIONAL && lamp->area > 0) return light_disc_pdf(scene, which);
    const float choice = light_probability(scene, which, place, normal);
    return lamp->kind == LIGHT_TRIANGLE ? choice / lamp->area : choice;
}

/* |cosine| at the light; 1 for a light without size or at infinity. */
KD_FN float vcm_lamp_cosine(const light *lamp, vec3 direction) {
    return lamp->kind == LIGHT_TRIANGLE ? fabsf(vec3_dot(direction, lamp->direction)) : 1;
}

/* A weight from the densities of all other techniques relative to that of this one. */
KD_FN float vcm_weight(float light, float eye) {
    return 1 / (1 + light + eye);
}

#endif

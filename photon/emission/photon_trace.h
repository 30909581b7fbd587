/* Traces one photon path through the scene: a pure function of (seed, pass, path).
   Source: Jensen 2001, "Realistic Image Synthesis Using Photon Mapping", chapter 5; Russian
           roulette after Arvo and Kirk 1990, "Particle transport and image synthesis".
   Idea: each surface scatters the flux into one sampled direction; Russian roulette then ends the
         path with the probability of absorption, so that surviving photons keep their power. In
         media, absorption attenuates a photon along its way and scattering changes its direction;
         at a scattering point it may be stored for the media map, with all the scattered power.
   Memory: photons are stored in the caller's array in the order of bounces. Beyond its capacity
           they are only counted: the caller enlarges the array and traces the path again.
   Invariants: the energy balance of every path closes: emitted = absorbed + media + escaped +
               ended + cut. */
#ifndef KD_PHOTON_EMISSION_PHOTON_TRACE_H
#define KD_PHOTON_EMISSION_PHOTON_TRACE_H
#include "accel/rays/batch.h"
#include "photon/emission/photon.h"
#include "shaders/bsdf.h"
#include "shaders/light_emit.h"
#include "shaders/material.h"
#include "shaders/transmittance.h"

/* Largest number of cut-out surfaces that a ray passes on its way to the next surface. */
enum { PHOTON_LAYERS = 256 };
/* Dimensions of rng_draw at each step. */
enum {
    PHOTON_DRAW_SCATTER = 0,
    PHOTON_DRAW_ROULETTE = 1,
    PHOTON_DRAW_OPACITY = 2,
    PHOTON_DRAW_WAVELENGTH = 3,
    PHOTON_DRAW_MEDIUM = 4
};

KD_FN double photon_watts(vec3 power) {
    return ((double)power.x + (double)power.y + (double)power.z) / 3;
}

KD_FN photon photon_landed(const surface *at, const emitted_photon *flying, uint64_t path,
                           uint32_t bounce, photon_kind kind) {
    photon made;
    made.position = at->position;
    made.power = flying->power;
    made.direction = flying->ray.direction;
    made.triangle = at->triangle;
    made.normal = at->front ? at->geometric : vec3_negate(at->geometric);
    made.path = (uint32_t)path;
    made.light = (uint16_t)flying->light;
    made.bounce = (uint8_t)bounce;
    made.kind = (uint8_t)kind;
    return made;
}

/* Which photons to store, and where a path may end early because no further photon is needed. */
typedef struct photon_filter {
    uint32_t kinds;    /* photons to store on surfaces: mask of the bits 1 << photon_kind */
    uint32_t in_media; /* photons to store in media: the same mask */
    /* maximum number of surfaces and scatterings in media of a path, up to 255 */
    uint32_t max_depth;
    /* maximum number of specular events less that of the others; 0: no limit */
    uint32_t max_specular;
    bool only_specular; /* end at the first scattering that is not specular: for caustics only */
    bool beams; /* in media, store whole path segments as beams instead of scattering points */
} photon_filter;

/* Optical depth at which a beam ends; the transmittance is 1 / 60,000 there. */
#define PHOTON_BEAM_DEPTH 11.0f
/* Largest number of rays of a path that may become beams. */
enum { PHOTON_BEAMS_MAX = 255 };

/* Russian roulette: returns the power after it, zero if the path has ended. The survival
   probability is the fraction of the strongest channel that the surface scattered. */
KD_FN vec3 photon_roulette(vec3 before, vec3 scattered, float random, photon_ledger *ledger) {
    const float chance = vec3_largest(scattered) / vec3_largest(before);
    if (chance >= 1) return scattered;
    if (!(random < chance)) {
        ledger->ended += photon_watts(scattered);
        return vec3_all(0);
    }
    const vec3 raised = vec3_scale(scattered, 1 / chance);
    ledger->ended += photon_watts(scattered) - photon_watts(raised);
    return raised;
}

/* Sets the power after a change of colour by wavelength sampling. */
KD_FN void photon_recolour(emitted_photon *flying, vec3 power, photon_ledger *ledger) {
    ledger->ended += photon_watts(flying->power) - photon_watts(power);
    flying->power = power;
}

/* Advances the photon by up to `end` along its ray; returns true if a medium scatters it before, at
   ray.origin. */
KD_FN bool photon_fly(const scene_view *scene, emitted_photon *flying, float end, rng_key key,
                      uint32_t step, photon_ledger *ledger) {
    const medium *in = medium_of(scene, flying->medium);
    if (!in) return false;
    const medium_span span = transmittance_span(scene, &flying->ray, end);
    const float length = span.end - span.begin; /* ray directions are unit vectors */
    if (!(length > 0)) return false;
    const rng_block random = rng_draw(key, step, PHOTON_DRAW_MEDIUM);
    const medium_flight flight =
        medium_fly(in, length, flying->power, random.value[0], random.value[1]);
    const vec3 kept = vec3_mul(flying->power, flight.kept);
    ledger->media += photon_watts(flying->power) - photon_watts(kept);
    flying->power = kept;
    photon_recolour(flying, vec3_mul(kept, flight.drawn), ledger);
    if (flight.scattered) {
        flying->ray.origin = ray_at(&flying->ray, span.begin + flight.length);
        flying->ray.tmin = 0;
    }
    return flight.scattered;
}

/* Returns true if the ray continues through a cut-out at *hit; *layers counts the cut-outs passed.
   If there are too many, hit->triangle becomes KD_NONE. Sets *in_volume if a medium scatters the
   photon before it arrives. */
KD_FN bool photon_passes(const scene_view *scene, emitted_photon *flying, rng_key key,
                         uint32_t step, ray_hit *hit, uint32_t *layers, bool *in_volume,
                         photon_ledger *ledger) {
    *in_volume = false;
    if (scene->medium_count > 0)
        *in_volume = photon_fly(scene, flying, hit->triangle == KD_NONE ? INFINITY : hit->t, key,
                                step, ledger);
    if (*in_volume || hit->triangle == KD_NONE) return false;
    const bool nested =
        transmittance_nested(scene, &flying->ray, hit->triangle, KD_NONE, flying->medium);
    const float passes = nested ? 1 : surface_passes(scene, *hit);
    if (!(passes > 0) || rng_draw(key, step, PHOTON_DRAW_OPACITY).value[0] >= passes) return false;
    if (scene->medium_count > 0)
        flying->medium =
            transmittance_beyond(scene, hit->triangle, flying->ray.direction, flying->medium);
    flying->ray.tmin = hit->t;
    hit->triangle = KD_NONE;
    return ++*layers < PHOTON_LAYERS;
}

/* Evaluates the surface that the photon has hit, sampling a wavelength if it is dispersive. `kind`:
   as for surface_of_hit. */
KD_FN void photon_interact(const scene_view *scene, emitted_photon *flying, ray_hit hit,
                           rng_key key, uint32_t step, int32_t kind, photon_ledger *ledger,
                           surface *at) {
    surface_of_hit(scene, &flying->ray, hit, KD_NONE, kind, at);
    if (scene->nested.count) nested_apply(scene, flying->medium, at);
    if (!at->disperses) return;
    if (!(flying->wavelength > 0)) {
        const rng_block random = rng_draw(key, step, PHOTON_DRAW_WAVELENGTH);
        const vec3 carried = flying->power;
        flying->wavelength = spectrum_draw(carried, random.value[0], random.value[1]);
        photon_recolour(flying, vec3_mul(carried, spectrum_colour(flying->wavelength, carried)),
                        ledger);
    }
    at->ior = transmittance_spectral_index(scene, at, flying->medium, flying->wavelength);
}

/* Scatters a photon in a medium. */
KD_FN void photon_scatter(const scene_view *scene, emitted_photon *flying, rng_key key,
                          uint32_t step) {
    const rng_block random = rng_draw(key, step, PHOTON_DRAW_SCATTER);
    const float g = medium_of(scene, flying->medium)->g;
    const vec3 after =
        medium_phase_draw(g, flying->ray.direction, random.value[0], random.value[1]);
    flying->ray = ray_make(flying->ray.origin, after, 0, INFINITY);
}

/* State of a photon path between two surfaces. */
typedef struct photon_path {
    rng_key key;
    emitted_photon flying;
    photon_kind kind;      /* determined by the surfaces met so far */
    uint32_t bounce, step; /* surfaces met, without and with cut-outs that were passed */
    uint32_t scattered;    /* events that were not specular */
    uint32_t layers;       /* cut-outs passed since the last surface */
} photon_path;

/* Emits a photon and clears the ledger; returns false if none is emitted. */
KD_FN bool photon_path_begin(const scene_view *scene, const photon_emission *emission,
                             uint64_t path, photon_path *state, photon_ledger *ledger) {
    memset(ledger, 0, sizeof *ledger);
    if (!light_emit(scene, emission, path, &state->flying)) return false;
    if (scene->medium_count > 0)
        state->flying.medium =
            transmittance_around(scene, SCENE_TREE, state->flying.ray, &ledger->rays);
    state->key = rng_key_make(emission->seed, emission->pass, path);
    state->kind = PHOTON_DIRECT;
    state->bounce = state->step = state->scattered = state->layers = 0;
    ledger->emitted = photon_watts(state->flying.power);
    return true;
}

/* Scatters the photon at a surface; returns false if the path ends. `kind`: as for surface_of_hit.
 */
KD_FN bool photon_path_scatter(const photon_filter *filter, const surface *at, int32_t kind,
                               bool lands, photon_path *state, photon_ledger *ledger) {
    emitted_photon *flying = &state->flying;
    const bsdf_sample next =
        bsdf_draw_flux_kind(at, kind, vec3_negate(flying->ray.direction),
                            rng_draw(state->key, state->step, PHOTON_DRAW_SCATTER));
    const vec3 scattered = vec3_mul(flying->power, next.weight);
    ledger->absorbed += photon_watts(flying->power) - photon_watts(scattered);
    const bool like_lens = next.specular || !lands;
    if (filter->only_specular && !like_lens) {
        ledger->ended += photon_watts(scattered);
        return false;
    }
    if (!(vec3_largest(scattered) > 0)) return false;
    if (!like_lens)
        state->kind = PHOTON_INDIRECT;
    else if (state->kind == PHOTON_DIRECT)
        state->kind = PHOTON_CAUSTIC;
    flying->power =
        photon_roulette(flying->power, scattered,
                        rng_draw(state->key, state->step, PHOTON_DRAW_ROULETTE).value[0], ledger);
    if (vec3_is_zero(flying->power)) return false;
    if (!next.specular) ++state->scattered;
    if (next.transmitted && at->beyond != MEDIUM_SAME) flying->medium = at->beyond;
    flying->ray = surface_leave(at, next.direction, INFINITY);
    return true;
}

/* --- the steps of a path ----------------------------------------------------------------------
   photon_path_next takes them in sequence; emit_waves.cuh takes each step for many photons at
   once. */

/* What happens to a photon where its ray ends. */
typedef enum photon_turn {
    PHOTON_ENDS,
    PHOTON_PASSES,            /* a cut-out: the ray continues */
    PHOTON_SCATTERS,          /* scatters at a surface */
    PHOTON_SCATTERS_IN_VOLUME /* scatters in a medium, at flying.ray.origin */
} photon_turn;

/* Returns true if the path has reached its maximum depth. */
KD_FN bool photon_path_is_over(const photon_filter *filter, const photon_path *state,
                               photon_ledger *ledger) {
    if (state->bounce < filter->max_depth &&
        !(filter->max_specular && state->bounce >= filter->max_specular + 2 * state->scattered))
        return false;
    ledger->cut += photon_watts(state->flying.power);
    return true;
}

/* Handles the end of a ray at `hit`, which may be none, or at a scattering point in a medium before
   it. Sets *at if the photon is at a surface. `kind`: as for surface_of_hit. */
KD_FN photon_turn photon_path_arrive(const scene_view *scene, photon_path *state, ray_hit hit,
                                     bool in_volume, int32_t kind, surface *at,
                                     photon_ledger *ledger) {
    state->layers = 0;
    if (in_volume) return PHOTON_SCATTERS_IN_VOLUME;
    if (hit.triangle == KD_NONE) {
        ledger->escaped += photon_watts(state->flying.power);
        return PHOTON_ENDS;
    }
    photon_interact(scene, &state->flying, hit, state->key, state->step, kind, ledger, at);
    return PHOTON_SCATTERS;
}

/* Returns true if the path segment up to `hit`, or out of the scene, is stored as a beam, in
   `slot`. The beam has the power at its start, since its attenuation follows from the length. To be
   called before the photon is moved on. A beam does not end where the photon is scattered: Jarosz
   et al. 2011, section 5.2. */
KD_FN bool photon_path_shines(const scene_view *scene, const photon_filter *filter,
                              const photon_path *state, ray_hit hit, photon *slot) {
    const emitted_photon *flying = &state->flying;
    if (!filter->beams || !(filter->in_media >> state->kind & 1u)) return false;
    const medium *in = medium_of(scene, flying->medium);
    if (!in || state->step > PHOTON_BEAMS_MAX || vec3_is_zero(in->scattering)) return false;
    const float end = hit.triangle == KD_NONE ? INFINITY : hit.t;
    const medium_span span = transmittance_span(scene, &flying->ray, end);
    const vec3 lost = vec3_add(in->absorption, in->scattering);
    const float minimum = float_min(lost.x, float_min(lost.y, lost.z));
    const float length = float_min(span.end - span.begin, PHOTON_BEAM_DEPTH / minimum);
    if (!(length > 0)) return false;
    slot->position = ray_at(&flying->ray, span.begin);
    slot->power = flying->power;
    slot->direction = flying->ray.direction;
    slot->normal = vec3_make(length, 0, 0);
    slot->triangle = medium_index(scene, flying->medium);
    slot->path = (uint32_t)state->key.path;
    slot->light = (uint16_t)flying->light;
    slot->bounce = (uint8_t)state->bounce;
    slot->kind = (uint8_t)state->kind;
    return true;
}

/* Returns true if a photon is stored at this point, in `slot`. */
KD_FN bool photon_path_lands(const scene_view *scene, const photon_filter *filter, photon_turn turn,
                             const surface *at, const photon_path *state, photon *slot) {
    const emitted_photon *flying = &state->flying;
    if (turn == PHOTON_SCATTERS) {
        if (!surface_holds_photons(at) || !(filter->kinds >> state->kind & 1u)) return false;
        *slot = photon_landed(at, flying, state->key.path, state->bounce, state->kind);
        return true;
    }
    if (turn != PHOTON_SCATTERS_IN_VOLUME || filter->beams ||
        !(filter->in_media >> state->kind & 1u))
        return false;
    slot->position = flying->ray.origin;
    slot->power = flying->power;
    slot->direction = slot->normal = flying->ray.direction;
    slot->triangle = medium_index(scene, flying->medium);
    slot->path = (uint32_t)state->key.path;
    slot->light = (uint16_t)flying->light;
    slot->bounce = (uint8_t)state->bounce;
    slot->kind = (uint8_t)state->kind;
    return true;
}

/* Continues from a scattering point in a medium; returns false if the path ends. */
KD_FN bool photon_path_stray(const scene_view *scene, const photon_filter *filter,
                             photon_path *state, photon_ledger *ledger) {
    emitted_photon *flying = &state->flying;
    if (filter->only_specular) {
        ledger->ended += photon_watts(flying->power);
        return false;
    }
    state->kind = PHOTON_INDIRECT;
    ++state->scattered;
    photon_scatter(scene, flying, state->key, state->step);
    return vec3_largest(flying->power) > 0;
}

/* Continues from a surface or a scattering point; returns false if the path ends. `kind`: as for
   surface_of_hit. */
KD_FN bool photon_path_go_on(const scene_view *scene, const photon_filter *filter, photon_turn turn,
                             const surface *at, int32_t kind, photon_path *state,
                             photon_ledger *ledger) {
    ++state->bounce;
    return turn == PHOTON_SCATTERS_IN_VOLUME
               ? photon_path_stray(scene, filter, state, ledger)
               : photon_path_scatter(filter, at, kind, surface_holds_photons(at), state, ledger);
}

/* Advances to the end of a ray whose hit is known: a surface, a point in a medium, or a cut-out
   that is passed. Returns false if the path ends. *stored: a photon was stored in `slot`. */
KD_FN bool photon_path_reach(const scene_view *scene, const photon_filter *filter,
                             photon_path *state, ray_hit hit, photon *slot, bool *stored,
                             photon_ledger *ledger) {
    surface at;
    bool in_volume;
    *stored = photon_path_shines(scene, filter, state, hit, slot);
    if (photon_passes(scene, &state->flying, state->key, state->step, &hit, &state->layers,
                      &in_volume, ledger))
        return true;
    const photon_turn turn =
        photon_path_arrive(scene, state, hit, in_volume, SURFACE_ANY, &at, ledger);
    if (turn == PHOTON_ENDS) return false;
    if (photon_path_lands(scene, filter, turn, &at, state, slot)) *stored = true;
    return photon_path_go_on(scene, filter, turn, &at, SURFACE_ANY, state, ledger);
}

/* Traces the next ray; as photon_path_reach. */
KD_FN bool photon_path_next(const scene_view *scene, const photon_filter *filter,
                            photon_path *state, photon *slot, bool *stored, photon_ledger *ledger) {
    *stored = false;
    if (photon_path_is_over(filter, state, ledger)) return false;
    ++ledger->rays;
    ++state->step;
    const ray_hit hit = tritree_closest(&scene->tree, state->flying.ray);
    return photon_path_reach(scene, filter, state, hit, slot, stored, ledger);
}

/* Returns the number of photons to store; the first `capacity` of them are in `slots`. */
KD_FN uint32_t photon_trace(const scene_view *scene, const photon_emission *emission, uint64_t path,
                            const photon_filter *filter, photon *slots, uint32_t capacity,
                            photon_ledger *ledger) {
    photon_path state;
    photon landing;
    uint32_t landed = 0;
    bool stored = false, has_next = photon_path_begin(scene, emission, path, &state, ledger);
    while (has_next) {
        has_next = photon_path_next(scene, filter, &state, &landing, &stored, ledger);
        if (!stored) continue;
        if (landed < capacity) slots[landed] = landing;
        ++landed;
    }
    return landed;
}

#endif

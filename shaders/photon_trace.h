/* One photon's way through the scene: a pure function of (seed, pass, path).
   Source: Jensen 2001, "Realistic Image Synthesis Using Photon Mapping", chapter 5; roulette by
           Arvo and Kirk 1990, "Particle transport and image synthesis".
   Idea: at each surface the flux is scattered by one drawn direction; roulette then ends the path
         with the chance that was absorbed, so that the survivors keep their power.
   Memory: the photons that land go to the caller's slots, in the order of bounces. More than the
           capacity are counted, not written: the caller makes room and traces the path again.
   Invariants: the ledger of every path closes: emitted = absorbed + escaped + ended + cut. */
#ifndef KD_SHADERS_PHOTON_TRACE_H
#define KD_SHADERS_PHOTON_TRACE_H
#include "shaders/bsdf.h"
#include "shaders/light_emit.h"
#include "shaders/photon.h"
#include "shaders/tritree_trace.h"

/* Cut-out surfaces that a ray may pass on its way to the next surface. */
enum { PHOTON_LAYERS = 256 };

/* What became of the watts (mean of the channels) of one path or of many. */
typedef struct photon_ledger {
    double emitted;
    double absorbed; /* by surfaces: what came in less what was scattered */
    double escaped;  /* flew out of the scene */
    double ended;    /* by roulette, less what it gave to the survivors: 0 in the mean */
    double cut;      /* still flying after the last surface allowed */
    uint32_t rays;
} photon_ledger;

/* Photons land where the eye will look them up: on all that is no mirror, glass or metal. Those
   pass light on like lenses do, from the eye as from the light. */
KD_FN bool photon_lands_on(const surface *at) {
    if (at->kind == MATERIAL_DIFFUSE) return true;
    return at->kind == MATERIAL_PLASTIC && at->metallic < 1 && !vec3_is_zero(at->diffuse);
}

KD_FN double photon_watts(vec3 power) {
    return ((double)power.x + (double)power.y + (double)power.z) / 3;
}

KD_FN photon photon_landed(const surface *at, const emitted_photon *flying, uint64_t path,
                           uint32_t bounce, photon_kind kind) {
    photon made;
    made.position = at->position;
    made.power = flying->power;
    made.direction = flying->cast.direction;
    made.triangle = at->triangle;
    made.normal = at->front ? at->geometric : vec3_negate(at->geometric);
    made.path = (uint32_t)path;
    made.light = (uint16_t)flying->light;
    made.bounce = (uint8_t)bounce;
    made.kind = (uint8_t)kind;
    return made;
}

/* What lands, and where a path may end early because nothing more is wanted of it. */
typedef struct photon_wish {
    uint32_t kinds;     /* bit 1 << photon_kind for each kind to store */
    uint32_t max_depth; /* surfaces a path may meet, at most 255 */
    bool only_specular; /* end at the first scattering that is not like a lens: caustics only */
} photon_wish;

/* Roulette: the power after it, zero if the path ended. The chance to live is what the surface
   left of the strongest channel. */
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

/* The next surface that does not let the photon pass. `step` counts what was met: the bounce of
   random numbers. */
KD_FN ray_hit photon_advance(const scene_view *scene, ray cast, rng_key key, uint32_t *step,
                             photon_ledger *ledger) {
    ray_hit hit;
    for (int layer = 0; layer < PHOTON_LAYERS; ++layer) {
        hit = tritree_closest(&scene->tree, cast);
        ++ledger->rays;
        ++*step;
        if (hit.triangle == KD_NONE) return hit;
        const float passes = surface_passes(scene, hit);
        if (!(passes > 0) || rng_draw(key, *step, 2).value[0] >= passes) return hit;
        cast.tmin = hit.t;
    }
    hit.triangle = KD_NONE;
    return hit;
}

/* A photon on its way: what a thread keeps of it from one surface to the next. */
typedef struct photon_way {
    rng_key key;
    emitted_photon flying;
    photon_kind kind;      /* by what it has met */
    uint32_t bounce, step; /* surfaces met; with those that let it pass */
} photon_way;

/* Clears the ledger; false if no photon is born. */
KD_FN bool photon_way_begin(const scene_view *scene, const photon_emission *emission, uint64_t path,
                            photon_way *way, photon_ledger *ledger) {
    memset(ledger, 0, sizeof *ledger);
    if (!light_emit(scene, emission, path, &way->flying)) return false;
    way->key = rng_key_make(emission->seed, emission->pass, path);
    way->kind = PHOTON_DIRECT;
    way->bounce = way->step = 0;
    ledger->emitted = photon_watts(way->flying.power);
    return true;
}

/* How a surface sends the photon on; false if it does not. */
KD_FN bool photon_way_scatter(const photon_wish *wish, const surface *at, bool lands,
                              photon_way *way, photon_ledger *ledger) {
    emitted_photon *flying = &way->flying;
    const bsdf_sample next = bsdf_draw(at, vec3_negate(flying->cast.direction),
                                       rng_draw(way->key, way->step, 0), BSDF_FLUX);
    const vec3 scattered = vec3_mul(flying->power, next.weight);
    ledger->absorbed += photon_watts(flying->power) - photon_watts(scattered);
    const bool like_lens = next.specular || !lands;
    if (wish->only_specular && !like_lens) {
        ledger->ended += photon_watts(scattered);
        return false;
    }
    if (!(vec3_largest(scattered) > 0)) return false;
    if (!like_lens)
        way->kind = PHOTON_INDIRECT;
    else if (way->kind == PHOTON_DIRECT)
        way->kind = PHOTON_CAUSTIC;
    flying->power = photon_roulette(flying->power, scattered,
                                    rng_draw(way->key, way->step, 1).value[0], ledger);
    if (vec3_is_zero(flying->power)) return false;
    flying->cast = surface_leave(at, next.direction, INFINITY);
    return true;
}

/* On to the next surface; false if the way ends there. *stored: a photon of it is in `slot`. */
KD_FN bool photon_way_next(const scene_view *scene, const photon_wish *wish, photon_way *way,
                           photon *slot, bool *stored, photon_ledger *ledger) {
    *stored = false;
    if (way->bounce >= wish->max_depth) {
        ledger->cut += photon_watts(way->flying.power);
        return false;
    }
    const ray_hit hit = photon_advance(scene, way->flying.cast, way->key, &way->step, ledger);
    if (hit.triangle == KD_NONE) {
        ledger->escaped += photon_watts(way->flying.power);
        return false;
    }
    const surface at = surface_at(scene, &way->flying.cast, hit);
    const bool lands = photon_lands_on(&at);
    *stored = lands && (wish->kinds >> way->kind & 1u);
    if (*stored) *slot = photon_landed(&at, &way->flying, way->key.path, way->bounce, way->kind);
    ++way->bounce;
    return photon_way_scatter(wish, &at, lands, way, ledger);
}

/* Returns how many photons landed; the first `capacity` of them are in `slots`. */
KD_FN uint32_t photon_trace(const scene_view *scene, const photon_emission *emission, uint64_t path,
                            const photon_wish *wish, photon *slots, uint32_t capacity,
                            photon_ledger *ledger) {
    photon_way way;
    photon landing;
    uint32_t landed = 0;
    bool stored = false, goes_on = photon_way_begin(scene, emission, path, &way, ledger);
    while (goes_on) {
        goes_on = photon_way_next(scene, wish, &way, &landing, &stored, ledger);
        if (!stored) continue;
        if (landed < capacity) slots[landed] = landing;
        ++landed;
    }
    return landed;
}

#endif

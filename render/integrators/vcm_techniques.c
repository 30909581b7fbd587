/* Which techniques find the light of a scene (vcm_techniques.h). */
#include "render/integrators/vcm_techniques.h"
#include "photon/emission/emit.h"
#include "render/integrators/integrators.h"

bool vcm_scene_has_lenses(const scene_view *scene) {
    for (uint32_t i = 0; i < scene->material_count; ++i)
        if (material_passes_on(&scene->materials[i], scene->layers ? scene->layers + i : NULL))
            return true;
    return false;
}

bool vcm_scene_disperses(const scene_view *scene) {
    for (uint32_t i = 0; i < scene->material_count; ++i)
        if (scene->materials[i].dispersion != DISPERSION_NONE) return true;
    return false;
}

static bool scene_has_delta_lights(const scene_view *scene) {
    for (uint32_t i = 0; i < scene->light_count; ++i)
        if (vcm_lamp_is_delta(scene->lights + i)) return true;
    return false;
}

void vcm_report_techniques(int32_t techniques, int32_t shown, const scene_view *scene) {
    const bool eye = techniques & TECHNIQUE_EYE, lamps = techniques & TECHNIQUE_LAMPS;
    const bool splat = techniques & TECHNIQUE_SPLAT, merge = techniques & TECHNIQUE_MERGE;
    const bool lenses = vcm_scene_has_lenses(scene);
    const char *lost = NULL;
    if (!lamps && !splat && scene_has_delta_lights(scene))
        lost = "light of point, spot and directional lights; add lamps or splat";
    else if (lenses && !eye && !merge)
        lost = "light that reaches what mirrors and glass show through other mirrors and glass; "
               "add eye or merge";
    else if (lenses && !eye && !lamps)
        lost = "light that mirrors and glass show of surfaces lit directly; add eye or lamps";
    else if (!eye && !lamps && !splat)
        lost = "light that no mirror or glass casts; add eye, lamps or splat";
    if (lost) log_message(LOG_WARNING, "the techniques of integrator vcm cannot find %s", lost);
    const int32_t seen = shown & (lenses ? techniques : techniques & ~TECHNIQUE_MERGE);
    if (!seen)
        log_message(
            LOG_WARNING,
            "integrator vcm uses none of the techniques of --show-techniques%s: the picture "
            "shows at most lamps seen directly",
            shown & techniques ? ", as no mirror or glass lets paths merge" : "");
}

void vcm_set_techniques(vcm_view *view, int32_t techniques, int32_t shown,
                        const scene_view *scene) {
    const bool lit = scene->light_count > 0 && scene->total_power > 0;
    view->eye = (techniques & TECHNIQUE_EYE) != 0;
    view->lamps = (techniques & TECHNIQUE_LAMPS) != 0;
    view->splat = (techniques & TECHNIQUE_SPLAT) != 0;
    view->merge = (techniques & TECHNIQUE_MERGE) != 0;
    view->splat &= lit;
    view->merge &= lit && vcm_scene_has_lenses(scene);
    view->shows_eye = (shown & TECHNIQUE_EYE) != 0; /* also lamps that the camera sees */
    view->shows_lamps = view->lamps && (shown & TECHNIQUE_LAMPS) != 0;
    view->shows_splat = view->splat && (shown & TECHNIQUE_SPLAT) != 0;
    view->shows_merge = view->merge && (shown & TECHNIQUE_MERGE) != 0;
    view->traces_light = view->shows_splat || view->shows_merge;
    view->weighs = view->eye || view->lamps || view->merge;
    view->needs_light = view->splat || view->merge;
}

enum { AIM_TRIALS = 1 << 10 };
/* Part of the light paths that meet the targets from which on the technique splat alone does not
   aim; measured in docs/notebook/vcm.md. */
static const float met_enough = 0.06f;

static bool ray_meets(const ray *ray, const emission_target *sphere) {
    const vec3 to = vec3_sub(sphere->centre, ray->origin);
    const float along = vec3_dot(to, ray->direction), square = sphere->radius * sphere->radius;
    return vec3_length2(to) < square || (along > 0 && vec3_length2(to) - along * along < square);
}

kd_status vcm_aim(emission_target *targets, uint32_t *count, const vcm_view *view,
                  const scene_view *scene) {
    uint32_t met = 0;
    KD_TRY(aim_targets(targets, count, scene));
    if (view->weighs || *count == 0) return KD_OK;
    const photon_emission emission = photon_emission_make(
        0, 0, box3_centre(scene->box), 0.5f * vec3_length(box3_size(scene->box)), false);
    for (uint32_t trial = 0; trial < AIM_TRIALS; ++trial) {
        emitted_photon flying = {0};
        bool meets = false;
        if (!light_emit(scene, &emission, trial, &flying)) continue;
        for (uint32_t i = 0; i < *count; ++i) meets |= ray_meets(&flying.ray, targets + i);
        met += meets;
    }
    log_message(LOG_DETAIL, "%g %% of the light paths meet glass or mirrors without being aimed",
                100.0 * met / AIM_TRIALS);
    if ((float)met >= met_enough * AIM_TRIALS) *count = 0;
    return KD_OK;
}

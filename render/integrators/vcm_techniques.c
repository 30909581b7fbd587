/* Which techniques find the light of a scene (vcm_techniques.h). */
#include "render/integrators/vcm_techniques.h"
#include "render/integrators/integrators.h"

bool vcm_scene_has_lenses(const scene_view *scene) {
    for (uint32_t i = 0; i < scene->material_count; ++i)
        if (material_passes_on(&scene->materials[i], scene->layers ? scene->layers + i : NULL))
            return true;
    return false;
}

static bool scene_has_delta_lights(const scene_view *scene) {
    for (uint32_t i = 0; i < scene->light_count; ++i)
        if (vcm_lamp_is_delta(scene->lights + i)) return true;
    return false;
}

static bool scene_scatters(const scene_view *scene) {
    for (uint32_t i = 0; i < scene->medium_count; ++i)
        if (!vec3_is_zero(scene->media[i].scattering)) return true;
    return false;
}

/* Says which light the techniques of `view` cannot find. */
static void report_techniques(const vcm_view *view, const scene_view *scene, bool lenses) {
    const char *lost = NULL;
    if (!view->lamps && !view->splat && scene_has_delta_lights(scene))
        lost = "light of point, spot and directional lights; add lamps or splat";
    else if (lenses && !view->eye && !view->merge)
        lost = "light that reaches what mirrors and glass show through other mirrors and glass; "
               "add eye or merge";
    else if (lenses && !view->eye && !view->lamps)
        lost = "light that mirrors and glass show of surfaces lit directly; add eye or lamps";
    else if (!view->eye && !view->lamps && !view->splat)
        lost = "light that no mirror or glass casts; add eye, lamps or splat";
    if (lost) log_message(LOG_WARNING, "the techniques of integrator vcm cannot find %s", lost);
    if (view->merge && lenses && scene_scatters(scene))
        log_message(LOG_INFO, "integrator vcm does not merge paths in media: caustics there are as "
                              "noisy as with integrator path");
}

void vcm_set_techniques(vcm_view *view, int32_t techniques, const scene_view *scene, bool lenses) {
    const bool lit = scene->light_count > 0 && scene->total_power > 0;
    view->eye = (techniques & TECHNIQUE_EYE) != 0;
    view->lamps = (techniques & TECHNIQUE_LAMPS) != 0;
    view->splat = (techniques & TECHNIQUE_SPLAT) != 0;
    view->merge = (techniques & TECHNIQUE_MERGE) != 0;
    report_techniques(view, scene, lenses);
    view->splat &= lit;
    view->merge &= lit && lenses;
    view->needs_light = view->splat || view->merge;
}

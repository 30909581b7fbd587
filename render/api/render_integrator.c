/* Chooses the integrator of a rendering whose options leave it open. */
#include "core/names.h"
#include "core/status.h"
#include "render/api/omissions.h"
#include "render/api/render.h"
#include "render/integrators/integrators.h"
#include "scenes/assembly/look.h"

/* Maximum bytes of the copies of instances, which vcm needs. */
static const uint64_t copies_limit = (uint64_t)1 << 30;

static bool box_contains(box3 box, vec3 point) {
    for (int i = 0; i < 3; ++i)
        if (vec3_axis(point, i) < vec3_axis(box.lo, i) ||
            vec3_axis(point, i) > vec3_axis(box.hi, i))
            return false;
    return true;
}

/* Returns why vcm does not suit a scene with lenses; NULL: it does. */
static const char *unsuited(const scene *scene, const scene_view *view, const scene_traits *traits,
                            const kd_render_options *options) {
    /* inside, the light may come through a window only */
    if (traits->broad && !box_contains(view->box, scene_camera(scene).eye))
        return "its lights are so large that path finds their caustics";
    if (look_fits_camera(scene, options)) return "vcm shows no ground";
    if (scene_instance_count(scene) > 0 && scene_copies_bytes(scene) > copies_limit)
        return "vcm needs copies of the instances";
    return NULL;
}

/* Returns an option, other than its default, that `photon` supports, but neither `path` nor `vcm`;
   NULL: none. */
static const char *photon_option(const kd_render_options *options) {
    kd_render_options defaults;
    kd_render_options_default(&defaults);
    if (options->photon_map) return "photon-map";
    if (options->final_gather != defaults.final_gather) return "final-gather";
    if (options->batches != defaults.batches) return "batches";
    if (strcmp(options->estimator, defaults.estimator) != 0) return "estimator";
    if (strcmp(options->media, defaults.media) != 0) return "media";
    return rank_maps_distributed(options->maps) ? "ranks-maps" : NULL;
}

void render_resolve_integrator(kd_render_options *options, const scene *scene) {
    if (!name_is_auto(options->integrator)) return;
    const char *chosen = photon_option(options);
    if (chosen) {
        strcpy(options->integrator, "photon");
        log_message(LOG_INFO, "integrator photon: --%s is an option of photon mapping", chosen);
        return;
    }
    if (strcmp(options->techniques, "all") != 0 || strcmp(options->show_techniques, "all") != 0) {
        strcpy(options->integrator, "vcm");
        log_message(LOG_INFO, "integrator vcm: techniques are an option of it");
        return;
    }
    const scene_view view = scene_get_view(scene);
    const scene_traits traits = scene_traits_of(&view);
    const bool lenses = scene_has_lenses(&view);
    /* caustics that path does not find, or hardly ever */
    const bool omitted =
        (traits.points || traits.tiny) && (traits.mirrors || traits.glass) && traits.receives;
    const bool smooth = lenses || traits.mirrors;
    const char *reason = NULL;
    if (options->regularise > 0)
        reason = "--regularise is an option of path";
    else if (!smooth && !omitted)
        reason = "no surface is glass, a mirror or smooth metal";
    else if (!omitted && !scene_lenses_matter(&view, lenses))
        reason = lenses ? "glass, mirrors and smooth metal meet little of the light"
                        : "polished surfaces reflect little of the light";
    else
        reason = unsuited(scene, &view, &traits, options);
    const bool hidden = reason != NULL && !(options->regularise > 0) &&
                        !unsuited(scene, &view, &traits, options) &&
                        scene_light_is_hidden(scene, options);
    const bool by_path = reason != NULL && !hidden;
    strcpy(options->integrator, by_path ? "path" : "vcm");
    if (!by_path)
        reason = hidden    ? "light reaches what the camera sees through narrow openings"
                 : lenses  ? "some surfaces are glass, mirrors or smooth metal"
                 : omitted ? "a light of little or no size shines on smooth surfaces"
                           : "polished surfaces reflect much of the light";
    log_message(lenses || !by_path ? LOG_INFO : LOG_DETAIL, "integrator %s: %s",
                options->integrator, reason);
}

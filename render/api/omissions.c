/* Compares what a method cannot show with what the scene contains. Materials are judged by their
   constants: an image that makes a part of a rough surface smooth is not noticed. */
#include "render/api/omissions.h"
#include "core/status.h"
#include "shaders/bsdf.h"
#include <stdio.h>

static const double cut_share = 0.005; /* fraction of the emitted power that is worth a warning */

/* What the materials and lights of a scene contain. */
typedef struct scene_traits {
    bool mirrors;  /* something reflects light in a single direction */
    bool glass;    /* something refracts light in a single direction */
    bool receives; /* something scatters light diffusely */
    bool points;   /* some light has no size */
} scene_traits;

/* Returns true if a part of the light that meets the material is reflected or refracted in a single
   direction. */
static bool material_is_smooth(const material *made, const principled *layers) {
    if (made->kind == MATERIAL_DIFFUSE) return false;
    if (made->kind == MATERIAL_MIRROR || made->kind == MATERIAL_CONDUCTOR)
        return !vec3_is_zero(made->specular) &&
               (made->kind == MATERIAL_MIRROR || surface_alpha(made->roughness) == 0);
    if (made->kind != MATERIAL_PRINCIPLED) return surface_alpha(made->roughness) == 0;
    const bool base =
        layers->specular > 0 || made->metallic > 0 || (made->flags & MATERIAL_PASSES) != 0;
    return (base && surface_alpha(made->roughness) == 0) ||
           (layers->coat > 0 && surface_alpha(layers->coat_roughness) == 0);
}

static scene_traits traits_of(const scene_view *scene) {
    scene_traits traits = {false, false, false, false};
    for (uint32_t i = 0; i < scene->material_count; ++i) {
        const material *made = scene->materials + i;
        const principled *layers = scene->layers ? scene->layers + i : NULL;
        if (!(made->opacity > 0)) continue; /* an invisible boundary of a medium */
        const bool smooth = material_is_smooth(made, layers);
        const bool black = made->kind == MATERIAL_DIFFUSE && vec3_is_zero(made->diffuse);
        if (smooth && material_is_glassy(made)) traits.glass = true;
        if (smooth && !material_is_glassy(made)) traits.mirrors = true;
        if (material_holds_photons(made, layers) && !black) traits.receives = true;
    }
    for (uint32_t i = 0; i < scene->light_count; ++i) {
        const int32_t kind = scene->lights[i].kind;
        if (kind == LIGHT_POINT || kind == LIGHT_SPOT || kind == LIGHT_DIRECTIONAL)
            traits.points = true;
    }
    return traits;
}

static void report_caustics(const scene_traits *traits, const integrator *integrator) {
    const bool all = (integrator->omits & OMITS_ALL_CAUSTICS) != 0;
    if ((!traits->mirrors && !traits->glass) || !traits->receives) return;
    if (all)
        log_message(LOG_INFO,
                    "integrator %s omits caustics, light that mirrors and smooth glass cast on "
                    "other surfaces; photon, sppm and light show them",
                    integrator->name);
    else if (traits->points)
        log_message(LOG_INFO,
                    "integrator %s omits the caustics of point, spot and directional lights, which "
                    "have no size; photon, sppm and light show them, and so does an area light in "
                    "place of the light",
                    integrator->name);
}

void omissions_report(const scene_view *scene, const integrator *integrator) {
    const scene_traits traits = traits_of(scene);
    if (integrator->omits & (OMITS_POINT_CAUSTICS | OMITS_ALL_CAUSTICS))
        report_caustics(&traits, integrator);
    const bool specular = (integrator->omits & OMITS_SPECULAR) != 0;
    const bool mirrors = specular && traits.mirrors, glass = specular && traits.glass;
    const bool sky = (integrator->omits & OMITS_SKY) != 0 && scene->environment.light != KD_NONE;
    if (mirrors || glass || sky)
        log_message(LOG_WARNING,
                    "integrator %s cannot show %s%s%s%s%s to the camera, only the light cast from "
                    "there on other surfaces; use path, photon or sppm",
                    integrator->name, mirrors ? "mirror reflections" : "",
                    mirrors && glass ? (sky ? ", " : " and ") : "", glass ? "smooth glass" : "",
                    (mirrors || glass) && sky ? " and " : "", sky ? "the sky" : "");
}

void omissions_report_cut(const frame_statistics *statistics, const kd_render_options *options) {
    const double share = statistics->watts_cut / statistics->watts_emitted;
    if (!(share > cut_share)) return; /* not for NaN: a method without photons emits 0 W */
    /* With a depth limit below it, the other limit is never met. */
    const bool depth_only =
        options->max_specular == 0 || options->max_specular >= options->max_depth;
    char other[48] = "";
    if (!depth_only)
        snprintf(other, sizeof other, " or --max-specular %d", (int)options->max_specular);
    log_message(LOG_WARNING,
                "%.2g %% of the emitted power was cut by --max-depth %d%s, so the picture is too "
                "dark: raise the limit%s",
                100 * share, (int)options->max_depth, other, depth_only ? "" : "s");
}

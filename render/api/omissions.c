/* Compares what a method cannot show with what the scene contains. Materials are judged by their
   constants: an image that makes a part of a rough surface smooth is not noticed. */
#include "render/api/omissions.h"
#include "core/status.h"
#include "shaders/bsdf.h"
#include <math.h>
#include <stdio.h>

static const double cut_share = 0.005; /* fraction of the emitted power that is worth a warning */

/* What the materials and lights of a scene contain. */
typedef struct scene_traits {
    bool mirrors;  /* something reflects light in a single direction */
    bool glass;    /* something refracts light in a single direction */
    bool receives; /* something scatters light diffusely */
    bool glossy;   /* metal or glass scatters light around a direction */
    bool points;   /* some light has no size */
    bool small;    /* some other light is small */
} scene_traits;

/* Fraction of the diffusely reflected light that a small light receives, seen from far. */
static const double small_share = 0.03;

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

/* Returns true if the material is metal or glass that is not smooth: most of its light is that
   which other surfaces send. */
static bool material_is_glossy(const material *made, const principled *layers) {
    if (surface_alpha(made->roughness) == 0) return false;
    if (made->kind == MATERIAL_CONDUCTOR || made->kind == MATERIAL_GLASS) return true;
    const bool mixed = made->kind == MATERIAL_PLASTIC || made->kind == MATERIAL_PRINCIPLED;
    return mixed && (made->metallic > 0.5f ||
                     (made->kind == MATERIAL_PRINCIPLED && layers->transmission > 0.5f));
}

/* Returns true if the environment's light comes from a small solid angle, such as that of the sun:
   1 / integral of p^2, p the density of the directions, is that of the light if it is uniform. */
static bool environment_is_small(const environment_view *sky) {
    const double pi = (double)KD_PI;
    double sum = 0;
    if (sky->texture == KD_NONE || !sky->row_cdf || !sky->column_cdf) return false;
    for (int32_t row = 0; row < sky->height; ++row) {
        const float *columns = sky->column_cdf + (size_t)row * ((size_t)sky->width + 1);
        const double step = pi / sky->height;
        const double cell = 2 * pi / sky->width * (cos(step * row) - cos(step * (row + 1)));
        const double share = (double)sky->row_cdf[row + 1] - (double)sky->row_cdf[row];
        for (int32_t i = 0; i < sky->width; ++i) {
            const double here = share * ((double)columns[i + 1] - (double)columns[i]);
            sum += here * here / cell;
        }
    }
    return sum * small_share * pi > 1;
}

/* Returns true if triangles of one radiance, which make up a lamp, are small, but emit at least a
   tenth of the scene's power. */
static bool lamps_are_small(const scene_view *scene) {
    enum { LAMPS_MAX = 64 };
    struct {
        vec3 emitted;
        double area, power;
    } lamps[LAMPS_MAX];
    const double radius = (double)scene->environment.scene_radius;
    double power = 0;
    int count = 0;
    for (uint32_t i = 0; i < scene->light_count; ++i) {
        const light *lamp = scene->lights + i;
        int same = 0;
        power += (double)lamp->power;
        if (lamp->kind != LIGHT_TRIANGLE) continue;
        while (same < count && !vec3_is_zero(vec3_sub(lamps[same].emitted, lamp->emitted))) ++same;
        if (same == LAMPS_MAX) return false;
        if (same == count) {
            lamps[count].emitted = lamp->emitted;
            lamps[count].area = lamps[count].power = 0;
            ++count;
        }
        lamps[same].area += (double)lamp->area;
        lamps[same].power += (double)lamp->power;
    }
    for (int i = 0; i < count; ++i)
        if (lamps[i].power > 0.1 * power &&
            lamps[i].area < small_share * (double)KD_PI * radius * radius)
            return true;
    return false;
}

static scene_traits traits_of(const scene_view *scene) {
    scene_traits traits = {.small = false};
    for (uint32_t i = 0; i < scene->material_count; ++i) {
        const material *made = scene->materials + i;
        const principled *layers = scene->layers ? scene->layers + i : NULL;
        if (!(made->opacity > 0)) continue; /* an invisible boundary of a medium */
        const bool smooth = material_is_smooth(made, layers);
        const bool black = made->kind == MATERIAL_DIFFUSE && vec3_is_zero(made->diffuse);
        if (smooth && material_is_glassy(made)) traits.glass = true;
        if (smooth && !material_is_glassy(made)) traits.mirrors = true;
        if (material_is_glossy(made, layers)) traits.glossy = true;
        if (material_holds_photons(made, layers) && !black) traits.receives = true;
    }
    for (uint32_t i = 0; i < scene->light_count; ++i) {
        const int32_t kind = scene->lights[i].kind;
        if (kind == LIGHT_POINT || kind == LIGHT_SPOT || kind == LIGHT_DIRECTIONAL)
            traits.points = true;
    }
    const uint32_t sky = scene->environment.light;
    traits.small =
        lamps_are_small(scene) || (sky != KD_NONE && environment_is_small(&scene->environment));
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
    else if (traits->small && traits->glass)
        log_message(LOG_INFO,
                    "the caustics that a small light casts through glass are noisy with integrator "
                    "%s; photon or sppm suits this scene",
                    integrator->name);
}

void omissions_report(const scene_view *scene, const integrator *integrator) {
    const scene_traits traits = traits_of(scene);
    if (integrator->omits & (OMITS_POINT_CAUSTICS | OMITS_ALL_CAUSTICS))
        report_caustics(&traits, integrator);
    if ((integrator->omits & OMITS_GLOSSY) != 0 && traits.glossy)
        log_message(
            LOG_INFO,
            "integrator %s shows rough metal and rough glass lit by lights only, else black; "
            "path shows what they reflect, and roughness 0 makes them mirrors",
            integrator->name);
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

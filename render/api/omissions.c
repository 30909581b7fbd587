/* Compares what a method cannot show with what the scene contains. Materials are judged by their
   constants: an image that makes a part of a rough surface smooth is not noticed. */
#include "render/api/omissions.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "render/integrators/integrators.h"
#include "render/integrators/vcm_techniques.h"
#include "scenes/mesh/origin.h"
#include "shaders/bsdf.h"
#include <math.h>
#include <stdio.h>

static const double cut_share = 0.005; /* fraction of the emitted power that is worth a warning */

/* Fraction of the diffusely reflected light that a small light receives, seen from far. */
static const double small_share = 0.03;
/* Below this fraction, even weak mirrors, such as polish, cast noisy light. */
static const double tiny_share = 0.005;
/* Above this fraction, paths find by chance the light that glass and mirrors cast. */
static const double broad_share = 0.15;

/* Returns true if a part of the light that meets the material is reflected or refracted in a single
   direction. */
bool material_is_smooth(const material *made, const principled *layers) {
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

/* Returns the area of the smallest lamp, the triangles of one radiance, that emits at least a tenth
   of the scene's power, in units of the scene's cross section; HUGE_VAL if there is none. */
static double smallest_lamp(const scene_view *scene) {
    enum { LAMPS_MAX = 64 };
    struct {
        vec3 emitted;
        double area, power;
    } lamps[LAMPS_MAX];
    const double radius = (double)scene->environment.scene_radius;
    double power = 0, smallest = HUGE_VAL;
    int count = 0;
    for (uint32_t i = 0; i < scene->light_count; ++i) {
        const light *lamp = scene->lights + i;
        int same = 0;
        power += (double)lamp->power;
        if (lamp->kind != LIGHT_TRIANGLE) continue;
        while (same < count && !vec3_is_zero(vec3_sub(lamps[same].emitted, lamp->emitted))) ++same;
        if (same == LAMPS_MAX) return small_share; /* too many to determine */
        if (same == count) {
            lamps[count].emitted = lamp->emitted;
            lamps[count].area = lamps[count].power = 0;
            ++count;
        }
        lamps[same].area += (double)lamp->area;
        lamps[same].power += (double)lamp->power;
    }
    for (int i = 0; i < count; ++i)
        if (lamps[i].power > 0.1 * power)
            smallest = fmin(smallest, lamps[i].area / ((double)KD_PI * radius * radius));
    return smallest;
}

/* Returns true if a light at infinity has a disc of less than 8 degrees of radius. */
static bool has_small_disc(const scene_view *scene) {
    const environment_view *sky = &scene->environment;
    for (uint32_t i = sky->sun_first; i < sky->sun_first + sky->sun_count; ++i)
        if (scene->lights[i].kind == LIGHT_DIRECTIONAL && scene->lights[i].area < 0.01f)
            return true;
    return false;
}

scene_traits scene_traits_of(const scene_view *scene) {
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
        const light *lamp = scene->lights + i;
        if (lamp->kind == LIGHT_POINT || lamp->kind == LIGHT_SPOT ||
            (lamp->kind == LIGHT_DIRECTIONAL && !(lamp->area > 0)))
            traits.points = true;
    }
    const uint32_t sky = scene->environment.light;
    const double lamp = smallest_lamp(scene);
    traits.tiny = lamp < tiny_share;
    traits.small = lamp < small_share || has_small_disc(scene) ||
                   (sky != KD_NONE && environment_is_small(&scene->environment));
    traits.broad = !traits.points && !traits.small && lamp >= broad_share &&
                   (sky == KD_NONE || scene->environment.texture == KD_NONE);
    return traits;
}

static void report_caustics(const scene_traits *traits, const integrator *integrator) {
    const bool all = (integrator->omits & OMITS_ALL_CAUSTICS) != 0;
    if ((!traits->mirrors && !traits->glass) || !traits->receives) return;
    if (all)
        log_message(LOG_INFO,
                    "integrator %s omits caustics, light that mirrors and smooth glass cast on "
                    "other surfaces; use vcm",
                    integrator->name);
    else if (traits->points)
        log_message(LOG_INFO,
                    "integrator %s omits the caustics of point, spot and directional lights, which "
                    "have no size; use vcm, or lights with `radius` or `angle_degrees`",
                    integrator->name);
    else if (traits->small && traits->glass)
        log_message(LOG_INFO,
                    "the caustics that a small light casts through glass are noisy with integrator "
                    "%s; use vcm",
                    integrator->name);
}

/* Returns true if a triangle's light can meet a part of the scene or the camera. */
static bool lamp_reaches(const scene_view *scene, const light *lamp, vec3 eye) {
    const double slack = 1e-4 * (double)vec3_length(box3_size(scene->box));
    double reach = 0;
    if (lamp->two_sided || vec3_dot(vec3_sub(eye, lamp->position), lamp->direction) > 0)
        return true;
    for (int i = 0; i < 3; ++i) {
        const double towards = (double)vec3_axis(lamp->direction, i);
        const double at = (double)vec3_axis(lamp->position, i);
        const float end = vec3_axis(towards > 0 ? scene->box.hi : scene->box.lo, i);
        reach += towards * ((double)end - at);
    }
    return reach > slack;
}

/* Warns of lamps, all emissive triangles of a material, that face away from everything. */
static kd_status report_lamps(const scene_view *scene, vec3 eye) {
    uint8_t *reaches = NULL; /* one flag per material */
    const light *lost = NULL;
    if (scene->fog < scene->medium_count) return KD_OK; /* it lights the fog */
    KD_TRY(KD_RESERVE_ZEROED(reaches, scene->material_count));
    for (int pass = 0; pass < 2; ++pass)
        for (uint32_t i = 0; i < scene->light_count; ++i) {
            const light *lamp = scene->lights + i;
            if (lamp->kind != LIGHT_TRIANGLE) continue;
            uint8_t *seen = &reaches[scene->mesh.triangle_materials[lamp->triangle]];
            if (pass == 0 && !*seen) *seen = lamp_reaches(scene, lamp, eye);
            if (pass == 1 && !*seen && !lost) lost = lamp;
        }
    memory_free(reaches);
    if (!lost) return KD_OK;
    double at[3];
    origin_to_world(at, scene->origin, lost->position);
    log_message(LOG_WARNING,
                "the lamp at (%g, %g, %g) faces away from everything, so that its light is lost: "
                "turn its triangles around, or let both sides emit (two_sided)",
                at[0], at[1], at[2]);
    return KD_OK;
}

kd_status omissions_report(const scene_view *scene, const frame *frame) {
    const integrator *integrator = frame->integrator;
    uint32_t caustics = integrator->omits & (OMITS_POINT_CAUSTICS | OMITS_ALL_CAUSTICS);
    if (frame->options->regularise > 0 && integrator->regularises)
        caustics &= OMITS_ALL_CAUSTICS; /* paths find the others */
    else if (frame->options->regularise > 0)
        log_message(LOG_INFO, "integrator %s ignores --regularise, an option of path",
                    integrator->name);
    const bool all = strcmp(frame->options->techniques, "all") == 0 &&
                     strcmp(frame->options->show_techniques, "all") == 0;
    if (!all && integrator != integrator_find("vcm"))
        log_message(LOG_INFO,
                    "integrator %s ignores --techniques and --show-techniques, options of vcm",
                    integrator->name);
    KD_TRY(report_lamps(scene, frame->view.eye));
    const scene_traits traits = scene_traits_of(scene);
    if (caustics) report_caustics(&traits, integrator);
    if ((integrator->omits & OMITS_GLOSSY) != 0 && traits.glossy)
        log_message(
            LOG_INFO,
            "integrator %s shows only lights in rough metal and rough glass, which are black "
            "elsewhere; use path, or set roughness 0 for mirrors",
            integrator->name);
    const bool specular = (integrator->omits & OMITS_SPECULAR) != 0;
    const bool mirrors = specular && traits.mirrors, glass = specular && traits.glass;
    if (mirrors || glass)
        log_message(LOG_WARNING,
                    "integrator %s shows only lights and the sky %s%s%s, not other surfaces; use "
                    "path or vcm",
                    integrator->name, mirrors ? "in mirrors" : "", mirrors && glass ? " and " : "",
                    glass ? "through smooth glass" : "");
    return KD_OK;
}

static void report_cut(double share, const char *what, const kd_render_options *options) {
    /* With a depth limit below it, the other limit is never met. */
    const bool depth_only =
        options->max_specular == 0 || options->max_specular >= options->max_depth;
    char other[48] = "";
    if (!depth_only)
        snprintf(other, sizeof other, " or --max-specular %d", (int)options->max_specular);
    log_message(LOG_WARNING,
                "%.2g %% of %s was cut by --max-depth %d%s, so the picture is too dark: raise the "
                "limit%s",
                100 * share, what, (int)options->max_depth, other, depth_only ? "" : "s");
}

/* --- paths from the camera ---------------------------------------------------------------------
   What a limit cuts off is not known without longer paths, so some are traced twice, with the same
   random numbers: as in the picture, and longer. */

/* At most a quarter of the samples, but at least PROBES_MIN. With an albedo of 1 the longer paths
   end at PROBE_DEPTH only. */
enum { PROBES_MIN = 256, PROBES_MAX = 4096, PROBE_DEPTH = 1024 };
static const double probe_share = 0.01; /* fraction of the light that is worth a warning */

typedef struct depth_probe {
    frame limited, longer;
    const int32_t *crop; /* as film_open takes it */
    int64_t count;
    double sums[PROBES_MAX][2];
} depth_probe;

static double brightness(const frame *frame, int32_t x, int32_t y) {
    const vec3 seen = frame->integrator->sample(frame, x, y, 0).radiance;
    return vec3_is_finite(seen) ? (double)vec3_luminance(seen) : 0;
}

static void probe_paths(void *context, int64_t begin, int64_t end, int thread) {
    depth_probe *probe = (depth_probe *)context;
    const int32_t *crop = probe->crop;
    (void)thread;
    for (int64_t i = begin; i < end && !job_cancelled(probe->limited.job); ++i) {
        /* evenly over the picture, by the golden ratio */
        const double across = 0.6180339887498949 * (double)i;
        const int32_t x = crop[0] + (int32_t)((across - floor(across)) * (crop[2] - crop[0]));
        const int32_t y =
            crop[1] + (int32_t)((double)i / (double)probe->count * (crop[3] - crop[1]));
        probe->sums[i][0] = brightness(&probe->limited, x, y);
        probe->sums[i][1] = brightness(&probe->longer, x, y);
    }
}

static kd_status probe_depth(const frame *frame, depth_probe *probe, double *share) {
    kd_render_options options = *frame->options;
    const integrator *integrator = frame->integrator->depth_probe;
    double limited = 0, longer = 0;
    options.max_depth = PROBE_DEPTH;
    options.max_specular = 0;
    probe->limited = probe->longer = *frame;
    probe->longer.options = &options;
    probe->limited.integrator = probe->longer.integrator = integrator;
    probe->limited.device_frame = probe->longer.device_frame = NULL;
    probe->limited.state = probe->longer.state = NULL;
    kd_status status = integrator->prepare(&probe->limited);
    if (status == KD_OK) status = integrator->prepare(&probe->longer);
    if (status == KD_OK) parallel_for(probe->count, 16, probe_paths, probe);
    integrator->close(&probe->limited);
    integrator->close(&probe->longer);
    for (int64_t i = 0; i < probe->count; ++i) {
        limited += probe->sums[i][0];
        longer += probe->sums[i][1];
    }
    *share = longer > 0 ? 1 - limited / longer : 0;
    return status;
}

kd_status omissions_report_cut(const frame *frame, const int32_t crop[4]) {
    const kd_render_options *options = frame->options;
    const frame_statistics *statistics = &frame->statistics;
    const double emitted = statistics->watts_cut / statistics->watts_emitted;
    /* not for NaN: a method without photons emits 0 W */
    if (emitted > cut_share) report_cut(emitted, "the emitted power", options);
    const bool limited = options->max_depth < PROBE_DEPTH ||
                         (options->max_specular && options->max_specular < PROBE_DEPTH);
    if (!frame->integrator->depth_probe || !limited || job_cancelled(frame->job)) return KD_OK;
    depth_probe *probe = NULL;
    double share = 0;
    KD_TRY(KD_RESERVE_ZEROED(probe, 1));
    probe->crop = crop;
    const int64_t samples = (int64_t)(crop[2] - crop[0]) * (crop[3] - crop[1]) *
                            integrator_samples(frame->integrator, options);
    probe->count = samples / 4 < PROBES_MIN   ? PROBES_MIN
                   : samples / 4 > PROBES_MAX ? PROBES_MAX
                                              : samples / 4;
    const kd_status status = probe_depth(frame, probe, &share);
    memory_free(probe);
    KD_TRY(status);
    if (share > probe_share) report_cut(share, "the light in the picture", options);
    return KD_OK;
}

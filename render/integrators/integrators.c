/* The table of integrators, and those that need no preprocessing: `path`, `direct`, `whitted` and
   `ao`. */
#include "render/integrators/integrators.h"
#include "core/memory.h"
#include "core/names.h"
#include "render/frame/waves.h"
#include "render/integrators/pixel_methods.h"

#define INTEGRATOR_ROW(name) &integrator_##name,
extern const integrator *const integrators_rows[];
const integrator *const integrators_rows[] = {INTEGRATOR_ROWS(INTEGRATOR_ROW) NULL};

const integrator *integrator_find(const char *name) {
    if (name_is_auto(name)) return &integrator_path;
    for (const integrator *const *row = integrators; *row; ++row)
        if (strcmp((*row)->name, name) == 0) return *row;
    return NULL;
}

/* Path tracing: shaders/path.h for each pixel sample. */

static kd_status prepare(frame *prepared, int32_t scatterings) {
    path_options *options;
    KD_TRY(KD_RESERVE_ZEROED(options, 1));
    options->max_depth = prepared->options->max_depth;
    options->max_specular = prepared->options->max_specular;
    options->scatterings = scatterings;
    options->cutouts = integrator_has_cutouts(prepared->scene);
    options->clamp = prepared->options->clamp;
    options->least_alpha = prepared->options->regularise * prepared->options->regularise;
    prepared->state = options;
    return KD_OK;
}

static kd_status path_prepare(frame *prepared) {
    return prepare(prepared, INT32_MAX);
}

/* Direct lighting: emission and light that arrives from a light source without an intermediate
   bounce, also as seen through mirrors and smooth glass. */
static kd_status direct_prepare(frame *prepared) {
    return prepare(prepared, 1);
}

static pixel_sample path_sample(const frame *frame, int32_t x, int32_t y, uint32_t sample) {
    const pixel_view view = integrator_view(frame);
    return path_pixel(&view, SCENE_INSTANCED, (const path_options *)frame->state, x, y, sample);
}

static void path_samples(const frame *frame, const pixel_request *request, uint32_t count,
                         pixel_sample *out) {
    const pixel_view view = integrator_view(frame);
    if (path_pool_take(&view, (const path_options *)frame->state, request, count, out,
                       frame->groups))
        return;
    for (uint32_t i = 0; i < count; ++i)
        out[i] = path_sample(frame, request[i].x, request[i].y, request[i].sample);
}

static void close_state(frame *closed) {
    memory_free(closed->state);
    closed->state = NULL;
}

static bool path_light_groups(const kd_render_options *options, const scene_view *scene) {
    (void)options, (void)scene;
    return true;
}

const integrator integrator_path = {.name = "path",
                                    .lens = true,
                                    .source = "Kajiya 1986; Veach 1997",
                                    .prepare = path_prepare,
                                    .sample = path_sample,
                                    .samples = path_samples,
                                    .close = close_state,
                                    .launch = KD_IF_CUDA(path_launch),
                                    .launch_samples = waves_samples,
                                    .launch_bytes = waves_bytes,
                                    .omits = OMITS_POINT_CAUSTICS,
                                    .depth_probe = &integrator_path,
                                    .regularises = true,
                                    .studio = true,
                                    .light_groups = path_light_groups,
                                    .instances = true};

const integrator integrator_direct = {.name = "direct",
                                      .lens = true,
                                      .source = "Veach 1997, chapter 9",
                                      .prepare = direct_prepare,
                                      .sample = path_sample,
                                      .samples = path_samples,
                                      .close = close_state,
                                      .launch = KD_IF_CUDA(path_launch),
                                      .launch_samples = waves_samples,
                                      .launch_bytes = waves_bytes,
                                      .omits = OMITS_ALL_CAUSTICS | OMITS_GLOSSY,
                                      .depth_probe = &integrator_direct,
                                      .studio = true,
                                      .light_groups = path_light_groups,
                                      .instances = true};

/* Whitted ray tracing and ambient occlusion. */

static kd_status whitted_prepare(frame *prepared) {
    whitted_options *state = NULL;
    const float radius = prepared->options->radius;
    KD_REQUIRE(radius >= 0, KD_ERROR_USAGE, "`radius` is %g; expected 0 or more", (double)radius);
    KD_TRY(KD_RESERVE_ZEROED(state, 1));
    state->path.max_depth = prepared->options->max_depth;
    state->path.max_specular = prepared->options->max_specular;
    state->path.scatterings = 1;
    state->path.cutouts = integrator_has_cutouts(prepared->scene);
    /* a tenth of the scene's diagonal, so that closed interiors are not black */
    state->reach = radius > 0 ? radius : 0.1f * vec3_length(box3_size(prepared->scene->box));
    prepared->state = state;
    return KD_OK;
}

static pixel_sample whitted_sample(const frame *frame, int32_t x, int32_t y, uint32_t sample) {
    const pixel_view view = integrator_view(frame);
    return whitted_pixel(&view, SCENE_INSTANCED, (const whitted_options *)frame->state, x, y,
                         sample);
}

static pixel_sample ambient_sample(const frame *frame, int32_t x, int32_t y, uint32_t sample) {
    const pixel_view view = integrator_view(frame);
    return ambient_pixel(&view, SCENE_INSTANCED, (const whitted_options *)frame->state, x, y,
                         sample);
}

const integrator integrator_whitted = {.name = "whitted",
                                       .lens = true,
                                       .source = "Whitted 1980",
                                       .prepare = whitted_prepare,
                                       .sample = whitted_sample,
                                       .close = close_state,
                                       .launch = KD_IF_CUDA(whitted_launch),
                                       .omits = OMITS_ALL_CAUSTICS | OMITS_GLOSSY,
                                       .depth_probe = &integrator_whitted,
                                       .instances = true};

const integrator integrator_ao = {.name = "ao",
                                  .source = "Zhukov, Iones and Kronin 1998",
                                  .prepare = whitted_prepare,
                                  .sample = ambient_sample,
                                  .close = close_state,
                                  .launch = KD_IF_CUDA(ambient_launch),
                                  .instances = true};

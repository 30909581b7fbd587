/* Path tracing: shaders/path.h for every pixel sample. */
#include "core/memory.h"
#include "render/integrators/launches.h"
#include "render/integrators/pixel_methods.h"
#include "render/waves/path_pool.h"
#include "render/waves/waves.h"

static kd_status prepare(frame *prepared, int32_t scatterings) {
    path_options *options;
    KD_TRY(KD_RESERVE_ZEROED(options, 1));
    options->max_depth = prepared->options->max_depth;
    options->scatterings = scatterings;
    options->cutouts = integrator_has_cutouts(prepared->scene);
    options->clamp = prepared->options->clamp;
    prepared->state = options;
    return KD_OK;
}

static kd_status path_prepare(frame *prepared) {
    return prepare(prepared, INT32_MAX);
}

/* Direct light shows what surfaces emit, and the light that reaches them from lights without a
   bounce between; through mirrors and smooth glass before the eye too. */
static kd_status direct_prepare(frame *prepared) {
    return prepare(prepared, 1);
}

static pixel_sample path_sample(const frame *of, int32_t x, int32_t y, uint32_t sample) {
    const pixel_view view = integrator_view(of);
    return path_pixel(&view, SCENE_PLACED, (const path_options *)of->state, x, y, sample);
}

static void path_samples(const frame *of, const pixel_request *asked, uint32_t count,
                         pixel_sample *out) {
    const pixel_view view = integrator_view(of);
    if (path_pool_take(&view, (const path_options *)of->state, asked, count, out)) return;
    for (uint32_t i = 0; i < count; ++i)
        out[i] = path_sample(of, asked[i].x, asked[i].y, asked[i].sample);
}

static void path_close(frame *closed) {
    memory_free(closed->state);
    closed->state = NULL;
}

const integrator integrator_path = {.name = "path",
                                    .source = "Kajiya 1986; Veach 1997",
                                    .prepare = path_prepare,
                                    .sample = path_sample,
                                    .samples = path_samples,
                                    .close = path_close,
                                    .launch = KD_IF_CUDA(path_launch),
                                    .launch_samples = waves_samples,
                                    .launch_bytes = waves_bytes,
                                    .placed = true};

const integrator integrator_direct = {.name = "direct",
                                      .source = "Veach 1997, chapter 9",
                                      .prepare = direct_prepare,
                                      .sample = path_sample,
                                      .samples = path_samples,
                                      .close = path_close,
                                      .launch = KD_IF_CUDA(path_launch),
                                      .launch_samples = waves_samples,
                                      .launch_bytes = waves_bytes,
                                      .placed = true};

/* kandela bench frame: times of a pass of `sppm` and of a sample of `photon`, by stage and by
   lookup method. A time is the difference between a rendering of several passes and one of a single
   pass, so that initialisation does not count. Pictures of all devices and methods must be
   bit-identical. */
#include "photon/density/estimators.h"
#include "render/api/render.h"
#include "render/integrators/integrators.h"
#include "tools/lab/bench/input_light.h"
#include <string.h>

enum { STAGES = 7, WIDTH = 1920, HEIGHT = 1080 };
static const char *const stage_names[STAGES] = {"whole pass", "emission", "trees", "samples",
                                                "eye rays",   "gather",   "film"};

typedef struct frame_timing {
    double seconds[STAGES];
    uint64_t stored, hash;
} frame_timing;

static kd_status run_frames(frame_timing *out, const scene *scene,
                            const kd_render_options *options) {
    job_control job;
    render_result result;
    job_init(&job);
    KD_TRY(render_run(&result, scene, options, &job));
    double *seconds = out->seconds;
    seconds[1] = job_seconds(&job, "emit");
    seconds[2] = job_seconds(&job, "photon_tree");
    seconds[3] = job_seconds(&job, "render");
    seconds[0] = seconds[1] + seconds[2] + seconds[3];
    seconds[4] = result.frame.lookup_seconds;
    seconds[5] = result.frame.gather_seconds;
    seconds[6] = result.frame.film_seconds;
    const uint64_t passes =
        integrator_find(options->integrator)->pass ? (uint64_t)result.samples_done : 1;
    out->stored = (result.frame.photons_stored + result.frame.caustics_stored) / passes;
    out->hash = result.image_hash;
    render_close(&result);
    return KD_OK;
}

static kd_status report(const bench_request *request, const bench_stage *stage,
                        const kd_render_options *options, const frame_timing *one,
                        const frame_timing *more, bool checked) {
    const bool walks = photon_lookup_named(options->lookup)->walks;
    for (int s = 0; s < STAGES; ++s) {
        const double seconds = (more->seconds[s] - one->seconds[s]) / request->runs;
        char variant[32];
        if (!(seconds > 0)) continue;
        snprintf(variant, sizeof variant, "%s%s", stage_names[s], walks ? " by walk" : "");
        bench_row row = {.bench = "frame",
                         .set = stage->name,
                         .builder = options->integrator,
                         .device = options->device,
                         .variant = variant,
                         .rate_name = s == 0 ? "passes_per_second" : NULL};
        row.n = more->stored;
        row.k = options->gather;
        row.runs = 1;
        row.seconds[0] = seconds;
        row.items = 1;
        row.triangles = stage->view.mesh.triangle_count;
        row.hash = more->hash;
        row.checked = checked;
        KD_TRY(bench_report(request, &row));
    }
    return KD_OK;
}

/* Measures one device and lookup method; *hash is that of the previous picture, 0 before the first.
 */
static kd_status run_strategy(const bench_request *request, const bench_stage *stage,
                              kd_render_options *options, uint64_t *hash) {
    frame_timing one, more;
    options->passes = options->spp = 1;
    KD_TRY(run_frames(&one, stage->loaded, options));
    options->passes = options->spp = 1 + request->runs;
    KD_TRY(run_frames(&more, stage->loaded, options));
    KD_REQUIRE(!*hash || *hash == more.hash, KD_ERROR_RUNTIME,
               "%s: the image of %s, lookup %s, differs from the first one", stage->name,
               options->device, options->lookup);
    KD_TRY(report(request, stage, options, &one, &more, *hash != 0));
    *hash = more.hash;
    return KD_OK;
}

static kd_status run_device(const bench_request *request, const bench_stage *stage,
                            kd_render_options *options, const char *device_name, uint64_t *hash) {
    strcpy(options->device, device_name);
    for (int strategy = 0; strategy < PHOTON_LOOKUPS; ++strategy) {
        strcpy(options->lookup, photon_lookup_name(strategy));
        KD_TRY(run_strategy(request, stage, options, hash));
    }
    return KD_OK;
}

static kd_status run_method(const bench_request *request, const bench_stage *stage,
                            const char *method, uint64_t photons, int32_t gather) {
    kd_render_options options = stage->options;
    uint64_t hash = 0;
    strcpy(options.integrator, method);
    options.width = request->quick ? WIDTH / 8 : WIDTH;
    options.height = request->quick ? HEIGHT / 8 : HEIGHT;
    options.photons = photons / 2;
    options.caustic_photons = photons - photons / 2;
    options.gather = gather;
    options.final_gather = 0;
    if (bench_selects(&request->devices, "cpu"))
        KD_TRY(run_device(request, stage, &options, "cpu", &hash));
    if (bench_selects(&request->devices, "cuda:0") && device_cuda_count() > 0)
        KD_TRY(run_device(request, stage, &options, "cuda:0", &hash));
    return KD_OK;
}

kd_status bench_frame(const bench_request *request) {
    static const char *const methods[] = {"sppm", "photon"};
    uint64_t gather = 50;
    if (request->counts.count) KD_TRY(bench_count(&gather, &request->counts, 0));
    for (int s = 0; s < bench_scene_count(request); ++s) {
        bench_stage stage;
        kd_status status = bench_stage_open(&stage, bench_scene_path(request, s), "cpu");
        for (int n = 0; status == KD_OK && n < bench_photon_count(request); ++n) {
            uint64_t photons = 0;
            status = bench_photon_target(&photons, request, n);
            for (int m = 0; m < 2 && status == KD_OK; ++m)
                if (bench_selects(&request->builders, methods[m]))
                    status = run_method(request, &stage, methods[m], photons, (int32_t)gather);
        }
        bench_stage_close(&stage);
        KD_TRY(status);
    }
    return KD_OK;
}

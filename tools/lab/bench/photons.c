/* kandela bench photons: photons emitted and stored per second, and the build time of their trees.
   Half of them are for the global map and half for the caustic map, if the scene has specular
   surfaces that cast caustics. All devices must produce identical photons. */
#include "core/job.h"
#include "photon/maps/maps_device.h"
#include "tools/lab/bench/input_light.h"
#include <string.h>

static photon_options options_for(uint64_t photons) {
    photon_options options = photon_options_default();
    options.seed = 1;
    options.photons = photons / 2;
    options.caustics = photons - photons / 2;
    options.tiles = false;
    options.radius = 1; /* a fixed radius: the search for one is not timed */
    return options;
}

typedef struct photon_timing {
    double emission[BENCH_RUNS_MAX], trees[BENCH_RUNS_MAX];
    uint64_t stored, hash;
} photon_timing;

static kd_status run_on_cpu(photon_timing *out, const bench_stage *stage, photon_options options,
                            int runs) {
    for (int run = -1; run < runs; ++run) {
        photon_list lists[PHOTON_LISTS];
        photon_maps maps;
        options.pass = (uint32_t)(run + 1);
        const double begin = timing_now();
        KD_TRY(photon_lists_open(lists, &stage->view, &options, NULL));
        const double middle = timing_now();
        KD_TRY(photon_maps_build_trees(&maps, &stage->view, lists, &options, NULL));
        const double end = timing_now();
        out->stored = maps.global.count + maps.caustic.count;
        out->hash = photon_maps_hash(&maps);
        photon_maps_close(&maps);
        if (run < 0) continue;
        out->emission[run] = middle - begin;
        out->trees[run] = end - middle;
    }
    return KD_OK;
}

static kd_status run_on_device(photon_timing *out, const bench_stage *stage, photon_options options,
                               int runs) {
    photon_maps_cuda maps;
    photon_order orders[PHOTON_LISTS];
    kd_status status = KD_OK;
    memset(&maps, 0, sizeof maps);
    KD_TRY(photon_orders_make(orders, &stage->view, &options));
    for (int run = -1; run < runs; ++run) {
        options.pass = (uint32_t)(run + 1);
        photon_orders_renew(orders, &options);
        KD_TRY_GOTO(device_wait());
        const double begin = timing_now();
        KD_TRY_GOTO(photon_maps_cuda_emit(&maps, &stage->device_frame.scene.view, orders, NULL));
        KD_TRY_GOTO(device_wait());
        const double middle = timing_now();
        KD_TRY_GOTO(photon_maps_cuda_build_trees(&maps, &options, false, NULL));
        const double end = timing_now();
        if (run < 0) continue;
        out->emission[run] = middle - begin;
        out->trees[run] = end - middle;
    }
    out->stored =
        maps.map[PHOTON_LIST_GLOBAL].list.count + maps.map[PHOTON_LIST_CAUSTIC].list.count;
    out->hash = photon_maps_cuda_hash(&maps);
done:
    photon_maps_cuda_close(&maps);
    return status;
}

static kd_status report(const bench_request *request, const bench_stage *stage,
                        const photon_timing *timing, bool checked) {
    bench_row row = {.bench = "photons",
                     .set = stage->name,
                     .builder = "kandela",
                     .device = stage->on_device ? "cuda:0" : "cpu",
                     .variant = "emission",
                     .rate_name = "photons_per_second"};
    row.n = timing->stored;
    row.items = (double)timing->stored;
    row.runs = request->runs;
    row.triangles = stage->view.mesh.triangle_count;
    row.hash = timing->hash;
    row.checked = checked;
    memcpy(row.seconds, timing->emission, sizeof row.seconds);
    KD_TRY(bench_report(request, &row));
    row.variant = "trees";
    memcpy(row.seconds, timing->trees, sizeof row.seconds);
    return bench_report(request, &row);
}

/* Measures one device; *hash is that of the previous device, 0 before the first. */
static kd_status run_device(const bench_request *request, const char *path, const char *device_name,
                            uint64_t photons, uint64_t *hash) {
    static photon_timing timing; /* static: too large for the stack */
    bench_stage stage;
    const photon_options options = options_for(photons);
    KD_TRY(bench_stage_open(&stage, path, device_name));
    kd_status status = stage.on_device ? run_on_device(&timing, &stage, options, request->runs)
                                       : run_on_cpu(&timing, &stage, options, request->runs);
    if (status == KD_OK && *hash && *hash != timing.hash)
        status = status_fail(KD_ERROR_RUNTIME, __FILE__, __LINE__,
                             "%s: the photons of %s differ from the CPU's", path, device_name);
    if (status == KD_OK) status = report(request, &stage, &timing, *hash != 0);
    *hash = timing.hash;
    bench_stage_close(&stage);
    return status;
}

kd_status bench_photons(const bench_request *request) {
    for (int s = 0; s < bench_scene_count(request); ++s)
        for (int n = 0; n < bench_photon_count(request); ++n) {
            uint64_t photons = 0, hash = 0;
            KD_TRY(bench_photon_target(&photons, request, n));
            const char *path = bench_scene_path(request, s);
            if (bench_selects(&request->devices, "cpu"))
                KD_TRY(run_device(request, path, "cpu", photons, &hash));
            if (bench_selects(&request->devices, "cuda:0") && device_cuda_count() > 0)
                KD_TRY(run_device(request, path, "cuda:0", photons, &hash));
        }
    return KD_OK;
}

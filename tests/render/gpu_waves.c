/* Wavefront path tracing on a device: a pool that is refilled many times gives the same picture as
   the CPU, in all its planes, and so does a launch that is interrupted and resumed. */
#include "core/device/device.h"
#include "core/hash.h"
#include "render/api/plan.h"
#include "render/api/render.h"
#include "render/frame/waves.h"
#include "tests/gpu.h"
#include "tests/scenes/files.h"
#include <pthread.h>
#include <unistd.h>

/* --- scenes ----------------------------------------------------------------------------------- */

/* Cut-outs in front of cut-outs, in fog, with dispersive glass and a mirror. */
static const char *const veils =
    "{\"kandela\": 1, \"media\": {\"fog\": {\"absorption\": 0.02, \"scattering\": [0.1, 0.15, "
    "0.2], "
    "\"g\": 0.4}}, \"fog\": \"fog\", \"materials\": {"
    "\"veil\": {\"diffuse\": [0.6, 0.5, 0.3], \"opacity\": 0.4},"
    "\"flint\": {\"kind\": \"glass\", \"cauchy\": [1.58, 0.013, 0]},"
    "\"mirror\": {\"kind\": \"mirror\"},"
    "\"lamp\": {\"diffuse\": 0, \"emission\": [9, 8, 7], \"two_sided\": true}},"
    "\"meshes\": ["
    "{\"quad\": [[-4, 0, 4], [4, 0, 4], [4, 0, -4], [-4, 0, -4]]},"
    "{\"quad\": [[-2, 0, 2], [0, 0, 2], [0, 2, 2], [-2, 2, 2]], \"material\": \"veil\"},"
    "{\"quad\": [[-1.5, 0, 1], [0.5, 0, 1], [0.5, 2, 1], [-1.5, 2, 1]], \"material\": \"veil\"},"
    "{\"quad\": [[-2, 3, -1], [-1, 3, -1], [-1, 3, 0], [-2, 3, 0]], \"material\": \"lamp\"},"
    "{\"box\": {\"lo\": [1, 0, 0], \"hi\": [2, 1, 1]}, \"material\": \"mirror\"},"
    "{\"sphere\": {\"centre\": [-0.6, 0.6, 0], \"radius\": 0.6, \"triangles\": 200}, "
    "\"material\": \"flint\"}],"
    "\"camera\": {\"eye\": [0, 1.5, 5], \"look_at\": [0, 0.6, 0], \"fov\": 45}}";

/* Lights of all kinds, more than a node of the tree of lights holds, in fog. */
static const char *const lamps =
    "{\"kandela\": 1, \"media\": {\"fog\": {\"scattering\": 0.02}}, \"fog\": \"fog\", "
    "\"materials\": {"
    "\"front\": {\"diffuse\": 0, \"emission\": [9, 8, 7]},"
    "\"sides\": {\"diffuse\": 0, \"emission\": [1, 2, 3], \"two_sided\": true}},"
    "\"meshes\": ["
    "{\"quad\": [[-4, 0, 4], [4, 0, 4], [4, 0, -4], [-4, 0, -4]]},"
    "{\"sphere\": {\"centre\": [-1, 1.5, -1], \"radius\": 0.2, \"triangles\": 80}, \"material\": "
    "\"front\"},"
    "{\"quad\": [[-2, 3, -1], [-1, 3, -1], [-1, 3, 0], [-2, 3, 0]], \"material\": \"sides\"},"
    "{\"box\": {\"lo\": [1, 0, 0], \"hi\": [2, 1, 1]}}],"
    "\"lights\": [{\"kind\": \"directional\", \"direction\": [0, -1, 0.2], \"irradiance\": 0.2},"
    "{\"kind\": \"point\", \"position\": [1, 2, 1], \"power\": 20},"
    "{\"kind\": \"spot\", \"position\": [0, 2, 2], \"look_at\": [0, 0, 0], \"inner_degrees\": 10, "
    "\"outer_degrees\": 30, \"power\": 20}],"
    "\"camera\": {\"eye\": [0, 1.5, 5], \"look_at\": [0, 0.6, 0], \"fov\": 45}}";

/* Mirrors around a white floor: light paths of vcm leave several photons each. */
static const char *const mirrors =
    "{\"kandela\": 1, \"materials\": {\"mirror\": {\"kind\": \"mirror\"}, "
    "\"white\": {\"diffuse\": 0.95}, \"lamp\": {\"diffuse\": 0, \"emission\": [9, 8, 7]}},"
    "\"meshes\": ["
    "{\"quad\": [[-4, 0.01, 4], [4, 0.01, 4], [4, 0.01, -4], [-4, 0.01, -4]], \"material\": "
    "\"white\"},"
    "{\"box\": {\"lo\": [-3, 0, -3], \"hi\": [3, 3, 3]}, \"material\": \"mirror\"},"
    "{\"quad\": [[-1, 2.9, -1], [1, 2.9, -1], [1, 2.9, 1], [-1, 2.9, 1]], \"material\": "
    "\"lamp\"}],"
    "\"camera\": {\"eye\": [0, 1.5, 2.5], \"look_at\": [0, 0.6, 0], \"fov\": 60}}";

/* A ball of milk in glass under a lamp without size: paths merge in the milk. */
static const char *const milk =
    "{\"kandela\": 1, \"media\": {\"milk\": {\"absorption\": [0.2, 0, 0.3], \"scattering\": "
    "[5, 2, 4], \"g\": 0.6}}, \"materials\": {"
    "\"glass\": {\"kind\": \"glass\", \"ior\": 1.4, \"medium\": \"milk\"}},"
    "\"meshes\": ["
    "{\"quad\": [[-4, 0, 4], [4, 0, 4], [4, 0, -4], [-4, 0, -4]]},"
    "{\"sphere\": {\"centre\": [0, 1.2, 0], \"radius\": 1, \"triangles\": 200}, "
    "\"material\": \"glass\"}],"
    "\"lights\": [{\"kind\": \"point\", \"position\": [1, 4, 1], \"power\": 20}],"
    "\"camera\": {\"eye\": [0, 1.5, 4], \"look_at\": [0, 1.1, 0], \"fov\": 45}}";

static int files_make(void **state) {
    if (folder_make(state)) return 1;
    file_put_text("veils.json", veils);
    file_put_text("lamps.json", lamps);
    file_put_text("mirrors.json", mirrors);
    file_put_text("milk.json", milk);
    return 0;
}

static const char *scene_path(int index) {
    static const char *const paths[] = {KD_TEST_SOURCE_DIR "/scenes/cornell_diffuse.json",
                                        KD_TEST_SOURCE_DIR "/scenes/cornell_fog.json",
                                        KD_TEST_SOURCE_DIR "/scenes/prism.json",
                                        KD_TEST_SOURCE_DIR "/scenes/glass_of_water.json"};
    if (index == 5) return file_in("lamps.json");
    if (index == 6) return file_in("mirrors.json");
    if (index == 7) return file_in("milk.json");
    return index < 4 ? paths[index] : index == 4 ? file_in("veils.json") : NULL;
}

/* --- runs ------------------------------------------------------------------------------------- */

typedef struct run_result {
    uint64_t planes, rays, nans;
    int32_t samples;
    kd_status status;
} run_result;

static uint64_t all_planes(const image *image) {
    uint64_t hash = 0;
    for (int i = 0; i < image->channel_count; ++i)
        hash = hash_combine(hash, image->planes[i],
                            (size_t)image->width * (size_t)image->height * sizeof(float));
    return hash;
}

static run_result run_on_device(const char *path, const kd_render_options *options,
                                const char *device, const render_keeping *keeping,
                                job_control *job) {
    scene *made = NULL;
    kd_render_options from_file, used = *options;
    kd_render_options_default(&from_file);
    assert_int_equal(scene_open(&made, path, &from_file, NULL), KD_OK);
    snprintf(used.device, sizeof used.device, "%s", device);
    const camera begin = scene_camera(made);
    camera later = begin;
    later.eye.x += options->shutter;
    scene_set_cameras(made, &begin, &later);
    render_result result;
    run_result end;
    memset(&end, 0, sizeof end);
    end.status = render_run_kept(&result, made, &used, keeping, job);
    if (end.status != KD_OK && end.status != KD_INTERRUPTED) fail_msg("%s", kd_last_error());
    end.planes = all_planes(&result.picture);
    end.rays = result.frame.rays;
    end.nans = result.frame.nan_samples;
    end.samples = result.samples_done;
    render_close(&result);
    scene_close(made);
    return end;
}

static kd_render_options options_for(int32_t width, int32_t height, int32_t spp) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, "path");
    options.width = width;
    options.height = height;
    options.spp = spp;
    options.max_depth = 20;
    if (gpu_is_emulated()) strcpy(options.builder, "sweep"); /* the CPU builds the tree faster */
    return options;
}

static void expect_same(const char *path, const kd_render_options *options, const run_result *cpu) {
    const run_result result = run_on_device(path, options, "cuda", NULL, NULL);
    if (cpu->planes != result.planes || cpu->rays != result.rays || cpu->nans != result.nans)
        fail_msg("%s, %d x %d, %d samples, %llu paths at a time: %016llx and %016llx, %llu and "
                 "%llu rays",
                 path, options->width, options->height, options->spp,
                 (unsigned long long)options->device_paths, (unsigned long long)cpu->planes,
                 (unsigned long long)result.planes, (unsigned long long)cpu->rays,
                 (unsigned long long)result.rays);
    assert_true(cpu->rays > 0 && cpu->samples == result.samples);
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Pools that hold all paths, and pools that are refilled many times. */
static void test_pools(void **state) {
    (void)state;
    const uint64_t pools[] = {0, 1024, gpu_size(20000, 1500)};
    for (int i = 0; scene_path(i); ++i) {
        if (test_leaves_out((uint32_t)i, 2)) continue;
        kd_render_options options =
            options_for((int32_t)gpu_size(333, 29), (int32_t)gpu_size(201, 21), 7);
        if (i % 2) options.regularise = 0.4f;
        const run_result cpu = run_on_device(scene_path(i), &options, "cpu", NULL, NULL);
        for (int p = 0; p < 3; ++p) {
            if (p && gpu_leaves_out((uint32_t)i + (uint32_t)p, 3)) continue;
            options.device_paths = pools[p];
            expect_same(scene_path(i), &options, &cpu);
        }
    }
}

/* One pixel, one row, one sample; `direct`, and paths of few surfaces. */
static void test_sizes(void **state) {
    (void)state;
    static const int32_t sizes[][3] = {{1, 1, 1}, {1, 1, 9}, {70, 1, 2}, {3, 34, 1}, {8, 4, 5}};
    for (int i = 0; i < 5; ++i) {
        kd_render_options options = options_for(sizes[i][0], sizes[i][1], sizes[i][2]);
        if (i == 2) strcpy(options.integrator, "direct");
        if (i == 3) options.max_depth = 1;
        if (i == 4) options.max_depth = 2;
        if (i < 2) options.clamp = 0.05f;
        if (i > 2) options.shutter = 1; /* run_on_device then moves the camera */
        const run_result cpu = run_on_device(scene_path(4), &options, "cpu", NULL, NULL);
        expect_same(scene_path(4), &options, &cpu);
    }
}

/* Light paths and eye paths of vcm, by all techniques and by some, with pools that hold all paths
   and pools that are refilled. */
static void test_vcm(void **state) {
    (void)state;
    static const char *const techniques[] = {"all", "eye+lamps", "splat", "eye+merge",
                                             "lamps+splat+merge"};
    for (int i = 0; scene_path(i); ++i) {
        if (gpu_is_emulated() && i == 3) continue; /* its trees take long */
        for (int t = 0; t < 5; ++t) {
            if (gpu_leaves_out((uint32_t)(i + t), 3)) continue;
            kd_render_options options =
                options_for((int32_t)gpu_size(333, 43), (int32_t)gpu_size(201, 31), 2);
            strcpy(options.integrator, "vcm");
            strcpy(options.techniques, techniques[t]);
            if (t % 2) options.shutter = 1;
            if (t > 2) options.filter = PIXEL_FILTER_MITCHELL;
            if (i == 7) options.radius = t % 2 ? 0.1f : 0.6f; /* few and many photons to merge */
            const run_result cpu = run_on_device(scene_path(i), &options, "cpu", NULL, NULL);
            options.device_paths = (i + t) % 2 ? 0 : 1024;
            expect_same(scene_path(i), &options, &cpu);
        }
    }
}

static kd_status cancel(void *context, const render_result *so_far) {
    (void)so_far;
    atomic_store(&((job_control *)context)->cancelled, true);
    return KD_OK;
}

/* Launches end early if the film is to be saved; each save ends the run, and the next run resumes
   it. */
static void test_frequent_saves(void **state) {
    (void)state;
    for (int i = 0; i < 5; i += 4) {
        kd_render_options options =
            options_for((int32_t)gpu_size(200, 40), (int32_t)gpu_size(100, 22), 16);
        const run_result whole = run_on_device(scene_path(i), &options, "cpu", NULL, NULL);
        char kept[512];
        snprintf(kept, sizeof kept, "%s", file_in("saved.state"));
        job_control job;
        render_keeping keeping = {
            .state = kept, .every_seconds = 1e-9, .show = cancel, .context = &job};
        options.device_paths = gpu_size(1 << 15, 1024);
        run_result last = {.status = KD_INTERRUPTED};
        int runs = 0;
        for (; last.status == KD_INTERRUPTED && runs < 100; ++runs) {
            job_init(&job);
            keeping.resume = runs > 0;
            last = run_on_device(scene_path(i), &options, "cuda", &keeping, &job);
            assert_true(last.samples >= 1);
        }
        print_message("%d runs\n", runs);
        assert_true(runs > 5 && runs < 100 && last.samples == 16);
        assert_true(last.planes == whole.planes && last.rays == whole.rays);
    }
}

typedef struct canceller {
    job_control job;
    atomic_bool renders;
} canceller;

static void note_stage(void *context, const char *stage, int64_t done, int64_t total) {
    (void)done, (void)total;
    if (stage && strcmp(stage, "render") == 0) atomic_store(&((canceller *)context)->renders, true);
}

static void *cancel_soon(void *context) {
    canceller *listener = (canceller *)context;
    while (!atomic_load(&listener->renders)) usleep(1000);
    usleep(gpu_is_emulated() ? 300000 : 5000);
    atomic_store(&listener->job.cancelled, true);
    return NULL;
}

/* Wherever a rendering is interrupted, each pixel has a prefix of its samples, and the final
   picture is the same. */
static void test_interrupted(void **state) {
    (void)state;
    kd_render_options options =
        options_for((int32_t)gpu_size(640, 64), (int32_t)gpu_size(360, 36), 64);
    options.device_paths = gpu_size(1 << 18, 4096);
    char kept[512];
    snprintf(kept, sizeof kept, "%s", file_in("interrupted.state"));
    render_keeping keeping = {.state = kept};
    pthread_t thread;
    canceller canceller;
    job_init(&canceller.job);
    canceller.job.report = note_stage;
    canceller.job.context = &canceller;
    atomic_init(&canceller.renders, false);
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &canceller), 0);
    run_result last = run_on_device(scene_path(0), &options, "cuda", &keeping, &canceller.job);
    pthread_join(thread, NULL);
    print_message("interrupted with at least %d samples of 64, %llu rays\n", last.samples,
                  (unsigned long long)last.rays);
    /* unless it was interrupted before it began */
    assert_true(last.samples >= 1 || last.rays == 0);
    keeping.resume = true;
    last = run_on_device(scene_path(0), &options, "cuda", &keeping, NULL);
    assert_int_equal(last.status, KD_OK);
    const run_result whole = run_on_device(scene_path(0), &options, "cuda", NULL, NULL);
    assert_true(last.planes == whole.planes && last.rays == whole.rays);
}

/* The plan includes the pool of paths, and reduces it if necessary. */
static void test_plan(void **state) {
    (void)state;
    scene *made = NULL;
    kd_render_options from_file, options = options_for(320, 240, 16);
    kd_render_options_default(&from_file);
    assert_int_equal(scene_open(&made, scene_path(0), &from_file, NULL), KD_OK);
    const scene_view view = scene_get_view(made);
    render_plan whole, fitted;
    strcpy(options.device, "cuda");
    assert_int_equal(render_plan_make_among(&whole, &view, &options, 1), KD_OK);
    uint64_t counted = 0;
    for (int r = 0; r < whole.count; ++r)
        if (strcmp(whole.rows[r].name, "paths") == 0) counted += whole.rows[r].bytes;
    const uint64_t samples = 320 * 240 * 16; /* fewer than fit into the smallest limit */
    assert_true(counted >= samples * (waves_path_bytes(false) + waves_sample_bytes()));
    assert_true(counted <= samples * (waves_path_bytes(false) + waves_sample_bytes()) + 100000);
    const uint64_t maximum = whole.device_total - counted / 2;
    assert_int_equal(render_plan_fit(&fitted, &view, &options, maximum), KD_OK);
    assert_true(fitted.device_total <= maximum && options.device_paths > 0);
    scene_close(made);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pools),          cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_frequent_saves), cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_plan),           cmocka_unit_test(test_vcm),
    };
    return cmocka_run_group_tests(tests, files_make, folder_remove);
}

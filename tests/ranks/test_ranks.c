/* Several ranks render the same bits as one: every integrator, on 1 to 8 ranks, which are threads.
   The tests compare state files, which hold all sums of all pixels, counts and ledgers.
   tests/tools/test_mpirun.sh does the same with MPI. */
#include "core/files/file.h"
#include "core/hash.h"
#include "distributed/render/row_scheduler.h"
#include "render/api/plan.h"
#include "render/api/render.h"
#include "render/frame/pixel.h"
#include "render/integrators/integrators.h"
#include "test.h"
#include <unistd.h>

static kd_render_options small_options(const char *name) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, name);
    strcpy(options.builder, "sweep");
    options.width = 21; /* not a multiple of the tile size, nor of the number of ranks */
    options.height = 19;
    options.spp = 5;
    options.passes = 4;
    options.photons = 3000;
    options.caustic_photons = 2000;
    options.media_photons = 1000;
    return options;
}

static void name_devices(kd_render_options *options, int count) {
    options->device[0] = '\0';
    for (int r = 0; r < count; ++r) strcat(options->device, r ? ",cpu" : "cpu");
}

static scene *open_scene(const char *name) {
    char path[4096];
    scene *made = NULL;
    kd_render_options unused;
    kd_render_options_default(&unused);
    snprintf(path, sizeof path, "%s/scenes/%s.json", KD_TEST_SOURCE_DIR, name);
    assert_int_equal(scene_open(&made, path, &unused, NULL), KD_OK);
    return made;
}

/* Renders, keeping the state file, and returns the file's hash. */
static uint64_t run(const scene *scene, const kd_render_options *options, const char *state,
                    bool resume, job_control *job) {
    render_result result;
    const render_keeping keeping = {.state = state, .resume = resume};
    const kd_status status = render_run_kept(&result, scene, options, &keeping, job);
    if (status != KD_OK && status != KD_INTERRUPTED) fail_msg("%s", kd_last_error());
    render_close(&result);
    file_view file;
    assert_int_equal(file_open(&file, state), KD_OK);
    const uint64_t hash = hash_bytes(file.bytes, file.count);
    file_close(&file);
    return hash;
}

static void expect_same(const char *scene_name, kd_render_options options, const int *sizes) {
    scene *made = open_scene(scene_name);
    strcpy(options.device, "cpu");
    const uint64_t alone = run(made, &options, "alone.state", false, NULL);
    const uint32_t mixed = (uint32_t)strlen(options.integrator);
    for (uint32_t k = 0; sizes[k]; ++k) {
        if (k && test_leaves_out(k + mixed, 3)) continue;
        name_devices(&options, sizes[k]);
        const uint64_t reference = run(made, &options, "together.state", false, NULL);
        if (reference != alone)
            fail_msg("%s, %s: %d ranks have other bits", scene_name, options.integrator, sizes[k]);
    }
    scene_close(made);
}

static const int few[] = {3, 0}, many[] = {2, 3, 4, 8, 0};

static void test_every_integrator(void **state) {
    (void)state;
    for (const integrator *const *row = integrators; *row; ++row) {
        expect_same("cornell_diffuse", small_options((*row)->name), many);
        if (!test_leaves_out((uint32_t)(row - integrators), 2))
            expect_same("prism", small_options((*row)->name), few);
    }
}

static void test_photon_forms(void **state) {
    (void)state;
    kd_render_options options = small_options("photon");
    options.final_gather = 2;
    expect_same("cornell_diffuse", options, few);
    options = small_options("photon");
    options.batches = 3;
    expect_same("cornell_diffuse", options, few);
    options = small_options("sppm");
    options.batches = 2;
    expect_same("cornell_fog", options, few);
    options = small_options("debug");
    strcpy(options.channel, "density");
    expect_same("cornell_diffuse", options, few);
}

static void test_crop_and_target(void **state) {
    (void)state;
    kd_render_options options = small_options("path");
    const int32_t crop[4] = {3, 2, 17, 9};
    memcpy(options.crop, crop, sizeof crop);
    expect_same("cornell_diffuse", options, many);
    options = small_options("path");
    options.spp = 64;
    options.target_error = 0.6; /* all ranks stop after the same pass */
    expect_same("cornell_diffuse", options, few);
    options = small_options("sppm");
    options.passes = 24;
    options.target_error = 0.5;
    expect_same("cornell_diffuse", options, few);
}

/* Distributed photon maps give the same bits as replicated ones. */
static void expect_distributed(const char *scene_name, kd_render_options options,
                               const int *sizes) {
    strcpy(options.maps, "apart");
    expect_same(scene_name, options, sizes);
}

static void test_distributed_photons(void **state) {
    (void)state;
    static const int several[] = {2, 3, 4, 0};
    kd_render_options options = small_options("sppm");
    expect_distributed("prism", options, several);
    expect_distributed("cornell_diffuse", options, few);
    options = small_options("sppm");
    options.batches = 2;
    expect_distributed("cornell_fog", options, few);
    options = small_options("sppm");
    options.radius = 0.05f;
    expect_distributed("prism", options, few);
    options = small_options("photon");
    expect_distributed("prism", options, several);
    strcpy(options.lookup, "walk");
    options.gather = 700;
    expect_distributed("cornell_fog", options, few);
    options = small_options("photon");
    strcpy(options.estimator, "fixed");
    options.batches = 3;
    expect_distributed("cornell_diffuse", options, few);
    options.photons = 3; /* some ranks trace no photons */
    options.caustic_photons = 2;
    options.gather = 2;
    options.batches = 1;
    strcpy(options.estimator, "nearest");
    expect_distributed("cornell_diffuse", options, several);
    options = small_options("sppm");
    const int32_t crop[4] = {3, 2, 17, 9};
    memcpy(options.crop, crop, sizeof crop);
    options.passes = 24;
    options.target_error = 0.5;
    expect_distributed("cornell_diffuse", options, few);
    static const char *const methods[] = {"sppm", "photon"};
    for (int i = 0; i < 2; ++i) {
        options = small_options(methods[i]);
        options.filter = PIXEL_FILTER_MITCHELL; /* a filter with weighted samples */
        expect_distributed("cornell_diffuse", options, few);
    }
}

static void test_distributed_photons_refused(void **state) {
    (void)state;
    static const char *const methods[] = {"path", "photon", "photon"};
    scene *made = open_scene("cornell_diffuse");
    for (int i = 0; i < 3; ++i) {
        kd_render_options options = small_options(methods[i]);
        render_result result;
        strcpy(options.maps, "apart");
        strcpy(options.device, "cpu,cpu");
        options.final_gather = i == 1 ? 4 : 0;
        if (i == 2) strcpy(options.estimator, "adaptive");
        assert_int_equal(render_run(&result, made, &options, NULL), KD_ERROR_USAGE);
    }
    kd_render_options options = small_options("sppm");
    render_result result;
    strcpy(options.maps, "nowhere");
    assert_int_equal(render_run(&result, made, &options, NULL), KD_ERROR_USAGE);
    scene_close(made);
}

/* The plan selects replicated maps if they fit, else distributed ones, else batches, if the caller
   accepts other bits. */
static void test_automatic_map_distribution(void **state) {
    (void)state;
    scene *made = open_scene("cornell_diffuse");
    const scene_view view = scene_get_view(made);
    kd_render_options options = small_options("sppm"), resolved;
    maps_choice choice = {.rank_count = 4, .bandwidth = 16e9};
    render_plan plan;
    options.photons = options.caustic_photons =
        64000000; /* so many that the maps outweigh the tiles, which every rank holds */
    options.radius = 0.01f;
    strcpy(options.device, "cpu");
    resolved = options;
    assert_int_equal(render_plan_fit_among(&plan, &view, &resolved, 0, &choice), KD_OK);
    assert_string_equal(resolved.maps, "whole");
    const uint64_t whole = plan.total;
    assert_true(choice.sent[RANK_MAPS_WHOLE] > choice.sent[RANK_MAPS_DISTRIBUTED]);
    resolved = options;
    assert_int_equal(render_plan_fit_among(&plan, &view, &resolved, whole - 1, &choice), KD_OK);
    assert_string_equal(resolved.maps, "apart");
    assert_true(plan.total < whole / 2 && resolved.batches == 1);
    resolved = options;
    choice.bandwidth = 16e6; /* over this connection the photons of all passes would take minutes */
    assert_int_equal(render_plan_fit_among(&plan, &view, &resolved, 0, &choice), KD_OK);
    assert_string_equal(resolved.maps, "apart");
    resolved = options;
    choice.bandwidth = 0;
    assert_int_equal(render_plan_fit_among(&plan, &view, &resolved, whole / 20, &choice),
                     KD_ERROR_MEMORY);
    assert_non_null(strstr(kd_last_error(), "--ranks-inexact"));
    resolved = options;
    choice.inexact = true;
    assert_int_equal(render_plan_fit_among(&plan, &view, &resolved, whole / 20, &choice), KD_OK);
    assert_true(resolved.batches > 1 && plan.total <= whole / 20);
    scene_close(made);
}

/* On devices the plan selects, among the layouts that fit, the one that sends fewer bytes, whatever
   the bandwidth. */
static void test_device_assignment(void **state) {
    (void)state;
    maps_choice choice = {.rank_count = 4, .on_devices = true};
    choice.sent[RANK_MAPS_WHOLE] = 1000;
    choice.sent[RANK_MAPS_DISTRIBUTED] = 999;
    assert_int_equal(maps_choice_of(&choice, true, true), RANK_MAPS_DISTRIBUTED);
    assert_int_equal(maps_choice_of(&choice, true, false), RANK_MAPS_WHOLE);
    choice.sent[RANK_MAPS_DISTRIBUTED] = 1001;
    assert_int_equal(maps_choice_of(&choice, true, true), RANK_MAPS_WHOLE);
    assert_int_equal(maps_choice_of(&choice, false, true), RANK_MAPS_DISTRIBUTED);
    choice.on_devices = false; /* CPUs take the bandwidth into account */
    choice.sent[RANK_MAPS_DISTRIBUTED] = 1;
    assert_int_equal(maps_choice_of(&choice, true, true), RANK_MAPS_WHOLE);
}

/* Cancels after this many progress reports. */
typedef struct report_limit {
    job_control job;
    int reports_left;
} report_limit;

static void cancel_at_limit(void *context, const char *stage, int64_t done, int64_t total) {
    report_limit *limits = (report_limit *)context;
    (void)done;
    (void)total;
    if (stage && strcmp(stage, "render") == 0 && --limits->reports_left <= 0)
        atomic_store(&limits->job.cancelled, true);
}

/* A rendering interrupted on `before` ranks and resumed on `after` ranks has the bits of one
   rank. */
static void expect_resumed(const char *name, int before, int after) {
    kd_render_options options = small_options(name);
    scene *made = open_scene("cornell_diffuse");
    options.spp = (int32_t)test_size(900, 300);
    options.passes = (int32_t)test_size(40, 16);
    strcpy(options.device, "cpu");
    const uint64_t alone = run(made, &options, "alone.state", false, NULL);
    report_limit limits = {.reports_left = 3};
    job_init(&limits.job);
    limits.job.report = cancel_at_limit;
    limits.job.context = &limits;
    name_devices(&options, before);
    const uint64_t cut = run(made, &options, "together.state", false, &limits.job);
    assert_true(atomic_load(&limits.job.cancelled));
    assert_true(cut != alone);
    name_devices(&options, after);
    if (run(made, &options, "together.state", true, NULL) != alone)
        fail_msg("%s: %d ranks, then %d: other bits", name, before, after);
    scene_close(made);
}

static void test_resumed_by_other_ranks(void **state) {
    (void)state;
    expect_resumed("path", 3, 2);
    expect_resumed("path", 1, 4);
    expect_resumed("sppm", 2, 3);
    expect_resumed("light", 4, 1);
}

static void test_failing_rank_ends_all_ranks(void **state) {
    (void)state;
    kd_render_options options = small_options("path");
    scene *made = open_scene("cornell_diffuse");
    render_result result;
    strcpy(options.device, "cpu,cpu,cuda:77,cpu");
    assert_int_equal(render_run(&result, made, &options, NULL), KD_ERROR_DEVICE);
    assert_non_null(strstr(kd_last_error(), "cuda:77"));
    scene_close(made);
}

/* --- row scheduling --------------------------------------------------------------------------- */

/* The scheduler hands out every row once, in chunks that shrink towards the end, and a slow rank
   does not delay the others. */
static void test_row_scheduling(void **state) {
    (void)state;
    enum { RANKS = 5, ROWS = 1000, SLOW = 3 };
    const double speed[RANKS] = {100, 90, 110, 5, 1000}; /* rows per second */
    double clock[RANKS] = {0};
    bool done[RANKS] = {false};
    row_scheduler cards;
    assert_int_equal(row_scheduler_open(&cards, RANKS), KD_OK);
    for (int pass = 0; pass < 3; ++pass) {
        int32_t covered = 0, left = RANKS;
        memset(clock, 0, sizeof clock);
        memset(done, 0, sizeof done);
        row_scheduler_begin(&cards, ROWS, 64);
        while (left) {
            int32_t rank = -1, top, bottom; /* the rank that becomes idle first */
            for (int32_t r = 0; r < RANKS; ++r)
                if (!done[r] && (rank < 0 || clock[r] < clock[rank])) rank = r;
            row_scheduler_next(&cards, rank, &top, &bottom);
            if (top == bottom) {
                done[rank] = true;
                --left;
                continue;
            }
            assert_int_equal(top, covered);
            covered = bottom;
            clock[rank] += (bottom - top) / speed[rank];
            row_scheduler_note(&cards, rank, bottom - top, (bottom - top) / speed[rank]);
        }
        assert_int_equal(covered, ROWS);
        double last = 0;
        for (int r = 0; r < RANKS; ++r) last = clock[r] > last ? clock[r] : last;
        const double best = ROWS / (100.0 + 90 + 110 + 5 + 1000);
        /* one row takes the slow rank 0.2 s, of 0.77 s for all */
        if (pass) assert_true(last < 1.35 * best);
    }
    row_scheduler_close(&cards);
}

/* Bands of rows become balanced in a few steps, whatever the cost of rows and the speed of
   ranks. */
static void test_splitting(void **state) {
    (void)state;
    enum { RANKS = 4, ROWS = 400 };
    const double speed[RANKS] = {1, 3, 1, 0.5};
    int32_t bounds[RANKS + 1], old[RANKS + 1];
    double seconds[RANKS], imbalance = 0;
    split_even(bounds, RANKS, ROWS);
    for (int step = 0; step < 8; ++step) {
        for (int r = 0; r < RANKS; ++r) {
            seconds[r] = 0;
            for (int32_t row = bounds[r]; row < bounds[r + 1]; ++row)
                seconds[r] += (1 + row / 100) / speed[r];
        }
        imbalance = split_imbalance(seconds, RANKS);
        memcpy(old, bounds, sizeof old);
        split_again(bounds, old, RANKS, seconds);
        assert_int_equal(bounds[0], 0);
        assert_int_equal(bounds[RANKS], ROWS);
        for (int r = 0; r < RANKS; ++r) assert_true(bounds[r] <= bounds[r + 1]);
    }
    assert_true(imbalance < 1.1);
}

static const char *const states[] = {"alone.state", "together.state"};

/* Removes the two state files that the tests compare. */
static int remove_states(void **state) {
    (void)state;
    int failures = 0;
    for (size_t i = 0; i < sizeof states / sizeof *states; ++i) failures += unlink(states[i]) != 0;
    return failures;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row_scheduling),
        cmocka_unit_test(test_splitting),
        cmocka_unit_test(test_every_integrator),
        cmocka_unit_test(test_photon_forms),
        cmocka_unit_test(test_crop_and_target),
        cmocka_unit_test(test_distributed_photons),
        cmocka_unit_test(test_distributed_photons_refused),
        cmocka_unit_test(test_automatic_map_distribution),
        cmocka_unit_test(test_device_assignment),
        cmocka_unit_test(test_resumed_by_other_ranks),
        cmocka_unit_test(test_failing_rank_ends_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, remove_states);
}

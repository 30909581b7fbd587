/* A rendering split into several runs has the same bits as a whole one; states that do not match
   are rejected. */
#include "core/files/file.h"
#include "core/parallel/parallel.h"
#include "render/api/render.h"
#include "test.h"
#include <unistd.h>

static kd_render_options small_options(const char *name, int32_t size, int32_t passes) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, name);
    options.width = options.height = size;
    options.passes = passes;
    options.photons = 4000;
    return options;
}

static const char *const state_path = "test_progressive.state";

typedef struct run_result {
    uint64_t image, photons, rays;
    int32_t samples;
    kd_status status;
} run_result;

static run_result run(const kd_render_options *options, const render_keeping *keeping,
                      job_control *job) {
    scene *made = NULL;
    kd_render_options unused = *options;
    assert_int_equal(
        scene_open(&made, KD_TEST_SOURCE_DIR "/scenes/cornell_diffuse.json", &unused, NULL), KD_OK);
    render_result result;
    run_result end;
    memset(&end, 0, sizeof end);
    end.status = render_run_kept(&result, made, options, keeping, job);
    if (end.status == KD_OK || end.status == KD_INTERRUPTED) {
        end.image = result.image_hash;
        end.photons = result.frame.photon_hash;
        end.rays = result.frame.rays;
        end.samples = result.samples_done;
        render_close(&result);
    }
    scene_close(made);
    return end;
}

/* Renders while the camera moves sideways by `aside` during the shutter interval. */
static kd_status run_moving(const kd_render_options *options, const render_keeping *keeping,
                            float shift) {
    scene *made = NULL;
    kd_render_options unused = *options;
    assert_int_equal(
        scene_open(&made, KD_TEST_SOURCE_DIR "/scenes/cornell_diffuse.json", &unused, NULL), KD_OK);
    const camera begin = scene_camera(made);
    camera end = begin;
    end.eye.x += shift;
    scene_set_cameras(made, &begin, &end);
    render_result result;
    const kd_status status = render_run_kept(&result, made, options, keeping, NULL);
    if (status == KD_OK) render_close(&result);
    scene_close(made);
    return status;
}

/* Cancels a run after this many progress reports. */
typedef struct report_limit {
    job_control job;
    int reports_left;
} report_limit;

static void cancel_at_limit(void *context, const char *stage_name, int64_t done, int64_t total) {
    report_limit *limits = (report_limit *)context;
    (void)stage_name;
    (void)done;
    (void)total;
    if (--limits->reports_left <= 0) atomic_store(&limits->job.cancelled, true);
}

static void expect_resumed_is_whole(const char *name) {
    kd_render_options options = small_options(name, 40, 6);
    options.spp = 6;
    options.threads = 2;
    const run_result whole = run(&options, NULL, NULL);
    assert_int_equal(whole.status, KD_OK);
    unlink(state_path);
    render_keeping keeping = {.state = state_path};
    options.passes = options.spp = 2;
    assert_int_equal(run(&options, &keeping, NULL).status, KD_OK);
    keeping.resume = true;
    options.passes = options.spp = 6;
    options.threads = 1;
    run_result last = {0};
    for (int patience = 3; patience < 60;
         patience += 5) { /* interrupted at various moments, also within a pass */
        report_limit stops = {.reports_left = patience};
        job_init(&stops.job);
        stops.job.report = cancel_at_limit;
        stops.job.context = &stops;
        last = run(&options, &keeping, &stops.job);
        assert_true(last.status == KD_OK || last.status == KD_INTERRUPTED);
    }
    last = run(&options, &keeping, NULL);
    assert_int_equal(last.status, KD_OK);
    assert_int_equal(last.samples, 6);
    assert_true(last.image == whole.image && last.photons == whole.photons);
    assert_true(last.rays == whole.rays);
    unlink(state_path);
}

static void test_resumed_equals_uninterrupted(void **state) {
    (void)state;
    expect_resumed_is_whole("sppm");
    expect_resumed_is_whole("path");
    expect_resumed_is_whole("vcm");
    parallel_set_threads(0);
}

static void test_pauses_do_not_change_result(void **state) {
    (void)state;
    kd_render_options options = small_options("path", 48, 1);
    options.spp = 4;
    const run_result whole = run(&options, NULL, NULL);
    const render_keeping keeping = {.state = state_path, .every_seconds = 1e-4};
    const run_result paused = run(&options, &keeping, NULL);
    assert_true(paused.image == whole.image && paused.rays == whole.rays);
    unlink(state_path);
}

static kd_status count_saving(void *context, const render_result *so_far) {
    (void)so_far;
    ++*(int *)context;
    return KD_OK;
}

/* However often the state is saved, each save includes at least one new tile. */
static void test_failed_saves_do_not_stop_rendering(void **state) {
    (void)state;
    int savings = 0;
    kd_render_options options = small_options("path", 48, 1);
    options.spp = 4;
    options.threads = 2;
    const run_result whole = run(&options, NULL, NULL);
    const render_keeping keeping = {
        .every_seconds = 1e-12, .show = count_saving, .context = &savings};
    alarm(60); /* watchdog */
    const run_result saved = run(&options, &keeping, NULL);
    alarm(0);
    assert_true(saved.image == whole.image && saved.samples == 4);
    assert_true(savings >= 1 && savings <= 3 * 3 * 4 + 4);
    parallel_set_threads(0);
}

/* If time runs out while a later pass traces its photons, the result is that of the previous
   pass. */
static void test_no_time_for_photons(void **state) {
    (void)state;
    kd_render_options options = small_options("sppm", 24, 2);
    options.photons = 100000;
    render_keeping keeping = {.state = state_path};
    const run_result two = run(&options, &keeping, NULL);
    options.passes = 3;
    const run_result three = run(&options, NULL, NULL);
    keeping.resume = true;
    options.time_seconds = 1e-9;
    const run_result cut = run(&options, &keeping, NULL);
    assert_int_equal(cut.status, KD_OK);
    assert_true(cut.image == two.image && cut.samples == 2 && cut.photons == two.photons);
    options.time_seconds = 0;
    const run_result whole = run(&options, &keeping, NULL);
    assert_true(whole.image == three.image && whole.photons == three.photons);
    unlink(state_path);
}

static void write_bytes(const char *bytes, size_t count) {
    FILE *file = fopen(state_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

/* Any changed byte of a state is detected, and so is any changed option except the number of
   passes. */
static void test_invalid_states_are_rejected(void **state) {
    (void)state;
    kd_render_options options = small_options("sppm", 2, 1);
    options.photons = 100;
    render_keeping keeping = {.state = state_path};
    assert_int_equal(run(&options, &keeping, NULL).status, KD_OK);
    keeping.resume = true;
    file_view file;
    assert_int_equal(file_open(&file, state_path), KD_OK);
    const size_t count = file.count;
    char *bytes = (char *)calloc(count + 1, 1);
    memcpy(bytes, file.bytes, count);
    file_close(&file);
    unlink(state_path);
    for (size_t i = 0; i < count; i += i < 300 ? 3 : 37) {
        bytes[i] = (char)(bytes[i] ^ 0x10);
        write_bytes(bytes, count);
        assert_int_equal(run(&options, &keeping, NULL).status, KD_ERROR_INPUT);
        bytes[i] = (char)(bytes[i] ^ 0x10);
        write_bytes(bytes, i);
        assert_int_equal(run(&options, &keeping, NULL).status, KD_ERROR_INPUT);
    }
    write_bytes(bytes, count + 1);
    assert_int_equal(run(&options, &keeping, NULL).status, KD_ERROR_INPUT);
    write_bytes(bytes, count);
    options.seed = 1;
    assert_int_equal(run(&options, &keeping, NULL).status, KD_ERROR_INPUT);
    options.seed = 0;
    strcpy(options.kernel, "disc");
    assert_int_equal(run(&options, &keeping, NULL).status, KD_ERROR_INPUT);
    strcpy(options.kernel, "cone");
    options.passes = 2;
    assert_int_equal(run(&options, &keeping, NULL).status, KD_OK);
    unlink(state_path);
    free(bytes);
}

typedef struct other_option {
    const char *integrator;
    size_t offset, bytes;
    double value;
} other_option;

#define OTHER(method, field, to)                                                                   \
    { method, offsetof(kd_render_options, field), sizeof((kd_render_options *)0)->field, to }

static void set_other_option(kd_render_options *options, const other_option *other) {
    char *field = (char *)options + other->offset;
    const float real = (float)other->value;
    const int32_t whole = (int32_t)other->value;
    const uint64_t count = (uint64_t)other->value;
    const bool is_real = other->offset == offsetof(kd_render_options, radius) ||
                         other->offset == offsetof(kd_render_options, alpha) ||
                         other->offset == offsetof(kd_render_options, clamp);
    memcpy(field,
           is_real             ? (const void *)&real
           : other->bytes == 8 ? (const void *)&count
                               : &whole,
           other->bytes);
}

/* Changes each option that affects samples, between a state and its resumption, in both
   directions. */
static void test_state_depends_on_every_sample_option(void **state) {
    (void)state;
    static const other_option rows[] = {
        OTHER("path", clamp, 0.5),          OTHER("path", filter, 1),
        OTHER("path", max_depth, 5),        OTHER("path", seed, 9),
        OTHER("sppm", radius, 0.25),        OTHER("sppm", alpha, 0.5),
        OTHER("sppm", photons, 120),        OTHER("sppm", gather, 7),
        OTHER("sppm", batches, 2),          OTHER("sppm", max_depth, 5),
        OTHER("sppm", filter, 2),           OTHER("sppm", seed, 9),
        OTHER("sppm", caustic_photons, 60), OTHER("sppm", media_photons, 60)};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        for (int use_other = 0; use_other < 2; ++use_other) {
            kd_render_options options = small_options(rows[i].integrator, 2, 1);
            kd_render_options other = options;
            render_keeping keeping = {.state = state_path};
            options.photons = other.photons = 100;
            options.spp = other.spp = 1;
            set_other_option(&other, &rows[i]);
            unlink(state_path);
            assert_int_equal(run(use_other ? &other : &options, &keeping, NULL).status, KD_OK);
            keeping.resume = true;
            if (run(use_other ? &options : &other, &keeping, NULL).status != KD_ERROR_INPUT)
                fail_msg("row %zu: a state of other options is taken", i);
            assert_non_null(strstr(kd_last_error(), "other options"));
            assert_int_equal(run(use_other ? &other : &options, &keeping, NULL).status, KD_OK);
        }
    unlink(state_path);
}

/* A rendering cannot be resumed with another movement of the camera, or without its movement. */
static void test_state_depends_on_camera_animation(void **state) {
    (void)state;
    static const float moves[] = {0, 0.25f, 0.5f};
    for (int kept = 0; kept < 3; ++kept)
        for (int frame = 0; frame < 3; ++frame) {
            unlink(state_path);
            const kd_render_options options = small_options("path", 2, 1);
            render_keeping keeping = {.state = state_path};
            assert_int_equal(run_moving(&options, &keeping, moves[kept]), KD_OK);
            keeping.resume = true;
            assert_int_equal(run_moving(&options, &keeping, moves[frame]),
                             kept == frame ? KD_OK : KD_ERROR_INPUT);
        }
    unlink(state_path);
}

/* A target error ends a resumed rendering at the same sample as an uninterrupted one. */
static void test_target_error_ends_resumed_rendering_at_same_sample(void **state) {
    (void)state;
    kd_render_options options = small_options("path", 24, 1);
    options.spp = 1 << 20;
    options.target_error = 0.1;
    const render_keeping keeping = {.state = state_path};
    render_keeping resumed = keeping;
    resumed.resume = true;
    const run_result whole = run(&options, NULL, NULL);
    assert_int_equal(whole.status, KD_OK);
    assert_true(whole.samples >= 4 && whole.samples < 4096);
    options.spp = whole.samples / 2;
    unlink(state_path);
    assert_int_equal(run(&options, &keeping, NULL).samples, whole.samples / 2);
    options.spp = 1 << 20;
    const run_result end = run(&options, &resumed, NULL);
    assert_int_equal(end.samples, whole.samples);
    assert_true(end.image == whole.image);
    /* a smaller target continues from there; a larger one has already been reached */
    options.target_error = 0.2;
    assert_int_equal(run(&options, &resumed, NULL).samples, whole.samples);
    options.target_error = 0.05;
    assert_true(run(&options, &resumed, NULL).samples > 2 * whole.samples);
    unlink(state_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resumed_equals_uninterrupted),
        cmocka_unit_test(test_pauses_do_not_change_result),
        cmocka_unit_test(test_failed_saves_do_not_stop_rendering),
        cmocka_unit_test(test_no_time_for_photons),
        cmocka_unit_test(test_invalid_states_are_rejected),
        cmocka_unit_test(test_state_depends_on_every_sample_option),
        cmocka_unit_test(test_state_depends_on_camera_animation),
        cmocka_unit_test(test_target_error_ends_resumed_rendering_at_same_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

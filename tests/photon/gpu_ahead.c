/* Overlapped tasks on one device: running, failing, cancelling. The integrator `sppm` builds the
   maps of the next pass while it renders the current one: its pictures equal those without overlap,
   bit for bit, also if a rendering is interrupted and resumed. */
#include "core/device/async.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"

#include "tests/photon/device_matches_cpu.h"
#include "tests/scenes/files.h"
#include <stdatomic.h>

/* --- tasks ------------------------------------------------------------------------------------ */

enum { BYTES = 1 << 20 };

typedef struct async_request {
    void *memory; /* device memory */
    kd_status ends_with;
    atomic_bool waits, has_begun; /* waits: runs until it is cancelled */
    bool has_stream;
} async_request;

static kd_status run_request(void *context, job_control *job) {
    async_request *task = (async_request *)context;
    static uint8_t ones[BYTES];
    memset(ones, 1, sizeof ones);
    task->has_stream = device_thread_stream() != NULL;
    atomic_store(&task->has_begun, true);
    KD_TRY(device_copy(task->memory, ones, sizeof ones, device_thread_stream()));
    while (atomic_load(&task->waits) && !job_cancelled(job)) continue;
    if (task->ends_with != KD_OK) KD_FAIL(task->ends_with, "an errand of %d bytes failed", BYTES);
    return job_cancelled(job) ? KD_INTERRUPTED : KD_OK;
}

static void test_asynchronous_tasks(void **state) {
    (void)state;
    static uint8_t received[BYTES];
    async_request request = {.memory = NULL};
    async_task *task = NULL;
    assert_int_equal(device_memory_reserve(&request.memory, BYTES), KD_OK);
    assert_int_equal(async_begin(&task, run_request, &request), KD_OK);
    assert_int_equal(async_end(task, NULL), KD_OK);
    assert_true(request.has_stream && device_thread_stream() == NULL);
    assert_int_equal(device_memory_download(received, request.memory, BYTES), KD_OK);
    for (int i = 0; i < BYTES; ++i) assert_int_equal(received[i], 1);
    request.ends_with = KD_ERROR_INPUT;
    assert_int_equal(async_begin(&task, run_request, &request), KD_OK);
    assert_int_equal(async_end(task, NULL), KD_ERROR_INPUT);
    assert_string_equal(kd_last_error(), "an errand of 1048576 bytes failed");
    request.ends_with = KD_OK;
    atomic_store(&request.waits, true);
    job_control cancelled;
    job_init(&cancelled);
    atomic_store(&cancelled.cancelled, true);
    assert_int_equal(async_begin(&task, run_request, &request), KD_OK);
    assert_int_equal(async_end(task, &cancelled), KD_INTERRUPTED);
    assert_int_equal(async_begin(&task, run_request, &request), KD_OK);
    async_drop(task);
    assert_string_equal(kd_last_error(), "");
    assert_int_equal(async_end(NULL, NULL), KD_OK);
    async_drop(NULL);
    device_memory_free(request.memory);
}

/* A ball of glass in a room, which needs both photon maps. */
static const char *const room =
    "{\"kandela\": 1, \"camera\": {\"eye\": [0, 0, 2.8], \"look_at\": [0, -0.3, 0]}, "
    "\"materials\": {\"glass\": {\"kind\": \"glass\", \"ior\": 1.5}}, "
    "\"meshes\": [{\"box\": {\"lo\": [-2, -1, -2], \"hi\": [2, 2, 3]}, \"inward\": true}, "
    "{\"sphere\": {\"centre\": [0, -0.4, 0], \"radius\": 0.5, \"triangles\": 300}, "
    "\"material\": \"glass\"}], "
    "\"lights\": [{\"kind\": \"point\", \"position\": [0.5, 1.5, 0.5], \"power\": 90}]}";

static int room_make(void **state) {
    if (folder_make(state)) return 1;
    file_put_text("room.json", room);
    return 0;
}

/* --- pictures --------------------------------------------------------------------------------- */

typedef struct pass_limit {
    int left; /* number of "render" stages left before the interruption */
    job_control *job;
} pass_limit;

static void cancel_at_limit(void *context, const char *stage, int64_t done, int64_t total) {
    pass_limit *limits = (pass_limit *)context;
    (void)total;
    if (stage && strcmp(stage, "render") == 0 && done == 0 && --limits->left == 0)
        atomic_store(&limits->job->cancelled, true);
}

/* Renders `passes` passes, then interrupts; 0: never interrupts. */
static run_result run(const char *path, const kd_render_options *options, const char *kept,
                      bool resume, int passes) {
    job_control job;
    job_init(&job);
    pass_limit limits = {passes, &job};
    if (passes) job.report = cancel_at_limit, job.context = &limits;
    const render_keeping keeping = {.state = kept, .resume = resume};
    return run_on_device(path, options, "cuda:0", &keeping, &job);
}

static kd_render_options options_for(const char *method) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, method);
    options.width = (int32_t)gpu_size(320, 11);
    options.height = (int32_t)gpu_size(180, 7);
    options.spp = options.passes = 5;
    options.photons = gpu_size(50000, 600);
    options.final_gather = 0;
    if (gpu_is_emulated()) strcpy(options.builder, "sweep"); /* the CPU builds the tree faster */
    return options;
}

static void test_pictures_match_sequential(void **state) {
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s", file_in("room.json"));
    kd_render_options options = options_for("sppm");
    options.maps_ahead = 0;
    const run_result due = run(path, &options, NULL, false, 0);
    options.maps_ahead = 1;
    const run_result ahead = run(path, &options, NULL, false, 0);
    assert_int_equal(due.status, KD_OK);
    assert_int_equal(ahead.status, KD_OK);
    assert_int_equal(ahead.samples, 5);
    assert_true(due.image == ahead.image && due.frame.photon_hash == ahead.frame.photon_hash);
}

static void test_interruption(void **state) {
    (void)state;
    char path[512], kept[512];
    snprintf(path, sizeof path, "%s", file_in("room.json"));
    snprintf(kept, sizeof kept, "%s", file_in("ahead.state"));
    kd_render_options options = options_for("sppm");
    const run_result whole = run(path, &options, NULL, false, 0);
    const run_result begun = run(path, &options, kept, false, 3);
    assert_int_equal(whole.status, KD_OK);
    assert_int_equal(begun.status, KD_INTERRUPTED);
    assert_true(begun.samples > 0 && begun.samples < 5);
    const run_result ended = run(path, &options, kept, true, 0);
    assert_int_equal(ended.status, KD_OK);
    assert_true(ended.image == whole.image && ended.frame.photon_hash == whole.frame.photon_hash);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asynchronous_tasks),
        cmocka_unit_test(test_pictures_match_sequential),
        cmocka_unit_test(test_interruption),
    };
    return cmocka_run_group_tests(tests, room_make, folder_remove);
}

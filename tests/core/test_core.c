/* core/: status and messages, memory, parallel loops, output files, paths, devices, hashes. */
#include "core/device/device.h"
#include "core/files/file.h"
#include "core/hash.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "tests/test.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static kd_status fails_below(int depth) {
    KD_REQUIRE(depth < 3, KD_ERROR_INPUT, "depth %d, expected less than 3", depth);
    KD_TRY(fails_below(depth + 1));
    return KD_OK;
}

static void test_error_has_message_and_path(void **state) {
    (void)state;
    assert_int_equal(fails_below(0), KD_ERROR_INPUT);
    assert_string_equal(kd_last_error(), "depth 3, expected less than 3");
    int lines = 0;
    for (const char *c = kd_last_error_trace(); *c; ++c) lines += *c == '\n';
    assert_int_equal(lines, 4); /* the location of the failure and three callers */
    status_clear();
    assert_string_equal(kd_last_error(), "");
    status_fail(KD_ERROR_INPUT, __FILE__, __LINE__, "%s", "a\033[2J\177\xc2\x9b \xc3\xa9\t1\n2");
    assert_string_equal(kd_last_error(), "a?[2J??? \xc3\xa9\t1\n2"); /* no terminal obeys it */
    status_clear();
}

static void test_oversized_allocation_fails(void **state) {
    (void)state;
    double *numbers = NULL;
    assert_int_equal(KD_RESERVE(numbers, UINT64_MAX / 4), KD_ERROR_MEMORY);
    assert_null(numbers);
    assert_int_equal(KD_RESERVE(numbers, 0), KD_OK);
    assert_int_equal((uintptr_t)numbers % 64, 0);
    memory_free(numbers);
}

static void count_visits(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    uint8_t *visits = (uint8_t *)context;
    for (int64_t i = begin; i < end; ++i) ++visits[i];
}

static void test_loops_visit_each_item_once(void **state) {
    (void)state;
    uint8_t visits[1000];
    for (int threads = 1; threads <= 8; threads *= 2)
        for (int64_t grain = 1; grain <= 2000; grain *= 7) {
            memset(visits, 0, sizeof visits);
            parallel_set_threads(threads);
            parallel_for(1000, grain, count_visits, visits);
            for (int i = 0; i < 1000; ++i) assert_int_equal(visits[i], 1);
        }
    parallel_set_threads(0);
}

static void test_output_is_atomic(void **state) {
    (void)state;
    char folder[] = "/tmp/kandela-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64];
    snprintf(path, sizeof path, "%s/out", folder);
    file_output output;
    assert_int_equal(file_output_open(&output, path), KD_OK);
    fputs("half", output.stream);
    file_output_discard(&output);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(file_output_open(&output, path), KD_OK);
    fputs("whole", output.stream);
    assert_int_equal(file_output_commit(&output), KD_OK);
    file_view view;
    assert_int_equal(file_open(&view, path), KD_OK);
    assert_int_equal(view.count, 5);
    assert_memory_equal(view.bytes, "whole", 5);
    file_close(&view);
    unlink(path);
    assert_int_equal(file_open(&view, path), KD_ERROR_INPUT);
    assert_int_equal(file_open(&view, folder), KD_ERROR_INPUT);
    rmdir(folder);
}

/* Output to special files: a device is written to and stays a device; through a symbolic link the
   target is replaced. */
static void test_special_files_are_preserved(void **state) {
    (void)state;
    char folder[] = "/tmp/kandela-test-XXXXXX", path[64], name[64], bytes[8] = "";
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    file_view view;
    /* returns at once, although the pipe has no writer */
    assert_int_equal(file_open(&view, path), KD_ERROR_INPUT);
    const int reader = open(path, O_RDONLY | O_NONBLOCK);
    file_output output;
    assert_int_equal(file_output_open(&output, path), KD_OK);
    fputs("whole", output.stream);
    assert_int_equal(file_output_commit(&output), KD_OK);
    assert_int_equal(read(reader, bytes, sizeof bytes), 5);
    assert_string_equal(bytes, "whole");
    close(reader);
    unlink(path);
    snprintf(name, sizeof name, "%s/target", folder);
    assert_int_equal(file_output_open(&output, name), KD_OK);
    assert_int_equal(file_output_commit(&output), KD_OK);
    assert_int_equal(symlink(name, path), 0);
    assert_int_equal(file_output_open(&output, path), KD_OK);
    fputs("whole", output.stream);
    assert_int_equal(file_output_commit(&output), KD_OK);
    assert_true(readlink(path, bytes, sizeof bytes) > 0); /* still a link */
    assert_int_equal(file_open(&view, name), KD_OK);
    assert_int_equal(view.count, 5);
    file_close(&view);
    unlink(path);
    unlink(name);
    rmdir(folder);
}

enum { WRITERS = 4, SAVES = 5, WRITTEN = 5000 };

static void *save_often(void *path) {
    for (int i = 0; i < SAVES; ++i) {
        file_output output;
        if (file_output_open(&output, (const char *)path) != KD_OK) return path;
        const char letter = (char)('a' + i);
        for (int k = 0; k < WRITTEN; ++k) fputc(letter, output.stream);
        if (file_output_commit(&output) != KD_OK) return path;
    }
    return NULL;
}

/* Threads that save to the same name: the file is complete, from one of the writers, and no
   temporary file remains. */
static void test_concurrent_writers_of_one_file(void **state) {
    (void)state;
    char folder[] = "/tmp/kandela-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out", folder);
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, save_often, path), 0);
    for (int i = 0; i < WRITERS; ++i) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    file_view view;
    assert_int_equal(file_open(&view, path), KD_OK);
    assert_int_equal(view.count, WRITTEN);
    for (size_t i = 1; i < view.count; ++i) assert_int_equal(view.bytes[i], view.bytes[0]);
    file_close(&view);
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* the directory is empty */
}

static void test_path_join(void **state) {
    (void)state;
    char *joined = file_path_beside("models/a.obj", "tex\\b.png");
    assert_string_equal(joined, "models/tex/b.png");
    memory_free(joined);
    joined = file_path_beside("a.obj", "/abs/c.png");
    assert_string_equal(joined, "/abs/c.png");
    memory_free(joined);
    assert_string_equal(file_suffix("x.y/z"), "");
    assert_string_equal(file_suffix("x.y/z.obj"), ".obj");
}

static void test_stage_times_are_accumulated(void **state) {
    (void)state;
    job_control job;
    job_init(&job);
    job_stage_begin(&job, "load", 10);
    job_advance(&job, 10);
    job_stage_begin(&job, "build", 1);
    job_stage_end(&job);
    job_stage_begin(&job, "load", 1);
    job_stage_end(&job);
    assert_int_equal(job.stage_count, 2);
    assert_true(job_seconds(&job, "load") >= 0);
    assert_false(job_cancelled(&job));
    atomic_store(&job.cancelled, true);
    assert_true(job_cancelled(&job));
    assert_false(job_cancelled(NULL));
}

static void test_missing_device_is_an_error(void **state) {
    (void)state;
    device device;
    assert_int_equal(device_find(&device, "cpu"), KD_OK);
    assert_int_equal(device.kind, DEVICE_CPU);
    assert_int_equal(device_find(&device, "auto"), KD_OK);
    assert_true(device.kind == DEVICE_CPU || device_cuda_count() > 0);
    assert_int_equal(device_find(&device, "cuda:99"), KD_ERROR_DEVICE);
    assert_int_equal(device_find(&device, "cuda:x"), KD_ERROR_DEVICE);
    assert_int_equal(device_find(&device, "abacus"), KD_ERROR_DEVICE);
}

/* Binary code runs on devices of the same major version and the same or a later minor one, PTX on
   all later devices. */
static void test_device_code_compatibility(void **state) {
    (void)state;
    const char *all = "75 80 86 89 90 100 120 90+", *one = "90 90+";
    const int capabilities[] = {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121, 130};
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; ++i) {
        assert_null(device_code_lacks(all, capabilities[i]));
        assert_int_equal(!device_code_lacks(one, capabilities[i]), capabilities[i] >= 90);
        assert_null(device_code_lacks("75+", capabilities[i]));
        /* the list of code is unknown, so CUDA has to report the error */
        assert_null(device_code_lacks("", capabilities[i]));
    }
    assert_null(device_code_lacks("80", 86));
    assert_non_null(strstr(device_code_lacks("86", 80), "KD_CUDA_ARCHITECTURES"));
    assert_non_null(strstr(device_code_lacks("75 90 90+", 86), "KD_CUDA_ARCHITECTURES"));
    assert_non_null(strstr(device_code_lacks("70 75+", 70), "7.5 or later"));
}

static void test_card_detection_without_cuda(void **state) {
    (void)state;
    assert_false(device_card_exists("no-such-folder"));
    assert_int_equal(system("mkdir -p pretended/dev && : >pretended/dev/nvidia0"), 0);
    assert_true(device_card_exists("pretended"));
    assert_int_equal(system("rm -r pretended"), 0);
}

static void take_three(const void *context, uint64_t i, void *out) {
    memcpy(out, (const char *)context + 3 * i, 3);
}

static void test_hashes_differ(void **state) {
    (void)state;
    assert_true(hash_bytes("ab", 2) != hash_bytes("ba", 2));
    const char letters[] =
        "the bytes of many records of three bytes each are those of all in a row";
    const uint64_t count = sizeof letters / 3;
    assert_true(hash_combine_each(7, count, 3, take_three, letters) ==
                hash_combine(7, letters, 3 * count));
    assert_true(hash_combine(hash_bytes("a", 1), "b", 1) !=
                hash_combine(hash_bytes("b", 1), "a", 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_has_message_and_path),
        cmocka_unit_test(test_oversized_allocation_fails),
        cmocka_unit_test(test_loops_visit_each_item_once),
        cmocka_unit_test(test_output_is_atomic),
        cmocka_unit_test(test_special_files_are_preserved),
        cmocka_unit_test(test_concurrent_writers_of_one_file),
        cmocka_unit_test(test_path_join),
        cmocka_unit_test(test_stage_times_are_accumulated),
        cmocka_unit_test(test_missing_device_is_an_error),
        cmocka_unit_test(test_device_code_compatibility),
        cmocka_unit_test(test_card_detection_without_cuda),
        cmocka_unit_test(test_hashes_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

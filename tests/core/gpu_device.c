/* Device memory goes there and back; what does not fit is refused with the bytes. */
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "tests/gpu.h"

static void bytes_come_back(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    uint32_t *there = NULL;
    uint32_t *sent = (uint32_t *)malloc(COUNT * sizeof *sent);
    uint32_t *back = (uint32_t *)calloc(COUNT, sizeof *back);
    assert_non_null(sent);
    assert_non_null(back);
    for (uint32_t i = 0; i < COUNT; ++i) sent[i] = i * 2654435761u;
    assert_int_equal(device_memory_reserve((void **)&there, COUNT * sizeof *sent), KD_OK);
    assert_true(device_memory_owns(there));
    assert_false(device_memory_owns(sent));
    assert_int_equal(device_memory_upload(there, sent, COUNT * sizeof *sent), KD_OK);
    assert_int_equal(device_memory_download(back, there, COUNT * sizeof *sent), KD_OK);
    assert_memory_equal(sent, back, COUNT * sizeof *sent);
    assert_int_equal(device_wait(), KD_OK);
    device_memory_free(there);
    free(sent);
    free(back);
}

static void too_much_is_refused(void **state) {
    (void)state;
    void *there = NULL;
    assert_int_equal(device_memory_reserve(&there, UINT64_C(1) << 50), KD_ERROR_MEMORY);
    assert_non_null(strstr(kd_last_error(), "1125899906842624 bytes were needed"));
    assert_null(there);
    assert_int_equal(device_memory_reserve(&there, 1024), KD_OK); /* the device is still well */
    device_memory_free(there);
}

/* The pool keeps what a call frees; other memory still gets it when there is no more. */
static void what_the_pool_keeps_is_not_lost(void **state) {
    (void)state;
    uint64_t before = 0, kept = 0, after = 0;
    void *pooled = NULL, *other = NULL;
    assert_int_equal(device_pool_trim(), KD_OK);
    assert_int_equal(device_memory_free_bytes(&before), KD_OK);
    const uint64_t most = before / 4 * 3;
    assert_int_equal(device_pool_reserve(&pooled, most, NULL), KD_OK);
    device_pool_release(pooled, NULL);
    assert_int_equal(device_stream_wait(NULL), KD_OK);
    assert_int_equal(device_memory_free_bytes(&kept), KD_OK);
    assert_true(kept <= before - most + before / 16);
    assert_int_equal(device_memory_reserve(&other, most), KD_OK);
    device_memory_free(other);
    assert_int_equal(device_pool_trim(), KD_OK);
    assert_int_equal(device_memory_free_bytes(&after), KD_OK);
    assert_true(after >= before - before / 16);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_back),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(what_the_pool_keeps_is_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

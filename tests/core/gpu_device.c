/* Transfers to device memory and back; allocations that do not fit fail with the number of
   bytes. */
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "tests/gpu.h"

static void test_upload_download_round_trip(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    uint32_t *device_data = NULL;
    uint32_t *sent = (uint32_t *)malloc(COUNT * sizeof *sent);
    uint32_t *back = (uint32_t *)calloc(COUNT, sizeof *back);
    assert_non_null(sent);
    assert_non_null(back);
    for (uint32_t i = 0; i < COUNT; ++i) sent[i] = i * 2654435761u;
    assert_int_equal(device_memory_reserve((void **)&device_data, COUNT * sizeof *sent), KD_OK);
    assert_true(device_memory_owns(device_data));
    assert_false(device_memory_owns(sent));
    assert_int_equal(device_memory_upload(device_data, sent, COUNT * sizeof *sent), KD_OK);
    assert_int_equal(device_memory_download(back, device_data, COUNT * sizeof *sent), KD_OK);
    assert_memory_equal(sent, back, COUNT * sizeof *sent);
    assert_int_equal(device_wait(), KD_OK);
    device_memory_free(device_data);
    free(sent);
    free(back);
}

/* Transfers of sizes around those of chunks and of the ring buffer, with unaligned addresses. */
static void cross_all_sizes(void) {
    static const uint64_t sizes[] = {1,        524287,   524289,   8388607,  8388608, 8388609,
                                     33554431, 33554432, 33554433, 41943049, 70000001};
    enum { LIMIT = 70000001, BEFORE = 3, AFTER = 8 };
    uint8_t *sent = (uint8_t *)malloc(LIMIT + BEFORE), *back = (uint8_t *)malloc(LIMIT + AFTER);
    uint8_t *device_data = NULL;
    assert_non_null(sent);
    assert_non_null(back);
    for (uint64_t i = 0; i < LIMIT + BEFORE; ++i)
        sent[i] = (uint8_t)(((uint32_t)i * 2654435761u) >> 24);
    assert_int_equal(device_memory_reserve((void **)&device_data, LIMIT), KD_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        if (gpu_is_emulated() && i % 3 == 0) continue;
        const uint64_t count = sizes[i];
        memset(back, 0xa5, LIMIT + AFTER);
        assert_int_equal(device_memory_clear(device_data, LIMIT), KD_OK);
        assert_int_equal(device_cross(device_data, sent + BEFORE, count, NULL), KD_OK);
        assert_int_equal(device_cross(back, device_data, count, NULL), KD_OK);
        assert_memory_equal(back, sent + BEFORE, count);
        for (int k = 0; k < AFTER; ++k) assert_int_equal(back[count + (uint64_t)k], 0xa5);
    }
    assert_false(device_crosses(device_data, sent, 1000)); /* too small */
    assert_false(device_crosses(sent, back, LIMIT));       /* host to host */
    const bool has_ring = !getenv("KANDELA_EMULATED_PINNED");
    assert_true(device_crosses(device_data, sent, LIMIT) == has_ring);
    assert_true(device_crosses(back, device_data, LIMIT) == has_ring);
    device_memory_free(device_data);
    free(sent);
    free(back);
}

/* On an emulated device that can pin at most 1 MB at once. Must run before the process has
   allocated its ring buffer. */
static void test_large_copy_without_pinned_memory(void **state) {
    (void)state;
    if (!gpu_is_emulated()) skip();
    assert_int_equal(setenv("KANDELA_EMULATED_PINNED", "1048576", 1), 0);
    cross_all_sizes();
    assert_int_equal(unsetenv("KANDELA_EMULATED_PINNED"), 0);
}

static void test_large_copy_in_chunks(void **state) {
    (void)state;
    cross_all_sizes();
}

static void test_excessive_allocation_is_rejected(void **state) {
    (void)state;
    void *device_data = NULL;
    assert_int_equal(device_memory_reserve(&device_data, UINT64_C(1) << 50), KD_ERROR_MEMORY);
    assert_non_null(strstr(kd_last_error(), "1125899906842624 bytes were needed"));
    assert_null(device_data);
    assert_int_equal(device_memory_reserve(&device_data, 1024), KD_OK); /* the device still works */
    device_memory_free(device_data);
}

/* The pool keeps freed memory, but releases it if another allocation would otherwise fail. */
static void test_pooled_memory_is_reclaimed(void **state) {
    (void)state;
    uint64_t before = 0, kept = 0, after = 0;
    void *pooled = NULL, *other = NULL;
    assert_int_equal(device_pool_trim(), KD_OK);
    assert_int_equal(device_memory_free_bytes(&before), KD_OK);
    const uint64_t maximum = before / 4 * 3;
    assert_int_equal(device_pool_reserve(&pooled, maximum, NULL), KD_OK);
    device_pool_release(pooled, NULL);
    assert_int_equal(device_stream_wait(NULL), KD_OK);
    assert_int_equal(device_memory_free_bytes(&kept), KD_OK);
    assert_true(kept <= before - maximum + before / 16);
    assert_int_equal(device_memory_reserve(&other, maximum), KD_OK);
    device_memory_free(other);
    assert_int_equal(device_pool_trim(), KD_OK);
    assert_int_equal(device_memory_free_bytes(&after), KD_OK);
    assert_true(after >= before - before / 16);
}

/* KANDELA_DEVICE_MEMORY limits reserved memory and that of the pool together. */
static void test_limit_of_device_memory(void **state) {
    (void)state;
    enum { MEGABYTE = 1 << 20 };
    void *first = NULL, *pooled = NULL, *other = NULL;
    uint64_t available = 0;
    assert_int_equal(device_memory_reserve(&first, MEGABYTE), KD_OK);
    assert_int_equal(setenv("KANDELA_DEVICE_MEMORY", "3M", 1), 0);
    assert_int_equal(device_memory_free_bytes(&available), KD_OK);
    assert_int_equal(available, 2 * MEGABYTE);
    assert_int_equal(device_memory_reserve(&other, 2 * MEGABYTE + 1), KD_ERROR_MEMORY);
    assert_non_null(strstr(kd_last_error(), "2097153 bytes were needed, 2097152 are free"));
    assert_int_equal(device_pool_reserve(&pooled, MEGABYTE, NULL), KD_OK);
    assert_int_equal(device_pool_reserve(&other, MEGABYTE + 1, NULL), KD_ERROR_MEMORY);
    assert_int_equal(device_memory_reserve(&other, MEGABYTE), KD_OK);
    device_pool_release(pooled, NULL);
    device_memory_free(first);
    assert_int_equal(device_memory_free_bytes(&available), KD_OK);
    assert_int_equal(available, 2 * MEGABYTE);
    assert_int_equal(setenv("KANDELA_DEVICE_MEMORY", "some", 1), 0);
    assert_int_equal(device_memory_reserve(&first, 1), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "KANDELA_DEVICE_MEMORY=some"));
    assert_int_equal(unsetenv("KANDELA_DEVICE_MEMORY"), 0);
    device_memory_free(other);
    assert_true(device_memory_peak_bytes() >= 3 * MEGABYTE);
}

int main(void) {
    if (gpu_is_missing()) return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_upload_download_round_trip),
        cmocka_unit_test(test_large_copy_without_pinned_memory),
        cmocka_unit_test(test_large_copy_in_chunks),
        cmocka_unit_test(test_excessive_allocation_is_rejected),
        cmocka_unit_test(test_pooled_memory_is_reclaimed),
        cmocka_unit_test(test_limit_of_device_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

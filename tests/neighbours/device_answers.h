/* The k nearest neighbours computed on a device, copied to the host, for tests that compare two
   query methods. */
#ifndef KD_TESTS_NEIGHBOURS_DEVICE_ANSWERS_H
#define KD_TESTS_NEIGHBOURS_DEVICE_ANSWERS_H
#include "core/device/device_memory.h"
#include "points/neighbours/request.h"
#include "tests/test.h"

/* Allocates device memory; copies from `host` unless it is NULL. */
static inline void *to_device(const void *host, uint64_t bytes) {
    void *pointer = NULL;
    assert_int_equal(device_memory_reserve(&pointer, bytes + 1), KD_OK);
    if (host) assert_int_equal(device_memory_upload(pointer, host, bytes), KD_OK);
    return pointer;
}

typedef struct device_answers {
    uint32_t *ids, *counts;
    float *dist2;
} device_answers;

/* Runs `count` queries, or a self-query of the tree if `self_query` is given. Free the result with
   answers_free. */
static inline device_answers answers_of(point_query_cuda *q, const point_self_query *self_query,
                                        uint64_t count) {
    const uint64_t rows = count * q->k * sizeof(uint32_t);
    device_answers a = {(uint32_t *)malloc(rows), (uint32_t *)malloc(count * sizeof(uint32_t)),
                        (float *)malloc(rows)};
    assert_true(a.ids && a.counts && a.dist2);
    q->ids = (uint32_t *)to_device(NULL, rows);
    q->dist2 = to_device(NULL, rows);
    q->counts = (uint32_t *)to_device(NULL, count * sizeof(uint32_t));
    assert_int_equal(self_query ? point_self_cuda_scratch_bytes(&q->scratch_bytes, q, self_query)
                                : point_query_cuda_scratch_bytes(&q->scratch_bytes, q),
                     KD_OK);
    q->scratch = to_device(NULL, q->scratch_bytes);
    assert_int_equal(
        self_query ? point_self_cuda_nearest(q, self_query) : point_query_cuda_nearest(q), KD_OK);
    assert_int_equal(device_memory_download(a.ids, q->ids, rows), KD_OK);
    assert_int_equal(device_memory_download(a.dist2, q->dist2, rows), KD_OK);
    assert_int_equal(device_memory_download(a.counts, q->counts, count * sizeof(uint32_t)), KD_OK);
    device_memory_free(q->ids);
    device_memory_free(q->dist2);
    device_memory_free(q->counts);
    device_memory_free(q->scratch);
    return a;
}

static inline void answers_free(device_answers *a) {
    free(a->ids);
    free(a->counts);
    free(a->dist2);
}

#endif

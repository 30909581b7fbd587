/* A build without CUDA: every call says so. */
#include "points/neighbours/request.h"

#ifndef KD_HAVE_CUDA
static kd_status absent(void) {
    KD_FAIL(KD_ERROR_DEVICE, "no CUDA in this build");
}

kd_status point_index_cuda_bytes(size_t *bytes, const point_build_cuda *arguments) {
    (void)arguments;
    *bytes = 0;
    return absent();
}

kd_status point_index_cuda_open(point_index_cuda *out, const point_build_cuda *arguments,
                                void *memory, size_t bytes) {
    (void)out;
    (void)arguments;
    (void)memory;
    (void)bytes;
    return absent();
}

kd_status point_query_cuda_scratch_bytes(size_t *bytes, const point_query_cuda *query) {
    (void)query;
    *bytes = 0;
    return absent();
}

kd_status point_query_cuda_nearest(const point_query_cuda *query) {
    (void)query;
    return absent();
}

kd_status point_query_cuda_count_within(const point_query_cuda *query, uint64_t *offsets) {
    (void)query;
    (void)offsets;
    return absent();
}

kd_status point_query_cuda_within(const point_query_cuda *query, const uint64_t *offsets) {
    (void)query;
    (void)offsets;
    return absent();
}
#endif

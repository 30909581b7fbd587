/* The build without CUDA: there is no tree on a device. */
#include "accel/packed/packed_device.h"
#include "accel/rays/batch_device.h"
#include "accel/rays/counted.h"
#include "accel/tree/input.h"
#ifndef KD_HAVE_CUDA

static kd_status no_cuda(void) {
    return status_fail(KD_ERROR_DEVICE, __FILE__, __LINE__, "this build has no CUDA");
}

kd_status packed_device_open(void **units, uint64_t *bytes, const tritree_view *tree,
                             void *stream) {
    (void)tree, (void)stream;
    *units = NULL;
    *bytes = 0;
    return no_cuda();
}

kd_status tritree_cuda_open(tritree_cuda *out, const tritree *tree) {
    (void)tree;
    memset(out, 0, sizeof *out);
    return no_cuda();
}

kd_status tritree_cuda_open_view(tritree_cuda *out, const tritree_view *view,
                                 uint32_t position_count, void *stream) {
    (void)view, (void)position_count, (void)stream;
    memset(out, 0, sizeof *out);
    return no_cuda();
}

kd_status tritree_cuda_pack(tritree_cuda *tree, void *stream) {
    (void)tree, (void)stream;
    return no_cuda();
}

uint64_t tritree_cuda_bytes(uint32_t nodes, uint32_t references, uint32_t triangles,
                            uint32_t positions) {
    (void)nodes, (void)references, (void)triangles, (void)positions;
    return 0;
}

void tritree_cuda_close(tritree_cuda *owned) {
    (void)owned;
}

kd_status trace_cuda(const tritree_cuda *tree, const trace_batch *batch) {
    (void)tree, (void)batch;
    return no_cuda();
}

kd_status trace_counted_cuda(const tritree_cuda *tree, const trace_counted *rays) {
    (void)tree, (void)rays;
    return no_cuda();
}

kd_status triangles_device_pack(vec3 *positions, const void *vertices, uint64_t count,
                                uint64_t stride, void *stream) {
    (void)positions, (void)vertices, (void)count, (void)stride, (void)stream;
    return no_cuda();
}

kd_status triangles_device_number(uint32_t *indices, uint64_t count, void *stream) {
    (void)indices, (void)count, (void)stream;
    return no_cuda();
}

kd_status triangles_device_check(const tritree_input *input, void *stream) {
    (void)input, (void)stream;
    return no_cuda();
}
#endif

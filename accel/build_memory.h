/* The memory of one build on a CUDA device, and the tree out of it. */
#ifndef KD_ACCEL_BUILD_MEMORY_H
#define KD_ACCEL_BUILD_MEMORY_H
#include "accel/tree/build_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Device memory for one build: plans, reserves all of it, uploads and checks the input. */
typedef struct tritree_build_memory {
    tritree_build_cuda build;
    void *memory;
    uint64_t bytes;
} tritree_build_memory;

/* Its bytes. */
uint64_t tritree_build_memory_bytes(const tritree_builder_cuda *builder, uint32_t positions,
                                    uint32_t triangles);
kd_status tritree_build_memory_open(tritree_build_memory *out, const tritree_input *input,
                                    const tritree_options *options,
                                    const tritree_builder_cuda *builder);
/* The same, then builds and waits; with twice the room as long as that was not enough. */
kd_status tritree_build_memory_build(tritree_build_memory *out, tritree_built *built,
                                     const tritree_input *input, const tritree_options *options,
                                     const tritree_builder_cuda *builder);
void tritree_build_memory_close(tritree_build_memory *owned); /* takes a zeroed one */
/* KD_ERROR_MEMORY if room was exhausted, with the bytes needed where they are known. */
kd_status tritree_build_check(const tritree_build_cuda *build, const tritree_built *built);
/* Waits; then the same. */
kd_status tritree_build_result(const tritree_build_memory *from, tritree_built *out);
/* The tree built, on the host, statistics included; `input` is the host's. */
kd_status tritree_build_download(const tritree_build_memory *from, tritree *out,
                                 const tritree_input *input);

#ifdef __cplusplus
}
#endif
#endif

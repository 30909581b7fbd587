/* The memory of one build on a CUDA device, the tree out of it, and which builder makes it. */
#ifndef KD_ACCEL_BUILD_MEMORY_H
#define KD_ACCEL_BUILD_MEMORY_H
#include "accel/tree/build.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Device memory for one build: plans, reserves all of it, uploads and checks the input. */
typedef struct tritree_build_memory {
    tritree_build_cuda build;
    void *memory;
    uint64_t bytes;
    bool pooled; /* of the device's pool, without the input, which is the caller's */
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
/* The same of a mesh in memory of the current device, which stays the caller's; memory of the
   device's pool, in the stream's order. Waits for the stream. */
kd_status tritree_build_memory_build_there(tritree_build_memory *out, tritree_built *built,
                                           const tritree_input *input,
                                           const tritree_options *options,
                                           const tritree_builder_cuda *builder, void *stream);
void tritree_build_memory_close(tritree_build_memory *owned); /* takes a zeroed one */
/* KD_ERROR_MEMORY if room was exhausted, with the bytes needed where they are known. */
kd_status tritree_build_check(const tritree_build_cuda *build, const tritree_built *built);
/* Waits; then the same. */
kd_status tritree_build_result(const tritree_build_memory *from, tritree_built *out);
/* The tree built, on the host, statistics included; `input` is the host's. */
kd_status tritree_build_download(const tritree_build_memory *from, tritree *out,
                                 const tritree_input *input);

/* One attempt to have a tree on the current device: by one of the device's builders or, NULL, by a
   builder on the CPU, whose tree is brought there. After a failure it leaves nothing behind. */
typedef kd_status (*tritree_attempt)(void *context, const tritree_builder_cuda *row);

/* By the builder named; for "auto" the device's builders in the order of their table (builders.h
   says why that one) and then the CPU: what would not fit into the device's free memory, or is not
   made for so many triangles, is left out, and where memory does not suffice after all, which is
   logged, the next one follows. */
kd_status tritree_build_by_turns(const char *builder, uint64_t positions, uint64_t triangles,
                                 tritree_attempt attempt, void *context);

#ifdef __cplusplus
}
#endif
#endif

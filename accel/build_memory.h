/* Memory of a build on a CUDA device, download of the tree, and the choice of the builder. */
#ifndef KD_ACCEL_BUILD_MEMORY_H
#define KD_ACCEL_BUILD_MEMORY_H
#include "accel/tree/build.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A build and its device memory. */
typedef struct tritree_build_memory {
    tritree_build_cuda build;
    void *memory, *scratch;
    uint64_t bytes;
    bool pooled; /* memory from the device's pool, without the input, which the caller owns */
} tritree_build_memory;

/* Returns the bytes of device memory that the build takes. */
uint64_t tritree_build_memory_bytes(const tritree_builder_cuda *builder, uint32_t positions,
                                    uint32_t triangles);
kd_status tritree_build_memory_open(tritree_build_memory *out, const tritree_input *input,
                                    const tritree_options *options,
                                    const tritree_builder_cuda *builder);
/* Opens a build as tritree_build_memory_open, builds the tree, synchronises, and frees all but the
   input and the tree. Retries with doubled capacities while they are too small. */
kd_status tritree_build_memory_build(tritree_build_memory *out, tritree_built *built,
                                     const tritree_input *input, const tritree_options *options,
                                     const tritree_builder_cuda *builder);
/* As tritree_build_memory_build, for a mesh in memory of the current device, which the caller owns.
   Allocates from the device's pool in the order of `stream` and synchronises that stream. */
kd_status tritree_build_memory_build_there(tritree_build_memory *out, tritree_built *built,
                                           const tritree_input *input,
                                           const tritree_options *options,
                                           const tritree_builder_cuda *builder, void *stream);
void tritree_build_memory_close(tritree_build_memory *owned); /* accepts a zeroed struct */
/* Returns KD_ERROR_MEMORY if a capacity was exceeded, with the bytes needed if they are known. */
kd_status tritree_build_check(const tritree_build_cuda *build, const tritree_built *built);
/* Synchronises the device, copies the result to *out and checks it with tritree_build_check. */
kd_status tritree_build_result(const tritree_build_memory *memory, tritree_built *out);
/* Copies the tree to the host, statistics included. `input` is in host memory. */
kd_status tritree_build_download(const tritree_build_memory *memory, tritree *out,
                                 const tritree_input *input);

/* Callback that attempts to build a tree on the current device: with a CUDA builder `row`, or, if
   `row` is NULL, with a CPU builder followed by an upload. Must release all of its memory on
   failure. */
typedef kd_status (*tritree_attempt)(void *context, const tritree_builder_cuda *row);

/* Builds with the named builder. For "auto", tries the CUDA builders in the order of their table
   (see builders.h), then the CPU. Skips a builder whose memory would not fit into the device's free
   memory, that would take more than an eighth of it for 8 million triangles or more while another
   builder follows, or that does not support so many triangles. If memory still does not suffice,
   logs that and continues with the next builder. */
kd_status tritree_build_by_turns(const char *builder, uint64_t positions, uint64_t triangles,
                                 tritree_attempt attempt, void *context);

#ifdef __cplusplus
}
#endif
#endif

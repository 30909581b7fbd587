/* Triangle tree builders on a CUDA device. Without CUDA in the build the table is empty and every
   call is KD_ERROR_DEVICE. */
#ifndef KD_ACCEL_TREE_BUILD_DEVICE_H
#define KD_ACCEL_TREE_BUILD_DEVICE_H
#include "accel/tree/tritree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a build says when it is done, in device memory. */
typedef struct tritree_built {
    box3 box; /* of all triangles that can be hit */
    uint32_t node_count, reference_count;
    uint32_t degenerate_count; /* triangles without area: in no leaf */
    uint32_t exhausted;        /* not 0: some room was too small, there is no tree; which: 1 clipped
                                  references, 2 nodes, 4 leaves' references, 8 work lists */
    uint64_t needed_bytes; /* of exhausted rooms: scratch and tree that would serve; 0: unknown */
} tritree_built;

/* What a builder is given and gives back. Pointers are memory of the current device; nothing is
   allocated and nothing is waited for. */
typedef struct tritree_build_cuda {
    tritree_input input; /* finite, indices in range: the caller has checked */
    tritree_options options;
    tritree_node *nodes; /* out: room for node_room */
    uint32_t *references;
    uint32_t node_room, reference_room;
    tritree_built *built;
    void *scratch;
    uint64_t scratch_bytes;
    void *stream; /* cudaStream_t */
    void **marks; /* NULL, or TRITREE_STAGES + 1 cudaEvent_t: recorded where a stage begins, by
                     builders that tell their stages apart */
} tritree_build_cuda;

typedef struct tritree_builder_cuda {
    const char *name, *source;
    /* Fills node_room, reference_room and scratch_bytes for the input's triangle count. */
    void (*plan)(tritree_build_cuda *build);
    kd_status (*build)(const tritree_build_cuda *build);
    bool stages; /* it records `marks` */
} tritree_builder_cuda;

extern const tritree_builder_cuda tritree_builders_cuda[];               /* ends with name NULL */
const tritree_builder_cuda *tritree_builder_cuda_find(const char *name); /* NULL: there is none */

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
void tritree_build_memory_close(tritree_build_memory *owned); /* takes a zeroed one */
/* KD_ERROR_MEMORY if room was exhausted, with the bytes needed where they are known. */
kd_status tritree_build_check(const tritree_build_cuda *build, const tritree_built *built);
/* Waits; then the same. */
kd_status tritree_build_result(const tritree_build_memory *from, tritree_built *out);
/* The tree built, on the host, statistics included; `input` is the host's. */
kd_status tritree_build_download(const tritree_build_memory *from, tritree *out,
                                 const tritree_input *input);

void build_kandela_sah_plan(tritree_build_cuda *build);
kd_status build_kandela_sah(const tritree_build_cuda *build);
void build_zhou_cuda_plan(tritree_build_cuda *build);
kd_status build_zhou_cuda(const tritree_build_cuda *build);

#ifdef __cplusplus
}
#endif
#endif

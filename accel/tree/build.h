/* What a builder on a CPU offers: its row, tritree_builder_NAME, ends its file; its NAME stands in
   the list of accel/builders.h. */
#ifndef KD_ACCEL_TREE_BUILD_H
#define KD_ACCEL_TREE_BUILD_H
#include "accel/tree/tritree.h"
#include "core/device/absent.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tritree_builder {
    const char *name;
    const char *source; /* paper */
    uint64_t (*scratch_bytes)(uint32_t triangle_count);
    uint32_t references; /* a triangle of a mesh: so many are planned for, and as many nodes */
    /* Fills nodes, references and their counts; box, input and options of `out` are set. */
    kd_status (*build)(tritree *out, const tritree_input *input, const tritree_options *options,
                       job *watched);
    /* What others have to know of it. */
    bool exact;     /* it makes the tree of `exact`, bit for bit */
    bool all_cores; /* it uses all of them, and makes the same tree on any number */
} tritree_builder;

/* Refuses what no builder could work with; finds the box of all triangles that can be hit. */
kd_status tritree_check_triangles(tritree *out);
/* Fills the statistics that follow from nodes, references and box. */
void tritree_take_stock(tritree *tree);

/* What a triangle tree builder on a CUDA device is given, gives back and offers: its row,
   tritree_builder_cuda_NAME, ends its file; its NAME stands in the list of accel/builders.h. */

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
    uint32_t doubled; /* how often rooms are doubled beyond what most meshes need */
    tritree_built *built;
    void *scratch;
    uint64_t scratch_bytes;
    void *stream; /* cudaStream_t */
    void **marks; /* NULL, or TRITREE_STAGES + 1 cudaEvent_t: recorded where a stage begins, by
                     builders that tell their stages apart */
} tritree_build_cuda;

enum { TRITREE_DOUBLED_MOST = 8, TRITREE_CUDA_TRIANGLES_MOST = 100000000 };

typedef struct tritree_builder_cuda {
    const char *name, *source;
    /* Fills node_room, reference_room and scratch_bytes for the input's triangle count and
       `doubled`. */
    void (*plan)(tritree_build_cuda *build);
    kd_status (*build)(const tritree_build_cuda *build);
    /* What others have to know of it. */
    bool stages; /* it records `marks` */
    double
        cost_most; /* the SAH cost of its trees, as a multiple of exact ones', that tests allow */
} tritree_builder_cuda;

/* A mesh on its way into a CUDA device. Without CUDA every call is KD_ERROR_DEVICE. */

/* positions[i] = the three floats at vertices + i * stride bytes; all in device memory. */
KD_DEVICE_CALL(triangles_device_pack, (vec3 * positions, const void *vertices, uint64_t count,
                                       uint64_t stride, void *stream));
/* indices[i] = i. */
KD_DEVICE_CALL(triangles_device_number, (uint32_t * indices, uint64_t count, void *stream));
/* As tritree_open refuses triangles: KD_ERROR_INPUT names the first one with an index out of range
   or a corner that is not finite. Waits for the answer. */
KD_DEVICE_CALL(triangles_device_check, (const tritree_input *input, void *stream));

#ifdef __cplusplus
}
#endif

#endif

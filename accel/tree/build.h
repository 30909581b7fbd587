/* The interface of triangle tree builders. A CPU builder's source file ends with its table entry,
   tritree_builder_NAME; NAME is listed in accel/builders.h. */
#ifndef KD_ACCEL_TREE_BUILD_H
#define KD_ACCEL_TREE_BUILD_H
#include "accel/tree/tritree.h"
#include "core/device/cuda_stubs.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tritree_builder {
    const char *name;
    const char *source; /* paper */
    uint64_t (*scratch_bytes)(uint32_t triangle_count);
    uint32_t references; /* expected references per triangle, and expected nodes per triangle */
    /* Fills nodes, references and their counts; box, input and options of `out` are already set. */
    kd_status (*build)(tritree *out, const tritree_input *input, const tritree_options *options,
                       job_control *job);
    /* Properties of the builder. */
    bool exact;     /* its tree equals that of `exact`, bit for bit */
    bool all_cores; /* multithreaded; the tree does not depend on the number of threads */
} tritree_builder;

/* Returns an error for triangles that no builder could handle; computes the box of all triangles
   that can be hit. */
kd_status tritree_check_triangles(tritree *out);
/* Fills the statistics that follow from nodes, references and box. */
void tritree_take_stock(tritree *tree);

/* CUDA builders. A builder's source file ends with its table entry, tritree_builder_cuda_NAME; NAME
   is listed in accel/builders.h. */

/* The result of a build, in device memory. */
typedef struct tritree_built {
    box3 box; /* bounds of all triangles that can be hit */
    uint32_t node_count, reference_count;
    uint32_t degenerate_count; /* triangles without area, which are in no leaf */
    /* non-zero: buffers were too small, and there is no tree; bit mask of these: 1 clipped
       references, 2 nodes, 4 references of leaves, 8 work lists */
    uint32_t exhausted;
    /* if exhausted: bytes of scratch and tree that would have sufficed; 0: unknown */
    uint64_t needed_bytes;
} tritree_built;

/* Input and output of a build. Pointers are memory of the current device. A builder neither
   allocates memory nor synchronises. */
typedef struct tritree_build_cuda {
    tritree_input input; /* finite, indices in range (checked by the caller) */
    tritree_options options;
    tritree_node *nodes; /* out: capacity node_capacity */
    uint32_t *references;
    uint32_t node_capacity, reference_capacity;
    uint32_t doubled; /* number of times to double the capacities that suffice for most meshes */
    /* triangles that a builder takes to their leaves at a time, if it can; 0: it chooses */
    uint32_t slab_triangles;
    tritree_built *built;
    void *scratch;
    uint64_t scratch_bytes;
    void *stream; /* cudaStream_t */
    /* NULL, or TRITREE_STAGES + 1 cudaEvent_t, which a builder with stages records at the beginning
       of each stage */
    void **marks;
} tritree_build_cuda;

enum {
    TRITREE_DOUBLED_MAX = 8,
    TRITREE_CUDA_TRIANGLES_MAX = 200000000, /* some 5 nodes each, and as many references */
    TRITREE_NODES_MAX = 1 << 30             /* limit of the node's word */
};

typedef struct tritree_builder_cuda {
    const char *name, *source;
    /* Sets node_capacity, reference_capacity and scratch_bytes for the input's triangle count and
       `doubled`. */
    void (*plan)(tritree_build_cuda *build);
    kd_status (*build)(const tritree_build_cuda *build);
    /* Properties of the builder. */
    bool stages;     /* records `marks` */
    double cost_max; /* maximum SAH cost that the tests allow, relative to exact trees */
} tritree_builder_cuda;

/* Preparing a mesh on a CUDA device. Without CUDA every call fails with KD_ERROR_DEVICE. */

/* positions[i] = the three floats at vertices + i * stride (bytes); all in device memory. */
KD_DEVICE_CALL(triangles_device_pack, (vec3 * positions, const void *vertices, uint64_t count,
                                       uint64_t stride, void *stream));
/* indices[i] = i. */
KD_DEVICE_CALL(triangles_device_number, (uint32_t * indices, uint64_t count, void *stream));
/* Makes the checks of tritree_open on the device: KD_ERROR_INPUT names the first triangle with an
   index out of range or a corner that is not finite. Synchronises the stream. */
KD_DEVICE_CALL(triangles_device_check, (const tritree_input *input, void *stream));

#ifdef __cplusplus
}
#endif

#endif

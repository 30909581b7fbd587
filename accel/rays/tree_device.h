/* A triangle tree in the memory of a CUDA device, with the additional arrays that GPU traversal
   uses. Without CUDA in the build every call fails with KD_ERROR_DEVICE. */
#ifndef KD_ACCEL_RAYS_TREE_DEVICE_H
#define KD_ACCEL_RAYS_TREE_DEVICE_H
#include "accel/tree/tritree.h"
#include "core/device/cuda_stubs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All pointers are memory of the device that was current when the tree was opened.
   Optimised kernels use these arrays besides the references:
     view.nodes      begins 8 bytes behind a multiple of 16, so that siblings share 16 bytes
     view.rows       for each triangle, the three corners: one row of four floats per axis
     view.compressed the compressed wide form, if it is built; batches of rays traverse it
                     (accel/wide/compressed_form.h)
   Rendering and photon emission get only the view and cast rays by
   accel/wide/compressed_single.cuh. A tree of COMPRESSED_MANY triangles has no rows, unless its
   compressed form could not be built; nodes and references are freed once it is. All rays then go
   through the compressed form. */
typedef struct tritree_cuda {
    tritree_view view;
    void *memory; /* the mesh, cursors for concurrent batches, and all that is not below */
    void *nodes;  /* of a large tree: nodes and references, until they are freed */
    void *rows;   /* of a large tree without a compressed form */
    uint64_t node_bytes;
    uint32_t *cursors;
    uint64_t bytes;            /* size of the tree and its compressed form */
    void *compressed;          /* view.compressed */
    uint64_t compressed_bytes; /* bytes of the compressed nodes */
    bool unpacked;    /* the compressed form could not be built (logged); rays traverse `nodes` */
    bool keeps_nodes; /* set by the owner: nodes and references are not freed */
} tritree_cuda;

/* Returns kd_triangles_info.form of the tree. */
static inline const char *tritree_cuda_form(const tritree_cuda *tree) {
    return !tree->compressed ? "nodes" : tree->view.indexed ? "indexed" : "packed";
}

enum { TRITREE_CUDA_CURSORS = 64, TRITREE_CUDA_CURSOR = 4 /* words per cursor */ };

/* Copies the tree to the current device and prepares it; the host's tree is no longer needed then.
   The message of KD_ERROR_MEMORY names the bytes needed and the bytes free. */
KD_DEVICE_CALL(tritree_cuda_open, (tritree_cuda * out, const tritree *tree));
/* The same from a view whose arrays are already in device memory; they are copied. */
KD_DEVICE_CALL(tritree_cuda_open_view, (tritree_cuda * out, const tritree_view *view,
                                        uint32_t position_count, void *stream));
/* Builds the tree's compressed form, unless it exists. If the tree has none (compressed_form.h) or
   memory does not suffice, a line is logged, `unpacked` is set, and rays traverse `nodes`. Memory
   and scratch: compressed_form.h. Synchronises the stream. On failure the tree is unchanged. */
KD_DEVICE_CALL(tritree_cuda_pack, (tritree_cuda * tree, void *stream));
/* Packs a tree without rows: before that, no ray can be cast. */
KD_DEVICE_CALL(tritree_cuda_settle, (tritree_cuda * tree, void *stream));
/* Gives a tree without nodes and references those of the same tree, in device memory; they are
   copied. Synchronises the stream. */
KD_DEVICE_CALL(tritree_cuda_restore, (tritree_cuda * tree, const tritree_view *view, void *stream));
/* For tests: the number of triangles from which trees have no rows. */
KD_DEVICE_ANSWER(void, tritree_cuda_lean_from, (uint64_t triangles), );
KD_DEVICE_ANSWER(void, tritree_cuda_close, (tritree_cuda * owned), ); /* accepts a zeroed tree */
/* Returns the device memory of a tree of this size, without its compressed form; 0 without CUDA. */
KD_DEVICE_ANSWER(uint64_t, tritree_cuda_bytes,
                 (uint32_t nodes, uint32_t references, uint32_t triangles, uint32_t positions), 0);

#ifdef __cplusplus
}
#endif
#endif

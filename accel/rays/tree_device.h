/* A triangle tree in a CUDA device's memory, in the forms that rays want there. Without CUDA in the
   build every call is KD_ERROR_DEVICE. */
#ifndef KD_ACCEL_RAYS_TREE_DEVICE_H
#define KD_ACCEL_RAYS_TREE_DEVICE_H
#include "accel/tree/tritree.h"
#include "core/device/absent.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every pointer is memory of the device that was current when the tree was opened.
   Fast kernels read other arrays instead of the layout's own:
     view.pairs      its nodes one place up, the root at 1, so that a pair of children starts at an
                     even index, is 16 bytes aligned and told apart by the lowest bit; a leaf's word
                     is its count << 2 | 3, its other half the first of its triangles; place 0 is
                     an empty leaf
     view.leaf_rows  for each reference, in the order of the leaves, the three corners: a row of
                     four floats an axis, the fourth the bits of the triangle's id
     view.packed     if packed: the tree once more, as batches of rays walk it
                     (accel/wide/packed_form.h)
   A leaf's triangles are copied (48 bytes a reference), so that a leaf is read in one go.
   What renders and what emits photons gets the view alone, and casts by accel/tree/walk.h.
 */
typedef struct tritree_cuda {
    tritree_view view;
    void *memory; /* the view's arrays but the packed form, and a counter for each batch of rays at
                     work */
    uint32_t *cursors;
    uint64_t bytes;        /* all of it, packed form too */
    void *packed;          /* view.packed */
    uint64_t packed_bytes; /* of the packed form */
    bool unpacked;         /* it could not be made, which was logged; rays walk the nodes */
} tritree_cuda;

enum { TRITREE_CUDA_CURSORS = 64, TRITREE_CUDA_CURSOR = 4 /* words */ };

/* Copies the tree to the current device and prepares it there; the tree may go afterwards.
   KD_ERROR_MEMORY says the bytes needed and the bytes free. */
KD_DEVICE_CALL(tritree_cuda_open, (tritree_cuda * out, const tritree *tree));
/* The same from a view whose arrays are device memory already. They are copied. */
KD_DEVICE_CALL(tritree_cuda_open_view, (tritree_cuda * out, const tritree_view *view,
                                        uint32_t position_count, void *stream));
/* Gives the tree its packed form, once. Where it has none (packed_form.h) or memory does not
   suffice, one line is logged, the tree says so, and rays walk the nodes. Memory and scratch:
   packed_form.h. Waits for the stream. On failure the tree is as it was. */
KD_DEVICE_CALL(tritree_cuda_pack, (tritree_cuda * tree, void *stream));
KD_DEVICE_ANSWER(void, tritree_cuda_close, (tritree_cuda * owned), ); /* takes a zeroed one */
/* Device memory that a tree of this size takes; 0 without CUDA. */
KD_DEVICE_ANSWER(uint64_t, tritree_cuda_bytes,
                 (uint32_t nodes, uint32_t references, uint32_t triangles, uint32_t positions), 0);

#ifdef __cplusplus
}
#endif
#endif

/* Kernels that copy a slab of a k-d tree (compressed_top.h), so that it is a tree of its own: the
   root at index 0, references counted from the slab's first.
   Data flow: slab_find_references, one thread per node: leaves -> the slab's references;
   slab_copy_nodes, one thread per node: nodes, references -> nodes. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_SLAB_CUH
#define KD_ACCEL_WIDE_COMPRESSED_SLAB_CUH
#include "accel/wide/compressed_measures.cuh"

/* The references of a slab, which are contiguous; 0 before the kernel. */
typedef struct slab_references {
    uint32_t not_first; /* the complement of the first one's index */
    uint32_t unused;
    unsigned long long count;
} slab_references;

typedef struct slab_copy {
    const tritree_node *from;    /* the whole tree */
    uint32_t root, first, count; /* its nodes: `root` and count - 1 from `first` on */
    tritree_node *nodes;
    slab_references *references;
} slab_copy;

__device__ __forceinline__ tritree_node slab_node(const slab_copy &copy, uint32_t i) {
    return copy.from[i ? copy.first + (i - 1) : copy.root];
}

__global__ __launch_bounds__(COMPRESSED_MAKE_BLOCK) void slab_find_references(
    const __grid_constant__ slab_copy copy) {
    const uint32_t i = blockIdx.x * COMPRESSED_MAKE_BLOCK + threadIdx.x;
    tritree_node node = tritree_leaf(0, 0);
    if (i < copy.count) node = slab_node(copy, i);
    const uint32_t count = tritree_is_leaf(node) ? tritree_count(node) : 0;
    const uint32_t all = __reduce_add_sync(~0u, count),
                   not_first = __reduce_max_sync(~0u, count ? ~tritree_first(node) : 0u);
    if ((threadIdx.x & 31) != 0 || all == 0) return;
    atomicAdd(&copy.references->count, (unsigned long long)all);
    atomicMax(&copy.references->not_first, not_first);
}

__global__ __launch_bounds__(COMPRESSED_MAKE_BLOCK) void slab_copy_nodes(
    const __grid_constant__ slab_copy copy) {
    const uint32_t i = blockIdx.x * COMPRESSED_MAKE_BLOCK + threadIdx.x;
    if (i >= copy.count) return;
    const tritree_node node = slab_node(copy, i);
    const uint32_t first = ~copy.references->not_first;
    if (!tritree_is_leaf(node))
        copy.nodes[i] =
            tritree_inner(tritree_axis(node), node.split, tritree_left(node) - copy.first + 1);
    else
        copy.nodes[i] = tritree_count(node)
                            ? tritree_leaf(tritree_first(node) - first, tritree_count(node))
                            : tritree_leaf(0, 0);
}

#endif

/* The lower levels of build_wehr.cu: one block finishes a chunk of fewer than 2^HEIGHT points in
   shared memory.
   Source: Wehr and Radkowski 2018 sort each of these chunks with one thread, by radix and by
           insertion; here the threads of a block share the work of a chunk.
   Idea: points are identified by their position in the chunk; their cells are fetched once per
         level. Down to chunks of COUNTED points, a level is one stable radix sort of the block by
         (beginning of the point's chunk, cell); a point already placed has its own position as key
         and stays. Below that, each point counts the points of its chunk that precede it.
   Work: (HEIGHT + bits) / 4 passes of a block per level, then as many comparisons per point as its
         chunk has points.
   Data flow: one block per chunk: its ids, their cells -> shared memory -> ids (and axes) of the
              tree. No block reads another's output. */
#ifndef KD_POINTS_PAPERS_WEHR_BOTTOM_CUH
#define KD_POINTS_PAPERS_WEHR_BOTTOM_CUH
#include "points/papers/wehr_chunks.cuh"
#include "points/tree/widest.cuh"
#include <cub/block/block_radix_sort.cuh>

namespace wehr {

constexpr int POINTS_A_THREAD = 4;
constexpr uint32_t COUNTED = 64;

template <int HEIGHT, typename key> struct bottom_shared {
    static constexpr int SLOTS = 1 << HEIGHT, THREADS = SLOTS / POINTS_A_THREAD;
    typedef cub::BlockRadixSort<key, THREADS, POINTS_A_THREAD, uint16_t> sorter;
    typename sorter::TempStorage sort;
    uint16_t order[SLOTS]; /* local index at each position */
    uint32_t cell[SLOTS];  /* cell on the chunk's axis, by position */
    uint8_t axis[SLOTS];   /* axes of the current level's nodes */
};

/* The chunk that contains each of a thread's positions. */
struct places {
    uint32_t index[POINTS_A_THREAD]; /* index of each point's node on the level; KD_NONE: placed */
    uint32_t begin[POINTS_A_THREAD], count[POINTS_A_THREAD], left[POINTS_A_THREAD];
};

/* Position of the sub-tree in the whole tree. */
struct subtree {
    uint32_t level, index, count; /* position of its root; number of points */
    uint32_t height, low;
    const uint32_t *names; /* maps local indices to points */
};

__device__ inline uint32_t node_below(const subtree &subtree, uint32_t down, uint32_t across) {
    return pointtree_level_begin(subtree.level + down) + (subtree.index << down) + across;
}

/* Determines the axes of the nodes `down` levels below the root, in shared memory. */
template <int HEIGHT, typename key, typename real>
__device__ inline void choose_axes_below(bottom_shared<HEIGHT, key> &sh, const chunk_stage &s,
                                         const widest::tree &tree, const subtree &subtree,
                                         uint32_t down) {
    for (uint32_t i = threadIdx.x; i < 1u << down; i += sh.THREADS) {
        const uint32_t node = node_below(subtree, down, i);
        if (!s.tree_axes) {
            sh.axis[i] = (uint8_t)((subtree.level + down) % s.dims);
        } else if (node < s.tree.count) {
            const point_box domain = widest::domain_of<real>(tree, node);
            sh.axis[i] = (uint8_t)point_box_widest(&domain, s.dims,
                                                   sizeof(real) == 8 ? POINT_DOUBLE : POINT_FLOAT);
            s.tree_axes[node] = sh.axis[i];
        }
    }
    __syncthreads();
}

/* Sorts a level by the block's radix sort. */
template <int HEIGHT, typename key>
__device__ inline void sort_by_block(bottom_shared<HEIGHT, key> &sh, const places &at,
                                     uint32_t count, uint32_t bits) {
    key keys[POINTS_A_THREAD];
    uint16_t names[POINTS_A_THREAD];
#pragma unroll
    for (int i = 0; i < POINTS_A_THREAD; ++i) {
        const uint32_t place = threadIdx.x * POINTS_A_THREAD + i;
        names[i] = sh.order[place];
        keys[i] = place >= count || at.index[i] == KD_NONE
                      ? (key)place << bits
                      : (key)at.begin[i] << bits | sh.cell[place];
    }
    typename bottom_shared<HEIGHT, key>::sorter(sh.sort).Sort(keys, names, 0, (int)bits + HEIGHT);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < POINTS_A_THREAD; ++i)
        sh.order[threadIdx.x * POINTS_A_THREAD + i] = names[i];
    __syncthreads();
}

/* Sorts a level by counting predecessors; stable for equal cells. */
template <int HEIGHT, typename key>
__device__ inline void sort_by_counting(bottom_shared<HEIGHT, key> &sh, const places &at) {
    uint32_t to[POINTS_A_THREAD];
    uint16_t names[POINTS_A_THREAD];
#pragma unroll
    for (int i = 0; i < POINTS_A_THREAD; ++i) {
        const uint32_t place = threadIdx.x * POINTS_A_THREAD + i;
        names[i] = sh.order[place];
        to[i] = place;
        if (at.index[i] == KD_NONE) continue;
        const uint32_t cell = sh.cell[place];
        to[i] = at.begin[i];
        for (uint32_t j = at.begin[i]; j < at.begin[i] + at.count[i]; ++j)
            to[i] += sh.cell[j] < cell || (sh.cell[j] == cell && j < place);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < POINTS_A_THREAD; ++i) sh.order[to[i]] = names[i];
    __syncthreads();
}

/* Places the nodes of a level and moves all other positions to their child's chunk. */
template <int HEIGHT, typename key>
__device__ inline void descend(const bottom_shared<HEIGHT, key> &sh, const chunk_stage &s,
                               const subtree &subtree, uint32_t down, places &at) {
#pragma unroll
    for (int i = 0; i < POINTS_A_THREAD; ++i) {
        if (at.index[i] == KD_NONE) continue;
        const uint32_t place = threadIdx.x * POINTS_A_THREAD + i, rank = place - at.begin[i];
        const uint32_t index = at.index[i], left = at.left[i];
        if (rank == left) {
            s.tree_ids[node_below(subtree, down, index)] = subtree.names[sh.order[place]];
            at.index[i] = KD_NONE;
            continue;
        }
        at.index[i] = 2 * index + (rank > left);
        const segment child = segment_of(subtree.low, subtree.height - down - 1, at.index[i]);
        at.begin[i] = child.begin;
        at.count[i] = child.count;
        at.left[i] = child.left;
    }
    __syncthreads();
}

template <int HEIGHT, typename key, typename real>
__global__ __launch_bounds__(bottom_shared<HEIGHT, key>::THREADS) void finish_chunks(
    chunk_stage s, widest::tree tree, const uint32_t *ids, uint32_t level, uint32_t bits) {
    __shared__ bottom_shared<HEIGHT, key> sh;
    const segment range = list_segment(s.tree, level, blockIdx.x);
    /* A sub-tree without points on the last level has one level less, and all its levels are
       full. */
    const uint32_t levels = s.tree.levels - level, upper = (1u << (levels - 1)) - 1;
    const uint32_t height = range.count > upper ? levels : levels - 1;
    if (height == 0) return;
    const subtree subtree = {level,
                             blockIdx.x,
                             range.count,
                             height,
                             range.count - (upper >> (levels - height)),
                             ids + range.begin};
    places at;
    const segment root = segment_of(subtree.low, height, 0);
#pragma unroll
    for (int i = 0; i < POINTS_A_THREAD; ++i) {
        const uint32_t place = threadIdx.x * POINTS_A_THREAD + i;
        sh.order[place] = (uint16_t)place;
        at.index[i] = place < range.count ? 0 : KD_NONE;
        at.begin[i] = 0;
        at.count[i] = root.count;
        at.left[i] = root.left;
    }
    for (uint32_t down = 0; down < height; ++down) {
        choose_axes_below<HEIGHT, key, real>(sh, s, tree, subtree, down);
#pragma unroll
        for (int i = 0; i < POINTS_A_THREAD; ++i) {
            const uint32_t place = threadIdx.x * POINTS_A_THREAD + i;
            if (at.index[i] != KD_NONE)
                sh.cell[place] =
                    s.cells[sh.axis[at.index[i]] * s.cell_stride + subtree.names[sh.order[place]]];
        }
        __syncthreads();
        if (segment_of(subtree.low, height - down, 0).count > COUNTED)
            sort_by_block(sh, at, range.count, bits);
        else
            sort_by_counting(sh, at);
        descend(sh, s, subtree, down, at);
    }
}

} // namespace wehr
#endif

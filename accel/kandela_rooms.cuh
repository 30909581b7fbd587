/* Rooms of warps that split small nodes: each takes references, nodes and leaves' ids in pieces and
   hands them out itself. */
#ifndef KD_ACCEL_KANDELA_ROOMS_CUH
#define KD_ACCEL_KANDELA_ROOMS_CUH
#include "accel/kandela_bins.cuh"

enum { POOL_PIECE = 1024, NODE_PIECE = 128, LEAF_PIECE = 512 };

/* What a warp has taken and not yet given out. */
struct warp_rooms {
    uint32_t pool, pool_end, node, node_end, leaf, leaf_end;
};

__device__ __forceinline__ uint32_t take_piece(uint32_t *counter, uint32_t piece) {
    uint32_t first = 0;
    if ((threadIdx.x & 31) == 0) first = atomicAdd(counter, piece);
    return __shfl_sync(WARP_ALL, first, 0);
}

/* Ids that nobody takes any more are marked. */
__device__ __forceinline__ void drop_nodes(const kandela &k, const warp_rooms &rooms) {
    for (uint32_t i = rooms.node / 2 + (threadIdx.x & 31); i < rooms.node_end / 2; i += 32)
        k.pairs[i].state = PAIR_HOLE;
}

/* Room for `count` items, the same number in all lanes; 0 for where if there is none: the build is
   void then, and writes go where they do no harm. */
__device__ __forceinline__ uint32_t take_pool(const kandela &k, warp_rooms &rooms, uint32_t count,
                                              int next) {
    if (rooms.pool + count > rooms.pool_end) {
        rooms.pool = take_piece(&k.count->pool, POOL_PIECE);
        if (rooms.pool > k.pool_room - POOL_PIECE) {
            exhaust(k, EXHAUSTED_POOL, next);
            rooms.pool = 0;
        }
        rooms.pool_end = rooms.pool + POOL_PIECE;
    }
    rooms.pool += count;
    return rooms.pool - count;
}
__device__ __forceinline__ uint32_t take_nodes(const kandela &k, warp_rooms &rooms, uint32_t count,
                                               int next) {
    if (rooms.node + count > rooms.node_end) {
        drop_nodes(k, rooms);
        rooms.node = take_piece(&k.count->nodes, NODE_PIECE);
        if (rooms.node > k.raw_room - NODE_PIECE) {
            exhaust(k, EXHAUSTED_NODES, next);
            rooms.node = 0;
        }
        rooms.node_end = rooms.node + NODE_PIECE;
    }
    rooms.node += count;
    return rooms.node - count;
}
__device__ __forceinline__ uint32_t take_leaf_ids(const kandela &k, warp_rooms &rooms,
                                                  uint32_t count, int next) {
    if (rooms.leaf + count > rooms.leaf_end) {
        rooms.leaf = take_piece(&k.count->leaf_ids, LEAF_PIECE);
        if (rooms.leaf > k.leaf_room - LEAF_PIECE) {
            exhaust(k, EXHAUSTED_LEAVES, next);
            rooms.leaf = 0;
        }
        rooms.leaf_end = rooms.leaf + LEAF_PIECE;
    }
    rooms.leaf += count;
    return rooms.leaf - count;
}

#endif

/* Rooms of warps that split small nodes: each takes references, nodes and leaves' ids in pieces and
   hands them out itself. */
#ifndef KD_ACCEL_KANDELA_WARP_STORAGE_CUH
#define KD_ACCEL_KANDELA_WARP_STORAGE_CUH
#include "accel/kandela/bins.cuh"

enum { POOL_PIECE = 1024, NODE_PIECE = 128, LEAF_PIECE = 512 };

/* What a warp has taken of one kind and not yet given out. */
struct warp_room {
    uint32_t next, end;
};

struct warp_rooms {
    warp_room pool, nodes, leaf_ids;
};

__device__ __forceinline__ uint32_t take_piece(uint32_t *counter, uint32_t piece) {
    uint32_t first = 0;
    if ((threadIdx.x & 31) == 0) first = atomicAdd(counter, piece);
    return __shfl_sync(WARP_ALL, first, 0);
}

/* Ids that nobody takes any more are marked. */
__device__ __forceinline__ void drop_nodes(const kandela &k, const warp_rooms &rooms) {
    for (uint32_t i = rooms.nodes.next / 2 + (threadIdx.x & 31); i < rooms.nodes.end / 2; i += 32)
        k.pairs[i].state = PAIR_HOLE;
}

/* Room for `count` items, the same number in all lanes, by a new piece if the last one has too
   little, whose rest is left() before; 0 for where if the `most` that there are are given out: the
   build is void then, `what` is exhausted, and writes go where they do no harm. */
template <class leave>
__device__ __forceinline__ uint32_t take_room(const kandela &k, warp_room &room, uint32_t count,
                                              uint32_t *counter, uint32_t piece, uint32_t most,
                                              uint32_t what, int next, leave left) {
    if (room.next + count > room.end) {
        left();
        room.next = take_piece(counter, piece);
        if (room.next > most - piece) {
            exhaust(k, what, next);
            room.next = 0;
        }
        room.end = room.next + piece;
    }
    room.next += count;
    return room.next - count;
}

__device__ __forceinline__ uint32_t take_pool(const kandela &k, warp_rooms &rooms, uint32_t count,
                                              int next) {
    return take_room(k, rooms.pool, count, &k.count->pool, POOL_PIECE, k.pool_room, EXHAUSTED_POOL,
                     next, [] {});
}
__device__ __forceinline__ uint32_t take_nodes(const kandela &k, warp_rooms &rooms, uint32_t count,
                                               int next) {
    return take_room(k, rooms.nodes, count, &k.count->nodes, NODE_PIECE, k.raw_room,
                     EXHAUSTED_NODES, next, [&] { drop_nodes(k, rooms); });
}
__device__ __forceinline__ uint32_t take_leaf_ids(const kandela &k, warp_rooms &rooms,
                                                  uint32_t count, int next) {
    return take_room(k, rooms.leaf_ids, count, &k.count->leaf_ids, LEAF_PIECE, k.leaf_room,
                     EXHAUSTED_LEAVES, next, [] {});
}

#endif

/* Left-balanced point k-d tree on a CUDA device by presorted lists; points of 2 to 8 dimensions.
   Source: Brown 2015, "Building a balanced k-d tree in O(kn log n) time", JCGT 4(1), and Robinson's
     implementation for GPUs of it.
   Idea: one list of points an axis, sorted once (lists_cuda_presort.cuh). A node's point stands in
     the middle of its segment of its axis' list; the other lists are split around it, stably, and
     stay sorted (lists_cuda_move.cuh). Sub-trees that fit a block are finished in shared memory
     (lists_cuda_bottom.cuh).
   Work: K sorts; then one stable partition a level by round robin, K by the widest side.
   Memory: 4 bytes a point and axis, and 24 to 40 more.
   Invariants: a list's order never changes, so the order of the presort is the tree's.
   Differs from the paper in: references stay away from the lists of axes whose turn is not near:
     each list is brought down by K levels at once when it is its turn, by what the points' tags
     remember, so a level costs one partition instead of K - 1.
   Two builders: `brown`, by the super key, which waits for a word or two on the way; and, for
   points that `kandela` has no kernels for, the same by (coordinate, id), which waits for nothing.
 */
#include "photon/build_cuda.h"
#include "photon/lists_cuda_bottom.cuh"
#include "photon/lists_cuda_move.cuh"
#include "photon/lists_cuda_presort.cuh"

namespace {
using namespace lists;

/* Levels of a bottom: shared memory holds two bytes a point and axis. */
uint32_t bottom_height(uint32_t dims) {
    return dims <= 4 ? 13 : 12;
}

uint32_t bottom_level(const layout &tree, uint32_t dims) {
    const uint32_t height = bottom_height(dims);
    return tree.levels > height ? tree.levels - height : 0;
}

/* Room for the counts of the largest move. */
uint64_t counts_needed(const layout &tree, uint32_t bottom) {
    uint64_t most = 1;
    for (uint32_t depth = 0; depth < bottom; ++depth) {
        const uint32_t levels = bottom - depth < MOVE_BITS ? bottom - depth : MOVE_BITS;
        const uint64_t counts = (uint64_t)move_tiles(tree, depth) << (depth + levels);
        most = counts > most ? counts : most;
    }
    return most;
}

template <typename real> struct plan {
    presort<real> sort;
    stage s;
    uint8_t *tags[2];
    uint32_t depth[POINT_DIMS_MAX]; /* that each list is split down to */
};

/* What the presort needs and what comes after it share their memory, behind the lists. */
template <typename real>
kd_status lay_out(plan<real> *p, cuda_arena *arena, const point_build_cuda *a) {
    const uint32_t n = (uint32_t)a->points.count, dims = a->points.dims;
    const bool widest = a->split == POINTTREE_WIDEST;
    *p = {};
    p->s.tree = layout_of(n);
    p->s.points = a->points.coordinates;
    p->s.stride = a->points.stride_bytes / sizeof(real);
    p->s.dims = dims;
    p->s.tree_ids = a->ids;
    p->s.tree_axes = widest ? a->axes : NULL;
    p->s.box = (point_box *)cuda_arena_take(arena, 1, sizeof(point_box));
    for (uint32_t axis = 0; axis <= dims; ++axis)
        p->sort.list[axis] = (uint32_t *)cuda_arena_take(arena, n, sizeof(uint32_t));
    cuda_arena later = *arena;
    presort<real> *sort = &p->sort;
    sort->points = (const real *)a->points.coordinates;
    sort->stride = p->s.stride;
    sort->dims = dims;
    sort->count = n;
    sort->stream = (cudaStream_t)a->stream;
    sort->keys = (typename presort<real>::key *)cuda_arena_take(arena, n, sizeof(real));
    sort->keys_sorted = (typename presort<real>::key *)cuda_arena_take(arena, n, sizeof(real));
    sort->long_runs = (uint32_t *)cuda_arena_take(arena, 1, sizeof(uint32_t));
    sort->differs = (uint8_t *)sort->keys;
    KD_TRY(cub_scratch<real>(&sort->cub_bytes, n));
    sort->cub = cuda_arena_take(arena, sort->cub_bytes, 1);
    p->tags[0] = p->tags[1] = (uint8_t *)cuda_arena_take(&later, n, 1);
    if (widest) p->tags[1] = (uint8_t *)cuda_arena_take(&later, n, 1);
    p->s.moving = (uint8_t *)cuda_arena_take(&later, n, 1);
    p->s.local = (uint16_t *)cuda_arena_take(&later, n, sizeof(uint16_t));
    p->s.counts = (uint32_t *)cuda_arena_take(
        &later, counts_needed(p->s.tree, bottom_level(p->s.tree, dims)), sizeof(uint32_t));
    if (later.used > arena->used) arena->used = later.used;
    return KD_OK;
}

/* Brings the list of an axis down to a level; `split`: and splits that level's nodes by it. */
template <typename real>
kd_status bring_down(plan<real> *p, uint32_t axis, uint32_t level, bool split) {
    presort<real> *sort = &p->sort;
    uint32_t **list = &sort->list[axis], **spare = &sort->list[sort->dims];
    const uint32_t depth = p->depth[axis], tiles = move_tiles(p->s.tree, depth);
    const move m = {*list, *spare, depth, tiles, (int)axis, split};
    if (depth == level) {
        if (!split) return KD_OK;
        split_root<<<blocks_for(p->s.tree.count, BLOCK), BLOCK, 0, sort->stream>>>(p->s, m);
        KD_CUDA_LAUNCHED("split_root");
        return KD_OK;
    }
    KD_TRY(move_down(p->s, m, level - depth, sort->stream));
    *spare = (uint32_t *)m.list;
    *list = m.to;
    p->depth[axis] = level;
    return KD_OK;
}

/* Every node on the axis of its level: one list is brought down, and those that lag too far. */
template <typename real> kd_status split_level_in_turn(plan<real> *p, uint32_t level) {
    const uint32_t turn = level % p->s.dims;
    for (uint32_t axis = 0; axis < p->s.dims; ++axis)
        if (axis != turn && level - p->depth[axis] == MOVE_BITS)
            KD_TRY(bring_down(p, axis, level, false));
    return bring_down(p, turn, level, true);
}

template <typename real> widest::tree widest_tree(const plan<real> *p) {
    return {p->s.points, p->s.stride,   p->s.dims,     p->s.tree.count,
            p->s.box,    p->s.tree_ids, p->s.tree_axes};
}

/* Every node on its own axis: the tags are read of one level and written of the next. */
template <typename real> kd_status split_level_widest(plan<real> *p, uint32_t level) {
    KD_TRY(widest::choose_level<real>(widest_tree(p), level, p->sort.stream));
    p->s.tags_to = p->tags[level & 1];
    for (uint32_t axis = 0; axis < p->s.dims; ++axis) KD_TRY(bring_down(p, axis, level, true));
    p->s.tags = p->s.tags_to;
    return KD_OK;
}

template <int K, int HEIGHT, int BLOCKS, bool WIDEST, typename real>
kd_status finish(const stage &s, const list_set &from, uint32_t level, cudaStream_t stream) {
    const auto kernel = finish_subtrees<K, HEIGHT, BLOCKS, WIDEST, real>;
    typedef bottom_shared<K, HEIGHT> shared;
    KD_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)sizeof(shared)));
    kernel<<<1u << level, shared::THREADS, sizeof(shared), stream>>>(s, from, level);
    KD_CUDA_LAUNCHED("finish_subtrees");
    return KD_OK;
}

template <bool WIDEST, typename real>
kd_status finish_all(const stage &s, const list_set &from, uint32_t level, cudaStream_t stream) {
    constexpr int BLOCKS = WIDEST ? 1 : 2; /* regions take registers */
    return s.dims == 2   ? finish<2, 13, BLOCKS, WIDEST, real>(s, from, level, stream)
           : s.dims == 3 ? finish<3, 13, BLOCKS, WIDEST, real>(s, from, level, stream)
           : s.dims == 4 ? finish<4, 13, BLOCKS, WIDEST, real>(s, from, level, stream)
                         : finish<8, 12, 2, WIDEST, real>(s, from, level, stream);
}

template <typename real> kd_status split_levels(plan<real> *p) {
    const bool widest = p->s.tree_axes != NULL;
    const uint32_t bottom = bottom_level(p->s.tree, p->s.dims);
    p->s.tags = p->s.tags_to = p->tags[0];
    for (uint32_t axis = 0; widest && axis < p->s.dims; ++axis) {
        widest::take_side<real><<<1, 1, 0, p->sort.stream>>>(
            widest_tree(p), (int)axis, p->sort.list[axis], p->s.tree.count, p->s.box);
        KD_CUDA_LAUNCHED("take_side");
    }
    for (uint32_t level = 0; level < bottom; ++level)
        KD_TRY(widest ? split_level_widest(p, level) : split_level_in_turn(p, level));
    for (uint32_t axis = 0; axis < p->s.dims; ++axis) KD_TRY(bring_down(p, axis, bottom, false));
    list_set from = {};
    for (uint32_t axis = 0; axis < p->s.dims; ++axis) from.list[axis] = p->sort.list[axis];
    return widest ? finish_all<true, real>(p->s, from, bottom, p->sort.stream)
                  : finish_all<false, float>(p->s, from, bottom, p->sort.stream);
}

template <typename real> kd_status build(const point_build_cuda *a, bool by_super_key) {
    cuda_arena arena = {(char *)a->scratch, 0};
    plan<real> p;
    KD_TRY(lay_out(&p, &arena, a));
    KD_TRY(point_build_cuda_check(a, arena.used));
    if (by_super_key)
        KD_TRY(presort_by_super_key(&p.sort, a->unique));
    else
        KD_TRY(presort_by_coordinate(p.sort));
    p.s.tree = layout_of(p.sort.count);
    if (a->kept) *a->kept = p.sort.count;
    return split_levels(&p);
}

kd_status build_by(const point_build_cuda *a, bool by_super_key) {
    KD_TRY(point_build_cuda_check(a, 0));
    if (a->kept) *a->kept = 0;
    if (a->points.count == 0) return KD_OK;
    return a->points.scalar == POINT_DOUBLE ? build<double>(a, by_super_key)
                                            : build<float>(a, by_super_key);
}
} // namespace

extern "C" kd_status build_brown_cuda_scratch_bytes(size_t *bytes, const point_build_cuda *a) {
    cuda_arena counted = {NULL, 0};
    *bytes = 0;
    KD_TRY(point_build_cuda_check(a, 0));
    if (a->points.count == 0) return KD_OK;
    plan<float> narrow;
    plan<double> wide;
    KD_TRY(a->points.scalar == POINT_DOUBLE ? lay_out(&wide, &counted, a)
                                            : lay_out(&narrow, &counted, a));
    *bytes = counted.used;
    return KD_OK;
}

extern "C" kd_status build_brown_cuda(const point_build_cuda *a) {
    return build_by(a, true);
}

extern "C" kd_status build_lists_cuda(const point_build_cuda *a) {
    return build_by(a, false);
}

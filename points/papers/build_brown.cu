/* Left-balanced point k-d tree on a CUDA device from presorted lists, for points of 1 to 8
   dimensions.
   Source: Brown 2015, "Building a balanced k-d tree in O(kn log n) time", JCGT 4(1), and Robinson's
           implementation of it for GPUs.
   Idea: one list of points per axis, sorted once (brown_presort.cuh). A node's point is the middle
         of its segment of its axis' list (brown_split_level.cuh); the other lists are partitioned
         around it stably and stay sorted (brown_partition.cuh). Sub-trees that fit into a block are
         finished in shared memory (brown_bottom.cuh).
   Work: K sorts; then one stable partition per level for round robin, K for the widest side.
   Memory: 8 bytes per point and axis (doubles 12), and 20 (36) more per point.
   Invariants: the order within a list never changes, so the order of the presort is that of the
               tree.
   Differs from the paper in: partitions are deferred: each list is brought down by K levels at once
         when its axis is next, from the sides recorded in the points' tags, so a level costs one
         partition instead of K - 1. Two builders: `brown`, by the super key, which synchronises
         once or twice to read back a word; and, for points that `select` has no kernels for, the
         same by (coordinate, id), which never synchronises. */
#include "points/papers/brown_bottom.cuh"
#include "points/papers/brown_partition.cuh"
#include "points/papers/brown_split_level.cuh"
#include "points/papers/build_brown.h"

namespace {
using namespace lists;

/* names for the stages select, collect, move and bottom */
const char *const stage_names[POINT_STAGES] = {"sort and remove", "-", "partition", "bottom"};

/* Stores the number of levels that a block finishes: shared memory holds two bytes per point and
   axis, and devices with less of it take one level less. */
kd_status bottom_height(uint32_t *height, uint32_t dims) {
    size_t shared = 0;
    KD_TRY(cuda_shared_max(&shared));
    const size_t needed = dims <= 2   ? sizeof(bottom_shared<2, 13>)
                          : dims == 3 ? sizeof(bottom_shared<3, 13>)
                          : dims == 4 ? sizeof(bottom_shared<4, 13>)
                                      : sizeof(bottom_shared<8, 12>);
    static_assert(sizeof(bottom_shared<4, 12>) <= CUDA_SHARED_MIN &&
                      sizeof(bottom_shared<8, 11>) <= CUDA_SHARED_MIN,
                  "every device has that");
    *height = (dims <= 4 ? 13u : 12u) - (needed > shared);
    return KD_OK;
}

uint32_t bottom_level(const layout &tree, uint32_t height) {
    return tree.levels > height ? tree.levels - height : 0;
}

/* Returns the number of counts that the largest partition needs. */
uint64_t counts_needed(const layout &tree, uint32_t bottom) {
    uint64_t maximum = 1;
    for (uint32_t depth = 0; depth < bottom; ++depth) {
        const uint32_t levels = bottom - depth < MOVE_BITS ? bottom - depth : MOVE_BITS;
        const uint64_t counts = (uint64_t)move_tiles(tree, depth) << (depth + levels);
        maximum = counts > maximum ? counts : maximum;
    }
    return maximum;
}

template <typename real> struct plan {
    presort<real> sort;
    stage s;
    uint32_t depth[POINT_DIMS_MAX]; /* level down to which each list is partitioned */
    uint32_t height;                /* levels that the blocks finish */
    uint32_t ids;                   /* number of input points */
    bool by_super_key;
};

/* Lays out the scratch. The buffers of the presort and those of the later stages overlap, after the
   lists and columns. */
template <typename real>
kd_status lay_out(plan<real> *p, cuda_arena *arena, const point_build_cuda *a) {
    typedef typename presort<real>::key key;
    const uint32_t n = (uint32_t)a->points.count, dims = a->points.dims;
    *p = {};
    stage *s = &p->s;
    s->tree = layout_of(n);
    s->points = a->points.coordinates;
    s->stride = a->points.stride_bytes / sizeof(real);
    s->dims = dims;
    KD_TRY(bottom_height(&p->height, dims));
    s->tree_ids = a->ids;
    s->tree_axes = a->split == POINTTREE_WIDEST ? a->axes : NULL;
    s->box = (point_box *)cuda_arena_take(arena, 1, sizeof(point_box));
    presort<real> *sort = &p->sort;
    for (uint32_t axis = 0; axis <= dims; ++axis)
        sort->list[axis] = (uint32_t *)cuda_arena_take(arena, n, sizeof(uint32_t));
    for (uint32_t axis = 0; axis < dims; ++axis)
        sort->column[axis] = (key *)cuda_arena_take(arena, n, sizeof(key));
    cuda_arena later = *arena;
    sort->points = (const real *)a->points.coordinates;
    sort->stride = s->stride;
    sort->dims = dims;
    sort->count = p->ids = n;
    sort->stream = (cudaStream_t)a->stream;
    sort->keys = (key *)cuda_arena_take(arena, n, sizeof(key));
    sort->keys_sorted = (key *)cuda_arena_take(arena, n, sizeof(key));
    sort->long_runs = (uint32_t *)cuda_arena_take(arena, 1, sizeof(uint32_t));
    sort->differs = (uint8_t *)sort->keys;
    KD_TRY(cub_scratch<real>(&sort->cub_bytes, n));
    sort->cub = cuda_arena_take(arena, sort->cub_bytes, 1);
    s->tags = (uint8_t *)cuda_arena_take(&later, n, 1);
    s->moving = (uint8_t *)cuda_arena_take(&later, n, 1);
    s->nodes = (uint32_t *)cuda_arena_take(&later, n, sizeof(uint32_t));
    s->counts = (uint32_t *)cuda_arena_take(
        &later, counts_needed(s->tree, bottom_level(s->tree, p->height)), sizeof(uint32_t));
    if (later.used > arena->used) arena->used = later.used;
    return KD_OK;
}

/* Partitions the list of an axis down to a level. */
template <typename real> kd_status advance_list(plan<real> *p, uint32_t axis, uint32_t level) {
    uint32_t **list = &p->sort.list[axis], **target = &p->sort.list[p->s.dims];
    const uint32_t depth = p->depth[axis];
    if (depth == level) return KD_OK;
    const move m = {*list, *target, depth, move_tiles(p->s.tree, depth)};
    KD_TRY(move_down(p->s, m, level - depth, p->sort.stream));
    *target = *list;
    *list = m.to;
    p->depth[axis] = level;
    return KD_OK;
}

template <typename real> list_set lists_of(const plan<real> *p) {
    list_set set = {};
    for (uint32_t axis = 0; axis < p->s.dims; ++axis) set.list[axis] = p->sort.list[axis];
    return set;
}

template <typename real> widest::tree widest_tree(const plan<real> *p) {
    return {p->s.points, p->s.stride,   p->s.dims,      p->s.tree.count,
            p->s.box,    p->s.tree_ids, p->s.tree_axes, false};
}

/* Splits one level. Round robin brings down the list of the level's axis and those that lag
   MOVE_BITS levels behind; the widest side all lists. */
template <typename real> kd_status split_level(plan<real> *p, uint32_t level) {
    const cudaStream_t stream = p->sort.stream;
    const bool widest = p->s.tree_axes != NULL;
    if (widest) KD_TRY(widest::choose_level<real>(widest_tree(p), level, stream));
    for (uint32_t axis = 0; axis < p->s.dims; ++axis)
        if (widest || axis == level % p->s.dims || level - p->depth[axis] == MOVE_BITS)
            KD_TRY(advance_list(p, axis, level));
    take_nodes<<<cuda_blocks(1u << level, BLOCK), BLOCK, 0, stream>>>(p->s, lists_of(p), level);
    KD_CUDA_LAUNCHED("take_nodes");
    write_sides<real><<<cuda_blocks(p->ids, BLOCK * POINTS_PER_THREAD), BLOCK, 0, stream>>>(
        p->s, p->sort, level, p->ids, p->by_super_key);
    KD_CUDA_LAUNCHED("write_sides");
    return KD_OK;
}

/* Finishes the sub-trees [first, end) of a level. */
template <int K, int HEIGHT, int BLOCKS, bool WIDEST, typename real>
kd_status finish_some(const stage &s, const list_set &set, uint32_t level, uint32_t first,
                      uint32_t end, cudaStream_t stream) {
    if (first == end) return KD_OK;
    const auto kernel = finish_subtrees<K, HEIGHT, BLOCKS, WIDEST, real>;
    typedef bottom_shared<K, HEIGHT> shared;
    KD_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)sizeof(shared)));
    kernel<<<end - first, shared::THREADS, sizeof(shared), stream>>>(s, set, level, first);
    KD_CUDA_LAUNCHED("finish_subtrees");
    return KD_OK;
}

/* Finishes first the sub-trees with points on the tree's last level, then the others, which have
   one level less and so half the threads. */
template <int K, int HEIGHT, bool WIDEST, typename real>
kd_status finish(const stage &s, const list_set &set, uint32_t height, uint32_t level,
                 cudaStream_t stream) {
    constexpr int BLOCKS = WIDEST && HEIGHT == 13 ? 1 : 2; /* regions take registers */
    const uint32_t width = 1u << (s.tree.levels - 1 - level), all = 1u << level;
    if (height < HEIGHT)
        return finish_some<K, HEIGHT - 1, 2 * BLOCKS, WIDEST, real>(s, set, level, 0, all, stream);
    const uint32_t whole = (s.tree.low + width - 1) / width;
    KD_TRY((finish_some<K, HEIGHT, BLOCKS, WIDEST, real>(s, set, level, 0, whole, stream)));
    return finish_some<K, HEIGHT - 1, 2 * BLOCKS, WIDEST, real>(s, set, level, whole, all, stream);
}

template <bool WIDEST, typename real>
kd_status finish_all(const stage &s, const list_set &set, uint32_t height, uint32_t level,
                     cudaStream_t stream) {
    return s.dims <= 2   ? finish<2, 13, WIDEST, real>(s, set, height, level, stream)
           : s.dims == 3 ? finish<3, 13, WIDEST, real>(s, set, height, level, stream)
           : s.dims == 4 ? finish<4, 13, WIDEST, real>(s, set, height, level, stream)
                         : finish<8, 12, WIDEST, real>(s, set, height, level, stream);
}

template <typename real> kd_status split_levels(plan<real> *p, point_build_stages *stages) {
    const bool widest = p->s.tree_axes != NULL;
    const uint32_t bottom = bottom_level(p->s.tree, p->height);
    for (uint32_t axis = 0; widest && axis < p->s.dims; ++axis) {
        widest::take_side<real><<<1, 1, 0, p->sort.stream>>>(
            widest_tree(p), (int)axis, p->sort.list[axis], p->s.tree.count, p->s.box);
        KD_CUDA_LAUNCHED("take_side");
    }
    KD_TRY(point_build_stages_begin(stages, POINT_STAGE_MOVE, 0, p->sort.stream));
    for (uint32_t level = 0; level < bottom; ++level) KD_TRY(split_level(p, level));
    for (uint32_t axis = 0; axis < p->s.dims; ++axis) KD_TRY(advance_list(p, axis, bottom));
    KD_TRY(point_build_stages_begin(stages, POINT_STAGE_BOTTOM, 0, p->sort.stream));
    return widest ? finish_all<true, real>(p->s, lists_of(p), p->height, bottom, p->sort.stream)
                  : finish_all<false, float>(p->s, lists_of(p), p->height, bottom, p->sort.stream);
}

template <typename real> kd_status build(const point_build_cuda *a, bool by_super_key) {
    cuda_arena arena = {(char *)a->scratch, 0};
    plan<real> p;
    KD_TRY(lay_out(&p, &arena, a));
    KD_TRY(point_build_cuda_check(a, arena.used));
    p.by_super_key = by_super_key;
    if (a->stages) a->stages->names = stage_names;
    KD_TRY(point_build_stages_begin(a->stages, POINT_STAGE_SELECT, 0, a->stream));
    make_columns<real><<<cuda_blocks(p.ids, BLOCK), BLOCK, 0, p.sort.stream>>>(p.sort);
    KD_CUDA_LAUNCHED("make_columns");
    if (by_super_key)
        KD_TRY(presort_by_super_key(&p.sort, a->unique));
    else
        KD_TRY(presort_by_coordinate(p.sort));
    p.s.tree = layout_of(p.sort.count);
    if (a->kept) *a->kept = p.sort.count;
    KD_TRY(split_levels(&p, a->stages));
    return point_build_stages_end(a->stages, a->stream);
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

static kd_status build_brown_cuda(const point_build_cuda *a) {
    return build_by(a, true);
}

extern "C" kd_status build_lists_cuda(const point_build_cuda *a) {
    return build_by(a, false);
}

extern "C" {
extern const point_builder_cuda point_builder_cuda_brown;
const point_builder_cuda point_builder_cuda_brown = {"brown", build_brown_cuda_scratch_bytes,
                                                     build_brown_cuda, true, true};
}

/* The index over a point tree on a CUDA device.
   Idea: in order, a sub-tree's points are neighbours; each of ten levels is split anew into leaves
   of 32 points (leaf_split.cuh), runs of one array. Boxes are tight, so planar and clustered
   data cost no detours. Warps look at 32 boxes or points at once: groups of 32. Threads go down a
   binary tree, both children in one record.
   Memory: three floats: 12 bytes a point for the tree's own, 16 in leaves, 1 to 2 for boxes, 4 for
   pairs.
   Data flow: tree -> order_points, a thread a node (points in order), or gather_points (level
              order, for walks) -> split_chunks, a warp a chunk, in place -> join_boxes, a warp
              a box, once a level upwards, join_upper_boxes the last of them -> list_planes ->
              join_pairs, a thread a run. One stream; queries read after it. */
#include "points/neighbours/leaf_index.cuh"
#include "points/neighbours/leaf_split.cuh"
#include "points/tree/inorder.cuh"

namespace {
using namespace point_index;

enum { BLOCK = 256, UPPER_BLOCK = 1024, UPPER_BOXES = 128 /* are few */ };

uint64_t blocks_for(uint64_t items) {
    return (items + BLOCK - 1) / BLOCK;
}

/* Level order for walks: scalars of 4 or 8 bytes. */
template <typename real>
__global__ void gather_points(const real *points, int stride, int dims, const uint32_t *ids,
                              uint32_t count, real *out) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= (uint64_t)count * dims) return;
    const uint32_t node = (uint32_t)(i / dims), axis = (uint32_t)(i % dims);
    out[i] = points[(uint64_t)ids[node] * stride + axis];
}

/* Of three floats: each node's point to level order, and to its place in order. */
__global__ void order_points(const float *points, int stride, const uint32_t *ids,
                             kandela::layout tree, float *nodes, float4 *out) {
    const uint32_t node = blockIdx.x * BLOCK + threadIdx.x;
    if (node >= tree.count) return;
    const uint32_t level = pointtree_level_of(node), id = ids[node];
    const kandela::segment own =
        kandela::node_segment(tree, level, node - pointtree_level_begin(level));
    const float *p = points + (uint64_t)id * stride;
    const float x = p[0], y = p[1], z = p[2];
    nodes[3ull * node] = x, nodes[3ull * node + 1] = y, nodes[3ull * node + 2] = z;
    out[own.begin + own.left] = make_float4(x, y, z, __uint_as_float(id));
}

__device__ uint32_t axis_of(const uint8_t *axes, uint32_t node) {
    return axes ? axes[node] : pointtree_level_of(node) % 3;
}

/* Whether the node's plane is that of the next one above on its axis: it parts equal coordinates.
 */
__device__ bool parts_ties(const float *nodes, const uint8_t *axes, uint32_t node, uint32_t axis) {
    for (uint32_t up = node; up > 0;) {
        up = (up - 1) / 2;
        if (axis_of(axes, up) == axis) return nodes[3ull * up + axis] == nodes[3ull * node + axis];
    }
    return false;
}

/* What a query needs to find its group; *ties: groups below nodes that part equal coordinates, as
   often as they are below one. */
__global__ void list_planes(const float *nodes, const uint8_t *axes, uint32_t count, float2 *out,
                            uint32_t *ties) {
    const uint32_t node = blockIdx.x * BLOCK + threadIdx.x;
    uint32_t below = 0;
    if (node < count) {
        const uint32_t axis = axis_of(axes, node);
        out[node] = make_float2(nodes[3ull * node + axis], __uint_as_float(axis));
        if (parts_ties(nodes, axes, node, axis)) below = (count + 1) >> pointtree_level_of(node);
    }
    below = __reduce_add_sync(ALL_LANES, below);
    if (below && threadIdx.x % 32 == 0) atomicAdd(ties, below);
}

__device__ float least_of(float x) {
    return pointtree_float_of_order_bits(__reduce_min_sync(ALL_LANES, pointtree_order_bits(x)));
}

__device__ float most_of(float x) {
    return pointtree_float_of_order_bits(__reduce_max_sync(ALL_LANES, pointtree_order_bits(x)));
}

/* A warp's box: around 32 boxes of the level below. */
__device__ void join_box(const view &index, uint32_t level, uint32_t box, float4 *boxes) {
    const uint32_t lane = threadIdx.x % 32;
    vec3 lo = vec3_all(INFINITY), hi = vec3_all(-INFINITY);
    if (box * 32 + lane < index.box_count[level - 1]) {
        const uint64_t child = index.box_begin[level - 1] + box * 32ull + lane;
        const float4 a = boxes[2 * child], b = boxes[2 * child + 1];
        lo = xyz(a), hi = vec3_make(a.w, b.x, b.y);
    }
    lo = vec3_make(least_of(lo.x), least_of(lo.y), least_of(lo.z));
    hi = vec3_make(most_of(hi.x), most_of(hi.y), most_of(hi.z));
    if (lane) return;
    const uint64_t to = index.box_begin[level] + (uint64_t)box;
    boxes[2 * to] = make_float4(lo.x, lo.y, lo.z, hi.x);
    boxes[2 * to + 1] = make_float4(hi.y, hi.z, 0, 0);
}

__global__ void join_boxes(const __grid_constant__ view index, uint32_t level, float4 *boxes) {
    const uint32_t box = (blockIdx.x * BLOCK + threadIdx.x) / 32;
    if (box < index.box_count[level]) join_box(index, level, box, boxes);
}

/* From a level of few boxes on all levels, by one block: a launch takes longer. */
__global__ void join_upper_boxes(const __grid_constant__ view index, uint32_t level,
                                 float4 *boxes) {
    for (; level <= index.box_levels; ++level) {
        for (uint32_t box = threadIdx.x / 32; box < index.box_count[level]; box += UPPER_BLOCK / 32)
            join_box(index, level, box, boxes);
        __syncthreads();
    }
}

/* A thread a run; of two children the later one goes on with their parent. A pair's last float
   counts its children while it is made; split_chunks has zeroed it. */
__global__ void join_pairs(const __grid_constant__ view index, float *pairs) {
    const uint32_t run = blockIdx.x * BLOCK + threadIdx.x;
    if (run > index.pair_count) return;
    vec3 lo = vec3_all(INFINITY), hi = vec3_all(-INFINITY);
    const point_range of = run_range(index, run);
    for (uint32_t i = of.begin; i < of.end; ++i) {
        const vec3 p = xyz(index.points[i]);
        lo = vec3_min(lo, p), hi = vec3_max(hi, p);
    }
    if (run % 2 == 0) { /* with both halves their leaf's range */
        const point_range leaf = leaf_range(index, run / 2);
        float *record = pairs + 16ull * (index.pair_count / 2 + run / 2);
        record[12] = __uint_as_float(leaf.begin), record[13] = __uint_as_float(leaf.end);
    }
    for (uint32_t node = index.pair_count + run; node > 0;) {
        const uint32_t parent = (node - 1) / 2, right = 1 - node % 2;
        float *mine = pairs + 16ull * parent + 6 * right;
        const float *others = pairs + 16ull * parent + 6 * (1 - right);
        mine[0] = lo.x, mine[1] = lo.y, mine[2] = lo.z;
        mine[3] = hi.x, mine[4] = hi.y, mine[5] = hi.z;
        __threadfence();
        if (atomicAdd((unsigned *)(pairs + 16ull * parent + 15), 1u) == 0) return;
        __threadfence();
        const volatile float *other = others;
        lo = vec3_min(lo, vec3_make(other[0], other[1], other[2]));
        hi = vec3_max(hi, vec3_make(other[3], other[4], other[5]));
        node = parent;
    }
}

bool three_floats(const point_build_cuda *a) {
    return a->points.dims == 3 && a->points.scalar == POINT_FLOAT;
}

void lay_out(point_index_cuda *out, cuda_arena *arena, const point_build_cuda *a) {
    memset(out, 0, sizeof *out);
    const uint32_t n = (uint32_t)a->points.count;
    pointtree_nd_view *tree = &out->tree;
    tree->ids = a->ids;
    tree->axes = a->split == POINTTREE_WIDEST ? a->axes : NULL;
    tree->count = n;
    tree->dims = a->points.dims;
    tree->scalar = a->points.scalar;
    tree->coordinates =
        cuda_arena_take(arena, (uint64_t)n * tree->dims, point_scalar_bytes(tree->scalar));
    if (n == 0 || !three_floats(a)) return;
    const kandela::layout layout = kandela::layout_of(n);
    out->low = layout.low;
    out->points = (float *)cuda_arena_take(arena, n + 32ull, sizeof(float4)); /* read in 32s */
    /* Where most sub-trees lack their last level they have half as many leaves. */
    const bool deep = layout.levels > CHUNK_LEVELS;
    out->chunk_count = deep ? 1u << (layout.levels - CHUNK_LEVELS) : 1;
    out->chunk_leaves = deep && layout.low < 1u << (layout.levels - 1) >> 1 ? 16 : 32;
    uint32_t boxes = out->chunk_count * out->chunk_leaves, all = 0;
    const uint32_t leaves = boxes;
    for (;; boxes = (boxes + 31) / 32) {
        out->box_begin[out->box_levels] = all;
        out->box_count[out->box_levels++] = boxes;
        all += boxes;
        if (boxes <= 32) break;
    }
    out->box_begin[out->box_levels] = all;
    out->box_count[out->box_levels] = 1;
    out->boxes = (float *)cuda_arena_take(arena, all + 1ull, 2 * sizeof(float4));
    out->planes = (float *)cuda_arena_take(arena, out->box_count[1], sizeof(float2));
    out->strays = (uint32_t *)cuda_arena_take(arena, out->chunk_count, sizeof(uint32_t));
    out->ties = (uint32_t *)cuda_arena_take(arena, 1, sizeof(uint32_t));
    out->pair_count = 2 * leaves - 1;
    out->pairs = (float *)cuda_arena_take(arena, out->pair_count, 4 * sizeof(float4));
}

template <typename real>
kd_status gather(const point_index_cuda *index, const point_build_cuda *a, cudaStream_t stream) {
    const point_array *points = &a->points;
    gather_points<real><<<(unsigned)blocks_for(points->count * points->dims), BLOCK, 0, stream>>>(
        (const real *)points->coordinates, (int)(points->stride_bytes / sizeof(real)),
        (int)points->dims, a->ids, index->tree.count, (real *)index->tree.coordinates);
    KD_CUDA_LAUNCHED("gather_points");
    return KD_OK;
}

/* The points in leaves, and the boxes over these. */
kd_status split_points(const point_index_cuda *index, const point_build_cuda *a,
                       cudaStream_t stream) {
    const view v = view_of(index);
    order_points<<<(unsigned)blocks_for(v.count), BLOCK, 0, stream>>>(
        (const float *)a->points.coordinates, (int)(a->points.stride_bytes / sizeof(float)), a->ids,
        kandela::layout_of(v.count), (float *)index->tree.coordinates, (float4 *)index->points);
    KD_CUDA_LAUNCHED("order_points");
    split_chunks<<<(v.chunk_count + SPLIT_WARPS - 1) / SPLIT_WARPS, 32 * SPLIT_WARPS, 0, stream>>>(
        v, (float4 *)index->points, (float4 *)index->boxes, index->strays,
        {index->ties, (uint32_t *)index->pairs});
    KD_CUDA_LAUNCHED("split_chunks");
    uint32_t level = 1;
    for (; level <= index->box_levels && index->box_count[level] > UPPER_BOXES; ++level) {
        join_boxes<<<(unsigned)blocks_for(32ull * index->box_count[level]), BLOCK, 0, stream>>>(
            v, level, (float4 *)index->boxes);
        KD_CUDA_LAUNCHED("join_boxes");
    }
    join_upper_boxes<<<1, UPPER_BLOCK, 0, stream>>>(v, level, (float4 *)index->boxes);
    KD_CUDA_LAUNCHED("join_upper_boxes");
    list_planes<<<(unsigned)blocks_for(index->box_count[1]), BLOCK, 0, stream>>>(
        (const float *)index->tree.coordinates, index->tree.axes, index->box_count[1] - 1,
        (float2 *)index->planes, index->ties);
    KD_CUDA_LAUNCHED("list_planes");
    return KD_OK;
}
} // namespace

extern "C" kd_status point_index_cuda_bytes(size_t *bytes, const point_build_cuda *a) {
    cuda_arena counted = {NULL, 0};
    point_index_cuda index;
    lay_out(&index, &counted, a);
    *bytes = counted.used;
    return KD_OK;
}

extern "C" kd_status point_index_cuda_open(point_index_cuda *out, const point_build_cuda *a,
                                           void *memory, size_t bytes) {
    cuda_arena arena = {(char *)memory, 0};
    lay_out(out, &arena, a);
    KD_REQUIRE(arena.used <= bytes, KD_ERROR_MEMORY, "index of %zu bytes given, %zu needed", bytes,
               arena.used);
    if (a->points.count == 0) return KD_OK;
    const cudaStream_t stream = (cudaStream_t)a->stream;
    if (!out->points)
        return a->points.scalar == POINT_DOUBLE ? gather<double>(out, a, stream)
                                                : gather<float>(out, a, stream);
    KD_TRY(split_points(out, a, stream));
    join_pairs<<<(unsigned)blocks_for(out->pair_count + 1ull), BLOCK, 0, stream>>>(view_of(out),
                                                                                   out->pairs);
    KD_CUDA_LAUNCHED("join_pairs");
    return KD_OK;
}

/* Builds the index over a point tree on a CUDA device.
   Idea: the points of a sub-tree are contiguous in order. Each sub-tree of ten levels (a chunk) is
         re-split into leaves of 32 points (leaf_split.cuh), which are runs of one array. Boxes are
         tight, so planar and clustered data cost no extra visits. Warps test 32 boxes or points at
         once, in groups of 32; kernels with one thread per query descend a binary tree that stores
         the boxes of both children in one record (a pair).
   Memory: for three floats 12 bytes per point for the tree's coordinates, 16 for the leaves, 1 to 2
           for boxes, 4 for pairs.
   Data flow: tree, input -> split_chunks, one block per chunk (points in leaves, and in level
              order for walks; boxes), or gather_points (level order) -> join_boxes, one warp per
              box, one launch per level upwards -> finish_index: one block the last boxes, the
              others the planes, one thread each, and the pairs above chunks. All on one stream;
              queries read the results after it. */
#include "points/neighbours/leaf_index.cuh"
#include "points/neighbours/leaf_split.cuh"

namespace {
using namespace point_index;

enum {
    BLOCK = 256,
    UPPER_BLOCK = 1024,
    UPPER_BOXES = 128 /* fewer boxes than this per level are
                         left to finish_index */
};

/* Copies the points to level order, for walks; scalars of 4 or 8 bytes. */
template <typename real>
__global__ void gather_points(const real *points, int stride, int dims, const uint32_t *ids,
                              uint32_t count, real *out) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= (uint64_t)count * dims) return;
    const uint32_t node = (uint32_t)(i / dims), axis = (uint32_t)(i % dims);
    out[i] = points[(uint64_t)ids[node] * stride + axis];
}

__device__ uint32_t axis_of(const uint8_t *axes, uint32_t node) {
    return axes ? axes[node] : pointtree_level_of(node) % 3;
}

/* Returns whether the node's plane equals that of the nearest ancestor on the same axis, that
   is, whether it separates points with equal coordinates. */
__device__ bool parts_ties(const float *nodes, const uint8_t *axes, uint32_t node, uint32_t axis) {
    for (uint32_t up = node; up > 0;) {
        up = (up - 1) / 2;
        if (axis_of(axes, up) == axis) return nodes[3ull * up + axis] == nodes[3ull * node + axis];
    }
    return false;
}

/* The tree's nodes above the groups. */
struct upper_nodes {
    const float *points; /* three floats per node, in level order */
    const uint8_t *axes;
    uint32_t count;
    float2 *planes;
    uint32_t *ties;
};

/* Stores the plane of a node, by which queries find their group; one thread per node. Adds to
 *ties, for each node that separates equal coordinates, the number of groups below it. */
__device__ void list_plane(const upper_nodes &nodes, uint32_t node) {
    uint32_t below = 0;
    if (node < nodes.count) {
        const uint32_t axis = axis_of(nodes.axes, node);
        nodes.planes[node] = make_float2(nodes.points[3ull * node + axis], __uint_as_float(axis));
        if (parts_ties(nodes.points, nodes.axes, node, axis))
            below = (nodes.count + 1) >> pointtree_level_of(node);
    }
    below = __reduce_add_sync(ALL_LANES, below);
    if (below && threadIdx.x % 32 == 0) atomicAdd(nodes.ties, below);
}

__device__ float least_of(float x) {
    return pointtree_float_of_order_bits(__reduce_min_sync(ALL_LANES, pointtree_order_bits(x)));
}

__device__ float most_of(float x) {
    return pointtree_float_of_order_bits(__reduce_max_sync(ALL_LANES, pointtree_order_bits(x)));
}

/* One warp computes the union of 32 boxes of the level below. */
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

/* One block computes all remaining levels, which have few boxes each; separate launches would
   take longer. */
__device__ void join_upper_boxes(const view &index, uint32_t level, float4 *boxes) {
    for (; level <= index.box_levels; ++level) {
        for (uint32_t box = threadIdx.x / 32; box < index.box_count[level]; box += UPPER_BLOCK / 32)
            join_box(index, level, box, boxes);
        __syncthreads();
    }
}

/* Builds the pairs above the boxes of a warp's lanes: one level per step, as many as `count`
   boxes have, at most five. `node` is the node of this lane's box; on return, of the root over
   all lanes. `valid`: this lane has a box. */
__device__ void join_lanes(bounds &box, uint32_t &node, uint32_t count, bool valid, float4 *pairs) {
    for (uint32_t step = 1; step < 32 && step < count; step *= 2) {
        const bounds neighbour = bounds_beside(box, (int)step);
        node = (node - 1) / 2;
        if (valid && threadIdx.x % (2 * step) == 0)
            store_pair(pairs + 4ull * node, box, neighbour, {0, 0});
        box = joined(box, neighbour);
    }
}

/* Continues from a block's root upwards: of two children the one that finishes last computes
   their parent. The last float of a pair counts its finished children meanwhile; split_chunks
   has zeroed it. */
__device__ void join_above(bounds bounds, uint32_t node, float *pairs) {
    while (node > 0) {
        const uint32_t parent = (node - 1) / 2, right = 1 - node % 2;
        float *pair = pairs + 16ull * parent + 6 * right;
        pair[0] = bounds.lo.x, pair[1] = bounds.lo.y, pair[2] = bounds.lo.z;
        pair[3] = bounds.hi.x, pair[4] = bounds.hi.y, pair[5] = bounds.hi.z;
        __threadfence();
        if (atomicAdd((unsigned *)(pairs + 16ull * parent + 15), 1u) == 0) return;
        __threadfence();
        const volatile float *other = pairs + 16ull * parent + 6 * (1 - right);
        bounds = joined(bounds, {vec3_make(other[0], other[1], other[2]),
                                 vec3_make(other[3], other[4], other[5])});
        node = parent;
    }
}

/* Builds the pairs above the chunks; one block handles UPPER_BLOCK chunks from `first` on. */
__device__ void join_pairs(const view &index, uint32_t first, float4 *pairs) {
    __shared__ bounds of_warps[32];
    const uint32_t warp = threadIdx.x / 32, chunk = first + threadIdx.x;
    const bool valid = chunk < index.chunk_count;
    bounds box = {vec3_all(INFINITY), vec3_all(-INFINITY)};
    uint32_t node = index.chunk_count - 1 + chunk;
    if (valid) {
        const float4 *pair = pairs + 4ull * node;
        const float4 a = pair[0], b = pair[1], c = pair[2];
        box = {vec3_min(xyz(a), vec3_make(b.z, b.w, c.x)),
               vec3_max(vec3_make(a.w, b.x, b.y), vec3_make(c.y, c.z, c.w))};
    }
    join_lanes(box, node, index.chunk_count, valid, pairs);
    if (threadIdx.x % 32 == 0) of_warps[warp] = box;
    __syncthreads();
    if (warp > 0 || index.chunk_count < 32) return;
    box = of_warps[threadIdx.x];
    const uint32_t below = first / 32 + threadIdx.x; /* index on the level five levels up */
    node = index.chunk_count / 32 - 1 + below;
    join_lanes(box, node, index.chunk_count / 32, below < index.chunk_count / 32, pairs);
    if (threadIdx.x == 0 && index.chunk_count > UPPER_BLOCK) join_above(box, node, (float *)pairs);
}

/* Computes the boxes from `level` on, the planes and the pairs, which are independent of each
   other. */
__global__ __launch_bounds__(UPPER_BLOCK) void finish_index(const __grid_constant__ view index,
                                                            uint32_t level, float4 *boxes,
                                                            upper_nodes nodes, float4 *pairs) {
    if (blockIdx.x == 0) {
        join_upper_boxes(index, level, boxes);
        return;
    }
    const uint32_t first = (blockIdx.x - 1) * UPPER_BLOCK;
    list_plane(nodes, first + threadIdx.x);
    if (first < index.chunk_count) join_pairs(index, first, pairs);
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
    out->points = (float *)cuda_arena_take(arena, n + 32ull, sizeof(float4)); /* padded: warps
                                                                                 read 32 points
                                                                                 at a time */
    /* If most sub-trees lack their last level, chunks have half as many leaves. */
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
    out->outliers = (uint32_t *)cuda_arena_take(arena, out->chunk_count, sizeof(uint32_t));
    out->ties = (uint32_t *)cuda_arena_take(arena, 1, sizeof(uint32_t));
    out->pair_count = 2 * leaves - 1;
    out->pairs = (float *)cuda_arena_take(arena, out->pair_count, 4 * sizeof(float4));
}

template <typename real>
kd_status gather(const point_index_cuda *index, const point_build_cuda *a, cudaStream_t stream) {
    const point_array *points = &a->points;
    gather_points<real><<<cuda_blocks(points->count * points->dims, BLOCK), BLOCK, 0, stream>>>(
        (const real *)points->coordinates, (int)(points->stride_bytes / sizeof(real)),
        (int)points->dims, a->ids, index->tree.count, (real *)index->tree.coordinates);
    KD_CUDA_LAUNCHED("gather_points");
    return KD_OK;
}

/* Fills the leaves and builds the boxes above them. */
kd_status split_points(const point_index_cuda *index, const point_build_cuda *a,
                       cudaStream_t stream) {
    const view v = view_of(index);
    float *nodes = (float *)index->tree.coordinates;
    float4 *boxes = (float4 *)index->boxes;
    const split_input in = {(const float *)a->points.coordinates,
                            (int)(a->points.stride_bytes / sizeof(float)), a->ids,
                            kandela::layout_of(v.count), nodes};
    split_chunks<<<v.chunk_count, SPLIT_THREADS, 0, stream>>>(
        v, in, (float4 *)index->points, index->outliers,
        {boxes, (float4 *)index->pairs, index->ties});
    KD_CUDA_LAUNCHED("split_chunks");
    uint32_t level = 1;
    for (; level <= index->box_levels && index->box_count[level] > UPPER_BOXES; ++level) {
        join_boxes<<<cuda_blocks(32ull * index->box_count[level], BLOCK), BLOCK, 0, stream>>>(
            v, level, boxes);
        KD_CUDA_LAUNCHED("join_boxes");
    }
    const uint32_t planes = index->box_count[1] - 1;
    const uint32_t threads = planes > v.chunk_count ? planes : v.chunk_count;
    finish_index<<<1 + (threads + UPPER_BLOCK - 1) / UPPER_BLOCK, UPPER_BLOCK, 0, stream>>>(
        v, level, boxes, {nodes, index->tree.axes, planes, (float2 *)index->planes, index->ties},
        (float4 *)index->pairs);
    KD_CUDA_LAUNCHED("finish_index");
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
    KD_REQUIRE(arena.used <= bytes, KD_ERROR_MEMORY, "the leaf index has %zu bytes; %zu are needed",
               bytes, arena.used);
    if (a->points.count == 0) return KD_OK;
    const cudaStream_t stream = (cudaStream_t)a->stream;
    if (!out->points)
        return a->points.scalar == POINT_DOUBLE ? gather<double>(out, a, stream)
                                                : gather<float>(out, a, stream);
    return split_points(out, a, stream);
}

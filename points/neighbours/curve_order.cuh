/* The order in which queries are processed: neighbours in space become neighbours in a warp.
   Source: Hilbert curve by Skilling 2004, "Programming the Hilbert curve".
   Idea: a curve over the whole bounding box has too few cells in dense regions. So the first part
         of a query's code is the group of 32 leaves whose region contains it, found by the tree's
         planes, and the second its position on a curve through that group's box. Points on walls
         and in small clusters occupy few cells of the box, so the code uses all bits of a word,
         about 31: four passes of a radix sort.
   Memory: 16 bytes per query, and the scratch of the sort.
   Data flow: find_codes, one thread per query: queries, the tree's planes, group boxes -> codes and
              query indices; a radix sort of both; the neighbour kernels read the indices in that
              order. */
#ifndef KD_POINTS_NEIGHBOURS_CURVE_ORDER_CUH
#define KD_POINTS_NEIGHBOURS_CURVE_ORDER_CUH
#include "core/device/device_sort.cuh"
#include "points/neighbours/leaf_index.cuh"

namespace point_index {

constexpr int ORDER_BLOCK = 256;
constexpr uint32_t CODE_BITS = 32; /* maximum */

struct code_plan {
    uint32_t levels; /* levels of the tree above the groups */
    uint32_t bits;   /* bits of the curve per axis */
};

inline code_plan code_plan_of(const point_index_cuda *index) {
    if (!index->points || !index->tree.count) return {0, 2};
    const uint32_t levels = pointtree_log2(index->box_count[1]);
    const uint32_t bits = levels < CODE_BITS ? (CODE_BITS - levels) / 3 : 0;
    return {levels, bits < 2 ? 2 : bits};
}

__device__ inline uint32_t curve_cell(float x, float lo, float scale, uint32_t maximum) {
    const float at = (x - lo) * scale;
    return at > 0 ? at < (float)maximum ? (uint32_t)at : maximum : 0;
}

/* Returns the position of cell (x, y, z) on the Hilbert curve with `bits` bits per axis. */
__device__ inline uint32_t hilbert_place(uint32_t x, uint32_t y, uint32_t z, uint32_t bits) {
    for (uint32_t q = 1u << (bits - 1); q > 1; q >>= 1) {
        const uint32_t p = q - 1;
        if (x & q) x ^= p;
        const uint32_t u = y & q ? 0 : (x ^ y) & p;
        x ^= y & q ? p : u, y ^= u;
        const uint32_t v = z & q ? 0 : (x ^ z) & p;
        x ^= z & q ? p : v, z ^= v;
    }
    y ^= x, z ^= y;
    uint32_t t = 0, place = 0;
    for (uint32_t q = 1u << (bits - 1); q > 1; q >>= 1)
        if (z & q) t ^= q - 1;
    x ^= t, y ^= t, z ^= t;
    for (uint32_t i = bits; i-- > 0;)
        place = place << 3 | (x >> i & 1) << 2 | (y >> i & 1) << 1 | (z >> i & 1);
    return place;
}

/* Returns the group of 32 leaves, `levels` below the root, whose region contains a query. */
__device__ inline uint32_t find_group(const view &index, vec3 q, uint32_t levels) {
    uint32_t node = 0;
    for (uint32_t level = 0; level < levels; ++level) {
        const float2 plane = index.planes[node];
        const uint32_t axis = __float_as_uint(plane.y);
        const float x = axis == 0 ? q.x : axis == 1 ? q.y : q.z;
        node = 2 * node + 1 + !(x < plane.x);
    }
    return node + 1 - (1u << levels);
}

static __global__ void find_codes(const __grid_constant__ view index, point_queries queries,
                                  code_plan plan, uint32_t *codes, uint32_t *which) {
    const uint32_t i = blockIdx.x * ORDER_BLOCK + threadIdx.x;
    if (i >= queries.count) return;
    const vec3 q = query_point(queries, i);
    const uint32_t group = find_group(index, q, plan.levels), maximum = (1u << plan.bits) - 1;
    const float4 *box = index.boxes + 2 * (index.box_begin[1] + (uint64_t)group);
    const float4 a = box[0], b = box[1];
    const float side = fmaxf(a.w - a.x, fmaxf(b.x - a.y, b.y - a.z));
    const float scale = side > 0 ? (float)(maximum + 1) / side : 0.0f;
    codes[i] =
        group << 3 * plan.bits |
        hilbert_place(curve_cell(q.x, a.x, scale, maximum), curve_cell(q.y, a.y, scale, maximum),
                      curve_cell(q.z, a.z, scale, maximum), plan.bits);
    which[i] = i;
}

/* --- the sort ------------------------------------------------------------------------------- */

struct curve_sort {
    code_plan code;
    uint32_t *codes, *codes_sorted, *numbers, *order;
    void *cub;
    size_t cub_bytes;
};

/* With scratch NULL, only stores the scratch size of the sort in *bytes. */
inline kd_status sort_codes(void *scratch, size_t *bytes, const curve_sort *s, uint64_t count,
                            cudaStream_t stream) {
    return device_sort_pairs(scratch, bytes, s->codes, s->codes_sorted, s->numbers, s->order,
                             (uint32_t)count, (int)(s->code.levels + 3 * s->code.bits), stream);
}

inline kd_status lay_out_sort(curve_sort *s, cuda_arena *arena, const point_index_cuda *index,
                              uint64_t count) {
    s->code = code_plan_of(index);
    s->codes = (uint32_t *)cuda_arena_take(arena, count, sizeof(uint32_t));
    s->codes_sorted = (uint32_t *)cuda_arena_take(arena, count, sizeof(uint32_t));
    s->numbers = (uint32_t *)cuda_arena_take(arena, count, sizeof(uint32_t));
    s->order = (uint32_t *)cuda_arena_take(arena, count, sizeof(uint32_t));
    KD_TRY(sort_codes(NULL, &s->cub_bytes, s, count, 0));
    s->cub = cuda_arena_take(arena, s->cub_bytes, 1);
    return KD_OK;
}

/* Computes the codes of the queries and sorts them; the results are s->order and
   s->codes_sorted. */
inline kd_status sort_queries(curve_sort *s, const point_index_cuda *index,
                              const point_queries &queries, cudaStream_t stream) {
    find_codes<<<(queries.count + ORDER_BLOCK - 1) / ORDER_BLOCK, ORDER_BLOCK, 0, stream>>>(
        view_of(index), queries, s->code, s->codes, s->numbers);
    KD_CUDA_LAUNCHED("find_codes");
    return sort_codes(s->cub, &s->cub_bytes, s, queries.count, stream);
}

} // namespace point_index
#endif

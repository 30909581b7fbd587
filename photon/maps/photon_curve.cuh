/* Sorts photons along a Morton curve, for their index.
   Source: Morton 1966, "A computer oriented geodetic data base".
   Idea: a tree whose split axis alternates also splits across a wall, where all photons have the
         same coordinate: one level in three separates nothing, and the leaves of a plane overlap,
         some tens of them at each point. Photons that are adjacent on the curve are close in space,
         on planes as elsewhere, and a sort takes half of the time of a tree.
   Work: two passes over the positions, and a sort by 48 bits.
   Memory: temporarily 20 bytes per photon, and what the sort needs.
   Invariants: (dist2, id) decides which photons a lookup uses, so their order has no effect.
   Data flow: bound_places, blocks of threads, reads positions and writes the bits of their box by
              atomics; code_places, one thread per photon, reads both and writes codes and indices;
              a sort of these gives the indices in order, which are the index's ids. */
#ifndef KD_PHOTON_MAPS_PHOTON_CURVE_CUH
#define KD_PHOTON_MAPS_PHOTON_CURVE_CUH
#include "core/device/device_sort.cuh"
#include "photon/density/photon_leaves.cuh"

namespace photon_curve {
using gather_index::ALL;
using gather_index::lane_id;

constexpr int BLOCK = 256;
constexpr unsigned BOUND_BLOCKS = 264;
constexpr uint32_t AXIS_BITS = 16;

struct sorting {
    const vec3 *places;
    uint32_t count;
    uint32_t *lo, *hi; /* order-preserving bits of three coordinates each */
    uint64_t *codes, *codes_sorted;
    uint32_t *numbers;
    void *cub;
    size_t cub_bytes;
};

static __global__ __launch_bounds__(BLOCK) void bound_places(const __grid_constant__ sorting sort) {
    uint32_t lo[3] = {KD_NONE, KD_NONE, KD_NONE}, hi[3] = {0, 0, 0};
    for (uint32_t i = blockIdx.x * BLOCK + threadIdx.x; i < sort.count; i += gridDim.x * BLOCK) {
        const vec3 p = sort.places[i];
        const uint32_t bits[3] = {pointtree_order_bits(p.x), pointtree_order_bits(p.y),
                                  pointtree_order_bits(p.z)};
        for (int axis = 0; axis < 3; ++axis) {
            lo[axis] = min(lo[axis], bits[axis]);
            hi[axis] = max(hi[axis], bits[axis]);
        }
    }
    for (int axis = 0; axis < 3; ++axis) {
        const uint32_t minimum = __reduce_min_sync(ALL, lo[axis]);
        const uint32_t maximum = __reduce_max_sync(ALL, hi[axis]);
        if (lane_id()) continue;
        atomicMin(sort.lo + axis, minimum);
        atomicMax(sort.hi + axis, maximum);
    }
}

/* Spreads the bits of a cell coordinate, with two zeros after each. */
__device__ __forceinline__ uint64_t spread(uint32_t cell) {
    uint64_t x = cell;
    x = (x | x << 16) & 0x0000ff0000ffull;
    x = (x | x << 8) & 0x00f00f00f00full;
    x = (x | x << 4) & 0x0c30c30c30c3ull;
    return (x | x << 2) & 0x249249249249ull;
}

__device__ __forceinline__ uint32_t cell_of(float x, float lo, float scale) {
    const float at = (x - lo) * scale, maximum = (float)((1u << AXIS_BITS) - 1);
    return at > 0 ? (uint32_t)fminf(at, maximum) : 0;
}

/* Code of a place; `scale`: cells per unit of length. */
__device__ __forceinline__ uint64_t code_of(vec3 p, vec3 lo, float scale) {
    return spread(cell_of(p.x, lo.x, scale)) << 2 | spread(cell_of(p.y, lo.y, scale)) << 1 |
           spread(cell_of(p.z, lo.z, scale));
}

static __global__ __launch_bounds__(BLOCK) void code_places(const __grid_constant__ sorting sort) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= sort.count) return;
    float lo[3], side = 0;
    for (int axis = 0; axis < 3; ++axis) {
        lo[axis] = pointtree_float_of_order_bits(sort.lo[axis]);
        side = fmaxf(side, pointtree_float_of_order_bits(sort.hi[axis]) - lo[axis]);
    }
    const float scale = side > 0 ? (float)(1u << AXIS_BITS) / side : 0;
    sort.codes[i] = code_of(sort.places[i], vec3_make(lo[0], lo[1], lo[2]), scale);
    sort.numbers[i] = i;
}

/* If `scratch` is NULL, only sets sort->cub_bytes to the scratch memory that the sort needs. */
inline kd_status sort_codes(sorting *sort, void *scratch, uint32_t *order, cudaStream_t stream) {
    return device_sort_pairs(scratch, &sort->cub_bytes, sort->codes, sort->codes_sorted,
                             sort->numbers, order, sort->count, 3 * (int)AXIS_BITS, stream);
}

inline kd_status lay_out(sorting *out, cuda_arena *arena, const vec3 *places, uint32_t count) {
    memset(out, 0, sizeof *out);
    out->places = places;
    out->count = count;
    out->lo = (uint32_t *)cuda_arena_take(arena, 3, sizeof(uint32_t));
    out->hi = (uint32_t *)cuda_arena_take(arena, 3, sizeof(uint32_t));
    out->codes = (uint64_t *)cuda_arena_take(arena, count, sizeof(uint64_t));
    out->codes_sorted = (uint64_t *)cuda_arena_take(arena, count, sizeof(uint64_t));
    out->numbers = (uint32_t *)cuda_arena_take(arena, count, sizeof(uint32_t));
    KD_TRY(sort_codes(out, NULL, NULL, 0));
    out->cub = cuda_arena_take(arena, out->cub_bytes, 1);
    return KD_OK;
}

/* Sets order[i] to the index of the i-th photon along the curve. */
inline kd_status sort(sorting *sort, uint32_t *order, cudaStream_t stream) {
    KD_CUDA(cudaMemsetAsync(sort->lo, 0xff, 3 * sizeof *sort->lo, stream));
    KD_CUDA(cudaMemsetAsync(sort->hi, 0, 3 * sizeof *sort->hi, stream));
    bound_places<<<BOUND_BLOCKS, BLOCK, 0, stream>>>(*sort);
    KD_CUDA_LAUNCHED("bound_places");
    code_places<<<(sort->count + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(*sort);
    KD_CUDA_LAUNCHED("code_places");
    return sort_codes(sort, sort->cub, order, stream);
}

} // namespace photon_curve
#endif

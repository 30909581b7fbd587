/* Order of points along a Morton curve, by cells of the scene's box.
   Idea: lookups of neighbouring points read the same nodes and photons. Rays end all over the scene,
         so they are sorted before their lookups.
   Work: a sort by 24 or 26 bits.
   Memory: 16 bytes per point, and CUB's.
   Data flow: code_places, one thread per point, reads points and writes cells and numbers, which a
              sort turns into the order. */
#include "photon/density/estimate.h"
#include "photon/maps/photon_curve.cuh"
#include "photon/maps/place_order.h"

namespace {

constexpr int BLOCK = 128;
constexpr uint32_t CODE_BITS = 24, REQUEST_BITS = CODE_BITS + 2;

/* Points as float4. */
struct point_places {
    const float4 *points;

    __device__ __forceinline__ vec3 place(uint32_t i) const {
        return vec3_make(points[i].x, points[i].y, points[i].z);
    }
    __device__ __forceinline__ uint32_t group(uint32_t) const { return 0; }
};

struct request_places {
    const eye_request *requests;

    __device__ __forceinline__ vec3 place(uint32_t i) const { return requests[i].at.position; }
    __device__ __forceinline__ uint32_t group(uint32_t i) const {
        return (requests[i].next & 1) << 1 | (requests[i].at.kind != MATERIAL_DIFFUSE ? 1 : 0);
    }
};

struct place_sorting {
    uint32_t count;
    vec3 lo;
    float scale; /* cells per unit of length */
    uint32_t *codes, *codes_sorted, *numbers, *order;
    void *cub;
    size_t cub_bytes;
};

template <class PLACES>
__global__ __launch_bounds__(BLOCK) void code_places(const PLACES places,
                                                     const __grid_constant__ place_sorting sort) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= sort.count) return;
    const uint64_t code = photon_curve::code_of(places.place(i), sort.lo, sort.scale);
    sort.codes[i] = places.group(i) << CODE_BITS |
                    (uint32_t)(code >> (3 * photon_curve::AXIS_BITS - CODE_BITS));
    sort.numbers[i] = i;
}

void lay_out_sorting(place_sorting *out, cuda_arena *arena) {
    out->order = (uint32_t *)cuda_arena_take(arena, out->count, sizeof(uint32_t));
    out->codes = (uint32_t *)cuda_arena_take(arena, out->count, sizeof(uint32_t));
    out->codes_sorted = (uint32_t *)cuda_arena_take(arena, out->count, sizeof(uint32_t));
    out->numbers = (uint32_t *)cuda_arena_take(arena, out->count, sizeof(uint32_t));
    out->cub = cuda_arena_take(arena, out->cub_bytes, 1);
}

kd_status sort_codes(place_sorting *sort, uint32_t bits) {
    return device_sort_pairs(sort->cub, &sort->cub_bytes, sort->codes, sort->codes_sorted,
                             sort->numbers, sort->order, sort->count, (int)bits, 0);
}

template <class PLACES>
kd_status sort_places(place_order *order, const PLACES &places, uint32_t bits) {
    const vec3 size = box3_size(order->box);
    const float side = fmaxf(size.x, fmaxf(size.y, size.z));
    place_sorting sort;
    cuda_arena arena = {NULL, 0};
    order->order = NULL;
    if (order->count == 0 || !(side > 0)) return KD_OK;
    memset(&sort, 0, sizeof sort);
    sort.count = order->count;
    sort.lo = order->box.lo;
    sort.scale = (float)(1u << photon_curve::AXIS_BITS) / side;
    KD_TRY(sort_codes(&sort, bits));
    lay_out_sorting(&sort, &arena);
    if (arena.used > order->scratch_bytes) return KD_OK;
    arena = {(char *)order->scratch, 0};
    lay_out_sorting(&sort, &arena);
    code_places<<<cuda_blocks(sort.count, BLOCK), BLOCK>>>(places, sort);
    KD_CUDA_LAUNCHED("code_places");
    order->order = sort.order;
    return sort_codes(&sort, bits);
}

} // namespace

extern "C" kd_status place_order_points(place_order *order, const void *points) {
    const point_places places = {(const float4 *)points};
    return sort_places(order, places, CODE_BITS);
}

extern "C" kd_status place_order_requests(place_order *order, const eye_request *requests) {
    const request_places places = {requests};
    return sort_places(order, places, REQUEST_BITS);
}

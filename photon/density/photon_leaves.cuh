/* Index of photons on a device: photons in the order of a curve (photon/maps/photon_curve.cuh), cut
   into leaves of 32, with bounding boxes in groups of 32.
   Idea: a warp per query. In a group of boxes, each lane holds the distance to one box, and the
         warp descends into the nearest; the group's other distances remain in shared memory. In a
         leaf, each lane tests a photon.
   Memory: 68 bytes per photon, and 1 to 2 for boxes.
   Data flow: place_in_order, one thread per photon, reads the list and ids, and writes photons in
              order; bound_boxes, one warp per box, once per level from the leaves up,
              reads photons or the boxes of the level below, and writes boxes. The gathering kernels
              read the index. */
#ifndef KD_PHOTON_DENSITY_PHOTON_LEAVES_CUH
#define KD_PHOTON_DENSITY_PHOTON_LEAVES_CUH
#include "core/device/cuda.h"
#include "photon/emission/photon_tile.cuh"
#include "points/tree/walk.h"

namespace gather_index {

constexpr unsigned ALL = 0xffffffffu;
constexpr int LEVELS = 6, INDEX_BLOCK = 256;

struct index {
    float4 *points;  /* in order: position; index of the photon in the list, as bits */
    float4 *records; /* three per photon, in order: position, power, direction, each with a
                        coordinate of the normal as fourth component */
    uint32_t *ids;   /* in order: index of the photon in the list */
    float4 *boxes; /* two per box: lo, hi, two words unused; leaves first, then groups of 32 boxes,
                      and so on */
    uint32_t box_begin[LEVELS], box_count[LEVELS], box_levels;
    uint32_t count;
};

__device__ __forceinline__ uint32_t lane_id() {
    return threadIdx.x & 31;
}

__device__ __forceinline__ vec3 xyz(const float4 &value) {
    return vec3_make(value.x, value.y, value.z);
}

/* --- construction ----------------------------------------------------------------------------- */

inline void lay_out(index *out, cuda_arena *arena, uint32_t count) {
    uint32_t boxes = (count + 31) / 32, all = 0;
    memset(out, 0, sizeof *out);
    out->count = count;
    out->points = (float4 *)cuda_arena_take(arena, count, sizeof(float4));
    out->records = (float4 *)cuda_arena_take(arena, count, 3 * sizeof(float4));
    out->ids = (uint32_t *)cuda_arena_take(arena, count, sizeof(uint32_t));
    for (;; boxes = (boxes + 31) / 32) {
        out->box_begin[out->box_levels] = all;
        out->box_count[out->box_levels++] = boxes;
        all += boxes;
        if (boxes <= 32) break;
    }
    out->boxes = (float4 *)cuda_arena_take(arena, all, 2 * sizeof(float4));
}

static __global__
__launch_bounds__(INDEX_BLOCK) void place_in_order(const photon *list,
                                                   const __grid_constant__ index index) {
    __shared__ photon_tile<INDEX_BLOCK> tile;
    __shared__ uint32_t ids[INDEX_BLOCK];
    const uint32_t begin = blockIdx.x * INDEX_BLOCK, place = begin + threadIdx.x;
    const bool is = place < index.count;
    const uint32_t id = is ? index.ids[place] : 0;
    ids[threadIdx.x] = id;
    __syncthreads();
    tile.gather(list, ids, min((uint32_t)INDEX_BLOCK, index.count - begin));
    if (!is) return;
    const photon from = tile.get();
    const vec3 p = from.position, power = from.power, d = from.direction, n = from.normal;
    float4 *to = index.records + 3 * (uint64_t)place;
    index.points[place] = make_float4(p.x, p.y, p.z, __uint_as_float(id));
    to[0] = make_float4(p.x, p.y, p.z, n.x);
    to[1] = make_float4(power.x, power.y, power.z, n.y);
    to[2] = make_float4(d.x, d.y, d.z, n.z);
}

__device__ __forceinline__ float warp_min(float x) {
    return pointtree_float_of_order_bits(__reduce_min_sync(ALL, pointtree_order_bits(x)));
}

__device__ __forceinline__ float warp_max(float x) {
    return pointtree_float_of_order_bits(__reduce_max_sync(ALL, pointtree_order_bits(x)));
}

/* One warp per box: bounds the photons of a leaf, or 32 boxes of the level below. */
static __global__
__launch_bounds__(INDEX_BLOCK) void bound_boxes(const __grid_constant__ index index,
                                                uint32_t level) {
    const uint32_t box = (blockIdx.x * INDEX_BLOCK + threadIdx.x) / 32;
    if (box >= index.box_count[level]) return;
    vec3 lo = vec3_all(INFINITY), hi = vec3_all(-INFINITY);
    if (level == 0) {
        const uint32_t at = 32 * box + lane_id();
        if (at < index.count) lo = hi = xyz(index.points[at]);
    } else if (box * 32 + lane_id() < index.box_count[level - 1]) {
        const uint64_t child = index.box_begin[level - 1] + box * 32ull + lane_id();
        const float4 a = index.boxes[2 * child], b = index.boxes[2 * child + 1];
        lo = xyz(a), hi = vec3_make(a.w, b.x, b.y);
    }
    lo = vec3_make(warp_min(lo.x), warp_min(lo.y), warp_min(lo.z));
    hi = vec3_make(warp_max(hi.x), warp_max(hi.y), warp_max(hi.z));
    if (lane_id()) return;
    const uint64_t to = index.box_begin[level] + (uint64_t)box;
    index.boxes[2 * to] = make_float4(lo.x, lo.y, lo.z, hi.x);
    index.boxes[2 * to + 1] = make_float4(hi.y, hi.z, 0, 0);
}

/* Fills the arrays from the list and out->ids. */
inline kd_status make(const index *out, const photon *list, cudaStream_t stream) {
    place_in_order<<<(out->count + INDEX_BLOCK - 1) / INDEX_BLOCK, INDEX_BLOCK, 0, stream>>>(list,
                                                                                             *out);
    KD_CUDA_LAUNCHED("place_in_order");
    for (uint32_t level = 0; level < out->box_levels; ++level) {
        const uint64_t threads = 32ull * out->box_count[level];
        bound_boxes<<<(unsigned)((threads + INDEX_BLOCK - 1) / INDEX_BLOCK), INDEX_BLOCK, 0,
                      stream>>>(*out, level);
        KD_CUDA_LAUNCHED("bound_boxes");
    }
    return KD_OK;
}

/* --- search ----------------------------------------------------------------------------------- */

struct descent {
    /* dist2, as bits, of the boxes not yet visited in the groups above */
    uint32_t left[LEVELS][32];
};

/* Bits of the smallest dist2 of any point in this lane's box, rounded like pointtree_dist2, so that
   it is a lower bound; KD_NONE if there is no box. */
__device__ __forceinline__ uint32_t group_dist2(const index &index, uint32_t level, uint32_t group,
                                                vec3 q) {
    const uint32_t box = group * 32 + lane_id();
    if (box >= index.box_count[level]) return KD_NONE;
    const float4 *at = index.boxes + 2 * (index.box_begin[level] + (uint64_t)box);
    const float4 a = __ldg(at), b = __ldg(at + 1);
    const float x = fmaxf(fmaxf(a.x - q.x, q.x - a.w), 0.0f);
    const float y = fmaxf(fmaxf(a.y - q.y, q.y - b.x), 0.0f);
    const float z = fmaxf(fmaxf(a.z - q.z, q.z - b.y), 0.0f);
    return __float_as_uint(x * x + y * y + z * z);
}

/* Calls take(dist2 bits, place), with a photon or none (KD_NONE) per lane, for every leaf that the
   bound does not exclude, nearest boxes first. bound() returns the bits of the largest dist2 of
   interest. */
template <class BOUND, class TAKE>
__device__ __forceinline__ void visit(const index &index, descent &path, vec3 q, const BOUND &bound,
                                      const TAKE &take) {
    uint32_t *above = &path.left[0][lane_id()]; /* plus 32: the next level */
    uint32_t level = index.box_levels - 1, group = 0;
    uint32_t left = group_dist2(index, level, 0, q);
    for (;;) {
        const uint32_t minimum = __reduce_min_sync(ALL, left);
        if (minimum > bound()) {
            if (++level == index.box_levels) return;
            left = above[32 * level];
            group >>= 5;
            continue;
        }
        const uint32_t nearest = (uint32_t)__ffs((int)__ballot_sync(ALL, left == minimum)) - 1;
        if (lane_id() == nearest) left = KD_NONE;
        const uint32_t box = group * 32 + nearest;
        if (level > 0) {
            above[32 * level] = left;
            group = box;
            left = group_dist2(index, --level, group, q);
            continue;
        }
        const uint32_t at = 32 * box + lane_id();
        uint32_t dist2 = KD_NONE;
        if (at < index.count)
            dist2 = __float_as_uint(pointtree_dist2(q, xyz(__ldg(index.points + at))));
        take(dist2, at);
    }
}

} // namespace gather_index
#endif

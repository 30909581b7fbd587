/* A block sorts the points of a sub-tree along one axis, by (coordinate, id).
   Idea: a counting sort with as many bins as there are points, linear in the coordinate; within a
   bin each point counts those before it. Where data crowd, rounds follow: each crowded bin is
   spread, linearly between its own ends, over as many bins as it has points, by coordinate, or, if
   all of these are equal, by id. Data that resist all rounds are still sorted rightly, by the
   counting within bins.
   Memory: shared: a float a point, two bytes a bin. */
#ifndef KD_PHOTON_KANDELA_CUDA_SORT_CUH
#define KD_PHOTON_KANDELA_CUDA_SORT_CUH
#include "photon/kandela_cuda_nodes.cuh"

namespace kandela {

constexpr int ITEMS = 8; /* points and slots a thread */
constexpr uint32_t CROWDED = 32;
constexpr int SORT_ROUNDS = 6;

/* The ends of a crowded bin. */
struct crowd {
    uint32_t least, most; /* order bits of the coordinates */
    uint32_t least_id, most_id;
};

template <int HEIGHT> struct bottom_shared {
    static constexpr int SLOTS = 1 << HEIGHT, THREADS = SLOTS / ITEMS, WARPS = THREADS / 32;
    alignas(16) uint16_t list[3][SLOTS]; /* points by their order on each axis */
    union {
        float coordinate[SLOTS]; /* while sorting */
        uint16_t placed[SLOTS];  /* the pivots, in order */
    };
    union {
        alignas(16) uint16_t bin[SLOTS]; /* while sorting: counts, then where bins begin */
        uint8_t side[SLOTS];             /* of each point: see kandela_cuda_bottom.cuh */
    };
    uint32_t warp_sum[2 * WARPS];
    struct {
        crowd ends;
        uint32_t at_least, at_most; /* points at the ends */
    } all;
};

__device__ inline uint32_t spread(float x, float least, float most, uint32_t bins) {
    const float scale = (float)bins / (most - least);
    const float at = (x - least) * scale;
    return at < (float)bins ? (uint32_t)at : bins - 1; /* NaN where the range overflows: last */
}

__device__ inline uint32_t spread_ids(const crowd &in, uint32_t bins, uint32_t id) {
    const float ids = (float)(in.most_id - in.least_id) + 1.0f;
    return spread((float)(id - in.least_id), 0.0f, ids, bins);
}

/* The bin of a point in one that begins at `begin` and is spread over `bins`. */
__device__ inline uint32_t spread_crowd(const crowd &in, uint32_t begin, uint32_t bins, float x,
                                        const float4 *record) {
    if (in.least != in.most)
        return begin + spread(x, pointtree_float_of_order_bits(in.least),
                              pointtree_float_of_order_bits(in.most), bins);
    return begin + spread_ids(in, bins, record_id(*record));
}

/* Most values lie inside the ends already and need no atomic. */
__device__ inline void widen(uint32_t *least, uint32_t *most, uint32_t value) {
    if (value < *(volatile uint32_t *)least) atomicMin(least, value);
    if (value > *(volatile uint32_t *)most) atomicMax(most, value);
}

/* Counts to begins. Returns whether a bin is crowded. */
template <int HEIGHT> __device__ bool scan_bins(bottom_shared<HEIGHT> &sh) {
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    uint4 packed = ((uint4 *)sh.bin)[t];
    uint32_t word[4] = {packed.x, packed.y, packed.z, packed.w}, sum = 0, most = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const uint32_t low = word[i] & 0xffff, high = word[i] >> 16;
        most = max(most, max(low, high));
        word[i] = sum | (sum + low) << 16;
        sum += low + high;
    }
    uint32_t before = sum;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(ALL_LANES, before, step);
        if (lane >= step) before += other;
    }
    if (lane == 31) sh.warp_sum[warp] = before;
    const bool crowded = __syncthreads_or(most > CROWDED);
    before -= sum;
    for (int w = 0; w < warp; ++w) before += sh.warp_sum[w];
    before |= before << 16;
    ((uint4 *)sh.bin)[t] =
        make_uint4(word[0] + before, word[1] + before, word[2] + before, word[3] + before);
    __syncthreads();
    return crowded;
}

template <int HEIGHT>
__device__ inline uint32_t bin_end(const bottom_shared<HEIGHT> &sh, uint32_t bin, uint32_t n) {
    return bin == sh.SLOTS - 1 ? n : sh.bin[bin + 1];
}

/* Loads the coordinates of an axis. */
template <int HEIGHT>
__device__ void load_axis(bottom_shared<HEIGHT> &sh, const float4 *records, uint32_t n, int axis) {
    float least = INFINITY, most = -INFINITY;
    if (threadIdx.x == 0) sh.all = {{FULL, 0, FULL, 0}, 0, 0};
    __syncthreads();
    const float *from = (const float *)records + axis;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t q = i * sh.THREADS + threadIdx.x;
        if (q >= n) continue;
        const float x = from[4 * q];
        sh.coordinate[q] = x;
        least = fminf(least, x), most = fmaxf(most, x);
    }
    const uint32_t least_bits = __reduce_min_sync(ALL_LANES, pointtree_order_bits(least));
    const uint32_t most_bits = __reduce_max_sync(ALL_LANES, pointtree_order_bits(most));
    if (threadIdx.x % 32 == 0) {
        atomicMin(&sh.all.ends.least, least_bits);
        atomicMax(&sh.all.ends.most, most_bits);
    }
    __syncthreads();
}

/* Counts the points at either end, and, if they crowd there, finds the ends of all ids. */
template <int HEIGHT>
__device__ void count_ends(bottom_shared<HEIGHT> &sh, const float4 *records, uint32_t n) {
    const float least = pointtree_float_of_order_bits(sh.all.ends.least);
    const float most = pointtree_float_of_order_bits(sh.all.ends.most);
    uint32_t at_least = 0, at_most = 0, least_id = FULL, most_id = 0;
    for (uint32_t q = threadIdx.x; q < n; q += sh.THREADS) {
        at_least += sh.coordinate[q] == least;
        at_most += sh.coordinate[q] == most;
    }
    const uint32_t both = __reduce_add_sync(ALL_LANES, at_least | at_most << 16);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&sh.all.at_least, both & 0xffff);
        atomicAdd(&sh.all.at_most, both >> 16);
    }
    __syncthreads();
    if (max(sh.all.at_least, sh.all.at_most) <= CROWDED) return;
    for (uint32_t q = threadIdx.x; q < n; q += sh.THREADS) {
        const uint32_t id = record_id(records[q]);
        least_id = min(least_id, id), most_id = max(most_id, id);
    }
    least_id = __reduce_min_sync(ALL_LANES, least_id);
    most_id = __reduce_max_sync(ALL_LANES, most_id);
    if (threadIdx.x % 32 == 0) {
        atomicMin(&sh.all.ends.least_id, least_id);
        atomicMax(&sh.all.ends.most_id, most_id);
    }
    __syncthreads();
}

/* The first bins: linear in the coordinate, but for points that crowd at either end (walls of a
   room), which have bins of their own, linear in the id. */
template <int HEIGHT>
__device__ void spread_all(const bottom_shared<HEIGHT> &sh, const float4 *records, uint32_t n,
                           uint32_t (&spot)[ITEMS]) {
    const crowd ends = sh.all.ends;
    const float least = pointtree_float_of_order_bits(ends.least);
    const float most = pointtree_float_of_order_bits(ends.most);
    const uint32_t low = sh.all.at_least > CROWDED ? sh.all.at_least : 0;
    const uint32_t high = sh.all.at_most > CROWDED && least != most ? sh.all.at_most : 0;
    const uint32_t bins = sh.SLOTS - low - high;
    const float scale = (float)bins / (most - least);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t q = i * sh.THREADS + threadIdx.x;
        if (q >= n) continue;
        const float x = sh.coordinate[q];
        uint32_t bin;
        if (low && x == least) {
            bin = spread_ids(ends, low, record_id(records[q]));
        } else if (high && x == most) {
            bin = low + bins + spread_ids(ends, high, record_id(records[q]));
        } else {
            const float at = (x - least) * scale;
            bin = low + (at < (float)bins ? (uint32_t)at : bins - 1);
        }
        spot[i] = bin << 16;
    }
}

/* Replaces the bin of each of this thread's points: spot = bin << 16 | arrival within the bin. */
template <int HEIGHT>
__device__ void spread_crowds(bottom_shared<HEIGHT> &sh, crowd *crowds, const float4 *records,
                              uint32_t n, uint32_t (&spot)[ITEMS]) {
    const int t = threadIdx.x;
    for (uint32_t i = t; i <= sh.SLOTS / (CROWDED + 1); i += sh.THREADS)
        crowds[i] = {FULL, 0, FULL, 0};
    __syncthreads();
#pragma unroll 1
    for (int by_id = 0; by_id < 2; ++by_id) { /* ids matter where all coordinates are equal */
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const uint32_t q = i * sh.THREADS + t;
            if (q >= n) continue;
            const uint32_t bin = spot[i] >> 16, begin = sh.bin[bin];
            if (bin_end(sh, bin, n) - begin <= CROWDED) continue;
            crowd *in = &crowds[begin / (CROWDED + 1)];
            if (!by_id)
                widen(&in->least, &in->most, pointtree_order_bits(sh.coordinate[q]));
            else if (in->least == in->most)
                widen(&in->least_id, &in->most_id, record_id(records[q]));
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t q = i * sh.THREADS + t;
        if (q >= n) continue;
        const uint32_t bin = spot[i] >> 16, begin = sh.bin[bin], size = bin_end(sh, bin, n) - begin;
        spot[i] = (size <= CROWDED ? begin
                                   : spread_crowd(crowds[begin / (CROWDED + 1)], begin, size,
                                                  sh.coordinate[q], &records[q]))
                  << 16;
    }
    __syncthreads();
}

template <int HEIGHT>
__device__ void count_bins(bottom_shared<HEIGHT> &sh, uint32_t n, uint32_t (&spot)[ITEMS]) {
    const int t = threadIdx.x;
    ((uint4 *)sh.bin)[t] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    uint32_t *words = (uint32_t *)sh.bin;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        if (i * sh.THREADS + t >= n) continue;
        const uint32_t bin = spot[i] >> 16, shift = (bin & 1) * 16;
        spot[i] |= atomicAdd(&words[bin >> 1], 1u << shift) >> shift & 0xffff;
    }
    __syncthreads();
}

/* The place of a point within its bin: it counts those before it. */
template <int HEIGHT>
__device__ uint32_t rank_in_bin(const bottom_shared<HEIGHT> &sh, const uint16_t *list,
                                const float4 *records, uint32_t n, uint32_t bin, uint32_t q) {
    const uint32_t begin = sh.bin[bin], end = bin_end(sh, bin, n);
    uint32_t rank = begin;
    if (end - begin == 1) return rank;
    const float x = sh.coordinate[q];
    for (uint32_t i = begin; i < end; ++i) {
        const uint32_t other = list[i];
        const float y = sh.coordinate[other];
        if (y < x || (y == x && other != q && record_id(records[other]) < record_id(records[q])))
            ++rank;
    }
    return rank;
}

/* The `n` points of a sub-tree, named by their index in `records`, in order along an axis. */
template <int HEIGHT>
__device__ void sort_axis(bottom_shared<HEIGHT> &sh, const float4 *records, uint32_t n, int axis) {
    const int t = threadIdx.x;
    uint16_t *list = sh.list[axis];
    uint32_t spot[ITEMS];
    load_axis(sh, records, n, axis);
    count_ends(sh, records, n);
    spread_all(sh, records, n, spot);
    count_bins(sh, n, spot);
    bool crowded = scan_bins(sh);
#pragma unroll 1
    for (int round = 1; crowded && round < SORT_ROUNDS; ++round) {
        spread_crowds(sh, (crowd *)list, records, n, spot);
        count_bins(sh, n, spot);
        crowded = scan_bins(sh);
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t q = i * sh.THREADS + t;
        if (q < n) list[sh.bin[spot[i] >> 16] + (spot[i] & 0xffff)] = (uint16_t)q;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t q = i * sh.THREADS + t;
        if (q < n) spot[i] = rank_in_bin(sh, list, records, n, spot[i] >> 16, q);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t q = i * sh.THREADS + t;
        if (q < n) list[spot[i]] = (uint16_t)q;
    }
    __syncthreads();
}

} // namespace kandela
#endif

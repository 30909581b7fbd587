/* A block sorts the points of a sub-tree along one axis, by (coordinate, id).
   Idea: a counting sort with twice as many bins as there may be points, linear in the coordinate.
         If no bin has more than five points, a sorting network over eight elements sorts within
         bins; otherwise each point counts the points of its bin that precede it. Where points are
         crowded, more rounds follow: each crowded bin is subdivided, linearly between its own
         extremes, into two bins per point, by coordinate or, if all its coordinates are equal, by
         id. Data for which all rounds fail are still sorted correctly, by counting within bins.
   Memory: shared memory: a float per point, two bytes per bin. */
#ifndef KD_POINTS_SELECT_BLOCK_SORT_CUH
#define KD_POINTS_SELECT_BLOCK_SORT_CUH
#include "points/tree/inorder.cuh"

namespace kandela {

constexpr int ITEMS = 8;                    /* points and slots per thread */
constexpr uint32_t SMALL = 5, CROWDED = 32; /* numbers of points in a bin */
constexpr int SORT_ROUNDS = 6;

/* The extremes of a crowded bin. */
struct crowd {
    uint32_t minimum, maximum; /* order bits of the coordinates */
    uint32_t min_id, max_id;
};

template <int HEIGHT> struct bottom_shared {
    static constexpr int SLOTS = 1 << HEIGHT, THREADS = SLOTS / ITEMS, WARPS = THREADS / 32;
    static constexpr int BINS = 2 * SLOTS;
    alignas(16) uint16_t list[3][SLOTS]; /* points in the order of each axis */
    union {
        float coordinate[SLOTS]; /* coordinates, while sorting */
        uint16_t placed[SLOTS];  /* the pivots, in order */
    };
    union {
        /* while sorting: counts, later the beginning of each bin */
        alignas(16) uint16_t bin[BINS];
        uint8_t side[SLOTS]; /* side of each point: see bottom.cuh */
    };
    uint32_t warp_sum[2 * WARPS];
    uint32_t warp_max[WARPS];
    struct {
        crowd ends;
        uint32_t at_least, at_most; /* number of points at the extremes */
    } all;
};

__device__ inline uint32_t spread(float x, float minimum, float maximum, uint32_t bins) {
    const float scale = (float)bins / (maximum - minimum);
    const float at = (x - minimum) * scale;
    return at < (float)bins ? (uint32_t)at : bins - 1; /* NaN if the range overflows: last bin */
}

__device__ inline uint32_t spread_ids(const crowd &crowd, uint32_t bins, uint32_t id) {
    const float ids = (float)(crowd.max_id - crowd.min_id) + 1.0f;
    return spread((float)(id - crowd.min_id), 0.0f, ids, bins);
}

/* Returns the new bin of a point of a crowded bin that begins at `begin` and is subdivided into
   `bins`. */
__device__ inline uint32_t spread_crowd(const crowd &crowd, uint32_t begin, uint32_t bins, float x,
                                        const float4 *record) {
    if (crowd.minimum != crowd.maximum)
        return begin + spread(x, pointtree_float_of_order_bits(crowd.minimum),
                              pointtree_float_of_order_bits(crowd.maximum), bins);
    return begin + spread_ids(crowd, bins, record_id(*record));
}

/* Most values already lie between the extremes and need no atomic operation. */
__device__ inline void widen(uint32_t *minimum, uint32_t *maximum, uint32_t value) {
    if (value < *(volatile uint32_t *)minimum) atomicMin(minimum, value);
    if (value > *(volatile uint32_t *)maximum) atomicMax(maximum, value);
}

/* Replaces the counts by the beginnings of the bins, sixteen bins per thread. Returns the largest
   count. */
template <int HEIGHT> __device__ uint32_t scan_bins(bottom_shared<HEIGHT> &sh) {
    constexpr int WORDS = sh.BINS / sh.THREADS / 2;
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    uint32_t word[WORDS], sum = 0, maximum = 0;
#pragma unroll
    for (int i = 0; i < WORDS; i += 4) {
        const uint4 packed = ((uint4 *)sh.bin)[(t * WORDS + i) / 4];
        word[i] = packed.x, word[i + 1] = packed.y, word[i + 2] = packed.z, word[i + 3] = packed.w;
    }
#pragma unroll
    for (int i = 0; i < WORDS; ++i) {
        const uint32_t low = word[i] & 0xffff, high = word[i] >> 16;
        maximum = max(maximum, max(low, high));
        word[i] = sum | (sum + low) << 16;
        sum += low + high;
    }
    uint32_t before = sum;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(ALL_LANES, before, step);
        if (lane >= step) before += other;
    }
    maximum = __reduce_max_sync(ALL_LANES, maximum);
    if (lane == 31) sh.warp_sum[warp] = before, sh.warp_max[warp] = maximum;
    __syncthreads();
    before -= sum;
    for (int w = 0; w < warp; ++w) before += sh.warp_sum[w];
    maximum = __reduce_max_sync(ALL_LANES, lane < sh.WARPS ? sh.warp_max[lane] : 0);
    before |= before << 16;
#pragma unroll
    for (int i = 0; i < WORDS; i += 4)
        ((uint4 *)sh.bin)[(t * WORDS + i) / 4] = make_uint4(
            word[i] + before, word[i + 1] + before, word[i + 2] + before, word[i + 3] + before);
    __syncthreads();
    return maximum;
}

template <int HEIGHT>
__device__ inline uint32_t bin_end(const bottom_shared<HEIGHT> &sh, uint32_t bin, uint32_t n) {
    return bin == sh.BINS - 1 ? n : sh.bin[bin + 1];
}

/* Loads the coordinates of an axis and finds their extremes. */
template <int HEIGHT>
__device__ void load_axis(bottom_shared<HEIGHT> &sh, const float4 *records, uint32_t n, int axis) {
    float minimum = INFINITY, maximum = -INFINITY;
    if (threadIdx.x == 0) sh.all = {{FULL, 0, FULL, 0}, 0, 0};
    __syncthreads();
    const float *from = (const float *)records + axis;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t q = i * sh.THREADS + threadIdx.x;
        if (q >= n) continue;
        const float x = from[4 * q];
        sh.coordinate[q] = x;
        minimum = fminf(minimum, x), maximum = fmaxf(maximum, x);
    }
    const uint32_t min_bits = __reduce_min_sync(ALL_LANES, pointtree_order_bits(minimum));
    const uint32_t max_bits = __reduce_max_sync(ALL_LANES, pointtree_order_bits(maximum));
    if (threadIdx.x % 32 == 0) {
        atomicMin(&sh.all.ends.minimum, min_bits);
        atomicMax(&sh.all.ends.maximum, max_bits);
    }
    __syncthreads();
}

/* Counts the points at either extreme and, if these are crowded, finds the extremes of all ids.
   Returns whether they are. */
template <int HEIGHT>
__device__ bool count_ends(bottom_shared<HEIGHT> &sh, const float4 *records, uint32_t n) {
    const float minimum = pointtree_float_of_order_bits(sh.all.ends.minimum);
    const float maximum = pointtree_float_of_order_bits(sh.all.ends.maximum);
    uint32_t at_least = 0, at_most = 0, min_id = FULL, max_id = 0;
    for (uint32_t q = threadIdx.x; q < n; q += sh.THREADS) {
        at_least += sh.coordinate[q] == minimum;
        at_most += sh.coordinate[q] == maximum;
    }
    const uint32_t packed_counts = __reduce_add_sync(ALL_LANES, at_least | at_most << 16);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&sh.all.at_least, packed_counts & 0xffff);
        atomicAdd(&sh.all.at_most, packed_counts >> 16);
    }
    __syncthreads();
    if (max(sh.all.at_least, sh.all.at_most) <= CROWDED) return false;
    for (uint32_t q = threadIdx.x; q < n; q += sh.THREADS) {
        const uint32_t id = record_id(records[q]);
        min_id = min(min_id, id), max_id = max(max_id, id);
    }
    min_id = __reduce_min_sync(ALL_LANES, min_id);
    max_id = __reduce_max_sync(ALL_LANES, max_id);
    if (threadIdx.x % 32 == 0) {
        atomicMin(&sh.all.ends.min_id, min_id);
        atomicMax(&sh.all.ends.max_id, max_id);
    }
    __syncthreads();
    return true;
}

/* Assigns the first bins: linear in the coordinate. */
template <int HEIGHT>
__device__ void spread_all(const bottom_shared<HEIGHT> &sh, uint32_t n, uint32_t (&spot)[ITEMS]) {
    const float minimum = pointtree_float_of_order_bits(sh.all.ends.minimum);
    const float maximum = pointtree_float_of_order_bits(sh.all.ends.maximum);
    const float scale = (float)sh.BINS / (maximum - minimum);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t q = i * sh.THREADS + threadIdx.x;
        if (q >= n) continue;
        const float at = (sh.coordinate[q] - minimum) * scale;
        spot[i] = (at < (float)sh.BINS ? (uint32_t)at : sh.BINS - 1) << 16;
    }
}

/* Assigns the first bins if points are crowded at an extreme (such as the walls of a room): these
   points get bins of their own, linear in the id. */
template <int HEIGHT>
__device__ void spread_with_ends(const bottom_shared<HEIGHT> &sh, const float4 *records, uint32_t n,
                                 uint32_t (&spot)[ITEMS]) {
    const crowd ends = sh.all.ends;
    const float minimum = pointtree_float_of_order_bits(ends.minimum);
    const float maximum = pointtree_float_of_order_bits(ends.maximum);
    const uint32_t low = sh.all.at_least > CROWDED ? 2 * sh.all.at_least : 0;
    const uint32_t high = sh.all.at_most > CROWDED && minimum != maximum ? 2 * sh.all.at_most : 0;
    const uint32_t bins = sh.BINS - low - high;
    const float scale = (float)bins / (maximum - minimum);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t q = i * sh.THREADS + threadIdx.x;
        if (q >= n) continue;
        const float x = sh.coordinate[q];
        uint32_t bin;
        if (low && x == minimum) {
            bin = spread_ids(ends, low, record_id(records[q]));
        } else if (high && x == maximum) {
            bin = low + bins + spread_ids(ends, high, record_id(records[q]));
        } else {
            const float at = (x - minimum) * scale;
            bin = low + (at < (float)bins ? (uint32_t)at : bins - 1);
        }
        spot[i] = bin << 16;
    }
}

/* Subdivides the crowded bins: replaces the bin of each of this thread's points; spot = bin << 16 |
   arrival within the bin. */
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
                widen(&in->minimum, &in->maximum, pointtree_order_bits(sh.coordinate[q]));
            else if (in->minimum == in->maximum)
                widen(&in->min_id, &in->max_id, record_id(records[q]));
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t q = i * sh.THREADS + t;
        if (q >= n) continue;
        const uint32_t bin = spot[i] >> 16, begin = sh.bin[bin], size = bin_end(sh, bin, n) - begin;
        spot[i] = (size <= CROWDED ? 2 * begin
                                   : spread_crowd(crowds[begin / (CROWDED + 1)], 2 * begin,
                                                  2 * size, sh.coordinate[q], &records[q]))
                  << 16;
    }
    __syncthreads();
}

template <int HEIGHT>
__device__ void count_bins(bottom_shared<HEIGHT> &sh, uint32_t n, uint32_t (&spot)[ITEMS]) {
    const int t = threadIdx.x;
    constexpr int PARTS = sh.BINS * sizeof(uint16_t) / sizeof(uint4) / sh.THREADS;
#pragma unroll
    for (int i = 0; i < PARTS; ++i) ((uint4 *)sh.bin)[i * sh.THREADS + t] = make_uint4(0, 0, 0, 0);
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

/* Returns the sorted position of a point of a bin by counting the points of the bin that precede
   it. */
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

/* Sorts runs of equal coordinates by id, among eight points sorted by coordinate. */
__device__ inline void order_ties(const float (&x)[8], uint32_t (&point)[8],
                                  const float4 *records) {
    bool tied = false;
#pragma unroll
    for (int i = 0; i + 1 < 8; ++i) tied |= x[i] == x[i + 1] && x[i] < INFINITY;
    if (!tied) return;
    uint32_t id[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) id[i] = x[i] < INFINITY ? record_id(records[point[i]]) : 0;
    while (tied) {
        tied = false;
#pragma unroll
        for (int i = 0; i + 1 < 8; ++i) {
            if (!(x[i] == x[i + 1] && id[i + 1] < id[i])) continue;
            const uint32_t next = id[i + 1], moved = point[i + 1];
            id[i + 1] = id[i], point[i + 1] = point[i];
            id[i] = next, point[i] = moved;
            tied = true;
        }
    }
}

/* Sorts eight elements of a list from position `at` on; those from `n` on do not exist. */
template <int HEIGHT>
__device__ void sort_eight_places(const bottom_shared<HEIGHT> &sh, uint16_t *list,
                                  const float4 *records, uint32_t n, uint32_t at) {
    constexpr int low[19] = {0, 1, 4, 5, 0, 1, 2, 3, 0, 2, 4, 6, 2, 3, 1, 3, 1, 3, 5};
    constexpr int high[19] = {2, 3, 6, 7, 4, 5, 6, 7, 1, 3, 5, 7, 4, 5, 4, 6, 2, 4, 6};
    if (at >= n) return;
    uint2 *places = (uint2 *)(list + at); /* four elements each */
    const uint2 a = places[0], b = places[1];
    const uint32_t word[4] = {a.x, a.y, b.x, b.y};
    uint32_t point[8];
    float x[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        point[i] = word[i / 2] >> 16 * (i % 2) & 0xffff;
        x[i] = at + i < n ? sh.coordinate[point[i]] : INFINITY;
    }
#pragma unroll
    for (int i = 0; i < 19; ++i) {
        const int l = low[i], h = high[i];
        const bool swap = x[h] < x[l];
        const float minimum = swap ? x[h] : x[l], maximum = swap ? x[l] : x[h];
        const uint32_t first = swap ? point[h] : point[l], second = swap ? point[l] : point[h];
        x[l] = minimum, x[h] = maximum;
        point[l] = first, point[h] = second;
    }
    order_ties(x, point, records);
    places[0] = make_uint2(point[0] | point[1] << 16, point[2] | point[3] << 16);
    places[1] = make_uint2(point[4] | point[5] << 16, point[6] | point[7] << 16);
}

/* Sorts a list that is in the order of bins of at most five points: first each aligned group of
   eight, then each group of eight shifted by four, which contains any bin that spans two of the
   first groups. */
template <int HEIGHT>
__device__ void sort_small_bins(const bottom_shared<HEIGHT> &sh, uint16_t *list,
                                const float4 *records, uint32_t n) {
    const uint32_t at = threadIdx.x * 8;
    sort_eight_places(sh, list, records, n, at);
    __syncthreads();
    if (at + 12 <= sh.SLOTS) sort_eight_places(sh, list, records, n, at + 4);
    __syncthreads();
}

/* Sorts a list that is in the order of bins of any size. */
template <int HEIGHT>
__device__ void sort_bins(const bottom_shared<HEIGHT> &sh, uint16_t *list, const float4 *records,
                          uint32_t n, uint32_t (&spot)[ITEMS]) {
    const int t = threadIdx.x;
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

/* Sorts the `n` points of a sub-tree, identified by their index in `records`, along an axis.
   Returns whether points are crowded at an extreme; they are then likely to be so on the next axis
   as well, for which the result is passed as `ends`. */
template <int HEIGHT>
__device__ bool sort_axis(bottom_shared<HEIGHT> &sh, const float4 *records, uint32_t n, int axis,
                          bool ends) {
    const int t = threadIdx.x;
    uint16_t *list = sh.list[axis];
    uint32_t spot[ITEMS], fullest;
    load_axis(sh, records, n, axis);
    ends = (ends || sh.all.ends.minimum == sh.all.ends.maximum) && count_ends(sh, records, n);
    if (ends)
        spread_with_ends(sh, records, n, spot);
    else
        spread_all(sh, n, spot);
    count_bins(sh, n, spot);
    fullest = scan_bins(sh);
    if (fullest > CROWDED && !ends) ends = count_ends(sh, records, n);
#pragma unroll 1
    for (int round = 1; fullest > CROWDED && round < SORT_ROUNDS; ++round) {
        spread_crowds(sh, (crowd *)list, records, n, spot);
        count_bins(sh, n, spot);
        fullest = scan_bins(sh);
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t q = i * sh.THREADS + t;
        if (q < n) list[sh.bin[spot[i] >> 16] + (spot[i] & 0xffff)] = (uint16_t)q;
    }
    __syncthreads();
    if (fullest <= SMALL)
        sort_small_bins(sh, list, records, n);
    else
        sort_bins(sh, list, records, n, spot);
    return ends;
}

} // namespace kandela
#endif

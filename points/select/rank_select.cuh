/* Selection by rank among keys distributed over the threads of a cluster of blocks, for several
   targets at once.
   Idea: a round counts the keys of each target's interval in bins, linear in the key, and continues
         with the bin that contains the rank. With four bins per thread, 2048 for 512 threads, a
         round resolves 11 bits of a key, so equal coordinates cost more rounds, never correctness.
         The blocks of a cluster add up each other's counts through distributed shared memory, and
         each computes the same result. */
#ifndef KD_POINTS_SELECT_RANK_SELECT_CUH
#define KD_POINTS_SELECT_RANK_SELECT_CUH
#include "points/tree/inorder.cuh"
#include <cooperative_groups.h>

namespace kandela {

constexpr int SELECT_THREADS = 512;
constexpr int NARROW_TARGETS = 8;

/* A target: of the `count` keys in [base, base + range], the one at `rank`. */
struct narrowing {
    point_key base, range;
    uint32_t rank, count;
};

template <int BLOCK> struct narrow_shared {
    static constexpr int THREADS = BLOCK, BINS = 4 * THREADS;
    static constexpr int COLLECT = THREADS < 256 ? THREADS : 256;
    uint4 bins[THREADS];
    narrowing target[NARROW_TARGETS];
    uint32_t warp_sum[THREADS / 32];
    point_key collected[COLLECT];
    uint32_t collected_count;
    point_key pivot;
};

/* Compute capabilities below 9.0 have no clusters: kernels with more than one block per node are
   empty there and never launched. */
template <int CLUSTER> __device__ constexpr bool is_compiled() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    return CLUSTER == 1;
#else
    return true;
#endif
}

template <int CLUSTER> __device__ inline void sync_cluster() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    if (CLUSTER > 1) return cooperative_groups::this_cluster().sync();
#endif
    __syncthreads();
}

/* Returns the address of the same variable in the shared memory of another block of the cluster. */
template <int CLUSTER, class T> __device__ inline T *in_block(T *shared, int rank) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    if (CLUSTER > 1) return cooperative_groups::this_cluster().map_shared_rank(shared, rank);
#endif
    return shared;
}

template <int CLUSTER> __device__ inline int block_rank() {
    return CLUSTER > 1 ? (int)(blockIdx.x % CLUSTER) : 0;
}

template <int BINS> __device__ inline int bin_shift(point_key range) {
    const int bits = 64 - __clzll((long long)range), kept = 31 - __clz(BINS);
    return bits > kept ? bits - kept : 0;
}

/* One round for all targets; each RANKS consecutive targets are different ranks of the same keys
   and interval. `each` calls its argument with (interval, key) for every key of this thread. The
   threads must be synchronised before. */
template <int CLUSTER, int INTERVALS, int RANKS = 1, int THREADS, class EACH>
__device__ void narrow(narrow_shared<THREADS> &sh, const EACH &each) {
    constexpr int BINS = narrow_shared<THREADS>::BINS / INTERVALS, GROUP = THREADS / INTERVALS;
    static_assert(INTERVALS * RANKS <= NARROW_TARGETS && GROUP >= 32, "an interval has its warps");
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, group = t / GROUP;
    uint32_t *bins = (uint32_t *)sh.bins;
    sh.bins[t] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    each([&](int interval, point_key key) {
        const narrowing &target = sh.target[interval * RANKS];
        const point_key range = target.range, offset = key - target.base;
        if (offset <= range)
            atomicAdd(&bins[interval * BINS + (int)(offset >> bin_shift<BINS>(range))], 1u);
    });
    sync_cluster<CLUSTER>();
    const point_key base = sh.target[group * RANKS].base, range = sh.target[group * RANKS].range;
    uint32_t target_rank[RANKS];
#pragma unroll
    for (int r = 0; r < RANKS; ++r) target_rank[r] = sh.target[group * RANKS + r].rank;
    uint32_t bin_sums[4] = {0, 0, 0, 0};
#pragma unroll
    for (int rank = 0; rank < CLUSTER; ++rank) {
        const uint4 part = in_block<CLUSTER>(sh.bins, rank)[t];
        bin_sums[0] += part.x, bin_sums[1] += part.y, bin_sums[2] += part.z, bin_sums[3] += part.w;
    }
    const uint32_t sum = bin_sums[0] + bin_sums[1] + bin_sums[2] + bin_sums[3];
    uint32_t before = sum;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(ALL_LANES, before, step);
        if (lane >= step) before += other;
    }
    if (lane == 31) sh.warp_sum[warp] = before;
    __syncthreads();
    before -= sum;
    for (int w = group * (GROUP / 32); w < warp; ++w) before += sh.warp_sum[w];
#pragma unroll
    for (int r = 0; r < RANKS; ++r) {
        const uint32_t rank = target_rank[r];
        if (before > rank || rank - before >= sum) continue;
        const int shift = bin_shift<BINS>(range);
        uint32_t less = before;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (less <= rank && rank - less < bin_sums[i]) {
                const point_key skipped = (point_key)(t % GROUP * 4 + i) << shift;
                const point_key width = (1ull << shift) - 1, rest = range - skipped;
                sh.target[group * RANKS + r] = {base + skipped, width < rest ? width : rest,
                                                rank - less, bin_sums[i]};
            }
            less += bin_sums[i];
        }
    }
    sync_cluster<CLUSTER>();
}

/* Returns the key at target[0]'s rank: narrows until few keys are left, then computes the rank of
   each. */
template <int CLUSTER, int THREADS, class EACH>
__device__ point_key select_key(narrow_shared<THREADS> &sh, const EACH &each) {
    constexpr int COLLECT = narrow_shared<THREADS>::COLLECT;
    while (sh.target[0].count > COLLECT && sh.target[0].range) narrow<CLUSTER, 1>(sh, each);
    const narrowing last = sh.target[0];
    if (last.range == 0) return last.base;
    if (threadIdx.x == 0) sh.collected_count = 0;
    sync_cluster<CLUSTER>();
    point_key *collected = in_block<CLUSTER>(sh.collected, 0);
    uint32_t *count = in_block<CLUSTER>(&sh.collected_count, 0);
    each([&](int, point_key key) {
        if (key - last.base > last.range) return;
        const uint32_t at = atomicAdd(count, 1);
        if (at < COLLECT) collected[at] = key;
    });
    sync_cluster<CLUSTER>();
    if (block_rank<CLUSTER>() == 0 && threadIdx.x < sh.collected_count && threadIdx.x < COLLECT) {
        const point_key key = sh.collected[threadIdx.x];
        const uint32_t all = min(sh.collected_count, (uint32_t)COLLECT);
        uint32_t rank = 0;
        for (uint32_t i = 0; i < all; ++i) rank += sh.collected[i] < key;
        if (rank == last.rank) sh.pivot = key;
    }
    sync_cluster<CLUSTER>();
    return *in_block<CLUSTER>(&sh.pivot, 0);
}

} // namespace kandela
#endif

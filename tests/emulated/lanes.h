/* The lanes of an emulated CUDA device: fibers that run one after another on a CPU thread and
   synchronise where a kernel calls warp-wide or block-wide functions.
   Idea: between two synchronisations a lane runs alone and to the end, so a lane that relies on others without a barrier (a missing __syncwarp or __syncthreads) reads stale values every time, not just occasionally; KANDELA_EMULATED_ORDER=n selects other orders of lanes and warps. A barrier that cannot complete (lanes of one mask at different functions, a lane that reads another outside of the mask) ends the program with the kernel's name. Blocks run one after another; only blocks that may wait for each other (a cooperative grid, the blocks of a cluster) run concurrently, on a CPU thread each. Shared memory is thread-local. */
#ifndef KD_TESTS_EMULATED_LANES_H
#define KD_TESTS_EMULATED_LANES_H
#include <functional>
#include <stddef.h>
#include <stdint.h>

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

extern thread_local uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulated {

/* The four launch parameters between <<< and >>>. */
struct shape {
    dim3 grid, block;
    size_t shared;
    void *stream;
    shape(dim3 grid_, dim3 block_, size_t shared_ = 0, void *stream_ = nullptr)
        : grid(grid_), block(block_), shared(shared_), stream(stream_) {}
};

/* Runs blocks one after another. A launch configuration that a real device rejects sets the error
   that cudaGetLastError and cudaPeekAtLastError return. */
void launch(const char *kernel, shape shape, const std::function<void()> &body);
/* Runs `cluster` blocks at a time, in order of their indices; together divides the grid. */
void launch_together(const char *kernel, shape shape, unsigned cluster,
                     const std::function<void()> &body);

enum sync_kind {
    SYNC_BLOCK, /* all lanes of a block */
    SYNC_ACTIVE,
    SYNC_WARP, /* from here on the lanes of a mask */
    SYNC_BALLOT,
    SYNC_SHUFFLE,
    SYNC_MIN,
    SYNC_MAX,
    SYNC_SUM
};
/* Waits for the other lanes of the mask. `from`: the lane whose value a shuffle returns. */
uint64_t sync(sync_kind kind, unsigned mask, uint64_t value, unsigned from);
/* Returns the lanes of this warp that wait at the same instruction when no other can run. */
unsigned active_mask();
/* Waits for all lanes of the block; returns the bitwise or of their values. */
uint64_t sync_block(uint64_t value);
/* Waits for all blocks that run concurrently. */
void sync_blocks();
/* Returns the address of that shared variable in the block `rank` of the cluster. */
void *in_block(void *shared, unsigned rank);

inline unsigned lane() {
    return threadIdx.x & 31;
}

/* Compute capability times ten: 90, or KANDELA_EMULATED_CAPABILITY (75, 86, ...). */
int capability();

/* Dynamic shared memory, the limit per block of such a device, and 32-bit addresses. */
enum { SHARED_MAX = 227 << 10 };
size_t shared_max();
extern thread_local char dynamic_shared[SHARED_MAX] __attribute__((aligned(128)));
inline uint32_t place_in_shared(const void *pointer) {
    return (uint32_t)((const char *)pointer - (const char *)__builtin_thread_pointer());
}
inline void *at_shared(uint32_t place) {
    return (char *)__builtin_thread_pointer() + (int32_t)place;
}

} // namespace emulated
#endif

/* The lanes of an emulated CUDA device: fibers that run one after another on a CPU thread and meet
   where a kernel's warp-wide and block-wide functions say so.
   Idea: between two meetings a lane runs alone and to the end, so a lane that relies on its
   neighbours without saying so (a missing __syncwarp or __syncthreads) reads stale values every
   time, not once in a while; KANDELA_EMULATED_ORDER=n makes other orders of lanes and warps. A
   meeting that cannot take place (lanes of one mask at different functions, a lane that reads
   another outside of the mask) ends the program with the kernel's name.
   Blocks follow each other; only blocks that may wait for each other (a cooperative grid, the
   blocks of a cluster) run at the same time, a CPU thread each. Shared memory is thread-local. */
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

/* The four values between a launch's angle brackets. */
struct shape {
    dim3 grid, block;
    size_t shared;
    void *stream;
    shape(dim3 grid_, dim3 block_, size_t shared_ = 0, void *stream_ = nullptr)
        : grid(grid_), block(block_), shared(shared_), stream(stream_) {}
};

/* Blocks one after another. A shape that a card refuses sets the error that cudaGetLastError and
   cudaPeekAtLastError return. */
void launch(const char *kernel, shape of, const std::function<void()> &body);
/* `together` blocks at a time, in order of their indices; together divides the grid. */
void launch_together(const char *kernel, shape of, unsigned together,
                     const std::function<void()> &body);

enum meeting {
    MEET_BLOCK, /* all lanes of a block */
    MEET_ACTIVE,
    MEET_WARP, /* from here on the lanes of a mask */
    MEET_BALLOT,
    MEET_SHUFFLE,
    MEET_LEAST,
    MEET_MOST,
    MEET_SUM
};
/* Waits for the other lanes of the mask. `from`: the lane whose value a shuffle returns. */
uint64_t meet(meeting kind, unsigned mask, uint64_t value, unsigned from);
/* The lanes of this warp that wait at the same instruction when no other one can run. */
unsigned active_mask();
/* All lanes of the block; the result is every lane's value or-ed. */
uint64_t meet_block(uint64_t value);
/* All blocks that run together. */
void meet_blocks();
/* Where that variable of this block's shared memory lies in the block `rank` of the cluster. */
void *in_block(void *shared, unsigned rank);

inline unsigned lane() {
    return threadIdx.x & 31;
}

/* Compute capability times ten: 90, or what KANDELA_EMULATED_CAPABILITY says (75, 86, ...). */
int capability();

/* Dynamic shared memory, what such a device lets a block have of it, and 32-bit addresses. */
enum { SHARED_MOST = 227 << 10 };
size_t shared_most();
extern thread_local char dynamic_shared[SHARED_MOST] __attribute__((aligned(128)));
inline uint32_t place_in_shared(const void *pointer) {
    return (uint32_t)((const char *)pointer - (const char *)__builtin_thread_pointer());
}
inline void *at_shared(uint32_t place) {
    return (char *)__builtin_thread_pointer() + (int32_t)place;
}

} // namespace emulated
#endif

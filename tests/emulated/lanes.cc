/* Fibers, their meetings, and the blocks that they make up.
   Idea: a warp runs until each of its lanes is over or waits for the block; whenever none can run,
         a meeting whose lanes have all come takes place.
   Work: two switches of a stack a lane and meeting.
   Memory: 256 KB of address space a lane of the largest block so far. */
#include "lanes.h"
#include "cuda_runtime.h"
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <vector>

thread_local uint3 threadIdx, blockIdx, blockDim, gridDim;
thread_local char emulated::dynamic_shared[SHARED_MAX] __attribute__((aligned(128)));

namespace {

using namespace emulated;

/* --- fibers --------------------------------------------------------------------------------- */
#ifndef __x86_64__
#error "the emulated CUDA device switches lanes by x86-64 instructions"
#endif
extern "C" void emulated_switch(void **leave, void *enter);
asm(".pushsection .text\n"
    ".globl emulated_switch\n"
    ".hidden emulated_switch\n"
    ".type emulated_switch, @function\n"
    "emulated_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size emulated_switch, .-emulated_switch\n"
    ".popsection\n");

#if defined(KD_POISONED_STACKS) /* this file itself is compiled without sanitizers */
extern "C" void __asan_unpoison_memory_region(const volatile void *at, size_t bytes);
#else
static void __asan_unpoison_memory_region(const volatile void *, size_t) {}
#endif

/* LEFT_OPEN: bytes at a stack's top whose functions never return; all others clear their own. */
enum { STACK_BYTES = 256 << 10, LEFT_OPEN = 4096, SAVED = 6 };

struct lane_state {
    char *stack;
    void *at; /* its stack pointer while it waits */
    bool runs, over;
    sync_kind kind;
    unsigned mask, from;
    uint64_t in, out;
};

/* A CPU thread's block. */
struct worker {
    lane_state *lanes;
    unsigned capacity;
    void *home;
    unsigned now, count;
    const char *kernel;
    const std::function<void()> *body;
    uint64_t chance; /* 0: lanes in order */
};
thread_local worker me;

/* What a thread has taken goes when it ends: `me` itself is plain, for it is looked at all the
   time. */
struct leaving {
    bool used;
    ~leaving() {
        for (unsigned t = 0; t < me.capacity; ++t)
            if (me.lanes[t].stack) munmap(me.lanes[t].stack, STACK_BYTES);
        free(me.lanes);
        me.lanes = NULL;
        me.capacity = 0;
    }
};
thread_local leaving tidy;

/* Blocks that run together. */
struct team {
    pthread_barrier_t barrier;
    std::vector<char *> base; /* of each block's thread-local memory */
};
thread_local team *mine;
thread_local cudaError_t last_error = cudaSuccess;

[[noreturn]] __attribute__((format(printf, 1, 2))) void give_up(const char *reason, ...) {
    fprintf(stderr, "emulated device: %s, block %u, lane %u: ", me.kernel, blockIdx.x, me.now);
    va_list values;
    va_start(values, reason);
    vfprintf(stderr, reason, values);
    va_end(values);
    fputc('\n', stderr);
    abort();
}

void live() {
    (*me.body)();
    lane_state &lane = me.lanes[me.now];
    lane.over = true;
    emulated_switch(&lane.at, me.home);
    abort(); /* nobody returns to what is over */
}

void prepare(lane_state *state) {
    if (!state->stack) {
        void *taken = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (taken == MAP_FAILED || mprotect(taken, 4096, PROT_NONE)) give_up("no stack for it");
        state->stack = (char *)taken;
        __asan_unpoison_memory_region(state->stack, STACK_BYTES);
    }
    __asan_unpoison_memory_region(state->stack + STACK_BYTES - LEFT_OPEN, LEFT_OPEN);
    /* as if `live` had been called: aligned to 16 bytes but for a return address */
    void **top = (void **)(state->stack + STACK_BYTES) - 3;
    *--top = (void *)live;
    for (int i = 0; i < SAVED; ++i) *--top = NULL;
    state->at = top;
    state->runs = true;
    state->over = false;
}

void resume(worker &w, unsigned t) {
    w.now = t;
    threadIdx = {t % blockDim.x, t / blockDim.x, 0};
    emulated_switch(&w.home, w.lanes[t].at);
}

uint64_t wait_for(sync_kind kind, unsigned mask, uint64_t value, unsigned from) {
    worker &w = me;
    lane_state &lane = w.lanes[w.now];
    lane.kind = kind;
    lane.mask = mask;
    lane.in = value;
    lane.from = from;
    lane.runs = false;
    emulated_switch(&lane.at, w.home);
    return lane.out;
}

/* --- meetings ------------------------------------------------------------------------------- */
unsigned random_below(unsigned count) {
    me.chance ^= me.chance << 13;
    me.chance ^= me.chance >> 7;
    me.chance ^= me.chance << 17;
    return (unsigned)(me.chance >> 33) % count;
}

/* Runs what can run in this warp. */
bool run_lanes(unsigned first, unsigned lanes) {
    worker &w = me;
    bool ran = false;
    const unsigned start = w.chance ? random_below(lanes) : 0;
    const bool back = w.chance && random_below(2);
    for (unsigned i = 0; i < lanes; ++i) {
        unsigned k = start + (back ? lanes - 1 - i : i);
        if (k >= lanes) k -= lanes;
        if (w.lanes[first + k].over || !w.lanes[first + k].runs) continue;
        resume(w, first + k);
        ran = true;
    }
    return ran;
}

void answer(unsigned first, unsigned lanes, unsigned mask, sync_kind kind) {
    lane_state *lane = &me.lanes[first];
    uint64_t out = kind == SYNC_MIN ? UINT64_MAX : 0;
    for (unsigned i = 0; i < lanes; ++i) {
        if (!(mask >> i & 1)) continue;
        if (kind == SYNC_BALLOT) out |= lane[i].in << i;
        if (kind == SYNC_MIN && lane[i].in < out) out = lane[i].in;
        if (kind == SYNC_MAX && lane[i].in > out) out = lane[i].in;
        if (kind == SYNC_SUM) out += lane[i].in;
    }
    for (unsigned i = 0; i < lanes; ++i) {
        if (!(mask >> i & 1)) continue;
        if (kind == SYNC_SHUFFLE) {
            const unsigned from = lane[i].from & 31;
            me.now = first + i;
            if (!(mask >> from & 1)) give_up("reads lane %u outside of the mask %08x", from, mask);
            out = lane[from].in;
        }
        lane[i].out = out;
        lane[i].runs = true;
    }
}

/* Lets one meeting of this warp take place. */
bool sync_mask(unsigned first, unsigned lanes) {
    bool barrier = false;
    for (unsigned i = 0; i < lanes; ++i) {
        const lane_state &lane = me.lanes[first + i];
        if (lane.over || lane.runs || lane.kind < SYNC_WARP) continue;
        me.now = first + i;
        if (!(lane.mask >> i & 1)) give_up("meets lanes %08x and is none of them", lane.mask);
        unsigned mask = 0;
        bool all = true;
        for (unsigned j = 0; j < lanes && all; ++j) {
            const lane_state &other = me.lanes[first + j];
            if (!(lane.mask >> j & 1) || other.over) continue;
            mask |= 1u << j;
            all = !other.runs && other.kind == lane.kind && other.mask == lane.mask;
        }
        if (!all) continue;
        answer(first, lanes, mask, lane.kind);
        barrier = true;
    }
    return barrier;
}

bool sync_active(unsigned first, unsigned lanes) {
    for (unsigned i = 0; i < lanes; ++i) {
        const lane_state &lane = me.lanes[first + i];
        if (lane.over || lane.runs || lane.kind != SYNC_ACTIVE) continue;
        unsigned mask = 1u << i;
        const bool alone = me.chance && random_below(2);
        for (unsigned j = i + 1; j < lanes && !alone; ++j) {
            const lane_state &other = me.lanes[first + j];
            if (!other.over && !other.runs && other.kind == SYNC_ACTIVE && other.in == lane.in)
                mask |= 1u << j;
        }
        for (unsigned j = i; j < lanes; ++j)
            if (mask >> j & 1) me.lanes[first + j].out = mask, me.lanes[first + j].runs = true;
        return true;
    }
    return false;
}

/* Until every lane of the warp is over or waits for the block. */
bool run_warp(unsigned first) {
    const unsigned lanes = me.count - first < 32 ? me.count - first : 32;
    bool ran = false;
    while (run_lanes(first, lanes) || sync_mask(first, lanes) || sync_active(first, lanes))
        ran = true;
    for (unsigned i = 0; i < lanes; ++i) {
        const lane_state &lane = me.lanes[first + i];
        me.now = first + i;
        if (!lane.over && lane.kind != SYNC_BLOCK)
            give_up("waits for the lanes %08x (meeting %d), some of which are elsewhere", lane.mask,
                    (int)lane.kind);
    }
    return ran;
}

bool free_block() {
    uint64_t said = 0;
    bool waits = false;
    for (unsigned t = 0; t < me.count; ++t)
        if (!me.lanes[t].over) waits = true, said |= me.lanes[t].in;
    for (unsigned t = 0; t < me.count; ++t)
        if (!me.lanes[t].over) me.lanes[t].out = said, me.lanes[t].runs = true;
    return waits;
}

void run_block(const char *kernel, const shape &shape, unsigned block,
               const std::function<void()> &body) {
    static const char *const order = getenv("KANDELA_EMULATED_ORDER");
    gridDim = {shape.grid.x, shape.grid.y, 1};
    blockDim = {shape.block.x, shape.block.y, 1};
    blockIdx = {block % shape.grid.x, block / shape.grid.x, 0};
    me.kernel = kernel;
    me.body = &body;
    me.count = shape.block.x * shape.block.y;
    me.chance = order && atoi(order) ? (uint64_t)atoi(order) * 0x9e3779b97f4a7c15u + block : 0;
    if (me.capacity < me.count) {
        tidy.used = true;
        me.lanes = (lane_state *)realloc(me.lanes, me.count * sizeof *me.lanes);
        memset(me.lanes + me.capacity, 0, (me.count - me.capacity) * sizeof *me.lanes);
        me.capacity = me.count;
    }
    for (unsigned t = 0; t < me.count; ++t) prepare(&me.lanes[t]);
    const unsigned warps = (me.count + 31) / 32;
    do {
        const unsigned start = me.chance ? random_below(warps) : 0;
        for (unsigned w = 0; w < warps; ++w) run_warp(32 * ((start + w) % warps));
    } while (free_block());
}

bool refused(const shape &shape) {
    const bool wrong = shape.grid.x == 0 || shape.grid.y == 0 ||
                       shape.block.x * shape.block.y == 0 || shape.block.x * shape.block.y > 1024 ||
                       shape.grid.y > 65535 || shape.grid.z != 1 || shape.block.z != 1 ||
                       shape.shared > shared_max();
    if (wrong) last_error = cudaErrorInvalidConfiguration;
    return wrong;
}

/* The CPU threads of blocks that run together: they stay, and so do their lanes' stacks. */
struct crew {
    pthread_mutex_t lock;
    pthread_cond_t started, done;
    unsigned hired, working;
    uint64_t launch; /* number of the present one */
    const char *kernel;
    const struct shape *shape;
    const std::function<void()> *body;
    struct team *team;
    unsigned together;
};
crew all = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};

void run_share(unsigned rank) {
    mine = all.team;
    mine->base[rank] = (char *)__builtin_thread_pointer();
    pthread_barrier_wait(&mine->barrier);
    for (unsigned block = rank; block < all.shape->grid.x; block += all.together) {
        run_block(all.kernel, *all.shape, block, *all.body);
        pthread_barrier_wait(&mine->barrier);
    }
}

void *work(void *rank_argument) {
    const unsigned rank = (unsigned)(uintptr_t)rank_argument;
    pthread_mutex_lock(&all.lock);
    for (uint64_t seen = all.launch - 1;;) {
        while (all.launch == seen) pthread_cond_wait(&all.started, &all.lock);
        seen = all.launch;
        if (rank >= all.together) continue;
        pthread_mutex_unlock(&all.lock);
        run_share(rank);
        pthread_mutex_lock(&all.lock);
        if (--all.working == 0) pthread_cond_signal(&all.done);
    }
    return NULL;
}

void hire(unsigned threads) {
    pthread_attr_t large;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, 64 << 20); /* thread-local memory lies there as well */
    for (; all.hired < threads; ++all.hired) {
        pthread_t thread;
        if (pthread_create(&thread, &large, work, (void *)(uintptr_t)all.hired)) abort();
        pthread_detach(thread);
    }
    pthread_attr_destroy(&large);
}

} // namespace

uint64_t emulated::sync(sync_kind kind, unsigned mask, uint64_t value, unsigned from) {
    return wait_for(kind, mask, value, from);
}

__noinline__ unsigned emulated::active_mask() {
    return (unsigned)wait_for(SYNC_ACTIVE, 0, (uint64_t)__builtin_return_address(0), 0);
}

uint64_t emulated::sync_block(uint64_t value) {
    return wait_for(SYNC_BLOCK, 0, value, 0);
}

void emulated::sync_blocks() {
    sync_block(0);
    if (mine && threadIdx.x == 0) pthread_barrier_wait(&mine->barrier);
    sync_block(0);
}

void *emulated::in_block(void *shared, unsigned rank) {
    return mine->base[rank] + ((char *)shared - (char *)__builtin_thread_pointer());
}

void emulated::launch(const char *kernel, shape shape, const std::function<void()> &body) {
    if (refused(shape)) return;
    for (unsigned block = 0; block < shape.grid.x * shape.grid.y; ++block)
        run_block(kernel, shape, block, body);
}

void emulated::launch_together(const char *kernel, shape shape, unsigned cluster,
                               const std::function<void()> &body) {
    if (refused(shape)) return;
    if (cluster == 0 || shape.grid.x % cluster) {
        last_error = cudaErrorInvalidConfiguration;
        return;
    }
    if (cluster == 1) {
        launch(kernel, shape, body);
        return;
    }
    static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_launch);
    team team;
    team.base.resize(cluster);
    pthread_barrier_init(&team.barrier, NULL, cluster);
    pthread_mutex_lock(&all.lock);
    all.kernel = kernel;
    all.shape = &shape;
    all.body = &body;
    all.team = &team;
    all.together = all.working = cluster;
    ++all.launch;
    hire(cluster);
    pthread_cond_broadcast(&all.started);
    while (all.working) pthread_cond_wait(&all.done, &all.lock);
    pthread_mutex_unlock(&all.lock);
    pthread_barrier_destroy(&team.barrier);
    pthread_mutex_unlock(&one_launch);
}

extern "C" cudaError_t cudaGetLastError(void) {
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

extern "C" cudaError_t cudaPeekAtLastError(void) {
    return last_error;
}

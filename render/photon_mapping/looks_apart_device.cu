/* Looks into photons that lie apart, by ranks with a CUDA device each.
   Idea: each rank follows the paths of its own rows, and photons go to where they are looked for: a
         rank marks the cells of space that its looks reach into, all ranks see all marks, and each
         sends each of its photons to those whose cell is marked. Then a rank has all photons that
         its looks can find, few others, and plants and asks them as if they were all. Cells are
   bits of a table by a hash: two that share a bit only bring photons that nobody finds.
   Work: 1/N of everything, but for photons that several ranks look for.
   Memory: a rank's own photons, those that it sends, those that came; 2 MB of bits a rank.
   Invariants: within the radius of a look lie the photons of one rank with all of them; sums of
               whole numbers (flux_sum.h) know no order, so the picture is the same, bit for bit.
   Data flow: mark_cells, a thread a request: requests -> bits, which go to all ranks; of each map:
              count_takers, a thread a photon: photons, bits -> how many each rank gets;
              send_photons, likewise -> photons by ranks, which are exchanged; then the map is
              planted (photon_map_cuda_take_arrived). Each waits for the one before it. */
#include "core/device/cuda.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include "photon/emission/exchange.h"
#include "points/tree/pointtree.h"
#include "render/photon_mapping/looks_apart_device.h"

namespace {

constexpr int BLOCK = 256, MAPS = 2, RANKS_APART = 1024;
constexpr uint32_t CELL_BITS = 1u << 24, CELL_WORDS = CELL_BITS / 32;
constexpr float CELL_RADII =
    4; /* a cell's width: then few cells are met, and few photons too many */

unsigned blocks_for(uint64_t items) {
    return (unsigned)((items + BLOCK - 1) / BLOCK);
}

/* --- cells ------------------------------------------------------------------------------------ */

/* It never runs backwards: what lies between two places has a cell between theirs. */
__device__ int32_t cell_of(float place, float size) {
    return (int32_t)fmaxf(fminf(floorf(place / size), 2e9f), -2e9f);
}

__device__ uint32_t bit_of(int32_t x, int32_t y, int32_t z) {
    uint32_t hash = (uint32_t)x * 73856093u ^ (uint32_t)y * 19349663u ^ (uint32_t)z * 83492791u;
    hash ^= hash >> 15;
    hash *= 0x2c1b3c6du;
    hash ^= hash >> 13;
    return hash % CELL_BITS;
}

struct cell_span {
    int32_t lo, hi;
};

/* Those of all coordinates within the radius, with the roundings of a distance. */
__device__ cell_span cells_about(float place, float radius, float size) {
    const float reach = 1.001f * radius + 4e-7f * fabsf(place);
    return {cell_of(place - reach, size), cell_of(place + reach, size)};
}

__global__ void mark_cells(const eye_request *requests, uint32_t count, float radius,
                           uint32_t *bits) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    const float size = CELL_RADII * radius;
    const vec3 at = requests[i].at.position;
    const cell_span xs = cells_about(at.x, radius, size), ys = cells_about(at.y, radius, size),
                    zs = cells_about(at.z, radius, size);
    for (int32_t z = zs.lo; z <= zs.hi; ++z)
        for (int32_t y = ys.lo; y <= ys.hi; ++y)
            for (int32_t x = xs.lo; x <= xs.hi; ++x) {
                const uint32_t bit = bit_of(x, y, z), mask = 1u << bit % 32;
                if (!(bits[bit / 32] & mask)) atomicOr(&bits[bit / 32], mask);
            }
}

/* --- photons to ranks ------------------------------------------------------------------------- */

struct routing {
    const photon *photons;
    uint32_t count;
    const uint32_t *bits; /* of all ranks, CELL_WORDS each */
    uint32_t ranks;
    float size;
    uint32_t *totals; /* of each rank: photons for it; of send_photons: where its next one goes */
    photon *out;
};

__device__ bool takes(const routing &work, uint32_t rank, uint32_t bit) {
    return work.bits[(uint64_t)rank * CELL_WORDS + bit / 32] >> bit % 32 & 1;
}

__device__ uint32_t bit_of_photon(const routing &work, uint32_t i) {
    const vec3 at = work.photons[i].position;
    return bit_of(cell_of(at.x, work.size), cell_of(at.y, work.size), cell_of(at.z, work.size));
}

/* The block's photons for each rank, to `counts`, in shared memory. */
__device__ void count_block(const routing &work, uint32_t i, uint32_t *counts) {
    for (uint32_t r = threadIdx.x; r < work.ranks; r += BLOCK) counts[r] = 0;
    __syncthreads();
    if (i < work.count) {
        const uint32_t bit = bit_of_photon(work, i);
        for (uint32_t r = 0; r < work.ranks; ++r)
            if (takes(work, r, bit)) atomicAdd(&counts[r], 1u);
    }
    __syncthreads();
}

__global__ void count_takers(const routing work) {
    extern __shared__ uint32_t counts[];
    count_block(work, blockIdx.x * BLOCK + threadIdx.x, counts);
    for (uint32_t r = threadIdx.x; r < work.ranks; r += BLOCK)
        if (counts[r]) atomicAdd(&work.totals[r], counts[r]);
}

__global__ void send_photons(const routing work) {
    extern __shared__ uint32_t counts[];
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    count_block(work, i, counts);
    for (uint32_t r = threadIdx.x; r < work.ranks; r += BLOCK)
        counts[r] = counts[r] ? atomicAdd(&work.totals[r], counts[r]) : 0;
    __syncthreads();
    if (i >= work.count) return;
    const photon own = work.photons[i];
    const uint32_t bit = bit_of_photon(work, i);
    for (uint32_t r = 0; r < work.ranks; ++r)
        if (takes(work, r, bit)) work.out[atomicAdd(&counts[r], 1u)] = own;
}

/* Where the photons of each rank begin, those that go and those that come: size + 1 of each. */
struct places {
    uint64_t *out, *in;
};

/* Of each rank to each: how many; then this rank's row and column as bytes. */
kd_status find_places(places *at, ranks *among, const uint32_t *own) {
    const uint64_t size = (uint64_t)among->size, rank = (uint64_t)among->rank;
    uint32_t *all = NULL;
    KD_TRY(KD_RESERVE(all, size * size));
    memcpy(all + rank * size, own, size * sizeof *own);
    const kd_status status = ranks_all_gather_even(among, all, size * sizeof *all);
    at->out[0] = at->in[0] = 0;
    for (uint64_t r = 0; r < size; ++r) {
        at->out[r + 1] = at->out[r] + all[rank * size + r] * sizeof(photon);
        at->in[r + 1] = at->in[r] + all[r * size + rank] * sizeof(photon);
    }
    memory_free(all);
    return status;
}

kd_status count_all(routing *work, uint32_t *totals) {
    const uint64_t bytes = work->ranks * sizeof *totals;
    KD_CUDA(cudaMemsetAsync(work->totals, 0, bytes));
    if (work->count) {
        count_takers<<<blocks_for(work->count), BLOCK, bytes>>>(*work);
        KD_CUDA_LAUNCHED("count_takers");
    }
    KD_TRY(device_copy(totals, work->totals, bytes, NULL));
    return device_stream_wait(NULL);
}

kd_status send_all(routing *work, uint32_t *firsts, const places *at) {
    const uint64_t bytes = work->ranks * sizeof *firsts;
    for (uint32_t r = 0; r < work->ranks; ++r) firsts[r] = (uint32_t)(at->out[r] / sizeof(photon));
    KD_TRY(device_copy(work->totals, firsts, bytes, NULL));
    if (work->count) {
        send_photons<<<blocks_for(work->count), BLOCK, bytes>>>(*work);
        KD_CUDA_LAUNCHED("send_photons");
    }
    return device_wait();
}

/* A rank's photons of a map leave, those that it looks for come. */
kd_status move_photons(photon_cuda *with, ranks *among, int m, routing *work, uint32_t *totals,
                       const places *at) {
    looks_met *met = &with->met;
    device_buffer *into = &with->maps.map[m].list.photons;
    const uint64_t out = at->out[work->ranks], in = at->in[work->ranks];
    KD_REQUIRE(out / sizeof(photon) <= UINT32_MAX && in / sizeof(photon) <= POINTTREE_COUNT_MAX / 2,
               KD_ERROR_USAGE, "%llu photons are looked for by one rank, expected at most %u",
               (unsigned long long)(in / sizeof(photon)), POINTTREE_COUNT_MAX / 2);
    KD_TRY(device_buffer_reserve(&met->sent, out + out / 8 + 1));
    KD_TRY(device_buffer_reserve(into, in + in / 8 + 1));
    work->out = (photon *)met->sent.memory;
    KD_TRY(send_all(work, totals, at));
    KD_TRY(exchange_swap(among, met->sent.memory, at->out, into->memory, at->in));
    return photon_map_cuda_take_arrived(&with->maps, m, in / sizeof(photon));
}

kd_status route(photon_cuda *with, ranks *among, int m, float radius) {
    looks_met *met = &with->met;
    const uint64_t size = (uint64_t)among->size;
    routing work;
    uint32_t *totals = NULL;
    places at = {NULL, NULL};
    memset(&work, 0, sizeof work);
    work.photons = (const photon *)met->own[m].memory;
    work.count = (uint32_t)met->own_count[m];
    work.bits = (const uint32_t *)met->bits.memory;
    work.ranks = (uint32_t)size;
    work.size = CELL_RADII * radius;
    KD_TRY(device_buffer_reserve(&met->totals, size * sizeof *totals));
    work.totals = (uint32_t *)met->totals.memory;
    KD_TRY(KD_RESERVE(totals, size));
    kd_status status = KD_RESERVE(at.out, 2 * (size + 1));
    at.in = at.out + size + 1;
    if (status == KD_OK) status = count_all(&work, totals);
    if (status == KD_OK) status = find_places(&at, among, totals);
    if (status == KD_OK) status = move_photons(with, among, m, &work, totals, &at);
    memory_free(totals);
    memory_free(at.out);
    return status;
}

/* --- what is looked for ------------------------------------------------------------------------
 */

kd_status mark_all(photon_cuda *with, ranks *among, const eye_asked *asked, float radius) {
    const uint64_t bytes = CELL_WORDS * sizeof(uint32_t), size = (uint64_t)among->size;
    uint64_t *begins = NULL;
    KD_TRY(device_buffer_reserve(&with->met.bits, size * bytes));
    uint32_t *own = (uint32_t *)with->met.bits.memory + (uint64_t)among->rank * CELL_WORDS;
    KD_CUDA(cudaMemsetAsync(own, 0, bytes));
    if (asked->requests) {
        mark_cells<<<blocks_for(asked->requests), BLOCK>>>(
            (const eye_request *)with->requests.memory, asked->requests, radius, own);
        KD_CUDA_LAUNCHED("mark_cells");
    }
    KD_TRY(device_wait());
    KD_TRY(KD_RESERVE(begins, size + 1));
    for (uint64_t r = 0; r <= size; ++r) begins[r] = r * bytes;
    const kd_status status = exchange_gather(among, with->met.bits.memory, begins);
    memory_free(begins);
    return status;
}

/* Once a pass: what was emitted stays, for as many launches as the picture takes. */
void keep_own(photon_cuda *with) {
    looks_met *met = &with->met;
    for (int m = 0; m < MAPS && !met->kept; ++m) {
        photon_list_cuda *list = &with->maps.map[m].list;
        const device_buffer emitted = list->photons;
        list->photons = met->own[m];
        met->own[m] = emitted;
        met->own_count[m] = list->here;
    }
    met->kept = true;
}

} // namespace

extern "C" kd_status looks_apart_there(photon_cuda *with, ranks *among, const photon_view *view,
                                       const eye_asked *asked) {
    KD_REQUIRE(among->size <= RANKS_APART, KD_ERROR_USAGE,
               "photons apart on %d devices, expected at most %d", among->size, RANKS_APART);
    keep_own(with);
    for (int m = 0; m < MAPS; ++m) {
        const float radius = m ? view->caustic.radius : view->global.radius;
        with->maps.map[m].list.here = 0;
        if (with->maps.map[m].list.count == 0 || !(pointtree_bound2(radius) > 0)) continue;
        KD_TRY(mark_all(with, among, asked, radius));
        KD_TRY(route(with, among, m, radius));
    }
    return KD_OK;
}

extern "C" uint64_t looks_apart_there_bytes(uint64_t photons, int32_t rank_count) {
    const uint64_t keepers = (uint64_t)rank_count;
    return (photons + keepers - 1) / keepers * 2 * sizeof(photon) + keepers * CELL_BITS / 8;
}

extern "C" uint64_t looks_apart_there_sent(uint64_t photons, int32_t rank_count) {
    const uint64_t keepers = (uint64_t)rank_count;
    return photons / keepers * sizeof(photon) / keepers * (keepers - 1) + MAPS * CELL_BITS / 8;
}

/* Photon emission on a CUDA device.
   Idea: the paths of a batch are traced as wavefronts (emit_waves.cuh). Photons are appended to a
         heap as they are stored, each with its number on its path; a scan over the paths' counts
         gives each photon its position in the order (path, bounce), and the path at which enough
         are stored. The position in the heap is scattered, four bytes per photon, so that the list
         itself is written in order.
   Work: a batch has as many paths as should suffice, by the yield of the previous batch or
         emission.
   Memory: 68 bytes per photon of a batch and 56 per path, besides the pool of paths and the list.
   Invariants: the division into batches does not affect the result; the ledger is a sum of
         integers.
   Data flow: for each batch: emit_waves.cuh writes the heap of photons, counts and ledgers; a scan
              of the counts; find_end, one thread, writes how many paths are used; sum_ledgers, one
              thread per path; order_photons, one thread per photon of the heap, writes order;
              place_photons, one thread per position, reads order and heap, and writes the list;
              begin_next_batch, one thread. After the last batch: finish_photons, one thread per
              photon, scales powers to W and writes positions and hash. */
#include "core/device/async.h"
#include "core/device/cuda.h"
#include "core/device/device_sort.cuh"
#include "core/memory.h"
#include "photon/emission/emit.h"
#include "photon/emission/emit_ranks.h"
#include "photon/emission/emit_waves.cuh"
#include "photon/emission/photon.h"
#include "photon/emission/photon_tile.cuh"
#include "points/tree/pointtree.h"

namespace {

constexpr int FLAT_BLOCK = 256;
constexpr uint64_t FIRST_PATHS = 1 << 16, FEW_PATHS = 1 << 10, MAX_PATHS = 1 << 23;
constexpr uint32_t LIST_SPARE = 256; /* surplus photons of the last path */

/* State of an emission in device memory, so that kernels are launched without synchronisation. */
struct emission_state {
    uint64_t count, emitted; /* photons and paths of the list before this batch */
    uint64_t target, longest;
    uint64_t minimum;       /* emit_min_landed */
    uint32_t landed;        /* number of photons in the heap; may exceed its capacity */
    uint32_t taken_paths;   /* paths of the batch that belong to the list */
    uint32_t taken;         /* photons of these paths */
    uint32_t done, reached; /* the list ends; it ends because `target` photons are stored */
    uint32_t strongest;     /* bits of a float */
    unsigned long long hash;
    unsigned long long high[LEDGER_ROWS], low[LEDGER_ROWS], rays;
};

/* Number of photons of the first `paths` paths of the batch. */
__device__ uint32_t landed_by(const emission_batch &batch, const emission_state *state,
                              uint64_t paths) {
    return paths < batch.paths ? batch.counts[paths] : state->landed;
}

/* Applies the rules of emit.h to the scanned counts. */
__global__ void find_end(const emission_batch batch, emission_state *state) {
    uint64_t end = batch.paths;
    state->done = state->reached = 0;
    const uint64_t missing = state->target - state->count;
    if (landed_by(batch, state, end) >= missing) {
        uint64_t low = 0,
                 high =
                     end; /* the first `low` paths have too few photons, the first `high` enough */
        while (high - low > 1) {
            const uint64_t middle = low + (high - low) / 2;
            if (landed_by(batch, state, middle) >= missing)
                high = middle;
            else
                low = middle;
        }
        end = high;
        state->done = state->reached = 1;
    }
    uint64_t limit = state->longest - state->emitted;
    uint64_t multiple = state->emitted / EMIT_PATHS_IN_VAIN + 1;
    for (;; ++multiple) {
        const uint64_t paths_left = multiple * EMIT_PATHS_IN_VAIN - state->emitted;
        if (paths_left > end || paths_left >= limit) break;
        if (state->count + landed_by(batch, state, paths_left) >= multiple * state->minimum)
            continue;
        limit = paths_left;
        break;
    }
    if (limit < end || (limit == end && !state->reached)) {
        end = limit;
        state->done = 1;
        state->reached = 0;
    }
    state->taken_paths = (uint32_t)end;
    state->taken = landed_by(batch, state, end);
}

__device__ uint64_t block_sum(uint64_t value) {
    __shared__ unsigned long long sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
    if (threadIdx.x % 32 == 0) atomicAdd(&sum, (unsigned long long)value);
    __syncthreads();
    const uint64_t all = sum;
    __syncthreads();
    return all;
}

__global__ __launch_bounds__(FLAT_BLOCK) void sum_ledgers(const emission_batch batch,
                                                          emission_state *state) {
    ledger_sum sum;
    memset(&sum, 0, sizeof sum);
    const uint32_t end = state->taken_paths;
    for (uint64_t path = blockIdx.x * FLAT_BLOCK + threadIdx.x; path < end;
         path += gridDim.x * FLAT_BLOCK) {
        const photon_ledger ledger = whole_ledger(batch.ledger[path]);
        const ledger_units units = ledger_in_units(&ledger, batch.scale);
        ledger_sum_add(&sum, &units, batch.rays[path]);
    }
    for (int i = 0; i < LEDGER_ROWS; ++i) {
        const uint64_t high = block_sum((uint64_t)sum.high[i]), low = block_sum(sum.low[i]);
        if (threadIdx.x) continue;
        atomicAdd(&state->high[i], (unsigned long long)high);
        atomicAdd(&state->low[i], (unsigned long long)low);
    }
    const uint64_t rays = block_sum(sum.rays);
    if (threadIdx.x == 0) atomicAdd(&state->rays, (unsigned long long)rays);
}

/* Writes, for the list's next positions, the photons' positions in the heap. */
__global__ __launch_bounds__(FLAT_BLOCK) void order_photons(const emission_batch batch,
                                                            const emission_state *state) {
    const uint32_t i = blockIdx.x * FLAT_BLOCK + threadIdx.x;
    if (i >= state->landed) return;
    const landed_photon *at = batch.landed + i;
    const uint32_t path = at->at.path - (uint32_t)batch.first_path;
    if (path < state->taken_paths) batch.order[batch.counts[path] + at->number] = i;
}

/* Copies photons from the heap to the list, whose first photon has the index `shift` in the list of
   all ranks. */
__global__ __launch_bounds__(FLAT_BLOCK) void place_photons(const emission_batch batch,
                                                            const emission_state *state,
                                                            photon *list, uint64_t shift) {
    __shared__ photon_tile<FLAT_BLOCK> tile;
    const uint32_t begin = blockIdx.x * FLAT_BLOCK;
    const uint32_t count = min((uint32_t)FLAT_BLOCK, state->taken - begin);
    if (threadIdx.x < count) {
        landed_photon landed_photon;
        uint4 words[4];
        const uint4 *from = (const uint4 *)(batch.landed + batch.order[begin + threadIdx.x]);
        for (int w = 0; w < 4; ++w) words[w] = from[w];
        memcpy(&landed_photon, words, sizeof landed_photon);
        tile.put(landed_photon.at);
    }
    tile.store(list + (state->count - shift) + begin, count);
}

__global__ void begin_next_batch(emission_state *state, uint64_t count, uint64_t emitted) {
    state->count = count;
    state->emitted = emitted;
    state->landed = state->taken = state->taken_paths = 0;
}

/* Scales powers to W, writes positions, and computes the hash and the strongest channel. `place` is
   the index of the first photon in the list of all ranks. */
__global__ __launch_bounds__(FLAT_BLOCK) void finish_photons(photon *list, vec3 *positions,
                                                             uint32_t count, uint64_t place,
                                                             float factor, emission_state *state) {
    __shared__ photon_tile<FLAT_BLOCK> tile;
    const uint32_t begin = blockIdx.x * FLAT_BLOCK, i = begin + threadIdx.x;
    const uint32_t block_photons = min((uint32_t)FLAT_BLOCK, count - begin);
    uint64_t hash = 0;
    uint32_t strongest = 0;
    tile.load(list + begin, block_photons);
    if (i < count) {
        photon at = tile.get();
        at.power = vec3_scale(at.power, factor);
        tile.put(at);
        positions[i] = at.position;
        hash = photon_hash(&at, place + i);
        strongest = float_bits(float_max(vec3_largest(at.power), 0));
    }
    if (factor != 1) tile.store(list + begin, block_photons);
    hash = block_sum(hash);
    strongest = __reduce_max_sync(0xffffffffu, strongest);
    if (threadIdx.x % 32 == 0) atomicMax(&state->strongest, strongest);
    if (threadIdx.x == 0) atomicAdd(&state->hash, (unsigned long long)hash);
}

kd_status scan_counts(emission_batch *batch, void *scratch) {
    return device_prefix_sum(scratch, &batch->cub_bytes, batch->counts, batch->paths,
                             batch->stream);
}

kd_status download_state(emission_state *host_state, const emission_state *state,
                         cudaStream_t stream) {
    KD_CUDA(cudaMemcpyAsync(host_state, state, sizeof *host_state, cudaMemcpyDeviceToHost, stream));
    KD_CUDA(cudaStreamSynchronize(stream));
    return KD_OK;
}

kd_status upload_state(emission_state *state, const emission_state *host_state,
                       cudaStream_t stream) {
    KD_CUDA(cudaMemcpyAsync(state, host_state, sizeof *host_state, cudaMemcpyHostToDevice, stream));
    KD_CUDA(cudaStreamSynchronize(stream)); /* before the caller changes `host_state` */
    return KD_OK;
}

kd_status lay_out(emission_batch *batch, cuda_arena *arena) {
    KD_TRY(scan_counts(batch, NULL));
    batch->landed =
        (landed_photon *)cuda_arena_take(arena, batch->heap_capacity, sizeof(landed_photon));
    batch->order = (uint32_t *)cuda_arena_take(arena, batch->heap_capacity, sizeof(uint32_t));
    batch->counts = (uint32_t *)cuda_arena_take(arena, batch->paths, sizeof(uint32_t));
    batch->rays = (uint32_t *)cuda_arena_take(arena, batch->paths, sizeof(uint32_t));
    batch->ledger =
        (photon_path_ledger *)cuda_arena_take(arena, batch->paths, sizeof(photon_path_ledger));
    batch->cub = cuda_arena_take(arena, batch->cub_bytes, 1);
    emit_lay_out_pool(batch, arena);
    return KD_OK;
}

/* Finds the end of the batch among this rank's paths, after the photons and paths of lower ranks. A
   single process has found it already. */
kd_status find_end_behind(const emission_batch *batch, emission_state *state,
                          emission_state *host_state, const emit_share *share) {
    if (!share->comm) return KD_OK;
    host_state->count += share->before;
    host_state->emitted += share->first;
    KD_TRY(upload_state(state, host_state, batch->stream));
    if (batch->paths) {
        find_end<<<1, 1, 0, batch->stream>>>(*batch, state);
        KD_CUDA_LAUNCHED("find_end");
    }
    KD_TRY(download_state(host_state, state, batch->stream));
    if (!batch->paths)
        host_state->done = host_state->reached = host_state->taken_paths = host_state->taken = 0;
    return KD_OK;
}

/* Combines the parts of all ranks; sets what the list uses of this rank's part. */
kd_status agree_on_end(const emission_batch *batch, emission_state *state,
                       emission_state *host_state, emit_share *share, uint64_t count,
                       emit_part *all) {
    emit_part part = {host_state->taken_paths, host_state->taken, host_state->done,
                      host_state->reached};
    KD_TRY(emit_share_parts(share, &part, count, all));
    if (!share->comm) return KD_OK;
    host_state->taken_paths = (uint32_t)part.paths;
    host_state->taken = (uint32_t)part.photons;
    KD_TRY(upload_state(state, host_state, batch->stream));
    return KD_OK;
}

/* Traces the batch; repeats it with a larger heap if photons did not fit. `host_state` receives the
   state. */
kd_status trace_batch(photon_emitter_cuda *emitter, emission_batch *batch, const scene_view *scene,
                      const photon_order *order, emission_state *host_state,
                      const emit_share *share) {
    emission_state *state = (emission_state *)emitter->state.memory;
    if (!batch->paths) KD_TRY(download_state(host_state, state, batch->stream));
    while (batch->paths) {
        cuda_arena arena = {NULL, 0};
        KD_TRY(lay_out(batch, &arena));
        KD_TRY(device_buffer_reserve(&emitter->batch, arena.used));
        arena.base = (char *)emitter->batch.memory;
        arena.used = 0;
        KD_TRY(lay_out(batch, &arena));
        KD_TRY(emit_by_waves(batch, scene, order, &emitter->waves));
        KD_TRY(scan_counts(batch, batch->cub));
        if (!share->comm) {
            find_end<<<1, 1, 0, batch->stream>>>(*batch, state);
            KD_CUDA_LAUNCHED("find_end");
        }
        KD_TRY(download_state(host_state, state, batch->stream));
        if (host_state->landed <= batch->heap_capacity) break;
        batch->heap_capacity = host_state->landed;
        KD_CUDA(cudaMemsetAsync(&state->landed, 0, sizeof state->landed, batch->stream));
    }
    return KD_OK;
}

/* Adds the ledgers, and moves photons to the list. */
kd_status take_batch(photon_list_cuda *list, emission_batch *batch, emission_state *state,
                     const emission_state *host_state, bool distributed) {
    if (host_state->taken_paths == 0) return KD_OK;
    if (distributed) KD_TRY(photon_list_cuda_begin_run(list, host_state->count, host_state->taken));
    const uint64_t shift = distributed ? host_state->count - list->local_count : 0;
    const unsigned needed = cuda_blocks(host_state->taken_paths, FLAT_BLOCK),
                   blocks = needed < 512u ? needed : 512u;
    sum_ledgers<<<blocks, FLAT_BLOCK, 0, batch->stream>>>(*batch, state);
    KD_CUDA_LAUNCHED("sum_ledgers");
    if (host_state->landed) {
        order_photons<<<cuda_blocks(host_state->landed, FLAT_BLOCK), FLAT_BLOCK, 0,
                        batch->stream>>>(*batch, state);
        KD_CUDA_LAUNCHED("order_photons");
    }
    if (host_state->taken) {
        place_photons<<<cuda_blocks(host_state->taken, FLAT_BLOCK), FLAT_BLOCK, 0, batch->stream>>>(
            *batch, state, (photon *)list->photons.memory, shift);
        KD_CUDA_LAUNCHED("place_photons");
    }
    return KD_OK;
}

/* Runs one batch on all ranks. */
kd_status run_batch(photon_list_cuda *list, photon_emitter_cuda *emitter, emission_batch *batch,
                    const scene_view *scene, const photon_order *order, emission_state *host_state,
                    emit_share *share, bool *stopped, job_control *job) {
    emission_state *state = (emission_state *)emitter->state.memory;
    emit_part all;
    KD_TRY(trace_batch(emitter, batch, scene, order, host_state, share));
    KD_TRY(emit_share_landed(share, host_state->landed, job_cancelled(job), stopped));
    KD_TRY(find_end_behind(batch, state, host_state, share));
    KD_TRY(agree_on_end(batch, state, host_state, share, list->count, &all));
    const bool distributed = order->distributed && share->comm;
    KD_TRY(take_batch(list, batch, state, host_state, distributed));
    if (!distributed) KD_TRY(photon_list_cuda_exchange(list, share));
    begin_next_batch<<<1, 1, 0, batch->stream>>>(state, list->count + all.photons,
                                                 list->emitted + all.paths);
    KD_CUDA_LAUNCHED("begin_next_batch");
    list->count += all.photons;
    list->local_count += distributed ? host_state->taken : all.photons;
    list->emitted += all.paths;
    list->complete = all.complete != 0;
    host_state->done = all.ended;
    job_advance(job, (int64_t)all.photons);
    return KD_OK;
}

kd_status finish_list(photon_list_cuda *list, const photon_emitter_cuda *emitter,
                      emission_state *host_state, float factor) {
    emission_state *state = (emission_state *)emitter->state.memory;
    const cudaStream_t stream = (cudaStream_t)device_thread_stream();
    const photon_run all = {0, 0}, *runs = list->runs ? list->runs : &all;
    const uint32_t run_count = list->runs ? list->run_count : list->local_count > 0;
    for (uint32_t r = 0; r < run_count; ++r) {
        const uint64_t begin = runs[r].begin,
                       end = r + 1 < run_count ? runs[r + 1].begin : list->local_count;
        finish_photons<<<cuda_blocks(end - begin, FLAT_BLOCK), FLAT_BLOCK, 0, stream>>>(
            (photon *)list->photons.memory + begin, (vec3 *)list->positions.memory + begin,
            (uint32_t)(end - begin), runs[r].place, factor, state);
        KD_CUDA_LAUNCHED("finish_photons");
    }
    KD_TRY(download_state(host_state, state, stream));
    list->hash = host_state->hash;
    list->strongest = float_from_bits(host_state->strongest);
    return KD_OK;
}

void clear_list(photon_list_cuda *list) {
    const device_buffer photons = list->photons, positions = list->positions;
    memory_free(list->runs);
    memset(list, 0, sizeof *list);
    list->photons = photons;
    list->positions = positions;
}

kd_status reserve_list(photon_list_cuda *list, photon_emitter_cuda *emitter, uint64_t photons) {
    KD_TRY(device_buffer_reserve(&list->photons, photons * sizeof(photon)));
    KD_TRY(device_buffer_reserve(&list->positions, photons * sizeof(vec3)));
    return device_buffer_reserve(&emitter->state, sizeof(emission_state));
}

/* Number of paths of the next batch, for all ranks: the expected number and a small margin. */
uint64_t batch_size(const photon_order *order, const photon_emitter_cuda *emitter,
                    const photon_list_cuda *list) {
    if (order->batch_paths) return order->batch_paths;
    const uint64_t maximum =
        MAX_PATHS * (ranks_shared(order->comm) ? (uint64_t)order->comm->size : 1);
    double yield = emitter->yield;
    if (list->emitted) yield = (double)list->count / (double)list->emitted;
    if (!(yield > 0))
        return list->emitted ? 16 * min(list->emitted, FIRST_PATHS)
                             : min(FIRST_PATHS, 2 * order->target + FEW_PATHS);
    const double missing = (double)(order->target - list->count);
    const double paths = missing / yield + 8 * sqrt(missing / yield) + 64;
    return paths < (double)maximum ? (uint64_t)paths : maximum;
}

/* Distributes the decision of rank 0 on the next batch, and sets this rank's part. */
kd_status plan_batch(emission_batch *batch, photon_list_cuda *list,
                     const photon_emitter_cuda *emitter, const photon_order *order,
                     emit_share *share) {
    uint64_t paths = min(batch_size(order, emitter, list), emit_paths_max(order) - list->emitted);
    list->cut = emit_is_overdue(order, list->emitted);
    KD_TRY(emit_share_plan(share, &paths, &list->cut));
    memset(batch, 0, sizeof *batch);
    batch->first_path = list->emitted + share->first;
    batch->stream = (cudaStream_t)device_thread_stream();
    batch->landed_count = &((emission_state *)emitter->state.memory)->landed;
    batch->paths = (uint32_t)share->paths;
    batch->capacity = min(batch->paths, emitter->path_capacity ? emitter->path_capacity
                                                               : (uint32_t)EMIT_PATHS_AT_ONCE);
    const double yield = emitter->yield > 0 ? emitter->yield : 2;
    const double estimated = 1.1 * yield * batch->paths + 1024;
    batch->heap_capacity = (uint32_t)(estimated < 0x1p31 ? estimated : 0x1p31);
    return KD_OK;
}

kd_status finish_emission(photon_list_cuda *list, const photon_emitter_cuda *emitter,
                          emission_state *host_state, double scale, emit_share *share) {
    ledger_sum sum;
    KD_TRY(finish_list(list, emitter, host_state, (float)(1 / (double)list->emitted)));
    for (int i = 0; i < LEDGER_ROWS; ++i) {
        sum.high[i] = (int64_t)host_state->high[i];
        sum.low[i] = host_state->low[i];
    }
    sum.rays = host_state->rays;
    KD_TRY(emit_share_ledger(share, &sum));
    list->ledger = ledger_sum_mean(&sum, scale, list->emitted);
    list->rays = sum.rays;
    return KD_OK;
}

kd_status emit_all(photon_list_cuda *list, photon_emitter_cuda *emitter, const scene_view *scene,
                   const photon_order *order, emit_share *share, job_control *job) {
    const double scale = ledger_scale(scene->total_power);
    emission_state host_state;
    bool done = false, stopped = false;
    while (!done) {
        emission_batch batch;
        KD_TRY(plan_batch(&batch, list, emitter, order, share));
        if (list->cut) break;
        batch.scale = scale;
        KD_TRY(run_batch(list, emitter, &batch, scene, order, &host_state, share, &stopped, job));
        done = host_state.done != 0;
        if (list->count) emitter->yield = (double)list->count / (double)list->emitted;
        if (!done && stopped)
            KD_FAIL(KD_INTERRUPTED, "photon emission was interrupted after %llu of %llu photons",
                    (unsigned long long)list->count, (unsigned long long)order->target);
    }
    return finish_emission(list, emitter, &host_state, scale, share);
}

} // namespace

extern "C" kd_status photon_list_cuda_emit(photon_list_cuda *list, photon_emitter_cuda *emitter,
                                           const scene_view *scene, const photon_order *order,
                                           job_control *job) {
    clear_list(list);
    const bool distributed = order->distributed && ranks_shared(order->comm);
    const uint64_t keepers = distributed ? (uint64_t)order->comm->size : 1;
    KD_REQUIRE(order->target / keepers <= POINTTREE_COUNT_MAX / 2, KD_ERROR_USAGE,
               "%llu photons requested; one map supports at most %u",
               (unsigned long long)order->target, POINTTREE_COUNT_MAX / 2);
    if (order->target == 0 || scene->light_count == 0 || !(scene->total_power > 0)) return KD_OK;
    /* distributed lists are larger on faster ranks */
    const uint64_t capacity =
        distributed ? order->target / keepers + order->target / keepers / 8 : order->target;
    KD_TRY(reserve_list(list, emitter, capacity + LIST_SPARE));
    emission_state begun;
    memset(&begun, 0, sizeof begun);
    begun.target = order->target;
    begun.longest = emit_paths_max(order);
    begun.minimum = emit_min_landed(order);
    KD_TRY(upload_state((emission_state *)emitter->state.memory, &begun,
                        (cudaStream_t)device_thread_stream()));
    emit_share share;
    kd_status status = emit_share_open(&share, order->comm);
    if (status == KD_OK) status = emit_all(list, emitter, scene, order, &share, job);
    emit_share_close(&share);
    return status;
}

extern "C" uint64_t photon_list_cuda_bytes(uint64_t photons) {
    emission_batch batch;
    cuda_arena arena = {NULL, 0};
    memset(&batch, 0, sizeof batch);
    const uint64_t paths = 4 * photons < FIRST_PATHS ? FIRST_PATHS : 4 * photons;
    batch.paths = (uint32_t)(paths < MAX_PATHS ? paths : MAX_PATHS);
    batch.capacity = min(batch.paths, (uint32_t)EMIT_PATHS_AT_ONCE);
    batch.heap_capacity = (uint32_t)(photons + photons / 8 + FIRST_PATHS);
    if (lay_out(&batch, &arena) != KD_OK) return 0;
    return arena.used + (photons + LIST_SPARE) * (sizeof(photon) + sizeof(vec3));
}

extern "C" kd_status photon_list_cuda_upload(photon_list_cuda *list, const photon_list *photons) {
    photon_emitter_cuda emitter;
    emission_state begun;
    memset(&emitter, 0, sizeof emitter);
    memset(&begun, 0, sizeof begun);
    clear_list(list);
    kd_status status = KD_OK;
    KD_TRY_GOTO(reserve_list(list, &emitter, photons->count + 1));
    KD_TRY_GOTO(device_memory_upload(list->photons.memory, photons->photons,
                                     photons->count * sizeof(photon)));
    KD_TRY_GOTO(device_memory_upload(emitter.state.memory, &begun, sizeof begun));
    list->count = list->local_count = photons->count;
    list->emitted = photons->emitted;
    list->rays = photons->rays;
    list->ledger = photons->ledger;
    list->complete = photons->complete;
    KD_TRY_GOTO(finish_list(list, &emitter, &begun, 1));
done:
    photon_emitter_cuda_close(&emitter);
    return status;
}

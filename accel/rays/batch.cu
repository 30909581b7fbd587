/* Batches of rays on a CUDA device: selects the kernel, and copies rays and hits if they are on the
   host.
   Data flow: rays (copied to the device if they are on the host) -> hits or occlusion, by one of
   the kernels of batch_loops.cuh, by cast_nodes, or by cast_plain with one thread per ray. */
#include "accel/rays/batch_device.h"
#include "accel/rays/batch_loops.cuh"
#include "core/device/cuda.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"

namespace {

const uint64_t launch_rays = 1 << 30; /* at most, per launch */
const uint64_t host_rays = 1 << 24;   /* at most, per copy from the host */

/* Casts ray i by the reference traversal, which can count its work. */
__device__ __forceinline__ void cast_by_layout(const tritree_view &tree, const ray_batch &c,
                                               uint32_t i, tritree_counts *counts) {
    float4 o, d;
    load_ray(c, i, o, d);
    const ray ray = ray_make(vec3_make(o.x, o.y, o.z), vec3_make(d.x, d.y, d.z), o.w, d.w);
    const bool any = c.blocked != NULL;
    ray_hit hit = {d.w, 0, 0, KD_NONE};
    if (ray_is_valid(o, d)) hit = tritree_cast(&tree, ray, any, counts);
    if (c.blocked)
        c.blocked[i] = hit.triangle != KD_NONE;
    else
        store_hit(c, i, hit.t, hit.u, hit.v, hit.triangle);
}

/* The reference kernel: one thread per ray. Seven resident blocks per multiprocessor allow at most
   72 registers per thread; without this bound the compiler uses 74, which costs one block (6 % of
   the rays' speed on an H200). */
__global__ __launch_bounds__(CAST_BLOCK,
                             7) void cast_plain(const __grid_constant__ tritree_view tree,
                                                const __grid_constant__ ray_batch c,
                                                tritree_counts *counts) {
    const uint32_t i = blockIdx.x * CAST_BLOCK + threadIdx.x;
    if (i >= c.count) return;
    tritree_counts taken = {0, 0, 0};
    cast_by_layout(tree, c, i, counts ? &taken : NULL);
    if (counts) counts[i] = taken;
}

kd_status run_plain(const tritree_cuda *tree, const ray_batch *c, tritree_counts *counts,
                    cudaStream_t stream) {
    cast_plain<<<cuda_blocks(c->count, CAST_BLOCK), CAST_BLOCK, 0, stream>>>(tree->view, *c,
                                                                             counts);
    KD_CUDA_LAUNCHED("cast_plain");
    return KD_OK;
}

dim3 blocks_of_tiles(const ray_batch *c) {
    return dim3((c->width + TILES_WIDTH - 1) / TILES_WIDTH,
                (c->count / c->width + TILES_HEIGHT - 1) / TILES_HEIGHT);
}

/* One thread per ray, in tiles if the rays are an image. For trees without a compressed form. */
template <bool any, bool tiles>
__global__ __launch_bounds__(CAST_BLOCK,
                             8) void cast_nodes(const __grid_constant__ tritree_view tree,
                                                const __grid_constant__ ray_batch c) {
    const uint32_t i = tiles ? ray_of_tile(c) : blockIdx.x * CAST_BLOCK + threadIdx.x;
    if (tiles ? i != KD_NONE : i < c.count) cast_by_nodes<any>(tree, c, i);
}

template <bool any>
kd_status run_nodes(const tritree_cuda *tree, const ray_batch *c, cudaStream_t stream) {
    if (c->width)
        cast_nodes<any, true><<<blocks_of_tiles(c), CAST_BLOCK, 0, stream>>>(tree->view, *c);
    else
        cast_nodes<any, false>
            <<<cuda_blocks(c->count, CAST_BLOCK), CAST_BLOCK, 0, stream>>>(tree->view, *c);
    KD_CUDA_LAUNCHED("cast_nodes");
    return KD_OK;
}

/* At most one ray in four defers triangles in all but pathological batches. Rays for which the list
   has no capacity are found by a scan of the results. */
kd_status take_list(deferred_rays *out, uint32_t count, cudaStream_t stream) {
    out->capacity = count / 4 + 32;
    out->records = NULL;
    const kd_status status = device_pool_reserve((void **)&out->records,
                                                 out->capacity * sizeof(compressed_record), stream);
    if (status != KD_ERROR_MEMORY) return status;
    out->capacity = 0; /* the kernels then work without a list */
    return KD_OK;
}

template <bool any, bool indexed>
kd_status run_compressed_once(const tritree_cuda *tree, const ray_batch *c, cudaStream_t stream) {
    const deferred_rays none = {NULL, 0};
    if (c->width) {
        cast_compressed_once<any, true, indexed>
            <<<blocks_of_tiles(c), COMPRESSED_BLOCK, 0, stream>>>(*c, tree->view, none);
    } else {
        cast_compressed_once<any, false, indexed>
            <<<cuda_blocks(c->count, CAST_BLOCK), COMPRESSED_BLOCK, 0, stream>>>(*c, tree->view,
                                                                                 none);
    }
    KD_CUDA_LAUNCHED("cast_compressed_once");
    return KD_OK;
}

template <bool any, bool indexed>
kd_status run_compressed_persistent(const tritree_cuda *tree, const ray_batch *c,
                                    cudaStream_t stream) {
    unsigned blocks = 0, processors = 0;
    deferred_rays list;
    const compressed_scene scene = compressed_scene_of(tree->view);
    KD_TRY(cuda_processors(&processors));
    KD_TRY(cuda_resident_blocks(&blocks, cast_compressed<any, indexed>, COMPRESSED_BLOCK));
    KD_TRY(take_list(&list, c->count, stream));
    cast_compressed<any, indexed><<<blocks, COMPRESSED_BLOCK, 0, stream>>>(*c, scene, list);
    kd_status status = cudaPeekAtLastError() == cudaSuccess ? KD_OK : KD_ERROR_DEVICE;
    if (status == KD_OK)
        status = cuda_launch_dependent(resolve_batch<any>, 4 * processors, COMPRESSED_BLOCK, stream,
                                       *c, tree->view, list);
    device_pool_release(list.records, stream);
    KD_CUDA_LAUNCHED("cast_compressed");
    return status;
}

template <bool any, bool indexed>
kd_status run_compressed(const tritree_cuda *tree, const ray_batch *c, trace_loop loop,
                         cudaStream_t stream) {
    return loop == TRACE_ONCE ? run_compressed_once<any, indexed>(tree, c, stream)
                              : run_compressed_persistent<any, indexed>(tree, c, stream);
}

template <bool any>
kd_status run_fast(const tritree_cuda *tree, const ray_batch *c, trace_loop loop,
                   cudaStream_t stream) {
    if ((loop == TRACE_NODES && tree->view.rows) || !tree->view.compressed)
        return run_nodes<any>(tree, c, stream);
    return tree->view.indexed ? run_compressed<any, true>(tree, c, loop, stream)
                              : run_compressed<any, false>(tree, c, loop, stream);
}

/* Each batch in flight has its own cursor, up to TRITREE_CUDA_CURSORS of them. */
uint32_t *take_cursor(const tritree_cuda *tree) {
    static uint32_t taken;
    return tree->cursors + TRITREE_CUDA_CURSOR * (__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED) %
                                                  TRITREE_CUDA_CURSORS);
}

trace_loop choose_loop(const trace_batch *batch) {
    if (batch->loop != TRACE_AUTO) return batch->loop;
    const bool image = batch->measured && batch->width;
    return batch->coherent || image ? TRACE_ONCE : TRACE_PERSISTENT;
}

/* Fills the arguments that are the same for all pieces of a batch. */
ray_batch make_batch(const tritree_cuda *tree, const trace_batch *batch) {
    ray_batch c;
    memset(&c, 0, sizeof c);
    c.box = tree->view.box;
    c.empty = tree->view.reference_count == 0;
    c.measured = batch->measured && batch->loop == TRACE_AUTO;
    c.cursor = take_cursor(tree);
    return c;
}

/* Casts at most launch_rays rays, whose device pointers are in *c. */
kd_status run_piece(const tritree_cuda *tree, const trace_batch *batch, ray_batch *c,
                    tritree_counts *counts, uint32_t count) {
    c->count = count;
    /* Tiles are used only if all of them are whole: a warp takes four rows of eight rays. A grid
       has at most 65535 rows. */
    const uint64_t width = batch->width;
    const bool tiles = width && width % 8 == 0 && count % (4 * width) == 0 &&
                       count / width <= 65535 * (uint64_t)TILES_HEIGHT;
    c->width = tiles ? batch->width : 0;
    cudaStream_t stream = (cudaStream_t)batch->stream;
    const trace_loop loop = choose_loop(batch);
    if (loop == TRACE_PLAIN || batch->counts) {
        KD_REQUIRE(tree->view.nodes, KD_ERROR_USAGE, "the nodes of the tree were freed");
        return run_plain(tree, c, counts, stream);
    }
    return c->blocked ? run_fast<true>(tree, c, loop, stream)
                      : run_fast<false>(tree, c, loop, stream);
}

template <class item> item *from(item *array, uint64_t done) {
    return array ? array + done : array;
}

/* Sets the pointers of *c to ray `done` of the batch. */
void place_batch(ray_batch *c, const trace_batch *batch, uint64_t done) {
    c->rays = (const float4 *)from(batch->rays, done);
    c->hits = (float4 *)from(batch->hits, done);
    c->blocked = from(batch->blocked, done);
    trace_arrays *to = &c->arrays;
    for (int axis = 0; axis < 3; ++axis) {
        to->origin[axis] = from(batch->arrays.origin[axis], done);
        to->direction[axis] = from(batch->arrays.direction[axis], done);
    }
    to->tmin = from(batch->arrays.tmin, done);
    to->tmax = from(batch->arrays.tmax, done);
    to->t = from(batch->arrays.t, done);
    to->u = from(batch->arrays.u, done);
    to->v = from(batch->arrays.v, done);
    to->triangle = from(batch->arrays.triangle, done);
}

kd_status run_on_device(const tritree_cuda *tree, const trace_batch *batch) {
    KD_REQUIRE(((uintptr_t)batch->rays | (uintptr_t)batch->hits) % 16 == 0, KD_ERROR_USAGE,
               "`rays` is %p and `hits` is %p; both must be aligned to 16 bytes on the device",
               (const void *)batch->rays, (void *)batch->hits);
    ray_batch c = make_batch(tree, batch);
    for (uint64_t done = 0; done < batch->count; done += launch_rays) {
        const uint64_t left = batch->count - done;
        place_batch(&c, batch, done);
        KD_TRY(run_piece(tree, batch, &c, from(batch->counts, done),
                         (uint32_t)(left < launch_rays ? left : launch_rays)));
    }
    return KD_OK;
}

/* Casts the batch in pieces that are copied through device memory. */
kd_status run_from_host(const tritree_cuda *tree, const trace_batch *batch, void *memory,
                        uint64_t piece) {
    cudaStream_t stream = (cudaStream_t)batch->stream;
    ray *rays = (ray *)memory;
    trace_batch trace = *batch;
    trace.rays = rays;
    trace.hits = batch->hits ? (ray_hit *)(rays + piece) : NULL;
    trace.blocked = batch->hits ? NULL : (uint8_t *)(rays + piece);
    ray_batch c = make_batch(tree, batch);
    place_batch(&c, &trace, 0);
    for (uint64_t done = 0; done < batch->count; done += piece) {
        const uint64_t left = batch->count - done, count = left < piece ? left : piece;
        KD_CUDA(cudaMemcpyAsync(rays, batch->rays + done, count * sizeof *rays,
                                cudaMemcpyHostToDevice, stream));
        KD_TRY(run_piece(tree, batch, &c, NULL, (uint32_t)count));
        if (batch->hits)
            KD_CUDA(cudaMemcpyAsync(batch->hits + done, trace.hits, count * sizeof *batch->hits,
                                    cudaMemcpyDeviceToHost, stream));
        else
            KD_CUDA(cudaMemcpyAsync(batch->blocked + done, trace.blocked, count,
                                    cudaMemcpyDeviceToHost, stream));
    }
    KD_CUDA(cudaStreamSynchronize(stream));
    return KD_OK;
}

} // namespace

kd_status trace_cuda(const tritree_cuda *tree, const trace_batch *batch) {
    const trace_arrays *a = &batch->arrays;
    const int kinds =
        (batch->hits != NULL) + (batch->blocked != NULL) + (a->t || a->u || a->v || a->triangle);
    KD_REQUIRE(
        kinds == 1, KD_ERROR_USAGE,
        "set exactly one of `hits`, the hit arrays (`t`, `u`, `v`, `triangles`) and `blocked`");
    if (batch->count == 0) return KD_OK;
    if (batch->on_device || !batch->rays || device_memory_owns(batch->rays))
        return run_on_device(tree, batch);
    KD_REQUIRE(batch->hits || batch->blocked, KD_ERROR_USAGE,
               "`rays` in host memory need `hits` or `blocked`; the hit arrays need device memory");
    const uint64_t piece = batch->count < host_rays ? batch->count : host_rays;
    void *memory = NULL;
    KD_TRY(device_memory_reserve(&memory, piece * (sizeof(ray) + sizeof(ray_hit))));
    const kd_status status = run_from_host(tree, batch, memory, piece);
    device_memory_free(memory);
    return status;
}

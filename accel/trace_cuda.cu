/* Batches of rays on a device: chooses the kernel, brings rays there and hits back if need be. */
#include "accel/trace_cuda.h"
#include "accel/trace_planes.cuh"
#include "accel/trace_watertight.cuh"
#include "core/cuda.h"
#include "core/device_memory.h"

namespace {

const uint64_t launch_rays = 1 << 30; /* at most */
const uint64_t host_rays = 1 << 24;   /* on the device at a time, if they come from the host */

/* The oracle: one thread a ray, nothing but the shared function. */
__global__ void cast_plain(tritree_view tree, const ray *rays, ray_hit *hits, uint8_t *blocked,
                           uint32_t count) {
    const uint32_t i = blockIdx.x * CAST_BLOCK + threadIdx.x;
    if (i >= count) return;
    if (hits)
        hits[i] = tritree_closest(&tree, rays[i]);
    else
        blocked[i] = tritree_occluded(&tree, rays[i]);
}

kd_status run_plain(const tritree_cuda *tree, const caster *c, cudaStream_t stream) {
    cast_plain<<<(c->count + CAST_BLOCK - 1) / CAST_BLOCK, CAST_BLOCK, 0, stream>>>(
        tree->view, (const ray *)c->rays, (ray_hit *)c->hits, c->blocked, c->count);
    KD_CUDA_LAUNCHED("cast_plain");
    return KD_OK;
}

template <class walk, bool any>
kd_status run_walk(const caster *c, bool persistent, cudaStream_t stream) {
    if (!persistent) {
        cast_once<walk, any>
            <<<(c->count + CAST_BLOCK - 1) / CAST_BLOCK, CAST_BLOCK, 0, stream>>>(*c);
        KD_CUDA_LAUNCHED("cast_once");
        return KD_OK;
    }
    int on = 0, processors = 0, resident = 0;
    KD_CUDA(cudaGetDevice(&on));
    KD_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, on));
    KD_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, cast_persistent<walk, any>,
                                                          CAST_BLOCK, 0));
    KD_CUDA(cudaMemsetAsync(c->cursor, 0, sizeof *c->cursor, stream));
    cast_persistent<walk, any><<<(unsigned)(processors * resident), CAST_BLOCK, 0, stream>>>(*c);
    KD_CUDA_LAUNCHED("cast_persistent");
    return KD_OK;
}

template <class walk>
kd_status run_any_or_closest(const caster *c, bool persistent, cudaStream_t stream) {
    return c->hits ? run_walk<walk, false>(c, persistent, stream)
                   : run_walk<walk, true>(c, persistent, stream);
}

/* Each batch at work counts on a cursor of its own. */
uint32_t *take_cursor(const tritree_cuda *tree) {
    static uint32_t taken;
    return tree->cursors + __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED) % TRITREE_CUDA_CURSORS;
}

/* At most launch_rays rays in device memory. */
kd_status run_piece(const tritree_cuda *tree, const trace_batch *batch, const ray *rays,
                    ray_hit *hits, uint8_t *blocked, uint32_t count) {
    caster c;
    c.nodes = (const uint2 *)tree->walk_nodes;
    c.planes = (const float4 *)tree->planes;
    c.corners = (const float4 *)tree->corners;
    c.references = tree->view.references;
    c.box = tree->view.box;
    const vec3 size = box3_size(c.box);
    c.margin = 1e-4f * (size.x + size.y + size.z);
    c.empty = tree->view.reference_count == 0;
    c.rays = (const float4 *)rays;
    c.hits = (float4 *)hits;
    c.blocked = blocked;
    c.count = count;
    /* whole tiles only: a warp's rays lie in four rows of eight */
    const bool tiles = batch->width % 8 == 0 && batch->width && count % (4 * batch->width) == 0;
    c.width = tiles ? batch->width : 0;
    c.cursor = take_cursor(tree);
    cudaStream_t stream = (cudaStream_t)batch->stream;
    if (batch->loop == TRACE_PLAIN) return run_plain(tree, &c, stream);
    const bool persistent =
        batch->loop == TRACE_PERSISTENT || (batch->loop == TRACE_AUTO && !batch->coherent);
    return batch->test == TRACE_PLANES
               ? run_any_or_closest<walk_planes>(&c, persistent, stream)
               : run_any_or_closest<walk_watertight>(&c, persistent, stream);
}

kd_status run_on_device(const tritree_cuda *tree, const trace_batch *batch) {
    KD_REQUIRE(((uintptr_t)batch->rays | (uintptr_t)batch->hits) % 16 == 0, KD_ERROR_USAGE,
               "rays at %p, hits at %p: expected 16-byte aligned device memory",
               (const void *)batch->rays, (void *)batch->hits);
    for (uint64_t done = 0; done < batch->count; done += launch_rays) {
        const uint64_t left = batch->count - done;
        KD_TRY(run_piece(tree, batch, batch->rays + done, batch->hits ? batch->hits + done : NULL,
                         batch->blocked ? batch->blocked + done : NULL,
                         (uint32_t)(left < launch_rays ? left : launch_rays)));
    }
    return KD_OK;
}

/* A piece at a time through device memory. */
kd_status run_from_host(const tritree_cuda *tree, const trace_batch *batch, void *memory,
                        uint64_t piece) {
    cudaStream_t stream = (cudaStream_t)batch->stream;
    ray *rays = (ray *)memory;
    ray_hit *hits = batch->hits ? (ray_hit *)(rays + piece) : NULL;
    uint8_t *blocked = batch->hits ? NULL : (uint8_t *)(rays + piece);
    for (uint64_t done = 0; done < batch->count; done += piece) {
        const uint64_t left = batch->count - done, count = left < piece ? left : piece;
        KD_CUDA(cudaMemcpyAsync(rays, batch->rays + done, count * sizeof *rays,
                                cudaMemcpyHostToDevice, stream));
        KD_TRY(run_piece(tree, batch, rays, hits, blocked, (uint32_t)count));
        if (hits)
            KD_CUDA(cudaMemcpyAsync(batch->hits + done, hits, count * sizeof *hits,
                                    cudaMemcpyDeviceToHost, stream));
        else
            KD_CUDA(cudaMemcpyAsync(batch->blocked + done, blocked, count, cudaMemcpyDeviceToHost,
                                    stream));
    }
    KD_CUDA(cudaStreamSynchronize(stream));
    return KD_OK;
}

} // namespace

kd_status trace_cuda(const tritree_cuda *tree, const trace_batch *batch) {
    KD_REQUIRE(!batch->hits != !batch->blocked, KD_ERROR_USAGE,
               "expected room either for hits or for what is blocked");
    if (batch->count == 0) return KD_OK;
    if (device_memory_owns(batch->rays)) return run_on_device(tree, batch);
    const uint64_t piece = batch->count < host_rays ? batch->count : host_rays;
    void *memory = NULL;
    KD_TRY(device_memory_reserve(&memory, piece * (sizeof(ray) + sizeof(ray_hit))));
    const kd_status status = run_from_host(tree, batch, memory, piece);
    device_memory_free(memory);
    return status;
}

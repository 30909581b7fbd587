/* The tree's owner on a device: uploads the layout, and prepares the forms for fast kernels.
   Data flow: the host's arrays, or another device array, -> one block of memory; prepare_nodes,
              a thread a node, and prepare_rows and prepare_planes, a thread a reference, -> the
              copies that fast kernels read. Each is read after the stream has come by. */
#include "accel/geometry/triangle.h"
#include "accel/packed/packed_device.h"
#include "accel/rays/tree_device.h"
#include "core/device/cuda.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"

namespace {

enum { BLOCK = 256 };

unsigned blocks_for(uint64_t count) {
    return (unsigned)((count + BLOCK - 1) / BLOCK);
}

/* Place 0 is an empty leaf: where rays begin that miss the tree's box. */
__global__ void prepare_nodes(const tritree_node *nodes, uint32_t count, tritree_node *pairs) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i == 0) pairs[0] = tritree_leaf(0, 0);
    if (i >= count) return;
    tritree_node node = nodes[i];
    if (!tritree_is_leaf(node)) node.word += 1 << 2;
    pairs[i + 1] = node;
}

__device__ double dot(const double *a, const double *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

__device__ void cross(double *out, const double *a, const double *b) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* (row, -row . through) * scale as floats */
__device__ float4 plane_row(const double *row, const double *through, double scale) {
    return make_float4((float)(row[0] * scale), (float)(row[1] * scale), (float)(row[2] * scale),
                       (float)(-dot(row, through) * scale));
}

__global__ void prepare_rows(tritree_view view, float4 *leaf_rows) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= view.reference_count) return;
    const uint32_t id = view.references[i];
    const uint32_t *index = view.triangles + 3 * (uint64_t)id;
    const vec3 a = view.positions[index[0]], b = view.positions[index[1]],
               c = view.positions[index[2]];
    float4 *axis = leaf_rows + 3 * (uint64_t)i;
    axis[0] = make_float4(a.x, b.x, c.x, __uint_as_float(id));
    axis[1] = make_float4(a.y, b.y, c.y, __uint_as_float(id));
    axis[2] = make_float4(a.z, b.z, c.z, __uint_as_float(id));
}

/* With n = e1 x e2: (e2 x n) . e1 = (n x e1) . e2 = n . n, so these two over n . n are the
   gradients of u and v; that of the height may have any length, t is a quotient of two heights. */
__global__ void prepare_planes(tritree_view view, float4 *planes) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= view.reference_count) return;
    const uint32_t *index = view.triangles + 3 * (uint64_t)view.references[i];
    const vec3 a = view.positions[index[0]], b = view.positions[index[1]],
               c = view.positions[index[2]];
    float4 *row = planes + 3 * (uint64_t)i;
    const double from[3] = {(double)a.x, (double)a.y, (double)a.z};
    const double e1[3] = {b.x - from[0], b.y - from[1], b.z - from[2]};
    const double e2[3] = {c.x - from[0], c.y - from[1], c.z - from[2]};
    double n[3], u[3], v[3];
    cross(n, e1, e2);
    cross(u, e2, n);
    cross(v, n, e1);
    const double square = dot(n, n);
    row[0] = plane_row(n, from, 1 / sqrt(square));
    row[1] = plane_row(u, from, 1 / square);
    row[2] = plane_row(v, from, 1 / square);
}

/* Where everything lies in the tree's memory, measured and handed out by the same code. */
void lay_out(tritree_cuda *tree, cuda_arena *arena, uint32_t position_count) {
    tritree_view *view = &tree->view;
    const uint64_t references = view->reference_count;
    view->nodes = (tritree_node *)cuda_arena_take(arena, view->node_count, sizeof(tritree_node));
    view->pairs = (tritree_node *)cuda_arena_take(arena, (uint64_t)view->node_count + 1,
                                                  sizeof(tritree_node));
    view->leaf_rows = (triangle_rows *)cuda_arena_take(arena, references, sizeof(triangle_rows));
    view->references = (uint32_t *)cuda_arena_take(arena, references, sizeof(uint32_t));
    view->positions = (vec3 *)cuda_arena_take(arena, position_count, sizeof(vec3));
    view->triangles =
        (uint32_t *)cuda_arena_take(arena, view->triangle_count, 3 * sizeof(uint32_t));
    tree->cursors = (uint32_t *)cuda_arena_take(arena, TRITREE_CUDA_CURSOR * TRITREE_CUDA_CURSORS,
                                                sizeof(uint32_t));
}

/* cudaMemcpyDefault: the source may be host or device memory. */
kd_status fill(tritree_cuda *tree, const tritree_view *from, uint32_t position_count,
               cudaStream_t stream) {
    const tritree_view *to = &tree->view;
    const struct {
        const void *to, *from;
        uint64_t bytes;
    } parts[] = {
        {to->nodes, from->nodes, from->node_count * sizeof(tritree_node)},
        {to->references, from->references, from->reference_count * sizeof(uint32_t)},
        {to->positions, from->positions, position_count * sizeof(vec3)},
        {to->triangles, from->triangles, 3 * (uint64_t)from->triangle_count * sizeof(uint32_t)}};
    for (const auto &part : parts)
        if (part.bytes)
            KD_CUDA(
                cudaMemcpyAsync((void *)part.to, part.from, part.bytes, cudaMemcpyDefault, stream));
    KD_CUDA(cudaMemsetAsync(tree->cursors, 0,
                            TRITREE_CUDA_CURSOR * TRITREE_CUDA_CURSORS * sizeof(uint32_t), stream));
    prepare_nodes<<<blocks_for(to->node_count), BLOCK, 0, stream>>>(to->nodes, to->node_count,
                                                                    (tritree_node *)to->pairs);
    KD_CUDA_LAUNCHED("prepare_nodes");
    if (to->reference_count == 0) return KD_OK;
    prepare_rows<<<blocks_for(to->reference_count), BLOCK, 0, stream>>>(*to,
                                                                        (float4 *)to->leaf_rows);
    KD_CUDA_LAUNCHED("prepare_rows");
    return KD_OK;
}

} // namespace

kd_status tritree_cuda_open_view(tritree_cuda *out, const tritree_view *view,
                                 uint32_t position_count, void *stream) {
    memset(out, 0, sizeof *out);
    out->view = *view;
    out->view.rows = NULL;
    out->view.wide = NULL;
    out->view.fast = NULL;
    cuda_arena arena = {NULL, 0};
    lay_out(out, &arena, position_count);
    out->bytes = arena.used;
    KD_TRY(device_memory_reserve(&out->memory, out->bytes));
    arena.base = (char *)out->memory;
    arena.used = 0;
    lay_out(out, &arena, position_count);
    out->view.packed = NULL;
    const kd_status status = fill(out, view, position_count, (cudaStream_t)stream);
    if (status != KD_OK) tritree_cuda_close(out);
    return status;
}

kd_status tritree_cuda_pack(tritree_cuda *tree, void *stream) {
    if (tree->packed) return KD_OK;
    const kd_status status =
        packed_device_open(&tree->packed, &tree->packed_bytes, &tree->view, stream);
    if (status == KD_ERROR_MEMORY) return KD_OK; /* rays walk the nodes */
    KD_TRY(status);
    tree->view.packed = tree->packed;
    tree->bytes += tree->packed_bytes;
    return KD_OK;
}

kd_status tritree_cuda_prepare_planes(tritree_cuda *tree, void *stream) {
    const uint64_t count = tree->view.reference_count, bytes = count * 3 * sizeof(float4);
    if (tree->planes || count == 0) return KD_OK;
    void *planes = NULL;
    KD_TRY(device_memory_reserve(&planes, bytes));
    prepare_planes<<<blocks_for(count), BLOCK, 0, (cudaStream_t)stream>>>(tree->view,
                                                                          (float4 *)planes);
    kd_status status = cudaPeekAtLastError() == cudaSuccess ? KD_OK : KD_ERROR_DEVICE;
    if (status == KD_OK) status = device_stream_wait(stream);
    if (status != KD_OK) {
        device_memory_free(planes);
        KD_CUDA_LAUNCHED("prepare_planes");
        return status;
    }
    tree->planes = (float *)planes;
    tree->bytes += bytes;
    return KD_OK;
}

uint64_t tritree_cuda_bytes(uint32_t nodes, uint32_t references, uint32_t triangles,
                            uint32_t positions) {
    tritree_cuda tree;
    cuda_arena arena = {NULL, 0};
    memset(&tree, 0, sizeof tree);
    tree.view.node_count = nodes;
    tree.view.reference_count = references;
    tree.view.triangle_count = triangles;
    lay_out(&tree, &arena, positions);
    return arena.used;
}

kd_status tritree_cuda_open(tritree_cuda *out, const tritree *tree) {
    const tritree_view view = tritree_get_view(tree);
    KD_TRY(tritree_cuda_open_view(out, &view, tree->input.position_count, NULL));
    const kd_status status = device_wait();
    if (status != KD_OK) tritree_cuda_close(out);
    return status;
}

void tritree_cuda_close(tritree_cuda *owned) {
    device_memory_free(owned->memory);
    device_memory_free(owned->packed);
    device_memory_free(owned->planes);
    memset(owned, 0, sizeof *owned);
}

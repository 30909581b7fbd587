/* A triangle tree on a CUDA device: copies the tree and builds the arrays for optimised kernels.
   Data flow: arrays on the host or the device -> one or two blocks of memory; prepare_rows, one thread
   per triangle -> `rows`, unless the tree is large. All of it in the stream's order. */
#include "accel/rays/tree_device.h"
#include "accel/tree/triangle.h"
#include "accel/wide/compressed_form.h"
#include "core/device/cuda.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/status.h"

namespace {

enum { BLOCK = 256 };

uint64_t lean_from = COMPRESSED_MANY; /* triangles */

__global__ void prepare_rows(tritree_view view, triangle_rows *rows) {
    const uint32_t id = blockIdx.x * BLOCK + threadIdx.x;
    if (id >= view.triangle_count) return;
    const uint32_t *index = view.triangles + 3 * (uint64_t)id;
    const vec3 a = view.positions[index[0]], b = view.positions[index[1]],
               c = view.positions[index[2]];
    float4 *const to =
        (float4 *)(rows + id); /* stores of 16 bytes: as many as triangle_rows needs */
    for (int axis = 0; axis < 3; ++axis)
        to[axis] = make_float4(vec3_axis(a, axis), vec3_axis(b, axis), vec3_axis(c, axis), 0);
}

/* Layouts of the tree's memory; the same code measures and assigns it. */
void lay_out_mesh(tritree_cuda *tree, cuda_arena *arena, uint32_t position_count) {
    tritree_view *view = &tree->view;
    view->positions = (vec3 *)cuda_arena_take(arena, position_count, sizeof(vec3));
    view->triangles =
        (uint32_t *)cuda_arena_take(arena, view->triangle_count, 3 * sizeof(uint32_t));
    tree->cursors = (uint32_t *)cuda_arena_take(arena, TRITREE_CUDA_CURSOR * TRITREE_CUDA_CURSORS,
                                                sizeof(uint32_t));
}

void lay_out_nodes(tritree_cuda *tree, cuda_arena *arena) {
    tritree_view *view = &tree->view;
    const tritree_node *nodes = (const tritree_node *)cuda_arena_take(
        arena, (uint64_t)view->node_count + 1, sizeof(tritree_node));
    view->nodes = nodes ? nodes + 1 : NULL;
    view->references = (uint32_t *)cuda_arena_take(arena, view->reference_count, sizeof(uint32_t));
}

/* Returns true if rays are to read the corners of triangles from the mesh. */
bool is_lean(uint64_t triangles) {
    return triangles >= lean_from;
}

/* Reserves a block of the device's pool and lays it out. */
template <class layout>
kd_status place(void **memory, uint64_t *held, layout lay_out, void *stream) {
    cuda_arena arena = {NULL, 0};
    lay_out(&arena);
    KD_TRY(device_pool_reserve(memory, arena.used, stream));
    *held += arena.used;
    arena = {(char *)*memory, 0};
    lay_out(&arena);
    return KD_OK;
}

/* cudaMemcpyDefault: the source may be host or device memory. */
kd_status fill(tritree_cuda *tree, const tritree_view *view, uint32_t position_count,
               cudaStream_t stream) {
    const tritree_view *to = &tree->view;
    const struct {
        const void *to, *from;
        uint64_t bytes;
    } parts[] = {
        {to->nodes, view->nodes, view->node_count * sizeof(tritree_node)},
        {to->references, view->references, view->reference_count * sizeof(uint32_t)},
        {to->positions, view->positions, position_count * sizeof(vec3)},
        {to->triangles, view->triangles, 3 * (uint64_t)view->triangle_count * sizeof(uint32_t)}};
    for (const auto &part : parts)
        if (part.bytes)
            KD_CUDA(
                cudaMemcpyAsync((void *)part.to, part.from, part.bytes, cudaMemcpyDefault, stream));
    KD_CUDA(cudaMemsetAsync(tree->cursors, 0,
                            TRITREE_CUDA_CURSOR * TRITREE_CUDA_CURSORS * sizeof(uint32_t), stream));
    return KD_OK;
}

kd_status fill_rows(const tritree_cuda *tree, cudaStream_t stream) {
    const tritree_view *view = &tree->view;
    if (view->triangle_count == 0) return KD_OK;
    prepare_rows<<<cuda_blocks(view->triangle_count, BLOCK), BLOCK, 0, stream>>>(
        *view, (triangle_rows *)view->rows);
    KD_CUDA_LAUNCHED("prepare_rows");
    return KD_OK;
}

void lay_out_rows(tritree_cuda *tree, cuda_arena *arena) {
    tree->view.rows =
        (triangle_rows *)cuda_arena_take(arena, tree->view.triangle_count, sizeof(triangle_rows));
}

kd_status make_rows(tritree_cuda *tree, cudaStream_t stream) {
    KD_TRY(place(
        &tree->rows, &tree->bytes, [&](cuda_arena *arena) { lay_out_rows(tree, arena); }, stream));
    return fill_rows(tree, stream);
}

/* In one block, or, if the nodes will be freed, in two. */
kd_status place_tree(tritree_cuda *tree, const tritree_view *view, uint32_t position_count,
                     cudaStream_t stream) {
    const bool lean = is_lean(view->triangle_count);
    KD_TRY(place(
        &tree->memory, &tree->bytes,
        [&](cuda_arena *arena) {
            lay_out_mesh(tree, arena, position_count);
            if (!lean) lay_out_nodes(tree, arena);
            if (!lean) lay_out_rows(tree, arena);
        },
        stream));
    if (lean)
        KD_TRY(place(
            &tree->nodes, &tree->node_bytes, [&](cuda_arena *arena) { lay_out_nodes(tree, arena); },
            stream));
    tree->bytes += tree->node_bytes;
    KD_TRY(fill(tree, view, position_count, stream));
    return lean ? KD_OK : fill_rows(tree, stream);
}

/* Returns true if leaves with the corners of their triangles, predicted from the number of nodes,
   certainly do not fit into the free memory, or if the tree has no rows. */
bool is_large(const tritree_cuda *tree) {
    enum { BYTES_A_NODE = 130 };
    if (!tree->view.rows) return true;
    const uint64_t expected = BYTES_A_NODE * (uint64_t)tree->view.node_count;
    uint64_t available = 0;
    if (expected < (uint64_t)1 << 30) return false;
    if (device_memory_free_bytes(&available) == KD_OK && available >= expected) return false;
    if (device_pool_trim() == KD_OK && device_memory_free_bytes(&available) == KD_OK)
        return available < expected;
    status_clear();
    return false;
}

/* Builds the compressed form, with indexed leaves if the tree is large or memory is short. */
kd_status pack_within(tritree_cuda *tree, void *stream) {
    for (bool indexed = is_large(tree);; indexed = true) {
        const kd_status status = compressed_device_open(&tree->compressed, &tree->compressed_bytes,
                                                        &tree->view, 0, indexed, stream);
        tree->view.indexed = indexed;
        if (indexed || status != KD_ERROR_MEMORY) return status;
        status_clear();
    }
}

} // namespace

kd_status tritree_cuda_open_view(tritree_cuda *out, const tritree_view *view,
                                 uint32_t position_count, void *stream) {
    memset(out, 0, sizeof *out);
    KD_REQUIRE(view->triangle_count <= UINT32_MAX / 3, KD_ERROR_USAGE,
               "%u triangles exceed the limit of %u on a device", view->triangle_count,
               UINT32_MAX / 3);
    out->view = *view;
    out->view.wide = NULL;
    out->view.rows = NULL;
    out->view.compressed = NULL;
    const kd_status status = place_tree(out, view, position_count, (cudaStream_t)stream);
    if (status != KD_OK) tritree_cuda_close(out);
    return status;
}

/* Frees the nodes of a tree whose rays all go through the compressed form. */
static void drop_nodes(tritree_cuda *tree) {
    device_memory_free(tree->nodes);
    tree->nodes = NULL;
    tree->bytes -= tree->node_bytes;
    tree->view.nodes = NULL;
    tree->view.references = NULL;
}

kd_status tritree_cuda_pack(tritree_cuda *tree, void *stream) {
    if (tree->compressed || tree->unpacked || tree->view.reference_count == 0) return KD_OK;
    const kd_status status = pack_within(tree, stream);
    if (status != KD_OK && status != KD_ERROR_MEMORY) return status;
    if (!tree->compressed) {
        tree->unpacked = true;
        log_message(LOG_WARNING,
                    "no compressed tree for the %u triangles on the device: %s; ray casting uses "
                    "the full tree, at a quarter to half of the speed",
                    tree->view.triangle_count,
                    status == KD_OK ? "it would exceed 64 levels or 68.7 GB" : kd_last_error());
        status_clear();
        return tree->view.rows ? KD_OK : make_rows(tree, (cudaStream_t)stream);
    }
    tree->view.compressed = tree->compressed;
    tree->bytes += tree->compressed_bytes;
    if (!tree->view.rows && !tree->keeps_nodes) drop_nodes(tree);
    return KD_OK;
}

kd_status tritree_cuda_settle(tritree_cuda *tree, void *stream) {
    return tree->view.rows ? KD_OK : tritree_cuda_pack(tree, stream);
}

kd_status tritree_cuda_restore(tritree_cuda *tree, const tritree_view *view, void *stream) {
    tritree_cuda made = *tree;
    made.nodes = NULL;
    made.node_bytes = 0;
    KD_TRY(place(
        &made.nodes, &made.node_bytes, [&](cuda_arena *arena) { lay_out_nodes(&made, arena); },
        stream));
    kd_status status = device_copy((void *)made.view.nodes, view->nodes,
                                   view->node_count * sizeof *view->nodes, stream);
    if (status == KD_OK)
        status = device_copy((void *)made.view.references, view->references,
                             view->reference_count * sizeof *view->references, stream);
    if (status == KD_OK) status = device_stream_wait(stream);
    if (status != KD_OK) {
        device_memory_free(made.nodes);
        return status;
    }
    made.bytes += made.node_bytes;
    *tree = made;
    return KD_OK;
}

void tritree_cuda_lean_from(uint64_t triangles) {
    lean_from = triangles;
}

uint64_t tritree_cuda_bytes(uint32_t nodes, uint32_t references, uint32_t triangles,
                            uint32_t positions) {
    tritree_cuda tree;
    cuda_arena arena = {NULL, 0};
    memset(&tree, 0, sizeof tree);
    tree.view.node_count = nodes;
    tree.view.reference_count = references;
    tree.view.triangle_count = triangles;
    lay_out_mesh(&tree, &arena, positions);
    lay_out_nodes(&tree, &arena);
    if (!is_lean(triangles)) lay_out_rows(&tree, &arena);
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
    device_memory_free(owned->nodes);
    device_memory_free(owned->rows);
    device_memory_free(owned->compressed);
    memset(owned, 0, sizeof *owned);
}

/* A tree of <kandela/triangles.h> on a CUDA device: copies arguments to the device and results
   back, and calls the builders and kernels. */
#include "accel/build_memory.h"
#include "accel/device_call.h"
#include "accel/rays/batch_device.h"
#include "accel/rays/nearest.h"
#include "accel/tree/build.h"
#include "accel/triangles.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include <pthread.h>

enum { PIECE = 1 << 24 /* rays on the device at a time */ };

/* Returns the mesh as packed arrays in device memory. */
static kd_status stage_mesh(device_call *call, tritree_input *out, const kd_triangle_mesh *mesh) {
    const uint64_t stride = mesh->stride_bytes ? mesh->stride_bytes : sizeof(vec3);
    const uint64_t indices = 3 * mesh->triangle_count;
    const void *vertices = NULL;
    KD_TRY(device_call_input(call, &vertices, mesh->vertices,
                             mesh->vertex_count ? (mesh->vertex_count - 1) * stride + sizeof(vec3)
                                                : 0));
    out->position_count = (uint32_t)mesh->vertex_count;
    out->triangle_count = (uint32_t)mesh->triangle_count;
    out->positions = (const vec3 *)vertices;
    if (stride != sizeof(vec3)) {
        void *packed = NULL;
        KD_TRY(device_call_take(call, &packed, mesh->vertex_count * sizeof(vec3)));
        KD_TRY(triangles_device_pack((vec3 *)packed, vertices, mesh->vertex_count, stride,
                                     call->stream));
        out->positions = (const vec3 *)packed;
    }
    if (mesh->indices)
        return device_call_input(call, (const void **)&out->triangles, mesh->indices,
                                 indices * sizeof(uint32_t));
    void *numbers = NULL;
    KD_TRY(device_call_take(call, &numbers, indices * sizeof(uint32_t)));
    out->triangles = (const uint32_t *)numbers;
    return triangles_device_number((uint32_t *)numbers, indices, call->stream);
}

static void note_built(tritree *out, const tritree_built *built, const tritree_input *input) {
    out->node_count = built->node_count;
    out->reference_count = built->reference_count;
    out->box = built->box;
    out->input.position_count = input->position_count;
    out->input.triangle_count = input->triangle_count;
    out->statistics.degenerate_triangles = built->degenerate_count;
}

static kd_status build_on_cpu(device_call *call, triangles_cuda *c, tritree *out,
                              const kd_triangle_mesh *mesh, const tritree_builder_cuda *row) {
    tritree_input input;
    tritree_build_memory memory;
    tritree_built built;
    memset(&input, 0, sizeof input);
    KD_TRY(stage_mesh(call, &input, mesh));
    KD_TRY(tritree_build_memory_build_there(&memory, &built, &input, &out->options, row,
                                            call->stream));
    note_built(out, &built, &input);
    tritree_view view = tritree_get_view(out);
    view.nodes = memory.build.nodes;
    view.references = memory.build.references;
    view.positions = input.positions;
    view.triangles = input.triangles;
    const kd_status status =
        tritree_cuda_open_view(&c->tree, &view, input.position_count, call->stream);
    tritree_build_memory_close(&memory); /* frees memory for the compressed form */
    device_call_release(call);
    KD_TRY(status);
    KD_TRY(tritree_cuda_pack(&c->tree, call->stream));
    return device_stream_wait(call->stream);
}

kd_status triangles_cuda_build(kd_triangles *out, const kd_triangle_mesh *mesh,
                               const tritree_builder_cuda *row, int32_t device) {
    triangles_cuda *c = NULL;
    device_call call;
    KD_TRY(tritree_check_options(&out->tree.options));
    KD_TRY(KD_RESERVE_ZEROED(c, 1));
    c->device = device;
    c->row = row;
    kd_status status = device_call_begin(&call, device, out->stream);
    if (status == KD_OK) {
        status = build_on_cpu(&call, c, &out->tree, mesh, row);
        device_call_release(&call);
        device_leave(call.previous);
    }
    if (status == KD_OK)
        out->cuda = c;
    else
        triangles_cuda_close(c);
    return status;
}

kd_status triangles_cuda_adopt(kd_triangles *tree, int32_t device) {
    triangles_cuda *c = NULL;
    int32_t previous = 0;
    KD_TRY(KD_RESERVE_ZEROED(c, 1));
    c->device = device;
    kd_status status = device_enter(device, &previous);
    if (status == KD_OK) {
        status = tritree_cuda_open(&c->tree, &tree->tree);
        c->tree.keeps_nodes = true; /* only the host could build them again */
        if (status == KD_OK) status = tritree_cuda_pack(&c->tree, NULL);
        device_leave(previous);
    }
    if (status != KD_OK) {
        triangles_cuda_close(c);
        return status;
    }
    triangles_drop_host(tree);
    tree->cuda = c;
    return KD_OK;
}

/* Builds the tree again, which is the same. The caller closes the memory. */
static kd_status build_again(tritree_build_memory *memory, const kd_triangles *tree) {
    const tritree_view *view = &tree->cuda->tree.view;
    const tritree_input input = {view->positions, view->triangles, tree->tree.input.position_count,
                                 view->triangle_count};
    tritree_built built;
    return tritree_build_memory_build_there(memory, &built, &input, &tree->tree.options,
                                            tree->cuda->row, tree->stream);
}

kd_status triangles_cuda_restore(const kd_triangles *tree) {
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    tritree_cuda *to = &tree->cuda->tree;
    tritree_build_memory memory;
    kd_status status = KD_OK;
    pthread_mutex_lock(&guard);
    if (!to->view.nodes) status = build_again(&memory, tree);
    if (!to->view.nodes && status == KD_OK) {
        tritree_view view = to->view;
        view.nodes = memory.build.nodes;
        view.references = memory.build.references;
        status = tritree_cuda_restore(to, &view, tree->stream);
        tritree_build_memory_close(&memory);
    }
    pthread_mutex_unlock(&guard);
    return status;
}

static kd_status fetch_nodes(tritree *to, const tritree_node *nodes, const uint32_t *references) {
    KD_TRY(KD_RESERVE(to->nodes, to->node_count));
    KD_TRY(KD_RESERVE(to->references, to->reference_count));
    KD_TRY(device_memory_download(to->nodes, nodes, to->node_count * sizeof *to->nodes));
    return device_memory_download(to->references, references,
                                  to->reference_count * sizeof *to->references);
}

static kd_status fetch_or_build(tritree *to, const kd_triangles *tree) {
    const tritree_view *view = &tree->cuda->tree.view;
    tritree_build_memory memory;
    int32_t previous = 0;
    if (view->nodes) return fetch_nodes(to, view->nodes, view->references);
    KD_TRY(device_enter(tree->cuda->device, &previous));
    kd_status status = build_again(&memory, tree);
    if (status == KD_OK) {
        status = fetch_nodes(to, memory.build.nodes, memory.build.references);
        tritree_build_memory_close(&memory);
    }
    device_leave(previous);
    return status;
}

kd_status triangles_cuda_fetch(kd_triangles **copy, const kd_triangles *tree, bool mesh) {
    kd_status status = KD_OK;
    const tritree_view *view = &tree->cuda->tree.view;
    kd_triangles *made = NULL;
    KD_TRY(KD_RESERVE_ZEROED(made, 1));
    *made = *tree;
    made->cuda = NULL;
    made->nearest = NULL;
    made->dipoles = NULL;
    made->host = NULL;
    tritree *to = &made->tree;
    KD_TRY_GOTO(fetch_or_build(to, tree));
    if (mesh) {
        const uint64_t indices = 3 * (uint64_t)to->input.triangle_count;
        KD_TRY_GOTO(KD_RESERVE(made->positions, to->input.position_count));
        KD_TRY_GOTO(KD_RESERVE(made->triangles, indices));
        KD_TRY_GOTO(device_memory_download(made->positions, view->positions,
                                           to->input.position_count * sizeof(vec3)));
        KD_TRY_GOTO(
            device_memory_download(made->triangles, view->triangles, indices * sizeof(uint32_t)));
        to->input.positions = made->positions;
        to->input.triangles = made->triangles;
    }
    to->statistics.depth = 0;
    to->statistics.leaves = to->statistics.empty_leaves = 0;
    tritree_take_stock(to);
    *copy = made;
done:
    if (status != KD_OK) kd_triangles_close(made);
    return status;
}

void triangles_cuda_close(triangles_cuda *owned) {
    if (!owned) return;
    tritree_cuda_close(&owned->tree);
    memory_free(owned);
}

/* Returns the array from element `done` on, or NULL. */
static const float *floats_from(const float *array, uint64_t done) {
    return array ? array + done : NULL;
}

static kd_status stage_rays(device_call *call, trace_batch *out, const kd_ray_batch *batch,
                            uint64_t done) {
    const uint64_t bytes = out->count * sizeof(float);
    if (batch->rays)
        return device_call_input(call, (const void **)&out->rays, batch->rays + done,
                                 out->count * sizeof(ray));
    trace_arrays *to = &out->arrays;
    for (int axis = 0; axis < 3; ++axis) {
        KD_TRY(device_call_input(call, (const void **)&to->origin[axis], batch->origin[axis] + done,
                                 bytes));
        KD_TRY(device_call_input(call, (const void **)&to->direction[axis],
                                 batch->direction[axis] + done, bytes));
    }
    KD_TRY(
        device_call_input(call, (const void **)&to->tmin, floats_from(batch->tmin, done), bytes));
    return device_call_input(call, (const void **)&to->tmax, floats_from(batch->tmax, done), bytes);
}

static kd_status stage_results(device_call *call, trace_batch *out, const kd_ray_batch *batch,
                               uint64_t done) {
    const uint64_t count = out->count;
    if (batch->counts)
        KD_TRY(device_call_output(call, (void **)&out->counts, batch->counts + done,
                                  count * sizeof *batch->counts));
    if (batch->blocked)
        return device_call_output(call, (void **)&out->blocked, batch->blocked + done, count);
    if (batch->hits)
        return device_call_output(call, (void **)&out->hits, batch->hits + done,
                                  count * sizeof(ray_hit));
    const struct {
        void **out, *wanted;
    } each[] = {
        {(void **)&out->arrays.t, batch->t ? batch->t + done : NULL},
        {(void **)&out->arrays.u, batch->u ? batch->u + done : NULL},
        {(void **)&out->arrays.v, batch->v ? batch->v + done : NULL},
        {(void **)&out->arrays.triangle, batch->triangles ? batch->triangles + done : NULL}};
    for (int i = 0; i < 4; ++i)
        KD_TRY(device_call_output(call, each[i].out, each[i].wanted, count * sizeof(float)));
    return KD_OK;
}

/* Casts one piece of a batch and enqueues its last copy. Synchronises unless all arrays are on the
   device. */
static kd_status cast_piece(device_call *call, const triangles_cuda *c, const kd_ray_batch *batch,
                            uint64_t done, uint64_t count) {
    trace_batch b;
    memset(&b, 0, sizeof b);
    b.count = count;
    KD_TRY(stage_rays(call, &b, batch, done));
    KD_TRY(stage_results(call, &b, batch, done));
    b.on_device = true;
    b.coherent = batch->order == KD_RAYS_COHERENT;
    b.measured = batch->order == KD_RAYS_MEASURED;
    b.width = batch->width;
    b.stream = call->stream;
    KD_TRY(trace_cuda(&c->tree, &b));
    KD_TRY(device_call_give_back(call));
    return call->taken_count || !batch->asynchronous ? device_stream_wait(call->stream) : KD_OK;
}

/* Returns true if no array of the batch must be copied. */
static bool is_here(const kd_ray_batch *batch, int32_t device) {
    const void *pointers[] = {batch->rays,
                              batch->origin[0],
                              batch->origin[1],
                              batch->origin[2],
                              batch->direction[0],
                              batch->direction[1],
                              batch->direction[2],
                              batch->tmin,
                              batch->tmax,
                              batch->hits,
                              batch->t,
                              batch->u,
                              batch->v,
                              batch->triangles,
                              batch->blocked,
                              batch->counts};
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; ++i)
        if (pointers[i] && device_of_pointer(pointers[i]) != device) return false;
    return true;
}

kd_status triangles_cuda_cast(const kd_triangles *tree, const kd_ray_batch *batch) {
    triangles_cuda *c = tree->cuda;
    device_call call;
    KD_TRY(device_call_begin(&call, c->device, batch->stream ? batch->stream : tree->stream));
    if (batch->counts && triangles_cuda_restore(tree) != KD_OK) {
        device_leave(call.previous);
        return status_pass(KD_ERROR_MEMORY, __FILE__, __LINE__, "triangles_cuda_restore");
    }
    const uint64_t piece = is_here(batch, c->device) ? batch->count : PIECE;
    kd_status status = KD_OK;
    for (uint64_t done = 0; done < batch->count && status == KD_OK; done += piece) {
        const uint64_t left = batch->count - done;
        status = cast_piece(&call, c, batch, done, left < piece ? left : piece);
        device_call_release(&call);
    }
    device_leave(call.previous);
    return status;
}

/* Finds the nearest triangles of one piece of `count` points. */
static kd_status closest_piece(device_call *call, const kd_triangles *tree, const float *points,
                               uint64_t count, float max_distance, kd_near_triangle *nearest) {
    const void *from = NULL;
    void *to = NULL;
    KD_TRY(device_call_input(call, &from, points, count * sizeof(vec3)));
    KD_TRY(device_call_output(call, &to, nearest, count * sizeof *nearest));
    KD_TRY(nearest_find_cuda(&tree->nearest->view, (const vec3 *)from, count, max_distance,
                             (near_place *)to, call->stream));
    KD_TRY(device_call_give_back(call));
    return device_stream_wait(call->stream);
}

kd_status triangles_cuda_closest(const kd_triangles *tree, const float *points, uint64_t count,
                                 float max_distance, kd_near_triangle *nearest) {
    device_call call;
    KD_TRY(device_call_begin(&call, tree->cuda->device, tree->stream));
    kd_status status = KD_OK;
    for (uint64_t done = 0; done < count && status == KD_OK; done += PIECE) {
        const uint64_t left = count - done;
        status = closest_piece(&call, tree, points + 3 * done, left < PIECE ? left : PIECE,
                               max_distance, nearest + done);
        device_call_release(&call);
    }
    device_leave(call.previous);
    return status;
}

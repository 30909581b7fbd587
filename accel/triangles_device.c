/* A tree of <kandela/triangles.h> on a CUDA device: copies arguments to the device and results
   back, and calls the builders and kernels. */
#include "accel/build_memory.h"
#include "accel/rays/batch_device.h"
#include "accel/rays/nearest.h"
#include "accel/tree/build.h"
#include "accel/triangles.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include <assert.h>

enum { TAKEN_MAX = 20, BACK_MAX = 6, PIECE = 1 << 24 /* rays on the device at a time */ };

/* Work on one stream: temporary memory from the device's pool, and copies back to the host at the
   end. */
typedef struct device_call {
    int32_t device, previous;
    void *stream;
    void *taken[TAKEN_MAX];
    int taken_count;
    struct {
        void *to, *from;
        uint64_t bytes;
    } back[BACK_MAX];
    int back_count;
} device_call;

static kd_status begin(device_call *call, int32_t device, void *stream) {
    memset(call, 0, sizeof *call);
    call->device = device;
    call->stream = stream;
    return device_enter(device, &call->previous);
}

static kd_status take(device_call *call, void **out, uint64_t bytes) {
    assert(call->taken_count < TAKEN_MAX);
    KD_TRY(device_pool_reserve(out, bytes, call->stream));
    call->taken[call->taken_count++] = *out;
    return KD_OK;
}

static void release_memory(device_call *call) {
    while (call->taken_count > 0)
        device_pool_release(call->taken[--call->taken_count], call->stream);
    call->back_count = 0;
}

/* Returns the caller's array in device memory; copies it if necessary. */
static kd_status stage_input(device_call *call, const void **out, const void *data,
                             uint64_t bytes) {
    *out = data;
    if (!data || bytes == 0 || device_of_pointer(data) == call->device) return KD_OK;
    void *copy = NULL;
    KD_TRY(take(call, &copy, bytes));
    *out = copy;
    return device_copy(copy, data, bytes, call->stream);
}

/* Returns device memory for a result that the caller wants; registers the copy back if
   necessary. */
static kd_status stage_output(device_call *call, void **out, void *target, uint64_t bytes) {
    *out = target;
    if (!target || bytes == 0 || device_of_pointer(target) == call->device) return KD_OK;
    assert(call->back_count < BACK_MAX);
    KD_TRY(take(call, out, bytes));
    call->back[call->back_count].to = target;
    call->back[call->back_count].from = *out;
    call->back[call->back_count++].bytes = bytes;
    return KD_OK;
}

/* Returns the mesh as packed arrays in device memory. */
static kd_status stage_mesh(device_call *call, tritree_input *out, const kd_triangle_mesh *mesh) {
    const uint64_t stride = mesh->stride_bytes ? mesh->stride_bytes : sizeof(vec3);
    const uint64_t indices = 3 * mesh->triangle_count;
    const void *vertices = NULL;
    KD_TRY(stage_input(call, &vertices, mesh->vertices,
                       mesh->vertex_count ? (mesh->vertex_count - 1) * stride + sizeof(vec3) : 0));
    out->position_count = (uint32_t)mesh->vertex_count;
    out->triangle_count = (uint32_t)mesh->triangle_count;
    out->positions = (const vec3 *)vertices;
    if (stride != sizeof(vec3)) {
        void *packed = NULL;
        KD_TRY(take(call, &packed, mesh->vertex_count * sizeof(vec3)));
        KD_TRY(triangles_device_pack((vec3 *)packed, vertices, mesh->vertex_count, stride,
                                     call->stream));
        out->positions = (const vec3 *)packed;
    }
    if (mesh->indices)
        return stage_input(call, (const void **)&out->triangles, mesh->indices,
                           indices * sizeof(uint32_t));
    void *numbers = NULL;
    KD_TRY(take(call, &numbers, indices * sizeof(uint32_t)));
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
    release_memory(call);
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
    kd_status status = begin(&call, device, out->stream);
    if (status == KD_OK) {
        status = build_on_cpu(&call, c, &out->tree, mesh, row);
        release_memory(&call);
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
    KD_TRY_GOTO(KD_RESERVE(to->nodes, to->node_count));
    KD_TRY_GOTO(KD_RESERVE(to->references, to->reference_count));
    KD_TRY_GOTO(device_memory_download(to->nodes, view->nodes, to->node_count * sizeof *to->nodes));
    KD_TRY_GOTO(device_memory_download(to->references, view->references,
                                       to->reference_count * sizeof *to->references));
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
        return stage_input(call, (const void **)&out->rays, batch->rays + done,
                           out->count * sizeof(ray));
    trace_arrays *to = &out->arrays;
    for (int axis = 0; axis < 3; ++axis) {
        KD_TRY(
            stage_input(call, (const void **)&to->origin[axis], batch->origin[axis] + done, bytes));
        KD_TRY(stage_input(call, (const void **)&to->direction[axis], batch->direction[axis] + done,
                           bytes));
    }
    KD_TRY(stage_input(call, (const void **)&to->tmin, floats_from(batch->tmin, done), bytes));
    return stage_input(call, (const void **)&to->tmax, floats_from(batch->tmax, done), bytes);
}

static kd_status stage_results(device_call *call, trace_batch *out, const kd_ray_batch *batch,
                               uint64_t done) {
    const uint64_t count = out->count;
    if (batch->counts)
        KD_TRY(stage_output(call, (void **)&out->counts, batch->counts + done,
                            count * sizeof *batch->counts));
    if (batch->blocked)
        return stage_output(call, (void **)&out->blocked, batch->blocked + done, count);
    if (batch->hits)
        return stage_output(call, (void **)&out->hits, batch->hits + done, count * sizeof(ray_hit));
    const struct {
        void **out, *wanted;
    } each[] = {
        {(void **)&out->arrays.t, batch->t ? batch->t + done : NULL},
        {(void **)&out->arrays.u, batch->u ? batch->u + done : NULL},
        {(void **)&out->arrays.v, batch->v ? batch->v + done : NULL},
        {(void **)&out->arrays.triangle, batch->triangles ? batch->triangles + done : NULL}};
    for (int i = 0; i < 4; ++i)
        KD_TRY(stage_output(call, each[i].out, each[i].wanted, count * sizeof(float)));
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
    for (int i = 0; i < call->back_count; ++i)
        KD_TRY(
            device_copy(call->back[i].to, call->back[i].from, call->back[i].bytes, call->stream));
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
    KD_TRY(begin(&call, c->device, batch->stream ? batch->stream : tree->stream));
    const uint64_t piece = is_here(batch, c->device) ? batch->count : PIECE;
    kd_status status = KD_OK;
    for (uint64_t done = 0; done < batch->count && status == KD_OK; done += piece) {
        const uint64_t left = batch->count - done;
        status = cast_piece(&call, c, batch, done, left < piece ? left : piece);
        release_memory(&call);
    }
    device_leave(call.previous);
    return status;
}

/* Finds the nearest triangles of one piece of `count` points. */
static kd_status closest_piece(device_call *call, const kd_triangles *tree, const float *points,
                               uint64_t count, float max_distance, kd_near_triangle *nearest) {
    const void *from = NULL;
    void *to = NULL;
    KD_TRY(stage_input(call, &from, points, count * sizeof(vec3)));
    KD_TRY(stage_output(call, &to, nearest, count * sizeof *nearest));
    KD_TRY(nearest_find_cuda(&tree->nearest->view, (const vec3 *)from, count, max_distance,
                             (near_place *)to, call->stream));
    for (int i = 0; i < call->back_count; ++i)
        KD_TRY(
            device_copy(call->back[i].to, call->back[i].from, call->back[i].bytes, call->stream));
    return device_stream_wait(call->stream);
}

kd_status triangles_cuda_closest(const kd_triangles *tree, const float *points, uint64_t count,
                                 float max_distance, kd_near_triangle *nearest) {
    device_call call;
    KD_TRY(begin(&call, tree->cuda->device, tree->stream));
    kd_status status = KD_OK;
    for (uint64_t done = 0; done < count && status == KD_OK; done += PIECE) {
        const uint64_t left = count - done;
        status = closest_piece(&call, tree, points + 3 * done, left < PIECE ? left : PIECE,
                               max_distance, nearest + done);
        release_memory(&call);
    }
    device_leave(call.previous);
    return status;
}

/* A scene of rays on a CUDA device: copies of its arrays, and of the arrays of queries. */
#include "accel/device_call.h"
#include "accel/ray_scene.h"
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/memory.h"

enum { PIECE = 1 << 24 /* rays or points on the device at a time */, ALIGNMENT = 256 };

/* An array of the scene, and where its copy goes. */
typedef struct scene_part {
    const void **to;
    const void *from;
    uint64_t bytes;
} scene_part;

static kd_status upload(kd_ray_scene *scene, const scene_part *parts, int count) {
    uint64_t total = 0;
    for (int i = 0; i < count; ++i)
        total += (parts[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    KD_TRY(device_memory_reserve(&scene->memory, total + ALIGNMENT));
    scene->device_bytes += total;
    char *at = (char *)scene->memory;
    for (int i = 0; i < count; ++i) {
        *parts[i].to = at;
        if (parts[i].bytes) KD_TRY(device_memory_upload(at, parts[i].from, parts[i].bytes));
        at += (parts[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return KD_OK;
}

kd_status ray_scene_upload(kd_ray_scene *scene) {
    const instance_view *from = &scene->view.instances;
    scene_rays_view *to = &scene->device_view;
    instance_view *instances = &to->instances;
    int32_t previous = 0;
    *to = scene->view;
    const scene_part parts[] = {
        {(const void **)&instances->shapes, from->shapes, from->shape_count * sizeof *from->shapes},
        {(const void **)&instances->list, from->list, from->count * sizeof *from->list},
        {(const void **)&instances->nodes, from->nodes, from->node_count * sizeof *from->nodes},
        {(const void **)&instances->order, from->order, from->count * sizeof *from->order},
        {(const void **)&to->members, scene->members, from->count * sizeof *scene->members},
        {(const void **)&to->roots, scene->roots,
         ((uint64_t)scene->world_count + 1) * sizeof *scene->roots}};
    KD_TRY(device_enter(scene->device, &previous));
    const kd_status status = upload(scene, parts, sizeof parts / sizeof *parts);
    device_leave(previous);
    return status;
}

kd_status ray_scene_upload_nearest(kd_ray_scene *scene, const nearest_view *views) {
    const uint64_t bytes = scene->tree_count * sizeof *views;
    void *memory = NULL;
    int32_t previous = 0;
    KD_TRY(device_enter(scene->device, &previous));
    kd_status status = device_memory_reserve(&memory, bytes + 1);
    if (status == KD_OK && bytes) status = device_memory_upload(memory, views, bytes);
    if (status != KD_OK) device_memory_free(memory);
    device_leave(previous);
    if (status == KD_OK) __atomic_store_n(&scene->nearest_memory, memory, __ATOMIC_RELEASE);
    return status;
}

void ray_scene_drop_device(kd_ray_scene *scene) {
    int32_t previous = 0;
    if (!scene->memory && !scene->nearest_memory) return;
    const bool entered = device_enter(scene->device, &previous) == KD_OK;
    device_memory_free(scene->memory);
    device_memory_free(scene->nearest_memory);
    if (entered) device_leave(previous);
    scene->memory = scene->nearest_memory = NULL;
    scene->device_bytes = 0;
    memset(&scene->device_view, 0, sizeof scene->device_view);
}

/* --- Queries --- */

/* Returns the elements of an array from item `done` on; NULL for NULL. */
static const void *from_item(const void *array, uint64_t done, size_t item_bytes) {
    return array ? (const char *)array + done * item_bytes : NULL;
}

static kd_status stage_inputs(device_call *call, scene_query *q, const scene_query *all,
                              uint64_t done) {
    const uint64_t count = q->count;
    const struct {
        const void **to;
        const void *from;
        size_t bytes;
    } inputs[] = {{(const void **)&q->rays, all->rays, sizeof *q->rays},
                  {(const void **)&q->points, all->points, sizeof *q->points},
                  {(const void **)&q->masks, all->masks, sizeof *q->masks},
                  {(const void **)&q->worlds, all->worlds, sizeof *q->worlds},
                  {(const void **)&q->ignored, all->ignored, 2 * sizeof *q->ignored}};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; ++i)
        KD_TRY(device_call_input(call, inputs[i].to,
                                 from_item(inputs[i].from, done, inputs[i].bytes),
                                 count * inputs[i].bytes));
    return KD_OK;
}

/* Returns where the hits of ray i begin. */
static uint64_t first_hit(const scene_query *all, uint64_t i) {
    return all->kind != SCENE_ROWS ? i : all->offsets ? all->offsets[i] : i * all->row;
}

static kd_status stage_outputs(device_call *call, scene_query *q, const scene_query *all,
                               uint64_t done) {
    const uint64_t begin = first_hit(all, done), end = first_hit(all, done + q->count);
    const struct {
        void **to, *from;
        uint64_t bytes;
    } outputs[] = {
        {(void **)&q->hits, all->hits ? all->hits + begin : NULL, (end - begin) * sizeof *q->hits},
        {(void **)&q->blocked, all->blocked ? all->blocked + done : NULL, q->count},
        {(void **)&q->counts, all->counts ? all->counts + done : NULL,
         q->count * sizeof *q->counts},
        {(void **)&q->nearest, all->nearest ? all->nearest + done : NULL,
         q->count * sizeof *q->nearest}};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; ++i)
        KD_TRY(device_call_output(call, outputs[i].to, outputs[i].from, outputs[i].bytes));
    if (!all->offsets) return KD_OK;
    void *offsets = NULL;
    KD_TRY(device_call_take(call, &offsets, (q->count + 1) * sizeof *q->offsets));
    q->offsets = (const uint64_t *)offsets;
    q->hits_begin = begin;
    return device_copy(offsets, all->offsets + done, (q->count + 1) * sizeof *q->offsets,
                       call->stream);
}

static kd_status query_piece(device_call *call, const scene_rays_view *view, const scene_query *all,
                             uint64_t done, uint64_t count) {
    scene_query q = *all;
    uint32_t fault = 0;
    void *device_fault = NULL;
    q.count = count;
    KD_TRY(device_call_take(call, &device_fault, sizeof fault));
    KD_TRY(device_copy(device_fault, &fault, sizeof fault, call->stream));
    q.fault = (uint32_t *)device_fault;
    KD_TRY(stage_inputs(call, &q, all, done));
    KD_TRY(stage_outputs(call, &q, all, done));
    KD_TRY(scene_query_launch(view, &q, call->stream));
    KD_TRY(device_call_give_back(call));
    KD_TRY(device_copy(&fault, device_fault, sizeof fault, call->stream));
    KD_TRY(device_stream_wait(call->stream));
    if (fault) *all->fault = 1;
    return KD_OK;
}

kd_status ray_scene_query_cuda(const kd_ray_scene *scene, const scene_query *query, void *stream) {
    device_call call;
    scene_rays_view view = scene->device_view;
    view.nearest = (const nearest_view *)__atomic_load_n(&scene->nearest_memory, __ATOMIC_ACQUIRE);
    KD_TRY(device_call_begin(&call, scene->device, stream));
    kd_status status = KD_OK;
    for (uint64_t done = 0; done < query->count && status == KD_OK; done += PIECE) {
        const uint64_t left = query->count - done;
        status = query_piece(&call, &view, query, done, left < PIECE ? left : PIECE);
        device_call_release(&call);
    }
    device_leave(call.previous);
    return status;
}

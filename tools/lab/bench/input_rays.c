#include "accel/rays/batch.h"
#include "core/device/device_memory.h"
#include "core/job.h"
#include "core/math/sampling.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/assembly/scene_camera.h"
#include "tools/lab/bench/inputs.h"
#include <string.h>

const char *const bench_ray_sets[] = {"primary", "diffuse", "ao-any", "random", "random-any", NULL};

enum { GRAIN = 4096 };

typedef struct making {
    const bench_rays_request *request;
    const tritree *tree;
    camera view;
    float diagonal;
    ray *out;
    /* primary rays of the diffuse rays */
    const ray *primary;
    const ray_hit *hits;
    const uint32_t *starts; /* indices of the primary rays with a hit */
    float reach;            /* tmax */
} making;

/* Places the camera outside of closed objects, and inside rooms near one end, looking along the
   longest side. A light in the centre is added because it decides whether a room is lit. */
static camera choose_view(const tritree *tree, float diagonal) {
    scene_view scene;
    light lamp;
    memset(&scene, 0, sizeof scene);
    memset(&lamp, 0, sizeof lamp);
    lamp.kind = LIGHT_POINT;
    scene.lights = &lamp;
    scene.light_count = 1;
    scene.tree = tritree_get_view(tree);
    scene.box = tree->box;
    scene.mesh.positions = tree->input.positions;
    scene.mesh.triangles = tree->input.triangles;
    camera view;
    memset(&view, 0, sizeof view);
    view.up = vec3_make(0, 1, 0);
    view.look_at = box3_centre(tree->box);
    if (interior_kind_of(&scene, view.up) != INTERIOR_LIT) {
        view.eye = vec3_along(view.look_at, 0.95f * diagonal, vec3_make(0.6f, 0.45f, 0.66f));
        view.fov_degrees = 45;
        return view;
    }
    const int axis = box3_longest_axis(tree->box);
    const float lo = vec3_axis(tree->box.lo, axis), hi = vec3_axis(tree->box.hi, axis);
    view.eye = view.look_at;
    vec3_set_axis(&view.eye, axis, lo + 0.08f * (hi - lo));
    vec3_set_axis(&view.look_at, axis, hi);
    view.fov_degrees = 70;
    return view;
}

static void make_primary(void *context, int64_t begin, int64_t end, int thread) {
    const making *m = (const making *)context;
    const int32_t width = m->request->width, height = m->request->height;
    static const rng_block centre = {{0.5f, 0.5f, 0.5f, 0.5f}};
    (void)thread;
    for (int64_t i = begin; i < end; ++i)
        m->out[i] =
            camera_ray(&m->view, width, height, (int32_t)(i % width), (int32_t)(i / width), centre);
}

static void make_diffuse(void *context, int64_t begin, int64_t end, int thread) {
    const making *m = (const making *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const uint32_t from = m->starts[i / m->request->bounces];
        const ray *ray = &m->primary[from];
        const tritree_input *input = &m->tree->input;
        const uint32_t *index = input->triangles + 3 * (uint64_t)m->hits[from].triangle;
        const vec3 a = input->positions[index[0]];
        vec3 normal = vec3_normalize(vec3_cross(vec3_sub(input->positions[index[1]], a),
                                                vec3_sub(input->positions[index[2]], a)));
        if (vec3_dot(normal, ray->direction) > 0) normal = vec3_negate(normal);
        const vec3 at = vec3_along(ray_at(ray, m->hits[from].t), 2e-5f * m->diagonal, normal);
        const rng_block r = rng_draw(rng_key_make(7, 1, (uint64_t)i), 0, 0);
        const frame3 frame = frame3_around(normal);
        m->out[i] =
            ray_make(at, frame3_to_world(&frame, sample_cosine_hemisphere(r.value[0], r.value[1])),
                     0, m->reach);
    }
}

static void make_random(void *context, int64_t begin, int64_t end, int thread) {
    const making *m = (const making *)context;
    const vec3 lo = m->tree->box.lo, size = box3_size(m->tree->box);
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const rng_key key = rng_key_make(7, 2, (uint64_t)i);
        const rng_block r = rng_draw(key, 0, 0), s = rng_draw(key, 0, 1);
        const vec3 at = vec3_add(lo, vec3_mul(size, vec3_make(r.value[0], r.value[1], r.value[2])));
        m->out[i] = ray_make(at, sample_sphere(s.value[0], s.value[1]), 0, INFINITY);
    }
}

/* Traces the image's rays and collects the hits from which diffuse rays start. */
static kd_status make_bounces(bench_rays *out, making *m, uint64_t pixels) {
    kd_status status = KD_OK;
    ray *primary = NULL;
    ray_hit *hits = NULL;
    uint32_t *starts = NULL;
    KD_TRY_GOTO(KD_RESERVE(primary, pixels));
    KD_TRY_GOTO(KD_RESERVE(hits, pixels));
    KD_TRY_GOTO(KD_RESERVE(starts, pixels));
    m->out = primary;
    parallel_for((int64_t)pixels, GRAIN, make_primary, m);
    const tritree_view view = tritree_get_view(m->tree);
    KD_TRY_GOTO(trace_closest(&view, primary, hits, pixels, NULL, NULL));
    uint64_t count = 0;
    for (uint64_t i = 0; i < pixels; ++i)
        if (hits[i].triangle != KD_NONE) starts[count++] = (uint32_t)i;
    out->count = count * (uint64_t)m->request->bounces;
    KD_TRY_GOTO(KD_RESERVE(out->rays, out->count));
    m->primary = primary;
    m->hits = hits;
    m->starts = starts;
    m->out = out->rays;
    parallel_for((int64_t)out->count, GRAIN, make_diffuse, m);
done:
    memory_free(primary);
    memory_free(hits);
    memory_free(starts);
    return status;
}

kd_status bench_rays_open(bench_rays *out, const bench_rays_request *request, const char *set) {
    memset(out, 0, sizeof *out);
    making m;
    memset(&m, 0, sizeof m);
    m.request = request;
    m.tree = request->tree;
    m.diagonal = vec3_length(box3_size(m.tree->box));
    m.view = choose_view(m.tree, m.diagonal);
    m.reach = strcmp(set, "ao-any") == 0 ? 0.15f * m.diagonal : INFINITY;
    const uint64_t pixels = (uint64_t)request->width * (uint64_t)request->height;
    out->set = set;
    out->any = strcmp(set, "ao-any") == 0 || strcmp(set, "random-any") == 0;
    out->coherent = strcmp(set, "primary") == 0;
    kd_status status = KD_OK;
    if (strcmp(set, "diffuse") == 0 || strcmp(set, "ao-any") == 0) {
        KD_TRY_GOTO(make_bounces(out, &m, pixels));
    } else {
        out->width = out->coherent ? (uint32_t)request->width : 0;
        out->count = out->coherent ? pixels : request->random_count;
        KD_TRY_GOTO(KD_RESERVE(out->rays, out->count));
        m.out = out->rays;
        parallel_for((int64_t)out->count, GRAIN, out->coherent ? make_primary : make_random, &m);
    }
done:
    if (status != KD_OK) bench_rays_close(out);
    return status;
}

void bench_rays_close(bench_rays *owned) {
    memory_free(owned->rays);
    memset(owned, 0, sizeof *owned);
}

typedef struct cast_on_device {
    tritree_cuda tree;
    trace_batch batch;
} cast_on_device;

static kd_status cast_again(void *context) {
    const cast_on_device *work = (const cast_on_device *)context;
    return trace_cuda(&work->tree, &work->batch);
}

static kd_status cast_on_cpu(bench_row *row, const tritree *tree, const bench_rays *rays,
                             ray_hit *hits) {
    const tritree_view view = tritree_get_view(tree);
    for (int run = -1; run < row->runs; ++run) {
        const double started = timing_now();
        KD_TRY(trace_closest(&view, rays->rays, hits, rays->count, NULL, NULL));
        if (run >= 0) row->seconds[run] = timing_now() - started;
    }
    return KD_OK;
}

kd_status bench_rays_cast(bench_row *row, const tritree *tree, const bench_rays *rays,
                          trace_loop loop, ray_hit *hits) {
    cast_on_device work = {.batch = {.count = rays->count,
                                     .loop = loop,
                                     .coherent = rays->coherent,
                                     .measured = loop == TRACE_AUTO,
                                     .on_device = true,
                                     .width = rays->width}};
    ray *device_rays = NULL;
    kd_status status = KD_OK;
    if (strcmp(row->device, "cpu") == 0) return cast_on_cpu(row, tree, rays, hits);
    KD_TRY_GOTO(tritree_cuda_open(&work.tree, tree));
    KD_TRY_GOTO(tritree_cuda_pack(&work.tree, NULL));
    KD_TRY_GOTO(device_memory_reserve((void **)&device_rays, rays->count * sizeof(ray)));
    KD_TRY_GOTO(device_memory_reserve((void **)&work.batch.hits, rays->count * sizeof *hits));
    KD_TRY_GOTO(device_memory_upload(device_rays, rays->rays, rays->count * sizeof(ray)));
    work.batch.rays = device_rays;
    KD_TRY_GOTO(bench_time_device(row, true, cast_again, &work));
    KD_TRY_GOTO(device_memory_download(hits, work.batch.hits, rays->count * sizeof *hits));
done:
    device_memory_free(work.batch.hits);
    device_memory_free(device_rays);
    tritree_cuda_close(&work.tree);
    return status;
}

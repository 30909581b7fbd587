/* kandela bench trace: rays per second of each traversal kernel, on the trees of the requested
   builders. Before timing, the answers of a kernel are compared with those of the reference
   traversal, and those with the CPU's and with a brute-force test of all triangles. On a device,
   also the times of opening the tree. */
#include "accel/build_memory.h"
#include "accel/builders.h"
#include "accel/rays/batch.h"
#include "accel/rays/batch_device.h"
#include "accel/tree/tritree.h"
#include "accel/wide/compressed_form.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/hash.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "tools/lab/bench/bench.h"
#include "tools/lab/bench/inputs.h"
#include <kandela/triangles.h>
#include <math.h>
#include <string.h>

enum { CPU_STRIDE = 16, BRUTE_RAYS = 48 };

/* How a traversal uses the width of an image.
     NO_WIDTH     not at all
     ANY_WIDTH    if there is one
     IMAGES_ONLY  it supports only images
     WITHOUT_IT   it is passed images, but not their width */
typedef enum trace_width { NO_WIDTH, ANY_WIDTH, IMAGES_ONLY, WITHOUT_IT } trace_width;

typedef struct trace_variant {
    const char *name;
    trace_loop loop;
    trace_width width;
} trace_variant;

static const trace_variant variants[] = {
    {"plain", TRACE_PLAIN, NO_WIDTH},
    {"watertight", TRACE_AUTO, ANY_WIDTH}, /* by default */
    {"watertight-measured", TRACE_AUTO, WITHOUT_IT},
    {"nodes-once", TRACE_NODES, NO_WIDTH},
    {"nodes-tiles", TRACE_NODES, IMAGES_ONLY},
    {"watertight-once", TRACE_ONCE, NO_WIDTH},
    {"watertight-tiles", TRACE_ONCE, IMAGES_ONLY},
    {"watertight-persistent", TRACE_PERSISTENT, NO_WIDTH},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

typedef struct trace_case {
    const bench_request *request;
    const tritree *tree;
    const char *model, *builder;
    bench_rays rays;
    ray_hit *expected, *hits; /* host memory: reference results, and those compared */
    tritree_cuda on_device;
    ray *device_rays;
    ray_hit *device_hits;
} trace_case;

/* Any-hit results are stored as hits with or without a triangle. */
static void widen(ray_hit *hits, const uint8_t *blocked, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) hits[i] = (ray_hit){0, 0, 0, blocked[i] ? 0 : KD_NONE};
}

static bool same_answer(const ray_hit *a, const ray_hit *b) {
    return a->triangle == b->triangle && a->t == b->t;
}

/* Returns the number of differing results from `first` on in steps of `stride`. */
static uint64_t count_different(const trace_case *bench, uint64_t stride) {
    uint64_t different = 0;
    for (uint64_t i = 0; i < bench->rays.count; i += stride)
        different += !same_answer(&bench->hits[i], &bench->expected[i]);
    return different;
}

static ray_hit test_all(const tritree_input *input, ray ray) {
    ray_hit best = {ray.tmax, 0, 0, KD_NONE};
    const precomputed_ray precomputed = precomputed_ray_make(ray);
    for (uint32_t id = 0; id < input->triangle_count; ++id) {
        const uint32_t *index = input->triangles + 3 * (uint64_t)id;
        const vec3 a = input->positions[index[0]], b = input->positions[index[1]],
                   c = input->positions[index[2]];
        if (!triangle_is_degenerate(a, b, c))
            tritree_triangle_intersect(&precomputed, a, b, c, id, ray.tmin, &best);
    }
    return best;
}

static void brute_force(void *context, int64_t begin, int64_t end, int thread) {
    trace_case *bench = (trace_case *)context;
    (void)thread;
    for (int64_t k = begin; k < end; ++k) {
        const uint64_t i = (uint64_t)k * (bench->rays.count / BRUTE_RAYS);
        bench->hits[i] = test_all(&bench->tree->input, bench->rays.rays[i]);
        if (bench->rays.any && bench->hits[i].triangle != KD_NONE)
            bench->hits[i] = (ray_hit){0, 0, 0, 0};
        else if (bench->rays.any)
            bench->hits[i].t = 0;
    }
}

static void cast_on_cpu(void *context, int64_t begin, int64_t end, int thread) {
    trace_case *bench = (trace_case *)context;
    const tritree_view view = tritree_get_view(bench->tree);
    (void)thread;
    for (int64_t k = begin; k < end; ++k) {
        const uint64_t i = (uint64_t)k * CPU_STRIDE;
        const ray ray = bench->rays.rays[i];
        if (!bench->rays.any)
            bench->hits[i] = tritree_closest(&view, ray);
        else
            bench->hits[i] = (ray_hit){0, 0, 0, tritree_occluded(&view, ray) ? 0 : KD_NONE};
    }
}

/* Compares the reference results with the CPU's and with those of testing all triangles. */
static kd_status check_oracle(trace_case *bench) {
    const uint64_t count = bench->rays.count;
    parallel_for((int64_t)((count + CPU_STRIDE - 1) / CPU_STRIDE), 1024, cast_on_cpu, bench);
    uint64_t different = count_different(bench, CPU_STRIDE);
    KD_REQUIRE(different == 0, KD_ERROR_CHECK, "%s %s: %llu results differ from the CPU's",
               bench->model, bench->rays.set, (unsigned long long)different);
    const uint64_t stride = count / BRUTE_RAYS;
    if (stride == 0) return KD_OK;
    parallel_for(BRUTE_RAYS, 1, brute_force, bench);
    for (uint64_t k = 0; k < BRUTE_RAYS; ++k)
        different += !same_answer(&bench->hits[k * stride], &bench->expected[k * stride]);
    KD_REQUIRE(different == 0, KD_ERROR_CHECK, "%s %s: %llu results differ from brute force",
               bench->model, bench->rays.set, (unsigned long long)different);
    return KD_OK;
}

static bench_row new_row(const trace_case *bench, const char *device_name, const char *variant,
                         char *set, size_t capacity) {
    snprintf(set, capacity, "%s %s", bench->model, bench->rays.set);
    bench_row row = {
        .bench = "trace", .set = set, .builder = bench->builder, .device = device_name};
    row.variant = variant;
    row.n = bench->rays.count;
    row.items = (double)bench->rays.count;
    row.rate_name = "rays_per_second";
    row.runs = bench->request->runs;
    row.triangles = bench->tree->input.triangle_count;
    row.sah_cost = bench->tree->statistics.sah_cost;
    row.references_per_triangle = bench->tree->statistics.references_per_triangle;
    return row;
}

static trace_batch new_batch(const trace_case *bench, const trace_variant *variant) {
    trace_batch batch;
    memset(&batch, 0, sizeof batch);
    batch.rays = bench->device_rays;
    batch.hits = bench->rays.any ? NULL : bench->device_hits;
    batch.blocked = bench->rays.any ? (uint8_t *)bench->device_hits : NULL;
    batch.count = bench->rays.count;
    batch.loop = variant->loop;
    batch.measured = variant->loop == TRACE_AUTO;
    batch.on_device = true;
    batch.width =
        variant->width == NO_WIDTH || variant->width == WITHOUT_IT ? 0 : bench->rays.width;
    return batch;
}

/* Runs the variant once, with results in `hit`. */
static kd_status answer(trace_case *bench, const trace_batch *batch, ray_hit *hit) {
    KD_TRY(trace_cuda(&bench->on_device, batch));
    KD_TRY(device_wait());
    if (!bench->rays.any)
        return device_memory_download(hit, bench->device_hits, bench->rays.count * sizeof *hit);
    uint8_t *blocked = NULL;
    KD_TRY(KD_RESERVE(blocked, bench->rays.count));
    const kd_status status = device_memory_download(blocked, bench->device_hits, bench->rays.count);
    if (status == KD_OK) widen(hit, blocked, bench->rays.count);
    memory_free(blocked);
    return status;
}

typedef struct timed_batch {
    const tritree_cuda *tree;
    const trace_batch *batch;
} timed_batch;

static kd_status cast_again(void *context) {
    const timed_batch *work = (const timed_batch *)context;
    return trace_cuda(work->tree, work->batch);
}

static kd_status run_variant(trace_case *bench, const trace_variant *variant) {
    char set[128];
    bench_row row = new_row(bench, "cuda:0", variant->name, set, sizeof set);
    const trace_batch batch = new_batch(bench, variant);
    if (variant->loop == TRACE_PLAIN) {
        KD_TRY(answer(bench, &batch, bench->expected));
        KD_TRY(check_oracle(bench));
    } else {
        KD_TRY(answer(bench, &batch, bench->hits));
        const uint64_t different = count_different(bench, 1);
        KD_REQUIRE(different == 0, KD_ERROR_CHECK,
                   "%s by %s: %llu results of %llu differ from the reference traversal's", set,
                   variant->name, (unsigned long long)different,
                   (unsigned long long)bench->rays.count);
    }
    row.checked = true;
    row.hash = hash_bytes(variant->loop == TRACE_PLAIN ? bench->expected : bench->hits,
                          bench->rays.count * sizeof *bench->hits);
    timed_batch timed = {&bench->on_device, &batch};
    KD_TRY(bench_time_device(&row, false, cast_again, &timed));
    return bench_report(bench->request, &row);
}

static kd_status run_on_cuda(trace_case *bench) {
    kd_status status = KD_OK;
    const uint64_t count = bench->rays.count;
    KD_TRY_GOTO(device_memory_reserve((void **)&bench->device_rays, count * sizeof(ray)));
    KD_TRY_GOTO(device_memory_reserve((void **)&bench->device_hits, count * sizeof(ray_hit)));
    KD_TRY_GOTO(device_memory_upload(bench->device_rays, bench->rays.rays, count * sizeof(ray)));
    for (int i = 0; i < VARIANTS; ++i)
        if ((variants[i].width < IMAGES_ONLY || bench->rays.width) &&
            (variants[i].loop != TRACE_NODES || bench->on_device.view.rows))
            KD_TRY_GOTO(run_variant(bench, &variants[i]));
done:
    device_memory_free(bench->device_rays);
    device_memory_free(bench->device_hits);
    bench->device_rays = NULL;
    bench->device_hits = NULL;
    return status;
}

static kd_status run_on_cpu(trace_case *bench) {
    char set[128];
    bench_row row = new_row(bench, "cpu", "single rays", set, sizeof set);
    const tritree_view view = tritree_get_view(bench->tree);
    for (int run = -1; run < row.runs; ++run) {
        const double started = timing_now();
        if (bench->rays.any)
            KD_TRY(trace_occluded(&view, bench->rays.rays, (uint8_t *)bench->hits,
                                  bench->rays.count, NULL, NULL));
        else
            KD_TRY(
                trace_closest(&view, bench->rays.rays, bench->hits, bench->rays.count, NULL, NULL));
        if (run >= 0) row.seconds[run] = timing_now() - started;
    }
    if (bench->rays.any)
        widen(bench->expected, (uint8_t *)bench->hits, bench->rays.count);
    else
        memcpy(bench->expected, bench->hits, bench->rays.count * sizeof *bench->hits);
    KD_TRY(check_oracle(bench));
    row.checked = true;
    row.hash = hash_bytes(bench->expected, bench->rays.count * sizeof *bench->expected);
    return bench_report(bench->request, &row);
}

/* Times the conversion of the tree in device memory to compressed wide nodes. */
static kd_status run_compressed(const trace_case *bench) {
    bench_row row = {.bench = "trace", .set = bench->model, .builder = bench->builder};
    row.device = "cuda:0";
    row.variant = "packed form";
    row.n = row.triangles = bench->tree->input.triangle_count;
    row.items = (double)row.n;
    row.rate_name = "triangles_per_second";
    row.runs = bench->request->runs;
    row.bytes = bench->on_device.compressed_bytes;
    row.references_per_triangle = bench->tree->statistics.references_per_triangle;
    device_timer timer;
    KD_TRY(device_timer_open(&timer));
    kd_status status = KD_OK;
    for (int run = -1; run < row.runs; ++run) {
        double seconds = 0;
        void *units = NULL;
        uint64_t bytes = 0;
        KD_TRY_GOTO(device_timer_start(&timer, NULL));
        status = compressed_device_open(&units, &bytes, &bench->on_device.view, 0, false, NULL);
        if (status == KD_OK) status = device_timer_stop(&timer, NULL, &seconds);
        device_memory_free(units);
        KD_TRY_GOTO(status);
        if (run >= 0) row.seconds[run] = seconds;
    }
    KD_TRY_GOTO(bench_report(bench->request, &row));
done:
    device_timer_close(&timer);
    return status;
}

/* Times kd_triangles_open, from a mesh in device memory to a tree that rays can be cast into. */
static kd_status run_opening(const bench_request *request, const bench_model *model) {
    const tritree_input *input = &model->input;
    const uint64_t position_bytes = input->position_count * sizeof *input->positions;
    const uint64_t triangle_bytes = 3ull * input->triangle_count * sizeof *input->triangles;
    bench_row row = {.bench = "trace", .set = model->name, .builder = "auto", .device = "cuda:0"};
    row.variant = "open";
    row.n = row.triangles = input->triangle_count;
    row.items = (double)row.n;
    row.rate_name = "triangles_per_second";
    row.runs = request->runs;
    void *positions = NULL, *triangles = NULL;
    kd_status status = KD_OK;
    KD_TRY_GOTO(device_memory_reserve(&positions, position_bytes));
    KD_TRY_GOTO(device_memory_reserve(&triangles, triangle_bytes));
    KD_TRY_GOTO(device_memory_upload(positions, input->positions, position_bytes));
    KD_TRY_GOTO(device_memory_upload(triangles, input->triangles, triangle_bytes));
    kd_triangles_options options;
    kd_triangles_options_default(&options);
    const kd_triangle_mesh mesh =
        kd_triangle_mesh_make((const float *)positions, input->position_count,
                              (const uint32_t *)triangles, input->triangle_count);
    for (int run = -1; run < row.runs; ++run) {
        kd_triangles *tree = NULL;
        const double started = timing_now();
        status = kd_triangles_open(&tree, &mesh, &options);
        if (status == KD_OK) status = device_stream_wait(NULL);
        const double seconds = timing_now() - started;
        kd_triangles_info info;
        kd_triangles_describe(tree, &info);
        row.bytes = info.bytes;
        kd_triangles_close(tree);
        KD_TRY_GOTO(status);
        if (run >= 0) row.seconds[run] = seconds;
    }
    KD_TRY_GOTO(bench_report(request, &row));
done:
    device_memory_free(positions);
    device_memory_free(triangles);
    return status;
}

/* The CPU's image is smaller, with one diffuse ray per hit. */
static kd_status run_set(trace_case *bench, const char *set, bool cuda) {
    const bench_rays_request request = {.tree = bench->tree,
                                        .width = cuda ? 1920 : 1024,
                                        .height = cuda ? 1080 : 1024,
                                        .bounces = cuda ? 4 : 1,
                                        .random_count = cuda ? 1 << 23 : 1 << 20};
    KD_TRY(bench_rays_open(&bench->rays, &request, set));
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(bench->expected, bench->rays.count));
    KD_TRY_GOTO(KD_RESERVE(bench->hits, bench->rays.count));
    KD_TRY_GOTO(cuda ? run_on_cuda(bench) : run_on_cpu(bench));
done:
    memory_free(bench->expected);
    memory_free(bench->hits);
    bench->expected = NULL;
    bench->hits = NULL;
    bench_rays_close(&bench->rays);
    return status;
}

/* Builds with the named builder, on the device if requested and supported, else on the CPU. */
static kd_status build_tree(tritree *out, const bench_request *request, const tritree_input *input,
                            const char *name, bool cuda) {
    tritree_options options = tritree_options_default();
    if (request->traversal_cost > 0) options.traversal_cost = (float)request->traversal_cost;
    const tritree_builder_cuda *builder = cuda ? tritree_builder_cuda_find(name) : NULL;
    if (!builder) return tritree_open(out, input, &options, name, NULL);
    tritree_build_memory memory;
    tritree_built built;
    KD_TRY(tritree_build_memory_build(&memory, &built, input, &options, builder));
    const kd_status status = tritree_build_download(&memory, out, input);
    tritree_build_memory_close(&memory);
    return status;
}

static kd_status run_tree(const bench_request *request, const bench_model *model,
                          const char *builder) {
    tritree tree;
    const bool cuda = bench_selects_cuda(request);
    KD_TRY(build_tree(&tree, request, &model->input, builder, cuda));
    trace_case bench = {
        .request = request, .tree = &tree, .model = model->name, .builder = builder};
    kd_status status = KD_OK;
    KD_TRY_GOTO(tritree_check(&tree));
    if (cuda) KD_TRY_GOTO(tritree_cuda_open(&bench.on_device, &tree));
    bench.on_device.keeps_nodes = true; /* for the reference traversal */
    if (cuda) KD_TRY_GOTO(tritree_cuda_pack(&bench.on_device, NULL));
    if (cuda) KD_TRY_GOTO(run_compressed(&bench));
    for (const char *const *set = bench_ray_sets; *set; ++set) {
        if (!bench_selects(&request->sets, *set)) continue;
        if (cuda) KD_TRY_GOTO(run_set(&bench, *set, true));
        if (bench_selects(&request->devices, "cpu")) KD_TRY_GOTO(run_set(&bench, *set, false));
    }
done:
    tritree_cuda_close(&bench.on_device);
    tritree_close(&tree);
    return status;
}

kd_status bench_trace(const bench_request *request) {
    for (int i = 0; i < bench_model_count(request); ++i) {
        bench_model model;
        KD_TRY(bench_model_open(&model, bench_model_path(request, i)));
        kd_status status = KD_OK;
        if (bench_selects_cuda(request)) status = run_opening(request, &model);
        for (const tritree_builder *const *row = tritree_builders; *row && status == KD_OK; ++row)
            if (request->builders.count ? bench_selects(&request->builders, (*row)->name)
                                        : row == tritree_builders)
                status = run_tree(request, &model, (*row)->name);
        for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row)
            if (status == KD_OK && request->builders.count && bench_selects_cuda(request) &&
                bench_selects(&request->builders, (*row)->name) &&
                !tritree_builder_find((*row)->name))
                status = run_tree(request, &model, (*row)->name);
        bench_model_close(&model);
        KD_TRY(status);
    }
    return KD_OK;
}

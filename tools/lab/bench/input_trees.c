#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/hash.h"
#include "core/memory.h"
#include "points/select/builders.h"
#include "points/tree/bounds.h"
#include "points/tree/check.h"
#include "points/tree/check_device.h"
#include "tools/lab/bench/inputs.h"
#include <string.h>

kd_status bench_cloud_open(bench_cloud *out, const char *set, uint64_t count, uint32_t dims,
                           point_scalar scalar, uint64_t stride_bytes, bool on_device) {
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    out->points = point_array_make(NULL, count, dims, scalar);
    if (stride_bytes) out->points.stride_bytes = stride_bytes;
    const uint64_t minimum = dims * point_scalar_bytes(scalar);
    KD_REQUIRE(out->points.stride_bytes >= minimum &&
                   out->points.stride_bytes % point_scalar_bytes(scalar) == 0,
               KD_ERROR_USAGE,
               "the stride is %llu bytes; expected a multiple of %llu and at least %llu",
               (unsigned long long)out->points.stride_bytes,
               (unsigned long long)point_scalar_bytes(scalar), (unsigned long long)minimum);
    const uint64_t bytes = count * out->points.stride_bytes;
    KD_TRY_GOTO(memory_reserve(&out->memory[0], bytes, 1));
    out->points.coordinates = out->memory[0];
    KD_TRY_GOTO(bench_set_fill_nd(out->memory[0], &out->points, set));
    KD_TRY_GOTO(point_scan(&out->box, &out->points));
    if (!on_device) return KD_OK;
    KD_TRY_GOTO(device_memory_reserve(&out->memory[1], bytes));
    out->device_points = out->points;
    out->device_points.coordinates = out->memory[1];
    KD_TRY_GOTO(device_memory_upload(out->memory[1], out->memory[0], bytes));
done:
    if (status != KD_OK) bench_cloud_close(out);
    return status;
}

void bench_cloud_close(bench_cloud *owned) {
    memory_free(owned->memory[0]);
    device_memory_free(owned->memory[1]);
    memset(owned, 0, sizeof *owned);
}

kd_status bench_tree_cpu(bench_row *row, const bench_cloud *cloud,
                         const pointtree_options *options) {
    const pointtree_builder *builder = pointtree_builder_find(row->builder);
    row->bytes = builder->scratch_bytes(cloud->points.count);
    row->stage_names = builder->stage_names;
    for (int run = -1; run < row->runs; ++run) {
        pointtree tree;
        kd_status status = KD_OK;
        KD_TRY(pointtree_open_nd(&tree, &cloud->points, options, row->builder, NULL));
        if (run < 0) {
            const pointtree_nd_view view = pointtree_get_nd_view(&tree);
            status = pointtree_check_nd(&view, &cloud->points);
            row->hash = pointtree_hash(&tree);
            row->checked = status == KD_OK;
        } else {
            row->seconds[run] = tree.build_seconds;
            memcpy(row->stage_seconds, tree.stage_seconds, sizeof tree.stage_seconds);
        }
        pointtree_close(&tree);
        KD_TRY(status);
    }
    return KD_OK;
}

/* Equals pointtree_hash of the tree on the host. */
static kd_status hash_tree(uint64_t *out, const point_build_cuda *a, uint64_t count) {
    kd_status status = KD_OK;
    uint32_t *ids = NULL;
    uint8_t *axes = NULL;
    KD_TRY_GOTO(KD_RESERVE(ids, count));
    KD_TRY_GOTO(device_memory_download(ids, a->ids, count * sizeof *ids));
    *out = hash_bytes(ids, count * sizeof *ids);
    if (a->axes) {
        KD_TRY_GOTO(KD_RESERVE(axes, count));
        KD_TRY_GOTO(device_memory_download(axes, a->axes, count));
        *out = hash_combine(*out, axes, count);
    }
done:
    memory_free(ids);
    memory_free(axes);
    return status;
}

/* Measures the stages in separate runs, because the events take time; keeps the fastest run. */
static kd_status time_stages(bench_row *row, const point_builder_cuda *builder,
                             const point_build_cuda *a) {
    kd_status status = KD_OK;
    point_build_stages stages;
    point_build_cuda marked = *a;
    double minimum = 0;
    device device;
    marked.stages = &stages;
    KD_TRY(device_cuda_describe(&device, 0));
    KD_TRY_GOTO(point_build_stages_open(&stages));
    for (int run = 0; run < row->runs; ++run) {
        double seconds[POINT_STAGES], whole = 0;
        point_build_stages_clear(&stages);
        KD_TRY_GOTO(builder->build(&marked));
        if (stages.intervals == 0) goto done; /* the builder does not report stages */
        KD_TRY_GOTO(point_build_stages_read(&stages, seconds));
        for (int i = 0; i < POINT_STAGES; ++i) whole += seconds[i];
        if (run > 0 && whole >= minimum) continue;
        minimum = whole;
        memcpy(row->stage_seconds, seconds, sizeof seconds);
    }
    memcpy(row->stage_bytes, stages.bytes, sizeof row->stage_bytes);
    row->stage_names = stages.names;
    row->bandwidth = device.bandwidth;
done:
    point_build_stages_close(&stages);
    return status;
}

typedef struct timed_build {
    const point_build_cuda *arguments;
    const point_builder_cuda *builder;
    const wehr_parameters *parameters; /* of `wehr`; NULL: its own */
} timed_build;

static kd_status build_again(void *context) {
    const timed_build *work = (const timed_build *)context;
    return work->parameters ? build_wehr_cuda_with(work->arguments, work->parameters)
                            : work->builder->build(work->arguments);
}

/* Checks the first build and times the others. */
static kd_status run_cuda(bench_row *row, const bench_cloud *cloud, timed_build *work) {
    const point_build_cuda *a = work->arguments;
    const pointtree_order order = pointtree_builder_find(work->builder->name)->order;
    KD_TRY(build_again(work));
    KD_TRY(device_wait());
    const uint64_t count = work->builder->removes ? *a->kept : cloud->points.count;
    KD_TRY(point_check_cuda(a, count, order, &cloud->box));
    KD_TRY(hash_tree(&row->hash, a, count));
    row->checked = true;
    KD_TRY(bench_time_device(row, false, build_again, work));
    return work->parameters ? KD_OK : time_stages(row, work->builder, a);
}

typedef struct cuda_build {
    point_build_cuda arguments;
    uint32_t kept;
} cuda_build;

static void cuda_build_close(cuda_build *owned) {
    device_memory_free(owned->arguments.ids);
    device_memory_free(owned->arguments.axes);
    device_memory_free(owned->arguments.scratch);
    memset(owned, 0, sizeof *owned);
}

static kd_status cuda_build_open(cuda_build *out, const bench_cloud *cloud,
                                 const pointtree_options *options,
                                 const point_builder_cuda *builder) {
    kd_status status = KD_OK;
    const uint64_t count = cloud->points.count;
    point_build_cuda *a = &out->arguments;
    memset(out, 0, sizeof *out);
    a->points = cloud->device_points;
    a->split = options->split;
    a->unique = options->unique;
    a->cells = options->cells;
    a->box = cloud->box;
    a->kept = &out->kept;
    KD_TRY_GOTO(device_memory_reserve((void **)&a->ids, count * sizeof *a->ids));
    if (a->split == POINTTREE_WIDEST) KD_TRY_GOTO(device_memory_reserve((void **)&a->axes, count));
    KD_TRY_GOTO(builder->scratch_bytes(&a->scratch_bytes, a));
    KD_TRY_GOTO(device_memory_reserve(&a->scratch, a->scratch_bytes));
done:
    if (status != KD_OK) cuda_build_close(out);
    return status;
}

kd_status bench_tree_cuda(bench_row *row, const bench_cloud *cloud,
                          const pointtree_options *options, const wehr_parameters *parameters) {
    static const pointtree_options defaults = {POINTTREE_ROUND_ROBIN, false, 0};
    const point_builder_cuda *builder = point_builder_cuda_find(row->builder);
    cuda_build build;
    KD_TRY(cuda_build_open(&build, cloud, options ? options : &defaults, builder));
    timed_build work = {&build.arguments, builder, parameters};
    if (!parameters) row->bytes = build.arguments.scratch_bytes;
    const kd_status status = run_cuda(row, cloud, &work);
    cuda_build_close(&build);
    return status;
}

kd_status bench_tune_cuda(wehr_parameters *best, const bench_cloud *cloud,
                          const pointtree_options *options) {
    cuda_build build;
    KD_TRY(cuda_build_open(&build, cloud, options, point_builder_cuda_find("wehr")));
    const kd_status status = wehr_tune_cuda(best, &build.arguments);
    cuda_build_close(&build);
    return status;
}

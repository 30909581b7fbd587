/* kandela bench scaling for triangles: trees of blobs of growing sizes, and diffuse rays in them,
   on the CPU and on a device. */
#include "accel/builders.h"
#include "accel/rays/batch.h"
#include "accel/rays/batch_device.h"
#include "accel/tree/tritree.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/job.h"
#include "core/memory.h"
#include "tools/lab/bench/build.h"
#include "tools/lab/bench/inputs.h"
#include "tools/lab/bench/scaling.h"
#include <string.h>

/* Larger trees are not checked on the host, which would take minutes. */
enum { CHECKED_MAX = 4 << 20 };

typedef struct scale_case {
    const bench_request *request;
    const char *builder;
    bench_growth build, rays;
} scale_case;

static bench_row new_row(const scale_case *bench, const bench_model *model) {
    bench_row row = {.bench = "scaling", .set = "triangle trees", .builder = bench->builder};
    row.device = bench->build.device;
    row.n = row.triangles = model->input.triangle_count;
    row.items = (double)row.n;
    row.runs = bench->request->runs;
    return row;
}

static kd_status take_tree(bench_row *row, const tritree *tree) {
    row->sah_cost = tree->statistics.sah_cost;
    row->references_per_triangle = tree->statistics.references_per_triangle;
    row->hash = tritree_hash(tree);
    if (tree->input.triangle_count > CHECKED_MAX) return KD_OK;
    KD_TRY(tritree_check(tree));
    row->checked = true;
    return KD_OK;
}

static kd_status cast_on_cpu(bench_row *row, const tritree *tree, const bench_rays *rays) {
    const tritree_view view = tritree_get_view(tree);
    ray_hit *hits = NULL;
    KD_TRY(KD_RESERVE(hits, rays->count));
    kd_status status = KD_OK;
    for (int run = -1; run < row->runs && status == KD_OK; ++run) {
        const double started = timing_now();
        status = trace_closest(&view, rays->rays, hits, rays->count, NULL, NULL);
        if (run >= 0) row->seconds[run] = timing_now() - started;
    }
    row->checked = true; /* by the tests: results equal those of the plain traversal, bit for bit */
    memory_free(hits);
    return status;
}

static kd_status cast_on_cuda(bench_row *row, const tritree *tree, const bench_rays *rays) {
    tritree_cuda device_tree = {0};
    ray_hit *hits = NULL;
    ray *from = NULL;
    device_timer timer = {0};
    kd_status status = KD_OK;
    KD_TRY_GOTO(device_timer_open(&timer));
    KD_TRY_GOTO(tritree_cuda_open(&device_tree, tree));
    KD_TRY_GOTO(tritree_cuda_pack(&device_tree, NULL));
    KD_TRY_GOTO(device_memory_reserve((void **)&from, rays->count * sizeof *from));
    KD_TRY_GOTO(device_memory_reserve((void **)&hits, rays->count * sizeof *hits));
    KD_TRY_GOTO(device_memory_upload(from, rays->rays, rays->count * sizeof *from));
    const trace_batch batch = {
        .rays = from, .hits = hits, .count = rays->count, .measured = true, .on_device = true};
    for (int run = -1; run < row->runs; ++run) {
        double seconds;
        KD_TRY_GOTO(device_timer_start(&timer, NULL));
        KD_TRY_GOTO(trace_cuda(&device_tree, &batch));
        KD_TRY_GOTO(device_timer_stop(&timer, NULL, &seconds));
        if (run >= 0) row->seconds[run] = seconds;
    }
    row->checked =
        true; /* by gpu_compressed: results equal those of the plain traversal, bit for bit */
done:
    device_memory_free(hits);
    device_memory_free(from);
    tritree_cuda_close(&device_tree);
    device_timer_close(&timer);
    return status;
}

static kd_status cast(const scale_case *bench, const bench_row *built, const tritree *tree,
                      bench_growth *growth) {
    const bool cuda = strcmp(bench->build.device, "cpu") != 0;
    const int32_t side = bench->request->quick ? 128 : cuda ? 2048 : 512;
    const bench_rays_request request = {tree, side, side, 1, 0};
    bench_row row = *built;
    bench_rays rays;
    KD_TRY(bench_rays_open(&rays, &request, "diffuse"));
    row.set = "diffuse rays";
    row.hash = 0;
    row.items = (double)rays.count;
    kd_status status = cuda ? cast_on_cuda(&row, tree, &rays) : cast_on_cpu(&row, tree, &rays);
    if (status == KD_OK) status = bench_growth_note(growth, bench->request, &row);
    bench_rays_close(&rays);
    return status;
}

static kd_status scale_on_cpu(scale_case *bench, const bench_model *model) {
    bench_row row = new_row(bench, model);
    const tritree_options options = tritree_options_default();
    tritree tree = {0};
    kd_status status = KD_OK;
    for (int run = 0; run < row.runs; ++run) {
        tritree_close(&tree);
        KD_TRY(tritree_open(&tree, &model->input, &options, row.builder, NULL));
        row.seconds[run] = tree.statistics.build_seconds;
    }
    KD_TRY_GOTO(take_tree(&row, &tree));
    KD_TRY_GOTO(bench_growth_note(&bench->build, bench->request, &row));
    KD_TRY_GOTO(cast(bench, &row, &tree, &bench->rays));
done:
    tritree_close(&tree);
    return status;
}

static kd_status scale_on_cuda(scale_case *bench, const bench_model *model) {
    bench_row row = new_row(bench, model);
    const tritree_options options = tritree_options_default();
    const tritree_builder_cuda *builder = tritree_builder_cuda_find(bench->builder);
    KD_REQUIRE(builder, KD_ERROR_USAGE, "builder \"%s\" does not run on a CUDA device",
               bench->builder);
    tritree_build_memory memory;
    tritree_built built;
    tritree tree = {0};
    KD_TRY(tritree_build_memory_build(&memory, &built, &model->input, &options, builder));
    kd_status status = KD_OK;
    row.bytes = memory.build.scratch_bytes;
    KD_TRY_GOTO(tritree_build_download(&memory, &tree, &model->input));
    KD_TRY_GOTO(take_tree(&row, &tree));
    KD_TRY_GOTO(bench_build_time(&row, builder, &memory));
    KD_TRY_GOTO(bench_growth_note(&bench->build, bench->request, &row));
    tritree_build_memory_close(&memory);
    KD_TRY_GOTO(cast(bench, &row, &tree, &bench->rays));
done:
    tritree_close(&tree);
    tritree_build_memory_close(&memory);
    return status;
}

kd_status bench_scale_triangles(const bench_request *request, const uint64_t *sizes, int count,
                                bool cuda) {
    const char *device = cuda ? "cuda:0" : "cpu";
    scale_case bench = {.request = request, .builder = cuda ? "binned" : "parallel"};
    bench.build =
        (bench_growth){.subject = "triangle trees", .device = device, .theory = "n log n"};
    bench.rays = (bench_growth){
        .subject = "diffuse rays", .device = device, .theory = "log n", .per_item = true};
    if (request->builders.count) bench.builder = request->builders.items[0];
    for (int i = 0; i < count; ++i) {
        char path[64];
        bench_model model;
        snprintf(path, sizeof path, "gen:blob:%llu", (unsigned long long)sizes[i]);
        KD_TRY(bench_model_open(&model, path));
        const kd_status status =
            cuda ? scale_on_cuda(&bench, &model) : scale_on_cpu(&bench, &model);
        bench_model_close(&model);
        if (cuda && status == KD_ERROR_MEMORY) {
            printf("scaling triangle trees %s cuda:0 n %llu: out of memory\n", bench.builder,
                   (unsigned long long)sizes[i]);
            break;
        }
        KD_TRY(status);
    }
    bench_growth_print(&bench.build);
    bench_growth_print(&bench.rays);
    return KD_OK;
}

/* kandela bench scaling for triangles: trees of blobs of growing sizes, and diffuse rays in them,
   on the CPU and on a device. */
#include "accel/builders.h"
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

static kd_status cast(const scale_case *bench, const bench_row *built, const tritree *tree,
                      bench_growth *growth) {
    const bool cuda = strcmp(bench->build.device, "cpu") != 0;
    const int32_t side = bench->request->quick ? 128 : cuda ? 2048 : 512;
    const bench_rays_request request = {tree, side, side, 1, 0};
    bench_row row = *built;
    bench_rays rays;
    ray_hit *hits = NULL;
    KD_TRY(bench_rays_open(&rays, &request, "diffuse"));
    row.set = "diffuse rays";
    row.hash = 0;
    row.items = (double)rays.count;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(hits, rays.count));
    KD_TRY_GOTO(bench_rays_cast(&row, tree, &rays, TRACE_AUTO, hits));
    row.checked = true; /* by the tests: results equal those of the plain traversal, bit for bit */
    KD_TRY_GOTO(bench_growth_note(growth, bench->request, &row));
done:
    memory_free(hits);
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
    KD_TRY_GOTO(bench_take_tree(&row, &tree, row.n <= CHECKED_MAX));
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
    KD_TRY_GOTO(bench_take_tree(&row, &tree, row.n <= CHECKED_MAX));
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

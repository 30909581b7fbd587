/* kandela bench build: build time and SAH cost of each triangle tree builder. Each tree is
   validated before its builder is timed. On a device, mesh and tree are in device memory. */
#include "tools/lab/bench/build.h"
#include "accel/builders.h"
#include "accel/tree/tritree.h"
#include "accel/wide/wide_tree.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/parallel/parallel.h"
#include <string.h>

/* Costs for comparison with published trees, and the costs with which rays trace fastest. */
static const struct {
    const char *name;
    tritree_options options;
} settings[] = {{"Ct 1, empty 0.8", {1, 1, 0.8f, 0}}, {"rays", {1.5f, 1, 1, 0}}};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* The baseline of all other builders: `sweep` on one thread. */
typedef struct build_base {
    bench_row row;
    double seconds, sah_cost; /* 0: not measured */
} build_base;

static void compare_with(bench_row *row, const build_base *base) {
    if (base->seconds <= 0 || row->sah_cost <= 0) return;
    row->speedup = base->seconds / bench_summarise(row).median;
    row->cost_ratio = row->sah_cost / base->sah_cost;
}

static bench_row new_row(const bench_request *request, const bench_model *model, int setting,
                         const char *builder, const char *device_name) {
    bench_row row = {
        .bench = "build", .set = model->name, .builder = builder, .device = device_name};
    row.variant = settings[setting].name;
    row.n = row.triangles = model->input.triangle_count;
    row.items = (double)row.n;
    row.runs = request->runs;
    return row;
}

kd_status bench_take_tree(bench_row *row, const tritree *tree, bool checked) {
    row->hash = tritree_hash(tree);
    row->sah_cost = tree->statistics.sah_cost;
    row->references_per_triangle = tree->statistics.references_per_triangle;
    if (checked) KD_TRY(tritree_check(tree));
    row->checked = checked;
    return KD_OK;
}

static kd_status on_cpu(const bench_request *request, const bench_model *model, int setting,
                        const tritree_builder *builder, const build_base *base) {
    bench_row row = new_row(request, model, setting, builder->name, "cpu");
    row.bytes = builder->scratch_bytes(model->input.triangle_count);
    bench_row widen = new_row(request, model, setting, builder->name, "cpu");
    widen.bench = "widen";
    for (int run = 0; run < row.runs; ++run) {
        tritree tree;
        KD_TRY(tritree_open(&tree, &model->input, &settings[setting].options, builder->name, NULL));
        row.seconds[run] = tree.statistics.build_seconds;
        widen.seconds[run] = tree.statistics.widen_seconds;
        widen.bytes = wide_tree_bytes(tree.wide);
        memcpy(row.stage_seconds, tree.stage_seconds, sizeof row.stage_seconds);
        const kd_status status = run == 0 ? bench_take_tree(&row, &tree, true) : KD_OK;
        tritree_close(&tree);
        KD_TRY(status);
    }
    widen.checked = row.checked;
    compare_with(&row, base);
    KD_TRY(bench_report(request, &row));
    return bench_report(request, &widen);
}

kd_status bench_build_on_threads(bench_row *row, const bench_model *model,
                                 const tritree_options *options, int32_t threads) {
    const int32_t usual = parallel_threads();
    kd_status status = KD_OK;
    parallel_set_threads(threads);
    row->threads = threads;
    for (int run = -1; run < row->runs && status == KD_OK; ++run) {
        tritree tree;
        status = tritree_open(&tree, &model->input, options, row->builder, NULL);
        if (status != KD_OK) break;
        if (run >= 0) row->seconds[run] = tree.statistics.build_seconds;
        status = run < 0 ? bench_take_tree(row, &tree, true) : KD_OK;
        tritree_close(&tree);
    }
    parallel_set_threads(usual);
    return status;
}

static kd_status measure_base(build_base *out, const bench_request *request,
                              const bench_model *model, int setting) {
    out->row = new_row(request, model, setting, "sweep", "cpu");
    KD_TRY(bench_build_on_threads(&out->row, model, &settings[setting].options, 1));
    out->seconds = bench_summarise(&out->row).median;
    out->sah_cost = out->row.sah_cost;
    return KD_OK;
}

/* For models of the user, CPU builders are also measured by threads. */
static kd_status by_threads(const bench_request *request, const bench_model *model, int setting,
                            const tritree_builder *builder, const build_base *base) {
    const int32_t maximum = parallel_threads();
    for (int32_t threads = 1; threads < maximum; threads *= 2) {
        char variant[64];
        bench_row row = new_row(request, model, setting, builder->name, "cpu");
        snprintf(variant, sizeof variant, "%s, %d thread%s", settings[setting].name, threads,
                 threads > 1 ? "s" : "");
        if (threads == 1 && strcmp(builder->name, base->row.builder) == 0)
            row = base->row;
        else
            KD_TRY(bench_build_on_threads(&row, model, &settings[setting].options, threads));
        row.variant = variant;
        compare_with(&row, base);
        KD_TRY(bench_report(request, &row));
    }
    return KD_OK;
}

typedef struct cuda_build {
    const tritree_builder_cuda *builder;
    const tritree_build_cuda *build;
} cuda_build;

static kd_status build_again(void *context) {
    const cuda_build *work = (const cuda_build *)context;
    return work->builder->build(work->build);
}

/* Makes *out a build into the tree of `memory`, whose scratch memory was freed, with new scratch
   memory, which the caller frees. */
static kd_status repeatable(tritree_build_cuda *out, const tritree_build_memory *memory) {
    *out = memory->build;
    return device_memory_reserve(&out->scratch, out->scratch_bytes);
}

kd_status bench_build_time(bench_row *row, const tritree_builder_cuda *builder,
                           const tritree_build_memory *memory) {
    tritree_build_cuda build;
    KD_TRY(repeatable(&build, memory));
    cuda_build work = {builder, &build};
    const kd_status status = bench_time_device(row, false, build_again, &work);
    device_memory_free(build.scratch);
    return status;
}

kd_status bench_build_stages(bench_row *row, const tritree_builder_cuda *builder,
                             const tritree_build_memory *memory) {
    device_marks marks;
    tritree_build_cuda build;
    if (!builder->stages) return KD_OK;
    KD_TRY(device_marks_open(&marks, TRITREE_STAGES + 1));
    kd_status status = repeatable(&build, memory);
    KD_TRY_GOTO(status);
    build.marks = marks.marks;
    status = builder->build(&build);
    if (status == KD_OK) status = device_marks_read(&marks, row->stage_seconds);
    device_memory_free(build.scratch);
done:
    device_marks_close(&marks);
    return status;
}

static kd_status on_cuda(const bench_request *request, const bench_model *model, int setting,
                         const tritree_builder_cuda *builder, const build_base *base) {
    bench_row row = new_row(request, model, setting, builder->name, "cuda:0");
    tritree_build_memory memory;
    tritree tree;
    memset(&tree, 0, sizeof tree);
    tritree_built built;
    KD_TRY(tritree_build_memory_build(&memory, &built, &model->input, &settings[setting].options,
                                      builder));
    row.bytes = memory.build.scratch_bytes;
    kd_status status = KD_OK;
    KD_TRY_GOTO(tritree_build_download(&memory, &tree, &model->input));
    KD_TRY_GOTO(bench_take_tree(&row, &tree, true));
    KD_TRY_GOTO(bench_build_time(&row, builder, &memory));
    KD_TRY_GOTO(bench_build_stages(&row, builder, &memory));
    compare_with(&row, base);
    KD_TRY_GOTO(bench_report(request, &row));
done:
    tritree_close(&tree);
    tritree_build_memory_close(&memory);
    return status;
}

/* Measures one model with one setting of costs. `sweep` on one thread, the baseline, is measured
   for models of the user only. */
static kd_status measure(const bench_request *request, const bench_model *model, int setting) {
    build_base base;
    const bool by_core = request->models.count > 0 && !request->quick;
    memset(&base, 0, sizeof base);
    if (by_core) KD_TRY(measure_base(&base, request, model, setting));
    if (bench_selects(&request->devices, "cpu"))
        for (const tritree_builder *const *row = tritree_builders; *row; ++row) {
            if (!bench_selects(&request->builders, (*row)->name)) continue;
            if (by_core) KD_TRY(by_threads(request, model, setting, *row, &base));
            KD_TRY(on_cpu(request, model, setting, *row, &base));
        }
    if (bench_selects_cuda(request))
        for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row)
            if (bench_selects(&request->builders, (*row)->name))
                KD_TRY(on_cuda(request, model, setting, *row, &base));
    return KD_OK;
}

kd_status bench_build(const bench_request *request) {
    for (int i = 0; i < bench_model_count(request); ++i) {
        bench_model model;
        KD_TRY(bench_model_open(&model, bench_model_path(request, i)));
        kd_status status = KD_OK;
        for (int setting = 0; setting < SETTINGS && status == KD_OK; ++setting)
            status = measure(request, &model, setting);
        bench_model_close(&model);
        KD_TRY(status);
    }
    if (device_cuda_count() == 0) printf("build   cuda:0: no GPU\n");
    return KD_OK;
}

/* kandela bench --table choi-ye: tables I to III of Choi and Ye 2020 with ours beside them, and
   what the authors had no time to measure: the SAH costs of all trees and the rays per second that
   they give. A ratio above 1 says how many times faster ours is. Every tree is checked, and all
   trees of a model must give the same hits. */
#include "tools/lab/papers/choi_ye.h"
#include "accel/build_memory.h"
#include "accel/rays/batch.h"
#include "accel/rays/batch_device.h"
#include "accel/tree/tritree.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/hash.h"
#include "core/job.h"
#include "core/memory.h"
#include "tools/lab/bench/input_rays.h"
#include <ctype.h>
#include <string.h>

static const choi_model paper[] = {
    {"bunny", "gen:blob:69451", "gen:blob:4000", 69000, 73.8, 25.1, 26.8, {0.51, 72.8, 21.9, 4.82}},
    {"fairy",
     "gen:room:172000",
     "gen:room:8000",
     172000,
     177.0,
     62.4,
     70.1,
     {0.55, 79.1, 15.4, 4.98}},
    {"dragon",
     "gen:blob:202520",
     "gen:blob:8000",
     203000,
     216.4,
     39.6,
     93.5,
     {0.63, 70.0, 20.8, 8.57}},
    {"happy",
     "gen:blob:293231",
     "gen:blob:12000",
     293000,
     317.6,
     46.0,
     148.6,
     {0.71, 74.1, 23.3, 1.88}},
    {"angel",
     "gen:blob:474000",
     "gen:blob:16000",
     474000,
     538.5,
     71.2,
     318.5,
     {0.76, 70.0, 22.1, 7.12}},
};
enum { PAPER = sizeof paper / sizeof *paper };

const choi_tree *choi_find(const choi_column *of, const char *builder, const char *device_name) {
    for (int i = 0; i < of->count; ++i)
        if (strcmp(of->results[i].builder, builder) == 0 &&
            strcmp(of->results[i].device, device_name) == 0)
            return &of->results[i];
    return NULL;
}

double choi_median(const double *seconds, int32_t runs) {
    bench_row row = {.runs = runs};
    memcpy(row.seconds, seconds, (size_t)runs * sizeof *seconds);
    return bench_summarise(&row).median;
}

/* Rays on the device: once for the hits, then timed. */
static kd_status cast_on_cuda(const tritree *tree, const bench_rays *rays, ray_hit *hits,
                              int32_t runs, double *rate) {
    tritree_cuda there;
    trace_batch batch;
    device_timer timer;
    memset(&batch, 0, sizeof batch);
    memset(&timer, 0, sizeof timer);
    void *device_rays = NULL, *device_hits = NULL;
    double seconds[BENCH_RUNS_MAX];
    KD_TRY(tritree_cuda_open(&there, tree));
    kd_status status = KD_OK;
    KD_TRY_GOTO(tritree_cuda_pack(&there, NULL));
    KD_TRY_GOTO(device_memory_reserve(&device_rays, rays->count * sizeof(ray)));
    KD_TRY_GOTO(device_memory_reserve(&device_hits, rays->count * sizeof(ray_hit)));
    KD_TRY_GOTO(device_memory_upload(device_rays, rays->rays, rays->count * sizeof(ray)));
    batch.rays = (const ray *)device_rays;
    batch.hits = (ray_hit *)device_hits;
    batch.count = rays->count;
    batch.coherent = rays->coherent;
    batch.width = rays->width;
    batch.loop = TRACE_ONCE;
    KD_TRY_GOTO(trace_cuda(&there, &batch));
    KD_TRY_GOTO(device_wait());
    KD_TRY_GOTO(device_memory_download(hits, device_hits, rays->count * sizeof *hits));
    KD_TRY_GOTO(device_timer_open(&timer));
    for (int run = -1; run < runs; ++run) {
        KD_TRY_GOTO(device_timer_start(&timer, NULL));
        KD_TRY_GOTO(trace_cuda(&there, &batch));
        KD_TRY_GOTO(device_timer_stop(&timer, NULL, &seconds[run < 0 ? 0 : run]));
    }
    *rate = (double)rays->count / choi_median(seconds, runs);
done:
    device_timer_close(&timer);
    device_memory_free(device_rays);
    device_memory_free(device_hits);
    tritree_cuda_close(&there);
    return status;
}

static kd_status cast_on_cpu(const tritree *tree, const bench_rays *rays, ray_hit *hits,
                             int32_t runs, double *rate) {
    double seconds[BENCH_RUNS_MAX];
    const tritree_view view = tritree_get_view(tree);
    for (int run = -1; run < runs; ++run) {
        const double started = timing_now();
        KD_TRY(trace_closest(&view, rays->rays, hits, rays->count, NULL, NULL));
        seconds[run < 0 ? 0 : run] = timing_now() - started;
    }
    *rate = (double)rays->count / choi_median(seconds, runs);
    return KD_OK;
}

static kd_status cast(const bench_request *request, const tritree *tree, const char *set,
                      double *rate, uint64_t *hash) {
    const bool cuda = bench_wants_cuda(request);
    const int32_t side = request->quick ? 128 : 1024;
    const bench_rays_request wanted = {tree, side, side, 1, 0};
    bench_rays rays;
    ray_hit *hits = NULL;
    KD_TRY(bench_rays_open(&rays, &wanted, set));
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(hits, rays.count));
    KD_TRY_GOTO((cuda ? cast_on_cuda : cast_on_cpu)(tree, &rays, hits, request->runs, rate));
    *hash = hash_bytes(hits, rays.count * sizeof *hits);
done:
    memory_free(hits);
    bench_rays_close(&rays);
    return status;
}

/* Adds a node and what is below it; returns its references. */
static double count_levels(choi_column *to, const tritree *tree, uint32_t at, uint32_t level) {
    const tritree_node node = tree->nodes[at];
    double below = 0;
    if (tritree_is_leaf(node))
        below = (double)tritree_count(node);
    else
        for (uint32_t side = 0; side < 2; ++side)
            below += count_levels(to, tree, tritree_left(node) + side, level + 1);
    if (level < CHOI_LEVELS) {
        ++to->level_nodes[level];
        to->level_triangles[level] += below;
    }
    return below;
}

/* Proves the tree, notes what it is and what rays make of it. */
static kd_status take_tree(const bench_request *request, choi_column *to, choi_tree *out,
                           const tritree *tree) {
    uint64_t primary = 0, diffuse = 0;
    KD_TRY(tritree_check(tree));
    out->hash = tritree_hash(tree);
    out->sah_cost = tree->statistics.sah_cost;
    out->references = tree->statistics.references_per_triangle;
    out->depth = tree->statistics.depth;
    if (out == to->results) count_levels(to, tree, 0, 0);
    KD_TRY(cast(request, tree, "primary", &out->primary, &primary));
    KD_TRY(cast(request, tree, "diffuse", &out->diffuse, &diffuse));
    out->hits = hash_combine(primary, &diffuse, sizeof diffuse);
    KD_REQUIRE(out->hits == to->results[0].hits || out == to->results, KD_ERROR_CHECK,
               "%s: rays hit other triangles in the tree of %s than in that of %s", to->name,
               out->builder, to->results[0].builder);
    return KD_OK;
}

static kd_status build_on_cpu(const bench_request *request, const bench_model *model,
                              choi_column *to, const char *builder) {
    choi_tree *out = &to->results[to->count++];
    out->builder = builder;
    out->device = "cpu";
    const tritree_options options = tritree_options_default();
    for (int run = 0; run < request->runs; ++run) {
        tritree tree;
        KD_TRY(tritree_open(&tree, &model->input, &options, builder, NULL));
        out->seconds[run] = tree.statistics.build_seconds;
        memcpy(out->stages, tree.stage_seconds, sizeof out->stages);
        const kd_status status = run == 0 ? take_tree(request, to, out, &tree) : KD_OK;
        tritree_close(&tree);
        KD_TRY(status);
    }
    out->median = choi_median(out->seconds, request->runs);
    return KD_OK;
}

static kd_status time_cuda(const bench_request *request, choi_tree *out,
                           const tritree_builder_cuda *row, const tritree_build_cuda *build) {
    device_timer timer;
    device_marks marks;
    memset(&marks, 0, sizeof marks);
    KD_TRY(device_timer_open(&timer));
    kd_status status = KD_OK;
    for (int run = 0; run < request->runs; ++run) {
        KD_TRY_GOTO(device_timer_start(&timer, NULL));
        KD_TRY_GOTO(row->build(build));
        KD_TRY_GOTO(device_timer_stop(&timer, NULL, &out->seconds[run]));
    }
    if (row->stages) {
        KD_TRY_GOTO(device_marks_open(&marks, TRITREE_STAGES + 1));
        tritree_build_cuda marked = *build;
        marked.marks = marks.marks;
        KD_TRY_GOTO(row->build(&marked));
        KD_TRY_GOTO(device_marks_read(&marks, out->stages));
    }
done:
    device_marks_close(&marks);
    device_timer_close(&timer);
    return status;
}

static kd_status build_on_cuda(const bench_request *request, const bench_model *model,
                               choi_column *to, const tritree_builder_cuda *row) {
    choi_tree *out = &to->results[to->count++];
    out->builder = row->name;
    out->device = "cuda:0";
    const tritree_options options = tritree_options_default();
    tritree_build_memory memory;
    tritree tree;
    memset(&tree, 0, sizeof tree);
    tritree_built built;
    KD_TRY(tritree_build_memory_build(&memory, &built, &model->input, &options, row));
    kd_status status = KD_OK;
    KD_TRY_GOTO(tritree_build_download(&memory, &tree, &model->input));
    KD_TRY_GOTO(time_cuda(request, out, row, &memory.build));
    KD_TRY_GOTO(take_tree(request, to, out, &tree));
    out->median = choi_median(out->seconds, request->runs);
done:
    tritree_close(&tree);
    tritree_build_memory_close(&memory);
    return status;
}

static const choi_model *find_paper(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (int i = 0; i < PAPER; ++i) {
        const char *wanted = paper[i].name;
        size_t same = 0;
        while (wanted[same] && tolower((unsigned char)name[same]) == wanted[same]) ++same;
        if (!wanted[same]) return &paper[i];
    }
    return NULL;
}

kd_status choi_measure(const bench_request *request, choi_column *to, const char *path) {
    bench_model model;
    KD_TRY(bench_model_open(&model, path));
    to->path = path;
    snprintf(to->name, sizeof to->name, "%s", model.name);
    if (to->from && strncmp(path, "gen:", 4) == 0)
        snprintf(to->label, sizeof to->label, "%s (%s)", to->from->name, to->name);
    else
        snprintf(to->label, sizeof to->label, "%s", to->name);
    to->triangles = model.input.triangle_count;
    kd_status status = KD_OK;
    KD_TRY_GOTO(build_on_cpu(request, &model, to, "sweep"));
    KD_TRY_GOTO(build_on_cpu(request, &model, to, "parallel"));
    KD_TRY_GOTO(build_on_cpu(request, &model, to, "zhou"));
    if (bench_wants_cuda(request))
        for (const tritree_builder_cuda *const *row = tritree_builders_cuda; *row; ++row)
            if (to->count < CHOI_RESULTS) KD_TRY_GOTO(build_on_cuda(request, &model, to, *row));
done:
    bench_model_close(&model);
    return status;
}

static kd_status measure_all(const bench_request *request, choi_column *columns, const char **paths,
                             int count) {
    for (int i = 0; i < count; ++i) {
        const char *stand_in =
            i < PAPER ? (request->quick ? paper[i].quick : paper[i].stand_in) : NULL;
        paths[i] = request->models.count ? request->models.items[i] : stand_in;
        columns[i].from = request->models.count ? find_paper(paths[i]) : &paper[i];
        KD_TRY(choi_measure(request, &columns[i], paths[i]));
    }
    return KD_OK;
}

kd_status table_choi_ye(const bench_request *request, unsigned parts) {
    choi_column *columns = NULL;
    const char *paths[BENCH_LIST_MAX];
    const int count = request->models.count ? request->models.count : PAPER;
    bench_request own = *request;
    if (request->quick) own.runs = 1;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(columns, (uint64_t)count));
    KD_TRY_GOTO(measure_all(&own, columns, paths, count));
    if (!request->models.count)
        printf("no --models: blobs and a room of the paper's sizes%s stand in for\n"
               "bunny, fairy, dragon, happy, angel\n",
               own.quick ? ", made smaller," : "");
    if (device_cuda_count() == 0)
        printf("no GPU here: the rows of Table I and II that need one are left out\n");
    KD_TRY_GOTO(choi_print(&own, columns, count, parts));
    KD_TRY_GOTO(choi_figures(&own, columns, count, parts));
    for (int i = 0; i < count && parts & CHOI_THREADS; ++i)
        KD_TRY_GOTO(choi_threads(&own, &columns[i], paths[i]));
done:
    memory_free(columns);
    return status;
}

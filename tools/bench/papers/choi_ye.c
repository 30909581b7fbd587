/* kandela bench --table choi-ye: tables I to III of Choi and Ye 2020 with ours beside them, and
   what the authors had no time to measure: the SAH costs of all trees and the rays per second that
   they give. A ratio above 1 says how many times faster ours is. Every tree is checked, and all
   trees of a model must give the same hits. */
#include "accel/build_memory.h"
#include "accel/builders.h"
#include "accel/rays/batch.h"
#include "accel/rays/batch_device.h"
#include "accel/tree/check.h"
#include "core/device/device_memory.h"
#include "core/device/device_timer.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/timing.h"
#include "tools/bench/input_models.h"
#include "tools/bench/input_rays.h"
#include "tools/bench/papers/papers.h"
#include <ctype.h>
#include <string.h>

typedef struct published {
    const char *name, *stand_in, *quick;
    double triangles;
    double serial_ms, gpu_ms, threads8_ms;
    double share[TRITREE_STAGES]; /* of the GPU's time, per cent */
} published;

static const published paper[] = {
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
enum { PAPER = sizeof paper / sizeof *paper, RESULTS = 6 };

/* A builder's tree of a model, as measured. */
typedef struct result {
    const char *builder, *device;
    double seconds[BENCH_RUNS_MAX];
    double median;
    double stages[TRITREE_STAGES];
    double sah_cost, references;
    uint32_t depth;
    double primary, diffuse; /* rays per second */
    uint64_t hits, hash;     /* hashes of the diffuse rays' hits and of the tree */
} result;

typedef struct column {
    const published *from; /* NULL: a model that the paper does not have */
    char name[64], label[128];
    uint32_t triangles;
    result results[RESULTS];
    int count;
} column;

static const result *find(const column *of, const char *builder, const char *device_name) {
    for (int i = 0; i < of->count; ++i)
        if (strcmp(of->results[i].builder, builder) == 0 &&
            strcmp(of->results[i].device, device_name) == 0)
            return &of->results[i];
    return NULL;
}

static double median_of(const double *seconds, int32_t runs) {
    bench_row row = {.runs = runs};
    memcpy(row.seconds, seconds, (size_t)runs * sizeof *seconds);
    return bench_summarise(&row).median;
}

/* Rays on the device: watertight once for the hits, then timed by the fast test. */
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
    KD_TRY_GOTO(device_memory_reserve(&device_rays, rays->count * sizeof(ray)));
    KD_TRY_GOTO(device_memory_reserve(&device_hits, rays->count * sizeof(ray_hit)));
    KD_TRY_GOTO(device_memory_upload(device_rays, rays->rays, rays->count * sizeof(ray)));
    batch.rays = (const ray *)device_rays;
    batch.hits = (ray_hit *)device_hits;
    batch.count = rays->count;
    batch.coherent = rays->coherent;
    batch.width = rays->width;
    batch.loop = TRACE_ONCE;
    batch.test = TRACE_WATERTIGHT;
    KD_TRY_GOTO(trace_cuda(&there, &batch));
    KD_TRY_GOTO(device_wait());
    KD_TRY_GOTO(device_memory_download(hits, device_hits, rays->count * sizeof *hits));
    batch.test = TRACE_PLANES;
    KD_TRY_GOTO(device_timer_open(&timer));
    for (int run = -1; run < runs; ++run) {
        KD_TRY_GOTO(device_timer_start(&timer, NULL));
        KD_TRY_GOTO(trace_cuda(&there, &batch));
        KD_TRY_GOTO(device_timer_stop(&timer, NULL, &seconds[run < 0 ? 0 : run]));
    }
    *rate = (double)rays->count / median_of(seconds, runs);
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
    *rate = (double)rays->count / median_of(seconds, runs);
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

/* Proves the tree, notes what it is and what rays make of it. */
static kd_status take_tree(const bench_request *request, column *to, result *out,
                           const tritree *tree) {
    uint64_t primary = 0, diffuse = 0;
    KD_TRY(tritree_check(tree));
    out->hash = tritree_hash(tree);
    out->sah_cost = tree->statistics.sah_cost;
    out->references = tree->statistics.references_per_triangle;
    out->depth = tree->statistics.depth;
    KD_TRY(cast(request, tree, "primary", &out->primary, &primary));
    KD_TRY(cast(request, tree, "diffuse", &out->diffuse, &diffuse));
    out->hits = hash_combine(primary, &diffuse, sizeof diffuse);
    KD_REQUIRE(out->hits == to->results[0].hits || out == to->results, KD_ERROR_CHECK,
               "%s: rays hit other triangles in the tree of %s than in that of %s", to->name,
               out->builder, to->results[0].builder);
    return KD_OK;
}

static kd_status build_on_cpu(const bench_request *request, const bench_model *model, column *to,
                              const char *builder) {
    result *out = &to->results[to->count++];
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
    out->median = median_of(out->seconds, request->runs);
    return KD_OK;
}

static kd_status time_cuda(const bench_request *request, result *out,
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

static kd_status build_on_cuda(const bench_request *request, const bench_model *model, column *to,
                               const tritree_builder_cuda *row) {
    result *out = &to->results[to->count++];
    out->builder = row->name;
    out->device = "cuda:0";
    const tritree_options options = tritree_options_default();
    tritree_build_memory memory;
    tritree tree;
    memset(&tree, 0, sizeof tree);
    KD_TRY(tritree_build_memory_open(&memory, &model->input, &options, row));
    kd_status status = KD_OK;
    KD_TRY_GOTO(row->build(&memory.build));
    KD_TRY_GOTO(tritree_build_download(&memory, &tree, &model->input));
    KD_TRY_GOTO(time_cuda(request, out, row, &memory.build));
    KD_TRY_GOTO(take_tree(request, to, out, &tree));
    out->median = median_of(out->seconds, request->runs);
done:
    tritree_close(&tree);
    tritree_build_memory_close(&memory);
    return status;
}

static const published *find_paper(const char *path) {
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

static kd_status measure(const bench_request *request, column *to, const char *path) {
    bench_model model;
    KD_TRY(bench_model_open(&model, path));
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
            if (to->count < RESULTS) KD_TRY_GOTO(build_on_cuda(request, &model, to, *row));
done:
    bench_model_close(&model);
    return status;
}

/* --- what is printed --- */

static kd_status write_row(const bench_request *request, const column *of, const result *from,
                           const char *table, double published_ms, const char *published_on) {
    bench_row row = {.bench = "choi-ye", .set = of->name, .builder = from->builder};
    row.device = from->device;
    row.variant = table;
    row.n = row.triangles = of->triangles;
    row.items = (double)of->triangles;
    row.runs = request->runs;
    memcpy(row.seconds, from->seconds, sizeof row.seconds);
    memcpy(row.stage_seconds, from->stages, sizeof row.stage_seconds);
    row.checked = true;
    row.hash = from->hash;
    row.sah_cost = from->sah_cost;
    row.references_per_triangle = from->references;
    row.primary_rate = from->primary;
    row.diffuse_rate = from->diffuse;
    row.published = published_ms;
    if (published_ms > 0 && of->from)
        row.ratio = published_ms / of->from->triangles * of->triangles / (from->median * 1e3);
    row.published_on = published_ms > 0 ? published_on : NULL;
    return bench_write(request, &row);
}

/* Times are compared where the model has the paper's size, else triangles per second. */
static kd_status print_time(const bench_request *request, const column *of, const char *table,
                            const result *from, double published_ms, const char *published_on) {
    if (!from) return KD_OK;
    char what[192], theirs[32] = "-", ratio[32] = "-";
    snprintf(what, sizeof what, "%s, %s on %s", of->label, from->builder, from->device);
    const double ms = from->median * 1e3, size = of->from ? of->from->triangles : 0;
    const bool same = size > 0 && of->triangles > 0.9 * size && of->triangles < 1.1 * size;
    if (size > 0) {
        snprintf(theirs, sizeof theirs, "%.4g", same ? published_ms : size / published_ms * 1e-3);
        snprintf(ratio, sizeof ratio, "%.3g", published_ms / size * of->triangles / ms);
    }
    if (size > 0 && same) snprintf(ratio, sizeof ratio, "%.3g", published_ms / ms);
    printf("%-40s %12s %12.4g %6s %8s\n", what, theirs,
           same || size <= 0 ? ms : of->triangles / ms * 1e-3, same || size <= 0 ? "ms" : "M/s",
           ratio);
    return write_row(request, of, from, table, published_ms, published_on);
}

static void print_head(const char *title, const char *devices, const char *unit) {
    printf("%s\n%-40s %12s %12s %6s %8s\n%-40s on %s\n", title, "case", "published", "ours", unit,
           "ratio", "", devices);
}

static kd_status print_times(const bench_request *request, const column *columns, int count) {
    static const char serial[] = "a CPU, one thread", gpu[] = "NVIDIA GeForce RTX 2080",
                      threads[] = "a CPU, 8 threads";
    char devices[128];
    snprintf(devices, sizeof devices, "%s and %s", serial, gpu);
    print_head("Choi and Ye 2020, Table I: construction, serial and on a GPU", devices, "unit");
    for (const column *c = columns; c < columns + count; ++c) {
        const published none = {0}, *from = c->from ? c->from : &none;
        KD_TRY(print_time(request, c, "I", find(c, "sweep", "cpu"), from->serial_ms, serial));
        KD_TRY(print_time(request, c, "I", find(c, "zhou", "cuda:0"), from->gpu_ms, gpu));
        KD_TRY(print_time(request, c, "I", find(c, "kandela", "cuda:0"), from->gpu_ms, gpu));
    }
    snprintf(devices, sizeof devices, "%s; ours on %d", threads, parallel_threads());
    print_head("Table III: construction on all cores", devices, "unit");
    for (const column *c = columns; c < columns + count; ++c) {
        const published none = {0}, *from = c->from ? c->from : &none;
        KD_TRY(
            print_time(request, c, "III", find(c, "parallel", "cpu"), from->threads8_ms, threads));
        KD_TRY(print_time(request, c, "III", find(c, "zhou", "cpu"), from->threads8_ms, threads));
    }
    return KD_OK;
}

static void print_stages(const column *columns, int count) {
    static const char *const stages[TRITREE_STAGES] = {"Init", "Large", "Small", "Other"};
    print_head("Table II: stages, per cent of the time", "NVIDIA GeForce RTX 2080", "unit");
    for (const column *c = columns; c < columns + count; ++c)
        for (int i = 0; i < TABLE_DEVICES; ++i) {
            const result *from = find(c, "zhou", i == TABLE_CPU ? "cpu" : "cuda:0");
            if (!from) continue;
            double whole = 0;
            for (int k = 0; k < TRITREE_STAGES; ++k) whole += from->stages[k];
            for (int k = 0; k < TRITREE_STAGES; ++k) {
                char what[192], theirs[32] = "-";
                snprintf(what, sizeof what, "%s, zhou on %s, %s", c->label, from->device,
                         stages[k]);
                if (c->from) snprintf(theirs, sizeof theirs, "%.4g", c->from->share[k]);
                printf("%-40s %12s %12.3g %6s %8s\n", what, theirs,
                       whole > 0 ? 100 * from->stages[k] / whole : 0, "%", "-");
            }
        }
}

static void print_trees(const bench_request *request, const column *columns, int count) {
    printf(
        "All trees: C_t 1.5, C_i 1, empty factor 1; rays on %s\n%-40s %9s %9s %9s %6s %12s %12s\n",
        bench_wants_cuda(request) ? "cuda:0, fast test" : "the CPU, watertight", "case", "SAH cost",
        "to sweep", "refs/tri", "depth", "primary M/s", "diffuse M/s");
    for (const column *c = columns; c < columns + count; ++c)
        for (int i = 0; i < c->count; ++i) {
            const result *from = &c->results[i];
            char what[192];
            snprintf(what, sizeof what, "%s, %s on %s", c->label, from->builder, from->device);
            printf("%-40s %9.2f %9.3f %9.2f %6u %12.4g %12.4g\n", what, from->sah_cost,
                   from->sah_cost / c->results[0].sah_cost, from->references, from->depth,
                   from->primary * 1e-6, from->diffuse * 1e-6);
        }
}

kd_status table_choi_ye(const bench_request *request) {
    column *columns = NULL;
    const int count = request->models.count ? request->models.count : PAPER;
    bench_request own = *request;
    if (request->quick) own.runs = 1;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(columns, (uint64_t)count));
    for (int i = 0; i < count; ++i) {
        const char *stand_in = i < PAPER ? (own.quick ? paper[i].quick : paper[i].stand_in) : NULL;
        const char *path = request->models.count ? request->models.items[i] : stand_in;
        columns[i].from = request->models.count ? find_paper(path) : &paper[i];
        KD_TRY_GOTO(measure(&own, &columns[i], path));
    }
    if (!request->models.count)
        printf("no --models: blobs and a room of the paper's sizes%s stand in for\n"
               "bunny, fairy, dragon, happy, angel\n",
               own.quick ? ", made smaller," : "");
    KD_TRY_GOTO(print_times(&own, columns, count));
    print_stages(columns, count);
    print_trees(&own, columns, count);
done:
    memory_free(columns);
    return status;
}

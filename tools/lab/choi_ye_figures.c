/* Figures 1 to 3 of Choi and Ye for Kandela's trees, and build times on a CPU by number of
   threads. */
#include "accel/rays/batch.h"
#include "core/image/image.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "tools/lab/bench/build.h"
#include "tools/lab/choi_ye.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

/* --- Figure 1 --------------------------------------------------------------------------------- */

static void figure_1(const choi_column *column) {
    printf(
        "Choi and Ye, Figure 1: the patterns of parallelism, on the exact tree of %s: at the top "
        "few nodes of many\ntriangles (all cores share a node), below many nodes of few (a node "
        "a core)\n%-6s %12s %22s\n",
        column->label, "level", "nodes", "triangles a node");
    for (uint32_t level = 0; level < CHOI_LEVELS && column->level_nodes[level]; ++level)
        printf("%-6u %12u %22.1f\n", level, column->level_nodes[level],
               column->level_triangles[level] / column->level_nodes[level]);
}

/* --- Figure 2 --------------------------------------------------------------------------------- */

enum { SIDE = 320 };

/* Shading by the angle between ray and triangle; the background is white. */
static float shade_of(const tritree *tree, ray ray, ray_hit hit) {
    if (hit.triangle == KD_NONE) return 1;
    const tritree_input *in = &tree->input;
    const uint32_t *corner = in->triangles + 3 * (uint64_t)hit.triangle;
    const vec3 a = in->positions[corner[0]];
    const vec3 n =
        vec3_cross(vec3_sub(in->positions[corner[1]], a), vec3_sub(in->positions[corner[2]], a));
    const float lengths = sqrtf(vec3_dot(n, n) * vec3_dot(ray.direction, ray.direction));
    return lengths > 0 ? 0.05f + 0.6f * fabsf(vec3_dot(n, ray.direction)) / lengths : 0.05f;
}

static kd_status draw_rays(const char *path, const tritree *tree, const bench_rays *rays) {
    static const char *const names[3] = {"R", "G", "B"};
    image picture;
    float *planes[3];
    ray_hit *hits = NULL;
    const tritree_view view = tritree_get_view(tree);
    KD_TRY(image_open(&picture, SIDE, SIDE));
    kd_status status = KD_OK;
    for (int c = 0; c < 3; ++c) KD_TRY_GOTO(image_add(&picture, names[c], &planes[c]));
    KD_TRY_GOTO(KD_RESERVE(hits, rays->count));
    KD_TRY_GOTO(trace_closest(&view, rays->rays, hits, rays->count, NULL, NULL));
    for (uint64_t i = 0; i < rays->count; ++i)
        for (int c = 0; c < 3; ++c) planes[c][i] = shade_of(tree, rays->rays[i], hits[i]);
    const image_encoding encoding = {.tonemap = KD_TONEMAP_LINEAR};
    KD_TRY_GOTO(image_write(&picture, path, &encoding));
done:
    memory_free(hits);
    image_close(&picture);
    return status;
}

static kd_status draw_model(const char *path, const char *model_path) {
    bench_model model;
    tritree tree;
    bench_rays rays;
    memset(&rays, 0, sizeof rays);
    memset(&tree, 0, sizeof tree);
    KD_TRY(bench_model_open(&model, model_path));
    kd_status status = KD_OK;
    const tritree_options options = tritree_options_default();
    KD_TRY_GOTO(tritree_open(&tree, &model.input, &options, "auto", NULL));
    const bench_rays_request request = {&tree, SIDE, SIDE, 1, 0};
    KD_TRY_GOTO(bench_rays_open(&rays, &request, "primary"));
    KD_TRY_GOTO(draw_rays(path, &tree, &rays));
done:
    bench_rays_close(&rays);
    tritree_close(&tree);
    bench_model_close(&model);
    return status;
}

static kd_status figure_2(const bench_request *request, const choi_column *column) {
    char name[128], path[4096];
    snprintf(name, sizeof name, "figure-choi-ye-2-%s.png",
             column->model ? column->model->name : column->name);
    for (char *c = name; *c; ++c)
        if (!isalnum((unsigned char)*c) && *c != '.') *c = '-';
    printf("  %-40s %u triangles\n", column->label, column->triangles);
    return paper_picture(path, sizeof path, request, name) ? draw_model(path, column->path) : KD_OK;
}

/* --- Figure 3 --------------------------------------------------------------------------------- */

typedef struct line_fit {
    double slope, r2, exponent; /* ms per thousand triangles; R^2 of the linear fit; exponent of the
                                   logarithmic fit */
} line_fit;

static line_fit fit(const double *n, const double *ms, int count) {
    double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0, lx = 0, ly = 0, lxx = 0, lxy = 0;
    for (int i = 0; i < count; ++i) {
        const double x = n[i] * 1e-3, y = ms[i], u = log(n[i]), v = log(ms[i]);
        sx += x, sy += y, sxx += x * x, sxy += x * y, syy += y * y;
        lx += u, ly += v, lxx += u * u, lxy += u * v;
    }
    const double c = count, spread = c * sxx - sx * sx, log_spread = c * lxx - lx * lx;
    const double cross = c * sxy - sx * sy, tall = c * syy - sy * sy;
    const line_fit none = {0, 0, 0};
    if (!(spread > 0) || !(tall > 0) || !(log_spread > 0)) return none;
    const line_fit fit = {cross / spread, cross * cross / (spread * tall),
                          (c * lxy - lx * ly) / log_spread};
    return fit;
}

static kd_status figure_3_of(const bench_request *request, const choi_column *columns, int count,
                             const char *builder, const char *device_name) {
    double n[BENCH_LIST_MAX], ms[BENCH_LIST_MAX];
    int used = 0;
    for (const choi_column *c = columns; c < columns + count; ++c) {
        const choi_tree *from = choi_find(c, builder, device_name);
        if (!from) continue;
        const bool gpu = strcmp(device_name, "cpu") != 0;
        const double published = !c->model ? 0 : gpu ? c->model->gpu_ms : c->model->serial_ms;
        bench_row row =
            choi_row(c, from, published, gpu ? "NVIDIA GeForce RTX 2080" : "a CPU, one thread");
        row.bench = "choi-ye-figure3";
        row.set = "models";
        row.published_unit = "ms";
        KD_TRY(bench_write(request, &row));
        if (c->model && strcmp(c->model->name, "fairy") == 0)
            continue; /* omitted, as in the paper */
        n[used] = c->triangles;
        ms[used++] = from->median * 1e3;
    }
    const line_fit line = used > 1 ? fit(n, ms, used) : (line_fit){0, 0, 0};
    if (used)
        printf("  Kandela, %-9s on %-7s %9.4g ms per thousand triangles, R2 %.4f, exponent of n "
               "%.3f\n",
               builder, device_name, line.slope, line.r2, line.exponent);
    else
        printf("  Kandela, %-9s on %-7s no GPU\n", builder, device_name);
    return KD_OK;
}

static kd_status figure_3(const bench_request *request, const choi_column *columns, int count) {
    static const double n[] = {69000, 203000, 293000, 474000}, gpu[] = {25.1, 39.6, 46.0, 71.2};
    static const double serial[] = {73.8, 216.4, 317.6, 538.5};
    const line_fit on_gpu = fit(n, gpu, 4), on_cpu = fit(n, serial, 4);
    printf(
        "Choi and Ye, Figure 3: build time against triangles, without fairy\n"
        "  theirs, RTX 2080                %9.4g ms a thousand triangles, R2 %.4f, exponent of n "
        "%.3f\n  theirs, serial CPU              %9.4g ms a thousand triangles, R2 %.4f, "
        "exponent of n %.3f\n",
        on_gpu.slope, on_gpu.r2, on_gpu.exponent, on_cpu.slope, on_cpu.r2, on_cpu.exponent);
    KD_TRY(figure_3_of(request, columns, count, "sweep", "cpu"));
    KD_TRY(figure_3_of(request, columns, count, "parallel", "cpu"));
    KD_TRY(figure_3_of(request, columns, count, "zhou", "cpu"));
    KD_TRY(figure_3_of(request, columns, count, "zhou", "cuda:0"));
    return figure_3_of(request, columns, count, "binned", "cuda:0");
}

kd_status choi_figures(const bench_request *request, const choi_column *columns, int count,
                       unsigned parts) {
    if (parts & CHOI_FIGURE_1 && count) figure_1(columns);
    if (parts & CHOI_FIGURE_2) printf("Choi and Ye, Figure 2: the models\n");
    for (int i = 0; i < count && parts & CHOI_FIGURE_2; ++i) KD_TRY(figure_2(request, &columns[i]));
    if (parts & CHOI_FIGURE_3) KD_TRY(figure_3(request, columns, count));
    return KD_OK;
}

/* --- by threads ------------------------------------------------------------------------------- */

static kd_status time_threads(const bench_request *request, const choi_column *column,
                              const bench_model *model, const char *builder, int32_t threads,
                              double *base) {
    char variant[32];
    bench_row row = {.bench = "choi-ye-threads", .set = column->name, .builder = builder};
    snprintf(variant, sizeof variant, "%d thread%s", threads, threads > 1 ? "s" : "");
    row.device = "cpu";
    row.variant = variant;
    row.n = row.triangles = column->triangles;
    row.items = (double)column->triangles;
    row.runs = request->runs;
    const tritree_options options = tritree_options_default();
    KD_TRY(bench_build_on_threads(&row, model, &options, threads));
    const choi_tree *proved = choi_find(column, builder, "cpu");
    KD_REQUIRE(!proved || proved->row.hash == row.hash, KD_ERROR_CHECK,
               "%s by %s: the tree differs on %d threads", column->name, builder, threads);
    const double median = bench_summarise(&row).median;
    if (*base == 0) *base = median;
    row.speedup = *base / median;
    printf("  %-40s %-9s %3d thread%s %9.4g ms %7.2f x\n", column->label, builder, threads,
           threads > 1 ? "s" : " ", median * 1e3, row.speedup);
    fflush(stdout);
    return bench_write(request, &row);
}

kd_status choi_threads(const bench_request *request, const choi_column *column, const char *path) {
    static const char *const builders[] = {"parallel", "zhou", NULL};
    int32_t ladder[PAPER_THREADS];
    const int32_t usual = parallel_threads();
    const int steps = paper_threads(ladder);
    bench_model model;
    if (column->model)
        printf(
            "Choi and Ye, builders by threads: %s; theirs %.4g ms on one, %.4g ms on eight (%.2f "
            "x)\n",
            column->label, column->model->serial_ms, column->model->threads8_ms,
            column->model->serial_ms / column->model->threads8_ms);
    KD_TRY(bench_model_open(&model, path));
    kd_status status = KD_OK;
    for (const char *const *builder = builders; *builder && status == KD_OK; ++builder) {
        double base = 0;
        for (int i = 0; i < steps && status == KD_OK; ++i)
            status = time_threads(request, column, &model, *builder, ladder[i], &base);
    }
    bench_model_close(&model);
    if (usual < 8) printf("    (8 threads need 8 cores; this machine has %d)\n", usual);
    return status;
}

/* Wehr and Radkowski 2018, Figures 4 to 10. The paper shows curves without numbers; numbers from
   its text or Table II are printed beside the results. --report draws the figures. */
#include "core/image/image.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/select/builders.h"
#include "tools/lab/bench/inputs.h"
#include "tools/lab/wehr.h"
#include <math.h>
#include <string.h>

enum { BLOCKS = 4, LEVELS = 32, REPEATS = 25 };
static const uint32_t blocks[BLOCKS] = {32, 64, 128, 256};
static const uint64_t sizes[] = {2000, 50000, 100000, 200000, 300000, 400000, 500000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static bool is_left_out(const bench_request *request, uint64_t size) {
    return (request->quick && size > 2000 && !request->sizes.count) ||
           !paper_selects_size(request, size);
}

static double mean_of(const bench_row *row) {
    double sum = 0;
    for (int i = 0; i < row->runs; ++i) sum += row->seconds[i];
    return sum / row->runs;
}

static double deviation_of(const bench_row *row) {
    const double mean = mean_of(row);
    double sum = 0;
    for (int i = 0; i < row->runs; ++i) sum += (row->seconds[i] - mean) * (row->seconds[i] - mean);
    return row->runs > 1 ? sqrt(sum / (row->runs - 1)) : 0;
}

static void print_no_device(void) {
    if (device_cuda_count() == 0) printf("    (cuda:0: no GPU)\n");
}

/* --- Figure 4 --------------------------------------------------------------------------------- */

/* Measures, for one block size, the time with cutoff = block relative to that with the best
   cutoff. */
static kd_status lose(const paper_table *table, const wehr_cloud *cloud, int on, uint32_t block,
                      uint32_t from, uint32_t to) {
    double at_block = 0, best = 1e300;
    uint32_t best_cutoff = 0;
    bench_row row = paper_row_measured(table, on, "wehr", cloud->points.points.count, 3);
    for (uint32_t cutoff = from; cutoff <= to && row.runs; cutoff *= 2) {
        char variant[32];
        const wehr_parameters parameters = {block, 5, cutoff, 0, NULL};
        snprintf(variant, sizeof variant, "TPB %u, cutoff %u", block, cutoff);
        row.variant = variant;
        KD_TRY(on == TABLE_CPU ? wehr_build_cpu(&row, &cloud->points, &parameters)
                               : bench_tree_cuda(&row, &cloud->points, NULL, &parameters));
        const double median = bench_summarise(&row).median;
        if (cutoff == block) at_block = median;
        if (median < best) best = median, best_cutoff = cutoff;
        KD_TRY(bench_write(table->request, &row));
    }
    if (row.runs)
        printf(
            "  %-10llu %-8s TPB %-5u cutoff = TPB %9.4g ms, best %9.4g ms at %-6u loss %7.4f %%\n",
            (unsigned long long)row.n, row.device, block, at_block * 1e3, best * 1e3, best_cutoff,
            100 * (at_block / best - 1));
    return KD_OK;
}

static kd_status figure_4(const bench_request *request) {
    const paper_table table = paper_table_make(request, "wehr-figure4", "Titan X", false, 500000);
    printf("Wehr and Radkowski, Figure 4: loss of the choice cutoff = TPB (published, on a Titan "
           "X: at "
           "most 0.0025 %%)\n");
    for (int i = 0; i < SIZES; ++i) {
        wehr_cloud cloud;
        if (is_left_out(request, sizes[i])) continue;
        KD_TRY(wehr_cloud_open(&cloud, &table, WEHR_RANDOM, sizes[i]));
        kd_status status = KD_OK;
        for (int b = 0; b < BLOCKS && status == KD_OK; ++b)
            status = lose(&table, &cloud, TABLE_CPU, blocks[b], blocks[b], 16 * blocks[b]);
        for (uint32_t block = 1024; block <= 2048 && status == KD_OK && table.on_cuda; block *= 2)
            status = lose(&table, &cloud, TABLE_CUDA, block, 512, 2048);
        wehr_cloud_close(&cloud);
        KD_TRY(status);
    }
    print_no_device();
    return KD_OK;
}

/* --- Figures 5 and 6 -------------------------------------------------------------------------- */

static kd_status time_block(const paper_table *table, const wehr_cloud *cloud, int on,
                            uint32_t block) {
    char variant[32];
    bench_row row = paper_row_measured(table, on, "wehr", cloud->points.points.count, 3);
    if (!row.runs) return KD_OK;
    row.runs = table->request->quick ? 3 : REPEATS;
    row.set = cloud->name;
    row.variant = variant;
    snprintf(variant, sizeof variant, "TPB %u", block);
    const wehr_parameters parameters = {block, 5, on == TABLE_CPU ? block : 2048, 0, NULL};
    KD_TRY(on == TABLE_CPU ? wehr_build_cpu(&row, &cloud->points, &parameters)
                           : bench_tree_cuda(&row, &cloud->points, NULL, &parameters));
    printf("  %-10s %-10llu %-8s TPB %-5u %9.4g ms +- %.2g\n", cloud->name,
           (unsigned long long)row.n, row.device, block, mean_of(&row) * 1e3,
           deviation_of(&row) * 1e3);
    fflush(stdout);
    return bench_write(table->request, &row);
}

static kd_status by_blocks(const bench_request *request, const char *name, wehr_set set) {
    const paper_table table = paper_table_make(request, name, "Titan X", false, 500000);
    for (int i = 0; i < SIZES; ++i) {
        wehr_cloud cloud;
        if (is_left_out(request, sizes[i])) continue;
        if (set == WEHR_BUNNY && sizes[i] > 50000) continue;
        KD_TRY(wehr_cloud_open(&cloud, &table, set, sizes[i]));
        kd_status status = KD_OK;
        for (int b = 0; b < BLOCKS && status == KD_OK; ++b)
            status = time_block(&table, &cloud, TABLE_CPU, blocks[b]);
        for (uint32_t block = 1024; block <= 4096 && status == KD_OK && table.on_cuda; block *= 2)
            status = time_block(&table, &cloud, TABLE_CUDA, block);
        wehr_cloud_close(&cloud);
        KD_TRY(status);
    }
    print_no_device();
    return KD_OK;
}

static kd_status figure_5(const bench_request *request) {
    printf("Wehr and Radkowski, Figure 5: random points by threads per block, mean of %d and "
           "standard deviation\n(published, on a Titan X: on average 2.5 ms for 2,000 points, "
           "30 ms for 500,000; their means are in Table II)\n",
           request->quick ? 3 : REPEATS);
    return by_blocks(request, "wehr-figure5", WEHR_RANDOM);
}

static kd_status figure_6(const bench_request *request) {
    printf("Wehr and Radkowski, Figure 6: a scan and the bunny by threads per block (the paper's "
           "scan is not available; walls and spheres seen by a simulated camera replace it)\n");
    KD_TRY(by_blocks(request, "wehr-figure6", WEHR_SCAN));
    return by_blocks(request, "wehr-figure6", WEHR_BUNNY);
}

/* --- Figure 7 --------------------------------------------------------------------------------- */

enum { WIDTH = 480, HEIGHT = 360, SCANNED = 280000 };

/* View from slightly above; nearer points are darker. */
static void splat(float *const planes[3], const vec3 *points, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
        const double x = (double)points[i].x - 0.5, y = (double)points[i].y - 0.5;
        const double z = (double)points[i].z, down = -0.8 * y + 0.35 * z;
        const int column = (int)(WIDTH * (0.5 + 0.62 * (x * 0.92 + 0.3 * z - 0.12)));
        const int row = (int)(HEIGHT * (0.42 + 0.62 * down));
        if (column < 0 || column >= WIDTH || row < 0 || row >= HEIGHT) continue;
        const float shade = (float)(0.05 + 0.5 * z * z);
        float *const at = planes[0] + row * WIDTH + column;
        if (shade >= *at) continue;
        for (int c = 0; c < 3; ++c) planes[c][row * WIDTH + column] = shade;
    }
}

static kd_status draw_scan(const char *path, const vec3 *points, uint64_t count) {
    static const char *const names[3] = {"R", "G", "B"};
    image picture;
    float *planes[3];
    KD_TRY(image_open(&picture, WIDTH, HEIGHT));
    kd_status status = KD_OK;
    for (int c = 0; c < 3; ++c) {
        KD_TRY_GOTO(image_add(&picture, names[c], &planes[c]));
        for (int i = 0; i < WIDTH * HEIGHT; ++i) planes[c][i] = 1;
    }
    splat(planes, points, count);
    const image_encoding encoding = {.tonemap = KD_TONEMAP_LINEAR};
    KD_TRY_GOTO(image_write(&picture, path, &encoding));
done:
    image_close(&picture);
    return status;
}

static kd_status figure_7(const bench_request *request) {
    char path[4096];
    wehr_cloud cloud;
    const paper_table table = {.request = request};
    printf(
        "Wehr and Radkowski, Figure 7: the scanned points (theirs are lost; %d of the stand-in)\n",
        SCANNED);
    if (!paper_picture(path, sizeof path, request, "figure-wehr-7.png")) return KD_OK;
    KD_TRY(wehr_cloud_open(&cloud, &table, WEHR_SCAN, SCANNED));
    const kd_status status =
        draw_scan(path, (const vec3 *)cloud.points.points.coordinates, SCANNED);
    wehr_cloud_close(&cloud);
    return status;
}

/* --- Figure 8 --------------------------------------------------------------------------------- */

static kd_status print_naive(const paper_table *table, const char *sort, uint64_t count,
                             double published, uint32_t insertion) {
    char label[64];
    wehr_cloud cloud;
    paper_row row = {.description = label, .published = published};
    snprintf(label, sizeof label, "%s alone, %llu points", sort, (unsigned long long)count);
    paper_row_begin(&row, table, "wehr", count, 3);
    if (device_cuda_count()) paper_row_leave(&row, TABLE_CUDA, "no such way");
    row.measured[TABLE_CPU].variant = sort;
    KD_TRY(wehr_cloud_open(&cloud, table, WEHR_RANDOM, count));
    const wehr_parameters parameters = {1u << 20, 5, UINT32_MAX, insertion, NULL};
    kd_status status = KD_OK;
    if (row.measured[TABLE_CPU].runs)
        status = wehr_build_cpu(&row.measured[TABLE_CPU], &cloud.points, &parameters);
    wehr_cloud_close(&cloud);
    KD_TRY(status);
    return paper_table_row(table, &row);
}

static kd_status figure_8(const bench_request *request) {
    static const struct {
        uint64_t count;
        double radix, insertion;
    } cases[] = {{1000, 0, 0}, {2000, 0, 0}, {5000, 0, 4000}, {10000, 61, 0}, {100000, 0, -1}};
    const paper_table table = paper_table_make(request, "wehr-figure8", "Titan X", false, 500000);
    paper_table_head(&table, "Wehr and Radkowski, Figure 8: each chunk sorted by one core alone, "
                             "the whole first");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const uint64_t count = cases[i].count;
        if ((request->quick && count > 2000) || !paper_selects_size(request, count)) continue;
        KD_TRY(print_naive(&table, "radix", count, cases[i].radix, 1));
        if (cases[i].insertion >= 0)
            KD_TRY(print_naive(&table, "insertion", count, cases[i].insertion, UINT32_MAX));
    }
    return KD_OK;
}

/* --- Figure 9 --------------------------------------------------------------------------------- */

static kd_status figure_9(const bench_request *request) {
    static const double published[SIZES] = {61, 302, 605, 0, 1918, 2559, 3245}; /* Table II, R */
    static const char *const builders[] = {"recursive", "select", NULL};
    const pointtree_options options = {POINTTREE_ROUND_ROBIN, false, 0};
    const paper_table table = paper_table_make(request, "wehr-figure9", "i7-7700HQ", false, 500000);
    paper_table_head(&table, "Wehr and Radkowski, Figure 9: builds on the CPU; `recursive` is the "
                             "usual one, on one core");
    for (int i = 0; i < SIZES; ++i)
        for (const char *const *builder = builders; *builder; ++builder) {
            char label[64];
            if (is_left_out(request, sizes[i])) continue;
            snprintf(label, sizeof label, "%s, %llu points", *builder,
                     (unsigned long long)sizes[i]);
            paper_row row = {.description = label, .published = published[i]};
            KD_TRY(paper_measure_build(&table, &row, *builder, sizes[i], 3, &options));
            KD_TRY(paper_table_row(&table, &row));
        }
    return KD_OK;
}

/* --- Figure 10 -------------------------------------------------------------------------------- */

/* Measures the seconds of each level with this limit between insertion and radix sort. */
static kd_status time_levels(bench_row *row, double levels[LEVELS], const wehr_cloud *cloud,
                             uint32_t insertion) {
    double level_seconds[LEVELS];
    for (int i = 0; i < LEVELS; ++i) levels[i] = 1e300, level_seconds[i] = 0;
    const wehr_parameters parameters = {128, 5, 128, insertion, level_seconds};
    bench_row single = *row;
    single.runs = 1;
    for (int run = 0; run < row->runs; ++run) {
        KD_TRY(wehr_build_cpu(&single, &cloud->points, &parameters));
        for (int i = 0; i < LEVELS; ++i) levels[i] = fmin(levels[i], level_seconds[i]);
    }
    row->hash = single.hash;
    row->checked = single.checked;
    return KD_OK;
}

static kd_status write_level(const bench_request *request, const bench_row *bench, uint64_t chunk,
                             double seconds, const char *sort) {
    bench_row row = *bench;
    row.set = "final levels";
    row.variant = sort;
    row.n = chunk;
    row.runs = 1;
    row.seconds[0] = seconds;
    return bench_write(request, &row);
}

static kd_status figure_10(const bench_request *request) {
    static const char *const sorts[3] = {"radix alone", "insertion alone", "both, border 16"};
    static const uint32_t borders[3] = {1, UINT32_MAX, 16};
    const uint64_t count = request->quick ? 4000 : 100000;
    const paper_table table = paper_table_make(request, "wehr-figure10", "", false, 500000);
    double levels[3][LEVELS];
    wehr_cloud cloud;
    bench_row row = paper_row_measured(&table, TABLE_CPU, "wehr", count, 3);
    printf("Wehr and Radkowski, Figure 10: sorts of the last levels, %llu random points, ms per "
           "level\n%-6s %-8s %16s %16s %16s\n",
           (unsigned long long)count, "level", "chunk", sorts[0], sorts[1], sorts[2]);
    if (!row.runs) return KD_OK;
    KD_TRY(wehr_cloud_open(&cloud, &table, WEHR_RANDOM, count));
    kd_status status = KD_OK;
    for (int s = 0; s < 3 && status == KD_OK; ++s)
        status = time_levels(&row, levels[s], &cloud, borders[s]);
    wehr_cloud_close(&cloud);
    KD_TRY(status);
    for (uint32_t level = 0; level < pointtree_levels((uint32_t)count); ++level) {
        const uint64_t chunk = count >> level;
        if (chunk >= 128 || chunk == 0) continue;
        printf("%-6u %-8llu %16.4g %16.4g %16.4g\n", level, (unsigned long long)chunk,
               levels[0][level] * 1e3, levels[1][level] * 1e3, levels[2][level] * 1e3);
        for (int s = 0; s < 3; ++s)
            KD_TRY(write_level(request, &row, chunk, levels[s][level], sorts[s]));
    }
    return KD_OK;
}

kd_status table_wehr_figures(const bench_request *request, unsigned parts) {
    static kd_status (*const figures[])(const bench_request *) = {
        figure_4, figure_5, figure_6, figure_7, figure_8, figure_9, figure_10};
    for (unsigned i = 4; i <= 10; ++i)
        if (parts & 1u << i) KD_TRY(figures[i - 4](request));
    return KD_OK;
}

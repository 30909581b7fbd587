/* kandela bench points: how long each builder takes for a left-balanced point k-d tree, by both
   split rules. Every tree is checked before it is timed; trees of the same points in the same
   order must have the same hash. */
#include "core/memory.h"
#include "points/builders.h"
#include "tools/lab/bench/input_sets.h"
#include "tools/lab/bench/input_trees.h"
#include <string.h>

enum { ORDERS = 3 };

typedef struct point_case {
    const bench_request *request;
    const char *set;
    bench_cloud cloud;
    pointtree_options options;
    uint64_t hash[ORDERS]; /* of the first tree of each order; 0: none yet */
} point_case;

static kd_status same_tree(point_case *of, const bench_row *row) {
    uint64_t *first = &of->hash[pointtree_builder_find(row->builder)->order];
    if (!*first) *first = row->hash;
    KD_REQUIRE(*first == row->hash, KD_ERROR_CHECK, "%s on %s made another tree of %s %llu points",
               row->builder, row->device, row->set, (unsigned long long)row->n);
    return KD_OK;
}

static const char *variant_of(const pointtree_options *options) {
    return options->split == POINTTREE_WIDEST ? (options->unique ? "widest, unique" : "widest")
                                              : (options->unique ? "unique" : NULL);
}

static kd_status measure(point_case *of, const char *builder, bool on_cpu) {
    bench_row row = {.bench = "points", .set = of->set, .builder = builder};
    row.device = on_cpu ? "cpu" : "cuda:0";
    row.variant = variant_of(&of->options);
    row.n = of->cloud.points.count;
    row.dims = (int32_t)of->cloud.points.dims;
    row.items = (double)row.n;
    row.runs = of->request->runs;
    KD_TRY(on_cpu ? bench_tree_cpu(&row, &of->cloud, &of->options)
                  : bench_tree_cuda(&row, &of->cloud, &of->options));
    KD_TRY(same_tree(of, &row));
    return bench_report(of->request, &row);
}

static void print_parameters(const point_case *of, const char *device_name,
                             const wehr_parameters *best) {
    printf("points  %-24s wehr       %-7s n %-10llu the best of all tried: blocks of %u points, "
           "digits of %u bits, cutoff %u points\n",
           of->set, device_name, (unsigned long long)of->cloud.points.count, best->block,
           best->digit_bits, best->cutoff);
    fflush(stdout);
}

/* The paper's search for the best parameters, on each device. */
static kd_status tune(const point_case *of) {
    wehr_parameters best;
    if (bench_wants(&of->request->devices, "cpu")) {
        KD_TRY(wehr_tune(&best, &of->cloud.points, &of->options));
        print_parameters(of, "cpu", &best);
    }
    if (!of->cloud.device_points.coordinates) return KD_OK;
    KD_TRY(bench_tune_cuda(&best, &of->cloud, &of->options));
    print_parameters(of, "cuda:0", &best);
    return KD_OK;
}

static kd_status run_split(point_case *of, pointtree_split split) {
    const bench_request *request = of->request;
    memset(of->hash, 0, sizeof of->hash);
    of->options.split = split;
    of->options.unique = request->unique;
    if (request->tune) return tune(of);
    if (bench_wants(&request->devices, "cpu"))
        for (const pointtree_builder *const *row = pointtree_builders; *row; ++row)
            if (bench_wants(&request->builders, (*row)->name) &&
                (!request->unique || (*row)->removes))
                KD_TRY(measure(of, (*row)->name, true));
    if (of->cloud.device_points.coordinates)
        for (const point_builder_cuda *const *row = point_builders_cuda; *row; ++row)
            if (bench_wants(&request->builders, (*row)->name) &&
                (!request->unique || (*row)->removes))
                KD_TRY(measure(of, (*row)->name, false));
    return KD_OK;
}

static kd_status run_case(const bench_request *request, const char *set, uint64_t count,
                          uint32_t dims) {
    point_case of = {.request = request, .set = set};
    const bool on_device = device_cuda_count() > 0 && bench_wants(&request->devices, "cuda:0");
    KD_TRY(bench_cloud_open(&of.cloud, set, count, dims,
                            request->doubles ? POINT_DOUBLE : POINT_FLOAT,
                            (uint64_t)request->stride, on_device));
    kd_status status = KD_OK;
    if (bench_wants(&request->splits, "round-robin"))
        status = run_split(&of, POINTTREE_ROUND_ROBIN);
    if (status == KD_OK && bench_wants(&request->splits, "widest"))
        status = run_split(&of, POINTTREE_WIDEST);
    bench_cloud_close(&of.cloud);
    return status;
}

static kd_status run_sets(const bench_request *request, uint64_t count, uint32_t dims) {
    KD_REQUIRE(count >= 1 && count <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE,
               "size %llu, expected 1 to %u", (unsigned long long)count, POINTTREE_COUNT_MAX);

    for (const char *const *set = bench_sets; *set; ++set)
        if (request->sets.count ? bench_wants(&request->sets, *set) : set == bench_sets)
            KD_TRY(run_case(request, *set, count, dims));
    return KD_OK;
}

kd_status bench_points(const bench_request *request) {
    static const uint64_t usual[] = {10000, 100000, 1000000}, quick[] = {1000, 10000, 100000};
    const uint64_t *counts = request->quick ? quick : usual;
    const int given = request->sizes.count;
    const int sizes = given ? given : 3;
    for (int i = 0; i < sizes; ++i)
        for (int j = 0; j < (request->dims.count ? request->dims.count : 1); ++j) {
            uint64_t count = given ? 0 : counts[i], dims = 3;
            if (given) KD_TRY(bench_count(&count, &request->sizes, i));
            if (request->dims.count) KD_TRY(bench_count(&dims, &request->dims, j));
            KD_REQUIRE(dims >= POINT_DIMS_MIN && dims <= POINT_DIMS_MAX, KD_ERROR_USAGE,
                       "%llu dimensions, expected %u to %u", (unsigned long long)dims,
                       POINT_DIMS_MIN, POINT_DIMS_MAX);
            KD_TRY(run_sets(request, count, (uint32_t)dims));
        }
    return KD_OK;
}

/* The papers' tables of queries. On a CUDA device the queries and the answers are in its memory. */
#include "core/device/device_memory.h"
#include "core/device/device_timer.h"
#include "core/math/rng.h"
#include "core/memory.h"
#include "core/timing.h"
#include "points/builders.h"
#include "points/wehr/approximate.h"
#include "points/wehr/approximate_device.h"
#include "tools/bench/papers/papers.h"
#include <kandela/points.h>
#include <string.h>

enum { QUERY_KINDS = 9, QUEUE = 16, CHECKED = 1000 };

static kd_status fill_uniform(float **out, uint64_t count, uint32_t dims, uint32_t seed) {
    KD_TRY(KD_RESERVE(*out, count * dims));
    for (uint64_t i = 0; i < count * dims; ++i)
        (*out)[i] = rng_draw(rng_key_make(seed, 0, i), 0, 0).value[0];
    return KD_OK;
}

typedef struct query_row {
    uint64_t count;
    double rates[QUERY_KINDS]; /* M queries a second: closest, k = 4, 8, 20, 50; within 0.01 */
} query_row;

/* A tree on a device with queries and room for answers where it is. */
typedef struct asked_tree {
    kd_points *tree;
    kd_points_query query;
    const float *asked; /* host */
    uint64_t count;     /* of the queries */
    bool on_cuda;
} asked_tree;

static kd_status same_answers(const asked_tree *of, uint32_t k, const float *answers) {
    kd_status status = KD_OK;
    float *walked = NULL, *found = NULL;
    const uint64_t count = of->count < CHECKED ? of->count : CHECKED;
    const uint64_t bytes = count * k * sizeof *found;
    kd_points_query walk = of->query;
    walk.points = kd_point_array_make(of->asked, count, 4, KD_FLOAT);
    snprintf(walk.method, sizeof walk.method, "walk");
    KD_TRY_GOTO(KD_RESERVE(walked, count * k));
    KD_TRY_GOTO(KD_RESERVE(found, count * k));
    KD_TRY_GOTO(kd_points_nearest(of->tree, &walk, k, NULL, walked, NULL));
    if (of->on_cuda)
        KD_TRY_GOTO(device_memory_download(found, answers, bytes));
    else
        memcpy(found, answers, bytes);
    if (memcmp(found, walked, bytes) != 0)
        status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__, "k %u: not the walk's answers", k);
done:
    memory_free(walked);
    memory_free(found);
    return status;
}

static kd_status time_queries(bench_row *row, const asked_tree *of, uint32_t k) {
    kd_status status = KD_OK;
    float *answers = NULL;
    const uint64_t bytes = of->count * k * sizeof *answers;
    row->k = (int32_t)k;
    row->items = (double)of->count;
    KD_TRY_GOTO(of->on_cuda ? device_memory_reserve((void **)&answers, bytes)
                            : memory_reserve((void **)&answers, bytes, 1));
    KD_TRY_GOTO(kd_points_nearest(of->tree, &of->query, k, NULL, answers, NULL));
    KD_TRY_GOTO(same_answers(of, k, answers));
    row->checked = true;
    for (int run = 0; run < row->runs; ++run) {
        const double started = timing_now();
        KD_TRY_GOTO(kd_points_nearest(of->tree, &of->query, k, NULL, answers, NULL));
        row->seconds[run] = timing_now() - started;
    }
done:
    if (of->on_cuda)
        device_memory_free(answers);
    else
        memory_free(answers);
    return status;
}

static kd_status ask_all(const paper_table *table, const asked_tree *of, const query_row *row,
                         int on, paper_row (*rows)[QUERY_KINDS]) {
    static const uint32_t ks[QUERY_KINDS] = {1, 4, 8, 20, 50, 4, 8, 20, 50};
    for (int i = 0; i < QUERY_KINDS; ++i) {
        asked_tree asked = *of;
        bench_row *ours = &(*rows)[i].ours[on];
        if (i > 4) asked.query.max_radius = 0.01;
        *ours = paper_row_ours(table, on, "kandela", row->count, 4);
        ours->variant = i > 4 ? "radius 0.01" : NULL;
        if (ours->runs) KD_TRY(time_queries(ours, &asked, ks[i]));
    }
    return KD_OK;
}

static kd_status ask_device(const paper_table *table, const query_row *row, const float *points,
                            const float *asked, uint64_t asked_count, int on,
                            paper_row (*rows)[QUERY_KINDS]) {
    kd_status status = KD_OK;
    void *device_asked = NULL;
    const uint64_t bytes = asked_count * 4 * sizeof *asked;
    asked_tree of = {.asked = asked, .count = asked_count, .on_cuda = on == TABLE_CUDA};
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", on == TABLE_CPU ? "cpu" : "cuda:0");
    const kd_point_array array = kd_point_array_make(points, row->count, 4, KD_FLOAT);
    KD_TRY_GOTO(kd_points_open(&of.tree, &array, &options));
    kd_points_query_default(&of.query);
    if (of.on_cuda) {
        KD_TRY_GOTO(device_memory_reserve(&device_asked, bytes));
        KD_TRY_GOTO(device_memory_upload(device_asked, asked, bytes));
    }
    of.query.points =
        kd_point_array_make(of.on_cuda ? device_asked : asked, asked_count, 4, KD_FLOAT);
    KD_TRY_GOTO(ask_all(table, &of, row, on, rows));
done:
    kd_points_close(of.tree);
    device_memory_free(device_asked);
    return status;
}

static kd_status print_queries(const paper_table *table, const query_row *row,
                               uint64_t asked_count) {
    static const char *const names[QUERY_KINDS] = {"k 1",         "k 4",          "k 8",
                                                   "k 20",        "k 50",         "k 4, r 0.01",
                                                   "k 8, r 0.01", "k 20, r 0.01", "k 50, r 0.01"};
    kd_status status = KD_OK;
    float *points = NULL, *asked = NULL;
    paper_row rows[QUERY_KINDS];
    memset(rows, 0, sizeof rows);
    KD_TRY_GOTO(fill_uniform(&points, row->count, 4, 1));
    KD_TRY_GOTO(fill_uniform(&asked, asked_count, 4, 2));
    if (table->on_cpu && row->count <= table->cpu_most)
        KD_TRY_GOTO(ask_device(table, row, points, asked, asked_count, TABLE_CPU, &rows));
    if (table->on_cuda)
        KD_TRY_GOTO(ask_device(table, row, points, asked, asked_count, TABLE_CUDA, &rows));
    for (int i = 0; i < QUERY_KINDS; ++i) {
        char what[64];
        snprintf(what, sizeof what, "%llu points, %s", (unsigned long long)row->count, names[i]);
        rows[i].what = what;
        rows[i].published = row->rates[i];
        KD_TRY_GOTO(paper_table_row(table, &rows[i]));
    }
done:
    memory_free(points);
    memory_free(asked);
    return status;
}

kd_status table_wald_query(const bench_request *request) {
    static const query_row rows[] = {{1000, {888, 563, 359, 48, 14, 5200, 6600, 4000, 1800}},
                                     {10000, {664, 407, 262, 29.5, 8.7, 3300, 3900, 3300, 1600}},
                                     {100000, {396, 184, 122, 20.6, 6.0, 1700, 1800, 1700, 1100}},
                                     {1000000, {100, 42.1, 26.6, 7.5, 2.9, 334, 338, 282, 255}},
                                     {10000000, {44, 19.3, 12.3, 5.0, 2.3, 58.2, 58.5, 52.8, 51}}};
    const paper_table table =
        paper_table_make(request, "wald-query", "NVIDIA RTX 3090 Ti", true, 1000000);
    paper_table_head(&table, "Wald, stack-free traversal, Table 1, float4");
    for (int i = 0; i < (request->quick ? 2 : 5); ++i)
        if (table.on_cuda || rows[i].count <= table.cpu_most)
            KD_TRY(print_queries(&table, &rows[i], request->quick ? 2000 : 1000000));
    return KD_OK;
}

/* One core. */
static kd_status search_cpu(bench_row *row, const pointtree_nd_view *tree, const float *asked,
                            uint64_t count) {
    for (int run = 0; run < row->runs; ++run) {
        uint64_t found = 0;
        const double started = timing_now();
        for (uint64_t i = 0; i < count; ++i) {
            neighbour_nd best;
            found += pointtree_approximate(tree, asked + 3 * i, QUEUE, &best);
        }
        row->seconds[run] = timing_now() - started;
        KD_REQUIRE(found == count, KD_ERROR_CHECK, "%llu of %llu queries answered",
                   (unsigned long long)found, (unsigned long long)count);
    }
    row->checked = true;
    return KD_OK;
}

/* A copy of host memory on the device. */
static kd_status copy_over(void **out, const void *host, uint64_t bytes) {
    KD_TRY(device_memory_reserve(out, bytes));
    return device_memory_upload(*out, host, bytes);
}

/* The answers must be those of the CPU. */
static kd_status check_searches(const pointtree_nd_view *tree, const float *asked, uint64_t count,
                                const uint32_t *device_ids) {
    uint32_t ids[CHECKED];
    const uint64_t checked = count < CHECKED ? count : CHECKED;
    KD_TRY(device_memory_download(ids, device_ids, checked * sizeof *ids));
    for (uint64_t i = 0; i < checked; ++i) {
        neighbour_nd best;
        pointtree_approximate(tree, asked + 3 * i, QUEUE, &best);
        KD_REQUIRE(best.id == ids[i], KD_ERROR_CHECK, "query %llu: point %u, expected %u",
                   (unsigned long long)i, ids[i], best.id);
    }
    return KD_OK;
}

static kd_status search_cuda(bench_row *row, const pointtree_nd_view *tree, const float *asked,
                             uint64_t count) {
    kd_status status = KD_OK;
    void *points = NULL, *names = NULL, *queries = NULL, *ids = NULL, *dist2 = NULL;
    device_timer timer = {NULL, NULL};
    pointtree_nd_view there = *tree;
    KD_TRY_GOTO(copy_over(&points, tree->coordinates, tree->count * sizeof(vec3)));
    KD_TRY_GOTO(copy_over(&names, tree->ids, tree->count * sizeof *tree->ids));
    KD_TRY_GOTO(copy_over(&queries, asked, count * sizeof(vec3)));
    KD_TRY_GOTO(device_memory_reserve(&ids, count * sizeof(uint32_t)));
    KD_TRY_GOTO(device_memory_reserve(&dist2, count * sizeof(double)));
    there.coordinates = points;
    there.ids = (const uint32_t *)names;
    KD_TRY_GOTO(device_timer_open(&timer));
    for (int run = -1; run < row->runs; ++run) {
        double seconds = 0;
        KD_TRY_GOTO(device_timer_start(&timer, NULL));
        KD_TRY_GOTO(point_approximate_cuda(&there, queries, count, QUEUE, (uint32_t *)ids,
                                           (double *)dist2, NULL));
        KD_TRY_GOTO(device_timer_stop(&timer, NULL, &seconds));
        if (run >= 0) row->seconds[run] = seconds;
    }
    KD_TRY_GOTO(check_searches(tree, asked, count, (const uint32_t *)ids));
    row->checked = true;
done:
    device_timer_close(&timer);
    device_memory_free(points);
    device_memory_free(names);
    device_memory_free(queries);
    device_memory_free(ids);
    device_memory_free(dist2);
    return status;
}

static kd_status print_searches(const paper_table *table, uint64_t count, uint64_t queries,
                                double published) {
    kd_status status = KD_OK;
    float *points = NULL, *asked = NULL;
    pointtree tree;
    char what[64];
    snprintf(what, sizeof what, "%llu points, %llu queries", (unsigned long long)count,
             (unsigned long long)queries);
    paper_row row = {.what = what, .published = published};
    memset(&tree, 0, sizeof tree);
    KD_TRY_GOTO(fill_uniform(&points, count, 3, 1));
    KD_TRY_GOTO(fill_uniform(&asked, queries, 3, 2));
    const point_array array = point_array_make(points, count, 3, POINT_FLOAT);
    KD_TRY_GOTO(pointtree_open_nd(&tree, &array, NULL, "wehr", NULL));
    const pointtree_nd_view view = pointtree_get_nd_view(&tree);
    for (int on = 0; on < TABLE_DEVICES; ++on) {
        bench_row *ours = &row.ours[on];
        *ours = paper_row_ours(table, on, "wehr", count, 3);
        ours->variant = queries == 10000 ? "10000 searches" : "100000 searches";
        ours->items = (double)queries;
        if (ours->runs)
            KD_TRY_GOTO(on == TABLE_CPU ? search_cpu(ours, &view, asked, queries)
                                        : search_cuda(ours, &view, asked, queries));
    }
    KD_TRY_GOTO(paper_table_row(table, &row));
done:
    pointtree_close(&tree);
    memory_free(points);
    memory_free(asked);
    return status;
}

kd_status table_wehr_searches(const bench_request *request) {
    static const uint64_t sizes[] = {2000, 50000, 100000, 500000};
    static const double published[][2] = {
        {1024, 9672}, {1502, 15769}, {1466, 17104}, {1976, 20535}};
    const uint64_t most = request->quick ? 50000 : 500000;
    const paper_table table = paper_table_make(request, "wehr", "NVIDIA Titan X", false, 500000);
    paper_table_head(&table, "Wehr and Radkowski, Table III; the CPU by one core");
    for (int i = 0; i < 4 && sizes[i] <= most; ++i) {
        KD_TRY(print_searches(&table, sizes[i], 10000, published[i][0]));
        KD_TRY(print_searches(&table, sizes[i], 100000, published[i][1]));
    }
    return KD_OK;
}

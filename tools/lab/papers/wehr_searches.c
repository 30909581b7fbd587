/* Wehr and Radkowski 2018, Table III: closest points by their approximate search. */
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/job.h"
#include "core/memory.h"
#include "points/builders.h"
#include "points/papers/approximate.h"
#include "tools/lab/papers/papers.h"
#include <string.h>

enum { QUEUE = 16, CHECKED = 1000 };

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

enum { QUERIES = 4 };

static kd_status search(bench_row *row, int on, const pointtree_nd_view *view, const float *asked,
                        uint64_t queries) {
    row->items = (double)queries;
    return on == TABLE_CPU ? search_cpu(row, view, asked, queries)
                           : search_cuda(row, view, asked, queries);
}

static kd_status print_searches(const paper_table *table, uint64_t count, uint64_t queries,
                                double published) {
    kd_status status = KD_OK;
    float *points = NULL, *asked = NULL;
    pointtree tree;
    char what[64], variant[32];
    snprintf(what, sizeof what, "%llu points, %llu queries", (unsigned long long)count,
             (unsigned long long)queries);
    snprintf(variant, sizeof variant, "%llu searches", (unsigned long long)queries);
    paper_row row = {.what = what, .published = published};
    paper_row_begin(&row, table, "wehr", count, 3);
    memset(&tree, 0, sizeof tree);
    KD_TRY_GOTO(paper_uniform(&points, count, 3, 1));
    KD_TRY_GOTO(paper_uniform(&asked, queries, 3, 2));
    const point_array array = point_array_make(points, count, 3, POINT_FLOAT);
    KD_TRY_GOTO(pointtree_open_nd(&tree, &array, NULL, "wehr", NULL));
    const pointtree_nd_view view = pointtree_get_nd_view(&tree);
    for (int on = 0; on < TABLE_DEVICES; ++on) {
        row.ours[on].variant = variant;
        if (row.ours[on].runs) KD_TRY_GOTO(search(&row.ours[on], on, &view, asked, queries));
    }
    KD_TRY_GOTO(paper_table_row(table, &row));
done:
    pointtree_close(&tree);
    memory_free(points);
    memory_free(asked);
    return status;
}

kd_status table_wehr_searches(const bench_request *request, unsigned parts) {
    static const uint64_t sizes[] = {2000, 5000, 50000, 100000, 200000, 500000};
    static const uint64_t queries[QUERIES] = {100, 10000, 50000, 100000};
    static const double published[][QUERIES] = {
        {676, 1024, 4897, 9672},  {762, 1055, 5421, 10781}, {871, 1502, 7851, 15769},
        {849, 1466, 8454, 17104}, {844, 1763, 9293, 18896}, {899, 1976, 10082, 20535}};
    (void)parts;
    const paper_table table = paper_table_make(request, "wehr-3", "NVIDIA Titan X", false, 500000);
    paper_table_head(&table, "Wehr and Radkowski, Table III (\"ms\" as it is printed there); the "
                             "CPU by one core");
    for (int i = 0; i < 6; ++i)
        for (int q = 0; q < QUERIES; ++q) {
            const bool small = !request->quick || request->sizes.count ||
                               (sizes[i] <= 5000 && queries[q] <= 10000);
            if (small && paper_wants_size(request, sizes[i]))
                KD_TRY(print_searches(&table, sizes[i], queries[q], published[i][q]));
        }
    return KD_OK;
}

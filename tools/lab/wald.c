#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/files/file.h"
#include "core/job.h"
#include "core/memory.h"
#include "points/papers/build_wald.h"
#include "points/select/builders.h"
#include "tools/lab/papers.h"
#include "tools/lab/report.h"
#include <kandela/points.h>
#include <string.h>

typedef struct wald_size {
    uint64_t count;
    const char *name;
    double rtx8000, a6000, rtx3090ti; /* in ms; 0: see `text` */
    const char *text;                 /* replaces the number of the RTX 3090 Ti, such as "<1" */
} wald_size;

/* --- Table 1 ---------------------------------------------------------------------------------- */

static kd_status print_sizes(const bench_request *request, const char *title, const char *type,
                             const wald_size *sizes, int count, uint32_t dims,
                             pointtree_split split) {
    static const char *const builders[] = {"wald", "select", NULL};
    const pointtree_options options = {split, false, 0};
    paper_table table = paper_table_make(request, "wald-build", "RTX 3090 Ti", false,
                                         request->quick ? 10000 : 10000000);
    table.other_on[0] = "RTX 8000";
    table.other_on[1] = "A-6000";
    if (split == POINTTREE_WIDEST) table.other_on[0] = table.other_on[1] = NULL;
    paper_table_head(&table, title);
    for (int i = 0; i < count; ++i)
        for (const char *const *builder = builders; *builder; ++builder) {
            char label[64];
            const wald_size *size = sizes + i;
            if (!paper_selects_size(request, size->count)) continue;
            if (request->quick && size->count > 10000 && !request->sizes.count) continue;
            snprintf(label, sizeof label, "%s, %s, %s points", type, *builder, size->name);
            paper_row row = {.description = label,
                             .published = size->rtx3090ti,
                             .published_text = size->text,
                             .peers = {size->rtx8000, size->a6000}};
            KD_TRY(paper_measure_build(&table, &row, *builder, size->count, dims, &options));
            KD_TRY(paper_table_row(&table, &row));
        }
    return KD_OK;
}

enum { SIZES = 7 };

static kd_status table_1(const bench_request *request) {
    static const wald_size int1[SIZES] = {{1000, "1K", 0, 0, 0, "<1"},
                                          {10000, "10K", 0.6, 0.6, 0.6, NULL},
                                          {100000, "100K", 1.4, 1.2, 1.2, NULL},
                                          {1000000, "1M", 12.8, 11.9, 11.0, NULL},
                                          {10000000, "10M", 165, 124, 106, NULL},
                                          {100000000, "100M", 1890, 1370, 1070, NULL},
                                          {1000000000, "1B", 24700, 17700, 16800, NULL}};
    static const wald_size float4[SIZES] = {{1000, "1K", 0, 0, 0, "<1"},
                                            {10000, "10K", 0.9, 0.9, 0.9, NULL},
                                            {100000, "100K", 6.0, 5.6, 5.6, NULL},
                                            {1000000, "1M", 54.4, 49.7, 44.4, NULL},
                                            {10000000, "10M", 783, 536, 424, NULL},
                                            {100000000, "100M", 10300, 6500, 5300, NULL},
                                            {1000000000, "1B", 0, 0, 0, "oom"}};
    KD_TRY(print_sizes(request,
                       "Wald, left-balanced build, Table 1, int1 (ours: a float of one dimension, "
                       "as many bytes)",
                       "int1", int1, SIZES, 1, POINTTREE_ROUND_ROBIN));
    return print_sizes(request, "Wald, left-balanced build, Table 1, float4", "float4", float4,
                       SIZES, 4, POINTTREE_ROUND_ROBIN);
}

static kd_status section_6(const bench_request *request) {
    static const wald_size sizes[] = {{1000, "1K", 0, 0, 0, NULL},
                                      {10000, "10K", 0, 0, 0, NULL},
                                      {100000, "100K", 0, 0, 0, NULL},
                                      {1000000, "1M", 0, 0, 0, NULL},
                                      {10000000, "10M", 0, 0, 0, NULL}};
    return print_sizes(request,
                       "Wald, section 6, split by the widest side, float4 (the paper has no times)",
                       "widest", sizes, 5, 4, POINTTREE_WIDEST);
}

/* --- section 5 -------------------------------------------------------------------------------- */

enum { TEN = 10 };
static const float example[TEN][2] = {{10, 15}, {46, 63}, {68, 21}, {40, 33}, {25, 54},
                                      {15, 43}, {44, 58}, {45, 40}, {62, 69}, {53, 67}};

static void print_step(const wald_steps *steps, const char *when, uint32_t level) {
    printf("level %u, %s\n  tags", level, when);
    for (int i = 0; i < TEN; ++i) printf(" %3u", steps->tags[steps->order[i]]);
    for (int axis = 0; axis < 2; ++axis) {
        printf("\n  %s   ", axis ? "y" : "x");
        for (int i = 0; i < TEN; ++i) printf(" %3.0f", (double)example[steps->order[i]][axis]);
    }
    printf("\n");
}

/* The tree must equal the last table of the paper. */
static kd_status compare_example(const uint32_t *ids) {
    static const float expected[TEN][2] = {{46, 63}, {15, 43}, {53, 67}, {40, 33}, {44, 58},
                                           {68, 21}, {62, 69}, {10, 15}, {45, 40}, {25, 54}};
    for (int i = 0; i < TEN; ++i)
        KD_REQUIRE(memcmp(example[ids[i]], expected[i], sizeof expected[i]) == 0, KD_ERROR_CHECK,
                   "node %d is point %u, unlike in the paper", i, ids[i]);
    printf("the tree equals that of the paper\n");
    return KD_OK;
}

static kd_status section_5(void) {
    uint32_t ids[TEN];
    pointtree tree;
    wald_steps steps;
    memset(&tree, 0, sizeof tree);
    tree.ids = ids;
    tree.count = TEN;
    tree.dims = 2;
    const point_array points = point_array_make(example, TEN, 2, POINT_FLOAT);
    printf("Wald, left-balanced build, section 5: ten points, step by step\n");
    KD_TRY(wald_open(&steps, &tree, &points));
    for (uint32_t level = 0; level < pointtree_levels(TEN); ++level) {
        wald_sort(&steps);
        print_step(&steps, "sorted", level);
        if (level + 1 == pointtree_levels(TEN)) break;
        wald_update(&steps);
        print_step(&steps, "tags updated", level);
    }
    for (uint32_t i = 0; i < TEN; ++i) ids[i] = steps.order[i];
    wald_close(&steps);
    return compare_example(ids);
}

/* --- Figure 1 --------------------------------------------------------------------------------- */

enum { SIX = 6 };
static const float six[SIX][2] = {{2, 3}, {5, 4}, {9, 6}, {4, 7}, {8, 1}, {7, 2}};

/* Draws the cell of a node, then those of its children. */
static void draw_node(drawn_segment *line, const pointtree_nd_view *tree, uint32_t node,
                      const double lo[2], const double hi[2]) {
    if (node >= tree->count) return;
    const uint32_t axis = pointtree_nd_axis(tree, node);
    drawn_segment *segment = line + node;
    for (uint32_t a = 0; a < 2; ++a) {
        segment->at[a] = pointtree_nd_coordinate(tree, node, a);
        segment->from[a] = a == axis ? segment->at[a] : lo[a];
        segment->to[a] = a == axis ? segment->at[a] : hi[a];
    }
    segment->colour = (int)axis;
    snprintf(segment->label, sizeof segment->label, "(%.0f, %.0f)", segment->at[0], segment->at[1]);
    for (uint32_t right = 0; right < 2; ++right) {
        double part_lo[2] = {lo[0], lo[1]}, part_hi[2] = {hi[0], hi[1]};
        (right ? part_lo : part_hi)[axis] = segment->at[axis];
        draw_node(line, tree, 2 * node + 1 + right, part_lo, part_hi);
    }
}

static kd_status draw_plane(const char *folder, const char *name, const pointtree_nd_view *tree) {
    drawn_segment segments[SIX];
    draw_node(segments, tree, 0, (const double[]){0, 0}, (const double[]){10, 10});
    return report_drawing(folder, name, segments, SIX);
}

static kd_status figure_1(const bench_request *request) {
    pointtree tree;
    const point_array points = point_array_make(six, SIX, 2, POINT_FLOAT);
    printf("Wald, Figure 1 (in both papers, after Wikipedia): six points in the plane\n");
    KD_TRY(pointtree_open_nd(&tree, &points, NULL, "wald", NULL));
    const pointtree_nd_view view = pointtree_get_nd_view(&tree);
    for (uint32_t node = 0; node < SIX; ++node)
        printf("%*snode %u: (%.0f, %.0f) splits by %s\n", 2 * (int)pointtree_level_of(node) + 2, "",
               node, pointtree_nd_coordinate(&view, node, 0),
               pointtree_nd_coordinate(&view, node, 1), pointtree_nd_axis(&view, node) ? "y" : "x");
    kd_status status = KD_OK;
    if (request->folder)
        status = draw_plane(request->folder, "figure-wald-1", &view);
    else
        printf("    (drawn as figure-wald-1.svg with --report FOLDER)\n");
    pointtree_close(&tree);
    return status;
}

kd_status table_wald_build(const bench_request *request, unsigned parts) {
    if (parts & WALD_TABLE_1) KD_TRY(table_1(request));
    if (parts & WALD_EXAMPLE) KD_TRY(section_5());
    if (parts & WALD_FIGURE_1) KD_TRY(figure_1(request));
    if (parts & WALD_WIDEST) KD_TRY(section_6(request));
    return KD_OK;
}

enum { QUERY_KINDS = 9, CHECKED = 1000, WALK_QUERIES = 100000 };

typedef struct query_row {
    uint64_t count;
    double rates[QUERY_KINDS]; /* M queries per second: closest, k = 4, 8, 20, 50; within 0.01 */
} query_row;

/* A tree, queries and memory for results, all on the same device. */
typedef struct query_tree {
    kd_points *tree;
    kd_points_query query;
    const float *queries; /* host */
    uint64_t count;       /* number of queries */
    bool walks;           /* uses the paper's algorithm */
    bool on_cuda;
} query_tree;

static kd_status same_answers(const query_tree *tree, uint32_t k, const float *answers) {
    kd_status status = KD_OK;
    float *walked = NULL, *batched = NULL;
    const uint64_t count = tree->count < CHECKED ? tree->count : CHECKED;
    const uint64_t bytes = count * k * sizeof *batched;
    kd_points_query walk = tree->query;
    walk.points = kd_point_array_make(tree->queries, count, 4, KD_FLOAT);
    snprintf(walk.method, sizeof walk.method, "walk");
    KD_TRY_GOTO(KD_RESERVE(walked, count * k));
    KD_TRY_GOTO(KD_RESERVE(batched, count * k));
    KD_TRY_GOTO(kd_points_nearest(tree->tree, &walk, k, NULL, walked, NULL));
    if (tree->on_cuda)
        KD_TRY_GOTO(device_memory_download(batched, answers, bytes));
    else
        memcpy(batched, answers, bytes);
    if (memcmp(batched, walked, bytes) != 0)
        status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                             "k %u: the results differ from the tree traversal's", k);
done:
    memory_free(walked);
    memory_free(batched);
    return status;
}

static kd_status time_queries(bench_row *row, const query_tree *tree, uint32_t k) {
    kd_status status = KD_OK;
    float *answers = NULL;
    const uint64_t bytes = tree->count * k * sizeof *answers;
    row->k = (int32_t)k;
    row->items = (double)tree->count;
    KD_TRY_GOTO(tree->on_cuda ? device_memory_reserve((void **)&answers, bytes)
                              : memory_reserve((void **)&answers, bytes, 1));
    KD_TRY_GOTO(kd_points_nearest(tree->tree, &tree->query, k, NULL, answers, NULL));
    KD_TRY_GOTO(same_answers(tree, k, answers));
    row->checked = true;
    for (int run = 0; run < row->runs; ++run) {
        const double started = timing_now();
        KD_TRY_GOTO(kd_points_nearest(tree->tree, &tree->query, k, NULL, answers, NULL));
        row->seconds[run] = timing_now() - started;
    }
done:
    if (tree->on_cuda)
        device_memory_free(answers);
    else
        memory_free(answers);
    return status;
}

static kd_status query_all(const paper_table *table, const query_tree *tree, const query_row *row,
                           int on, paper_row (*rows)[QUERY_KINDS]) {
    static const uint32_t ks[QUERY_KINDS] = {1, 4, 8, 20, 50, 4, 8, 20, 50};
    for (int i = 0; i < QUERY_KINDS; ++i) {
        query_tree searched = *tree;
        bench_row *measured = &(*rows)[i].measured[on];
        if (i > 4) searched.query.max_radius = 0.01;
        *measured = paper_row_measured(table, on, "select", row->count, 4);
        measured->variant = tree->walks ? (i > 4 ? "walk, radius 0.01" : "walk")
                            : i > 4     ? "radius 0.01"
                                        : NULL;
        if (measured->runs) KD_TRY(time_queries(measured, &searched, ks[i]));
    }
    return KD_OK;
}

typedef struct query_case {
    const paper_table *table;
    const query_row *row;
    const float *points, *queries;
    uint64_t count; /* number of queries */
    const char *method;
    bool walks; /* the paper's algorithm, which is slow on a CPU */
} query_case;

static kd_status query_device(const query_case *work, int on, paper_row (*rows)[QUERY_KINDS]) {
    kd_status status = KD_OK;
    void *device_queries = NULL;
    const float *points = work->points, *queries = work->queries;
    const bool slow = on == TABLE_CPU && work->walks;
    const uint64_t query_count = slow && work->count > WALK_QUERIES ? WALK_QUERIES : work->count;
    const uint64_t bytes = query_count * 4 * sizeof *queries;
    query_tree tree = {.queries = queries, .count = query_count, .walks = work->walks};
    tree.on_cuda = on == TABLE_CUDA;
    kd_points_options options;
    kd_points_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", on == TABLE_CPU ? "cpu" : "cuda:0");
    const kd_point_array array = kd_point_array_make(points, work->row->count, 4, KD_FLOAT);
    KD_TRY_GOTO(kd_points_open(&tree.tree, &array, &options));
    kd_points_query_default(&tree.query);
    snprintf(tree.query.method, sizeof tree.query.method, "%s", work->method);
    if (tree.on_cuda) {
        KD_TRY_GOTO(device_memory_reserve(&device_queries, bytes));
        KD_TRY_GOTO(device_memory_upload(device_queries, queries, bytes));
    }
    tree.query.points =
        kd_point_array_make(tree.on_cuda ? device_queries : queries, query_count, 4, KD_FLOAT);
    KD_TRY_GOTO(query_all(work->table, &tree, work->row, on, rows));
done:
    kd_points_close(tree.tree);
    device_memory_free(device_queries);
    return status;
}

/* Sets a remark if the case does not fit into device memory. */
static kd_status query_cuda(const query_case *work, paper_row (*rows)[QUERY_KINDS]) {
    const kd_status status = query_device(work, TABLE_CUDA, rows);
    if (status != KD_ERROR_MEMORY) return status;
    status_clear();
    for (int i = 0; i < QUERY_KINDS; ++i) paper_row_leave(&(*rows)[i], TABLE_CUDA, "out of memory");
    return KD_OK;
}

static kd_status print_answers(const query_case *work, paper_row (*rows)[QUERY_KINDS]) {
    static const char *const names[QUERY_KINDS] = {"k 1",         "k 4",          "k 8",
                                                   "k 20",        "k 50",         "k 4, r 0.01",
                                                   "k 8, r 0.01", "k 20, r 0.01", "k 50, r 0.01"};
    for (int i = 0; i < QUERY_KINDS; ++i) {
        char label[64];
        snprintf(label, sizeof label, "%llu points, %s, %s", (unsigned long long)work->row->count,
                 names[i], work->method);
        (*rows)[i].description = label;
        (*rows)[i].published = work->row->rates[i];
        KD_TRY(paper_table_row(work->table, &(*rows)[i]));
    }
    return KD_OK;
}

static kd_status print_queries(const paper_table *table, const query_row *row, uint64_t query_count,
                               bool walks) {
    static const char *const methods[] = {"auto", "walk"};
    kd_status status = KD_OK;
    float *points = NULL, *queries = NULL;
    paper_row rows[QUERY_KINDS];
    memset(rows, 0, sizeof rows);
    for (int i = 0; i < QUERY_KINDS; ++i) paper_row_begin(&rows[i], table, "select", row->count, 4);
    const bool on_cpu = rows[0].measured[TABLE_CPU].runs,
               on_cuda = rows[0].measured[TABLE_CUDA].runs;
    if (on_cpu || on_cuda) {
        KD_TRY_GOTO(paper_uniform(&points, row->count, 4, 1));
        KD_TRY_GOTO(paper_uniform(&queries, query_count, 4, 2));
    }
    const query_case work = {table, row, points, queries, query_count, methods[walks], walks};
    if (on_cpu) KD_TRY_GOTO(query_device(&work, TABLE_CPU, &rows));
    if (on_cuda) KD_TRY_GOTO(query_cuda(&work, &rows));
    KD_TRY_GOTO(print_answers(&work, &rows));
done:
    memory_free(points);
    memory_free(queries);
    return status;
}

kd_status table_wald_query(const bench_request *request, unsigned parts) {
    static const query_row rows[] = {
        {1000, {888, 563, 359, 48, 14, 5200, 6600, 4000, 1800}},
        {10000, {664, 407, 262, 29.5, 8.7, 3300, 3900, 3300, 1600}},
        {100000, {396, 184, 122, 20.6, 6.0, 1700, 1800, 1700, 1100}},
        {1000000, {100, 42.1, 26.6, 7.5, 2.9, 334, 338, 282, 255}},
        {10000000, {44, 19.3, 12.3, 5.0, 2.3, 58.2, 58.5, 52.8, 51}},
        {100000000, {36, 16.5, 10.8, 4.7, 2.1, 19.1, 16.6, 14.2, 13.8}},
        {200000000, {34.8, 16.2, 10.6, 4.5, 2.1, 16.7, 12.2, 9.2, 8.9}}};
    (void)parts;
    const paper_table table =
        paper_table_make(request, "wald-query", "NVIDIA RTX 3090 Ti", true, 1000000);
    paper_table_head(&table, "Wald, stack-free traversal, Table 1, float4; \"walk\" is the paper's "
                             "algorithm, \"auto\" our fastest");
    const uint64_t queries = request->quick ? 2000 : table.on_cuda ? 10000000 : 1000000;
    for (int i = 0; i < 7; ++i)
        for (int m = 0; m < 2; ++m) {
            const bool small = i < 2 || !request->quick || request->sizes.count;
            if (small && paper_selects_size(request, rows[i].count))
                KD_TRY(print_queries(&table, &rows[i], queries, m == 1));
        }
    return KD_OK;
}

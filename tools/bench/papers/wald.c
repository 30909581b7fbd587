/* Wald 2022, "GPU-friendly, parallel, and (almost-)in-place construction of left-balanced k-d
   trees": Table 1, the example of section 5, Figure 1 (which the paper on queries shares) and
   section 6, whose times nobody has published. */
#include "core/files/file.h"
#include "points/builders.h"
#include "points/papers/build_wald.h"
#include "tools/bench/papers/papers.h"
#include "tools/bench/report/plot.h"
#include <string.h>

typedef struct wald_size {
    uint64_t count;
    const char *name;
    double rtx8000, a6000, rtx3090ti; /* ms; 0: see text */
    const char *text;
} wald_size;

/* --- Table 1 ------------------------------------------------------------------------------------
 */

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
            char what[64];
            const wald_size *of = sizes + i;
            if (!paper_wants_size(request, of->count)) continue;
            if (request->quick && of->count > 10000 && !request->sizes.count) continue;
            snprintf(what, sizeof what, "%s, %s, %s points", type, *builder, of->name);
            paper_row row = {.what = what,
                             .published = of->rtx3090ti,
                             .published_text = of->text,
                             .others = {of->rtx8000, of->a6000}};
            KD_TRY(paper_measure_build(&table, &row, *builder, of->count, dims, &options));
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

/* --- section 5 ----------------------------------------------------------------------------------
 */

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

/* The paper's last table is the tree: ours must be it. */
static kd_status compare_example(const uint32_t *ids) {
    static const float expected[TEN][2] = {{46, 63}, {15, 43}, {53, 67}, {40, 33}, {44, 58},
                                           {68, 21}, {62, 69}, {10, 15}, {45, 40}, {25, 54}};
    for (int i = 0; i < TEN; ++i)
        KD_REQUIRE(memcmp(example[ids[i]], expected[i], sizeof expected[i]) == 0, KD_ERROR_CHECK,
                   "node %d is point %u, not the paper's", i, ids[i]);
    printf("the tree is the paper's, point by point\n");
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
    printf("Wald, left-balanced build, section 5: ten points, ours step by step\n");
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

/* --- Figure 1 -----------------------------------------------------------------------------------
 */

enum { SIX = 6, SIDE = 320, MARGIN = 24 };
static const float six[SIX][2] = {{2, 3}, {5, 4}, {9, 6}, {4, 7}, {8, 1}, {7, 2}};

/* The part of the plane that a node divides, drawn with its line, then its children's. */
static void draw_node(FILE *to, const pointtree_nd_view *tree, uint32_t node, double lo[2],
                      double hi[2]) {
    if (node >= tree->count) return;
    const uint32_t axis = pointtree_nd_axis(tree, node);
    double at[2], from[2], end[2];
    for (uint32_t a = 0; a < 2; ++a) {
        at[a] = pointtree_nd_coordinate(tree, node, a);
        from[a] = a == axis ? at[a] : lo[a];
        end[a] = a == axis ? at[a] : hi[a];
    }
    const double unit = SIDE / 10.0, bottom = MARGIN + SIDE;
    fprintf(to,
            "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"%s\" stroke-width=\"2\"/><circle "
            "cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/><text x=\"%.1f\" y=\"%.1f\">(%.0f, %.0f)</text>\n",
            MARGIN + unit * from[0], bottom - unit * from[1], MARGIN + unit * end[0],
            bottom - unit * end[1], plot_colours[axis], MARGIN + unit * at[0],
            bottom - unit * at[1], MARGIN + unit * at[0] + 6, bottom - unit * at[1] - 6, at[0],
            at[1]);
    for (uint32_t right = 0; right < 2; ++right) {
        double part_lo[2] = {lo[0], lo[1]}, part_hi[2] = {hi[0], hi[1]};
        (right ? part_lo : part_hi)[axis] = at[axis];
        draw_node(to, tree, 2 * node + 1 + right, part_lo, part_hi);
    }
}

static kd_status draw_plane(const char *path, const pointtree_nd_view *tree) {
    file_output output;
    double lo[2] = {0, 0}, hi[2] = {10, 10};
    KD_TRY(file_output_open(&output, path));
    plot_begin(output.stream, SIDE + 2 * MARGIN, SIDE + 2 * MARGIN);
    fprintf(output.stream,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#666\"/>\n",
            MARGIN, MARGIN, SIDE, SIDE);
    draw_node(output.stream, tree, 0, lo, hi);
    fputs("</svg>\n", output.stream);
    return file_output_commit(&output);
}

static kd_status figure_1(const bench_request *request) {
    char path[4096];
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
    if (paper_picture(path, sizeof path, request, "figure-wald-1.svg"))
        status = draw_plane(path, &view);
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

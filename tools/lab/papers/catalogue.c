/* Every table and figure of the five papers by its number: what `kandela bench --table` takes. */
#include "tools/lab/papers/papers.h"
#include <string.h>

static const struct {
    const char *name, *what;
    kd_status (*run)(const bench_request *request, unsigned parts);
    unsigned part;
} catalogue[] = {
    {"wald-build-1", "Wald, left-balanced build, Table 1: int1 and float4, 1K to 1B points",
     table_wald_build, WALD_TABLE_1},
    {"wald-build-example", "section 5: ten points, step by step", table_wald_build, WALD_EXAMPLE},
    {"wald-build-figure1", "Figure 1: a tree in the plane", table_wald_build, WALD_FIGURE_1},
    {"wald-build-widest", "section 6: split by the widest side", table_wald_build, WALD_WIDEST},
    {"wald-query-1", "Wald, stack-free traversal, Table 1: 1K to 200M points", table_wald_query, 1},
    {"wald-query-figure1", "Figure 1: a tree in the plane", table_wald_build, WALD_FIGURE_1},
    {"choi-ye-1", "Choi and Ye, Table I: serial CPU and GPU", table_choi_ye, CHOI_TABLE_1},
    {"choi-ye-2", "Table II: stages of the build", table_choi_ye, CHOI_TABLE_2},
    {"choi-ye-3", "Table III: eight threads", table_choi_ye, CHOI_TABLE_3},
    {"choi-ye-figure1", "Figure 1: where the parallelism is, level by level", table_choi_ye,
     CHOI_FIGURE_1},
    {"choi-ye-figure2", "Figure 2: the models", table_choi_ye, CHOI_FIGURE_2},
    {"choi-ye-figure3", "Figure 3: build time against triangles", table_choi_ye, CHOI_FIGURE_3},
    {"choi-ye-threads", "section IV: builders by threads of the CPU", table_choi_ye, CHOI_THREADS},
    {"choi-ye-frames", "section V: the frame rates that its authors did not reach", table_choi_ye,
     CHOI_FRAMES},
    {"robinson-times", "Robinson, performance examples: each stage", table_robinson,
     ROBINSON_TIMES},
    {"robinson-threads", "the CPU examples by threads", table_robinson, ROBINSON_THREADS},
    {"robinson-figure1", "Figure 1: a single pass of the partition", table_robinson,
     ROBINSON_FIGURE_1},
    {"robinson-gpus", "multi-GPU performance", table_robinson, ROBINSON_GPUS},
    {"wehr-1", "Wehr and Radkowski, Table I: with Hu et al.'s column", table_wehr, 1},
    {"wehr-2", "Table II: builds by threads per block", table_wehr, 2},
    {"wehr-3", "Table III: approximate closest points", table_wehr_searches, 1},
    {"wehr-figure4", "Figure 4: what cutoff = block loses", table_wehr_figures, 1u << 4},
    {"wehr-figure5", "Figure 5: random points by threads per block", table_wehr_figures, 1u << 5},
    {"wehr-figure6", "Figure 6: a scan by threads per block", table_wehr_figures, 1u << 6},
    {"wehr-figure7", "Figure 7: the scanned points", table_wehr_figures, 1u << 7},
    {"wehr-figure8", "Figure 8: a chunk a thread, radix and insertion", table_wehr_figures,
     1u << 8},
    {"wehr-figure9", "Figure 9: a usual build on the CPU", table_wehr_figures, 1u << 9},
    {"wehr-figure10", "Figure 10: sorts of the final levels", table_wehr_figures, 1u << 10},
};
enum { TABLES = sizeof catalogue / sizeof *catalogue };

void bench_table_list(void) {
    for (int i = 0; i < TABLES; ++i) printf("%-20s %s\n", catalogue[i].name, catalogue[i].what);
}

/* The name itself, or the part of it before a "-". */
static bool is_named(const char *row, const char *name) {
    const size_t length = strlen(name);
    return strncmp(row, name, length) == 0 && (row[length] == '\0' || row[length] == '-');
}

kd_status bench_table(const char *name, const bench_request *request) {
    bool found = false;
    for (int i = 0; i < TABLES;) {
        unsigned parts = 0; /* of neighbours that measure together */
        const int first = i;
        for (; i < TABLES && catalogue[i].run == catalogue[first].run; ++i)
            if (is_named(catalogue[i].name, name)) parts |= catalogue[i].part;
        found = found || parts;
        if (parts) KD_TRY(catalogue[first].run(request, parts));
    }
    KD_REQUIRE(found, KD_ERROR_USAGE,
               "unknown table \"%s\", expected a paper (wald-build, wald-query, choi-ye, robinson, "
               "wehr) or one of its tables; --table list names them all",
               name);
    return KD_OK;
}

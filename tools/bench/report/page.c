#include "tools/bench/report/page.h"
#include "core/files/file.h"
#include "core/memory.h"
#include "core/system/place.h"
#include "tools/bench/report/charts.h"
#include "tools/bench/report/gallery.h"
#include "tools/bench/report/plot.h"
#include <errno.h>
#include <inttypes.h>
#include <kandela/version.h>
#include <string.h>

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789."

/* What a benchmark measures, for one who sees its name for the first time. */
static const struct {
    const char *bench, *title, *text;
} meanings[] = {
    {"points", "Building point trees",
     "A left-balanced k-d tree over points, made by each builder; all give the same tree."},
    {"knn", "Nearest neighbours",
     "For each query the k nearest points. Every answer is compared with an oracle's before it is "
     "timed."},
    {"index", "Indices for queries", "What a query's method prepares of a tree, points a second."},
    {"calls", "Calls of the library",
     "What a call takes by the caller's clock on a device: a tree opened, few and many queries, "
     "all "
     "points asking for those next to them."},
    {"changes", "Trees that change", "Points inserted and removed, beside a tree built anew."},
    {"build", "Building triangle trees",
     "A k-d tree by the surface area heuristic. Its SAH cost says how much work a ray has on "
     "average: a fast builder that makes a dear tree has won nothing."},
    {"trace", "Casting rays",
     "Primary rays are neighbours of each other, diffuse rays leave surfaces in all directions, "
     "random rays have nothing in common. Watertight casters never let a ray slip between "
     "triangles."},
    {"load", "Reading meshes", "Bytes of a file read per second."},
    {"photons", "Photons", "Photons stored per second, and the tree over them."},
    {"frame", "Frames", "A pass of sppm and a sample of photon at 1920 x 1080, stage by stage."},
    {"scaling", "Growth with size",
     "Cost against size on logarithmic axes. Builds should grow as n log n, a query and a ray as "
     "log n; times are of all queries, or rays, together."},
    {"wald-build", "Wald 2022, building left-balanced trees, Table 1",
     "The paper's table, ours beside it."},
    {"wald-query", "Wald 2022, stack-free queries, Table 1", "The paper's table, ours beside it."},
    {"robinson-times", "Robinson, performance examples", "Each stage apart."},
    {"robinson-threads", "Robinson, the CPU examples by threads", ""},
    {"robinson", "Robinson, performance examples", "The paper's totals, ours beside them."},
    {"wehr", "Wehr and Radkowski 2018, Tables I and III", "The paper's tables, ours beside them."},
    {"wehr-1", "Wehr and Radkowski 2018, Table I", "The paper's table, ours beside it."},
    {"wehr-2", "Wehr and Radkowski 2018, Table II", "Builds by points a block."},
    {"wehr-3", "Wehr and Radkowski 2018, Table III", "Closest points by the approximate search."},
    {"wehr-figure4", "Wehr and Radkowski 2018, Figure 4",
     "Build time by cutoff: the paper sets it to the block's size."},
    {"wehr-figure5", "Wehr and Radkowski 2018, Figure 5", "Random points by points a block."},
    {"wehr-figure6", "Wehr and Radkowski 2018, Figure 6", "A scan and a bunny by points a block."},
    {"wehr-figure8", "Wehr and Radkowski 2018, Figure 8", "Each chunk sorted by one core alone."},
    {"wehr-figure9", "Wehr and Radkowski 2018, Figure 9", "Builds on the CPU."},
    {"wehr-figure10", "Wehr and Radkowski 2018, Figure 10",
     "The final levels by three sorts; the size is that of a level's chunks."},
    {"choi-ye", "Choi and Ye 2020, Tables I and III", "The paper's tables, ours beside them."},
    {"choi-ye-figure3", "Choi and Ye 2020, Figure 3", "Build time against triangles."},
    {"choi-ye-threads", "Choi and Ye 2020, builders by threads", ""},
};

/* Whether a line before `index` has its machine, or its commit; of one machine's lines if it is
   named. */
static bool seen_before(const results *of, int index, const char *machine, bool commit) {
    const result_line *line = of->lines + index;
    for (int j = 0; j < index; ++j) {
        const result_line *other = of->lines + j;
        if (machine && strcmp(other->machine, machine) != 0) continue;
        if (strcmp(commit ? line->commit : line->machine,
                   commit ? other->commit : other->machine) == 0)
            return true;
    }
    return false;
}

/* Each machine once, with the commits that ran there. */
static void write_machines(FILE *to, const results *of) {
    if (of->count == 0) return;
    fputs("<p>Measured on ", to);
    const char *between = "";
    for (int i = 0; i < of->count; ++i) {
        const char *machine = of->lines[i].machine;
        if (!machine[0] || seen_before(of, i, NULL, false)) continue;
        fputs(between, to);
        plot_text(to, machine);
        fputs(" (commit", to);
        const char *before = " ";
        for (int j = i; j < of->count; ++j) {
            if (strcmp(of->lines[j].machine, machine) != 0 || seen_before(of, j, machine, true))
                continue;
            fputs(before, to);
            plot_text(to, of->lines[j].commit);
            before = ", ";
        }
        fputs(")", to);
        between = "; ";
    }
    fprintf(to, between[0] ? ".</p>\n" : "machines that the results do not name.</p>\n");
}

static void write_head(FILE *to, const results *of) {
    int unchecked = 0;
    for (int i = 0; i < of->count; ++i) unchecked += !of->lines[i].checked;
    char headline[64];
    snprintf(headline, sizeof headline, "Kandela %s: what was measured", kd_version());
    gallery_head(to, "results", headline);
    write_machines(to, of);
    if (of->count == 0) return;
    fprintf(to, "<p>%d rows; ", of->count);
    if (unchecked)
        fprintf(to, "%d of them were <b>not checked</b> against an oracle. ", unchecked);
    else
        fputs("each answer was checked against an oracle before it was timed. ", to);
    fputs("Times are medians. M/s are millions a second: points, queries, rays or photons. "
          "Absolute times hold only on the machine named.</p>\n",
          to);
}

static void write_row(FILE *to, const result_line *of) {
    char name[192];
    results_name(name, sizeof name, of);
    fputs("<tr><td>", to);
    plot_text(to, name);
    fprintf(to, "</td><td>%.4g</td><td>%.4g</td><td>%.4g to %.4g</td>", of->median, of->least,
            of->first_quarter, of->third_quarter);
    const double values[] = {of->rate * 1e-6, of->sah_cost, of->published, of->ratio};
    for (int i = 0; i < 4; ++i)
        fprintf(to, values[i] > 0 ? "<td>%.4g</td>" : "<td></td>", values[i]);
    fputs("<td>", to);
    plot_text(to, of->published_on);
    fprintf(to, "</td><td>%s</td></tr>\n", of->checked ? "yes" : "NO");
}

static void write_table(FILE *to, const result_line *const *lines, int count) {
    fprintf(to,
            "<details><summary>All %d rows</summary><div class=\"wide\"><table><tr><th>what</th>"
            "<th>median ms</th><th>least</th><th>middle half</th><th>M/s</th><th>SAH cost</th>"
            "<th>published</th><th>ratio</th><th>on</th><th>checked</th></tr>\n",
            count);
    for (int i = 0; i < count; ++i) write_row(to, lines[i]);
    fputs("</table></div></details>\n", to);
}

/* FOLDER/chart-BENCH-CASE.svg, what no file's name should hold as dashes. */
static kd_status write_chart(const char *folder, const char *title, const result_line *const *lines,
                             int count) {
    char name[192], path[4096], headline[192];
    snprintf(name, sizeof name, "%s-%s", lines[0]->bench, lines[0]->set);
    for (char *at = name; *at; ++at)
        if (!strchr(NAME_CHARACTERS, *at)) *at = '-';
    const int length = snprintf(path, sizeof path, "%s/chart-%s.svg", folder, name);
    KD_REQUIRE(length > 0 && (size_t)length < sizeof path, KD_ERROR_USAGE, "%s: too long a name",
               folder);
    snprintf(headline, sizeof headline, "%s: %s", title, lines[0]->set);
    return charts_write(path, headline, lines, count);
}

/* The cases of a benchmark, each with its charts. `all`: its lines; `some`: room for as many. */
static kd_status write_cases(FILE *to, const char *folder, const char *title,
                             const result_line *const *all, int count, const result_line **some) {
    for (int i = 0; i < count; ++i) {
        bool first = true;
        for (int j = 0; j < i; ++j) first = first && strcmp(all[i]->set, all[j]->set) != 0;
        if (!first) continue;
        int alike = 0;
        for (int j = i; j < count; ++j)
            if (strcmp(all[i]->set, all[j]->set) == 0) some[alike++] = all[j];
        KD_TRY(charts_draw(to, all[i]->set, some, alike));
        KD_TRY(write_chart(folder, title, some, alike));
    }
    return KD_OK;
}

static kd_status write_bench(FILE *to, const char *folder, const results *of, const char *bench,
                             const result_line **all, const result_line **some) {
    int count = 0;
    for (int i = 0; i < of->count; ++i)
        if (strcmp(of->lines[i].bench, bench) == 0) all[count++] = of->lines + i;
    const char *title = bench, *text = "";
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; ++i)
        if (strcmp(meanings[i].bench, bench) == 0) {
            title = meanings[i].title;
            text = meanings[i].text;
        }
    fputs("<h2>", to);
    plot_text(to, title);
    fprintf(to, "</h2>\n<p>%s</p>\n", text);
    KD_TRY(write_cases(to, folder, title, all, count, some));
    write_table(to, all, count);
    return KD_OK;
}

static kd_status write_body(FILE *to, const char *folder, const results *of,
                            const result_line **all, const result_line **some) {
    for (int i = 0; i < of->count; ++i) {
        bool first = true;
        for (int j = 0; j < i; ++j)
            first = first && strcmp(of->lines[i].bench, of->lines[j].bench) != 0;
        if (first) KD_TRY(write_bench(to, folder, of, of->lines[i].bench, all, some));
    }
    return KD_OK;
}

kd_status page_write(const char *folder, const results *of) {
    KD_REQUIRE(place_make_folder(folder), KD_ERROR_RUNTIME, "%s: cannot make: %s", folder,
               strerror(errno));
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/index.html", folder);
    KD_REQUIRE(length > 0 && (size_t)length < sizeof path, KD_ERROR_USAGE,
               "a folder's name of %zu characters: too long", strlen(folder));
    file_output output;
    KD_TRY(file_output_open(&output, path));
    const result_line **room = NULL;
    kd_status status = memory_reserve((void **)&room, 2 * (uint64_t)of->count + 1, sizeof *room);
    if (status == KD_OK) {
        write_head(output.stream, of);
        status = write_body(output.stream, folder, of, room, room + of->count);
        if (status == KD_OK) status = gallery_write(output.stream, folder);
        fputs("</body></html>\n", output.stream);
    }
    memory_free((void *)room);
    if (status == KD_OK) return file_output_commit(&output);
    file_output_discard(&output);
    return status;
}

#include "tools/lab/tree_levels.h"
#include "accel/tree/sah.h"
#include "accel/tree/walk.h"
#include "core/files/file.h"
#include "core/math/rng.h"
#include "scenes/mesh/origin.h"
#include "tools/lab/report.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- lines ------------------------------------------------------------------------------------ */

typedef struct line {
    double origin[3], delta[3];
} line;

static void on_sphere(double out[3], const double centre[3], double radius, float u, float v) {
    const double z = 2 * (double)u - 1, ring = sqrt(fmax(0, 1 - z * z));
    const double angle = 2 * 3.14159265358979323846 * (double)v;
    out[0] = centre[0] + radius * ring * cos(angle);
    out[1] = centre[1] + radius * ring * sin(angle);
    out[2] = centre[2] + radius * z;
}

/* A chord of the box's bounding sphere, with t from 0 to 1. */
static line draw_line(box3 box, uint64_t number) {
    const rng_block r = rng_draw(rng_key_make(11, 0, number), 0, 0);
    double centre[3], end[3], radius = 0;
    line drawn;
    for (int axis = 0; axis < 3; ++axis) {
        const double lo = (double)vec3_axis(box.lo, axis), hi = (double)vec3_axis(box.hi, axis);
        centre[axis] = 0.5 * (lo + hi);
        radius += 0.25 * (hi - lo) * (hi - lo);
    }
    radius = 1.0001 * sqrt(radius);
    on_sphere(drawn.origin, centre, radius, r.value[0], r.value[1]);
    on_sphere(end, centre, radius, r.value[2], r.value[3]);
    for (int axis = 0; axis < 3; ++axis) drawn.delta[axis] = end[axis] - drawn.origin[axis];
    return drawn;
}

/* Computes the interval of the line in the box; returns false if there is none. */
static bool cut_box(const line *line, box3 box, double *near, double *far) {
    *near = 0;
    *far = 1;
    for (int axis = 0; axis < 3; ++axis) {
        const double lo = (double)vec3_axis(box.lo, axis), hi = (double)vec3_axis(box.hi, axis);
        const double delta = line->delta[axis];
        const double a = (lo - line->origin[axis]) / delta, b = (hi - line->origin[axis]) / delta;
        if (delta == 0) {
            if (line->origin[axis] < lo || line->origin[axis] > hi) return false;
            continue;
        }
        *near = fmax(*near, fmin(a, b));
        *far = fmin(*far, fmax(a, b));
    }
    return *near <= *far;
}

static void pierce(tree_levels *levels, const tritree *tree, const line *line, uint32_t at,
                   uint32_t level, double near, double far) {
    const tritree_node node = tree->nodes[at];
    ++tree_level_at(levels, level)->intersected;
    if (tritree_is_leaf(node)) return;
    const int axis = tritree_axis(node);
    const double t = ((double)node.split - line->origin[axis]) / line->delta[axis];
    const uint32_t first = tritree_left(node) + (line->delta[axis] < 0), left = tritree_left(node);
    const uint32_t second = first == left ? left + 1 : left;
    if (near <= t) pierce(levels, tree, line, first, level + 1, near, fmin(far, t));
    if (far >= t) pierce(levels, tree, line, second, level + 1, fmax(near, t), far);
}

/* Traces the same line as a ray up to its hit. */
static void cast_line(tree_levels *levels, const tritree_view *view, const line *line) {
    ray ray;
    memset(&ray, 0, sizeof ray);
    ray.origin = vec3_make((float)line->origin[0], (float)line->origin[1], (float)line->origin[2]);
    ray.direction = vec3_make((float)line->delta[0], (float)line->delta[1], (float)line->delta[2]);
    ray.tmin = 0;
    ray.tmax = 1;
    tritree_counts counts = {0, 0, 0};
    tritree_closest_counted(view, ray, &counts);
    levels->nodes_read += (double)counts.nodes;
    levels->leaves_read += (double)counts.leaves;
    levels->triangles_tested += (double)counts.triangles;
}

static void cast_lines(tree_levels *levels, const tritree *tree, uint64_t lines) {
    const tritree_view view = tritree_get_view(tree);
    for (uint64_t number = 0; levels->lines < lines && number < 64 * lines; ++number) {
        const line drawn = draw_line(view.box, number);
        double near, far;
        if (!cut_box(&drawn, view.box, &near, &far)) continue;
        ++levels->lines;
        pierce(levels, tree, &drawn, 0, 0, near, far);
        cast_line(levels, &view, &drawn);
    }
    const double each = levels->lines ? 1.0 / (double)levels->lines : 0;
    for (uint32_t level = 0; level < levels->count; ++level)
        levels->levels[level].intersected *= each;
    levels->nodes_read *= each;
    levels->leaves_read *= each;
    levels->triangles_tested *= each;
}

void tree_levels_measure(tree_levels *out, const tritree *tree, uint64_t lines) {
    tree_levels_count(out, tree);
    if (out->count && sah_half_area(tritree_get_view(tree).box) > 0) cast_lines(out, tree, lines);
}

/* Colours of levels: from blue at the root to red, repeated six times. */
static void colour_of(int rgb[3], uint32_t level) {
    static const int colours[6][3] = {{0, 90, 200},  {0, 160, 160}, {60, 170, 60},
                                      {200, 180, 0}, {230, 120, 0}, {210, 40, 40}};
    memcpy(rgb, colours[level % 6], sizeof colours[0]);
}

typedef struct writing {
    FILE *file;
    const tritree *tree;
    uint32_t max_level;
    uint64_t boxes;
    const double *origin; /* origin of the scene (3 numbers) */
} writing;

static void count_box(void *context, uint32_t at, uint32_t level, box3 box) {
    (void)at;
    (void)level;
    (void)box;
    ++((writing *)context)->boxes;
}

/* Writes a corner in the coordinates of the scene's files. */
static void write_corner(const writing *w, box3 box, int corner, const int rgb[3]) {
    const vec3 local = vec3_make((corner & 1 ? box.hi : box.lo).x, (corner & 2 ? box.hi : box.lo).y,
                                 (corner & 4 ? box.hi : box.lo).z);
    const int digits = origin_is_zero(w->origin) ? 9 : 15;
    double at[3];
    origin_to_world(at, w->origin, local);
    fprintf(w->file, "%.*g %.*g %.*g %d %d %d\n", digits, at[0], digits, at[1], digits, at[2],
            rgb[0], rgb[1], rgb[2]);
}

static void write_corners(void *context, uint32_t at, uint32_t level, box3 box) {
    writing *w = (writing *)context;
    int rgb[3];
    (void)at;
    colour_of(rgb, level);
    for (int corner = 0; corner < 8; ++corner) write_corner(w, box, corner, rgb);
}

static void write_edges(void *context, uint32_t at, uint32_t level, box3 box) {
    writing *w = (writing *)context;
    (void)at;
    (void)box;
    int rgb[3];
    colour_of(rgb, level);
    for (uint64_t corner = 0; corner < 8; ++corner)
        for (uint64_t axis = 0; axis < 3; ++axis)
            if (!(corner >> axis & 1))
                fprintf(w->file, "%" PRIu64 " %" PRIu64 " %d %d %d\n", 8 * w->boxes + corner,
                        8 * w->boxes + (corner | 1u << axis), rgb[0], rgb[1], rgb[2]);
    ++w->boxes;
}

static void write_ply(writing *w) {
    const char *type = origin_is_zero(w->origin) ? "float" : "double";
    tree_visit(w->tree, w->max_level, count_box, w);
    fprintf(w->file,
            "ply\nformat ascii 1.0\ncomment boxes of a k-d tree's nodes down to level %u\n"
            "element vertex %" PRIu64 "\nproperty %s x\nproperty %s y\nproperty %s z\n"
            "property uchar red\nproperty uchar green\nproperty uchar blue\n"
            "element edge %" PRIu64 "\nproperty int vertex1\nproperty int vertex2\n"
            "property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n",
            w->max_level, 8 * w->boxes, type, type, type, 12 * w->boxes);
    tree_visit(w->tree, w->max_level, write_corners, w);
    w->boxes = 0;
    tree_visit(w->tree, w->max_level, write_edges, w);
}

static void write_dot_node(void *context, uint32_t at, uint32_t level, box3 box) {
    writing *w = (writing *)context;
    const tritree_node node = w->tree->nodes[at];
    (void)box;
    if (tritree_is_leaf(node)) {
        fprintf(w->file, "  n%u [shape=box, label=\"%u\"];\n", at, tritree_count(node));
        return;
    }
    fprintf(w->file, "  n%u [label=\"%c = %.*g\"];\n", at, "xyz"[tritree_axis(node)],
            origin_is_zero(w->origin) ? 4 : 10, (double)node.split + w->origin[tritree_axis(node)]);
    for (uint32_t side = 0; side < 2 && level < w->max_level; ++side)
        fprintf(w->file, "  n%u -> n%u;\n", at, tritree_left(node) + side);
}

static void write_dot(writing *w) {
    fprintf(w->file,
            "// a k-d tree down to level %u: inner nodes with their planes, leaves with their "
            "triangles\ndigraph tree {\n  node [fontname=\"sans-serif\", fontsize=10];\n",
            w->max_level);
    tree_visit(w->tree, w->max_level, write_dot_node, w);
    fputs("}\n", w->file);
}

static void write_json(FILE *file, const tritree *tree, const tree_levels *levels) {
    const tritree_statistics *s = &tree->statistics;
    fprintf(file,
            "{\n  \"nodes\": %" PRIu64 ", \"leaves\": %" PRIu64 ", \"references\": %" PRIu64
            ", \"depth\": %u, \"sah_cost\": %.9g,\n  \"lines\": %" PRIu64
            ", \"nodes_read\": %.9g, \"leaves_read\": %.9g, \"triangles_tested\": %.9g,\n"
            "  \"leaf_sizes\": [",
            s->nodes, s->leaves, s->references, s->depth, s->sah_cost, levels->lines,
            levels->nodes_read, levels->leaves_read, levels->triangles_tested);
    for (int i = 0; i < LEAF_SIZES; ++i)
        fprintf(file, "%s%" PRIu64, i ? ", " : "", levels->leaf_sizes[i]);
    fputs("],\n  \"levels\": [\n", file);
    for (uint32_t l = 0; l < levels->count; ++l) {
        const tree_level *at = &levels->levels[l];
        fprintf(
            file,
            "    {\"level\": %u, \"nodes\": %" PRIu64 ", \"leaves\": %" PRIu64
            ", \"empty_leaves\": %" PRIu64 ", \"references\": %" PRIu64
            ", \"expected\": %.9g, \"met\": %.9g, \"inner_cost\": %.9g, \"leaf_cost\": %.9g}%s\n",
            l, at->nodes, at->leaves, at->empty_leaves, at->references, at->expected,
            at->intersected, at->inner_cost, at->leaf_cost, l + 1 < levels->count ? "," : "");
    }
    fputs("  ]\n}\n", file);
}

bool tree_export_knows(const char *path) {
    const char *suffix = file_suffix(path);
    return strcmp(suffix, ".ply") == 0 || strcmp(suffix, ".dot") == 0 ||
           strcmp(suffix, ".json") == 0;
}

kd_status tree_export(const char *path, const tritree *tree, const double origin[3],
                      const tree_levels *levels, uint32_t max_level) {
    KD_REQUIRE(tree_export_knows(path), KD_ERROR_USAGE,
               "%s: unknown suffix; expected .ply, .dot or .json", path);
    file_output output;
    KD_TRY(file_output_open(&output, path));
    writing w = {output.stream, tree, max_level, 0, origin};
    const char *suffix = file_suffix(path);
    if (strcmp(suffix, ".ply") == 0)
        write_ply(&w);
    else if (strcmp(suffix, ".dot") == 0)
        write_dot(&w);
    else
        write_json(output.stream, tree, levels);
    return file_output_commit(&output);
}

/* --- the page --------------------------------------------------------------------------------- */

kd_status tree_report(const char *folder, const tritree *tree, const tree_levels *levels,
                      const char *name) {
    char text[640], path[4096];
    const double origin[3] = {0, 0, 0};
    double expected = 0, intersected = 0;
    for (uint32_t l = 0; l < levels->count; ++l)
        expected += levels->levels[l].expected, intersected += levels->levels[l].intersected;
    KD_TRY(report_path(path, folder, "levels.json"));
    KD_TRY(tree_export(path, tree, origin, levels, 0));
    snprintf(text, sizeof text,
             "%.200s: %" PRIu64 " nodes, %" PRIu64 " leaves, depth %u, SAH cost %.4g. A line "
             "through the box meets %.4g nodes by the share of their surfaces, %.4g as counted on "
             "%" PRIu64 " lines; a ray stops at its hit and reads %.4g nodes, %.4g leaves and %.4g "
             "triangles.",
             name, tree->statistics.nodes, tree->statistics.leaves, tree->statistics.depth,
             tree->statistics.sah_cost, expected, intersected, levels->lines, levels->nodes_read,
             levels->leaves_read, levels->triangles_tested);
    return report_write(folder, "A k-d tree, level by level", text);
}

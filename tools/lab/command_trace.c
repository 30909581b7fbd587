#include "accel/builders.h"
#include "accel/rays/batch.h"
#include "accel/tree/walk.h"
#include "core/image/image.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "scenes/assembly/scene.h"
#include "scenes/assembly/scene_camera.h"
#include "scenes/describe/render_options.h"
#include "scenes/mesh/origin.h"
#include "tools/lab/report.h"
#include "tools/program/command.h"
#include "tools/program/output.h"
#include "tools/program/progress.h"
#include "tools/program/render_values.h"
#include <assert.h>
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct trace_leaf {
    uint32_t node, depth;
    float near, far;    /* interval of the ray in it, widened by the slack */
    uint32_t triangles; /* tested */
    bool found;         /* contains a hit nearer than the earlier ones */
} trace_leaf;

typedef struct trace_walk {
    ray_hit hit;
    tritree_counts counts;
    uint64_t empty_leaves;
    trace_leaf *leaves; /* counts.leaves elements, in the order of visits */
} trace_walk;

typedef struct walking {
    const tritree_view *tree;
    struct ray ray;
    leaf_query request;
    tritree_walk walk;
    trace_walk *out;
    uint64_t capacity; /* capacity of `leaves` */
} walking;

static void visit_leaf(walking *w, trace_leaf at, tritree_node leaf) {
    trace_walk *out = w->out;
    at.triangles = tritree_count(leaf);
    at.found = tritree_leaf_intersect(&w->request, leaf);
    out->hit = w->request.best;
    assert(out->counts.leaves < w->capacity);
    out->leaves[out->counts.leaves++] = at;
    out->counts.triangles += at.triangles;
    out->empty_leaves += at.triangles == 0;
}

/* Front-to-back traversal with a stack, as in tritree_cast. */
static void visit(walking *w, trace_leaf at) {
    const tritree_node node = w->tree->nodes[at.node];
    const tritree_walk *walk = &w->walk;
    ++w->out->counts.nodes;
    if (tritree_is_leaf(node)) {
        visit_leaf(w, at, node);
        return;
    }
    const int axis = tritree_axis(node);
    const float t = (node.split - walk->origin[axis]) * walk->inverse[axis];
    const float low = t - walk->slack[axis], high = t + walk->slack[axis];
    const bool only_first = low > at.far, only_second = at.near > high;
    trace_leaf first = at, second = at;
    first.node = tritree_left(node) + (walk->negative[axis] ? 1 : 0);
    second.node = tritree_left(node) + (walk->negative[axis] ? 0 : 1);
    first.depth = second.depth = at.depth + 1;
    first.far = float_min(high, at.far);
    if (only_second) {
        visit(w, second);
        return;
    }
    visit(w, first);
    second.near = float_max(low, at.near);
    if (!only_first && second.near <= w->out->hit.t + walk->slack_t) visit(w, second);
}

/* Takes the steps of tritree_closest_counted, so counts are equal. */
static kd_status trace_walk_open(trace_walk *out, const tritree_view *tree, ray ray) {
    memset(out, 0, sizeof *out);
    out->hit.t = ray.tmax;
    out->hit.triangle = KD_NONE;
    walking w = {.tree = tree, .ray = ray, .out = out};
    w.request.tree = tree;
    w.request.tmin = ray.tmin;
    w.request.best = out->hit;
    if (!tritree_walk_begin(&w.walk, tree, ray)) return KD_OK;
    tritree_counts counts = {0, 0, 0};
    tritree_closest_counted(tree, ray, &counts);
    w.capacity = counts.leaves;
    KD_TRY(KD_RESERVE(out->leaves, w.capacity));
    w.request.precomputed = precomputed_ray_make(ray);
    const trace_leaf root = {.near = w.walk.near, .far = w.walk.far};
    visit(&w, root);
    assert(memcmp(&counts, &out->counts, sizeof counts) == 0);
    return KD_OK;
}

/* accepts a zeroed struct */
static void trace_walk_close(trace_walk *owned) {
    memory_free(owned->leaves);
    memset(owned, 0, sizeof *owned);
}

typedef struct trace_values {
    general_options general;
    kd_render_options render;
    camera view;
    camera_values look; /* the options of `view` */
    int32_t pixel[2];
    const char *heat, *report; /* NULL: none */
    bool json;
} trace_values;

typedef struct tracing {
    const char *path; /* path of the scene */
    trace_values values;
    scene *loaded;
    const char *builder;
    tritree tree;
    scene_view view;
    image heat;
    double mean_nodes, mean_triangles;
    uint64_t max_nodes, max_triangles; /* maxima over all rays */
    int32_t worst[2];                  /* the pixel of max_nodes */
    struct ray ray;
    trace_walk walk;
    job_control job;
} tracing;

/* Returns the ray through the centre of a pixel. */
static ray pixel_ray(const tracing *work, int32_t x, int32_t y) {
    static const rng_block centre = {{0.5f, 0.5f, 0.5f, 0.5f}};
    const trace_values *values = &work->values;
    return camera_ray(&values->view, values->render.width, values->render.height, x, y, centre);
}

static kd_status load(tracing *work, const option_line *line) {
    trace_values *values = &work->values;
    kd_render_options from_file;
    kd_render_options_default(&from_file);
    render_options_take_input(&from_file, &values->render);
    KD_TRY(scene_open(&work->loaded, work->path, &from_file, &work->job));
    values->render = from_file;
    const double *origin = scene_origin(work->loaded);
    values->view = scene_camera(work->loaded);
    const camera_values before = camera_values_of(&values->view, origin);
    values->look = before;
    KD_TRY(option_line_apply(line, values));
    camera_values_apply(&values->view, &before, &values->look, origin);
    KD_REQUIRE(values->pixel[0] < values->render.width && values->pixel[1] < values->render.height,
               KD_ERROR_USAGE, "pixel %d,%d is outside the image of %dx%d", values->pixel[0],
               values->pixel[1], values->render.width, values->render.height);
    scene_set_camera(work->loaded, &values->view);
    const kd_render_options *options = &values->render;
    const tritree_builder *builder = NULL;
    KD_TRY(tritree_builder_choose(&builder, options->builder));
    work->builder = builder->name;
    scene_view *view = &work->view;
    *view = scene_get_view(work->loaded);
    const tritree_input input = {view->mesh.positions, view->mesh.triangles,
                                 view->mesh.position_count, view->mesh.triangle_count};
    const tritree_options tree_options = {options->sah_traversal_cost, options->sah_intersect_cost,
                                          options->sah_empty_factor, 0};
    KD_TRY(tritree_open(&work->tree, &input, &tree_options, work->builder, &work->job));
    view->tree = tritree_get_view(&work->tree);
    const vec3 up = scene_up(work->loaded);
    if (scene_camera_is_default(work->loaded) && interior_kind_of(view, up) == INTERIOR_LIT)
        values->view = room_camera(view, up, (float)options->width / (float)options->height);
    return KD_OK;
}

typedef struct heat_planes {
    float *nodes, *triangles;
} heat_planes;

static void add_up(tracing *work, const heat_planes *planes, uint64_t first,
                   const tritree_counts *counts, uint64_t count) {
    const uint64_t width = (uint64_t)work->values.render.width;
    for (uint64_t i = 0; i < count; ++i) {
        const tritree_counts *c = &counts[i];
        planes->nodes[first + i] = (float)c->nodes;
        planes->triangles[first + i] = (float)c->triangles;
        work->mean_nodes += (double)c->nodes;
        work->mean_triangles += (double)c->triangles;
        if (c->triangles > work->max_triangles) work->max_triangles = c->triangles;
        if (c->nodes <= work->max_nodes) continue;
        work->max_nodes = c->nodes;
        work->worst[0] = (int32_t)((first + i) % width);
        work->worst[1] = (int32_t)((first + i) / width);
    }
}

enum { BAND = 1 << 16 }; /* rays per batch */

static kd_status cast_picture(tracing *work, const heat_planes *planes, ray *rays, ray_hit *hits,
                              tritree_counts *counts) {
    const uint64_t width = (uint64_t)work->values.render.width;
    const uint64_t pixels = width * (uint64_t)work->values.render.height;
    for (uint64_t first = 0; first < pixels; first += BAND) {
        const uint64_t count = pixels - first < BAND ? pixels - first : BAND;
        for (uint64_t i = 0; i < count; ++i)
            rays[i] =
                pixel_ray(work, (int32_t)((first + i) % width), (int32_t)((first + i) / width));
        KD_TRY(trace_closest(&work->view.tree, rays, hits, count, counts, &work->job));
        add_up(work, planes, first, counts, count);
    }
    work->mean_nodes /= (double)pixels;
    work->mean_triangles /= (double)pixels;
    return KD_OK;
}

/* Traces the rays of all pixels; grey is the number of nodes relative to the maximum. */
static kd_status measure_picture(tracing *work) {
    kd_status status = KD_OK;
    heat_planes planes;
    ray *rays = NULL;
    ray_hit *hits = NULL;
    tritree_counts *counts = NULL;
    image *heat = &work->heat;
    KD_TRY_GOTO(image_open(heat, work->values.render.width, work->values.render.height));
    KD_TRY_GOTO(image_add(heat, "KD.nodes", &planes.nodes));
    KD_TRY_GOTO(image_add(heat, "KD.triangles", &planes.triangles));
    KD_TRY_GOTO(KD_RESERVE(rays, BAND));
    KD_TRY_GOTO(KD_RESERVE(hits, BAND));
    KD_TRY_GOTO(KD_RESERVE(counts, BAND));
    KD_TRY_GOTO(cast_picture(work, &planes, rays, hits, counts));
    if (!work->values.heat && !work->values.report) goto done;
    static const char *const grey[] = {"R", "G", "B"};
    for (int k = 0; k < 3; ++k) {
        float *plane = NULL;
        KD_TRY_GOTO(image_add(heat, grey[k], &plane));
        const uint64_t pixels = (uint64_t)heat->width * (uint64_t)heat->height;
        for (uint64_t i = 0; i < pixels && work->max_nodes; ++i)
            plane[i] = planes.nodes[i] / (float)work->max_nodes;
    }
    const image_encoding encoding = {.exposure = 0, .tonemap = KD_TONEMAP_LINEAR};
    if (work->values.heat) KD_TRY_GOTO(image_write(heat, work->values.heat, &encoding));
done:
    memory_free(rays);
    memory_free(hits);
    memory_free(counts);
    return status;
}

static void print_text(const tracing *work) {
    const trace_walk *walk = &work->walk;
    const kd_render_options *options = &work->values.render;
    const tritree_statistics *tree = &work->tree.statistics;
    printf("pixel %d,%d of %dx%d: %" PRIu64 " nodes, %" PRIu64 " of them leaves (%" PRIu64
           " empty), %" PRIu64 " triangles tested\n",
           work->values.pixel[0], work->values.pixel[1], options->width, options->height,
           walk->counts.nodes, walk->counts.leaves, walk->empty_leaves, walk->counts.triangles);
    if (walk->hit.triangle == KD_NONE)
        puts("hit: nothing");
    else
        printf("hit: triangle %u at t %.9g\n", walk->hit.triangle, (double)walk->hit.t);
    printf("all pixels: %.4g nodes and %.4g triangles per ray; maximum %" PRIu64
           " nodes (pixel %d,%d), %" PRIu64 " triangles\n",
           work->mean_nodes, work->mean_triangles, work->max_nodes, work->worst[0], work->worst[1],
           work->max_triangles);
    printf("tree: %s, %" PRIu64 " nodes, depth %u, SAH cost %.4g\n", work->builder, tree->nodes,
           tree->depth, tree->sah_cost);
    if (walk->counts.leaves) puts("      leaf  depth  triangles          from            to");
    for (uint64_t i = 0; i < walk->counts.leaves; ++i) {
        const trace_leaf *leaf = &walk->leaves[i];
        printf("%10u %6u %10u %13.6g %13.6g%s\n", leaf->node, leaf->depth, leaf->triangles,
               (double)leaf->near, (double)leaf->far, leaf->found ? "  hit" : "");
    }
}

static void add_vec3(cJSON *json, const char *name, vec3 v) {
    const float values[3] = {v.x, v.y, v.z};
    cJSON_AddItemToObject(json, name, cJSON_CreateFloatArray(values, 3));
}

/* Adds a position in the coordinates of the scene's files. */
static void add_place(cJSON *json, const char *name, const tracing *work, vec3 at) {
    double values[3];
    origin_to_world(values, work->view.origin, at);
    cJSON_AddItemToObject(json, name, cJSON_CreateDoubleArray(values, 3));
}

static void add_leaves(cJSON *json, const trace_walk *walk) {
    cJSON *visited = cJSON_AddArrayToObject(json, "visited");
    for (uint64_t i = 0; i < walk->counts.leaves; ++i) {
        const trace_leaf *leaf = &walk->leaves[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddNumberToObject(item, "node", leaf->node);
        cJSON_AddNumberToObject(item, "depth", leaf->depth);
        cJSON_AddNumberToObject(item, "triangles", leaf->triangles);
        cJSON_AddNumberToObject(item, "from", (double)leaf->near);
        cJSON_AddNumberToObject(item, "to", (double)leaf->far);
        cJSON_AddBoolToObject(item, "hit", leaf->found);
        cJSON_AddItemToArray(visited, item);
    }
}

static cJSON *make_json(const tracing *work) {
    const trace_walk *walk = &work->walk;
    const kd_render_options *options = &work->values.render;
    cJSON *root = cJSON_CreateObject();
    const int resolution[2] = {options->width, options->height};
    cJSON_AddItemToObject(root, "pixel", cJSON_CreateIntArray(work->values.pixel, 2));
    cJSON_AddItemToObject(root, "resolution", cJSON_CreateIntArray(resolution, 2));
    add_place(root, "origin", work, work->ray.origin);
    add_vec3(root, "direction", work->ray.direction);
    cJSON_AddNumberToObject(root, "nodes", (double)walk->counts.nodes);
    cJSON_AddNumberToObject(root, "leaves", (double)walk->counts.leaves);
    cJSON_AddNumberToObject(root, "empty_leaves", (double)walk->empty_leaves);
    cJSON_AddNumberToObject(root, "triangles", (double)walk->counts.triangles);
    if (walk->hit.triangle == KD_NONE) {
        cJSON_AddNullToObject(root, "hit");
    } else {
        cJSON *hit = cJSON_AddObjectToObject(root, "hit");
        cJSON_AddNumberToObject(hit, "triangle", walk->hit.triangle);
        cJSON_AddNumberToObject(hit, "t", (double)walk->hit.t);
        cJSON_AddNumberToObject(hit, "u", (double)walk->hit.u);
        cJSON_AddNumberToObject(hit, "v", (double)walk->hit.v);
        add_place(hit, "position", work, ray_at(&work->ray, walk->hit.t));
    }
    cJSON *picture = cJSON_AddObjectToObject(root, "picture");
    cJSON_AddNumberToObject(picture, "mean_nodes", work->mean_nodes);
    cJSON_AddNumberToObject(picture, "mean_triangles", work->mean_triangles);
    cJSON_AddNumberToObject(picture, "most_nodes", (double)work->max_nodes);
    cJSON_AddNumberToObject(picture, "most_triangles", (double)work->max_triangles);
    cJSON_AddItemToObject(picture, "most_nodes_pixel", cJSON_CreateIntArray(work->worst, 2));
    cJSON *tree = cJSON_AddObjectToObject(root, "tree");
    cJSON_AddStringToObject(tree, "builder", work->builder);
    cJSON_AddNumberToObject(tree, "nodes", (double)work->tree.statistics.nodes);
    cJSON_AddNumberToObject(tree, "depth", work->tree.statistics.depth);
    cJSON_AddNumberToObject(tree, "sah_cost", work->tree.statistics.sah_cost);
    add_leaves(root, walk);
    return root;
}

static kd_status print_json(const tracing *work) {
    const uint64_t shortages = memory_shortages();
    cJSON *root = make_json(work);
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    if (memory_shortages() != shortages) {
        cJSON_free(text);
        text = NULL;
    }
    KD_REQUIRE(text, KD_ERROR_MEMORY, "out of memory for the JSON of %" PRIu64 " leaves",
               work->walk.counts.leaves);
    puts(text);
    cJSON_free(text);
    return KD_OK;
}

/* Writes the heat map and its page. */
static kd_status write_report(const tracing *work, const char *folder) {
    char path[4096], text[768];
    const trace_values *values = &work->values;
    const tritree_counts *counts = &work->walk.counts;
    KD_TRY(report_path(path, folder, "figure-heat.png"));
    const image_encoding encoding = {.exposure = 0, .tonemap = KD_TONEMAP_LINEAR};
    KD_TRY(image_write(&work->heat, path, &encoding));
    KD_TRY(report_scale(folder, "figure-heat", "nodes read by the ray of each pixel",
                        (double)work->max_nodes));
    snprintf(text, sizeof text,
             "%.200s, tree by %s: the brighter a pixel, the more nodes its ray reads. Mean %.1f "
             "nodes and %.1f triangles; the most nodes, %" PRIu64 ", at pixel %d,%d. The ray of "
             "pixel %d,%d reads %" PRIu64 " nodes, visits %" PRIu64 " leaves and tests %" PRIu64
             " triangles.",
             work->path, work->builder, work->mean_nodes, work->mean_triangles, work->max_nodes,
             work->worst[0], work->worst[1], values->pixel[0], values->pixel[1], counts->nodes,
             counts->leaves, counts->triangles);
    return report_write(folder, "Nodes that rays read", text);
}

static kd_status trace(tracing *work, const option_line *line) {
    trace_values *values = &work->values;
    kd_render_options_default(&values->render);
    KD_TRY(option_line_apply(line, values));
    general_apply(&values->general);
    KD_TRY(command_arguments(line, &command_trace, 1, 1));
    KD_REQUIRE(option_line_has(line, "pixel"), KD_ERROR_USAGE,
               "a pixel is needed: set --pixel X,Y");
    if (values->heat) {
        KD_TRY(image_writable(values->heat));
        KD_TRY(output_check(values->heat));
    }
    KD_TRY(report_make_folder(values->report));
    work->path = line->arguments[0];
    KD_TRY(output_check_input(work->path));
    interrupt_watch(&work->job, false);
    KD_TRY(load(work, line));
    KD_TRY(output_check_inputs());
    KD_TRY(measure_picture(work));
    work->ray = pixel_ray(work, values->pixel[0], values->pixel[1]);
    KD_TRY(trace_walk_open(&work->walk, &work->view.tree, work->ray));
    if (values->report) KD_TRY(write_report(work, values->report));
    if (values->json) return print_json(work);
    print_text(work);
    return KD_OK;
}

static kd_status run(const option_line *line) {
    static tracing work; /* static: a late signal may still access its job */
    job_init(&work.job);
    const kd_status status = trace(&work, line);
    trace_walk_close(&work.walk);
    image_close(&work.heat);
    tritree_close(&work.tree);
    scene_close(work.loaded);
    return status;
}

static const option_row rows[] = {
    {OPTION_ROW(trace_values, "pixel", OPTION_INT32, pixel), .argument = "X,Y", .count = 2,
     .minimum = 0, .maximum = 65535,
     .help = "pixel whose centre the ray passes (required); 0,0 is the top left pixel"},
    {OPTION_ROW(trace_values, "json", OPTION_FLAG, json), .help = "print the result as JSON"},
    {OPTION_ROW(trace_values, "heat", OPTION_TEXT, heat), .argument = "OUT.exr",
     .help = "write a heat map of the work for all pixels: grey is nodes relative to the maximum; "
             "channels KD.nodes and KD.triangles"},
    {OPTION_ROW(trace_values, "report", OPTION_TEXT, report), .argument = "FOLDER",
     .help = "write a page with the heat map to FOLDER/index.html"},
    {.name = NULL}};

static const option_group groups[] = {
    {"Output", rows, 0, NULL},
    {"Picture", render_picture_rows, offsetof(trace_values, render), "resolution,width,height"},
    {"Scene", camera_rows, offsetof(trace_values, look), NULL},
    {"Scene", render_input_rows, offsetof(trace_values, render), NULL},
    {"Triangle tree", render_lab_rows, offsetof(trace_values, render),
     "builder,sah-costs,empty-factor"},
    GENERAL_GROUP(trace_values),
    {NULL, NULL, 0, NULL}};

static const help_pair examples[] = {
    {"kandela trace scene.json --pixel 200,150", "list the leaves that the ray of a pixel visits"},
    {"kandela trace scene.json --pixel 0,0 --heat heat.exr", "write a heat map of all pixels"},
    {NULL, NULL}};

const subcommand command_trace = {
    .laboratory = true,
    .name = "trace",
    .arguments = "SCENE",
    .summary = "list the tree nodes and triangles that the ray of a pixel visits",
    .description =
        "Traces the camera ray through the centre of a pixel and prints the numbers of nodes, "
        "leaves and triangles visited, with mean and maximum over all pixels; then each visited "
        "leaf in order, with node, depth, triangles and the interval of the ray inside it "
        "(slightly widened against rounding errors).\n\n"
        "Many leaves before the hit indicate empty space or thin triangles along the ray; many "
        "triangles in a leaf indicate that no plane separates them. --builder and --sah-costs "
        "show whether another tree is better.",
    .examples = examples,
    .groups = groups,
    .run = run,
};

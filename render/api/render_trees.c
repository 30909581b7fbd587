#include "render/api/render_trees.h"
#include "accel/build_memory.h"
#include "accel/builders.h"
#include "core/status.h"

static tritree_options tree_options(const kd_render_options *options) {
    tritree_options tree_options = tritree_options_default();
    tree_options.traversal_cost = options->sah_traversal_cost;
    tree_options.intersect_cost = options->sah_intersect_cost;
    tree_options.empty_factor = options->sah_empty_factor;
    return tree_options;
}

static kd_status build_here(tritree *tree, const scene_view *view, const tritree_options *options,
                            const char *builder, job_control *job) {
    const tritree_input input = {view->mesh.positions, view->mesh.triangles,
                                 view->mesh.position_count, view->mesh.triangle_count};
    return tritree_open(tree, &input, options, builder, job);
}

/* A tree to be built on the host or, if `device_frame` is not NULL, on a device. */
typedef struct expected_tree {
    frame_cuda *device_frame;
    tritree *tree;
    const scene_view *view;
    const kd_render_options *options;
    tritree_options tree_options;
    const char *builder; /* out: the builder used */
    job_control *job;
} expected_tree;

/* Builds the tree by the device builder `row`; if that is NULL, on the host, and copies it to the
   device if there is one. */
static kd_status attempt_tree(void *context, const tritree_builder_cuda *row) {
    expected_tree *tree = (expected_tree *)context;
    kd_status status = KD_OK;
    if (row) {
        tree->builder = row->name;
        status = frame_cuda_place_scene(tree->device_frame, tree->view, NULL, &tree->tree_options,
                                        row->name, tree->tree);
        if (status != KD_ERROR_MEMORY) return status;
        tritree_close(tree->tree);
        frame_cuda_remove_scene(tree->device_frame);
        return status;
    }
    const tritree_builder *builder = NULL;
    KD_TRY(tritree_builder_choose(&builder, tree->options->builder));
    tree->builder = builder->name;
    KD_TRY(build_here(tree->tree, tree->view, &tree->tree_options, builder->name, tree->job));
    if (tree->device_frame)
        KD_TRY(frame_cuda_place_scene(tree->device_frame, tree->view, tree->tree,
                                      &tree->tree_options, NULL, NULL));
    return KD_OK;
}

static kd_status build_tree(const char **builder, frame_cuda *device_frame, tritree *tree,
                            const scene_view *view, const kd_render_options *options,
                            job_control *job) {
    expected_tree expected_tree = {device_frame,          tree, view, options,
                                   tree_options(options), "",   job};
    const kd_status status =
        device_frame
            ? tritree_build_by_turns(options->builder, view->mesh.position_count,
                                     view->mesh.triangle_count, attempt_tree, &expected_tree)
            : attempt_tree(&expected_tree, NULL);
    *builder = expected_tree.builder;
    return status;
}

/* Builds the trees of instanced meshes, always on the host. */
static kd_status build_instance(instance_trees *out, scene_view *view,
                                const kd_render_options *options, job_control *job) {
    const tritree_options build_options = tree_options(options);
    const tritree_input all = {view->mesh.positions, view->mesh.triangles,
                               view->mesh.position_count, view->mesh.stored_count};
    const char *builder = tritree_builder_find(options->builder) ? options->builder : "auto";
    return instance_trees_open(out, &view->instances, &all, &build_options, builder, job);
}

kd_status render_trees_open(render_result *out, frame_cuda *device_frame, render_trees *trees,
                            scene_view *view, const kd_render_options *options, job_control *job) {
    const char *builder = "";
    tritree *tree = &trees->plain;
    job_stage_begin(job, "build", view->mesh.stored_count);
    kd_status status = build_instance(&trees->instances, view, options, job);
    if (status == KD_OK) status = build_tree(&builder, device_frame, tree, view, options, job);
    if (status != KD_OK) {
        job_stage_end(job);
        return status_pass(status, __FILE__, __LINE__, "build_tree");
    }
    view->tree = tritree_get_view(tree);
    strncpy(out->tree_builder, builder, sizeof out->tree_builder - 1);
    out->tree = tree->statistics;
    job_stage_begin(job, "hash", 0);
    out->tree_hash = tritree_hash(tree);
    job_stage_end(job);
    return KD_OK;
}

kd_status render_trees_place(frame_cuda *device_frame, const render_trees *trees,
                             const scene_view *view, const kd_render_options *options) {
    const tritree_options build_options = tree_options(options);
    frame_cuda_remove_scene(device_frame);
    return frame_cuda_place_scene(device_frame, view, &trees->plain, &build_options, NULL, NULL);
}

void render_trees_close(render_trees *owned) {
    tritree_close(&owned->plain);
    instance_trees_close(&owned->instances);
    scene_close(owned->moved);
    memset(owned, 0, sizeof *owned);
}

static bool kept_fits(const render_kept *kept, bool on_device, const scene_view *view,
                      const kd_render_options *options) {
    const tritree_options build_options = tree_options(options);
    return kept->on_device == on_device && kept->positions == view->mesh.positions &&
           kept->triangle_count == view->mesh.triangle_count &&
           strcmp(kept->requested, options->builder) == 0 &&
           memcmp(&kept->options, &build_options, sizeof build_options) == 0;
}

kd_status render_trees_reuse(render_result *out, frame_cuda *device_frame, render_kept *kept,
                             render_trees *trees, scene_view *view,
                             const kd_render_options *options, job_control *job) {
    if (!kept) return render_trees_open(out, device_frame, trees, view, options, job);
    if (kept_fits(kept, device_frame != NULL, view, options)) {
        view->tree = tritree_get_view(&kept->trees.plain);
        view->instances = kept->instances;
        memcpy(out->tree_builder, kept->builder, sizeof out->tree_builder);
        out->tree = kept->trees.plain.statistics;
        out->tree_hash = kept->hash;
        return device_frame ? render_trees_place(device_frame, trees, view, options) : KD_OK;
    }
    kept_maps_drop(&kept->maps);
    render_trees_close(&kept->trees);
    kept->positions = NULL;
    KD_TRY(render_trees_open(out, device_frame, trees, view, options, job));
    kept->on_device = device_frame != NULL;
    kept->instances = view->instances;
    memcpy(kept->builder, out->tree_builder, sizeof kept->builder);
    memcpy(kept->requested, options->builder, sizeof kept->requested);
    kept->options = tree_options(options);
    kept->positions = view->mesh.positions;
    kept->triangle_count = view->mesh.triangle_count;
    kept->hash = out->tree_hash;
    return KD_OK;
}

void render_kept_close(render_kept *owned) {
    render_trees_close(&owned->trees);
    kept_maps_drop(&owned->maps);
    memset(owned, 0, sizeof *owned);
}

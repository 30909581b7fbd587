/* Implementation of render.h on a single device or rank: trees, integrator, samples, saving. */
#include "render/api/render.h"
#include "accel/builders.h"
#include "core/device/device.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/names.h"
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "render/api/omissions.h"
#include "render/api/plan.h"
#include "render/api/render_develop.h"
#include "render/api/render_look.h"
#include "render/api/render_trees.h"
#include "render/frame/catcher.h"
#include "render/frame/film.h"
#include "render/frame/frame.h"
#include "render/frame/shutter.h"
#include "render/integrators/integrators.h"
#include "scenes/assembly/scene_camera.h"
#include "scenes/describe/render_options.h"
#include "scenes/mesh/origin.h"
#include <stdio.h>

kd_status render_choose_device(device *out, const kd_render_options *options) {
    device place;
    const integrator *integrator = integrator_find(options->integrator);
    KD_REQUIRE(integrator, KD_ERROR_USAGE, "unknown integrator \"%s\"; kandela info lists all",
               options->integrator);
    char first[64];
    device_list_name(first, options->device, 0);
    KD_TRY(device_find(&place, first));
    const bool distributed = rank_maps_distributed(options->maps);
    if (place.kind == DEVICE_CUDA &&
        (!integrator->launch || (distributed && !integrator->device_distributed))) {
        KD_REQUIRE(name_is_auto(options->device), KD_ERROR_DEVICE,
                   "integrator %s%s runs only on the CPU, not on %s: set --device cpu or auto",
                   options->integrator, distributed ? " with distributed photon maps" : "",
                   place.name);
        device_cpu_describe(&place);
    }
    *out = place;
    return KD_OK;
}

bool render_is_on_devices(const kd_render_options *options) {
    const integrator *integrator = integrator_find(options->integrator);
    bool all = integrator && integrator->launch;
    for (int32_t i = 0; all && i < device_list_count(options->device); ++i) {
        device device;
        char name[64];
        device_list_name(name, options->device, i);
        all = device_find(&device, name) == KD_OK && device.kind == DEVICE_CUDA;
    }
    status_clear();
    return all;
}

/* Logs the out-of-memory error and the fallback, and clears the error. */
static void say_retreat(const char *from, const char *to) {
    log_message(LOG_WARNING, "%s: %s; using %s instead", from, kd_last_error(), to);
    status_clear();
}

typedef struct render_saving {
    const render_keeping *keeping;
    render_result *out;
    double started;
    bool saved; /* the state was written before the end */
    render_look look;
    display viewer;
} render_saving;

/* Saves the state and shows the image so far. */
static kd_status save_frame(void *context, const frame *frame, const film *film) {
    render_saving *saving = (render_saving *)context;
    const render_keeping *keeping = saving->keeping;
    if (keeping->state && !frame->film_cut) {
        KD_TRY(state_write(keeping->state, frame, film));
        saving->saved = true;
    }
    if (!keeping->show) return KD_OK;
    KD_TRY(render_develop(saving->out, film, frame, saving->started));
    saving->out->picture.exposed = saving->look.shown.exposed;
    const kd_status status = keeping->show(keeping->context, saving->out);
    image_close(&saving->out->picture);
    return status;
}

static void show_frame(void *context, const film *film) {
    display_show(&((render_saving *)context)->viewer, film, false);
}

static render_moment moment_of(void *context, const frame *frame, const film *film) {
    const render_saving *saving = (const render_saving *)context;
    return (render_moment){frame, film, saving->out, saving->started, saving->look.shown.exposed};
}

static double watch_frame(void *context, frame *frame, const film *film) {
    const render_watch *watch = ((const render_saving *)context)->keeping->watch;
    const render_moment now = moment_of(context, frame, film);
    double paused = 0;
    const double next = watch->update(watch->context, &now, &paused);
    if (frame->deadline > 0) frame->deadline += paused;
    return next;
}

static bool watch_wanted(void *context) {
    const render_watch *watch = ((const render_saving *)context)->keeping->watch;
    return watch->wanted(watch->context);
}

static void watch_end(void *context, const frame *frame, const film *film) {
    const render_watch *watch = ((const render_saving *)context)->keeping->watch;
    const render_moment now = moment_of(context, frame, film);
    watch->finished(watch->context, &now);
}

static bool is_dropped(const render_keeping *keeping, kd_status status) {
    return (status == KD_OK || status == KD_INTERRUPTED) && keeping->watch &&
           keeping->watch->drops(keeping->watch->context);
}

/* Writes the final state if it was requested, if the rendering can be resumed, or if an older state
   file would otherwise remain beside a newer image. */
static kd_status keep_state(const render_saving *saving, const frame *frame, const film *film,
                            kd_status status) {
    const render_keeping *keeping = saving->keeping;
    if (!keeping->state || (status != KD_OK && status != KD_INTERRUPTED)) return status;
    if (is_dropped(keeping, status)) return status;
    if (frame->film_cut) {
        log_message(
            LOG_WARNING,
            "%s: not written, because rendering cannot be resumed from an incomplete photon map",
            keeping->state);
        return status;
    }
    const bool cut =
        status == KD_INTERRUPTED ||
        (int32_t)film_min_samples(film) < integrator_samples(frame->integrator, frame->options);
    if (keeping->state_if_cut && !keeping->resume && !saving->saved && !cut) return status;
    job_stage_begin(frame->job, "save", 0);
    const kd_status kept = state_write(keeping->state, frame, film);
    job_stage_end(frame->job);
    return kept == KD_OK ? status : status_pass(kept, __FILE__, __LINE__, "state_write");
}

/* Prepares the integrator and takes the samples up to frame->sample_end. */
static kd_status take(render_result *out, frame *frame, film *film) {
    ranks *comm = frame->comm;
    const integrator *integrator = frame->integrator;
    const kd_status prepared = integrator->prepare ? integrator->prepare(frame) : KD_OK;
    kd_status status = shared_frame_agree(comm, prepared);
    if (status == KD_OK)
        status = ranks_shared(comm) ? shared_frame_run(frame, integrator, film, out->ranks)
                                    : frame_run(frame, integrator, film);
    else if (prepared != KD_OK)
        return status;
    if (frame->keeper && frame->keeper->finished && status == KD_OK)
        frame->keeper->finished(frame->keeper->context, frame, film);
    job_stage_begin(frame->job, "free", 0);
    if (integrator->close) integrator->close(frame);
    job_stage_end(frame->job);
    return status;
}

/* Replaces scene and trees by those at another frame. This is part of the stage "render", because
   an interruption during "load" or "build" would discard the samples. */
static kd_status move_scene(render_saving *saving, render_trees *trees, scene_view *view,
                            frame *frame, const scene *first, double at) {
    render_result *out = saving->out;
    if (frame->device_frame) frame_cuda_remove_scene(frame->device_frame);
    render_trees_close(trees);
    scene_look_close(&saving->look.shown);
    job_stage_begin(frame->job, "render", 0);
    KD_TRY(scene_open_at(&trees->moved, first, at, NULL));
    *view = scene_get_view(trees->moved);
    look_hide_environment(view, frame->options);
    KD_TRY(render_look_open(&saving->look, trees->moved, frame, view));
    KD_TRY(render_trees_open(out, frame->device_frame, trees, view, frame->options, NULL));
    return render_look_move(&saving->look, trees, view, frame);
}

/* As take, for all samples, in slices at different times (shutter.h). */
static kd_status take_slices(render_saving *saving, render_trees *trees, scene_view *view,
                             frame *frame, film *film, const scene *first) {
    const kd_render_options *options = frame->options;
    const camera begin = frame->view, end = frame->view_end;
    const uint32_t samples = frame_end(frame);
    kd_status status = KD_OK;
    frame->moves = false;
    for (bool over = false; !over && status == KD_OK && film_min_samples(film) < samples;) {
        const shutter_slice slice = shutter_slice_of(options->seed, film_min_samples(film));
        const double at = (double)options->frame + (double)options->shutter * (double)slice.time;
        frame->view = begin; /* which a look faces, whatever the order of the slices */
        if (scene_moves(first)) KD_TRY(move_scene(saving, trees, view, frame, first, at));
        frame->view = frame->view_end = camera_between(&begin, &end, slice.time);
        frame->sample_end = slice.end;
        status = take(saving->out, frame, film);
        film->resumed = true; /* the next slice continues it */
        over = frame->on_target || film_min_samples(film) < frame_end(frame) ||
               frame_is_over(frame, slice.end);
    }
    return status;
}

/* The scene at the end of the exposure is part of the state's identity. */
static kd_status identify(frame *frame, const scene *first, bool stored) {
    const double end = (double)frame->options->frame + (double)frame->options->shutter;
    uint64_t ending = 0;
    if (stored && scene_moves(first)) {
        scene *last = NULL;
        KD_TRY(scene_open_at(&last, first, end, frame->job));
        const scene_view view = scene_get_view(last);
        ending = scene_hash(&view);
        scene_close(last);
    }
    state_identify(frame, ending);
    return KD_OK;
}

/* Sizes the pools in `options`, which are those of the frame, by the memory that the device has
   left. With several ranks, whose launches must agree, they stay as they are. */
static kd_status size_pools(kd_render_options *options, frame *frame, const scene_view *view) {
    const uint64_t plenty = (uint64_t)8 << 30;
    uint64_t available = 0;
    if (!frame->device_frame || ranks_shared(frame->comm)) return KD_OK;
    if (frame->integrator->launch_bytes || integrator_maps(frame->integrator, frame->options))
        KD_TRY(frame_cuda_pack(frame->device_frame));
    KD_TRY(device_memory_free_bytes(&available));
    if (available < plenty) { /* the pool keeps scratch memory of the tree */
        KD_TRY(device_pool_trim());
        KD_TRY(device_memory_free_bytes(&available));
    }
    return render_plan_pools(options, view, available);
}

/* Builds the trees, prepares the integrator and takes the samples. `options`: those of the frame.
   KD_INTERRUPTED is a normal result. */
static kd_status render_frame(render_result *out, render_trees *trees, scene_view *view,
                              frame *frame, film *film, render_saving *saving, const scene *scene,
                              kd_render_options *options) {
    const render_keeping *keeping = saving->keeping;
    const bool sliced = render_is_sliced(scene, frame->options);
    ranks *comm = frame->comm;
    frame->groups = keeping->groups;
    if (keeping->kept) trees = &keeping->kept->trees;
    const kd_status built = render_trees_reuse(out, frame->device_frame, keeping->kept, trees, view,
                                               frame->options, frame->job);
    KD_TRY(shared_frame_agree(comm, built));
    if (scene_camera_is_default(scene) && scene_instance_count(scene) == 0)
        KD_TRY(shared_frame_agree(comm,
                                  render_look_go_inside(&saving->look, trees, view, frame, scene)));
    KD_TRY(size_pools(options, frame, view));
    out->view = frame->view;
    if (frame->integrator->identify) KD_TRY(frame->integrator->identify(frame));
    if (ranks_shared(comm)) KD_TRY(shared_frame_check(comm, state_identity(frame)));
    if (sliced) KD_TRY(identify(frame, scene, keeping->state != NULL));
    if (keeping->resume && keeping->state) KD_TRY(state_read(keeping->state, frame, film));
    if (keeping->resume) KD_TRY(shared_frame_resume(comm, frame, film));
    const kd_status status =
        sliced ? take_slices(saving, trees, view, frame, film, scene) : take(out, frame, film);
    return keep_state(saving, frame, film, status);
}

static kd_status open_figures(render_result *out, const ranks *comm) {
    out->rank_count = comm->size;
    KD_TRY(KD_RESERVE_ZEROED(out->ranks, (uint64_t)comm->size));
    rank_figures *figures = out->ranks + comm->rank;
    snprintf(figures->device, sizeof figures->device, "%.127s", out->device_used.name);
    return KD_OK;
}

/* Produces the image, on rank 0 only. */
static kd_status finish(render_saving *saving, const frame *frame, const film *film) {
    if (frame->comm && frame->comm->rank > 0) return KD_OK;
    if (saving->keeping->display) display_show(&saving->viewer, film, true);
    job_stage_begin(frame->job, "develop", 0);
    const kd_status status = render_develop(saving->out, film, frame, saving->started);
    saving->out->picture.exposed = saving->look.shown.exposed;
    job_stage_end(frame->job);
    if (status != KD_OK) return status;
    const int32_t crop[4] = {film->x0, film->y0, film->x0 + film->width, film->y0 + film->height};
    return omissions_report_cut(frame, crop);
}

static void set_cameras(frame *frame, const scene *scene) {
    frame->view = scene_camera(scene);
    frame->view_end = scene_camera_end(scene);
    frame->moves = scene_camera_moves(scene);
    if (!scene_camera_is_default(scene) || !look_fits_camera(scene, frame->options)) return;
    look_camera(&frame->view, scene, (float)frame->options->width / (float)frame->options->height);
    frame->view_end = frame->view;
}

/* Opens the device if there is one, then the NCCL communicator if every rank has a device. */
static kd_status open_device(frame *frame, frame_cuda *device_frame, const device *device) {
    if (device->kind == DEVICE_CUDA) {
        job_stage_begin(frame->job, "context", 0);
        const kd_status status = frame_cuda_open(device_frame, device);
        job_stage_end(frame->job);
        KD_TRY(status);
        frame->device_frame = device_frame;
    }
    return ranks_nccl_open(frame->comm, frame->device_frame != NULL);
}

/* CPU and GPU ranks exchange different data for distributed photons and cannot be combined. */
static kd_status check_distributed(const frame *frame) {
    bool cpus = false, devices = false;
    if (!frame->distributed) return KD_OK;
    KD_REQUIRE(!catcher_exists(frame->scene), KD_ERROR_USAGE,
               "distributed photon maps do not support shadow catchers: set --ranks-maps whole");
    KD_TRY(ranks_any(frame->comm, !frame->device_frame, &cpus));
    KD_TRY(ranks_any(frame->comm, frame->device_frame != NULL, &devices));
    KD_REQUIRE(!cpus || !devices, KD_ERROR_USAGE,
               "distributed photon maps do not support ranks on CPUs and on CUDA devices together: "
               "set --device, or --ranks-maps whole");
    return KD_OK;
}

static void note_form(render_result *out, const frame *frame, const render_trees *trees) {
    const char *const on_cpu = trees->plain.wide ? "wide" : "nodes";
    strcpy(out->tree_form,
           frame->device_frame ? tritree_cuda_form(&frame->device_frame->tree) : on_cpu);
}

/* Releases the device as soon as it is no longer needed. */
static void release_device(frame *frame, frame_cuda *device_frame, const render_keeping *keeping) {
    if (!frame->device_frame || !keeping->done_with || ranks_shared(frame->comm)) return;
    job_stage_begin(frame->job, "free", 0);
    frame_cuda_close(device_frame);
    frame->device_frame = NULL;
    retiring_begin(keeping->done_with, frame->options->device);
    job_stage_end(frame->job);
}

static void count_parts(render_result *out, const scene_view *view) {
    out->triangle_count = view->mesh.stored_count;
    out->material_count = view->material_count;
    out->light_count = view->light_count;
    out->light_node_count = view->light_tree.node_count;
}

/* Sets the fields of the result that are known before rendering. */
static kd_status begin(render_result *out, const device *device, const scene *scene,
                       const kd_render_options *options, scene_view *view) {
    out->device_used = *device;
    *view = scene_get_view(scene);
    IMAGE_FINISH_TAKE(&out->finish, options);
    KD_TRY(image_finish_check(&out->finish));
    count_parts(out, view);
    scene_report_default_light(scene);
    return KD_OK;
}

static frame_keeper keeper_of(render_saving *saving) {
    const bool viewed = saving->keeping->watch != NULL;
    return (frame_keeper){.every_seconds = saving->keeping->every_seconds,
                          .save = save_frame,
                          .show = saving->keeping->display ? show_frame : NULL,
                          .watch = viewed ? watch_frame : NULL,
                          .wanted = viewed ? watch_wanted : NULL,
                          .finished = viewed ? watch_end : NULL,
                          .context = saving};
}

static kd_status run_on(const device *device, render_result *out, const scene *scene,
                        const kd_render_options *options, const render_keeping *keeping,
                        double started, job_control *job) {
    int32_t crop[4];
    scene_view view;
    memset(out, 0, sizeof *out);
    KD_TRY(render_request_check(options, crop));
    KD_TRY(render_scene_check(scene, options, keeping->comm));
    KD_PARALLEL_LIMIT(options->threads);
    KD_TRY(begin(out, device, scene, options, &view));
    kd_render_options sized = *options; /* with pools by the memory of the device */
    render_saving saving = {.keeping = keeping, .out = out, .started = started};
    if (keeping->display) KD_TRY(display_open(&saving.viewer, keeping->display, keeping->title));
    const frame_keeper keeper = keeper_of(&saving);
    frame frame = {
        .scene = &view,
        .integrator = integrator_find(options->integrator),
        .keeper = &keeper,
        .options = &sized,
        .comm = keeping->comm,
        .kept_maps = keeping->kept && keeping->kept->keeps_maps ? &keeping->kept->maps : NULL,
        .distributed = ranks_shared(keeping->comm) && rank_maps_distributed(options->maps),
        .deadline = options->time_seconds > 0 ? started + options->time_seconds : 0,
        .job = job};
    render_trees trees = {.moved = NULL};
    frame_cuda device_frame = {.pixels = NULL};
    film negative = {.pixels = NULL};
    kd_status status = KD_OK;
    set_cameras(&frame, scene);
    KD_TRY_GOTO(look_show_background(&out->background, &view, options));
    KD_TRY_GOTO(render_look_open(&saving.look, scene, &frame, &view));
    job_stage_begin(job, "film", 0);
    status = film_open(&negative, crop);
    job_stage_end(job);
    KD_TRY_GOTO(status);
    if (ranks_shared(frame.comm)) KD_TRY_GOTO(open_figures(out, frame.comm));
    KD_TRY_GOTO(open_device(&frame, &device_frame, &out->device_used));
    KD_TRY_GOTO(check_distributed(&frame));
    if (!frame.comm || frame.comm->rank == 0) KD_TRY_GOTO(omissions_report(&view, &frame));
    status = render_frame(out, &trees, &view, &frame, &negative, &saving, scene, &sized);
    note_form(out, &frame, keeping->kept ? &keeping->kept->trees : &trees);
    if (is_dropped(keeping, status))
        status = KD_INTERRUPTED;
    else if (status == KD_OK || status == KD_INTERRUPTED) {
        release_device(&frame, &device_frame, keeping);
        const kd_status developed = finish(&saving, &frame, &negative);
        if (developed != KD_OK) status = developed;
    }
done:
    ranks_nccl_close(frame.comm, status != KD_OK && status != KD_INTERRUPTED);
    if (keeping->display) display_close(&saving.viewer);
    job_stage_begin(job, "free", 0);
    frame_cuda_close(&device_frame);
    film_close(&negative);
    render_trees_close(&trees);
    scene_look_close(&saving.look.shown);
    job_stage_end(job);
    if (status != KD_OK && status != KD_INTERRUPTED) render_close(out);
    return status;
}

static kd_status run_on_cpu(render_result *out, const scene *scene,
                            const kd_render_options *options, const render_keeping *keeping,
                            double started, job_control *job) {
    device device;
    kd_render_options run_options = *options;
    /* the name may be that of a builder that exists only on devices */
    if (!tritree_builder_find(run_options.builder)) strcpy(run_options.builder, "auto");
    device_cpu_describe(&device);
    return run_on(&device, out, scene, &run_options, keeping, started, job);
}

kd_status render_run(render_result *out, const scene *scene, const kd_render_options *options,
                     job_control *job) {
    return render_run_kept(out, scene, options, NULL, job);
}

kd_status render_run_kept(render_result *out, const scene *scene, const kd_render_options *options,
                          const render_keeping *keeping, job_control *job) {
    static const render_keeping nothing = {.state = NULL};
    const double started = timing_now();
    device device;
    kd_render_options resolved = *options;
    if (!keeping) keeping = &nothing;
    memset(out, 0, sizeof *out);
    render_resolve_integrator(&resolved, scene);
    options = &resolved;
    int32_t crop[4];
    KD_TRY(render_request_check(options, crop));
    if (device_list_count(options->device) > 1)
        return render_on_devices(out, scene, options, keeping, job);
    job_stage_begin(job, "context", 0);
    const kd_status chosen = render_choose_device(&device, options);
    job_stage_end(job);
    KD_TRY(chosen);
    const scene_view view = scene_get_view(scene);
    const char *unsupported = options->lens_samples > 1 ? "lens samples"
                              : catcher_exists(&view)   ? "shadow catchers"
                                                        : NULL;
    if (device.kind == DEVICE_CUDA && unsupported) {
        KD_REQUIRE(name_is_auto(options->device), KD_ERROR_USAGE,
                   "--device is %s; %s are supported on CPUs only: set --device cpu",
                   options->device, unsupported);
        return run_on_cpu(out, scene, options, keeping, started, job);
    }
    const kd_status status = run_on(&device, out, scene, options, keeping, started, job);
    const bool full = status == KD_ERROR_MEMORY && device.kind == DEVICE_CUDA;
    if (!full || ranks_shared(keeping->comm) || !name_is_auto(options->device)) return status;
    say_retreat(device.name, "the CPU");
    return run_on_cpu(out, scene, options, keeping, started, job);
}

void render_close(render_result *owned) {
    memory_free(owned->ranks);
    image_background_close(owned->background);
    image_close(&owned->picture);
    memset(owned, 0, sizeof *owned);
}

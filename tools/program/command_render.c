/* kandela render: combines options from four sources, renders a scene or a sequence of frames, and
   writes images and statistics. */
#include "core/device/device.h"
#include "core/files/file.h"
#include "core/files/file_bundle.h"
#include "core/image/formats.h"
#include "core/image_processing/develop.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/names.h"
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "core/system/machine.h"
#include "core/system/process.h"
#include "distributed/render/shared_scene.h"
#include "render/api/plan.h"
#include "render/api/render.h"
#include "render/api/stats.h"
#include "render/frame/film.h"
#include "render/integrators/integrators.h"
#include "tools/program/command.h"
#include "tools/program/output.h"
#include "tools/program/progress.h"
#include "tools/program/render_values.h"
#include "tools/program/sequence.h"
#include "tools/program/serve/live.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct rendering {
    const char *path; /* path of the scene */
    render_values values;
    char default_output[256];
    /* output files of the current frame; the last one is the statistics file */
    char names[OPTION_LIST_ITEMS + 1][4096];
    const char *stats;    /* statistics file, or NULL */
    float first_stops;    /* automatic exposure of the first frame; NAN: none yet */
    camera ends[2];       /* cameras at the ends of the exposure */
    camera_values first;  /* camera of the first frame */
    bool keeps_first;     /* all frames have the automatic camera of the first one */
    char state[4096];     /* path of the saved state; empty: none */
    option_list patterns; /* outputs before inserting the frame number */
    scene *loaded;
    render_result result;
    job_control job;
    double started; /* start time, timing_now() */
    sequence_animations animations;
    bool interrupted; /* interrupted in the current frame */
    bool rendered;    /* all ranks have finished rendering, or all were interrupted */
    context_init devices;
    retiring done_with; /* releases devices that are not needed any more */
    live_session *live; /* the live view; NULL: none */
    bool serves, stays; /* has a live view; until interrupted: kandela serve */
    ranks comm;         /* communicator of the ranks of mpirun, or of this process alone */
    maps_choice choice; /* distribution of photons over ranks */
    file_bundle bundle; /* all input files, sent from rank 0 to the others */
} rendering;

static bool is_sequence(const rendering *work) {
    return work->values.frames[1] > 0 || work->values.frames[0] > 0;
}

/* Sets and checks the names of a frame's output files. */
static kd_status name_files(rendering *work, int32_t number) {
    option_list *outputs = &work->values.outputs;
    const char *stats = work->values.stats;
    char *stats_name = work->names[OPTION_LIST_ITEMS];
    for (int i = 0; i < outputs->count; ++i) {
        if (is_sequence(work) && !file_is_stdout(work->patterns.items[i])) {
            KD_TRY(sequence_name(work->names[i], sizeof work->names[i], work->patterns.items[i],
                                 number));
            outputs->items[i] = work->names[i];
        }
        KD_TRY(output_check(outputs->items[i]));
    }
    if (stats && is_sequence(work)) {
        KD_TRY(sequence_name(stats_name, sizeof work->names[0], stats, number));
        stats = stats_name;
    }
    work->stats = stats;
    if (stats) KD_TRY(output_check(stats));
    return KD_OK;
}

static kd_status check_frames(rendering *work) {
    const int32_t *frames = work->values.frames;
    work->patterns = work->values.outputs;
    KD_REQUIRE(frames[0] <= frames[1], KD_ERROR_USAGE,
               "--frames %d-%d: the first frame is greater than the last", frames[0], frames[1]);
    KD_REQUIRE(!is_sequence(work) || !ranks_shared(&work->comm), KD_ERROR_USAGE,
               "--frames does not work with mpirun; render parts of it in separate runs");
    KD_REQUIRE(is_sequence(work) || !work->values.turntable, KD_ERROR_USAGE,
               "--turntable needs --frames A-B");
    const bool several =
        ranks_shared(&work->comm) || device_list_count(work->values.render.device) > 1;
    KD_REQUIRE(!work->serves || (!is_sequence(work) && !several), KD_ERROR_USAGE,
               "the live view shows one picture by one device: omit --frames, mpirun and lists of "
               "devices");
    KD_TRY(live_check(work->values.serve, work->values.reference, work->serves));
    return KD_OK;
}

/* Does all checks that need no scene. Devices initialise in the background meanwhile. */
static kd_status check_line(rendering *work, const option_line *line) {
    kd_render_options_default(&work->values.render);
    KD_TRY(option_line_apply(line, &work->values));
    if (work->comm.rank > 0) work->values.general.quiet = true; /* only rank 0 prints */
    work->values.general.threads = work->values.render.threads;
    general_apply(&work->values.general);
    render_values_place(&work->comm, &work->values.render, line);
    KD_TRY(command_arguments(line, &command_render, 1, 1));
    work->path = line->arguments[0];
    work->serves = work->stays || option_line_has(line, "serve");
    context_init_begin(&work->devices, work->values.render.device);
    if (work->comm.rank > 0) return KD_OK; /* only rank 0 writes */
    option_list *outputs = &work->values.outputs;
    if (outputs->count == 0 && !work->stays) {
        output_name(work->default_output, sizeof work->default_output, work->path, ".png");
        outputs->items[outputs->count++] = work->default_output;
    }
    KD_TRY(output_pictures(outputs, work->values.format, is_sequence(work)));
    if (is_sequence(work)) sequence_take(&work->animations, outputs);
    const option_list *animations = &work->animations.names;
    for (int i = 0; i < animations->count; ++i) KD_TRY(output_check(animations->items[i]));
    KD_TRY(check_frames(work));
    KD_TRY(name_files(work, work->values.frames[0]));
    KD_TRY(output_check_input(work->path));
    if (work->values.display) KD_TRY(display_check(work->values.display));
    if (work->values.denoise) KD_TRY(denoise_check());
    return KD_OK;
}

/* Sets the cameras at both ends of the exposure: from the scene, then from the command line. */
static kd_status set_cameras(rendering *work, const option_line *line,
                             const kd_render_options *from_file) {
    const render_values *values = &work->values;
    const int32_t *frames = values->frames;
    render_values timed = {.render = *from_file};
    KD_TRY(option_line_apply(line, &timed));
    timed.render.frame = from_file->frame;
    KD_TRY(scene_cameras_at(work->loaded, &timed.render, values->camera_name, work->ends));
    if (!work->rendered) work->keeps_first = values->side || scene_camera_is_default(work->loaded);
    for (int i = 0; i < 2; ++i) {
        const double *origin = scene_origin(work->loaded);
        camera *view = &work->ends[i];
        KD_TRY(render_values_fit(&timed, line, work->loaded, view));
        const camera_values before = camera_values_of(view, origin);
        render_values render = {.view = work->rendered && work->keeps_first ? work->first : before};
        KD_TRY(option_line_apply(line, &render));
        camera_values_apply(view, &before, &render.view, origin);
        KD_REQUIRE(!vec3_is_zero(vec3_sub(view->look_at, view->eye)), KD_ERROR_USAGE,
                   "--eye and --look-at are the same point; move one of them");
        KD_REQUIRE(!vec3_is_zero(view->up), KD_ERROR_USAGE, "--up must not be 0,0,0");
        if (!values->turntable) continue;
        const double gone =
            (double)timed.render.frame - (double)frames[0] + (i ? (double)timed.render.shutter : 0);
        *view = sequence_turned(*view, gone / ((double)frames[1] - (double)frames[0] + 1));
    }
    return KD_OK;
}

/* Applies the command line again, after the scene file. Precedence: defaults < file < environment
   < command line. */
static kd_status set_options(rendering *work, const option_line *line,
                             const kd_render_options *from_file) {
    render_values *values = &work->values;
    const bool quick = values->quick;
    render_values chosen = {.render = *from_file};
    KD_TRY(set_cameras(work, line, from_file));
    if (option_line_has(line, "resolution")) memset(chosen.render.crop, 0, sizeof(int32_t[4]));
    render_values reduced = chosen;
    KD_TRY(option_line_apply(line, &chosen));
    if (quick) {
        render_values_quicken(&reduced.render, chosen.render.integrator);
        KD_TRY(option_line_apply(line, &reduced));
        render_values_say_reduced(&chosen.render, &reduced.render);
        chosen = reduced;
    }
    values->render = chosen.render;
    values->render.frame = from_file->frame;
    render_values_place(&work->comm, &values->render, line);
    parallel_set_threads(values->render.threads);
    scene_set_cameras(work->loaded, &work->ends[0], &work->ends[1]);
    render_resolve_integrator(&values->render, work->loaded);
    return KD_OK;
}

static kd_status write_images(rendering *work, const render_result *result, bool finished) {
    const image_encoding encoding = {.exposure = work->values.render.exposure,
                                     .tonemap = work->values.render.tonemap,
                                     .background = result->background};
    const option_list *outputs = &work->values.outputs;
    for (int i = 0; i < outputs->count; ++i)
        if (finished || !file_is_stdout(outputs->items[i]))
            KD_TRY(finish_write(&result->picture, outputs->items[i], &encoding, &result->finish));
    if (finished && !work->interrupted) /* complete frames only */
        KD_TRY(sequence_add(&work->animations, (double)work->values.render.frame_rate,
                            &result->picture, &encoding, &result->finish));
    return KD_OK;
}

static kd_status write_unfinished(void *context, const render_result *result) {
    return write_images((rendering *)context, result, false);
}

/* If no exposure is given, derives it from the image: once, for all files and frames. */
static kd_status set_exposure(rendering *work) {
    const option_list *outputs = &work->values.outputs;
    float *stops = &work->values.render.exposure;
    bool shown = work->animations.names.count > 0;
    if (isnan(*stops)) *stops = work->first_stops;
    for (int i = 0; i < outputs->count; ++i) /* image_writable has checked the format */
        shown |= image_format_find(outputs->items[i])->display;
    if (!isnan(*stops) || !shown) return KD_OK;
    KD_TRY(image_exposure(stops, &work->result.picture));
    work->first_stops = *stops;
    general_note("automatic exposure: %+.2f stops (--exposure sets another)", (double)*stops);
    return KD_OK;
}

static kd_status denoise(rendering *work) {
    if (!work->values.denoise) return KD_OK;
    job_stage_begin(&work->job, "denoise", 0);
    const kd_status status = denoise_image(&work->result.picture);
    job_stage_end(&work->job);
    return status;
}

static kd_status write_pictures(rendering *work) {
    const option_list *outputs = &work->values.outputs;
    KD_TRY(denoise(work));
    KD_TRY(set_exposure(work));
    job_stage_begin(&work->job, "write", outputs->count);
    const kd_status status = write_images(work, &work->result, true);
    job_stage_end(&work->job);
    progress_close();
    if (status == KD_OK) output_print_names(outputs);
    return status;
}

static void say_result(const rendering *work) {
    const render_result *result = &work->result;
    const double seconds = timing_now() - work->started,
                 rays = (double)(result->frame.rays + result->frame.photon_rays);
    char photons[80] = "";
    if (result->frame.photons_emitted)
        snprintf(photons, sizeof photons, "%" PRIu64 " photons, %" PRIu64 " caustic photons, ",
                 result->frame.photons_stored, result->frame.caustics_stored);
    general_note(
        "%s on %s: %u triangles, %s tree of depth %u, %s%d samples per pixel, %.3g M rays in "
        "%.2f s",
        work->values.render.integrator, result->device_used.name, result->triangle_count,
        result->tree_builder, result->tree.depth, photons, result->samples_done, rays * 1e-6,
        seconds);
}

static kd_status keep_result(rendering *work, bool interrupted) {
    const kd_render_options *options = &work->values.render;
    work->interrupted = interrupted;
    if (interrupted) general_note("interrupted; the partial result is saved");
    KD_TRY(write_pictures(work));
    say_result(work);
    if (!work->stats) return KD_OK;
    const bool complete = !work->result.maps_cut &&
                          work->result.samples_done >=
                              integrator_samples(integrator_find(options->integrator), options);
    const stats_input input = {.scene = work->path,
                               .options = options,
                               .result = &work->result,
                               .job = &work->job,
                               .total_seconds = timing_now() - work->started,
                               .choice = &work->choice,
                               .outcome = interrupted              ? "interrupted"
                                          : work->result.on_target ? "target error"
                                          : complete               ? "complete"
                                                                   : "time limit"};
    return stats_write(work->stats, &input);
}

enum { SAVE_SECONDS = 30 };

/* Configures saved states: progressive methods save during rendering, others on request; all save
   at the end on request. */
static kd_status set_keeping(rendering *work, const option_line *line, render_keeping *keeping) {
    const render_values *values = &work->values;
    const bool progressive = integrator_find(values->render.integrator)->pass != NULL;
    memset(keeping, 0, sizeof *keeping);
    keeping->comm = &work->comm;
    keeping->resume = values->resume;
    if (!is_sequence(work) && !ranks_shared(&work->comm) && !values->denoise && !work->live)
        keeping->done_with = &work->done_with;
    if (work->comm.rank > 0) return KD_OK;
    keeping->display = values->display;
    keeping->title = values->outputs.count ? values->outputs.items[0] : work->path;
    const bool requested = values->resume || values->save_seconds > 0;
    if ((!progressive && !requested) || work->stays) return KD_OK;
    const char *picture = output_first_file(&values->outputs);
    KD_REQUIRE(picture || !requested, KD_ERROR_USAGE,
               "--resume and --save-every need a picture that is a file; add -o FILE");
    if (!picture) return KD_OK;
    const int length = snprintf(work->state, sizeof work->state, "%s.state", picture);
    KD_REQUIRE(length < (int)sizeof work->state, KD_ERROR_USAGE, "%.60s...: the path is too long",
               picture);
    const bool chosen = option_line_has(line, "save-every");
    KD_TRY(output_check(work->state));
    keeping->state = work->state;
    keeping->state_if_cut = !chosen;
    keeping->every_seconds = chosen || !progressive ? values->save_seconds : SAVE_SECONDS;
    keeping->show = write_unfinished;
    keeping->context = work;
    return KD_OK;
}

/* Loads the scene at a frame. If only the camera moves, keeps the loaded scene. */
static kd_status load_frame(rendering *work, kd_render_options *from_file) {
    if (work->loaded && !scene_moves(work->loaded)) return KD_OK;
    scene_close(work->loaded);
    work->loaded = NULL;
    const scene_request request = {.path = work->path,
                                   .environment = work->values.environment,
                                   .photon_map = work->values.render.photon_map,
                                   .from_file = from_file,
                                   .job = &work->job};
    const kd_status loaded = scene_open_shared(&work->loaded, &work->comm, &work->bundle, &request);
    KD_TRY(context_init_end(&work->devices, &work->job));
    KD_TRY(loaded);
    if (work->values.glass_by_ni) KD_TRY(scene_take_glass(work->loaded));
    return KD_OK;
}

static kd_status render_frame(rendering *work, const option_line *line,
                              kd_render_options *from_file) {
    KD_TRY(load_frame(work, from_file));
    KD_TRY(set_options(work, line, from_file));
    KD_TRY(render_resolve_instances(work->loaded, &work->values.render, work->values.max_memory,
                                    (render_instancing)work->values.instances));
    job_stage_begin(&work->job, "plan", 0);
    const kd_status planned =
        render_values_plan(&work->values, work->loaded, &work->comm, &work->choice);
    job_stage_end(&work->job);
    KD_TRY(planned);
    if (work->values.plan) return KD_OK;
    render_keeping keeping;
    KD_TRY(set_keeping(work, line, &keeping));
    if (work->comm.rank == 0) {
        KD_TRY(output_check_input(work->values.render.photon_map));
        KD_TRY(output_check_input(work->values.render.background));
        KD_TRY(output_check_inputs());
    }
    kd_render_options *options = &work->values.render;
    const kd_status status =
        work->live
            ? live_render(work->live, &work->result, work->loaded, options, &keeping, &work->job)
            : render_run_kept(&work->result, work->loaded, options, &keeping, &work->job);
    work->rendered = true;
    if (keeping.done_with) retiring_begin(keeping.done_with, work->values.render.device);
    if (status != KD_OK && status != KD_INTERRUPTED)
        return status_pass(status, __FILE__, __LINE__, "render_run_kept");
    if (work->comm.rank > 0 || work->stays) {
        if (status == KD_INTERRUPTED) status_clear();
        return work->stays ? KD_OK : status; /* the user ends a live view by an interruption */
    }
    if (status == KD_OK || work->result.frame.rays > 0)
        KD_TRY(keep_result(work, status == KD_INTERRUPTED));
    else
        general_note("interrupted before the first sample; nothing is saved");
    if (status == KD_INTERRUPTED) status_clear();
    return status;
}

static void open_progress(rendering *work) {
    const bool silent = work->values.general.quiet && work->values.progress == PROGRESS_AUTO;
    progress_open(silent || work->comm.rank > 0 ? PROGRESS_OFF
                                                : (progress_mode)work->values.progress,
                  &work->job);
}

static kd_status render_sequence(rendering *work, const option_line *line,
                                 kd_render_options *from_file) {
    const render_values requested = work->values;
    for (int32_t number = requested.frames[0]; number <= requested.frames[1]; ++number) {
        if (number > requested.frames[0]) { /* restore the options of the command line */
            const option_list patterns = work->patterns;
            work->values = requested;
            work->values.outputs = patterns;
            KD_TRY(name_files(work, number));
            render_close(&work->result);
            if (job_cancelled(&work->job)) return KD_INTERRUPTED;
            work->started = timing_now();
            progress_close();
            job_init(&work->job); /* each image has its own timing */
            open_progress(work);
        }
        from_file->frame = (float)number;
        const bool first = !work->rendered;
        KD_TRY(render_frame(work, line, from_file));
        if (first) work->first = camera_values_of(&work->result.view, scene_origin(work->loaded));
    }
    return KD_OK;
}

/* Opens the live view and prints its addresses. */
static kd_status serve(rendering *work) {
    const option_list *outputs = &work->values.outputs;
    const live_request request = {.address = work->values.serve,
                                  .reference = work->values.reference,
                                  .name = work->path,
                                  .options = &work->values.render,
                                  .max_memory = work->values.max_memory,
                                  .stays = work->stays,
                                  .save = write_unfinished,
                                  .files = outputs->items,
                                  .file_count = outputs->count,
                                  .interrupted = interrupt_came,
                                  .context = work};
    KD_TRY(live_open(&work->live, &request));
    printf("live view: %s (viewers: %s)\n", live_url(work->live, true),
           live_url(work->live, false));
    fflush(stdout);
    return KD_OK;
}

static kd_status render(rendering *work, const option_line *line) {
    KD_TRY(check_line(work, line));
    interrupt_watch(&work->job, true);
    if (work->serves) KD_TRY(serve(work));
    open_progress(work);
    kd_render_options from_file;
    kd_render_options_default(&from_file);
    from_file.frame = work->values.render.frame;
    render_options_take_input(&from_file, &work->values.render);
    if (!from_file.clip &&
        (is_sequence(work) || option_line_has(line, "frame") || work->values.render.shutter > 0))
        from_file.clip = ""; /* the first animation */
    if (!is_sequence(work)) return render_frame(work, line, &from_file);
    const kd_status status = render_sequence(work, line, &from_file);
    if (status == KD_OK || status == KD_INTERRUPTED) KD_TRY(sequence_finish(&work->animations));
    return status;
}

static kd_status run_as(const option_line *line, bool stays) {
    static rendering work; /* static, because a late signal may still access its job */
    work.stays = stays;
    work.started = timing_now();
    work.first_stops = NAN;
    job_init(&work.job);
    KD_TRY(ranks_open(&work.comm));
    const kd_status status = render(&work, line);
    if (work.devices.has_thread) pthread_join(work.devices.thread, NULL);
    retiring_end(&work.done_with);
    progress_close();
    live_close(work.live);
    progress_end_ranks(&work.comm, status, work.rendered);
    ranks_close(&work.comm);
    sequence_close(&work.animations);
    render_close(&work.result);
    scene_close(work.loaded);
    file_bundle_unpack(NULL);
    file_bundle_close(&work.bundle);
    return status;
}

static kd_status run(const option_line *line) {
    return run_as(line, false);
}

static kd_status run_serve(const option_line *line) {
    return run_as(line, true);
}

const subcommand command_serve = {
    .name = "serve",
    .arguments = "SCENE",
    .summary = "render a scene in a browser, with a camera that moves",
    .description =
        "Renders SCENE like kandela render and shows the picture on a page in a browser, whose "
        "address it prints: camera, options, photons and trees. Ctrl-C ends it with exit status 0. "
        "The pictures of -o are written only when the page's owner saves.",
    .examples = serve_examples,
    .groups = serve_groups,
    .brief = true,
    .run = run_serve,
};

const subcommand command_render = {
    .name = "render",
    .arguments = "SCENE",
    .summary = "render a scene or a mesh file to pictures",
    .description =
        "Renders SCENE and prints the names of the pictures written. SCENE is a scene description "
        "(JSON), a mesh file (OBJ, PLY, STL, glTF, GLB; others through assimp) or a generator, "
        "gen:NAME:TRIANGLES. Ctrl-C saves the partial picture.",
    .examples = render_examples,
    .groups = render_groups,
    .brief = true,
    .run = run,
};

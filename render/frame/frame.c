/* The frame loop: takes the samples of an image in passes over its tiles, on all cores or on a CUDA
   device (`frame.device_frame`), until it is complete, cancelled or out of time.
   Idea: a pass gives every pixel the same number of samples, so a rendering may end after any pass.
         Between parts of a pass the keeper may save image and state (state.c), from which --resume
         continues. */
#include "render/frame/frame.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "render/frame/catcher.h"
#include "render/frame/lens.h"
#include "render/frame/light_groups.h"
#include <stdatomic.h>

enum { TILE = 16, PASS_MAX = 16, TILE_SAMPLES = TILE * TILE * PASS_MAX, JUDGED_SAMPLES = 16 };
enum { FEW_SAMPLES = 32 };

typedef struct tile_pass {
    struct frame *frame;
    struct film *film;
    frame_pass samples;
    int32_t across;      /* tiles per row */
    int32_t top, bottom; /* rows of the film, [top, bottom) */
    atomic_bool paused;
    atomic_llong fresh; /* tiles completed since the last save */
    atomic_ullong rays, nan_samples;
} tile_pass;

/* --- defaults of optional members of an integrator -------------------------------------------- */

int32_t integrator_batches_max(const integrator *integrator, const kd_render_options *options) {
    return integrator->batches_max ? integrator->batches_max(options) : 1;
}

bool integrator_can_distribute(const integrator *integrator, const kd_render_options *options) {
    return integrator->take_distributed &&
           (!integrator->can_distribute || integrator->can_distribute(options));
}

uint32_t integrator_maps(const integrator *integrator, const kd_render_options *options) {
    return integrator->maps ? integrator->maps(options) : MAPS_NONE;
}

uint64_t integrator_state_bytes(const integrator *integrator, const kd_render_options *options) {
    return integrator->state_bytes ? integrator->state_bytes(options) : 0;
}

uint64_t integrator_launch_bytes(const integrator *integrator, const scene_view *scene,
                                 const kd_render_options *options) {
    return integrator->launch_bytes ? integrator->launch_bytes(scene, options) : 0;
}

int32_t integrator_samples(const integrator *integrator, const kd_render_options *options) {
    if (!integrator->pass || integrator->passes_are_samples) return options->spp;
    return integrator->batches_max ? options->passes * options->batches : options->passes;
}

uint32_t frame_end(const frame *frame) {
    const uint32_t samples = (uint32_t)integrator_samples(frame->integrator, frame->options);
    return frame->sample_end && frame->sample_end < samples ? frame->sample_end : samples;
}

pixel_view integrator_view(const frame *frame) {
    pixel_view view;
    view.scene = frame->scene;
    view.eye = frame->view;
    view.eye_end = frame->moves ? frame->view_end : frame->view;
    view.moves = frame->moves;
    view.width = frame->options->width;
    view.height = frame->options->height;
    view.filter = frame->options->filter;
    view.seed = frame->options->seed;
    return view;
}

bool integrator_has_cutouts(const scene_view *scene) {
    for (uint32_t i = 0; i < scene->material_count; ++i)
        if (material_has_cutouts(&scene->materials[i])) return true;
    return scene->nested.count > 0;
}

/* --- termination ------------------------------------------------------------------------------ */

bool frame_is_overdue(const frame *frame) {
    return frame->deadline > 0 && timing_now() >= frame->deadline;
}

bool frame_is_over(const frame *frame, uint32_t begin) {
    if (job_cancelled(frame->job)) return true;
    if (begin == 0) return false; /* the first sample of every pixel is always taken */
    return job_overdue(frame->job) || frame_is_overdue(frame);
}

static bool watch_is_due(const frame *frame) {
    const frame_keeper *keeper = frame->keeper;
    if (!keeper || !keeper->watch) return false;
    return timing_now() >= frame->watch_at || keeper->wanted(keeper->context);
}

static bool keeper_waits(const frame *frame) {
    return (frame->pause > 0 && timing_now() >= frame->pause) || watch_is_due(frame);
}

bool frame_is_waited_for(const frame *frame, uint32_t begin) {
    return frame_is_over(frame, begin) || keeper_waits(frame);
}

static bool pass_is_over(const tile_pass *pass) {
    return frame_is_over(pass->frame, pass->samples.begin);
}

/* Samples of a tile to be taken in one call. */
typedef struct tile_samples {
    pixel_request *requests;
    pixel_sample *samples;
    uint32_t count, maximum;
    uint64_t rays, nan_samples;
} tile_samples;

/* Fallback on the stack if memory for a whole tile cannot be allocated. */
typedef struct few_samples {
    pixel_request requests[FEW_SAMPLES];
    pixel_sample samples[FEW_SAMPLES];
} few_samples;

/* Takes the requested samples and adds them to the film, each pixel's in the order of sample
   numbers. */
static void take_samples(const tile_pass *pass, tile_samples *tile) {
    const integrator *integrator = pass->frame->integrator;
    const pixel_view view = integrator_view(pass->frame);
    if (integrator->samples)
        integrator->samples(pass->frame, tile->requests, tile->count, tile->samples);
    else
        for (uint32_t i = 0; i < tile->count; ++i)
            tile->samples[i] = integrator->sample(pass->frame, tile->requests[i].x,
                                                  tile->requests[i].y, tile->requests[i].sample);
    const bool catches = catcher_exists(view.scene);
    const int32_t lens = pass->frame->options->lens_samples;
    const bool cutouts = (catches || lens > 1) && integrator_has_cutouts(view.scene);
    for (uint32_t i = 0; i < tile->count; ++i) {
        const pixel_request *request = &tile->requests[i];
        if (catches &&
            catcher_take(&view, cutouts, request->x, request->y, request->sample,
                         &tile->samples[i]) &&
            integrator->splats)
            tile->samples[i].radiance =
                integrator->splats(pass->frame, request->x, request->y, request->sample);
        tile->rays += tile->samples[i].rays;
        pixel_weigh(&view, request->x, request->y, request->sample, &tile->samples[i]);
        if (lens > 1)
            lens_take(&view, lens, cutouts, request->x, request->y, request->sample,
                      &tile->samples[i]);
        if (!film_add(pass->film, request->x, request->y, &tile->samples[i])) ++tile->nan_samples;
    }
    tile->count = 0;
}

/* Requests the samples of this pass that the pixel does not have yet: a resumed film may have
   some. */
static void render_pixel(const tile_pass *pass, int32_t x, int32_t y, tile_samples *tile) {
    const uint32_t done = film_samples(pass->film, x, y), first = pass->samples.begin;
    for (uint32_t s = done > first ? done : first; s < first + pass->samples.count; ++s) {
        tile->requests[tile->count++] = (pixel_request){x, y, s};
        if (tile->count == tile->maximum) take_samples(pass, tile);
    }
}

/* Returns true if the keeper is due and there is something new to save. */
static bool wants_pause(const tile_pass *pass) {
    return atomic_load(&pass->fresh) > 0 && keeper_waits(pass->frame);
}

/* Returns true if all pixels of the rectangle have the samples of this pass. An interrupted run
   with a different tiling may have left part of a pass. */
static bool is_done(const tile_pass *pass, int32_t left, int32_t top, int32_t right,
                    int32_t bottom) {
    const film *to = pass->film;
    const uint32_t end = pass->samples.begin + pass->samples.count;
    for (int32_t y = top; y < bottom; ++y)
        for (int32_t x = left; x < right; ++x)
            if (film_samples(to, to->x0 + x, to->y0 + y) < end) return false;
    return true;
}

/* The caller frees the returned block, which may be NULL. */
static void *grow_scratch(tile_samples *tile, few_samples *few, uint64_t count) {
    const uint32_t maximum = count < TILE_SAMPLES ? (uint32_t)count : TILE_SAMPLES;
    memset(tile, 0, sizeof *tile);
    pixel_sample *sample = (pixel_sample *)memory_try_allocate(
        maximum * (sizeof *tile->samples + sizeof *tile->requests));
    tile->maximum = sample ? maximum : FEW_SAMPLES;
    tile->samples = sample ? sample : few->samples;
    tile->requests = sample ? (pixel_request *)(void *)(sample + maximum) : few->requests;
    return sample;
}

static void render_tile(tile_pass *pass, int64_t tile) {
    if (pass_is_over(pass)) return;
    if (wants_pause(pass)) {
        atomic_store(&pass->paused, true);
        return;
    }
    const film *to = pass->film;
    const int32_t left = (int32_t)(tile % pass->across) * TILE;
    const int32_t top = pass->top + (int32_t)(tile / pass->across) * TILE;
    const int32_t right = left + TILE < to->width ? left + TILE : to->width;
    const int32_t bottom = top + TILE < pass->bottom ? top + TILE : pass->bottom;
    if (is_done(pass, left, top, right, bottom)) return;
    tile_samples taken;
    few_samples few;
    void *buffer = grow_scratch(
        &taken, &few, (uint64_t)(right - left) * (uint64_t)(bottom - top) * pass->samples.count);
    for (int32_t y = top; y < bottom; ++y)
        for (int32_t x = left; x < right; ++x) render_pixel(pass, to->x0 + x, to->y0 + y, &taken);
    take_samples(pass, &taken);
    memory_free(buffer);
    atomic_fetch_add(&pass->rays, taken.rays);
    atomic_fetch_add(&pass->nan_samples, taken.nan_samples);
    atomic_fetch_add(&pass->fresh, 1);
    job_advance(pass->frame->job, (int64_t)(right - left) * (bottom - top) * pass->samples.count);
}

static void render_tiles(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    for (int64_t tile = begin; tile < end; ++tile) render_tile((tile_pass *)context, tile);
}

static void note_counts(frame *frame, tile_pass *pass) {
    frame->statistics.rays += atomic_exchange(&pass->rays, 0);
    frame->statistics.nan_samples += atomic_exchange(&pass->nan_samples, 0);
}

static kd_status watch(frame *frame, tile_pass *pass) {
    const frame_keeper *keeper = frame->keeper;
    if (!watch_is_due(frame)) return KD_OK;
    if (frame->device_frame) KD_TRY(frame_cuda_fetch_film(frame->device_frame, pass->film));
    frame->watch_at = keeper->watch(keeper->context, frame, pass->film);
    atomic_store(&pass->fresh, 0);
    return KD_OK;
}

/* Saves the film if the keeper is due. The pause until the next save is at least as long as this
   save took, so saving takes at most half of the time. */
static kd_status keep(frame *frame, tile_pass *pass) {
    const frame_keeper *keeper = frame->keeper;
    KD_TRY(watch(frame, pass));
    const double start = timing_now();
    if (!keeper || !(keeper->every_seconds > 0) || start < frame->pause) return KD_OK;
    if (frame->device_frame) KD_TRY(frame_cuda_fetch_film(frame->device_frame, pass->film));
    KD_TRY(keeper->save(keeper->context, frame, pass->film));
    const double ended = timing_now(), elapsed = ended - start;
    frame->pause = ended + (keeper->every_seconds > elapsed ? keeper->every_seconds : elapsed);
    atomic_store(&pass->fresh, 0);
    return KD_OK;
}

static void take_tiles(tile_pass *pass) {
    const int64_t down = (pass->bottom - pass->top + TILE - 1) / TILE;
    parallel_for(pass->across * down, 1, render_tiles, pass);
}

/* Takes the samples of a pass, pausing to save. */
static kd_status run_pass(frame *frame, tile_pass *pass) {
    do {
        atomic_store(&pass->paused, false);
        take_tiles(pass);
        note_counts(frame, pass);
        KD_TRY(keep(frame, pass));
    } while (atomic_load(&pass->paused) && !pass_is_over(pass));
    return KD_OK;
}

/* Launches kernels for the rows [top, bottom), as many rows per launch as it allows. With `keeping`
   (may be NULL), saves between launches if the keeper is due. */
static kd_status take_device_rows(frame *frame, film *film, const frame_pass *pass, int32_t top,
                                  int32_t bottom, sample_counts *counts, tile_pass *keeping) {
    const uint64_t maximum = frame_cuda_launch_samples(frame->integrator, frame->options);
    const int32_t rows = frame_cuda_rows(film->width, film->height, pass->count, maximum);
    sample_range range = {film->x0, film->y0, film->width, top, 0, pass->begin, pass->count};
    while (range.top < bottom && !frame_is_over(frame, pass->begin)) {
        sample_counts taken = {0, 0};
        range.bottom = bottom - range.top < rows ? bottom : range.top + rows;
        KD_TRY(frame_cuda_take(frame, frame->integrator, &range, &taken));
        counts->rays += taken.rays;
        counts->nan_samples += taken.nan_samples;
        if (keeping && taken.rays) { /* samples were taken since the last save */
            atomic_store(&keeping->rays, counts->rays);
            atomic_store(&keeping->nan_samples, counts->nan_samples);
            memset(counts, 0, sizeof *counts);
            note_counts(frame, keeping);
            KD_TRY(keep(frame, keeping));
        }
        /* stopped early to let the keeper save; repeat these rows */
        if (frame->device_frame->stopped) continue;
        job_advance(frame->job, (int64_t)(range.bottom - range.top) * range.width * range.count);
        range.top = range.bottom;
    }
    return KD_OK;
}

/* As run_pass, on a device. */
static kd_status run_device_pass(frame *frame, tile_pass *pass) {
    sample_counts counts = {0, 0};
    KD_TRY(
        take_device_rows(frame, pass->film, &pass->samples, 0, pass->film->height, &counts, pass));
    frame->statistics.rays += counts.rays;
    frame->statistics.nan_samples += counts.nan_samples;
    return KD_OK;
}

kd_status frame_take_rows(frame *frame, film *film, const frame_pass *pass, int32_t top,
                          int32_t bottom, sample_counts *counts) {
    if (frame->device_frame) return take_device_rows(frame, film, pass, top, bottom, counts, NULL);
    tile_pass tiles = {.frame = frame,
                       .film = film,
                       .samples = *pass,
                       .across = (film->width + TILE - 1) / TILE,
                       .top = top,
                       .bottom = bottom};
    take_tiles(&tiles);
    counts->rays += atomic_load(&tiles.rays);
    counts->nan_samples += atomic_load(&tiles.nan_samples);
    return KD_OK;
}

/* Returns the batch that contains a sample. */
static uint32_t batch_of(const frame *frame, uint32_t samples, uint32_t sample) {
    if (!frame->begin_batch) return 0;
    return (uint32_t)((uint64_t)sample * (uint64_t)frame->options->batches / samples);
}

static uint32_t batch_begin(const frame *frame, uint32_t samples, uint32_t batch) {
    const uint64_t batches = frame->begin_batch ? (uint64_t)frame->options->batches : 1;
    return (uint32_t)(((uint64_t)batch * samples + batches - 1) / batches);
}

bool frame_is_viewed(const frame *frame) {
    return frame->options->target_error > 0 || (frame->keeper && frame->keeper->show);
}

bool frame_is_awaited(const frame *frame) {
    return frame_is_viewed(frame) || frame->deadline > 0 || frame->pause > 0 ||
           (frame->keeper && frame->keeper->watch) || (frame->job && frame->job->deadline > 0);
}

/* Returns the samples per pixel of a device launch during which the film need not be inspected or
   saved; 0: no such launches. */
static uint32_t pass_unseen(const frame *frame, const film *film) {
    if (!frame->device_frame || !frame->integrator->launch_samples || frame_is_awaited(frame))
        return 0;
    const uint64_t whole = frame->integrator->launch_samples(frame->options) /
                           frame_cuda_tiled_pixels(film->width, film->height);
    return whole > UINT32_MAX ? UINT32_MAX : (uint32_t)whole;
}

/* Passes end at powers of two and at multiples of PASS_MAX, those of a resumed film as well: a
   prefix of a power of two of the Sobol' sequence is well distributed. */
uint32_t frame_pass_count(const frame *frame, const frame_pass *pass, uint32_t samples_left) {
    if (frame->integrator->pass) return 1;
    const uint32_t batch = batch_of(frame, pass->samples, pass->begin);
    const uint32_t left = batch_begin(frame, pass->samples, batch + 1) - pass->begin;
    uint32_t end = 1;
    while (end <= pass->begin && end < PASS_MAX) end *= 2;
    const uint32_t seen =
        pass->begin < PASS_MAX ? end - pass->begin : PASS_MAX - pass->begin % PASS_MAX;
    const uint32_t size = samples_left > seen ? samples_left : seen;
    return size < left ? size : left;
}

kd_status frame_pass_prepare(frame *frame, const film *film, frame_pass *pass) {
    const uint32_t batch = batch_of(frame, pass->samples, pass->begin);
    if (frame->integrator->pass) {
        KD_TRY(frame->integrator->pass(frame, pass->begin));
    } else if (frame->begin_batch && batch != pass->batch) {
        KD_TRY(frame->begin_batch(frame, batch));
        pass->batch = batch;
    } else {
        return KD_OK;
    }
    const int64_t pixels = (int64_t)film->width * film->height;
    const uint32_t end = batch_begin(frame, pass->samples, batch + 1);
    job_stage_begin(frame->job, "render",
                    frame->integrator->pass ? pixels : pixels * (end - pass->begin));
    return KD_OK;
}

/* Returns true for 16, 32, 48, 64, 96, 128, 192, ... samples. At these numbers film_error can judge
   how evenly the samples are distributed. Few tests also prevent an estimate that is too small by
   chance from ending the frame. */
static bool is_judged(uint32_t samples) {
    if (samples < JUDGED_SAMPLES) return false;
    while (samples % 2 == 0) samples /= 2;
    return samples == 1 || samples == 3;
}

bool frame_is_on_target(const frame *frame, const frame_pass *pass, const film *film) {
    const double target = frame->options->target_error;
    double error = 0;
    if (!(target > 0) || pass->begin < JUDGED_SAMPLES) return false;
    /* a film saved in the middle of a pass has passed its beginning without reaching the target */
    if (pass->begin < pass->samples &&
        (!is_judged(pass->begin) || !film_is_even(film, pass->begin)))
        return false;
    /* without memory for the estimate, rendering continues */
    return film_error(&error, film) == KD_OK && error <= target;
}

kd_status frame_run(frame *frame, const integrator *integrator, film *film) {
    frame->integrator = integrator;
    const uint32_t samples = (uint32_t)integrator_samples(integrator, frame->options);
    const uint32_t end = frame_end(frame);
    const int64_t pixels = (int64_t)film->width * film->height;
    tile_pass tiles = {.frame = frame,
                       .film = film,
                       .across = (film->width + TILE - 1) / TILE,
                       .bottom = film->height};
    frame_pass *pass = &tiles.samples;
    kd_status status = KD_OK;
    pass->samples = samples;
    pass->begin = film_min_samples(film);
    pass->batch = UINT32_MAX;
    if (frame->keeper && frame->keeper->every_seconds > 0 && !(frame->pause > 0))
        frame->pause = timing_now() + frame->keeper->every_seconds;
    if (!integrator->pass && !frame->begin_batch)
        job_stage_begin(frame->job, "render", pixels * samples);
    job_advance(frame->job, pixels * pass->begin);
    if (frame->groups && !frame->device_frame) KD_TRY_GOTO(light_groups_open(frame->groups, film));
    if (frame->device_frame) KD_TRY_GOTO(frame_cuda_place_film(frame->device_frame, film));
    while (pass->begin < end && !(frame->on_target = frame_is_on_target(frame, pass, film))) {
        pass->count = frame_pass_count(frame, pass, pass_unseen(frame, film));
        if (pass->count > end - pass->begin) pass->count = end - pass->begin;
        KD_TRY_GOTO(frame_pass_prepare(frame, film, pass));
        /* do not mix samples of a truncated map into the film */
        if (frame->maps_cut && pass->begin > 0 && !frame->film_cut) break;
        frame->film_cut |= frame->maps_cut;
        KD_TRY_GOTO(frame->device_frame ? run_device_pass(frame, &tiles) : run_pass(frame, &tiles));
        if (frame->device_frame && frame_is_viewed(frame))
            KD_TRY_GOTO(frame_cuda_fetch_film(frame->device_frame, film));
        if (frame->keeper && frame->keeper->show) frame->keeper->show(frame->keeper->context, film);
        if (pass_is_over(&tiles)) break;
        pass->begin += pass->count;
    }
    if (frame->device_frame) KD_TRY_GOTO(frame_cuda_fetch_film(frame->device_frame, film));
    if (pass->begin >= samples) frame->on_target = frame_is_on_target(frame, pass, film);
done:
    job_stage_end(frame->job);
    if (status != KD_OK) return status;
    return job_cancelled(frame->job) ? KD_INTERRUPTED : KD_OK;
}

#include "render/frame/frame.h"
#include "core/parallel/parallel.h"
#include "core/timing.h"
#include "render/frame/frame_device.h"
#include <stdatomic.h>

enum { TILE = 16, PASS_MOST = 16, JUDGED_SAMPLES = 4 };

typedef struct tile_pass {
    const frame *of;
    const integrator *how;
    film *to;
    int32_t across;        /* tiles in a row */
    uint32_t begin, count; /* samples of this pass */
    atomic_bool paused;
    atomic_llong fresh; /* tiles done since the last saving */
    atomic_ullong rays, nan_samples;
} tile_pass;

bool frame_is_overdue(const frame *of) {
    return of->deadline > 0 && timing_now() >= of->deadline;
}

bool frame_is_over(const frame *of, uint32_t begin) {
    if (job_cancelled(of->watched)) return true;
    if (begin == 0) return false; /* the first sample of every pixel is always taken */
    return job_overdue(of->watched) || frame_is_overdue(of);
}

static bool keeper_waits(const frame *of) {
    return of->pause > 0 && timing_now() >= of->pause;
}

bool frame_is_waited_for(const frame *of, uint32_t begin) {
    return frame_is_over(of, begin) || keeper_waits(of);
}

static bool pass_is_over(const tile_pass *pass) {
    return frame_is_over(pass->of, pass->begin);
}

/* The samples of this pass that the pixel does not have yet: a pass may have been begun before. */
static void render_pixel(tile_pass *pass, int32_t x, int32_t y, uint64_t *rays,
                         uint64_t *nan_samples) {
    const uint32_t done = film_samples(pass->to, x, y);
    for (uint32_t s = done > pass->begin ? done : pass->begin; s < pass->begin + pass->count; ++s) {
        const pixel_sample sample = pass->how->sample(pass->of, x, y, s);
        *rays += sample.rays;
        if (!film_add(pass->to, x, y, &sample)) ++*nan_samples;
    }
}

/* Whether to stop for a saving: never before there is something new to save. */
static bool wants_pause(const tile_pass *pass) {
    return atomic_load(&pass->fresh) > 0 && keeper_waits(pass->of);
}

static void render_tile(tile_pass *pass, int64_t tile) {
    if (pass_is_over(pass)) return;
    if (wants_pause(pass)) {
        atomic_store(&pass->paused, true);
        return;
    }
    const film *to = pass->to;
    const int32_t left = (int32_t)(tile % pass->across) * TILE;
    const int32_t top = (int32_t)(tile / pass->across) * TILE;
    const int32_t right = left + TILE < to->width ? left + TILE : to->width;
    const int32_t bottom = top + TILE < to->height ? top + TILE : to->height;
    if (film_samples(to, to->x0 + right - 1, to->y0 + bottom - 1) >= pass->begin + pass->count)
        return; /* tiles are done whole */
    uint64_t rays = 0, nan_samples = 0;
    for (int32_t y = top; y < bottom; ++y)
        for (int32_t x = left; x < right; ++x)
            render_pixel(pass, to->x0 + x, to->y0 + y, &rays, &nan_samples);
    atomic_fetch_add(&pass->rays, rays);
    atomic_fetch_add(&pass->nan_samples, nan_samples);
    atomic_fetch_add(&pass->fresh, 1);
    job_advance(pass->of->watched, (int64_t)(right - left) * (bottom - top) * pass->count);
}

static void render_tiles(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    for (int64_t tile = begin; tile < end; ++tile) render_tile((tile_pass *)context, tile);
}

static void note_counts(frame *of, tile_pass *pass) {
    of->statistics.rays += atomic_exchange(&pass->rays, 0);
    of->statistics.nan_samples += atomic_exchange(&pass->nan_samples, 0);
}

/* Saves what is there whenever the keeper's time has come; it comes again no sooner than the saving
   itself took, so that at most half of the time goes there. */
static kd_status keep(frame *of, tile_pass *pass) {
    const frame_keeper *keeper = of->keeper;
    const double begun = timing_now();
    if (!keeper || !(keeper->every_seconds > 0) || begun < of->pause) return KD_OK;
    if (of->there) KD_TRY(frame_cuda_fetch_film(of->there, pass->to));
    KD_TRY(keeper->save(keeper->context, of, pass->to));
    const double ended = timing_now(), took = ended - begun;
    of->pause = ended + (keeper->every_seconds > took ? keeper->every_seconds : took);
    atomic_store(&pass->fresh, 0);
    return KD_OK;
}

/* All tiles of a pass. */
static kd_status run_pass(frame *of, tile_pass *pass) {
    const int64_t down = (pass->to->height + TILE - 1) / TILE;
    do {
        atomic_store(&pass->paused, false);
        parallel_for(pass->across * down, 1, render_tiles, pass);
        note_counts(of, pass);
        KD_TRY(keep(of, pass));
    } while (atomic_load(&pass->paused) && !pass_is_over(pass));
    return KD_OK;
}

/* The same on a device, by as many rows as one launch takes. */
static kd_status run_pass_there(frame *of, tile_pass *pass) {
    const film *to = pass->to;
    const uint64_t most = frame_cuda_launch_samples(pass->how, of->options);
    const int32_t rows = frame_cuda_rows(to->width, to->height, pass->count, most);
    sample_range range = {to->x0, to->y0, to->width, 0, 0, pass->begin, pass->count};
    while (range.top < to->height && !pass_is_over(pass)) {
        sample_counts counts = {0, 0};
        range.bottom = to->height - range.top < rows ? to->height : range.top + rows;
        KD_TRY(frame_cuda_take(of, pass->how, &range, &counts));
        of->statistics.rays += counts.rays;
        of->statistics.nan_samples += counts.nan_samples;
        if (counts.rays) KD_TRY(keep(of, pass)); /* there is something new */
        if (of->there->stopped) continue;        /* with those that were left out */
        job_advance(of->watched, (int64_t)(range.bottom - range.top) * range.width * range.count);
        range.top = range.bottom;
    }
    return KD_OK;
}

/* The batch that a sample is in, and the first sample of a batch. */
static uint32_t batch_of(const frame *of, uint32_t samples, uint32_t sample) {
    if (!of->begin_batch) return 0;
    return (uint32_t)((uint64_t)sample * (uint64_t)of->options->batches / samples);
}

static uint32_t batch_begin(const frame *of, uint32_t samples, uint32_t batch) {
    const uint64_t batches = of->begin_batch ? (uint64_t)of->options->batches : 1;
    return (uint32_t)(((uint64_t)batch * samples + batches - 1) / batches);
}

/* Whether somebody wants to see the film between passes. */
static bool is_looked_at(const frame *of) {
    return of->options->target_error > 0 || (of->keeper && of->keeper->look);
}

/* Whether a frame may end, or be looked at, before all samples are taken but by an interruption. */
static bool is_awaited(const frame *of) {
    return is_looked_at(of) || of->deadline > 0 || of->pause > 0 ||
           (of->watched && of->watched->deadline > 0);
}

/* Samples of a pass that nobody waits for, on a device where a launch takes many at once. */
static uint32_t pass_unseen(const tile_pass *pass) {
    if (!pass->of->there || !pass->how->launch_samples || is_awaited(pass->of)) return 0;
    const uint64_t whole = pass->how->launch_samples(pass->of->options) /
                           frame_cuda_tiled_pixels(pass->to->width, pass->to->height);
    return whole > UINT32_MAX ? UINT32_MAX : (uint32_t)whole;
}

/* Samples of the pass that begins: 1, 1, 2, 4, 8, 16, 16, ...: each prefix of a power of two is
   evenly spread. A pass has samples of one batch only. */
static uint32_t pass_size(const tile_pass *pass, uint32_t samples) {
    if (pass->how->pass) return 1;
    const uint32_t batch = batch_of(pass->of, samples, pass->begin);
    const uint32_t left = batch_begin(pass->of, samples, batch + 1) - pass->begin;
    const uint32_t begun = pass->begin ? pass->begin : 1, unseen = pass_unseen(pass);
    const uint32_t seen = begun < PASS_MOST ? begun : PASS_MOST;
    const uint32_t size = unseen > seen ? unseen : seen;
    return size < left ? size : left;
}

/* What has to be made before the samples of a pass are taken. */
static kd_status prepare_pass(frame *of, const tile_pass *pass, uint32_t samples, uint32_t *batch) {
    const uint32_t wanted = batch_of(of, samples, pass->begin);
    if (pass->how->pass) {
        KD_TRY(pass->how->pass(of, pass->begin));
    } else if (of->begin_batch && wanted != *batch) {
        KD_TRY(of->begin_batch(of, wanted));
        *batch = wanted;
    } else {
        return KD_OK;
    }
    const int64_t pixels = (int64_t)pass->to->width * pass->to->height;
    const uint32_t end = batch_begin(of, samples, wanted + 1);
    job_stage_begin(of->watched, "render", pass->how->pass ? pixels : pixels * (end - pass->begin));
    return KD_OK;
}

/* Between passes, where all pixels have equally many samples. */
static bool is_on_target(const tile_pass *pass) {
    const double target = pass->of->options->target_error;
    return target > 0 && pass->begin >= JUDGED_SAMPLES && film_error(pass->to) <= target;
}

kd_status frame_run(frame *of, const integrator *how, film *to) {
    const uint32_t samples = (uint32_t)integrator_samples(how, of->options);
    const int64_t pixels = (int64_t)to->width * to->height;
    tile_pass pass = {.of = of, .how = how, .to = to, .across = (to->width + TILE - 1) / TILE};
    kd_status status = KD_OK;
    uint32_t batch = UINT32_MAX; /* none yet */
    pass.begin = film_least_samples(to);
    if (of->keeper && of->keeper->every_seconds > 0)
        of->pause = timing_now() + of->keeper->every_seconds;
    if (!how->pass && !of->begin_batch) job_stage_begin(of->watched, "render", pixels * samples);
    job_advance(of->watched, pixels * pass.begin);
    if (of->there) KD_TRY_GOTO(frame_cuda_place_film(of->there, to));
    while (pass.begin < samples && !(of->on_target = is_on_target(&pass))) {
        pass.count = pass_size(&pass, samples);
        KD_TRY_GOTO(prepare_pass(of, &pass, samples, &batch));
        if (of->maps_cut && pass.begin > 0 && !of->film_cut) break; /* nor spoil what is there */
        of->film_cut |= of->maps_cut;
        KD_TRY_GOTO(of->there ? run_pass_there(of, &pass) : run_pass(of, &pass));
        if (of->there && is_looked_at(of)) KD_TRY_GOTO(frame_cuda_fetch_film(of->there, to));
        if (of->keeper && of->keeper->look) of->keeper->look(of->keeper->context, to);
        if (pass_is_over(&pass)) break;
        pass.begin += pass.count;
    }
    if (of->there) KD_TRY_GOTO(frame_cuda_fetch_film(of->there, to));
    if (pass.begin >= samples) of->on_target = is_on_target(&pass);
done:
    job_stage_end(of->watched);
    if (status != KD_OK) return status;
    return job_cancelled(of->watched) ? KD_INTERRUPTED : KD_OK;
}

#include "render/frame.h"
#include "core/parallel.h"
#include "core/timing.h"
#include <stdatomic.h>

enum { TILE = 16, PASS_MOST = 16 };

typedef struct tile_pass {
    const frame *of;
    const integrator *how;
    film *to;
    int32_t across;        /* tiles in a row */
    uint32_t begin, count; /* samples of this pass */
    double deadline;       /* timing_now() after which tiles are left out; 0: none */
    atomic_ullong rays, nan_samples;
} tile_pass;

static bool pass_is_over(const tile_pass *pass) {
    if (job_cancelled(pass->of->watched)) return true;
    if (pass->begin == 0) return false; /* the first sample of every pixel is always taken */
    return job_overdue(pass->of->watched) || (pass->deadline > 0 && timing_now() >= pass->deadline);
}

static void render_tile(tile_pass *pass, int64_t tile) {
    if (pass_is_over(pass)) return;
    film *to = pass->to;
    const int32_t left = (int32_t)(tile % pass->across) * TILE;
    const int32_t top = (int32_t)(tile / pass->across) * TILE;
    const int32_t right = left + TILE < to->width ? left + TILE : to->width;
    const int32_t bottom = top + TILE < to->height ? top + TILE : to->height;
    uint64_t rays = 0, nan_samples = 0;
    for (int32_t y = top; y < bottom; ++y)
        for (int32_t x = left; x < right; ++x)
            for (uint32_t s = pass->begin; s < pass->begin + pass->count; ++s) {
                const pixel_sample sample = pass->how->sample(pass->of, to->x0 + x, to->y0 + y, s);
                rays += sample.rays;
                if (!film_add(to, to->x0 + x, to->y0 + y, &sample)) ++nan_samples;
            }
    atomic_fetch_add(&pass->rays, rays);
    atomic_fetch_add(&pass->nan_samples, nan_samples);
    job_advance(pass->of->watched, (int64_t)(right - left) * (bottom - top) * pass->count);
}

static void render_tiles(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    for (int64_t tile = begin; tile < end; ++tile) render_tile((tile_pass *)context, tile);
}

kd_status frame_run(frame *of, const integrator *how, film *to) {
    const uint32_t spp = (uint32_t)of->options->spp;
    const int64_t down = (to->height + TILE - 1) / TILE;
    tile_pass pass = {.of = of, .how = how, .to = to, .across = (to->width + TILE - 1) / TILE};
    if (of->options->time_seconds > 0) pass.deadline = timing_now() + of->options->time_seconds;
    job_stage_begin(of->watched, "render", (int64_t)to->width * to->height * spp);
    while (pass.begin < spp) {
        /* 1, 1, 2, 4, 8, 16, 16, ...: each prefix of a power of two is evenly spread */
        pass.count = pass.begin == 0 ? 1 : pass.begin < PASS_MOST ? pass.begin : PASS_MOST;
        if (pass.count > spp - pass.begin) pass.count = spp - pass.begin;
        parallel_for(pass.across * down, 1, render_tiles, &pass);
        if (pass_is_over(&pass)) break;
        pass.begin += pass.count;
    }
    job_stage_end(of->watched);
    of->statistics.rays += atomic_load(&pass.rays);
    of->statistics.nan_samples += atomic_load(&pass.nan_samples);
    return job_cancelled(of->watched) ? KD_INTERRUPTED : KD_OK;
}

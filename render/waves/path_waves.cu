/* Path tracing by waves.
   Source: Laine, Karras, Aila 2013, "Megakernels considered harmful: wavefront path tracing on
           GPUs".
   Idea: a pool of paths. A wave takes each of them one surface further: begin (new paths fill
         the pool), cast closest, list by kind, shade (others; diffuse), cast any, add. A kernel
         reads how much there is to do from the wave's record; its grid is what the device holds.
         So the host starts waves ahead and looks only every fourth one. End: when all samples
         have begun and few paths are left, these are finished a thread each. If somebody waits
         for the film, no more paths begin, and it ends the same way.
   Memory: path_store.cuh says it.
   Invariants: the film's bits are those of path_pixel, sample by sample: the same functions in
               the same order for each path, sums in slots of their own. */
#include "render/frame/frame.h"
#include "render/waves/path_begin.cuh"
#include "render/waves/path_end.cuh"
#include "render/waves/path_run.cuh"
#include "render/waves/path_shadows.cuh"
#include "render/waves/waves.h"

namespace {

enum { LOOK_EVERY = 4, RESERVE_TRIES = 8 };

/* --- memory ----------------------------------------------------------------------------------- */

/* With fewer paths at a time where the device has no room for more. */
kd_status reserve(wave_run *run) {
    path_waves *w = &run->work;
    device_buffer *memory = &run->of->there->work;
    kd_status status = KD_OK;
    for (int tried = 0; tried < RESERVE_TRIES; ++tried) {
        cuda_arena arena = {NULL, 0};
        lay_out_waves(w, &arena, run->general);
        status = device_buffer_reserve(memory, arena.used);
        if (status == KD_OK) {
            arena.base = (char *)memory->memory;
            arena.used = 0;
            lay_out_waves(w, &arena, run->general);
            return KD_OK;
        }
        if (status != KD_ERROR_MEMORY || w->capacity <= WAVE_PATHS_LEAST) break;
        w->capacity /= 2;
    }
    return status_pass(status, __FILE__, __LINE__, "device_buffer_reserve");
}

kd_status run_open(wave_run *out, const frame *of, const path_options *options,
                   const sample_range *range) {
    path_waves *w = &out->work;
    memset(out, 0, sizeof *out);
    out->of = of;
    out->general = waves_are_general(of->scene);
    w->view = integrator_view(of);
    w->view.scene = NULL;
    w->range = *range;
    w->options = *options;
    if (w->options.max_depth > DEPTH_MOST) w->options.max_depth = DEPTH_MOST;
    assert(options->scatterings <= SCATTERED_MOST || options->scatterings == INT32_MAX);
    w->pixels = of->there->pixels;
    w->counts = of->there->counts;
    w->across = (uint32_t)(range->width + 7) / 8;
    const uint64_t tiled = frame_cuda_tiled_pixels(range->width, range->bottom - range->top);
    const uint64_t paths = waves_samples(of->options) / WAVE_SAMPLES_EACH;
    KD_REQUIRE(tiled * range->count < KD_NONE, KD_ERROR_USAGE,
               "%llu samples of %u a pixel in one launch, expected fewer than 2^32",
               (unsigned long long)(tiled * range->count), range->count);
    w->tiled = (uint32_t)tiled;
    w->slots = (uint32_t)(tiled * range->count);
    w->capacity = paths < w->slots ? (uint32_t)paths : w->slots;
    KD_TRY(reserve(out));
    KD_TRY(tritree_cuda_pack(&of->there->tree, NULL));
    KD_CUDA(cudaMemsetAsync(w->ring, 0, WAVE_RING * sizeof(wave_record)));
    return KD_OK;
}

/* --- a wave ----------------------------------------------------------------------------------- */

kd_status add_shadows(const wave_run *run) {
    return run->general ? start(run, wave_add_shares, SHADOW_BLOCK, "wave_add_shares")
                        : add_unblocked(run);
}

template <bool general> kd_status run_wave(const wave_run *run) {
    KD_TRY(start(run, wave_begin<general>, BEGIN_BLOCK, "wave_begin"));
    KD_TRY(cast_paths(run));
    KD_TRY(start(run, wave_list, KIND_BLOCK, "wave_list"));
    KD_TRY(start(run, wave_shade<general, false>, SHADE_BLOCK, "wave_shade of others"));
    KD_TRY(start(run, wave_shade<general, true>, SHADE_BLOCK, "wave_shade of diffuse ones"));
    KD_TRY(cast_shadows(run));
    return add_shadows(run);
}

/* --- all waves -------------------------------------------------------------------------------- */

/* Never for a saving before there is something new to save. */
bool is_to_end(const wave_run *run, const wave_record *seen) {
    const uint32_t begin = run->work.range.begin;
    return seen->fresh ? frame_is_waited_for(run->of, begin) : frame_is_over(run->of, begin);
}

/* Until all samples have begun, or somebody waits, and few paths are left. *seen: the last record.
 */
kd_status run_waves(wave_run *run, wave_record *seen) {
    const uint32_t few = min((uint32_t)WAVE_FEW, run->work.capacity / 8);
    bool more = true;
    for (;; ++run->wave) {
        KD_TRY(plan_wave(run, more));
        if (run->wave % LOOK_EVERY == LOOK_EVERY - 1) {
            KD_TRY(device_memory_download(seen, record_of(run), sizeof *seen));
            more = more && !is_to_end(run, seen);
            const bool begun = (!more || seen->end == run->work.slots) && seen->begin == seen->end;
            if (begun && seen->rays <= few) return KD_OK;
        }
        KD_TRY(run->general ? run_wave<true>(run) : run_wave<false>(run));
    }
}

kd_status end_waves(const wave_run *run) {
    KD_TRY(start(run, wave_finish, FINISH_BLOCK, "wave_finish"));
    wave_film<<<(run->work.tiled + FILM_BLOCK - 1) / FILM_BLOCK, FILM_BLOCK>>>(run->work,
                                                                               run->wave);
    KD_CUDA_LAUNCHED("wave_film");
    return KD_OK;
}

} // namespace

extern "C" kd_status waves_take_paths(const frame *of, const path_options *options,
                                      const sample_range *range) {
    wave_run run;
    wave_record seen;
    KD_TRY(run_open(&run, of, options, range));
    KD_TRY(run_waves(&run, &seen));
    of->there->stopped = seen.end < run.work.slots;
    return end_waves(&run);
}

/* The loop of frame_run with decisions made by rank 0; and the choice between replicated and
   distributed photon maps. */
#include "distributed/render/shared_frame.h"
#include "core/job.h"
#include "core/memory.h"
#include "distributed/render/shared_pass.h"
#include <string.h>

enum { SAMPLES_MIN = 16, SAMPLES_MAX = 1024 };
static const double row_seconds = 0.25; /* maximum time for a row on the slowest rank, because the
                                           last chunk of a pass is one row */

kd_status shared_frame_check(ranks *comm, uint64_t identity) {
    if (!ranks_shared(comm)) return KD_OK;
    uint64_t first = identity;
    bool other = false;
    KD_TRY(ranks_broadcast(comm, &first, sizeof first));
    KD_TRY(ranks_any(comm, first != identity, &other));
    KD_REQUIRE(!other, KD_ERROR_INPUT,
               "the %d ranks do not have the same scene, options and program version; start all "
               "with the same command",
               comm->size);
    return KD_OK;
}

kd_status shared_frame_agree(ranks *comm, kd_status status) {
    bool any = false;
    if (!ranks_shared(comm) || (status != KD_OK && status != KD_INTERRUPTED)) return status;
    KD_TRY(ranks_any(comm, status == KD_INTERRUPTED, &any));
    if (any && status == KD_OK)
        return status_fail(KD_INTERRUPTED, __FILE__, __LINE__, "another rank was interrupted");
    return status;
}

kd_status shared_frame_resume(ranks *comm, frame *frame, film *film) {
    if (!ranks_shared(comm)) return KD_OK;
    const uint64_t pixels = (uint64_t)film->width * (uint64_t)film->height;
    KD_TRY(ranks_broadcast(comm, &frame->statistics, sizeof frame->statistics));
    KD_TRY(ranks_broadcast(comm, frame->carried, sizeof frame->carried));
    KD_TRY(ranks_broadcast(comm, film->pixels, pixels * sizeof *film->pixels));
    film->resumed = true;
    return KD_OK;
}

/* --- decisions of rank 0 ---------------------------------------------------------------------- */

typedef struct pass_plan {
    uint32_t begin, count;
    int32_t end, save, viewed, target;
} pass_plan;

static void flush_counts(shared_pass *pass) {
    pass->frame->statistics.rays += pass->counts.rays;
    pass->frame->statistics.nan_samples += pass->counts.nan_samples;
    memset(&pass->counts, 0, sizeof pass->counts);
}

/* Saves the film of rank 0, which is complete except for chunks being rendered. */
static kd_status keep(shared_pass *pass) {
    const frame_keeper *keeper = pass->frame->keeper;
    const double start = timing_now();
    flush_counts(pass);
    KD_TRY(keeper->save(keeper->context, pass->frame, pass->film));
    const double ended = timing_now(), elapsed = ended - start;
    pass->pause = ended + (keeper->every_seconds > elapsed ? keeper->every_seconds : elapsed);
    return KD_OK;
}

/* Returns the minimum number of samples of a pass: 0 if a viewer waits for the picture; otherwise
   few at first, so that speeds become known and there is a picture to save, then as many as keep a
   row below row_seconds. */
static uint32_t unseen_samples(const shared_pass *pass) {
    if (pass->samples.begin == 0 || frame_is_awaited(pass->frame)) return 0;
    const double slowest = row_scheduler_slowest(&pass->scheduler);
    const double count = slowest * row_seconds / pass->film->width;
    return count < SAMPLES_MIN ? SAMPLES_MIN : count < SAMPLES_MAX ? (uint32_t)count : SAMPLES_MAX;
}

static kd_status plan_pass(shared_pass *pass, pass_plan *plan, bool over) {
    frame *frame = pass->frame;
    frame_pass *samples = &pass->samples;
    memset(plan, 0, sizeof *plan);
    if (pass->comm->rank == 0) {
        plan->begin = samples->begin;
        plan->target = frame_is_on_target(frame, samples, pass->film);
        plan->end = over || plan->target || samples->begin >= samples->samples;
        plan->save = !plan->end && pass->pause > 0 && timing_now() >= pass->pause;
        if (!plan->end) plan->count = frame_pass_count(frame, samples, unseen_samples(pass));
    }
    KD_TRY(ranks_broadcast(pass->comm, plan, sizeof *plan));
    samples->begin = plan->begin;
    samples->count = plan->count;
    frame->on_target = plan->target != 0;
    return KD_OK;
}

/* Returns true if a band of rows stays with its rank between passes. */
static bool has_bands(const frame *frame) {
    return frame->integrator->pass || frame->distributed;
}

/* --- passes ----------------------------------------------------------------------------------- */

typedef struct rank_report {
    double seconds;
    uint64_t over;
} rank_report;

/* Collective. Exchanges the times of all ranks, and whether one of them must stop. */
static kd_status report(shared_pass *pass, bool *over) {
    rank_report *all = NULL;
    const int32_t size = pass->comm->size, rank = pass->comm->rank;
    KD_TRY(KD_RESERVE_ZEROED(all, (uint64_t)size));
    all[rank].seconds = pass->seconds[rank];
    all[rank].over = frame_is_over(pass->frame, pass->samples.begin);
    const kd_status status = ranks_all_gather_even(pass->comm, all, sizeof *all);
    *over = false;
    for (int32_t r = 0; r < size; ++r) {
        pass->seconds[r] = all[r].seconds;
        *over |= all[r].over != 0;
    }
    memory_free(all);
    return status;
}

/* Between two passes: rebalances the bands and shows the film to the viewer. */
static kd_status between_passes(shared_pass *pass, bool viewed, bool *over) {
    const bool bands = has_bands(pass->frame);
    KD_TRY(report(pass, over));
    if (bands && !*over) KD_TRY(pass_split_again(pass));
    if (!viewed) return KD_OK;
    if (bands) KD_TRY(pass_collect(pass));
    const frame_keeper *keeper = pass->frame->keeper;
    if (pass->comm->rank == 0 && keeper && keeper->show) keeper->show(keeper->context, pass->film);
    return KD_OK;
}

static kd_status run_pass(shared_pass *pass, const pass_plan *plan, bool *truncated) {
    frame *frame = pass->frame;
    const bool bands = has_bands(frame);
    if (plan->save && bands) {
        KD_TRY(pass_collect(pass));
        if (pass->comm->rank == 0) KD_TRY(keep(pass));
    }
    const double start = timing_now(), waited = pass->comm->waited;
    kd_status status = frame_pass_prepare(frame, pass->film, &pass->samples);
    pass->worked += timing_now() - start - (pass->comm->waited - waited);
    status = shared_frame_agree(pass->comm, status);
    KD_TRY(status);
    *truncated = frame->maps_cut && pass->samples.begin > 0 && !frame->film_cut;
    if (*truncated) return KD_OK;
    frame->film_cut |= frame->maps_cut;
    KD_TRY(frame->distributed ? pass_distributed(pass)
           : bands            ? pass_by_bands(pass)
                              : pass_by_chunks(pass));
    pass->samples.begin += pass->samples.count;
    return KD_OK;
}

static kd_status run_passes(shared_pass *pass) {
    int32_t viewed = frame_is_viewed(pass->frame);
    bool over = false, truncated = false;
    KD_TRY(ranks_broadcast(pass->comm, &viewed, sizeof viewed));
    while (!truncated) {
        pass_plan plan;
        KD_TRY(between_passes(pass, viewed && pass->samples.begin > 0, &over));
        KD_TRY(plan_pass(pass, &plan, over));
        if (plan.end) return KD_OK;
        KD_TRY(run_pass(pass, &plan, &truncated));
    }
    return KD_OK;
}

static kd_status report_figures(const shared_pass *pass, double waited, uint64_t sent,
                                rank_figures *figures) {
    rank_figures *rank = figures + pass->comm->rank;
    rank->seconds = pass->worked;
    rank->waited = pass->comm->waited - waited;
    rank->sent = pass->comm->sent - sent;
    rank->rows = pass->rows;
    return ranks_all_gather_even(pass->comm, figures, sizeof *figures);
}

static kd_status pass_open(shared_pass *pass) {
    const uint64_t size = (uint64_t)pass->comm->size;
    KD_TRY(row_scheduler_open(&pass->scheduler, pass->comm->size));
    KD_TRY(KD_RESERVE(pass->bounds, size + 1));
    KD_TRY(KD_RESERVE(pass->old, size + 1));
    KD_TRY(KD_RESERVE_ZEROED(pass->seconds, size));
    split_even(pass->bounds, pass->comm->size, pass->film->height);
    return KD_OK;
}

static void pass_close(shared_pass *pass) {
    row_scheduler_close(&pass->scheduler);
    memory_free(pass->bounds);
    memory_free(pass->old);
    memory_free(pass->seconds);
}

kd_status shared_frame_run(frame *frame, const integrator *integrator, film *film,
                           rank_figures *figures) {
    const int64_t pixels = (int64_t)film->width * film->height;
    const double waited = frame->comm->waited;
    const uint64_t sent = frame->comm->sent;
    shared_pass pass = {
        .frame = frame, .film = film, .comm = frame->comm, .patience = 1, .keep = keep};
    kd_status status = KD_OK;
    frame->integrator = integrator;
    pass.samples.samples = (uint32_t)integrator_samples(integrator, frame->options);
    pass.samples.begin = film_min_samples(film);
    pass.samples.batch = UINT32_MAX;
    if (frame->comm->rank == 0 && frame->keeper && frame->keeper->every_seconds > 0)
        pass.pause = timing_now() + frame->keeper->every_seconds;
    if (!integrator->pass && !frame->begin_batch) {
        job_stage_begin(frame->job, "render", pixels * pass.samples.samples);
        job_advance(frame->job, pixels * pass.samples.begin);
    }
    KD_TRY_GOTO(pass_open(&pass));
    if (frame->device_frame) KD_TRY_GOTO(frame_cuda_place_film(frame->device_frame, film));
    status = run_passes(&pass);
    if (status != KD_OK && status != KD_INTERRUPTED) goto done;
    if (has_bands(frame)) {
        const kd_status collected = pass_collect(&pass);
        if (collected != KD_OK) status = collected;
    }
    flush_counts(&pass);
    const kd_status reported = report_figures(&pass, waited, sent, figures);
    if (reported != KD_OK) status = reported;
    if (status == KD_OK) {
        const bool cancelled = job_cancelled(frame->job);
        status = shared_frame_agree(frame->comm, cancelled ? KD_INTERRUPTED : KD_OK);
    }
done:
    job_stage_end(frame->job);
    pass_close(&pass);
    return status;
}

static const double unseen_seconds = 1, worth_it = 4;

rank_maps rank_maps_find(const char *name) {
    int i = 0;
    while (i < RANK_MAPS && strcmp(rank_maps_name(i), name) != 0) ++i;
    return i < RANK_MAPS ? (rank_maps)i : RANK_MAPS_AUTO;
}

bool rank_maps_distributed(const char *name) {
    return rank_maps_find(name) == RANK_MAPS_DISTRIBUTED;
}

rank_maps maps_choice_of(const maps_choice *choice, bool whole_fits, bool distributed_fits) {
    if (!whole_fits || !distributed_fits)
        return distributed_fits ? RANK_MAPS_DISTRIBUTED : RANK_MAPS_WHOLE;
    if (choice->on_devices)
        return choice->sent[RANK_MAPS_DISTRIBUTED] < choice->sent[RANK_MAPS_WHOLE]
                   ? RANK_MAPS_DISTRIBUTED
                   : RANK_MAPS_WHOLE;
    if (!(choice->bandwidth > 0)) return RANK_MAPS_WHOLE;
    const double whole = (double)choice->sent[RANK_MAPS_WHOLE] / choice->bandwidth;
    const double distributed = (double)choice->sent[RANK_MAPS_DISTRIBUTED] / choice->bandwidth;
    return whole > unseen_seconds && whole > worth_it * distributed ? RANK_MAPS_DISTRIBUTED
                                                                    : RANK_MAPS_WHOLE;
}

/* The thread that renders: takes pictures of the film, answers queries, pauses. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "render/frame/frame.h"
#include "render/integrators/integrators.h"
#include "scenes/assembly/scene.h"
#include "scenes/mesh/origin.h"
#include "tools/program/serve/live_session.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pictures take at most 1/COST_SHARE of the time; a client counts as there for ACTIVE_SECONDS after
   a request. */
enum { COST_SHARE = 100, ACTIVE_SECONDS = 10, QUERY_SECONDS = 20 };
/* Queries take at most 1/QUERY_SHARE of the time, but none waits longer than QUIET_MAX for others.
 */
enum { QUERY_SHARE = 50 };
#define QUIET_MIN 0.05
#define QUIET_MAX 2.0
#define INTERVAL_MIN 0.15
#define INTERVAL_MAX 3.0
#define INTERVAL_SHARE 0.15 /* of the time since the picture began */
#define WAIT_SECONDS 0.1    /* between checks of what no thread announces */

void live_notify_changed(live_session *live) {
    ++live->version;
    pthread_cond_broadcast(&live->changed);
}

/* --- figures ---------------------------------------------------------------------------------- */

static void add_figure(live_figure *list, int *count, int maximum, const char *name, double value) {
    if (*count >= maximum) return;
    snprintf(list[*count].name, sizeof list->name, "%s", name);
    list[(*count)++].value = value;
}

static void note_error(live_state *state, const film *film, uint32_t samples) {
    const int count = state->error_count;
    const uint32_t last = count ? state->errors[count - 1].samples : 1;
    double error = 0;
    if (samples < 2 || samples < last + last / 2 || count == LIVE_ERRORS) return;
    if (film_error(&error, film) != KD_OK || !isfinite(error)) return;
    state->errors[count] = (live_error){samples, state->seconds, error};
    ++state->error_count;
}

static void note_figures(live_state *state, const render_moment *now) {
    const frame *frame = now->frame;
    const frame_statistics *from = &frame->statistics;
    state->stage_count = state->ledger_count = 0;
    for (int i = 0; i < frame->job->stage_count; ++i)
        add_figure(state->stages, &state->stage_count, LIVE_STAGES, frame->job->stages[i].name,
                   frame->job->stages[i].seconds);
    if (from->watts_emitted > 0) {
        const double all = from->watts_emitted;
        live_figure *list = state->ledger;
        int *count = &state->ledger_count;
        add_figure(list, count, LIVE_LEDGER, "absorbed", from->watts_absorbed / all);
        add_figure(list, count, LIVE_LEDGER, "media", from->watts_media / all);
        add_figure(list, count, LIVE_LEDGER, "escaped", from->watts_escaped / all);
        add_figure(list, count, LIVE_LEDGER, "ended", from->watts_ended / all);
    }
    state->map_count = live_list_maps(state->maps, frame);
}

static uint32_t levels_of(const tritree_view *tree, int32_t depth) {
    return tree->nodes && tree->node_count ? (uint32_t)depth + 1 : 0;
}

/* Brings the state up to date, with the lock. */
static void note_state(live_session *live, const render_moment *now, uint32_t samples) {
    live_state *state = &live->state;
    const frame *frame = now->frame;
    const scene_view *scene = frame->scene;
    state->samples = samples;
    state->light_bytes = live->sums ? light_groups_bytes(&live->films) : 0;
    state->sample_count = (uint32_t)integrator_samples(frame->integrator, frame->options);
    state->seconds = timing_now() - live->began;
    if (!live->has_camera) state->camera = live_camera_of(&now->out->view, scene->origin);
    const vec3 ends[2] = {scene->box.lo, scene->box.hi};
    for (int i = 0; i < 2; ++i) {
        double at[3];
        origin_to_world(at, scene->origin, ends[i]);
        memcpy(state->bounds + 3 * i, at, sizeof at);
    }
    state->tree_levels = levels_of(&scene->tree, (int32_t)now->out->tree.depth);
    snprintf(state->device, sizeof state->device, "%s", frame->device_frame ? "cuda" : "cpu");
    note_figures(state, now);
    note_error(state, now->film, samples);
}

/* --- updates ---------------------------------------------------------------------------------- */

static bool is_viewed(const live_session *live) {
    return live->streams > 0 || timing_now() < live->active_until;
}

void live_note_client(live_session *live) {
    const bool before = is_viewed(live);
    live->active_until = timing_now() + ACTIVE_SECONDS;
    if (!before) atomic_store(&live->attention, true);
}

/* Makes the list of views, once: sides are seen with the camera's field of view. */
static int make_views(live_view out[LIVE_VIEWS], const live_session *live,
                      const render_moment *now) {
    const kd_render_options *options = now->frame->options;
    const double *origin = scene_origin(live->scene);
    int count = 0;
    for (int side = 0; scene_side_name(side) && count < LIVE_VIEWS; ++side) {
        camera view = now->out->view; /* that of the frame may be one during the exposure */
        const float aspect = (float)options->width / (float)options->height;
        if (side > 0) scene_view_from(live->scene, side, aspect, &view);
        out[count++] = (live_view){scene_side_name(side), live_camera_of(&view, origin)};
    }
    return count;
}

/* Returns the moment with the film as the owner has scaled the lights. */
static render_moment scaled_moment(live_session *live, const render_moment *now) {
    render_moment scaled = *now;
    pthread_mutex_lock(&live->lock);
    if (live->sums) memcpy(live->films.scales, live->lights.scales, sizeof live->films.scales);
    live->rescaled = false;
    pthread_mutex_unlock(&live->lock);
    if (live->sums) scaled.film = light_groups_film(&live->films, now->film);
    return scaled;
}

static void take_picture(live_session *live, const render_moment *now) {
    live_view views[LIVE_VIEWS];
    const int view_count = live->state.view_count == 0 ? make_views(views, live, now) : 0;
    const uint32_t samples = film_min_samples(now->film);
    pthread_mutex_lock(&live->lock);
    /* only this thread replaces the picture; one of an earlier camera does not fill gaps */
    const live_picture *before = live->beauty;
    pthread_mutex_unlock(&live->lock);
    live_picture *made = live_resolve(now, LIVE_BEAUTY, before);
    pthread_mutex_lock(&live->lock);
    live_set_picture(live, made);
    if (view_count > 0) memcpy(live->state.views, views, sizeof views);
    if (view_count > 0) live->state.view_count = view_count;
    note_state(live, now, samples);
    live_notify_changed(live);
    pthread_mutex_unlock(&live->lock);
}

static live_query *next_query(live_session *live) {
    pthread_mutex_lock(&live->lock);
    live_query *taken = live->queries;
    if (taken) {
        live->queries = taken->next;
        taken->begun = true;
    }
    pthread_mutex_unlock(&live->lock);
    return taken;
}

static void run_queries(live_session *live, const render_moment *now) {
    for (live_query *query; (query = next_query(live));) {
        query->run(query, live, now);
        pthread_mutex_lock(&live->lock);
        query->done = true;
        pthread_cond_broadcast(&live->changed);
        pthread_mutex_unlock(&live->lock);
    }
}

struct timespec live_time_after(double seconds) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    const double fraction = (double)at.tv_nsec * 1e-9 + seconds;
    at.tv_sec += (time_t)fraction;
    at.tv_nsec = (long)((fraction - floor(fraction)) * 1e9);
    return at;
}

void live_query_wait(live_session *live, live_query *query) {
    const struct timespec end = live_time_after(QUERY_SECONDS);
    live_query **last = &live->queries;
    query->code = 503;
    snprintf(query->error, sizeof query->error, "the rendering is being prepared; try again later");
    pthread_mutex_lock(&live->lock);
    while (*last) last = &(*last)->next;
    *last = query;
    atomic_store(&live->attention, true);
    pthread_cond_broadcast(&live->changed);
    while (!query->done && !live->closing)
        if (pthread_cond_timedwait(&live->changed, &live->lock, &end) != 0) break;
    if (!query->begun) {
        last = &live->queries;
        while (*last && *last != query) last = &(*last)->next;
        if (*last) *last = query->next;
    }
    while (query->begun && !query->done) pthread_cond_wait(&live->changed, &live->lock);
    pthread_mutex_unlock(&live->lock);
}

bool live_wanted(void *context) {
    live_session *of = (live_session *)context;
    return atomic_load_explicit(&of->urgent, memory_order_relaxed) ||
           (atomic_load_explicit(&of->attention, memory_order_relaxed) &&
            timing_now() >= of->quiet_until);
}

/* Answers queries while the condition holds: paused, or (at the end) waiting for a change. */
static void wait_while(live_session *live, const render_moment *now, bool ended) {
    render_moment scaled = *now;
    for (;;) {
        run_queries(live, &scaled);
        pthread_mutex_lock(&live->lock);
        const bool rescaled = live->rescaled;
        pthread_mutex_unlock(&live->lock);
        if (rescaled) {
            scaled = scaled_moment(live, now);
            take_picture(live, &scaled);
        }
        pthread_mutex_lock(&live->lock);
        const bool waits = !live->restart && !live->closing && (ended || live->paused);
        if (!waits || live->request.interrupted()) {
            pthread_mutex_unlock(&live->lock);
            return;
        }
        if (!live->queries && !live->rescaled) {
            const struct timespec end = live_time_after(WAIT_SECONDS);
            pthread_cond_timedwait(&live->changed, &live->lock, &end);
        }
        pthread_mutex_unlock(&live->lock);
    }
}

static void set_status(live_session *live, live_status status) {
    pthread_mutex_lock(&live->lock);
    if (live->state.status != status) {
        live->state.status = status;
        live_notify_changed(live);
    }
    pthread_mutex_unlock(&live->lock);
}

static bool is_paused(live_session *live) {
    pthread_mutex_lock(&live->lock);
    const bool paused = live->paused;
    pthread_mutex_unlock(&live->lock);
    return paused;
}

/* However many queries viewers send, they take a small part of the time. */
static double quiet_seconds(double taken) {
    const double seconds = QUERY_SHARE * taken;
    return seconds < QUIET_MIN ? QUIET_MIN : seconds > QUIET_MAX ? QUIET_MAX : seconds;
}

double live_update(void *context, const render_moment *unscaled, double *paused) {
    live_session *of = (live_session *)context;
    const double start = timing_now();
    atomic_store(&of->attention, false);
    atomic_store(&of->urgent, false);
    pthread_mutex_lock(&of->lock);
    const bool viewed = is_viewed(of), rescaled = of->rescaled;
    pthread_mutex_unlock(&of->lock);
    render_moment scaled = *unscaled;
    const render_moment *now = &scaled;
    if (viewed || rescaled) scaled = scaled_moment(of, unscaled);
    double cost = 0;
    if (rescaled || (viewed && start >= of->next_picture)) {
        take_picture(of, now);
        cost = timing_now() - start;
        double pause = INTERVAL_SHARE * (start - of->began);
        if (pause > INTERVAL_MAX) pause = INTERVAL_MAX;
        if (pause < INTERVAL_MIN) pause = INTERVAL_MIN;
        if (pause < COST_SHARE * cost) pause = COST_SHARE * cost;
        of->next_picture = timing_now() + pause;
    }
    run_queries(of, now);
    of->quiet_until = timing_now() + quiet_seconds(timing_now() - start);
    if (is_paused(of)) {
        take_picture(of, now);
        set_status(of, LIVE_PAUSED);
        const double since = timing_now();
        wait_while(of, now, false);
        *paused = timing_now() - since;
        of->began += *paused; /* from which the state's seconds count */
        set_status(of, LIVE_RENDERING);
    }
    return viewed ? of->next_picture : timing_now() + ACTIVE_SECONDS;
}

void live_finished(void *context, const render_moment *unscaled) {
    live_session *of = (live_session *)context;
    const frame *frame = unscaled->frame;
    const uint32_t samples = film_min_samples(unscaled->film);
    live_drop_fetched(of); /* the next slice of the exposure has others */
    const bool over = frame->on_target || frame_is_over(frame, samples) || frame->film_cut ||
                      samples >= (uint32_t)integrator_samples(frame->integrator, frame->options);
    atomic_store(&of->attention, false);
    if (!over) return; /* the end of a slice of the exposure */
    const render_moment scaled = scaled_moment(of, unscaled), *now = &scaled;
    take_picture(of, now);
    run_queries(of, now);
    set_status(of, LIVE_DONE);
    if (of->request.stays) wait_while(of, now, true);
}

bool live_drops(void *context) {
    live_session *of = (live_session *)context;
    pthread_mutex_lock(&of->lock);
    const bool drops = of->restart;
    pthread_mutex_unlock(&of->lock);
    return drops && !of->request.interrupted();
}

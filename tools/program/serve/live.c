/* Opening and closing of the live view, and the loop that renders a picture after the other. */
#include "tools/program/serve/live.h"
#include "core/files/file.h"
#include "core/image_processing/develop.h"
#include "core/memory.h"
#include "core/system/process.h"
#include "render/api/plan.h"
#include "render/frame/catcher.h"
#include "render/integrators/integrators.h"
#include "scenes/assembly/scene.h"
#include "tools/program/serve/live_answers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the server ------------------------------------------------------------------------------- */

kd_status live_check(const char *address, const char *reference, bool serves) {
    char host[64];
    int32_t port;
    KD_REQUIRE(!address || live_address_read(host, &port, address), KD_ERROR_USAGE,
               "--serve %.100s: expected ADDRESS:PORT with a numeric address, such as "
               "127.0.0.1:7410 or [::1]:7410",
               address);
    KD_REQUIRE(!reference || serves, KD_ERROR_USAGE, "--reference needs --serve");
    return KD_OK;
}

static kd_status load_plugin(live_session *live) {
    static const char *const places[] = {"", "kandela/", "../lib/kandela/", "../lib/",
                                         "../" KD_LIBDIR "/kandela/"};
    const companion file = {"KANDELA_SERVE", "kandela-serve.so", places,
                            sizeof places / sizeof *places, PLACE_READABLE};
    char path[PLACE_BYTES];
    KD_REQUIRE(companion_find(&file, path), KD_ERROR_DEVICE,
               "the live view needs kandela-serve.so: install libmicrohttpd-dev and build again");
    live->plugin = plugin_open(path, false);
    KD_REQUIRE(live->plugin, KD_ERROR_DEVICE, "cannot load the plug-in of the live view: %s",
               plugin_reason());
    live->calls = (const serve_calls *)plugin_symbol(live->plugin, SERVE_SYMBOL);
    KD_REQUIRE(live->calls && live->calls->version == SERVE_VERSION, KD_ERROR_DEVICE,
               "%s: not the plug-in of this build of kandela", path);
    return KD_OK;
}

static kd_status make_token(const live_session *live, char out[TOKEN_BYTES]) {
    unsigned char random[(TOKEN_BYTES - 1) / 2];
    KD_REQUIRE(live->calls->random(random, sizeof random), KD_ERROR_RUNTIME,
               "the operating system provides no random numbers for the access tokens");
    for (size_t i = 0; i < sizeof random; ++i) snprintf(out + 2 * i, 3, "%02x", random[i]);
    return KD_OK;
}

static kd_status listen_at(live_session *live) {
    char address[64] = "127.0.0.1", reason[SERVE_REASON] = "";
    int32_t port = -1;
    uint16_t bound = 0;
    if (live->request.address)
        KD_REQUIRE(live_address_read(address, &port, live->request.address), KD_ERROR_USAGE,
                   "--serve: invalid address");
    const uint16_t first = port >= 0 ? (uint16_t)port : LIVE_PORT;
    live->server = live->calls->open(&live->handler, address, first, &bound, reason);
    if (!live->server && port < 0)
        live->server = live->calls->open(&live->handler, address, 0, &bound, reason);
    KD_REQUIRE(live->server, KD_ERROR_RUNTIME, "--serve: cannot listen on %s, port %d: %s", address,
               first, reason);
    const bool six = strchr(address, ':') != NULL;
    for (int i = 0; i < 2; ++i)
        snprintf(live->urls[i], sizeof live->urls[i], "http://%s%s%s:%d/?token=%s", six ? "[" : "",
                 address, six ? "]" : "", bound, i ? live->viewer : live->owner);
    return KD_OK;
}

kd_status live_open(live_session **out, const live_request *request) {
    live_session *made = NULL;
    kd_status status = KD_OK;
    *out = NULL;
    KD_TRY(KD_RESERVE_ZEROED(made, 1));
    made->request = *request;
    made->shrink = 4;
    made->expected = *request->options;
    made->handler =
        (serve_handler){made, live_role, live_answer, live_stream_read, live_stream_close};
    made->watch = (render_watch){live_update, live_wanted, live_finished, live_drops, made};
    atomic_init(&made->attention, false);
    atomic_init(&made->urgent, false);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    KD_TRY_GOTO(live_open_reference(made, request->reference));
    KD_TRY_GOTO(load_plugin(made));
    KD_TRY_GOTO(make_token(made, made->owner));
    KD_TRY_GOTO(make_token(made, made->viewer));
    KD_TRY_GOTO(listen_at(made));
    *out = made;
    return KD_OK;
done:
    live_close(made);
    return status;
}

const char *live_url(const live_session *live, bool owner) {
    return live->urls[owner ? 0 : 1];
}

void live_close(live_session *owned) {
    if (!owned) return;
    pthread_mutex_lock(&owned->lock);
    owned->closing = true;
    live_notify_changed(owned);
    pthread_mutex_unlock(&owned->lock);
    if (owned->has_denoiser) pthread_join(owned->denoiser, NULL);
    if (owned->server) owned->calls->close(owned->server);
    render_kept_close(&owned->kept);
    light_groups_close(&owned->films);
    memory_free(owned->group_of_light);
    live_drop_fetched(owned);
    live_release_picture(owned->beauty);
    live_release_picture(owned->reference);
    live_release_picture(owned->denoised);
    image_close(&owned->read);
    pthread_cond_destroy(&owned->changed);
    pthread_mutex_destroy(&owned->lock);
    if (owned->plugin) plugin_close(owned->plugin);
    memory_free(owned);
}

/* --- renderings ------------------------------------------------------------------------------- */

/* The first picture after a change is smaller, with fewer samples and photons. Its size adapts so
   that it takes about PREVIEW_SECONDS. */
#define PREVIEW_SECONDS 0.2
#define SHRINK_MIN 2.0
#define SHRINK_MAX 8.0

static int32_t shrunk(int32_t size, double factor) {
    const int32_t to = (int32_t)((double)size / factor);
    return to < 1 ? 1 : to;
}

static uint64_t fewer(uint64_t photons, double factor) {
    const uint64_t to = (uint64_t)((double)photons / (factor * factor));
    return photons && to < 1000 ? (photons < 1000 ? photons : 1000) : to;
}

/* At least one pixel. */
static void shrink_crop(kd_render_options *options, const int32_t full[4], double factor) {
    for (int i = 0; i < 2; ++i) {
        const int32_t size = i ? options->height : options->width;
        const int32_t low = (int32_t)((double)full[i] / factor);
        const int32_t high = shrunk(full[i + 2], factor);
        options->crop[i] = low < size ? low : size - 1;
        options->crop[i + 2] = high > options->crop[i] ? high : options->crop[i] + 1;
    }
}

static kd_render_options preview_options(const kd_render_options *full, double factor) {
    kd_render_options options = *full;
    options.width = shrunk(full->width, factor);
    options.height = shrunk(full->height, factor);
    if (full->crop[2] > 0) shrink_crop(&options, full->crop, factor);
    options.spp = options.passes = options.batches = 1;
    options.photons = fewer(full->photons, factor);
    options.caustic_photons = fewer(full->caustic_photons, factor);
    options.media_photons = fewer(full->media_photons, factor);
    if (options.final_gather > 8) options.final_gather = 8;
    options.target_error = 0;
    options.time_seconds = 2 * PREVIEW_SECONDS;
    return options;
}

/* Fits the options of a picture into the memory that the user allows. */
static kd_status fit(const live_session *live, kd_render_options *options) {
    render_plan plan;
    if (live->request.max_memory == 0) return KD_OK;
    const scene_view view = scene_get_view(live->scene);
    render_resolve_integrator(options, live->scene);
    return render_plan_fit(&plan, &view, options, live->request.max_memory);
}

static void preview(live_session *live, const render_keeping *keeping, job_control *job) {
    const double start = timing_now();
    kd_render_options options = preview_options(&live->options, live->shrink);
    render_result result;
    render_keeping alone;
    memset(&alone, 0, sizeof alone);
    alone.comm = keeping->comm;
    alone.kept = keeping->kept;
    alone.groups = live->sums ? &live->preview_films : NULL;
    kd_status status = fit(live, &options);
    live->kept.maps.rough = true;
    if (status == KD_OK) status = render_run_kept(&result, live->scene, &options, &alone, job);
    if (status == KD_OK) live_show_preview(live, &result);
    status_clear();
    if (status == KD_OK || status == KD_INTERRUPTED) render_close(&result);
    light_groups_close(&live->preview_films);
    live->kept.maps.rough = false;
    const double seconds = timing_now() - start;
    if (seconds > 1.5 * PREVIEW_SECONDS && live->shrink < SHRINK_MAX) live->shrink *= 1.5;
    if (seconds < 0.4 * PREVIEW_SECONDS && live->shrink > SHRINK_MIN) live->shrink /= 1.25;
}

/* Scale of a light that is off: its surfaces remain lights, so its power must not be 0. */
#define SCALE_OFF 0x1p-40

static void list_lights(live_session *live) {
    live_lights *lights = &live->lights;
    lights->count = scene_light_groups(live->scene, live->groups, LIVE_LIGHTS);
    for (uint32_t i = 0; i < lights->count; ++i) {
        memcpy(lights->names[i], live->groups[i].name, sizeof lights->names[i]);
        lights->scales[i] = live->scaled[i] = 1;
    }
}

/* Scales the lights whose scale differs from `to`. */
static kd_status scale_lights(live_session *live, const live_lights *to) {
    float factors[LIVE_LIGHTS];
    bool changed = false;
    for (uint32_t i = 0; i < to->count; ++i) {
        const double scale = to->scales[i] > SCALE_OFF ? to->scales[i] : SCALE_OFF;
        factors[i] = (float)(scale / live->scaled[i]);
        changed |= scale != live->scaled[i];
        live->scaled[i] = scale;
    }
    return changed ? scene_scale_lights(live->scene, live->groups, factors, to->count) : KD_OK;
}

/* Returns why the picture cannot be a sum of films of the light groups; NULL: it can. */
static const char *lacks_sums(const live_session *live, const render_keeping *keeping,
                              const scene_view *view) {
    kd_render_options options = live->options;
    if (live->lacks_films) return "there was no memory to keep the light of each by itself";
    if (live->lights.count == 0) return "there are no lights";
    if (live->lights.count > LIGHT_GROUPS_MAX) return "there are more than 8 lights";
    if (live->request.max_memory > 0) return "--max-memory is set";
    if (keeping->resume) return "the picture continues a saved state";
    if (scene_moves(live->scene)) return "the scene moves";
    if (options.clamp > 0) return "light is clamped";
    if (options.filter == PIXEL_FILTER_MITCHELL) return "the filter is mitchell";
    if (options.lens_samples > 1) return "there are several lens samples";
    if (catcher_exists(view)) return "the scene has a shadow catcher";
    if (view->environment.sun_count > 0) return "a directional light has an angle";
    log_mute(true);
    render_resolve_integrator(&options, live->scene);
    log_mute(false);
    const integrator *method = integrator_find(options.integrator);
    if (!method || !method->light_groups) return "the method does not keep the light of each";
    if (!method->light_groups(&options, view))
        return "final gather, media or 65536 lights mix their light";
    return render_is_on_devices(&options) ? "a CUDA device renders" : NULL;
}

/* Returns true if the picture is a sum of films of the light groups. */
static bool makes_sums(live_session *live, const render_keeping *keeping) {
    const scene_view view = scene_get_view(live->scene);
    live->no_sums = lacks_sums(live, keeping, &view);
    if (!live->scales || live->no_sums) return false;
    memory_free(live->group_of_light);
    live->group_of_light = NULL;
    if (KD_RESERVE(live->group_of_light, view.light_count) != KD_OK) {
        status_clear();
        return false;
    }
    for (uint32_t i = 0; i < view.light_count; ++i) {
        const uint32_t group = live_group_of(live, &view, i);
        live->group_of_light[i] = (uint8_t)(group < LIGHT_GROUPS_MAX ? group : LIGHT_GROUPS_MAX);
    }
    light_groups films = {.count = live->lights.count,
                          .light_count = view.light_count,
                          .group_of_light = live->group_of_light};
    memcpy(films.scales, live->lights.scales, films.count * sizeof *films.scales);
    live->films = live->preview_films = films;
    return true;
}

/* Applies the changes that the owner has made. Returns false if the rendering is to end. */
static bool begin_picture(live_session *live, render_keeping *keeping, job_control *job,
                          kd_status *status) {
    light_groups_close(&live->films);
    pthread_mutex_lock(&live->lock);
    const bool moved = live->has_camera;
    const live_camera to = live->next_camera;
    live_lights lights = live->lights;
    live->options = live->expected;
    live->sums = makes_sums(live, keeping);
    live->rescaled = false;
    keeping->groups = live->sums ? &live->films : NULL;
    for (uint32_t i = 0; live->sums && i < lights.count; ++i) lights.scales[i] = 1;
    live->has_camera = live->restart = false;
    atomic_store(&live->attention, live->paused); /* a pause that came since the change stays */
    atomic_store(&job->cancelled, false);
    ++live->state.generation;
    live->state.status = LIVE_RENDERING;
    live->state.error[0] = '\0';
    live->state.error_count = 0;
    live->previewing = true;
    live_release_picture(live->denoised);
    live->denoised = NULL;
    live_notify_changed(live);
    pthread_mutex_unlock(&live->lock);
    if (moved) {
        camera ends[2] = {scene_camera(live->scene), scene_camera_end(live->scene)};
        live_camera_apply(ends, &to, scene_origin(live->scene));
        scene_set_cameras(live->scene, &ends[0], &ends[1]);
    }
    live_drop_fetched(live);
    const integrator *method = integrator_find(live->options.integrator);
    if (method && integrator_maps(method, &live->options) == 0) kept_maps_drop(&live->kept.maps);
    live_update_reference(live);
    live->began = timing_now();
    live->next_picture = 0;
    *status = scale_lights(live, &lights);
    return !live->request.interrupted();
}

/* After an error: waits until the owner changes something. Returns false if that never happens. */
static bool wait_for_change(live_session *live, const char *message) {
    pthread_mutex_lock(&live->lock);
    live->state.status = LIVE_FAILED;
    snprintf(live->state.error, sizeof live->state.error, "%s", message);
    live_notify_changed(live);
    while (!live->restart && !live->request.interrupted()) {
        const struct timespec end = live_time_after(0.1);
        pthread_cond_timedwait(&live->changed, &live->lock, &end);
    }
    const bool changed = live->restart;
    pthread_mutex_unlock(&live->lock);
    return changed && !live->request.interrupted();
}

static bool is_restarted(live_session *live) {
    pthread_mutex_lock(&live->lock);
    const bool restarted = live->restart;
    live->previewing = false;
    pthread_mutex_unlock(&live->lock);
    return restarted;
}

/* After a lack of memory with films of light groups: the next picture is made without them. */
static void give_up_sums(live_session *live) {
    log_message(LOG_WARNING,
                "no memory for a picture of each light: a change of a light begins the picture "
                "anew (%s)",
                kd_last_error());
    pthread_mutex_lock(&live->lock);
    live->lacks_films = true;
    pthread_mutex_unlock(&live->lock);
}

/* Renders a picture. Sets *again if another one is to follow. */
static kd_status render_one(live_session *live, render_result *out, render_keeping *keeping,
                            job_control *job, bool *again) {
    const bool first = live->state.generation <= 1;
    kd_render_options options = live->options;
    kd_status status = KD_OK;
    *again = false;
    log_mute(true);                      /* what a preview would say, the whole picture says */
    if (!first) keeping->resume = false; /* a state belongs to one camera */
    if (!first)
        status = render_resolve_instances(live->scene, &options, live->request.max_memory,
                                          RENDER_INSTANCING_AUTO);
    if (status == KD_OK && !first) status = fit(live, &options);
    if (status == KD_OK && (!first || live->request.stays)) preview(live, keeping, job);
    log_mute(!first); /* warnings are the same as before */
    const bool superseded = is_restarted(live);
    if (status == KD_OK && !superseded)
        status = render_run_kept(out, live->scene, &options, keeping, job);
    log_mute(false);
    const bool lacks_films = status == KD_ERROR_MEMORY && live->sums;
    if (lacks_films) give_up_sums(live);
    if (live->request.interrupted()) return superseded ? KD_INTERRUPTED : status;
    if (superseded || lacks_films || live_drops(live)) {
        if (!superseded && (status == KD_OK || status == KD_INTERRUPTED)) render_close(out);
        status_clear();
        *again = true;
        return KD_OK;
    }
    if (first || status == KD_OK || status == KD_INTERRUPTED) return status;
    *again = wait_for_change(live, kd_last_error());
    if (*again) status_clear();
    return *again ? KD_OK : KD_INTERRUPTED;
}

kd_status live_render(live_session *live, render_result *out, scene *scene,
                      kd_render_options *options, const render_keeping *keeping, job_control *job) {
    render_keeping viewed = *keeping;
    bool again = true;
    kd_status status = live_check_reference(live, options);
    KD_TRY(status);
    viewed.watch = &live->watch;
    /* photon maps are not part of what is planned for a limit of memory */
    live->kept.keeps_maps = live->request.max_memory == 0;
    viewed.kept = scene_moves(scene) ? NULL : &live->kept;
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&live->lock);
    live->scene = scene;
    live->options = live->expected = *options;
    live->job = job;
    live->rendering = true;
    live->can_denoise = denoise_check() == KD_OK;
    status_clear();
    list_lights(live);
    pthread_mutex_unlock(&live->lock);
    while (again) {
        if (!begin_picture(live, &viewed, job, &status)) return KD_INTERRUPTED;
        KD_TRY(status);
        status = render_one(live, out, &viewed, job, &again);
    }
    pthread_mutex_lock(&live->lock);
    *options = live->options;
    live->rendering = false;
    live->job = NULL;
    pthread_mutex_unlock(&live->lock);
    return status;
}

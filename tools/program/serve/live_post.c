/* Answers requests that change the rendering. */
#include "core/job.h"
#include "core/status.h"
#include "tools/program/serve/live_session.h"
#include <cjson/cJSON.h>

static void answer_done(serve_answer *out) {
    out->code = 200;
    out->type = "application/json";
    out->bytes = "{}";
    out->count = 2;
}

/* Begins the picture anew, with the lock. A preview is not cancelled, so that pictures appear while
   changes follow fast. */
static void restart(live_session *live) {
    live->restart = true;
    live->paused = false;
    if (live->job && !live->previewing) atomic_store(&live->job->cancelled, true);
    atomic_store(&live->attention, true);
    live_notify_changed(live);
}

static void answer_read(serve_answer *out, kd_status status) {
    if (status == KD_OK)
        answer_done(out);
    else
        live_answer_error(out, status == KD_ERROR_MEMORY ? 500 : 400, kd_last_error());
    status_clear();
}

/* Nothing can be changed before the scene is loaded and its camera is known. */
static bool is_prepared(live_session *live, serve_answer *out) {
    pthread_mutex_lock(&live->lock);
    const bool prepared = live->rendering && live->state.picture > 0;
    pthread_mutex_unlock(&live->lock);
    if (!prepared) live_answer_error(out, 503, "the rendering is being prepared; try again later");
    return prepared;
}

void live_post_camera(live_session *live, const serve_request *request, serve_answer *out) {
    if (!is_prepared(live, out)) return;
    pthread_mutex_lock(&live->lock);
    live_camera camera = live->has_camera ? live->next_camera : live->state.camera;
    const kd_status status =
        live_camera_read(&camera, scene_origin(live->scene), request->body, request->body_bytes);
    if (status == KD_OK) {
        live->next_camera = live->state.camera = camera;
        live->has_camera = true;
        restart(live);
    }
    pthread_mutex_unlock(&live->lock);
    answer_read(out, status);
}

void live_post_settings(live_session *live, const serve_request *request, serve_answer *out) {
    if (!is_prepared(live, out)) return;
    pthread_mutex_lock(&live->lock);
    const kd_status status =
        live_settings_read(&live->expected, request->body, request->body_bytes);
    if (status == KD_OK) restart(live);
    pthread_mutex_unlock(&live->lock);
    answer_read(out, status);
}

void live_post_lights(live_session *live, const serve_request *request, serve_answer *out) {
    if (!is_prepared(live, out)) return;
    pthread_mutex_lock(&live->lock);
    const kd_status status = live_lights_read(&live->lights, request->body, request->body_bytes);
    live->scales |= status == KD_OK;
    if (status == KD_OK && live->sums && !live->restart) {
        live->rescaled = true;
        atomic_store(&live->attention, true);
        atomic_store(&live->urgent, true);
        live_notify_changed(live);
    } else if (status == KD_OK) {
        restart(live);
    }
    pthread_mutex_unlock(&live->lock);
    answer_read(out, status);
}

static void save(live_session *live, serve_answer *out) {
    live_query query = {.run = live_query_save};
    if (live->request.file_count == 0) {
        live_answer_error(out, 409, "no file was named at the start; start with -o FILE to save");
        return;
    }
    live_query_wait(live, &query);
    if (query.code != 200) {
        live_answer_error(out, query.code, query.error);
        return;
    }
    cJSON *root = cJSON_CreateObject();
    cJSON_AddItemToObject(root, "files",
                          cJSON_CreateStringArray(live->request.files, live->request.file_count));
    live_answer_text(out, 200, "application/json", cJSON_PrintUnformatted(root));
    cJSON_Delete(root);
}

void live_post_control(live_session *live, const serve_request *request, serve_answer *out) {
    live_action action = LIVE_ACTIONS;
    const kd_status status = live_action_read(&action, request->body, request->body_bytes);
    if (status == KD_OK && action == LIVE_SAVE) {
        save(live, out);
        return;
    }
    pthread_mutex_lock(&live->lock);
    const bool switched = action == LIVE_DENOISE || action == LIVE_RAW;
    const bool refused = (action == LIVE_DENOISE && !live->can_denoise) ||
                         (switched && !live_denoise(live, action == LIVE_DENOISE));
    if (switched) live_notify_changed(live);
    if (action == LIVE_PAUSE || action == LIVE_RESUME) {
        live->paused = action == LIVE_PAUSE;
        atomic_store(&live->urgent, true);
        live_notify_changed(live);
    }
    if (action == LIVE_RESTART) restart(live);
    pthread_mutex_unlock(&live->lock);
    if (refused)
        live_answer_error(out, 409,
                          "Open Image Denoise was not found; tools/quickstart --denoise "
                          "installs it");
    else
        answer_read(out, status);
}

/* Answers requests of clients: who may do what, and which function answers. */
#include "core/job.h"
#include "core/memory.h"
#include "core/status.h"
#include "tools/live_page.h"
#include "tools/program/serve/live_session.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Numbers of pictures and photons are sent as they are in memory. */
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "clients expect little-endian numbers");
static_assert(offsetof(live_picture, values) == offsetof(live_picture, width) + 16,
              "the header of a picture precedes its values");

enum {
    PHOTONS_DEFAULT_LIMIT = 200000,
    PHOTONS_LIMIT = 2000000,
    SCALE_MAX = 64,
    HEARTBEAT_SECONDS = 15
};
enum { LIGHT_PATHS_DEFAULT = 100, LIGHT_PATHS_LIMIT = 2000 };
#define EVENT_INTERVAL 0.1
#define FIRST_INTERVAL 0.02 /* after the state of a new picture, whose first pixels come soon */

/* --- answers ---------------------------------------------------------------------------------- */

void live_answer_text(serve_answer *out, unsigned code, const char *type, char *text) {
    out->code = text ? code : 500;
    out->type = type;
    out->bytes = text ? text : "";
    out->count = text ? strlen(text) : 0;
    out->release = text ? free : NULL;
    out->owner = text;
}

void live_answer_error(serve_answer *out, unsigned code, const char *message) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "error", message);
    live_answer_text(out, code, "application/json", cJSON_PrintUnformatted(root));
    cJSON_Delete(root);
}

static void answer_picture(serve_answer *out, live_picture *picture) {
    out->code = 200;
    out->type = "application/octet-stream";
    out->bytes = &picture->width;
    out->count = 16 + (size_t)picture->width * picture->height * picture->components * 2;
    out->release = live_release_picture;
    out->owner = picture;
}

/* --- the picture ------------------------------------------------------------------------------ */

/* Reads an argument into *out; refuses the request if it is not in the range. */
static bool take_number(int64_t *out, const serve_request *request, serve_answer *answer,
                        const char *name, int64_t otherwise, int64_t minimum, int64_t maximum) {
    char message[96];
    const char *text = request->argument(request->connection, name);
    if (live_number_read(out, text, otherwise, minimum, maximum)) return true;
    snprintf(message, sizeof message, "%s: expected a whole number from %lld to %lld", name,
             (long long)minimum, (long long)maximum);
    live_answer_error(answer, 400, message);
    return false;
}

/* Every `scale`-th pixel of every `scale`-th row. Drops `from`. */
static live_picture *reduced(live_picture *from, uint32_t scale) {
    const uint32_t width = (from->width + scale - 1) / scale,
                   height = (from->height + scale - 1) / scale, components = from->components;
    live_picture *made = live_picture_open(width, height, components);
    if (made) {
        made->number = from->number;
        for (size_t y = 0; y < height; ++y)
            for (size_t x = 0; x < width; ++x)
                memcpy(made->values + (y * width + x) * components,
                       from->values + (y * scale * from->width + x * scale) * components,
                       components * sizeof *from->values);
    }
    live_release_picture(from);
    return made;
}

static void answer_query(serve_answer *out, live_session *live, live_query *query,
                         const char *type) {
    live_query_wait(live, query);
    if (query->code != 200) {
        live_answer_error(out, query->code, query->error);
        return;
    }
    out->code = 200;
    out->type = type;
    out->bytes = query->bytes;
    out->count = query->count;
    out->release = free;
    out->owner = query->bytes;
}

static void get_picture(live_session *live, const serve_request *request, serve_answer *out) {
    const char *name = request->argument(request->connection, "channel");
    int64_t scale;
    int channel = 0;
    if (!take_number(&scale, request, out, "scale", 1, 1, SCALE_MAX)) return;
    while (name && live_channel_name(channel) && strcmp(name, live_channel_name(channel)) != 0)
        ++channel;
    if (!live_channel_name(channel)) {
        live_answer_error(out, 400, "channel: unknown; the state lists all");
        return;
    }
    live_picture *picture = live_acquire_picture(live, channel);
    if (!picture && channel == LIVE_REFERENCE) {
        live_answer_error(out, 409, "there is no reference; start with --reference FILE");
        return;
    }
    if (!picture && channel == LIVE_DENOISED) {
        live_answer_error(out, 503, "no picture is denoised yet; POST /api/control starts that");
        return;
    }
    if (!picture) {
        live_query query = {.run =
                                channel < LIVE_TRIANGLE ? live_query_channel : live_query_surfaces,
                            .x = channel};
        live_query_wait(live, &query);
        if (query.code != 200) {
            live_answer_error(out, query.code, query.error);
            return;
        }
        picture = (live_picture *)query.bytes;
    }
    if (scale > 1) picture = reduced(picture, (uint32_t)scale);
    if (picture)
        answer_picture(out, picture);
    else
        live_answer_error(out, 500, "out of memory");
}

/* --- other GET requests ----------------------------------------------------------------------- */

static void get_at_pixel(live_session *live, const serve_request *request, serve_answer *out,
                         void (*run)(live_query *, struct live_session *, const render_moment *)) {
    int64_t x, y;
    if (!take_number(&x, request, out, "x", -1, 0, 65535) ||
        !take_number(&y, request, out, "y", -1, 0, 65535))
        return;
    if (x < 0 || y < 0) {
        live_answer_error(out, 400, "x and y: expected the numbers of a pixel");
        return;
    }
    live_query query = {.run = run, .x = (int32_t)x, .y = (int32_t)y};
    answer_query(out, live, &query, "application/json");
}

static void get_pixel(live_session *live, const serve_request *request, serve_answer *out) {
    get_at_pixel(live, request, out, live_query_pixel);
}

static void get_ray(live_session *live, const serve_request *request, serve_answer *out) {
    get_at_pixel(live, request, out, live_query_ray);
}

static void take_map(live_query *query, const serve_request *request) {
    const char *map = request->argument(request->connection, "map");
    snprintf(query->name, sizeof query->name, "%s", map ? map : "");
}

static const char binary[] = "application/octet-stream";

static void get_photons(live_session *live, const serve_request *request, serve_answer *out) {
    live_query query = {.run = live_query_photons};
    int64_t limit, paths;
    if (!take_number(&limit, request, out, "limit", PHOTONS_DEFAULT_LIMIT, 1, PHOTONS_LIMIT) ||
        !take_number(&paths, request, out, "paths", 0, 0, 1))
        return;
    query.limit = (uint64_t)limit;
    query.paths = paths != 0;
    take_map(&query, request);
    answer_query(out, live, &query, binary);
}

static void get_light_paths(live_session *live, const serve_request *request, serve_answer *out) {
    live_query query = {.run = live_query_light_paths};
    int64_t count;
    if (!take_number(&count, request, out, "count", LIGHT_PATHS_DEFAULT, 1, LIGHT_PATHS_LIMIT) ||
        !take_number(&query.path, request, out, "path", -1, 0, UINT32_MAX))
        return;
    query.limit = (uint64_t)count;
    take_map(&query, request);
    answer_query(out, live, &query, binary);
}

static void get_boxes(live_session *live, const serve_request *request, serve_answer *out) {
    live_query query = {.run = live_query_boxes};
    int64_t level;
    if (!take_number(&level, request, out, "level", 0, 0, 255)) return;
    query.limit = (uint64_t)level;
    answer_query(out, live, &query, binary);
}

static void get_planes(live_session *live, const serve_request *request, serve_answer *out) {
    live_query query = {.run = live_query_planes};
    int64_t level, x, y;
    if (!take_number(&level, request, out, "level", 0, 0, 255) ||
        !take_number(&x, request, out, "x", -1, 0, 65535) ||
        !take_number(&y, request, out, "y", -1, 0, 65535))
        return;
    query.limit = (uint64_t)level;
    query.x = y < 0 ? -1 : (int32_t)x;
    query.y = (int32_t)y;
    take_map(&query, request);
    answer_query(out, live, &query, binary);
}

static void get_tree(live_session *live, const serve_request *request, serve_answer *out) {
    live_query query = {.run = live_query_tree};
    (void)request;
    answer_query(out, live, &query, "application/json");
}

static void get_page(live_session *live, const serve_request *request, serve_answer *out) {
    (void)live;
    (void)request;
    out->code = 200;
    out->type = "text/html; charset=utf-8";
    out->bytes = page_bytes;
    out->count = sizeof page_bytes;
}

static bool is_owner(const live_session *live, const serve_request *request);

static void get_state(live_session *live, const serve_request *request, serve_answer *out) {
    pthread_mutex_lock(&live->lock);
    char *text = live_state_print(live, is_owner(live, request));
    pthread_mutex_unlock(&live->lock);
    live_answer_text(out, 200, "application/json", text);
}

static void get_file(live_session *live, const serve_request *request, serve_answer *out) {
    static const struct {
        const char *kind, *type, *name;
    } kinds[] = {{"png", "image/png", "picture.png"},
                 {"exr", "image/x-exr", "picture.exr"},
                 {"state", "application/octet-stream", "picture.exr.state"}};
    const char *kind = request->argument(request->connection, "kind");
    for (size_t i = 0; kind && i < sizeof kinds / sizeof *kinds; ++i) {
        if (strcmp(kind, kinds[i].kind) != 0) continue;
        live_query query = {.run = live_query_file};
        snprintf(query.name, sizeof query.name, "%s", kind);
        answer_query(out, live, &query, kinds[i].type);
        if (out->code == 200) out->attachment = kinds[i].name;
        return;
    }
    if (!kind || strcmp(kind, "scene") != 0) {
        live_answer_error(out, 400, "kind: expected png, exr, state or scene");
        return;
    }
    pthread_mutex_lock(&live->lock);
    char *text = live_scene_print(live);
    pthread_mutex_unlock(&live->lock);
    live_answer_text(out, 200, "application/json", text);
    out->attachment = "camera.json";
}

/* --- events ----------------------------------------------------------------------------------- */

typedef struct event_stream {
    live_session *of;
    bool owner, began;
    uint64_t version; /* that was sent */
    uint32_t generation;
    double next; /* timing_now() before which nothing is sent */
    char *text;  /* being sent, from malloc */
    size_t count, sent;
} event_stream;

static void get_events(live_session *live, const serve_request *request, serve_answer *out) {
    event_stream *made = (event_stream *)calloc(1, sizeof *made);
    if (!made) {
        live_answer_error(out, 500, "out of memory");
        return;
    }
    made->of = live;
    made->owner = is_owner(live, request);
    pthread_mutex_lock(&live->lock);
    ++live->streams;
    atomic_store(&live->attention, true);
    pthread_mutex_unlock(&live->lock);
    out->code = 200;
    out->type = "text/event-stream";
    out->stream = made;
}

void live_stream_close(void *stream) {
    event_stream *closed = (event_stream *)stream;
    pthread_mutex_lock(&closed->of->lock);
    --closed->of->streams;
    pthread_mutex_unlock(&closed->of->lock);
    free(closed->text);
    free(closed);
}

static char *copied(const char *text) {
    char *made = (char *)malloc(strlen(text) + 1);
    return made ? strcpy(made, text) : NULL;
}

/* Waits for a new state, with the lock, and prints it; a comment after HEARTBEAT_SECONDS. Returns
   NULL at the end. */
static char *next_event(event_stream *stream) {
    live_session *of = stream->of;
    const double heartbeat = timing_now() + HEARTBEAT_SECONDS;
    bool anew;
    for (;;) {
        const double now = timing_now();
        const bool changed = !stream->began || of->version != stream->version;
        anew = of->state.generation != stream->generation;
        if (of->closing && !changed) return NULL;
        if (changed && (of->closing || anew || now >= stream->next)) break;
        if (now >= heartbeat) return copied(":\n\n");
        const struct timespec end = live_time_after(changed ? stream->next - now : heartbeat - now);
        pthread_cond_timedwait(&of->changed, &of->lock, &end);
    }
    stream->began = true;
    stream->version = of->version;
    stream->generation = of->state.generation;
    stream->next = timing_now() + (anew ? FIRST_INTERVAL : EVENT_INTERVAL);
    char *state = live_state_print(of, stream->owner);
    const size_t bytes = state ? strlen(state) + 32 : 0;
    char *text = state ? (char *)malloc(bytes) : NULL;
    if (text) snprintf(text, bytes, "event: state\ndata: %s\n\n", state);
    free(state);
    return text;
}

size_t live_stream_read(void *stream, char *out, size_t maximum) {
    event_stream *from = (event_stream *)stream;
    if (from->sent == from->count) {
        free(from->text);
        pthread_mutex_lock(&from->of->lock);
        from->text = next_event(from);
        pthread_mutex_unlock(&from->of->lock);
        from->count = from->text ? strlen(from->text) : 0;
        from->sent = 0;
    }
    const size_t left = from->count - from->sent, count = left < maximum ? left : maximum;
    if (count) memcpy(out, from->text + from->sent, count);
    from->sent += count;
    return count;
}

/* --- routes ----------------------------------------------------------------------------------- */

typedef struct route {
    const char *path;
    void (*get)(live_session *live, const serve_request *request, serve_answer *out);
    void (*post)(live_session *live, const serve_request *request, serve_answer *out);
} route;

static const route routes[] = {
    {"/", get_page, NULL},
    {"/api/state", get_state, NULL},
    {"/api/events", get_events, NULL},
    {"/api/picture", get_picture, NULL},
    {"/api/pixel", get_pixel, NULL},
    {"/api/photons", get_photons, NULL},
    {"/api/boxes", get_boxes, NULL},
    {"/api/ray", get_ray, NULL},
    {"/api/light_paths", get_light_paths, NULL},
    {"/api/planes", get_planes, NULL},
    {"/api/tree", get_tree, NULL},
    {"/api/file", get_file, NULL},
    {"/api/camera", NULL, live_post_camera},
    {"/api/settings", NULL, live_post_settings},
    {"/api/lights", NULL, live_post_lights},
    {"/api/control", NULL, live_post_control},
};

/* Takes the same time wherever the tokens differ. */
static bool token_equals(const char *token, const char *given) {
    unsigned differs = 0;
    if (!given || strlen(given) != TOKEN_BYTES - 1) return false;
    for (int i = 0; i < TOKEN_BYTES - 1; ++i)
        differs |= (unsigned)(unsigned char)token[i] ^ (unsigned)(unsigned char)given[i];
    return differs == 0;
}

static bool is_owner(const live_session *live, const serve_request *request) {
    return token_equals(live->owner, request->token);
}

/* A page of another site must not act for the user whose browser shows it. */
static bool is_own_origin(const serve_request *request) {
    static const char scheme[] = "http://";
    if (!request->origin) return true;
    return strncasecmp(request->origin, scheme, sizeof scheme - 1) == 0 &&
           strcasecmp(request->origin + sizeof scheme - 1, request->host) == 0;
}

static void refuse(live_session *live, const serve_request *request, serve_answer *out) {
    (void)live;
    const bool host = request->host && live_host_is_safe(request->host);
    live_answer_error(out, 403,
                      !host ? "the host must be a numeric address or localhost"
                      : !is_own_origin(request)
                          ? "the request comes from another site"
                          : "the token is wrong; open the address that kandela "
                            "printed");
}

serve_role live_role(void *context, const serve_request *request) {
    const live_session *of = (const live_session *)context;
    if (!request->host || !live_host_is_safe(request->host) || !is_own_origin(request))
        return SERVE_UNKNOWN;
    return is_owner(of, request)                      ? SERVE_OWNER
           : token_equals(of->viewer, request->token) ? SERVE_VIEWER
                                                      : SERVE_UNKNOWN;
}

void live_answer(void *context, const serve_request *request, serve_answer *out) {
    live_session *of = (live_session *)context;
    const serve_role role = live_role(of, request);
    const bool owner = role == SERVE_OWNER;
    if (role == SERVE_UNKNOWN) {
        refuse(of, request, out);
        return;
    }
    const route *found = NULL;
    for (size_t i = 0; i < sizeof routes / sizeof *routes && !found; ++i)
        if (strcmp(request->path, routes[i].path) == 0) found = &routes[i];
    const bool posts = strcmp(request->method, "POST") == 0;
    if (!found)
        live_answer_error(out, 404, "there is nothing at this address");
    else if (!posts && strcmp(request->method, "GET") != 0)
        live_answer_error(out, 405, "expected GET or POST");
    else if (posts && !owner)
        live_answer_error(out, 403, "viewers may not change the rendering; only its owner may");
    else if (posts ? !found->post : !found->get)
        live_answer_error(out, 405, posts ? "expected GET" : "expected POST");
    else {
        pthread_mutex_lock(&of->lock);
        live_note_client(of);
        pthread_mutex_unlock(&of->lock);
        (posts ? found->post : found->get)(of, request, out);
    }
}

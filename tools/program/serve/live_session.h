/* What the thread that renders and the threads of connections share. */
#ifndef KD_TOOLS_PROGRAM_SERVE_LIVE_SESSION_H
#define KD_TOOLS_PROGRAM_SERVE_LIVE_SESSION_H
#include "photon/maps/photon_map.h"
#include "render/api/render_trees.h"
#include "render/frame/light_groups.h"
#include "scenes/assembly/scene.h"
#include "tools/program/serve/live.h"
#include "tools/program/serve/live_read.h"
#include "tools/program/serve/serve_http.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { TOKEN_BYTES = 33, LIVE_ERRORS = 64, LIVE_STAGES = 32, LIVE_LEDGER = 5, LIVE_VIEWS = 12 };

/* Photon maps: the lists of photon mapping in their order, whose last one may hold beams instead,
   and the vertices of vcm's light paths. */
enum { LIVE_MAP_VOLUME = PHOTON_LIST_MEDIA, LIVE_MAP_BEAMS, LIVE_MAP_VERTICES, LIVE_MAPS };

/* A picture of half floats that answers share. */
typedef struct live_picture {
    atomic_int references;
    uint32_t width, height, components, number;
    uint16_t values[]; /* components of each pixel, rows from the top */
} live_picture;

/* A question that the thread that renders answers. */
typedef struct live_query {
    void (*run)(struct live_query *query, live_session *live, const render_moment *now);
    int32_t x, y;   /* a pixel; negative: none */
    uint64_t limit; /* or a level */
    int64_t path;   /* a light path; negative: none */
    bool paths;     /* with the numbers of paths */
    char name[32];
    /* the answer: `bytes` from malloc, or a message in `error` */
    unsigned code;
    void *bytes;
    size_t count;
    char error[512];
    bool done, begun;
    struct live_query *next;
} live_query;

typedef enum live_status { LIVE_RENDERING, LIVE_PAUSED, LIVE_DONE, LIVE_FAILED } live_status;

typedef struct live_figure {
    char name[24];
    double value;
} live_figure;

typedef struct live_map {
    const char *name; /* static */
    uint64_t count;   /* photons; of vertices: light paths */
    uint32_t levels;  /* of its k-d tree; 0: none */
    bool light_paths; /* its light paths can be traced again */
} live_map;

typedef struct live_error {
    uint32_t samples;
    double seconds, error;
} live_error;

/* A camera with a name: that of the scene, then those of its sides. */
typedef struct live_view {
    const char *name; /* static */
    live_camera camera;
} live_view;

/* Channels of /api/picture; the last two are not always there. */
enum {
    LIVE_BEAUTY,
    LIVE_ALBEDO,
    LIVE_NORMAL,
    LIVE_DEPTH,
    LIVE_NOISE,
    LIVE_VARIANCE,
    LIVE_SAMPLES,
    LIVE_TRIANGLE, /* this and the next four: live_query_surfaces */
    LIVE_MATERIAL,
    LIVE_COST,
    LIVE_RADIUS, /* this and the next: if there is a photon map */
    LIVE_DENSITY,
    LIVE_REFERENCE,
    LIVE_DENOISED,
    LIVE_CHANNELS
};

/* What clients see. */
typedef struct live_state {
    live_status status;
    char error[512], device[64];
    uint32_t generation, picture, samples, sample_count;
    double seconds;
    live_camera camera;
    double bounds[6];
    uint32_t tree_levels;
    uint64_t light_bytes; /* of films of light groups */
    live_figure stages[LIVE_STAGES], ledger[LIVE_LEDGER];
    live_map maps[LIVE_MAPS];
    int stage_count, ledger_count, map_count;
    live_error errors[LIVE_ERRORS];
    int error_count;
    live_view views[LIVE_VIEWS];
    int view_count;
} live_state;

struct live_session {
    live_request request;
    char owner[TOKEN_BYTES], viewer[TOKEN_BYTES], urls[2][256];
    void *plugin, *server;
    const serve_calls *calls;
    serve_handler handler;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool has_lock;
    /* below: guarded by `lock` */
    live_state state;
    uint64_t version;           /* of `state` */
    kd_render_options options;  /* of the current picture */
    kd_render_options expected; /* with the changes of the owner */
    live_camera next_camera;    /* if has_camera */
    live_lights lights;         /* with the changes of the owner */
    bool has_camera, restart, paused, closing, previewing, rendering;
    bool scales;         /* the owner has scaled a light: pictures are sums if possible */
    bool sums;           /* scales of lights act without a new rendering */
    bool lacks_films;    /* there was no memory for that */
    const char *no_sums; /* why they cannot, a static string; NULL: they can */
    bool rescaled;       /* a scale has changed since the last picture */
    job_control *job;    /* of the rendering; NULL: none */
    live_picture *beauty, *reference, *denoised; /* NULL: there is none */
    bool denoises, can_denoise;
    live_query *queries;
    int streams;
    double active_until;   /* timing_now() until which a client is taken to be there */
    atomic_bool urgent;    /* the owner controls the rendering: answer at once */
    atomic_bool attention; /* the thread that renders is to call live_update */
    pthread_t denoiser;    /* if has_denoiser */
    bool has_denoiser;
    /* below: of the thread that renders */
    image read; /* the reference; without planes: none */
    render_kept kept;
    render_watch watch;
    scene_light_group groups[LIVE_LIGHTS]; /* of `lights` */
    double scaled[LIVE_LIGHTS];            /* by which the scene's lights are scaled */
    light_groups films, preview_films;     /* of `groups`, if `sums` */
    uint8_t *group_of_light;
    struct scene *scene;
    double began, next_picture, shrink;
    double quiet_until;  /* timing_now() before which queries wait */
    photon_maps fetched; /* copied from the device, if has_fetched */
    uint32_t fetched_pass;
    bool has_fetched;
};

/* live_watch.c */
double live_update(void *context, const render_moment *now, double *paused);
bool live_wanted(void *context);
void live_finished(void *context, const render_moment *now);
bool live_drops(void *context);
/* Runs a query on the thread that renders and waits for it. */
void live_query_wait(live_session *live, live_query *query);
/* Says that a client is there. With the lock. */
void live_note_client(live_session *live);
/* Returns the time, on the clock of pthread_cond_timedwait, `seconds` from now. */
struct timespec live_time_after(double seconds);
void live_notify_changed(live_session *live); /* with the lock */

/* live_surfaces.c: for live_query.run, with a channel in `x` */
void live_query_surfaces(live_query *query, live_session *live, const render_moment *now);

/* live_pictures.c */
uint16_t live_half(float value); /* rounds to the nearest half float, ties to even */
/* Returns a picture of undefined values; NULL: out of memory. */
live_picture *live_picture_open(uint32_t width, uint32_t height, uint32_t components);
live_picture *live_resolve(const render_moment *now, int channel, const live_picture *before);
/* Replaces the picture; NULL: the old one stays. With the lock. */
void live_set_picture(live_session *live, live_picture *made);
/* Takes the picture of a preview. */
void live_show_preview(live_session *live, const render_result *result);
/* Returns a picture that is kept, which the caller drops; NULL: there is none. */
live_picture *live_acquire_picture(live_session *live, int channel);
void live_release_picture(void *picture);
/* Reads the reference, `path` NULL: none; checks that it is as large as the picture; and makes
   its picture for the current options, none if it has another size. */
kd_status live_open_reference(live_session *live, const char *path);
kd_status live_check_reference(const live_session *live, const kd_render_options *options);
void live_update_reference(live_session *live);
/* Switches denoising, with the lock. Returns false if that is not possible. */
bool live_denoise(live_session *live, bool on);
const char *live_channel_name(int channel); /* NULL after the last */

/* live_queries.c: for live_query.run */
void live_query_channel(live_query *query, live_session *live, const render_moment *now);
void live_query_pixel(live_query *query, live_session *live, const render_moment *now);
void live_query_save(live_query *query, live_session *live, const render_moment *now);
void live_query_file(live_query *query, live_session *live, const render_moment *now);

/* live_trees.c */
void live_query_boxes(live_query *query, live_session *live, const render_moment *now);
void live_query_ray(live_query *query, live_session *live, const render_moment *now);
void live_query_tree(live_query *query, live_session *live, const render_moment *now);
/* live_light.c */
void live_query_photons(live_query *query, live_session *live, const render_moment *now);
void live_query_light_paths(live_query *query, live_session *live, const render_moment *now);
void live_query_planes(live_query *query, live_session *live, const render_moment *now);
/* Lists the maps that are not empty, and returns their number. */
int live_list_maps(live_map out[LIVE_MAPS], const struct frame *frame);
/* Frees the maps that were copied from a device, which may have changed. */
void live_drop_fetched(live_session *live);

/* live_state.c: returns the state as JSON from malloc; NULL: out of memory. With the lock. */
char *live_state_print(const live_session *live, bool owner);
/* The same for camera and settings, as keys of a scene description. */
char *live_scene_print(const live_session *live);

/* live_answer.c */
serve_role live_role(void *context, const serve_request *request);
void live_answer(void *context, const serve_request *request, serve_answer *out);
size_t live_stream_read(void *stream, char *out, size_t maximum);
void live_stream_close(void *stream);
/* Answers with `text` from malloc; NULL: out of memory. */
void live_answer_text(serve_answer *out, unsigned code, const char *type, char *text);
void live_answer_error(serve_answer *out, unsigned code, const char *message);

/* live_post.c */
void live_post_camera(live_session *live, const serve_request *request, serve_answer *out);
void live_post_settings(live_session *live, const serve_request *request, serve_answer *out);
void live_post_lights(live_session *live, const serve_request *request, serve_answer *out);
void live_post_control(live_session *live, const serve_request *request, serve_answer *out);

#endif

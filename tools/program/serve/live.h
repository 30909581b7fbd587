/* The live view: serves a page that shows a rendering while it runs, and lets its owner change the
   camera and the options.
   Idea: one thread renders, as without a live view, and answers requests between parts of a pass
         (render_watch); the threads of connections only read copies. Therefore the picture has the
         same bits, and a rendering that no one watches is not slower. */
#ifndef KD_TOOLS_PROGRAM_SERVE_LIVE_H
#define KD_TOOLS_PROGRAM_SERVE_LIVE_H
#include "render/api/render.h"

typedef struct live_request {
    const char *address;   /* "ADDRESS:PORT"; NULL: 127.0.0.1 and LIVE_PORT, or a free port */
    const char *name;      /* of the scene */
    const char *reference; /* file of a picture to compare with; NULL: none */
    const kd_render_options *options; /* as far as they are known before the scene is loaded */
    uint64_t max_memory;              /* of each picture, in bytes; 0: no limit */
    bool stays;                       /* after the last sample, until interrupted */
    /* Writes the picture to the files that the user named at the start. */
    kd_status (*save)(void *context, const render_result *so_far);
    const char *const *files; /* their names, which the owner sees */
    int file_count;
    bool (*interrupted)(void); /* by the user */
    void *context;
} live_request;

enum { LIVE_PORT = 7410 };

typedef struct live_session live_session;

/* Returns KD_ERROR_USAGE unless `address` is "ADDRESS:PORT", "ADDRESS", "[ADDRESS]:PORT" or "PORT"
   with a numeric address, and for a reference that no live view shows. */
kd_status live_check(const char *address, const char *reference, bool serves);
/* Starts the server. KD_ERROR_DEVICE: the plug-in is missing; KD_ERROR_RUNTIME: it cannot listen on
   the address. *out is NULL after an error. */
kd_status live_open(live_session **out, const live_request *request);
/* Returns the address of the page, with the token of the owner or of viewers. */
const char *live_url(const live_session *live, bool owner);
/* As render_run_kept, but the owner may change camera and options, which begins the picture anew.
   `options` and the camera of `scene` become those of the last picture. */
kd_status live_render(live_session *live, render_result *out, scene *scene,
                      kd_render_options *options, const render_keeping *keeping, job_control *job);
void live_close(live_session *owned); /* accepts NULL */

#endif

/* Reads what clients send, which is not trusted. */
#ifndef KD_TOOLS_PROGRAM_SERVE_LIVE_READ_H
#define KD_TOOLS_PROGRAM_SERVE_LIVE_READ_H
#include "core/option.h"
#include "shaders/scene_view.h"
#include <kandela/render.h>

/* A camera with the keys of a scene's file, in its coordinates. */
typedef struct live_camera {
    double eye[3], look_at[3], up[3];
    double fov, lens_radius, focus_distance, orthographic;
} live_camera;

live_camera live_camera_of(const camera *view, const double origin[3]);
/* Sets the fields of the cameras at both ends of the exposure in which `to` differs from the first
   one. The others stay, and so does a movement of the camera in them. */
void live_camera_apply(camera ends[2], const live_camera *to, const double origin[3]);

/* Changes the fields that the JSON object sets. KD_ERROR_INPUT says what is wrong, and leaves
 *camera unchanged. */
kd_status live_camera_read(live_camera *camera, const double origin[3], const char *text,
                           size_t bytes);
/* Sets the options that the JSON object names, which must be settings or `crop`. A crop that does
   not fit a new size is dropped. KD_ERROR_INPUT or KD_ERROR_USAGE says what is wrong, and leaves
   *options unchanged. */
kd_status live_settings_read(kd_render_options *options, const char *text, size_t bytes);

enum { LIVE_LIGHTS = 64 };

/* Scales of lights by name. */
typedef struct live_lights {
    uint32_t count;
    char names[LIVE_LIGHTS][64];
    double scales[LIVE_LIGHTS];
} live_lights;

/* Sets the scales, 0 to 1e6, that a JSON list of objects with `name` and `scale` names.
   KD_ERROR_INPUT leaves *lights unchanged. */
kd_status live_lights_read(live_lights *lights, const char *text, size_t bytes);

typedef enum live_action {
    LIVE_PAUSE,
    LIVE_RESUME,
    LIVE_RESTART,
    LIVE_SAVE,
    LIVE_DENOISE, /* pictures from now on */
    LIVE_RAW,     /* no longer */
    LIVE_ACTIONS
} live_action;
kd_status live_action_read(live_action *action, const char *text, size_t bytes);

/* Reads a whole number from `minimum` to `maximum`, which are not negative; `otherwise` if there is
   no text. Returns false for anything else. */
bool live_number_read(int64_t *out, const char *text, int64_t otherwise, int64_t minimum,
                      int64_t maximum);

/* Returns the option after `row` that the page shows as a setting, or the first one for NULL; NULL
   at the end. */
const option_row *live_setting_next(const option_row *row);

/* Reads "ADDRESS:PORT", "ADDRESS", "[ADDRESS]:PORT" or "PORT"; a port that is missing is -1. */
bool live_address_read(char address[64], int32_t *port, const char *text);
/* Returns true if the Host of a request cannot be a name that someone else has pointed to this
   machine: a numeric address or "localhost". */
bool live_host_is_safe(const char *host);

#endif

/* Renders a scene: builds the triangle tree, prepares the integrator, runs the frame, and returns
   the image with its statistics. Called by the program, the tests and the C API. */
#ifndef KD_RENDER_API_RENDER_H
#define KD_RENDER_API_RENDER_H
#include "accel/tree/tritree.h"
#include "core/device/device.h"
#include "core/image_processing/finish.h"
#include "core/job.h"
#include "core/status.h"
#include "distributed/render/shared_frame.h"
#include "render/frame/integrator.h"
#include "scenes/assembly/scene.h"
#include <kandela/render.h>

typedef struct render_result {
    image picture; /* R G B A, Z, N.X N.Y N.Z, Albedo.R Albedo.G Albedo.B */
    device device_used;
    char tree_builder[32];
    char tree_form[16]; /* see kd_triangles_info.form */
    tritree_statistics tree;
    uint64_t tree_hash;
    frame_statistics frame;
    /* per pixel; fewer than requested after a time limit or an interruption */
    int32_t samples_done;
    uint32_t triangle_count, material_count, light_count;
    uint32_t light_node_count; /* nodes of the tree of lights; 0: no tree */
    uint64_t image_hash;
    float mean_radiance[3];
    image *background;   /* background of 8-bit files; NULL: transparent */
    image_finish finish; /* finish of 8-bit files */
    camera view;         /* camera at the beginning of the exposure */
    double error;        /* film_error of the image */
    bool on_target;      /* options->target_error was reached */
    bool maps_cut;       /* the time limit left fewer photons than requested */
    rank_figures *ranks; /* one for each of rank_count ranks; NULL: a single process */
    int32_t rank_count;
} render_result;

/* Checks the options, and sets `crop` to the rectangle that they select. */
kd_status render_request_check(const kd_render_options *options, int32_t crop[4]);
/* Rejects scenes with features that the integrator does not support. */
kd_status render_scene_check(const scene *scene, const kd_render_options *options,
                             const ranks *comm);
/* Returns true if all pixels take a sample at the same time (shutter.h): because something other
   than the camera moves, or because the integrator needs a camera at rest. */
bool render_is_sliced(const scene *scene, const kd_render_options *options);

/* A rendering at a moment at which nothing changes it. */
typedef struct render_moment {
    const struct frame *frame;
    const struct film *film;
    render_result *out; /* for render_develop, and what is known before the end */
    double started;
    bool exposed; /* image.exposed of the picture */
} render_moment;

/* A caller that watches a rendering from the thread that renders: between parts of a pass, while
   nothing changes. Its picture is the same as without. */
typedef struct render_watch {
    /* Returns the time (timing_now()) of the next call. May wait, and adds the seconds that do not
       count against options.time_seconds to *paused. */
    double (*update)(void *context, const render_moment *now, double *paused);
    /* Returns true if `update` is to be called soon; may be called by any thread. */
    bool (*wanted)(void *context);
    /* Called after the last sample of a scene that does not move, and after each slice of the
       exposure of one that does. */
    void (*finished)(void *context, const render_moment *now);
    /* Returns true if the result is not needed: the rendering then ends as if it was cancelled,
       without a picture. */
    bool (*drops)(void *context);
    void *context;
} render_watch;

/* Saved states of a rendering that may be interrupted and resumed. */
typedef struct render_keeping {
    const char *state;    /* state file, written at the end and between; NULL: none */
    bool state_if_cut;    /* omit the final state if the rendering is complete, unless the file was
                             written before */
    bool resume;          /* continue from the state file */
    double every_seconds; /* interval between saves; 0: save at the end only */
    /* Receives the image so far at each save; may be NULL. */
    kd_status (*show)(void *context, const render_result *so_far);
    void *context;
    /* Releases the devices of `options` asynchronously once all samples are on the host, unless
       ranks share the rendering. NULL: devices are kept. */
    struct retiring *done_with;
    /* address of a viewer (film.h) that is updated after each pass; NULL: none */
    const char *display;
    const char *title;         /* title of the image in the viewer */
    const render_watch *watch; /* NULL: none */
    /* Trees that outlive the rendering, for the next one of the same scene; the caller zeroes it
     * and calls render_kept_close. Not for scenes that move. NULL: trees are not kept. */
    struct render_kept *kept;
    /* Films of light groups, which scale the picture; the caller closes them before the next
       rendering. NULL: none. */
    struct light_groups *groups;
    /* Ranks that render together (distributed/render). Collective, with the same scene and options
       on all ranks. State files and the image belong to rank 0; the result of other ranks has no
       image. NULL: a single process. */
    ranks *comm;
} render_keeping;

/* Replaces the integrator "auto" by the one that suits the scene, and logs it with the reason. */
void render_resolve_integrator(kd_render_options *options, const scene *scene);
/* Selects the device to render on. "auto" is the first CUDA device if there is one and the
   integrator supports it, otherwise the CPU. */
kd_status render_choose_device(device *out, const kd_render_options *options);
/* Returns true if all devices named by the options are CUDA devices that the integrator
   supports. */
bool render_is_on_devices(const kd_render_options *options);

/* Renders an image. If a device chosen by "auto" is short of memory, retries with the next tree
   builder, then with a tree built on the CPU, then with the whole rendering on the CPU; each step
   is logged. Returns KD_INTERRUPTED if the job was cancelled: `out` then holds the partial result,
   which the caller must close as after KD_OK. After other errors `out` is closed. */
kd_status render_run(render_result *out, const scene *scene, const kd_render_options *options,
                     job_control *job);
/* As render_run, with saving and resuming; `keeping` may be NULL. */
kd_status render_run_kept(render_result *out, const scene *scene, const kd_render_options *options,
                          const render_keeping *keeping, job_control *job);
void render_close(render_result *owned); /* `owned` may be zeroed */

/* --- several devices of one machine ----------------------------------------------------------- */

/* render_run_kept for a list of devices in options->device (device_list_count): starts one thread
   per device, each of which is a rank. A device may be listed more than once, and may be "cpu". */
kd_status render_on_devices(render_result *out, const scene *scene,
                            const kd_render_options *options, const render_keeping *keeping,
                            job_control *job);

/* --- instances or copies ---------------------------------------------------------------------- */

/* Treatment of the instances of a scene: copies take more memory, but rays traverse them faster. */
typedef enum render_instancing {
    RENDER_INSTANCING_AUTO, /* copies, if they take less than an eighth of the memory or the
                            integrator does not support instances */
    RENDER_INSTANCING_KEEP,
    RENDER_INSTANCING_COPY
} render_instancing;
const char *render_instancing_name(int index); /* NULL beyond the last */
/* Expands the instances of the scene to copies (scene_copy_instances), or leaves them. `maximum`:
   limit in bytes; 0: the memory of the machine. Returns KD_ERROR_USAGE if the integrator requires
   copies that exceed the limit. */
kd_status render_resolve_instances(struct scene *scene, const kd_render_options *options,
                                   uint64_t maximum, render_instancing instancing);

/* --- photons without an image: `kandela photons` and kd_photons_emit -------------------------- */

struct photon_file;

/* Emits the photon lists of a scene and stores its hash, as in a photon file. `out` must be zeroed;
   close it by photon_file_close, after an error, too. Expands instances to copies. Stages of the
   job: build, emit. */
kd_status photons_emit(struct photon_file *out, struct scene *scene,
                       const kd_render_options *options, job_control *job);

#endif

/* From a scene and options to a picture with its figures: builds the triangle tree, prepares the
   integrator, runs the frame. What the program, the tests and the C API call. */
#ifndef KD_RENDER_API_RENDER_H
#define KD_RENDER_API_RENDER_H
#include "accel/tree/tritree.h"
#include "core/device/device.h"
#include "core/image/image.h"
#include "core/job.h"
#include "core/status.h"
#include "distributed/render/shared_frame.h"
#include "render/frame/integrator.h"
#include "scenes/assembly/scene.h"
#include <kandela/render.h>

typedef struct render_result {
    image picture; /* R G B A, Z, N.X N.Y N.Z, Albedo.R Albedo.G Albedo.B */
    device where;
    char tree_builder[32];
    tritree_statistics tree;
    uint64_t tree_hash;
    frame_statistics frame;
    int32_t samples_done; /* per pixel: fewer than asked after a time limit or an interruption */
    uint32_t triangle_count, material_count, light_count;
    uint64_t image_hash;
    float mean_radiance[3];
    double error;        /* film_error of the picture */
    bool on_target;      /* options->target_error was reached */
    bool maps_cut;       /* the limit of time left fewer photons than were asked for */
    rank_figures *ranks; /* of each of rank_count ranks; NULL: rendered alone */
    int32_t rank_count;
} render_result;

/* What is kept of a rendering that may be cut short. */
typedef struct render_keeping {
    const char *state;    /* file, written at the end and on the way; NULL: none */
    bool state_if_cut;    /* not when all is done, unless it was written before */
    bool resume;          /* go on from that file */
    double every_seconds; /* between savings on the way; 0: none */
    /* Gets the picture so far at each saving on the way; may be NULL. */
    kd_status (*show)(void *context, const render_result *so_far);
    void *context;
    /* Begins with the options' device once all samples are here, where no other ranks share it:
       beside what is left to do. NULL: devices stay as they are. */
    struct retiring *done_with;
    const char *display; /* address of a viewer (film.h) that shows passes; NULL: none */
    const char *title;   /* of the picture there */
    /* Who render it together (distributed/render), all by this call with the same scene and
       options; all that is kept and the picture are rank 0's, the others' result has none. NULL:
       alone */
    ranks *among;
} render_keeping;

/* Where a rendering will run: "auto" takes the first CUDA device, if there is one and the
   integrator runs there. */
kd_status render_choose_device(device *out, const kd_render_options *options);
/* Whether all devices that the options name are CUDA devices on which the integrator runs. */
bool render_is_on_devices(const kd_render_options *options);

/* Where "auto" finds too little memory on a device it goes on with the next builder of trees, then
   with one on the CPU, then with all of the rendering on the CPU, and logs each step.
   KD_INTERRUPTED if the job was cancelled: `out` then holds what was finished, to be kept and
   closed just as after KD_OK. Any other failure leaves `out` closed. */
kd_status render_run(render_result *out, const scene *from, const kd_render_options *options,
                     job *watched);
/* The same, keeping its state; `keeping` may be NULL. */
kd_status render_run_kept(render_result *out, const scene *from, const kd_render_options *options,
                          const render_keeping *keeping, job *watched);
void render_close(render_result *owned); /* takes a zeroed one */

/* One rendering on several devices of this machine. */

/* render_run_kept where options->device is a list (device_list_count): a thread for each device,
   which are the ranks. A device may be named twice; "cpu" may be one. */
kd_status render_on_devices(render_result *out, const scene *from, const kd_render_options *options,
                            const render_keeping *keeping, job *watched);

/* Whether what is placed in a scene becomes copies. */

/* What becomes of placements: copies take more bytes, and rays find them sooner. */
typedef enum render_placing {
    RENDER_PLACING_AUTO, /* copies, if they take less than an eighth of the memory, or the method
                            looks at no placements */
    RENDER_PLACING_KEEP,
    RENDER_PLACING_COPY
} render_placing;
const char *render_placing_name(int index); /* NULL from the end of the list on */
/* Copies what is placed in the scene (scene_copy_placements), or leaves it. `most`: bytes that may
   be taken; 0: the machine's. KD_ERROR_USAGE: the method needs copies, which take more. */
kd_status render_settle_placements(struct scene *of, const kd_render_options *options,
                                   uint64_t most, render_placing how);

/* The photons of a scene, without a picture: what `kandela photons` and the C API emit. */

struct photon_file;

/* Lists and the scene's hash, as a file of them has them; `out` is zeroed, and closed by
   photon_file_close after a failure, too. What is placed in the scene becomes copies. Stages of the
   job: build, emit. */
kd_status photons_emit(struct photon_file *out, struct scene *from,
                       const kd_render_options *options, job *watched);

#endif

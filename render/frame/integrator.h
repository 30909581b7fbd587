/* What a row of the table of integrators offers. An integrator turns a pixel sample into radiance;
   the frame loop (render/frame/frame.c) knows none of them. */
#ifndef KD_RENDER_FRAME_INTEGRATOR_H
#define KD_RENDER_FRAME_INTEGRATOR_H
#include "core/job.h"
#include "core/status.h"
#include "render/frame/pixel.h"
#include <kandela/render.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct frame_statistics { /* sums over threads: integers only, so order does not matter */
    uint64_t rays;                /* cast by camera paths, shadow rays included */
    uint64_t photon_rays;
    uint64_t nan_samples; /* set to zero and counted */
    uint64_t photons_emitted, photons_stored, caustics_stored, strayed_stored;
    uint64_t looks_bounded; /* estimates that met more tiles than they look at */
    uint64_t photon_hash;
    double radius; /* usual one of an estimate in the global map, scene units; 0: none */
    /* photon tracing's ledger */
    double watts_emitted, watts_absorbed, watts_media, watts_escaped, watts_ended;
    double look_seconds, gather_seconds, film_seconds; /* of the stage render, on a CUDA device */
} frame_statistics;

struct film;
struct frame;
struct ranks;
struct integrator;
struct frame_cuda;
struct sample_range;
struct sample_counts;

/* A sample of all pixels that ranks take together, of which each keeps a band of rows. */
typedef struct apart_range {
    uint32_t sample;
    int32_t own_top, own_bottom; /* of the film */
} apart_range;

/* Saves what is there while a frame runs. */
typedef struct frame_keeper {
    double every_seconds;
    kd_status (*save)(void *context, const struct frame *of, const struct film *from);
    /* After each pass, to be watched; may be NULL. */
    void (*look)(void *context, const struct film *from);
    void *context;
} frame_keeper;

enum { FRAME_CARRIED = 16 };

typedef struct frame {
    const scene_view *scene;
    const kd_render_options *options;
    const struct integrator *how;
    camera view, view_end; /* the second one if it moves while the shutter is open */
    bool moves;
    void *state;                   /* the integrator's own: photon maps, ... */
    double carried[FRAME_CARRIED]; /* its numbers that a resumed frame needs back; at first all 0 */
    frame_statistics statistics;
    job *watched;
    const frame_keeper *keeper; /* NULL: nothing is saved on the way */
    struct ranks *among; /* who work at this frame together (distributed/render); NULL: alone */
    bool apart;          /* their photons stay where they are traced (take_apart) */
    double pause;        /* timing_now() after which the keeper waits for a film; 0: none */
    struct frame_cuda *there; /* on a CUDA device (frame.h); NULL: on the CPU */
    bool on_target;           /* options->target_error was reached */
    double deadline;          /* timing_now() after which only a first sample is taken; 0: none */
    /* The deadline came while the maps of now were made: of fewer photons than asked for. They are
       of use to a film without samples, or one of such maps; nothing goes on from such a film. */
    bool maps_cut, film_cut;
    uint64_t photon_map_hash; /* photon_file.content of options->photon_map; 0: none */
    /* Before the first sample of batch `batch` of options->batches is taken, if prepare sets it:
       batches are runs of samples, as even as they can be. NULL: all samples are alike. */
    kd_status (*begin_batch)(struct frame *of, uint32_t batch);
} frame;

/* Photon maps, as bits 1 << PHOTON_LIST_GLOBAL ... of a mask. */
enum { MAPS_NONE = 0, MAPS_GLOBAL = 1, MAPS_ALL = 7 };

typedef struct integrator {
    const char *name;
    const char *source;                    /* paper */
    kd_status (*prepare)(frame *prepared); /* fills state; may be NULL */
    /* Radiance of sample `sample` of pixel (x, y): a pure function of its arguments. */
    pixel_sample (*sample)(const frame *of, int32_t x, int32_t y, uint32_t sample);
    /* The same for many at once, where that is faster; NULL: they are taken one by one. */
    void (*samples)(const frame *of, const pixel_request *asked, uint32_t count, pixel_sample *out);
    void (*close)(frame *closed); /* frees state; may be NULL */
    /* Before sample `pass` of every pixel is taken, for methods that change from sample to sample:
       then options->passes is how many there are. NULL: samples know nothing of each other, and
       options->spp says how many. */
    kd_status (*pass)(frame *of, uint32_t pass);
    /* The same samples on a CUDA device (frame.h), not waited for; prepare, pass and close
       then care for what lies there. NULL: it runs on the CPU only. */
    kd_status (*launch)(const frame *of, const struct sample_range *range);
    /* The same on a CPU, of photons that lie apart (distributed/render): all ranks call it. *over:
       one of them was told to stop. NULL: it has none, or only `may_be_apart` options let it. */
    kd_status (*take_apart)(struct frame *of, struct film *to, const apart_range *range,
                            struct sample_counts *counts, bool *over);
    bool (*may_be_apart)(const kd_render_options *options);
    bool apart_there; /* on devices its launch looks into such photons, too: of whole bands */
    /* Of those whose launch takes samples by waves (render/waves): how many it takes at most, and
       the device's bytes that it needs. NULL: it takes them a thread each. */
    uint64_t (*launch_samples)(const kd_render_options *options);
    uint64_t (*launch_bytes)(const scene_view *scene, const kd_render_options *options);
    /* Before all else, if it takes photons of a file: sets photon_map_hash, KD_ERROR_INPUT if there
       is no such file; NULL: it takes none. */
    kd_status (*identify)(frame *of);
    /* What others have to know of it; each may be NULL. */
    /* which photon maps the options make it need: a mask; NULL: none */
    uint32_t (*maps)(const kd_render_options *options);
    /* in how many batches its photons can be made at most; NULL: in one */
    int32_t (*batches_most)(const kd_render_options *options);
    /* whether a sample depends on how many there are to be; NULL: never */
    bool (*counts_samples)(const kd_render_options *options);
    /* bytes that it keeps beside its maps, where samples are taken; NULL: next to none */
    uint64_t (*state_bytes)(const kd_render_options *options);
    bool box_alone; /* its pixels know no other filter than the box, and a camera that stands */
    bool placed;    /* it looks at placements (scene_view.placed); else it is given copies */
} integrator;

enum { BATCHES_MOST = 65536 };
/* In how many batches its photons can be made at most; 1 for one that makes none. */
int32_t integrator_batches_most(const integrator *of, const kd_render_options *options);
/* Whether several ranks can keep their photons apart, and show the same picture. */
bool integrator_may_be_apart(const integrator *of, const kd_render_options *options);
uint32_t integrator_maps(const integrator *of, const kd_render_options *options);
uint64_t integrator_state_bytes(const integrator *of, const kd_render_options *options);
/* The device's memory that its launches need. */
uint64_t integrator_launch_bytes(const integrator *of, const scene_view *scene,
                                 const kd_render_options *options);
/* Samples that each pixel is to get: options->passes of all batches, or options->spp. */
int32_t integrator_samples(const integrator *of, const kd_render_options *options);
/* The frame as samples see it; on a CUDA device the thread that takes them sets the scene. */
pixel_view integrator_view(const frame *of);
/* Whether some material lets a part of the light pass by its opacity. */
bool integrator_has_cutouts(const scene_view *scene);

#ifdef __cplusplus
}
#endif

#endif

/* The interface of an integrator, and the frame that it renders. An integrator estimates the
   radiance of a pixel sample. The frame loop (render/frame/frame.c) depends only on this
   interface. */
#ifndef KD_RENDER_FRAME_INTEGRATOR_H
#define KD_RENDER_FRAME_INTEGRATOR_H
#include "core/job.h"
#include "core/status.h"
#include "render/frame/pixel.h"
#include <kandela/render.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct frame_statistics { /* integers, so sums over threads do not depend on their order */
    uint64_t rays;                /* traced for camera paths, including shadow rays */
    uint64_t photon_rays;
    uint64_t nan_samples; /* samples with a NaN or an infinity, replaced by black */
    uint64_t photons_emitted, photons_stored, caustics_stored, volume_stored;
    uint64_t lookups_bounded; /* estimates that met more surface tiles than their limit */
    uint64_t photon_hash;
    double radius; /* typical estimation radius of the global map, scene units; 0: none */
    /* energy balance of photon tracing, W */
    double watts_emitted, watts_absorbed, watts_media, watts_escaped, watts_ended;
    double watts_cut; /* the part of watts_ended that the limits of the path length cut off */
    /* parts of the stage "render" on a CUDA device */
    double lookup_seconds, gather_seconds, film_seconds;
} frame_statistics;

struct film;
struct frame;
struct ranks;
struct integrator;
struct frame_cuda;
struct sample_range;
struct sample_counts;
struct light_source;
struct kept_maps;

/* One sample of all pixels, taken by all ranks together; each rank keeps a band of rows. */
typedef struct distributed_range {
    uint32_t sample;
    int32_t band_top, band_bottom; /* the rank's own rows of the film */
} distributed_range;

/* Callbacks to save or show the film while a frame is rendered. */
typedef struct frame_keeper {
    double every_seconds;
    kd_status (*save)(void *context, const struct frame *frame, const struct film *film);
    /* Called after each pass, e.g. to update a viewer; may be NULL. */
    void (*show)(void *context, const struct film *film);
    /* Called between parts of a pass, while nothing changes frame and film: at the time that the
       last call returned (timing_now()), and soon after `wanted` returns true, which any thread may
       call. May move the frame's deadline. NULL: never. */
    double (*watch)(void *context, struct frame *frame, const struct film *film);
    bool (*wanted)(void *context);
    /* Called after the last sample, while the integrator's data still exist; may be NULL. */
    void (*finished)(void *context, const struct frame *frame, const struct film *film);
    void *context;
} frame_keeper;

enum { FRAME_CARRIED = 16 };

typedef struct frame {
    const scene_view *scene;
    const kd_render_options *options;
    const struct integrator *integrator;
    camera view, view_end; /* at shutter opening and, if `moves`, at shutter closing */
    bool moves;            /* the camera moves while the shutter is open */
    uint32_t sample_end;   /* frame_run ends before this sample; 0: after the last */
    /* hashes of scene and options for state files, if those of the frame change while it is
       rendered; 0: they do not (state_identify) */
    uint64_t identity[2];
    void *state;                   /* private data of the integrator, e.g. photon maps */
    double carried[FRAME_CARRIED]; /* private numbers of the integrator, saved for resuming;
                                      initially 0 */
    frame_statistics statistics;
    job_control *job;
    const frame_keeper *keeper; /* NULL: nothing is saved while rendering */
    struct ranks *comm; /* the ranks that render this frame together (distributed/render); NULL:
                            one process */
    struct kept_maps *kept_maps; /* photon maps of earlier renderings; NULL: none are kept */
    struct light_groups *groups; /* films of light groups; NULL: none */
    bool distributed;            /* photons stay at the ranks that traced them (take_distributed) */
    double pause;    /* timing_now() from which the keeper is to save the film; 0: never */
    double watch_at; /* timing_now() of the next call of keeper->watch */
    /* the copy on the CUDA device (frame.h); NULL: the CPU renders */
    struct frame_cuda *device_frame;
    bool on_target; /* options->target_error was reached */
    /* timing_now() after which only the first sample per pixel is taken; 0: none */
    double deadline;
    /* maps_cut: the deadline truncated the current maps, so they hold fewer photons than requested.
       film_cut: the film holds samples of such maps. Truncated maps are used only if the film is
       empty or has film_cut set, and a film with film_cut is not saved for resuming. */
    bool maps_cut, film_cut;
    uint64_t photon_map_hash; /* photon_file.content of the file options->photon_map; 0: none */
    /* Called before the first sample of batch `batch` of options->batches, if set by `prepare`.
       Batches are ranges of sample numbers of nearly equal length. NULL: no batches. */
    kd_status (*begin_batch)(struct frame *frame, uint32_t batch);
} frame;

/* Sets of photon maps: masks of the bits 1 << PHOTON_LIST_GLOBAL and so on. */
enum { MAPS_NONE = 0, MAPS_GLOBAL = 1, MAPS_ALL = 7 };

/* Light that a method cannot show. Caustics: light that a mirror or smooth glass casts on another
   surface. */
enum {
    OMITS_POINT_CAUSTICS = 1, /* caustics of point, spot and directional lights */
    OMITS_ALL_CAUSTICS = 2,
    OMITS_SPECULAR = 4, /* surfaces in mirrors and through smooth glass */
    OMITS_GLOSSY = 8    /* other surfaces in rough metal and rough glass */
};

typedef struct integrator {
    const char *name;
    const char *source;                    /* the paper that describes the method */
    kd_status (*prepare)(frame *prepared); /* allocates `state`; may be NULL */
    /* Estimates the radiance of sample `sample` of pixel (x, y). Pure function of its arguments.
       Thread-safe. */
    pixel_sample (*sample)(const frame *frame, int32_t x, int32_t y, uint32_t sample);
    /* Radiance that the sample has whatever its camera ray meets; NULL: none. */
    vec3 (*splats)(const frame *frame, int32_t x, int32_t y, uint32_t sample);
    /* Takes many samples in one call, where that is faster; NULL: they are taken one by one. */
    void (*samples)(const frame *frame, const pixel_request *request, uint32_t count,
                    pixel_sample *out);
    void (*close)(frame *closed); /* frees `state`; may be NULL */
    /* Sets the light of the current pass, for those who show it (api/light_paths.h); NULL: no
       light paths are traced. */
    void (*show_light)(const frame *frame, struct light_source *out);
    /* Called before sample number `pass` of every pixel, for methods whose samples differ from pass
       to pass; options->passes, or options->spp if passes_are_samples is set, is then the number of
       samples. NULL: samples are independent of each
       other, and options->spp is their number. */
    kd_status (*pass)(frame *frame, uint32_t pass);
    /* Takes the same samples on a CUDA device (frame.h), asynchronously; prepare, pass and close
       then manage the data on the device. NULL: CPU only. */
    kd_status (*launch)(const frame *frame, const struct sample_range *range);
    /* Takes a sample of all pixels on the CPU with photons distributed over ranks
       (distributed/render). Collective. Sets *over if some rank is to stop. NULL: not supported. */
    kd_status (*take_distributed)(struct frame *frame, struct film *film,
                                  const distributed_range *range, struct sample_counts *counts,
                                  bool *over);
    /* Returns true if the options permit distributed photons; NULL: all do. */
    bool (*can_distribute)(const kd_render_options *options);
    bool device_distributed; /* `launch` supports distributed photons, too, for complete bands of
                                rows */
    /* For launches that trace wavefronts (render/frame): maximum number of samples per launch, and
       bytes of device memory needed. NULL: a launch uses one thread per pixel. */
    uint64_t (*launch_samples)(const kd_render_options *options);
    uint64_t (*launch_bytes)(const scene_view *scene, const kd_render_options *options);
    /* Called first, if the integrator reads photons from a file: sets photon_map_hash. Returns
       KD_ERROR_INPUT if the file does not exist. NULL: the integrator reads no file. */
    kd_status (*identify)(frame *frame);
    /* Properties that depend on the options; each may be NULL. */
    /* mask of the photon maps needed; NULL: none */
    uint32_t (*maps)(const kd_render_options *options);
    /* largest number of photon batches; NULL: 1 */
    int32_t (*batches_max)(const kd_render_options *options);
    /* true if a sample depends on the number of samples; NULL: it never does */
    bool (*counts_samples)(const kd_render_options *options);
    /* bytes kept besides the maps, where samples are taken; NULL: negligible */
    uint64_t (*state_bytes)(const kd_render_options *options);
    /* Returns true if samples taken on a CPU are added to films of light groups, too; NULL: never
     */
    bool (*light_groups)(const kd_render_options *options, const scene_view *scene);
    uint32_t omits; /* mask of OMITS_POINT_CAUSTICS and so on */
    /* The light that the limits of the path length cut off is estimated by more calls of the
       `sample` of this integrator, on the CPU; NULL: it is not. */
    const struct integrator *depth_probe;
    bool regularises; /* supports --regularise */
    bool lens;        /* supports --lens-samples, on a CPU */
    bool studio;      /* the look auto of mesh files is studio */
    bool passes_are_samples;
    bool box_alone; /* supports the box filter and a static camera only */
    bool instances; /* supports instances (scene_view.instances); otherwise they are expanded to
                       copies */
} integrator;

enum { BATCHES_MAX = 65536 };
/* Largest number of photon batches; 1 if the integrator uses no photons. */
int32_t integrator_batches_max(const integrator *integrator, const kd_render_options *options);
/* Returns true if ranks can keep photons distributed and still render the same image. */
bool integrator_can_distribute(const integrator *integrator, const kd_render_options *options);
uint32_t integrator_maps(const integrator *integrator, const kd_render_options *options);
uint64_t integrator_state_bytes(const integrator *integrator, const kd_render_options *options);
/* Returns the bytes of device memory that the integrator's launches need. */
uint64_t integrator_launch_bytes(const integrator *integrator, const scene_view *scene,
                                 const kd_render_options *options);
/* Number of samples per pixel: options->passes times batches, or options->spp. */
int32_t integrator_samples(const integrator *integrator, const kd_render_options *options);
/* Returns the number of the sample before which frame_run ends. */
uint32_t frame_end(const frame *frame);
/* Returns the view of the frame that samples use. In device code, the kernel replaces `scene` by
   the copy on the device. */
pixel_view integrator_view(const frame *frame);
/* Returns true if some material is partly transparent by its opacity (a cut-out). */
bool integrator_has_cutouts(const scene_view *scene);

#ifdef __cplusplus
}
#endif

#endif

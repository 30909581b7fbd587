/* What integrators share, and the functions of each that the table in integrators.c names. */
#ifndef KD_RENDER_INTEGRATORS_H
#define KD_RENDER_INTEGRATORS_H
#include "photon/photon_map.h"
#include "render/integrator.h"
#include "shaders/pixel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The frame as samples see it; on a CUDA device the thread that takes them sets the scene. */
pixel_view integrator_view(const frame *of);
/* Whether some material lets a part of the light pass by its opacity. */
bool integrator_has_cutouts(const scene_view *scene);

kd_status path_prepare(frame *prepared);
pixel_sample path_sample(const frame *of, int32_t x, int32_t y, uint32_t sample);
void path_close(frame *closed);
kd_status path_launch(const frame *of, const struct sample_range *range);

kd_status direct_prepare(frame *prepared);

kd_status photon_prepare(frame *prepared);
pixel_sample photon_sample(const frame *of, int32_t x, int32_t y, uint32_t sample);
void photon_close(frame *closed);
/* An estimate of fewer photons is too noisy to be shared any further. */
enum { BATCH_GATHER_LEAST = 5 };
/* In how many batches the options allow to work at most. */
int32_t photon_batches_most(const kd_render_options *options);
/* Photons and k of one of options->batches. */
void photon_share_options(photon_options *of, const kd_render_options *options);
/* The time that photons may take of what the frame's deadline leaves: those of its first maps a
   part of it, since maps and a first sample of every pixel are to follow; those of later ones all.
 */
void photon_limit_time(photon_options *to, const frame *of, bool first);
/* What statistics tell of a pair of maps, wherever they lie. */
typedef struct photon_figures {
    uint64_t emitted, rays, stored, caustics, strayed, hash;
    photon_ledger ledger; /* of the global map's photons */
} photon_figures;
photon_figures photon_figures_of(const photon_maps *maps);
kd_status photon_launch(const frame *of, const struct sample_range *range);
/* What the command line says of photons, checked. */
kd_status photon_read_options(photon_options *out, const kd_render_options *options);

kd_status progressive_prepare(frame *prepared);
kd_status progressive_pass(frame *of, uint32_t pass);
pixel_sample sppm_sample(const frame *of, int32_t x, int32_t y, uint32_t sample);
pixel_sample ppm_sample(const frame *of, int32_t x, int32_t y, uint32_t sample);
void progressive_close(frame *closed);
kd_status sppm_launch(const frame *of, const struct sample_range *range);
kd_status ppm_launch(const frame *of, const struct sample_range *range);

kd_status light_prepare(frame *prepared);
kd_status light_pass(frame *of, uint32_t pass);
pixel_sample light_sample_pixel(const frame *of, int32_t x, int32_t y, uint32_t sample);
void light_close(frame *closed);
kd_status light_launch(const frame *of, const struct sample_range *range);

kd_status whitted_prepare(frame *prepared);
pixel_sample whitted_sample(const frame *of, int32_t x, int32_t y, uint32_t sample);
pixel_sample ambient_sample(const frame *of, int32_t x, int32_t y, uint32_t sample);
void whitted_close(frame *closed);
kd_status whitted_launch(const frame *of, const struct sample_range *range);
kd_status ambient_launch(const frame *of, const struct sample_range *range);

kd_status debug_prepare(frame *prepared);
pixel_sample debug_sample(const frame *of, int32_t x, int32_t y, uint32_t sample);
void debug_close(frame *closed);
kd_status debug_launch(const frame *of, const struct sample_range *range);

#ifdef __cplusplus
}
#endif

#endif

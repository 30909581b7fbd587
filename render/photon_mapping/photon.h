/* What the integrators by photon maps share. */
#ifndef KD_RENDER_PHOTON_MAPPING_PHOTON_H
#define KD_RENDER_PHOTON_MAPPING_PHOTON_H
#include "photon/maps/photon_map.h"
#include "render/frame/integrator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An estimate of fewer photons is too noisy to be shared any further. */
enum { BATCH_GATHER_LEAST = 5 };

/* What the command line says of photons, checked. */
kd_status photon_read_options(photon_options *out, const kd_render_options *options);
/* Photons and k of one of options->batches. */
void photon_share_options(photon_options *of, const kd_render_options *options);
/* The time that photons may take of what the frame's deadline leaves: those of its first maps a
   part of it, since maps and a first sample of every pixel are to follow; those of later ones all.
 */
void photon_limit_time(photon_options *to, const frame *of, bool first);
uint32_t photon_all_maps(const kd_render_options *options);

/* What statistics tell of a pair of maps, wherever they lie. */
typedef struct photon_figures {
    uint64_t emitted, rays, stored, caustics, strayed, hash;
    photon_ledger ledger; /* of the global map's photons */
} photon_figures;
photon_figures photon_figures_of(const photon_maps *maps);

#ifdef __cplusplus
}
#endif
#endif

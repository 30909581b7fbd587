/* The irradiance at a photon by both maps, for a final gather that asks the nearest photon only.
   Source: Christensen 1999, "Faster photon map global illumination", Journal of Graphics Tools
           4(3).
   Differs from the source in: every photon is asked, and its own power counts as much as the
         void lacks in which it is the nearest photon (photon_own_weight), so that the mean over
         places is that of estimates made there; caustics are in it. */
#ifndef KD_PHOTON_MAPS_PRECOMPUTED_H
#define KD_PHOTON_MAPS_PRECOMPUTED_H
#include "photon/density/estimate_adaptive.h"

KD_FN estimate_point photon_place(const photon *landed) {
    estimate_point at;
    at.position = landed->position;
    at.normal = landed->normal;
    at.triangle = landed->triangle;
    return at;
}

KD_FN vec3 photon_irradiance_at(const photon_map_view *map, const photon_map_view *caustic,
                                const tile_view *tiles, uint32_t node) {
    const estimate_point at = photon_place(&map->photons[node]);
    return vec3_add(photon_irradiance_at_photon(map, tiles, &at, node),
                    photon_irradiance(caustic, tiles, &at));
}

#endif

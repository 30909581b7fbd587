/* The irradiance at a photon by both maps, for a final gather that asks the nearest photon only.
   Source: Christensen 1999, "Faster photon map global illumination", Journal of Graphics Tools
           4(3).
   Differs from the source in: every photon is asked, and its own power counts as much as the
         void lacks in which it is the nearest photon (photon_own_weight), so that the mean over
         places is that of estimates made there; caustics are in it. */
#ifndef KD_PHOTON_MAPS_PRECOMPUTED_H
#define KD_PHOTON_MAPS_PRECOMPUTED_H
#include "photon/density/estimate_adaptive.h"
#include "shaders/scene_view.h"

KD_FN estimate_point photon_place(const photon *landed, const mesh_view *mesh) {
    const uint32_t *corner = mesh->triangles + 3 * (size_t)landed->triangle;
    const vec3 a = mesh->positions[corner[0]];
    const vec3 winding = vec3_cross(vec3_sub(mesh->positions[corner[1]], a),
                                    vec3_sub(mesh->positions[corner[2]], a));
    estimate_point at;
    at.position = landed->position;
    at.normal = landed->normal;
    at.back = vec3_dot(winding, landed->normal) < 0;
    at.triangle = landed->triangle;
    return at;
}

KD_FN vec3 photon_irradiance_at(const photon_map_view *map, const photon_map_view *caustic,
                                const crease_view *creases, const mesh_view *mesh, uint32_t node) {
    const estimate_point at = photon_place(&map->photons[node], mesh);
    return vec3_add(photon_irradiance_at_photon(map, creases, &at, node),
                    photon_irradiance(caustic, creases, &at));
}

#endif

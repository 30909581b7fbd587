/* How many of the nearest photons an estimate takes: as many as the light allows.
   Source: Schregle 2003, "Bias compensation for photon maps": a range of k, the deviation from the
           estimates of fewer photons is bias where noise does not explain it. The rule that says so
           is the intersection of confidence intervals of Katkovnik 1999, "A new method for varying
           adaptive bandwidth selection".
   Idea: many photons have little noise, few have little blur. Discs grow from ADAPT_LEAST photons
         on; each estimate has an interval of ADAPT_CONFIDENCE standard deviations. While all
         intervals so far have a value in common, the estimates may be of one and the same light,
   and the larger disc is the quieter one. The first that lies apart has crossed an edge of the
         light: the disc before it is taken.
   Work: the k nearest once; a pass over the photons inside and a look into the tiles for each disc,
         three times those of one estimate in all.
   Differs from the sources in: no random numbers (Schregle draws whether to go on), so that an
         estimate is a function of the photons and the place. */
#ifndef KD_PHOTON_DENSITY_ESTIMATE_ADAPTIVE_H
#define KD_PHOTON_DENSITY_ESTIMATE_ADAPTIVE_H
#include "photon/density/estimate.h"

#define ADAPT_LEAST 8u
#define ADAPT_GROWTH 1.5f
#define ADAPT_CONFIDENCE 2.0f

/* Mean of the channels of an estimate, W/m^2, and its standard deviation as if photons landed
   independently of each other. */
typedef struct adapt_estimate {
    float mean, deviation;
    uint32_t counted; /* photons of this surface */
} adapt_estimate;

KD_FN adapt_estimate adapt_estimate_of(const photon_map_view *map, const tile_view *tiles,
                                       const estimate_point *at, const photon_gathering *gathered,
                                       uint32_t count, float radius) {
    adapt_estimate made = {0, 0, 0};
    float squares = 0;
    const float per_radius2 = 1 / (radius * radius);
    for (uint32_t i = 0; i < count; ++i) {
        const photon *landed = &map->photons[gathered->found[i].node];
        if (!estimate_accepts(landed, at)) continue;
        const float watts = (landed->power.x + landed->power.y + landed->power.z) / 3;
        const float weighted =
            watts * photon_kernel_at(map->kernel, gathered->found[i].dist2 * per_radius2);
        made.mean += weighted;
        squares += weighted * weighted;
        ++made.counted;
    }
    if (gathered->own != KD_NONE) { /* else small discs there would look darker than large ones */
        const vec3 power = map->photons[gathered->own].power;
        const float weighted =
            (power.x + power.y + power.z) / 3 * photon_own_weight(map->kernel, count);
        made.mean += weighted;
        squares += weighted * weighted;
    }
    const float scale = per_radius2 / estimate_integral(tiles, at, radius, map->kernel);
    made.mean *= scale;
    made.deviation = sqrtf(squares) * scale;
    return made;
}

/* Leaves the photons and the radius that the rule above chooses. `found` is in order of distance.
 */
KD_FN void photon_gathering_adapt(const photon_map_view *map, const tile_view *tiles,
                                  const estimate_point *at, photon_gathering *gathered) {
    uint32_t taken = gathered->count;
    float taken_radius = gathered->radius, low = 0, high = INFINITY;
    bool begun = false;
    for (float wish = ADAPT_LEAST;; wish *= ADAPT_GROWTH) {
        const bool last = wish >= (float)gathered->count;
        const uint32_t count = last ? gathered->count : (uint32_t)wish;
        const float radius = last ? gathered->radius : sqrtf(gathered->found[count].dist2);
        if (radius > 0) {
            const adapt_estimate now = adapt_estimate_of(map, tiles, at, gathered, count, radius);
            if (now.counted >= ADAPT_LEAST) { /* fewer say nothing of their noise */
                low = float_max(low, now.mean - ADAPT_CONFIDENCE * now.deviation);
                high = float_min(high, now.mean + ADAPT_CONFIDENCE * now.deviation);
                if (begun && low > high) break;
                begun = true;
                taken = count;
                taken_radius = radius;
            }
        }
        if (last) break;
    }
    if (!begun) return;
    gathered->count = taken;
    gathered->radius = taken_radius;
}

/* The photons of an estimate at a place. */
KD_FN void photon_gather_at(const photon_map_view *map, const tile_view *tiles,
                            const estimate_point *at, photon_gathering *out) {
    photon_gather(map, at->position, out);
    if (map->adaptive) photon_gathering_adapt(map, tiles, at, out);
}

/* Irradiance by the map's photons, W/m^2, by the estimator that the map names. */
KD_FN vec3 photon_irradiance(const photon_map_view *map, const tile_view *tiles,
                             const estimate_point *at) {
    if (map->gather == 0) return photon_fixed_irradiance(map, tiles, at, KD_NONE);
    photon_gathering gathered;
    photon_gather_at(map, tiles, at, &gathered);
    return photon_gathering_irradiance(map, tiles, at, &gathered);
}

/* The same at a photon of the map, for the places nearest to it (photon_own_weight). */
KD_FN vec3 photon_irradiance_at_photon(const photon_map_view *map, const tile_view *tiles,
                                       const estimate_point *at, uint32_t node) {
    if (map->gather == 0) return photon_fixed_irradiance(map, tiles, at, node);
    photon_gathering gathered;
    photon_gather_others(map, node, &gathered);
    if (map->adaptive) photon_gathering_adapt(map, tiles, at, &gathered);
    return photon_gathering_irradiance(map, tiles, at, &gathered);
}

/* --- irradiance at a photon by both maps, for a final gather that asks the nearest photon only ---
   Source: Christensen 1999, "Faster photon map global illumination", Journal of Graphics Tools
           4(3).
   Differs from the source in: every photon is asked, and its own power counts as much as the
         void lacks in which it is the nearest photon (photon_own_weight), so that the mean over
         places is that of estimates made there; caustics are in it. */

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

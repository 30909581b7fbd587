/* How much flux falls on a square metre: density estimates over the photons of a map.
   Source: Jensen 2001, "Realistic Image Synthesis Using Photon Mapping", chapter 7 (the k nearest,
           cone filter); Epanechnikov's kernel from Silverman 1986, "Density Estimation", 4.2; the
           Gaussian from Pavicic 1990, "Convenient anti-aliasing filters that minimize bumpy
           sampling", as Jensen uses it.
   Idea: the photons within the radius of the k-th nearest, weighted by a kernel, over the kernel's
         integral on the surface that is really there (tiles.h). Near an edge a part of the disc
         hangs in the air or in a wall; what is measured lacks it, so no flux is lost at corners.
   Work: a query of the k nearest, a look into the tiles, one BSDF each.
   Invariants: the expected value on a plane patch with constant irradiance is that irradiance,
         whatever its shape: the k-th photon only sets the radius, the k - 1 inside are counted.
   Differs from the source in: the area; a photon counts if its side's normal is within 60 degrees
         of the query's, as do the sides of triangles that are measured, which keeps out the far
         sides of walls and of thin boards. */
#ifndef KD_PHOTON_DENSITY_ESTIMATE_H
#define KD_PHOTON_DENSITY_ESTIMATE_H
#include "photon/density/tiles.h"
#include "photon/emission/photon.h"
#include "points/tree/walk.h"
#include "shaders/surface.h"

/* More photons than this are not gathered at once: the list lies on the stack. */
#define ESTIMATE_GATHER_MAX 1024u

/* What a thread's last look into a map found, for the next one near it: what is as near as that,
   and as far as both places are apart, holds as many photons. */
typedef struct photon_last {
    vec3 position;
    float distance; /* of the k-th */
    uint32_t k;     /* 0: there was no look */
    uint32_t place; /* of the index, where it began */
} photon_last;

/* The same k nearest by other means, where a device has faster ones; with `any_order` not in order,
   but for the farthest, which is the last. `last` may be NULL. */
typedef uint32_t (*photon_finder)(const void *index, vec3 query, uint32_t k, float max_radius,
                                  bool any_order, photon_last *last, neighbour *out);

typedef struct photon_map_view {
    const photon *photons; /* in the tree's order; power in W (already over the number emitted) */
    pointtree_view tree;   /* of their positions */
    float radius;          /* the largest one, scene units */
    uint32_t gather;       /* k, at most ESTIMATE_GATHER_MAX; 0: all within `radius` */
    photon_kernel kernel;
    float scale;          /* flux_scale of the photons' strongest channel */
    bool adaptive;        /* of the k nearest as many as the light allows: estimate_radius.h */
    bool walks;           /* looks walk the tree, on a device too, each by itself */
    photon_finder finder; /* host code only; NULL: the tree is walked */
    const void *index;    /* the finder's */
    bool any_order;       /* as the finder takes it */
    photon_last *last;    /* the finder's, of one thread; NULL: looks know nothing of each other */
    const vec3
        *irradiance; /* W/m^2 at each photon, of both maps, in the tree's order; NULL: not known */
} photon_map_view;

/* Where an estimate is made. */
typedef struct estimate_point {
    vec3 position;
    vec3 normal; /* unit geometric normal of the side that is looked at */
    uint32_t triangle;
} estimate_point;

/* Whether a photon counts at a place: its side faces the same way. */
KD_FN bool estimate_accepts(const photon *landed, const estimate_point *at) {
    return vec3_dot(landed->normal, at->normal) >= TILE_COSINE;
}

/* The kernel's integral over the surface in reach, of the unit disc's radius. */
KD_FN_APART float estimate_tile_integral(const tile_view *tiles, const estimate_point *at,
                                         float radius, photon_kernel kernel) {
    tile_look look = tile_look_begin(at->position, at->normal, at->triangle, radius, kernel);
    return tile_kernel_integral(tiles, &look, TILE_COSINE);
}

/* The same; over the whole disc where there are no tiles, or no radius. */
KD_FN float estimate_integral(const tile_view *tiles, const estimate_point *at, float radius,
                              photon_kernel kernel) {
    if (tiles->box_count && radius > 0) {
        const estimate_point here = *at;
        return estimate_tile_integral(tiles, &here, radius, kernel);
    }
    return 2 * KD_PI * photon_kernel_sector(kernel);
}

/* The photons of one estimate. */
typedef struct photon_gathering {
    neighbour found[ESTIMATE_GATHER_MAX];
    uint32_t count; /* of those that count */
    float radius;
    uint32_t own; /* node of the photon at which it is made, not in `found`; KD_NONE: none */
} photon_gathering;

/* The weight of a photon's own power in the estimate at itself, where `inside` others lie within
   the radius. A place takes the estimate of the photon nearest to it: that none is nearer is a
   void, a disc about the place with that photon on its rim, where the estimate finds no other one.
   What the void lacks is the kernel's integral over it, in photons: with k = inside + 1 and the
   void's share v of the disc, which has the density (k - 1) (1 - v)^(k - 2), it is k E[q(v)], q the
   integral over the unit disc's area:
       disc v;  cone v - 32 / (9 pi) v^(3/2);  Epanechnikov v - 3/2 v^2;
       Gaussian (a + b) v - b (3/2 c v^2 - 10/6 c^2 v^3 + 35/24 c^3 v^4 - ...)
   so the mean over all places, each with the estimate of its nearest photon, is that of estimates
   made there. */
KD_FN float photon_own_weight(photon_kernel kernel, uint32_t inside) {
    return float_max(photon_kernel_own(kernel, (float)inside + 1), 0);
}

KD_FN uint32_t photon_nearest(const photon_map_view *map, vec3 position, uint32_t k,
                              neighbour *found) {
#ifndef __CUDA_ARCH__
    if (map->finder)
        return map->finder(map->index, position, k, map->radius, map->any_order, map->last, found);
#endif
    return pointtree_nearest_k(&map->tree, position, k, map->radius, found);
}

KD_FN void photon_gather(const photon_map_view *map, vec3 position, photon_gathering *out) {
    out->own = KD_NONE;
    out->count = photon_nearest(map, position, map->gather, out->found);
    out->radius = map->radius;
    if (out->count == map->gather) out->radius = sqrtf(out->found[--out->count].dist2);
}

/* The photons of an estimate at a photon of the map: the others, and itself with a weight of its
   own. */
KD_FN void photon_gather_others(const photon_map_view *map, uint32_t node, photon_gathering *out) {
    const uint32_t wanted = map->gather < ESTIMATE_GATHER_MAX ? map->gather + 1 : map->gather;
    const uint32_t count = photon_nearest(map, map->photons[node].position, wanted, out->found);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; ++i)
        if (out->found[i].node != node) out->found[kept++] = out->found[i];
    out->own = node;
    out->count = kept;
    out->radius = map->radius;
    if (count == wanted && kept) out->radius = sqrtf(out->found[--out->count].dist2);
}

/* Weight of each photon's power (W) in the flux density (W/m^2), but for the kernel's value. */
KD_FN float photon_gathering_scale(const photon_map_view *map, const tile_view *tiles,
                                   const estimate_point *at, const photon_gathering *gathered) {
    if (gathered->count == 0 || !(gathered->radius > 0)) return 0;
    const float integral = estimate_integral(tiles, at, gathered->radius, map->kernel);
    return 1 / (integral * gathered->radius * gathered->radius);
}

/* Irradiance by the photons of a gathering, W/m^2. */
KD_FN vec3 photon_gathering_irradiance(const photon_map_view *map, const tile_view *tiles,
                                       const estimate_point *at, const photon_gathering *gathered) {
    const float scale = photon_gathering_scale(map, tiles, at, gathered);
    if (!(scale > 0)) return vec3_all(0);
    flux_sum sum = flux_sum_none();
    const float per_radius2 = 1 / (gathered->radius * gathered->radius);
    for (uint32_t i = 0; i < gathered->count; ++i) {
        const photon *landed = &map->photons[gathered->found[i].node];
        if (!estimate_accepts(landed, at)) continue;
        const float kernel = photon_kernel_at(map->kernel, gathered->found[i].dist2 * per_radius2);
        flux_sum_add(&sum, kernel, landed->power, map->scale);
    }
    if (gathered->own != KD_NONE)
        flux_sum_add(&sum, photon_own_weight(map->kernel, gathered->count),
                     map->photons[gathered->own].power, map->scale);
    return flux_sum_scaled(&sum, map->scale, scale);
}

/* Irradiance by all photons within map->radius, W/m^2. `own`: node of the photon at which it is
   made; KD_NONE: it is made elsewhere. */
KD_FN vec3 photon_fixed_irradiance(const photon_map_view *map, const tile_view *tiles,
                                   const estimate_point *at, uint32_t own) {
    const float bound2 = pointtree_bound2(map->radius);
    if (map->tree.count == 0 || !(bound2 > 0)) return vec3_all(0);
    const float per_bound2 = 1 / bound2;
    uint32_t inside = 0;
    flux_sum sum = flux_sum_none();
    pointtree_walk walk = pointtree_walk_begin();
    while (pointtree_walk_next(&map->tree, at->position, bound2, &walk)) {
        const float dist2 = pointtree_dist2(at->position, map->tree.points[walk.node]);
        const photon *landed = &map->photons[walk.node];
        if (!(dist2 <= bound2) || walk.node == own) continue;
        ++inside;
        if (!estimate_accepts(landed, at)) continue;
        const float kernel = photon_kernel_at(map->kernel, dist2 * per_bound2);
        flux_sum_add(&sum, kernel, landed->power, map->scale);
    }
    if (own != KD_NONE)
        flux_sum_add(&sum, photon_own_weight(map->kernel, inside), map->photons[own].power,
                     map->scale);
    const float integral = estimate_integral(tiles, at, map->radius, map->kernel);
    return flux_sum_scaled(&sum, map->scale, 1 / (integral * bound2));
}

/* How many of the nearest photons are asked for an irradiance that they know, if the very nearest
   belongs to another surface. */
#define ESTIMATE_KNOWN_ASKED 8u
/* Its largest height over the tangent plane, of its distance: a photon of a sheet above a place
   knows another light. */
#define ESTIMATE_KNOWN_HEIGHT 0.5f

/* Whether a photon at this distance knows the light of a place. */
KD_FN bool estimate_knows(const photon *landed, const estimate_point *at, float distance) {
    const float height = vec3_dot(vec3_sub(landed->position, at->position), at->normal);
    return estimate_accepts(landed, at) && fabsf(height) <= ESTIMATE_KNOWN_HEIGHT * distance;
}

/* The irradiance of the nearest photon of this surface, computed before; false if none near knows
   it. Source: Christensen 1999, "Faster photon map global illumination". */
KD_FN bool photon_known_irradiance(const photon_map_view *map, const estimate_point *at,
                                   vec3 *irradiance) {
    neighbour found[ESTIMATE_KNOWN_ASKED];
    if (!map->irradiance) return false;
    for (uint32_t asked = 1; asked <= ESTIMATE_KNOWN_ASKED; asked *= ESTIMATE_KNOWN_ASKED) {
        const uint32_t count = photon_nearest(map, at->position, asked, found);
        for (uint32_t i = 0; i < count; ++i) {
            const photon *landed = &map->photons[found[i].node];
            if (!estimate_knows(landed, at, sqrtf(found[i].dist2))) continue;
            *irradiance = map->irradiance[found[i].node];
            return true;
        }
    }
    return false;
}

/* Looks into photon maps that wait until many can be answered at once. */

enum { FINAL_GATHER_MOST = 65536 }; /* rays of the final gather */

/* A surface that is to be looked at. */
typedef struct eye_request {
    surface at;
    vec3 wo, throughput;
    uint32_t next; /* of the same path, or KD_NONE */
} eye_request;

/* Requests that the threads of a warp made at once: neighbours in the picture, at most 32. */
typedef struct eye_packet {
    uint32_t first, count;
} eye_packet;

/* How many there are of each; may grow beyond `room`: those are not there. */
typedef struct eye_asked {
    uint32_t requests, packets;
} eye_asked;

#endif

/* Irradiance estimates from the density of photons in a map.
   Source: Jensen 2001, "Realistic Image Synthesis Using Photon Mapping", chapter 7 (the k nearest,
           cone filter); Epanechnikov's kernel from Silverman 1986, "Density Estimation", 4.2; the
           Gaussian from Pavicic 1990, "Convenient anti-aliasing filters that minimize bumpy
           sampling", as Jensen uses it.
   Idea: sum the photons within the distance of the k-th nearest, weighted by a kernel, and divide
         by the kernel's integral over the surfaces that can accept photons (tiles.h). Near an edge,
         part of the disc lies in the air or inside a wall; the integral excludes that part, so
         estimates are not too dark at edges and corners.
   Work: a k-nearest query, a traversal of the tiles, and one BSDF evaluation per photon.
   Invariants: the expected value on a plane patch of any shape with constant irradiance is that
         irradiance: the k-th photon only sets the radius, and the k - 1 inside are counted.
   Differs from the source in: the area; a photon is counted only if the normal of the side that it
         hit is within 60 degrees of the query's normal. The same rule selects the triangles of the
         integral. It excludes the opposite sides of walls and thin boards. */
#ifndef KD_PHOTON_DENSITY_ESTIMATE_H
#define KD_PHOTON_DENSITY_ESTIMATE_H
#include "photon/density/tiles.h"
#include "photon/density/visibility.h"
#include "photon/emission/photon.h"
#include "points/tree/walk.h"
#include "shaders/surface.h"

/* Upper limit of k: the list of neighbours is on the stack. */
#define ESTIMATE_GATHER_MAX 1024u

/* Result of a thread's previous lookup, which bounds the search of the next one: a ball about the
   new query contains at least as many photons if its radius is the old distance plus the distance
   between the queries. */
typedef struct photon_last {
    vec3 position;
    float distance; /* distance to the k-th nearest photon */
    uint32_t k;     /* 0: no previous lookup */
    uint32_t place; /* position in the index where the search started */
} photon_last;

/* Alternative k-nearest search in an index of the same photons, with the same result. With
   `any_order`, the farthest neighbour is the last, and the others are in any order. `last` may be
   NULL. */
typedef uint32_t (*photon_finder)(const void *index, vec3 query, uint32_t k, float max_radius,
                                  bool any_order, photon_last *last, neighbour *out);

/* Irradiance at a photon. It applies to the points of its surface within a distance, not beyond:
   there may be a wall between. 16 bytes, which a device loads at once. */
typedef struct irradiance_record {
    vec3 irradiance; /* W/m^2, of both maps */
    /* square of the distance, exclusive; 0: it applies nowhere; negative: something stands on the
       surface, and it applies only to points from which the photon is visible */
    float reach2;
} irradiance_record;
static_assert(sizeof(irradiance_record) == 16, "a device loads it as a float4");

typedef struct photon_map_view {
    /* in tree order; power in W, already divided by the number of emitted paths */
    const photon *photons;
    pointtree_view tree; /* tree of the photons' positions */
    float radius;        /* largest search radius, scene units */
    uint32_t gather;     /* k, at most ESTIMATE_GATHER_MAX; 0: all within `radius` */
    photon_kernel kernel;
    float scale;          /* flux_scale of the photons' strongest channel */
    bool adaptive;        /* use fewer than k photons where the light varies: estimate_radius.h */
    bool walks;           /* lookups traverse the tree one by one, on a device, too */
    photon_finder finder; /* host code only; NULL: traverse the tree */
    const void *index;    /* argument of `finder` */
    bool any_order;       /* argument of `finder` */
    /* argument of `finder`, private to a thread; NULL: lookups are independent */
    photon_last *last;
    const irradiance_record
        *irradiance; /* record of each photon, in tree order; NULL: not computed */
} photon_map_view;

/* Query point of an estimate. */
typedef struct estimate_point {
    vec3 position;
    vec3 normal; /* unit geometric normal of the side on which the estimate is made */
    uint32_t triangle;
    /* scene whose surfaces may hide photons from the point; NULL: all are visible */
    const scene_view *occluders;
    const visibility_horizon *horizon; /* occluders around the point; NULL: unknown */
} estimate_point;

/* Returns true if the point `other` is hidden from `position`. `horizon`: may be NULL. */
KD_FN_NOINLINE bool visibility_hides(const scene_view *scene, const visibility_horizon *horizon,
                                     vec3 position, vec3 normal, vec3 other, vec3 other_normal) {
    const vec3 offset = vec3_sub(other, position);
    if (horizon && visibility_is_free(horizon, offset)) return false;
    const float distance = vec3_length(offset);
    return visibility_blocked(scene, position, normal, other, other_normal,
                              VISIBLE_LIFT * distance);
}

/* The disc whose samples estimate a visible share. */
typedef struct visibility_place {
    vec3 position, normal;
    frame3 axes;
    float radius, shift[2];
    photon_kernel kernel;
} visibility_place;

KD_FN visibility_place visibility_place_make(vec3 position, vec3 normal, float radius,
                                             photon_kernel kernel) {
    const uint64_t x = float_bits(position.x), y = float_bits(position.y);
    const rng_block shift = rng_draw(rng_key_make(x << 32 | y, float_bits(position.z), 3), 0, 0);
    visibility_place made;
    made.position = position;
    made.normal = normal;
    made.axes = frame3_around(normal);
    made.radius = radius;
    made.shift[0] = shift.value[0];
    made.shift[1] = shift.value[1];
    made.kernel = kernel;
    return made;
}

/* Weight of one of the samples; 0: no surface is there. */
KD_FN float visibility_weight(const scene_view *scene, const visibility_horizon *horizon,
                              const visibility_place *place, int which, bool *hidden) {
    const vec2 disc = sample_disc(((float)(which / VISIBLE_SIDE) + place->shift[0]) / VISIBLE_SIDE,
                                  ((float)(which % VISIBLE_SIDE) + place->shift[1]) / VISIBLE_SIDE);
    const vec3 offset =
        frame3_to_world(&place->axes, vec3_make(place->radius * disc.x, place->radius * disc.y, 0));
    const visibility_sample found =
        visibility_look(scene, horizon, place->position, place->normal, offset, true);
    *hidden = found.hidden;
    if (found.hit.triangle == KD_NONE) return 0;
    return photon_kernel_at(place->kernel, disc.x * disc.x + disc.y * disc.y);
}

/* Share of the kernel's integral over the surface that is visible from the point, from the sums of
   the weights of visible samples and of all, of which `count` found a surface. With v visible ones
   among them, the mean of (count + 1) / (v + 1) is that of 1 / share but for (1 - share)^(count +
   1), as v has a binomial distribution; that of count / v is larger, or infinite. */
KD_FN float visibility_share_of(float visible, float whole, uint32_t count) {
    if (count < VISIBLE_SAMPLES_MIN) return 1;
    return ((float)count * visible / whole + 1) / (float)(count + 1);
}

KD_FN_NOINLINE float visibility_share(const estimate_point *at, float radius,
                                      photon_kernel kernel) {
    const visibility_place place = visibility_place_make(at->position, at->normal, radius, kernel);
    float visible = 0, whole = 0;
    uint32_t count = 0;
    for (int i = 0; i < VISIBLE_SAMPLES; ++i) {
        bool hidden;
        const float weight = visibility_weight(at->occluders, at->horizon, &place, i, &hidden);
        whole += weight;
        if (weight > 0) ++count;
        if (!hidden) visible += weight;
    }
    return visibility_share_of(visible, whole, count);
}

/* Returns true if the photon hit a side with a similar normal and is visible. */
KD_FN bool estimate_accepts(const photon *landed, const estimate_point *at) {
    if (!(vec3_dot(landed->normal, at->normal) >= TILE_COSINE)) return false;
    return !at->occluders || !visibility_hides(at->occluders, at->horizon, at->position, at->normal,
                                               landed->position, landed->normal);
}

/* Integral of the kernel over the accepting surfaces, relative to the squared radius. */
KD_FN_NOINLINE float estimate_tile_integral(const tile_view *tiles, const estimate_point *at,
                                            float radius, photon_kernel kernel) {
    tile_lookup lookup = tile_lookup_begin(at->position, at->normal, at->triangle, radius, kernel);
    return tile_kernel_integral(tiles, &lookup, TILE_COSINE);
}

/* As estimate_tile_integral; over the whole disc if there are no tiles or the radius is 0. */
KD_FN float estimate_integral(const tile_view *tiles, const estimate_point *at, float radius,
                              photon_kernel kernel) {
    if (tiles->box_count && radius > 0) {
        const estimate_point point = *at;
        const float whole = estimate_tile_integral(tiles, &point, radius, kernel);
        if (!at->occluders) return whole;
        return whole * visibility_share(at, radius, kernel);
    }
    return 2 * KD_PI * photon_kernel_sector(kernel);
}

/* Photons of one estimate. */
typedef struct photon_gathering {
    neighbour neighbours[ESTIMATE_GATHER_MAX];
    uint32_t count; /* number of photons counted */
    float radius;
    uint32_t self_node; /* node of the photon at whose position the estimate is made, not in
                     `neighbours`; KD_NONE: none */
} photon_gathering;

/* Weight of a photon's own power in the estimate at its position, with `inside` other photons
   within the radius. Points use the estimate of their nearest photon. Around such a point there is
   an empty disc with that photon on its rim, so without this weight the estimate would lack the
   kernel's integral over the empty disc. Let k = inside + 1, and let v be the area of the empty
   disc relative to that of the whole one; its probability density is (k - 1) (1 - v)^(k - 2). The
   weight, in photons, is k E[q(v)], where q(v) is the kernel's integral over the empty disc,
   divided by the area of the unit disc:
     disc           v
     cone           v - 32 / (9 pi) v^(3/2)
     Epanechnikov   v - 3/2 v^2
     Gaussian       (a + b) v - b (3/2 c v^2 - 10/6 c^2 v^3 + 35/24 c^3 v^4 - ...)
   With this weight, the mean over all points of the estimate of their nearest photon equals the
   mean of estimates made at the points. */
KD_FN float photon_self_weight(photon_kernel kernel, uint32_t inside) {
    return float_max(photon_kernel_own(kernel, (float)inside + 1), 0);
}

KD_FN uint32_t photon_nearest(const photon_map_view *map, vec3 position, uint32_t k,
                              neighbour *neighbours) {
#ifndef __CUDA_ARCH__
    if (map->finder)
        return map->finder(map->index, position, k, map->radius, map->any_order, map->last,
                           neighbours);
#endif
    return pointtree_nearest_k(&map->tree, position, k, map->radius, neighbours);
}

KD_FN void photon_gather(const photon_map_view *map, vec3 position, photon_gathering *out) {
    out->self_node = KD_NONE;
    out->count = photon_nearest(map, position, map->gather, out->neighbours);
    out->radius = map->radius;
    if (out->count == map->gather) out->radius = sqrtf(out->neighbours[--out->count].dist2);
}

/* Gathers the photons for an estimate at a photon of the map: the k nearest others; the photon
   itself is weighted separately. */
KD_FN void photon_gather_others(const photon_map_view *map, uint32_t node, photon_gathering *out) {
    const uint32_t k = map->gather < ESTIMATE_GATHER_MAX ? map->gather + 1 : map->gather;
    const uint32_t count = photon_nearest(map, map->photons[node].position, k, out->neighbours);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; ++i)
        if (out->neighbours[i].node != node) out->neighbours[kept++] = out->neighbours[i];
    out->self_node = node;
    out->count = kept;
    out->radius = map->radius;
    if (count == k && kept) out->radius = sqrtf(out->neighbours[--out->count].dist2);
}

/* Factor of kernel value times photon power (W) in the flux density (W/m^2). */
KD_FN float photon_gathering_scale(const photon_map_view *map, const tile_view *tiles,
                                   const estimate_point *at, const photon_gathering *gathered) {
    if (gathered->count == 0 || !(gathered->radius > 0)) return 0;
    const float integral = estimate_integral(tiles, at, gathered->radius, map->kernel);
    return 1 / (integral * gathered->radius * gathered->radius);
}

/* Irradiance of the gathered photons, W/m^2. *accepted: number of photons that count, without the
   photon at whose position the estimate is made. */
KD_FN vec3 photon_gathering_irradiance(const photon_map_view *map, const tile_view *tiles,
                                       const estimate_point *at, const photon_gathering *gathered,
                                       uint32_t *accepted) {
    *accepted = 0;
    const float scale = photon_gathering_scale(map, tiles, at, gathered);
    if (!(scale > 0)) return vec3_all(0);
    flux_sum sum = flux_sum_none();
    const float per_radius2 = 1 / (gathered->radius * gathered->radius);
    for (uint32_t i = 0; i < gathered->count; ++i) {
        const photon *landed = &map->photons[gathered->neighbours[i].node];
        if (!estimate_accepts(landed, at)) continue;
        ++*accepted;
        const float kernel =
            photon_kernel_at(map->kernel, gathered->neighbours[i].dist2 * per_radius2);
        flux_sum_add(&sum, kernel, landed->power, map->scale);
    }
    if (gathered->self_node != KD_NONE)
        flux_sum_add(&sum, photon_self_weight(map->kernel, gathered->count),
                     map->photons[gathered->self_node].power, map->scale);
    return flux_sum_scaled(&sum, map->scale, scale);
}

/* Irradiance of all photons within map->radius, W/m^2. `self_node`: node of the photon at whose
   position the estimate is made; KD_NONE: none. *accepted: as above. */
KD_FN vec3 photon_fixed_irradiance(const photon_map_view *map, const tile_view *tiles,
                                   const estimate_point *at, uint32_t self_node,
                                   uint32_t *accepted) {
    *accepted = 0;
    const float bound2 = pointtree_bound2(map->radius);
    if (map->tree.count == 0 || !(bound2 > 0)) return vec3_all(0);
    const float per_bound2 = 1 / bound2;
    uint32_t inside = 0;
    flux_sum sum = flux_sum_none();
    pointtree_walk walk = pointtree_walk_begin();
    while (pointtree_walk_next(&map->tree, at->position, bound2, &walk)) {
        const float dist2 = pointtree_dist2(at->position, map->tree.points[walk.node]);
        const photon *landed = &map->photons[walk.node];
        if (!(dist2 <= bound2) || walk.node == self_node) continue;
        ++inside;
        if (!estimate_accepts(landed, at)) continue;
        ++*accepted;
        const float kernel = photon_kernel_at(map->kernel, dist2 * per_bound2);
        flux_sum_add(&sum, kernel, landed->power, map->scale);
    }
    if (self_node != KD_NONE)
        flux_sum_add(&sum, photon_self_weight(map->kernel, inside), map->photons[self_node].power,
                     map->scale);
    const float integral = estimate_integral(tiles, at, map->radius, map->kernel);
    return flux_sum_scaled(&sum, map->scale, 1 / (integral * bound2));
}

/* The distance within which a record applies, in spacings of the photons in its estimate: uniform
   light has a photon farther away from exp(-2.5^2) = 0.2 % of all points. */
#define ESTIMATE_REACH 2.5f
/* A record applies nowhere if fewer photons of its spacing would lie within the largest radius: few
   photons within that radius do not show how far their light extends. */
#define ESTIMATE_REACH_PHOTONS 16

/* irradiance_record.reach2 of an estimate at a photon. `radius`: of the estimate; `accepted`:
   photons that counted, without the photon itself; `largest`: largest radius of the map. */
KD_FN float irradiance_reach2(float radius, uint32_t accepted, float largest) {
    if (!(radius > 0)) return 0;
    const float spacing2 = radius * radius / (float)(accepted + 1);
    const bool sparse = ESTIMATE_REACH_PHOTONS * spacing2 > largest * largest;
    return sparse ? 0 : ESTIMATE_REACH * ESTIMATE_REACH * spacing2;
}

/* Number of nearest photons examined for a precomputed irradiance if the nearest one belongs to
   another surface. */
#define ESTIMATE_PRECOMPUTED_K 8u
/* Largest height of a photon above the tangent plane, relative to its distance: the irradiance at a
   photon on a sheet above the point does not apply. */
#define ESTIMATE_PRECOMPUTED_HEIGHT 0.5f

/* Returns true if the irradiance at this photon applies to the point. */
KD_FN bool estimate_knows(const photon *landed, const estimate_point *at, float distance) {
    const float height = vec3_dot(vec3_sub(landed->position, at->position), at->normal);
    return vec3_dot(landed->normal, at->normal) >= TILE_COSINE &&
           fabsf(height) <= ESTIMATE_PRECOMPUTED_HEIGHT * distance;
}

/* Returns true if the record of this photon, at this squared distance, applies to the point.
   `scene`: its surfaces may hide the photon; NULL: none does. */
KD_FN bool irradiance_applies(float reach2, float dist2, const photon *landed,
                              const estimate_point *at, const scene_view *scene) {
    if (!(dist2 < fabsf(reach2))) return false;
    return reach2 > 0 || !scene ||
           !visibility_hides(scene, NULL, at->position, at->normal, landed->position,
                             landed->normal);
}

/* Finds the precomputed irradiance of the nearest photon on this surface; returns false if there is
   none nearby or its record does not reach the point.
   Source: Christensen 1999, "Faster photon map global illumination". */
KD_FN bool photon_precomputed_irradiance(const photon_map_view *map, const scene_view *scene,
                                         const estimate_point *at, vec3 *irradiance) {
    neighbour neighbours[ESTIMATE_PRECOMPUTED_K];
    if (!map->irradiance) return false;
    for (uint32_t k = 1; k <= ESTIMATE_PRECOMPUTED_K; k *= ESTIMATE_PRECOMPUTED_K) {
        const uint32_t count = photon_nearest(map, at->position, k, neighbours);
        for (uint32_t i = 0; i < count; ++i) {
            const photon *landed = &map->photons[neighbours[i].node];
            if (!estimate_knows(landed, at, sqrtf(neighbours[i].dist2))) continue;
            const irradiance_record *record = &map->irradiance[neighbours[i].node];
            *irradiance = record->irradiance;
            return irradiance_applies(record->reach2, neighbours[i].dist2, landed, at, scene);
        }
    }
    return false;
}

/* --- deferred lookups, answered in batches ---------------------------------------------------- */

enum { FINAL_GATHER_MAX = 65536 }; /* largest number of final gather rays */

/* A surface point to be looked up. */
typedef struct eye_request {
    surface at;
    vec3 wo, throughput;
    uint32_t next; /* next request of the same path, or KD_NONE */
} eye_request;

/* Adjacent requests made at once by the threads of a warp, hence by neighbouring pixels; at most
   32. */
typedef struct eye_packet {
    uint32_t first, count;
} eye_packet;

/* Numbers of requests and packets. They may exceed the capacity; the excess is not stored. */
typedef struct eye_request_counts {
    uint32_t requests, packets;
} eye_request_counts;

#endif

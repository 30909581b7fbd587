/* How much flux falls on a square metre: density estimates over the photons of a map.
   Source: Jensen 2001, "Realistic Image Synthesis Using Photon Mapping", chapter 7 (the k nearest,
           cone filter); Epanechnikov's kernel from Silverman 1986, "Density Estimation", 4.2; the
           Gaussian from Pavicic 1990, "Convenient anti-aliasing filters that minimize bumpy
           sampling", as Jensen uses it.
   Idea: the photons within the radius of the k-th nearest, weighted by a kernel, over the kernel's
         integral on the surface that is really there. Near an edge a part of the disc hangs in the
         air or in a wall; the integral over the rest is exact for plane surfaces (Green's theorem:
         only the pieces of edges inside the disc change it), so no flux is lost at corners.
   Work: a query of the k nearest, a walk over the edge pieces within the radius, one BSDF each.
   Invariants: the expected value on a plane patch with constant irradiance is that irradiance,
         whatever the patch's outline: the k-th photon only sets the radius, the k - 1 inside are
         counted.
   Differs from the source in: the area; a photon counts if its side's normal is within 60 degrees
         of the query's and its height over the tangent plane within half the radius, which keeps
         out the far sides of walls and of thin boards. */
#ifndef KD_SHADERS_ESTIMATE_H
#define KD_SHADERS_ESTIMATE_H
#include "shaders/elementary.h"
#include "shaders/flux_sum.h"
#include "shaders/photon.h"
#include "shaders/pointtree_query.h"

typedef enum photon_kernel {
    PHOTON_KERNEL_DISC = 0,         /* 1 */
    PHOTON_KERNEL_CONE = 1,         /* 1 - s, s the distance over the radius */
    PHOTON_KERNEL_EPANECHNIKOV = 2, /* 1 - s^2 */
    PHOTON_KERNEL_GAUSSIAN = 3      /* a + b exp(-c s^2): 1 in the middle, 0.27 at the edge */
} photon_kernel;

/* Pavicic's beta is 2c; a + b = 1 with b = 1 / (1 - exp(-2c)). */
#define KERNEL_GAUSSIAN_C 0.9765f
#define KERNEL_GAUSSIAN_B 1.165295f
#define KERNEL_GAUSSIAN_A (1 - KERNEL_GAUSSIAN_B)
/* Terms of exp(-c s^2) that its integrals along lines take: the rest is below 1e-7. */
#define KERNEL_GAUSSIAN_TERMS 10

/* Two sides of a mesh whose normals differ by more than this cosine belong to different surfaces:
   the edge between them is a crease, and their photons are not mixed. */
#define CREASE_COSINE 0.5f
/* Largest height of a photon over the tangent plane, of the radius. On a sphere no smaller than the
   disc no photon is lost by it. */
#define ESTIMATE_HEIGHT 0.5f
/* A crease is taken for a line in the tangent plane if its patch's normal and its height (of the
   radius) are within these; if another one of the same surface is inside the disc, the surface is
   too ragged for the tangent plane, and the whole disc is taken: that may be dark, never a spark.
 */
#define ESTIMATE_PLANE_COSINE 0.9f
#define ESTIMATE_PLANE_HEIGHT 0.25f
/* Least share of the kernel's integral that is believed: the corner of a thin sliver. */
#define ESTIMATE_LEAST_SHARE 0.0625f
/* More photons than this are not gathered at once: the list lies on the stack. */
#define ESTIMATE_GATHER_MAX 1024u

/* A piece of the outline of a smooth patch. Seen against the normal, the patch lies to its left. */
typedef struct crease {
    vec3 from, to;
    vec3 normal; /* unit, of the patch at this edge */
} crease;

typedef struct crease_view {
    const crease *pieces;   /* in the tree's order */
    pointtree_view middles; /* of their middle points */
    const uint8_t *flips;   /* per triangle: 1 if its winding is against its patch's */
    float reach;            /* half of the longest piece */
} crease_view;

/* The same k nearest by other means, where a device has faster ones. */
typedef uint32_t (*photon_finder)(const void *index, vec3 query, uint32_t k, float max_radius,
                                  neighbour *out);

typedef struct photon_map_view {
    const photon *photons; /* in the tree's order; power in W (already over the number emitted) */
    pointtree_view tree;   /* of their positions */
    float radius;          /* the largest one, scene units */
    uint32_t gather;       /* k, at most ESTIMATE_GATHER_MAX; 0: all within `radius` */
    int32_t kernel;        /* photon_kernel */
    float scale;           /* flux_scale of the photons' strongest channel */
    bool adaptive;         /* of the k nearest as many as the light allows: estimate_adaptive.h */
    photon_finder finder;  /* host code only; NULL: the tree is walked */
    const void *index;     /* the finder's */
    const vec3
        *irradiance; /* W/m^2 at each photon, of both maps, in the tree's order; NULL: not known */
} photon_map_view;

/* The kernel at the squared distance over the squared radius. */
KD_FN float photon_kernel_at(int32_t kernel, float s2) {
    if (s2 >= 1) return 0;
    switch (kernel) {
    case PHOTON_KERNEL_DISC: return 1;
    case PHOTON_KERNEL_CONE: return 1 - sqrtf(s2);
    case PHOTON_KERNEL_GAUSSIAN:
        return KERNEL_GAUSSIAN_A + KERNEL_GAUSSIAN_B * float_exp(-KERNEL_GAUSSIAN_C * s2);
    default: return 1 - s2;
    }
}

/* Its integral over a sector of the unit disc, per radian. */
KD_FN float photon_kernel_sector(int32_t kernel) {
    switch (kernel) {
    case PHOTON_KERNEL_DISC: return 0.5f;
    case PHOTON_KERNEL_CONE: return 1.0f / 6;
    case PHOTON_KERNEL_GAUSSIAN:
        return 0.5f * KERNEL_GAUSSIAN_A +
               0.5f * KERNEL_GAUSSIAN_B * (1 - float_exp(-KERNEL_GAUSSIAN_C)) / KERNEL_GAUSSIAN_C;
    default: return 0.25f;
    }
}

/* The same to a line for the Gaussian. Out to the distance p it integrates, a radian, to
   a p^2/2 + b (1 - exp(-c p^2)) / (2c): with p^2 = h^2 + t^2 on the line and the angle's step
   h dt / p^2, each power of p^2 in the series of exp is a polynomial of t, found from the one
   before. */
KD_FN float photon_gaussian_to_line(float h, float t) {
    float power = 1;                  /* p^2 to the n */
    float integral = t;               /* of it over dt from 0 to t */
    float factor = KERNEL_GAUSSIAN_C; /* c^(n+1) / (n+1)!, with its sign */
    float sum = KERNEL_GAUSSIAN_C * t;
    for (int n = 1; n < KERNEL_GAUSSIAN_TERMS; ++n) {
        power *= h * h + t * t;
        integral = (t * power + 2 * (float)n * h * h * integral) / (float)(2 * n + 1);
        factor *= -KERNEL_GAUSSIAN_C / (float)(n + 1);
        sum += factor * integral;
    }
    return 0.5f * h * (KERNEL_GAUSSIAN_A * t + KERNEL_GAUSSIAN_B / KERNEL_GAUSSIAN_C * sum);
}

/* An integral of the kernel along a line at distance h >= 0 from the centre of the unit disc, from
   its foot to t: of the kernel's integral out to the line, over the angle. */
KD_FN float photon_kernel_to_line(int32_t kernel, float h, float t) {
    const float flat = 0.5f * h * t;
    if (kernel == PHOTON_KERNEL_DISC) return flat;
    if (kernel == PHOTON_KERNEL_GAUSSIAN) return photon_gaussian_to_line(h, t);
    if (kernel == PHOTON_KERNEL_CONE) {
        const float distance = sqrtf(h * h + t * t);
        const float logarithm = h > 1e-15f ? h * h * float_asinh(t / h) : 0;
        return flat - h * (t * distance + logarithm) / 6;
    }
    return flat - h * (h * h * t + t * t * t / 3) / 4;
}

/* What an edge of the patch from `a` to `b` (about the centre of the unit disc, counter-clockwise
   around the patch) takes away from the kernel's integral: its part over the angle that the edge
   covers inside the disc, beyond the edge. Negative for an edge that turns the other way. */
KD_FN float photon_kernel_beyond(int32_t kernel, vec2 a, vec2 b) {
    const float ex = b.x - a.x, ey = b.y - a.y;
    const float length = sqrtf(ex * ex + ey * ey);
    if (!(length > 0)) return 0;
    const float signed_h = (a.x * b.y - a.y * b.x) / length, h = fabsf(signed_h);
    if (!(h < 1)) return 0;
    const float half_chord = sqrtf(1 - h * h);
    const float along = (a.x * ex + a.y * ey) / length;
    const float t0 = float_max(along, -half_chord);
    const float t1 = float_min(along + length, half_chord);
    if (!(t0 < t1)) return 0;
    const float angle = float_atan2(t1, h) - float_atan2(t0, h);
    const float inside =
        photon_kernel_to_line(kernel, h, t1) - photon_kernel_to_line(kernel, h, t0);
    const float beyond = photon_kernel_sector(kernel) * angle - inside;
    return signed_h < 0 ? -beyond : beyond;
}

/* Where an estimate is made. */
typedef struct estimate_point {
    vec3 position;
    vec3 normal; /* unit geometric normal of the side that is looked at */
    bool back;   /* that side is the back of the triangle (its winding) */
    uint32_t triangle;
} estimate_point;

/* The kernel's integral over the part of the disc that the surface fills, of the unit disc's. */
KD_FN float crease_kernel_integral(const crease_view *creases, const estimate_point *at,
                                   float radius, int32_t kernel) {
    const float whole = 2 * KD_PI * photon_kernel_sector(kernel);
    if (creases->middles.count == 0 || !(radius > 0)) return whole;
    float integral = whole;
    const bool flipped = creases->flips && creases->flips[at->triangle];
    const float side = at->back != flipped ? -1.0f : 1.0f;
    const frame3 axes = frame3_around(at->normal);
    const float bound2 = pointtree_bound2(radius + creases->reach);
    pointtree_walk walk = pointtree_walk_begin();
    while (pointtree_walk_next(&creases->middles, at->position, bound2, &walk)) {
        const crease *piece = &creases->pieces[walk.node];
        const float cosine = side * vec3_dot(piece->normal, at->normal);
        if (!(cosine >= CREASE_COSINE)) continue;
        const vec3 a = frame3_to_local(&axes, vec3_sub(piece->from, at->position));
        const vec3 b = frame3_to_local(&axes, vec3_sub(piece->to, at->position));
        const float lower = float_min(fabsf(a.z), fabsf(b.z)) / radius;
        const float upper = float_max(fabsf(a.z), fabsf(b.z)) / radius;
        if (lower > ESTIMATE_HEIGHT) continue;
        const vec2 from = vec2_make(a.x / radius, a.y / radius);
        const vec2 to = vec2_make(b.x / radius, b.y / radius);
        const float beyond = photon_kernel_beyond(kernel, from, to);
        if (beyond != 0 && !(cosine >= ESTIMATE_PLANE_COSINE && upper <= ESTIMATE_PLANE_HEIGHT))
            return whole;
        integral -= side * beyond;
    }
    return float_max(integral, ESTIMATE_LEAST_SHARE * whole);
}

/* Whether a photon belongs to the surface around a point. */
KD_FN bool estimate_accepts(const photon *landed, const estimate_point *at, float radius) {
    if (!(vec3_dot(landed->normal, at->normal) >= CREASE_COSINE)) return false;
    const float height = vec3_dot(vec3_sub(landed->position, at->position), at->normal);
    return fabsf(height) <= ESTIMATE_HEIGHT * radius;
}

/* The photons of one estimate. */
typedef struct photon_gathering {
    neighbour found[ESTIMATE_GATHER_MAX];
    uint32_t count; /* of those that count */
    float radius;
} photon_gathering;

KD_FN uint32_t photon_nearest(const photon_map_view *map, vec3 position, uint32_t k,
                              neighbour *found) {
#ifndef __CUDA_ARCH__
    if (map->finder) return map->finder(map->index, position, k, map->radius, found);
#endif
    return pointtree_nearest_k(&map->tree, position, k, map->radius, found);
}

KD_FN void photon_gather(const photon_map_view *map, vec3 position, photon_gathering *out) {
    out->count = photon_nearest(map, position, map->gather, out->found);
    out->radius = map->radius;
    if (out->count == map->gather) out->radius = sqrtf(out->found[--out->count].dist2);
}

/* The photons of an estimate at a photon of the map: the others. With itself, which is there for
   certain, the estimate would be too high. */
KD_FN void photon_gather_others(const photon_map_view *map, uint32_t node, photon_gathering *out) {
    const uint32_t wanted = map->gather < ESTIMATE_GATHER_MAX ? map->gather + 1 : map->gather;
    const uint32_t count = photon_nearest(map, map->photons[node].position, wanted, out->found);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; ++i)
        if (out->found[i].node != node) out->found[kept++] = out->found[i];
    out->count = kept;
    out->radius = map->radius;
    if (count == wanted && kept) out->radius = sqrtf(out->found[--out->count].dist2);
}

/* Weight of each photon's power (W) in the flux density (W/m^2), but for the kernel's value. */
KD_FN float photon_gathering_scale(const photon_map_view *map, const crease_view *creases,
                                   const estimate_point *at, const photon_gathering *gathered) {
    if (gathered->count == 0 || !(gathered->radius > 0)) return 0;
    const float integral = crease_kernel_integral(creases, at, gathered->radius, map->kernel);
    return 1 / (integral * gathered->radius * gathered->radius);
}

/* Irradiance by the photons of a gathering, W/m^2. */
KD_FN vec3 photon_gathering_irradiance(const photon_map_view *map, const crease_view *creases,
                                       const estimate_point *at, const photon_gathering *gathered) {
    const float scale = photon_gathering_scale(map, creases, at, gathered);
    if (!(scale > 0)) return vec3_all(0);
    flux_sum sum = flux_sum_none();
    const float per_radius2 = 1 / (gathered->radius * gathered->radius);
    for (uint32_t i = 0; i < gathered->count; ++i) {
        const photon *landed = &map->photons[gathered->found[i].node];
        if (!estimate_accepts(landed, at, gathered->radius)) continue;
        const float kernel = photon_kernel_at(map->kernel, gathered->found[i].dist2 * per_radius2);
        flux_sum_add(&sum, kernel, landed->power, map->scale);
    }
    return flux_sum_scaled(&sum, map->scale, scale);
}

/* Irradiance by all photons within map->radius, W/m^2, but for that of the photon `without` (a node
   of the tree; KD_NONE: none). */
KD_FN vec3 photon_fixed_irradiance(const photon_map_view *map, const crease_view *creases,
                                   const estimate_point *at, uint32_t without) {
    const float bound2 = pointtree_bound2(map->radius);
    if (map->tree.count == 0 || !(bound2 > 0)) return vec3_all(0);
    const float per_bound2 = 1 / bound2;
    flux_sum sum = flux_sum_none();
    pointtree_walk walk = pointtree_walk_begin();
    while (pointtree_walk_next(&map->tree, at->position, bound2, &walk)) {
        const float dist2 = pointtree_dist2(at->position, map->tree.points[walk.node]);
        const photon *landed = &map->photons[walk.node];
        if (!(dist2 <= bound2) || walk.node == without) continue;
        if (!estimate_accepts(landed, at, map->radius)) continue;
        const float kernel = photon_kernel_at(map->kernel, dist2 * per_bound2);
        flux_sum_add(&sum, kernel, landed->power, map->scale);
    }
    const float integral = crease_kernel_integral(creases, at, map->radius, map->kernel);
    return flux_sum_scaled(&sum, map->scale, 1 / (integral * bound2));
}

/* How many of the nearest photons are asked for an irradiance that they know, if the very nearest
   belongs to another surface. */
#define ESTIMATE_KNOWN_ASKED 8u

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
            if (!estimate_accepts(landed, at, sqrtf(found[i].dist2))) continue;
            *irradiance = map->irradiance[found[i].node];
            return true;
        }
    }
    return false;
}

#endif

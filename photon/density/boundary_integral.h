/* The kernel's integral over the part of a disc that the surface fills: what a density estimate
   divides by.
   Idea: Green's theorem: the whole disc's integral less what lies beyond the outlines of the
         smooth patch, piece by piece. Where an estimate meets more than CREASE_EXACT pieces (a
         small thing with much detail in a large disc), groups of pieces are asked instead: a
         group that is surely of another surface, above the disc or beside it is passed by as
         one, without any error; one in the tangent plane that is small and not at hand is taken
         as one by its sums (below); one of a piece that does not lie in the plane is opened
         until that piece is found.
   Source of the sums: the first two terms of a multipole expansion with the opening angle of
         Barnes and Hut 1986, "A hierarchical O(N log N) force-calculation algorithm". The field
         along the outline is (S - F(p)) / p^2 times (-y, x), with F(p) the kernel's integral out
         to the distance p, a radian, and S = F(1).
   Work: with n pieces, at most CREASE_EXACT of them one by one; then O(log n) groups around the
         place and O(1 / CREASE_SMALL^2) in the disc, and the pieces at hand. Counted where all n
         lie in the disc, pieces and groups together: below 2500 for a ship of 22,000 pieces,
         below CREASE_MOST for 60,000 to 540,000 pieces that all lie in one plane, the worst that
         was found.
   Invariants: up to CREASE_EXACT pieces the sum is exact, in the order of the walk. Beyond, its
               error (root of the mean square, of the whole disc's integral) is at most
               CREASE_ERROR, and about 1e-7 where no group is taken as one. The same bits on
               every device. */
#ifndef KD_PHOTON_DENSITY_BOUNDARY_INTEGRAL_H
#define KD_PHOTON_DENSITY_BOUNDARY_INTEGRAL_H
#include "photon/density/tiles.h"
#include "points/tree/walk.h"

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
/* Pieces that an estimate looks at one by one before it asks groups. */
#define CREASE_EXACT 256u
/* A group is taken as one if the radius of the sphere around it is at most this of the distance
   from the place to its middle (in the tangent plane), this of the disc's radius, and this of it
   where the disc's rim, where the kernel may have a step, runs through it. */
#define CREASE_OPENING 0.12f
#define CREASE_SMALL 0.125f
#define CREASE_SMALL_AT_RIM 0.0625f
/* Rounding of cosines and of places over the radius: groups that are so close to a limit are
   opened. */
#define CREASE_ROUNDING 1e-4f
/* What comes of that: the most that an estimate looks at, and its error. */
#define CREASE_MOST 16000u
#define CREASE_ERROR 0.001f
/* Most pieces of a group that has no parts. */
#define CREASE_LEAF 8u

/* A piece of the outline of a smooth patch. Seen against the normal, the patch lies to its left. */
typedef struct crease {
    vec3 from, to;
    vec3 normal; /* unit, of the patch at this edge */
} crease;

/* Some pieces in a box with alike normals, in depth-first order: the group's first part follows it,
   the next group that holds none of its pieces is `skip`. */
typedef struct crease_group {
    vec3 lo, hi;               /* of the pieces' ends */
    vec3 normal_lo, normal_hi; /* of the pieces' normals */
    vec3 along;                /* sum of to - from */
    vec3 moment[3];            /* row i: sum of (middle - centre)_i (to - from) */
    uint32_t begin, count;     /* in `order` */
    uint32_t skip;
} crease_group;

typedef struct crease_view {
    const crease *pieces;   /* in the tree's order */
    pointtree_view middles; /* of their middle points */
    const uint8_t *flips;   /* per triangle: 1 if its winding is against its patch's */
    float reach;            /* half of the longest piece */
    const crease_group *groups;
    const uint32_t *order; /* the groups' pieces */
    uint32_t group_count;  /* 0: there are none, as pieces are few */
    tile_view tiles;       /* asked instead, if there are any */
} crease_view;

/* Where an estimate is made. */
typedef struct estimate_point {
    vec3 position;
    vec3 normal; /* unit geometric normal of the side that is looked at */
    bool back;   /* that side is the back of the triangle (its winding) */
    uint32_t triangle;
} estimate_point;

/* What an integral needs to know of its disc. */
typedef struct crease_disc {
    vec3 position;
    frame3 axes;
    float radius, side; /* side: -1 where the patch's normals point away from the estimate's */
    int32_t kernel;
    uint32_t looked_at; /* pieces and groups so far */
} crease_disc;

/* Takes one piece away from the integral; false: it does not lie in the tangent plane. */
KD_FN bool crease_subtract(const crease_disc *disc, const crease *piece, float *integral) {
    const float radius = disc->radius;
    const float cosine = disc->side * vec3_dot(piece->normal, disc->axes.normal);
    if (!(cosine >= CREASE_COSINE)) return true;
    const vec3 a = frame3_to_local(&disc->axes, vec3_sub(piece->from, disc->position));
    const vec3 b = frame3_to_local(&disc->axes, vec3_sub(piece->to, disc->position));
    const float lower = float_min(fabsf(a.z), fabsf(b.z)) / radius;
    const float upper = float_max(fabsf(a.z), fabsf(b.z)) / radius;
    if (lower > ESTIMATE_HEIGHT) return true;
    const vec2 from = vec2_make(a.x / radius, a.y / radius);
    const vec2 to = vec2_make(b.x / radius, b.y / radius);
    const float beyond = photon_kernel_beyond(disc->kernel, from, to);
    if (beyond != 0 && !(cosine >= ESTIMATE_PLANE_COSINE && upper <= ESTIMATE_PLANE_HEIGHT))
        return false;
    *integral -= disc->side * beyond;
    return true;
}

/* --- groups --------------------------------------------------------------------------------------
 */

typedef enum crease_verdict {
    CREASE_OUTSIDE,  /* none of its pieces counts */
    CREASE_TOGETHER, /* all of them do, and may be taken as one */
    CREASE_OPEN
} crease_verdict;

/* A group as the disc sees it, lengths over the radius. */
typedef struct crease_far {
    vec3 centre;    /* in the disc's frame */
    float size;     /* radius of the sphere around the box */
    float distance; /* of the centre, in the tangent plane */
} crease_far;

/* The least and the largest dot product of `normal` with a vector of the box. */
KD_FN vec2 crease_cosines(const crease_group *group, vec3 normal) {
    const vec3 a = vec3_mul(group->normal_lo, normal), b = vec3_mul(group->normal_hi, normal);
    const vec3 least = vec3_min(a, b), most = vec3_max(a, b);
    return vec2_make(least.x + least.y + least.z, most.x + most.y + most.z);
}

KD_FN crease_verdict crease_judge(const crease_disc *disc, const crease_group *group,
                                  crease_far *far) {
    const vec2 cosines = crease_cosines(group, vec3_scale(disc->axes.normal, disc->side));
    if (cosines.y < CREASE_COSINE - CREASE_ROUNDING) return CREASE_OUTSIDE;
    const float per_radius = 1 / disc->radius;
    const vec3 half = vec3_scale(vec3_sub(group->hi, group->lo), 0.5f * per_radius);
    const vec3 centre = vec3_scale(vec3_add(group->lo, group->hi), 0.5f);
    const vec3 normal = disc->axes.normal;
    far->centre =
        vec3_scale(frame3_to_local(&disc->axes, vec3_sub(centre, disc->position)), per_radius);
    far->size = vec3_length(half);
    far->distance = sqrtf(far->centre.x * far->centre.x + far->centre.y * far->centre.y);
    const float thickness =
        half.x * fabsf(normal.x) + half.y * fabsf(normal.y) + half.z * fabsf(normal.z);
    const float height = fabsf(far->centre.z);
    if (height - thickness > ESTIMATE_HEIGHT + CREASE_ROUNDING) return CREASE_OUTSIDE;
    if (far->distance - far->size > 1 + CREASE_ROUNDING) return CREASE_OUTSIDE;
    if (!(cosines.x >= ESTIMATE_PLANE_COSINE + CREASE_ROUNDING)) return CREASE_OPEN;
    if (!(height + thickness <= ESTIMATE_PLANE_HEIGHT - CREASE_ROUNDING)) return CREASE_OPEN;
    const bool at_rim = far->distance + far->size >= 1;
    if (!(far->size <= (at_rim ? CREASE_SMALL_AT_RIM : CREASE_SMALL))) return CREASE_OPEN;
    return far->size <= CREASE_OPENING * far->distance ? CREASE_TOGETHER : CREASE_OPEN;
}

/* What the group's pieces take away, as photon_kernel_beyond, by its sums. */
KD_FN float crease_beyond_together(const crease_disc *disc, const crease_group *group,
                                   const crease_far *far) {
    const float distance2 = far->distance * far->distance;
    if (!(distance2 < 1)) return 0;
    const frame3 *axes = &disc->axes;
    const vec3 across_x = vec3_make(vec3_dot(group->moment[0], axes->tangent),
                                    vec3_dot(group->moment[1], axes->tangent),
                                    vec3_dot(group->moment[2], axes->tangent));
    const vec3 across_y = vec3_make(vec3_dot(group->moment[0], axes->bitangent),
                                    vec3_dot(group->moment[1], axes->bitangent),
                                    vec3_dot(group->moment[2], axes->bitangent));
    const float per_radius = 1 / disc->radius, per_radius2 = per_radius * per_radius;
    const float xx = vec3_dot(axes->tangent, across_x) * per_radius2;
    const float yx = vec3_dot(axes->bitangent, across_x) * per_radius2;
    const float xy = vec3_dot(axes->tangent, across_y) * per_radius2;
    const float yy = vec3_dot(axes->bitangent, across_y) * per_radius2;
    const float x = far->centre.x, y = far->centre.y;
    const float dx = vec3_dot(group->along, axes->tangent) * per_radius;
    const float dy = vec3_dot(group->along, axes->bitangent) * per_radius;
    const float field =
        (photon_kernel_sector(disc->kernel) - photon_kernel_within(disc->kernel, distance2)) /
        distance2;
    const float slope = -(photon_kernel_at(disc->kernel, distance2) + 2 * field) / distance2;
    return field * (x * dy - y * dx + xy - yx) +
           slope * (x * x * xy - y * y * yx + x * y * (yy - xx));
}

/* The integral by groups; `whole` where the surface is too ragged. Rare: apart, on a disc of its
   own, it leaves the disc of those that ask no groups in registers. */
KD_FN_APART float crease_integral_by_groups(const crease_view *creases, crease_disc *disc,
                                            float whole) {
    float integral = whole;
    crease_far far;
    for (uint32_t i = 0; i < creases->group_count;) {
        const crease_group *group = &creases->groups[i];
        const crease_verdict verdict = crease_judge(disc, group, &far);
        ++disc->looked_at;
        if (verdict == CREASE_OPEN && group->skip != i + 1) {
            ++i;
            continue;
        }
        i = group->skip;
        if (verdict == CREASE_OUTSIDE) continue;
        if (verdict == CREASE_TOGETHER) {
            integral -= disc->side * crease_beyond_together(disc, group, &far);
            continue;
        }
        for (uint32_t p = group->begin; p < group->begin + group->count; ++p) {
            ++disc->looked_at;
            if (!crease_subtract(disc, &creases->pieces[creases->order[p]], &integral))
                return whole;
        }
    }
    return integral;
}

/* --- all of it -----------------------------------------------------------------------------------
 */

/* The integral with at most `exact` pieces one by one; *looked_at: pieces and groups in all. */
KD_FN float crease_kernel_integral_with(const crease_view *creases, const estimate_point *at,
                                        float radius, int32_t kernel, uint32_t exact,
                                        uint32_t *looked_at) {
    const float whole = 2 * KD_PI * photon_kernel_sector(kernel);
    *looked_at = 0;
    if (creases->middles.count == 0 || !(radius > 0)) return whole;
    float integral = whole;
    const bool flipped = creases->flips && creases->flips[at->triangle];
    crease_disc disc;
    disc.position = at->position;
    disc.axes = frame3_around(at->normal);
    disc.radius = radius;
    disc.side = at->back != flipped ? -1.0f : 1.0f;
    disc.kernel = kernel;
    disc.looked_at = 0;
    const float bound2 = pointtree_bound2(radius + creases->reach);
    pointtree_walk walk = pointtree_walk_begin();
    bool plane = true;
    while (plane && pointtree_walk_next(&creases->middles, at->position, bound2, &walk)) {
        if (disc.looked_at++ == exact && creases->group_count > 0) {
            crease_disc again = disc;
            integral = crease_integral_by_groups(creases, &again, whole);
            disc.looked_at = again.looked_at;
            break;
        }
        plane = crease_subtract(&disc, &creases->pieces[walk.node], &integral);
    }
    *looked_at = disc.looked_at;
    return plane ? float_max(integral, ESTIMATE_LEAST_SHARE * whole) : whole;
}

/* By tiles. */
KD_FN_APART float surface_tile_integral(const crease_view *creases, const estimate_point *at,
                                        float radius, int32_t kernel) {
    tile_look look = tile_look_begin(at->position, at->normal, at->triangle, radius, kernel);
    return tile_kernel_integral(&creases->tiles, &look, TILE_COSINE);
}

/* The kernel's integral over the surface in reach, of the unit disc's radius: by tiles, or over the
   part of the disc that the outlines leave. */
KD_FN float crease_kernel_integral(const crease_view *creases, const estimate_point *at,
                                   float radius, int32_t kernel) {
    uint32_t looked_at;
    if (creases->tiles.box_count && radius > 0) {
        const estimate_point here = *at;
        return surface_tile_integral(creases, &here, radius, kernel);
    }
    return crease_kernel_integral_with(creases, at, radius, kernel, CREASE_EXACT, &looked_at);
}

#endif

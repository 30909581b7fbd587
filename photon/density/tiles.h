/* Surface tiles: the kernel's integral over the surfaces that can accept photons of an estimate.
   Idea: an estimate is exact for uniform light if and only if the surfaces that accept photons are
         those that the integral covers. Here these are all sides of triangles in the ball whose
         geometric normal is within 60 degrees of the query's normal; a photon stores the normal of
         the side that it hit. A tile is a triangle or a part of one, with a weight for each side:
         its opacity times the brightness that uniform light would give it (tile_parts.h). Sides
         that no light reaches (tile_reach.c) are excluded, unless the query point lies on one.
         Tiles are the leaves of a bounding volume hierarchy; a box that is small relative to the
         radius and certainly counts in whole, by the cone of its normals, is evaluated in one step.
   Work: at most TILE_MAX boxes and tiles, of which the first TILE_EXACT are visited in order. If
         there are more (grass), the remaining steps are divided among the remaining boxes; a box
         with too few steps to be opened is approximated by the first three moments of its sides'
         normals.
   Invariants: a function of the query's position, normal and radius, with the same bits on every
               device: contributions are integers and can be added in any order
               (photon/maps/tile_lookups.cu visits them by warps). Exact if no box was evaluated in
               one step. */
#ifndef KD_PHOTON_DENSITY_TILES_H
#define KD_PHOTON_DENSITY_TILES_H
#include "photon/density/flux_sum.h"
#include "photon/density/kernels.h"
#include "photon/density/tile_parts.h"

/* Photons are accepted, and sides counted, if the cosine between the normals is at least this. */
#define TILE_COSINE 0.5f
/* Limit of the boxes and tiles that an estimate visits in total. */
#define TILE_MAX 4096u
/* Limit of those visited in order; the remaining steps are divided among the remaining boxes. */
#define TILE_EXACT 3968u
/* A box is evaluated in one step if its diagonal is at most this fraction of the radius. */
#define TILE_TOGETHER 0.5f
/* A tile is evaluated at its centre if its sides are below this fraction of the radius. */
#define TILE_SMALL 0.125f
/* A tile with shorter sides, in radii, that lies inside the ball and further from its centre than
   the sides are long is integrated by seven points: relative error 1e-4. */
#define TILE_SMOOTH 0.5f
/* A box counts as one side, instead of by its moments, if the cosines between all its normals and
   its axis, and between the axis and the query's normal, are at least this. */
#define TILE_ALIKE 0.87f
/* Rounding error of cosines. */
#define TILE_ROUNDING 1e-4f
/* Margin of cosines above all rounding errors: a box that its normals reject contains no tile that
   would count. */
#define TILE_MARGIN 1e-3f
/* Smallest accepted fraction of the integral over the whole disc. */
#define TILE_MIN_SHARE 0.04f
/* Tiles with longer sides, in radii, form the first child of the root. */
#define TILE_LARGE 0.5f
/* Maximum number of tiles in a leaf. */
#define TILE_LEAF 4u
/* Capacity of the stack of boxes. */
#define TILE_WAITING 40
/* Flags of a part's side:
     TILE_WIDE     within the span of any of its points there is only an unbounded plane
   (tile_wide.c) TILE_DIVIDED  lit parts of the surface within the span are hidden from it
   (tile_probe.h) TILE_HIDDEN   parts of the surface, lit or not, are hidden from it */
enum { TILE_WIDE = 1, TILE_DIVIDED = 4, TILE_HIDDEN = 16 };
/* Bits of tile_view.patches: the subdivision depth, whether some part is TILE_DIVIDED, and the
   index of the first part. */
enum { TILE_PATCH_DEPTH = 15, TILE_PATCH_DIVIDED = 16, TILE_PATCH_SHIFT = 5 };
/* Fixed-point units of an integral. */
#define TILE_UNITS 0x1p36f

#define TILE_MODELLED 0x80000000u

/* A triangle or a part of one. */
typedef struct tile {
    vec3 corner[3];
    vec3 normal;     /* unit, by the triangle's winding */
    float weight[2]; /* of front and back, 0 to 1; negative: no light reaches that side, and the
                        magnitude is the weight if the query lies on such a side */
    float area;
    uint32_t triangle; /* index, with the flag TILE_MODELLED if a weight is not just the opacity */
} tile;

/* A node of the hierarchy, in depth-first order: its first child follows it, and `skip` is the next
   node outside of it. The first 64 bytes are read by every traversal. */
typedef struct tile_box {
    vec3 lo, hi;    /* bounds of the tiles' corners */
    uint32_t skip;  /* first node outside of this box; for a leaf, the following node */
    uint32_t begin; /* first tile */
    vec3 axis;      /* unit axis of the cone of normals */
    /* cosine of the cone's angle; negative: the normals are too different for a cone */
    float cosine;
    float sine;          /* sine of the cone's angle */
    float dark[2];       /* sums of area times weight of sides that no light reaches, positive */
    uint32_t second;     /* index of the second child; of a leaf: number of tiles */
    vec3 middle;         /* centre of the area */
    float weight[2];     /* sums of area times weight of fronts and backs */
    vec3 odd;            /* sum of (front - back) weight times normal */
    vec3 square, across; /* sums of (front + back) weight times the normal's xx yy zz, xy yz zx */
    uint32_t modelled;   /* the weight of some lit side is not just the opacity */
    uint32_t count;      /* number of tiles */
} tile_box;

typedef struct tile_view {
    const tile *tiles; /* tiles in the order of the boxes */
    const tile_box *boxes;
    const uint32_t *patches; /* per triangle: the bits TILE_PATCH_DEPTH and following, or
                                KD_NONE; NULL: no parts */
    const uint8_t *wide; /* per part: TILE_WIDE, TILE_DIVIDED and TILE_HIDDEN of the front; those of
                            the back are shifted by 1 */
    uint64_t *bounded;   /* counter of traversals that exceeded TILE_EXACT; NULL: not counted */
    uint32_t count, box_count; /* 0: integrate over the whole disc */
    const scene_view *scene;   /* scene for rays; on the device if the tiles are */
    float span;                /* range of the openness model, scene units */
    bool divided;              /* some part is TILE_DIVIDED or TILE_HIDDEN */
} tile_view;

/* State of the traversal for one query. */
typedef struct tile_lookup {
    vec3 position, normal;
    float radius, per_radius, bound2;
    photon_kernel kernel;
    uint32_t triangle; /* triangle of the query point */
    uint32_t tested;
    int64_t lit, dark; /* integrals over lit and unlit sides, in units of TILE_UNITS */
    bool in_the_dark;  /* the query point lies on an unlit tile */
    bool modelled;     /* some weight so far was not just the opacity */
} tile_lookup;

typedef enum tile_verdict {
    TILE_OUTSIDE, /* nothing in the box counts */
    TILE_AS_ONE,  /* the whole box counts, uniformly */
    TILE_OPEN_BOX
} tile_verdict;

KD_FN tile_lookup tile_lookup_begin(vec3 position, vec3 normal, uint32_t triangle, float radius,
                                    photon_kernel kernel) {
    tile_lookup lookup;
    lookup.position = position;
    lookup.normal = normal;
    lookup.radius = radius;
    lookup.per_radius = 1 / radius;
    lookup.bound2 = radius * radius;
    lookup.kernel = kernel;
    lookup.triangle = triangle;
    lookup.tested = 0;
    lookup.lit = lookup.dark = 0;
    lookup.in_the_dark = lookup.modelled = false;
    return lookup;
}

KD_FN int64_t tile_units(float part) {
    return flux_round(part, TILE_UNITS);
}

/* Squared distance from a point to a box. */
KD_FN float tile_box_dist2(const tile_box *box, vec3 p) {
    const float x = float_max(float_max(box->lo.x - p.x, p.x - box->hi.x), 0);
    const float y = float_max(float_max(box->lo.y - p.y, p.y - box->hi.y), 0);
    const float z = float_max(float_max(box->lo.z - p.z, p.z - box->hi.z), 0);
    return x * x + y * y + z * z;
}

/* Mean of the kernel over a small box about the centre of its area, divided by the squared
   radius. */
KD_FN float tile_box_kernel(const tile_lookup *lookup, const tile_box *box) {
    const vec3 half = vec3_scale(vec3_sub(box->hi, box->lo), 0.5f * 0.57735027f);
    const vec3 direction = vec3_sub(box->middle, lookup->position);
    float sum = 0;
    for (uint32_t i = 0; i < 8; ++i) {
        const vec3 place = vec3_make(direction.x + (i & 1u ? half.x : -half.x),
                                     direction.y + (i & 2u ? half.y : -half.y),
                                     direction.z + (i & 4u ? half.z : -half.z));
        sum += photon_kernel_at(lookup->kernel, vec3_length2(place) / lookup->bound2);
    }
    return sum / (8 * lookup->bound2);
}

/* The smallest and largest |cosine| between the query's normal and the box's normals follow from
   the angle to the cone's axis, plus and minus the cone's angle. */
KD_FN tile_verdict tile_box_judge(const tile_lookup *lookup, const tile_box *box, float limit) {
    if (tile_box_dist2(box, lookup->position) > lookup->bound2) return TILE_OUTSIDE;
    if (!(box->cosine > 0)) return TILE_OPEN_BOX;
    const float along = fabsf(vec3_dot(box->axis, lookup->normal));
    const float across = sqrtf(float_max(0, 1 - along * along));
    const float minimum = along * box->cosine - across * box->sine;
    const float maximum = along >= box->cosine ? 1 : along * box->cosine + across * box->sine;
    if (maximum < limit - TILE_MARGIN) return TILE_OUTSIDE;
    if (!(minimum >= limit + TILE_ROUNDING)) return TILE_OPEN_BOX;
    const float size2 = vec3_length2(vec3_sub(box->hi, box->lo));
    const float maximum2 = TILE_TOGETHER * TILE_TOGETHER * lookup->bound2;
    if (!(size2 <= maximum2)) return TILE_OPEN_BOX;
    const bool unclear =
        (box->dark[0] > 0 || box->dark[1] > 0) && !(tile_box_dist2(box, lookup->position) > 0);
    /* opened to find out whether the query point lies on an unlit tile */
    return unclear ? TILE_OPEN_BOX : TILE_AS_ONE;
}

KD_FN void tile_box_take(tile_lookup *lookup, const tile_box *box) {
    const int side = vec3_dot(box->axis, lookup->normal) < 0;
    const float kernel = tile_box_kernel(lookup, box);
    lookup->lit += tile_units(kernel * box->weight[side]);
    lookup->dark += tile_units(kernel * box->dark[side]);
    lookup->modelled |= box->modelled && kernel > 0;
}

/* Returns the fraction of the interval [lo, hi] within the radius of `at`; *middle and *half are
   the centre, relative to `at`, and half the length of that part, in radii. */
KD_FN float tile_box_overlap(float lo, float hi, float at, float per_radius, float *middle,
                             float *half) {
    const float a = (lo - at) * per_radius, b = (hi - at) * per_radius;
    const float first = float_clamp(a, -1, 1), last = float_clamp(b, -1, 1);
    *middle = 0.5f * (first + last);
    *half = 0.5f * (last - first);
    return b > a ? (last - first) / (b - a) : 1;
}

/* Mean of the kernel over a box, divided by the squared radius, as if the area were distributed
   uniformly: 27-point Gauss quadrature over the part of the box within reach. */
KD_FN float tile_box_mean_kernel(const tile_lookup *lookup, const tile_box *box) {
    vec3 middle, half;
    const vec3 at = lookup->position;
    const float share =
        tile_box_overlap(box->lo.x, box->hi.x, at.x, lookup->per_radius, &middle.x, &half.x) *
        tile_box_overlap(box->lo.y, box->hi.y, at.y, lookup->per_radius, &middle.y, &half.y) *
        tile_box_overlap(box->lo.z, box->hi.z, at.z, lookup->per_radius, &middle.z, &half.z);
    float sum = 0;
    for (int i = 0; i < 27; ++i) {
        const int x = i % 3 - 1, y = i / 3 % 3 - 1, z = i / 9 - 1;
        const float weight = (x ? 5.0f : 8.0f) * (y ? 5.0f : 8.0f) * (z ? 5.0f : 8.0f);
        const vec3 place = vec3_make(middle.x + 0.7745967f * (float)x * half.x,
                                     middle.y + 0.7745967f * (float)y * half.y,
                                     middle.z + 0.7745967f * (float)z * half.z);
        sum += weight * photon_kernel_at(lookup->kernel, vec3_length2(place));
    }
    return share * sum / (5832 * lookup->bound2);
}

/* Approximates a box with many normal directions by its moments: the fraction of sides within 60
   degrees of a direction, by polynomials of second degree in the cosine: 1/4 + 9/16 P1 + 15/32
   P2. */
KD_FN void tile_box_guess(tile_lookup *lookup, const tile_box *box) {
    const vec3 n = lookup->normal;
    const float all = box->weight[0] + box->weight[1];
    const float second =
        n.x * n.x * box->square.x + n.y * n.y * box->square.y + n.z * n.z * box->square.z +
        2 * (n.x * n.y * box->across.x + n.y * n.z * box->across.y + n.z * n.x * box->across.z);
    const float shown =
        0.25f * all + 0.5625f * vec3_dot(box->odd, n) + 0.46875f * (1.5f * second - 0.5f * all);
    const float cosine = vec3_dot(box->axis, n);
    const bool alike = box->cosine > TILE_ALIKE && fabsf(cosine) > TILE_ALIKE;
    const float counts = alike ? box->weight[cosine < 0] : float_clamp(shown, 0, all);
    lookup->lit += tile_units(tile_box_mean_kernel(lookup, box) * counts);
    lookup->modelled |= box->modelled;
}

/* Returns true if the point, which lies on the tile's triangle, lies in the tile. */
KD_FN bool tile_holds(const tile *tile, vec3 p) {
    for (int i = 0; i < 3; ++i) {
        const vec3 a = tile->corner[i], side = vec3_sub(tile->corner[i < 2 ? i + 1 : 0], a);
        const float turn = vec3_dot(tile->normal, vec3_cross(side, vec3_sub(p, a)));
        if (turn < -1e-4f * tile->area) return false;
    }
    return true;
}

/* Mean of the kernel over a triangle with corners in radii relative to the query, by seven-point
   quadrature (Radon 1948, exact to the fifth degree). */
KD_FN float tile_mean_kernel(photon_kernel kernel, const vec3 p[3]) {
    const float vertex_weight[2] = {0.79742699f, 0.05971587f},
                edge_weight[2] = {0.10128651f, 0.47014206f};
    const float weight[2] = {0.12593918f, 0.13239415f};
    const vec3 all = vec3_add(vec3_add(p[0], p[1]), p[2]);
    float sum = 0.225f * photon_kernel_at(kernel, vec3_length2(all) / 9);
    for (int ring = 0; ring < 2; ++ring)
        for (int i = 0; i < 3; ++i) {
            const vec3 at = vec3_along(vec3_scale(all, edge_weight[ring]),
                                       vertex_weight[ring] - edge_weight[ring], p[i]);
            sum += weight[ring] * photon_kernel_at(kernel, vec3_length2(at));
        }
    return sum;
}

/* Corners in radii, relative to the query point. */
KD_FN void tile_see(const tile_lookup *lookup, const tile *tile, vec3 p[3]) {
    for (int i = 0; i < 3; ++i)
        p[i] = vec3_scale(vec3_sub(tile->corner[i], lookup->position), lookup->per_radius);
}

/* Returns true, and the integral, if a tile does not need the closed form: it is out of reach, or
   it is small, lies away from the kernel's peak and rim, and some of its points are in reach. */
KD_FN bool tile_is_smooth(const tile_lookup *lookup, const tile *tile, const vec3 p[3],
                          float *part) {
    const vec3 lo = vec3_min(vec3_min(p[0], p[1]), p[2]), hi = vec3_max(vec3_max(p[0], p[1]), p[2]);
    const vec3 distance = vec3_max(vec3_max(lo, vec3_negate(hi)), vec3_all(0));
    *part = 0;
    if (vec3_length2(distance) >= 1) return true;
    const float longest2 = float_max(
        vec3_length2(vec3_sub(p[1], p[0])),
        float_max(vec3_length2(vec3_sub(p[2], p[1])), vec3_length2(vec3_sub(p[0], p[2]))));
    if (longest2 < TILE_SMALL * TILE_SMALL) {
        const vec3 middle = vec3_scale(vec3_add(vec3_add(p[0], p[1]), p[2]), 1.0f / 3);
        *part =
            photon_kernel_at(lookup->kernel, vec3_length2(middle)) * tile->area / lookup->bound2;
        return true;
    }
    if (!(longest2 < TILE_SMOOTH * TILE_SMOOTH)) return false;
    const float near2 =
        float_min(vec3_length2(p[0]), float_min(vec3_length2(p[1]), vec3_length2(p[2])));
    const float far2 =
        float_max(vec3_length2(p[0]), float_max(vec3_length2(p[1]), vec3_length2(p[2])));
    if (!(near2 > 1.5f * longest2 && far2 <= 1)) return false;
    *part = tile_mean_kernel(lookup->kernel, p) * tile->area / lookup->bound2;
    return true;
}

/* Weight of the side that faces the query; 0: the tile does not count. */
KD_FN float tile_weight(const tile_lookup *lookup, const tile *tile, float limit) {
    const float cosine = vec3_dot(tile->normal, lookup->normal);
    return fabsf(cosine) >= limit ? tile->weight[cosine < 0] : 0;
}

/* Adds the integral over a tile. */
KD_FN void tile_add(tile_lookup *lookup, const tile *tile, float weight, float part) {
    if (weight > 0) {
        lookup->lit += tile_units(weight * part);
        lookup->modelled |= (tile->triangle & TILE_MODELLED) && part > 0;
        return;
    }
    lookup->dark -= tile_units(weight * part);
    if ((tile->triangle & ~TILE_MODELLED) == lookup->triangle && tile_holds(tile, lookup->position))
        lookup->in_the_dark = true;
}

KD_FN void tile_take(tile_lookup *lookup, const tile *tile, float limit) {
    const float weight = tile_weight(lookup, tile, limit);
    vec3 p[3];
    float part;
    if (weight == 0) return;
    tile_see(lookup, tile, p);
    if (!tile_is_smooth(lookup, tile, p, &part))
        part = triangle_kernel_integral(lookup->kernel, p[0], p[1], p[2], tile->normal);
    tile_add(lookup, tile, weight, part);
}

KD_FN void tile_box_take_all(const tile_view *view, tile_lookup *lookup, const tile_box *box,
                             float limit) {
    lookup->tested += box->count;
    for (uint32_t t = box->begin; t < box->begin + box->count; ++t)
        tile_take(lookup, &view->tiles[t], limit);
}

/* Visits a box; returns the next one to visit. */
KD_FN uint32_t tile_lookup_at_box(const tile_view *view, tile_lookup *lookup, float limit,
                                  uint32_t i) {
    const tile_box *box = &view->boxes[i];
    ++lookup->tested;
    const tile_verdict verdict = tile_box_judge(lookup, box, limit);
    if (verdict == TILE_OPEN_BOX && box->skip != i + 1) return i + 1;
    if (verdict == TILE_AS_ONE) tile_box_take(lookup, box);
    if (verdict == TILE_OPEN_BOX) tile_box_take_all(view, lookup, box, limit);
    return box->skip;
}

/* Visits boxes in order; returns the box at which the limit TILE_EXACT was reached. */
KD_FN uint32_t tile_lookup_at_all(const tile_view *view, tile_lookup *lookup, float limit) {
    uint32_t i = 0;
    while (i < view->box_count && lookup->tested + 1 + TILE_LEAF <= TILE_EXACT)
        i = tile_lookup_at_box(view, lookup, limit, i);
    return i < view->box_count ? i : view->box_count;
}

typedef struct tile_waiting {
    uint32_t box, share; /* share: steps available for its contents */
} tile_waiting;

/* Evaluates a box that need not be opened; returns true if it has to be. */
KD_FN bool tile_intersect_box(const tile_view *view, tile_lookup *lookup, float limit,
                              uint32_t box) {
    const tile_verdict verdict = tile_box_judge(lookup, &view->boxes[box], limit);
    ++lookup->tested;
    if (verdict == TILE_AS_ONE) tile_box_take(lookup, &view->boxes[box]);
    return verdict == TILE_OPEN_BOX;
}

/* Visits the contents of an open box within `share` steps, divided equally between the children;
   what one child does not use goes to the other. Returns the number of unused steps. */
KD_FN uint32_t tile_lookup_by_share(const tile_view *view, tile_lookup *lookup, float limit,
                                    uint32_t box, uint32_t share) {
    tile_waiting waiting[TILE_WAITING];
    uint32_t count = 1, slack = 0;
    waiting[0].box = box;
    waiting[0].share = share;
    while (count) {
        const tile_waiting now = waiting[--count];
        const tile_box *tile_box = &view->boxes[now.box];
        const bool leaf = tile_box->skip == now.box + 1;
        const uint32_t needed = leaf ? tile_box->count : 2;
        slack += now.share;
        if (slack < needed || count + 2 > TILE_WAITING) {
            tile_box_guess(lookup, tile_box);
            continue;
        }
        slack -= needed;
        if (leaf) {
            tile_box_take_all(view, lookup, tile_box, limit);
            continue;
        }
        const uint32_t first = now.box + 1, second = tile_box->second;
        const bool opens = tile_intersect_box(view, lookup, limit, second);
        const bool open_first = tile_intersect_box(view, lookup, limit, first);
        if (opens) {
            waiting[count].box = second;
            waiting[count].share = open_first ? slack / 2 : slack;
            slack -= waiting[count++].share;
        }
        if (open_first) {
            waiting[count].box = first;
            waiting[count++].share = slack;
            slack = 0;
        }
    }
    return slack;
}

/* Visits everything from a box on within the remaining steps: each of the following subtrees gets
   half of the steps that its predecessors have left. */
KD_FN void tile_lookup_at_rest(const tile_view *view, tile_lookup *lookup, float limit,
                               uint32_t from) {
    uint32_t roots = 0, left = TILE_MAX - lookup->tested;
    for (uint32_t i = from; i < view->box_count; i = view->boxes[i].skip) ++roots;
    left = left > roots ? left - roots : 0;
    for (uint32_t i = from; i < view->box_count; i = view->boxes[i].skip) {
        if (!tile_intersect_box(view, lookup, limit, i)) continue;
        const uint32_t share = (left + 1) / 2;
        left = left - share + tile_lookup_by_share(view, lookup, limit, i, share);
    }
}

/* Counts a traversal that could not visit everything. */
KD_FN void tile_note_bounded(const tile_view *view) {
    if (!view->bounded) return;
#ifdef __CUDA_ARCH__
    atomicAdd((unsigned long long *)view->bounded, 1ull);
#else
    __atomic_fetch_add(view->bounded, 1, __ATOMIC_RELAXED);
#endif
}

/* Flags of the part at a query point, on the side of `towards`; other bits are undefined. */
KD_FN uint32_t tile_place_flags(const tile_view *view, vec3 position, vec3 towards,
                                uint32_t triangle, float radius) {
    if (!view->patches) return 0;
    const uint32_t patch = view->patches[triangle];
    if (patch == KD_NONE) return 0;
    const mesh_view *mesh = &view->scene->mesh;
    const uint32_t *corner = mesh->triangles + 3 * (size_t)triangle;
    const vec3 a = mesh->positions[corner[0]];
    const vec3 b = vec3_sub(mesh->positions[corner[1]], a);
    const vec3 c = vec3_sub(mesh->positions[corner[2]], a), at = vec3_sub(position, a);
    const vec3 normal = vec3_cross(b, c);
    const float length2 = vec3_length2(normal), cosine = vec3_dot(normal, towards);
    const float height = vec3_dot(normal, at), low = 1e-3f * radius;
    if (!(cosine * cosine >= 0.9999f * length2 && height * height <= low * low * length2)) return 0;
    const float u = vec3_dot(normal, vec3_cross(at, c)) / length2;
    const float v = vec3_dot(normal, vec3_cross(b, at)) / length2;
    const float maximum = 1 + 1e-4f;
    if (!(u >= 1 - maximum && v >= 1 - maximum && u + v <= maximum)) return 0;
    const uint32_t part = tile_part_at(patch & TILE_PATCH_DEPTH, u, v);
    return view->wide[(patch >> TILE_PATCH_SHIFT) + part] >> (cosine < 0 ? 1 : 0);
}

/* Returns true if the query point is known to have only an unbounded plane within the span. */
KD_FN bool tile_place_is_wide(const tile_view *view, const tile_lookup *lookup) {
    return lookup->radius <= view->span && (tile_place_flags(view, lookup->position, lookup->normal,
                                                             lookup->triangle, lookup->radius) &
                                            TILE_WIDE);
}

/* Integral found so far. */
KD_FN float tile_lookup_found(const tile_lookup *lookup) {
    const int64_t units = lookup->in_the_dark ? lookup->lit + lookup->dark : lookup->lit;
    return (float)units * (1 / TILE_UNITS);
}

/* Divides the integral by the openness model at the query point itself: 1 if nothing is
   modelled. */
KD_FN float tile_lookup_over_model(const tile_lookup *lookup, float integral, float model) {
    const float whole = 2 * KD_PI * photon_kernel_sector(lookup->kernel);
    return float_max(integral / float_max(OPENNESS_MIN, model), TILE_MIN_SHARE * whole);
}

/* Integral of the kernel over the surfaces that count, relative to the squared radius. */
KD_FN float tile_kernel_integral(const tile_view *view, tile_lookup *lookup, float limit) {
    if (tile_place_is_wide(view, lookup)) return 2 * KD_PI * photon_kernel_sector(lookup->kernel);
    const uint32_t rest = tile_lookup_at_all(view, lookup, limit);
    if (rest < view->box_count) {
        tile_note_bounded(view);
        tile_lookup_at_rest(view, lookup, limit, rest);
    }
    float model = 1;
    if (lookup->modelled)
        model = openness_at(view->scene, lookup->position, lookup->normal, lookup->triangle,
                            view->span);
    return tile_lookup_over_model(lookup, tile_lookup_found(lookup), model);
}

#endif

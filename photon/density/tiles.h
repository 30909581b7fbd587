/* The kernel's integral over all that may accept photons: whole sides of triangles in the ball.
   Idea: an estimate is right for even light exactly if what accepts photons and what is measured
         are one set. Here it is: all sides of triangles whose own normal is within 60 degrees of
         the place's, wherever they lie in the ball; a photon bears the normal of the side on
         which it landed. A tile is a triangle or a part of one, with a weight for each side: its
         opacity, times how bright even light would leave it (tile_parts.h); what no light
         reaches (tile_reach.c) is left out, unless the place itself lies there. Tiles lie in the
         leaves of a tree of boxes; a box that is small beside the radius and surely counts as a
         whole, by the cone of its normals, is one look.
   Work: at most TILE_MOST boxes and tiles, of which TILE_EXACT are looked at as they come. Where
         they are more (grass), the others are shared out over the boxes that are left: a box
         that got too little to be opened counts by the first three moments of its sides'
         normals.
   Invariants: a function of the place, its normal and the radius; the same bits on every device,
               since what tiles add are whole numbers, in whatever order they are met
               (photon/maps/tile_looks.cu meets them by warps). Exact where no box was taken as
               one. */
#ifndef KD_PHOTON_DENSITY_TILES_H
#define KD_PHOTON_DENSITY_TILES_H
#include "photon/density/flux_sum.h"
#include "photon/density/kernels.h"
#include "photon/density/tile_parts.h"

/* Sides of triangles whose normals differ by more than this cosine hold no photons of each other.
 */
#define TILE_COSINE 0.5f
/* Boxes and tiles that an estimate looks at. */
#define TILE_MOST 4096u
#define TILE_EXACT 3968u
/* A box is taken as one if its diagonal is at most this of the radius. */
#define TILE_TOGETHER 0.5f
/* A tile counts by its middle if its sides are below this of the radius. */
#define TILE_SMALL 0.125f
/* A tile with shorter sides, in radii, that lies inside the ball and further from its centre than
 * they are long counts by seven places: within 1e-4 of itself. */
#define TILE_SMOOTH 0.5f
/* A box counts by one side alone if its normals are all as near to its axis, and that to the
 * place's. */
#define TILE_ALIKE 0.87f
/* Rounding of cosines; and more than all rounding: a box that is passed by because it is turned
   away holds no tile that would count. */
#define TILE_ROUNDING 1e-4f
#define TILE_APART 1e-3f
/* Least share of the whole disc's integral that is believed. */
#define TILE_LEAST_SHARE 0.04f
/* Tiles with longer sides, in radii, are the first part of the root. */
#define TILE_LARGE 0.5f
/* Tiles of a box without parts, and boxes that may wait to be opened. */
#define TILE_LEAF 4u
#define TILE_WAITING 40
/* Units of an integral. */
#define TILE_UNITS 0x1p36f

#define TILE_MODELLED 0x80000000u

/* A triangle or a part of one. */
typedef struct tile {
    vec3 corner[3];
    vec3 normal;     /* unit, of the triangle's winding */
    float weight[2]; /* of its front and its back, 0 to 1; negative: no light reaches that side,
                        which would count by this much */
    float area;
    uint32_t triangle; /* and TILE_MODELLED: a weight is not the opacity alone */
} tile;

/* A box of tiles, in depth-first order: its first part follows it, the next box that holds none of
   its tiles is `skip`. What every look reads comes first, 64 bytes. */
typedef struct tile_box {
    vec3 lo, hi;         /* of the tiles' corners */
    uint32_t skip;       /* the next one: it is a leaf */
    uint32_t begin;      /* of its tiles */
    vec3 axis;           /* unit, of their normals */
    float cosine;        /* all normals are within this of the axis; below 0: they are not alike */
    float sine;          /* of the same angle */
    float dark[2];       /* sums of area times weight of those that no light reaches, positive */
    uint32_t second;     /* its other part; of a leaf: how many tiles it has */
    vec3 middle;         /* of their area */
    float weight[2];     /* sum of area times weight, of fronts and backs */
    vec3 odd;            /* sum of (front - back) normal */
    vec3 square, across; /* sums of (front + back) times the normal's xx yy zz, xy yz zx */
    uint32_t modelled;   /* some lit weight is not the opacity alone */
    uint32_t count;      /* of its tiles */
} tile_box;

typedef struct tile_view {
    const tile *tiles; /* in the boxes' order */
    const tile_box *boxes;
    const uint32_t *patches; /* per triangle: its first part << 4 | its depth (tile_parts.h), or
                                KD_NONE; NULL: nothing is known of parts */
    const uint8_t *wide;     /* per part: bit 0, 1: about no place of its front, back an end of the
                                plane, or anything else, lies within the span (tile_wide.c) */
    uint64_t *bounded; /* of looks that met more than TILE_EXACT; NULL: they are not counted */
    uint32_t count, box_count; /* 0: all that is there is the whole disc */
    const scene_view *scene;   /* for rays; where the tiles are */
    float span;                /* how far the model looks, scene units */
} tile_view;

/* What is known of a place while it is measured. */
typedef struct tile_look {
    vec3 position, normal;
    float radius, per_radius, bound2;
    photon_kernel kernel;
    uint32_t triangle; /* that the place lies on */
    uint32_t looked_at;
    int64_t lit, dark; /* integrals over what light reaches, and what it does not: TILE_UNITS */
    bool in_the_dark;  /* the place itself lies in such a tile */
    bool modelled;     /* something that was met is not open */
} tile_look;

typedef enum tile_verdict {
    TILE_OUTSIDE, /* nothing in the box counts */
    TILE_AS_ONE,  /* all of it does, alike */
    TILE_OPEN_BOX
} tile_verdict;

KD_FN tile_look tile_look_begin(vec3 position, vec3 normal, uint32_t triangle, float radius,
                                photon_kernel kernel) {
    tile_look look;
    look.position = position;
    look.normal = normal;
    look.radius = radius;
    look.per_radius = 1 / radius;
    look.bound2 = radius * radius;
    look.kernel = kernel;
    look.triangle = triangle;
    look.looked_at = 0;
    look.lit = look.dark = 0;
    look.in_the_dark = look.modelled = false;
    return look;
}

KD_FN int64_t tile_units(float part) {
    return flux_round(part, TILE_UNITS);
}

/* Squared distance of a place to a box. */
KD_FN float tile_box_dist2(const tile_box *box, vec3 p) {
    const float x = float_max(float_max(box->lo.x - p.x, p.x - box->hi.x), 0);
    const float y = float_max(float_max(box->lo.y - p.y, p.y - box->hi.y), 0);
    const float z = float_max(float_max(box->lo.z - p.z, p.z - box->hi.z), 0);
    return x * x + y * y + z * z;
}

/* The kernel's mean over a small box about the middle of its area, over the squared radius. */
KD_FN float tile_box_kernel(const tile_look *look, const tile_box *box) {
    const vec3 half = vec3_scale(vec3_sub(box->hi, box->lo), 0.5f * 0.57735027f);
    const vec3 way = vec3_sub(box->middle, look->position);
    float sum = 0;
    for (uint32_t i = 0; i < 8; ++i) {
        const vec3 place =
            vec3_make(way.x + (i & 1u ? half.x : -half.x), way.y + (i & 2u ? half.y : -half.y),
                      way.z + (i & 4u ? half.z : -half.z));
        sum += photon_kernel_at(look->kernel, vec3_length2(place) / look->bound2);
    }
    return sum / (8 * look->bound2);
}

/* The least and the greatest |cosine| between the place's normal and the box's are those of the
   angle to the axis, less and plus that of the cone. */
KD_FN tile_verdict tile_box_judge(const tile_look *look, const tile_box *box, float limit) {
    if (tile_box_dist2(box, look->position) > look->bound2) return TILE_OUTSIDE;
    if (!(box->cosine > 0)) return TILE_OPEN_BOX;
    const float along = fabsf(vec3_dot(box->axis, look->normal));
    const float across = sqrtf(float_max(0, 1 - along * along));
    const float least = along * box->cosine - across * box->sine;
    const float most = along >= box->cosine ? 1 : along * box->cosine + across * box->sine;
    if (most < limit - TILE_APART) return TILE_OUTSIDE;
    if (!(least >= limit + TILE_ROUNDING)) return TILE_OPEN_BOX;
    const float size2 = vec3_length2(vec3_sub(box->hi, box->lo));
    const float most2 = TILE_TOGETHER * TILE_TOGETHER * look->bound2;
    if (!(size2 <= most2)) return TILE_OPEN_BOX;
    const bool unclear =
        (box->dark[0] > 0 || box->dark[1] > 0) && !(tile_box_dist2(box, look->position) > 0);
    return unclear ? TILE_OPEN_BOX : TILE_AS_ONE; /* is the place itself in the dark? */
}

KD_FN void tile_box_take(tile_look *look, const tile_box *box) {
    const int side = vec3_dot(box->axis, look->normal) < 0;
    const float kernel = tile_box_kernel(look, box);
    look->lit += tile_units(kernel * box->weight[side]);
    look->dark += tile_units(kernel * box->dark[side]);
    look->modelled |= box->modelled && kernel > 0;
}

/* The share of a box's side [lo, hi] that lies within the radius of `at`; its middle and half its
   length, over the radius, from there. */
KD_FN float tile_box_overlap(float lo, float hi, float at, float per_radius, float *middle,
                             float *half) {
    const float a = (lo - at) * per_radius, b = (hi - at) * per_radius;
    const float first = float_clamp(a, -1, 1), last = float_clamp(b, -1, 1);
    *middle = 0.5f * (first + last);
    *half = 0.5f * (last - first);
    return b > a ? (last - first) / (b - a) : 1;
}

/* The kernel's mean over a box, over the squared radius, as if the area in it were spread evenly:
   by 27 places (Gauss) in the part of the box that is near. */
KD_FN float tile_box_mean_kernel(const tile_look *look, const tile_box *box) {
    vec3 middle, half;
    const vec3 at = look->position;
    const float share =
        tile_box_overlap(box->lo.x, box->hi.x, at.x, look->per_radius, &middle.x, &half.x) *
        tile_box_overlap(box->lo.y, box->hi.y, at.y, look->per_radius, &middle.y, &half.y) *
        tile_box_overlap(box->lo.z, box->hi.z, at.z, look->per_radius, &middle.z, &half.z);
    float sum = 0;
    for (int i = 0; i < 27; ++i) {
        const int x = i % 3 - 1, y = i / 3 % 3 - 1, z = i / 9 - 1;
        const float weight = (x ? 5.0f : 8.0f) * (y ? 5.0f : 8.0f) * (z ? 5.0f : 8.0f);
        const vec3 place = vec3_make(middle.x + 0.7745967f * (float)x * half.x,
                                     middle.y + 0.7745967f * (float)y * half.y,
                                     middle.z + 0.7745967f * (float)z * half.z);
        sum += weight * photon_kernel_at(look->kernel, vec3_length2(place));
    }
    return share * sum / (5832 * look->bound2);
}

/* A box of many directions, by its moments: the share of sides within 60 degrees of a direction,
   as far as polynomials of the second degree in the cosine show it: 1/4 + 9/16 P1 + 15/32 P2. */
KD_FN void tile_box_guess(tile_look *look, const tile_box *box) {
    const vec3 n = look->normal;
    const float all = box->weight[0] + box->weight[1];
    const float second =
        n.x * n.x * box->square.x + n.y * n.y * box->square.y + n.z * n.z * box->square.z +
        2 * (n.x * n.y * box->across.x + n.y * n.z * box->across.y + n.z * n.x * box->across.z);
    const float shown =
        0.25f * all + 0.5625f * vec3_dot(box->odd, n) + 0.46875f * (1.5f * second - 0.5f * all);
    const float cosine = vec3_dot(box->axis, n);
    const bool alike = box->cosine > TILE_ALIKE && fabsf(cosine) > TILE_ALIKE;
    const float counts = alike ? box->weight[cosine < 0] : float_clamp(shown, 0, all);
    look->lit += tile_units(tile_box_mean_kernel(look, box) * counts);
    look->modelled |= box->modelled;
}

/* Whether the place, which lies on this tile's triangle, lies in the tile. */
KD_FN bool tile_holds(const tile *of, vec3 p) {
    for (int i = 0; i < 3; ++i) {
        const vec3 a = of->corner[i], side = vec3_sub(of->corner[i < 2 ? i + 1 : 0], a);
        const float turn = vec3_dot(of->normal, vec3_cross(side, vec3_sub(p, a)));
        if (turn < -1e-4f * of->area) return false;
    }
    return true;
}

/* The kernel's mean over a triangle (the corners over the radius, about the place) by seven places
   (Radon 1948, exact to the fifth degree). */
KD_FN float tile_mean_kernel(photon_kernel kernel, const vec3 p[3]) {
    const float apart[2] = {0.79742699f, 0.05971587f}, beside[2] = {0.10128651f, 0.47014206f};
    const float weight[2] = {0.12593918f, 0.13239415f};
    const vec3 all = vec3_add(vec3_add(p[0], p[1]), p[2]);
    float sum = 0.225f * photon_kernel_at(kernel, vec3_length2(all) / 9);
    for (int ring = 0; ring < 2; ++ring)
        for (int i = 0; i < 3; ++i) {
            const vec3 at =
                vec3_along(vec3_scale(all, beside[ring]), apart[ring] - beside[ring], p[i]);
            sum += weight[ring] * photon_kernel_at(kernel, vec3_length2(at));
        }
    return sum;
}

/* Corners over the radius, about the place. */
KD_FN void tile_see(const tile_look *look, const tile *of, vec3 p[3]) {
    for (int i = 0; i < 3; ++i)
        p[i] = vec3_scale(vec3_sub(of->corner[i], look->position), look->per_radius);
}

/* Whether a tile needs no closed form, with its integral: none of it is near, or it is small and
   lies where the kernel has neither its tip nor its rim, and some of its places do. */
KD_FN bool tile_is_smooth(const tile_look *look, const tile *of, const vec3 p[3], float *part) {
    const vec3 lo = vec3_min(vec3_min(p[0], p[1]), p[2]), hi = vec3_max(vec3_max(p[0], p[1]), p[2]);
    const vec3 away = vec3_max(vec3_max(lo, vec3_negate(hi)), vec3_all(0));
    *part = 0;
    if (vec3_length2(away) >= 1) return true;
    const float longest2 = float_max(
        vec3_length2(vec3_sub(p[1], p[0])),
        float_max(vec3_length2(vec3_sub(p[2], p[1])), vec3_length2(vec3_sub(p[0], p[2]))));
    if (longest2 < TILE_SMALL * TILE_SMALL) {
        const vec3 middle = vec3_scale(vec3_add(vec3_add(p[0], p[1]), p[2]), 1.0f / 3);
        *part = photon_kernel_at(look->kernel, vec3_length2(middle)) * of->area / look->bound2;
        return true;
    }
    if (!(longest2 < TILE_SMOOTH * TILE_SMOOTH)) return false;
    const float near2 =
        float_min(vec3_length2(p[0]), float_min(vec3_length2(p[1]), vec3_length2(p[2])));
    const float far2 =
        float_max(vec3_length2(p[0]), float_max(vec3_length2(p[1]), vec3_length2(p[2])));
    if (!(near2 > 1.5f * longest2 && far2 <= 1)) return false;
    *part = tile_mean_kernel(look->kernel, p) * of->area / look->bound2;
    return true;
}

/* The weight of the side that a look sees; 0: the tile does not count. */
KD_FN float tile_weight(const tile_look *look, const tile *of, float limit) {
    const float cosine = vec3_dot(of->normal, look->normal);
    return fabsf(cosine) >= limit ? of->weight[cosine < 0] : 0;
}

/* Adds a tile's integral. */
KD_FN void tile_add(tile_look *look, const tile *of, float weight, float part) {
    if (weight > 0) {
        look->lit += tile_units(weight * part);
        look->modelled |= (of->triangle & TILE_MODELLED) && part > 0;
        return;
    }
    look->dark -= tile_units(weight * part);
    if ((of->triangle & ~TILE_MODELLED) == look->triangle && tile_holds(of, look->position))
        look->in_the_dark = true;
}

KD_FN void tile_take(tile_look *look, const tile *of, float limit) {
    const float weight = tile_weight(look, of, limit);
    vec3 p[3];
    float part;
    if (weight == 0) return;
    tile_see(look, of, p);
    if (!tile_is_smooth(look, of, p, &part))
        part = triangle_kernel_integral(look->kernel, p[0], p[1], p[2], of->normal);
    tile_add(look, of, weight, part);
}

KD_FN void tile_box_take_all(const tile_view *view, tile_look *look, const tile_box *box,
                             float limit) {
    look->looked_at += box->count;
    for (uint32_t t = box->begin; t < box->begin + box->count; ++t)
        tile_take(look, &view->tiles[t], limit);
}

/* Looks at a box; the next one to look at. */
KD_FN uint32_t tile_look_at_box(const tile_view *view, tile_look *look, float limit, uint32_t i) {
    const tile_box *box = &view->boxes[i];
    ++look->looked_at;
    const tile_verdict verdict = tile_box_judge(look, box, limit);
    if (verdict == TILE_OPEN_BOX && box->skip != i + 1) return i + 1;
    if (verdict == TILE_AS_ONE) tile_box_take(look, box);
    if (verdict == TILE_OPEN_BOX) tile_box_take_all(view, look, box, limit);
    return box->skip;
}

/* All of it as it comes; the box before which TILE_EXACT looks were done. */
KD_FN uint32_t tile_look_at_all(const tile_view *view, tile_look *look, float limit) {
    uint32_t i = 0;
    while (i < view->box_count && look->looked_at + 1 + TILE_LEAF <= TILE_EXACT)
        i = tile_look_at_box(view, look, limit, i);
    return i < view->box_count ? i : view->box_count;
}

typedef struct tile_waiting {
    uint32_t box, share; /* looks that are left for its parts */
} tile_waiting;

/* Takes a box that need not be opened; whether it has to be. */
KD_FN bool tile_meet_box(const tile_view *view, tile_look *look, float limit, uint32_t box) {
    const tile_verdict verdict = tile_box_judge(look, &view->boxes[box], limit);
    ++look->looked_at;
    if (verdict == TILE_AS_ONE) tile_box_take(look, &view->boxes[box]);
    return verdict == TILE_OPEN_BOX;
}

/* What is in a box that was met and is open, within `share` looks, shared by halves from there on;
   what one half leaves the other gets. Returns what is left of them. */
KD_FN uint32_t tile_look_by_share(const tile_view *view, tile_look *look, float limit, uint32_t box,
                                  uint32_t share) {
    tile_waiting waiting[TILE_WAITING];
    uint32_t count = 1, spare = 0;
    waiting[0].box = box;
    waiting[0].share = share;
    while (count) {
        const tile_waiting now = waiting[--count];
        const tile_box *of = &view->boxes[now.box];
        const bool leaf = of->skip == now.box + 1;
        const uint32_t needed = leaf ? of->count : 2;
        spare += now.share;
        if (spare < needed || count + 2 > TILE_WAITING) {
            tile_box_guess(look, of);
            continue;
        }
        spare -= needed;
        if (leaf) {
            tile_box_take_all(view, look, of, limit);
            continue;
        }
        const uint32_t first = now.box + 1, second = of->second;
        const bool opens = tile_meet_box(view, look, limit, second);
        const bool open_first = tile_meet_box(view, look, limit, first);
        if (opens) {
            waiting[count].box = second;
            waiting[count].share = open_first ? spare / 2 : spare;
            spare -= waiting[count++].share;
        }
        if (open_first) {
            waiting[count].box = first;
            waiting[count++].share = spare;
            spare = 0;
        }
    }
    return spare;
}

/* What lies from a box on, within the looks that are left: those boxes after it that hold all of
   it, each with half of the looks that the boxes before it left. */
KD_FN void tile_look_at_rest(const tile_view *view, tile_look *look, float limit, uint32_t from) {
    uint32_t roots = 0, left = TILE_MOST - look->looked_at;
    for (uint32_t i = from; i < view->box_count; i = view->boxes[i].skip) ++roots;
    left = left > roots ? left - roots : 0;
    for (uint32_t i = from; i < view->box_count; i = view->boxes[i].skip) {
        if (!tile_meet_box(view, look, limit, i)) continue;
        const uint32_t share = (left + 1) / 2;
        left = left - share + tile_look_by_share(view, look, limit, i, share);
    }
}

/* Counts a look that could not meet all. */
KD_FN void tile_note_bounded(const tile_view *view) {
    if (!view->bounded) return;
#ifdef __CUDA_ARCH__
    atomicAdd((unsigned long long *)view->bounded, 1ull);
#else
    __atomic_fetch_add(view->bounded, 1, __ATOMIC_RELAXED);
#endif
}

/* Whether the place, on its triangle, is known for nothing but plane within the span. */
KD_FN bool tile_place_is_wide(const tile_view *view, const tile_look *look) {
    if (!view->patches || !(look->radius <= view->span)) return false;
    const uint32_t patch = view->patches[look->triangle];
    if (patch == KD_NONE) return false;
    const mesh_view *mesh = &view->scene->mesh;
    const uint32_t *corner = mesh->triangles + 3 * (size_t)look->triangle;
    const vec3 a = mesh->positions[corner[0]];
    const vec3 b = vec3_sub(mesh->positions[corner[1]], a);
    const vec3 c = vec3_sub(mesh->positions[corner[2]], a), at = vec3_sub(look->position, a);
    const vec3 normal = vec3_cross(b, c);
    const float length2 = vec3_length2(normal), cosine = vec3_dot(normal, look->normal);
    const float height = vec3_dot(normal, at), low = 1e-3f * look->radius;
    if (!(cosine * cosine >= 0.9999f * length2 && height * height <= low * low * length2))
        return false;
    const float u = vec3_dot(normal, vec3_cross(at, c)) / length2;
    const float v = vec3_dot(normal, vec3_cross(b, at)) / length2;
    const float most = 1 + 1e-4f;
    if (!(u >= 1 - most && v >= 1 - most && u + v <= most)) return false;
    const uint32_t part = tile_part_at(patch & 15u, u, v);
    return (view->wide[(patch >> 4) + part] >> (cosine < 0 ? 1 : 0) & 1u) != 0;
}

/* What was found of a place. */
KD_FN float tile_look_found(const tile_look *look) {
    const int64_t found = look->in_the_dark ? look->lit + look->dark : look->lit;
    return (float)found * (1 / TILE_UNITS);
}

/* The integral by what was found and the model at the place itself: 1 if nothing is modelled. */
KD_FN float tile_look_over_model(const tile_look *look, float found, float model) {
    const float whole = 2 * KD_PI * photon_kernel_sector(look->kernel);
    return float_max(found / float_max(OPENNESS_LEAST, model), TILE_LEAST_SHARE * whole);
}

/* The integral over what counts, of the unit disc's radius. */
KD_FN float tile_kernel_integral(const tile_view *view, tile_look *look, float limit) {
    if (tile_place_is_wide(view, look)) return 2 * KD_PI * photon_kernel_sector(look->kernel);
    const uint32_t rest = tile_look_at_all(view, look, limit);
    if (rest < view->box_count) {
        tile_note_bounded(view);
        tile_look_at_rest(view, look, limit, rest);
    }
    float model = 1;
    if (look->modelled)
        model = openness_at(view->scene, look->position, look->normal, look->triangle, view->span);
    return tile_look_over_model(look, tile_look_found(look), model);
}

#endif

/* Idea: if the ball contains a single unbounded plane that light reaches everywhere, the integral
         is that over the whole disc and needs no traversal. For the parts of a triangle this is
         tested in groups, which are divided into four if the test fails: one traversal with the
         constant kernel 1, in a ball that contains the balls of all points of the group. It finds
         the area of the whole disc only if there is no edge and no other surface nearby. Small
         triangles are tested by boxes of tiles that lie in one plane: the area within the ball is
         summed exactly, whole boxes at a time.
   Work: a traversal for each group tested. Groups of fewer than 16 parts or 8 small triangles are
         not tested, since that would cost more than it saves. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"
#include "photon/density/tile_set.h"

enum { GROUP_GRAIN = 16, GROUP_DEPTH = 2 };
/* Largest extent of a group from its centre, in radii. */
#define GROUP_MAX 3.0f
/* Relative error up to which an area equals that of a whole disc. */
#define AREA_ERROR 1e-4f
/* Boxes of small triangles are tested if their extent, in radii, is at most PLANE_REACH, the
   cosine between their normals is above PLANE_COSINE, and they have at least PLANE_MIN tiles. The
   test visits at most PLANE_TESTS boxes and tiles. */
#define PLANE_REACH 2.0f
#define PLANE_COSINE 0.99999f
enum { PLANE_MIN = 8, PLANE_TESTS = 2048, PLANE_GRAIN = 4, PATCH_GRAIN = 4096 };

typedef struct wide_search {
    const tile_parts *parts;
    tile_view tiles;
    uint8_t *wide;
} wide_search;

/* A group of parts of one side of a face. */
typedef struct part_group {
    vec3 corner[3];
    uint32_t first, depth; /* 4^depth parts */
    uint32_t side, face;
} part_group;

/* Groups that several threads search. One thread searches both sides of a group, because their
   results share a byte. */
typedef struct group_list {
    wide_search *search;
    part_group *groups; /* NULL: count only */
    uint32_t count;
} group_list;

/* Number of the group's parts that are lit, open and opaque. */
static uint32_t count_plain(const wide_search *search, const part_group *group) {
    uint32_t plain = 0;
    for (uint32_t p = group->first; p < group->first + (1u << 2 * group->depth); ++p)
        plain += search->parts->weights[p][group->side] == 1;
    return plain;
}

/* Returns true if the balls with radius `span` around all points of a group contain a whole disc
   and nothing else. */
static bool group_is_wide(const wide_search *search, const tile_face *face, const part_group *group,
                          float reach, vec3 middle) {
    const vec3 normal = group->side ? vec3_negate(face->normal) : face->normal;
    tile_lookup lookup = tile_lookup_begin(middle, normal, face->triangle,
                                           1.001f * search->tiles.span + reach, PHOTON_KERNEL_DISC);
    if (tile_lookup_at_all(&search->tiles, &lookup, TILE_COSINE) < search->tiles.box_count)
        return false;
    if (lookup.modelled) return false;
    return fabsf((float)lookup.lit / TILE_UNITS - KD_PI) <= AREA_ERROR * KD_PI;
}

static part_group part_of_group(const part_group *group, uint32_t child) {
    part_group part = *group;
    tile_part_of(group->corner, child, part.corner);
    part.depth = group->depth - 1;
    part.first = group->first + (child << 2 * part.depth);
    return part;
}

/* Extent of a group from its centre. */
static float group_reach(const part_group *group, vec3 *middle) {
    const vec3 *c = group->corner;
    float reach = 0;
    *middle = vec3_scale(vec3_add(c[0], vec3_add(c[1], c[2])), 1.0f / 3);
    for (int k = 0; k < 3; ++k) reach = float_max(reach, vec3_length(vec3_sub(c[k], *middle)));
    return reach;
}

static void search_group(const wide_search *search, const part_group *group) {
    const uint32_t count = 1u << 2 * group->depth, plain = count_plain(search, group);
    const tile_face *face = &search->parts->faces[group->face];
    if (plain == 0 || group->depth < GROUP_DEPTH) return;
    vec3 middle;
    const float reach = group_reach(group, &middle);
    if (plain == count && reach <= GROUP_MAX * search->tiles.span &&
        group_is_wide(search, face, group, reach, middle)) {
        for (uint32_t p = group->first; p < group->first + count; ++p)
            search->wide[p] |= (uint8_t)(1u << group->side);
        return;
    }
    for (uint32_t child = 0; child < 4; ++child) {
        const part_group part = part_of_group(group, child);
        search_group(search, &part);
    }
}

/* Lists the group or, if it is too large to be tested, its subgroups that are not. */
static void list_groups(group_list *list, const part_group *group) {
    vec3 middle;
    if (group->depth < GROUP_DEPTH) return;
    if (group_reach(group, &middle) <= GROUP_MAX * list->search->tiles.span) {
        if (list->groups) list->groups[list->count] = *group;
        ++list->count;
        return;
    }
    for (uint32_t child = 0; child < 4; ++child) {
        const part_group part = part_of_group(group, child);
        list_groups(list, &part);
    }
}

/* Lists the groups of faces behind those of the faces before; or only counts them. */
typedef struct face_listing {
    wide_search *search;
    part_group *groups; /* NULL: count only */
    uint32_t *firsts;   /* per face: its groups, then its first group */
} face_listing;

static void list_faces(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const face_listing *listing = (const face_listing *)context;
    for (int64_t i = begin; i < end; ++i) {
        const tile_face *face = &listing->search->parts->faces[i];
        group_list list = {listing->search, NULL, 0};
        if (listing->groups) list.groups = listing->groups + listing->firsts[i];
        if (face->depth >= GROUP_DEPTH) {
            part_group whole;
            memcpy(whole.corner, face->corner, sizeof whole.corner);
            whole.first = face->first;
            whole.depth = face->depth;
            whole.face = (uint32_t)i;
            whole.side = 0;
            list_groups(&list, &whole);
        }
        if (!listing->groups) listing->firsts[i] = list.count;
    }
}

static void search_groups(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const group_list *list = (const group_list *)context;
    for (int64_t i = begin; i < end; ++i) {
        part_group group = list->groups[i];
        for (group.side = 0; group.side < 2; ++group.side) search_group(list->search, &group);
    }
}

static kd_status search_faces(wide_search *search) {
    const uint32_t face_count = search->parts->face_count;
    face_listing listing = {search, NULL, NULL};
    kd_status status = KD_OK;
    KD_TRY(KD_RESERVE(listing.firsts, face_count));
    parallel_for(face_count, PATCH_GRAIN, list_faces, &listing);
    group_list list = {search, NULL,
                       (uint32_t)scan_exclusive_u32(listing.firsts, listing.firsts, face_count)};
    KD_TRY_GOTO(KD_RESERVE(listing.groups, list.count));
    parallel_for(face_count, PATCH_GRAIN, list_faces, &listing);
    list.groups = listing.groups;
    parallel_for(list.count, GROUP_GRAIN, search_groups, &list);
done:
    memory_free(listing.groups);
    memory_free(listing.firsts);
    return status;
}

/* --- small triangles -------------------------------------------------------------------------- */

typedef struct plane_search {
    tile_view tiles;
    const uint32_t *first; /* per triangle: its part, if it is not subdivided, or KD_NONE */
    uint8_t *wide;
    uint32_t *boxes; /* boxes to start from */
    uint32_t box_count;
} plane_search;

/* Largest distance of a corner of the box from its centre. */
static float box_reach(const tile_box *box) {
    const vec3 below = vec3_sub(box->middle, box->lo), above = vec3_sub(box->hi, box->middle);
    return vec3_length(vec3_max(below, above));
}

/* Returns true if the whole box lies in the ball, faces like the query, and can be added as a
   unit. */
static bool box_lies_within(const tile_lookup *lookup, const tile_box *box) {
    const vec3 below = vec3_sub(lookup->position, box->lo),
               above = vec3_sub(box->hi, lookup->position);
    return box->cosine > PLANE_COSINE && !box->modelled &&
           fabsf(vec3_dot(box->axis, lookup->normal)) > PLANE_COSINE &&
           vec3_length2(vec3_max(below, above)) <= lookup->bound2;
}

/* Adds a tile by the closed form only. */
static void add_exactly(tile_lookup *lookup, const tile *tile) {
    const float weight = tile_weight(lookup, tile, TILE_COSINE);
    vec3 p[3];
    if (!(weight > 0)) return;
    tile_see(lookup, tile, p);
    tile_add(lookup, tile, weight,
             triangle_kernel_integral(lookup->kernel, p[0], p[1], p[2], tile->normal));
}

/* Returns true if the ball contains a whole disc and nothing else that faces the same way. */
static bool ball_holds_disc(const tile_view *view, tile_lookup *lookup) {
    uint32_t i = 0;
    while (i < view->box_count && !lookup->modelled && lookup->tested++ < PLANE_TESTS) {
        const tile_box *box = &view->boxes[i];
        const bool near = tile_box_dist2(box, lookup->position) <= lookup->bound2;
        const bool whole = near && box_lies_within(lookup, box), leaf = box->skip == i + 1;
        if (whole)
            lookup->lit +=
                tile_units(box->weight[vec3_dot(box->axis, lookup->normal) < 0] / lookup->bound2);
        else if (near && leaf)
            for (uint32_t t = box->begin; t < box->begin + box->count; ++t)
                add_exactly(lookup, &view->tiles[t]);
        i = near && !whole ? i + 1 : box->skip;
    }
    return i >= view->box_count && !lookup->modelled &&
           fabsf((float)lookup->lit / TILE_UNITS - KD_PI) <= AREA_ERROR * KD_PI;
}

static bool box_may_be_plane(const plane_search *search, const tile_box *box) {
    return box->count >= PLANE_MIN && box->cosine > PLANE_COSINE &&
           box_reach(box) <= PLANE_REACH * search->tiles.span;
}

/* Marks the sides of a box's triangles that have no other surface within the radius `span`. */
static void search_box(const plane_search *search, uint32_t which, uint32_t sides) {
    const tile_box *box = &search->tiles.boxes[which];
    if (box->count < PLANE_MIN) return;
    for (uint32_t side = 0; side < 2; ++side) {
        if (!(sides >> side & 1u)) continue;
        const uint32_t triangle = search->tiles.tiles[box->begin].triangle & ~TILE_MODELLED;
        tile_lookup lookup =
            tile_lookup_begin(box->middle, side ? vec3_negate(box->axis) : box->axis, triangle,
                              1.001f * search->tiles.span + box_reach(box), PHOTON_KERNEL_DISC);
        if (!(box->weight[side] > 0))
            sides &= ~(1u << side);
        else if (ball_holds_disc(&search->tiles, &lookup)) {
            for (uint32_t t = box->begin; t < box->begin + box->count; ++t) {
                const uint32_t part =
                    search->first[search->tiles.tiles[t].triangle & ~TILE_MODELLED];
                if (part != KD_NONE) search->wide[part] |= (uint8_t)(1u << side);
            }
            sides &= ~(1u << side);
        }
    }
    if (sides == 0 || box->skip == which + 1) return;
    search_box(search, which + 1, sides);
    search_box(search, box->second, sides);
}

static void search_boxes(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const plane_search *in = (const plane_search *)context;
    for (int64_t i = begin; i < end; ++i) search_box(in, in->boxes[i], 3);
}

/* Finds the largest boxes that may be planes. */
static void find_planes(plane_search *search) {
    search->box_count = 0;
    for (uint32_t i = 0; i < search->tiles.box_count;) {
        const tile_box *box = &search->tiles.boxes[i];
        const bool plane = box_may_be_plane(search, box);
        if (plane) search->boxes[search->box_count++] = i;
        i = plane || box->count < PLANE_MIN ? box->skip : i + 1;
    }
}

typedef struct single_parts {
    const tile_parts *parts;
    uint32_t *first;
} single_parts;

static void note_singles(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const single_parts *work = (const single_parts *)context;
    for (int64_t i = begin; i < end; ++i) {
        const tile_face *face = &work->parts->faces[i];
        if (face->depth == 0) work->first[face->triangle] = face->first;
    }
}

/* `first`: per triangle; results for triangles that are not subdivided are stored in `wide`. */
static kd_status search_planes(const tile_set *tile_set, const tile_parts *parts, uint32_t *first,
                               const tile_view *tiles) {
    plane_search search = {*tiles, first, tile_set->wide, NULL, 0};
    single_parts singles = {parts, first};
    parallel_for(parts->face_count, PATCH_GRAIN, note_singles, &singles);
    /* each has at least two children, since PLANE_MIN exceeds TILE_LEAF */
    KD_TRY(KD_RESERVE(search.boxes, tiles->box_count / 3 + 1));
    find_planes(&search);
    parallel_for(search.box_count, PLANE_GRAIN, search_boxes, &search);
    memory_free(search.boxes);
    return KD_OK;
}

/* --- all faces -------------------------------------------------------------------------------- */

/* Returns true if it is worth storing what is known about the triangle's parts. */
static bool face_knows(const tile_face *face, const uint8_t *wide) {
    for (uint32_t p = 0; p < 1u << 2 * face->depth; ++p)
        if (wide[face->first + p]) return true;
    return false;
}

/* tile_view.patches of a face; KD_NONE if nothing is known of its parts. */
static uint32_t patch_of(const tile_face *face, const uint8_t *wide) {
    if (!face_knows(face, wide)) return KD_NONE;
    uint32_t divided = 0;
    for (uint32_t p = 0; p < 1u << 2 * face->depth; ++p)
        if (wide[face->first + p] & (TILE_DIVIDED | TILE_DIVIDED << 1))
            divided = TILE_PATCH_DIVIDED;
    return face->first << TILE_PATCH_SHIFT | divided | face->depth;
}

typedef struct patch_work {
    tile_set *tiles;
    const tile_parts *parts;
} patch_work;

static void note_patches(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const patch_work *work = (const patch_work *)context;
    for (int64_t i = begin; i < end; ++i) {
        const tile_face *face = &work->parts->faces[i];
        work->tiles->patches[face->triangle] = patch_of(face, work->tiles->wide);
    }
}

kd_status tile_set_find_wide(tile_set *tiles, const tile_parts *parts) {
    const uint32_t triangles = tiles->scene->mesh.triangle_count;
    if (parts->count >> (32 - TILE_PATCH_SHIFT))
        return KD_OK; /* too many parts for their indices */
    KD_TRY(KD_RESERVE(tiles->wide, parts->count));
    KD_TRY(KD_RESERVE(tiles->patches, triangles));
    memcpy(tiles->wide, parts->divided, parts->count);
    for (uint32_t p = 0; p < parts->count; ++p) tiles->divided |= parts->divided[p] != 0;
    memset(tiles->patches, 0xff, triangles * sizeof *tiles->patches);
    wide_search search = {parts, tile_set_get_view(tiles), tiles->wide};
    search.tiles.patches = NULL;
    KD_TRY(search_faces(&search));
    KD_TRY(search_planes(tiles, parts, tiles->patches, &search.tiles));
    patch_work work = {tiles, parts};
    parallel_for(parts->face_count, PATCH_GRAIN, note_patches, &work);
    tiles->wide_count = parts->count;
    return KD_OK;
}

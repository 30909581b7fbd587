/* Idea: where all that lies in the ball is one plane without an end, which light reaches everywhere,
         the integral is that of the whole disc, and nobody need look. A triangle's parts are tried
         together first, four by four, each by one look with the kernel 1 in a ball that holds those
         of all places of them: what it finds is the whole disc's area only if nothing ends, begins
         or lies near by.
         Small triangles are tried by the boxes of their tiles, where these lie in one plane: there
         the area within the ball is added up exactly, whole boxes at a time.
   Work: a look for each group of parts that is tried. Fewer than 16 parts are not tried alone, nor
         fewer than 8 small triangles: that takes more than it spares. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "photon/density/tile_set.h"

enum { GROUP_GRAIN = 16, GROUP_DEPTH = 2 };
/* Radii that a group of parts may reach from its middle; error of an area that is whole. */
#define GROUP_MOST 3.0f
#define AREA_ERROR 1e-4f
/* Boxes of small triangles: how far they may reach, in radii, how alike their normals are, how many
   tiles they have, and how many boxes and tiles may be met about them. */
#define PLANE_REACH 2.0f
#define PLANE_COSINE 0.99999f
enum { PLANE_LEAST = 8, PLANE_MEETS = 2048, PLANE_GRAIN = 4 };

typedef struct wide_search {
    const tile_parts *parts;
    tile_view tiles;
    uint8_t *wide;
} wide_search;

/* Some parts of one side of a face. */
typedef struct part_group {
    vec3 corner[3];
    uint32_t first, depth; /* 4^depth of them */
    uint32_t side, face;
} part_group;

/* Groups that are searched by many threads; both sides of one by the same, which marks their byte.
 */
typedef struct group_list {
    wide_search *in;
    part_group *groups; /* NULL: they are only counted */
    uint32_t count;
} group_list;

/* How many of the group's parts are lit, open and opaque. */
static uint32_t count_plain(const wide_search *in, const part_group *group) {
    uint32_t plain = 0;
    for (uint32_t p = group->first; p < group->first + (1u << 2 * group->depth); ++p)
        plain += in->parts->weights[p][group->side] == 1;
    return plain;
}

/* Whether balls of the span about all places of a group hold a whole disc and nothing else. */
static bool group_is_wide(const wide_search *in, const tile_face *face, const part_group *group,
                          float reach, vec3 middle) {
    const vec3 normal = group->side ? vec3_negate(face->normal) : face->normal;
    tile_look look = tile_look_begin(middle, normal, face->triangle,
                                     1.001f * in->tiles.span + reach, PHOTON_KERNEL_DISC);
    if (tile_look_at_all(&in->tiles, &look, TILE_COSINE) < in->tiles.box_count) return false;
    if (look.modelled) return false;
    return fabsf((float)look.lit / TILE_UNITS - KD_PI) <= AREA_ERROR * KD_PI;
}

static part_group part_of_group(const part_group *group, uint32_t child) {
    part_group part = *group;
    tile_part_of(group->corner, child, part.corner);
    part.depth = group->depth - 1;
    part.first = group->first + (child << 2 * part.depth);
    return part;
}

/* How far it reaches from its middle. */
static float group_reach(const part_group *group, vec3 *middle) {
    const vec3 *c = group->corner;
    float reach = 0;
    *middle = vec3_scale(vec3_add(c[0], vec3_add(c[1], c[2])), 1.0f / 3);
    for (int k = 0; k < 3; ++k) reach = float_max(reach, vec3_length(vec3_sub(c[k], *middle)));
    return reach;
}

static void search_group(const wide_search *in, const part_group *group) {
    const uint32_t count = 1u << 2 * group->depth, plain = count_plain(in, group);
    const tile_face *face = &in->parts->faces[group->face];
    if (plain == 0 || group->depth < GROUP_DEPTH) return;
    vec3 middle;
    const float reach = group_reach(group, &middle);
    if (plain == count && reach <= GROUP_MOST * in->tiles.span &&
        group_is_wide(in, face, group, reach, middle)) {
        for (uint32_t p = group->first; p < group->first + count; ++p)
            in->wide[p] |= (uint8_t)(1u << group->side);
        return;
    }
    for (uint32_t child = 0; child < 4; ++child) {
        const part_group part = part_of_group(group, child);
        search_group(in, &part);
    }
}

/* Of a group that is too large to be tried those within it that are not. */
static void list_groups(group_list *to, const part_group *group) {
    vec3 middle;
    if (group->depth < GROUP_DEPTH) return;
    if (group_reach(group, &middle) <= GROUP_MOST * to->in->tiles.span) {
        if (to->groups) to->groups[to->count] = *group;
        ++to->count;
        return;
    }
    for (uint32_t child = 0; child < 4; ++child) {
        const part_group part = part_of_group(group, child);
        list_groups(to, &part);
    }
}

static void list_faces(group_list *to) {
    const tile_parts *parts = to->in->parts;
    to->count = 0;
    for (uint32_t i = 0; i < parts->face_count; ++i) {
        const tile_face *face = &parts->faces[i];
        part_group whole;
        memcpy(whole.corner, face->corner, sizeof whole.corner);
        whole.first = face->first;
        whole.depth = face->depth;
        whole.face = i;
        whole.side = 0;
        list_groups(to, &whole);
    }
}

static void search_groups(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const group_list *of = (const group_list *)context;
    for (int64_t i = begin; i < end; ++i) {
        part_group group = of->groups[i];
        for (group.side = 0; group.side < 2; ++group.side) search_group(of->in, &group);
    }
}

static kd_status search_faces(wide_search *in) {
    group_list found = {in, NULL, 0};
    list_faces(&found);
    KD_TRY(KD_RESERVE(found.groups, found.count));
    list_faces(&found);
    parallel_for(found.count, GROUP_GRAIN, search_groups, &found);
    memory_free(found.groups);
    return KD_OK;
}

/* --- small triangles ---------------------------------------------------------------------------
 */

typedef struct plane_search {
    tile_view tiles;
    const uint32_t *first; /* per triangle: its part, if it is not parted, or KD_NONE */
    uint8_t *wide;
    uint32_t *boxes; /* in which to begin */
    uint32_t box_count;
} plane_search;

/* The farthest that a corner of the box's bounds may lie from its middle. */
static float box_reach(const tile_box *box) {
    const vec3 below = vec3_sub(box->middle, box->lo), above = vec3_sub(box->hi, box->middle);
    return vec3_length(vec3_max(below, above));
}

/* Whether all of a box lies in the ball, faces like the place, and can be added as it is. */
static bool box_lies_within(const tile_look *look, const tile_box *box) {
    const vec3 below = vec3_sub(look->position, box->lo), above = vec3_sub(box->hi, look->position);
    return box->cosine > PLANE_COSINE && !box->modelled &&
           fabsf(vec3_dot(box->axis, look->normal)) > PLANE_COSINE &&
           vec3_length2(vec3_max(below, above)) <= look->bound2;
}

/* Adds a tile by its closed form alone. */
static void add_exactly(tile_look *look, const tile *of) {
    const float weight = tile_weight(look, of, TILE_COSINE);
    vec3 p[3];
    if (!(weight > 0)) return;
    tile_see(look, of, p);
    tile_add(look, of, weight,
             triangle_kernel_integral(look->kernel, p[0], p[1], p[2], of->normal));
}

/* Whether the ball holds a whole disc and nothing else that faces alike. */
static bool ball_holds_disc(const tile_view *view, tile_look *look) {
    uint32_t i = 0;
    while (i < view->box_count && !look->modelled && look->looked_at++ < PLANE_MEETS) {
        const tile_box *box = &view->boxes[i];
        const bool near = tile_box_dist2(box, look->position) <= look->bound2;
        const bool whole = near && box_lies_within(look, box), leaf = box->skip == i + 1;
        if (whole)
            look->lit +=
                tile_units(box->weight[vec3_dot(box->axis, look->normal) < 0] / look->bound2);
        else if (near && leaf)
            for (uint32_t t = box->begin; t < box->begin + box->count; ++t)
                add_exactly(look, &view->tiles[t]);
        i = near && !whole ? i + 1 : box->skip;
    }
    return i >= view->box_count && !look->modelled &&
           fabsf((float)look->lit / TILE_UNITS - KD_PI) <= AREA_ERROR * KD_PI;
}

static bool box_may_be_plane(const plane_search *in, const tile_box *box) {
    return box->count >= PLANE_LEAST && box->cosine > PLANE_COSINE &&
           box_reach(box) <= PLANE_REACH * in->tiles.span;
}

/* Marks the sides of a box's triangles about which nothing else lies. */
static void search_box(const plane_search *in, uint32_t which, uint32_t sides) {
    const tile_box *box = &in->tiles.boxes[which];
    if (box->count < PLANE_LEAST) return;
    for (uint32_t side = 0; side < 2; ++side) {
        if (!(sides >> side & 1u)) continue;
        const uint32_t triangle = in->tiles.tiles[box->begin].triangle & ~TILE_MODELLED;
        tile_look look =
            tile_look_begin(box->middle, side ? vec3_negate(box->axis) : box->axis, triangle,
                            1.001f * in->tiles.span + box_reach(box), PHOTON_KERNEL_DISC);
        if (!(box->weight[side] > 0))
            sides &= ~(1u << side);
        else if (ball_holds_disc(&in->tiles, &look)) {
            for (uint32_t t = box->begin; t < box->begin + box->count; ++t) {
                const uint32_t part = in->first[in->tiles.tiles[t].triangle & ~TILE_MODELLED];
                if (part != KD_NONE) in->wide[part] |= (uint8_t)(1u << side);
            }
            sides &= ~(1u << side);
        }
    }
    if (sides == 0 || box->skip == which + 1) return;
    search_box(in, which + 1, sides);
    search_box(in, box->second, sides);
}

static void search_boxes(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const plane_search *in = (const plane_search *)context;
    for (int64_t i = begin; i < end; ++i) search_box(in, in->boxes[i], 3);
}

/* The largest boxes that may be planes; counted only, if there is no room for them. */
static void find_planes(plane_search *in) {
    in->box_count = 0;
    for (uint32_t i = 0; i < in->tiles.box_count;) {
        const tile_box *box = &in->tiles.boxes[i];
        const bool plane = box_may_be_plane(in, box);
        if (plane && in->boxes) in->boxes[in->box_count] = i;
        in->box_count += plane;
        i = plane || box->count < PLANE_LEAST ? box->skip : i + 1;
    }
}

/* `first`: of each triangle; what is found of those that are not parted goes to `wide`. */
static kd_status search_planes(const tile_set *of, const tile_parts *parts, uint32_t *first,
                               const tile_view *tiles) {
    plane_search search = {*tiles, first, of->wide, NULL, 0};
    for (uint32_t i = 0; i < parts->face_count; ++i)
        if (parts->faces[i].depth == 0) first[parts->faces[i].triangle] = parts->faces[i].first;
    find_planes(&search);
    KD_TRY(KD_RESERVE(search.boxes, search.box_count));
    find_planes(&search);
    parallel_for(search.box_count, PLANE_GRAIN, search_boxes, &search);
    memory_free(search.boxes);
    return KD_OK;
}

/* --- all ---------------------------------------------------------------------------------------
 */

/* The triangle's parts are worth a look into what is known of them. */
static bool face_knows(const tile_face *face, const uint8_t *wide) {
    return face->depth >= GROUP_DEPTH || (face->depth == 0 && wide[face->first]);
}

kd_status tile_set_find_wide(tile_set *of, const tile_parts *parts) {
    const uint32_t triangles = of->scene->mesh.triangle_count;
    if (parts->count >> 28) return KD_OK; /* no room for numbers of parts */
    KD_TRY(KD_RESERVE(of->wide, parts->count));
    KD_TRY(KD_RESERVE(of->patches, triangles));
    memset(of->wide, 0, parts->count);
    memset(of->patches, 0xff, triangles * sizeof *of->patches);
    wide_search search = {parts, tile_set_get_view(of), of->wide};
    search.tiles.patches = NULL;
    KD_TRY(search_faces(&search));
    KD_TRY(search_planes(of, parts, of->patches, &search.tiles));
    for (uint32_t i = 0; i < parts->face_count; ++i) {
        const tile_face *face = &parts->faces[i];
        of->patches[face->triangle] =
            face_knows(face, of->wide) ? face->first << 4 | face->depth : KD_NONE;
    }
    of->wide_count = parts->count;
    return KD_OK;
}

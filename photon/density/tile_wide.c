/* Idea: where all that lies in the ball is one plane without an end, which light reaches everywhere,
         the integral is that of the whole disc, and nobody need look. A triangle's parts are tried
         together first, four by four, each by one look with the kernel 1 in a ball that holds those
         of all places of them: what it finds is the whole disc's area only if nothing ends, begins
         or lies near by.
   Work: a look for each group of parts that is tried. Fewer than 16 parts are not tried alone, nor
         triangles that are small beside the radius: that takes more than it spares. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "photon/density/tile_set.h"

enum { FACE_GRAIN = 16, GROUP_DEPTH = 2 };
/* Radii that a group of parts may reach from its middle; error of an area that is whole. */
#define GROUP_MOST 3.0f
#define AREA_ERROR 1e-4f

typedef struct wide_search {
    const tile_parts *parts;
    tile_view tiles;
    uint8_t *wide;
} wide_search;

/* Some parts of one side of a face. */
typedef struct part_group {
    vec3 corner[3];
    uint32_t first, depth; /* 4^depth of them */
    uint32_t side;
} part_group;

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
    return fabsf(look.lit - KD_PI) <= AREA_ERROR * KD_PI;
}

static void search_group(const wide_search *in, const tile_face *face, const part_group *group) {
    const uint32_t count = 1u << 2 * group->depth, plain = count_plain(in, group);
    if (plain == 0 || group->depth < GROUP_DEPTH) return;
    const vec3 *c = group->corner;
    const vec3 middle = vec3_scale(vec3_add(c[0], vec3_add(c[1], c[2])), 1.0f / 3);
    float reach = 0;
    for (int k = 0; k < 3; ++k) reach = float_max(reach, vec3_length(vec3_sub(c[k], middle)));
    if (plain == count && reach <= GROUP_MOST * in->tiles.span &&
        group_is_wide(in, face, group, reach, middle)) {
        for (uint32_t p = group->first; p < group->first + count; ++p)
            in->wide[p] |= (uint8_t)(1u << group->side);
        return;
    }
    for (uint32_t child = 0; child < 4; ++child) {
        part_group part = *group;
        tile_part_of(c, child, part.corner);
        part.depth = group->depth - 1;
        part.first = group->first + (child << 2 * part.depth);
        search_group(in, face, &part);
    }
}

static void search_faces(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const wide_search *in = (const wide_search *)context;
    for (int64_t i = begin; i < end; ++i) {
        const tile_face *face = &in->parts->faces[i];
        part_group whole;
        if (face->depth < GROUP_DEPTH) continue;
        memcpy(whole.corner, face->corner, sizeof whole.corner);
        whole.first = face->first;
        whole.depth = face->depth;
        for (whole.side = 0; whole.side < 2; ++whole.side) search_group(in, face, &whole);
    }
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
    parallel_for(parts->face_count, FACE_GRAIN, search_faces, &search);
    for (uint32_t i = 0; i < parts->face_count; ++i)
        if (parts->faces[i].depth >= GROUP_DEPTH)
            of->patches[parts->faces[i].triangle] =
                parts->faces[i].first << 4 | parts->faces[i].depth;
    of->wide_count = parts->count;
    return KD_OK;
}

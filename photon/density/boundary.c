/* Idea: vertices at the same place are welded, sides with the same two ends are chained; a side
         is smooth if a triangle across it continues its own within the cosine, else it is a
         crease. Triangles joined by smooth sides form patches whose windings are made to agree
         (union-find with a parity), so that a patch's outline runs one way around it.
   Work: O(n) expected, by hashing.
   Memory: about 64 bytes a triangle while it runs. Exact copies of a triangle (the same three
           places in any order) have no sides: rays, and so photons, meet the one with the
           smallest id, and an outline that ran twice would be taken off twice.
   Invariants: sides that coincide in the other direction cancel in the estimate's integral, so
               T-junctions inside a plane need no care. */
#include "photon/density/boundary.h"
#include "core/hash.h"
#include "core/memory.h"
#include "points/builders.h"
#include "shaders/surface.h"

enum {
    CHAIN_LOOKED_AT = 64, /* sides in one place beyond these are creases: soups stay linear */
    PIECES_WANTED = 1 << 22,
    PIECES_ACROSS = 4096 /* of the least length, along the diagonal of all triangles */
};

typedef struct crease_search {
    const mesh_view *mesh;
    vec3 *normals;    /* per triangle; zero: no area, or a copy */
    uint32_t *first;  /* per triangle: the one of which it is a copy; itself: it is none */
    uint32_t *welded; /* per vertex: the first one at its place */
    uint32_t *table;  /* hash to a vertex, later to a side */
    uint64_t mask;
    uint32_t *next;   /* side after this one in its chain */
    uint32_t *parent; /* union-find over triangles */
    uint8_t *parity;  /* against the parent's winding */
    uint8_t *creases; /* per triangle: bit per side */
    double length;    /* of all creases */
    box3 box;         /* of all triangles */
} crease_search;

static uint64_t power_of_two_above(uint64_t count) {
    uint64_t size = 16;
    while (size < 2 * count) size *= 2;
    return size;
}

static bool same_place(vec3 a, vec3 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z; /* -0 equals +0 */
}

static uint64_t place_hash(vec3 p) {
    const uint64_t xy = (uint64_t)float_bits(p.x + 0.0f) << 32 | float_bits(p.y + 0.0f);
    return hash_scatter(xy ^ hash_scatter(float_bits(p.z + 0.0f)));
}

static void weld(crease_search *search) {
    const mesh_view *mesh = search->mesh;
    memset(search->table, 0xff, (search->mask + 1) * sizeof *search->table);
    for (uint32_t i = 0; i < mesh->position_count; ++i) {
        uint64_t slot = place_hash(mesh->positions[i]) & search->mask;
        while (search->table[slot] != KD_NONE &&
               !same_place(mesh->positions[search->table[slot]], mesh->positions[i]))
            slot = (slot + 1) & search->mask;
        if (search->table[slot] == KD_NONE) search->table[slot] = i;
        search->welded[i] = search->table[slot];
    }
}

/* The welded ends of side 3 t + k, from corner k to the next one. */
static uint32_t side_from(const crease_search *search, uint32_t side) {
    return search->welded[search->mesh->triangles[side]];
}
static uint32_t side_to(const crease_search *search, uint32_t side) {
    return search->welded[search->mesh->triangles[side % 3 == 2 ? side - 2 : side + 1]];
}

static void sort_corners(uint32_t corner[3]) {
    for (int i = 0; i < 3; ++i) {
        const int a = i % 2, b = a + 1; /* (0, 1), (1, 2), (0, 1) */
        const uint32_t low = corner[a] < corner[b] ? corner[a] : corner[b];
        corner[b] = corner[a] < corner[b] ? corner[b] : corner[a];
        corner[a] = low;
    }
}

static void sorted_corners(const crease_search *search, uint32_t triangle, uint32_t out[3]) {
    for (int k = 0; k < 3; ++k) out[k] = side_from(search, 3 * triangle + (uint32_t)k);
    sort_corners(out);
}

static bool same_corners(const crease_search *search, uint32_t triangle, const uint32_t sorted[3]) {
    uint32_t other[3];
    sorted_corners(search, triangle, other);
    return other[0] == sorted[0] && other[1] == sorted[1] && other[2] == sorted[2];
}

/* Triangles with the same three places; all but the first of them lose their sides. */
static void find_copies(crease_search *search) {
    memset(search->table, 0xff, (search->mask + 1) * sizeof *search->table);
    for (uint32_t t = 0; t < search->mesh->triangle_count; ++t) {
        search->first[t] = t;
        if (vec3_is_zero(search->normals[t])) continue;
        uint32_t corner[3];
        sorted_corners(search, t, corner);
        uint64_t slot =
            hash_scatter(((uint64_t)corner[0] << 32 | corner[1]) ^ hash_scatter(corner[2]));
        for (slot &= search->mask; search->table[slot] != KD_NONE; slot = (slot + 1) & search->mask)
            if (same_corners(search, search->table[slot], corner)) break;
        if (search->table[slot] == KD_NONE) {
            search->table[slot] = t;
            continue;
        }
        search->first[t] = search->table[slot];
        search->normals[t] = vec3_all(0);
    }
}

/* Whether a copy's winding is against that of the first: its corners in another cyclic order. */
static uint8_t copy_differs(const crease_search *search, uint32_t triangle, uint32_t first) {
    for (uint32_t k = 0; k < 3; ++k)
        if (side_from(search, 3 * triangle + k) == side_from(search, 3 * first))
            return side_to(search, 3 * triangle + k) != side_to(search, 3 * first);
    return 0;
}

static void chain_sides(crease_search *search) {
    memset(search->table, 0xff, (search->mask + 1) * sizeof *search->table);
    for (uint32_t side = 0; side < 3 * search->mesh->triangle_count; ++side) {
        search->next[side] = KD_NONE;
        if (vec3_is_zero(search->normals[side / 3])) continue;
        const uint32_t from = side_from(search, side), to = side_to(search, side);
        const uint32_t low = from < to ? from : to, high = from < to ? to : from;
        uint64_t slot = hash_scatter((uint64_t)low << 32 | high) & search->mask;
        for (; search->table[slot] != KD_NONE; slot = (slot + 1) & search->mask) {
            const uint32_t other = search->table[slot];
            const uint32_t a = side_from(search, other), b = side_to(search, other);
            if ((a == low && b == high) || (a == high && b == low)) break;
        }
        search->next[side] = search->table[slot];
        search->table[slot] = side;
    }
}

/* The root of a triangle's patch; *parity: whether their windings differ. */
static uint32_t patch_find(crease_search *search, uint32_t triangle, uint8_t *parity) {
    uint32_t root = triangle;
    uint8_t total = 0;
    while (search->parent[root] != root) {
        total ^= search->parity[root];
        root = search->parent[root];
    }
    *parity = total;
    while (search->parent[triangle] != root && triangle != root) {
        const uint32_t up = search->parent[triangle];
        const uint8_t step = search->parity[triangle];
        search->parent[triangle] = root;
        search->parity[triangle] = total;
        total ^= step;
        triangle = up;
    }
    return root;
}

static void find_flips(crease_search *search, uint8_t *flips) {
    for (uint32_t t = 0; t < search->mesh->triangle_count; ++t) {
        const uint32_t first = search->first[t];
        patch_find(search, first, &flips[t]);
        if (first != t) flips[t] ^= copy_differs(search, t, first);
    }
}

static void patch_join(crease_search *search, uint32_t a, uint32_t b, uint8_t differ) {
    uint8_t parity_a, parity_b;
    const uint32_t root_a = patch_find(search, a, &parity_a);
    const uint32_t root_b = patch_find(search, b, &parity_b);
    if (root_a == root_b) return;
    const uint32_t low = root_a < root_b ? root_a : root_b,
                   high = root_a < root_b ? root_b : root_a;
    search->parent[high] = low;
    search->parity[high] = (uint8_t)(parity_a ^ parity_b ^ differ);
}

/* Whether the triangle of `other` continues that of `side`; *differ: by the other winding. */
static bool continues(const crease_search *search, uint32_t side, uint32_t other, uint8_t *differ) {
    if (side / 3 == other / 3) return false;
    *differ = side_from(search, side) == side_from(search, other);
    const float cosine = vec3_dot(search->normals[side / 3], search->normals[other / 3]);
    return (*differ ? -cosine : cosine) >= CREASE_COSINE;
}

static void classify_chain(crease_search *search, uint32_t head) {
    for (uint32_t side = head; side != KD_NONE; side = search->next[side]) {
        bool smooth = false;
        uint32_t looked_at = 0;
        for (uint32_t other = head; other != KD_NONE && looked_at < CHAIN_LOOKED_AT;
             other = search->next[other], ++looked_at) {
            uint8_t differ;
            if (!continues(search, side, other, &differ)) continue;
            smooth = true;
            patch_join(search, side / 3, other / 3, differ);
        }
        if (smooth) continue;
        search->creases[side / 3] |= (uint8_t)(1u << side % 3);
        const vec3 from = search->mesh->positions[side_from(search, side)];
        const vec3 to = search->mesh->positions[side_to(search, side)];
        search->length += (double)vec3_length(vec3_sub(to, from));
    }
}

static void find_creases(crease_search *search) {
    const mesh_view *mesh = search->mesh;
    for (uint32_t t = 0; t < mesh->triangle_count; ++t) {
        const uint32_t *corner = mesh->triangles + 3 * (size_t)t;
        search->normals[t] = triangle_unit_normal(
            mesh->positions[corner[0]], mesh->positions[corner[1]], mesh->positions[corner[2]]);
        for (int k = 0; k < 3; ++k) box3_include(&search->box, mesh->positions[corner[k]]);
        search->parent[t] = t;
    }
    weld(search);
    find_copies(search);
    chain_sides(search);
    for (uint64_t slot = 0; slot <= search->mask; ++slot)
        if (search->table[slot] != KD_NONE) classify_chain(search, search->table[slot]);
}

/* As asked for, but so long that the pieces' number and bytes stay within reason: what a radius far
   below the scene's size has in reach is few pieces of any length. */
static float choose_piece_length(const crease_search *search, float asked) {
    const float across = search->mesh->triangle_count ? vec3_length(box3_size(search->box)) : 0;
    return float_max(float_max(asked, across / PIECES_ACROSS),
                     (float)(search->length / PIECES_WANTED));
}

static uint32_t side_pieces(const crease_search *search, uint32_t side, float piece_length) {
    const vec3 from = search->mesh->positions[side_from(search, side)];
    const vec3 to = search->mesh->positions[side_to(search, side)];
    return (uint32_t)float_clamp(ceilf(vec3_length(vec3_sub(to, from)) / piece_length), 1, 1e6f);
}

static void cut_side(const crease_search *search, const uint8_t *flips, uint32_t side,
                     uint32_t count, crease *pieces) {
    const bool flip = flips[side / 3] != 0;
    const uint32_t first = flip ? side_to(search, side) : side_from(search, side);
    const uint32_t last = flip ? side_from(search, side) : side_to(search, side);
    const vec3 from = search->mesh->positions[first], to = search->mesh->positions[last];
    const vec3 normal = search->normals[side / 3];
    for (uint32_t i = 0; i < count; ++i) {
        const float a = (float)i / (float)count, b = (float)(i + 1) / (float)count;
        pieces[i].from = vec3_add(vec3_scale(from, 1 - a), vec3_scale(to, a));
        pieces[i].to = vec3_add(vec3_scale(from, 1 - b), vec3_scale(to, b));
        pieces[i].normal = flip ? vec3_negate(normal) : normal;
    }
}

static bool side_is_crease(const crease_search *search, uint32_t side) {
    return ((uint32_t)search->creases[side / 3] >> side % 3 & 1u) != 0;
}

/* Cuts the creases into out->pieces, in the order of sides; *count of them. */
static kd_status cut_creases(crease_set *out, const crease_search *search, float piece_length,
                             uint64_t *count) {
    const uint32_t sides = 3 * search->mesh->triangle_count;
    uint64_t total = 0;
    for (uint32_t side = 0; side < sides; ++side)
        if (side_is_crease(search, side)) {
            total += side_pieces(search, side, piece_length);
            ++out->edge_count;
        }
    KD_TRY(KD_RESERVE(out->pieces, total));
    total = 0;
    for (uint32_t side = 0; side < sides; ++side)
        if (side_is_crease(search, side)) {
            const uint32_t pieces = side_pieces(search, side, piece_length);
            cut_side(search, out->flips, side, pieces, out->pieces + total);
            total += pieces;
        }
    *count = total;
    return KD_OK;
}

/* Builds the tree of middle points and brings the pieces into its order. */
static kd_status plant_creases(crease_set *out, uint64_t count, float piece_length, job *watched) {
    kd_status status = KD_OK;
    vec3 *middles = NULL;
    crease *ordered = NULL;
    KD_TRY_GOTO(KD_RESERVE(middles, count));
    for (uint64_t i = 0; i < count; ++i) {
        const crease *piece = &out->pieces[i];
        middles[i] = vec3_add(vec3_scale(piece->from, 0.5f), vec3_scale(piece->to, 0.5f));
        const float half = 0.5f * vec3_length(vec3_sub(piece->to, piece->from));
        out->reach = float_max(out->reach, half * 1.0001f); /* rounding of the middle */
    }
    KD_TRY_GOTO(pointtree_open(&out->middles, middles, count, NULL, NULL, watched));
    KD_TRY_GOTO(KD_RESERVE(ordered, count));
    for (uint64_t i = 0; i < count; ++i) ordered[i] = out->pieces[out->middles.ids[i]];
    memory_free(out->pieces);
    out->pieces = ordered;
    KD_TRY_GOTO(crease_groups_open(&out->groups, out->pieces, (uint32_t)count, piece_length));
done:
    memory_free(middles);
    return status;
}

static kd_status reserve_search(crease_search *search, const mesh_view *mesh) {
    const uint64_t triangles = mesh->triangle_count;
    const uint64_t keys =
        mesh->position_count > 3 * triangles ? mesh->position_count : 3 * triangles;
    KD_REQUIRE(3 * triangles < KD_NONE, KD_ERROR_INPUT,
               "%u triangles, expected at most %u for photon mapping", mesh->triangle_count,
               KD_NONE / 3 - 1);
    search->mesh = mesh;
    search->box = box3_empty();
    search->mask = power_of_two_above(keys) - 1;
    KD_TRY(KD_RESERVE(search->normals, triangles));
    KD_TRY(KD_RESERVE(search->first, triangles));
    KD_TRY(KD_RESERVE(search->welded, mesh->position_count));
    KD_TRY(KD_RESERVE(search->table, search->mask + 1));
    KD_TRY(KD_RESERVE(search->next, 3 * triangles));
    KD_TRY(KD_RESERVE(search->parent, triangles));
    KD_TRY(KD_RESERVE_ZEROED(search->parity, triangles));
    KD_TRY(KD_RESERVE_ZEROED(search->creases, triangles));
    return KD_OK;
}

kd_status crease_set_open(crease_set *out, const mesh_view *mesh, float piece_length,
                          job *watched) {
    memset(out, 0, sizeof *out);
    KD_REQUIRE(piece_length > 0, KD_ERROR_USAGE, "crease pieces of length %g, expected above 0",
               (double)piece_length);
    kd_status status = KD_OK;
    crease_search search;
    memset(&search, 0, sizeof search);
    uint64_t count = 0;
    KD_TRY_GOTO(reserve_search(&search, mesh));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(out->flips, mesh->triangle_count));
    find_creases(&search);
    find_flips(&search, out->flips);
    piece_length = choose_piece_length(&search, piece_length);
    KD_TRY_GOTO(cut_creases(out, &search, piece_length, &count));
    KD_TRY_GOTO(plant_creases(out, count, piece_length, watched));
done:
    memory_free(search.normals);
    memory_free(search.first);
    memory_free(search.welded);
    memory_free(search.table);
    memory_free(search.next);
    memory_free(search.parent);
    memory_free(search.parity);
    memory_free(search.creases);
    if (status != KD_OK) crease_set_close(out);
    return status;
}

void crease_set_close(crease_set *owned) {
    memory_free(owned->pieces);
    memory_free(owned->flips);
    pointtree_close(&owned->middles);
    crease_groups_close(&owned->groups);
    memset(owned, 0, sizeof *owned);
}

crease_view crease_set_get_view(const crease_set *from) {
    crease_view view;
    memset(&view, 0, sizeof view);
    view.pieces = from->pieces;
    view.middles = pointtree_get_view(&from->middles);
    view.flips = from->flips;
    view.reach = from->reach;
    view.groups = from->groups.groups;
    view.order = from->groups.order;
    view.group_count = from->groups.count;
    return view;
}

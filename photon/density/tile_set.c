/* Idea: each triangle that stores photons is subdivided until its parts are small relative to the
         estimation radius; adjacent parts with equal weights are merged again into tiles up to some
         radii long.
   Work: O(n) expected to find copies, by hashing; then a weight for each part.
   Invariants: among copies of a triangle, only the one with the smallest index is kept, since it is
               the one that rays and photons hit. A triangle without area has no tile. */
#include "photon/density/tile_set.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"
#include "photon/density/tile_parts.h"
#include "photon/density/tile_probe.h"
#include "shaders/bsdf.h"

enum { FACE_GRAIN = 1024, WEIGHT_GRAIN = 64, OPACITY_SIDE = 4 };
/* Upper bound of the parts in a disc with the estimation radius. A square whose side is the radius
   has at most 22. */
enum { PARTS_A_DISC = 70 };

/* Longest side of a tile, in radii, where light is uniform. The accuracy of the closed form limits
   it; a shorter limit would cut slivers into many tiles. */
#define LONGEST 16.0f
/* Size of the parts, in radii, where light may vary. */
#define PART 0.4f
/* Maximum number of parts in total. */
#define PARTS_TARGET (1u << 19)

/* --- selection of triangles ------------------------------------------------------------------- */

static bool place_before(vec3 a, vec3 b) {
    if (a.x != b.x) return a.x < b.x;
    if (a.y != b.y) return a.y < b.y;
    return a.z < b.z;
}

/* Corners of a triangle in sorted order; -0 becomes +0. */
static void sorted_places(const mesh_view *mesh, uint32_t triangle, vec3 out[3]) {
    for (uint32_t k = 0; k < 3; ++k)
        out[k] = vec3_add(mesh->positions[mesh->triangles[3 * (size_t)triangle + k]], vec3_all(0));
    for (int i = 0; i < 3; ++i) {
        const int a = i % 2; /* (0, 1), (1, 2), (0, 1) */
        const vec3 first = out[a];
        if (!place_before(out[a + 1], first)) continue;
        out[a] = out[a + 1];
        out[a + 1] = first;
    }
}

static bool same_places(const mesh_view *mesh, uint32_t triangle, const vec3 places[3]) {
    vec3 other[3];
    sorted_places(mesh, triangle, other);
    for (int k = 0; k < 3; ++k)
        if (place_before(other[k], places[k]) || place_before(places[k], other[k])) return false;
    return true;
}

static uint64_t places_hash(const mesh_view *mesh, uint32_t triangle) {
    vec3 places[3];
    uint64_t hash = 0;
    sorted_places(mesh, triangle, places);
    for (int k = 0; k < 3; ++k)
        for (int axis = 0; axis < 3; ++axis)
            hash = hash_scatter(hash ^ float_bits(vec3_axis(places[k], axis)));
    return hash;
}

/* Returns true if photons can be stored somewhere on the triangle. */
static bool keeps_photons(const scene_view *scene, uint32_t triangle) {
    const uint32_t index = scene->mesh.triangle_materials[triangle];
    const material *made = &scene->materials[index];
    return made->opacity > 0 &&
           material_holds_photons(made, scene->layers ? &scene->layers[index] : NULL);
}

/* Search for the triangles that have tiles. */
typedef struct face_search {
    const scene_view *scene;
    uint64_t *hashes; /* of the triangles' corners */
    uint32_t *table;  /* hash table: of equal triangles, the one with the smallest index */
    uint64_t mask;
    uint32_t *slots;  /* per triangle: its place in the table; KD_NONE: it has no area */
    uint32_t *places; /* per triangle: 1 if it has tiles, else 0; later the number before it */
    tile_face *faces;
    uint32_t face_count, copies;
} face_search;

static bool face_of(const mesh_view *mesh, uint32_t triangle, tile_face *face) {
    memset(face, 0, sizeof *face);
    face->triangle = triangle;
    tile_face_corners(mesh, triangle, face->corner);
    face->normal = triangle_unit_normal(face->corner[0], face->corner[1], face->corner[2]);
    face->area = triangle_area(face->corner);
    return face->area > 0 && face->area <= FLT_MAX && !vec3_is_zero(face->normal);
}

static void hash_triangles(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const face_search *in = (const face_search *)context;
    tile_face face;
    for (uint32_t t = (uint32_t)begin; t < (uint32_t)end; ++t) {
        in->slots[t] = KD_NONE;
        if (!face_of(&in->scene->mesh, t, &face)) continue;
        in->hashes[t] = places_hash(&in->scene->mesh, t);
        in->slots[t] = (uint32_t)(in->hashes[t] & in->mask);
    }
}

/* Adds a triangle to the hash table, in place of equal ones with larger indices. */
static uint32_t note_triangle(const face_search *in, uint32_t triangle) {
    vec3 places[3];
    sorted_places(&in->scene->mesh, triangle, places);
    for (uint64_t slot = in->hashes[triangle] & in->mask;; slot = (slot + 1) & in->mask) {
        uint32_t *at = &in->table[slot], there = KD_NONE;
        if (__atomic_compare_exchange_n(at, &there, triangle, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return (uint32_t)slot;
        if (in->hashes[there] != in->hashes[triangle] ||
            !same_places(&in->scene->mesh, there, places))
            continue;
        while (triangle < there &&
               !__atomic_compare_exchange_n(at, &there, triangle, false, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED)) {
        }
        return (uint32_t)slot;
    }
}

static void note_triangles(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const face_search *in = (const face_search *)context;
    for (uint32_t t = (uint32_t)begin; t < (uint32_t)end; ++t)
        if (in->slots[t] != KD_NONE) in->slots[t] = note_triangle(in, t);
}

static void choose_triangles(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    face_search *in = (face_search *)context;
    uint32_t copies = 0;
    for (uint32_t t = (uint32_t)begin; t < (uint32_t)end; ++t) {
        const bool has_area = in->slots[t] != KD_NONE;
        const bool is_first = has_area && in->table[in->slots[t]] == t;
        copies += has_area && !is_first;
        in->places[t] = is_first && keeps_photons(in->scene, t);
    }
    __atomic_fetch_add(&in->copies, copies, __ATOMIC_RELAXED);
}

static void take_faces(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const face_search *in = (const face_search *)context;
    const uint32_t count = in->scene->mesh.triangle_count;
    for (uint32_t t = (uint32_t)begin; t < (uint32_t)end; ++t) {
        const uint32_t next = t + 1 < count ? in->places[t + 1] : in->face_count;
        if (next != in->places[t]) (void)face_of(&in->scene->mesh, t, &in->faces[in->places[t]]);
    }
}

static kd_status find_faces(tile_parts *out, uint32_t *copies, const scene_view *scene) {
    const uint32_t count = scene->mesh.triangle_count;
    kd_status status = KD_OK;
    face_search search;
    uint64_t size = 16;
    while (size < 2 * (uint64_t)count) size *= 2;
    memset(&search, 0, sizeof search);
    search.scene = scene;
    search.mask = size - 1;
    KD_TRY_GOTO(KD_RESERVE(search.hashes, count));
    KD_TRY_GOTO(KD_RESERVE(search.slots, count));
    KD_TRY_GOTO(KD_RESERVE(search.places, count));
    KD_TRY_GOTO(KD_RESERVE(search.table, size));
    large_pages_prefer(search.hashes, count * sizeof *search.hashes);
    large_pages_prefer(search.table, size * sizeof *search.table);
    memset(search.table, 0xff, size * sizeof *search.table);
    parallel_for(count, FACE_GRAIN, hash_triangles, &search);
    parallel_for(count, FACE_GRAIN, note_triangles, &search);
    parallel_for(count, FACE_GRAIN, choose_triangles, &search);
    search.face_count = (uint32_t)scan_exclusive_u32(search.places, search.places, count);
    KD_TRY_GOTO(KD_RESERVE(out->faces, search.face_count));
    large_pages_prefer(out->faces, search.face_count * sizeof *out->faces);
    search.faces = out->faces;
    parallel_for(count, FACE_GRAIN, take_faces, &search);
    out->face_count = search.face_count;
    *copies += search.copies;
done:
    memory_free(search.hashes);
    memory_free(search.slots);
    memory_free(search.places);
    memory_free(search.table);
    return status;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Subdivision depth of a face so that no side of a part is longer than `longest` and, where light
   may vary, no part is much larger than a square of size `part`. */
static uint32_t face_depth(const tile_face *face, float part, float longest) {
    float side2 = 0;
    for (int k = 0; k < 3; ++k)
        side2 =
            float_max(side2, vec3_length2(vec3_sub(face->corner[(k + 1) % 3], face->corner[k])));
    const float side = sqrtf(side2), square = sqrtf(2 * face->area);
    uint32_t depth = 0;
    while (depth < TILE_DEPTH_MAX && (ldexpf(side, -(int)depth) > longest ||
                                      (part > 0 && ldexpf(square, -(int)depth) > 1.5f * part)))
        ++depth;
    return depth;
}

typedef struct part_plan {
    tile_parts *parts;
    float part, longest;
    uint64_t count;   /* number of parts */
    uint32_t *firsts; /* per face: its parts, then its first part */
} part_plan;

static void divide_faces(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    part_plan *plan = (part_plan *)context;
    uint64_t count = 0;
    for (int64_t i = begin; i < end; ++i) {
        tile_face *face = &plan->parts->faces[i];
        face->depth = (uint8_t)face_depth(face, plan->part, plan->longest);
        plan->firsts[i] = 1u << 2 * face->depth;
        count += plan->firsts[i];
    }
    __atomic_fetch_add(&plan->count, count, __ATOMIC_RELAXED);
}

static void number_parts(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const part_plan *plan = (const part_plan *)context;
    for (int64_t i = begin; i < end; ++i) plan->parts->faces[i].first = plan->firsts[i];
}

/* Chooses the size of parts: as requested, or coarser if that would make too many. */
static kd_status plan_parts(tile_parts *parts, float radius, float *size) {
    part_plan plan = {parts, 0, 0, 0, NULL};
    KD_TRY(KD_RESERVE(plan.firsts, parts->face_count));
    for (float coarser = 1;; coarser *= 1.5f) {
        plan.count = 0;
        plan.part = coarser * PART * radius;
        plan.longest = coarser * 2 * radius;
        parallel_for(parts->face_count, FACE_GRAIN, divide_faces, &plan);
        if (plan.count <= (uint64_t)PARTS_TARGET + parts->face_count) break;
    }
    (void)scan_exclusive_u32(plan.firsts, plan.firsts, parts->face_count);
    parallel_for(parts->face_count, FACE_GRAIN, number_parts, &plan);
    memory_free(plan.firsts);
    parts->count = (uint32_t)plan.count;
    *size = plan.part;
    return KD_OK;
}

static bool opacity_is_constant(const material *made) {
    return made->opacity_map == KD_NONE && !(made->flags & MATERIAL_VERTEX_OPACITY);
}

/* Mean opacity of a part. */
static float part_opacity(const scene_view *scene, const tile_face *face, uint32_t part) {
    const material *made = scene->materials + scene->mesh.triangle_materials[face->triangle];
    if (opacity_is_constant(made)) return float_clamp(made->opacity, 0, 1);
    vec2 corner[3];
    float sum = 0;
    tile_part_corners(face->depth, part, corner);
    for (int i = 0; i < OPACITY_SIDE * OPACITY_SIDE; ++i) {
        const vec2 w = sample_triangle(((float)(i / OPACITY_SIDE) + 0.5f) / OPACITY_SIDE,
                                       ((float)(i % OPACITY_SIDE) + 0.5f) / OPACITY_SIDE);
        ray_hit at;
        at.t = 0;
        at.u = (1 - w.x - w.y) * corner[0].x + w.x * corner[1].x + w.y * corner[2].x;
        at.v = (1 - w.x - w.y) * corner[0].y + w.x * corner[1].y + w.y * corner[2].y;
        at.triangle = face->triangle;
        sum += 1 - float_clamp(surface_passes(scene, at), 0, 1);
    }
    return sum / (OPACITY_SIDE * OPACITY_SIDE);
}

typedef struct weighing_work {
    const scene_view *scene;
    tile_parts *parts;
} weighing_work;

static void weigh_faces(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const weighing_work *work = (const weighing_work *)context;
    for (int64_t i = begin; i < end; ++i) {
        const tile_face *face = &work->parts->faces[i];
        for (uint32_t p = 0; p < 1u << 2 * face->depth; ++p) {
            float *weight = work->parts->weights[face->first + p];
            weight[0] = weight[1] = part_opacity(work->scene, face, p);
        }
    }
}

/* --- tiles ------------------------------------------------------------------------------------ */

typedef struct tile_making {
    const scene_view *scene;
    const tile_parts *parts;
    tile *tiles; /* NULL: count only */
    uint32_t count;
    float longest;
} tile_making;

static bool parts_are_alike(const tile_parts *parts, uint32_t first, uint32_t count) {
    for (uint32_t p = first + 1; p < first + count; ++p)
        if (memcmp(parts->weights[p], parts->weights[first], sizeof parts->weights[p]) != 0)
            return false;
    return true;
}

/* Returns true if the sides that count have the full weight: the opacity 1 or the constant
   opacity. */
static bool weights_are_plain(const scene_view *scene, const tile_face *face,
                              const float weight[2]) {
    const material *made = scene->materials + scene->mesh.triangle_materials[face->triangle];
    const float plain = opacity_is_constant(made) ? float_clamp(made->opacity, 0, 1) : 1;
    return (weight[0] <= 0 || weight[0] == plain) && (weight[1] <= 0 || weight[1] == plain);
}

static void make_tile(tile_making *work, const tile_face *face, const vec3 corner[3],
                      const float weight[2]) {
    if (weight[0] == 0 && weight[1] == 0) return;
    if (work->tiles) {
        tile *made = &work->tiles[work->count];
        memcpy(made->corner, corner, sizeof made->corner);
        memcpy(made->weight, weight, sizeof made->weight);
        made->normal = face->normal;
        made->area = triangle_area(corner);
        made->triangle = face->triangle;
        if (!weights_are_plain(work->scene, face, weight)) made->triangle |= TILE_MODELLED;
    }
    ++work->count;
}

/* Makes the tiles of the parts `first` ..., `depth` subdivision levels below the triangle
   `corner`. */
static void make_tiles_of(tile_making *work, const tile_face *face, const vec3 corner[3],
                          uint32_t first, uint32_t depth) {
    float side2 = 0;
    for (int k = 0; k < 3; ++k)
        side2 = float_max(side2, vec3_length2(vec3_sub(corner[(k + 1) % 3], corner[k])));
    const bool short_enough = side2 <= work->longest * work->longest;
    if (depth == 0 || (short_enough && parts_are_alike(work->parts, first, 1u << 2 * depth))) {
        make_tile(work, face, corner, work->parts->weights[first]);
        return;
    }
    for (uint32_t child = 0; child < 4; ++child) {
        vec3 part[3];
        tile_part_of(corner, child, part);
        make_tiles_of(work, face, part, first + (child << 2 * (depth - 1)), depth - 1);
    }
}

/* Makes the tiles of faces, behind those of the faces before; or only counts them. */
typedef struct face_tiling {
    tile_making making;
    uint32_t *firsts; /* per face: its tiles, then its first tile */
} face_tiling;

static void tile_faces(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const face_tiling *tiling = (const face_tiling *)context;
    tile_making work = tiling->making;
    for (int64_t i = begin; i < end; ++i) {
        const tile_face *face = &work.parts->faces[i];
        work.count = work.tiles ? tiling->firsts[i] : 0;
        make_tiles_of(&work, face, face->corner, face->first, face->depth);
        if (!work.tiles) tiling->firsts[i] = work.count;
    }
}

static kd_status tiles_of_parts(tile_set *out, const scene_view *scene, const tile_parts *parts,
                                float radius) {
    face_tiling tiling = {{scene, parts, NULL, 0, LONGEST * radius}, NULL};
    kd_status status = KD_OK;
    KD_TRY(KD_RESERVE(tiling.firsts, parts->face_count));
    parallel_for(parts->face_count, FACE_GRAIN, tile_faces, &tiling);
    out->count = (uint32_t)scan_exclusive_u32(tiling.firsts, tiling.firsts, parts->face_count);
    KD_TRY_GOTO(KD_RESERVE(out->tiles, out->count));
    large_pages_prefer(out->tiles, out->count * sizeof *out->tiles);
    tiling.making.tiles = out->tiles;
    parallel_for(parts->face_count, FACE_GRAIN, tile_faces, &tiling);
done:
    memory_free(tiling.firsts);
    if (status != KD_OK) return status;
    return tile_boxes_open(&out->boxes, &out->box_count, out->tiles, out->count, radius);
}

static void tile_parts_close(tile_parts *owned) {
    memory_free(owned->faces);
    memory_free(owned->weights);
    memory_free(owned->divided);
    memset(owned, 0, sizeof *owned);
}

kd_status tile_set_open(tile_set *out, const scene_view *scene, const scene_view *view,
                        float radius, bool reach, job_control *job) {
    memset(out, 0, sizeof *out);
    KD_REQUIRE(radius > 0 && radius <= FLT_MAX, KD_ERROR_USAGE,
               "the gather radius is %g; expected a finite value above 0", (double)radius);
    kd_status status = KD_OK;
    tile_parts parts;
    memset(&parts, 0, sizeof parts);
    KD_TRY_GOTO(find_faces(&parts, &out->copies, scene));
    float size = 0;
    KD_TRY_GOTO(plan_parts(&parts, radius, &size));
    KD_TRY_GOTO(KD_RESERVE(parts.weights, parts.count));
    large_pages_prefer(parts.weights, parts.count * sizeof *parts.weights);
    weighing_work weighing = {scene, &parts};
    parallel_for(parts.face_count, WEIGHT_GRAIN, weigh_faces, &weighing);
    KD_TRY_GOTO(KD_RESERVE_ZEROED(parts.divided, parts.count));
    if (reach) KD_TRY_GOTO(tile_parts_reach(&parts, scene, view, radius, size, job));
    out->scene = scene;
    out->span = radius;
    KD_TRY_GOTO(tiles_of_parts(out, scene, &parts, radius));
    KD_TRY_GOTO(tile_set_find_wide(out, &parts));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(out->bounded, 1));
    if (job_cancelled(job))
        status = status_fail(KD_INTERRUPTED, __FILE__, __LINE__,
                             "building the photon tiles was interrupted");
done:
    tile_parts_close(&parts);
    if (status != KD_OK) tile_set_close(out);
    return status;
}

void tile_set_close(tile_set *owned) {
    memory_free(owned->tiles);
    memory_free(owned->boxes);
    memory_free(owned->patches);
    memory_free(owned->wide);
    memory_free(owned->bounded);
    memset(owned, 0, sizeof *owned);
}

static uint64_t parts_max(uint64_t triangles, uint64_t discs) {
    const bool few = discs < PARTS_TARGET / PARTS_A_DISC;
    return (few ? discs * PARTS_A_DISC : PARTS_TARGET) + triangles;
}

uint64_t tile_set_bytes_max(uint64_t triangles, uint64_t discs) {
    const uint64_t parts = parts_max(triangles, discs);
    const uint64_t probing = tile_parts_reach_bytes_max(parts, triangles);
    const uint64_t making = parts * sizeof(tile) + (parts + parts / 4 + 4) * sizeof(tile_box);
    /* Flags of wide areas, and boxes that may be planes. */
    const uint64_t wide = 2 * parts + triangles * sizeof(uint32_t) + parts / 2;
    return triangles * (sizeof(tile_face) + 4 * sizeof(uint32_t)) + parts * sizeof(float[2]) +
           wide + (probing > making ? probing : making);
}

/* Bytes used during lookups, by which time the probes are freed. */
uint64_t tile_set_bytes_there_max(uint64_t triangles, uint64_t discs) {
    const uint64_t parts = parts_max(triangles, discs);
    const uint64_t kept = parts * (sizeof(tile) + 1) + (parts + parts / 4 + 4) * sizeof(tile_box) +
                          triangles * sizeof(uint32_t);
    const uint64_t probing = tile_probes_cuda_bytes_max(parts, triangles);
    return probing > kept ? probing : kept;
}

tile_view tile_set_get_view(const tile_set *tiles) {
    tile_view view;
    view.tiles = tiles->tiles;
    view.boxes = tiles->boxes;
    view.patches = tiles->wide_count ? tiles->patches : NULL;
    view.wide = tiles->wide;
    view.bounded = tiles->bounded;
    view.count = tiles->count;
    view.box_count = tiles->box_count;
    view.scene = tiles->scene;
    view.span = tiles->span;
    view.divided = tiles->divided;
    return view;
}

uint64_t tile_set_lookups_bounded(const tile_set *tiles) {
    return tiles->bounded ? __atomic_load_n(tiles->bounded, __ATOMIC_RELAXED) : 0;
}

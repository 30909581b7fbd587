/* Smoothing groups of faces without normals, and pass 3. The faces of a group share one normal per
   vertex: the mean of the face normals, weighted by the angle at the vertex.
   Source: the weights are those of Thuermer and Wuethrich 1998, "Computing vertex normals from
     polygonal facets": they make the normal independent of the triangulation.
   Work: linear in the corners, except for vertices in very many groups.
   Memory: 16 bytes per corner. */
#include "core/math/elementary.h"
#include "core/memory.h"
#include "scenes/formats/obj_chunk.h"
#include "scenes/mesh/mesh_cleanup.h"

typedef struct smoother {
    struct mesh *mesh;
    uint32_t *groups;  /* smoothing group of each triangle; 0: flat */
    uint32_t *begin;   /* first corner of each vertex in `corners`, position_count + 1 */
    uint32_t *corners; /* corners sorted by vertex */
    vec3 *weighted;    /* face normal times angle, per corner */
} smoother;

/* Assigns groups to triangles. Returns false if no face is in a group. */
static bool groups_fill(smoother *smoother, const obj_chunk *chunks, uint64_t chunk_count) {
    uint64_t begin = 0;
    uint32_t current = 0;
    bool any = false;
    for (uint64_t c = 0; c <= chunk_count; ++c) {
        const uint64_t events = c < chunk_count ? chunks[c].event_count : 1;
        for (uint64_t e = 0; e < events; ++e) {
            const obj_event *event = c < chunk_count ? &chunks[c].events[e] : NULL;
            if (event && !event->is_group) continue;
            const uint64_t end = event ? event->triangle : smoother->mesh->triangle_count;
            any = any || (current && end > begin);
            for (; begin < end; ++begin) smoother->groups[begin] = current;
            if (event) current = event->group;
        }
    }
    return any;
}

static float angle_between(vec3 a, vec3 b) {
    return float_acos(float_clamp(vec3_dot(vec3_normalize(a), vec3_normalize(b)), -1, 1));
}

/* Computes the weighted normals of a triangle's corners. Flat and unusable triangles get weight
   0. */
static void corners_weigh(smoother *smoother, uint64_t triangle) {
    const mesh *from = smoother->mesh;
    const uint32_t *corner = from->triangles + 3 * triangle;
    vec3 *to = smoother->weighted + 3 * triangle;
    to[0] = to[1] = to[2] = vec3_all(0);
    for (int k = 0; k < 3; ++k)
        if (corner[k] == KD_NONE || !vec3_is_finite(from->positions[corner[k]]))
            smoother->groups[triangle] = 0;
    if (smoother->groups[triangle] == 0) return;
    const vec3 p[3] = {from->positions[corner[0]], from->positions[corner[1]],
                       from->positions[corner[2]]};
    const vec3 along = vec3_normalize(vec3_sub(p[1], p[0]));
    const vec3 normal = vec3_normalize(vec3_cross(along, vec3_normalize(vec3_sub(p[2], p[0]))));
    for (int k = 0; k < 3; ++k)
        to[k] = vec3_scale(
            normal, angle_between(vec3_sub(p[(k + 1) % 3], p[k]), vec3_sub(p[(k + 2) % 3], p[k])));
}

/* Counting sort of the corners by vertex; stable, in file order. */
static void corners_sort(smoother *smoother) {
    const mesh *from = smoother->mesh;
    const uint64_t count = 3 * (uint64_t)from->triangle_count;
    for (uint64_t i = 0; i < count; ++i)
        if (smoother->groups[i / 3]) ++smoother->begin[from->triangles[i] + 1];
    for (uint32_t v = 0; v < from->position_count; ++v)
        smoother->begin[v + 1] += smoother->begin[v];
    for (uint64_t i = count; i-- > 0;)
        if (smoother->groups[i / 3]) {
            /* begin[v + 1] counts down to the first corner of v */
            const uint32_t at = --smoother->begin[from->triangles[i] + 1];
            smoother->corners[at] = (uint32_t)i;
        }
    for (uint32_t v = 0; v < from->position_count; ++v) smoother->begin[v] = smoother->begin[v + 1];
}

/* Computes one normal for each group among a vertex's corners from `first` to `last`. */
static void vertex_smooth(const smoother *smoother, uint32_t first, uint32_t last) {
    mesh *into = smoother->mesh;
    for (uint32_t i = first; i < last; ++i) {
        const uint32_t corner = smoother->corners[i], group = smoother->groups[corner / 3];
        if (into->normal_indices[corner] != KD_NONE || isnan(smoother->weighted[corner].x))
            continue;
        vec3 sum = vec3_all(0);
        for (uint32_t j = i; j < last; ++j)
            if (smoother->groups[smoother->corners[j] / 3] == group)
                sum = vec3_add(sum, smoother->weighted[smoother->corners[j]]);
        const vec3 normal = vec3_normalize(sum);
        if (vec3_is_zero(normal)) {
            /* the group has no normal at this vertex; skip its other corners, too */
            for (uint32_t j = i; j < last; ++j)
                if (smoother->groups[smoother->corners[j] / 3] == group)
                    smoother->weighted[smoother->corners[j]].x = NAN;
            continue;
        }
        for (uint32_t j = i; j < last; ++j)
            if (smoother->groups[smoother->corners[j] / 3] == group)
                into->normal_indices[smoother->corners[j]] = into->normal_count;
        into->normals[into->normal_count++] = normal;
    }
}

static void vertices_smooth(smoother *smoother) {
    mesh *into = smoother->mesh;
    const uint64_t count = 3 * (uint64_t)into->triangle_count;
    uint64_t used = 0;
    for (uint64_t t = 0; t < into->triangle_count; ++t) corners_weigh(smoother, t);
    for (uint64_t i = 0; i < count; ++i) used += smoother->groups[i / 3] != 0;
    corners_sort(smoother);
    for (uint32_t v = 0; v < into->position_count; ++v)
        vertex_smooth(smoother, smoother->begin[v],
                      v + 1 < into->position_count ? smoother->begin[v + 1] : (uint32_t)used);
}

/* Removes triangles with normals from the groups. Returns false if no triangle is left. */
static bool groups_keep(smoother *smoother) {
    const mesh *from = smoother->mesh;
    bool any = false;
    for (uint64_t t = 0; t < from->triangle_count; ++t) {
        const uint32_t *normal = from->normal_indices + 3 * t;
        if (normal[0] != KD_NONE || normal[1] != KD_NONE || normal[2] != KD_NONE)
            smoother->groups[t] = 0;
        any = any || smoother->groups[t];
    }
    return any;
}

/* Makes room for the normals of all corners. */
static kd_status normals_reserve(mesh *mesh, uint64_t corners) {
    if (mesh->normals)
        return KD_GROW(mesh->normals, mesh->normal_count, mesh->normal_count + corners);
    KD_TRY(KD_RESERVE(mesh->normals, corners));
    KD_TRY(KD_RESERVE(mesh->normal_indices, corners));
    for (uint64_t i = 0; i < corners; ++i) mesh->normal_indices[i] = KD_NONE;
    return KD_OK;
}

kd_status obj_smooth(mesh *mesh, const obj_chunk *chunks, uint64_t chunk_count, bool *smoothed) {
    const uint64_t corners = 3 * (uint64_t)mesh->triangle_count;
    smoother smoother = {.mesh = mesh};
    kd_status status = KD_OK;
    *smoothed = false;
    if (corners == 0 || corners + mesh->normal_count >= KD_NONE) return KD_OK;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(smoother.groups, mesh->triangle_count));
    if (!groups_fill(&smoother, chunks, chunk_count)) goto done;
    if (mesh->normal_indices && !groups_keep(&smoother)) goto done;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(smoother.begin, (uint64_t)mesh->position_count + 1));
    KD_TRY_GOTO(KD_RESERVE(smoother.corners, corners));
    KD_TRY_GOTO(KD_RESERVE(smoother.weighted, corners));
    KD_TRY_GOTO(normals_reserve(mesh, corners));
    vertices_smooth(&smoother);
    if (mesh->normal_count)
        KD_TRY_GOTO(KD_GROW(mesh->normals, mesh->normal_count, mesh->normal_count));
    *smoothed = true;
done:
    memory_free(smoother.groups);
    memory_free(smoother.begin);
    memory_free(smoother.corners);
    memory_free(smoother.weighted);
    return status;
}

enum { CORNERS_SMALL = 16 };

/* Buffers for one polygon, grown to the largest. */
typedef struct polygon_capacity {
    vec3 *points;
    uint32_t *triangles; /* corner numbers of the triangulation */
    uint32_t *corners;   /* one index per corner, of one of the mesh's index arrays */
    uint32_t capacity;
} polygon_capacity;

static kd_status capacity_grow(polygon_capacity *capacity, uint32_t count) {
    if (count <= capacity->capacity) return KD_OK;
    uint32_t size = capacity->capacity ? capacity->capacity : CORNERS_SMALL;
    while (size < count) size = size < UINT32_MAX / 2 ? 2 * size : UINT32_MAX;
    KD_TRY(KD_GROW(capacity->points, 0, size));
    KD_TRY(KD_GROW(capacity->triangles, 0, 3 * (uint64_t)size));
    KD_TRY(KD_GROW(capacity->corners, 0, size));
    capacity->capacity = size;
    return KD_OK;
}

/* Returns the index at corner i of the polygon from the fan that pass 2 wrote. */
static uint32_t fan_corner(const uint32_t *fan, uint32_t i) {
    return i < 2 ? fan[i] : fan[3 * (size_t)(i - 2) + 2];
}

static void fan_replace(uint32_t *fan, const polygon_capacity *capacity, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) capacity->corners[i] = fan_corner(fan, i);
    for (size_t i = 0; i < 3 * (size_t)(count - 2); ++i)
        fan[i] = capacity->corners[capacity->triangles[i]];
}

static kd_status polygon_replace(const obj_polygon *polygon, polygon_capacity *capacity,
                                 mesh *mesh) {
    const size_t first = 3 * (size_t)polygon->first_triangle;
    const uint32_t count = polygon->corner_count;
    KD_TRY(capacity_grow(capacity, count));
    bool finite = true;
    for (uint32_t i = 0; i < count; ++i) {
        capacity->points[i] = mesh->positions[fan_corner(mesh->triangles + first, i)];
        finite = finite && vec3_is_finite(capacity->points[i]);
    }
    if (!finite) { /* mark the polygon; mesh_compact removes it */
        for (size_t i = 0; i < 3 * (size_t)(count - 2); ++i) mesh->triangles[first + i] = KD_NONE;
        return KD_OK;
    }
    KD_TRY(polygon_triangulate(capacity->points, count, capacity->triangles));
    fan_replace(mesh->triangles + first, capacity, count);
    if (mesh->texcoord_indices) fan_replace(mesh->texcoord_indices + first, capacity, count);
    if (mesh->normal_indices) fan_replace(mesh->normal_indices + first, capacity, count);
    return KD_OK;
}

kd_status obj_chunk_polygons(const obj_chunk *chunk, mesh *mesh) {
    polygon_capacity capacity = {0};
    kd_status status = KD_OK;
    for (uint64_t i = 0; i < chunk->polygon_count; ++i)
        KD_TRY_GOTO(polygon_replace(&chunk->polygons[i], &capacity, mesh));
done:
    memory_free(capacity.points);
    memory_free(capacity.triangles);
    memory_free(capacity.corners);
    return status;
}

#include "core/memory.h"
#include "scenes/mesh/polygon.h"
#include "scenes/obj/obj_chunk.h"

enum { CORNERS_SMALL = 16 };

/* Room for one polygon: it grows to the largest. */
typedef struct polygon_room {
    vec3 *points;
    uint32_t *triangles; /* corner numbers */
    uint32_t *corners;   /* indices into one of the mesh's arrays */
    uint32_t room;
} polygon_room;

static kd_status room_grow(polygon_room *room, uint32_t count) {
    if (count <= room->room) return KD_OK;
    uint32_t size = room->room ? room->room : CORNERS_SMALL;
    while (size < count) size = size < UINT32_MAX / 2 ? 2 * size : UINT32_MAX;
    KD_TRY(KD_GROW(room->points, 0, size));
    KD_TRY(KD_GROW(room->triangles, 0, 3 * (uint64_t)size));
    KD_TRY(KD_GROW(room->corners, 0, size));
    room->room = size;
    return KD_OK;
}

/* Corner i of the fan that pass 2 wrote. */
static uint32_t fan_corner(const uint32_t *fan, uint32_t i) {
    return i < 2 ? fan[i] : fan[3 * (size_t)(i - 2) + 2];
}

static void fan_replace(uint32_t *fan, const polygon_room *room, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) room->corners[i] = fan_corner(fan, i);
    for (size_t i = 0; i < 3 * (size_t)(count - 2); ++i) fan[i] = room->corners[room->triangles[i]];
}

static kd_status polygon_replace(const obj_polygon *polygon, polygon_room *room, mesh *into) {
    const size_t first = 3 * (size_t)polygon->first_triangle;
    const uint32_t count = polygon->corner_count;
    KD_TRY(room_grow(room, count));
    bool finite = true;
    for (uint32_t i = 0; i < count; ++i) {
        room->points[i] = into->positions[fan_corner(into->triangles + first, i)];
        finite = finite && vec3_is_finite(room->points[i]);
    }
    if (!finite) { /* all of it is left out later */
        for (size_t i = 0; i < 3 * (size_t)(count - 2); ++i) into->triangles[first + i] = KD_NONE;
        return KD_OK;
    }
    KD_TRY(polygon_triangulate(room->points, count, room->triangles));
    fan_replace(into->triangles + first, room, count);
    if (into->texcoord_indices) fan_replace(into->texcoord_indices + first, room, count);
    if (into->normal_indices) fan_replace(into->normal_indices + first, room, count);
    return KD_OK;
}

kd_status obj_chunk_polygons(const obj_chunk *chunk, mesh *into) {
    polygon_room room = {0};
    kd_status status = KD_OK;
    for (uint64_t i = 0; i < chunk->polygon_count; ++i)
        KD_TRY_GOTO(polygon_replace(&chunk->polygons[i], &room, into));
done:
    memory_free(room.points);
    memory_free(room.triangles);
    memory_free(room.corners);
    return status;
}

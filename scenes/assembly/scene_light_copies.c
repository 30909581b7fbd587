/* Lights that are at the place of another one, such as a lamp that was exported twice: both emit.
 */
#include "core/hash.h"
#include "core/memory.h"
#include "core/status.h"
#include "scenes/assembly/scene_parts.h"
#include "scenes/mesh/origin.h"

/* What two lights at one place have in common; without padding, since its bytes are compared. */
typedef struct light_place {
    float corners[9]; /* corners of a triangle, the smallest first; else position, direction and
                         cone */
    int32_t kind;
} light_place;

static bool comes_before(vec3 a, vec3 b) {
    if (a.x != b.x) return a.x < b.x;
    if (a.y != b.y) return a.y < b.y;
    return a.z < b.z;
}

static light_place place_of(const scene *scene, uint32_t index) {
    const light *at = &scene->lights[index];
    const mesh *geometry = &scene->geometry;
    light_place place;
    vec3 corners[3] = {at->position, at->direction, vec3_make(at->cos_inner, at->cos_outer, 0)};
    memset(&place, 0, sizeof place);
    place.kind = at->kind;
    int first = 0;
    if (at->kind == LIGHT_TRIANGLE)
        for (int k = 0; k < 3; ++k) {
            corners[k] =
                geometry->positions[geometry->triangles[3 * (uint64_t)at->triangle + (uint64_t)k]];
            if (comes_before(corners[k], corners[first])) first = k;
        }
    for (int k = 0; k < 3; ++k) {
        const vec3 corner = corners[(first + k) % 3];
        place.corners[3 * k] = corner.x + 0.0f; /* -0 equals 0 */
        place.corners[3 * k + 1] = corner.y + 0.0f;
        place.corners[3 * k + 2] = corner.z + 0.0f;
    }
    return place;
}

kd_status scene_find_light_copies(const scene *scene, uint32_t *count, double first[3]) {
    uint64_t size = 16;
    uint32_t *table = NULL;
    *count = 0;
    while (size < 2 * (uint64_t)scene->light_count) size *= 2;
    KD_TRY(KD_RESERVE(table, size));
    memset(table, 0xff, size * sizeof *table);
    for (uint32_t i = 0; i < scene->light_count; ++i) {
        if (scene->lights[i].kind == LIGHT_ENVIRONMENT) continue;
        const light_place place = place_of(scene, i);
        uint64_t at = hash_bytes(&place, sizeof place) & (size - 1);
        for (; table[at] != KD_NONE; at = (at + 1) & (size - 1)) {
            const light_place other = place_of(scene, table[at]);
            if (memcmp(&place, &other, sizeof place) == 0) break;
        }
        if (table[at] == KD_NONE) {
            table[at] = i;
            continue;
        }
        if (*count == 0) origin_to_world(first, scene->origin, scene->lights[i].position);
        ++*count;
    }
    memory_free(table);
    return KD_OK;
}

kd_status scene_report_light_copies(const scene *scene) {
    uint32_t count = 0;
    double first[3];
    KD_TRY(scene_find_light_copies(scene, &count, first));
    if (count)
        log_message(LOG_WARNING,
                    "found %u light%s or emitting triangle%s at the place of another one, the "
                    "first at (%.6g, %.6g, %.6g); "
                    "both emit: remove one if that is not intended",
                    count, count > 1 ? "s" : "", count > 1 ? "s" : "", first[0], first[1],
                    first[2]);
    return KD_OK;
}

/* The ground under a scene without lights: a disc of rings (look.c). It exists from the assembly of
   the scene on, as its last triangles, which only a look shows. */
#include "core/memory.h"
#include "scenes/assembly/look.h"
#include "scenes/assembly/scene_parts.h"

enum { RINGS = LOOK_RINGS, SECTORS = 32 };

/* Radii in units of half the diagonal of the scene's box. */
#define GROUND_INNER 1.5f
#define GROUND_OUTER 16.0f
#define GROUND_RIM 100.0f
#define GROUND_BELOW 0.001f

static float ring_radius(int ring) {
    if (ring == 0) return 0;
    if (ring == RINGS) return GROUND_RIM;
    return GROUND_INNER * powf(GROUND_OUTER / GROUND_INNER, (float)(ring - 1) / (RINGS - 2));
}

/* Half the diagonal of the box, in double: squares of small sizes underflow a float. */
static float half_diagonal(const scene *scene) {
    const vec3 size = box3_size(scene->box);
    const double x = (double)size.x, y = (double)size.y, z = (double)size.z;
    const float half = (float)(0.5 * sqrt(x * x + y * y + z * z));
    return half > 0 ? half : 1;
}

static vec3 ground_centre(const scene *scene, const vec3 axes[3]) {
    const float half = 0.5f * scene_extent(scene, axes[1]);
    return vec3_along(box3_centre(scene->box), -(half + GROUND_BELOW * half_diagonal(scene)),
                      axes[1]);
}

static void place_ground(scene *scene) {
    mesh *geometry = &scene->geometry;
    vec3 axes[3], *at = geometry->positions + geometry->position_count - scene->ground_positions;
    scene_upright(axes, scene->up);
    const vec3 centre = ground_centre(scene, axes);
    const float unit = half_diagonal(scene);
    *at++ = centre;
    for (int ring = 1; ring <= RINGS; ++ring)
        for (int sector = 0; sector < SECTORS; ++sector) {
            const float angle = 2 * KD_PI * (float)sector / SECTORS;
            const vec3 across = vec3_scale(axes[0], unit * ring_radius(ring) * cosf(angle));
            *at++ = vec3_add(centre,
                             vec3_along(across, unit * ring_radius(ring) * sinf(angle), axes[2]));
        }
}

static uint32_t ring_vertex(int ring, int sector) {
    return ring == 0 ? 0 : (uint32_t)(1 + (ring - 1) * SECTORS + sector % SECTORS);
}

/* Fills the triangles of the ground from `triangle` on; their vertices begin at `position`. */
static void fill_ground(mesh *geometry, uint64_t triangle, uint32_t position) {
    for (int ring = 0; ring < RINGS; ++ring)
        for (int sector = 0; sector < SECTORS; ++sector) {
            const uint32_t a = position + ring_vertex(ring, sector);
            const uint32_t b = position + ring_vertex(ring, sector + 1);
            const uint32_t c = position + ring_vertex(ring + 1, sector);
            const uint32_t d = position + ring_vertex(ring + 1, sector + 1);
            const uint32_t corners[2][3] = {{a, d, c}, {a, b, d}};
            for (int half = 0; half < (ring ? 2 : 1); ++half) {
                memcpy(geometry->triangles + 3 * triangle, corners[half], sizeof corners[half]);
                geometry->triangle_materials[triangle++] =
                    geometry->material_count + (uint32_t)ring;
            }
        }
}

/* Makes the ground the last shape, with the last instance. */
static kd_status ground_shape(scene *scene, uint32_t triangle, uint32_t position) {
    const mesh *geometry = &scene->geometry;
    const uint32_t shape = scene->shape_count;
    const draft_shape part = {triangle,
                              scene->ground_triangles,
                              position,
                              scene->ground_positions,
                              geometry->normal_count,
                              0,
                              KD_NONE};
    KD_TRY(KD_GROW(scene->parts, shape, shape + 1));
    KD_TRY(KD_GROW(scene->shapes, shape, shape + 1));
    KD_TRY(KD_GROW(scene->instances, scene->instance_count, scene->instance_count + 1));
    scene->parts[shape] = part;
    memset(scene->shapes + shape, 0, sizeof *scene->shapes);
    scene->shapes[shape].first = triangle;
    scene->shapes[shape].count = scene->ground_triangles;
    const transform identity = transform_identity();
    KD_TRY(instance_make(&scene->instances[scene->instance_count], &identity, shape));
    ++scene->shape_count;
    ++scene->instance_count;
    return KD_OK;
}

/* Updates the bounds of the ground's shape. */
static void bound_ground(scene *scene) {
    if (scene->shape_count == 0) return;
    instanced_shape *shape = scene->shapes + scene->shape_count - 1;
    const mesh *geometry = &scene->geometry;
    shape->box = box3_empty();
    for (uint32_t i = 0; i < scene->ground_positions; ++i)
        box3_include(&shape->box, geometry->positions[geometry->position_count - 1 - i]);
}

kd_status scene_add_ground(scene *scene) {
    enum { TRIANGLES = (2 * RINGS - 1) * SECTORS, POSITIONS = 1 + RINGS * SECTORS };
    mesh *geometry = &scene->geometry;
    const uint32_t first = geometry->triangle_count, position = geometry->position_count;
    const uint64_t triangles = (uint64_t)first + TRIANGLES;
    if (first == 0 || triangles >= KD_NONE || (uint64_t)position + POSITIONS >= KD_NONE)
        return KD_OK;
    if (!vec3_is_finite(vec3_scale(box3_size(scene->box), 2 * GROUND_RIM))) return KD_OK;
    KD_TRY(KD_GROW(geometry->positions, position, (uint64_t)position + POSITIONS));
    KD_TRY(KD_GROW(geometry->triangles, 3 * (uint64_t)first, 3 * triangles));
    KD_TRY(KD_GROW(geometry->triangle_materials, first, triangles));
    uint32_t *indices[] = {geometry->normal_indices, geometry->texcoord_indices};
    for (int i = 0; i < 2; ++i) {
        if (!indices[i]) continue;
        KD_TRY(KD_GROW(indices[i], 3 * (uint64_t)first, 3 * triangles));
        *(i ? &geometry->texcoord_indices : &geometry->normal_indices) = indices[i];
        memset(indices[i] + 3 * (uint64_t)first, 0xff, 3 * TRIANGLES * sizeof(uint32_t));
    }
    if (scene->triangle_lights) {
        KD_TRY(KD_GROW(scene->triangle_lights, first, triangles));
        memset(scene->triangle_lights + first, 0xff, TRIANGLES * sizeof(uint32_t));
    }
    fill_ground(geometry, first, position);
    geometry->triangle_count += TRIANGLES;
    geometry->position_count += POSITIONS;
    scene->ground_triangles = TRIANGLES;
    scene->ground_positions = POSITIONS;
    if (scene->shape_count == 0)
        scene->plain_count += TRIANGLES;
    else
        KD_TRY(ground_shape(scene, first, position));
    place_ground(scene);
    bound_ground(scene);
    return KD_OK;
}

void scene_set_up(scene *scene, vec3 up) {
    vec3 axes[3];
    scene_upright(axes, up);
    scene->up = axes[1];
    scene->up_is_open = false;
    if (!scene->ground_triangles) return;
    place_ground(scene);
    bound_ground(scene);
}

void look_show_ground(const scene *scene, scene_view *shown) {
    shown->mesh.position_count = scene->geometry.position_count;
    shown->mesh.triangle_count = scene->plain_count;
    shown->mesh.stored_count = scene->geometry.triangle_count;
    shown->instances.count = scene->instance_count;
    shown->instances.shape_count = scene->shape_count;
}

bool look_sees_ground(const scene *scene, const camera *view) {
    vec3 axes[3];
    scene_upright(axes, scene->up);
    const vec3 to_eye = vec3_sub(view->eye, ground_centre(scene, axes));
    return scene->ground_triangles && vec3_dot(to_eye, axes[1]) > 0;
}

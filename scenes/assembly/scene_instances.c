/* Instanced meshes, and their expansion to copies for methods that do not support instances. */
#include "accel/instances.h"
#include "core/memory.h"
#include "scenes/assembly/scene_parts.h"

/* Bytes per triangle of the tree while it is built and in its wide form; the same figure as in
   render/api/plan.c. */
enum { TREE_BYTES = 900 };

kd_status scene_take_instances(scene *scene, scene_draft *draft) {
    const mesh *geometry = &scene->geometry;
    scene->parts = draft->shapes;
    scene->instances = draft->instances;
    scene->shape_count = draft->shape_count;
    scene->instance_count = draft->instance_count;
    scene->plain_count = geometry->triangle_count;
    draft->shapes = NULL;
    draft->instances = NULL;
    draft->shape_count = draft->instance_count = 0;
    if (scene->shape_count == 0) return KD_OK;
    scene->plain_count = scene->parts[0].first; /* shapes are the last triangles */
    KD_TRY(KD_RESERVE_ZEROED(scene->shapes, scene->shape_count));
    for (uint32_t i = 0; i < scene->shape_count; ++i) {
        instanced_shape *shape = scene->shapes + i;
        shape->first = scene->parts[i].first;
        shape->count = scene->parts[i].count;
        shape->box = box3_empty();
        for (uint64_t k = 0; k < 3 * (uint64_t)shape->count; ++k)
            box3_include(&shape->box,
                         geometry->positions[geometry->triangles[3 * (size_t)shape->first + k]]);
    }
    return KD_OK;
}

box3 scene_instance_box(const scene *scene) {
    box3 box = box3_empty();
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        const instance *put = scene->instances + i;
        box3_join(&box, instance_box(put, scene->shapes[put->shape].box));
    }
    return box;
}

bool scene_instance_emits(const scene *scene) {
    const mesh *geometry = &scene->geometry;
    for (uint32_t i = scene->plain_count; i < geometry->triangle_count; ++i) {
        const material *made_of = &scene->materials[geometry->triangle_materials[i]];
        if (vec3_largest(made_of->emission) > 0 && !(made_of->flags & MATERIAL_UNLIT)) return true;
    }
    return false;
}

uint32_t scene_instance_count(const scene *scene) {
    return scene->instance_count - (scene->shape_count && scene->ground_triangles ? 1 : 0);
}

/* --- copies ----------------------------------------------------------------------------------- */

typedef struct copy_counts {
    uint64_t triangles, positions, normals;
} copy_counts;

static copy_counts count_copies(const scene *scene) {
    copy_counts sum = {0, 0, 0};
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        const draft_shape *part = scene->parts + scene->instances[i].shape;
        sum.triangles += part->count;
        sum.positions += part->position_count;
        sum.normals += part->normal_count;
    }
    return sum;
}

uint64_t scene_copies_bytes(const scene *scene) {
    const copy_counts sum = count_copies(scene);
    const uint64_t indices = scene->geometry.normal_indices ? 2 : 1;
    const uint64_t all = indices + (scene->geometry.texcoord_indices ? 1 : 0);
    return sum.triangles * (all * 12 + 4 + TREE_BYTES) +
           (sum.positions + sum.normals) * sizeof(vec3) +
           (scene->geometry.tangents ? sum.normals * 4 * sizeof(float) : 0);
}

static void copy_tangents(const mesh *from, const draft_shape *part, const transform *transform,
                          mesh *to) {
    const float side = transform_determinant(transform) < 0 ? -1.0f : 1.0f;
    for (uint32_t i = 0; i < part->normal_count; ++i) {
        const float *old = from->tangents + 4 * (size_t)(part->normal + i);
        float *made = to->tangents + 4 * (size_t)(to->normal_count + i);
        const vec3 direction = transform_direction(transform, vec3_make(old[0], old[1], old[2]));
        made[0] = direction.x;
        made[1] = direction.y;
        made[2] = direction.z;
        made[3] = side * old[3];
    }
}

/* Appends the transformed copy of one instance to `target`. Each copy has its own vertices. */
static void copy_one(const scene *scene, const instance *put, mesh *target) {
    const mesh *from = &scene->geometry;
    const draft_shape *part = scene->parts + put->shape;
    const transform *transform = &put->to_world;
    for (uint32_t i = 0; i < part->position_count; ++i)
        target->positions[target->position_count + i] =
            instance_corner(put, from->positions[part->position + i]);
    for (uint32_t i = 0; i < part->normal_count; ++i)
        target->normals[target->normal_count + i] =
            transform_normal(transform, from->normals[part->normal + i]);
    if (from->tangents) copy_tangents(from, part, transform, target);
    const uint64_t first = 3 * (uint64_t)part->first, count = 3 * (uint64_t)part->count;
    const uint64_t begin = 3 * (uint64_t)target->triangle_count;
    for (uint64_t i = 0; i < count; ++i)
        target->triangles[begin + i] =
            from->triangles[first + i] - part->position + target->position_count;
    for (uint64_t i = 0; from->normal_indices && i < count; ++i) {
        const uint32_t index = from->normal_indices[first + i];
        target->normal_indices[begin + i] =
            index == KD_NONE ? KD_NONE : index - part->normal + target->normal_count;
    }
    if (from->texcoord_indices)
        memcpy(target->texcoord_indices + begin, from->texcoord_indices + first,
               count * sizeof(uint32_t));
    memcpy(target->triangle_materials + target->triangle_count,
           from->triangle_materials + part->first, part->count * sizeof(uint32_t));
    target->position_count += part->position_count;
    target->normal_count += part->normal_count;
    target->triangle_count += part->count;
}

/* Allocates all arrays of `target`, and copies the vertices and the triangles outside shapes. */
static kd_status copy_plain(const scene *scene, const copy_counts *more, mesh *target) {
    const mesh *from = &scene->geometry;
    const uint64_t plain = scene->plain_count, triangles = plain + more->triangles;
    KD_TRY(KD_RESERVE(target->positions, from->position_count + more->positions));
    KD_TRY(KD_RESERVE(target->triangles, 3 * triangles));
    KD_TRY(KD_RESERVE(target->triangle_materials, triangles));
    if (from->normals) KD_TRY(KD_RESERVE(target->normals, from->normal_count + more->normals));
    if (from->tangents)
        KD_TRY(KD_RESERVE(target->tangents, 4 * (from->normal_count + more->normals)));
    if (from->normal_indices) KD_TRY(KD_RESERVE(target->normal_indices, 3 * triangles));
    if (from->texcoord_indices) KD_TRY(KD_RESERVE(target->texcoord_indices, 3 * triangles));
    target->position_count = from->position_count;
    target->normal_count = from->normal_count;
    target->triangle_count = scene->plain_count;
    memcpy(target->positions, from->positions, from->position_count * sizeof(vec3));
    if (from->normals) memcpy(target->normals, from->normals, from->normal_count * sizeof(vec3));
    if (from->tangents)
        memcpy(target->tangents, from->tangents, from->normal_count * 4 * sizeof(float));
    memcpy(target->triangles, from->triangles, 3 * plain * sizeof(uint32_t));
    memcpy(target->triangle_materials, from->triangle_materials, plain * sizeof(uint32_t));
    if (from->normal_indices)
        memcpy(target->normal_indices, from->normal_indices, 3 * plain * sizeof(uint32_t));
    if (from->texcoord_indices)
        memcpy(target->texcoord_indices, from->texcoord_indices, 3 * plain * sizeof(uint32_t));
    return KD_OK;
}

/* Swaps the arrays that expansion changes. */
static void exchange(mesh *a, mesh *b) {
    mesh made = *a;
    made.positions = b->positions;
    made.normals = b->normals;
    made.tangents = b->tangents;
    made.triangles = b->triangles;
    made.normal_indices = b->normal_indices;
    made.texcoord_indices = b->texcoord_indices;
    made.triangle_materials = b->triangle_materials;
    made.position_count = b->position_count;
    made.normal_count = b->normal_count;
    made.triangle_count = b->triangle_count;
    memset(b, 0, sizeof *b);
    b->positions = a->positions;
    b->normals = a->normals;
    b->tangents = a->tangents;
    b->triangles = a->triangles;
    b->normal_indices = a->normal_indices;
    b->texcoord_indices = a->texcoord_indices;
    b->triangle_materials = a->triangle_materials;
    *a = made;
}

static void drop_instance(scene *scene) {
    memory_free(scene->parts);
    memory_free(scene->shapes);
    memory_free(scene->instances);
    scene->parts = NULL;
    scene->shapes = NULL;
    scene->instances = NULL;
    scene->shape_count = scene->instance_count = 0;
    scene->plain_count = scene->geometry.triangle_count;
}

/* Extends triangle_lights; copies do not emit (KD_NONE). */
static kd_status grow_lights(scene *scene, uint64_t triangles) {
    if (!scene->triangle_lights) return KD_OK;
    KD_TRY(KD_GROW(scene->triangle_lights, scene->plain_count, triangles));
    memset(scene->triangle_lights + scene->plain_count, 0xff,
           (triangles - scene->plain_count) * sizeof *scene->triangle_lights);
    return KD_OK;
}

kd_status scene_copy_instances(scene *scene) {
    mesh made;
    if (scene->shape_count == 0) return KD_OK;
    const copy_counts more = count_copies(scene);
    const uint64_t maximum = KD_NONE;
    KD_REQUIRE(more.triangles + scene->plain_count < maximum &&
                   more.positions + scene->geometry.position_count < maximum &&
                   more.normals + scene->geometry.normal_count < maximum,
               KD_ERROR_MEMORY,
               "copies of the %u instances have %llu triangles, more than a scene supports; some "
               "integrators, such as path, need no copies",
               scene->instance_count, (unsigned long long)more.triangles);
    memset(&made, 0, sizeof made);
    kd_status status = copy_plain(scene, &more, &made);
    if (status == KD_OK) status = grow_lights(scene, scene->plain_count + more.triangles);
    if (status == KD_OK) {
        for (uint32_t i = 0; i < scene->instance_count; ++i)
            copy_one(scene, scene->instances + i, &made);
        exchange(&scene->geometry, &made);
        drop_instance(scene);
    }
    mesh_close(&made);
    return status;
}

/* Finds meshes that several nodes refer to: they are written once in object space and instanced,
   if the caller supports that. Merges equal positions within each mesh. */
#include "accel/instances.h"
#include "core/memory.h"
#include "scenes/import/gltf_parts.h"
#include "scenes/mesh/mesh_cleanup.h"

/* Skinned meshes cannot be instanced, because their joints determine the shape; neither can meshes
   with a node's own weights of morph targets, nor transforms that are almost singular. */
static bool can_be_instanced(const gltf_node *at) {
    const double volume = transform_determinant(&at->world);
    if (at->mesh == KD_NONE || at->skin != KD_NONE || at->weights) return false;
    return volume != 0 && isfinite(volume) &&
           transform_anisotropy(&at->world) <= INSTANCE_ANISOTROPY_MAX;
}

/* A mesh and its mirror image are different shapes. */
static uint64_t kind_of(const gltf_node *at) {
    return 2 * (uint64_t)at->mesh + (transform_determinant(&at->world) < 0 ? 1 : 0);
}

kd_status gltf_shapes_find(gltf_file *gltf, const gltf_nodes *nodes, gltf_shapes *out) {
    const uint64_t kinds = 2 * (uint64_t)gltf->lists[GLTF_MESHES].count;
    uint32_t *seen = NULL, *number = NULL;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(out->shape_of, nodes->count));
    memset(out->shape_of, 0xff, nodes->count * sizeof *out->shape_of);
    if (!gltf->options || !gltf->options->keep_parts) return KD_OK;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(seen, kinds));
    KD_TRY_GOTO(KD_RESERVE(number, kinds));
    for (uint32_t i = 0; i < nodes->count; ++i)
        if (can_be_instanced(nodes->list + i)) ++seen[kind_of(nodes->list + i)];
    uint32_t maximum = 0;
    for (uint64_t k = 0; k < kinds; ++k) {
        number[k] = KD_NONE;
        maximum += seen[k] > 1;
    }
    KD_TRY_GOTO(KD_RESERVE(out->shapes, maximum));
    for (uint32_t i = 0; i < nodes->count; ++i) {
        if (!can_be_instanced(nodes->list + i)) continue;
        const uint64_t kind = kind_of(nodes->list + i);
        if (seen[kind] < 2) continue;
        if (number[kind] == KD_NONE) {
            const gltf_shape made = {(uint32_t)(kind / 2), kind % 2 != 0};
            number[kind] = out->count;
            out->shapes[out->count++] = made;
        }
        out->shape_of[i] = number[kind];
        ++out->put_count;
    }
done:
    memory_free(seen);
    memory_free(number);
    return status;
}

void gltf_shapes_close(gltf_shapes *owned) {
    memory_free(owned->shapes);
    memory_free(owned->shape_of);
    memset(owned, 0, sizeof *owned);
}

kd_status gltf_shapes_put(const gltf_shapes *shapes, const gltf_nodes *nodes, mesh *mesh) {
    KD_TRY(KD_RESERVE(mesh->puts, shapes->put_count));
    for (uint32_t i = 0; i < nodes->count; ++i) {
        if (shapes->shape_of[i] == KD_NONE) continue;
        mesh_put *made = &mesh->puts[mesh->put_count++];
        made->part = shapes->shape_of[i];
        made->to_world = nodes->list[i].world;
    }
    return KD_OK;
}

/* --- equal positions -------------------------------------------------------------------------- */

typedef struct welding {
    uint32_t *numbers; /* new index of each position */
    vec3 *kept;
    uint32_t kept_count;
} welding;

/* Merges the positions [first, first + count), which only one part uses. */
static kd_status run_weld(welding *welding, const mesh *mesh, uint32_t first, uint32_t count) {
    uint32_t unique = 0;
    vec3 *places = NULL;
    if (count == 0) return KD_OK;
    KD_TRY(weld_places(mesh->positions + first, count, welding->numbers + first, &places, &unique));
    memcpy(welding->kept + welding->kept_count, places, unique * sizeof *places);
    for (uint32_t i = first; i < first + count; ++i) welding->numbers[i] += welding->kept_count;
    welding->kept_count += unique;
    memory_free(places);
    return KD_OK;
}

static kd_status runs_weld(welding *welding, mesh *mesh) {
    const uint32_t plain = mesh->part_count ? mesh->parts[0].position : mesh->position_count;
    KD_TRY(run_weld(welding, mesh, 0, plain));
    for (uint32_t i = 0; i < mesh->part_count; ++i) {
        mesh_part *part = &mesh->parts[i];
        const uint32_t first = welding->kept_count;
        KD_TRY(run_weld(welding, mesh, part->position, part->position_count));
        part->position = first;
        part->position_count = welding->kept_count - first;
    }
    return KD_OK;
}

kd_status gltf_places_weld(mesh *mesh, bool *unusable) {
    welding to = {NULL, NULL, 0};
    kd_status status = KD_OK;
    for (uint32_t i = 0; i < mesh->position_count; ++i)
        if (!vec3_is_finite(mesh->positions[i])) {
            mesh->positions[i] = vec3_all(0);
            *unusable = true;
        }
    KD_TRY_GOTO(KD_RESERVE(to.numbers, mesh->position_count));
    KD_TRY_GOTO(KD_RESERVE(to.kept, mesh->position_count));
    KD_TRY_GOTO(runs_weld(&to, mesh));
    for (uint64_t i = 0; i < 3 * (uint64_t)mesh->triangle_count; ++i)
        if (mesh->triangles[i] != KD_NONE) mesh->triangles[i] = to.numbers[mesh->triangles[i]];
    memory_free(mesh->positions);
    mesh->positions = to.kept;
    mesh->position_count = to.kept_count;
    to.kept = NULL;
done:
    memory_free(to.numbers);
    memory_free(to.kept);
    return status;
}

void gltf_parts_recount(mesh *mesh) {
    uint32_t kept = 0, next = 0;
    for (uint32_t i = 0; i < mesh->part_count; ++i) {
        mesh_part *part = &mesh->parts[i];
        const uint32_t end = part->first + part->count;
        for (; next < part->first; ++next) kept += mesh->triangles[3 * (uint64_t)next] != KD_NONE;
        part->first = kept;
        for (; next < end; ++next) kept += mesh->triangles[3 * (uint64_t)next] != KD_NONE;
        part->count = kept - part->first;
    }
}

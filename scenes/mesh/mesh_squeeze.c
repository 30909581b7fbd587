#include "scenes/mesh/mesh_squeeze.h"
#include "core/memory.h"

static bool triangle_is_usable(const mesh *from, uint64_t i) {
    for (int k = 0; k < 3; ++k) {
        const uint32_t corner = from->triangles[3 * i + (uint64_t)k];
        if (corner == KD_NONE || !vec3_is_finite(from->positions[corner])) return false;
    }
    return true;
}

static void triangles_squeeze(mesh *into, uint32_t *lines) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < into->triangle_count; ++i) {
        if (!triangle_is_usable(into, i)) continue;
        for (uint64_t k = 0; k < 3 && kept != i; ++k) {
            into->triangles[3 * kept + k] = into->triangles[3 * i + k];
            if (into->normal_indices)
                into->normal_indices[3 * kept + k] = into->normal_indices[3 * i + k];
            if (into->texcoord_indices)
                into->texcoord_indices[3 * kept + k] = into->texcoord_indices[3 * i + k];
        }
        into->triangle_materials[kept] = into->triangle_materials[i];
        if (lines) lines[kept] = lines[i];
        ++kept;
    }
    into->triangle_count = (uint32_t)kept;
}

/* No triangle is at these any more; a place of another vertex keeps boxes right. */
static void positions_mend(mesh *into) {
    vec3 sound = vec3_all(0);
    for (uint32_t i = 0; i < into->position_count; ++i)
        if (vec3_is_finite(into->positions[i])) {
            sound = into->positions[i];
            break;
        }
    for (uint32_t i = 0; i < into->position_count; ++i)
        if (!vec3_is_finite(into->positions[i])) into->positions[i] = sound;
}

static void normals_mend(mesh *into) {
    for (uint64_t i = 0; i < 3 * (uint64_t)into->triangle_count && into->normal_indices; ++i) {
        uint32_t *index = &into->normal_indices[i];
        if (*index != KD_NONE && vec3_is_zero(into->normals[*index])) *index = KD_NONE;
    }
}

static void texcoords_mend(mesh *into) {
    for (uint64_t i = 0; i < 3 * (uint64_t)into->triangle_count && into->texcoord_indices; ++i) {
        uint32_t *index = &into->texcoord_indices[i];
        if (*index == KD_NONE) continue;
        const vec2 at = into->texcoords[*index];
        if (!isfinite(at.x) || !isfinite(at.y)) *index = KD_NONE;
    }
    for (uint32_t i = 0; i < into->texcoord_count; ++i)
        if (!isfinite(into->texcoords[i].x) || !isfinite(into->texcoords[i].y))
            into->texcoords[i] = vec2_make(0, 0);
}

void mesh_squeeze(mesh *into, uint32_t *lines, const mesh_faults *faults) {
    if (faults->unusable || faults->position) triangles_squeeze(into, lines);
    if (faults->position) positions_mend(into);
    if (faults->normal) normals_mend(into);
    if (faults->texcoord) texcoords_mend(into);
    if (!faults->uses_normals) {
        memory_free(into->normal_indices);
        into->normal_indices = NULL;
    }
    if (!faults->uses_texcoords) {
        memory_free(into->texcoord_indices);
        into->texcoord_indices = NULL;
    }
}

#include "scenes/mesh/mesh.h"
#include "core/memory.h"

void mesh_material_close(mesh_material *owned) {
    memory_free(owned->name);
    memory_free(owned->diffuse_map);
    memory_free(owned->specular_map);
    memory_free(owned->emission_map);
    memory_free(owned->opacity_map);
    memory_free(owned->roughness_map);
    memory_free(owned->metallic_map);
    memory_free(owned->normal_map);
    memory_free(owned->bump_map);
}

void mesh_close(mesh *owned) {
    memory_free(owned->positions);
    memory_free(owned->normals);
    memory_free(owned->texcoords);
    memory_free(owned->triangles);
    memory_free(owned->normal_indices);
    memory_free(owned->texcoord_indices);
    memory_free(owned->triangle_materials);
    for (uint32_t i = 0; i < owned->material_count; ++i) mesh_material_close(&owned->materials[i]);
    memory_free(owned->materials);
    memset(owned, 0, sizeof *owned);
}

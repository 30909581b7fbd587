#include "scenes/mesh/mesh.h"
#include "core/memory.h"

void mesh_material_default(mesh_material *made) {
    memset(made, 0, sizeof *made);
    made->record = material_default();
    made->layers = principled_default();
    made->map_scale[0] = made->map_scale[1] = 1;
}

/* The integral of light_beam times the cosine, divided by pi. */
double mesh_material_beam_power(const mesh_material *made) {
    const double inner = (double)made->beam_inner, outer = (double)made->beam_outer;
    if (!(outer > 0)) return 1;
    if (inner > outer) return 2 - inner - outer; /* that of light_spot_falloff */
    const double sine = sqrt(1 - outer * outer);
    return sine * sine - outer / sine * (acos(outer) - sine * outer);
}

char **mesh_material_map(mesh_material *material, mesh_map map) {
    char **const plain[MESH_MAPS_PLAIN] = {&material->diffuse_map,   &material->specular_map,
                                           &material->emission_map,  &material->opacity_map,
                                           &material->roughness_map, &material->metallic_map,
                                           &material->normal_map,    &material->bump_map};
    return map < MESH_MAPS_PLAIN ? plain[map] : &material->layer_maps[map - MESH_MAPS_PLAIN];
}

void mesh_material_close(mesh_material *owned) {
    memory_free(owned->name);
    for (int map = 0; map < MESH_MAPS; ++map) memory_free(*mesh_material_map(owned, (mesh_map)map));
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
    memory_free(owned->colours);
    memory_free(owned->texcoords_second);
    memory_free(owned->tangents);
    memory_free(owned->parts);
    memory_free(owned->puts);
    for (uint32_t i = 0; i < owned->picture_count; ++i) {
        memory_free(owned->pictures[i].name);
        memory_free(owned->pictures[i].bytes);
    }
    for (uint32_t i = 0; i < owned->camera_count; ++i) memory_free(owned->cameras[i].name);
    memory_free(owned->pictures);
    memory_free(owned->cameras);
    memory_free(owned->lights);
    memory_free(owned->media);
    memset(owned, 0, sizeof *owned);
}

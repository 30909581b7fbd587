/* Materials as importers yield them become records with texture indices. */
#include "core/memory.h"
#include "scenes/assembly/scene_parts.h"

static kd_status request(scene *to, const mesh_material *from, const char *path, texture_role role,
                         uint32_t *index) {
    *index = KD_NONE;
    if (!path) return KD_OK;
    const texture_request asked = {path, role, vec2_make(from->map_scale[0], from->map_scale[1]),
                                   vec2_make(from->map_offset[0], from->map_offset[1]),
                                   from->map_clamp};
    KD_TRY(texture_store_add(&to->textures, &asked, index));
    return KD_OK;
}

/* Roughness and metallic in one file lie in its green and blue channels (glTF's way). */
static bool is_packed(const mesh_material *from) {
    return from->roughness_map && from->metallic_map &&
           strcmp(from->roughness_map, from->metallic_map) == 0;
}

kd_status scene_build_materials(scene *to) {
    const mesh *geometry = &to->geometry;
    KD_TRY(KD_RESERVE(to->materials, geometry->material_count));
    for (uint32_t i = 0; i < geometry->material_count; ++i) {
        const mesh_material *from = &geometry->materials[i];
        material *made = &to->materials[i];
        *made = from->record;
        const texture_role rough = is_packed(from) ? TEXTURE_GREEN : TEXTURE_GREY;
        const texture_role metal = is_packed(from) ? TEXTURE_BLUE : TEXTURE_GREY;
        KD_TRY(request(to, from, from->diffuse_map, TEXTURE_COLOUR, &made->diffuse_map));
        KD_TRY(request(to, from, from->specular_map, TEXTURE_COLOUR, &made->specular_map));
        KD_TRY(request(to, from, from->emission_map, TEXTURE_COLOUR, &made->emission_map));
        KD_TRY(request(to, from, from->opacity_map, TEXTURE_OPACITY, &made->opacity_map));
        KD_TRY(request(to, from, from->roughness_map, rough, &made->roughness_map));
        KD_TRY(request(to, from, from->metallic_map, metal, &made->metallic_map));
        KD_TRY(request(to, from, from->normal_map, TEXTURE_NORMAL, &made->normal_map));
        KD_TRY(request(to, from, from->bump_map, TEXTURE_GREY, &made->bump_map));
    }
    KD_TRY(texture_store_load(&to->textures));
    return KD_OK;
}

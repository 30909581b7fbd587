/* Converts materials from the readers to material records: resolves maps to texture indices. */
#include "core/memory.h"
#include "scenes/assembly/scene_parts.h"

static texture_role role_of(const mesh_map_form *form, texture_role usual) {
    switch (form->channel) {
    case MESH_CHANNEL_RED: return TEXTURE_GREY;
    case MESH_CHANNEL_GREEN: return TEXTURE_GREEN;
    case MESH_CHANNEL_BLUE: return TEXTURE_BLUE;
    case MESH_CHANNEL_ALPHA: return TEXTURE_ALPHA;
    default: return usual;
    }
}

static vec2 pair_of(const float pair[2]) {
    return vec2_make(pair[0], pair[1]);
}

static kd_status request(scene *to, mesh_material *from, mesh_map map, texture_role usual,
                         uint32_t *index) {
    const mesh_map_form *form = &from->forms[map];
    const char *path = *mesh_material_map(from, map);
    texture_request asked = {path, role_of(form, usual), {0, 0}, {0, 0}, {0, 0}, TEXTURE_REPEAT};
    *index = KD_NONE;
    if (!path) return KD_OK;
    asked.scale = pair_of(form->placed ? form->scale : from->map_scale);
    asked.offset = pair_of(form->placed ? form->offset : from->map_offset);
    if (form->placed) asked.shear = pair_of(form->shear);
    asked.wraps = form->placed      ? texture_wraps(form->wrap[0], form->wrap[1])
                  : from->map_clamp ? TEXTURE_HOLD
                                    : TEXTURE_REPEAT;
    if (form->second) asked.wraps |= TEXTURE_SECOND;
    return texture_store_add(&to->textures, &asked, index);
}

/* As in glTF: roughness and metallic in one file are its green and blue channels. */
static bool is_packed(const mesh_material *from) {
    return from->roughness_map && from->metallic_map &&
           strcmp(from->roughness_map, from->metallic_map) == 0;
}

typedef struct map_row {
    mesh_map map;
    texture_role usual;
    size_t offset; /* offset of the texture index in its record */
} map_row;

/* The order determines the texture indices. */
static const map_row plain_rows[] = {
    {MESH_MAP_DIFFUSE, TEXTURE_COLOUR, offsetof(material, diffuse_map)},
    {MESH_MAP_SPECULAR, TEXTURE_COLOUR, offsetof(material, specular_map)},
    {MESH_MAP_EMISSION, TEXTURE_COLOUR, offsetof(material, emission_map)},
    {MESH_MAP_OPACITY, TEXTURE_OPACITY, offsetof(material, opacity_map)},
    {MESH_MAP_ROUGHNESS, TEXTURE_GREY, offsetof(material, roughness_map)},
    {MESH_MAP_METALLIC, TEXTURE_GREY, offsetof(material, metallic_map)},
    {MESH_MAP_NORMAL, TEXTURE_NORMAL, offsetof(material, normal_map)},
    {MESH_MAP_BUMP, TEXTURE_GREY, offsetof(material, bump_map)}};

static const map_row layer_rows[] = {
    {MESH_MAP_SPECULAR, TEXTURE_GREY, offsetof(principled, specular_map)},
    {MESH_MAP_SPECULAR_TINT, TEXTURE_COLOUR, offsetof(principled, specular_tint_map)},
    {MESH_MAP_ANISOTROPY, TEXTURE_NORMAL, offsetof(principled, anisotropy_map)},
    {MESH_MAP_SHEEN, TEXTURE_COLOUR, offsetof(principled, sheen_map)},
    {MESH_MAP_SHEEN_ROUGHNESS, TEXTURE_GREY, offsetof(principled, sheen_roughness_map)},
    {MESH_MAP_COAT, TEXTURE_GREY, offsetof(principled, coat_map)},
    {MESH_MAP_COAT_ROUGHNESS, TEXTURE_GREY, offsetof(principled, coat_roughness_map)},
    {MESH_MAP_COAT_NORMAL, TEXTURE_NORMAL, offsetof(principled, coat_normal_map)},
    {MESH_MAP_TRANSMISSION, TEXTURE_GREY, offsetof(principled, transmission_map)}};

/* If one image has both colour and opacity, opacity is its alpha channel only. */
static texture_role opacity_role(const mesh_material *from) {
    const bool same =
        from->diffuse_map && from->opacity_map && strcmp(from->diffuse_map, from->opacity_map) == 0;
    return same ? TEXTURE_ALPHA : TEXTURE_OPACITY;
}

static kd_status rows_build(scene *to, mesh_material *from, const map_row *rows, size_t count,
                            void *record) {
    for (size_t i = 0; i < count; ++i)
        KD_TRY(request(to, from, rows[i].map, rows[i].usual,
                       (uint32_t *)(void *)((char *)record + rows[i].offset)));
    return KD_OK;
}

static kd_status build_one(scene *to, mesh_material *from, material *made) {
    *made = from->record;
    for (size_t i = 0; i < sizeof plain_rows / sizeof *plain_rows; ++i) {
        map_row row = plain_rows[i];
        /* principled: specular is a scalar, set by layer_rows */
        if (row.map == MESH_MAP_SPECULAR && made->kind == MATERIAL_PRINCIPLED) continue;
        if (row.map == MESH_MAP_OPACITY) row.usual = opacity_role(from);
        if (row.map == MESH_MAP_ROUGHNESS && is_packed(from)) row.usual = TEXTURE_GREEN;
        if (row.map == MESH_MAP_METALLIC && is_packed(from)) row.usual = TEXTURE_BLUE;
        KD_TRY(rows_build(to, from, &row, 1, made));
    }
    return KD_OK;
}

/* Allocates the layers, one per material, if any material is principled. */
static kd_status build_layers(scene *to) {
    const mesh *geometry = &to->geometry;
    bool any = false;
    for (uint32_t i = 0; i < geometry->material_count; ++i)
        any |= geometry->materials[i].record.kind == MATERIAL_PRINCIPLED;
    if (!any) return KD_OK;
    KD_TRY(KD_RESERVE(to->layers, geometry->material_count));
    for (uint32_t i = 0; i < geometry->material_count; ++i) {
        mesh_material *from = &geometry->materials[i];
        to->layers[i] = principled_default();
        if (from->record.kind != MATERIAL_PRINCIPLED) continue;
        principled *made = &to->layers[i];
        *made = from->layers;
        KD_TRY(rows_build(to, from, layer_rows, sizeof layer_rows / sizeof *layer_rows, made));
        if (made->transmission > 0) to->materials[i].flags |= MATERIAL_PASSES;
    }
    return KD_OK;
}

/* Some programs export normal maps as bump maps: loads such an image again as a normal map. */
static kd_status turn_bumps(scene *to) {
    bool any = false;
    for (uint32_t i = 0; i < to->geometry.material_count; ++i) {
        mesh_material from = to->geometry.materials[i];
        material *made = &to->materials[i];
        if (made->bump_map == KD_NONE || made->normal_map != KD_NONE) continue;
        const uint32_t image = to->textures.view_images[made->bump_map];
        if (!to->textures.images[image].shows_normals) continue;
        KD_TRY(request(to, &from, MESH_MAP_BUMP, TEXTURE_NORMAL, &made->normal_map));
        made->bump_map = KD_NONE;
        any = true;
    }
    if (any) KD_TRY(texture_store_load(&to->textures));
    return KD_OK;
}

kd_status scene_build_materials(scene *to) {
    const mesh *geometry = &to->geometry;
    KD_TRY(KD_RESERVE(to->materials, geometry->material_count));
    for (uint32_t i = 0; i < geometry->material_count; ++i)
        KD_TRY(build_one(to, &geometry->materials[i], &to->materials[i]));
    KD_TRY(build_layers(to));
    to->textures.pictures = geometry->pictures;
    to->textures.picture_count = geometry->picture_count;
    KD_TRY(texture_store_load(&to->textures));
    return turn_bumps(to);
}

kd_status scene_take_glass(scene *to) {
    const mesh *geometry = &to->geometry;
    for (uint32_t i = 0; i < geometry->material_count; ++i) {
        if (!geometry->materials[i].may_be_glass) continue;
        if (to->materials[i].flags & MATERIAL_THIN) { /* glTF: the roughness is kept */
            to->materials[i].flags &= (uint8_t)~MATERIAL_THIN;
            continue;
        }
        if (!to->layers) {
            KD_TRY(KD_RESERVE(to->layers, geometry->material_count));
            for (uint32_t k = 0; k < geometry->material_count; ++k)
                to->layers[k] = principled_default();
        }
        to->materials[i].kind = MATERIAL_PRINCIPLED;
        to->materials[i].flags |= MATERIAL_PASSES;
        to->materials[i].roughness = 0;
        to->layers[i].transmission = 1;
    }
    return KD_OK;
}

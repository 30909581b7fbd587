/* Materials of the file as ours. The last one is glTF's default, for primitives that name none. */
#include "core/memory.h"
#include "scenes/gltf/gltf_parts.h"
#include "scenes/text/names.h"
#include <stdio.h>

/* The material's name, or one made up; with a number behind it where it is taken. */
static kd_status name_give(name_table *taken, const char *said, uint32_t index, char **name) {
    char text[512];
    const char *wanted = said && *said ? said : "material";
    int length = snprintf(text, sizeof text, "%.480s", wanted);
    text_span span = {text, (uint64_t)length};
    /* thousands of one name: numbers from where they are free */
    for (uint32_t i = index < 1000 ? 2 : index; name_table_find(taken, span) != KD_NONE; ++i)
        span.count = (uint64_t)snprintf(text, sizeof text, "%.480s-%u", wanted, i);
    KD_TRY(KD_RESERVE(*name, span.count + 1));
    memcpy(*name, text, span.count + 1);
    span.begin = *name;
    KD_TRY(name_table_add(taken, span, index));
    return KD_OK;
}

/* Below half of MATERIAL_MASK's threshold is nothing, from there on all. */
static kd_status alpha_read(gltf_surface *to) {
    const char *mode = "OPAQUE";
    material *made = &to->to->record;
    double cutoff = 0.5;
    KD_TRY(gltf_text(to->of, &to->place, to->from, "alphaMode", &mode));
    KD_TRY(gltf_number(to->of, &to->place, to->from, "alphaCutoff", 0, 1e6, &cutoff));
    if (strcmp(mode, "OPAQUE") == 0) {
        made->opacity = 1;
        return KD_OK;
    }
    if (strcmp(mode, "MASK") != 0 && strcmp(mode, "BLEND") != 0)
        return gltf_fail(to->of, "bad-value", &to->place,
                         "found the alphaMode \"%.20s\", expected OPAQUE, MASK or BLEND", mode);
    to->all->blends[to->to - to->all->made] = true;
    const mesh_map base = made->flags & MATERIAL_UNLIT ? MESH_MAP_EMISSION : MESH_MAP_DIFFUSE;
    KD_TRY(gltf_map_copy(to, base, MESH_MAP_OPACITY, MESH_CHANNEL_ALPHA));
    if (strcmp(mode, "BLEND") == 0) return KD_OK;
    made->flags |= MATERIAL_MASK;
    made->opacity = (float)((double)made->opacity * (double)MATERIAL_MASK_AT / fmax(cutoff, 1e-6));
    return KD_OK;
}

static kd_status base_read(gltf_surface *to) {
    const cJSON *pbr = NULL;
    const json_place at = json_place_key(&to->place, "pbrMetallicRoughness");
    material *made = &to->to->record;
    double base[4] = {1, 1, 1, 1}, metallic = 1, roughness = 1;
    KD_TRY(gltf_inner(to->of, &to->place, to->from, "pbrMetallicRoughness", false, &pbr));
    if (pbr) {
        KD_TRY(gltf_numbers(to->of, &at, pbr, "baseColorFactor", 4, base, NULL));
        KD_TRY(gltf_number(to->of, &at, pbr, "metallicFactor", 0, 1, &metallic));
        KD_TRY(gltf_number(to->of, &at, pbr, "roughnessFactor", 0, 1, &roughness));
        KD_TRY(
            gltf_map_read(to, &at, pbr, "baseColorTexture", MESH_MAP_DIFFUSE, MESH_CHANNEL_USUAL));
        KD_TRY(gltf_map_read(to, &at, pbr, "metallicRoughnessTexture", MESH_MAP_ROUGHNESS,
                             MESH_CHANNEL_GREEN));
        KD_TRY(gltf_map_copy(to, MESH_MAP_ROUGHNESS, MESH_MAP_METALLIC, MESH_CHANNEL_BLUE));
    }
    for (int i = 0; i < 4; ++i) base[i] = fmin(fmax(base[i], 0), 1);
    made->diffuse = vec3_make((float)base[0], (float)base[1], (float)base[2]);
    made->opacity = (float)base[3];
    made->metallic = (float)metallic;
    made->roughness = (float)roughness;
    return KD_OK;
}

static kd_status normal_read(gltf_surface *to) {
    const cJSON *info = NULL;
    const json_place at = json_place_key(&to->place, "normalTexture");
    double scale = 1;
    KD_TRY(gltf_inner(to->of, &to->place, to->from, "normalTexture", false, &info));
    if (!info) return KD_OK;
    KD_TRY(gltf_number(to->of, &at, info, "scale", -1e6, 1e6, &scale));
    KD_TRY(gltf_map_read(to, &to->place, to->from, "normalTexture", MESH_MAP_NORMAL,
                         MESH_CHANNEL_USUAL));
    to->to->layers.normal_scale = (float)scale;
    return KD_OK;
}

static kd_status surface_read(gltf_surface *to) {
    bool two_sided = false;
    to->to->record.kind = MATERIAL_PRINCIPLED; /* base colour is an albedo */
    KD_TRY(base_read(to));
    KD_TRY(normal_read(to));
    KD_TRY(gltf_colour(to->of, &to->place, to->from, "emissiveFactor", &to->to->record.emission));
    KD_TRY(gltf_map_read(to, &to->place, to->from, "emissiveTexture", MESH_MAP_EMISSION,
                         MESH_CHANNEL_USUAL));
    KD_TRY(gltf_flag(to->of, &to->place, to->from, "doubleSided", &two_sided));
    to->to->record.two_sided = two_sided ? 1 : 0;
    KD_TRY(gltf_layers_read(to));
    KD_TRY(alpha_read(to));
    return KD_OK;
}

/* Whether something on it lies along a texture's directions. */
static bool needs_tangents(mesh_material *made) {
    return made->normal_map || made->layers.anisotropy > 0 ||
           *mesh_material_map(made, MESH_MAP_COAT_NORMAL);
}

static kd_status all_read(gltf_file *of, gltf_materials *out, name_table *names) {
    const uint32_t count = of->lists[GLTF_MATERIALS].count + 1;
    out->image_count = of->lists[GLTF_IMAGES].count;
    KD_TRY(KD_RESERVE_ZEROED(out->made, count));
    KD_TRY(KD_RESERVE_ZEROED(out->texcoords, count));
    KD_TRY(KD_RESERVE_ZEROED(out->blends, count));
    KD_TRY(KD_RESERVE_ZEROED(out->seconds, count));
    KD_TRY(KD_RESERVE_ZEROED(out->turns, count));
    KD_TRY(KD_RESERVE_ZEROED(out->image_paths, out->image_count));
    KD_TRY(KD_RESERVE_ZEROED(out->image_missing, out->image_count));
    for (uint32_t i = 0; i < count; ++i) {
        gltf_surface to = {of,
                           out,
                           i + 1 < count ? gltf_item(of, GLTF_MATERIALS, i) : NULL,
                           gltf_place(of, GLTF_MATERIALS, i),
                           &out->made[i],
                           KD_NONE,
                           KD_NONE};
        const char *name = "default";
        mesh_material_default(to.to);
        ++out->count;
        if (to.from) KD_TRY(gltf_text(of, &to.place, to.from, "name", &name));
        KD_TRY(name_give(names, name, i, &to.to->name));
        KD_TRY(surface_read(&to));
        out->texcoords[i] = to.texcoord == KD_NONE ? 0 : to.texcoord;
        out->seconds[i] = to.second;
        out->turns[i] = needs_tangents(to.to);
    }
    return KD_OK;
}

kd_status gltf_materials_read(gltf_file *of, gltf_materials *out) {
    name_table names = {0};
    const kd_status status = all_read(of, out, &names);
    name_table_close(&names);
    KD_TRY(status);
    return KD_OK;
}

void gltf_materials_close(gltf_materials *owned) {
    for (uint32_t i = 0; i < owned->count && owned->made; ++i) mesh_material_close(&owned->made[i]);
    for (uint32_t i = 0; i < owned->image_count && owned->image_paths; ++i)
        memory_free(owned->image_paths[i]);
    for (uint32_t i = 0; i < owned->picture_count; ++i) {
        memory_free(owned->pictures[i].name);
        memory_free(owned->pictures[i].bytes);
    }
    memory_free(owned->made);
    memory_free(owned->texcoords);
    memory_free(owned->blends);
    memory_free(owned->seconds);
    memory_free(owned->turns);
    memory_free(owned->pictures);
    memory_free(owned->media);
    memory_free(owned->image_paths);
    memory_free(owned->image_missing);
    memset(owned, 0, sizeof *owned);
}

/* Reads materials and their extensions. Each extension has a function of its own. */
#include "core/memory.h"
#include "scenes/import/gltf_parts.h"
#include "scenes/mesh/glossiness.h"
#include "scenes/text/names.h"
#include "shaders/material.h"
#include <stdio.h>

static kd_status number(gltf_surface *surface, const json_place *at, const cJSON *json,
                        const char *key, float maximum, float *value) {
    double read = (double)*value;
    KD_TRY(gltf_number(surface->gltf, at, json, key, 0, (double)maximum, &read));
    *value = (float)read;
    return KD_OK;
}

static kd_status coat_read(gltf_surface *surface, const json_place *at, const cJSON *json) {
    principled *layers = &surface->material->layers;
    KD_TRY(number(surface, at, json, "clearcoatFactor", 1, &layers->coat));
    KD_TRY(number(surface, at, json, "clearcoatRoughnessFactor", 1, &layers->coat_roughness));
    if (!(layers->coat > 0)) return KD_OK;
    KD_TRY(gltf_map_read(surface, at, json, "clearcoatTexture", MESH_MAP_COAT, MESH_CHANNEL_RED));
    KD_TRY(gltf_map_read(surface, at, json, "clearcoatRoughnessTexture", MESH_MAP_COAT_ROUGHNESS,
                         MESH_CHANNEL_GREEN));
    KD_TRY(gltf_map_read(surface, at, json, "clearcoatNormalTexture", MESH_MAP_COAT_NORMAL,
                         MESH_CHANNEL_USUAL));
    const json_place place = json_place_key(at, "clearcoatNormalTexture");
    const cJSON *info = NULL;
    mesh_map_form *form = &surface->material->forms[MESH_MAP_COAT_NORMAL];
    double scale = 1;
    KD_TRY(gltf_inner(surface->gltf, at, json, "clearcoatNormalTexture", false, &info));
    if (info) KD_TRY(gltf_number(surface->gltf, &place, info, "scale", -1e6, 1e6, &scale));
    form->ranged = scale != 1;
    form->gain = (float)scale;
    return KD_OK;
}

static kd_status specular_read(gltf_surface *surface, const json_place *at, const cJSON *json) {
    principled *layers = &surface->material->layers;
    KD_TRY(number(surface, at, json, "specularFactor", 1, &layers->specular));
    KD_TRY(gltf_colour(surface->gltf, at, json, "specularColorFactor", &layers->specular_tint));
    KD_TRY(
        gltf_map_read(surface, at, json, "specularTexture", MESH_MAP_SPECULAR, MESH_CHANNEL_ALPHA));
    KD_TRY(gltf_map_read(surface, at, json, "specularColorTexture", MESH_MAP_SPECULAR_TINT,
                         MESH_CHANNEL_USUAL));
    return KD_OK;
}

static kd_status sheen_read(gltf_surface *surface, const json_place *at, const cJSON *json) {
    principled *layers = &surface->material->layers;
    layers->sheen_roughness = 0;
    KD_TRY(gltf_colour(surface->gltf, at, json, "sheenColorFactor", &layers->sheen));
    KD_TRY(number(surface, at, json, "sheenRoughnessFactor", 1, &layers->sheen_roughness));
    layers->sheen = vec3_min(layers->sheen, vec3_all(1));
    if (vec3_is_zero(layers->sheen)) return KD_OK;
    KD_TRY(
        gltf_map_read(surface, at, json, "sheenColorTexture", MESH_MAP_SHEEN, MESH_CHANNEL_USUAL));
    KD_TRY(gltf_map_read(surface, at, json, "sheenRoughnessTexture", MESH_MAP_SHEEN_ROUGHNESS,
                         MESH_CHANNEL_ALPHA));
    return KD_OK;
}

/* glTF's alpha is alpha + (1 - alpha) strength^2 along the tangent and alpha across. The
   renderer's are alpha / a and alpha a. Both can be converted exactly unless roughness or strength
   is textured. Blender writes its own anisotropy, which equals the renderer's, as the strength. */
static void anisotropy_convert(mesh_material *made, float strength, bool is_blenders) {
    const float across = made->record.roughness * made->record.roughness;
    const float along = across + (1 - across) * strength * strength;
    made->layers.anisotropy = strength;
    if (is_blenders) return;
    if (made->roughness_map || *mesh_material_map(made, MESH_MAP_ANISOTROPY) || !(across > 0))
        return;
    made->layers.anisotropy = float_clamp((1 - across / along) / 0.9f, 0, 1);
    made->record.roughness = sqrtf(sqrtf(along * across));
}

static kd_status anisotropy_read(gltf_surface *surface, const json_place *at, const cJSON *json) {
    float strength = 0;
    double turn = 0;
    KD_TRY(number(surface, at, json, "anisotropyStrength", 1, &strength));
    KD_TRY(gltf_number(surface->gltf, at, json, "anisotropyRotation", -1e6, 1e6, &turn));
    if (!(strength > 0)) return KD_OK;
    KD_TRY(gltf_map_read(surface, at, json, "anisotropyTexture", MESH_MAP_ANISOTROPY,
                         MESH_CHANNEL_USUAL));
    surface->material->layers.turn = (float)turn;
    anisotropy_convert(surface->material, strength, gltf_is_blenders(surface->gltf));
    return KD_OK;
}

static kd_status transmission_read(gltf_surface *surface, const json_place *at, const cJSON *json) {
    KD_TRY(number(surface, at, json, "transmissionFactor", 1,
                  &surface->material->layers.transmission));
    if (!(surface->material->layers.transmission > 0)) return KD_OK;
    surface->material->record.flags |= MATERIAL_THIN; /* unless KHR_materials_volume is present */
    surface->material->may_be_glass = true; /* Blender exports no volume even for solid glass */
    KD_TRY(gltf_map_read(surface, at, json, "transmissionTexture", MESH_MAP_TRANSMISSION,
                         MESH_CHANNEL_RED));
    return KD_OK;
}

/* Beer-Lambert: after attenuationDistance the transmittance is attenuationColor. */
static kd_status volume_read(gltf_surface *surface, const json_place *at, const cJSON *json) {
    double thickness = 0, distance = 0;
    vec3 left = vec3_all(1);
    KD_TRY(gltf_number(surface->gltf, at, json, "thicknessFactor", 0, 1e30, &thickness));
    KD_TRY(gltf_number(surface->gltf, at, json, "attenuationDistance", 0, 1e30, &distance));
    KD_TRY(gltf_colour(surface->gltf, at, json, "attenuationColor", &left));
    if (!(thickness > 0)) return KD_OK;
    if (cJSON_HasObjectItem(json, "thicknessTexture") &&
        gltf_is_first(surface->gltf, GLTF_SAID_THICKNESS))
        gltf_warn(surface->gltf, "left-out", at,
                  "found a thicknessTexture, which Kandela does not use: light is traced through "
                  "the mesh");
    surface->material->record.flags &= (uint8_t)~MATERIAL_THIN;
    surface->material->may_be_glass = false;
    left = vec3_max(vec3_min(left, vec3_all(1)), vec3_all(1e-6f));
    if (!(distance > 1e-20) || vec3_luminance(left) >= 1) return KD_OK;
    gltf_materials *all = surface->all;
    medium made;
    memset(&made, 0, sizeof made);
    made.absorption = vec3_make((float)(-log((double)left.x) / distance),
                                (float)(-log((double)left.y) / distance),
                                (float)(-log((double)left.z) / distance));
    KD_TRY(KD_GROW(all->media, all->medium_count, (uint64_t)all->medium_count + 1));
    surface->material->record.medium = all->medium_count;
    all->media[all->medium_count++] = made;
    return KD_OK;
}

/* An index of 0 means total reflection: it is replaced by the largest supported index. */
static kd_status ior_read(gltf_surface *surface, const json_place *at, const cJSON *json) {
    double index = (double)surface->material->record.ior;
    KD_TRY(gltf_number(surface->gltf, at, json, "ior", 0, 1e6, &index));
    surface->material->record.ior = float_clamp((float)(index > 0 ? index : 10), 1, 10);
    return KD_OK;
}

/* Converts dispersion, which is 20 / Abbe number, to Cauchy's A and B by the F, d and C lines. */
static kd_status dispersion_read(gltf_surface *surface, const json_place *at, const cJSON *json) {
    const double f = 0.4861327, d = 0.5875618, c = 0.6562725; /* wavelengths in micrometres */
    material *made = &surface->material->record;
    double said = 0;
    KD_TRY(gltf_number(surface->gltf, at, json, "dispersion", 0, 1e3, &said));
    if (!(said > 0)) return KD_OK;
    const double b = ((double)made->ior - 1) * said / 20 / (1 / (f * f) - 1 / (c * c));
    made->dispersion = DISPERSION_CAUCHY;
    made->index_terms[0] = (float)((double)made->ior - b / (d * d));
    made->index_terms[1] = (float)b;
    if (spectrum_index_is_sound(made)) return KD_OK;
    made->dispersion = DISPERSION_NONE;
    gltf_warn(surface->gltf, "unsupported", at,
              "found a dispersion of %g, for which no refractive index exists; it is ignored",
              said);
    return KD_OK;
}

static kd_status strength_read(gltf_surface *surface, const json_place *at, const cJSON *json) {
    double strength = 1;
    KD_TRY(gltf_number(surface->gltf, at, json, "emissiveStrength", 0, 1e12, &strength));
    surface->material->record.emission =
        vec3_scale(surface->material->record.emission, (float)strength);
    return KD_OK;
}

/* The base colour is displayed independent of lighting. */
static kd_status unlit_read(gltf_surface *surface, const json_place *at, const cJSON *json) {
    mesh_material *made = surface->material;
    (void)at;
    (void)json;
    made->record.kind = MATERIAL_DIFFUSE;
    made->record.emission = made->record.diffuse;
    made->record.diffuse = vec3_all(0);
    made->record.flags |= MATERIAL_UNLIT;
    made->record.two_sided = 1;
    memory_free(made->emission_map);
    made->emission_map = made->diffuse_map;
    made->diffuse_map = NULL;
    made->forms[MESH_MAP_EMISSION] = made->forms[MESH_MAP_DIFFUSE];
    return KD_OK;
}

static void base_give(material *made, const double base[4]) {
    made->diffuse = vec3_make(float_clamp((float)base[0], 0, 1), float_clamp((float)base[1], 0, 1),
                              float_clamp((float)base[2], 0, 1));
    made->opacity = float_clamp((float)base[3], 0, 1);
}

/* The specular-glossiness model replaces pbrMetallicRoughness (glossiness.h). */
static kd_status glossiness_read(gltf_surface *surface, const json_place *at, const cJSON *json) {
    double base[4] = {1, 1, 1, 1}, glossiness = 1;
    vec3 specular = vec3_all(1);
    mesh_material *owner = surface->material;
    material *made = &owner->record;
    KD_TRY(gltf_numbers(surface->gltf, at, json, "diffuseFactor", 4, base, NULL));
    KD_TRY(gltf_number(surface->gltf, at, json, "glossinessFactor", 0, 1, &glossiness));
    KD_TRY(gltf_colour(surface->gltf, at, json, "specularFactor", &specular));
    KD_TRY(
        gltf_map_read(surface, at, json, "diffuseTexture", MESH_MAP_DIFFUSE, MESH_CHANNEL_USUAL));
    KD_TRY(gltf_map_read(surface, at, json, "specularGlossinessTexture", MESH_MAP_SPECULAR,
                         MESH_CHANNEL_USUAL));
    specular = vec3_min(specular, vec3_all(1));
    base_give(made, base);
    made->flags |= MATERIAL_SPECULAR;
    if (owner->specular_map) { /* the factors are applied to the image */
        const float factors[4] = {specular.x, specular.y, specular.z, (float)glossiness};
        memcpy(owner->glossiness, factors, sizeof factors);
        made->specular = vec3_all(1);
        made->metallic = made->roughness = 1;
        return KD_OK;
    }
    const glossy split = glossy_of(specular);
    made->specular = split.metal;
    made->metallic = split.metallic;
    made->roughness = (float)(1 - glossiness);
    owner->layers.specular = split.dielectric;
    owner->layers.specular_tint = split.tint;
    return KD_OK;
}

typedef struct layer_row {
    const char *name;
    kd_status (*read)(gltf_surface *surface, const json_place *at, const cJSON *json);
} layer_row;

/* The order matters: some extensions modify values of earlier ones. */
kd_status gltf_layers_read(gltf_surface *surface) {
    static const layer_row rows[] = {
        {"KHR_materials_emissive_strength", strength_read}, {"KHR_materials_ior", ior_read},
        {"KHR_materials_transmission", transmission_read},  {"KHR_materials_volume", volume_read},
        {"KHR_materials_dispersion", dispersion_read},      {"KHR_materials_clearcoat", coat_read},
        {"KHR_materials_specular", specular_read},          {"KHR_materials_sheen", sheen_read},
        {"KHR_materials_anisotropy", anisotropy_read},      {"KHR_materials_unlit", unlit_read}};
    const json_place inner = json_place_key(&surface->place, "extensions");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const json_place at = json_place_key(&inner, rows[i].name);
        const cJSON *from = NULL;
        KD_TRY(gltf_extension(surface->gltf, &surface->place, surface->json, rows[i].name, &from));
        if (from) KD_TRY(rows[i].read(surface, &at, from));
    }
    return KD_OK;
}

/* Materials without extensions. The last material is glTF's default, for primitives without one. */

/* Copies the material's name, or "material" if it has none; appends a number if it is taken. */
static kd_status name_give(name_table *taken, const char *said, uint32_t index, char **name) {
    char text[512];
    const char *base_name = said && *said ? said : "material";
    int length = snprintf(text, sizeof text, "%.480s", base_name);
    text_span span = {text, (uint64_t)length};
    /* With thousands of equal names, start at a number that is likely to be free. */
    for (uint32_t i = index < 1000 ? 2 : index; name_table_find(taken, span) != KD_NONE; ++i)
        span.count = (uint64_t)snprintf(text, sizeof text, "%.480s-%u", base_name, i);
    KD_TRY(KD_RESERVE(*name, span.count + 1));
    memcpy(*name, text, span.count + 1);
    span.begin = *name;
    KD_TRY(name_table_add(taken, span, index));
    return KD_OK;
}

/* MASK scales the opacity so that alphaCutoff maps to the fixed threshold MATERIAL_MASK_AT, and a
   little more, so that alpha is drawn if it equals the cutoff up to rounding. */
static kd_status alpha_read(gltf_surface *surface) {
    const char *mode = "OPAQUE";
    material *made = &surface->material->record;
    double cutoff = 0.5;
    KD_TRY(gltf_text(surface->gltf, &surface->place, surface->json, "alphaMode", &mode));
    KD_TRY(
        gltf_number(surface->gltf, &surface->place, surface->json, "alphaCutoff", 0, 1e6, &cutoff));
    const bool masks = strcmp(mode, "MASK") == 0, blends = strcmp(mode, "BLEND") == 0;
    if (!masks && !blends && strcmp(mode, "OPAQUE") != 0)
        return gltf_fail(surface->gltf, "bad-value", &surface->place,
                         "found the alphaMode \"%.20s\", expected OPAQUE, MASK or BLEND", mode);
    if (!blends && (!masks || cutoff == 0)) {
        made->opacity = 1;
        return KD_OK;
    }
    surface->all->blends[surface->material - surface->all->made] = true;
    const mesh_map base = made->flags & MATERIAL_UNLIT ? MESH_MAP_EMISSION : MESH_MAP_DIFFUSE;
    KD_TRY(gltf_map_copy(surface, base, MESH_MAP_OPACITY, MESH_CHANNEL_ALPHA));
    if (blends) return KD_OK;
    const double scale = (1 + 1e-6) * (double)MATERIAL_MASK_AT / cutoff;
    made->flags |= MATERIAL_MASK;
    made->opacity = (float)fmin((double)made->opacity * scale, 1e30);
    return KD_OK;
}

static kd_status base_read(gltf_surface *surface) {
    const cJSON *pbr = NULL;
    const json_place at = json_place_key(&surface->place, "pbrMetallicRoughness");
    material *made = &surface->material->record;
    double base[4] = {1, 1, 1, 1}, metallic = 1, roughness = 1;
    KD_TRY(gltf_inner(surface->gltf, &surface->place, surface->json, "pbrMetallicRoughness", false,
                      &pbr));
    if (pbr) {
        KD_TRY(gltf_numbers(surface->gltf, &at, pbr, "baseColorFactor", 4, base, NULL));
        KD_TRY(gltf_number(surface->gltf, &at, pbr, "metallicFactor", 0, 1, &metallic));
        KD_TRY(gltf_number(surface->gltf, &at, pbr, "roughnessFactor", 0, 1, &roughness));
        KD_TRY(gltf_map_read(surface, &at, pbr, "baseColorTexture", MESH_MAP_DIFFUSE,
                             MESH_CHANNEL_USUAL));
        KD_TRY(gltf_map_read(surface, &at, pbr, "metallicRoughnessTexture", MESH_MAP_ROUGHNESS,
                             MESH_CHANNEL_GREEN));
        KD_TRY(gltf_map_copy(surface, MESH_MAP_ROUGHNESS, MESH_MAP_METALLIC, MESH_CHANNEL_BLUE));
    }
    base_give(made, base);
    made->metallic = (float)metallic;
    made->roughness = (float)roughness;
    return KD_OK;
}

static kd_status normal_read(gltf_surface *surface) {
    const cJSON *info = NULL;
    const json_place at = json_place_key(&surface->place, "normalTexture");
    double scale = 1;
    KD_TRY(
        gltf_inner(surface->gltf, &surface->place, surface->json, "normalTexture", false, &info));
    if (!info) return KD_OK;
    KD_TRY(gltf_number(surface->gltf, &at, info, "scale", -1e6, 1e6, &scale));
    KD_TRY(gltf_map_read(surface, &surface->place, surface->json, "normalTexture", MESH_MAP_NORMAL,
                         MESH_CHANNEL_USUAL));
    surface->material->layers.normal_scale = (float)scale;
    return KD_OK;
}

static kd_status surface_read(gltf_surface *surface) {
    bool two_sided = false;
    const cJSON *glossiness = NULL, *unlit = NULL;
    const json_place inner = json_place_key(&surface->place, "extensions");
    const json_place at = json_place_key(&inner, "KHR_materials_pbrSpecularGlossiness");
    surface->material->record.kind = MATERIAL_PRINCIPLED; /* the base colour is an albedo */
    KD_TRY(gltf_extension(surface->gltf, &surface->place, surface->json, at.name, &glossiness));
    KD_TRY(gltf_extension(surface->gltf, &surface->place, surface->json, "KHR_materials_unlit",
                          &unlit));
    if (glossiness && !unlit)
        KD_TRY(glossiness_read(surface, &at, glossiness));
    else
        KD_TRY(base_read(surface));
    KD_TRY(normal_read(surface));
    if (cJSON_HasObjectItem(surface->json, "occlusionTexture") &&
        gltf_is_first(surface->gltf, GLTF_SAID_OCCLUSION))
        gltf_warn(surface->gltf, "left-out", &surface->place,
                  "found an occlusionTexture, which Kandela does not use: light is traced");
    KD_TRY(gltf_colour(surface->gltf, &surface->place, surface->json, "emissiveFactor",
                       &surface->material->record.emission));
    KD_TRY(gltf_map_read(surface, &surface->place, surface->json, "emissiveTexture",
                         MESH_MAP_EMISSION, MESH_CHANNEL_USUAL));
    KD_TRY(gltf_flag(surface->gltf, &surface->place, surface->json, "doubleSided", &two_sided));
    surface->material->record.two_sided = two_sided ? 1 : 0;
    KD_TRY(gltf_layers_read(surface));
    KD_TRY(alpha_read(surface));
    return KD_OK;
}

/* Returns true if the material uses tangent space. */
static bool needs_tangents(mesh_material *made) {
    return made->normal_map || made->layers.anisotropy > 0 ||
           *mesh_material_map(made, MESH_MAP_COAT_NORMAL);
}

static kd_status all_read(gltf_file *gltf, gltf_materials *out, name_table *names) {
    const uint32_t count = gltf->lists[GLTF_MATERIALS].count + 1;
    out->image_count = gltf->lists[GLTF_IMAGES].count;
    KD_TRY(KD_RESERVE_ZEROED(out->made, count));
    KD_TRY(KD_RESERVE_ZEROED(out->texcoords, count));
    KD_TRY(KD_RESERVE_ZEROED(out->blends, count));
    KD_TRY(KD_RESERVE_ZEROED(out->seconds, count));
    KD_TRY(KD_RESERVE_ZEROED(out->turns, count));
    KD_TRY(KD_RESERVE_ZEROED(out->image_paths, out->image_count));
    KD_TRY(KD_RESERVE_ZEROED(out->image_missing, out->image_count));
    for (uint32_t i = 0; i < count; ++i) {
        gltf_surface to = {gltf,
                           out,
                           i + 1 < count ? gltf_item(gltf, GLTF_MATERIALS, i) : NULL,
                           gltf_place(gltf, GLTF_MATERIALS, i),
                           &out->made[i],
                           KD_NONE,
                           KD_NONE};
        const char *name = "default";
        mesh_material_default(to.material);
        ++out->count;
        if (to.json) KD_TRY(gltf_text(gltf, &to.place, to.json, "name", &name));
        KD_TRY(name_give(names, name, i, &to.material->name));
        KD_TRY(surface_read(&to));
        out->texcoords[i] = to.texcoord == KD_NONE ? 0 : to.texcoord;
        out->seconds[i] = to.second;
        out->turns[i] = needs_tangents(to.material);
    }
    return KD_OK;
}

kd_status gltf_materials_read(gltf_file *gltf, gltf_materials *out) {
    name_table names = {0};
    const kd_status status = all_read(gltf, out, &names);
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

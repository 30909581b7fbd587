/* The extensions of materials. Each reads its words and says whether only a principled material can
   hold them. */
#include "core/memory.h"
#include "scenes/gltf/gltf_parts.h"
#include "shaders/material.h"

static kd_status number(gltf_surface *to, const json_place *at, const cJSON *from, const char *key,
                        float most, float *value) {
    double read = (double)*value;
    KD_TRY(gltf_number(to->of, at, from, key, 0, (double)most, &read));
    *value = (float)read;
    return KD_OK;
}

static kd_status coat_read(gltf_surface *to, const json_place *at, const cJSON *from) {
    principled *layers = &to->to->layers;
    KD_TRY(number(to, at, from, "clearcoatFactor", 1, &layers->coat));
    KD_TRY(number(to, at, from, "clearcoatRoughnessFactor", 1, &layers->coat_roughness));
    if (!(layers->coat > 0)) return KD_OK;
    KD_TRY(gltf_map_read(to, at, from, "clearcoatTexture", MESH_MAP_COAT, MESH_CHANNEL_RED));
    KD_TRY(gltf_map_read(to, at, from, "clearcoatRoughnessTexture", MESH_MAP_COAT_ROUGHNESS,
                         MESH_CHANNEL_GREEN));
    KD_TRY(gltf_map_read(to, at, from, "clearcoatNormalTexture", MESH_MAP_COAT_NORMAL,
                         MESH_CHANNEL_USUAL));
    return KD_OK;
}

static kd_status specular_read(gltf_surface *to, const json_place *at, const cJSON *from) {
    principled *layers = &to->to->layers;
    KD_TRY(number(to, at, from, "specularFactor", 1, &layers->specular));
    KD_TRY(gltf_colour(to->of, at, from, "specularColorFactor", &layers->specular_tint));
    KD_TRY(gltf_map_read(to, at, from, "specularTexture", MESH_MAP_SPECULAR, MESH_CHANNEL_ALPHA));
    KD_TRY(gltf_map_read(to, at, from, "specularColorTexture", MESH_MAP_SPECULAR_TINT,
                         MESH_CHANNEL_USUAL));
    return KD_OK;
}

static kd_status sheen_read(gltf_surface *to, const json_place *at, const cJSON *from) {
    principled *layers = &to->to->layers;
    layers->sheen_roughness = 0;
    KD_TRY(gltf_colour(to->of, at, from, "sheenColorFactor", &layers->sheen));
    KD_TRY(number(to, at, from, "sheenRoughnessFactor", 1, &layers->sheen_roughness));
    layers->sheen = vec3_min(layers->sheen, vec3_all(1));
    if (vec3_is_zero(layers->sheen)) return KD_OK;
    KD_TRY(gltf_map_read(to, at, from, "sheenColorTexture", MESH_MAP_SHEEN, MESH_CHANNEL_USUAL));
    KD_TRY(gltf_map_read(to, at, from, "sheenRoughnessTexture", MESH_MAP_SHEEN_ROUGHNESS,
                         MESH_CHANNEL_ALPHA));
    return KD_OK;
}

/* Of glTF: alpha along the tangent is alpha + (1 - alpha) strength^2, across it alpha. Ours are
   alpha / a and alpha a: the same two where neither roughness nor strength is an image. Blender
   writes its own number, which is ours, for the strength. */
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

static kd_status anisotropy_read(gltf_surface *to, const json_place *at, const cJSON *from) {
    float strength = 0;
    double turn = 0;
    KD_TRY(number(to, at, from, "anisotropyStrength", 1, &strength));
    KD_TRY(gltf_number(to->of, at, from, "anisotropyRotation", -1e6, 1e6, &turn));
    if (!(strength > 0)) return KD_OK;
    KD_TRY(
        gltf_map_read(to, at, from, "anisotropyTexture", MESH_MAP_ANISOTROPY, MESH_CHANNEL_USUAL));
    to->to->layers.turn = (float)turn;
    anisotropy_convert(to->to, strength, gltf_is_blenders(to->of));
    return KD_OK;
}

static kd_status transmission_read(gltf_surface *to, const json_place *at, const cJSON *from) {
    KD_TRY(number(to, at, from, "transmissionFactor", 1, &to->to->layers.transmission));
    if (!(to->to->layers.transmission > 0)) return KD_OK;
    to->to->record.flags |= MATERIAL_THIN; /* unless it has a volume */
    to->to->perhaps_glass = true;          /* Blender writes none, though it means glass */
    KD_TRY(gltf_map_read(to, at, from, "transmissionTexture", MESH_MAP_TRANSMISSION,
                         MESH_CHANNEL_RED));
    return KD_OK;
}

/* What is left of light after attenuationDistance is attenuationColor. */
static kd_status volume_read(gltf_surface *to, const json_place *at, const cJSON *from) {
    double thickness = 0, distance = 0;
    vec3 left = vec3_all(1);
    KD_TRY(gltf_number(to->of, at, from, "thicknessFactor", 0, 1e30, &thickness));
    KD_TRY(gltf_number(to->of, at, from, "attenuationDistance", 0, 1e30, &distance));
    KD_TRY(gltf_colour(to->of, at, from, "attenuationColor", &left));
    if (!(thickness > 0)) return KD_OK;
    to->to->record.flags &= (uint8_t)~MATERIAL_THIN;
    to->to->perhaps_glass = false;
    left = vec3_max(vec3_min(left, vec3_all(1)), vec3_all(1e-6f));
    if (!(distance > 1e-20) || vec3_luminance(left) >= 1) return KD_OK;
    gltf_materials *all = to->all;
    medium made;
    memset(&made, 0, sizeof made);
    made.absorption = vec3_make((float)(-log((double)left.x) / distance),
                                (float)(-log((double)left.y) / distance),
                                (float)(-log((double)left.z) / distance));
    KD_TRY(KD_GROW(all->media, all->medium_count, (uint64_t)all->medium_count + 1));
    to->to->record.medium = all->medium_count;
    all->media[all->medium_count++] = made;
    return KD_OK;
}

/* 0 means that all is reflected: the largest that there is. */
static kd_status ior_read(gltf_surface *to, const json_place *at, const cJSON *from) {
    double index = (double)to->to->record.ior;
    KD_TRY(gltf_number(to->of, at, from, "ior", 0, 1e6, &index));
    to->to->record.ior = float_clamp((float)(index > 0 ? index : 10), 1, 10);
    return KD_OK;
}

/* 20 over the Abbe number becomes Cauchy's A and B, by the lines F, d and C. */
static kd_status dispersion_read(gltf_surface *to, const json_place *at, const cJSON *from) {
    const double f = 0.4861327, d = 0.5875618, c = 0.6562725; /* micrometres */
    material *made = &to->to->record;
    double said = 0;
    KD_TRY(gltf_number(to->of, at, from, "dispersion", 0, 1e3, &said));
    if (!(said > 0)) return KD_OK;
    const double b = ((double)made->ior - 1) * said / 20 / (1 / (f * f) - 1 / (c * c));
    made->dispersion = DISPERSION_CAUCHY;
    made->index_terms[0] = (float)((double)made->ior - b / (d * d));
    made->index_terms[1] = (float)b;
    if (spectrum_index_is_sound(made)) return KD_OK;
    made->dispersion = DISPERSION_NONE;
    gltf_warn(to->of, "unsupported", at,
              "found a dispersion of %g, at which the index is none: left out", said);
    return KD_OK;
}

static kd_status strength_read(gltf_surface *to, const json_place *at, const cJSON *from) {
    double strength = 1;
    KD_TRY(gltf_number(to->of, at, from, "emissiveStrength", 0, 1e12, &strength));
    to->to->record.emission = vec3_scale(to->to->record.emission, (float)strength);
    return KD_OK;
}

/* The base colour is what the eye sees, whatever the light is. */
static kd_status unlit_read(gltf_surface *to, const json_place *at, const cJSON *from) {
    mesh_material *made = to->to;
    (void)at;
    (void)from;
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

/* The way before metallic and roughness: a dielectric of this colour. */
static kd_status glossiness_read(gltf_surface *to, const json_place *at, const cJSON *from) {
    double base[4] = {1, 1, 1, 1}, glossiness = 1;
    material *made = &to->to->record;
    KD_TRY(gltf_numbers(to->of, at, from, "diffuseFactor", 4, base, NULL));
    KD_TRY(gltf_number(to->of, at, from, "glossinessFactor", 0, 1, &glossiness));
    made->diffuse = vec3_make(float_clamp((float)base[0], 0, 1), float_clamp((float)base[1], 0, 1),
                              float_clamp((float)base[2], 0, 1));
    made->opacity = float_clamp((float)base[3], 0, 1);
    made->roughness = (float)(1 - glossiness);
    made->metallic = 0;
    KD_TRY(gltf_map_read(to, at, from, "diffuseTexture", MESH_MAP_DIFFUSE, MESH_CHANNEL_USUAL));
    return KD_OK;
}

typedef struct layer_row {
    const char *name;
    kd_status (*read)(gltf_surface *to, const json_place *at, const cJSON *from);
} layer_row;

/* Extensions that no row reads: said, as the surface looks otherwise. */
static void others_tell(gltf_surface *to, const layer_row *rows, size_t count) {
    const cJSON *item = NULL, *all = cJSON_GetObjectItemCaseSensitive(to->from, "extensions");
    if (!cJSON_IsObject(all)) return;
    cJSON_ArrayForEach(item, all) {
        size_t i = 0;
        while (i < count && (!item->string || strcmp(rows[i].name, item->string) != 0)) ++i;
        if (i == count && item->string)
            gltf_warn(to->of, "unsupported", &to->place,
                      "found the extension %.60s, which is not read: the surface is without it",
                      item->string);
    }
}

/* In an order in which each finds what it builds on. */
kd_status gltf_layers_read(gltf_surface *to) {
    static const layer_row rows[] = {{"KHR_materials_pbrSpecularGlossiness", glossiness_read},
                                     {"KHR_materials_emissive_strength", strength_read},
                                     {"KHR_materials_ior", ior_read},
                                     {"KHR_materials_transmission", transmission_read},
                                     {"KHR_materials_volume", volume_read},
                                     {"KHR_materials_dispersion", dispersion_read},
                                     {"KHR_materials_clearcoat", coat_read},
                                     {"KHR_materials_specular", specular_read},
                                     {"KHR_materials_sheen", sheen_read},
                                     {"KHR_materials_anisotropy", anisotropy_read},
                                     {"KHR_materials_unlit", unlit_read}};
    const json_place inner = json_place_key(&to->place, "extensions");
    others_tell(to, rows, sizeof rows / sizeof *rows);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const json_place at = json_place_key(&inner, rows[i].name);
        const cJSON *from = NULL;
        KD_TRY(gltf_extension(to->of, &to->place, to->from, rows[i].name, &from));
        if (from) KD_TRY(rows[i].read(to, &at, from));
    }
    return KD_OK;
}

/* Reads the materials of a description (defined by name, replacing one of a mesh file, or changing
   parts of one) and its media (defined by name, for materials and fog). */
#include "core/math/photometry.h"
#include "core/memory.h"
#include "core/names.h"
#include "scenes/describe/describe_keys.h"
#include "scenes/describe/describe_reader.h"
#include "shaders/material.h"

static void words_from(described_material *words, const mesh_material *mesh_material) {
    const material *record = &mesh_material->record;
    memset(words, 0, sizeof *words);
    words->kind = record->kind;
    words->energy = record->energy;
    words->priority = record->priority;
    words->diffuse = record->diffuse;
    words->specular = record->specular;
    words->transmission = record->transmission;
    words->emission = record->emission;
    words->roughness = record->roughness;
    words->metallic = record->metallic;
    words->ior = record->ior;
    words->opacity = record->opacity;
    words->bump_scale = record->bump_scale;
    words->two_sided = record->two_sided != 0;
    words->layers = mesh_material->layers;
    words->turn_degrees = mesh_material->layers.turn * (180 / KD_PI);
    words->thin = (record->flags & MATERIAL_THIN) != 0;
    words->unlit = (record->flags & MATERIAL_UNLIT) != 0;
    words->metal = -1;
    words->map_clamp = mesh_material->map_clamp;
    memcpy(words->map_scale, mesh_material->map_scale, sizeof words->map_scale);
    memcpy(words->map_offset, mesh_material->map_offset, sizeof words->map_offset);
}

static void words_to(mesh_material *mesh_material, const described_material *words) {
    material *record = &mesh_material->record;
    record->kind = words->kind;
    record->energy = (uint8_t)words->energy;
    record->priority = (uint8_t)words->priority;
    record->diffuse = words->diffuse;
    record->specular = words->specular;
    record->transmission = words->transmission;
    record->emission = words->emission;
    record->roughness = words->roughness;
    record->metallic = words->metallic;
    record->ior = words->ior;
    record->opacity = words->opacity;
    record->bump_scale = words->bump_scale;
    record->two_sided = words->two_sided;
    record->flags =
        (uint8_t)((words->thin ? MATERIAL_THIN : 0) | (words->unlit ? MATERIAL_UNLIT : 0));
    mesh_material->layers = words->layers;
    mesh_material->layers.turn = words->turn_degrees * (KD_PI / 180);
    mesh_material->map_clamp = words->map_clamp;
    memcpy(mesh_material->map_scale, words->map_scale, sizeof words->map_scale);
    memcpy(mesh_material->map_offset, words->map_offset, sizeof words->map_offset);
}

/* Reads the coefficients of a wavelength-dependent index; `ior` becomes the index at 587.6 nm
   (yellow). */
static kd_status read_dispersion(const json_place *at, const cJSON *object, material *material,
                                 const described_material *words) {
    const bool cauchy = json_has(object, "cauchy"), sellmeier = json_has(object, "sellmeier");
    if (cauchy + sellmeier + json_has(object, "ior") > 1)
        return json_fail(at, "set exactly one of `ior`, `cauchy` and `sellmeier`");
    if (json_has(object, "ior")) material->dispersion = DISPERSION_NONE;
    if (!cauchy && !sellmeier) return KD_OK;
    material->dispersion = cauchy ? DISPERSION_CAUCHY : DISPERSION_SELLMEIER;
    memset(material->index_terms, 0, sizeof material->index_terms);
    if (cauchy)
        memcpy(material->index_terms, words->cauchy, sizeof words->cauchy);
    else
        memcpy(material->index_terms, words->sellmeier, sizeof words->sellmeier);
    if (!spectrum_index_is_sound(material))
        return json_fail(at,
                         "the refractive index must be from 0.1 to 10 at all wavelengths from %g "
                         "to %g micrometres",
                         (double)SPECTRUM_SHORTEST, (double)SPECTRUM_LONGEST);
    material->ior = spectrum_index(material, 0.5876f);
    return KD_OK;
}

static kd_status read_media(const describe_reader *reader, const json_place *at, material *material,
                            const described_material *words) {
    const json_place behind = json_place_key(at, "medium");
    const json_place before = json_place_key(at, "medium_outside");
    if (words->medium_outside && words->priority)
        return json_fail(&before, "a material with a `priority` cannot have `medium_outside`: what "
                                  "is in front of it follows from the priorities");
    if (words->medium)
        KD_TRY(describe_medium_find(reader, &behind, words->medium, &material->medium));
    if (words->medium_outside)
        KD_TRY(describe_medium_find(reader, &before, words->medium_outside,
                                    &material->medium_outside));
    return KD_OK;
}

/* Applies the values of a named metal; explicit keys take precedence. */
static void take_metal(const cJSON *object, described_material *words) {
    const bool other = json_has(object, "kind") && words->kind != MATERIAL_PRINCIPLED &&
                       words->kind != MATERIAL_CONDUCTOR;
    if (words->metal < 0 || other) return;
    const metal_colours colours = metal_of(words->metal);
    if (words->kind == MATERIAL_CONDUCTOR) {
        if (!json_has(object, "specular")) words->specular = colours.normal;
        return;
    }
    words->kind = MATERIAL_PRINCIPLED;
    if (!json_has(object, "diffuse")) words->diffuse = colours.normal;
    if (!json_has(object, "specular_tint")) words->layers.specular_tint = colours.edge;
    if (!json_has(object, "metallic")) words->metallic = 1;
}

static kd_status check_layers(const json_place *at, const cJSON *object,
                              const described_material *words) {
    static const char *const keys[] = {"specular_weight",
                                       "specular_tint",
                                       "anisotropy",
                                       "anisotropy_degrees",
                                       "sheen",
                                       "sheen_roughness",
                                       "coat",
                                       "coat_roughness",
                                       "coat_ior",
                                       "thin",
                                       "transmission_weight",
                                       "normal_scale",
                                       "specular_tint_map",
                                       "anisotropy_map",
                                       "sheen_map",
                                       "sheen_roughness_map",
                                       "coat_map",
                                       "coat_roughness_map",
                                       "coat_normal_map",
                                       "transmission_map"};
    if (words->kind == MATERIAL_PRINCIPLED) return KD_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
        const json_place place = json_place_key(at, keys[i]);
        if (json_has(object, keys[i]))
            return json_fail(&place, "this key needs `kind` \"principled\"");
    }
    if (words->metal >= 0 && words->kind != MATERIAL_CONDUCTOR)
        return json_fail(at, "`metal` needs `kind` \"principled\" or \"conductor\"");
    return KD_OK;
}

/* Applies the keys of the object to material `index`. */
static kd_status change(describe_reader *reader, const json_place *at, const cJSON *object,
                        uint32_t index) {
    mesh_material *made = &reader->geometry.made.materials[index];
    described_material words;
    words_from(&words, made);
    KD_TRY(json_read(at, object, describe_material_keys, &words));
    const bool metal = words.kind == MATERIAL_MIRROR || words.kind == MATERIAL_CONDUCTOR;
    if (metal && json_has(object, "kind") && !json_has(object, "specular"))
        words.specular = vec3_all(1);
    if (json_has(object, "emission_nits")) {
        if (json_has(object, "emission"))
            return json_fail(at, "set exactly one of `emission` and `emission_nits`");
        words.emission = photometry_to_watts(words.emission_nits);
    }
    take_metal(object, &words);
    KD_TRY(check_layers(at, object, &words));
    words_to(made, &words);
    KD_TRY(read_dispersion(at, object, &made->record, &words));
    KD_TRY(read_media(reader, at, &made->record, &words));
    for (int map = 0; map < MESH_MAPS; ++map) {
        if (!words.maps[map]) continue;
        char *path = NULL;
        KD_TRY(describe_path(reader, words.maps[map], &path));
        char **old = mesh_material_map(made, (mesh_map)map);
        memory_free(*old);
        *old = path;
    }
    return KD_OK;
}

static kd_status add_default(describe_reader *reader, const char *name, uint32_t *index) {
    mesh_material plain;
    char *name_copy = NULL;
    const size_t bytes = strlen(name) + 1;
    KD_TRY(KD_RESERVE(name_copy, bytes));
    memcpy(name_copy, name, bytes);
    mesh_material_default(&plain);
    plain.name = name_copy;
    *index = mesh_builder_copy_material(&reader->geometry, &plain);
    memory_free(name_copy);
    return reader->geometry.status;
}

kd_status describe_materials(describe_reader *reader, const json_place *at, const cJSON *map) {
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, map) {
        const json_place place = json_place_key(at, item->string);
        uint32_t index = 0;
        if (cJSON_GetObjectItemCaseSensitive(map, item->string) != item)
            return json_fail(&place, "given twice");
        KD_TRY(add_default(reader, item->string, &index));
        KD_TRY(change(reader, &place, item, index));
    }
    return KD_OK;
}

/* Named materials are the first ones of the geometry, in file order, so the position is the
   index. */
static kd_status find(const describe_reader *reader, const json_place *at, const char *name,
                      uint32_t *index) {
    const char *best = NULL;
    const cJSON *item = NULL;
    uint32_t number = 0;
    cJSON_ArrayForEach(item, reader->names) {
        if (strcmp(item->string, name) == 0) {
            *index = number;
            return KD_OK;
        }
        nearest_consider(&best, name, item->string);
        ++number;
    }
    if (best)
        return json_fail(at, "unknown material \"%.60s\", did you mean \"%.60s\"?", name, best);
    return json_fail(at, "unknown material \"%.60s\"; `materials` has %u entries", name, number);
}

kd_status describe_material(describe_reader *reader, const json_place *at, const cJSON *value,
                            uint32_t base, uint32_t *index) {
    if (cJSON_IsString(value)) {
        KD_TRY(find(reader, at, value->valuestring, index));
        return KD_OK;
    }
    if (!cJSON_IsObject(value))
        return json_unexpected(at, value, "the name of a material or an object");
    if (base == KD_NONE) {
        KD_TRY(add_default(reader, "inline", index));
    } else {
        *index =
            mesh_builder_copy_material(&reader->geometry, &reader->geometry.made.materials[base]);
        KD_TRY(reader->geometry.status);
    }
    KD_TRY(change(reader, at, value, *index));
    return KD_OK;
}

kd_status describe_media(describe_reader *reader, const json_place *at, const cJSON *map) {
    const cJSON *item = NULL;
    reader->media = map;
    KD_TRY(KD_RESERVE(reader->draft->media, (uint64_t)cJSON_GetArraySize(map) + 1));
    cJSON_ArrayForEach(item, map) {
        const json_place place = json_place_key(at, item->string);
        if (cJSON_GetObjectItemCaseSensitive(map, item->string) != item)
            return json_fail(&place, "given twice");
        described_medium words;
        memset(&words, 0, sizeof words);
        KD_TRY(json_read(&place, item, describe_medium_keys, &words));
        medium *made = &reader->draft->media[reader->draft->medium_count++];
        made->absorption = words.absorption;
        made->scattering = words.scattering;
        made->g = words.g;
    }
    return KD_OK;
}

kd_status describe_medium_find(const describe_reader *reader, const json_place *at,
                               const char *name, uint32_t *index) {
    const char *best = NULL;
    const cJSON *item = NULL;
    uint32_t number = 0;
    cJSON_ArrayForEach(item, reader->media) {
        if (strcmp(item->string, name) == 0) {
            *index = number;
            return KD_OK;
        }
        nearest_consider(&best, name, item->string);
        ++number;
    }
    if (best) return json_fail(at, "unknown medium \"%.60s\", did you mean \"%.60s\"?", name, best);
    return json_fail(at, "unknown medium \"%.60s\"; `media` has %u entries", name, number);
}

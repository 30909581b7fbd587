#include "scenes/assimp/import_materials.h"
#include "core/memory.h"
#include "core/status.h"
#include "scenes/obj/mtl.h"
#include <assimp/material.h>
#include <stdio.h>

static float number_of(const struct aiMaterial *from, const char *key, unsigned type,
                       unsigned index, float otherwise) {
    ai_real value = 0;
    return aiGetMaterialFloatArray(from, key, type, index, &value, NULL) == aiReturn_SUCCESS
               ? (float)value
               : otherwise;
}

static bool colour_of(const struct aiMaterial *from, const char *key, unsigned type, unsigned index,
                      vec3 *colour) {
    struct aiColor4D read;
    if (aiGetMaterialColor(from, key, type, index, &read) != aiReturn_SUCCESS) return false;
    *colour = vec3_make((float)read.r, (float)read.g, (float)read.b);
    return true;
}

/* The file's numbers in MTL's terms, so that both go the same way to our record. */
static void numbers_fill(const struct aiMaterial *from, mtl_entry *entry) {
    const vec3 none = vec3_all(NAN);
    entry->kd = entry->ks = entry->ke = entry->tf = none;
    entry->tr = entry->illum = NAN;
    entry->ka = none;
    entry->ps = entry->pc = entry->pcr = entry->aniso = entry->anisor = NAN;
    if (!colour_of(from, AI_MATKEY_BASE_COLOR, &entry->kd))
        (void)colour_of(from, AI_MATKEY_COLOR_DIFFUSE, &entry->kd);
    entry->ns = number_of(from, AI_MATKEY_SHININESS, NAN);
    if (entry->ns > 0) (void)colour_of(from, AI_MATKEY_COLOR_SPECULAR, &entry->ks);
    if (colour_of(from, AI_MATKEY_COLOR_EMISSIVE, &entry->ke))
        entry->ke = vec3_scale(entry->ke, number_of(from, AI_MATKEY_EMISSIVE_INTENSITY, 1));
    const float index = number_of(from, AI_MATKEY_REFRACTI, 1.5f);
    entry->ni = index > 1 ? index : 1.5f;
    entry->d = number_of(from, AI_MATKEY_OPACITY, NAN);
    entry->pm = number_of(from, AI_MATKEY_METALLIC_FACTOR, NAN);
    entry->pr = number_of(from, AI_MATKEY_ROUGHNESS_FACTOR, NAN);
    if (number_of(from, AI_MATKEY_TRANSMISSION_FACTOR, 0) > 0.5f) {
        entry->illum = 7;
        entry->tf = entry->kd;
    }
}

static kd_status map_find(const struct aiMaterial *from, enum aiTextureType type, const char *path,
                          char **found) {
    struct aiString name;
    if (*found || aiGetMaterialString(from, AI_MATKEY_TEXTURE(type, 0), &name) != aiReturn_SUCCESS)
        return KD_OK;
    if (name.data[0] == '*') {
        log_message(LOG_WARNING,
                    "%s: a picture inside the file is left out, expected one beside it", path);
        return KD_OK;
    }
    const size_t bytes = strlen(name.data) + 1;
    KD_TRY(KD_RESERVE(*found, bytes));
    memcpy(*found, name.data, bytes);
    return KD_OK;
}

static kd_status maps_find(const struct aiMaterial *from, const char *path, mtl_entry *entry) {
    static const struct {
        enum aiTextureType type;
        mtl_map which;
    } kinds[] = {{aiTextureType_BASE_COLOR, MTL_MAP_DIFFUSE},
                 {aiTextureType_DIFFUSE, MTL_MAP_DIFFUSE},
                 {aiTextureType_SPECULAR, MTL_MAP_SPECULAR},
                 {aiTextureType_EMISSIVE, MTL_MAP_EMISSION},
                 {aiTextureType_OPACITY, MTL_MAP_OPACITY},
                 {aiTextureType_DIFFUSE_ROUGHNESS, MTL_MAP_ROUGHNESS},
                 {aiTextureType_METALNESS, MTL_MAP_METALLIC},
                 {aiTextureType_NORMALS, MTL_MAP_NORMAL},
                 {aiTextureType_HEIGHT, MTL_MAP_BUMP}};
    for (int i = 0; i < MTL_MAPS; ++i) {
        memset(&entry->maps[i], 0, sizeof entry->maps[i]);
        entry->maps[i].scale[0] = entry->maps[i].scale[1] = entry->maps[i].bump = 1;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        KD_TRY(map_find(from, kinds[i].type, path, &entry->maps[kinds[i].which].path));
    /* glTF packs both into the channels of one picture; ours are one picture each */
    char **rough = &entry->maps[MTL_MAP_ROUGHNESS].path;
    char **metal = &entry->maps[MTL_MAP_METALLIC].path;
    if (*rough && *metal && strcmp(*rough, *metal) == 0) {
        log_message(LOG_WARNING, "%s: \"%s\" packs roughness and metal into one picture; left out",
                    path, *rough);
        memory_free(*rough);
        memory_free(*metal);
        *rough = *metal = NULL;
        entry->pm = 0;
    }
    return KD_OK;
}

/* The material's name, or one made up; with a number behind it where it is taken. */
static kd_status name_add(mtl_library *library, const struct aiMaterial *from, uint32_t *index) {
    struct aiString name;
    char text[512];
    if (aiGetMaterialString(from, AI_MATKEY_NAME, &name) != aiReturn_SUCCESS || !name.data[0])
        snprintf(name.data, sizeof name.data, "material");
    int length = snprintf(text, sizeof text, "%.480s", name.data);
    text_span span = {text, (uint64_t)length};
    for (int i = 2; name_table_find(&library->names, span) != KD_NONE; ++i)
        span.count = (uint64_t)snprintf(text, sizeof text, "%.480s-%d", name.data, i);
    return mtl_library_add(library, span, index);
}

static kd_status materials_fill(mtl_library *library, const struct aiScene *from,
                                const char *path) {
    for (unsigned i = 0; i < from->mNumMaterials; ++i) {
        mtl_entry entry = {0};
        uint32_t index;
        KD_TRY(name_add(library, from->mMaterials[i], &index));
        numbers_fill(from->mMaterials[i], &entry);
        const kd_status status = maps_find(from->mMaterials[i], path, &entry);
        mtl_entry_convert(&entry, &library->materials[index]); /* takes the paths */
        KD_TRY(status);
        int two_sided = 0;
        if (aiGetMaterialIntegerArray(from->mMaterials[i], AI_MATKEY_TWOSIDED, &two_sided, NULL) ==
            aiReturn_SUCCESS)
            library->materials[index].record.two_sided = two_sided ? 1 : 0;
    }
    return KD_OK;
}

kd_status import_materials(mesh *out, const struct aiScene *from, const char *path) {
    mtl_library library = {0};
    kd_status status = materials_fill(&library, from, path);
    const text_span fallback = {"default", 7};
    uint32_t index;
    if (status == KD_OK && library.count == 0) status = mtl_library_add(&library, fallback, &index);
    if (status == KD_OK) {
        out->materials = library.materials;
        out->material_count = library.count;
        library.materials = NULL;
        library.count = 0;
    }
    mtl_library_close(&library);
    return status;
}

/* From the file's bytes to its tree of JSON: GLB's chunks, the version, the extensions that it
   needs, and the lists that others refer to by number. */
#include "core/memory.h"
#include "core/status.h"
#include "scenes/gltf/gltf_file.h"
#include "scenes/text/text.h"
#include <stdarg.h>
#include <stdio.h>

enum { GLB_HEAD = 12, CHUNK_HEAD = 8 };
static const uint32_t glb_magic = 0x46546c67, chunk_json = 0x4e4f534a, chunk_binary = 0x004e4942;

/* What the reader understands, or may pass over without harm: KTX2's fallback is taken. */
static const char *const extensions_known[] = {
    "KHR_lights_punctual",
    "KHR_mesh_quantization",
    "KHR_texture_transform",
    "KHR_materials_unlit",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_transmission",
    "KHR_materials_volume",
    "KHR_materials_clearcoat",
    "KHR_materials_specular",
    "KHR_materials_sheen",
    "KHR_materials_anisotropy",
    "KHR_materials_dispersion",
    "KHR_texture_basisu",
    "EXT_texture_webp",
    "EXT_meshopt_compression",
    "EXT_mesh_gpu_instancing",
    "KHR_draco_mesh_compression",
    "KHR_materials_pbrSpecularGlossiness",
};

/* --- troubles --------------------------------------------------------------------------------- */

kd_status gltf_fail(gltf_file *of, const char *kind, const json_place *at, const char *format,
                    ...) {
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    of->kind = kind;
    return json_fail(at, "%s", message);
}

void gltf_warn(gltf_file *of, const char *kind, const json_place *at, const char *format, ...) {
    char message[160], place[128] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    json_place_text(place, sizeof place, at);
    problem_add(&of->problems, false, kind, 0, "%.80s: %s", place, message);
}

/* --- chunks ----------------------------------------------------------------------------------- */

static uint32_t u32_at(const char *at) {
    const unsigned char *b = (const unsigned char *)at;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The chunk at *at, which moves behind it. */
static kd_status chunk_next(gltf_file *of, uint64_t end, uint64_t *at, uint32_t *type,
                            gltf_bytes *found) {
    const uint64_t left = end - *at;
    if (left < CHUNK_HEAD)
        return gltf_fail(of, "bad-chunk", &of->place,
                         "byte %llu: found %llu bytes, expected a chunk of %d at least",
                         (unsigned long long)*at, (unsigned long long)left, CHUNK_HEAD);
    const uint64_t count = u32_at(of->view.bytes + *at);
    if (count > left - CHUNK_HEAD)
        return gltf_fail(of, "bad-chunk", &of->place,
                         "byte %llu: found a chunk of %llu bytes, expected at most the %llu that "
                         "follow",
                         (unsigned long long)*at, (unsigned long long)count,
                         (unsigned long long)(left - CHUNK_HEAD));
    *type = u32_at(of->view.bytes + *at + 4);
    found->bytes = (const unsigned char *)of->view.bytes + *at + CHUNK_HEAD;
    found->count = count;
    *at += CHUNK_HEAD + count;
    return KD_OK;
}

static kd_status glb_cut(gltf_file *of, gltf_bytes *json) {
    const uint64_t there = of->view.count;
    const uint64_t version = there >= GLB_HEAD ? u32_at(of->view.bytes + 4) : 0;
    const uint64_t said = there >= GLB_HEAD ? u32_at(of->view.bytes + 8) : 0;
    uint64_t at = GLB_HEAD;
    uint32_t type = 0;
    gltf_bytes chunk = {NULL, 0};
    if (version != 2)
        return gltf_fail(of, "not-gltf", &of->place, "found GLB of version %llu, expected 2",
                         (unsigned long long)version);
    if (said > there || said < GLB_HEAD)
        return gltf_fail(of, "bad-chunk", &of->place,
                         "found a length of %llu, expected at most the file's %llu bytes",
                         (unsigned long long)said, (unsigned long long)there);
    KD_TRY(chunk_next(of, said, &at, &type, json));
    if (type != chunk_json)
        return gltf_fail(of, "bad-chunk", &of->place,
                         "byte %d: found a chunk of type 0x%08x, expected JSON first", GLB_HEAD,
                         type);
    while (at < said) { /* others are passed over */
        KD_TRY(chunk_next(of, said, &at, &type, &chunk));
        if (type != chunk_binary || of->has_binary) continue;
        of->binary = chunk;
        of->has_binary = true;
    }
    return KD_OK;
}

/* --- the tree --------------------------------------------------------------------------------- */

static kd_status version_check(gltf_file *of) {
    const cJSON *asset = NULL;
    const char *version = NULL;
    const json_place at = json_place_key(&of->place, "asset");
    if (!cJSON_IsObject(of->root))
        return gltf_fail(of, "not-gltf", &of->place, "found no object, expected glTF");
    KD_TRY(gltf_inner(of, &of->place, of->root, "asset", false, &asset));
    if (asset) KD_TRY(gltf_text(of, &at, asset, "version", &version));
    if (!version || strncmp(version, "2.", 2) != 0)
        return gltf_fail(of, "not-gltf", &at, "found version \"%.20s\", expected 2.0",
                         version ? version : "");
    return KD_OK;
}

static bool is_known(const char *name) {
    for (size_t i = 0; i < sizeof extensions_known / sizeof *extensions_known; ++i)
        if (strcmp(name, extensions_known[i]) == 0) return true;
    return false;
}

static kd_status required_check(gltf_file *of) {
    const cJSON *list = NULL, *item = NULL;
    const json_place at = json_place_key(&of->place, "extensionsRequired");
    KD_TRY(gltf_inner(of, &of->place, of->root, "extensionsRequired", true, &list));
    cJSON_ArrayForEach(item, list) if (!cJSON_IsString(item) || !is_known(item->valuestring)) {
        of->kind = "unsupported";
        return json_unexpected(&at, item, "extensions that this reader knows");
    }
    return KD_OK;
}

/* Told once each: what they say is not looked at. */
static kd_status used_tell(gltf_file *of) {
    const cJSON *list = NULL, *item = NULL;
    const json_place at = json_place_key(&of->place, "extensionsUsed");
    KD_TRY(gltf_inner(of, &of->place, of->root, "extensionsUsed", true, &list));
    cJSON_ArrayForEach(item, list) if (cJSON_IsString(item) && !is_known(item->valuestring))
        gltf_warn(of, "unsupported", &at, "found %.60s, which is not looked at", item->valuestring);
    return KD_OK;
}

static kd_status list_take(gltf_file *of, gltf_list which, const json_place *at,
                           const cJSON *holder, const char *key) {
    const cJSON *list = NULL, *item = NULL;
    gltf_items *to = &of->lists[which];
    to->place = json_place_key(at, key);
    KD_TRY(gltf_inner(of, at, holder, key, true, &list));
    KD_TRY(KD_RESERVE(to->items, (uint64_t)cJSON_GetArraySize(list)));
    cJSON_ArrayForEach(item, list) {
        const json_place place = json_place_item(&to->place, (int)to->count);
        if (!cJSON_IsObject(item)) {
            of->kind = "bad-value";
            return json_unexpected(&place, item, "an object");
        }
        to->items[to->count++] = item;
    }
    return KD_OK;
}

static kd_status lists_take(gltf_file *of) {
    static const char *const keys[GLTF_LISTS] = {
        "accessors", "bufferViews", "buffers", "images",  "samplers", "textures", "materials",
        "meshes",    "nodes",       "scenes",  "cameras", "skins",    NULL};
    const cJSON *lights = NULL;
    for (int i = 0; i < GLTF_LISTS; ++i)
        if (keys[i]) KD_TRY(list_take(of, (gltf_list)i, &of->place, of->root, keys[i]));
    of->extensions_place = json_place_key(&of->place, "extensions");
    of->lights_place = json_place_key(&of->extensions_place, "KHR_lights_punctual");
    KD_TRY(gltf_extension(of, &of->place, of->root, "KHR_lights_punctual", &lights));
    KD_TRY(list_take(of, GLTF_LIGHTS, &of->lights_place, lights, "lights"));
    KD_TRY(KD_RESERVE_ZEROED(of->buffers, of->lists[GLTF_BUFFERS].count));
    KD_TRY(KD_RESERVE_ZEROED(of->views, of->lists[GLTF_VIEWS].count));
    return KD_OK;
}

kd_status gltf_file_open(gltf_file *of) {
    gltf_bytes json;
    KD_TRY(file_open(&of->view, of->path));
    job_stage_begin(of->watched, "load", (int64_t)of->view.count);
    of->place = json_place_file(of->path);
    of->bytes_there = of->view.count;
    of->kind = "not-gltf";
    json.bytes = (const unsigned char *)of->view.bytes;
    json.count = of->view.count;
    if (json.count >= 4 && u32_at(of->view.bytes) == glb_magic)
        KD_TRY(glb_cut(of, &json));
    else
        KD_TRY(text_encoding_check(of->view.bytes, of->view.count, of->path));
    const uint64_t mark = text_bom_bytes((const char *)json.bytes, json.count);
    of->kind = "not-gltf";
    KD_TRY(json_parse(&of->root, (const char *)json.bytes + mark, json.count - mark, of->path));
    KD_TRY(version_check(of));
    KD_TRY(required_check(of));
    KD_TRY(used_tell(of));
    KD_TRY(lists_take(of));
    return KD_OK;
}

void gltf_file_close(gltf_file *owned) {
    for (uint32_t i = 0; i < owned->lists[GLTF_BUFFERS].count && owned->buffers; ++i) {
        memory_free(owned->buffers[i].owned);
        file_close(&owned->buffers[i].file);
    }
    for (uint32_t i = 0; i < owned->lists[GLTF_VIEWS].count && owned->views; ++i)
        memory_free(owned->views[i].unpacked);
    memory_free(owned->buffers);
    memory_free(owned->views);
    for (int i = 0; i < GLTF_LISTS; ++i) memory_free(owned->lists[i].items);
    cJSON_Delete(owned->root);
    problem_list_close(&owned->problems);
    file_close(&owned->view);
    memset(owned, 0, sizeof *owned);
}

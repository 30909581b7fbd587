/* Opens a glTF file: GLB chunks, JSON, version, required extensions, and the top-level arrays that
   others refer to by index. Reads single properties of JSON objects. */
#include "core/memory.h"
#include "core/status.h"
#include "scenes/import/gltf_file.h"
#include "scenes/text/text.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { GLB_HEAD = 12, CHUNK_HEAD = 8 };
static const uint32_t glb_magic = 0x46546c67, chunk_json = 0x4e4f534a, chunk_binary = 0x004e4942;

static const char *const extensions_read[] = {
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
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_draco_mesh_compression",
    "EXT_meshopt_compression",
    "EXT_mesh_gpu_instancing",
    /* Formats of images: gltf_textures.c reads them or reports them. */
    "KHR_texture_basisu",
    "EXT_texture_webp",
    "EXT_texture_avif",
    "MSFT_texture_dds",
};

/* Extensions without which the file shows the same: they may be required, but are not read. */
static const char *const extensions_harmless[] = {"KHR_materials_variants", "KHR_xmp_json_ld"};

static bool is_listed(const char *const *list, size_t count, const char *name) {
    for (size_t i = 0; i < count; ++i)
        if (strcmp(name, list[i]) == 0) return true;
    return false;
}
#define IS_LISTED(list, name) is_listed((list), sizeof(list) / sizeof *(list), (name))

/* --- errors and warnings ---------------------------------------------------------------------- */

kd_status gltf_fail(gltf_file *gltf, const char *kind, const json_place *at, const char *format,
                    ...) {
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    gltf->kind = kind;
    return json_fail(at, "%s", message);
}

void gltf_warn(gltf_file *gltf, const char *kind, const json_place *at, const char *format, ...) {
    char message[480], place[128] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    json_place_text(place, sizeof place, at);
    problem_add(&gltf->problems, false, kind, 0, "%.80s: %s", place, message);
}

/* --- chunks ----------------------------------------------------------------------------------- */

static uint32_t u32_at(const char *at) {
    const unsigned char *b = (const unsigned char *)at;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Reads the chunk at *at and advances *at past it. */
static kd_status chunk_next(gltf_file *gltf, uint64_t end, uint64_t *at, uint32_t *type,
                            gltf_bytes *bytes) {
    const uint64_t left = end - *at;
    if (left < CHUNK_HEAD)
        return gltf_fail(gltf, "bad-chunk", &gltf->place,
                         "byte %llu: found %llu bytes, expected a chunk of at least %d",
                         (unsigned long long)*at, (unsigned long long)left, CHUNK_HEAD);
    const uint64_t count = u32_at(gltf->view.bytes + *at);
    if (count > left - CHUNK_HEAD)
        return gltf_fail(gltf, "bad-chunk", &gltf->place,
                         "byte %llu: found a chunk of %llu bytes, expected at most the %llu that "
                         "follow",
                         (unsigned long long)*at, (unsigned long long)count,
                         (unsigned long long)(left - CHUNK_HEAD));
    *type = u32_at(gltf->view.bytes + *at + 4);
    bytes->bytes = (const unsigned char *)gltf->view.bytes + *at + CHUNK_HEAD;
    bytes->count = count;
    *at += CHUNK_HEAD + count;
    return KD_OK;
}

static kd_status glb_cut(gltf_file *gltf, gltf_bytes *json) {
    const uint64_t available = gltf->view.count;
    const uint64_t version = available >= GLB_HEAD ? u32_at(gltf->view.bytes + 4) : 0;
    const uint64_t said = available >= GLB_HEAD ? u32_at(gltf->view.bytes + 8) : 0;
    uint64_t at = GLB_HEAD;
    uint32_t type = 0;
    gltf_bytes chunk = {NULL, 0};
    if (version != 2)
        return gltf_fail(gltf, "not-gltf", &gltf->place, "found GLB of version %llu, expected 2",
                         (unsigned long long)version);
    if (said > available || said < GLB_HEAD)
        return gltf_fail(gltf, "bad-chunk", &gltf->place,
                         "found a length of %llu, expected at most the file's %llu bytes",
                         (unsigned long long)said, (unsigned long long)available);
    KD_TRY(chunk_next(gltf, said, &at, &type, json));
    if (type != chunk_json)
        return gltf_fail(gltf, "bad-chunk", &gltf->place,
                         "byte %d: found a chunk of type 0x%08x, expected JSON first", GLB_HEAD,
                         type);
    while (at < said) { /* other chunks are skipped */
        KD_TRY(chunk_next(gltf, said, &at, &type, &chunk));
        if (type != chunk_binary || gltf->has_binary) continue;
        gltf->binary = chunk;
        gltf->has_binary = true;
    }
    return KD_OK;
}

/* --- the tree --------------------------------------------------------------------------------- */

static kd_status version_check(gltf_file *gltf) {
    const cJSON *asset = NULL;
    const char *version = NULL;
    const json_place at = json_place_key(&gltf->place, "asset");
    if (!cJSON_IsObject(gltf->root))
        return gltf_fail(gltf, "not-gltf", &gltf->place, "found no JSON object, expected glTF");
    KD_TRY(gltf_inner(gltf, &gltf->place, gltf->root, "asset", false, &asset));
    if (asset) KD_TRY(gltf_text(gltf, &at, asset, "version", &version));
    if (!version || strncmp(version, "2.", 2) != 0)
        return gltf_fail(gltf, "not-gltf", &at, "found version \"%.20s\", expected 2.0",
                         version ? version : "");
    return KD_OK;
}

static kd_status required_check(gltf_file *gltf) {
    const cJSON *list = NULL, *item = NULL;
    const json_place at = json_place_key(&gltf->place, "extensionsRequired");
    KD_TRY(gltf_inner(gltf, &gltf->place, gltf->root, "extensionsRequired", true, &list));
    cJSON_ArrayForEach(item, list) {
        const char *name = cJSON_IsString(item) ? item->valuestring : "";
        if (IS_LISTED(extensions_read, name) || IS_LISTED(extensions_harmless, name)) continue;
        gltf->kind = "unsupported";
        return json_unexpected(&at, item, "extensions that this reader supports");
    }
    return KD_OK;
}

bool gltf_requires(const gltf_file *gltf, const char *name) {
    const cJSON *item = NULL,
                *list = cJSON_GetObjectItemCaseSensitive(gltf->root, "extensionsRequired");
    cJSON_ArrayForEach(item, list) {
        if (cJSON_IsString(item) && strcmp(item->valuestring, name) == 0) return true;
    }
    return false;
}

/* --- extensions that are ignored --- */

enum { IGNORED_NAMES = 12 };

typedef struct ignored_names {
    const char *names[IGNORED_NAMES];
    uint32_t count, more; /* more: further occurrences */
} ignored_names;

static void ignored_add(ignored_names *ignored, const char *name) {
    if (!name || IS_LISTED(extensions_read, name)) return;
    for (uint32_t i = 0; i < ignored->count; ++i)
        if (strcmp(ignored->names[i], name) == 0) return;
    if (ignored->count < IGNORED_NAMES)
        ignored->names[ignored->count++] = name;
    else
        ++ignored->more;
}

/* Adds the extensions of all objects of the tree, except for those in `extras`. */
static void ignored_find(const cJSON *root, ignored_names *ignored) {
    const cJSON *nexts[CJSON_NESTING_LIMIT], *at = root->child, *item = NULL;
    int depth = 0;
    while (at || depth > 0) {
        if (!at) {
            at = nexts[--depth];
            continue;
        }
        const char *name = at->string ? at->string : "";
        if (strcmp(name, "extensions") == 0 && cJSON_IsObject(at))
            cJSON_ArrayForEach(item, at) ignored_add(ignored, item->string);
        const bool enters = at->child && depth < CJSON_NESTING_LIMIT && strcmp(name, "extras") != 0;
        if (enters) nexts[depth++] = at->next;
        at = enters ? at->child : at->next;
    }
}

/* Warns in one line of all extensions whose data is ignored, whether extensionsUsed lists them or
   not. */
static kd_status ignored_report(gltf_file *gltf) {
    const cJSON *list = NULL, *item = NULL;
    const json_place at = json_place_key(&gltf->place, "extensions");
    ignored_names ignored = {.count = 0};
    char text[400] = "";
    KD_TRY(gltf_inner(gltf, &gltf->place, gltf->root, "extensionsUsed", true, &list));
    cJSON_ArrayForEach(item, list) {
        if (cJSON_IsString(item)) ignored_add(&ignored, item->valuestring);
    }
    ignored_find(gltf->root, &ignored);
    if (ignored.count == 0) return KD_OK;
    for (uint32_t i = 0; i < ignored.count; ++i) {
        const size_t used = strlen(text);
        const bool is_last = i + 1 == ignored.count && !ignored.more;
        snprintf(text + used, sizeof text - used, "%s%.60s",
                 i == 0    ? ""
                 : is_last ? " and "
                           : ", ",
                 ignored.names[i]);
    }
    gltf_warn(gltf, "unsupported", &at, "found %s%s, which %s not supported and %s ignored", text,
              ignored.more ? " and others" : "", ignored.count > 1 ? "are" : "is",
              ignored.count > 1 ? "are" : "is");
    return KD_OK;
}

static kd_status list_take(gltf_file *gltf, gltf_list which, const json_place *at,
                           const cJSON *holder, const char *key) {
    const cJSON *list = NULL, *item = NULL;
    gltf_items *to = &gltf->lists[which];
    to->place = json_place_key(at, key);
    KD_TRY(gltf_inner(gltf, at, holder, key, true, &list));
    KD_TRY(KD_RESERVE(to->items, (uint64_t)cJSON_GetArraySize(list)));
    cJSON_ArrayForEach(item, list) {
        const json_place place = json_place_item(&to->place, (int)to->count);
        if (!cJSON_IsObject(item)) {
            gltf->kind = "bad-value";
            return json_unexpected(&place, item, "an object");
        }
        to->items[to->count++] = item;
    }
    return KD_OK;
}

static kd_status lists_take(gltf_file *gltf) {
    static const char *const keys[GLTF_LISTS] = {
        "accessors", "bufferViews", "buffers", "images",  "samplers", "textures", "materials",
        "meshes",    "nodes",       "scenes",  "cameras", "skins",    NULL};
    const cJSON *lights = NULL;
    for (int i = 0; i < GLTF_LISTS; ++i)
        if (keys[i]) KD_TRY(list_take(gltf, (gltf_list)i, &gltf->place, gltf->root, keys[i]));
    gltf->extensions_place = json_place_key(&gltf->place, "extensions");
    gltf->lights_place = json_place_key(&gltf->extensions_place, "KHR_lights_punctual");
    KD_TRY(gltf_extension(gltf, &gltf->place, gltf->root, "KHR_lights_punctual", &lights));
    KD_TRY(list_take(gltf, GLTF_LIGHTS, &gltf->lights_place, lights, "lights"));
    KD_TRY(KD_RESERVE_ZEROED(gltf->buffers, gltf->lists[GLTF_BUFFERS].count));
    KD_TRY(KD_RESERVE_ZEROED(gltf->views, gltf->lists[GLTF_VIEWS].count));
    return KD_OK;
}

kd_status gltf_file_open(gltf_file *gltf) {
    gltf_bytes json;
    KD_TRY(file_open(&gltf->view, gltf->path));
    job_stage_begin(gltf->job, "load", (int64_t)gltf->view.count);
    gltf->place = json_place_file(gltf->path, NULL, 0);
    gltf->bytes_available = gltf->view.count;
    gltf->kind = "not-gltf";
    json.bytes = (const unsigned char *)gltf->view.bytes;
    json.count = gltf->view.count;
    if (json.count >= 4 && u32_at(gltf->view.bytes) == glb_magic)
        KD_TRY(glb_cut(gltf, &json));
    else
        KD_TRY(text_encoding_check(gltf->view.bytes, gltf->view.count, gltf->path));
    const uint64_t mark = text_bom_bytes((const char *)json.bytes, json.count);
    gltf->kind = "not-gltf";
    KD_TRY(json_parse(&gltf->root, (const char *)json.bytes + mark, json.count - mark, gltf->path));
    KD_TRY(version_check(gltf));
    KD_TRY(required_check(gltf));
    KD_TRY(ignored_report(gltf));
    KD_TRY(lists_take(gltf));
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

static const double largest_integer = 9007199254740992.0; /* 2^53 */

static kd_status unexpected(gltf_file *gltf, const json_place *at, const char *key,
                            const cJSON *json, const char *expected) {
    const json_place place = json_place_key(at, key);
    gltf->kind = "bad-value";
    return json_unexpected(&place, json, expected);
}

static const cJSON *get(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

kd_status gltf_number(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                      double minimum, double maximum, double *value) {
    const cJSON *json = get(object, key);
    if (!json) return KD_OK;
    const double number = cJSON_IsNumber(json) ? json->valuedouble : (double)NAN;
    if (number >= minimum && number <= maximum && isfinite(number)) {
        *value = number;
        return KD_OK;
    }
    char expected[96];
    if (isfinite(maximum))
        snprintf(expected, sizeof expected, "a number >= %.9g and <= %.9g", minimum, maximum);
    else if (isfinite(minimum))
        snprintf(expected, sizeof expected, "a number >= %.9g", minimum);
    else
        snprintf(expected, sizeof expected, "a number");
    return unexpected(gltf, at, key, json, expected);
}

kd_status gltf_numbers(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                       int count, double *values, bool *given) {
    const cJSON *json = get(object, key), *item = NULL;
    if (given) *given = json != NULL;
    if (!json) return KD_OK;
    char expected[64];
    snprintf(expected, sizeof expected, "a list of %d numbers", count);
    if (!cJSON_IsArray(json) || cJSON_GetArraySize(json) != count)
        return unexpected(gltf, at, key, json, expected);
    cJSON_ArrayForEach(item, json) {
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
            return unexpected(gltf, at, key, item, expected);
        *values++ = item->valuedouble;
    }
    return KD_OK;
}

kd_status gltf_colour(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                      vec3 *value) {
    double values[3] = {(double)value->x, (double)value->y, (double)value->z};
    KD_TRY(gltf_numbers(gltf, at, object, key, 3, values, NULL));
    for (int i = 0; i < 3; ++i)
        if (values[i] < 0 || values[i] > 1e30)
            return unexpected(gltf, at, key, get(object, key), "three numbers >= 0");
    *value = vec3_make((float)values[0], (float)values[1], (float)values[2]);
    return KD_OK;
}

kd_status gltf_count(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                     uint64_t *value) {
    const cJSON *json = get(object, key);
    if (!json) return KD_OK;
    const double number = cJSON_IsNumber(json) ? json->valuedouble : -1;
    if (!(number >= 0 && number <= largest_integer && number == floor(number)))
        return unexpected(gltf, at, key, json, "an integer >= 0");
    *value = (uint64_t)number;
    return KD_OK;
}

kd_status gltf_index_of(gltf_file *gltf, const json_place *at, const cJSON *item, gltf_list list,
                        uint32_t *index) {
    const uint32_t count = gltf->lists[list].count;
    const double number = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (number >= 0 && number < count && number == floor(number)) {
        *index = (uint32_t)number;
        return KD_OK;
    }
    char expected[96];
    snprintf(expected, sizeof expected, "an index of one of the %u %.40s", count,
             gltf->lists[list].place.name);
    gltf->kind = "index-range";
    return json_unexpected(at, item, expected);
}

kd_status gltf_index(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                     gltf_list list, uint32_t *index) {
    const cJSON *json = get(object, key);
    const json_place place = json_place_key(at, key);
    *index = KD_NONE;
    if (json) KD_TRY(gltf_index_of(gltf, &place, json, list, index));
    return KD_OK;
}

kd_status gltf_flag(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                    bool *value) {
    const cJSON *json = get(object, key);
    if (!json) return KD_OK;
    if (!cJSON_IsBool(json)) return unexpected(gltf, at, key, json, "true or false");
    *value = cJSON_IsTrue(json);
    return KD_OK;
}

kd_status gltf_text(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                    const char **value) {
    const cJSON *json = get(object, key);
    if (!json) return KD_OK;
    if (!cJSON_IsString(json)) return unexpected(gltf, at, key, json, "a string");
    *value = json->valuestring;
    return KD_OK;
}

kd_status gltf_inner(gltf_file *gltf, const json_place *at, const cJSON *object, const char *key,
                     bool is_list, const cJSON **inner) {
    *inner = get(object, key);
    if (!*inner) return KD_OK;
    if (!(is_list ? cJSON_IsArray(*inner) : cJSON_IsObject(*inner)))
        return unexpected(gltf, at, key, *inner, is_list ? "a list" : "an object");
    return KD_OK;
}

kd_status gltf_extension(gltf_file *gltf, const json_place *at, const cJSON *object,
                         const char *name, const cJSON **inner) {
    const cJSON *all = NULL;
    const json_place place = json_place_key(at, "extensions");
    *inner = NULL;
    KD_TRY(gltf_inner(gltf, at, object, "extensions", false, &all));
    if (all) KD_TRY(gltf_inner(gltf, &place, all, name, false, inner));
    return KD_OK;
}

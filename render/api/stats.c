/* Serialises the statistics of a rendering by cJSON. */
#include "render/api/stats.h"
#include "core/device/device_memory.h"
#include "core/files/file.h"
#include "core/memory.h"
#include "core/names.h"
#include "core/parallel/parallel.h"
#include "scenes/describe/render_options.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <kandela/version.h>
#include <stdio.h>
#include <string.h>

static void add_number(cJSON *json, const char *name, double value) {
    cJSON_AddNumberToObject(json, name, value); /* null for NaN and infinity */
}

static void add_count(cJSON *json, const char *name, uint64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value); /* all digits; a double has 53 bits only */
    cJSON_AddRawToObject(json, name, digits);
}

static void add_hash(cJSON *json, const char *name, uint64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%016" PRIx64, value);
    cJSON_AddStringToObject(json, name, digits);
}

static void add_run(cJSON *root, const stats_input *input) {
    add_count(root, "schema", STATS_SCHEMA);
    cJSON_AddStringToObject(root, "version", kd_version());
    cJSON_AddStringToObject(root, "hash_kind", "xxh3-64");
    cJSON_AddStringToObject(root, "outcome", input->outcome);
    cJSON_AddStringToObject(root, "device", input->result->device_used.name);
    add_count(root, "threads", (uint64_t)parallel_threads());
    static const char *const stages[] = {"context", "load",    "plan",        "build",   "hash",
                                         "film",    "emit",    "photon_tree", "surface", "render",
                                         "free",    "develop", "save",        "write"};
    cJSON *seconds = cJSON_AddObjectToObject(root, "seconds");
    for (size_t i = 0; i < sizeof stages / sizeof *stages; ++i)
        add_number(seconds, stages[i], job_seconds(input->job, stages[i]));
    const frame_statistics *spent = &input->result->frame;
    if (spent->lookup_seconds > 0) {
        add_number(seconds, "render_eye_rays", spent->lookup_seconds);
        add_number(seconds, "render_gather", spent->gather_seconds);
        add_number(seconds, "render_film", spent->film_seconds);
    }
    add_number(seconds, "total", input->total_seconds);
    add_count(root, "peak_bytes", memory_peak_bytes());
    add_count(root, "device_peak_bytes", device_memory_peak_bytes());
}

static cJSON *string_create(const char *text) {
    cJSON *made = cJSON_CreateString(text);
    if (made) name_make_utf8(made->valuestring);
    return made;
}

/* Returns a number, a string or an array of numbers. */
static cJSON *option_value(const option_row *row, const void *field) {
    char text[OPTION_TEXT_BYTES];
    option_print(text, sizeof text, row, field);
    switch (row->kind) {
    case OPTION_UINT64:
    case OPTION_BYTES: return cJSON_CreateRaw(text); /* all digits; a double has 53 bits only */
    case OPTION_INT32:
        return row->count > 1 ? cJSON_CreateIntArray((const int *)field, row->count)
                              : cJSON_CreateNumber(*(const int32_t *)field);
    case OPTION_FLOAT: /* null for NaN and infinity */
        return row->count > 1 ? cJSON_CreateFloatArray((const float *)field, row->count)
                              : cJSON_CreateNumber((double)*(const float *)field);
    case OPTION_DOUBLE: return cJSON_CreateNumber(*(const double *)field);
    case OPTION_FLAG: return cJSON_CreateBool(strcmp(text, "on") == 0);
    case OPTION_NAME:
    case OPTION_CHOICE:
    case OPTION_TEXT:
    case OPTION_LIST: break;
    }
    return row->kind == OPTION_TEXT && !text[0] ? cJSON_CreateNull() : string_create(text);
}

static void add_options(cJSON *root, const kd_render_options *options) {
    cJSON *to = cJSON_AddObjectToObject(root, "options");
    for (const option_row *row = NULL; (row = render_option_next(row));) {
        char key[64];
        option_key(key, sizeof key, row);
        const void *field = (const char *)options + row->offset;
        if (!row->alias) cJSON_AddItemToObject(to, key, option_value(row, field));
    }
}

static void add_tree(cJSON *root, const render_result *result) {
    cJSON *counts = cJSON_GetObjectItemCaseSensitive(root, "scene");
    add_count(counts, "triangles", result->triangle_count);
    add_count(counts, "materials", result->material_count);
    add_count(counts, "lights", result->light_count);
    add_count(counts, "light_nodes", result->light_node_count);
    cJSON_AddItemToObject(counts, "origin",
                          cJSON_CreateDoubleArray(result->picture.scene_origin, 3));
    const tritree_statistics *figures = &result->tree;
    cJSON *tree = cJSON_AddObjectToObject(root, "tree");
    cJSON_AddStringToObject(tree, "builder", result->tree_builder);
    cJSON_AddStringToObject(tree, "form", result->tree_form);
    add_count(tree, "nodes", figures->nodes);
    add_count(tree, "leaves", figures->leaves);
    add_count(tree, "empty_leaves", figures->empty_leaves);
    add_count(tree, "references", figures->references);
    add_count(tree, "degenerate_triangles", figures->degenerate_triangles);
    add_number(tree, "references_per_triangle", figures->references_per_triangle);
    add_count(tree, "depth", figures->depth);
    add_number(tree, "sah_cost", figures->sah_cost);
    add_hash(tree, "hash", result->tree_hash);
}

static void add_light(cJSON *root, const render_result *result) {
    const frame_statistics *figures = &result->frame;
    cJSON *photons = cJSON_AddObjectToObject(root, "photons");
    add_count(photons, "emitted", figures->photons_emitted);
    add_count(photons, "stored", figures->photons_stored);
    add_count(photons, "caustics_stored", figures->caustics_stored);
    add_count(photons, "media_stored", figures->volume_stored);
    add_count(photons, "rays", figures->photon_rays);
    add_number(photons, "radius", figures->radius);
    add_count(photons, "lookups_bounded", figures->lookups_bounded);
    add_hash(photons, "hash", figures->photon_hash);
    cJSON *energy = cJSON_AddObjectToObject(root, "energy_watts");
    add_number(energy, "emitted", figures->watts_emitted);
    add_number(energy, "absorbed", figures->watts_absorbed);
    add_number(energy, "media", figures->watts_media);
    add_number(energy, "escaped", figures->watts_escaped);
    add_number(energy, "ended", figures->watts_ended);
    add_number(energy, "cut", figures->watts_cut);
    add_count(root, "rays", figures->rays + figures->photon_rays);
    add_count(root, "nan_samples", figures->nan_samples);
    cJSON *picture = cJSON_AddObjectToObject(root, "image");
    add_number(picture, "width", result->picture.width);
    add_number(picture, "height", result->picture.height);
    add_number(picture, "samples", result->samples_done);
    add_number(picture, "error", result->error);
    add_hash(picture, "hash", result->image_hash);
    cJSON_AddItemToObject(picture, "mean_radiance",
                          cJSON_CreateFloatArray(result->mean_radiance, 3));
}

/* Work of each rank, and the fraction of the time that it was idle. */
static void add_ranks(cJSON *root, const render_result *result) {
    if (!result->ranks) return;
    cJSON *list = cJSON_AddArrayToObject(root, "ranks");
    for (int32_t r = 0; r < result->rank_count; ++r) {
        const rank_figures *figures = result->ranks + r;
        const double all = figures->seconds + figures->waited;
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "device", figures->device);
        add_number(one, "seconds", figures->seconds);
        add_number(one, "waited", figures->waited);
        add_number(one, "idle_share", all > 0 ? figures->waited / all : 0);
        add_count(one, "bytes_sent", figures->sent);
        add_count(one, "rows", figures->rows);
        cJSON_AddItemToArray(list, one);
    }
}

/* Distribution of photons over ranks, and the figures that decided it. */
static void add_choice(cJSON *root, const maps_choice *choice) {
    if (!choice || choice->rank_count < 2) return;
    cJSON *to = cJSON_AddObjectToObject(root, "rank_maps");
    cJSON_AddStringToObject(to, "chosen", rank_maps_name((int)choice->chosen));
    add_number(to, "bytes_a_second", choice->bandwidth);
    add_count(to, "sent_whole", choice->sent[RANK_MAPS_WHOLE]);
    add_count(to, "sent_apart", choice->sent[RANK_MAPS_DISTRIBUTED]);
}

kd_status stats_write(const char *path, const stats_input *input) {
    file_output output;
    memset(&output, 0, sizeof output);
    kd_status status = KD_OK;
    char *text = NULL;
    const uint64_t shortages = memory_shortages();
    cJSON *root = cJSON_CreateObject();
    if (root) {
        add_run(root, input);
        cJSON *named = cJSON_AddObjectToObject(root, "scene");
        cJSON_AddItemToObject(named, "name", string_create(input->scene));
        add_tree(root, input->result);
        add_light(root, input->result);
        add_ranks(root, input->result);
        add_choice(root, input->choice);
        add_options(root, input->options);
        text = cJSON_Print(root);
    }
    if (!text || memory_shortages() != shortages) {
        status = status_fail(KD_ERROR_MEMORY, __FILE__, __LINE__,
                             "%s: out of memory for the statistics", path);
        goto done;
    }
    KD_TRY_GOTO(file_output_open(&output, path));
    fprintf(output.stream, "%s\n", text);
    KD_TRY_GOTO(file_output_commit(&output));
done:
    file_output_discard(&output);
    cJSON_free(text);
    cJSON_Delete(root);
    return status;
}

/* The state of the live view as JSON. */
#include "core/image/tonemap.h"
#include "scenes/describe/render_options.h"
#include "tools/program/serve/live_answers.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_camera(cJSON *to, const live_camera *camera) {
    cJSON *object = cJSON_AddObjectToObject(to, "camera");
    cJSON_AddItemToObject(object, "eye", cJSON_CreateDoubleArray(camera->eye, 3));
    cJSON_AddItemToObject(object, "look_at", cJSON_CreateDoubleArray(camera->look_at, 3));
    cJSON_AddItemToObject(object, "up", cJSON_CreateDoubleArray(camera->up, 3));
    cJSON_AddNumberToObject(object, "fov", camera->fov);
    cJSON_AddNumberToObject(object, "lens_radius", camera->lens_radius);
    cJSON_AddNumberToObject(object, "focus_distance", camera->focus_distance);
    cJSON_AddNumberToObject(object, "orthographic", camera->orthographic);
}

static void add_views(cJSON *root, const live_state *state) {
    cJSON *list = cJSON_AddArrayToObject(root, "views");
    for (int i = 0; i < state->view_count; ++i) {
        cJSON *view = cJSON_CreateObject();
        cJSON_AddStringToObject(view, "name", state->views[i].name);
        add_camera(view, &state->views[i].camera);
        cJSON_AddItemToArray(list, view);
    }
}

/* "max-depth": "Max depth" */
static void label_of(char out[40], const option_row *row) {
    snprintf(out, 40, "%s", row->name);
    for (char *at = out; *at; ++at)
        if (*at == '-') *at = ' ';
    if (*out >= 'a' && *out <= 'z') *out = (char)(*out - 'a' + 'A');
}

static cJSON *value_of(const option_row *row, const char *text) {
    if (row->kind == OPTION_FLAG) return cJSON_CreateBool(strcmp(text, "on") == 0);
    if (row->kind == OPTION_NAME || row->kind == OPTION_CHOICE) return cJSON_CreateString(text);
    return cJSON_CreateNumber(strtod(text, NULL));
}

static void add_setting(cJSON *list, const option_row *row, const kd_render_options *options) {
    const bool named = row->kind == OPTION_NAME || row->kind == OPTION_CHOICE;
    const bool real = row->kind == OPTION_FLOAT || row->kind == OPTION_DOUBLE;
    char key[32], label[40], text[OPTION_TEXT_BYTES];
    cJSON *object = cJSON_CreateObject();
    option_key(key, sizeof key, row);
    label_of(label, row);
    option_print(text, sizeof text, row, (const char *)options + row->offset);
    cJSON_AddStringToObject(object, "name", key);
    cJSON_AddStringToObject(object, "label", label);
    cJSON_AddStringToObject(object, "type",
                            row->kind == OPTION_FLAG ? "flag"
                            : named                  ? "choice"
                            : real                   ? "number"
                                                     : "integer");
    cJSON_AddItemToObject(object, "value", value_of(row, text));
    if (!named && row->kind != OPTION_FLAG && (row->minimum != 0 || row->maximum != 0)) {
        cJSON_AddNumberToObject(object, "min", row->minimum);
        if (isfinite(row->maximum)) cJSON_AddNumberToObject(object, "max", row->maximum);
    }
    if (named) {
        cJSON *choices = cJSON_AddArrayToObject(object, "choices");
        for (int i = 0; row->choice && row->choice(i); ++i)
            cJSON_AddItemToArray(choices, cJSON_CreateString(row->choice(i)));
    }
    if (row->unit) cJSON_AddStringToObject(object, "unit", row->unit);
    if (row->help) cJSON_AddStringToObject(object, "help", row->help);
    cJSON_AddItemToArray(list, object);
}

static void add_figures(cJSON *to, const char *name, const char *unit, const live_figure *list,
                        int count) {
    cJSON *array = cJSON_AddArrayToObject(to, name);
    for (int i = 0; i < count; ++i) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "name", list[i].name);
        cJSON_AddNumberToObject(object, unit, list[i].value);
        cJSON_AddItemToArray(array, object);
    }
}

static void add_lists(cJSON *root, const live_session *live) {
    const live_state *state = &live->state;
    cJSON *settings = cJSON_AddArrayToObject(root, "settings");
    for (const option_row *row = NULL; (row = live_setting_next(row));)
        add_setting(settings, row, &live->expected);
    add_views(root, state);
    cJSON *lights = cJSON_AddArrayToObject(root, "lights");
    for (uint32_t i = 0; i < live->lights.count; ++i) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "name", live->lights.names[i]);
        cJSON_AddNumberToObject(object, "scale", live->lights.scales[i]);
        cJSON_AddItemToArray(lights, object);
    }
    add_figures(root, "stages", "seconds", state->stages, state->stage_count);
    add_figures(root, "ledger", "share", state->ledger, state->ledger_count);
    cJSON *maps = cJSON_AddArrayToObject(root, "photon_maps");
    for (int i = 0; i < state->map_count; ++i) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "name", state->maps[i].name);
        cJSON_AddNumberToObject(object, "count", (double)state->maps[i].count);
        cJSON_AddNumberToObject(object, "levels", state->maps[i].levels);
        cJSON_AddBoolToObject(object, "light_paths", state->maps[i].light_paths);
        cJSON_AddItemToArray(maps, object);
    }
    cJSON_AddStringToObject(root, "light_groups", live->sums ? "sum" : "rendering");
    cJSON_AddNumberToObject(root, "light_groups_bytes", (double)state->light_bytes);
    cJSON_AddStringToObject(root, "light_groups_reason", live->no_sums ? live->no_sums : "");
    cJSON *errors = cJSON_AddArrayToObject(root, "errors");
    for (int i = 0; i < state->error_count; ++i) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddNumberToObject(object, "pass", state->errors[i].samples);
        cJSON_AddNumberToObject(object, "seconds", state->errors[i].seconds);
        cJSON_AddNumberToObject(object, "error", state->errors[i].error);
        cJSON_AddItemToArray(errors, object);
    }
    cJSON *channels = cJSON_AddArrayToObject(root, "channels");
    const bool has_photons = state->map_count > 0 && live_is_estimated(state->maps[0].name);
    for (int i = 0; live_channel_name(i); ++i)
        if ((i != LIVE_REFERENCE || live->reference) && (i != LIVE_DENOISED || live->denoised) &&
            ((i != LIVE_RADIUS && i != LIVE_DENSITY) || has_photons))
            cJSON_AddItemToArray(channels, cJSON_CreateString(live_channel_name(i)));
    cJSON *denoise = cJSON_AddObjectToObject(root, "denoise");
    cJSON_AddBoolToObject(denoise, "available", live->can_denoise);
    cJSON_AddBoolToObject(denoise, "on", live->denoises);
    cJSON_AddNumberToObject(denoise, "picture", live->denoised ? live->denoised->number : 0);
}

/* The part of the picture that is rendered, from its left and upper edge: [0, 0, width, height] is
   all of it. */
static void add_crop(cJSON *root, const kd_render_options *options) {
    const int whole[4] = {0, 0, options->width, options->height};
    const int *crop = options->crop[2] > 0 ? options->crop : whole;
    cJSON_AddItemToObject(root, "crop", cJSON_CreateIntArray(crop, 4));
}

char *live_state_print(const live_session *live, bool owner) {
    static const char *const names[] = {"rendering", "paused", "done", "failed"};
    const live_state *state = &live->state;
    const kd_render_options *options = &live->expected;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "name", live->request.name);
    cJSON_AddNumberToObject(root, "width", options->width);
    cJSON_AddNumberToObject(root, "height", options->height);
    add_crop(root, options);
    cJSON_AddStringToObject(root, "integrator", options->integrator);
    cJSON_AddNumberToObject(root, "exposure", (double)options->exposure); /* null: automatic */
    cJSON_AddStringToObject(root, "tonemap", tonemap_name((int)options->tonemap));
    cJSON_AddStringToObject(root, "status", names[state->status]);
    cJSON_AddStringToObject(root, "error", state->error);
    cJSON_AddNumberToObject(root, "pass", state->samples);
    cJSON_AddNumberToObject(root, "passes", state->sample_count);
    cJSON_AddNumberToObject(root, "spp", state->samples);
    cJSON_AddNumberToObject(root, "seconds", state->seconds);
    cJSON_AddNumberToObject(root, "generation", state->generation);
    cJSON_AddNumberToObject(root, "picture", state->picture);
    cJSON_AddBoolToObject(root, "owner", owner);
    cJSON_AddStringToObject(root, "device", state->device);
    add_camera(root, &state->camera);
    cJSON_AddItemToObject(root, "bounds", cJSON_CreateDoubleArray(state->bounds, 6));
    cJSON_AddNumberToObject(root, "tree_levels", state->tree_levels);
    add_lists(root, live);
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return text;
}

char *live_scene_print(const live_session *live) {
    cJSON *root = cJSON_CreateObject();
    add_camera(root, &live->state.camera);
    cJSON *render = cJSON_AddObjectToObject(root, "render");
    for (const option_row *row = NULL; (row = live_setting_next(row));) {
        char key[32], text[OPTION_TEXT_BYTES];
        option_key(key, sizeof key, row);
        option_print(text, sizeof text, row, (const char *)&live->expected + row->offset);
        cJSON_AddItemToObject(render, key, value_of(row, text));
    }
    if (live->expected.crop[2] > 0) add_crop(render, &live->expected);
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return text;
}

/* kd_scene_make: writes cameras and lights as a description, which kd_scene_parse reads. So they
   have the checks, the defaults and the messages of descriptions. */
#include "core/memory.h"
#include "core/parallel/call.h"
#include "core/status.h"
#include "core/version.h"
#include <kandela/render.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A text that grows. After the first failure `status` stays, and nothing more is added. */
typedef struct growing_text {
    char *at;
    uint64_t length, capacity;
    kd_status status;
    char part[32]; /* of the scene, for messages: "lights[1]" */
} growing_text;

static void add_bytes(growing_text *text, const char *bytes, uint64_t count) {
    if (text->status == KD_OK && text->length + count > text->capacity) {
        const uint64_t capacity = 2 * (text->length + count);
        text->status = KD_GROW(text->at, text->length, capacity);
        text->capacity = capacity;
    }
    if (text->status != KD_OK) return;
    memcpy(text->at + text->length, bytes, count);
    text->length += count;
}

static void add(growing_text *text, const char *words) {
    add_bytes(text, words, strlen(words));
}

static void add_number(growing_text *text, const char *key, double value) {
    char digits[32];
    if (!isfinite(value) && text->status == KD_OK)
        text->status =
            status_fail(KD_ERROR_INPUT, __FILE__, __LINE__,
                        "%s.%s: found %g, expected a finite number", text->part, key, value);
    snprintf(digits, sizeof digits, "%.17g", value);
    char *comma = strchr(digits, ','); /* in the locale of the program */
    if (comma) *comma = '.';
    add(text, digits);
}

static void add_key(growing_text *text, const char *key) {
    add(text, ", \"");
    add(text, key);
    add(text, "\": ");
}

static void add_value(growing_text *text, const char *key, double value) {
    add_key(text, key);
    add_number(text, key, value);
}

/* Adds a value unless it is 0 or NaN, which stand for the default. */
static void add_unless_default(growing_text *text, const char *key, double value) {
    if (value != 0 && !isnan(value)) add_value(text, key, value);
}

static void add_vector(growing_text *text, const char *key, const double *value) {
    add_key(text, key);
    for (int i = 0; i < 3; ++i) {
        add(text, i ? ", " : "[");
        add_number(text, key, value[i]);
    }
    add(text, "]");
}

static void add_camera(growing_text *text, const kd_scene_camera *camera) {
    const double *up = camera->up;
    snprintf(text->part, sizeof text->part, "camera");
    add(text, ", \"camera\": {\"orthographic\": ");
    add_number(text, "orthographic", camera->orthographic);
    add_vector(text, "eye", camera->eye);
    add_vector(text, "look_at", camera->look_at);
    if (fabs(up[0]) > 0 || fabs(up[1]) > 0 || fabs(up[2]) > 0) add_vector(text, "up", up);
    add_unless_default(text, "fov", camera->fov);
    add_value(text, "lens_radius", camera->lens_radius);
    add_unless_default(text, "focus_distance", camera->focus_distance);
    add(text, "}");
}

static void add_light(growing_text *text, const kd_scene_light *light) {
    static const char *const kinds[] = {"point", "spot", "directional", "area"};
    static const char *const emissions[] = {"intensity", "intensity", "irradiance", "radiance"};
    const kd_scene_light_kind kind = light->kind;
    add(text, "{\"kind\": \"");
    add(text, kinds[kind]);
    add(text, "\"");
    add_vector(text, emissions[kind], light->emission);
    if (light->hidden) add(text, ", \"camera_visible\": false");
    if (kind != KD_LIGHT_DIRECTIONAL)
        add_vector(text, kind == KD_LIGHT_AREA ? "corner" : "position", light->position);
    if (kind == KD_LIGHT_SPOT || kind == KD_LIGHT_DIRECTIONAL)
        add_vector(text, "direction", light->direction);
    if (kind == KD_LIGHT_POINT || kind == KD_LIGHT_SPOT) add_value(text, "radius", light->radius);
    if (kind == KD_LIGHT_DIRECTIONAL) add_value(text, "angle_degrees", light->angle);
    if (kind == KD_LIGHT_SPOT) {
        add_unless_default(text, "inner_degrees", light->inner);
        add_unless_default(text, "outer_degrees", light->outer);
    }
    if (kind == KD_LIGHT_AREA) {
        add_vector(text, "edge_u", light->edges[0]);
        add_vector(text, "edge_v", light->edges[1]);
    }
    add(text, "}");
}

static void add_meshes(growing_text *text, const kd_scene_parts *parts) {
    add(text, "{\"kandela\": 1, \"meshes\": [");
    for (uint64_t i = 0; i < parts->mesh_count; ++i) {
        add(text, i ? ", {\"file\": \"mesh:" : "{\"file\": \"mesh:");
        for (const char *at = parts->meshes[i].name; *at; ++at) {
            if (*at == '"' || *at == '\\') add(text, "\\");
            add_bytes(text, at, 1);
        }
        add(text, "\"}");
    }
    add(text, "]");
}

static kd_status check_parts(const kd_scene_parts *parts) {
    KD_REQUIRE((parts->meshes || !parts->mesh_count) && (parts->lights || !parts->light_count),
               KD_ERROR_USAGE, "`%s` is NULL, but its count is not 0",
               parts->lights || !parts->light_count ? "meshes" : "lights");
    for (uint64_t i = 0; i < parts->mesh_count; ++i)
        KD_REQUIRE(parts->meshes[i].name, KD_ERROR_USAGE, "`meshes[%llu].name` must not be NULL",
                   (unsigned long long)i);
    for (uint64_t i = 0; i < parts->light_count; ++i)
        KD_REQUIRE((int)parts->lights[i].kind >= 0 && parts->lights[i].kind <= KD_LIGHT_AREA,
                   KD_ERROR_USAGE, "`lights[%llu].kind` is %d; expected 0 to 3",
                   (unsigned long long)i, (int)parts->lights[i].kind);
    return KD_OK;
}

/* Writes the whole description. Camera and lights follow the rest on its last line, so that the
   positions in messages are those of the caller's text. */
static kd_status write_parts(growing_text *text, const kd_scene_parts *parts) {
    uint64_t end = parts->bytes;
    if (parts->text) {
        while (end > 0 && strchr(" \t\r\n", parts->text[end - 1])) --end;
        if (end == 0 || parts->text[end - 1] != '}' || (!parts->camera && !parts->light_count)) {
            add_bytes(text, parts->text, parts->bytes); /* the reader says what is wrong */
            return text->status;
        }
        add_bytes(text, parts->text, end - 1);
    } else {
        add_meshes(text, parts);
    }
    if (parts->camera) add_camera(text, parts->camera);
    for (uint64_t i = 0; i < parts->light_count; ++i) {
        snprintf(text->part, sizeof text->part, "lights[%llu]", (unsigned long long)i);
        add(text, i ? ", " : ", \"lights\": [");
        add_light(text, parts->lights + i);
    }
    add(text, parts->light_count ? "]}" : "}");
    return text->status;
}

kd_status kd_scene_make(kd_scene **scene, const kd_scene_parts *caller_parts,
                        kd_render_options *options) {
    KD_CALL(0);
    KD_REQUIRE(scene && caller_parts, KD_ERROR_USAGE, "`scene` and `parts` must not be NULL");
    *scene = NULL;
    kd_scene_parts parts;
    memset(&parts, 0, sizeof parts);
    KD_TRY(sized_take(&parts, sizeof parts, caller_parts, "sizeof(kd_scene_parts)"));
    KD_TRY(check_parts(&parts));
    growing_text text = {.at = NULL};
    kd_status status = write_parts(&text, &parts);
    if (status == KD_OK)
        status = kd_scene_parse(scene, text.at, text.length, parts.folder, parts.meshes,
                                parts.mesh_count, options);
    memory_free(text.at);
    return status;
}

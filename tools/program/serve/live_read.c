/* Reading of requests' bodies and of addresses. */
#include "tools/program/serve/live_read.h"
#include "scenes/describe/render_options.h"
#include "scenes/mesh/origin.h"
#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- cameras ---------------------------------------------------------------------------------- */

live_camera live_camera_of(const camera *view, const double origin[3]) {
    live_camera made;
    origin_to_world(made.eye, origin, view->eye);
    origin_to_world(made.look_at, origin, view->look_at);
    for (int i = 0; i < 3; ++i) made.up[i] = (double)vec3_axis(view->up, i);
    made.fov = (double)view->fov_degrees;
    made.lens_radius = (double)view->lens_radius;
    made.focus_distance = (double)view->focus_distance;
    made.orthographic = (double)view->tall;
    return made;
}

static bool differs(const double a[3], const double b[3]) {
    return a[0] != b[0] || a[1] != b[1] || a[2] != b[2];
}

/* Gives `view` what differs between `before` and `to`. */
static void change(camera *view, const live_camera *before, const live_camera *to,
                   const double origin[3]) {
    const live_camera own = live_camera_of(view, origin);
    const vec3 eye = origin_to_local(origin, to->eye);
    const vec3 look_at = origin_to_local(origin, to->look_at);
    const bool moved = differs(before->eye, to->eye);
    const bool turned = differs(before->look_at, to->look_at);
    const bool rolled = differs(before->up, to->up);
    for (int i = 0; i < 3; ++i) { /* the others keep bits that they would lose far from 0 */
        if (moved && to->eye[i] != own.eye[i]) vec3_set_axis(&view->eye, i, vec3_axis(eye, i));
        if (turned && to->look_at[i] != own.look_at[i])
            vec3_set_axis(&view->look_at, i, vec3_axis(look_at, i));
        if (rolled) vec3_set_axis(&view->up, i, (float)to->up[i]);
    }
    if (to->fov != before->fov) view->fov_degrees = (float)to->fov;
    if (to->lens_radius != before->lens_radius) view->lens_radius = (float)to->lens_radius;
    if (to->focus_distance != before->focus_distance)
        view->focus_distance = (float)to->focus_distance;
    if (to->orthographic != before->orthographic) view->tall = (float)to->orthographic;
}

static bool is_whole(const camera *view) {
    const vec3 direction = vec3_normalize(vec3_sub(view->look_at, view->eye));
    return !vec3_is_zero(vec3_cross(direction, vec3_normalize(view->up)));
}

void live_camera_apply(camera ends[2], const live_camera *to, const double origin[3]) {
    const live_camera before = live_camera_of(&ends[0], origin);
    for (int i = 0; i < 2; ++i) change(&ends[i], &before, to, origin);
    if (!is_whole(&ends[1])) ends[1] = ends[0];
}

typedef struct camera_key {
    const char *name;
    size_t offset;
    int count;
    double minimum, maximum;
} camera_key;

#define CAMERA_KEY(name, field, count, minimum, maximum)                                           \
    { name, offsetof(live_camera, field), count, minimum, maximum }
static const camera_key camera_keys[] = {CAMERA_KEY("eye", eye, 3, -3e38, 3e38),
                                         CAMERA_KEY("look_at", look_at, 3, -3e38, 3e38),
                                         CAMERA_KEY("up", up, 3, -3e38, 3e38),
                                         CAMERA_KEY("fov", fov, 1, 0.01, 179),
                                         CAMERA_KEY("lens_radius", lens_radius, 1, 0, 3e38),
                                         CAMERA_KEY("focus_distance", focus_distance, 1, 0, 3e38),
                                         CAMERA_KEY("orthographic", orthographic, 1, 0, 3e38)};
enum { CAMERA_KEYS = sizeof camera_keys / sizeof *camera_keys };

static kd_status parse(cJSON **out, const char *text, size_t bytes) {
    *out = cJSON_ParseWithLength(text, bytes);
    KD_REQUIRE(*out, KD_ERROR_INPUT, "the request is not JSON");
    if (cJSON_IsObject(*out)) return KD_OK;
    cJSON_Delete(*out);
    *out = NULL;
    KD_FAIL(KD_ERROR_INPUT, "the request is not a JSON object");
}

static bool read_number(double *out, const cJSON *item, const camera_key *key) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= key->minimum) ||
        !(item->valuedouble <= key->maximum))
        return false;
    *out = item->valuedouble;
    return true;
}

static kd_status read_key(live_camera *to, const cJSON *item) {
    const camera_key *key = NULL;
    for (int i = 0; i < CAMERA_KEYS && !key; ++i)
        if (strcmp(camera_keys[i].name, item->string) == 0) key = &camera_keys[i];
    KD_REQUIRE(key, KD_ERROR_INPUT, "unknown key \"%.60s\" of a camera", item->string);
    double *values = (double *)(void *)((char *)to + key->offset);
    bool valid = key->count == 1 ? read_number(values, item, key)
                                 : cJSON_IsArray(item) && cJSON_GetArraySize(item) == key->count;
    for (int i = 0; key->count > 1 && valid && i < key->count; ++i)
        valid = read_number(values + i, cJSON_GetArrayItem(item, i), key);
    KD_REQUIRE(valid, KD_ERROR_INPUT, "`%s`: expected %s from %g to %g", key->name,
               key->count == 1 ? "a number" : "3 numbers", key->minimum, key->maximum);
    return KD_OK;
}

/* As rounded to the camera that renders. */
static kd_status check_camera(const live_camera *camera, const double origin[3]) {
    const vec3 eye = origin_to_local(origin, camera->eye);
    const vec3 look_at = origin_to_local(origin, camera->look_at);
    const vec3 up = vec3_make((float)camera->up[0], (float)camera->up[1], (float)camera->up[2]);
    const vec3 direction = vec3_sub(look_at, eye);
    KD_REQUIRE(!vec3_is_zero(direction), KD_ERROR_INPUT,
               "`look_at` must not be the same point as `eye`");
    KD_REQUIRE(vec3_is_finite(direction), KD_ERROR_INPUT,
               "`look_at` must not be farther than 3e38 from `eye`");
    KD_REQUIRE(!vec3_is_zero(vec3_cross(vec3_normalize(direction), vec3_normalize(up))),
               KD_ERROR_INPUT, "`up` must not be 0 or parallel to the viewing direction");
    return KD_OK;
}

kd_status live_camera_read(live_camera *camera, const double origin[3], const char *text,
                           size_t bytes) {
    live_camera changed = *camera;
    cJSON *root = NULL;
    const cJSON *item = NULL;
    KD_TRY(parse(&root, text, bytes));
    kd_status status = KD_OK;
    cJSON_ArrayForEach(item, root) KD_TRY_GOTO(read_key(&changed, item));
    KD_TRY_GOTO(check_camera(&changed, origin));
    *camera = changed;
done:
    cJSON_Delete(root);
    return status;
}

/* --- options ---------------------------------------------------------------------------------- */

const option_row *live_setting_next(const option_row *row) {
    static const option_group groups[] = {
        {"Method", render_method_rows, 0, NULL},
        {"Photons", render_photon_rows, 0, NULL},
        {"Picture", render_picture_rows, 0, "width,height,filter,look,material"},
        {NULL, NULL, 0, NULL}};
    bool found = !row;
    for (const option_group *group = groups; group->heading; ++group)
        for (const option_row *next = NULL; (next = option_next(group, next));) {
            const bool suits = next->kind != OPTION_TEXT && next->kind != OPTION_LIST &&
                               next->count <= 1 && !next->alias;
            if (found && suits) return next;
            found |= next == row;
        }
    return NULL;
}

static kd_status set_option(kd_render_options *options, const cJSON *item) {
    char text[64], key[32] = "";
    const option_row *row = NULL;
    while ((row = live_setting_next(row)) && !option_is_called(row, item->string)) continue;
    KD_REQUIRE(row, KD_ERROR_INPUT, "\"%.60s\" is not a setting", item->string);
    option_key(key, sizeof key, row);
    const bool counts = row->kind == OPTION_UINT64 || row->kind == OPTION_INT32;
    if (cJSON_IsString(item))
        snprintf(text, sizeof text, "%.60s", item->valuestring);
    else if (cJSON_IsBool(item))
        snprintf(text, sizeof text, "%s", cJSON_IsTrue(item) ? "on" : "off");
    else if (cJSON_IsNumber(item) && isfinite(item->valuedouble))
        snprintf(text, sizeof text, counts ? "%.0f" : "%.17g", item->valuedouble);
    else
        KD_FAIL(KD_ERROR_INPUT, "`%s`: expected a number, a name, true or false", key);
    KD_REQUIRE(!counts || !cJSON_IsNumber(item) || item->valuedouble == floor(item->valuedouble),
               KD_ERROR_INPUT, "`%s`: expected a whole number", key);
    return option_set(row, text, OPTION_BY_NAME, (char *)options + row->offset);
}

/* Sets the part of the picture that is rendered: `item` is null for all of it, or has its edges. */
static kd_status set_crop(kd_render_options *options, const cJSON *item) {
    bool valid = cJSON_IsArray(item) && cJSON_GetArraySize(item) == 4;
    memset(options->crop, 0, sizeof options->crop);
    if (cJSON_IsNull(item)) return KD_OK;
    for (int i = 0; i < 4 && valid; ++i) {
        const double edge = cJSON_GetNumberValue(cJSON_GetArrayItem(item, i));
        valid = edge >= 0 && edge <= 65536 && edge == floor(edge);
        if (valid) options->crop[i] = (int32_t)edge;
    }
    KD_REQUIRE(valid, KD_ERROR_INPUT, "`crop`: expected null or [x0, y0, x1, y1] in pixels");
    return KD_OK;
}

/* Drops a crop that does not fit the picture, or refuses it if the request has set it. */
static kd_status check_crop(kd_render_options *options, bool is_set) {
    const int32_t *crop = options->crop;
    if (crop[0] < crop[2] && crop[1] < crop[3] && crop[2] <= options->width &&
        crop[3] <= options->height)
        return KD_OK;
    KD_REQUIRE(!is_set, KD_ERROR_INPUT,
               "`crop`: the rectangle is empty or exceeds the picture of %d x %d pixels",
               options->width, options->height);
    memset(options->crop, 0, sizeof options->crop);
    return KD_OK;
}

kd_status live_settings_read(kd_render_options *options, const char *text, size_t bytes) {
    kd_render_options changed = *options;
    cJSON *root = NULL;
    const cJSON *item = NULL;
    bool is_set = false; /* the request names a crop */
    KD_TRY(parse(&root, text, bytes));
    kd_status status = KD_OK;
    cJSON_ArrayForEach(item, root) {
        const bool is_crop = strcmp(item->string, "crop") == 0;
        KD_TRY_GOTO(is_crop ? set_crop(&changed, item) : set_option(&changed, item));
        is_set |= is_crop && !cJSON_IsNull(item);
    }
    KD_TRY_GOTO(check_crop(&changed, is_set));
    KD_TRY_GOTO(render_options_check(&changed));
    *options = changed;
done:
    cJSON_Delete(root);
    return status;
}

static kd_status read_light(live_lights *lights, const cJSON *item) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name");
    const cJSON *scale = cJSON_GetObjectItemCaseSensitive(item, "scale");
    uint32_t found = 0;
    KD_REQUIRE(cJSON_IsString(name) && cJSON_IsNumber(scale), KD_ERROR_INPUT,
               "expected a list of objects with `name` and `scale`");
    while (found < lights->count && strcmp(lights->names[found], name->valuestring) != 0) ++found;
    KD_REQUIRE(found < lights->count, KD_ERROR_INPUT,
               "\"%.60s\" is not a light; the state lists all", name->valuestring);
    KD_REQUIRE(scale->valuedouble >= 0 && scale->valuedouble <= 1e6, KD_ERROR_INPUT,
               "`scale`: expected a number from 0 to 1000000");
    lights->scales[found] = scale->valuedouble;
    return KD_OK;
}

kd_status live_lights_read(live_lights *lights, const char *text, size_t bytes) {
    live_lights changed = *lights;
    cJSON *root = cJSON_ParseWithLength(text, bytes);
    const cJSON *item = NULL;
    kd_status status = KD_OK;
    KD_REQUIRE(root, KD_ERROR_INPUT, "the request is not JSON");
    if (!cJSON_IsArray(root)) {
        cJSON_Delete(root);
        KD_FAIL(KD_ERROR_INPUT, "expected a list of objects with `name` and `scale`");
    }
    cJSON_ArrayForEach(item, root) KD_TRY_GOTO(read_light(&changed, item));
    *lights = changed;
done:
    cJSON_Delete(root);
    return status;
}

kd_status live_action_read(live_action *action, const char *text, size_t bytes) {
    static const char *const names[LIVE_ACTIONS] = {"pause", "resume",  "restart",
                                                    "save",  "denoise", "raw"};
    cJSON *root = NULL;
    KD_TRY(parse(&root, text, bytes));
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "action");
    int found = LIVE_ACTIONS;
    for (int i = 0; i < LIVE_ACTIONS && cJSON_IsString(item); ++i)
        if (strcmp(item->valuestring, names[i]) == 0) found = i;
    cJSON_Delete(root);
    KD_REQUIRE(found < LIVE_ACTIONS, KD_ERROR_INPUT,
               "`action`: expected pause, resume, restart, save, denoise or raw");
    *action = (live_action)found;
    return KD_OK;
}

bool live_number_read(int64_t *out, const char *text, int64_t otherwise, int64_t minimum,
                      int64_t maximum) {
    char *end = NULL;
    *out = otherwise;
    if (!text || !*text) return true;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || value < minimum || value > maximum)
        return false;
    *out = value;
    return true;
}

/* --- addresses -------------------------------------------------------------------------------- */

static bool read_port(int32_t *port, const char *text) {
    char *end = NULL;
    const unsigned long number = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || number > 65535) return false;
    *port = (int32_t)number;
    return true;
}

bool live_address_read(char address[64], int32_t *port, const char *text) {
    const bool bracketed = *text == '[';
    const char *end = bracketed ? strchr(text, ']') : strchr(text, ':');
    *port = -1;
    if (read_port(port, text)) {
        strcpy(address, "127.0.0.1");
        return true;
    }
    if (bracketed && !end) return false;
    if (!end) end = text + strlen(text);
    const char *begin = text + (bracketed ? 1 : 0);
    if (end - begin >= 64 || end == begin) return false;
    memcpy(address, begin, (size_t)(end - begin));
    address[end - begin] = '\0';
    if (strspn(address, bracketed ? "0123456789abcdefABCDEF:." : "0123456789.") != strlen(address))
        return false;
    const char *rest = end + (bracketed ? 1 : 0);
    return !*rest || (*rest == ':' && read_port(port, rest + 1));
}

bool live_host_is_safe(const char *host) {
    static const char *const name = "localhost";
    char address[64];
    int32_t port;
    if (strncasecmp(host, name, strlen(name)) == 0) {
        const char *rest = host + strlen(name);
        return !*rest || (*rest == ':' && read_port(&port, rest + 1));
    }
    return strpbrk(host, ".:") != NULL && live_address_read(address, &port, host);
}

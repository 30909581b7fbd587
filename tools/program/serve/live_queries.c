/* Queries of pixels and of files, answered by the thread that renders, and what all queries share.
 */
#include "core/memory.h"
#include "photon/maps/photon_map.h"
#include "render/api/render_develop.h"
#include "render/frame/frame.h"
#include "scenes/describe/render_options.h"
#include "scenes/mesh/origin.h"
#include "shaders/transmittance.h"
#include "tools/program/serve/live_answers.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void live_fail(live_query *query, unsigned code, const char *message) {
    query->code = code;
    snprintf(query->error, sizeof query->error, "%s", message);
}

void live_finish(live_query *query, void *bytes, size_t count) {
    query->code = bytes ? 200 : 500;
    query->bytes = bytes;
    query->count = count;
    if (!bytes) live_fail(query, 500, "out of memory");
}

void live_world_position(float out[3], const scene_view *scene, vec3 local) {
    double at[3];
    origin_to_world(at, scene->origin, local);
    for (int i = 0; i < 3; ++i) out[i] = (float)at[i];
}

void live_finish_json(live_query *query, cJSON *root) {
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    live_finish(query, text, text ? strlen(text) : 0);
}

void live_query_channel(live_query *query, live_session *live, const render_moment *now) {
    (void)live;
    live_picture *made = live_resolve(now, query->x, NULL);
    if (made) made->number = live->state.picture;
    live_finish(query, made, 0);
}

/* --- pixels ----------------------------------------------------------------------------------- */

cJSON *live_position_json(const scene_view *scene, vec3 local) {
    double at[3];
    origin_to_world(at, scene->origin, local);
    return cJSON_CreateDoubleArray(at, 3);
}

cJSON *live_vector_json(vec3 v) {
    const float values[3] = {v.x, v.y, v.z};
    return cJSON_CreateFloatArray(values, 3);
}

bool live_centre_ray(ray *out, live_query *query, const render_moment *now) {
    static const rng_block centre = {{0.5f, 0.5f, 0.5f, 0.5f}};
    const frame *frame = now->frame;
    if (query->x >= now->film->width || query->y >= now->film->height) {
        live_fail(query, 400, "the pixel is outside of the picture");
        return false;
    }
    camera view = frame->view;
    view.lens_radius = 0;
    *out = camera_ray(&view, frame->options->width, frame->options->height,
                      now->film->x0 + query->x, now->film->y0 + query->y, centre);
    return true;
}

bool live_pixel_position(vec3 *out, live_query *query, const render_moment *now) {
    uint32_t instance_id;
    ray ray;
    if (!live_centre_ray(&ray, query, now)) return false;
    const ray_hit hit = scene_closest(now->frame->scene, SCENE_INSTANCED, ray, &instance_id);
    if (hit.triangle == KD_NONE) live_fail(query, 409, "the pixel shows no surface");
    *out = ray_at(&ray, hit.t);
    return hit.triangle != KD_NONE;
}

void live_query_pixel(live_query *query, live_session *live, const render_moment *now) {
    const frame *frame = now->frame;
    const scene_view *scene = frame->scene;
    ray ray;
    if (!live_centre_ray(&ray, query, now)) return;
    uint32_t instance_id;
    const ray_hit hit = scene_closest(scene, SCENE_INSTANCED, ray, &instance_id);
    const film_pixel *pixel = now->film->pixels + (int64_t)query->y * now->film->width + query->x;
    const double samples = pixel->samples ? (double)pixel->samples : 1;
    const double value[3] = {pixel->radiance[0] / samples, pixel->radiance[1] / samples,
                             pixel->radiance[2] / samples};
    cJSON *root = cJSON_CreateObject();
    cJSON_AddItemToObject(root, "value", cJSON_CreateDoubleArray(value, 3));
    cJSON_AddNumberToObject(root, "samples", pixel->samples);
    if (hit.triangle != KD_NONE) {
        const surface at = surface_at_instance(scene, &ray, hit, instance_id);
        const vec3 forward = camera_frame(&frame->view).normal;
        cJSON_AddNumberToObject(root, "depth",
                                (double)vec3_dot(vec3_sub(at.position, frame->view.eye), forward));
        cJSON_AddItemToObject(root, "position", live_position_json(scene, at.position));
        cJSON_AddItemToObject(root, "normal",
                              live_vector_json(at.front ? at.normal : vec3_negate(at.normal)));
        cJSON_AddNumberToObject(root, "material", at.material);
        cJSON_AddNumberToObject(root, "triangle", hit.triangle);
        if (instance_id != KD_NONE) cJSON_AddNumberToObject(root, "object", instance_id);
        live_add_photons(root, query, live, now, &at);
    }
    live_finish_json(query, root);
}

/* --- files ------------------------------------------------------------------------------------ */

static kd_status develop(const render_moment *now) {
    KD_TRY(render_develop(now->out, now->film, now->frame, now->started));
    now->out->picture.exposed = now->exposed;
    return KD_OK;
}

void live_query_save(live_query *query, live_session *live, const render_moment *now) {
    kd_status status = develop(now);
    if (status == KD_OK) {
        status = live->request.save(live->request.context, now->out);
        image_close(&now->out->picture);
    }
    query->code = status == KD_OK ? 200 : 500;
    if (status != KD_OK) live_fail(query, 500, kd_last_error());
    status_clear();
}

/* Reads a file into memory from malloc; NULL on failure. */
static void *read_file(const char *path, size_t *count) {
    FILE *file = fopen(path, "rb");
    void *bytes = NULL;
    *count = 0;
    if (!file) return NULL;
    const long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (size > 0 && fseek(file, 0, SEEK_SET) == 0) bytes = malloc((size_t)size);
    if (bytes) *count = fread(bytes, 1, (size_t)size, file);
    fclose(file);
    return bytes;
}

static kd_status write_picture(const render_moment *now, const char *path) {
    const kd_render_options *options = now->frame->options;
    const image_encoding encoding = {.exposure = options->exposure,
                                     .tonemap = options->tonemap,
                                     .background = now->out->background};
    KD_TRY(develop(now));
    const kd_status status = finish_write(&now->out->picture, path, &encoding, &now->out->finish);
    image_close(&now->out->picture);
    return status;
}

/* Writes the state, from which `kandela render --resume` goes on. Films of light groups are no part
   of it, and the scene of the file has lights of scale 1. */
static kd_status write_state(const live_session *live, const render_moment *now, const char *path) {
    for (uint32_t i = 0; i < live->lights.count; ++i)
        KD_REQUIRE(live->scaled[i] == 1, KD_ERROR_USAGE,
                   "a picture with scaled lights cannot be resumed; set all scales to 1");
    return state_write(path, now->frame, live->films.rendered ? live->films.rendered : now->film);
}

/* The formats write files, so what is sent passes through a temporary one. */
void live_query_file(live_query *query, live_session *live, const render_moment *now) {
    char folder[SERVE_FOLDER], path[SERVE_FOLDER + 48];
    size_t count = 0;
    if (!live->calls->folder_open(folder)) {
        live_fail(query, 500, "cannot create a temporary directory in /tmp");
        return;
    }
    snprintf(path, sizeof path, "%s/picture.%s", folder, query->name);
    const kd_status status =
        strcmp(query->name, "state") == 0 ? write_state(live, now, path) : write_picture(now, path);
    void *bytes = status == KD_OK ? read_file(path, &count) : NULL;
    live_finish(query, bytes, count);
    if (status != KD_OK) live_fail(query, status == KD_ERROR_USAGE ? 409 : 500, kd_last_error());
    status_clear();
    remove(path);
    live->calls->folder_close(folder);
}

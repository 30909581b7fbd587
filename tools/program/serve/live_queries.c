/* Queries that need the scene, its trees or the photon maps, answered by the thread that renders.
 */
#include "core/memory.h"
#include "photon/maps/photon_map.h"
#include "render/api/render_develop.h"
#include "render/frame/frame.h"
#include "scenes/describe/render_options.h"
#include "scenes/mesh/origin.h"
#include "shaders/transmittance.h"
#include "tools/program/serve/live_session.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOXES_MAX = 1 << 19, RAY_NODES_MAX = 4096, PIXEL_PHOTONS_MAX = 1024 };

static void fail(live_query *query, unsigned code, const char *message) {
    query->code = code;
    snprintf(query->error, sizeof query->error, "%s", message);
}

static void finish(live_query *query, void *bytes, size_t count) {
    query->code = bytes ? 200 : 500;
    query->bytes = bytes;
    query->count = count;
    if (!bytes) fail(query, 500, "out of memory");
}

static void finish_json(live_query *query, cJSON *root) {
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    finish(query, text, text ? strlen(text) : 0);
}

void live_query_channel(live_query *query, live_session *live, const render_moment *now) {
    (void)live;
    live_picture *made = live_resolve(now, query->x, NULL);
    if (made) made->number = live->state.picture;
    finish(query, made, 0);
}

/* --- pixels ----------------------------------------------------------------------------------- */

static cJSON *position_of(const scene_view *scene, vec3 local) {
    double at[3];
    origin_to_world(at, scene->origin, local);
    return cJSON_CreateDoubleArray(at, 3);
}

static cJSON *vector_of(vec3 v) {
    const float values[3] = {v.x, v.y, v.z};
    return cJSON_CreateFloatArray(values, 3);
}

/* The ray through the centre of a pixel of the film. Returns false if there is no such pixel, or if
   the scene is on a device. */
static bool centre_ray(ray *out, live_query *query, const render_moment *now) {
    static const rng_block centre = {{0.5f, 0.5f, 0.5f, 0.5f}};
    const frame *frame = now->frame;
    if (query->x >= now->film->width || query->y >= now->film->height) {
        fail(query, 400, "the pixel is outside of the picture");
        return false;
    }
    if (frame->device_frame) {
        fail(query, 409, "the scene is on a device; start with --device cpu to inspect it");
        return false;
    }
    camera view = frame->view;
    view.lens_radius = 0;
    *out = camera_ray(&view, frame->options->width, frame->options->height,
                      now->film->x0 + query->x, now->film->y0 + query->y, centre);
    return true;
}

static const photon_map *gathered_map(const frame *frame, photon_map_view *view) {
    const photon_maps *maps =
        frame->integrator->current_maps ? frame->integrator->current_maps(frame) : NULL;
    if (!maps || (maps->global.count == 0 && maps->caustic.count == 0)) return NULL;
    const bool global = maps->global.count > 0;
    *view = global ? photon_maps_global(maps) : photon_maps_caustic(maps);
    return global ? &maps->global : &maps->caustic;
}

static void add_photons(cJSON *root, const frame *frame, vec3 position) {
    photon_map_view map;
    photon_gathering *gathered = NULL;
    cJSON *list = cJSON_AddArrayToObject(root, "photons");
    if (!gathered_map(frame, &map)) return;
    gathered = (photon_gathering *)malloc(sizeof *gathered);
    if (!gathered) return;
    photon_gather(&map, position, gathered);
    cJSON_AddNumberToObject(root, "radius", (double)gathered->radius);
    for (uint32_t i = 0; i < gathered->count && i < PIXEL_PHOTONS_MAX; ++i) {
        const photon *one = map.photons + gathered->neighbours[i].node;
        cJSON *object = cJSON_CreateObject();
        cJSON_AddItemToObject(object, "position", position_of(frame->scene, one->position));
        cJSON_AddItemToObject(object, "power", vector_of(one->power));
        cJSON_AddItemToObject(object, "direction", vector_of(one->direction));
        cJSON_AddNumberToObject(object, "bounce", one->bounce);
        cJSON_AddNumberToObject(object, "light", one->light);
        cJSON_AddItemToArray(list, object);
    }
    free(gathered);
}

void live_query_pixel(live_query *query, live_session *live, const render_moment *now) {
    const frame *frame = now->frame;
    const scene_view *scene = frame->scene;
    ray ray;
    (void)live;
    if (!centre_ray(&ray, query, now)) return;
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
        cJSON_AddItemToObject(root, "position", position_of(scene, at.position));
        cJSON_AddItemToObject(root, "normal",
                              vector_of(at.front ? at.normal : vec3_negate(at.normal)));
        cJSON_AddNumberToObject(root, "material", at.material);
        cJSON_AddNumberToObject(root, "triangle", hit.triangle);
        if (instance_id != KD_NONE) cJSON_AddNumberToObject(root, "object", instance_id);
        add_photons(root, frame, at.position);
    }
    finish_json(query, root);
}

/* --- photons ---------------------------------------------------------------------------------- */

typedef struct sent_photon {
    float position[3], power[3];
    uint8_t bounce, light;
    uint16_t map;
    int8_t direction[4];
} sent_photon;

typedef struct sent_header {
    uint32_t count, stride, total;
} sent_header;

/* A mixing function, so that the photons that are left out have no pattern. */
static uint32_t mixed(uint32_t index) {
    index = (index ^ index >> 16) * 0x7feb352du;
    index = (index ^ index >> 15) * 0x846ca68bu;
    return index ^ index >> 16;
}

static sent_photon photon_sent(const photon *from, const scene_view *scene, int map) {
    sent_photon to;
    double at[3];
    origin_to_world(at, scene->origin, from->position);
    memset(&to, 0, sizeof to);
    for (int i = 0; i < 3; ++i) {
        to.position[i] = (float)at[i];
        to.power[i] = vec3_axis(from->power, i);
        to.direction[i] = (int8_t)lrintf(127 * vec3_axis(from->direction, i));
    }
    to.bounce = from->bounce;
    to.light = (uint8_t)from->light;
    to.map = (uint16_t)map;
    return to;
}

void live_query_photons(live_query *query, live_session *live, const render_moment *now) {
    const frame *frame = now->frame;
    const photon_maps *maps =
        frame->integrator->current_maps ? frame->integrator->current_maps(frame) : NULL;
    int which = 0;
    (void)live;
    while (which < PHOTON_LISTS && query->name[0] &&
           strcmp(query->name, photon_list_names[which]) != 0)
        ++which;
    if (which == PHOTON_LISTS || !maps) {
        fail(query, which == PHOTON_LISTS ? 400 : 409,
             maps ? "map: unknown; the state lists all"
                  : "there are no photon maps; set the integrator to photon or sppm, on the CPU");
        return;
    }
    const photon_map *list[] = {&maps->global, &maps->caustic, &maps->media};
    const uint64_t count = list[which]->photons ? list[which]->count : 0;
    const uint64_t step = (count + query->limit - 1) / query->limit;
    const uint64_t capacity = count < query->limit ? count : query->limit;
    char *bytes = (char *)malloc(sizeof(sent_header) + capacity * sizeof(sent_photon));
    sent_header header = {0, sizeof(sent_photon), (uint32_t)count};
    for (uint64_t i = 0; bytes && i < count && header.count < capacity; ++i) {
        if (step > 1 && mixed((uint32_t)i) % step != 0) continue;
        const sent_photon one = photon_sent(list[which]->photons + i, frame->scene, which);
        memcpy(bytes + sizeof header + header.count++ * sizeof one, &one, sizeof one);
    }
    if (bytes) memcpy(bytes, &header, sizeof header);
    finish(query, bytes, sizeof header + header.count * sizeof(sent_photon));
}

/* --- boxes of the tree ------------------------------------------------------------------------ */

typedef struct sent_box {
    float lo[3], hi[3];
    uint32_t flags; /* 1: leaf */
} sent_box;

typedef struct box_list {
    const scene_view *scene;
    uint32_t level; /* whose boxes are collected */
    sent_box *boxes;
    uint64_t count, capacity;
    uint32_t total;
    bool failed;
} box_list;

static void sent_corner(float out[3], const scene_view *scene, vec3 local) {
    double at[3];
    origin_to_world(at, scene->origin, local);
    for (int i = 0; i < 3; ++i) out[i] = (float)at[i];
}

static void add_box(box_list *list, box3 box, bool leaf) {
    ++list->total;
    if (list->failed || list->count == BOXES_MAX) return;
    if (list->count == list->capacity) {
        const uint64_t capacity = list->capacity ? 2 * list->capacity : 1024;
        sent_box *more = (sent_box *)realloc(list->boxes, capacity * sizeof *more);
        list->failed = !more;
        if (!more) return;
        list->boxes = more;
        list->capacity = capacity;
    }
    sent_box *to = list->boxes + list->count++;
    sent_corner(to->lo, list->scene, box.lo);
    sent_corner(to->hi, list->scene, box.hi);
    to->flags = leaf ? 1 : 0;
}

static void split_box(box3 box, int axis, float split, box3 *left, box3 *right) {
    *left = *right = box;
    vec3_set_axis(&left->hi, axis, split);
    vec3_set_axis(&right->lo, axis, split);
}

static void collect(box_list *list, uint32_t at, uint32_t level, box3 box) {
    const tritree_node node = list->scene->tree.nodes[at];
    box3 left, right;
    if (level == list->level) add_box(list, box, tritree_is_leaf(node));
    if (level == list->level || tritree_is_leaf(node)) return;
    split_box(box, tritree_axis(node), node.split, &left, &right);
    collect(list, tritree_left(node), level + 1, left);
    collect(list, tritree_left(node) + 1, level + 1, right);
}

void live_query_boxes(live_query *query, live_session *live, const render_moment *now) {
    box_list list = {.scene = now->frame->scene, .level = (uint32_t)query->limit};
    (void)live;
    if (now->frame->device_frame) {
        fail(query, 409, "the tree is on a device; start with --device cpu to see it");
        return;
    }
    if (list.scene->tree.node_count) collect(&list, 0, 0, list.scene->tree.box);
    const sent_header header = {(uint32_t)list.count, sizeof(sent_box), list.total};
    char *bytes =
        list.failed ? NULL : (char *)malloc(sizeof header + list.count * sizeof(sent_box));
    if (bytes) {
        memcpy(bytes, &header, sizeof header);
        if (list.count) memcpy(bytes + sizeof header, list.boxes, list.count * sizeof(sent_box));
    }
    free(list.boxes);
    finish(query, bytes, sizeof header + list.count * sizeof(sent_box));
}

/* --- a ray through the tree ------------------------------------------------------------------- */

typedef struct ray_walk {
    const scene_view *scene;
    tritree_walk walk;
    leaf_query leaf;
    cJSON *nodes;
    uint32_t steps;
} ray_walk;

static void add_node(ray_walk *w, box3 box, bool leaf, uint32_t triangles) {
    float lo[3], hi[3];
    if (w->steps++ >= RAY_NODES_MAX) return;
    sent_corner(lo, w->scene, box.lo);
    sent_corner(hi, w->scene, box.hi);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToObject(object, "min", cJSON_CreateFloatArray(lo, 3));
    cJSON_AddItemToObject(object, "max", cJSON_CreateFloatArray(hi, 3));
    cJSON_AddBoolToObject(object, "leaf", leaf);
    cJSON_AddNumberToObject(object, "triangles", triangles);
    cJSON_AddItemToArray(w->nodes, object);
}

/* Front to back, as the traversal of accel/tree/walk.h. */
static void visit(ray_walk *w, uint32_t index, box3 box, float near, float far) {
    const tritree_node node = w->scene->tree.nodes[index];
    const tritree_walk *walk = &w->walk;
    const bool is_leaf = tritree_is_leaf(node);
    add_node(w, box, is_leaf, is_leaf ? tritree_count(node) : 0);
    if (is_leaf) {
        tritree_leaf_intersect(&w->leaf, node);
        return;
    }
    const int axis = tritree_axis(node);
    const float t = (node.split - walk->origin[axis]) * walk->inverse[axis];
    const float low = t - walk->slack[axis], high = t + walk->slack[axis];
    const uint32_t turned = walk->negative[axis] ? 1 : 0;
    box3 sides[2];
    split_box(box, axis, node.split, &sides[0], &sides[1]);
    const uint32_t first = tritree_left(node) + turned, second = tritree_left(node) + 1 - turned;
    if (!(near > high)) visit(w, first, sides[turned], near, float_min(high, far));
    const float from = float_max(low, near);
    if (!(low > far) && from <= w->leaf.best.t + walk->slack_t)
        visit(w, second, sides[1 - turned], from, far);
}

void live_query_ray(live_query *query, live_session *live, const render_moment *now) {
    const scene_view *scene = now->frame->scene;
    ray ray;
    (void)live;
    if (!centre_ray(&ray, query, now)) return;
    ray_walk w = {.scene = scene};
    cJSON *root = cJSON_CreateObject();
    w.nodes = cJSON_AddArrayToObject(root, "nodes");
    w.leaf.tree = &scene->tree;
    w.leaf.tmin = ray.tmin;
    w.leaf.best = (ray_hit){ray.tmax, 0, 0, KD_NONE};
    w.leaf.precomputed = precomputed_ray_make(ray);
    if (tritree_walk_begin(&w.walk, &scene->tree, ray))
        visit(&w, 0, scene->tree.box, w.walk.near, w.walk.far);
    const ray_hit hit = w.leaf.best;
    cJSON_AddItemToObject(root, "origin", position_of(scene, ray.origin));
    cJSON_AddItemToObject(root, "direction", vector_of(ray.direction));
    if (hit.triangle != KD_NONE) {
        cJSON *object = cJSON_AddObjectToObject(root, "hit");
        cJSON_AddItemToObject(object, "position",
                              position_of(scene, vec3_along(ray.origin, hit.t, ray.direction)));
        cJSON_AddNumberToObject(object, "distance", (double)hit.t);
        cJSON_AddNumberToObject(object, "triangle", hit.triangle);
    } else {
        cJSON_AddNullToObject(root, "hit");
    }
    cJSON_AddNumberToObject(root, "steps", w.steps);
    finish_json(query, root);
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
    if (status != KD_OK) fail(query, 500, kd_last_error());
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

/* The formats write files, so the picture passes through a temporary one. */
void live_query_file(live_query *query, live_session *live, const render_moment *now) {
    char folder[SERVE_FOLDER], path[SERVE_FOLDER + 48];
    size_t count = 0;
    if (!live->calls->folder_open(folder)) {
        fail(query, 500, "cannot create a temporary directory in /tmp");
        return;
    }
    snprintf(path, sizeof path, "%s/picture.%s", folder, query->name);
    const kd_status status = write_picture(now, path);
    void *bytes = status == KD_OK ? read_file(path, &count) : NULL;
    finish(query, bytes, count);
    if (status != KD_OK) fail(query, 500, kd_last_error());
    status_clear();
    remove(path);
    live->calls->folder_close(folder);
}

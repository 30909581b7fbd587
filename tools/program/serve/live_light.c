/* Queries of photons and of light paths, answered by the thread that renders. */
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "render/api/light_paths.h"
#include "render/frame/frame.h"
#include "render/integrators/vcm.h"
#include "render/photon_mapping/eye_path.h"
#include "tools/program/serve/live_answers.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Most light paths that a query traces, and paths of a piece of its work. */
enum { TRACED_MAX = 1 << 22, TRACED_PROBE = 256, PIECE = 1 << 10 };

/* Returns the power, as the owner has scaled its light. */
static vec3 scaled_power(const live_session *live, uint32_t light, vec3 power) {
    const uint32_t group = live->sums ? light_groups_find(&live->films, light) : 0;
    return live->sums && group < live->films.count
               ? vec3_scale(power, (float)live->films.scales[group])
               : power;
}

/* --- photons of a pixel ----------------------------------------------------------------------- */

static void add_photon(cJSON *list, const live_session *live, const scene_view *scene,
                       const photon *one, int map) {
    const uint32_t group = live_group_of(live, scene, one->light);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToObject(object, "position", live_position_json(scene, one->position));
    cJSON_AddItemToObject(object, "power",
                          live_vector_json(scaled_power(live, one->light, one->power)));
    cJSON_AddItemToObject(object, "direction", live_vector_json(one->direction));
    cJSON_AddNumberToObject(object, "bounce", one->bounce);
    cJSON_AddNumberToObject(object, "light", one->light);
    cJSON_AddNumberToObject(object, "group", group == KD_NONE ? -1 : (double)group);
    cJSON_AddStringToObject(object, "map", live_map_names[map]);
    cJSON_AddNumberToObject(object, "path", one->path);
    cJSON_AddItemToArray(list, object);
}

/* The photons of vcm that merge at the surface. */
static void add_merging(cJSON *root, cJSON *list, const live_session *live, const frame *frame,
                        const struct surface *at) {
    traced_paths paths;
    uint32_t count = 0;
    photon *photons = (photon *)malloc(PIXEL_PHOTONS_MAX * sizeof *photons);
    const bool found =
        photons && traced_paths_open(&paths, frame, LIGHT_PATHS_VCM) == KD_OK &&
        traced_paths_merging(photons, &count, PIXEL_PHOTONS_MAX, &paths,
                             frame->device_frame != NULL, at->position,
                             at->front ? at->geometric : vec3_negate(at->geometric)) == KD_OK;
    if (found) cJSON_AddNumberToObject(root, "radius", (double)paths.vcm->radius);
    for (uint32_t i = 0; i < count; ++i)
        add_photon(list, live, frame->scene, &photons[i], LIVE_MAP_VERTICES);
    free(photons);
    status_clear();
}

/* Adds the triangle of a tile, its weight and its part of the estimate's integral. */
static void add_tile(cJSON *list, const scene_view *scene, const tile *tile, float weight,
                     float part) {
    cJSON *object = cJSON_CreateObject(), *corners = cJSON_AddArrayToObject(object, "corners");
    for (int i = 0; i < 3; ++i)
        cJSON_AddItemToArray(corners, live_position_json(scene, tile->corner[i]));
    cJSON_AddNumberToObject(object, "weight", (double)weight);
    cJSON_AddNumberToObject(object, "part", (double)part);
    cJSON_AddItemToArray(list, object);
}

/* Adds the tiles over which the kernel's integral is taken; one of no light has a weight below 0.
 */
static void add_tiles(cJSON *root, const tile_view *tiles, const scene_view *scene,
                      const struct surface *at, float radius, photon_kernel kernel) {
    cJSON *list = cJSON_AddArrayToObject(root, "tiles");
    const estimate_point point = estimate_point_of(at);
    const tile_lookup lookup =
        tile_lookup_begin(point.position, point.normal, point.triangle, radius, kernel);
    uint32_t sent = 0;
    for (uint32_t i = 0; i < tiles->box_count && radius > 0;) {
        const tile_box *box = &tiles->boxes[i];
        const bool far = tile_box_dist2(box, lookup.position) > lookup.bound2;
        const bool leaf = !far && box->skip == i + 1;
        i = far ? box->skip : i + 1;
        for (uint32_t t = box->begin; leaf && t < box->begin + box->second; ++t) {
            const float weight = tile_weight(&lookup, &tiles->tiles[t], TILE_COSINE);
            vec3 p[3];
            float part;
            tile_see(&lookup, &tiles->tiles[t], p);
            if (!tile_is_smooth(&lookup, &tiles->tiles[t], p, &part))
                part = triangle_kernel_integral(kernel, p[0], p[1], p[2], tiles->tiles[t].normal);
            if (weight == 0 || !(part > 0) || sent == PIXEL_TILES_MAX) continue;
            add_tile(list, scene, &tiles->tiles[t], weight, part);
            ++sent;
        }
    }
}

void live_add_photons(cJSON *root, live_query *query, live_session *live, const render_moment *now,
                      const struct surface *at) {
    const light_source source = light_source_of(now->frame);
    const photon_maps *maps = live_host_maps(query, live, now);
    cJSON *list = cJSON_AddArrayToObject(root, "photons");
    if (source.vcm) add_merging(root, list, live, now->frame, at);
    photon_map_view map;
    bool global;
    if (!live_estimate_map(&map, &global, &source, maps)) return;
    photon_gathering *gathered = (photon_gathering *)malloc(sizeof *gathered);
    if (!gathered) return;
    live_gather(gathered, &map, at->position);
    if (map.gather == 0) gathered->radius = map.radius;
    cJSON_AddNumberToObject(root, "radius", (double)gathered->radius);
    if (source.view && !now->frame->device_frame) /* those of a device are not copied */
        add_tiles(root, &source.view->tiles, now->frame->scene, at, gathered->radius, map.kernel);
    for (uint32_t i = 0; i < gathered->count && i < PIXEL_PHOTONS_MAX; ++i)
        add_photon(list, live, now->frame->scene, map.photons + gathered->neighbours[i].node,
                   global ? PHOTON_LIST_GLOBAL : PHOTON_LIST_CAUSTIC);
    free(gathered);
}

/* --- photons ---------------------------------------------------------------------------------- */

typedef struct sent_photon {
    float position[3], power[3];
    uint8_t bounce, light;
    uint16_t map;
    int8_t direction[4];
} sent_photon;

/* Rows of an answer: a sent_photon each, the end of a beam, and the number of the path if the query
   asks for it. */
typedef struct row_list {
    char *bytes;
    size_t stride;
    uint64_t count, capacity;
    const live_session *live;
    const scene_view *scene;
    int map;
    bool paths;
} row_list;

/* A mixing function, so that the photons that are left out have no pattern. */
static uint32_t mixed(uint32_t index) {
    index = (index ^ index >> 16) * 0x7feb352du;
    index = (index ^ index >> 15) * 0x846ca68bu;
    return index ^ index >> 16;
}

static bool open_rows(row_list *out, const live_query *query, const live_session *live,
                      const scene_view *scene, int map, uint64_t capacity) {
    const size_t stride = sizeof(sent_photon) + (map == LIVE_MAP_BEAMS ? 3 * sizeof(float) : 0) +
                          (query->paths ? sizeof(uint32_t) : 0);
    char *bytes = (char *)malloc(sizeof(sent_header) + capacity * stride);
    *out = (row_list){bytes, stride, 0, capacity, live, scene, map, query->paths};
    return bytes != NULL;
}

static void add_row(row_list *to, const photon *from) {
    sent_photon row;
    char *at = to->bytes + sizeof(sent_header) + to->count * to->stride;
    const vec3 power = scaled_power(to->live, from->light, from->power);
    if (to->count == to->capacity) return;
    memset(&row, 0, sizeof row);
    live_world_position(row.position, to->scene, from->position);
    for (int i = 0; i < 3; ++i) {
        row.power[i] = vec3_axis(power, i);
        row.direction[i] = (int8_t)lrintf(127 * vec3_axis(from->direction, i));
    }
    row.bounce = from->bounce;
    row.light = (uint8_t)from->light;
    row.map = (uint16_t)to->map;
    memcpy(at, &row, sizeof row);
    if (to->map == LIVE_MAP_BEAMS) {
        float end[3];
        const vec3 last = vec3_along(from->position, from->normal.x, from->direction);
        live_world_position(end, to->scene, last);
        memcpy(at + sizeof row, end, sizeof end);
    }
    if (to->paths) memcpy(at + to->stride - sizeof from->path, &from->path, sizeof from->path);
    ++to->count;
}

static void finish_rows(live_query *query, row_list *rows, uint64_t total) {
    const sent_header header = {(uint32_t)rows->count, (uint32_t)rows->stride, (uint32_t)total};
    if (rows->bytes) memcpy(rows->bytes, &header, sizeof header);
    live_finish(query, rows->bytes, sizeof header + rows->count * rows->stride);
}

/* Photons of a map, chosen by a hash of their number. */
static void send_stored(live_query *query, const live_session *live, const scene_view *scene,
                        const photon_map *map, int which) {
    const uint64_t count = map->photons ? map->count : 0;
    const uint64_t step = (count + query->limit - 1) / query->limit;
    row_list rows;
    if (open_rows(&rows, query, live, scene, which, count < query->limit ? count : query->limit))
        for (uint64_t i = 0; i < count; ++i)
            if (step <= 1 || mixed((uint32_t)i) % step == 0) add_row(&rows, map->photons + i);
    finish_rows(query, &rows, count);
}

/* Paths traced again: one of each `step` consecutive ones. */
typedef struct trace_piece {
    photon *photons;
    uint64_t count, capacity;
    bool failed;
} trace_piece;

typedef struct tracing {
    const traced_paths *paths;
    uint64_t step, chosen; /* paths */
    trace_piece *pieces;
} tracing;

static uint64_t chosen_path(uint64_t paths, uint64_t step, uint64_t number) {
    const uint64_t path = number * step + mixed((uint32_t)number) % step;
    return path < paths ? path : paths - 1;
}

static void keep_photons(trace_piece *to, const traced_path *from) {
    if (to->count + from->photon_count > to->capacity) {
        const uint64_t capacity = 2 * to->capacity + TRACED_VERTICES_MAX;
        photon *more = (photon *)realloc(to->photons, capacity * sizeof *more);
        to->failed |= !more;
        if (!more) return;
        to->photons = more;
        to->capacity = capacity;
    }
    memcpy(to->photons + to->count, from->photons, from->photon_count * sizeof *from->photons);
    to->count += from->photon_count;
}

static void trace_pieces(void *context, int64_t begin, int64_t end, int thread) {
    const tracing *work = (const tracing *)context;
    traced_path one;
    (void)thread;
    for (int64_t p = begin; p < end; ++p)
        for (uint64_t i = (uint64_t)p * PIECE; i < (uint64_t)(p + 1) * PIECE && i < work->chosen;
             ++i) {
            traced_paths_trace(work->paths, chosen_path(work->paths->count, work->step, i), &one);
            keep_photons(&work->pieces[p], &one);
        }
}

/* Returns the step at which about `limit` photons are stored. */
static uint64_t step_for(const traced_paths *paths, uint64_t limit) {
    const uint64_t least = (paths->count + TRACED_MAX - 1) / TRACED_MAX;
    const uint64_t probe = (paths->count + TRACED_PROBE - 1) / TRACED_PROBE;
    uint64_t stored = 0, traced = 0;
    traced_path one;
    for (; traced * probe < paths->count; ++traced) {
        traced_paths_trace(paths, chosen_path(paths->count, probe, traced), &one);
        stored += one.photon_count;
    }
    const double all = (double)stored / (double)traced * (double)paths->count;
    const double step = ceil(all / (double)limit);
    return step > (double)least ? (uint64_t)step : least;
}

static void send_traced(live_query *query, const live_session *live, const traced_paths *paths,
                        int map) {
    tracing work = {.paths = paths, .step = step_for(paths, query->limit)};
    work.chosen = (paths->count + work.step - 1) / work.step;
    const uint64_t piece_count = (work.chosen + PIECE - 1) / PIECE;
    uint64_t stored = 0;
    bool failed = true;
    row_list rows = {.bytes = NULL};
    work.pieces = (trace_piece *)calloc(piece_count, sizeof *work.pieces);
    if (work.pieces) {
        parallel_for((int64_t)piece_count, 1, trace_pieces, &work);
        failed = false;
        for (uint64_t p = 0; p < piece_count; ++p) {
            stored += work.pieces[p].count;
            failed |= work.pieces[p].failed;
        }
    }
    failed = failed || !open_rows(&rows, query, live, paths->scene, map,
                                  stored < query->limit ? stored : query->limit);
    for (uint64_t p = 0; work.pieces && p < piece_count; ++p) {
        for (uint64_t i = 0; !failed && i < work.pieces[p].count; ++i)
            add_row(&rows, work.pieces[p].photons + i);
        free(work.pieces[p].photons);
    }
    free(work.pieces);
    finish_rows(query, &rows, stored * work.step);
}

/* Opens the light paths of a map, or says why there are none. */
static bool open_paths(traced_paths *out, live_query *query, const frame *frame, int map) {
    if (traced_paths_open(out, frame, live_path_set(map)) == KD_OK) return true;
    live_fail(query, 409, kd_last_error());
    status_clear();
    return false;
}

void live_query_photons(live_query *query, live_session *live, const render_moment *now) {
    const int map = live_find_map(query, now);
    traced_paths paths;
    if (map == LIVE_MAPS) return;
    if (map == LIVE_MAP_BEAMS || map == LIVE_MAP_VERTICES) {
        if (open_paths(&paths, query, now->frame, map)) send_traced(query, live, &paths, map);
        return;
    }
    const photon_maps *maps = live_host_maps(query, live, now);
    if (maps) send_stored(query, live, now->frame->scene, live_map_in(maps, map), map);
}

/* --- light paths ---------------------------------------------------------------------------- */

typedef struct sent_path {
    uint32_t path, light, group, count;
} sent_path;

typedef struct sent_vertex {
    float position[3], power[3];
    uint8_t kind, stored;
    uint16_t bounce;
    uint32_t material;
} sent_vertex;

typedef struct path_list {
    sent_path *paths;
    sent_vertex *vertices;
    uint32_t count, limit, vertex_count, vertex_capacity;
    bool failed;
} path_list;

static void add_path(path_list *to, const live_session *live, const scene_view *scene,
                     uint32_t path, const traced_path *from) {
    if (to->vertex_count + from->vertex_count > to->vertex_capacity) {
        const uint32_t capacity = 2 * to->vertex_capacity + TRACED_VERTICES_MAX;
        sent_vertex *more = (sent_vertex *)realloc(to->vertices, capacity * sizeof *more);
        to->failed |= !more;
        if (!more) return;
        to->vertices = more;
        to->vertex_capacity = capacity;
    }
    for (uint32_t i = 0; i < from->vertex_count; ++i) {
        const traced_vertex *vertex = &from->vertices[i];
        sent_vertex *sent = to->vertices + to->vertex_count++;
        live_world_position(sent->position, scene, vertex->position);
        const vec3 power = scaled_power(live, from->light, vertex->power);
        for (int axis = 0; axis < 3; ++axis) sent->power[axis] = vec3_axis(power, axis);
        sent->kind = (uint8_t)vertex->kind;
        sent->stored = vertex->stored;
        sent->bounce = (uint16_t)vertex->bounce;
        sent->material = vertex->material;
    }
    to->paths[to->count++] =
        (sent_path){path, from->light, live_group_of(live, scene, from->light), from->vertex_count};
}

/* Returns the path to try: that of a stored photon if `map` is not NULL. */
static uint32_t tried_path(const photon_map *map, uint64_t paths, uint32_t trial) {
    const uint64_t count = map ? map->count : paths;
    const uint64_t at = mixed(trial) * count >> 32;
    return map ? map->photons[at].path : (uint32_t)at;
}

/* Adds different paths that store a photon, up to the limit. */
static void choose_paths(path_list *to, const live_session *live, const traced_paths *paths,
                         const photon_map *map) {
    enum { TRIALS = 64 };
    traced_path one;
    for (uint32_t trial = 0; trial < TRIALS * to->limit && to->count < to->limit; ++trial) {
        const uint32_t path = tried_path(map, paths->count, trial);
        bool known = false;
        for (uint32_t i = 0; i < to->count; ++i) known |= to->paths[i].path == path;
        if (known) continue;
        traced_paths_trace(paths, path, &one);
        if (one.photon_count > 0) add_path(to, live, paths->scene, path, &one);
        if (to->failed) return;
    }
}

static void send_paths(live_query *query, const path_list *list) {
    const sent_header header = {list->count, sizeof(sent_vertex), list->vertex_count};
    const size_t path_bytes = list->count * sizeof *list->paths,
                 vertex_bytes = list->vertex_count * sizeof *list->vertices;
    char *bytes = list->failed ? NULL : (char *)malloc(sizeof header + path_bytes + vertex_bytes);
    if (bytes) {
        memcpy(bytes, &header, sizeof header);
        memcpy(bytes + sizeof header, list->paths, path_bytes);
        if (vertex_bytes) memcpy(bytes + sizeof header + path_bytes, list->vertices, vertex_bytes);
    }
    live_finish(query, bytes, sizeof header + path_bytes + vertex_bytes);
}

void live_query_light_paths(live_query *query, live_session *live, const render_moment *now) {
    const int map = live_find_map(query, now);
    traced_paths paths;
    traced_path one;
    if (map == LIVE_MAPS || !open_paths(&paths, query, now->frame, map)) return;
    if (query->path >= (int64_t)paths.count) {
        live_fail(query, 400, "path: the pass has fewer light paths");
        return;
    }
    const bool traced = map == LIVE_MAP_BEAMS || map == LIVE_MAP_VERTICES;
    const photon_maps *maps = traced || query->path >= 0 ? NULL : live_host_maps(query, live, now);
    if (!traced && query->path < 0 && !maps) return;
    path_list list = {.limit = (uint32_t)query->limit};
    list.paths = (sent_path *)calloc(list.limit, sizeof *list.paths);
    list.failed = !list.paths;
    if (!list.failed && query->path >= 0) {
        traced_paths_trace(&paths, (uint64_t)query->path, &one);
        add_path(&list, live, paths.scene, (uint32_t)query->path, &one);
    } else if (!list.failed) {
        choose_paths(&list, live, &paths, maps ? live_map_in(maps, map) : NULL);
    }
    send_paths(query, &list);
    free(list.paths);
    free(list.vertices);
}

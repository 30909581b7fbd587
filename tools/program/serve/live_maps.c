/* The photon maps of the current pass, and queries of their k-d trees, answered by the thread that
   renders. */
#include "render/api/light_paths.h"
#include "render/frame/frame.h"
#include "tools/program/serve/live_answers.h"
#include <stdlib.h>
#include <string.h>

/* --- maps ------------------------------------------------------------------------------------- */

const char *const live_map_names[LIVE_MAPS] = {"global", "caustic", "volume", "beams", "vertices"};

bool live_is_estimated(const char *map) {
    return strcmp(map, live_map_names[0]) == 0 || strcmp(map, live_map_names[1]) == 0;
}

int live_path_set(int map) {
    return map == LIVE_MAP_BEAMS      ? PHOTON_LIST_MEDIA
           : map == LIVE_MAP_VERTICES ? LIGHT_PATHS_VCM
                                      : map;
}

static uint64_t count_of(const light_numbers *counts, int map) {
    if (map == LIVE_MAP_VERTICES) return counts->paths[LIGHT_PATHS_VCM];
    const bool other =
        live_path_set(map) == PHOTON_LIST_MEDIA && counts->beams != (map == LIVE_MAP_BEAMS);
    return other ? 0 : counts->photons[live_path_set(map)];
}

int live_list_maps(live_map out[LIVE_MAPS], const frame *frame) {
    const light_source source = light_source_of(frame);
    const light_numbers counts = light_source_count(&source, frame->device_frame != NULL);
    int listed = 0;
    for (int map = 0; map < LIVE_MAPS; ++map) {
        const uint64_t count = count_of(&counts, map);
        const bool tree = map != LIVE_MAP_BEAMS && map != LIVE_MAP_VERTICES;
        if (count == 0) continue;
        out[listed++] =
            (live_map){live_map_names[map], count, tree ? pointtree_levels((uint32_t)count) : 0,
                       !frame->options->photon_map};
    }
    return listed;
}

int live_find_map(live_query *query, const render_moment *now) {
    const light_source source = light_source_of(now->frame);
    const light_numbers counts = light_source_count(&source, now->frame->device_frame != NULL);
    int map = 0;
    while (map < LIVE_MAPS && (query->name[0] ? strcmp(query->name, live_map_names[map]) != 0
                                              : count_of(&counts, map) == 0))
        ++map;
    if (map == LIVE_MAPS && query->name[0])
        live_fail(query, 400, "map: expected global, caustic, volume, beams or vertices");
    else if (!source.maps && !source.vcm)
        live_fail(query, 409, "there are no photons; set the integrator to photon, sppm or vcm");
    else if (map == LIVE_MAPS || count_of(&counts, map) == 0)
        live_fail(query, 409, "the map is empty; the state lists those that are not");
    else
        return map;
    return LIVE_MAPS;
}

const photon_maps *live_host_maps(live_query *query, live_session *live, const render_moment *now) {
    const frame *frame = now->frame;
    const light_source source = light_source_of(frame);
    if (!source.maps || !frame->device_frame) return source.maps;
    if (live->has_fetched && live->fetched_pass == source.options->pass) return &live->fetched;
    live_drop_fetched(live);
    if (light_source_fetch(&live->fetched, &source, frame->scene) != KD_OK) {
        live_fail(query, 500, kd_last_error());
        status_clear();
        return NULL;
    }
    live->has_fetched = true;
    live->fetched_pass = source.options->pass;
    return &live->fetched;
}

void live_drop_fetched(live_session *live) {
    photon_maps_close(&live->fetched);
    live->has_fetched = false;
}

const photon_map *live_map_in(const photon_maps *maps, int map) {
    return map == PHOTON_LIST_GLOBAL    ? &maps->global
           : map == PHOTON_LIST_CAUSTIC ? &maps->caustic
                                        : &maps->media;
}

uint32_t live_group_of(const live_session *live, const scene_view *scene, uint32_t light) {
    if (light >= scene->light_count) return KD_NONE;
    const bool is_surface = scene->lights[light].kind == LIGHT_TRIANGLE;
    const uint32_t material =
        is_surface ? scene->mesh.triangle_materials[scene->lights[light].triangle] : KD_NONE;
    for (uint32_t g = 0; g < live->lights.count; ++g)
        if (is_surface ? live->groups[g].material == material : live->groups[g].light == light)
            return g;
    return KD_NONE;
}

/* --- the photons' k-d tree -------------------------------------------------------------------- */

typedef struct sent_plane {
    float lo[3], hi[3], split;
    uint8_t axis, leaf;
    uint16_t level;
    uint32_t node, points;
} sent_plane;

typedef struct plane_list {
    const scene_view *scene;
    pointtree_view tree;
    sent_plane *planes;
    uint32_t count, level;
} plane_list;

static void add_plane(plane_list *to, uint32_t node, box3 box) {
    const int axis = pointtree_axis(&to->tree, node);
    float place[3];
    if (to->count == LIVE_BOXES_MAX) return;
    sent_plane *plane = to->planes + to->count++;
    live_world_position(plane->lo, to->scene, box.lo);
    live_world_position(plane->hi, to->scene, box.hi);
    live_world_position(place, to->scene, to->tree.points[node]);
    plane->split = place[axis];
    plane->axis = (uint8_t)axis;
    plane->leaf = 2 * node + 1 >= to->tree.count;
    plane->level = (uint16_t)pointtree_level_of(node);
    plane->node = node;
    plane->points = pointtree_subtree_size(node, to->tree.count);
}

/* The box of a child: 0 left, 1 right. */
static box3 child_box(const plane_list *of, uint32_t node, box3 box, uint32_t side) {
    const int axis = pointtree_axis(&of->tree, node);
    vec3_set_axis(side ? &box.lo : &box.hi, axis, vec3_axis(of->tree.points[node], axis));
    return box;
}

static void add_level(plane_list *to, uint32_t node, box3 box) {
    if (node >= to->tree.count) return;
    if (pointtree_level_of(node) == to->level) {
        add_plane(to, node, box);
        return;
    }
    for (uint32_t side = 0; side < 2; ++side)
        add_level(to, 2 * node + 1 + side, child_box(to, node, box, side));
}

/* The nodes down to the leaf at a point. */
static void add_way(plane_list *to, vec3 at) {
    box3 box = to->tree.box;
    for (uint32_t node = 0; node < to->tree.count;) {
        const int axis = pointtree_axis(&to->tree, node);
        const uint32_t side = vec3_axis(at, axis) > vec3_axis(to->tree.points[node], axis);
        add_plane(to, node, box);
        box = child_box(to, node, box, side);
        node = 2 * node + 1 + side;
    }
}

void live_query_planes(live_query *query, live_session *live, const render_moment *now) {
    const int map = live_find_map(query, now);
    vec3 at = vec3_all(0);
    if (map == LIVE_MAPS) return;
    if (map == LIVE_MAP_BEAMS || map == LIVE_MAP_VERTICES) {
        live_fail(query, 409, "this map has no k-d tree");
        return;
    }
    if (query->x >= 0 && !live_pixel_position(&at, query, now)) return;
    const photon_maps *maps = live_host_maps(query, live, now);
    if (!maps) return;
    const pointtree_view tree = pointtree_get_view(&live_map_in(maps, map)->tree);
    const uint32_t level = (uint32_t)query->limit, levels = pointtree_levels(tree.count);
    const uint32_t first = level < levels ? pointtree_level_begin(level) : tree.count;
    const uint64_t width = level < levels ? (uint64_t)1 << level : 0;
    const uint32_t left = tree.count - first, whole = width < left ? (uint32_t)width : left;
    plane_list list = {now->frame->scene, tree, NULL, 0, level};
    const uint32_t capacity = query->x >= 0            ? levels
                              : whole > LIVE_BOXES_MAX ? LIVE_BOXES_MAX
                                                       : whole;
    char *bytes = (char *)malloc(sizeof(sent_header) + capacity * sizeof *list.planes);
    list.planes = bytes ? (sent_plane *)calloc(capacity + 1, sizeof *list.planes) : NULL;
    if (list.planes && query->x >= 0) add_way(&list, at);
    if (list.planes && query->x < 0 && whole) add_level(&list, 0, tree.box);
    const sent_header header = {list.count, sizeof *list.planes,
                                query->x >= 0 ? list.count : whole};
    const size_t plane_bytes = list.count * sizeof *list.planes;
    if (list.planes) {
        memcpy(bytes, &header, sizeof header);
        memcpy(bytes + sizeof header, list.planes, plane_bytes);
    } else {
        free(bytes);
        bytes = NULL;
    }
    free(list.planes);
    live_finish(query, bytes, sizeof header + plane_bytes);
}

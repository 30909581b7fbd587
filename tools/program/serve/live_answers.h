/* What the queries of the live view share: parts of answers, and the place that a pixel shows. */
#ifndef KD_TOOLS_PROGRAM_SERVE_LIVE_ANSWERS_H
#define KD_TOOLS_PROGRAM_SERVE_LIVE_ANSWERS_H
#include "tools/program/serve/live_session.h"
#include <cjson/cJSON.h>

enum { LIVE_BOXES_MAX = 1 << 19, PIXEL_PHOTONS_MAX = 1024, PIXEL_TILES_MAX = 512 };

/* Before the rows of a binary answer. */
typedef struct sent_header {
    uint32_t count, stride, total;
} sent_header;

/* live_queries.c */
void live_fail(live_query *query, unsigned code, const char *message);
/* Takes over `bytes`, from malloc; NULL: out of memory, unless the query has failed before. */
void live_finish(live_query *query, void *bytes, size_t count);
void live_finish_json(live_query *query, cJSON *owned);
/* In the coordinates of the scene's files. */
void live_world_position(float out[3], const scene_view *scene, vec3 local);
cJSON *live_position_json(const scene_view *scene, vec3 local);
cJSON *live_vector_json(vec3 v);
/* The ray through the centre of the query's pixel of the film; says that there is none. */
bool live_centre_ray(ray *out, live_query *query, const render_moment *now);
/* Sets *out to the point that the centre of the query's pixel shows; says that there is none. */
bool live_pixel_position(vec3 *out, live_query *query, const render_moment *now);
/* live_light.c: adds the photons of the density estimate at a surface. */
void live_add_photons(cJSON *root, live_query *query, live_session *live, const render_moment *now,
                      const struct surface *at);

/* live_trees.c: returns the number of nodes of the triangle tree that a ray visits */
uint32_t live_ray_nodes(const scene_view *scene, ray ray);

/* live_surfaces.c */
/* Sets *out to the map of the density estimates that are shown; false: `maps` (or NULL) has none.
 */
bool live_estimate_map(photon_map_view *out, bool *global, const struct light_source *source,
                       const photon_maps *maps);
/* Gathers the photons of an estimate, with a fixed radius the nearest PIXEL_PHOTONS_MAX within. */
void live_gather(photon_gathering *out, const photon_map_view *map, vec3 position);

/* live_maps.c */
bool live_is_estimated(const char *map); /* live_estimate_map may find this map */
extern const char *const live_map_names[LIVE_MAPS];
/* The set of light paths (render/api/light_paths.h) that makes a map. */
int live_path_set(int map);
/* Returns the map of a query; LIVE_MAPS if there is none, which the query then says. */
int live_find_map(live_query *query, const render_moment *now);
/* Returns the maps in host memory; those of a device are copied once. NULL: there are none, or no
   memory, which the query then says. */
const photon_maps *live_host_maps(live_query *query, live_session *live, const render_moment *now);
const photon_map *live_map_in(const photon_maps *maps, int map);
/* Returns the index in the state's lights of a light source; KD_NONE if it is not in one. */
uint32_t live_group_of(const live_session *live, const scene_view *scene, uint32_t light);

#endif

/* Films of groups of lights: the part of each pixel that comes from each group, so that lights can
   be scaled without a new rendering, as the picture is linear in the light of each source.
   Invariants: the film itself, and its picture while all scales are 1, do not depend on groups. */
#ifndef KD_RENDER_FRAME_LIGHT_GROUPS_H
#define KD_RENDER_FRAME_LIGHT_GROUPS_H
#include "render/frame/film.h"
#include "shaders/scene_view.h"

enum { LIGHT_GROUPS_MAX = 8 };

typedef struct light_groups {
    /* set by the caller: */
    uint32_t count, light_count;
    const uint8_t *group_of_light; /* group of each light source; `count` or more: none */
    double scales[LIGHT_GROUPS_MAX];
    /* below: zeroed by the caller */
    const film *rendered; /* film being rendered; NULL: none */
    double *sums;         /* radiance of each group in each pixel, 3 channels */
    film scaled;
} light_groups;

/* Makes films of the size of `film`; both must outlive the use of the groups. */
kd_status light_groups_open(light_groups *groups, const film *film);
void light_groups_close(light_groups *owned); /* frees films; `owned` may be zeroed */
/* Returns the group of a light source (KD_NONE: no source), `count` for none. */
static inline uint32_t light_groups_find(const light_groups *groups, uint32_t light) {
    if (light == KD_NONE || groups->light_count == 0) return groups->count;
    /* the discs of a look belong to the environment, the last light of the scene */
    const uint32_t last = groups->light_count - 1;
    const uint32_t group = groups->group_of_light[light < last ? light : last];
    return group < groups->count ? group : groups->count;
}
/* Returns the light source that a ray finds at a triangle, or where it leaves the scene (KD_NONE).
 */
static inline uint32_t light_groups_light_found(const scene_view *scene, uint32_t triangle) {
    if (triangle == KD_NONE) return scene->environment.light;
    return scene->triangle_lights ? scene->triangle_lights[triangle] : KD_NONE;
}
/* Adds the part of a sample of pixel (x, y) of the full image that comes from a group; `count`:
   none. Threads may add to different pixels at the same time. */
void light_groups_add(const light_groups *groups, int32_t x, int32_t y, uint32_t group,
                      vec3 radiance);
/* Returns the film with the scales applied: `film` itself if there are no groups (NULL) or all
   scales are 1. Noise is taken to be in proportion to the radiance. */
const film *light_groups_film(light_groups *groups, const film *film);
uint64_t light_groups_bytes(const light_groups *groups);

#endif

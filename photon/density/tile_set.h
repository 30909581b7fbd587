/* The tiles of a scene, and the tree of boxes over them. Owner of what photon/density/tiles.h looks
   at. */
#ifndef KD_PHOTON_DENSITY_TILE_SET_H
#define KD_PHOTON_DENSITY_TILE_SET_H
#include "core/job.h"
#include "core/status.h"
#include "photon/density/tile_parts.h"
#include "photon/density/tiles.h"
#include "shaders/scene_view.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tile_set {
    tile *tiles;
    tile_box *boxes;
    uint32_t *patches; /* tile_view */
    uint8_t *wide;
    uint64_t *bounded; /* looks on the host */
    uint32_t count, box_count, wide_count;
    uint32_t copies;         /* triangles that are copies of others */
    float span;              /* of the model of openness */
    const scene_view *scene; /* borrowed */
} tile_set;

/* The scene has to stay while the tiles are looked at. Finds the triangles on which photons land,
   but for exact copies of one (the same three places in any order), and cuts them into tiles for
   estimates of about `radius` (scene units, > 0). `reach`: finds out what light reaches, and how
   open it lies, by rays on the current device if the scene is `there`, too, else (NULL) here; or
   all of it counts alike. */
kd_status tile_set_open(tile_set *out, const scene_view *scene, const scene_view *there,
                        float radius, bool reach, job *watched);
void tile_set_close(tile_set *owned); /* takes a zeroed one */
tile_view tile_set_get_view(const tile_set *from);
/* Looks through views of it that met more than TILE_EXACT boxes and tiles. */
uint64_t tile_set_looks_bounded(const tile_set *from); /* takes a zeroed one */

/* Finds the parts about which no look is needed, once the tiles are there. */
kd_status tile_set_find_wide(tile_set *of, const tile_parts *parts);
/* While they are made, and after. `discs`: so many of the radius would cover what light reaches, at
   most. */
uint64_t tile_set_bytes_most(uint64_t triangles, uint64_t discs);
/* The same of a device that has the scene and gets the tiles. */
uint64_t tile_set_bytes_there_most(uint64_t triangles, uint64_t discs);

/* Brings tiles into the order of a tree of boxes over them, and makes that. `scale` (scene units,
   > 0): boxes of that size are parted by their normals before they are parted further by their
   places. Work: O(n log n). */
kd_status tile_boxes_open(tile_box **out, uint32_t *box_count, tile *tiles, uint32_t count,
                          float scale);

#ifdef __cplusplus
}
#endif
#endif

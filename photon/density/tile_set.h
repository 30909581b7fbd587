/* The tiles of a scene and their bounding volume hierarchy (photon/density/tiles.h). */
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
    uint32_t *patches; /* see tile_view.patches */
    uint8_t *wide;
    uint64_t *bounded; /* see tile_view.bounded; host memory */
    uint32_t count, box_count, wide_count;
    bool divided;            /* some part is TILE_DIVIDED or TILE_HIDDEN */
    uint32_t copies;         /* number of triangles that are copies of others */
    float span;              /* range of the openness model, scene units */
    const scene_view *scene; /* borrowed */
} tile_set;

/* Finds the triangles that store photons, except for exact copies of another one (the same three
   positions in any order), and subdivides them into tiles for estimates of about `radius` (scene
   units, > 0). The scene must outlive the tiles. `reach`: finds, by rays, which sides light
   reaches, their openness, and where walls hide parts of a surface from others; otherwise all sides
   count equally. The rays are traced on the current device if the scene's copy `view` is not NULL,
   otherwise on the host. */
kd_status tile_set_open(tile_set *out, const scene_view *scene, const scene_view *view,
                        float radius, bool reach, job_control *job);
void tile_set_close(tile_set *owned); /* `owned` may be zeroed */
tile_view tile_set_get_view(const tile_set *tiles);
/* Number of traversals through its views that met more than TILE_EXACT boxes and tiles. */
uint64_t tile_set_lookups_bounded(const tile_set *tiles); /* `tiles` may be zeroed */

/* Marks the parts whose queries need no traversal, once the tiles are built. */
kd_status tile_set_find_wide(tile_set *tiles, const tile_parts *parts);
/* Bytes during and after construction. `discs`: upper bound on the number of discs of the radius
   that cover the lit surfaces. */
uint64_t tile_set_bytes_max(uint64_t triangles, uint64_t discs);
/* Bytes on a device that has the scene and receives the tiles. */
uint64_t tile_set_bytes_there_max(uint64_t triangles, uint64_t discs);

/* Builds the hierarchy and sorts the tiles into its order. `scale` (scene units, > 0): boxes of
   that size are split by normals before they are split further by position. Work: O(n log n). */
kd_status tile_boxes_open(tile_box **out, uint32_t *box_count, tile *tiles, uint32_t count,
                          float scale);

#ifdef __cplusplus
}
#endif
#endif

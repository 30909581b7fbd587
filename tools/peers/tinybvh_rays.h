/* tinybvh for compare_embree. */
#ifndef KD_TOOLS_PEERS_TINYBVH_RAYS_H
#define KD_TOOLS_PEERS_TINYBVH_RAYS_H
#include "core/math/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Trees with spatial splits: four boxes per node with SSE, eight with AVX2. */
typedef struct tinybvh_trees tinybvh_trees;
tinybvh_trees *tinybvh_open(const vec3 *positions, const uint32_t *triangles, uint32_t count);
void tinybvh_close(tinybvh_trees *owned);

/* Traces one ray per call; sets hits, or blocked for any-hit rays. tinybvh has no tmin, so origins
   are moved. */
void tinybvh_cast4(const tinybvh_trees *trees, const ray *rays, uint64_t count, bool any,
                   ray_hit *hits, uint8_t *blocked);
void tinybvh_cast8(const tinybvh_trees *trees, const ray *rays, uint64_t count, bool any,
                   ray_hit *hits, uint8_t *blocked);

#ifdef __cplusplus
}
#endif
#endif

/* tinybvh for compare_embree. */
#ifndef KD_TOOLS_PEERS_TINYBVH_RAYS_H
#define KD_TOOLS_PEERS_TINYBVH_RAYS_H
#include "core/math/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Its trees with spatial splits: four boxes a node by SSE, eight by AVX2. */
typedef struct tinybvh_trees tinybvh_trees;
tinybvh_trees *tinybvh_open(const vec3 *positions, const uint32_t *triangles, uint32_t count);
void tinybvh_close(tinybvh_trees *owned);

/* One ray a call; hits, or, of any hit, blocked. It knows no tmin: rays begin there. */
void tinybvh_cast4(const tinybvh_trees *of, const ray *rays, uint64_t count, bool any,
                   ray_hit *hits, uint8_t *blocked);
void tinybvh_cast8(const tinybvh_trees *of, const ray *rays, uint64_t count, bool any,
                   ray_hit *hits, uint8_t *blocked);

#ifdef __cplusplus
}
#endif
#endif

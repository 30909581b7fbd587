/* Rays that are difficult for trees and triangle tests: through vertices and edges, along axes and
   in planes of triangles, from inside and from a distance of a hundred diagonals. */
#ifndef KD_TOOLS_PEERS_HARD_RAYS_H
#define KD_TOOLS_PEERS_HARD_RAYS_H
#include "tools/lab/bench/inputs.h"

/* Creates random_count rays, to be closed by bench_rays_close. */
kd_status hard_rays_open(bench_rays *out, const bench_rays_request *request);

#endif

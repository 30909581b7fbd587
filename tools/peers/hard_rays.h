/* Rays that trees and triangle tests find hard: at corners and edges, along axes and in planes of
   triangles, from inside and from a hundred diagonals away. */
#ifndef KD_TOOLS_PEERS_HARD_RAYS_H
#define KD_TOOLS_PEERS_HARD_RAYS_H
#include "tools/lab/bench/inputs.h"

/* random_count rays, closed by bench_rays_close. */
kd_status hard_rays_open(bench_rays *out, const bench_rays_request *request);

#endif

/* Bytes that the launches of build_select.cu have to move, from the number of points alone: what a
   stage's time is held against.
   Idea: what a launch reads or writes counts once; what it reads again is taken to be in a cache.
   A sampled point costs a sector. How many candidates a bracket holds is what the sample makes of
   points that lie evenly. */
#ifndef KD_POINTS_SELECT_TRAFFIC_CUH
#define KD_POINTS_SELECT_TRAFFIC_CUH
#include "points/select/brackets.cuh"
#include <math.h>

namespace kandela {

constexpr double SECTOR_BYTES = 32, RECORD_BYTES = sizeof(float4);

/* Points in the segments of nodes `first` to `end` of a level. */
inline double points_of(const layout &tree, uint32_t level, uint32_t first, uint32_t end) {
    if (first == end) return 0;
    const segment from = node_segment(tree, level, first), to = node_segment(tree, level, end - 1);
    return (double)(to.begin + to.count - from.begin);
}

/* Of `points` in `nodes` nodes, brackets from samples of `draws` points of the node `above` levels
   higher. */
inline double candidate_bytes(double points, double nodes, double draws, uint32_t above) {
    const double own = points / nodes, drawn = draws / (double)(1u << above);
    const double m = drawn < own ? drawn : own;
    const double reach = (double)SIGMAS * sqrt(m / 4 * (1 - m / own)) + 2;
    const double bins = 1.0 / SELECT_THREADS; /* an end is as narrow as a bin of four targets' */
    const double share = 2 * (reach / m + bins);
    return sizeof(point_key) * points * (share < 1 ? share : 1);
}

/* Records that stop in the lists of a group of levels under `nodes` roots, from samples of `draws`
   points a root, and go on from there. */
inline double listed_bytes(double points, double nodes, double draws, double sigmas, int levels) {
    double bytes = 0;
    for (int depth = 0; depth < levels; ++depth) {
        const double own = points / (nodes * (1 << depth)), drawn = draws / (1 << depth);
        const double m = drawn < own ? drawn : own;
        const double reach = sigmas * sqrt(m / 4 * (1 - m / own)) + 2;
        const double share = 2 * reach / m + 1.0 / AIM_SHARE;
        bytes += 2 * RECORD_BYTES * points * (share < 1 ? share : 1);
    }
    return bytes;
}

/* Samples of the nodes' own points. */
inline double sample_bytes(double points, double nodes, double draws) {
    const double all = RECORD_BYTES * points, sampled = SECTOR_BYTES * nodes * draws;
    return sampled < all ? sampled : all;
}

} // namespace kandela
#endif

/* What maps have shown of requests, once the gathering kernels are done. */
#ifndef KD_RENDER_PHOTON_MAPPING_SHOWN_CUH
#define KD_RENDER_PHOTON_MAPPING_SHOWN_CUH
#include "render/photon_mapping/eye_path.h"

struct shown_requests {
    const eye_request *requests;
    const flux_sum *sums[2]; /* global, caustic */
    const float *radii[2];
    const float *integrals[2]; /* over tiles */
};

__device__ __forceinline__ vec3 shown_by(const photon_map_view &map, const shown_requests &of,
                                         int which, uint32_t request) {
    const flux_sum sum = of.sums[which][request];
    const float radius = of.radii[which][request];
    if (!(radius > 0) || flux_sum_is_zero(&sum)) return vec3_all(0);
    return photon_sum_over(&map, &sum, of.integrals[which][request], radius);
}

/* Radiance of a request's surface towards its `wo`. */
__device__ __forceinline__ vec3 shown_by_global(const photon_view &photons,
                                                const shown_requests &of, uint32_t request) {
    return shown_by(photons.global, of, 0, request);
}
__device__ __forceinline__ vec3 shown_by_caustic(const photon_view &photons,
                                                 const shown_requests &of, uint32_t request) {
    return shown_by(photons.caustic, of, 1, request);
}

#endif

/* Lookups where walls may hide photons (photon/density/visibility.h), on a CUDA device. */
#ifndef KD_PHOTON_MAPS_VISIBLE_LOOKUPS_CUH
#define KD_PHOTON_MAPS_VISIBLE_LOOKUPS_CUH
#include "photon/density/warp_per_surface.cuh"
#include "photon/maps/maps_device.h"

namespace photon_gathering_cuda {

/* After all requests of `work` have been answered as if nothing were hidden: repeats those whose
   sum is not 0 and where walls may hide photons. */
kd_status gather_divided(const gather_work *work, const tile_view *tiles);
/* Multiplies the integrals of these requests by their visible share. */
kd_status measure_divided(const photon_gather_cuda *gather, const photon_maps_cuda *maps,
                          float *integrals);

} // namespace photon_gathering_cuda
#endif

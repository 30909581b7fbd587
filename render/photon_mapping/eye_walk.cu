/* Paths from the eye that look into the maps by themselves: final gather, adaptive estimates, media
   that scatter light. */
#include "render/photon_mapping/eye_path.cuh"

kd_status photon_walk_looks(const frame *of, const photon_view *view, const look_work *work) {
    return launch_looks<EYE_LOOKS>(of, view, work);
}

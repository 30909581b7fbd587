/* Paths from the eye that only ask, a thread each: where cut-outs or media are that paths fly
   through, or memory is short for waves. */
#include "render/photon_mapping/eye_path.cuh"

kd_status photon_ask_looks(const frame *of, const photon_view *view, const look_work *work) {
    return launch_looks<EYE_ASKS>(of, view, work);
}

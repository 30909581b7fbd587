/* Beams of light in media, cut in pieces and ready to be asked. Owner. */
#ifndef KD_PHOTON_BEAMS_BEAM_SET_H
#define KD_PHOTON_BEAMS_BEAM_SET_H
#include "core/job.h"
#include "core/status.h"
#include "photon/beams/beams.h"
#include "photon/emission/photon.h"
#include "shaders/scene_view.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct beam_set {
    beam *beams;
    beam_piece *pieces;
    beam_node *nodes;
    uint32_t count, piece_count, node_count;
    float radius, slack;
} beam_set;

/* From photons that are beams (photon_way_shines), in any order that is the same every time. The
   blur's radius is the one at which a ray through all of them meets about `gather` beams.
   KD_ERROR_MEMORY; KD_ERROR_INPUT if one is no number. */
kd_status beam_set_open(beam_set *out, const photon *photons, uint64_t count,
                        const scene_view *scene, uint32_t gather, job *watched);
void beam_set_close(beam_set *owned); /* takes a zeroed one */
/* With the radius that the set was made for. */
beam_view beam_set_get_view(const beam_set *of, photon_kernel kernel, float scale);
/* What a set of so many beams takes while it is made, and after. */
uint64_t beam_set_bytes_most(uint64_t beams);
uint64_t beam_set_bytes_kept(uint64_t beams);

#ifdef __cplusplus
}
#endif
#endif

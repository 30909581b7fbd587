/* Beams: flights of photons through media, and boxes over their pieces. Types only. */
#ifndef KD_PHOTON_DENSITY_BEAMS_H
#define KD_PHOTON_DENSITY_BEAMS_H
#include "core/job.h"
#include "core/math/geometry.h"
#include "core/status.h"
#include "photon/density/kernels.h"
#include "photon/emission/photon.h"
#include "shaders/scene_view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Light on a straight way through one medium. */
typedef struct beam {
    vec3 start;      /* world */
    float length;    /* scene units */
    vec3 direction;  /* unit */
    uint32_t medium; /* index */
    vec3 power;      /* W at the start, over the number emitted */
} beam;

/* A part of a beam, [begin, end) of its length. */
typedef struct beam_piece {
    uint32_t beam;
    float begin, end;
} beam_piece;

/* A box of pieces. Nodes lie in the order of a walk that goes down first. */
typedef struct beam_node {
    vec3 lo;
    uint32_t beyond; /* the next node where this box is missed */
    vec3 hi;
    uint32_t first; /* piece of a leaf; KD_NONE: none */
} beam_node;

enum { BEAM_LEAF = 4 }; /* pieces of a leaf, at most; the last one's end with the last piece */

/* Borrows everything. */
typedef struct beam_view {
    const beam_node *nodes;
    const beam_piece *pieces;
    const beam *beams;
    uint32_t node_count, piece_count;
    float radius; /* of the blur, scene units */
    float scale;  /* flux_scale of the beams' strongest channel */
    float slack;  /* by which boxes are widened, for rounding */
    photon_kernel kernel;
} beam_view;

/* Beams of light in media, cut in pieces and ready to be asked. Owner. */

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

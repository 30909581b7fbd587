/* Photon beams, the paths of photons through media, and the bounding volume hierarchy of their
   segments. */
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

/* Light along a straight line through one medium. */
typedef struct beam {
    vec3 start;      /* world space */
    float length;    /* scene units */
    vec3 direction;  /* unit */
    uint32_t medium; /* index of the medium */
    vec3 power;      /* W at the start, divided by the number of emitted paths */
} beam;

/* A segment of a beam, [begin, end) of its length. */
typedef struct beam_piece {
    uint32_t beam;
    float begin, end;
} beam_piece;

/* A node of the hierarchy. Nodes are in depth-first order. */
typedef struct beam_node {
    vec3 lo;
    uint32_t beyond; /* next node if this box is missed */
    vec3 hi;
    uint32_t first; /* first segment of a leaf; KD_NONE: inner node */
} beam_node;

enum { BEAM_LEAF = 4 }; /* maximum number of segments of a leaf; the last leaf may have fewer */

/* Borrows all data. */
typedef struct beam_view {
    const beam_node *nodes;
    const beam_piece *pieces;
    const beam *beams;
    uint32_t node_count, piece_count;
    float radius; /* kernel radius, scene units */
    float scale;  /* flux_scale of the largest channel of any beam */
    float slack;  /* margin of boxes that allows for rounding */
    photon_kernel kernel;
} beam_view;

/* The beams of a media map with their hierarchy. */

typedef struct beam_set {
    beam *beams;
    beam_piece *pieces;
    beam_node *nodes;
    uint32_t count, piece_count, node_count;
    float radius, slack;
} beam_set;

/* Builds a set from photons that are beams (photon_path_shines); the result depends on their order.
   Sets the kernel's radius so that a ray through all of the beams meets about `gather` of them.
   Returns KD_ERROR_MEMORY, or KD_ERROR_INPUT if a beam has a value that is not finite. */
kd_status beam_set_open(beam_set *out, const photon *photons, uint64_t count,
                        const scene_view *scene, uint32_t gather, job_control *job);
void beam_set_close(beam_set *owned); /* `owned` may be zeroed */
/* Returns a view with the radius of the set. */
beam_view beam_set_get_view(const beam_set *beams, photon_kernel kernel, float scale);
/* Bytes of a set of `beams` beams during and after construction. */
uint64_t beam_set_bytes_max(uint64_t beams);
uint64_t beam_set_bytes_kept(uint64_t beams);

#ifdef __cplusplus
}
#endif

#endif

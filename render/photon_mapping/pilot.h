/* A trial run of photon emission and of camera paths before an image is rendered: finds out which
   photon maps would take many paths to fill, how much of the image's light they hold, and where. */
#ifndef KD_RENDER_PHOTON_MAPPING_PILOT_H
#define KD_RENDER_PHOTON_MAPPING_PILOT_H
#include "photon/maps/photon_map.h"
#include "render/frame/frame.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PILOT_PROBES = 1 << 10,  /* paths that decide whether a list is sparse */
    PILOT_PATHS = 1 << 18,   /* paths of a sparse list's trial */
    PILOT_SAMPLES = 1 << 12, /* camera paths */
    PILOT_YIELD = 2,     /* a list is sparse if fewer than one path in this many leaves a photon */
    PATHS_MIN = 1 << 16, /* no limit of a sparse list is lower */
    LOOKUP_COST = 24     /* cost of a lookup with all else that is no ray; that of a ray is 1 */
};
/* Limit of what sparse lists cost together, relative to the camera paths of a pass or batch. */
#define PILOT_EMISSION 0.8
/* A map is faint if its share of the image's light is below. */
#define PILOT_FAINT 1e-3

/* Sets options->suit for the frame, whose camera and scene, with its tree on the host, are
   complete. `lookups`: number of points, in one pass or batch, at which camera paths look up the
   maps.
     - A list that fills readily, as in interiors, has no further limit.
     - A sparse list whose map is faint ends after PATHS_MIN paths.
     - The global and the media list, if sparse, are guided towards what the camera sees, unless
   that extends over the whole scene.
     - Sparse lists that hold all light of the image end when their paths have cost PILOT_EMISSION
       of what the camera paths cost, and other lists in proportion to their share of the image's
       light, but not before PATHS_MIN paths.
   The result is a function of the scene, the seed and the other options: it is the same for any
   number of threads and ranks, and on any device. `options` are those of a whole map, of pass 0. */
kd_status pilot_run(photon_options *options, const frame *frame, double lookups);
/* Bytes of host memory that it takes at most, for maps of so many photons. */
uint64_t pilot_bytes_max(const uint64_t photons[PHOTON_LISTS]);

#ifdef __cplusplus
}
#endif
#endif

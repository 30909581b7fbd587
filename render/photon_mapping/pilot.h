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
    PILOT_PATHS = 1 << 18,   /* paths of a sparse list's trial; no limit is below */
    PILOT_SAMPLES = 1 << 12, /* camera paths */
    PILOT_YIELD = 8, /* a list is sparse if fewer than one path in this many leaves a photon */
    /* limits of the paths of a sparse list that holds all light of the image: emission then takes
       about as long as the lookups, or about twice as long if it is guided, since the map is then
       most of what the image needs */
    PATHS_PER_LOOKUP = 32,
    PATHS_PER_GUIDED = 64
};
/* A map is faint if its share of the image's light is below. */
#define PILOT_FAINT 1e-3

/* Sets options->suit for the frame, whose camera and scene, with its tree on the host, are
   complete. `lookups`: number of points, in one pass or batch, at which camera paths look up the
   maps.
     - A list that fills readily, as in interiors, has no further limit.
     - A sparse list whose map is faint ends after PILOT_PATHS paths.
     - The global and the media list, if sparse, are guided towards what the camera sees, unless
   that extends over the whole scene.
     - Sparse lists end after PATHS_PER_GUIDED or PATHS_PER_LOOKUP paths per lookup, times the map's
       share of the image's light, but not before PILOT_PATHS.
   The result is a function of the scene, the seed and the other options: it is the same for any
   number of threads and ranks, and on any device. `options` are those of a whole map, of pass 0. */
kd_status pilot_run(photon_options *options, const frame *frame, double lookups);
/* Bytes of host memory that it takes at most, for maps of so many photons. */
uint64_t pilot_bytes_max(const uint64_t photons[PHOTON_LISTS]);

#ifdef __cplusplus
}
#endif
#endif

/* A rendering's state beside its picture: from it a later run goes on as if it had never stopped.

   The file, little endian: a header of 64-bit words, then the film's pixels.
     0  "KDSTATE\0"          8  version            16 hash of the program's version
     24 scene_hash           32 hash of the options that a sample depends on, and of the camera
     40 crop x0 y0 x1 y1 (int32)
     56 frame_statistics: rays, photon_rays, nan_samples, photons_emitted, photons_stored,
        caustics_stored, photon_hash, strayed_stored, watts emitted, absorbed, escaped, ended,
        media (double)
     160 frame.carried, 16 doubles
     288 hash of the pixels  296 hash of the 296 bytes before
   A pixel: radiance (3 doubles), squares (double); alpha, depth, normal (3), albedo (3) (floats):
   all sums over its samples; samples, hits (uint32). XXH3 is the hash. */
#ifndef KD_RENDER_FRAME_STATE_H
#define KD_RENDER_FRAME_STATE_H
#include "render/frame/film.h"

/* Of the scene, the options that a sample depends on, the camera and the program. */
uint64_t state_identity(const frame *of);

/* Written to a temporary file and renamed. */
kd_status state_write(const char *path, const frame *of, const film *from);

/* Fills film, statistics and carried. KD_ERROR_INPUT, with what differs, for a file that is no
   state, is damaged, or belongs to another scene, other options or another program. */
kd_status state_read(const char *path, frame *of, film *to);

#endif

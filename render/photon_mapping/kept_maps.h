/* Photon maps that outlive a rendering, for the next one of the same scene with another camera.
   They do not depend on the camera unless emission is limited or guided by what it sees (pilot.h).
 */
#ifndef KD_RENDER_PHOTON_MAPPING_KEPT_MAPS_H
#define KD_RENDER_PHOTON_MAPPING_KEPT_MAPS_H
#include "photon/maps/photon_map.h"
#include "render/frame/frame.h"

enum { KEPT_MAPS, KEPT_TRIAL, KEPT_SLOTS }; /* those of the picture; those of the pilot */

typedef struct kept_slot {
    photon_maps maps;       /* zeroed while they are in use */
    photon_options options; /* options that the maps were made with */
    uint64_t scene;         /* identity of the scene, its lights and the look */
    bool full;
} kept_slot;

typedef struct kept_maps {
    kept_slot slots[KEPT_SLOTS];
    bool rough; /* a preview: takes maps of any number of photons */
} kept_maps;

/* Moves maps that are as `options` would make them to *out, and the options that made them to
 *made. Returns false if there are none. `kept` may be NULL. */
bool kept_maps_take(photon_maps *out, photon_options *made, kept_maps *kept, int slot,
                    const frame *frame, const photon_options *options);
/* Takes over maps that `options` made. Closes them if `kept` is NULL. */
void kept_maps_give(kept_maps *kept, int slot, const frame *frame, const photon_options *options,
                    photon_maps *owned);
void kept_maps_drop(kept_maps *kept); /* frees all; `kept` may be zeroed */

#endif
